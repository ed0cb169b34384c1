// RUN: kpc-opt %s --sink-scales --canonicalize | FileCheck %s
// RUN: kpc-opt %s --sink-scales=int8=false --canonicalize | FileCheck %s --check-prefix=NONE

!a = !graph.tensor<[32, 64], ui8>
!x = !graph.tensor<[32, 64], f32>
!i = !graph.tensor<[32, 64], i32>
!b = !graph.tensor<[64, 24], i8>
!w = !graph.tensor<[64, 24], f32>
!y = !graph.tensor<[32, 24], f32>

// A zero point of A times the sums of B's columns is taken off the sum; what is left is scaled.
// CHECK-LABEL: @asymmetric(
// CHECK-SAME: %[[A:[^:]*]]: !graph.tensor<[32, 64], ui8>, %[[B:[^:]*]]: !graph.tensor<[64, 24], i8>, %[[S:[^:]*]]: !graph.tensor<[24], f32>
// CHECK: %[[P:.*]] = graph.matmul %[[A]], %[[B]] : <[32, 64], ui8>, <[64, 24], i8>
// CHECK: %[[WB:.*]] = graph.cast %[[B]] to i32
// CHECK: graph.reduce sum, %[[WB]] axes [0]
// CHECK: %[[Q:.*]] = graph.sub %[[P]], %{{.*}} : <[32, 24], i32>
// CHECK: %[[F:.*]] = graph.cast %[[Q]] to f32
// CHECK: %[[Y:.*]] = graph.mul %[[F]], %{{.*}} : <[32, 24], f32>
// CHECK-NEXT: return %[[Y]]
// NONE-LABEL: @asymmetric(
// NONE: graph.matmul %{{.*}}, %{{.*}} : <[32, 64], f32>, <[64, 24], f32>
func.func @asymmetric(%a: !a, %b: !b, %s: !graph.tensor<[24], f32>) -> !y {
  %wide = graph.cast %a to i32 : !a
  %zero = graph.constant dense<121> : tensor<32x64xi32>
  %less = graph.sub %wide, %zero : !i
  %real = graph.cast %less to f32 : !i
  %scale = graph.constant dense<2.5e-01> : tensor<32x64xf32>
  %x = graph.mul %real, %scale : !x
  %codes = graph.cast %b to f32 : !b
  %each = graph.broadcast %s : !graph.tensor<[24], f32> to !w
  %w = graph.mul %codes, %each : !w
  %y = graph.matmul %x, %w : !x, !w
  return %y : !y
}

// Of codes without a sign 128 is taken off where they are made; the sums of A's rows are for other zero points.
// CHECK-LABEL: @integers(
// CHECK: %[[V:.*]] = graph.cast %{{.*}} to i8 : <[64, 24], i32>
// CHECK: %[[P:.*]] = graph.matmul %{{.*}}, %[[V]] : <[32, 64], ui8>, <[64, 24], i8>
// CHECK: return %[[P]]
// CHECK-LABEL: @columns(
// CHECK: %[[P:.*]] = graph.matmul %{{.*}}, %{{.*}} : <[32, 64], ui8>, <[64, 24], ui8>
// CHECK: %[[WA:.*]] = graph.cast %{{.*}} to i32 : <[32, 64], ui8>
// CHECK: graph.reduce sum, %[[WA]] axes [1]
// CHECK: %[[Y:.*]] = graph.sub %[[P]], %{{.*}} : <[32, 24], i32>
// CHECK: return %[[Y]]
func.func @integers(%a: !a, %b: !graph.tensor<[64, 24], ui8>) -> !graph.tensor<[32, 24], i32> {
  %x = graph.cast %a to i32 : !a
  %wide = graph.cast %b to i32 : !graph.tensor<[64, 24], ui8>
  %zero = graph.constant dense<128> : tensor<64x24xi32>
  %w = graph.sub %wide, %zero : !graph.tensor<[64, 24], i32>
  %y = graph.matmul %x, %w : !i, !graph.tensor<[64, 24], i32>
  return %y : !graph.tensor<[32, 24], i32>
}
func.func @columns(%a: !a, %b: !graph.tensor<[64, 24], ui8>, %z: !graph.tensor<[24], ui8>) -> !graph.tensor<[32, 24], i32> {
  %x = graph.cast %a to i32 : !a
  %wide = graph.cast %b to i32 : !graph.tensor<[64, 24], ui8>
  %zeros = graph.cast %z to i32 : !graph.tensor<[24], ui8>
  %zero = graph.broadcast %zeros : !graph.tensor<[24], i32> to !graph.tensor<[64, 24], i32>
  %w = graph.sub %wide, %zero : !graph.tensor<[64, 24], i32>
  %y = graph.matmul %x, %w : !i, !graph.tensor<[64, 24], i32>
  return %y : !graph.tensor<[32, 24], i32>
}

