// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-gemms{type=int8}))' | FileCheck %s

!x = !graph.tensor<[32, 60], f32>
!w = !graph.tensor<[60, 20], f32>
!y = !graph.tensor<[32, 20], f32>

// The greatest magnitude of each row of A, and of each column of the weight, becomes 127, and what lies between is rounded. No size
// has to be a multiple of anything.
// CHECK-LABEL: @main(
// CHECK: graph.reduce max, %{{.*}} axes [1]
// CHECK: %[[RX:.*]] = graph.round %{{.*}} : <[32, 60], f32>
// CHECK: %[[CX:.*]] = graph.cast %[[RX]] to i8
// CHECK: graph.reduce max, %{{.*}} axes [0] : <[60, 20], f32>
// CHECK: %[[RW:.*]] = graph.round
// CHECK: %[[CW:.*]] = graph.cast %[[RW]] to i8
// CHECK: %[[P:.*]] = graph.matmul %[[CX]], %[[CW]] : <[32, 60], i8>, <[60, 20], i8>
// CHECK: %[[F:.*]] = graph.cast %[[P]] to f32
// CHECK: %[[S:.*]] = graph.mul %{{.*}}, %{{.*}} : <[32, 20], f32>
// CHECK: %[[Y:.*]] = graph.mul %[[F]], %[[S]] : <[32, 20], f32>
// CHECK-NEXT: return %[[Y]]
func.func @main(%x: !x) -> !y {
  %w = graph.weight "m#w" [] : !w
  %y = graph.matmul %x, %w : !x, !w
  return %y : !y
}
