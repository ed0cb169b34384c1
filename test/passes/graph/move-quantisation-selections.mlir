// RUN: kpc-opt %s --move-quantisation | FileCheck %s

// Ops that select the greatest or the least, and what leads to GEMMs and convolutions.

// CHECK-LABEL: @pool(
// CHECK-NEXT: %[[Y:.*]] = graph.window max, %arg0 window [1, 3, 3] {{.*}} : <[2, 8, 6], ui8>
// CHECK-NEXT: return %[[Y]]
func.func @pool(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 8, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.constant dense<10> : tensor<i32>
  %3 = graph.broadcast %2 : !graph.tensor<[], i32> to !graph.tensor<[2, 8, 6], i32>
  %4 = graph.sub %1, %3 : !graph.tensor<[2, 8, 6], i32>
  %5 = graph.cast %4 to f32 : !graph.tensor<[2, 8, 6], i32>
  %6 = graph.constant dense<2.5e-01> : tensor<f32>
  %7 = graph.broadcast %6 : !graph.tensor<[], f32> to !graph.tensor<[2, 8, 6], f32>
  %8 = graph.mul %5, %7 : !graph.tensor<[2, 8, 6], f32>
  %9 = graph.window max, %8 window [1, 3, 3] stride [1, 1, 1] dilation [1, 1, 1] low [0, 1, 1] high [0, 1, 1] : !graph.tensor<[2, 8, 6], f32>
  %10 = graph.constant dense<2.5e-01> : tensor<f32>
  %11 = graph.broadcast %10 : !graph.tensor<[], f32> to !graph.tensor<[2, 8, 6], f32>
  %12 = graph.div %9, %11 : !graph.tensor<[2, 8, 6], f32>
  %13 = graph.round %12 : !graph.tensor<[2, 8, 6], f32>
  %14 = graph.constant dense<10.0> : tensor<f32>
  %15 = graph.broadcast %14 : !graph.tensor<[], f32> to !graph.tensor<[2, 8, 6], f32>
  %16 = graph.add %13, %15 : !graph.tensor<[2, 8, 6], f32>
  %17 = graph.constant dense<0.0> : tensor<f32>
  %18 = graph.broadcast %17 : !graph.tensor<[], f32> to !graph.tensor<[2, 8, 6], f32>
  %19 = graph.max %16, %18 : !graph.tensor<[2, 8, 6], f32>
  %20 = graph.constant dense<255.0> : tensor<f32>
  %21 = graph.broadcast %20 : !graph.tensor<[], f32> to !graph.tensor<[2, 8, 6], f32>
  %22 = graph.min %19, %21 : !graph.tensor<[2, 8, 6], f32>
  %23 = graph.cast %22 to ui8 : !graph.tensor<[2, 8, 6], f32>
  return %23 : !graph.tensor<[2, 8, 6], ui8>
}

