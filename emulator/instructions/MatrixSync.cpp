//===- MatrixSync.cpp - mma.sync, ldmatrix, stmatrix ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "Warp Level Matrix Instructions": m16n8 shapes of dense mma.sync,
// and the 8x8 matrices of 16-bit elements. Fragments are gathered into plain
// matrices. The kinds of sm_120a are in KindMatrixSync.cpp,
// integers in IntegerMatrixSync.cpp, f64 in DoubleMatrixSync.cpp.

#include "emulator/instructions/Lanes.h"
#include "emulator/instructions/MatrixFragments.h"
#include "emulator/instructions/Opcodes.h"
#include "emulator/numbers/Formats.h"
#include "emulator/numbers/FusedRow.h"

#include <algorithm>
#include <cstring>

namespace kpc::emulator {

bool isWholeMatrixWarp(Warp &W, const Instruction &I, uint32_t Mask) {
  if (Mask == ~uint32_t{0})
    return true;
  W.report(FindingKind::NotConverged, I, unsigned(std::countr_zero(Mask)),
           "not all 32 threads of the warp come here together");
  return false;
}

bool decodeFragments(Decoder &D, const ptx::Statement &S, Instruction &I,
                     const unsigned (&Counts)[4], unsigned RegisterBits) {
  if (S.Operands.size() < 4)
    return D.fail("wrong number of operands");
  uint32_t First = 0;
  for (unsigned N = 0; N < 4; ++N) {
    unsigned Bits = 0;
    if (!D.rows(S.Operands[N], I, N == 0, RegisterBits, Bits))
      return false;
    if (Bits != RegisterBits || I.Count != Counts[N])
      return D.fail("wrong registers of a fragment");
    if (N == 0)
      First = I.Rows;
  }
  I.Rows = First;
  return true;
}

namespace {

//===----------------------------------------------------------------------===//
// mma.sync: Immediate is the plan, Vectors D, A, B, C one behind the other
//===----------------------------------------------------------------------===//

constexpr unsigned HalfK = 16;

struct MmaPlan {
  MatrixType A, B;
  uint8_t K;
  bool HalfD, HalfC;
  bool IsAda = false; ///< of FP8: sums keep 13 bits
  uint64_t packed() const {
    return uint64_t(A) | uint64_t(B) << 8 | uint64_t{K} << 16 |
           uint64_t{HalfD} << 24 | uint64_t{HalfC} << 25 |
           uint64_t{IsAda} << 26;
  }
  static MmaPlan of(uint64_t V) {
    return {MatrixType(V & 0xFF), MatrixType(V >> 8 & 0xFF),
            uint8_t(V >> 16),     (V >> 24 & 1) != 0,
            (V >> 25 & 1) != 0,   (V >> 26 & 1) != 0};
  }
  /// Of FP8 the two lower bytes of each register are summed first, then the
  /// two upper ones, and C is added: what ptxas makes of it for sm_90.
  bool isSplit() const { return matrixBits(A) == 8 && K > HalfK && !IsAda; }
  unsigned registersA() const { return unsigned{K} * matrixBits(A) / 64; }
  unsigned registersB() const { return unsigned{K} * matrixBits(A) / 128; }
};

constexpr unsigned MaxK = 32;

void gather(Warp &W, const uint32_t *Registers, const MmaPlan &P, bool IsA,
            MatrixValue *Out) {
  MatrixType T = IsA ? P.A : P.B;
  const MatrixValue *Known = matrixBits(T) <= 16 ? matrixValues(T) : nullptr;
  auto Put = [&](unsigned Line, unsigned K, uint32_t Bits) {
    if (P.isSplit())
      K = K % 4 / 2 * HalfK + K / 16 * 8 + K / 4 % 4 * 2 + K % 2;
    Out[Line * MaxK + K] = Known ? Known[Bits] : matrixValue(Bits, T);
  };
  forEachElement(W, Registers, IsA ? P.registersA() : P.registersB(), IsA,
                 matrixBits(T), Put);
}

uint32_t splitSum(const MatrixValue *Row, const MatrixValue *Column, float C,
                  const MmaPlan &P) {
  SumRule Rule = ruleOf(P.A, P.B, false, false);
  uint32_t Lower = fusedSum(Row, Column, HalfK, 0, false, Rule);
  uint32_t Both = fusedSum(Row + HalfK, Column + HalfK, P.K - HalfK,
                           std::bit_cast<float>(Lower), true, Rule);
  float Sum = canonical(std::bit_cast<float>(Both) + C);
  return P.HalfD ? floatToHalf(Sum) : std::bit_cast<uint32_t>(Sum);
}

/// Ada: C with the first 16 products, and that with the others (MMA-Sim; no
/// such chip was at hand).
uint32_t adaSum(const MatrixValue *Row, const MatrixValue *Column, float C,
                const MmaPlan &P) {
  SumRule Rule = ruleOf(P.A, P.B, /*ShortFp8=*/true, P.HalfD);
  for (unsigned K = 0; K < P.K; K += HalfK) {
    uint32_t Sum = fusedSum(Row + K, Column + K, HalfK, C, true, Rule);
    if (K + HalfK == P.K)
      return Sum;
    C = P.HalfD ? halfToFloat(uint16_t(Sum)) : std::bit_cast<float>(Sum);
  }
  return 0;
}

void mma(Warp &W, const Instruction &I, uint32_t Mask) {
  if (!isWholeMatrixWarp(W, I, Mask))
    return;
  MmaPlan P = MmaPlan::of(I.Immediate);
  const uint32_t *D = &W.kernel().Vectors[I.Rows];
  const uint32_t *A = D + (P.HalfD ? 2 : 4), *B = A + P.registersA(),
                 *C = B + P.registersB();
  MatrixValue Left[FragmentRows * MaxK], Right[FragmentColumns * MaxK];
  gather(W, A, P, true, Left);
  gather(W, B, P, false, Right);
  float Start[FragmentRows][FragmentColumns];
  forEachAccumulator(W, C, P.HalfC, 4,
                     [&](unsigned Row, unsigned Column, uint32_t In) {
                       Start[Row][Column] = P.HalfC ? halfToFloat(uint16_t(In))
                                                    : std::bit_cast<float>(In);
                     });
  uint32_t Sums[FragmentRows][FragmentColumns];
  FusedColumns Columns(Right, FragmentColumns, P.K, MaxK);
  SumRule Rule = ruleOf(P.A, P.B, false, P.HalfD);
  for (unsigned Row = 0; Row < FragmentRows; ++Row) {
    const MatrixValue *Line = Left + Row * MaxK;
    if (P.IsAda)
      for (unsigned N = 0; N < FragmentColumns; ++N)
        Sums[Row][N] = adaSum(Line, Right + N * MaxK, Start[Row][N], P);
    else if (!P.isSplit())
      Columns.multiply(Line, 0, FragmentColumns, Start[Row], true, Rule,
                       Sums[Row]);
    else
      for (unsigned N = 0; N < FragmentColumns; ++N)
        Sums[Row][N] = splitSum(Line, Right + N * MaxK, Start[Row][N], P);
  }
  storeAccumulators(W, D, P.HalfD, 4, [&](unsigned Row, unsigned Column) {
    return Sums[Row][Column];
  });
}

std::optional<MatrixType> takeOperandType(Modifiers &M) {
  auto T = M.takeOne({"f16", "bf16", "tf32", "e4m3", "e5m2"});
  return T ? std::optional(MatrixType(*T)) : std::nullopt;
}

/// "f32.bf16.bf16.f32" in the order of writing: D, A, B, C.
bool takeTypes(const ptx::Statement &S, Modifiers &M, MmaPlan &P) {
  std::vector<std::string> Types;
  for (const std::string &Word : S.Modifiers)
    for (const char *Known : {"f16", "bf16", "tf32", "e4m3", "e5m2", "f32"})
      if (Word == Known)
        Types.push_back(Word);
  if (Types.size() != 4)
    return false;
  for (const std::string &T : Types)
    M.take(T);
  std::vector<std::string> Words{Types[1]}, Other{Types[2]};
  Modifiers First(Words), Second(Other);
  auto A = takeOperandType(First), B = takeOperandType(Second);
  if (!A || !B || matrixBits(*A) != matrixBits(*B))
    return false;
  P.A = *A;
  P.B = *B;
  P.HalfD = Types[0] == "f16";
  P.HalfC = Types[3] == "f16";
  bool MayBeHalf = *A == MatrixType::F16 || matrixBits(*A) == 8;
  return (Types[0] == "f32" || (P.HalfD && MayBeHalf)) &&
         (Types[3] == "f32" || (P.HalfC && MayBeHalf));
}

bool decodeMma(Decoder &D, const ptx::Statement &S, Modifiers &M,
               Instruction &I) {
  MmaPlan P{};
  if (M.take("sp") || M.take("sp::ordered_metadata"))
    return D.fail("sparse mma.sync is refused: its metadata's layout is not "
                  "confirmed");
  if (!M.take("sync") || !M.take("aligned") || !M.take("row") || !M.take("col"))
    return false;
  if (auto Kind = M.takeOne(
          {"kind::f8f6f4", "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"}))
    return decodeKindMatrix(D, S, M, I, unsigned(*Kind));
  auto Has = [&](const char *Word) {
    return std::count(S.Modifiers.begin(), S.Modifiers.end(), Word) != 0;
  };
  if (Has("m8n8k4") && !Has("f64"))
    return D.fail("m8n8k4 of f16 is refused: it is of chips before sm_80");
  if (Has("f64"))
    return decodeDoubleMatrix(D, S, M, I);
  if (Has("s32"))
    return decodeIntegerMatrix(D, S, M, I);
  auto Shape = M.takeOne({"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"});
  if (!Shape || !takeTypes(S, M, P))
    return false;
  P.K = uint8_t(4u << *Shape);
  unsigned Bytes = P.K * matrixBits(P.A) / 8;
  if (Bytes != 32 && Bytes != 16)
    return false;
  const unsigned Counts[] = {P.HalfD ? 2u : 4u, P.registersA(), P.registersB(),
                             P.HalfC ? 2u : 4u};
  if (!decodeFragments(D, S, I, Counts, 32))
    return false;
  constexpr unsigned Ada = 89;
  P.IsAda = matrixBits(P.A) == 8 && D.chip().Number == Ada;
  I.Immediate = P.packed();
  I.Run = mma;
  return true;
}

//===----------------------------------------------------------------------===//
// ldmatrix, stmatrix: Mode 1 is .trans
//===----------------------------------------------------------------------===//

void loadMatrix(Warp &W, const Instruction &I, uint32_t Mask) {
  if (!isWholeMatrixWarp(W, I, Mask))
    return;
  const uint32_t *To = &W.kernel().Vectors[I.Rows];
  uint16_t Matrices[4][8][8] = {};
  for (unsigned L = 0; L < 8u * I.Count; ++L) {
    uint8_t *Row = W.locate(I, W.addressOf(I, L), 16, MemoryUse::Read, L);
    if (!Row)
      return;
    std::memcpy(Matrices[L / 8][L % 8], Row, 16);
  }
  for (unsigned N = 0; N < I.Count; ++N)
    for (unsigned L = 0; L < WarpSize; ++L) {
      unsigned Line = L >> 2, At = 2 * (L & 3);
      auto &X = Matrices[N];
      uint32_t Low = I.Mode ? X[At][Line] : X[Line][At];
      uint32_t High = I.Mode ? X[At + 1][Line] : X[Line][At + 1];
      W.row<uint32_t>(To[N])[L] = High << 16 | Low;
    }
}

void storeMatrix(Warp &W, const Instruction &I, uint32_t Mask) {
  if (!isWholeMatrixWarp(W, I, Mask))
    return;
  const uint32_t *From = &W.kernel().Vectors[I.Rows];
  for (unsigned L = 0; L < 8u * I.Count; ++L) {
    uint8_t *Row = W.locate(I, W.addressOf(I, L), 16, MemoryUse::Write, L);
    if (!Row)
      return;
    const uint32_t *Data = W.row<uint32_t>(From[L / 8]);
    uint16_t Line[8];
    for (unsigned At = 0; At < 8; ++At) {
      unsigned Holder = I.Mode ? 4 * At + (L % 8) / 2 : 4 * (L % 8) + At / 2;
      unsigned Half = I.Mode ? L % 2 : At % 2;
      Line[At] = uint16_t(Data[Holder] >> 16 * Half);
    }
    std::memcpy(Row, Line, 16);
  }
}

bool decodeMatrixMove(Decoder &D, const ptx::Statement &S, Modifiers &M,
                      Instruction &I) {
  bool Stores = S.Opcode == "stmatrix";
  if (!M.take("sync") || !M.take("aligned") || !M.take("m8n8"))
    return false;
  auto Count = M.takeOne({"x1", "x2", "x4"});
  I.Mode = M.take("trans");
  M.takeOne({"shared", "shared::cta"});
  if (!Count || !M.take("b16") || S.Operands.size() != 2)
    return false;
  I.Where = Space::Shared;
  unsigned Bits = 0;
  if (!D.address(S.Operands[Stores ? 0 : 1], I) ||
      !D.rows(S.Operands[Stores ? 1 : 0], I, !Stores, 32, Bits))
    return false;
  if (Bits != 32 || I.Count != 1u << *Count)
    return D.fail("wrong registers");
  I.Run = Stores ? storeMatrix : loadMatrix;
  return true;
}

} // namespace

void addMatrixSync(OpcodeTable &Table) {
  Table["mma"] = decodeMma;
  Table["ldmatrix"] = Table["stmatrix"] = decodeMatrixMove;
}

} // namespace kpc::emulator
