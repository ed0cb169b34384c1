//===- RegisterPasses.cpp - Every pass of kpc's --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/RegisterPasses.h"
#include "codegen/nvptx/Nvptx.h"
#include "mlir/Transforms/Passes.h"
#include "passes/graph/ChooseLoops.h"
#include "passes/graph/ChooseRecurrent.h"
#include "passes/graph/FuseCachesIntoAttention.h"
#include "passes/graph/Passes.h"
#include "passes/graph/SplitAttentionKeys.h"
#include "passes/kernels/gpu/GpuBuilder.h"
#include "passes/kernels/host/HostBuilder.h"
#include "passes/kernels/math/ExpandMath.h"
#include "passes/tile/Passes.h"

// Here and not in the headers: fifty functions with a lambda each are half a
// second of each file that includes them.
namespace kpc::graph {
#define GEN_PASS_REGISTRATION
#include "passes/graph/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/graph/ChooseLoops.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/graph/ChooseRecurrent.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/graph/FuseCachesIntoAttention.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/graph/SplitAttentionKeys.h.inc"
} // namespace kpc::graph

void kpc::registerPasses() {
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  graph::registerGraphPasses();
  graph::registerLoopsPasses();
  graph::registerRecurrentPasses();
  graph::registerCachesPasses();
  graph::registerSplitPasses();
  kernels::registerHostBuildPass();
  kernels::registerGpuBuildPass();
  tile::registerTilePasses();
  nvptx::registerNvvmPipeline();
  kernels::registerExpandMathPass();
}
