//===- SplitAttentionKeys.td - The pass on few heads and many keys --------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_SPLITATTENTIONKEYS
#define KPC_PASSES_GRAPH_SPLITATTENTIONKEYS

include "mlir/Pass/PassBase.td"

def SplitAttentionKeys
    : Pass<"split-attention-keys", "::mlir::func::FuncOp"> {
  let summary = "Gives attention of few heads and many keys memory for parts of "
                "its sums";
  let description = [{
    A region of an attention of few queries gets two more results, if the cost
    model of each target says that splitting the keys over all multiprocessors
    pays: parts of sums, and counters that are zero before the launch
    (`graph.counters`). They mean nothing: nobody reads them. The kernel's last
    block puts the parts together.
  }];
  let options = [ListOption<"Targets", "targets", "std::string",
                            "Targets as --arch names them; none: nothing is "
                            "split">];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

#endif // KPC_PASSES_GRAPH_SPLITATTENTIONKEYS
