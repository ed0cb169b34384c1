//===- Moves.cpp - mov, selp, cvta and what has no effect -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "Data Movement and Conversion Instructions".

#include "emulator/instructions/Lanes.h"
#include "emulator/instructions/Opcodes.h"
#include "emulator/program/Windows.h"

namespace kpc::emulator {

namespace {

template <typename T> struct Copy {
  T operator()(T A) const { return A; }
};

void moveMask(Warp &W, const Instruction &I, uint32_t Mask) {
  W.writeMask(I.Target[0], Mask, W.mask(I.Source[0]));
}

/// 128 bits a lane.
void moveWide(Warp &W, const Instruction &I, uint32_t Mask) {
  auto *Out = W.row<unsigned __int128>(I.Target[0]),
       *In = W.row<unsigned __int128>(I.Source[0]);
  forEachLane(Mask, [&](unsigned L) { Out[L] = In[L]; });
}

/// {a, b} = c: Bytes each, from the low end.
void unpack(Warp &W, const Instruction &I, uint32_t Mask) {
  const uint32_t *Rows = &W.kernel().Vectors[I.Rows];
  const uint8_t *In = W.row<uint8_t>(I.Source[0]);
  unsigned Whole = I.Bytes * I.Count;
  forEachLane(Mask, [&](unsigned L) {
    uint8_t Copy[16];
    __builtin_memcpy(Copy, In + L * Whole, Whole);
    for (unsigned N = 0; N < I.Count; ++N)
      __builtin_memcpy(W.row<uint8_t>(Rows[N]) + L * I.Bytes,
                       Copy + N * I.Bytes, I.Bytes);
  });
}

/// c = {a, b}.
void pack(Warp &W, const Instruction &I, uint32_t Mask) {
  const uint32_t *Rows = &W.kernel().Vectors[I.Rows];
  uint8_t *Out = W.row<uint8_t>(I.Target[0]);
  unsigned Whole = I.Bytes * I.Count;
  forEachLane(Mask, [&](unsigned L) {
    uint8_t Copy[16];
    for (unsigned N = 0; N < I.Count; ++N)
      __builtin_memcpy(Copy + N * I.Bytes,
                       W.row<uint8_t>(Rows[N]) + L * I.Bytes, I.Bytes);
    __builtin_memcpy(Out + L * Whole, Copy, Whole);
  });
}

/// Instructions done so far stand for clock cycles.
void clock(Warp &W, const Instruction &I, uint32_t Mask) {
  forEachLane(Mask, [&](unsigned L) {
    storeLane(W, I.Target[0], I.Bytes, L, W.steps());
  });
}

bool decodePacked(Decoder &D, const ptx::Statement &S, Instruction &I,
                  unsigned Bits) {
  bool Unpacks = S.Operands[0].TheKind == ptx::Operand::Kind::Vector;
  const ptx::Operand &Vector = S.Operands[Unpacks ? 0 : 1];
  size_t Count = Vector.Parts.size();
  if ((Count != 2 && Count != 4) || Bits / Count < 8)
    return D.fail("parts of this size cannot be packed");
  unsigned Part = Bits / unsigned(Count), Given = 0;
  if (!D.rows(Vector, I, Unpacks, Part, Given))
    return false;
  if (Given != Part)
    return D.fail("the parts do not have the size of the whole");
  I.Bytes = uint8_t(Part / 8);
  I.Run = Unpacks ? unpack : pack;
  auto Whole =
      Unpacks ? D.source(S.Operands[1], Bits) : D.target(S.Operands[0], Bits);
  (Unpacks ? I.Source[0] : I.Target[0]) = Whole.value_or(0);
  return Whole.has_value();
}

bool decodeMove(Decoder &D, const ptx::Statement &S, Modifiers &M,
                Instruction &I) {
  auto T = M.takeType();
  if (!T || S.Operands.size() != 2)
    return false;
  unsigned Bits = bitsOf(*T);
  using Kind = ptx::Operand::Kind;
  if (S.Operands[0].TheKind == Kind::Vector ||
      S.Operands[1].TheKind == Kind::Vector)
    return decodePacked(D, S, I, Bits);
  const std::string &From = S.Operands[1].Name;
  if (From == "%clock" || From == "%clock64" || From == "%globaltimer") {
    I.Bytes = uint8_t(Bits / 8);
    I.Run = clock;
    auto To = D.target(S.Operands[0], Bits);
    I.Target[0] = To.value_or(0);
    return To.has_value();
  }
  switch (Bits) {
  case 1:
    I.Run = moveMask;
    break;
  case 16:
    I.Run = lanes<Copy<uint16_t>, uint16_t, uint16_t>;
    break;
  case 32:
    I.Run = lanes<Copy<uint32_t>, uint32_t, uint32_t>;
    break;
  case 64:
    I.Run = lanes<Copy<uint64_t>, uint64_t, uint64_t>;
    break;
  case 128:
    I.Run = moveWide;
    break;
  default:
    return false;
  }
  return operands(D, S, I, Bits, {Bits});
}

//===----------------------------------------------------------------------===//
// selp
//===----------------------------------------------------------------------===//

template <typename T>
void select(Warp &W, const Instruction &I, uint32_t Mask) {
  T *Out = W.row<T>(I.Target[0]), *A = W.row<T>(I.Source[0]),
    *B = W.row<T>(I.Source[1]);
  uint32_t Condition = W.mask(I.Source[2]);
  forEachLane(Mask,
              [&](unsigned L) { Out[L] = Condition >> L & 1 ? A[L] : B[L]; });
}

bool decodeSelect(Decoder &D, const ptx::Statement &S, Modifiers &M,
                  Instruction &I) {
  auto T = M.takeType();
  if (!T)
    return false;
  unsigned Bits = bitsOf(*T);
  I.Run = Bits == 16   ? select<uint16_t>
          : Bits == 32 ? select<uint32_t>
          : Bits == 64 ? select<uint64_t>
                       : nullptr;
  return I.Run && operands(D, S, I, Bits, {Bits, Bits, 1});
}

//===----------------------------------------------------------------------===//
// Address spaces: Immediate is the window's base
//===----------------------------------------------------------------------===//

std::optional<uint64_t> windowOf(Modifiers &M) {
  auto Which = M.takeOne({"global", "const", "shared", "shared::cta",
                          "shared::cluster", "local", "param", "param::entry"});
  if (!Which)
    return std::nullopt;
  constexpr uint64_t Bases[] = {
      0,           0,           SharedWindow, SharedWindow, SharedWindow,
      LocalWindow, ParamWindow, ParamWindow};
  return Bases[*Which];
}

void toGeneric(Warp &W, const Instruction &I, uint32_t Mask) {
  forEachLane(Mask, [&](unsigned L) {
    uint64_t A = loadLane(W, I.Source[0], I.Bytes, L);
    storeLane(W, I.Target[0], I.Bytes, L, A | I.Immediate);
  });
}
void fromGeneric(Warp &W, const Instruction &I, uint32_t Mask) {
  forEachLane(Mask, [&](unsigned L) {
    uint64_t A = loadLane(W, I.Source[0], I.Bytes, L);
    storeLane(W, I.Target[0], I.Bytes, L, I.Immediate ? A & ~WindowMask : A);
  });
}
void isInSpace(Warp &W, const Instruction &I, uint32_t Mask) {
  uint32_t True = 0;
  forEachLane(Mask, [&](unsigned L) {
    uint64_t A = W.row<uint64_t>(I.Source[0])[L];
    True |= uint32_t((A & WindowMask) == I.Immediate) << L;
  });
  W.writeMask(I.Target[0], Mask, True);
}

bool decodeConvertAddress(Decoder &D, const ptx::Statement &S, Modifiers &M,
                          Instruction &I) {
  bool ToSpace = M.take("to");
  auto Window = windowOf(M);
  auto Size = M.takeOne({"u64", "u32"});
  if (!Window || !Size)
    return false;
  if (*Size == 1)
    return D.fail("generic addresses have 64 bits");
  I.Immediate = *Window;
  I.Bytes = 8;
  I.Run = ToSpace ? fromGeneric : toGeneric;
  return operands(D, S, I, 64, {64});
}

bool decodeIsInSpace(Decoder &D, const ptx::Statement &S, Modifiers &M,
                     Instruction &I) {
  auto Window = windowOf(M);
  if (!Window)
    return false;
  I.Immediate = *Window;
  I.Run = isInSpace;
  return operands(D, S, I, 1, {64});
}

//===----------------------------------------------------------------------===//
// Without effect here
//===----------------------------------------------------------------------===//

void nothing(Warp &, const Instruction &, uint32_t) {}

/// Hints; all their modifiers are taken.
bool decodeHint(Decoder &, const ptx::Statement &S, Modifiers &M,
                Instruction &I) {
  for (const std::string &Word : S.Modifiers)
    M.take(Word);
  I.Run = nothing;
  return true;
}

void waitForGrids(Warp &W, const Instruction &, uint32_t) { W.waitForGrids(); }

/// griddepcontrol: all kernels in front have ended, but what comes before the
/// wait must not rely on it. When dependents begin is not modelled.
bool decodeGridDependency(Decoder &D, const ptx::Statement &, Modifiers &M,
                          Instruction &I) {
  bool IsWait = M.take("wait");
  if (!IsWait && !M.take("launch_dependents"))
    return D.fail("'griddepcontrol' is neither a wait nor a launch");
  I.Run = IsWait ? waitForGrids : nothing;
  return true;
}

void makePolicy(Warp &W, const Instruction &I, uint32_t Mask) {
  auto *Out = W.row<uint64_t>(I.Target[0]);
  forEachLane(Mask, [&](unsigned L) { Out[L] = 0; });
}

/// createpolicy: one is like another where caches are not modelled.
bool decodePolicy(Decoder &D, const ptx::Statement &S, Modifiers &M,
                  Instruction &I) {
  for (const std::string &Word : S.Modifiers)
    M.take(Word);
  if (S.Operands.empty())
    return D.fail("wrong number of operands");
  auto To = D.target(S.Operands[0], 64);
  I.Target[0] = To.value_or(0);
  I.Run = makePolicy;
  return To.has_value();
}

void trap(Warp &W, const Instruction &I, uint32_t Mask) {
  W.report(FindingKind::Trap, I, unsigned(std::countr_zero(Mask)),
           "the kernel trapped");
}
bool decodeTrap(Decoder &, const ptx::Statement &, Modifiers &,
                Instruction &I) {
  I.Run = trap;
  return true;
}

} // namespace

void addMoves(OpcodeTable &Table) {
  Table["mov"] = decodeMove;
  Table["selp"] = decodeSelect;
  Table["cvta"] = decodeConvertAddress;
  Table["isspacep"] = decodeIsInSpace;
  for (const char *Name : {"nanosleep", "prefetch", "prefetchu", "discard",
                           "applypriority", "pmevent"})
    Table[Name] = decodeHint;
  Table["griddepcontrol"] = decodeGridDependency;
  Table["createpolicy"] = decodePolicy;
  Table["trap"] = decodeTrap;
  Table["brkpt"] = decodeTrap;
}

} // namespace kpc::emulator