// A window without elements is minus infinity, which is no code.
// CHECK-LABEL: @pool_of_pads(
// CHECK: graph.window max{{.*}}f32>
// CHECK: graph.div
func.func @pool_of_pads(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 12, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.constant dense<10> : tensor<i32>
  %3 = graph.broadcast %2 : !graph.tensor<[], i32> to !graph.tensor<[2, 8, 6], i32>
  %4 = graph.sub %1, %3 : !graph.tensor<[2, 8, 6], i32>
  %5 = graph.cast %4 to f32 : !graph.tensor<[2, 8, 6], i32>
  %6 = graph.constant dense<2.5e-01> : tensor<f32>
  %7 = graph.broadcast %6 : !graph.tensor<[], f32> to !graph.tensor<[2, 8, 6], f32>
  %8 = graph.mul %5, %7 : !graph.tensor<[2, 8, 6], f32>
  %9 = graph.window max, %8 window [1, 3, 3] stride [1, 1, 1] dilation [1, 1, 1] low [0, 3, 1] high [0, 3, 1] : !graph.tensor<[2, 8, 6], f32>
  %10 = graph.constant dense<2.5e-01> : tensor<f32>
  %11 = graph.broadcast %10 : !graph.tensor<[], f32> to !graph.tensor<[2, 12, 6], f32>
  %12 = graph.div %9, %11 : !graph.tensor<[2, 12, 6], f32>
  %13 = graph.round %12 : !graph.tensor<[2, 12, 6], f32>
  %14 = graph.constant dense<10.0> : tensor<f32>
  %15 = graph.broadcast %14 : !graph.tensor<[], f32> to !graph.tensor<[2, 12, 6], f32>
  %16 = graph.add %13, %15 : !graph.tensor<[2, 12, 6], f32>
  %17 = graph.constant dense<0.0> : tensor<f32>
  %18 = graph.broadcast %17 : !graph.tensor<[], f32> to !graph.tensor<[2, 12, 6], f32>
  %19 = graph.max %16, %18 : !graph.tensor<[2, 12, 6], f32>
  %20 = graph.constant dense<255.0> : tensor<f32>
  %21 = graph.broadcast %20 : !graph.tensor<[], f32> to !graph.tensor<[2, 12, 6], f32>
  %22 = graph.min %19, %21 : !graph.tensor<[2, 12, 6], f32>
  %23 = graph.cast %22 to ui8 : !graph.tensor<[2, 12, 6], f32>
  return %23 : !graph.tensor<[2, 12, 6], ui8>
}

// CHECK-LABEL: @pool_dilated(
// CHECK: graph.window max{{.*}}f32>
// CHECK: graph.div
func.func @pool_dilated(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 8, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.constant dense<10> : tensor<2x8x6xi32>
  %3 = graph.sub %1, %2 : !graph.tensor<[2, 8, 6], i32>
  %4 = graph.cast %3 to f32 : !graph.tensor<[2, 8, 6], i32>
  %5 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %6 = graph.mul %4, %5 : !graph.tensor<[2, 8, 6], f32>
  %7 = graph.window max, %6 window [1, 3, 3] stride [1, 1, 1] dilation [1, 2, 1] low [0, 2, 1] high [0, 2, 1] : !graph.tensor<[2, 8, 6], f32>
  %8 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %9 = graph.div %7, %8 : !graph.tensor<[2, 8, 6], f32>
  %10 = graph.round %9 : !graph.tensor<[2, 8, 6], f32>
  %11 = graph.constant dense<10.0> : tensor<2x8x6xf32>
  %12 = graph.add %10, %11 : !graph.tensor<[2, 8, 6], f32>
  %13 = graph.constant dense<0.0> : tensor<2x8x6xf32>
  %14 = graph.max %12, %13 : !graph.tensor<[2, 8, 6], f32>
  %15 = graph.constant dense<255.0> : tensor<2x8x6xf32>
  %16 = graph.min %14, %15 : !graph.tensor<[2, 8, 6], f32>
  %17 = graph.cast %16 to ui8 : !graph.tensor<[2, 8, 6], f32>
  return %17 : !graph.tensor<[2, 8, 6], ui8>
}

// Sums are of numbers.
// CHECK-LABEL: @pool_sum(
// CHECK: graph.window sum{{.*}}f32>
// CHECK: graph.div
func.func @pool_sum(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 8, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.constant dense<10> : tensor<2x8x6xi32>
  %3 = graph.sub %1, %2 : !graph.tensor<[2, 8, 6], i32>
  %4 = graph.cast %3 to f32 : !graph.tensor<[2, 8, 6], i32>
  %5 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %6 = graph.mul %4, %5 : !graph.tensor<[2, 8, 6], f32>
  %7 = graph.window sum, %6 window [1, 3, 3] stride [1, 1, 1] dilation [1, 1, 1] low [0, 1, 1] high [0, 1, 1] : !graph.tensor<[2, 8, 6], f32>
  %8 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %9 = graph.div %7, %8 : !graph.tensor<[2, 8, 6], f32>
  %10 = graph.round %9 : !graph.tensor<[2, 8, 6], f32>
  %11 = graph.constant dense<10.0> : tensor<2x8x6xf32>
  %12 = graph.add %10, %11 : !graph.tensor<[2, 8, 6], f32>
  %13 = graph.constant dense<0.0> : tensor<2x8x6xf32>
  %14 = graph.max %12, %13 : !graph.tensor<[2, 8, 6], f32>
  %15 = graph.constant dense<255.0> : tensor<2x8x6xf32>
  %16 = graph.min %14, %15 : !graph.tensor<[2, 8, 6], f32>
  %17 = graph.cast %16 to ui8 : !graph.tensor<[2, 8, 6], f32>
  return %17 : !graph.tensor<[2, 8, 6], ui8>
}

