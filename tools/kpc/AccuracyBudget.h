//===- AccuracyBudget.h - How far outputs may be off ------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each measure is a cost that adds up over layers whose errors know nothing of
/// one another, and a limit to it:
///
///   sqnr=30dB      noise over signal                  10^-3
///   cosine=0.999   1 - cosine, mean over the samples  10^-3
///   rmse=0.01      mean square                        10^-4
///   max=0.02       greatest difference, squared       4*10^-4
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_ACCURACYBUDGET_H
#define KPC_TOOLS_KPC_ACCURACYBUDGET_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kpc::cli {

struct AccuracyBudget {
  enum Measure { Sqnr, Cosine, Rmse, Max } Of = Sqnr;
  std::string Text; ///< as the user wrote it; empty: there is none
  double Limit = 0; ///< of the cost

  /// A cost in the words of the measure: "31.2 dB", "cosine 0.99961".
  std::string textOf(double Cost) const;
};

/// Throws UsageError for what is none of the above.
AccuracyBudget parseBudget(const std::string &Text);

/// What one output has been off by, over samples.
class OutputError {
public:
  void add(std::span<const double> Got, std::span<const double> Wanted);
  /// Infinite where a value was not finite and the reference's was.
  double cost(AccuracyBudget::Measure Of) const;

private:
  double Signal = 0, Noise = 0, Largest = 0, Cosines = 0;
  int64_t Elements = 0, Samples = 0;
  bool IsFinite = true;
};

/// A cost for each output that has floats.
using Costs = std::vector<double>;
double greatest(const Costs &Of);
Costs sum(const Costs &A, const Costs &B);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_ACCURACYBUDGET_H
