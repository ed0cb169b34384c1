//===- DoubleMatrixSync.cpp - mma.sync of f64 -----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "mma.sync": m8n8k4 and m16n8k4, k8, k16 of f64. An element is a
// chain of fma from C on, along k, each rounded to nearest. Of several NaN B's
// is kept, then the sum's, then A's.

#include "emulator/instructions/FloatRounding.h"
#include "emulator/instructions/Lanes.h"
#include "emulator/instructions/MatrixFragments.h"
#include "emulator/instructions/Opcodes.h"

#include <cmath>

namespace kpc::emulator {

namespace {

constexpr unsigned MaxK = 16;

/// Count is k, Mode 1: eight rows. Vectors: D, A, B, C.
void multiply(Warp &W, const Instruction &I, uint32_t Mask) {
  if (!isWholeMatrixWarp(W, I, Mask))
    return;
  unsigned K = I.Count, Halves = I.Mode ? 1 : 2;
  const uint32_t *D = &W.kernel().Vectors[I.Rows], *A = D + 2 * Halves,
                 *B = A + K / 4 * Halves, *C = B + K / 4;
  double Left[FragmentRows][MaxK], Right[FragmentColumns][MaxK];
  double Results[4][WarpSize];
  for (unsigned L = 0; L < WarpSize; ++L)
    for (unsigned R = 0; R < K / 4; ++R) {
      unsigned At = (L & 3) + 4 * R;
      for (unsigned H = 0; H < Halves; ++H)
        Left[(L >> 2) + 8 * H][At] = W.row<double>(A[R * Halves + H])[L];
      Right[L >> 2][At] = W.row<double>(B[R])[L];
    }
  for (unsigned L = 0; L < WarpSize; ++L)
    for (unsigned N = 0; N < 2 * Halves; ++N) {
      const double *Row = Left[(L >> 2) + 8 * (N >> 1)],
                   *Column = Right[2 * (L & 3) + (N & 1)];
      double Sum = W.row<double>(C[N])[L];
      for (unsigned At = 0; At < K; ++At)
        Sum = lastNaN(std::fma(Row[At], Column[At], Sum), Row[At], Sum,
                      Column[At]);
      Results[N][L] = Sum;
    }
  for (unsigned N = 0; N < 2 * Halves; ++N)
    std::copy_n(Results[N], WarpSize, W.row<double>(D[N]));
}

} // namespace

bool decodeDoubleMatrix(Decoder &D, const ptx::Statement &S, Modifiers &M,
                        Instruction &I) {
  for (unsigned N = 0; N < 4; ++N)
    if (!M.take("f64"))
      return false;
  M.take("rn");
  auto Shape = M.takeOne({"m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"});
  if (!Shape)
    return false;
  unsigned K = *Shape < 2 ? 4 : 4u << (*Shape - 1), Halves = *Shape ? 2 : 1;
  const unsigned Counts[] = {2 * Halves, K / 4 * Halves, K / 4, 2 * Halves};
  if (!decodeFragments(D, S, I, Counts, 64))
    return false;
  I.Mode = *Shape == 0;
  I.Count = uint8_t(K);
  I.Run = multiply;
  return true;
}

} // namespace kpc::emulator