// CHECK-LABEL: @reduce(
// CHECK-NEXT: %[[Y:.*]] = graph.reduce min, %arg0 axes [1] : <[2, 8, 6], ui8>
// CHECK-NEXT: return %[[Y]]
func.func @reduce(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.constant dense<10> : tensor<2x8x6xi32>
  %3 = graph.sub %1, %2 : !graph.tensor<[2, 8, 6], i32>
  %4 = graph.cast %3 to f32 : !graph.tensor<[2, 8, 6], i32>
  %5 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %6 = graph.mul %4, %5 : !graph.tensor<[2, 8, 6], f32>
  %7 = graph.reduce min, %6 axes [1] : !graph.tensor<[2, 8, 6], f32>
  %8 = graph.constant dense<2.5e-01> : tensor<2x6xf32>
  %9 = graph.div %7, %8 : !graph.tensor<[2, 6], f32>
  %10 = graph.round %9 : !graph.tensor<[2, 6], f32>
  %11 = graph.constant dense<10.0> : tensor<2x6xf32>
  %12 = graph.add %10, %11 : !graph.tensor<[2, 6], f32>
  %13 = graph.constant dense<0.0> : tensor<2x6xf32>
  %14 = graph.max %12, %13 : !graph.tensor<[2, 6], f32>
  %15 = graph.constant dense<255.0> : tensor<2x6xf32>
  %16 = graph.min %14, %15 : !graph.tensor<[2, 6], f32>
  %17 = graph.cast %16 to ui8 : !graph.tensor<[2, 6], f32>
  return %17 : !graph.tensor<[2, 6], ui8>
}

// CHECK-LABEL: @reduce_nothing(
// CHECK: graph.reduce min{{.*}}f32>
// CHECK: graph.div
func.func @reduce_nothing(%c: !graph.tensor<[2, 0, 6], ui8>) -> !graph.tensor<[2, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 0, 6], ui8>
  %2 = graph.constant dense<10> : tensor<2x0x6xi32>
  %3 = graph.sub %1, %2 : !graph.tensor<[2, 0, 6], i32>
  %4 = graph.cast %3 to f32 : !graph.tensor<[2, 0, 6], i32>
  %5 = graph.constant dense<2.5e-01> : tensor<2x0x6xf32>
  %6 = graph.mul %4, %5 : !graph.tensor<[2, 0, 6], f32>
  %7 = graph.reduce min, %6 axes [1] : !graph.tensor<[2, 0, 6], f32>
  %8 = graph.constant dense<2.5e-01> : tensor<2x6xf32>
  %9 = graph.div %7, %8 : !graph.tensor<[2, 6], f32>
  %10 = graph.round %9 : !graph.tensor<[2, 6], f32>
  %11 = graph.constant dense<10.0> : tensor<2x6xf32>
  %12 = graph.add %10, %11 : !graph.tensor<[2, 6], f32>
  %13 = graph.constant dense<0.0> : tensor<2x6xf32>
  %14 = graph.max %12, %13 : !graph.tensor<[2, 6], f32>
  %15 = graph.constant dense<255.0> : tensor<2x6xf32>
  %16 = graph.min %14, %15 : !graph.tensor<[2, 6], f32>
  %17 = graph.cast %16 to ui8 : !graph.tensor<[2, 6], f32>
  return %17 : !graph.tensor<[2, 6], ui8>
}

