// RUN: kpc-opt %s --form-regions=transposed=32 --set-precision | FileCheck %s

// A quotient that a contraction alone reads is narrow, also where it reads it transposed.
// CHECK-LABEL: @transposed_quotient(
// CHECK: graph.region "left"{{.*}} -> !graph.tensor<[256, 1024], f16>
// CHECK: graph.region "right"{{.*}} -> !graph.tensor<[256, 1024], f16>
func.func @transposed_quotient(%h: !graph.tensor<[16384, 1024], f32>, %x: !graph.tensor<[256, 1024], f32>, %y: !graph.tensor<[256, 1024], f32>)
    -> (!graph.tensor<[16384, 1024], f32>, !graph.tensor<[256, 256], f32>) {
  %w = graph.weight "m#w" [] : !graph.tensor<[1024, 1024], f32>
  %s = graph.sin %h : !graph.tensor<[16384, 1024], f32> loc("heavy")
  %g = graph.matmul %s, %w : !graph.tensor<[16384, 1024], f32>, !graph.tensor<[1024, 1024], f32>
  %0 = graph.div %x, %y : !graph.tensor<[256, 1024], f32> loc("left")
  %1 = graph.div %y, %x : !graph.tensor<[256, 1024], f32> loc("right")
  %2 = graph.transpose %1 [1, 0] : !graph.tensor<[256, 1024], f32>
  %3 = graph.matmul %0, %2 : !graph.tensor<[256, 1024], f32>, !graph.tensor<[1024, 256], f32> loc("product")
  return %g, %3 : !graph.tensor<[16384, 1024], f32>, !graph.tensor<[256, 256], f32>
}
