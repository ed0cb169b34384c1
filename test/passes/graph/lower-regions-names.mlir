// RUN: kpc-opt --lower-regions %s | FileCheck %s

// Models name nodes `relu` and `relu_1`: a number that kpc adds must not meet
// one that the model has.

// CHECK-DAG: func.func @relu(
// CHECK-DAG: func.func @relu_1(
// CHECK-DAG: func.func @relu_1_1(
func.func @main(%x: !graph.tensor<[2], f32>) -> (!graph.tensor<[2], f32>, !graph.tensor<[2], f32>, !graph.tensor<[2], f32>) {
  %0 = graph.region "relu" (%x) : (!graph.tensor<[2], f32>) -> !graph.tensor<[2], f32> {
  ^bb0(%a: !graph.tensor<[2], f32>):
    %r = graph.relu %a : !graph.tensor<[2], f32>
    graph.yield %r : !graph.tensor<[2], f32>
  }
  %1 = graph.region "relu" (%x) : (!graph.tensor<[2], f32>) -> !graph.tensor<[2], f32> {
  ^bb0(%a: !graph.tensor<[2], f32>):
    %r = graph.neg %a : !graph.tensor<[2], f32>
    graph.yield %r : !graph.tensor<[2], f32>
  }
  %2 = graph.region "relu_1" (%x) : (!graph.tensor<[2], f32>) -> !graph.tensor<[2], f32> {
  ^bb0(%a: !graph.tensor<[2], f32>):
    %r = graph.abs %a : !graph.tensor<[2], f32>
    graph.yield %r : !graph.tensor<[2], f32>
  }
  return %0, %1, %2 : !graph.tensor<[2], f32>, !graph.tensor<[2], f32>, !graph.tensor<[2], f32>
}
