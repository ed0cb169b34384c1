// RUN: kpc-opt %s --move-quantisation | FileCheck %s
// RUN: kpc-opt %s --move-quantisation --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Ops that move elements, between codes of one scale and one zero point.

// REMARK-DAG: It works on codes of ui8 in place of f32.
// REMARK-DAG: It quantises what was dequantised with the same scale and zero point, and is left out.

// CHECK-LABEL: @reshape(
// CHECK-NEXT: %[[Y:.*]] = graph.reshape %arg0 : <[2, 8, 6], ui8> to <[16, 6], ui8>
// CHECK-NEXT: return %[[Y]]
func.func @reshape(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[16, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.constant dense<10> : tensor<i32>
  %3 = graph.broadcast %2 : !graph.tensor<[], i32> to !graph.tensor<[2, 8, 6], i32>
  %4 = graph.sub %1, %3 : !graph.tensor<[2, 8, 6], i32>
  %5 = graph.cast %4 to f32 : !graph.tensor<[2, 8, 6], i32>
  %6 = graph.constant dense<2.5e-01> : tensor<f32>
  %7 = graph.broadcast %6 : !graph.tensor<[], f32> to !graph.tensor<[2, 8, 6], f32>
  %8 = graph.mul %5, %7 : !graph.tensor<[2, 8, 6], f32>
  %9 = graph.reshape %8 : !graph.tensor<[2, 8, 6], f32> to !graph.tensor<[16, 6], f32>
  %10 = graph.constant dense<2.5e-01> : tensor<f32>
  %11 = graph.broadcast %10 : !graph.tensor<[], f32> to !graph.tensor<[16, 6], f32>
  %12 = graph.div %9, %11 : !graph.tensor<[16, 6], f32>
  %13 = graph.round %12 : !graph.tensor<[16, 6], f32>
  %14 = graph.constant dense<10.0> : tensor<f32>
  %15 = graph.broadcast %14 : !graph.tensor<[], f32> to !graph.tensor<[16, 6], f32>
  %16 = graph.add %13, %15 : !graph.tensor<[16, 6], f32>
  %17 = graph.constant dense<0.0> : tensor<f32>
  %18 = graph.broadcast %17 : !graph.tensor<[], f32> to !graph.tensor<[16, 6], f32>
  %19 = graph.max %16, %18 : !graph.tensor<[16, 6], f32>
  %20 = graph.constant dense<255.0> : tensor<f32>
  %21 = graph.broadcast %20 : !graph.tensor<[], f32> to !graph.tensor<[16, 6], f32>
  %22 = graph.min %19, %21 : !graph.tensor<[16, 6], f32>
  %23 = graph.cast %22 to ui8 : !graph.tensor<[16, 6], f32>
  return %23 : !graph.tensor<[16, 6], ui8>
}

// CHECK-LABEL: @transpose(
// CHECK-NEXT: %[[Y:.*]] = graph.transpose %arg0 [0, 2, 1] : <[2, 8, 6], ui8>
// CHECK-NEXT: return %[[Y]]
func.func @transpose(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 6, 8], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.constant dense<10> : tensor<i32>
  %3 = graph.broadcast %2 : !graph.tensor<[], i32> to !graph.tensor<[2, 8, 6], i32>
  %4 = graph.sub %1, %3 : !graph.tensor<[2, 8, 6], i32>
  %5 = graph.cast %4 to f32 : !graph.tensor<[2, 8, 6], i32>
  %6 = graph.constant dense<2.5e-01> : tensor<f32>
  %7 = graph.broadcast %6 : !graph.tensor<[], f32> to !graph.tensor<[2, 8, 6], f32>
  %8 = graph.mul %5, %7 : !graph.tensor<[2, 8, 6], f32>
  %9 = graph.transpose %8 [0, 2, 1] : !graph.tensor<[2, 8, 6], f32>
  %10 = graph.constant dense<2.5e-01> : tensor<f32>
  %11 = graph.broadcast %10 : !graph.tensor<[], f32> to !graph.tensor<[2, 6, 8], f32>
  %12 = graph.div %9, %11 : !graph.tensor<[2, 6, 8], f32>
  %13 = graph.round %12 : !graph.tensor<[2, 6, 8], f32>
  %14 = graph.constant dense<10.0> : tensor<f32>
  %15 = graph.broadcast %14 : !graph.tensor<[], f32> to !graph.tensor<[2, 6, 8], f32>
  %16 = graph.add %13, %15 : !graph.tensor<[2, 6, 8], f32>
  %17 = graph.constant dense<0.0> : tensor<f32>
  %18 = graph.broadcast %17 : !graph.tensor<[], f32> to !graph.tensor<[2, 6, 8], f32>
  %19 = graph.max %16, %18 : !graph.tensor<[2, 6, 8], f32>
  %20 = graph.constant dense<255.0> : tensor<f32>
  %21 = graph.broadcast %20 : !graph.tensor<[], f32> to !graph.tensor<[2, 6, 8], f32>
  %22 = graph.min %19, %21 : !graph.tensor<[2, 6, 8], f32>
  %23 = graph.cast %22 to ui8 : !graph.tensor<[2, 6, 8], f32>
  return %23 : !graph.tensor<[2, 6, 8], ui8>
}

