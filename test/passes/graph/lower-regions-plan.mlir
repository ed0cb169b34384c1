// RUN: kpc-opt %s --lower-regions | FileCheck %s

// Equal kernels are one, an output is written by its kernel even behind a
// reshape, and what no kernel writes is copied. Facts of symbols become facts
// of the index arguments.

!x = !graph.tensor<[n, 4], f32>
!v = !graph.tensor<["n*4"], f32>

// CHECK: plan.program {
// CHECK-NEXT: %[[X:.*]] = plan.input "x" : <[n, 4], f32>
// CHECK-NEXT: %[[Y:.*]] = plan.output "y" : <["n*4"], f32>
// CHECK-NEXT: %[[Z:.*]] = plan.output "z" : <[n, 4], f32>
// CHECK-NEXT: %[[A:.*]] = plan.buffer "first" : <[n, 4], f32>
// CHECK-NEXT: plan.launch @first (%[[X]]) -> (%[[A]]) sizes <[n]> {flops = #graph.dims<["n*4"]>, kind = "elementwise", name = "first", title = "exp of {n}x4"}
// CHECK-NEXT: %[[W:.*]] = plan.view %[[Y]] : <["n*4"], f32> to <[n, 4], f32>
// CHECK-NEXT: plan.launch @first (%[[A]]) -> (%[[W]]) sizes <[n]> {flops = #graph.dims<["n*4"]>, kind = "elementwise", name = "second", title = "exp of {n}x4"}
// CHECK: plan.copy %[[X]] to %[[Z]]
// CHECK: func.func @first(%{{.*}}: memref<f32>, %{{.*}}: memref<f32>, %{{.*}}: index {kernel.size = #kernel.size<min = 8, max = 64, divisor = 8, optimum = 32>})
// CHECK-SAME: kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>
// CHECK-NOT: func.func
module attributes {graph.symbols = {n = {min = 8, max = 64, divisor = 8, optimum = 32}}} {
  func.func @main(%x: !x {graph.name = "x"}) -> (!v {graph.name = "y"}, !x {graph.name = "z"}) {
    %0 = graph.region "first" (%x) : (!x) -> !x {
    ^bb0(%a: !x):
      %3 = graph.exp %a : !x
      graph.yield %3 : !x
    }
    %1 = graph.region "second" (%0) : (!x) -> !x {
    ^bb0(%a: !x):
      %3 = graph.exp %a : !x
      graph.yield %3 : !x
    }
    %2 = graph.reshape %1 : !x to !v
    return %2, %x : !v, !x
  }
}
