//===- Peaks.h - What a device can do at best -------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_REPORT_PEAKS_H
#define KPC_TOOLS_KPC_REPORT_PEAKS_H

#include "tools/kpc/Bench.h"

#include <string>
#include <vector>

namespace kpc::cli {

/// Rates that no kernel exceeds, the roof of a roofline.
struct Peaks {
  struct Rate {
    std::string Name; ///< "fp16 Tensor Cores"
    double Tflops = 0;
  };
  std::string Of;  ///< "H200 SXM, by its data sheet"
  double GBps = 0; ///< of the memory; 0: not known
  /// Of plain arithmetic in fp32, and of Tensor Cores by element type; 0: not
  /// known, or there are none.
  double Fp32 = 0, Tf32 = 0, Fp16 = 0, Fp8 = 0, Int8 = 0;

  bool known() const { return GBps > 0 && Fp32 > 0; }
  /// All that are known, the slowest first.
  std::vector<Rate> rates() const;
};

/// What the target's descriptor says; nothing of the emulator's.
Peaks peaksOf(const std::string &Target);

/// What this processor reaches with as many threads: a sum over memory that no
/// cache holds, and multiply-adds of its widest registers. Takes a fifth of a
/// second. 0 threads: one per core.
Peaks measureHostPeaks(int Threads);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_REPORT_PEAKS_H
