// RUN: kpc-opt %s | kpc-opt | FileCheck %s

!x = !graph.tensor<[n, 4], f32>

func.func private @k(memref<f32>, memref<f32>, memref<f32>, index)
func.func private @fill(memref<f32>, index)

// CHECK: plan.program {
plan.program {
  // CHECK: plan.input "x" : <[n, 4], f32>
  %0 = plan.input "x" : !x
  // CHECK: plan.output "y" takes 0 : <[n, 4], f32>
  %1 = plan.output "y" takes 0 : !x
  // CHECK: plan.buffer "a" : <[n, 4], f32>
  %2 = plan.buffer "a" : !x
  // CHECK: plan.buffer "b" live [0, 1] arena dynamic : <[n, 4], f32>
  %3 = plan.buffer "b" live [0, 1] arena dynamic : !x
  // CHECK: plan.buffer "c" arena fixed : <[4], f32>
  %7 = plan.buffer "c" arena fixed : !graph.tensor<[4], f32>
  // CHECK: plan.weight "m.onnx#w" [{cast = f16}] : <[4], f16>
  %4 = plan.weight "m.onnx#w" [{cast = f16}] : !graph.tensor<[4], f16>
  // CHECK: plan.constant dense<1.000000e+00> : tensor<2xf32> : <[2], f32>
  %5 = plan.constant dense<1.000000e+00> : tensor<2xf32> : !graph.tensor<[2], f32>
  // CHECK: plan.view %{{.*}} : <[n, 4], f32> to <["n*4"], f32>
  %6 = plan.view %2 : !x to !graph.tensor<["n*4"], f32>
  // CHECK: plan.launch @k (%{{.*}}, %{{.*}}) -> (%{{.*}}) sizes <["n*4"]> : (!graph.tensor<[n, 4], f32>, !graph.tensor<[n, 4], f32>) -> !graph.tensor<[n, 4], f32>
  plan.launch @k (%0, %3) -> (%2) sizes <["n*4"]> : (!x, !x) -> (!x)
  // CHECK: plan.launch @k (%{{.*}}, %{{.*}}) -> (%{{.*}}) sizes <["n*4"]> {flops = #graph.dims<["n*8"]>, name = "k+l", nodes = ["k", "l"]} :
  plan.launch @k (%0, %3) -> (%2) sizes <["n*4"]> {flops = #graph.dims<["n*8"]>, name = "k+l", nodes = ["k", "l"]} : (!x, !x) -> (!x)
  // A kernel without inputs.
  // CHECK: plan.launch @fill () -> (%{{.*}}) sizes <[n]> : () -> !graph.tensor<[n, 4], f32>
  plan.launch @fill () -> (%2) sizes <[n]> : () -> !x
  // CHECK: plan.copy %{{.*}} to %{{.*}} : <[n, 4], f32> to <[n, 4], f32>
  plan.copy %2 to %1 : !x to !x
  %8 = plan.input "c" : !graph.tensor<[], i1>
  // CHECK: plan.loop "i" count <[n]> {
  plan.loop "i" count <[n]> {
    // CHECK-NEXT: plan.part %{{.*}} at <["i*4"]> : <[n, 4], f32> to <[4], f32>
    %9 = plan.part %1 at <["i*4"]> : !x to !graph.tensor<[4], f32>
    // CHECK-NEXT: plan.copy
    plan.copy %7 to %9 : !graph.tensor<[4], f32> to !graph.tensor<[4], f32>
  }
  // CHECK: plan.loop "j" count <[100]> while %{{.*}} : !graph.tensor<[], i1> {
  plan.loop "j" count <[100]> while %8 : !graph.tensor<[], i1> {
  // CHECK-NEXT: } at_end {
  } at_end {
    // CHECK-NEXT: plan.copy
    plan.copy %2 to %1 : !x to !x
  }
  // CHECK: plan.if %{{.*}} : <[], i1> {
  plan.if %8 : !graph.tensor<[], i1> {
    // CHECK-NEXT: plan.copy
    plan.copy %2 to %1 : !x to !x
  // CHECK-NEXT: } else {
  } else {
  }
}