// CHECK-LABEL: @slice(
// CHECK-NEXT: %[[Y:.*]] = graph.slice %arg0 start <[0, 2, 0]> step [1, 1, 1] : <[2, 8, 6], ui8> to <[2, 3, 6], ui8>
// CHECK-NEXT: return %[[Y]]
func.func @slice(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 3, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.constant dense<10> : tensor<2x8x6xi32>
  %3 = graph.sub %1, %2 : !graph.tensor<[2, 8, 6], i32>
  %4 = graph.cast %3 to f32 : !graph.tensor<[2, 8, 6], i32>
  %5 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %6 = graph.mul %4, %5 : !graph.tensor<[2, 8, 6], f32>
  %7 = graph.slice %6 start #graph.dims<[0, 2, 0]> step [1, 1, 1] : !graph.tensor<[2, 8, 6], f32> to !graph.tensor<[2, 3, 6], f32>
  %8 = graph.constant dense<2.5e-01> : tensor<2x3x6xf32>
  %9 = graph.div %7, %8 : !graph.tensor<[2, 3, 6], f32>
  %10 = graph.round %9 : !graph.tensor<[2, 3, 6], f32>
  %11 = graph.constant dense<10.0> : tensor<2x3x6xf32>
  %12 = graph.add %10, %11 : !graph.tensor<[2, 3, 6], f32>
  %13 = graph.constant dense<0.0> : tensor<2x3x6xf32>
  %14 = graph.max %12, %13 : !graph.tensor<[2, 3, 6], f32>
  %15 = graph.constant dense<255.0> : tensor<2x3x6xf32>
  %16 = graph.min %14, %15 : !graph.tensor<[2, 3, 6], f32>
  %17 = graph.cast %16 to ui8 : !graph.tensor<[2, 3, 6], f32>
  return %17 : !graph.tensor<[2, 3, 6], ui8>
}

// CHECK-LABEL: @broadcast(
// CHECK-NEXT: %[[Y:.*]] = graph.broadcast %arg0 : <[1, 6], ui8> to <[4, 6], ui8>
// CHECK-NEXT: return %[[Y]]
func.func @broadcast(%c: !graph.tensor<[1, 6], ui8>) -> !graph.tensor<[4, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[1, 6], ui8>
  %2 = graph.constant dense<10> : tensor<1x6xi32>
  %3 = graph.sub %1, %2 : !graph.tensor<[1, 6], i32>
  %4 = graph.cast %3 to f32 : !graph.tensor<[1, 6], i32>
  %5 = graph.constant dense<2.5e-01> : tensor<1x6xf32>
  %6 = graph.mul %4, %5 : !graph.tensor<[1, 6], f32>
  %7 = graph.broadcast %6 : !graph.tensor<[1, 6], f32> to !graph.tensor<[4, 6], f32>
  %8 = graph.constant dense<2.5e-01> : tensor<4x6xf32>
  %9 = graph.div %7, %8 : !graph.tensor<[4, 6], f32>
  %10 = graph.round %9 : !graph.tensor<[4, 6], f32>
  %11 = graph.constant dense<10.0> : tensor<4x6xf32>
  %12 = graph.add %10, %11 : !graph.tensor<[4, 6], f32>
  %13 = graph.constant dense<0.0> : tensor<4x6xf32>
  %14 = graph.max %12, %13 : !graph.tensor<[4, 6], f32>
  %15 = graph.constant dense<255.0> : tensor<4x6xf32>
  %16 = graph.min %14, %15 : !graph.tensor<[4, 6], f32>
  %17 = graph.cast %16 to ui8 : !graph.tensor<[4, 6], f32>
  return %17 : !graph.tensor<[4, 6], ui8>
}

