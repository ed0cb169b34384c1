//===- FuseCachesIntoAttention.td - The pass on caches of keys ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_FUSECACHESINTOATTENTION
#define KPC_PASSES_GRAPH_FUSECACHESINTOATTENTION

include "mlir/Pass/PassBase.td"

def FuseCachesIntoAttention
    : Pass<"fuse-caches-into-attention", "::mlir::func::FuncOp"> {
  let summary = "The kernel of an attention of few queries appends new keys "
                "and values to their caches";
  let description = [{
    Regions that only append new rows to those of a cache, for an attention and as
    results of the model, become part of the attention's region. That has three
    results: its own, the keys and the values. Its kernel reads the cache where it
    lies and stores what it has read, so that no kernel only moves data. Regions
    that replace rows of a cache, `select(is_new, gather_elements(new, at), past)`,
    do as well; what computes `is_new`, `at` and the mask is then cloned into the
    attention's region.
    The attention typically has at most 8 queries, and never more than 64 of all
    heads that share keys. All is of one 16-bit type. Each fusion, and each refusal
    with its reason, is a remark of category `fusion`.
  }];
  let options = [ListOption<"Targets", "targets", "std::string",
                            "Targets as --arch names them, which all have to "
                            "have a schedule; none: nothing is asked">];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

#endif // KPC_PASSES_GRAPH_FUSECACHESINTOATTENTION