// CHECK-LABEL: @max(
// CHECK-NEXT: %[[Y:.*]] = graph.max %arg0, %arg1 : <[2, 8, 6], ui8>
// CHECK-NEXT: return %[[Y]]
func.func @max(%c: !graph.tensor<[2, 8, 6], ui8>, %d: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 8, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.constant dense<10> : tensor<2x8x6xi32>
  %3 = graph.sub %1, %2 : !graph.tensor<[2, 8, 6], i32>
  %4 = graph.cast %3 to f32 : !graph.tensor<[2, 8, 6], i32>
  %5 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %6 = graph.mul %4, %5 : !graph.tensor<[2, 8, 6], f32>
  %7 = graph.cast %d to i32 : !graph.tensor<[2, 8, 6], ui8>
  %8 = graph.constant dense<10> : tensor<2x8x6xi32>
  %9 = graph.sub %7, %8 : !graph.tensor<[2, 8, 6], i32>
  %10 = graph.cast %9 to f32 : !graph.tensor<[2, 8, 6], i32>
  %11 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %12 = graph.mul %10, %11 : !graph.tensor<[2, 8, 6], f32>
  %13 = graph.max %6, %12 : !graph.tensor<[2, 8, 6], f32>
  %14 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %15 = graph.div %13, %14 : !graph.tensor<[2, 8, 6], f32>
  %16 = graph.round %15 : !graph.tensor<[2, 8, 6], f32>
  %17 = graph.constant dense<10.0> : tensor<2x8x6xf32>
  %18 = graph.add %16, %17 : !graph.tensor<[2, 8, 6], f32>
  %19 = graph.constant dense<0.0> : tensor<2x8x6xf32>
  %20 = graph.max %18, %19 : !graph.tensor<[2, 8, 6], f32>
  %21 = graph.constant dense<255.0> : tensor<2x8x6xf32>
  %22 = graph.min %20, %21 : !graph.tensor<[2, 8, 6], f32>
  %23 = graph.cast %22 to ui8 : !graph.tensor<[2, 8, 6], f32>
  return %23 : !graph.tensor<[2, 8, 6], ui8>
}

// CHECK-LABEL: @relu(
// CHECK-NEXT: %[[ZERO:.*]] = graph.constant dense<10> : tensor<ui8>
// CHECK-NEXT: %[[ZEROS:.*]] = graph.broadcast %[[ZERO]]
// CHECK-NEXT: %[[Y:.*]] = graph.max %arg0, %[[ZEROS]] : <[2, 8, 6], ui8>
// CHECK-NEXT: return %[[Y]]
func.func @relu(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 8, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.constant dense<10> : tensor<2x8x6xi32>
  %3 = graph.sub %1, %2 : !graph.tensor<[2, 8, 6], i32>
  %4 = graph.cast %3 to f32 : !graph.tensor<[2, 8, 6], i32>
  %5 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %6 = graph.mul %4, %5 : !graph.tensor<[2, 8, 6], f32>
  %7 = graph.relu %6 : !graph.tensor<[2, 8, 6], f32>
  %8 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %9 = graph.div %7, %8 : !graph.tensor<[2, 8, 6], f32>
  %10 = graph.round %9 : !graph.tensor<[2, 8, 6], f32>
  %11 = graph.constant dense<10.0> : tensor<2x8x6xf32>
  %12 = graph.add %10, %11 : !graph.tensor<[2, 8, 6], f32>
  %13 = graph.constant dense<0.0> : tensor<2x8x6xf32>
  %14 = graph.max %12, %13 : !graph.tensor<[2, 8, 6], f32>
  %15 = graph.constant dense<255.0> : tensor<2x8x6xf32>
  %16 = graph.min %14, %15 : !graph.tensor<[2, 8, 6], f32>
  %17 = graph.cast %16 to ui8 : !graph.tensor<[2, 8, 6], f32>
  return %17 : !graph.tensor<[2, 8, 6], ui8>
}

