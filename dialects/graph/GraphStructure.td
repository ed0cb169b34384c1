//===- GraphStructure.td - Constants, weights, regions --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where values come from, and which of them one kernel computes.
//
//===----------------------------------------------------------------------===//
#ifndef KPC_GRAPH_STRUCTURE
#define KPC_GRAPH_STRUCTURE

include "dialects/graph/GraphBase.td"

def Graph_ConstantOp : Graph_Op<"constant", [Pure, ConstantLike, InferTypeOpAdaptor]> {
  let summary = "A small constant, or one value repeated";
  let description = [{
    For scalars, axes and the like; weights are `graph.weight`. Sizes are
    numbers.

    ```mlir
    %c = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def Graph_WeightOp : Graph_Op<"weight", [Pure]> {
  let summary = "A reference to a tensor of the model's, with a recipe to prepare it";
  let description = [{
    `source` names the bytes (`model.onnx#conv1.weight`); they never enter the
    IR. The recipe's steps are applied in order when the artifact is written:
    `{transpose = array<i64: …>}`, `{reshape = array<i64: …>}`, `{cast = f16}`.
    `{tiles = array<i64: bits, K, N, of K, of N, flip>}`, the first and only
        step, packs codes for `graph.dequantise_tiles`: element (k, n) is
    code `k * of K + n * of N` of the source, with the bits of `flip` changed.
    The type is that after the last step.

    ```mlir
    %w = graph.weight "m.onnx#w" [{transpose = array<i64: 1, 0>} ] : !graph.tensor<[4, 8], f32>
    ```
  }];
  let arguments = (ins StrAttr:$source, DefaultValuedAttr<ArrayAttr, "{}">:$recipe);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$source $recipe attr-dict `:` type($y)";
  let hasVerifier = 1;
}

def Graph_SizesOp : Graph_InferredOp<"sizes"> {
  let summary = "An i64 vector whose elements are size expressions";
  let description = [{
    ```mlir
    %s = graph.sizes #graph.dims<[batch, 3]>   // -> !graph.tensor<[2], i64>
    ```
  }];
  let arguments = (ins Graph_DimsAttr:$values);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$values attr-dict";
}

def Graph_RegionOp : Graph_Op<"region", [IsolatedFromAbove, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "The ops that one kernel computes";
  let description = [{
    `form-regions` makes it, and `choose-loops` one for each loop that is one
    kernel. Operands are the kernel's inputs, the yielded values
    its outputs. `name` is for people: it says which nodes are inside.

    ```mlir
    %y = graph.region "conv1_relu" (%x, %w) : (!graph.tensor<[n, 8], f32>, !graph.tensor<[8, 4], f32>) -> !graph.tensor<[n, 4], f32> {
    ^bb0(%a: !graph.tensor<[n, 8], f32>, %b: !graph.tensor<[8, 4], f32>):
      %0 = graph.matmul %a, %b : !graph.tensor<[n, 8], f32>, !graph.tensor<[8, 4], f32>
      %1 = graph.relu %0 : !graph.tensor<[n, 4], f32>
      graph.yield %1 : !graph.tensor<[n, 4], f32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<Graph_Tensor>:$inputs);
  let results = (outs Variadic<Graph_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name `(` $inputs `)` `:` functional-type($inputs, $outputs) attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Graph_YieldOp : Graph_Op<"yield", [Pure, Terminator, ParentOneOf<["RegionOp", "LoopOp", "IfOp"]>]> {
  let summary = "The values that leave a region, a loop's iteration or a branch";
  let arguments = (ins Variadic<Graph_Tensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // KPC_GRAPH_STRUCTURE
