// RUN: kpc-opt %s --form-regions | FileCheck %s

// What is sorted is read as it lies in memory by both kernels of the first pass: codes have twice the bytes, and nobody writes them.

// CHECK-LABEL: func.func @main(
// CHECK: %[[C:.*]] = graph.region {{.*}}(%arg0)
// CHECK: graph.cast
// CHECK: graph.mul
// CHECK: graph.digit_counts
// CHECK: graph.region {{.*}}%[[C]]
// CHECK: graph.cast
// CHECK: graph.mul
// CHECK: graph.order_by_digit
func.func @main(%x: !graph.tensor<[n], i32>) -> !graph.tensor<[n], i64> {
  %w = graph.cast %x to i64 : !graph.tensor<[n], i32>
  %s = graph.mul %w, %w : !graph.tensor<[n], i64>
  %c = graph.digit_counts %s shift 8 bits 8 parts 4 : !graph.tensor<[n], i64>
  %y = graph.order_by_digit %s, %c shift 8 : !graph.tensor<[n], i64>, !graph.tensor<[4, 256], i32>
  return %y : !graph.tensor<[n], i64>
}

// Floats in front are computed once: they may take long.
// CHECK-LABEL: func.func @floats(
// CHECK: graph.exp
// CHECK-NOT: graph.exp
// CHECK: graph.order_by_digit
func.func @floats(%x: !graph.tensor<[n], f32>) -> !graph.tensor<[n], i64> {
  %e = graph.exp %x : !graph.tensor<[n], f32>
  %b = graph.bitcast %e to i32 : !graph.tensor<[n], f32>
  %w = graph.cast %b to i64 : !graph.tensor<[n], i32>
  %c = graph.digit_counts %w shift 8 bits 8 parts 4 : !graph.tensor<[n], i64>
  %y = graph.order_by_digit %w, %c shift 8 : !graph.tensor<[n], i64>, !graph.tensor<[4, 256], i32>
  return %y : !graph.tensor<[n], i64>
}
