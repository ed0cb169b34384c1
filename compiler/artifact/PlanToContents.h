//===- PlanToContents.h - A plan as an artifact's contents ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_ARTIFACT_PLANTOCONTENTS_H
#define KPC_COMPILER_ARTIFACT_PLANTOCONTENTS_H

#include "codegen/artifact/Contents.h"
#include "compiler/import/WeightStore.h"
#include "compiler/kernels/TargetKernels.h"
#include "dialects/plan/Plan.h"
#include "llvm/Support/Error.h"

namespace kpc {

/// What the plans of `Targets` declare and do. Ports are those of all plans;
/// weights that two plans prepare alike are one. Weights are prepared lazily:
/// `Weights` and the modules must live until the artifact is written.
llvm::Expected<artifact::Contents>
planToContents(const WeightStore &Weights,
               const std::vector<TargetKernels> &Targets, bool Strip);

} // namespace kpc

#endif // KPC_COMPILER_ARTIFACT_PLANTOCONTENTS_H
