//===- TensorOperands.cpp - tcgen05's operands in shared memory -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The descriptor, and tcgen05.cp, which reads rows through one. A copy's source
// is checked when it is issued and read later.

#include "emulator/instructions/TensorOperands.h"

#include "emulator/execute/Cluster.h"
#include "emulator/instructions/Tensor.h"

#include <cstring>

namespace kpc::emulator {

TensorDescriptor::TensorDescriptor(uint64_t Bits) {
  auto Units = [&](int At) { return (Bits >> At & 0x3FFF) * TensorUnit; };
  Start = Units(0);
  Leading = Units(16);
  Stride = Units(32);
  Base = unsigned(Bits >> 49 & 7);
  unsigned Code = unsigned(Bits >> 61);
  Span = Code == 0 ? 0 : Code <= 2 ? 128 : Code == 4 ? 64 : 32;
  WideAtoms = Code == 1;
  constexpr uint64_t Reserved =
      uint64_t{3} << 14 | uint64_t{3} << 30 | uint64_t{0xFF} << 53;
  if ((Bits >> 46 & 7) != 1)
    Problem = "bits 46 to 48 of the descriptor are not 0b001";
  else if (Bits >> 52 & 1)
    Problem = "the descriptor asks for an absolute leading offset, which only "
              "sm_103a has";
  else if (Code % 2 && Code != 1)
    Problem = "the descriptor's swizzle is none";
  else if (Bits & Reserved)
    Problem = "reserved bits of the descriptor are set";
}

uint64_t TensorDescriptor::addressOf(unsigned Outer, unsigned Inner,
                                     bool Transposed) const {
  uint64_t At = Start + Inner % TensorUnit;
  if (Span == 0) {
    uint64_t Across = Transposed ? Stride : Leading,
             Down = Transposed ? Leading : Stride;
    return At + Outer % 8 * TensorUnit + Outer / 8 * Down +
           Inner / TensorUnit * Across;
  }
  unsigned LinesOfGroup = WideAtoms ? 4 : 8;
  At += uint64_t{Outer % LinesOfGroup} * Span + Outer / LinesOfGroup * Stride;
  At += Inner % Span / TensorUnit * TensorUnit;
  At += Inner / Span * (Transposed ? Leading : 0);
  // Units, or pairs of them, trade places by the number of the 128-byte line.
  uint64_t Line = At / 128 - Base;
  if (WideAtoms)
    return At ^ Line % 4 * 32;
  return At ^ Line % 8 % (Span / TensorUnit) * TensorUnit;
}

unsigned TensorElements::bits() const {
  switch (T) {
  case MatrixType::E2M1:
    return 4;
  case MatrixType::E2M3:
  case MatrixType::E3M2:
    return 6;
  default:
    return matrixBits(T);
  }
}

unsigned TensorElements::perUnit() const {
  return Packed ? 32 : TensorUnit * 8 / matrixBits(T);
}

MatrixValue TensorElements::at(const uint8_t *Unit, unsigned N) const {
  unsigned Bits = bits(), First = N * Bits;
  uint32_t Raw = 0;
  for (unsigned B = 0; B < Bits; B += 8) // at most 32 bits, from any bit on
    Raw |= uint32_t{Unit[(First + B) / 8]} << B;
  if (Bits < 8) {
    unsigned Byte = First / 8;
    uint32_t Two = Unit[Byte];
    if (Byte + 1 < TensorUnit)
      Two |= uint32_t{Unit[Byte + 1]} << 8;
    Raw = Two >> First % 8 & ((1u << Bits) - 1);
  }
  MatrixValue V = matrixValue(Raw, T);
  if (Negate)
    V.Significand = -V.Significand;
  return V;
}

void TensorTile::fetch(const uint8_t *Shared, MatrixValue *Out,
                       unsigned Pitch) const {
  forEachUnit([&](uint64_t At, unsigned Line, unsigned K) {
    for (unsigned N = 0; N < Elements.perUnit(); ++N)
      Out[(Transposed ? Line + N : Line) * Pitch + (Transposed ? K : K + N)] =
          Elements.at(Shared + At, N);
    return true;
  });
}

//===----------------------------------------------------------------------===//
// tcgen05.cp
//===----------------------------------------------------------------------===//

namespace {

/// Rows of Units 16-byte units; row r goes to the lanes that its shape says.
enum class CopyShape : uint8_t {
  C128x256,
  C128x128,
  C4x256,
  C64x128Across, ///< warpx2::02_13
  C64x128Beside, ///< warpx2::01_23
  C32x128
};

struct CopyTable {
  unsigned Rows, Units;
};

CopyTable tableOf(CopyShape S) {
  switch (S) {
  case CopyShape::C128x256:
    return {128, 2};
  case CopyShape::C128x128:
    return {128, 1};
  case CopyShape::C4x256:
    return {4, 2};
  case CopyShape::C64x128Across:
  case CopyShape::C64x128Beside:
    return {64, 1};
  case CopyShape::C32x128:
    return {32, 1};
  }
  return {};
}

std::vector<unsigned> lanesOf(CopyShape S, unsigned Row) {
  switch (S) {
  case CopyShape::C128x256:
  case CopyShape::C128x128:
    return {Row};
  case CopyShape::C4x256:
    return {32 * Row};
  case CopyShape::C64x128Across:
    return {Row, Row + 64};
  case CopyShape::C64x128Beside:
    return {Row % 32 + Row / 32 * 64, Row % 32 + Row / 32 * 64 + 32};
  case CopyShape::C32x128:
    return {Row, Row + 32, Row + 64, Row + 96};
  }
  return {};
}

class CopyInOperation final : public AsyncOperation {
public:
  CopyInOperation(Warp &W, CopyShape S, const TensorDescriptor &From,
                  unsigned Column)
      : AsyncOperation(1, tensorChain(W)), Block(W.block()), S(S), From(From),
        Column(Column) {}

private:
  void step(unsigned) override {
    CopyTable T = tableOf(S);
    for (unsigned Row = 0; Row < T.Rows; ++Row)
      for (unsigned U = 0; U < T.Units; ++U) {
        const uint8_t *Data =
            Block.shared() + From.addressOf(Row, U * TensorUnit, false);
        for (unsigned Lane : lanesOf(S, Row))
          for (unsigned C = 0; C < 4; ++C)
            std::memcpy(&Block.tensor().at(Lane, Column + U * 4 + C),
                        Data + C * 4, 4);
      }
  }

