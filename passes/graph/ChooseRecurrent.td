//===- ChooseRecurrent.td - The pass on recurrent layers
//--------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_CHOOSERECURRENT
#define KPC_PASSES_GRAPH_CHOOSERECURRENT

include "mlir/Pass/PassBase.td"

def ChooseRecurrent : Pass<"choose-recurrent", "::mlir::ModuleOp"> {
  let summary = "Makes recurrent layers one kernel of all steps, or the loops "
                "that they hold";
  let description = [{
    A `graph.recurrent` becomes a region of its own, without a body, where each
    of `targets` has room for its weights and its blocks. Else its body takes its
    place, which for GPUs a remark tells with the reason. With `narrow` what is
    multiplied is of that type.
  }];
  let options = [ListOption<
                     "Targets", "targets", "std::string",
                     "Targets as --arch names them; none: nothing stays">,
                 Option<"Narrow", "narrow", "std::string", "",
                        "f16 or bf16: f32 values are to be stored so">,
                 Option<"Tf32", "tf32", "bool", "false",
                        "Tensor Cores may round factors of f32">,
                 ListOption<"Keep", "keep", "std::string",
                            "Regular expressions of node names that stay f32">];
  let dependentDialects = ["::kpc::graph::GraphDialect"];
}

#endif // KPC_PASSES_GRAPH_CHOOSERECURRENT