// graph.dequantise of a weight, a scale and a zero point for each column.
// CHECK-LABEL: @weights(
// CHECK: graph.matmul %{{.*}}, %{{.*}} : <[32, 64], ui8>, <[64, 24], i8>
func.func @weights(%a: !a, %s: !graph.tensor<[1, 24], f32>, %z: !graph.tensor<[1, 24], i8>) -> !y {
  %b = graph.weight "model#w" [] : <[64, 24], i8>
  %x = graph.cast %a to f32 : !a
  %w = graph.dequantise %b scales %s zeros %z blocks [64, 1] : !b, !graph.tensor<[1, 24], f32>, !graph.tensor<[1, 24], i8> to !w
  %y = graph.matmul %x, %w : !x, !w
  return %y : !y
}

// Scales along K, sums that 32 bits may not hold, and few rows stay; so do FP8 beside integers.
// CHECK-LABEL: @refused(
// CHECK: graph.matmul %{{.*}}, %{{.*}} : <[32, 64], f32>, <[64, 24], f32>
// CHECK: graph.matmul %{{.*}}, %{{.*}} : <[32, 40000], f32>, <[40000, 24], f32>
// CHECK: graph.matmul %{{.*}}, %{{.*}} : <[16, 64], f32>, <[64, 24], f32>
// CHECK: graph.matmul %{{.*}}, %{{.*}} : <[32, 64], f32>, <[64, 24], f32>
func.func @refused(%a: !a, %s: !graph.tensor<[64, 1], f32>, %c: !graph.tensor<[32, 40000], i8>, %d: !graph.tensor<[40000, 24], i8>,
                   %e: !graph.tensor<[16, 64], i8>, %b: !b, %f: !graph.tensor<[64, 24], f8E4M3FN>)
    -> (!y, !y, !graph.tensor<[16, 24], f32>, !y) {
  %x = graph.cast %a to f32 : !a
  %wide = graph.cast %b to f32 : !b
  %each = graph.broadcast %s : !graph.tensor<[64, 1], f32> to !w
  %w = graph.mul %wide, %each : !w
  %y = graph.matmul %x, %w : !x, !w
  %u = graph.cast %c to f32 : !graph.tensor<[32, 40000], i8>
  %v = graph.cast %d to f32 : !graph.tensor<[40000, 24], i8>
  %long = graph.matmul %u, %v : !graph.tensor<[32, 40000], f32>, !graph.tensor<[40000, 24], f32>
  %few = graph.cast %e to f32 : !graph.tensor<[16, 64], i8>
  %z = graph.matmul %few, %wide : !graph.tensor<[16, 64], f32>, !w
  %other = graph.cast %f to f32 : !graph.tensor<[64, 24], f8E4M3FN>
  %mixed = graph.matmul %x, %other : !x, !w
  return %y, %long, %z, %mixed : !y, !y, !graph.tensor<[16, 24], f32>, !y
}

// A convolution: what surrounds the image is the zero point, written around the codes unless they can do without.
// CHECK-LABEL: @filters(
// CHECK: %[[PAD:.*]] = graph.pad %{{.*}}, %{{.*}} low [0, 1, 1, 0] high [0, 1, 1, 0]
// CHECK: graph.conv %[[PAD]], %{{.*}} stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : <[1, 10, 10, 16], ui8>, <[3, 3, 16, 24], i8>
// CHECK: %[[SIGNED:.*]] = graph.cast %{{.*}} to i8 : <[1, 8, 8, 16], i32>
// CHECK: graph.conv %[[SIGNED]], %{{.*}} stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 1 : <[1, 8, 8, 16], i8>, <[3, 3, 16, 24], i8>
func.func @filters(%a: !graph.tensor<[1, 8, 8, 16], ui8>, %b: !graph.tensor<[3, 3, 16, 24], i8>)
    -> (!graph.tensor<[1, 8, 8, 24], i32>, !graph.tensor<[1, 8, 8, 24], i32>) {
  %wide = graph.cast %a to i32 : !graph.tensor<[1, 8, 8, 16], ui8>
  %w = graph.cast %b to i32 : !graph.tensor<[3, 3, 16, 24], i8>
  %seven = graph.constant dense<7> : tensor<1x8x8x16xi32>
  %x = graph.sub %wide, %seven : !graph.tensor<[1, 8, 8, 16], i32>
  %y = graph.conv %x, %w stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 1 : !graph.tensor<[1, 8, 8, 16], i32>, !graph.tensor<[3, 3, 16, 24], i32>
  %middle = graph.constant dense<128> : tensor<1x8x8x16xi32>
  %u = graph.sub %wide, %middle : !graph.tensor<[1, 8, 8, 16], i32>
  %z = graph.conv %u, %w stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 1 : !graph.tensor<[1, 8, 8, 16], i32>, !graph.tensor<[3, 3, 16, 24], i32>
  return %y, %z : !graph.tensor<[1, 8, 8, 24], i32>, !graph.tensor<[1, 8, 8, 24], i32>
}

