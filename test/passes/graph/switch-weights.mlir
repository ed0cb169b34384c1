// RUN: kpc-opt %s --pass-pipeline='builtin.module(switch-precisions{types=int8,int4 wgmma=false},func.func(quantise-weights{type=none group=32}))' | FileCheck %s
// RUN: kpc-opt %s --pass-pipeline='builtin.module(switch-precisions{types=int8,fp8 wgmma=false},func.func(quantise-gemms{type=none int8=rounded fp8=rounded few-rows=rounded wgmma=false}))' | FileCheck %s --check-prefix=ROUNDED

!x = !graph.tensor<[8, 32], f32>
!w = !graph.tensor<[32, 16], f32>
!y = !graph.tensor<[8, 16], f32>
!xs = !graph.tensor<[2, 8, 16], f32>
!ws = !graph.tensor<[2, 16, 4], f32>
!ys = !graph.tensor<[2, 8, 4], f32>

// Few rows multiply no codes, and their weight may be some; a batch of weights is none. Copies alone read codes.
// ROUNDED: module attributes {graph.switched = {{\[\[}}"fc", "int8", "fp8"]]}
// ROUNDED: graph.matmul %[[X:.*]], %{{.*}} {graph.precision = "none"}
// ROUNDED: graph.cast %{{.*}} to i8 : <[32, 16], f32>
// ROUNDED: graph.matmul %[[X]], %{{.*}} {graph.precision = "int8"}
// ROUNDED: graph.cast %{{.*}} to f8E4M3FN : <[32, 16], f32>
// ROUNDED: graph.matmul %[[X]], %{{.*}} {graph.precision = "fp8"}
// CHECK: module attributes {graph.switched = {{\[\[}}"fc", "int8", "int4"]]}
// CHECK-LABEL: func.func @main(
// CHECK-SAME: !graph.tensor<[1], i32> {graph.name = "kpc.precisions"})
// CHECK: %[[PLAIN:.*]] = graph.matmul %{{.*}}, %{{.*}} {graph.precision = "none"}
// CHECK: %[[INT8:.*]] = graph.matmul %{{.*}}, %{{.*}} {graph.precision = "int8"}
// CHECK: %[[ONE:.*]] = graph.select %{{.*}}, %[[INT8]], %[[PLAIN]]
// CHECK: %[[W:.*]] = graph.dequantise {{.*}} blocks [1, 32]
// CHECK: %[[T:.*]] = graph.transpose %[[W]] [1, 0]
// CHECK: %[[INT4:.*]] = graph.matmul %{{.*}}, %[[T]] {graph.precision = "int4"}
// CHECK: graph.constant dense<2> : tensor<i32>
// CHECK: graph.select %{{.*}}, %[[INT4]], %[[ONE]]
// CHECK-NOT: graph.dequantise
func.func @main(%x: !x) -> (!ys {graph.name = "y"}) {
  %w = graph.constant dense<0.5> : tensor<32x16xf32>
  %ws = graph.constant dense<0.25> : tensor<2x16x4xf32>
  %0 = graph.matmul %x, %w : !x, !w loc("fc")
  %1 = graph.broadcast %0 : !y to !xs
  %2 = graph.matmul %1, %ws : !xs, !ws loc("batch")
  return %2 : !ys
}
