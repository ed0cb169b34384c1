//===- GraphStored.td - Values that are in memory where rows are many -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A header of its own: few read it (GraphStored.h).
//
//===----------------------------------------------------------------------===//
#ifndef KPC_GRAPH_STORED
#define KPC_GRAPH_STORED

include "dialects/graph/GraphBase.td"

def Graph_StoredOp : Graph_Op<"stored", [Pure, AllTypesMatch<["computed", "memory", "y"]>]> {
  let summary = "A value that a kernel computes, and that lies in memory where there are many rows";
  let description = [{
    The value is `computed`. Where its first dimension is greater than `above`,
    `memory` holds it as well, and a kernel for such sizes may read it there.
    Elsewhere `memory` holds anything: the region that writes it has
    `graph.launched_above = N`, and is launched only where its first result has
    more than N rows.

    ```mlir
    %y = graph.stored %n in %m above 16 : !graph.tensor<[rows, 2048], f16>
    ```
  }];
  let arguments = (ins Graph_Tensor:$computed, Graph_Tensor:$memory, I64Attr:$above);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$computed `in` $memory `above` $above attr-dict `:` type($y)";
}

#endif // KPC_GRAPH_STORED
