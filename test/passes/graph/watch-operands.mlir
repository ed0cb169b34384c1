// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(watch-operands))' | FileCheck %s

!x = !graph.tensor<[4, 8], f32>
!w = !graph.tensor<[8, 8], f32>

// One result for each value, whatever multiplies it; none for what no weight multiplies.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: -> (!graph.tensor<[4, 8], f32> {graph.name = "y"},
// CHECK-SAME: !graph.tensor<[4, 8], f32> {graph.name = "kpc.operand1", graph.watched = {{\[\[}}"first", "gemm"], ["second", "gemm"]]},
// CHECK-SAME: !graph.tensor<[4, 8], f32> {graph.name = "kpc.operand2", graph.watched = {{\[\[}}"third", "gemm"]]})
// CHECK: %[[R:.*]] = graph.relu
// CHECK: %[[S:.*]] = graph.add
// CHECK: return %{{.*}}, %[[R]], %[[S]]
func.func @main(%x: !x) -> (!x {graph.name = "y"}) {
  %w = graph.weight "m#w" [] : !w
  %0 = graph.relu %x : !x
  %1 = graph.matmul %0, %w : !x, !w loc("first")
  %2 = graph.matmul %0, %w : !x, !w loc("second")
  %3 = graph.add %1, %2 : !x
  %4 = graph.matmul %3, %w : !x, !w loc("third")
  %6 = graph.add %4, %4 : !x
  return %6 : !x
}
