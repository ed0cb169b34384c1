// RUN: kpc-opt %s --form-regions=transposed=32 --set-precision | FileCheck %s

// A quotient that a contraction alone reads is narrow, also where it reads it transposed.
// CHECK-LABEL: @transposed_quotient(
// CHECK: graph.region "left"{{.*}} -> !graph.tensor<[64, 256], f16>
// CHECK: graph.region "right"{{.*}} -> !graph.tensor<[64, 256], f16>
func.func @transposed_quotient(%x: !graph.tensor<[64, 256], f32>, %y: !graph.tensor<[64, 256], f32>) -> !graph.tensor<[64, 64], f32> {
  %0 = graph.div %x, %y : !graph.tensor<[64, 256], f32> loc("left")
  %1 = graph.div %y, %x : !graph.tensor<[64, 256], f32> loc("right")
  %2 = graph.transpose %1 [1, 0] : !graph.tensor<[64, 256], f32>
  %3 = graph.matmul %0, %2 : !graph.tensor<[64, 256], f32>, !graph.tensor<[256, 64], f32> loc("product")
  return %3 : !graph.tensor<[64, 64], f32>
}
