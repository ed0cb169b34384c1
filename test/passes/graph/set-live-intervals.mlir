// RUN: kpc-opt %s --set-live-intervals | FileCheck %s

// From the first step that touches a buffer or a view of it to the last; what is given stays.

!x = !graph.tensor<[n, 4], f32>
!f = !graph.tensor<[4], f32>

func.func private @k(memref<f32>, memref<f32>, index)
func.func private @k3(memref<f32>, memref<f32>, memref<f32>, memref<f32>, index)

plan.program {
  %x = plan.input "x" : !x
  %y = plan.output "y" : !x
  // CHECK: plan.buffer "a" live [0, 2] arena dynamic : <[n, 4], f32>
  %a = plan.buffer "a" : !x
  // CHECK: plan.buffer "b" live [1, 1] arena dynamic
  %b = plan.buffer "b" : !x
  // CHECK: plan.buffer "longer" live [0, 2] arena dynamic
  %l = plan.buffer "longer" live [0, 2] : !x
  // CHECK: plan.buffer "fixed" live [1, 1] arena fixed : <[4], f32>
  %f = plan.buffer "fixed" : !f
  // CHECK: plan.buffer "unused" arena fixed : <[4], f32>
  %u = plan.buffer "unused" : !f
  %v = plan.view %a : !x to !graph.tensor<["n*4"], f32>
  plan.launch @k (%x) -> (%a) sizes <[n]> : (!x) -> (!x)
  plan.launch @k3 (%x) -> (%b, %l, %f) sizes <[n]> : (!x) -> (!x, !x, !f)
  plan.copy %v to %y : !graph.tensor<["n*4"], f32> to !x
}
