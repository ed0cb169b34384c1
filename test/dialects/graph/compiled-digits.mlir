// RUN: rm -rf %t && mkdir %t && cp %s %t/digits.graph.mlir
// RUN: kpc compile %t/digits.graph.mlir --arch portable -o %t/digits.kpc --no-cache --quiet
// RUN: kpc inspect %t/digits.kpc | FileCheck %s

// A pass over a digit, in a program that becomes machine code of GPUs.

// CHECK: ordered
// CHECK: count 8 bits in 4 parts
// CHECK: order by 8 bits in 4 parts

!v = !graph.tensor<[n, 9000], i64>

module attributes {graph.symbols = {n = {min = 2, max = 8}}} {
  func.func @main(%v: !v {graph.name = "v"}) -> (!v {graph.name = "ordered"}) {
    %0 = graph.digit_counts %v shift 3 bits 8 parts 4 : !v
    %1 = graph.order_by_digit %v, %0 shift 3 : !v, !graph.tensor<[n, 4, 256], i32>
    return %1 : !v
  }
}
