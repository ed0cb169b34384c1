// RUN: kpc-opt --form-regions='rows longest-row=1024' %s | FileCheck %s

// Rows longer than a kernel keeps: the sum and the quotient each compute the powers from x, which is read in any case, instead of one kernel that
// writes them for both.

!x = !graph.tensor<[4, 100000], f16>
!w = !graph.tensor<[4, 100000], f32>
!r = !graph.tensor<[4], f32>
!o = !graph.tensor<[4, 1], f32>

// CHECK-LABEL: func.func @softmax
// CHECK: graph.region
// CHECK: graph.reduce max
// CHECK: graph.region
// CHECK: graph.cast
// CHECK: graph.sub
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.reduce sum
// CHECK: graph.region
// CHECK: graph.cast
// CHECK: graph.sub
// CHECK-NEXT: graph.exp
// CHECK: graph.div
// CHECK-NEXT: graph.cast
// CHECK-NOT: graph.region
func.func @softmax(%x: !x) -> !x {
  %w = graph.cast %x to f32 : <[4, 100000], f16>
  %m = graph.reduce max, %w axes [1] : !w
  %m1 = graph.reshape %m : <[4], f32> to <[4, 1], f32>
  %mb = graph.broadcast %m1 : <[4, 1], f32> to <[4, 100000], f32>
  %s = graph.sub %w, %mb : !w
  %e = graph.exp %s : !w
  %t = graph.reduce sum, %e axes [1] : !w
  %t1 = graph.reshape %t : <[4], f32> to <[4, 1], f32>
  %tb = graph.broadcast %t1 : <[4, 1], f32> to <[4, 100000], f32>
  %q = graph.div %e, %tb : !w
  %y = graph.cast %q to f16 : !w
  return %y : !x
}
