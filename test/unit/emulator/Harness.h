//===- Harness.h - Short kernels for the emulator's tests -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   Outcome R = run("ld.global.u32 %r0, [%rd0]; st.global.u32 [%rd1], %r0;",
///                   {.Input = {1, 2, 3}, .OutputWords = 3});
///
/// The body sees %rd0 and %rd1, the input's and the output's addresses, %r1 the
/// thread's number in the block, %rd2 and %rd3 the addresses of the thread's
/// own words; it has %p, %rs, %r, %rd <32>, 256 bytes of shared memory "tile".
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TEST_UNIT_EMULATOR_HARNESS_H
#define KPC_TEST_UNIT_EMULATOR_HARNESS_H

#include "emulator/Load.h"
#include "emulator/execute/Launch.h"

#include <optional>
#include <string>
#include <vector>

namespace kpc::emulator::test {

struct Setup {
  std::vector<uint32_t> Input = {};
  size_t OutputWords = 32;
  uint32_t Threads = 32;
  uint32_t Blocks = 1;
  bool Strict = true;
  std::string Module = {};     ///< before the kernel
  std::string Attributes = {}; ///< of the kernel, ".reqnctapercluster 2"
  uint64_t Seed = 1;
  bool Zeroed = false; ///< the output, before the run
  std::string Target = "sm_90a";
  double Seconds = 0;        ///< that it may take; 0: any
  bool BeginsEarly = false;  ///< the launch, before others have ended
  bool InputWritten = false; ///< by a kernel, before the launch
};

struct Outcome {
  std::vector<uint32_t> Output;
  std::string Errors; ///< of loading
  std::optional<Finding> Trouble;
  std::string finding() const {
    return Trouble ? nameOf(Trouble->Kind) : Errors.empty() ? "" : "load";
  }
  /// Of the finding, or what was wrong with the text; addresses are "0x…".
  std::string text() const;
};

std::string kernelText(const std::string &Body, const std::string &Module = "",
                       const std::string &Attributes = "",
                       const std::string &Target = "sm_90a");
Outcome run(const std::string &Body, const Setup &S = {});

} // namespace kpc::emulator::test

#endif // KPC_TEST_UNIT_EMULATOR_HARNESS_H
