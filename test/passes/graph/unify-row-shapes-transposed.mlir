// RUN: kpc-opt %s --split-input-file --unify-row-shapes=across-transposes | FileCheck %s
// RUN: kpc-opt %s --split-input-file --unify-row-shapes=across-transposes --sink-transposes --canonicalize --form-regions=rows | FileCheck %s --check-prefix=KERNELS

!l = !graph.tensor<[n, h, w, 320], f32>
!x = !graph.tensor<[n, 320, h, w], f32>
!g = !graph.tensor<[n, 32, "h*w*10"], f32>
!s = !graph.tensor<[n, 32], f32>
!k = !graph.tensor<[n, 32, 1], f32>
!c = !graph.tensor<[320, 1, 1], f32>

// A group norm of a channels-last image: groups, channels and pixels are apart, and what is behind it goes with it, though a transpose is next.
// Then transposes meet, and all is one kernel, whose rows are some channels of each pixel.
// CHECK-LABEL: func.func @group_norm
// CHECK: graph.reshape %{{.*}} : <[n, 320, h, w], f32> to <[n, 32, 10, "h*w"], f32>
// CHECK: graph.reduce sum, %{{.*}} axes [2, 3] : <[n, 32, 10, "h*w"], f32>
// CHECK: graph.sigmoid %{{.*}} : <[n, 32, 10, "h*w"], f32>
// CHECK: graph.reshape %{{.*}} : <[n, 32, 10, "h*w"], f32> to <[n, 320, h, w], f32>
// KERNELS-LABEL: func.func @group_norm
// KERNELS-NOT: graph.transpose
// KERNELS-COUNT-1: graph.region
// KERNELS: graph.reduce sum, %{{.*}} axes [1, 3] : <[n, "h*w", 32, 10], f32>
// KERNELS-NOT: graph.transpose
// KERNELS-NOT: graph.region
// KERNELS: return
func.func @group_norm(%l: !l, %scale: !c) -> !l {
  %x = graph.transpose %l [0, 3, 1, 2] : !l
  %0 = graph.reshape %x : !x to !g
  %1 = graph.reduce sum, %0 axes [2] : !g
  %2 = graph.reshape %1 : !s to !k
  %3 = graph.broadcast %2 : !k to !g
  %4 = graph.sub %0, %3 : !g
  %5 = graph.reshape %4 : !g to !x
  %6 = graph.broadcast %scale : !c to !x
  %7 = graph.mul %5, %6 : !x
  %8 = graph.sigmoid %7 : !x
  %9 = graph.transpose %8 [0, 2, 3, 1] : !x
  return %9 : !l
}

// -----

!l = !graph.tensor<[n, h, w, 320], f32>
!x = !graph.tensor<[n, 320, h, w], f32>
!g = !graph.tensor<[n, 32, "h*w*10"], f32>
!s = !graph.tensor<[n, 32], f32>
!k = !graph.tensor<[n, 32, 1], f32>

// Nothing is behind it that tells channels from pixels: the transpose does.
// CHECK-LABEL: func.func @bare
// CHECK: graph.reduce sum, %{{.*}} axes [2, 3] : <[n, 32, 10, "h*w"], f32>
// KERNELS-LABEL: func.func @bare
// KERNELS-NOT: graph.transpose
// KERNELS: return
func.func @bare(%l: !l) -> !l {
  %x = graph.transpose %l [0, 3, 1, 2] : !l
  %0 = graph.reshape %x : !x to !g
  %1 = graph.reduce sum, %0 axes [2] : !g
  %2 = graph.reshape %1 : !s to !k
  %3 = graph.broadcast %2 : !k to !g
  %4 = graph.sub %0, %3 : !g
  %5 = graph.reshape %4 : !g to !x
  %6 = graph.transpose %5 [0, 2, 3, 1] : !x
  return %6 : !l
}

// -----

!x = !graph.tensor<[n, 320, h, w], f32>
!g = !graph.tensor<[n, 32, "h*w*10"], f32>
!s = !graph.tensor<[n, 32], f32>
!k = !graph.tensor<[n, 32, 1], f32>

// Channels first stays as it is.
// CHECK-LABEL: func.func @channels_first
// CHECK: graph.reduce sum, %{{.*}} axes [2] : <[n, 32, "h*w*10"], f32>
func.func @channels_first(%x: !x) -> !x {
  %0 = graph.reshape %x : !x to !g
  %1 = graph.reduce sum, %0 axes [2] : !g
  %2 = graph.reshape %1 : !s to !k
  %3 = graph.broadcast %2 : !k to !g
  %4 = graph.sub %0, %3 : !g
  %5 = graph.reshape %4 : !g to !x
  return %5 : !x
}