  Cta &Block;
  CopyShape S;
  TensorDescriptor From;
  unsigned Column;
};

/// False: reported.
bool copyOne(Warp &W, const Instruction &I, unsigned L) {
  auto S = CopyShape(I.Mode);
  auto Address = uint32_t(W.addressOf(I, L));
  TensorDescriptor From(W.row<uint64_t>(I.Source[1])[L]);
  const char *Wrong = From.Problem;
  if (!Wrong && From.WideAtoms)
    Wrong = "rows with atoms of 32 bytes are not for tcgen05.cp";
  if (!Wrong && tensorLane(Address) != 0)
    Wrong = "the address has another lane than 0";
  if (Wrong) {
    W.report(FindingKind::BadOperand, I, L, Wrong);
    return false;
  }
  CopyTable T = tableOf(S);
  Warp::Agent By =
      W.block().begin(W.block().agent(AgentKind::TensorCopy, W.number()), I);
  std::vector<bool> Lanes(TensorMemory::Lanes);
  for (unsigned Row = 0; Row < T.Rows; ++Row) {
    for (unsigned U = 0; U < T.Units; ++U)
      if (!W.locateAsync(I, From.addressOf(Row, U * TensorUnit, false),
                         TensorUnit, MemoryUse::Read, L, By))
        return false;
    for (unsigned Lane : lanesOf(S, Row))
      Lanes[Lane] = true;
  }
  TensorUse Use{&W.block(),
                {0, TensorMemory::Lanes, tensorColumn(Address), T.Units * 4},
                true,
                false,
                &Lanes};
  if (!W.tensor().access(I, L, Use, By, W.tensor().plain()))
    return false;
  W.tensor().addIssued(L, By);
  W.block().start(
      std::make_unique<CopyInOperation>(W, S, From, tensorColumn(Address)));
  return true;
}

void copyIn(Warp &W, const Instruction &I, uint32_t Mask) {
  for (; Mask != 0; Mask &= Mask - 1)
    if (!copyOne(W, I, unsigned(std::countr_zero(Mask))))
      return;
}

} // namespace

bool decodeTensorCopyIn(Decoder &D, const ptx::Statement &S, Modifiers &M,
                        Instruction &I) {
  unsigned Group = takeGroup(D, M);
  if (!Group)
    return false;
  if (Group == 2)
    return D.fail("tcgen05.cp with cta_group::2 is refused: whose shared "
                  "memory the second block's rows come from is not confirmed");
  if (M.takeOne({"b6x16_p32", "b4x16_p64"}))
    return D.fail("tcgen05.cp that widens elements is refused: where they lie "
                  "in 8 bits is not confirmed");
  auto Shape =
      M.takeOne({"128x256b", "128x128b", "4x256b", "64x128b", "32x128b"});
  if (!Shape || S.Operands.size() != 2)
    return false;
  I.Mode = uint8_t(*Shape);
  if (*Shape == 3 && !M.take("warpx2::02_13")) {
    if (!M.take("warpx2::01_23"))
      return false;
    I.Mode = uint8_t(CopyShape::C64x128Beside);
  }
  if (*Shape == 4) {
    if (!M.take("warpx4"))
      return false;
    I.Mode = uint8_t(CopyShape::C32x128);
  }
  I.Where = Space::Global; // an address of its own: no window is added
  auto From = D.source(S.Operands[1], 64);
  if (!From || !D.address(S.Operands[0], I))
    return false;
  I.Source[1] = *From;
  I.Run = copyIn;
  return true;
}

} // namespace kpc::emulator
