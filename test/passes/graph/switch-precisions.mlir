// RUN: kpc-opt %s --pass-pipeline='builtin.module(switch-precisions{types=int8,fp8 wgmma=false})' | FileCheck %s
// RUN: kpc-opt %s --pass-pipeline='builtin.module(switch-precisions{types=int8 wgmma=false},func.func(quantise-gemms{type=none int8=rounded fp8=rounded wgmma=false}))' | FileCheck %s --check-prefix=CODES
// RUN: not kpc-opt %s --pass-pipeline='builtin.module(switch-precisions{types=int9})' 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: error: expected int8, fp8, mxfp8, mxfp4, nvfp4 or int4, got 'int9'

!x = !graph.tensor<[32, 16], f32>
!w = !graph.tensor<[16, 16], f32>
!few = !graph.tensor<[16, 4], f32>
!y = !graph.tensor<[32, 4], f32>

// A switch for each node, with the types that its product can have; a product that can have none has no switch, nor has one
// without a name or without a weight.
// CHECK: module attributes {graph.switched = {{\[\[}}"first", "int8", "fp8"], ["second", "int8", "fp8"]]}
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]*]]: !graph.tensor<[32, 16], f32>, %[[P:[^:]*]]: !graph.tensor<[2], i32> {graph.name = "kpc.precisions"})
// CHECK: %[[FIRST:.*]] = graph.matmul %[[X]], %{{.*}} {graph.precision = "none"}
// CHECK: %[[ONE:.*]] = graph.slice %[[P]] start <[0]> step [1]
// CHECK: %[[SWITCH:.*]] = graph.reshape %[[ONE]]
// CHECK: %[[INT8:.*]] = graph.matmul %[[X]], %{{.*}} {graph.precision = "int8"}
// CHECK: %[[IS1:.*]] = graph.compare eq, %[[SWITCH]],
// CHECK: %[[B1:.*]] = graph.broadcast %[[IS1]]
// CHECK: %[[S1:.*]] = graph.select %[[B1]], %[[INT8]], %[[FIRST]]
// CHECK: %[[FP8:.*]] = graph.matmul %[[X]], %{{.*}} {graph.precision = "fp8"}
// CHECK: %[[S2:.*]] = graph.select %{{.*}}, %[[FP8]], %[[S1]]
// CHECK: %[[R:.*]] = graph.relu %[[S2]]
// CHECK: graph.matmul %[[R]], %{{.*}} {graph.precision = "none"}
// CHECK: graph.slice %[[P]] start <[1]> step [1]
// CHECK-NOT: graph.slice

// The copy is quantised, the product itself is not.
// CODES-LABEL: func.func @main(
// CODES: graph.matmul {{.*}} {graph.precision = "none"}
// CODES: graph.round
// CODES: graph.select
func.func @main(%x: !x) -> (!y {graph.name = "y"}) {
  %w = graph.weight "m#w" [] : !w
  %f = graph.weight "m#f" [] : !few
  %0 = graph.matmul %x, %w : !x, !w loc("first")
  %1 = graph.relu %0 : !x
  %2 = graph.matmul %1, %w : !x, !w loc("second")
  %3 = graph.matmul %2, %f : !x, !few loc("few columns")
  return %3 : !y
}
