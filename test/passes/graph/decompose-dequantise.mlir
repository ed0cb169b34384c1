// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(decompose-dequantise))' | FileCheck %s
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(decompose-dequantise{keep-weights=true}))' | FileCheck %s --check-prefix KEEP

// Whole blocks are a dimension of their own.
// CHECK-LABEL: func @blocks
// CHECK: graph.reshape %{{.*}} : <[4, 128], ui4> to <[4, 2, 64], ui4>
// CHECK: graph.cast %{{.*}} to i32
// CHECK: graph.broadcast %{{.*}} : <[4, 2, 1], i32> to <[4, 2, 64], i32>
// CHECK: graph.sub
// CHECK: graph.cast %{{.*}} to f32
// CHECK: graph.mul
// CHECK: graph.cast %{{.*}} to f16
// CHECK: graph.reshape %{{.*}} to <[4, 128], f16>
// CHECK-NOT: graph.dequantise
// KEEP-LABEL: func @blocks
// KEEP-NOT: graph.dequantise
func.func @blocks(%w: !graph.tensor<[4, 128], ui4>, %s: !graph.tensor<[4, 2], f16>, %z: !graph.tensor<[4, 2], ui4>)
    -> !graph.tensor<[4, 128], f16> {
  %y = graph.dequantise %w scales %s zeros %z blocks [1, 64] : !graph.tensor<[4, 128], ui4>, !graph.tensor<[4, 2], f16>, !graph.tensor<[4, 2], ui4> to <[4, 128], f16>
  return %y : !graph.tensor<[4, 128], f16>
}

// The last block is cut: scales are repeated, and cut.
// CHECK-LABEL: func @cut
// CHECK: graph.broadcast %{{.*}} : <[4, 2, 1], f32> to <[4, 2, 64], f32>
// CHECK: graph.slice %{{.*}} : <[4, 128], f32> to <[4, 100], f32>
// CHECK: graph.mul
// KEEP-LABEL: func @cut
// KEEP-NOT: graph.dequantise
func.func @cut(%w: !graph.tensor<[4, 100], i8>, %s: !graph.tensor<[4, 2], f32>) -> !graph.tensor<[4, 100], f32> {
  %y = graph.dequantise %w scales %s blocks [1, 64] : !graph.tensor<[4, 100], i8>, !graph.tensor<[4, 2], f32> to <[4, 100], f32>
  return %y : !graph.tensor<[4, 100], f32>
}

// What GEMMs alone read stays until constants are folded.
// CHECK-LABEL: func @gemm
// CHECK-NOT: graph.dequantise
// KEEP-LABEL: func @gemm
// KEEP: graph.dequantise
func.func @gemm(%x: !graph.tensor<[n, 100], f32>, %w: !graph.tensor<[4, 100], i8>, %s: !graph.tensor<[4, 1], f32>)
    -> !graph.tensor<[n, 4], f32> {
  %y = graph.dequantise %w scales %s blocks [1, 100] : !graph.tensor<[4, 100], i8>, !graph.tensor<[4, 1], f32> to <[4, 100], f32>
  %t = graph.transpose %y [1, 0] : <[4, 100], f32>
  %p = graph.matmul %x, %t : <[n, 100], f32>, <[100, 4], f32>
  return %p : !graph.tensor<[n, 4], f32>
}
