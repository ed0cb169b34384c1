//===- PrecisionGains.h - What types of layers gain -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_PRECISIONGAINS_H
#define KPC_TOOLS_KPC_PRECISIONGAINS_H

#include "compiler/CompileReport.h"

#include <map>

namespace kpc::cli {

/// Microseconds that each node gains from one plan to another in which all of
/// them are quantised. A launch that multiplies is its product's; what differs
/// in the others is that of the nodes whose codes they make.
std::map<std::string, double> gainsOf(const std::vector<LaunchEstimate> &Plain,
                                      const std::vector<LaunchEstimate> &Codes,
                                      const std::vector<std::string> &Nodes);

double microsecondsOf(const std::vector<LaunchEstimate> &Plan);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_PRECISIONGAINS_H
