//===- RangeCollector.h - Ranges of values, sample by sample ----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Keeps of any amount of values a histogram of magnitudes, extremes, and
/// moments of each channel. The histogram doubles its width, two bins becoming
/// one, where a value lies beyond it.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_RANGECOLLECTOR_H
#define KPC_TOOLS_KPC_RANGECOLLECTOR_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kpc::cli {

/// How the range is chosen in which magnitudes are told apart.
enum class RangeMethod {
  Max,        ///< nothing is clipped
  Percentile, ///< so many of all values lie within
  Entropy,    ///< the least divergence of the distribution
  Mse,        ///< the least mean square error
};
std::vector<std::string> rangeMethodNames();
std::optional<RangeMethod> rangeMethodByName(std::string_view Name);
std::string rangeMethodName(RangeMethod Method);

class RangeCollector {
public:
  static constexpr size_t Bins = 2048;

  /// Values row by row, with `Channels` in each; another number of channels
  /// than before ends what is kept of single ones. False where a value is not
  /// finite.
  bool add(std::span<const float> Values, size_t Channels);

  double least() const { return Least; }
  double greatest() const { return Greatest; }
  double magnitude() const;
  /// The greatest magnitude that integers of 8 bits are to tell apart.
  double range(RangeMethod Method, double Percentile) const;

  std::vector<float> channelLargest() const;
  std::vector<float> channelMean() const;
  std::vector<float> channelRms() const;

private:
  void widenTo(double Magnitude);
  double binWidth() const { return Width / Bins; }
  /// Codes that magnitudes have: half of all where values have signs.
  int64_t levels() const { return Least < 0 ? 127 : 255; }
  double percentile(double Percent) const;
  double leastSquares() const;
  double leastDivergence() const;

  uint64_t Count = 0, Rows = 0;
  double Least = 0, Greatest = 0;
  double Width = 0; ///< of all bins; 0: no value but 0 was seen
  std::vector<uint64_t> Histogram = std::vector<uint64_t>(Bins);
  bool HasChannels = true;
  std::vector<float> Largest;
  std::vector<double> Sum, Squares;
};

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_RANGECOLLECTOR_H
