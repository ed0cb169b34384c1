//===- GraphOrder.td - Elements in order ----------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sorting, what sorting is made of, and what is found in sorted elements.
//
//===----------------------------------------------------------------------===//
#ifndef KPC_GRAPH_ORDER
#define KPC_GRAPH_ORDER

include "dialects/graph/GraphMovement.td"

def Graph_SortOp : Graph_InferredOp<"sort"> {
  let summary = "The elements along an axis in order, with the i64 indices that they had";
  let description = [{
    The order is ascending, or `descending`. Equal elements keep their order, also
    when descending. NaN is the greatest and equal to NaN; zeros of both signs are
    equal. `first`, an expression of at most the axis's size, is the number of
    elements of each row in the result. With `bits`, elements are integers of 0 or
    more and less than 2^bits.

    ```mlir
    %v, %i = graph.sort %x axis 1 descending first <[k]> : !graph.tensor<[batch, n], f32>   // -> [batch, k] each
    ```
  }];
  let arguments = (ins Graph_Tensor:$x, I64Attr:$axis, UnitAttr:$descending, OptionalAttr<Graph_DimsAttr>:$first,
                       OptionalAttr<I64Attr>:$bits);
  let results = (outs Graph_Tensor:$y, Graph_Tensor:$indices);
  let assemblyFormat = [{$x `axis` $axis (`descending` $descending^)? (`first` $first^)? (`bits` $bits^)? attr-dict
                         `:` type($x)}];
}

def Graph_SortRunsOp : Graph_InferredOp<"sort_runs"> {
  let summary = "Runs of `from` ascending elements along the last axis become runs of `to`";
  let description = [{
    A step of `graph.sort`, made by `decompose-sort`. Elements are i64, and no
    two of a row are equal except the greatest number, which fills up short rows.
    Rows are a multiple of `from` long; the last run may be shorter than `to`.
    Either `from` is 1, `to` is a power of two up to 4096, and the rows' length is
    a multiple of `to`; or `to` is twice `from`. With `first`, each row is one run,
    of which that many elements are written.

    ```mlir
    %r = graph.sort_runs %x from 1 to 4096 : !graph.tensor<[batch, 8192], i64>
    %y = graph.sort_runs %r from 4096 to 8192 : !graph.tensor<[batch, 8192], i64>
    ```
  }];
  let arguments = (ins Graph_Tensor:$x, I64Attr:$from, I64Attr:$to, OptionalAttr<Graph_DimsAttr>:$first);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x `from` $from `to` $to (`first` $first^)? attr-dict `:` type($x)";
}

def Graph_DigitCountsOp : Graph_InferredOp<"digit_counts"> {
  let summary = "How often each part of a row has each value of a digit (i32)";
  let description = [{
    A step of `graph.sort`, made by `decompose-sort`. A digit is `bits` bits of
        an i64 element, from bit `shift` on. A row is divided into `parts` of equal
    length, the least multiple of 4096 that covers it. The last parts may be
    shorter, or empty.

    ```mlir
    %c = graph.digit_counts %x shift 32 bits 8 parts 128 : !graph.tensor<[batch, n], i64>   // -> [batch, 128, 256], i32
    ```
  }];
  let arguments = (ins Graph_Tensor:$x, I64Attr:$shift, I64Attr:$bits, I64Attr:$parts);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x `shift` $shift `bits` $bits `parts` $parts attr-dict `:` type($x)";
}

def Graph_OrderByDigitOp : Graph_InferredOp<"order_by_digit"> {
  let summary = "Each row in the order of a digit; elements of equal digits keep theirs";
  let description = [{
    A pass of a radix sort. `counts` are what `graph.digit_counts` gives for the
    same elements and digit.

    ```mlir
    %y = graph.order_by_digit %x, %c shift 32 : !graph.tensor<[batch, n], i64>, !graph.tensor<[batch, 128, 256], i32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$x, Graph_IntTensor:$counts, I64Attr:$shift);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x `,` $counts `shift` $shift attr-dict `:` type($x) `,` type($counts)";
}

def Graph_SearchSortedOp : Graph_InferredOp<"search_sorted"> {
  let summary = "For each value, how many elements of an ascending vector are less (i64)";
  let description = [{
    With `right`, how many are not greater. `sorted` and `values` hold integers
    of one type.

    ```mlir
    %n = graph.search_sorted %sorted, %values right : !graph.tensor<[n], i32>, !graph.tensor<[4, 2], i32>   // -> [4, 2], i64
    ```
  }];
  let arguments = (ins Graph_IntTensor:$sorted, Graph_IntTensor:$values, UnitAttr:$right);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$sorted `,` $values (`right` $right^)? attr-dict `:` type($sorted) `,` type($values)";
}

def Graph_FoldSegmentsOp : Graph_InferredOp<"fold_segments"> {
  let summary = "Rows of x, each combined with the updates of its segment, in their order";
  let description = [{
    x is `[P, R]`, updates `[U, R]`, order `[U]` and starts `[P + 1]`. Row p
        is combined with the updates `order[j]` for j from `starts[p]` to below
    `starts[p + 1]`, as the kind says. A scatter becomes this op when its updates
    are sorted by their targets (`sort-scatters`).

    ```mlir
    %y = graph.fold_segments add, %x, %u, %order, %starts
       : !graph.tensor<[9, 64], f32>, !graph.tensor<[n, 64], f32>, !graph.tensor<[n], i64>, !graph.tensor<[10], i32>
    ```
  }];
  let arguments = (ins Graph_ScatterKind:$kind, Graph_Tensor:$x, Graph_Tensor:$updates, Graph_IntTensor:$order,
                       Graph_IntTensor:$starts);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = [{$kind `,` $x `,` $updates `,` $order `,` $starts attr-dict
                         `:` type($x) `,` type($updates) `,` type($order) `,` type($starts)}];
}

#endif // KPC_GRAPH_ORDER
