//===- Cases.h - Kernels that every GPU builder is tested with --*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One table for three tests: the simulation (against the host's pull
/// evaluation), assembly for every target, and the run on a GPU.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TEST_UNIT_GPU_CASES_H
#define KPC_TEST_UNIT_GPU_CASES_H

#include "KernelText.h"

#include <ostream>
#include <string>
#include <vector>

namespace kpc::testing {

struct Case {
  KernelText Kernel;
  /// Values of the kernel's sizes, for each run.
  std::vector<std::vector<int64_t>> Sizes;
  /// What kernel.schedule begins with for sm_90a.
  std::string Schedule;
  /// Greatest RMS error against the host, relative; 0: bit for bit.
  double Tolerance = 0;
};

/// For GoogleTest.
inline void PrintTo(const Case &C, std::ostream *Out) {
  *Out << C.Kernel.name();
}

std::vector<Case> mapCases();
std::vector<Case> transposeCases();
std::vector<Case> reductionCases();
std::vector<Case> windowCases();
std::vector<Case> contractionCases();
std::vector<Case> allCases();

/// Sizes worth timing on a GPU: one run each, no reference.
struct Benchmark {
  KernelText Kernel;
  std::vector<int64_t> Sizes;
  double Flops = 0; ///< 0: bound by memory
  /// How PyTorch would do it, as Python over the buffers' names; may be empty.
  std::string Peer;
};
std::vector<Benchmark> benchmarks();

} // namespace kpc::testing

#endif // KPC_TEST_UNIT_GPU_CASES_H
