//===- GraphCustom.td - Operators that users bring ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_GRAPH_CUSTOM
#define KPC_GRAPH_CUSTOM

include "dialects/graph/GraphBase.td"

def Graph_CustomOp : Graph_Op<"custom", [Pure]> {
  let summary = "An operator that a user's own code computes";
  let description = [{
    `operator` is its qualified name. `cuda` and `host` hold its code as
    dictionaries, which docs/dialects/graph.md describes under "Custom operators".
    One of them may be missing. Sizes in them are those of this op: arguments of
    the function, the grid, the bytes of shared memory.

    The pass `isolate-custom` keeps the one that the targets run and puts the op
    into a region of its own. No pass reads the code, and nothing is fused with it.
    Its operands and results are whole in memory, row-major and without gaps.

    ```mlir
    %y = graph.custom "my.ops::Silu" (%x) cuda {function = "silu", …}
       : (!graph.tensor<[batch, 64], f32>) -> !graph.tensor<[batch, 64], f32>
    ```
  }];
  let arguments = (ins StrAttr:$operator_name, Variadic<Graph_Tensor>:$inputs, OptionalAttr<DictionaryAttr>:$cuda,
                       OptionalAttr<DictionaryAttr>:$host);
  let results = (outs Variadic<Graph_Tensor>:$outputs);
  let assemblyFormat = [{$operator_name `(` $inputs `)` (`cuda` $cuda^)? (`host` $host^)? attr-dict `:`
                         functional-type($inputs, $outputs)}];
  let hasVerifier = 1;
}

#endif // KPC_GRAPH_CUSTOM
