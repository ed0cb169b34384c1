//===- ChooseLoops.td - The pass on loops whose state stays on the chip ---===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_CHOOSELOOPS
#define KPC_PASSES_GRAPH_CHOOSELOOPS

include "mlir/Pass/PassBase.td"

def ChooseLoops : Pass<"choose-loops", "::mlir::ModuleOp"> {
  let summary = "Makes a loop one kernel of all steps, where each of its blocks "
                "can run alone";
  let description = [{
    A `graph.loop` moves into a region of its own where each of `targets` has a
    schedule for it that is modelled faster than a launch for each step. A remark
    tells why others stay.
  }];
  let options = [ListOption<
      "Targets", "targets", "std::string",
      "Targets as --arch names them; none: nothing changes">];
  let dependentDialects = [
    "::kpc::graph::GraphDialect", "::kpc::kernel::KernelDialect",
    "::mlir::arith::ArithDialect", "::mlir::affine::AffineDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

#endif // KPC_PASSES_GRAPH_CHOOSELOOPS
