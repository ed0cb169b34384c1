// RUN: kpc-opt %s -choose-recurrent=targets=sm_90a | FileCheck %s --check-prefix=KERNEL
// RUN: kpc-opt %s -choose-recurrent="targets=sm_90a narrow=f16" | FileCheck %s --check-prefix=NARROW
// RUN: kpc-opt %s -choose-recurrent | FileCheck %s --check-prefix=LOOPS

!x = !graph.tensor<[5, 3, 32], f32>
!r = !graph.tensor<[1, 32, 32], f32>
!h = !graph.tensor<[1, 3, 32], f32>
!y = !graph.tensor<[5, 3, 1, 32], f32>

// What stands in the body here is no layer: only where it goes is looked at.
func.func @main(%x: !x, %r: !r, %h0: !h) -> (!y, !h) {
  // KERNEL: %[[R:.*]]:5 = graph.region "recurrent"(%arg0, %arg1, %arg2)
  // KERNEL: graph.recurrent tanh(%{{.*}}) weights %{{.*}} state %{{.*}} reversed [true] :
  // KERNEL-SAME: <[2, 1, 3, 32], f32>, !graph.tensor<[2, 1, 3, 32], f32>, !graph.tensor<[32], i32>
  // KERNEL-NOT: graph.exp
  // KERNEL: return %[[R]]#0, %[[R]]#1
  // NARROW: graph.cast %arg0 {{.*}} f16
  // NARROW: graph.cast %arg1 {{.*}} f16
  // NARROW: graph.region
  // NARROW: graph.cast {{.*}} f32
  // LOOPS-NOT: graph.recurrent
  // LOOPS: %[[Y:.*]] = graph.exp
  // LOOPS: return %[[Y]], %arg2
  %y, %h = graph.recurrent tanh(%x) weights %r state %h0 reversed [true] : (!x, !r, !h) -> (!y, !h) {
    %0 = graph.reshape %x : !x to !y
    %1 = graph.exp %0 : !y
    graph.recurrent_yield %1, %h0 : !y, !h
  }
  return %y, %h : !y, !h
}