// CHECK-LABEL: @gather(
// CHECK-NEXT: %[[Y:.*]] = graph.gather %arg0, %arg1 axis 1 : <[2, 8, 6], ui8>, <[5], i64>
// CHECK-NEXT: return %[[Y]]
func.func @gather(%c: !graph.tensor<[2, 8, 6], ui8>, %i: !graph.tensor<[5], i64>) -> !graph.tensor<[2, 5, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.constant dense<10> : tensor<2x8x6xi32>
  %3 = graph.sub %1, %2 : !graph.tensor<[2, 8, 6], i32>
  %4 = graph.cast %3 to f32 : !graph.tensor<[2, 8, 6], i32>
  %5 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %6 = graph.mul %4, %5 : !graph.tensor<[2, 8, 6], f32>
  %7 = graph.gather %6, %i axis 1 : !graph.tensor<[2, 8, 6], f32>, !graph.tensor<[5], i64>
  %8 = graph.constant dense<2.5e-01> : tensor<2x5x6xf32>
  %9 = graph.div %7, %8 : !graph.tensor<[2, 5, 6], f32>
  %10 = graph.round %9 : !graph.tensor<[2, 5, 6], f32>
  %11 = graph.constant dense<10.0> : tensor<2x5x6xf32>
  %12 = graph.add %10, %11 : !graph.tensor<[2, 5, 6], f32>
  %13 = graph.constant dense<0.0> : tensor<2x5x6xf32>
  %14 = graph.max %12, %13 : !graph.tensor<[2, 5, 6], f32>
  %15 = graph.constant dense<255.0> : tensor<2x5x6xf32>
  %16 = graph.min %14, %15 : !graph.tensor<[2, 5, 6], f32>
  %17 = graph.cast %16 to ui8 : !graph.tensor<[2, 5, 6], f32>
  return %17 : !graph.tensor<[2, 5, 6], ui8>
}

// CHECK-LABEL: @concat(
// CHECK-NEXT: %[[Y:.*]] = graph.concat %arg0, %arg1 axis 1 : !graph.tensor<[2, 8, 6], ui8>, !graph.tensor<[2, 8, 6], ui8>
// CHECK-NEXT: return %[[Y]]
func.func @concat(%c: !graph.tensor<[2, 8, 6], ui8>, %d: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 16, 6], ui8> {
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
  %13 = graph.concat %6, %12 axis 1 : !graph.tensor<[2, 8, 6], f32>, !graph.tensor<[2, 8, 6], f32>
  %14 = graph.constant dense<2.5e-01> : tensor<2x16x6xf32>
  %15 = graph.div %13, %14 : !graph.tensor<[2, 16, 6], f32>
  %16 = graph.round %15 : !graph.tensor<[2, 16, 6], f32>
  %17 = graph.constant dense<10.0> : tensor<2x16x6xf32>
  %18 = graph.add %16, %17 : !graph.tensor<[2, 16, 6], f32>
  %19 = graph.constant dense<0.0> : tensor<2x16x6xf32>
  %20 = graph.max %18, %19 : !graph.tensor<[2, 16, 6], f32>
  %21 = graph.constant dense<255.0> : tensor<2x16x6xf32>
  %22 = graph.min %20, %21 : !graph.tensor<[2, 16, 6], f32>
  %23 = graph.cast %22 to ui8 : !graph.tensor<[2, 16, 6], f32>
  return %23 : !graph.tensor<[2, 16, 6], ui8>
}

