//===- Sample.h - What is assembled before a change -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// ptxas takes most of the time of these tests, and they ask it about products
/// of kernels with chips and schedules. Presubmit assembles a sample of each
/// product; nightly, where KPC_TEST_ALL is set, assembles all of it.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TEST_UNIT_GPU_SAMPLE_H
#define KPC_TEST_UNIT_GPU_SAMPLE_H

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace kpc::testing {

/// Whether the member `Number` of a product is assembled: one of `Of`. Which
/// one depends on the name of the case, so that all chips meet some cases.
inline bool isInSample(std::string_view Case, unsigned Number, unsigned Of) {
  if (std::getenv("KPC_TEST_ALL"))
    return true;
  uint32_t Hash = 2166136261U; // FNV-1a, the same on every machine
  for (unsigned char C : Case)
    Hash = (Hash ^ C) * 16777619U;
  return (Number + Hash) % Of == 0;
}

} // namespace kpc::testing

#endif // KPC_TEST_UNIT_GPU_SAMPLE_H
