// RUN: kpc-opt --form-regions --lower-regions %s | FileCheck %s --check-prefix=MARKED
// RUN: kpc-opt --form-regions --lower-regions --allow-tf32 %s | FileCheck %s

// A product of coordinates whose sine is taken is not rounded to tf32; a layer of a network is.
// MARKED: plan.launch @points_wave {{.*}}graph.exact
// CHECK-NOT: graph.exact
// CHECK-LABEL: func.func @points_wave(
// CHECK-NOT: tf32
// CHECK-LABEL: func.func @layer(
// CHECK: kernel.gemm {{.*}} tf32 into
!p = !graph.tensor<[n, 4], f32>
!b = !graph.tensor<[4, 64], f32>
!x = !graph.tensor<[n, 64], f32>
!w = !graph.tensor<[64, 64], f32>
func.func @main(%p: !p, %b: !b, %w: !w) -> (!x, !x) {
  %0 = graph.matmul %p, %b : !p, !b loc("points")
  %1 = graph.sin %0 : !x loc("wave")
  %2 = graph.cos %0 : !x
  %3 = graph.mul %1, %2 : !x
  %4 = graph.matmul %3, %w : !x, !w loc("layer")
  %5 = graph.sin %4 : !x
  %6 = graph.cos %4 : !x
  return %5, %6 : !x, !x
}