// Of two scales, one is that of the result: the other part is quantised by itself.
// CHECK-LABEL: @concat_of_scales(
// CHECK: graph.cast %arg1 to i32
// CHECK-COUNT-1: graph.div
// CHECK: %[[D:.*]] = graph.cast %{{.*}} to ui8
// CHECK-NEXT: %[[Y:.*]] = graph.concat %arg0, %[[D]] axis 1 : {{.*}}ui8>, {{.*}}ui8>
// CHECK-NEXT: return %[[Y]]
func.func @concat_of_scales(%c: !graph.tensor<[2, 8, 6], ui8>, %d: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 16, 6], ui8> {
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
  %11 = graph.constant dense<1.25e-01> : tensor<2x8x6xf32>
  %12 = graph.mul %10, %11 : !graph.tensor<[2, 8, 6], f32>
  %13 = graph.concat %6, %12 axis 1 : !graph.tensor<[2, 8, 6], f32>, !graph.tensor<[2, 8, 6], f32>
  %14 = graph.constant dense<2.5e-01> : tensor<2x16x6xf32>
  %15 = graph.div %13, %14 : !graph.tensor<[2, 16, 6], f32>
  %16 = graph.round %15 : !graph.tensor<[2, 16, 6], f32>
  %17 = graph.constant dense<10.0> : tensor<2x16x6xf32>
  %18 = graph.add %16, %17 : !graph.tensor<[2, 16, 6], f32>
  %19 = graph.constant dense<0.0> : tensor<2x16x6xf32>
  %20 = graph.max %18, %19 : !graph.tensor<[2, 16, 6], f32>
  %21 = graph.constant dense<255.0> : tensor<2x16x6xf32>
  %22 = graph.min %20, %21 : !graph.tensor<[2, 16, 6], f32>
  %23 = graph.cast %22 to ui8 : !graph.tensor<[2, 16, 6], f32>
  return %23 : !graph.tensor<[2, 16, 6], ui8>
}

// Where numbers are needed as well, they are put together.
// CHECK-LABEL: @concat_of_numbers(
// CHECK: graph.concat {{.*}}f32>
// CHECK-COUNT-1: graph.div
func.func @concat_of_numbers(%c: !graph.tensor<[2, 8, 6], ui8>, %d: !graph.tensor<[2, 8, 6], ui8>) -> (!graph.tensor<[2, 16, 6], ui8>, !graph.tensor<[2, 16, 6], f32>) {
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
  %11 = graph.constant dense<1.25e-01> : tensor<2x8x6xf32>
  %12 = graph.mul %10, %11 : !graph.tensor<[2, 8, 6], f32>
  %13 = graph.concat %6, %12 axis 1 : !graph.tensor<[2, 8, 6], f32>, !graph.tensor<[2, 8, 6], f32>
  %14 = graph.constant dense<2.5e-01> : tensor<2x16x6xf32>
  %15 = graph.div %13, %14 : !graph.tensor<[2, 16, 6], f32>
  %16 = graph.round %15 : !graph.tensor<[2, 16, 6], f32>
  %17 = graph.constant dense<10.0> : tensor<2x16x6xf32>
  %18 = graph.add %16, %17 : !graph.tensor<[2, 16, 6], f32>
  %19 = graph.constant dense<0.0> : tensor<2x16x6xf32>
  %20 = graph.max %18, %19 : !graph.tensor<[2, 16, 6], f32>
  %21 = graph.constant dense<255.0> : tensor<2x16x6xf32>
  %22 = graph.min %20, %21 : !graph.tensor<[2, 16, 6], f32>
  %23 = graph.cast %22 to ui8 : !graph.tensor<[2, 16, 6], f32>
  return %23, %13 : !graph.tensor<[2, 16, 6], ui8>, !graph.tensor<[2, 16, 6], f32>
}

