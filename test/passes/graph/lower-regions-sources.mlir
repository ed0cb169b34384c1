// RUN: kpc-opt %s --lower-regions | FileCheck %s

// Weights and constants are records of the plan.

!w = !graph.tensor<[4], f32>

// CHECK: plan.program {
// CHECK: %[[Y:.*]] = plan.output "output0"
// CHECK: %[[W:.*]] = plan.weight "m#w" [{cast = f32}] : <[4], f32>
// CHECK: %[[C:.*]] = plan.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32> : <[4], f32>
// CHECK: plan.launch @add (%[[W]], %[[C]]) -> (%[[Y]]) sizes <[]>
func.func @main() -> !w {
  %w = graph.weight "m#w" [{cast = f32}] : !w
  %c = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = graph.region "add" (%w, %c) : (!w, !w) -> !w {
  ^bb0(%a: !w, %b: !w):
    %1 = graph.add %a, %b : !w
    graph.yield %1 : !w
  }
  return %0 : !w
}