// No code is below zero.
// CHECK-LABEL: @relu_of_all(
// CHECK-NEXT: return %arg0
func.func @relu_of_all(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 8, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.cast %1 to f32 : !graph.tensor<[2, 8, 6], i32>
  %3 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %4 = graph.mul %2, %3 : !graph.tensor<[2, 8, 6], f32>
  %5 = graph.relu %4 : !graph.tensor<[2, 8, 6], f32>
  %6 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %7 = graph.div %5, %6 : !graph.tensor<[2, 8, 6], f32>
  %8 = graph.round %7 : !graph.tensor<[2, 8, 6], f32>
  %9 = graph.constant dense<0.0> : tensor<2x8x6xf32>
  %10 = graph.max %8, %9 : !graph.tensor<[2, 8, 6], f32>
  %11 = graph.constant dense<255.0> : tensor<2x8x6xf32>
  %12 = graph.min %10, %11 : !graph.tensor<[2, 8, 6], f32>
  %13 = graph.cast %12 to ui8 : !graph.tensor<[2, 8, 6], f32>
  return %13 : !graph.tensor<[2, 8, 6], ui8>
}

// The number 6 is the code 34, all codes are below 100, and 6.1 lies between two.
// CHECK-LABEL: @clip(
// CHECK-NEXT: %[[SIX:.*]] = graph.constant dense<34> : tensor<ui8>
// CHECK-NEXT: %[[SIXES:.*]] = graph.broadcast %[[SIX]]
// CHECK-NEXT: %[[Y:.*]] = graph.min %arg0, %[[SIXES]] : <[2, 8, 6], ui8>
// CHECK-NEXT: return %[[Y]]
func.func @clip(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 8, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.constant dense<10> : tensor<2x8x6xi32>
  %3 = graph.sub %1, %2 : !graph.tensor<[2, 8, 6], i32>
  %4 = graph.cast %3 to f32 : !graph.tensor<[2, 8, 6], i32>
  %5 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %6 = graph.mul %4, %5 : !graph.tensor<[2, 8, 6], f32>
  %7 = graph.constant dense<6.0> : tensor<2x8x6xf32>
  %8 = graph.min %6, %7 : !graph.tensor<[2, 8, 6], f32>
  %9 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %10 = graph.div %8, %9 : !graph.tensor<[2, 8, 6], f32>
  %11 = graph.round %10 : !graph.tensor<[2, 8, 6], f32>
  %12 = graph.constant dense<10.0> : tensor<2x8x6xf32>
  %13 = graph.add %11, %12 : !graph.tensor<[2, 8, 6], f32>
  %14 = graph.constant dense<0.0> : tensor<2x8x6xf32>
  %15 = graph.max %13, %14 : !graph.tensor<[2, 8, 6], f32>
  %16 = graph.constant dense<255.0> : tensor<2x8x6xf32>
  %17 = graph.min %15, %16 : !graph.tensor<[2, 8, 6], f32>
  %18 = graph.cast %17 to ui8 : !graph.tensor<[2, 8, 6], f32>
  return %18 : !graph.tensor<[2, 8, 6], ui8>
}

