//===- MomentCollector.h - Mean products of channels ------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_MOMENTCOLLECTOR_H
#define KPC_TOOLS_KPC_MOMENTCOLLECTOR_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kpc::cli {

/// Sums of products of each two channels, row by row. Another number of
/// channels than before, or more than 16,384, ends what is kept.
class MomentCollector {
public:
  static constexpr size_t MostChannels = 16384;

  void add(std::span<const float> Values, size_t Channels);
  /// The rows of the upper triangle; empty: nothing was kept.
  std::vector<float> upper() const;

private:
  size_t Channels = 0;
  uint64_t Rows = 0;
  bool Keeps = true;
  std::vector<double> Sums; ///< the rows of the upper triangle
};

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_MOMENTCOLLECTOR_H