// Parts that a model has in f16.
// CHECK-LABEL: @concat_of_halves(
// CHECK-COUNT-2: graph.div {{.*}} : <[2, 8, 6], f32>
// CHECK: %[[A:.*]] = graph.concat {{.*}}i8>, {{.*}}i8>
// CHECK-COUNT-1: graph.div {{.*}} : <[2, 8, 6], f32>
// CHECK: %[[Y:.*]] = graph.concat %[[A]], {{.*}}i8>
// CHECK-NEXT: return %[[Y]]
func.func @concat_of_halves(%x: !graph.tensor<[2, 8, 6], f16>, %y: !graph.tensor<[2, 8, 6], f16>) -> !graph.tensor<[2, 24, 6], i8> {
  %1 = graph.concat %x, %y axis 1 : !graph.tensor<[2, 8, 6], f16>, !graph.tensor<[2, 8, 6], f16>
  %2 = graph.concat %1, %x axis 1 : !graph.tensor<[2, 16, 6], f16>, !graph.tensor<[2, 8, 6], f16>
  %3 = graph.cast %2 to f32 : !graph.tensor<[2, 24, 6], f16>
  %4 = graph.constant dense<2.5e-01> : tensor<2x24x6xf32>
  %5 = graph.div %3, %4 : !graph.tensor<[2, 24, 6], f32>
  %6 = graph.cast %5 to f16 : !graph.tensor<[2, 24, 6], f32>
  %7 = graph.cast %6 to f32 : !graph.tensor<[2, 24, 6], f16>
  %8 = graph.round %7 : !graph.tensor<[2, 24, 6], f32>
  %9 = graph.constant dense<3.0> : tensor<2x24x6xf32>
  %10 = graph.add %8, %9 : !graph.tensor<[2, 24, 6], f32>
  %11 = graph.constant dense<-128.0> : tensor<2x24x6xf32>
  %12 = graph.max %10, %11 : !graph.tensor<[2, 24, 6], f32>
  %13 = graph.constant dense<127.0> : tensor<2x24x6xf32>
  %14 = graph.min %12, %13 : !graph.tensor<[2, 24, 6], f32>
  %15 = graph.cast %14 to i8 : !graph.tensor<[2, 24, 6], f32>
  return %15 : !graph.tensor<[2, 24, 6], i8>
}

// Zero is the code 10, and 0.1 is no code.
// CHECK-LABEL: @pad(
// CHECK-NEXT: %[[ZERO:.*]] = graph.constant dense<10> : tensor<ui8>
// CHECK-NEXT: %[[Y:.*]] = graph.pad %arg0, %[[ZERO]] low [0, 1, 0] high [0, 1, 0] interior [0, 0, 0] : <[2, 8, 6], ui8>, <[], ui8>
// CHECK-NEXT: return %[[Y]]
func.func @pad(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 10, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.constant dense<10> : tensor<2x8x6xi32>
  %3 = graph.sub %1, %2 : !graph.tensor<[2, 8, 6], i32>
  %4 = graph.cast %3 to f32 : !graph.tensor<[2, 8, 6], i32>
  %5 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %6 = graph.mul %4, %5 : !graph.tensor<[2, 8, 6], f32>
  %7 = graph.constant dense<0.0> : tensor<f32>
  %8 = graph.pad %6, %7 low [0, 1, 0] high [0, 1, 0] interior [0, 0, 0] : !graph.tensor<[2, 8, 6], f32>, !graph.tensor<[], f32>
  %9 = graph.constant dense<2.5e-01> : tensor<2x10x6xf32>
  %10 = graph.div %8, %9 : !graph.tensor<[2, 10, 6], f32>
  %11 = graph.round %10 : !graph.tensor<[2, 10, 6], f32>
  %12 = graph.constant dense<10.0> : tensor<2x10x6xf32>
  %13 = graph.add %11, %12 : !graph.tensor<[2, 10, 6], f32>
  %14 = graph.constant dense<0.0> : tensor<2x10x6xf32>
  %15 = graph.max %13, %14 : !graph.tensor<[2, 10, 6], f32>
  %16 = graph.constant dense<255.0> : tensor<2x10x6xf32>
  %17 = graph.min %15, %16 : !graph.tensor<[2, 10, 6], f32>
  %18 = graph.cast %17 to ui8 : !graph.tensor<[2, 10, 6], f32>
  return %18 : !graph.tensor<[2, 10, 6], ui8>
}

