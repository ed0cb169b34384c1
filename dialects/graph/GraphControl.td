//===- GraphControl.td - Loops and branches -------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What runs several times, or perhaps not at all. Bodies use values of the
// blocks around them by name, as those of scf do.
//
//===----------------------------------------------------------------------===//
#ifndef KPC_GRAPH_CONTROL
#define KPC_GRAPH_CONTROL

include "dialects/graph/GraphBase.td"

def Graph_LoopOp : Graph_Op<"loop", [SingleBlock, RecursiveMemoryEffects, AttrSizedOperandSegments]> {
  let summary = "Runs its body a number of times that sizes or data say";
  let description = [{
    The body takes the carried values. It yields the next ones and then one part
    of each collected result. Results are the last carried values and the
    collected parts, with a new leading dimension of `count`, in the order of the
    iterations or `reversed`. Without an iteration the carried values are the
    initial ones.

    The number of the iteration, from 0, is the symbol `counter`. Sizes in
    `graph.sizes` and the starts of slices may name it, but no type that leaves an
    iteration may. The module declares it like any other symbol, and each loop has
    its own.

    With `while` data ends the loop, and `count` is the greatest number of
    iterations. The operand says whether there is a first one. The body yields one
    more value before the carried ones, which says whether there is another. Parts
    that no iteration collected are undefined.

    ```mlir
    %last, %all = graph.loop "i" count <[steps]> (%h0) reversed [false]
        : (!graph.tensor<[4], f32>) -> (!graph.tensor<[4], f32>, !graph.tensor<[steps, 4], f32>) {
    ^bb0(%h: !graph.tensor<[4], f32>):
      %x = graph.slice %xs start <[i, 0]> step [1, 1] sizes <[1, 4]> : …
      …
      graph.yield %next, %next : !graph.tensor<[4], f32>, !graph.tensor<[4], f32>
    }
    %h = graph.loop "i" count <[100]> while %c : !graph.tensor<[], i1> (%h0) reversed []
        : (!graph.tensor<[4], f32>) -> !graph.tensor<[4], f32> {
    ^bb0(%h: !graph.tensor<[4], f32>):
      …
      graph.yield %more, %next : !graph.tensor<[], i1>, !graph.tensor<[4], f32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$counter, Graph_DimsAttr:$count, Optional<Graph_BoolTensor>:$begins,
                       Variadic<Graph_Tensor>:$inits, DenseBoolArrayAttr:$reversed);
  let results = (outs Variadic<Graph_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{$counter `count` $count (`while` $begins^ `:` type($begins))? `(` $inits `)`
                         `reversed` $reversed `:`
                         functional-type($inits, $outputs) attr-dict-with-keyword $body}];
  let extraClassDeclaration = [{
    unsigned getNumCarried() { return getInits().size(); }
    /// The number of iterations; the most, where data ends the loop.
    const ::kpc::shape::Expr &getTrips() { return getCount().getDims().front(); }
    bool endsByData() { return getBegins() != nullptr; }
    /// What the body yields but for whether there is another iteration.
    ::mlir::OperandRange getYielded() {
      return getBody().front().getTerminator()->getOperands().drop_front(endsByData());
    }
  }];
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
}

def Graph_IfOp : Graph_Op<"if", [SingleBlock, NoRegionArguments, RecursiveMemoryEffects]> {
  let summary = "Computes one of two bodies, as data says";
  let description = [{
    ```mlir
    %y = graph.if %c : (!graph.tensor<[], i1>) -> !graph.tensor<[4], f32> {
      graph.yield %a : !graph.tensor<[4], f32>
    } else {
      %0 = graph.neg %a : !graph.tensor<[4], f32>
      graph.yield %0 : !graph.tensor<[4], f32>
    }
    ```
  }];
  let arguments = (ins Graph_BoolTensor:$condition);
  let results = (outs Variadic<Graph_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$then, SizedRegion<1>:$otherwise);
  let assemblyFormat = [{$condition `:` functional-type($condition, $outputs) attr-dict-with-keyword
                         $then `else` $otherwise}];
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
}

#endif // KPC_GRAPH_CONTROL
