//===- InstructionShapes.cpp - Which matrix instructions there are --------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/layout/InstructionShapes.h"

#include <vector>

namespace kpc::layout {

bool ColumnRange::contains(int64_t N) const {
  for (int64_t E : Extra)
    if (E != 0 && E == N)
      return true;
  return N >= Low && N <= High && (N - Low) % Step == 0;
}

bool InstructionShape::allows(int64_t WantM, int64_t WantN,
                              int64_t WantK) const {
  bool RightM = WantM > 0 && (WantM == M[0] || WantM == M[1]);
  return RightM && WantK == K && N.contains(WantN);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace {
using enum ElementType;
using Rows = std::vector<InstructionShape>;

/// A, B and D of a row.
struct Types {
  ElementType A, B, D;
};

constexpr ElementType Fp8[] = {E4M3, E5M2};
constexpr ElementType Narrow[] = {E4M3, E5M2, E2M3, E3M2, E2M1};
constexpr ElementType Bytes[] = {S8, U8};

void addMmaSync(Rows &Out) {
  constexpr ColumnRange N8{8, 8, 8};
  auto Add = [&](Types T, int64_t K, int64_t Architecture) {
    Out.push_back({MatrixInstruction::MmaSync,
                   T.A,
                   T.B,
                   T.D,
                   {16, 0},
                   N8,
                   K,
                   false,
                   false,
                   Architecture});
  };
  for (ElementType D : {F32, F16})
    for (int64_t K : {16, 8})
      Add({F16, F16, D}, K, 80);
  for (int64_t K : {16, 8})
    Add({BF16, BF16, F32}, K, 80);
  for (int64_t K : {8, 4})
    Add({TF32, TF32, F32}, K, 80);
  for (ElementType A : Bytes)
    for (ElementType B : Bytes)
      for (int64_t K : {32, 16})
        Add({A, B, S32}, K, 80);
  for (ElementType A : Fp8)
    for (ElementType B : Fp8) {
      Add({A, B, F32}, 32, 89);
      Add({A, B, F16}, 32, 89);
    }
}

void addWgmma(Rows &Out) {
  constexpr ColumnRange ByEight{8, 256, 8};
  constexpr ColumnRange Integer{48, 256, 16, {8, 16, 24, 32}};
  auto Add = [&](Types T, const ColumnRange &N, int64_t K, bool Transposes) {
    Out.push_back({MatrixInstruction::Wgmma,
                   T.A,
                   T.B,
                   T.D,
                   {64, 0},
                   N,
                   K,
                   Transposes,
                   Transposes,
                   90});
  };
  Add({F16, F16, F32}, ByEight, 16, true);
  Add({F16, F16, F16}, ByEight, 16, true);
  Add({BF16, BF16, F32}, ByEight, 16, true);
  Add({TF32, TF32, F32}, ByEight, 8, false);
  for (ElementType A : Fp8)
    for (ElementType B : Fp8) {
      Add({A, B, F32}, ByEight, 32, false);
      Add({A, B, F16}, ByEight, 32, false);
    }
  for (ElementType A : Bytes)
    for (ElementType B : Bytes)
      Add({A, B, S32}, Integer, 32, false);
}

void addTcgen05(Rows &Out, bool Pair) {
  ColumnRange Float = Pair ? ColumnRange{16, 256, 16} : ColumnRange{8, 256, 8};
  ColumnRange Integer = Pair ? ColumnRange{32, 256, 32}
                             : ColumnRange{48, 256, 16, {8, 16, 24, 32}};
  auto Add = [&](Types T, const ColumnRange &N, int64_t K, bool TransposesA,
                 bool TransposesB) {
    InstructionShape S{Pair ? MatrixInstruction::Tcgen05Pair
                            : MatrixInstruction::Tcgen05,
                       T.A,
                       T.B,
                       T.D,
                       {64, 128},
                       N,
                       K,
                       TransposesA,
                       TransposesB,
                       100};
    if (Pair)
      S.M[0] = 128, S.M[1] = 256;
    Out.push_back(S);
  };
  Add({F16, F16, F32}, Float, 16, true, true);
  Add({F16, F16, F16}, Float, 16, true, true);
  Add({BF16, BF16, F32}, Float, 16, true, true);
  Add({TF32, TF32, F32}, Float, 8, true, true);
  auto Transposes = [](ElementType T) { return T == E4M3 || T == E5M2; };
  for (ElementType A : Narrow)
    for (ElementType B : Narrow)
      for (ElementType D : {F32, F16})
        Add({A, B, D}, Float, 32, Transposes(A), Transposes(B));
  for (ElementType A : Bytes)
    for (ElementType B : Bytes)
      Add({A, B, S32}, Integer, 32, true, true);
}

Rows makeRows() {
  Rows Out;
  addMmaSync(Out);
  addWgmma(Out);
  addTcgen05(Out, /*Pair=*/false);
  addTcgen05(Out, /*Pair=*/true);
  return Out;
}
} // namespace

std::span<const InstructionShape> instructionShapes() {
  static const Rows All = makeRows();
  return All;
}

const InstructionShape *findShape(MatrixInstruction Instruction, ElementType A,
                                  ElementType B, ElementType D, int64_t K) {
  const InstructionShape *Best = nullptr;
  for (const InstructionShape &S : instructionShapes()) {
    if (S.Instruction != Instruction || S.A != A || S.B != B || S.D != D)
      continue;
    if (K != 0 ? S.K == K : !Best || S.K > Best->K)
      Best = &S;
  }
  return Best;
}

} // namespace kpc::layout
