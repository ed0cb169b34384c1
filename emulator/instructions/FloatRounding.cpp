//===- FloatRounding.cpp - f32 and f64 in directed roundings --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/instructions/FloatRounding.h"
#include "emulator/instructions/Lanes.h"
#include "emulator/numbers/Formats.h"

#include <cfenv>
#include <cmath>

namespace kpc::emulator {

namespace {

/// With the host's rounding mode; the operands are volatile so that nothing is
/// computed earlier or later.
double rounded(uint64_t Doing, Rounding Mode, double InA, double InB,
               double InC) {
  static constexpr int Modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                                  FE_UPWARD};
  volatile double A = InA, B = InB, C = InC, R = 0;
  int Before = std::fegetround();
  std::fesetround(Modes[static_cast<size_t>(Mode)]);
  switch (Doing) {
  case DoAdd:
    R = A + B;
    break;
  case DoSub:
    R = A - B;
    break;
  case DoMul:
    R = A * B;
    break;
  case DoFma:
    R = std::fma(A, B, C);
    break;
  case DoDiv:
    R = A / B;
    break;
  default:
    R = std::sqrt(A);
  }
  std::fesetround(Before);
  return R;
}

/// Exactly, or to odd with 53 bits.
double wide(uint64_t Doing, float A, float B, float C) {
  switch (Doing) {
  case DoAdd:
    return sumToOdd(A, B);
  case DoSub:
    return sumToOdd(A, -double{B});
  case DoMul:
    return double{A} * B;
  default:
    return sumToOdd(double{A} * B, C);
  }
}

template <typename T>
void runDirected(Warp &W, const Instruction &I, uint32_t Mask) {
  T *Out = W.row<T>(I.Target[0]);
  auto In = [&](unsigned N, unsigned L) -> T {
    T A = I.Source[N] == NoRow ? T(0) : W.row<T>(I.Source[N])[L];
    if constexpr (sizeof(T) == 4)
      return I.Immediate & Flush ? flushed(A) : A;
    else
      return A;
  };
  auto Mode = static_cast<Rounding>(I.Mode);
  uint64_t Doing = I.Immediate & 15;
  bool IsInverse = I.Immediate & Inverts;
  forEachLane(Mask, [&](unsigned L) {
    T A = IsInverse ? T(1) : In(0, L), B = IsInverse ? In(0, L) : In(1, L);
    if constexpr (sizeof(T) == 8) {
      double R = rounded(Doing, Mode, A, B, In(2, L));
      Out[L] = Doing == DoDiv || Doing == DoSqrt
                   ? R
                   : lastNaN(R, In(0, L), In(1, L), In(2, L));
    } else {
      // Rounded in one direction first to f64, then to f32, is rounded once.
      double Exact = Doing >= DoDiv ? rounded(Doing, Mode, A, B, 0)
                                    : wide(Doing, A, B, In(2, L));
      float R = std::bit_cast<float>(encode(Exact, Single, Mode, false));
      // A sum that is exactly zero takes its sign from the rounding mode.
      if (Exact == 0 && (Doing < DoMul || Doing == DoFma) &&
          Mode == Rounding::Down)
        R = static_cast<float>(rounded(Doing, Mode, A, B, In(2, L)));
      if (I.Immediate & Flush)
        R = flushed(R);
      if (I.Immediate & Saturates)
        R = R > 1 ? 1 : R > 0 ? R : 0;
      Out[L] = R;
    }
  });
}

} // namespace

Handler directed(bool Wide) {
  return Wide ? runDirected<double> : runDirected<float>;
}

} // namespace kpc::emulator