// CHECK-LABEL: @clip_of_all(
// CHECK-NEXT: return %arg0
func.func @clip_of_all(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 8, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.constant dense<10> : tensor<2x8x6xi32>
  %3 = graph.sub %1, %2 : !graph.tensor<[2, 8, 6], i32>
  %4 = graph.cast %3 to f32 : !graph.tensor<[2, 8, 6], i32>
  %5 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %6 = graph.mul %4, %5 : !graph.tensor<[2, 8, 6], f32>
  %7 = graph.constant dense<100.0> : tensor<2x8x6xf32>
  %8 = graph.min %6, %7 : !graph.tensor<[2, 8, 6], f32>
  %9 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %10 = graph.div %8, %9 : !graph.tensor<[2, 8, 6], f32>
  %11 = graph.round %10 : !graph.tensor<[2, 8, 6], f32>
  %12 = graph.constant dense<10.0> : tensor<2x8x6xf32>
  %13 = graph.add %11, %12 : !graph.tensor<[2, 8, 6], f32>
  %14 = graph.constant dense<0.0> : tensor<2x8x6xf32>
  %15 = graph.max %13, %14 : !graph.tensor<[2, 8, 6], f32>
  %16 = graph.constant dense<255.0> : tensor<2x8x6xf32>
  %17 = graph.min %15, %16 : !graph.tensor<[2, 8, 6], f32>
  %18 = graph.cast %17 to ui8 : !graph.tensor<[2, 8, 6], f32>
  return %18 : !graph.tensor<[2, 8, 6], ui8>
}

// CHECK-LABEL: @clip_between(
// CHECK: graph.min {{.*}}f32>
// CHECK: graph.div
func.func @clip_between(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 8, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.constant dense<10> : tensor<2x8x6xi32>
  %3 = graph.sub %1, %2 : !graph.tensor<[2, 8, 6], i32>
  %4 = graph.cast %3 to f32 : !graph.tensor<[2, 8, 6], i32>
  %5 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %6 = graph.mul %4, %5 : !graph.tensor<[2, 8, 6], f32>
  %7 = graph.constant dense<6.1> : tensor<2x8x6xf32>
  %8 = graph.min %6, %7 : !graph.tensor<[2, 8, 6], f32>
  %9 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %10 = graph.div %8, %9 : !graph.tensor<[2, 8, 6], f32>
  %11 = graph.round %10 : !graph.tensor<[2, 8, 6], f32>
  %12 = graph.constant dense<10.0> : tensor<2x8x6xf32>
  %13 = graph.add %11, %12 : !graph.tensor<[2, 8, 6], f32>
  %14 = graph.constant dense<0.0> : tensor<2x8x6xf32>
  %15 = graph.max %13, %14 : !graph.tensor<[2, 8, 6], f32>
  %16 = graph.constant dense<255.0> : tensor<2x8x6xf32>
  %17 = graph.min %15, %16 : !graph.tensor<[2, 8, 6], f32>
  %18 = graph.cast %17 to ui8 : !graph.tensor<[2, 8, 6], f32>
  return %18 : !graph.tensor<[2, 8, 6], ui8>
}

// Several in a row, and one that is read as numbers as well: it is dequantised after it.

// CHECK-LABEL: @chain(
// CHECK-NEXT: %[[POOL:.*]] = graph.window max, %arg0 {{.*}}ui8>
// CHECK-NEXT: %[[WIDE:.*]] = graph.cast %[[POOL]] to i32
// CHECK: %[[NUMBERS:.*]] = graph.mul
// CHECK-NEXT: %[[Y:.*]] = graph.reshape %[[POOL]] : <[2, 8, 6], ui8> to <[2, 48], ui8>
// CHECK-NEXT: return %[[Y]], %[[NUMBERS]]
func.func @chain(%c: !graph.tensor<[2, 8, 6], ui8>) -> (!graph.tensor<[2, 48], ui8>, !graph.tensor<[2, 8, 6], f32>) {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.constant dense<10> : tensor<2x8x6xi32>
  %3 = graph.sub %1, %2 : !graph.tensor<[2, 8, 6], i32>
  %4 = graph.cast %3 to f32 : !graph.tensor<[2, 8, 6], i32>
  %5 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %6 = graph.mul %4, %5 : !graph.tensor<[2, 8, 6], f32>
  %7 = graph.window max, %6 window [1, 3, 3] stride [1, 1, 1] dilation [1, 1, 1] low [0, 1, 1] high [0, 1, 1] : !graph.tensor<[2, 8, 6], f32>
  %8 = graph.reshape %7 : !graph.tensor<[2, 8, 6], f32> to !graph.tensor<[2, 48], f32>
  %9 = graph.constant dense<2.5e-01> : tensor<2x48xf32>
  %10 = graph.div %8, %9 : !graph.tensor<[2, 48], f32>
  %11 = graph.round %10 : !graph.tensor<[2, 48], f32>
  %12 = graph.constant dense<10.0> : tensor<2x48xf32>
  %13 = graph.add %11, %12 : !graph.tensor<[2, 48], f32>
  %14 = graph.constant dense<0.0> : tensor<2x48xf32>
  %15 = graph.max %13, %14 : !graph.tensor<[2, 48], f32>
  %16 = graph.constant dense<255.0> : tensor<2x48xf32>
  %17 = graph.min %15, %16 : !graph.tensor<[2, 48], f32>
  %18 = graph.cast %17 to ui8 : !graph.tensor<[2, 48], f32>
  return %18, %7 : !graph.tensor<[2, 48], ui8>, !graph.tensor<[2, 8, 6], f32>
}

