//===- MatrixSync.cpp - mma.sync, ldmatrix, stmatrix ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "Warp Level Matrix Instructions": m16n8 shapes of dense mma.sync,
// and the 8x8 matrices of 16-bit elements. Fragments are gathered into plain
// matrices: a thread's group (lane / 4) and quad (lane % 4) say its row and
// column.

#include "emulator/instructions/Lanes.h"
#include "emulator/instructions/Opcodes.h"
#include "emulator/numbers/Formats.h"
#include "emulator/numbers/FusedSum.h"

#include <algorithm>
#include <cstring>

namespace kpc::emulator {

namespace {

bool wholeWarp(Warp &W, const Instruction &I, uint32_t Mask) {
  if (Mask == ~uint32_t{0})
    return true;
  W.report(FindingKind::NotConverged, I, unsigned(std::countr_zero(Mask)),
           "not all 32 threads of the warp come here together");
  return false;
}

//===----------------------------------------------------------------------===//
// mma.sync: Immediate is the plan, Vectors D, A, B, C one behind the other
//===----------------------------------------------------------------------===//

constexpr unsigned HalfK = 16;

struct MmaPlan {
  MatrixType A, B;
  uint8_t K;
  bool HalfD, HalfC, Saturate;
  uint64_t packed() const {
    return uint64_t(A) | uint64_t(B) << 8 | uint64_t{K} << 16 |
           uint64_t{HalfD} << 24 | uint64_t{HalfC} << 25 |
           uint64_t{Saturate} << 26;
  }
  static MmaPlan of(uint64_t V) {
    return {MatrixType(V & 0xFF), MatrixType(V >> 8 & 0xFF),
            uint8_t(V >> 16),     (V >> 24 & 1) != 0,
            (V >> 25 & 1) != 0,   (V >> 26 & 1) != 0};
  }
  /// Of FP8 the two lower bytes of each register are summed first, then the
  /// two upper ones, and C is added: what ptxas makes of it for sm_90.
  bool isSplit() const {
    return matrixBits(A) == 8 && !isInteger(A) && K > HalfK;
  }
  unsigned registersA() const { return unsigned{K} * matrixBits(A) / 64; }
  unsigned registersB() const { return unsigned{K} * matrixBits(A) / 128; }
};

constexpr unsigned Rows = 16, Columns = 8, MaxK = 32;

/// Row of a register file's element: A's registers alternate between the upper
/// and the lower eight rows, and go along k in pairs.
void gather(Warp &W, const uint32_t *Registers, const MmaPlan &P, bool IsA,
            MatrixValue *Out) {
  unsigned Bits = matrixBits(P.A), Each = 32 / Bits;
  MatrixType T = IsA ? P.A : P.B;
  unsigned Count = IsA ? P.registersA() : P.registersB();
  for (unsigned R = 0; R < Count; ++R) {
    unsigned Lower = IsA ? R & 1 : 0, Along = IsA ? R >> 1 : R;
    const uint32_t *Row = W.row<uint32_t>(Registers[R]);
    for (unsigned L = 0; L < WarpSize; ++L)
      for (unsigned E = 0; E < Each; ++E) {
        unsigned Line = (L >> 2) + 8 * Lower;
        unsigned K = Along * 4 * Each + (L & 3) * Each + E;
        if (P.isSplit())
          K = E / 2 * HalfK + Along * 8 + (L & 3) * 2 + E % 2;
        uint32_t Value = Bits == 32 ? Row[L] : Row[L] >> (E * Bits);
        Out[Line * MaxK + K] = matrixValue(Value, T);
      }
  }
}

uint32_t integerSum(const MatrixValue *A, const MatrixValue *B, unsigned K,
                    uint32_t C, bool Saturate) {
  int64_t Sum = int32_t(C);
  for (unsigned N = 0; N < K; ++N)
    Sum += int64_t{A[N].Significand} * B[N].Significand;
  if (Saturate)
    Sum = std::min<int64_t>(std::max<int64_t>(Sum, INT32_MIN), INT32_MAX);
  return uint32_t(Sum);
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

void mma(Warp &W, const Instruction &I, uint32_t Mask) {
  if (!wholeWarp(W, I, Mask))
    return;
  MmaPlan P = MmaPlan::of(I.Immediate);
  const uint32_t *D = &W.kernel().Vectors[I.Rows];
  const uint32_t *A = D + (P.HalfD ? 2 : 4), *B = A + P.registersA(),
                 *C = B + P.registersB();
  MatrixValue Left[Rows * MaxK], Right[Columns * MaxK];
  gather(W, A, P, true, Left);
  gather(W, B, P, false, Right);
  SumRule Rule = isInteger(P.A) ? SumRule{} : ruleOf(P.A, P.B, false, P.HalfD);
  uint32_t Results[4][WarpSize];
  for (unsigned L = 0; L < WarpSize; ++L)
    for (unsigned N = 0; N < 4; ++N) {
      const MatrixValue *Row = Left + ((L >> 2) + 8 * (N >> 1)) * MaxK;
      const MatrixValue *Column = Right + (2 * (L & 3) + (N & 1)) * MaxK;
      uint32_t In = W.row<uint32_t>(C[P.HalfC ? N >> 1 : N])[L];
      if (isInteger(P.A)) {
        Results[N][L] = integerSum(Row, Column, P.K, In, P.Saturate);
        continue;
      }
      float Start = P.HalfC ? halfToFloat(uint16_t(In >> 16 * (N & 1)))
                            : std::bit_cast<float>(In);
      Results[N][L] = P.isSplit()
                          ? splitSum(Row, Column, Start, P)
                          : fusedSum(Row, Column, P.K, Start, true, Rule);
    }
  for (unsigned L = 0; L < WarpSize; ++L)
    for (unsigned R = 0; R < (P.HalfD ? 2u : 4u); ++R)
      W.row<uint32_t>(D[R])[L] =
          P.HalfD ? Results[2 * R + 1][L] << 16 | Results[2 * R][L]
                  : Results[R][L];
}

std::optional<MatrixType> takeOperandType(Modifiers &M) {
  auto T = M.takeOne({"f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8"});
  return T ? std::optional(MatrixType(*T)) : std::nullopt;
}

/// "f32.bf16.bf16.f32" in the order of writing: D, A, B, C.
bool takeTypes(const ptx::Statement &S, Modifiers &M, MmaPlan &P) {
  std::vector<std::string> Types;
  for (const std::string &Word : S.Modifiers)
    for (const char *Known :
         {"f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8", "f32", "s32"})
      if (Word == Known)
        Types.push_back(Word);
  if (Types.size() != 4)
    return false;
  for (const std::string &T : Types)
    M.take(T);
  std::vector<std::string> Words{Types[1]}, Other{Types[2]};
  Modifiers First(Words), Second(Other);
  auto A = takeOperandType(First), B = takeOperandType(Second);
  if (!A || !B || matrixBits(*A) != matrixBits(*B) ||
      isInteger(*A) != isInteger(*B))
    return false;
  P.A = *A;
  P.B = *B;
  P.HalfD = Types[0] == "f16";
  P.HalfC = Types[3] == "f16";
  const char *Wide = isInteger(*A) ? "s32" : "f32";
  bool MayBeHalf =
      *A == MatrixType::F16 || (matrixBits(*A) == 8 && !isInteger(*A));
  return (Types[0] == Wide || (P.HalfD && MayBeHalf)) &&
         (Types[3] == Wide || (P.HalfC && MayBeHalf));
}

bool decodeMma(Decoder &D, const ptx::Statement &S, Modifiers &M,
               Instruction &I) {
  MmaPlan P{};
  if (!M.take("sync") || !M.take("aligned") || !M.take("row") || !M.take("col"))
    return false;
  auto Shape = M.takeOne({"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"});
  P.Saturate = M.take("satfinite");
  if (!Shape || !takeTypes(S, M, P) || S.Operands.size() != 4)
    return false;
  P.K = uint8_t(4u << *Shape);
  unsigned Bytes = P.K * matrixBits(P.A) / 8;
  if (Bytes != 32 && Bytes != 16)
    return false;
  const unsigned Counts[] = {P.HalfD ? 2u : 4u, P.registersA(), P.registersB(),
                             P.HalfC ? 2u : 4u};
  uint32_t First = 0;
  for (unsigned N = 0; N < 4; ++N) {
    unsigned Bits = 0;
    if (!D.rows(S.Operands[N], I, N == 0, 32, Bits))
      return false;
    if (Bits != 32 || I.Count != Counts[N])
      return D.fail("wrong registers of a fragment");
    if (N == 0)
      First = I.Rows;
  }
  I.Rows = First;
  I.Immediate = P.packed();
  I.Run = mma;
  return true;
}

//===----------------------------------------------------------------------===//
// ldmatrix, stmatrix: Mode 1 is .trans
//===----------------------------------------------------------------------===//

void loadMatrix(Warp &W, const Instruction &I, uint32_t Mask) {
  if (!wholeWarp(W, I, Mask))
    return;
  const uint32_t *To = &W.kernel().Vectors[I.Rows];
  uint16_t Matrices[4][8][8];
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
  if (!wholeWarp(W, I, Mask))
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
