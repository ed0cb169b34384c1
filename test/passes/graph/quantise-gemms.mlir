// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-gemms{for=exact=fp32}))' | FileCheck %s

!x = !graph.tensor<[32, 64], f32>
!w = !graph.tensor<[64, 24], f32>
!y = !graph.tensor<[32, 24], f32>

// The greatest magnitude of each row of A, and of each column of the weight, becomes 448. The product is scaled once.
// CHECK-LABEL: @main(
// CHECK-SAME: %[[X:[^:]*]]: !graph.tensor<[32, 64], f32>
// CHECK: %[[AX:.*]] = graph.abs %[[X]]
// CHECK: %[[MX:.*]] = graph.reduce max, %[[AX]] axes [1]
// CHECK: graph.max
// CHECK: %[[FX:.*]] = graph.div
// CHECK: %[[SX:.*]] = graph.broadcast %[[FX]] : <[32, 1], f32> to <[32, 64], f32>
// CHECK: %[[QX:.*]] = graph.mul %[[X]], %[[SX]]
// CHECK: %[[CX:.*]] = graph.cast %[[QX]] to f8E4M3FN
// CHECK: graph.reduce max, %{{.*}} axes [0] : <[64, 24], f32>
// CHECK: %[[CW:.*]] = graph.cast %{{.*}} to f8E4M3FN : <[64, 24], f32>
// CHECK: %[[P:.*]] = graph.matmul %[[CX]], %[[CW]] : <[32, 64], f8E4M3FN>, <[64, 24], f8E4M3FN>
// CHECK: %[[S:.*]] = graph.mul %{{.*}}, %{{.*}} : <[32, 24], f32>
// CHECK: %[[Y:.*]] = graph.mul %[[P]], %[[S]] : <[32, 24], f32>
// CHECK-NEXT: return %[[Y]]
func.func @main(%x: !x) -> !y {
  %w = graph.weight "m#w" [] : !w
  %y = graph.matmul %x, %w : !x, !w
  return %y : !y
}

// What is no weight, what was named to stay, and few rows are left alone.
// CHECK-LABEL: @others(
// CHECK-NOT: f8E4M3FN
func.func @others(%x: !x, %v: !w, %f: !graph.tensor<[4, 64], f32>) -> (!y, !y, !graph.tensor<[4, 24], f32>) {
  %w = graph.weight "m#w" [] : !w
  %0 = graph.matmul %x, %v : !x, !w
  %1 = graph.matmul %x, %w : !x, !w loc("exact")
  %2 = graph.matmul %f, %w : !graph.tensor<[4, 64], f32>, !w
  return %0, %1, %2 : !y, !y, !graph.tensor<[4, 24], f32>
}
