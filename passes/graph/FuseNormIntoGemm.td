//===- FuseNormIntoGemm.td - The pass on norms in few-row GEMMs -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_FUSENORMINTOGEMM
#define KPC_PASSES_GRAPH_FUSENORMINTOGEMM

include "mlir/Pass/PassBase.td"

def FuseNormIntoGemm : Pass<"fuse-norm-into-gemm", "::mlir::func::FuncOp"> {
  let summary = "Computes a norm in the kernels of the few-row GEMMs that read it";
  let description = [{
    A region that reduces rows (RMSNorm, LayerNorm, softmax) and whose result only
    GEMMs of typically few rows read, as A, becomes part of each of these: blocks
    of the few-row family compute the rows themselves. It is done where the cost
    models of all `targets` say that it gains, and up to the number of rows for
    which they do. If there may be more rows, the region stays, with
    `graph.launched_above`, and the GEMM's reads `graph.stored` rows. Each fusion,
    and each refusal with its reason, is a remark of category `recognition`.
  }];
  let options = [ListOption<"Targets", "targets", "std::string", "Targets as --arch names them">];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

#endif // KPC_PASSES_GRAPH_FUSENORMINTOGEMM
