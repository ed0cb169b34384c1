// RUN: kpc-opt %s --unify-row-shapes=longer-than=131072 | FileCheck %s
// RUN: kpc-opt %s --unify-row-shapes=longer-than=131072 --split-reductions="targets=sm_90a longest-row=131072" --unify-row-shapes --form-regions="rows longest-row=131072" | FileCheck %s --check-prefix=KERNELS

!x = !graph.tensor<[2, 128, 512, 512], f32>
!g = !graph.tensor<[2, 32, 1048576], f32>
!k = !graph.tensor<[2, 32, 1], f32>
!c = !graph.tensor<[128, 1, 1], f32>

// Rows that no kernel keeps are reduced in two levels, so that afterwards nothing shows what goes with them. The scale of channels and
// what was subtracted would be two kernels.
// CHECK-LABEL: func.func @long
// CHECK: %[[G:.*]] = graph.reshape %{{.*}} : <[2, 128, 512, 512], f32> to <[2, 32, 4, 262144], f32>
// CHECK: graph.reduce sum, %[[G]] axes [2, 3]
// CHECK: %[[D:.*]] = graph.sub %[[G]]
// CHECK: %[[M:.*]] = graph.mul %[[D]]
// CHECK: graph.reshape %[[M]] : <[2, 32, 4, 262144], f32> to <[2, 128, 512, 512], f32>
// KERNELS-LABEL: func.func @long
// KERNELS: graph.region
// KERNELS: graph.window
// KERNELS: graph.region
// KERNELS: graph.reduce
// KERNELS: graph.region
// KERNELS: graph.sub
// KERNELS: graph.mul
// KERNELS-NOT: graph.region
// KERNELS: return
func.func @long(%x: !x, %scale: !c) -> !x {
  %0 = graph.reshape %x : !x to !g
  %1 = graph.reduce sum, %0 axes [2] : !g
  %2 = graph.reshape %1 : !graph.tensor<[2, 32], f32> to !k
  %3 = graph.broadcast %2 : !k to !g
  %4 = graph.sub %0, %3 : !g
  %5 = graph.reshape %4 : !g to !x
  %6 = graph.broadcast %scale : !c to !x
  %7 = graph.mul %5, %6 : !x
  return %7 : !x
}

!xs = !graph.tensor<[2, 128, 16, 16], f32>
!gs = !graph.tensor<[2, 32, 1024], f32>

// Others wait until precision has been set.
// CHECK-LABEL: func.func @short
// CHECK: graph.reduce sum, %{{.*}} axes [2] : <[2, 32, 1024], f32>
// CHECK: graph.sub %{{.*}} : <[2, 32, 1024], f32>
func.func @short(%x: !xs, %scale: !c) -> !xs {
  %0 = graph.reshape %x : !xs to !gs
  %1 = graph.reduce sum, %0 axes [2] : !gs
  %2 = graph.reshape %1 : !graph.tensor<[2, 32], f32> to !k
  %3 = graph.broadcast %2 : !k to !gs
  %4 = graph.sub %0, %3 : !gs
  %5 = graph.reshape %4 : !gs to !xs
  %6 = graph.broadcast %scale : !c to !xs
  %7 = graph.mul %5, %6 : !xs
  return %7 : !xs
}
