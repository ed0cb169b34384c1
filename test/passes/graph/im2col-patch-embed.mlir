// RUN: kpc-opt %s --im2col-patch-embed | FileCheck %s
// RUN: kpc-opt %s --im2col-patch-embed=narrow=true | FileCheck %s --check-prefix=NARROW
// RUN: kpc-opt %s --im2col-patch-embed='narrow=true keep=patches' | FileCheck %s --check-prefix=KEPT
// RUN: not kpc-opt %s '--im2col-patch-embed=keep=a(' 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: error: 'a(' is no regular expression

// Convolutions whose step is the filter's size are products of patches.

// As models have it: the filter becomes the matrix that is stored, transposed, and the image is read once.
// CHECK-LABEL: @vision(
// CHECK-DAG: %[[W:.*]] = graph.weight "m#w" [] : <[768, 3, 16, 16], f16>
// CHECK-DAG: %[[M:.*]] = graph.reshape %[[W]] : <[768, 3, 16, 16], f16> to <[768, 768], f16>
// CHECK-DAG: %[[T:.*]] = graph.transpose %[[M]] [1, 0] : <[768, 768], f16>
// CHECK-DAG: %[[SPLIT:.*]] = graph.reshape %arg0 : <[n, 3, 224, 224], f16> to <[n, 3, 14, 16, 14, 16], f16>
// CHECK-DAG: %[[TURN:.*]] = graph.transpose %[[SPLIT]] [0, 2, 4, 1, 3, 5] : <[n, 3, 14, 16, 14, 16], f16>
// CHECK-DAG: %[[ROWS:.*]] = graph.reshape %[[TURN]] : <[n, 14, 14, 3, 16, 16], f16> to <["n*196", 768], f16>
// CHECK: %[[Y:.*]] = graph.matmul %[[ROWS]], %[[T]]
// CHECK: graph.reshape %[[Y]] : <["n*196", 768], f16> to <[n, 14, 14, 768], f16>
func.func @vision(%x: !graph.tensor<[n, 3, 224, 224], f16>) -> !graph.tensor<[n, 14, 14, 768], f16> {
  %w = graph.weight "m#w" [] : !graph.tensor<[768, 3, 16, 16], f16>
  %0 = graph.transpose %x [0, 2, 3, 1] : !graph.tensor<[n, 3, 224, 224], f16>
  %1 = graph.transpose %w [2, 3, 1, 0] : !graph.tensor<[768, 3, 16, 16], f16>
  %2 = graph.conv %0, %1 stride [16, 16] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[n, 224, 224, 3], f16>, !graph.tensor<[16, 16, 3, 768], f16>
  return %2 : !graph.tensor<[n, 14, 14, 768], f16>
}

// Channels last, one spatial dimension.
// CHECK-LABEL: @lines(
// CHECK-DAG: %[[W:.*]] = graph.reshape %arg1 : <[4, 2, 8], bf16> to <[8, 8], bf16>
// CHECK-DAG: %[[ROWS:.*]] = graph.reshape %{{.*}} to <["n*3", 8], bf16>
// CHECK: graph.matmul %[[ROWS]], %[[W]]
func.func @lines(%x: !graph.tensor<[n, 12, 2], bf16>, %w: !graph.tensor<[4, 2, 8], bf16>) -> !graph.tensor<[n, 3, 8], bf16> {
  %0 = graph.conv %x, %w stride [4] dilation [1] low [0] high [0] groups 1 : !graph.tensor<[n, 12, 2], bf16>, !graph.tensor<[4, 2, 8], bf16>
  return %0 : !graph.tensor<[n, 3, 8], bf16>
}

// f32 only where it is stored in 16 bits.
// CHECK-LABEL: @wide(
// CHECK: graph.conv
// NARROW-LABEL: @wide(
// NARROW: graph.matmul
func.func @wide(%x: !graph.tensor<[n, 12, 2], f32>, %w: !graph.tensor<[4, 2, 8], f32>) -> !graph.tensor<[n, 3, 8], f32> {
  %0 = graph.conv %x, %w stride [4] dilation [1] low [0] high [0] groups 1 : !graph.tensor<[n, 12, 2], f32>, !graph.tensor<[4, 2, 8], f32>
  return %0 : !graph.tensor<[n, 3, 8], f32>
}

// Many channels, overlapping filters, borders, a rest and points stay convolutions.
// CHECK-LABEL: @others(
// CHECK-COUNT-5: graph.conv
// CHECK-NOT: graph.matmul
func.func @others(%x: !graph.tensor<[n, 12, 8], f16>, %w: !graph.tensor<[4, 8, 8], f16>, %a: !graph.tensor<[n, 12, 2], f16>,
                  %v: !graph.tensor<[4, 2, 8], f16>, %b: !graph.tensor<[n, 13, 2], f16>, %p: !graph.tensor<[1, 2, 8], f16>)
    -> (!graph.tensor<[n, 3, 8], f16>, !graph.tensor<[n, 5, 8], f16>, !graph.tensor<[n, 4, 8], f16>, !graph.tensor<[n, 3, 8], f16>, !graph.tensor<[n, 12, 8], f16>) {
  %0 = graph.conv %x, %w stride [4] dilation [1] low [0] high [0] groups 1 : !graph.tensor<[n, 12, 8], f16>, !graph.tensor<[4, 8, 8], f16>
  %1 = graph.conv %a, %v stride [2] dilation [1] low [0] high [0] groups 1 : !graph.tensor<[n, 12, 2], f16>, !graph.tensor<[4, 2, 8], f16>
  %2 = graph.conv %a, %v stride [4] dilation [1] low [2] high [2] groups 1 : !graph.tensor<[n, 12, 2], f16>, !graph.tensor<[4, 2, 8], f16>
  %3 = graph.conv %b, %v stride [4] dilation [1] low [0] high [0] groups 1 : !graph.tensor<[n, 13, 2], f16>, !graph.tensor<[4, 2, 8], f16>
  %4 = graph.conv %a, %p stride [1] dilation [1] low [0] high [0] groups 1 : !graph.tensor<[n, 12, 2], f16>, !graph.tensor<[1, 2, 8], f16>
  return %0, %1, %2, %3, %4 : !graph.tensor<[n, 3, 8], f16>, !graph.tensor<[n, 5, 8], f16>, !graph.tensor<[n, 4, 8], f16>, !graph.tensor<[n, 3, 8], f16>, !graph.tensor<[n, 12, 8], f16>
}

// What stays f32 by its node's name stays a convolution.
// NARROW-LABEL: @kept(
// NARROW-NOT: graph.conv
// NARROW: return
// KEPT-LABEL: @kept(
// KEPT: graph.conv
// KEPT: graph.matmul
// KEPT-NOT: graph.conv
func.func @kept(%x: !graph.tensor<[n, 12, 2], f32>, %w: !graph.tensor<[4, 2, 8], f32>) -> (!graph.tensor<[n, 3, 8], f32>, !graph.tensor<[n, 3, 8], f32>) {
  %0 = graph.conv %x, %w stride [4] dilation [1] low [0] high [0] groups 1 : !graph.tensor<[n, 12, 2], f32>, !graph.tensor<[4, 2, 8], f32> loc("patches")
  %1 = graph.conv %x, %w stride [4] dilation [1] low [0] high [0] groups 1 : !graph.tensor<[n, 12, 2], f32>, !graph.tensor<[4, 2, 8], f32> loc("others")
  return %0, %1 : !graph.tensor<[n, 3, 8], f32>, !graph.tensor<[n, 3, 8], f32>
}
