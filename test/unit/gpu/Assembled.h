//===- Assembled.h - What ptxas makes of a kernel ---------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TEST_UNIT_GPU_ASSEMBLED_H
#define KPC_TEST_UNIT_GPU_ASSEMBLED_H

#include "Sample.h"

#include "llvm/ADT/STLExtras.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace kpc::testing {

/// What tells a family's kernels: how their schedule begins, what their PTX
/// has, and how many tensor maps they go through.
struct Family {
  const char *Name;
  std::vector<const char *> Instructions;
  size_t Maps;
};
inline const std::vector<const char *> OfHopper = {"wgmma.mma_async",
                                                   "cp.async.bulk.tensor"};
inline const std::vector<const char *> OfBlackwell = {
    "tcgen05.mma", "tcgen05.ld", "cp.async.bulk.tensor"};

/// Builds and assembles the one kernel of `Text`: no C75xx, no spills, and no
/// more of anything than there is.
void expectNoLoss(const std::string &Text, const Family &Of,
                  const char *Target = "sm_90a");

inline bool isChipInSample(llvm::ArrayRef<const char *> Chips,
                           std::string_view Chip, std::string_view Case) {
  return isInSample(Case, llvm::find(Chips, Chip) - Chips.begin(),
                    Chips.size());
}

} // namespace kpc::testing

#endif // KPC_TEST_UNIT_GPU_ASSEMBLED_H