// What GEMMs with a weight and convolutions read.

// CHECK-LABEL: @gemm(
// CHECK-NEXT: %[[CODES:.*]] = graph.concat %arg0, %arg1 axis 1 {{.*}}ui8>
// CHECK-NEXT: graph.cast %[[CODES]] to i32
// CHECK: %[[A:.*]] = graph.mul
// CHECK: graph.matmul %[[A]]
func.func @gemm(%c: !graph.tensor<[4, 8], ui8>, %d: !graph.tensor<[4, 8], ui8>) -> !graph.tensor<[4, 8], f32> {
  %1 = graph.cast %c to i32 : !graph.tensor<[4, 8], ui8>
  %2 = graph.constant dense<10> : tensor<4x8xi32>
  %3 = graph.sub %1, %2 : !graph.tensor<[4, 8], i32>
  %4 = graph.cast %3 to f32 : !graph.tensor<[4, 8], i32>
  %5 = graph.constant dense<2.5e-01> : tensor<4x8xf32>
  %6 = graph.mul %4, %5 : !graph.tensor<[4, 8], f32>
  %7 = graph.cast %d to i32 : !graph.tensor<[4, 8], ui8>
  %8 = graph.constant dense<10> : tensor<4x8xi32>
  %9 = graph.sub %7, %8 : !graph.tensor<[4, 8], i32>
  %10 = graph.cast %9 to f32 : !graph.tensor<[4, 8], i32>
  %11 = graph.constant dense<2.5e-01> : tensor<4x8xf32>
  %12 = graph.mul %10, %11 : !graph.tensor<[4, 8], f32>
  %13 = graph.concat %6, %12 axis 1 : !graph.tensor<[4, 8], f32>, !graph.tensor<[4, 8], f32>
  %14 = graph.weight "m#w" [] : <[16, 8], f32>
  %15 = graph.matmul %13, %14 : !graph.tensor<[4, 16], f32>, !graph.tensor<[16, 8], f32>
  return %15 : !graph.tensor<[4, 8], f32>
}

// A GEMM finds codes through these.
// CHECK-LABEL: @gemm_of_reshape(
// CHECK: graph.reshape {{.*}}f32>
// CHECK: graph.matmul
func.func @gemm_of_reshape(%c: !graph.tensor<[4, 8], ui8>) -> !graph.tensor<[2, 8], f32> {
  %1 = graph.cast %c to i32 : !graph.tensor<[4, 8], ui8>
  %2 = graph.constant dense<10> : tensor<4x8xi32>
  %3 = graph.sub %1, %2 : !graph.tensor<[4, 8], i32>
  %4 = graph.cast %3 to f32 : !graph.tensor<[4, 8], i32>
  %5 = graph.constant dense<2.5e-01> : tensor<4x8xf32>
  %6 = graph.mul %4, %5 : !graph.tensor<[4, 8], f32>
  %7 = graph.reshape %6 : !graph.tensor<[4, 8], f32> to !graph.tensor<[2, 16], f32>
  %8 = graph.weight "m#w" [] : <[16, 8], f32>
  %9 = graph.matmul %7, %8 : !graph.tensor<[2, 16], f32>, !graph.tensor<[16, 8], f32>
  return %9 : !graph.tensor<[2, 8], f32>
}

