// RUN: rm -rf %t && mkdir %t && cp %s %t/order.graph.mlir
// RUN: kpc compile %t/order.graph.mlir --arch host -o %t/order.kpc --no-cache --quiet
// RUN: kpc inspect %t/order.kpc | FileCheck %s

// Elements in order, in a program that becomes machine code.

// CHECK: sorted
// CHECK: folded

!x = !graph.tensor<[n, 100], f32>
!v = !graph.tensor<[4096], i64>

module attributes {graph.symbols = {n = {min = 2, max = 8}}} {
  func.func @main(%x: !x {graph.name = "x"}, %v: !v {graph.name = "v"}, %t: !graph.tensor<[9, 4], f32> {graph.name = "t"},
                  %u: !graph.tensor<[6, 4], f32> {graph.name = "u"}, %o: !graph.tensor<[6], i64> {graph.name = "o"},
                  %b: !graph.tensor<[10], i64> {graph.name = "b"})
      -> (!graph.tensor<[n, 5], f32> {graph.name = "sorted"}, !graph.tensor<[10], i64> {graph.name = "found"},
          !graph.tensor<[9, 4], f32> {graph.name = "folded"}) {
    %0, %1 = graph.sort %x axis 1 descending first <[5]> : !x
    %2 = graph.sort_runs %v from 1 to 4096 : !v
    %3 = graph.search_sorted %2, %b : !v, !graph.tensor<[10], i64>
    %4 = graph.fold_segments add, %t, %u, %o, %b
      : !graph.tensor<[9, 4], f32>, !graph.tensor<[6, 4], f32>, !graph.tensor<[6], i64>, !graph.tensor<[10], i64>
    return %0, %3, %4 : !graph.tensor<[n, 5], f32>, !graph.tensor<[10], i64>, !graph.tensor<[9, 4], f32>
  }
}