// A depthwise convolution of integers is one of floats, which hold its sums.
// CHECK-LABEL: @depthwise(
// CHECK: graph.conv %{{.*}}, %{{.*}} stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 16 : <[1, 8, 8, 16], f32>, <[3, 3, 1, 16], f32>
// CHECK: graph.cast %{{.*}} to i32
func.func @depthwise(%a: !graph.tensor<[1, 8, 8, 16], ui8>, %b: !graph.tensor<[3, 3, 1, 16], i8>) -> !graph.tensor<[1, 8, 8, 16], i32> {
  %x = graph.cast %a to i32 : !graph.tensor<[1, 8, 8, 16], ui8>
  %w = graph.cast %b to i32 : !graph.tensor<[3, 3, 1, 16], i8>
  %y = graph.conv %x, %w stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 16 : !graph.tensor<[1, 8, 8, 16], i32>, !graph.tensor<[3, 3, 1, 16], i32>
  return %y : !graph.tensor<[1, 8, 8, 16], i32>
}

// Zero points of a filter take off sums of windows: what surrounds the image counts for nothing there.
// CHECK-LABEL: @filter_zeros(
// CHECK: %[[P:.*]] = graph.conv %{{.*}}, %{{.*}} stride [2, 2] dilation [1, 1] low [1, 1] high [1, 1] groups 1 : <[1, 8, 8, 16], i8>, <[3, 3, 16, 24], ui8>
// CHECK: graph.reduce sum, %{{.*}} axes [3] : <[1, 8, 8, 16], i32>
// CHECK: graph.window sum, %{{.*}} window [1, 3, 3, 1] stride [1, 2, 2, 1] dilation [1, 1, 1, 1] low [0, 1, 1, 0] high [0, 1, 1, 0] : <[1, 8, 8, 1], i32>
// CHECK: graph.sub %[[P]], %{{.*}} : <[1, 4, 4, 24], i32>
func.func @filter_zeros(%a: !graph.tensor<[1, 8, 8, 16], i8>, %b: !graph.tensor<[3, 3, 16, 24], ui8>, %z: !graph.tensor<[24], ui8>) -> !graph.tensor<[1, 4, 4, 24], i32> {
  %x = graph.cast %a to i32 : !graph.tensor<[1, 8, 8, 16], i8>
  %wide = graph.cast %b to i32 : !graph.tensor<[3, 3, 16, 24], ui8>
  %each = graph.cast %z to i32 : !graph.tensor<[24], ui8>
  %zeros = graph.broadcast %each : !graph.tensor<[24], i32> to !graph.tensor<[3, 3, 16, 24], i32>
  %w = graph.sub %wide, %zeros : !graph.tensor<[3, 3, 16, 24], i32>
  %y = graph.conv %x, %w stride [2, 2] dilation [1, 1] low [1, 1] high [1, 1] groups 1 : !graph.tensor<[1, 8, 8, 16], i32>, !graph.tensor<[3, 3, 16, 24], i32>
  return %y : !graph.tensor<[1, 4, 4, 24], i32>
}

// A zero point that codes cannot hold is none: it could not surround an image, and differences would not fit in 9 bits.
// CHECK-LABEL: @beyond_codes(
// CHECK: graph.matmul %{{.*}}, %{{.*}} : <[32, 64], f32>, <[64, 24], f32>
// CHECK-LABEL: @any_zero(
// CHECK: graph.matmul %{{.*}}, %{{.*}} : <[32, 64], i32>, <[64, 24], i32>
func.func @beyond_codes(%a: !a, %b: !b) -> !y {
  %wide = graph.cast %a to f32 : !a
  %zero = graph.constant dense<-5.0> : tensor<32x64xf32>
  %x = graph.sub %wide, %zero : !x
  %w = graph.cast %b to f32 : !b
  %y = graph.matmul %x, %w : !x, !w
  return %y : !y
}
func.func @any_zero(%a: !a, %b: !b, %z: !graph.tensor<[], i32>) -> !graph.tensor<[32, 24], i32> {
  %wide = graph.cast %a to i32 : !a
  %zero = graph.broadcast %z : !graph.tensor<[], i32> to !i
  %x = graph.sub %wide, %zero : !i
  %w = graph.cast %b to i32 : !b
  %y = graph.matmul %x, %w : !i, !graph.tensor<[64, 24], i32>
  return %y : !graph.tensor<[32, 24], i32>
}
