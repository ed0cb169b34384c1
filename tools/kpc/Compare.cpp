//===- Compare.cpp - How far a tensor is from its reference ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Compare.h"

#include <cmath>
#include <fmt/format.h>

namespace kpc::cli {

static bool sameNumber(double A, double B) {
  return A == B || (std::isnan(A) && std::isnan(B));
}

Difference difference(std::span<const double> Got,
                      std::span<const double> Wanted, bool Exact) {
  Difference D;
  double Squares = 0, Reference = 0, Farthest = -1;
  size_t Finite = 0;
  auto Remember = [&](size_t I, double Error) {
    if (Error <= Farthest)
      return;
    Farthest = Error;
    D.Worst = static_cast<int64_t>(I);
    D.Got = Got[I];
    D.Wanted = Wanted[I];
  };
  for (size_t I = 0; I < Got.size(); ++I) {
    bool Same = sameNumber(Got[I], Wanted[I]);
    if (!Same &&
        (Exact || !std::isfinite(Got[I]) || !std::isfinite(Wanted[I]))) {
      ++D.Unequal;
      Remember(I, INFINITY);
      continue;
    }
    if (!std::isfinite(Wanted[I]))
      continue;
    double Error = std::fabs(Got[I] - Wanted[I]);
    Squares += Error * Error;
    Reference += Wanted[I] * Wanted[I];
    ++Finite;
    if (Error > 0)
      Remember(I, Error);
  }
  if (!Finite)
    return D;
  double Scale = std::sqrt(Reference / static_cast<double>(Finite));
  double Largest = std::isfinite(Farthest) && Farthest > 0 ? Farthest : 0;
  double Rms = std::sqrt(Squares / static_cast<double>(Finite));
  // Where the reference is 0 throughout, the error itself must be tiny.
  if (Scale == 0)
    Scale = 1;
  D.Rms = Rms / Scale;
  D.Largest = Largest / Scale;
  return D;
}

/// "[0,3]", the place of an element.
static std::string placeText(int64_t Element, std::span<const int64_t> Dims) {
  std::string Out;
  for (size_t D = Dims.size(); D-- > 0;) {
    Out = fmt::format("{}{}{}", Element % Dims[D], Out.empty() ? "" : ",", Out);
    Element /= Dims[D];
  }
  return "[" + Out + "]";
}

std::string Difference::text(const Tolerance &T,
                             std::span<const int64_t> Dims) const {
  std::string At;
  if (Worst >= 0)
    At = fmt::format(" at {}: {:.6g}, should be {:.6g}", placeText(Worst, Dims),
                     Got, Wanted);
  if (Unequal)
    return fmt::format("{} elements are another number, the first{}", Unequal,
                       At);
  return fmt::format("rms error {:.3g} ({:.3g} is allowed), largest {:.3g} "
                     "({:.3g} is allowed){}",
                     Rms, T.Rms, Largest, T.Largest, At);
}

} // namespace kpc::cli
