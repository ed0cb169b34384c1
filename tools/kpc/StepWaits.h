//===- StepWaits.h - Which steps of a plan wait for which -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_STEPWAITS_H
#define KPC_TOOLS_KPC_STEPWAITS_H

#include "runtime/format/artifact_generated.h"

#include <vector>

namespace kpc::cli {

/// For each step the steps before it that must have ended, those left out that
/// another one waits for. Bytes that one writes and the other reads or writes
/// decide; that values share memory of the workspace does not. What has no
/// path between may run side by side.
std::vector<std::vector<size_t>> stepWaits(const format::Model &M,
                                           const format::Target &T,
                                           const std::vector<int64_t> &Symbols);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_STEPWAITS_H
