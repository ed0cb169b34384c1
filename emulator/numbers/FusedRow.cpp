//===- FusedRow.cpp - A row of A with all columns of B --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/numbers/FusedRow.h"

#include <algorithm>
#include <cmath>
#include <cstring>

// Shifts of each lane by its own count are one instruction from AVX2 on.
#if defined(__x86_64__) && defined(__linux__)
#define KPC_WITH_LANE_SHIFTS [[gnu::target_clones("avx2", "default")]]
#else
#define KPC_WITH_LANE_SHIFTS
#endif

namespace kpc::emulator {

namespace {

constexpr unsigned Width = FusedColumns::Width, MaxK = 64;
using Lanes = int32_t __attribute__((vector_size(4 * Width)));
using Bits = uint32_t __attribute__((vector_size(4 * Width)));
/// The largest sum of so many terms, each below 2^27, fits 31 bits.
constexpr unsigned Terms = 8;

/// A row, and eight columns with `Stride` numbers from one k to the next.
struct Operands {
  const int32_t *SignificandsA, *ExponentsA;
  const int32_t *SignificandsB, *ExponentsB;
  unsigned K, Stride;
  int Up; ///< from a product's fraction to the kept one
};

} // namespace

/// `Top`: the largest exponent of other terms, and then of all. Each product is
/// cut toward zero at `Up` bits below it.
/// (Lanes are copied in place: a function that gave them would have another ABI
/// with AVX2 than without.)
KPC_WITH_LANE_SHIFTS
static void sumProducts(const Operands &O, int32_t (&Top)[Width],
                        int64_t (&Sums)[Width]) {
  Lanes Largest, E, Product;
  std::memcpy(&Largest, Top, sizeof Largest);
  for (unsigned K = 0; K < O.K; ++K) {
    std::memcpy(&E, O.ExponentsB + K * O.Stride, sizeof E);
    E += O.ExponentsA[K];
    Largest = E > Largest ? E : Largest;
  }
  std::fill(Sums, Sums + Width, 0);
  for (unsigned From = 0; From < O.K; From += Terms) {
    Lanes Sum = {};
    for (unsigned K = From; K < std::min(O.K, From + Terms); ++K) {
      std::memcpy(&E, O.ExponentsB + K * O.Stride, sizeof E);
      std::memcpy(&Product, O.SignificandsB + K * O.Stride, sizeof Product);
      Product *= O.SignificandsA[K];
      Lanes Sign = Product >> 31;
      Bits Size = (Bits)((Product ^ Sign) - Sign) << O.Up;
      Lanes Down = Largest - E - O.ExponentsA[K];
      Down = Down > 31 ? Lanes{} + 31 : Down; // less than 2^27 becomes 0
      Sum += ((Lanes)(Size >> (Bits)Down) ^ Sign) - Sign;
    }
    for (unsigned N = 0; N < Width; ++N)
      Sums[N] += Sum[N];
  }
  std::memcpy(Top, &Largest, sizeof Largest);
}

FusedColumns::FusedColumns(const MatrixValue *Values, unsigned Columns,
                           unsigned K, unsigned Pitch)
    : Values(Values), K(K), Pitch(Pitch),
      Stride((Columns + Width - 1) / Width * Width),
      Significands(size_t{K} * Stride), Exponents(size_t{K} * Stride),
      AreFinite(Columns, true) {
  for (unsigned N = 0; N < Columns; ++N)
    for (unsigned At = 0; At < K; ++At) {
      const MatrixValue &V = Values[size_t{N} * Pitch + At];
      Significands[size_t{At} * Stride + N] = V.Significand;
      Exponents[size_t{At} * Stride + N] = V.Exponent;
      if (V.TheKind != MatrixValue::Kind::Finite)
        AreFinite[N] = false;
    }
}

void FusedColumns::multiply(const MatrixValue *Row, unsigned First,
                            unsigned Count, const float *C, bool HasC,
                            const SumRule &Rule, uint32_t *D) const {
  int32_t RowSignificands[MaxK], RowExponents[MaxK];
  bool IsFinite = true;
  for (unsigned At = 0; At < K; ++At) {
    RowSignificands[At] = Row[At].Significand;
    RowExponents[At] = Row[At].Exponent;
    IsFinite &= Row[At].TheKind == MatrixValue::Kind::Finite;
  }
  for (unsigned Begin = 0; Begin < Count; Begin += Width) {
    unsigned Many = std::min(Width, Count - Begin);
    int32_t Top[Width];
    int64_t Sums[Width];
    for (unsigned N = 0; N < Width; ++N)
      Top[N] =
          HasC && N < Many ? accumulatorExponent(C[Begin + N]) : NoExponent;
    sumProducts({RowSignificands, RowExponents, &Significands[First + Begin],
                 &Exponents[First + Begin], K, Stride,
                 Rule.Kept - Rule.FractionA - Rule.FractionB},
                Top, Sums);
    for (unsigned N = 0; N < Many; ++N) {
      unsigned Column = First + Begin + N;
      float In = HasC ? C[Begin + N] : 0;
      D[Begin + N] = IsFinite && AreFinite[Column] && std::isfinite(In)
                         ? finishSum(Sums[N], Top[N], In, HasC, Rule)
                         : fusedSum(Row, &Values[size_t{Column} * Pitch], K, In,
                                    HasC, Rule);
    }
  }
}

} // namespace kpc::emulator
