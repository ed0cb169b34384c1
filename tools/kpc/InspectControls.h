//===- InspectControls.h - Loops and branches of a plan -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_INSPECTCONTROLS_H
#define KPC_TOOLS_KPC_INSPECTCONTROLS_H

#include "tools/kpc/ArtifactTable.h"
#include "tools/kpc/Json.h"

namespace kpc::cli {

/// The loops and branches of a target's plan as a table: which steps, how often
/// or when, and how a GPU learns of what data decides.
void printControls(const TargetFacts &T);

/// One of them for `kpc inspect --json`.
Json controlJson(const TargetFacts &T, const ControlFacts &C);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_INSPECTCONTROLS_H
