//===- WarpOperations.cpp - shfl, vote, match, redux, elect ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "Data Movement and Conversion Instructions: shfl.sync" and "Parallel
// Synchronization and Communication Instructions".

#include "emulator/instructions/Lanes.h"
#include "emulator/instructions/Opcodes.h"

namespace kpc::emulator {

namespace {

/// The lanes that a membermask names all have to be here, and each lane has to
/// name itself. Source `From` is the mask's row. 0: a finding was reported.
uint32_t members(Warp &W, const Instruction &I, uint32_t Mask, unsigned From) {
  const uint32_t *Masks = W.row<uint32_t>(I.Source[From]);
  auto Leader = unsigned(std::countr_zero(Mask));
  uint32_t Named = Masks[Leader];
  bool Agrees = true;
  forEachLane(Mask, [&](unsigned L) {
    Agrees &= Masks[L] == Named && (Named >> L & 1);
  });
  if (!Agrees) {
    W.report(FindingKind::BadOperand, I, Leader,
             "the lanes do not agree on the mask of members, or are not in it");
    return 0;
  }
  if (uint32_t Missing = Named & W.started() & ~Mask) {
    auto Lane = unsigned(std::countr_zero(Missing));
    W.report(FindingKind::InactiveLane, I, Leader,
             "lane " + std::to_string(Lane) +
                 " is named in the mask but does not come here");
    return 0;
  }
  return Mask;
}

//===----------------------------------------------------------------------===//
// shfl
//===----------------------------------------------------------------------===//

enum class Shuffle : uint8_t { Idx, Up, Down, Butterfly };

void shuffle(Warp &W, const Instruction &I, uint32_t Mask) {
  if (!members(W, I, Mask, 3))
    return;
  uint32_t *Out = W.row<uint32_t>(I.Target[0]);
  const uint32_t *A = W.row<uint32_t>(I.Source[0]),
                 *B = W.row<uint32_t>(I.Source[1]),
                 *C = W.row<uint32_t>(I.Source[2]);
  uint32_t Values[WarpSize], Inside = 0;
  for (unsigned L = 0; L < WarpSize; ++L)
    Values[L] = A[L];
  for (uint32_t Left = Mask; Left != 0; Left &= Left - 1) {
    auto L = unsigned(std::countr_zero(Left));
    uint32_t Segment = C[L] >> 8 & 31, Clamp = C[L] & 31, By = B[L] & 31;
    uint32_t Last = (L & Segment) | (Clamp & ~Segment);
    uint32_t From = 0;
    bool Ok = false;
    switch (static_cast<Shuffle>(I.Mode)) {
    case Shuffle::Idx:
      From = (L & Segment) | (By & ~Segment);
      Ok = From <= Last;
      break;
    case Shuffle::Up:
      From = L - By;
      Ok = int32_t(From) >= int32_t(Last);
      break;
    case Shuffle::Down:
      From = L + By;
      Ok = From <= Last;
      break;
    case Shuffle::Butterfly:
      From = L ^ By;
      Ok = From <= Last;
      break;
    }
    if (!Ok)
      From = L;
    if (!(Mask >> From & 1)) {
      W.report(FindingKind::InactiveLane, I, L,
               "reads lane " + std::to_string(From) + ", which is not active");
      return;
    }
    Out[L] = Values[From];
    Inside |= uint32_t(Ok) << L;
  }
  if (I.Target[1] != NoRow)
    W.writeMask(I.Target[1], Mask, Inside);
}

bool decodeShuffle(Decoder &D, const ptx::Statement &S, Modifiers &M,
                   Instruction &I) {
  if (!M.take("sync"))
    return D.fail("the form without .sync is not supported");
  auto Mode = M.takeOne({"idx", "up", "down", "bfly"});
  if (!Mode || !M.take("b32") || S.Operands.size() != 5)
    return false;
  ptx::Statement Plain = S;
  if (S.Operands[0].TheKind == ptx::Operand::Kind::Pair) {
    Plain.Operands[0] = S.Operands[0].Parts[0];
    auto Second = D.target(S.Operands[0].Parts[1], 1);
    if (!Second)
      return false;
    I.Target[1] = *Second;
  }
  I.Mode = uint8_t(*Mode);
  I.Run = shuffle;
  return operands(D, Plain, I, 32, {32, 32, 32, 32});
}

//===----------------------------------------------------------------------===//
// vote, match, activemask, elect
//===----------------------------------------------------------------------===//

enum class Vote : uint8_t { All, Any, Uniform, Ballot, Negated = 8 };

void vote(Warp &W, const Instruction &I, uint32_t Mask) {
  if (!members(W, I, Mask, 1))
    return;
  uint32_t True = W.mask(I.Source[0]);
  if (I.Mode & uint8_t(Vote::Negated))
    True = ~True;
  True &= Mask;
  auto Write = [&](bool Value) {
    W.writeMask(I.Target[0], Mask, Value ? ~uint32_t{0} : 0);
  };
  switch (static_cast<Vote>(I.Mode & 7)) {
  case Vote::All:
    return Write(True == Mask);
  case Vote::Any:
    return Write(True != 0);
  case Vote::Uniform:
    return Write(True == 0 || True == Mask);
  default:
    forEachLane(Mask,
                [&](unsigned L) { W.row<uint32_t>(I.Target[0])[L] = True; });
  }
}

bool decodeVote(Decoder &D, const ptx::Statement &S, Modifiers &M,
                Instruction &I) {
  if (!M.take("sync"))
    return D.fail("the form without .sync is not supported");
  auto Which = M.takeOne({"all", "any", "uni", "ballot"});
  auto T = M.takeType();
  if (!Which || !T || S.Operands.size() != 3)
    return false;
  bool Ballot = *Which == 3, Negated = false;
  if ((Ballot ? Type::B32 : Type::Pred) != *T)
    return false;
  auto To = D.target(S.Operands[0], Ballot ? 32 : 1);
  auto Named = D.source(S.Operands[2], 32);
  if (!To || !Named || !D.predicate(S.Operands[1], I.Source[0], Negated))
    return false;
  I.Target[0] = *To;
  I.Source[1] = *Named;
  I.Mode = uint8_t(*Which | (Negated ? uint8_t(Vote::Negated) : 0));
  I.Run = vote;
  return true;
}

/// Mode 1: match.all, with the predicate.
template <typename T> void match(Warp &W, const Instruction &I, uint32_t Mask) {
  if (!members(W, I, Mask, 1))
    return;
  const T *A = W.row<T>(I.Source[0]);
  uint32_t *Out = W.row<uint32_t>(I.Target[0]), Same[WarpSize] = {}, All = 0;
  forEachLane(Mask, [&](unsigned L) {
    forEachLane(Mask,
                [&](unsigned V) { Same[L] |= uint32_t(A[L] == A[V]) << V; });
    if (Same[L] == Mask)
      All = Mask;
  });
  forEachLane(Mask, [&](unsigned L) { Out[L] = I.Mode ? All : Same[L]; });
  if (I.Target[1] != NoRow)
    W.writeMask(I.Target[1], Mask, All);
}

bool decodeMatch(Decoder &D, const ptx::Statement &S, Modifiers &M,
                 Instruction &I) {
  auto Which = M.takeOne({"any", "all"});
  bool Sync = M.take("sync");
  auto T = M.takeType();
  if (!Which || !Sync || !T || S.Operands.size() != 3)
    return false;
  I.Mode = uint8_t(*Which);
  ptx::Statement Plain = S;
  if (S.Operands[0].TheKind == ptx::Operand::Kind::Pair) {
    Plain.Operands[0] = S.Operands[0].Parts[0];
    auto Second = D.target(S.Operands[0].Parts[1], 1);
    if (!Second)
      return false;
    I.Target[1] = *Second;
  }
  I.Run = *T == Type::B32   ? match<uint32_t>
          : *T == Type::B64 ? match<uint64_t>
                            : nullptr;
  return I.Run && operands(D, Plain, I, 32, {bitsOf(*T), 32});
}

void activeMask(Warp &W, const Instruction &I, uint32_t Mask) {
  forEachLane(Mask,
              [&](unsigned L) { W.row<uint32_t>(I.Target[0])[L] = Mask; });
}
bool decodeActiveMask(Decoder &D, const ptx::Statement &S, Modifiers &M,
                      Instruction &I) {
  I.Run = activeMask;
  return M.take("b32") && operands(D, S, I, 32, {});
}

/// The lowest member.
void elect(Warp &W, const Instruction &I, uint32_t Mask) {
  if (!members(W, I, Mask, 0))
    return;
  auto Leader = uint32_t(std::countr_zero(Mask));
  if (I.Target[0] != NoRow)
    forEachLane(Mask,
                [&](unsigned L) { W.row<uint32_t>(I.Target[0])[L] = Leader; });
  W.writeMask(I.Target[1], Mask, 1u << Leader);
}
bool decodeElect(Decoder &D, const ptx::Statement &S, Modifiers &M,
                 Instruction &I) {
  if (!M.take("sync") || S.Operands.size() != 2 ||
      S.Operands[0].TheKind != ptx::Operand::Kind::Pair)
    return false;
  auto Leader = D.target(S.Operands[0].Parts[0], 32),
       Elected = D.target(S.Operands[0].Parts[1], 1),
       Named = D.source(S.Operands[1], 32);
  if (!Leader || !Elected || !Named)
    return false;
  I.Target[0] = *Leader;
  I.Target[1] = *Elected;
  I.Source[0] = *Named;
  I.Run = elect;
  return true;
}

//===----------------------------------------------------------------------===//
// redux
//===----------------------------------------------------------------------===//

enum class Reduce : uint8_t { Add, Min, Max, And, Or, Xor, Signed = 8 };

void reduce(Warp &W, const Instruction &I, uint32_t Mask) {
  if (!members(W, I, Mask, 1))
    return;
  const uint32_t *A = W.row<uint32_t>(I.Source[0]);
  bool IsSigned = I.Mode & uint8_t(Reduce::Signed);
  // Signed numbers in the order of unsigned ones.
  uint32_t Flip = IsSigned ? 0x80000000 : 0;
  uint32_t R = A[std::countr_zero(Mask)];
  forEachLane(Mask & (Mask - 1), [&](unsigned L) {
    uint32_t B = A[L];
    switch (static_cast<Reduce>(I.Mode & 7)) {
    case Reduce::Add:
      R += B;
      break;
    case Reduce::Min:
      R = (B ^ Flip) < (R ^ Flip) ? B : R;
      break;
    case Reduce::Max:
      R = (B ^ Flip) > (R ^ Flip) ? B : R;
      break;
    case Reduce::And:
      R &= B;
      break;
    case Reduce::Or:
      R |= B;
      break;
    default:
      R ^= B;
    }
  });
  forEachLane(Mask, [&](unsigned L) { W.row<uint32_t>(I.Target[0])[L] = R; });
}

bool decodeReduce(Decoder &D, const ptx::Statement &S, Modifiers &M,
                  Instruction &I) {
  bool Sync = M.take("sync");
  auto Which = M.takeOne({"add", "min", "max", "and", "or", "xor"});
  auto T = M.takeType();
  if (!Sync || !Which || !T || bitsOf(*T) != 32 || isFloat(*T))
    return false;
  I.Mode = uint8_t(*Which | (isSigned(*T) ? uint8_t(Reduce::Signed) : 0));
  I.Run = reduce;
  return operands(D, S, I, 32, {32, 32});
}

} // namespace

void addWarpOperations(OpcodeTable &Table) {
  Table["shfl"] = decodeShuffle;
  Table["vote"] = decodeVote;
  Table["match"] = decodeMatch;
  Table["activemask"] = decodeActiveMask;
  Table["elect"] = decodeElect;
  Table["redux"] = decodeReduce;
}

} // namespace kpc::emulator
