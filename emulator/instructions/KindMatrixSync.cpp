//===- KindMatrixSync.cpp - mma.sync of sm_120a ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "mma.sync" with .kind: m16n8k32 of 8-bit containers (f8f6f4, and
// mxf8f6f4 with a scale for 32 elements), m16n8k64 of packed 4-bit elements
// (mxf4, mxf4nvf4, with scales for 32 or 16). A register of scales belongs to
// the threads that a thread id names, and byte ids say where in it they begin.

#include "emulator/instructions/Lanes.h"
#include "emulator/instructions/MatrixFragments.h"
#include "emulator/instructions/Opcodes.h"
#include "emulator/numbers/BlockSum.h"
#include "emulator/numbers/Formats.h"

namespace kpc::emulator {

namespace {

enum class MatrixKind : uint8_t { F8F6F4, MXF8F6F4, MXF4, MXF4NVF4 };

/// Immediate is the plan; Vectors: D, A, B, C, and with scales six rows: A's
/// register, byte id and thread id, then B's.
struct KindPlan {
  MatrixKind Kind = MatrixKind::F8F6F4;
  MatrixType A = MatrixType::E4M3, B = MatrixType::E4M3;
  uint8_t Scales = 0; ///< of a row along k; 0: none
  bool PowerScales = true, HalfD = false, HalfC = false;
  uint64_t packed() const {
    return uint64_t(Kind) | uint64_t(A) << 8 | uint64_t(B) << 16 |
           uint64_t{Scales} << 24 | uint64_t{PowerScales} << 32 |
           uint64_t{HalfD} << 33 | uint64_t{HalfC} << 34;
  }
  static KindPlan of(uint64_t V) {
    return {MatrixKind(V & 0xFF),       MatrixType(V >> 8 & 0xFF),
            MatrixType(V >> 16 & 0xFF), uint8_t(V >> 24),
            (V >> 32 & 1) != 0,         (V >> 33 & 1) != 0,
            (V >> 34 & 1) != 0};
  }
  bool isPacked() const { return Kind >= MatrixKind::MXF4; }
  unsigned k() const { return isPacked() ? 64 : 32; }
};

constexpr unsigned MaxK = 64, RegistersA = 4, RegistersB = 2, ScaleRows = 6;

/// What an 8-bit container holds: 4 bits in its middle, 6 at its lower end.
MatrixValue contained(uint32_t Byte, MatrixType T) {
  if (T == MatrixType::E2M1)
    return matrixValue(Byte >> 2 & 0xF, T);
  if (T == MatrixType::E2M3 || T == MatrixType::E3M2)
    return matrixValue(Byte & 0x3F, T);
  return matrixValue(Byte, T);
}

void gather(Warp &W, const uint32_t *Registers, const KindPlan &P, bool IsA,
            MatrixValue *Out) {
  MatrixType T = IsA ? P.A : P.B;
  forEachElement(W, Registers, IsA ? RegistersA : RegistersB, IsA,
                 P.isPacked() ? 4 : 8,
                 [&](unsigned Line, unsigned K, uint32_t Bits) {
                   Out[Line * MaxK + K] =
                       P.isPacked() ? matrixValue(Bits, T) : contained(Bits, T);
                 });
}

/// The scales of A's rows or B's columns, four for each.
class Scales {
public:
  /// `Rows`: the register, the byte id, the thread id. False: reported.
  bool read(Warp &W, const Instruction &I, const uint32_t *Rows,
            const KindPlan &P, bool IsA);
  const ScaleValue *of(unsigned Line) const { return &Values[Line * 4]; }

private:
  ScaleValue Values[FragmentRows * 4];
};

/// The number that all lanes have; nullopt: reported.
std::optional<unsigned> agreed(Warp &W, const Instruction &I, uint32_t Row,
                               unsigned Below, unsigned Step) {
  const uint16_t *Ids = W.row<uint16_t>(Row);
  const char *Wrong = nullptr;
  for (unsigned L = 0; L < WarpSize && !Wrong; ++L)
    if (Ids[L] != Ids[0])
      Wrong = "the lanes do not agree on an id of the scales";
  if (!Wrong && (Ids[0] >= Below || Ids[0] % Step))
    Wrong = "an id of the scales is none of this kind";
  if (!Wrong)
    return Ids[0];
  W.report(FindingKind::BadOperand, I, 0, Wrong);
  return std::nullopt;
}

bool Scales::read(Warp &W, const Instruction &I, const uint32_t *Rows,
                  const KindPlan &P, bool IsA) {
  constexpr unsigned Bytes = 4;
  auto Byte = agreed(W, I, Rows[1], Bytes, P.Scales),
       Thread = agreed(W, I, Rows[2], IsA ? 2 : 4, 1);
  if (!Byte || !Thread)
    return false;
  const uint32_t *Words = W.row<uint32_t>(Rows[0]);
  for (unsigned Line = 0; Line < (IsA ? FragmentRows : FragmentColumns);
       ++Line) {
    // Two threads of four have the upper and the lower rows of A, one of four
    // a column of B.
    unsigned Lane = Line % 8 * 4 + (IsA ? 2 * *Thread + Line / 8 : *Thread);
    for (unsigned S = 0; S < P.Scales; ++S)
      Values[Line * 4 + S] =
          scaleValue(uint8_t(Words[Lane] >> 8 * (*Byte + S)), P.PowerScales);
  }
  return true;
}

/// The sum of an element of D.
class Summation {
public:
  explicit Summation(const KindPlan &P)
      : P(P), Rule(ruleOf(P.A, P.B, false, P.HalfD)) {}
  /// False: reported.
  bool fetch(Warp &W, const Instruction &I, const uint32_t *Rows);
  uint32_t operator()(unsigned Row, unsigned Column, uint32_t C) const;

private:
  const KindPlan &P;
  SumRule Rule;
  MatrixValue Left[FragmentRows * MaxK], Right[FragmentColumns * MaxK];
  Scales OfA, OfB;
};

bool Summation::fetch(Warp &W, const Instruction &I, const uint32_t *Rows) {
  gather(W, Rows, P, true, Left);
  gather(W, Rows + RegistersA, P, false, Right);
  if (!P.Scales)
    return true;
  const uint32_t *Scale = Rows + RegistersA + RegistersB + (P.HalfC ? 2 : 4);
  if (!OfA.read(W, I, Scale, P, true) ||
      !OfB.read(W, I, Scale + ScaleRows / 2, P, false))
    return false;
  if (P.Kind != MatrixKind::MXF8F6F4)
    return true;
  for (unsigned L = 0; L < FragmentRows; ++L)
    scaleBy(Left + L * MaxK, P.k(), OfA.of(L)[0]);
  for (unsigned L = 0; L < FragmentColumns; ++L)
    scaleBy(Right + L * MaxK, P.k(), OfB.of(L)[0]);
  return true;
}

uint32_t Summation::operator()(unsigned Row, unsigned Column,
                               uint32_t In) const {
  const MatrixValue *A = Left + Row * MaxK, *B = Right + Column * MaxK;
  float C = P.HalfC ? halfToFloat(uint16_t(In)) : std::bit_cast<float>(In);
  if (!P.isPacked())
    return fusedSum(A, B, P.k(), C, true, Rule);
  constexpr unsigned Groups = MaxK / BlockGroup;
  ScaleValue Mine[Groups], Other[Groups];
  for (unsigned G = 0; G < Groups; ++G) {
    Mine[G] = OfA.of(Row)[G * P.Scales / Groups];
    Other[G] = OfB.of(Column)[G * P.Scales / Groups];
  }
  return blockSum(A, B, Groups, Mine, Other, C, true);
}

void multiply(Warp &W, const Instruction &I, uint32_t Mask) {
  if (!isWholeMatrixWarp(W, I, Mask))
    return;
  KindPlan P = KindPlan::of(I.Immediate);
  const uint32_t *D = &W.kernel().Vectors[I.Rows];
  const uint32_t *A = D + (P.HalfD ? 2 : 4);
  Summation Sum(P);
  if (Sum.fetch(W, I, A))
    accumulate(W, D, P.HalfD, A + RegistersA + RegistersB, P.HalfC, Sum);
}

/// "f32.e2m1.e3m2.f32.ue8m0" in the order of writing: D, A, B, C, scales.
bool takeTypes(const ptx::Statement &S, Modifiers &M, KindPlan &P) {
  constexpr std::pair<const char *, MatrixType> Small[] = {
      {"e4m3", MatrixType::E4M3},
      {"e5m2", MatrixType::E5M2},
      {"e2m3", MatrixType::E2M3},
      {"e3m2", MatrixType::E3M2},
      {"e2m1", MatrixType::E2M1}};
  std::vector<MatrixType> Operands;
  std::vector<bool> IsHalf;
  for (const std::string &Word : S.Modifiers) {
    for (auto [Name, T] : Small)
      if (Word == Name && M.take(Word))
        Operands.push_back(T);
    if ((Word == "f16" || Word == "f32") && M.take(Word))
      IsHalf.push_back(Word == "f16");
  }
  if (Operands.size() != 2 || IsHalf.size() != 2)
    return false;
  P.A = Operands[0];
  P.B = Operands[1];
  P.HalfD = IsHalf[0];
  P.HalfC = IsHalf[1];
  bool MayBeHalf = P.Kind == MatrixKind::F8F6F4;
  bool Only4Bits = P.A == MatrixType::E2M1 && P.B == MatrixType::E2M1;
  return (MayBeHalf || (!P.HalfD && !P.HalfC)) && (!P.isPacked() || Only4Bits);
}

/// The words of scales; false: none of this kind.
bool takeScales(Decoder &D, Modifiers &M, KindPlan &P) {
  bool IsScaled = P.Kind != MatrixKind::F8F6F4;
  if (M.take("block_scale") != IsScaled)
    return false;
  if (!IsScaled)
    return true;
  auto Count = M.takeOne({"scale_vec::1X", "scale_vec::2X", "scale_vec::4X"});
  if (!Count && P.Kind == MatrixKind::MXF4NVF4)
    return D.fail("kind::mxf4nvf4 must say how many elements share a scale");
  auto Format = M.takeOne({"ue8m0", "ue4m3"});
  if (!Format)
    return false;
  P.PowerScales = *Format == 0;
  P.Scales = P.Kind == MatrixKind::MXF8F6F4 ? 1 : 2;
  if (Count && P.Kind == MatrixKind::MXF4NVF4)
    P.Scales = uint8_t(1u << *Count);
  if (Count && 1u << *Count != P.Scales)
    return false;
  bool IsWhole = P.Scales == (P.Kind == MatrixKind::MXF8F6F4 ? 1 : 2) ||
                 (P.Scales == 4 && P.Kind == MatrixKind::MXF4NVF4);
  // Scales with a mantissa are for groups of 16.
  return IsWhole && (P.PowerScales || P.Scales == 4);
}

/// "sa, {byte, thread}", where sa may be in braces too.
bool addScales(Decoder &D, const ptx::Operand &Words, const ptx::Operand &Ids,
               std::vector<uint32_t> &Rows) {
  const ptx::Operand *Word = &Words;
  if (Words.TheKind == ptx::Operand::Kind::Vector && Words.Parts.size() == 1)
    Word = &Words.Parts[0];
  if (Ids.TheKind != ptx::Operand::Kind::Vector || Ids.Parts.size() != 2)
    return D.fail("expected a byte id and a thread id in braces");
  auto Data = D.source(*Word, 32), Byte = D.source(Ids.Parts[0], 16),
       Thread = D.source(Ids.Parts[1], 16);
  if (!Data || !Byte || !Thread)
    return false;
  Rows.insert(Rows.end(), {*Data, *Byte, *Thread});
  return true;
}

} // namespace

bool decodeKindMatrix(Decoder &D, const ptx::Statement &S, Modifiers &M,
                      Instruction &I, unsigned Kind) {
  KindPlan P;
  P.Kind = MatrixKind(Kind);
  if (!M.take(P.isPacked() ? "m16n8k64" : "m16n8k32") || !takeTypes(S, M, P) ||
      !takeScales(D, M, P))
    return false;
  constexpr size_t Matrices = 4, WithScales = 8;
  if (S.Operands.size() != (P.Scales ? WithScales : Matrices))
    return D.fail("wrong number of operands");
  const unsigned Counts[] = {P.HalfD ? 2u : 4u, RegistersA, RegistersB,
                             P.HalfC ? 2u : 4u};
  if (!decodeFragments(D, S, I, Counts, 32))
    return false;
  std::vector<uint32_t> Scale;
  if (P.Scales && (!addScales(D, S.Operands[4], S.Operands[5], Scale) ||
                   !addScales(D, S.Operands[6], S.Operands[7], Scale)))
    return false;
  std::vector<uint32_t> &Vectors = D.kernel().Vectors;
  Vectors.insert(Vectors.end(), Scale.begin(), Scale.end());
  I.Immediate = P.packed();
  I.Run = multiply;
  return true;
}

} // namespace kpc::emulator
