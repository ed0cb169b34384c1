//===- AccuracyBudget.cpp - How far outputs may be off --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/AccuracyBudget.h"

#include "compiler/diagnostics/Diagnostics.h"
#include "tools/kpc/Command.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace kpc::cli {

std::string AccuracyBudget::textOf(double Cost) const {
  if (!std::isfinite(Cost))
    return "not finite";
  switch (Of) {
  case Sqnr:
    return Cost > 0 ? fmt::format("{:.1f} dB", -10 * std::log10(Cost))
                    : "exact";
  case Cosine:
    return fmt::format("cosine {:.6f}", 1 - Cost);
  case Rmse:
    return fmt::format("rmse {:.3g}", std::sqrt(Cost));
  case Max:
    return fmt::format("max {:.3g}", std::sqrt(Cost));
  }
  return "";
}

[[noreturn]] static void refuse(const std::string &Text,
                                const std::string &Why) {
  throw UsageError(
      Code::UsageValue,
      fmt::format("--accuracy-budget: {}, got '{}'", Why, printable(Text)),
      "write for instance sqnr=30dB, cosine=0.999, rmse=0.01 or "
      "max=0.02");
}

AccuracyBudget parseBudget(const std::string &Text) {
  AccuracyBudget Budget;
  Budget.Text = Text;
  size_t Equals = Text.find('=');
  std::string Name = Text.substr(0, Equals);
  if (Name == "sqnr")
    Budget.Of = AccuracyBudget::Sqnr;
  else if (Name == "cosine")
    Budget.Of = AccuracyBudget::Cosine;
  else if (Name == "rmse")
    Budget.Of = AccuracyBudget::Rmse;
  else if (Name == "max")
    Budget.Of = AccuracyBudget::Max;
  else
    refuse(Text, "expected sqnr, cosine, rmse or max");
  std::string Number =
      Equals == std::string::npos ? "" : Text.substr(Equals + 1);
  char *End = nullptr;
  double Value = std::strtod(Number.c_str(), &End);
  std::string Unit = Number.empty() ? "" : End;
  if (Number.empty() || End == Number.c_str() || !std::isfinite(Value))
    refuse(Text, "expected a number after '='");
  if (Budget.Of == AccuracyBudget::Sqnr) {
    if (Unit != "dB" && Unit != "db")
      refuse(Text, "expected sqnr in dB");
    Budget.Limit = std::pow(10, -Value / 10);
    return Budget;
  }
  if (!Unit.empty())
    refuse(Text, fmt::format("expected {} without a unit", Name));
  if (Budget.Of == AccuracyBudget::Cosine) {
    if (Value <= 0 || Value >= 1)
      refuse(Text, "expected a cosine between 0 and 1");
    Budget.Limit = 1 - Value;
    return Budget;
  }
  if (Value <= 0)
    refuse(Text, "expected an error above 0");
  Budget.Limit = Value * Value;
  return Budget;
}

void OutputError::add(std::span<const double> Got,
                      std::span<const double> Wanted) {
  double OfGot = 0, OfWanted = 0, Product = 0;
  for (size_t I = 0; I < std::min(Got.size(), Wanted.size()); ++I) {
    if (!std::isfinite(Wanted[I]))
      continue;
    if (!std::isfinite(Got[I])) {
      IsFinite = false;
      continue;
    }
    double Off = Got[I] - Wanted[I];
    Noise += Off * Off;
    Largest = std::max(Largest, std::abs(Off));
    OfGot += Got[I] * Got[I];
    OfWanted += Wanted[I] * Wanted[I];
    Product += Got[I] * Wanted[I];
  }
  Signal += OfWanted;
  Elements += static_cast<int64_t>(Wanted.size());
  ++Samples;
  // Zeros have no direction: they are alike where both are zero.
  double Lengths = std::sqrt(OfGot) * std::sqrt(OfWanted);
  Cosines += Lengths > 0 ? Product / Lengths : OfGot == OfWanted ? 1 : 0;
}

double OutputError::cost(AccuracyBudget::Measure Of) const {
  if (!IsFinite)
    return std::numeric_limits<double>::infinity();
  switch (Of) {
  case AccuracyBudget::Sqnr:
    return Signal > 0  ? Noise / Signal
           : Noise > 0 ? std::numeric_limits<double>::infinity()
                       : 0;
  case AccuracyBudget::Cosine:
    return Samples ? std::max(0.0, 1 - Cosines / double(Samples)) : 0;
  case AccuracyBudget::Rmse:
    return Elements ? Noise / double(Elements) : 0;
  case AccuracyBudget::Max:
    return Largest * Largest;
  }
  return 0;
}

double greatest(const Costs &Of) {
  return Of.empty() ? 0 : *std::max_element(Of.begin(), Of.end());
}

Costs sum(const Costs &A, const Costs &B) {
  Costs All(std::max(A.size(), B.size()));
  for (size_t I = 0; I < All.size(); ++I)
    All[I] = (I < A.size() ? A[I] : 0) + (I < B.size() ? B[I] : 0);
  return All;
}

} // namespace kpc::cli