// CHECK-LABEL: @pad_between(
// CHECK: graph.pad {{.*}}f32>
// CHECK: graph.div
func.func @pad_between(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 10, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.constant dense<10> : tensor<2x8x6xi32>
  %3 = graph.sub %1, %2 : !graph.tensor<[2, 8, 6], i32>
  %4 = graph.cast %3 to f32 : !graph.tensor<[2, 8, 6], i32>
  %5 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %6 = graph.mul %4, %5 : !graph.tensor<[2, 8, 6], f32>
  %7 = graph.constant dense<0.1> : tensor<f32>
  %8 = graph.pad %6, %7 low [0, 1, 0] high [0, 1, 0] interior [0, 0, 0] : !graph.tensor<[2, 8, 6], f32>, !graph.tensor<[], f32>
  %9 = graph.constant dense<2.5e-01> : tensor<2x10x6xf32>
  %10 = graph.div %8, %9 : !graph.tensor<[2, 10, 6], f32>
  %11 = graph.round %10 : !graph.tensor<[2, 10, 6], f32>
  %12 = graph.constant dense<10.0> : tensor<2x10x6xf32>
  %13 = graph.add %11, %12 : !graph.tensor<[2, 10, 6], f32>
  %14 = graph.constant dense<0.0> : tensor<2x10x6xf32>
  %15 = graph.max %13, %14 : !graph.tensor<[2, 10, 6], f32>
  %16 = graph.constant dense<255.0> : tensor<2x10x6xf32>
  %17 = graph.min %15, %16 : !graph.tensor<[2, 10, 6], f32>
  %18 = graph.cast %17 to ui8 : !graph.tensor<[2, 10, 6], f32>
  return %18 : !graph.tensor<[2, 10, 6], ui8>
}

// Nor is what would be the code -2.
// CHECK-LABEL: @pad_beyond(
// CHECK: graph.pad {{.*}}f32>
// CHECK: graph.div
func.func @pad_beyond(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 10, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.constant dense<10> : tensor<2x8x6xi32>
  %3 = graph.sub %1, %2 : !graph.tensor<[2, 8, 6], i32>
  %4 = graph.cast %3 to f32 : !graph.tensor<[2, 8, 6], i32>
  %5 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %6 = graph.mul %4, %5 : !graph.tensor<[2, 8, 6], f32>
  %7 = graph.constant dense<-3.0> : tensor<f32>
  %8 = graph.pad %6, %7 low [0, 1, 0] high [0, 1, 0] interior [0, 0, 0] : !graph.tensor<[2, 8, 6], f32>, !graph.tensor<[], f32>
  %9 = graph.constant dense<2.5e-01> : tensor<2x10x6xf32>
  %10 = graph.div %8, %9 : !graph.tensor<[2, 10, 6], f32>
  %11 = graph.round %10 : !graph.tensor<[2, 10, 6], f32>
  %12 = graph.constant dense<10.0> : tensor<2x10x6xf32>
  %13 = graph.add %11, %12 : !graph.tensor<[2, 10, 6], f32>
  %14 = graph.constant dense<0.0> : tensor<2x10x6xf32>
  %15 = graph.max %13, %14 : !graph.tensor<[2, 10, 6], f32>
  %16 = graph.constant dense<255.0> : tensor<2x10x6xf32>
  %17 = graph.min %15, %16 : !graph.tensor<[2, 10, 6], f32>
  %18 = graph.cast %17 to ui8 : !graph.tensor<[2, 10, 6], f32>
  return %18 : !graph.tensor<[2, 10, 6], ui8>
}

// CHECK-LABEL: @select(
// CHECK-NEXT: %[[Y:.*]] = graph.select %arg2, %arg0, %arg1 : <[2, 8, 6], i1>, <[2, 8, 6], ui8>
// CHECK-NEXT: return %[[Y]]
func.func @select(%c: !graph.tensor<[2, 8, 6], ui8>, %d: !graph.tensor<[2, 8, 6], ui8>, %m: !graph.tensor<[2, 8, 6], i1>) -> !graph.tensor<[2, 8, 6], ui8> {
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
  %13 = graph.select %m, %6, %12 : !graph.tensor<[2, 8, 6], i1>, !graph.tensor<[2, 8, 6], f32>
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
