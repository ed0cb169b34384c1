//===- KernelLoop.td - Loops whose steps are one kernel -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_KERNEL_LOOP
#define KPC_KERNEL_LOOP

include "dialects/kernel/KernelAttrs.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Kernel_LoopOp : Op<Kernel_Dialect, "loop", [SingleBlock, RecursiveMemoryEffects, AttrSizedOperandSegments]> {
  let summary = "Runs its body for each step, as graph.loop, within one kernel";
  let description = [{
    The body takes the step's number and the carried tensors. It is in the linalg
    form of kernels. `kernel.next` gives the next carried tensors and then a part
    of each collected one. With `while`, whether there is another step comes first.

    ```mlir
    %last, %all = kernel.loop %steps (%h0) reversed [false]
        : (tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32>) {
    ^bb0(%i: index, %h: tensor<4xf32>):
      …
      kernel.next %next, %next : tensor<4xf32>, tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Index:$steps, Optional<AnyRankedTensor>:$begins, Variadic<AnyRankedTensor>:$inits,
                       DenseBoolArrayAttr:$reversed);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{$steps (`while` $begins^ `:` type($begins))? `(` $inits `)` `reversed` $reversed `:`
                         functional-type($inits, $outputs) attr-dict-with-keyword $body}];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    unsigned getNumCarried() { return getInits().size(); }
    ::mlir::Value getStep() { return getBody().getArgument(0); }
    ::mlir::BlockArgument getCarried(unsigned I) { return getBody().getArgument(I + 1); }
    ::mlir::Operation *getNext() { return getBody().front().getTerminator(); }
    /// What the body gives but for whether there is another step.
    ::mlir::OperandRange getYielded() { return getNext()->getOperands().drop_front(getBegins() ? 1 : 0); }
  }];
}

def Kernel_NextOp : Op<Kernel_Dialect, "next", [Pure, Terminator, HasParent<"LoopOp">]> {
  let summary = "What a step of kernel.loop gives";
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // KPC_KERNEL_LOOP