// No weight is multiplied here.
// CHECK-LABEL: @gemm_of_two(
// CHECK: graph.slice {{.*}}f32>
// CHECK: graph.matmul
func.func @gemm_of_two(%c: !graph.tensor<[8, 16], ui8>, %b: !graph.tensor<[16, 8], f32>) -> !graph.tensor<[4, 8], f32> {
  %1 = graph.cast %c to i32 : !graph.tensor<[8, 16], ui8>
  %2 = graph.constant dense<10> : tensor<8x16xi32>
  %3 = graph.sub %1, %2 : !graph.tensor<[8, 16], i32>
  %4 = graph.cast %3 to f32 : !graph.tensor<[8, 16], i32>
  %5 = graph.constant dense<2.5e-01> : tensor<8x16xf32>
  %6 = graph.mul %4, %5 : !graph.tensor<[8, 16], f32>
  %7 = graph.slice %6 start #graph.dims<[0, 0]> step [1, 1] : !graph.tensor<[8, 16], f32> to !graph.tensor<[4, 16], f32>
  %8 = graph.matmul %7, %b : !graph.tensor<[4, 16], f32>, !graph.tensor<[16, 8], f32>
  return %8 : !graph.tensor<[4, 8], f32>
}

// CHECK-LABEL: @conv(
// CHECK-NEXT: %[[CODES:.*]] = graph.window max, %arg0 {{.*}}ui8>
// CHECK: %[[X:.*]] = graph.mul
// CHECK: graph.conv %[[X]]
func.func @conv(%c: !graph.tensor<[1, 4, 4, 16], ui8>) -> !graph.tensor<[1, 2, 2, 8], f32> {
  %1 = graph.cast %c to i32 : !graph.tensor<[1, 4, 4, 16], ui8>
  %2 = graph.constant dense<10> : tensor<1x4x4x16xi32>
  %3 = graph.sub %1, %2 : !graph.tensor<[1, 4, 4, 16], i32>
  %4 = graph.cast %3 to f32 : !graph.tensor<[1, 4, 4, 16], i32>
  %5 = graph.constant dense<2.5e-01> : tensor<1x4x4x16xf32>
  %6 = graph.mul %4, %5 : !graph.tensor<[1, 4, 4, 16], f32>
  %7 = graph.window max, %6 window [1, 2, 2, 1] stride [1, 2, 2, 1] dilation [1, 1, 1, 1] low [0, 0, 0, 0] high [0, 0, 0, 0] : !graph.tensor<[1, 4, 4, 16], f32>
  %8 = graph.weight "m#w" [] : <[1, 1, 16, 8], f32>
  %9 = graph.conv %7, %8 stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[1, 2, 2, 16], f32>, !graph.tensor<[1, 1, 16, 8], f32>
  return %9 : !graph.tensor<[1, 2, 2, 8], f32>
}

// Where nothing takes codes, numbers stay.
// CHECK-LABEL: @numbers(
// CHECK: graph.window max{{.*}}f32>
func.func @numbers(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 8, 6], f32> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.constant dense<10> : tensor<2x8x6xi32>
  %3 = graph.sub %1, %2 : !graph.tensor<[2, 8, 6], i32>
  %4 = graph.cast %3 to f32 : !graph.tensor<[2, 8, 6], i32>
  %5 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %6 = graph.mul %4, %5 : !graph.tensor<[2, 8, 6], f32>
  %7 = graph.window max, %6 window [1, 3, 3] stride [1, 1, 1] dilation [1, 1, 1] low [0, 1, 1] high [0, 1, 1] : !graph.tensor<[2, 8, 6], f32>
  return %7 : !graph.tensor<[2, 8, 6], f32>
}
