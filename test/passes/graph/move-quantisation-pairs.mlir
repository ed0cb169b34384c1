// RUN: kpc-opt %s --move-quantisation | FileCheck %s
// RUN: kpc-opt %s --move-quantisation --remark-format=emitRemark --remarks-filter=recognition 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Quantising what was dequantised. Codes are ui8 or i8, scales 0.25 and zero points 10, but where it says so.

// REMARK-COUNT-4: It quantises what was dequantised with the same scale and zero point, and is left out.
// REMARK-NOT: remark:

// What was dequantised is quantised: the codes.
// CHECK-LABEL: @pair(
// CHECK-NEXT: return %arg0
func.func @pair(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 8, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.constant dense<10> : tensor<i32>
  %3 = graph.broadcast %2 : !graph.tensor<[], i32> to !graph.tensor<[2, 8, 6], i32>
  %4 = graph.sub %1, %3 : !graph.tensor<[2, 8, 6], i32>
  %5 = graph.cast %4 to f32 : !graph.tensor<[2, 8, 6], i32>
  %6 = graph.constant dense<2.5e-01> : tensor<f32>
  %7 = graph.broadcast %6 : !graph.tensor<[], f32> to !graph.tensor<[2, 8, 6], f32>
  %8 = graph.mul %5, %7 : !graph.tensor<[2, 8, 6], f32>
  %9 = graph.constant dense<2.5e-01> : tensor<f32>
  %10 = graph.broadcast %9 : !graph.tensor<[], f32> to !graph.tensor<[2, 8, 6], f32>
  %11 = graph.div %8, %10 : !graph.tensor<[2, 8, 6], f32>
  %12 = graph.round %11 : !graph.tensor<[2, 8, 6], f32>
  %13 = graph.constant dense<10.0> : tensor<f32>
  %14 = graph.broadcast %13 : !graph.tensor<[], f32> to !graph.tensor<[2, 8, 6], f32>
  %15 = graph.add %12, %14 : !graph.tensor<[2, 8, 6], f32>
  %16 = graph.constant dense<0.0> : tensor<f32>
  %17 = graph.broadcast %16 : !graph.tensor<[], f32> to !graph.tensor<[2, 8, 6], f32>
  %18 = graph.max %15, %17 : !graph.tensor<[2, 8, 6], f32>
  %19 = graph.constant dense<255.0> : tensor<f32>
  %20 = graph.broadcast %19 : !graph.tensor<[], f32> to !graph.tensor<[2, 8, 6], f32>
  %21 = graph.min %18, %20 : !graph.tensor<[2, 8, 6], f32>
  %22 = graph.cast %21 to ui8 : !graph.tensor<[2, 8, 6], f32>
  return %22 : !graph.tensor<[2, 8, 6], ui8>
}

// CHECK-LABEL: @signed(
// CHECK-NEXT: return %arg0
func.func @signed(%c: !graph.tensor<[2, 8, 6], i8>) -> !graph.tensor<[2, 8, 6], i8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], i8>
  %2 = graph.constant dense<-3> : tensor<i32>
  %3 = graph.broadcast %2 : !graph.tensor<[], i32> to !graph.tensor<[2, 8, 6], i32>
  %4 = graph.sub %1, %3 : !graph.tensor<[2, 8, 6], i32>
  %5 = graph.cast %4 to f32 : !graph.tensor<[2, 8, 6], i32>
  %6 = graph.constant dense<2.5e-01> : tensor<f32>
  %7 = graph.broadcast %6 : !graph.tensor<[], f32> to !graph.tensor<[2, 8, 6], f32>
  %8 = graph.mul %5, %7 : !graph.tensor<[2, 8, 6], f32>
  %9 = graph.constant dense<2.5e-01> : tensor<f32>
  %10 = graph.broadcast %9 : !graph.tensor<[], f32> to !graph.tensor<[2, 8, 6], f32>
  %11 = graph.div %8, %10 : !graph.tensor<[2, 8, 6], f32>
  %12 = graph.round %11 : !graph.tensor<[2, 8, 6], f32>
  %13 = graph.constant dense<-3.0> : tensor<f32>
  %14 = graph.broadcast %13 : !graph.tensor<[], f32> to !graph.tensor<[2, 8, 6], f32>
  %15 = graph.add %12, %14 : !graph.tensor<[2, 8, 6], f32>
  %16 = graph.constant dense<-128.0> : tensor<f32>
  %17 = graph.broadcast %16 : !graph.tensor<[], f32> to !graph.tensor<[2, 8, 6], f32>
  %18 = graph.max %15, %17 : !graph.tensor<[2, 8, 6], f32>
  %19 = graph.constant dense<127.0> : tensor<f32>
  %20 = graph.broadcast %19 : !graph.tensor<[], f32> to !graph.tensor<[2, 8, 6], f32>
  %21 = graph.min %18, %20 : !graph.tensor<[2, 8, 6], f32>
  %22 = graph.cast %21 to i8 : !graph.tensor<[2, 8, 6], f32>
  return %22 : !graph.tensor<[2, 8, 6], i8>
}

// Of 255 steps, roundings to f16 lose a quarter of one at most.
// CHECK-LABEL: @half(
// CHECK-NEXT: return %arg0
func.func @half(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 8, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.cast %1 to f32 : !graph.tensor<[2, 8, 6], i32>
  %3 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %4 = graph.mul %2, %3 : !graph.tensor<[2, 8, 6], f32>
  %5 = graph.cast %4 to f16 : !graph.tensor<[2, 8, 6], f32>
  %6 = graph.cast %5 to f32 : !graph.tensor<[2, 8, 6], f16>
  %7 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %8 = graph.div %6, %7 : !graph.tensor<[2, 8, 6], f32>
  %9 = graph.cast %8 to f16 : !graph.tensor<[2, 8, 6], f32>
  %10 = graph.cast %9 to f32 : !graph.tensor<[2, 8, 6], f16>
  %11 = graph.round %10 : !graph.tensor<[2, 8, 6], f32>
  %12 = graph.constant dense<0.0> : tensor<2x8x6xf32>
  %13 = graph.max %11, %12 : !graph.tensor<[2, 8, 6], f32>
  %14 = graph.constant dense<255.0> : tensor<2x8x6xf32>
  %15 = graph.min %13, %14 : !graph.tensor<[2, 8, 6], f32>
  %16 = graph.cast %15 to ui8 : !graph.tensor<[2, 8, 6], f32>
  return %16 : !graph.tensor<[2, 8, 6], ui8>
}

// Those to bf16 lose more than a half.
// CHECK-LABEL: @brain(
// CHECK: graph.div
// CHECK: %[[Y:.*]] = graph.cast %{{.*}} to {{u?}}i8
// CHECK-NEXT: return %[[Y]]
func.func @brain(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 8, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.cast %1 to f32 : !graph.tensor<[2, 8, 6], i32>
  %3 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %4 = graph.mul %2, %3 : !graph.tensor<[2, 8, 6], f32>
  %5 = graph.cast %4 to bf16 : !graph.tensor<[2, 8, 6], f32>
  %6 = graph.cast %5 to f32 : !graph.tensor<[2, 8, 6], bf16>
  %7 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %8 = graph.div %6, %7 : !graph.tensor<[2, 8, 6], f32>
  %9 = graph.cast %8 to bf16 : !graph.tensor<[2, 8, 6], f32>
  %10 = graph.cast %9 to f32 : !graph.tensor<[2, 8, 6], bf16>
  %11 = graph.round %10 : !graph.tensor<[2, 8, 6], f32>
  %12 = graph.constant dense<0.0> : tensor<2x8x6xf32>
  %13 = graph.max %11, %12 : !graph.tensor<[2, 8, 6], f32>
  %14 = graph.constant dense<255.0> : tensor<2x8x6xf32>
  %15 = graph.min %13, %14 : !graph.tensor<[2, 8, 6], f32>
  %16 = graph.cast %15 to ui8 : !graph.tensor<[2, 8, 6], f32>
  return %16 : !graph.tensor<[2, 8, 6], ui8>
}

// Other scales, other zero points.
// CHECK-LABEL: @scales(
// CHECK: graph.div
// CHECK: %[[Y:.*]] = graph.cast %{{.*}} to {{u?}}i8
// CHECK-NEXT: return %[[Y]]
func.func @scales(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 8, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.constant dense<10> : tensor<2x8x6xi32>
  %3 = graph.sub %1, %2 : !graph.tensor<[2, 8, 6], i32>
  %4 = graph.cast %3 to f32 : !graph.tensor<[2, 8, 6], i32>
  %5 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %6 = graph.mul %4, %5 : !graph.tensor<[2, 8, 6], f32>
  %7 = graph.constant dense<2.6e-01> : tensor<2x8x6xf32>
  %8 = graph.div %6, %7 : !graph.tensor<[2, 8, 6], f32>
  %9 = graph.round %8 : !graph.tensor<[2, 8, 6], f32>
  %10 = graph.constant dense<10.0> : tensor<2x8x6xf32>
  %11 = graph.add %9, %10 : !graph.tensor<[2, 8, 6], f32>
  %12 = graph.constant dense<0.0> : tensor<2x8x6xf32>
  %13 = graph.max %11, %12 : !graph.tensor<[2, 8, 6], f32>
  %14 = graph.constant dense<255.0> : tensor<2x8x6xf32>
  %15 = graph.min %13, %14 : !graph.tensor<[2, 8, 6], f32>
  %16 = graph.cast %15 to ui8 : !graph.tensor<[2, 8, 6], f32>
  return %16 : !graph.tensor<[2, 8, 6], ui8>
}

// CHECK-LABEL: @zeros(
// CHECK: graph.div
// CHECK: %[[Y:.*]] = graph.cast %{{.*}} to {{u?}}i8
// CHECK-NEXT: return %[[Y]]
func.func @zeros(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 8, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.constant dense<10> : tensor<2x8x6xi32>
  %3 = graph.sub %1, %2 : !graph.tensor<[2, 8, 6], i32>
  %4 = graph.cast %3 to f32 : !graph.tensor<[2, 8, 6], i32>
  %5 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %6 = graph.mul %4, %5 : !graph.tensor<[2, 8, 6], f32>
  %7 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %8 = graph.div %6, %7 : !graph.tensor<[2, 8, 6], f32>
  %9 = graph.round %8 : !graph.tensor<[2, 8, 6], f32>
  %10 = graph.constant dense<11.0> : tensor<2x8x6xf32>
  %11 = graph.add %9, %10 : !graph.tensor<[2, 8, 6], f32>
  %12 = graph.constant dense<0.0> : tensor<2x8x6xf32>
  %13 = graph.max %11, %12 : !graph.tensor<[2, 8, 6], f32>
  %14 = graph.constant dense<255.0> : tensor<2x8x6xf32>
  %15 = graph.min %13, %14 : !graph.tensor<[2, 8, 6], f32>
  %16 = graph.cast %15 to ui8 : !graph.tensor<[2, 8, 6], f32>
  return %16 : !graph.tensor<[2, 8, 6], ui8>
}

// What is subnormal has fewer bits, and what is too great is infinite.
// CHECK-LABEL: @subnormal(
// CHECK: graph.div
// CHECK: %[[Y:.*]] = graph.cast %{{.*}} to {{u?}}i8
// CHECK-NEXT: return %[[Y]]
func.func @subnormal(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 8, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.cast %1 to f32 : !graph.tensor<[2, 8, 6], i32>
  %3 = graph.constant dense<1.0e-38> : tensor<2x8x6xf32>
  %4 = graph.mul %2, %3 : !graph.tensor<[2, 8, 6], f32>
  %5 = graph.constant dense<1.0e-38> : tensor<2x8x6xf32>
  %6 = graph.div %4, %5 : !graph.tensor<[2, 8, 6], f32>
  %7 = graph.round %6 : !graph.tensor<[2, 8, 6], f32>
  %8 = graph.constant dense<0.0> : tensor<2x8x6xf32>
  %9 = graph.max %7, %8 : !graph.tensor<[2, 8, 6], f32>
  %10 = graph.constant dense<255.0> : tensor<2x8x6xf32>
  %11 = graph.min %9, %10 : !graph.tensor<[2, 8, 6], f32>
  %12 = graph.cast %11 to ui8 : !graph.tensor<[2, 8, 6], f32>
  return %12 : !graph.tensor<[2, 8, 6], ui8>
}

// CHECK-LABEL: @great(
// CHECK: graph.div
// CHECK: %[[Y:.*]] = graph.cast %{{.*}} to {{u?}}i8
// CHECK-NEXT: return %[[Y]]
func.func @great(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 8, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.cast %1 to f32 : !graph.tensor<[2, 8, 6], i32>
  %3 = graph.constant dense<3.0e+38> : tensor<2x8x6xf32>
  %4 = graph.mul %2, %3 : !graph.tensor<[2, 8, 6], f32>
  %5 = graph.constant dense<3.0e+38> : tensor<2x8x6xf32>
  %6 = graph.div %4, %5 : !graph.tensor<[2, 8, 6], f32>
  %7 = graph.round %6 : !graph.tensor<[2, 8, 6], f32>
  %8 = graph.constant dense<0.0> : tensor<2x8x6xf32>
  %9 = graph.max %7, %8 : !graph.tensor<[2, 8, 6], f32>
  %10 = graph.constant dense<255.0> : tensor<2x8x6xf32>
  %11 = graph.min %9, %10 : !graph.tensor<[2, 8, 6], f32>
  %12 = graph.cast %11 to ui8 : !graph.tensor<[2, 8, 6], f32>
  return %12 : !graph.tensor<[2, 8, 6], ui8>
}

// Codes of -128 would be -127.
// CHECK-LABEL: @narrower(
// CHECK: graph.div
// CHECK: %[[Y:.*]] = graph.cast %{{.*}} to {{u?}}i8
// CHECK-NEXT: return %[[Y]]
func.func @narrower(%c: !graph.tensor<[2, 8, 6], i8>) -> !graph.tensor<[2, 8, 6], i8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], i8>
  %2 = graph.cast %1 to f32 : !graph.tensor<[2, 8, 6], i32>
  %3 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %4 = graph.mul %2, %3 : !graph.tensor<[2, 8, 6], f32>
  %5 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %6 = graph.div %4, %5 : !graph.tensor<[2, 8, 6], f32>
  %7 = graph.round %6 : !graph.tensor<[2, 8, 6], f32>
  %8 = graph.constant dense<-127.0> : tensor<2x8x6xf32>
  %9 = graph.max %7, %8 : !graph.tensor<[2, 8, 6], f32>
  %10 = graph.constant dense<127.0> : tensor<2x8x6xf32>
  %11 = graph.min %9, %10 : !graph.tensor<[2, 8, 6], f32>
  %12 = graph.cast %11 to i8 : !graph.tensor<[2, 8, 6], f32>
  return %12 : !graph.tensor<[2, 8, 6], i8>
}

// There are none where codes were made like this.
// CHECK-LABEL: @made_narrower(
// CHECK-COUNT-1: graph.div
// CHECK: %[[Y:.*]] = graph.cast %{{.*}} to i8
// CHECK-NEXT: return %[[Y]]
func.func @made_narrower(%x: !graph.tensor<[2, 8, 6], f32>) -> !graph.tensor<[2, 8, 6], i8> {
  %1 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %2 = graph.div %x, %1 : !graph.tensor<[2, 8, 6], f32>
  %3 = graph.round %2 : !graph.tensor<[2, 8, 6], f32>
  %4 = graph.constant dense<-127.0> : tensor<2x8x6xf32>
  %5 = graph.max %3, %4 : !graph.tensor<[2, 8, 6], f32>
  %6 = graph.constant dense<127.0> : tensor<2x8x6xf32>
  %7 = graph.min %5, %6 : !graph.tensor<[2, 8, 6], f32>
  %8 = graph.cast %7 to i8 : !graph.tensor<[2, 8, 6], f32>
  %9 = graph.cast %8 to i32 : !graph.tensor<[2, 8, 6], i8>
  %10 = graph.cast %9 to f32 : !graph.tensor<[2, 8, 6], i32>
  %11 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %12 = graph.mul %10, %11 : !graph.tensor<[2, 8, 6], f32>
  %13 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %14 = graph.div %12, %13 : !graph.tensor<[2, 8, 6], f32>
  %15 = graph.round %14 : !graph.tensor<[2, 8, 6], f32>
  %16 = graph.constant dense<-127.0> : tensor<2x8x6xf32>
  %17 = graph.max %15, %16 : !graph.tensor<[2, 8, 6], f32>
  %18 = graph.constant dense<127.0> : tensor<2x8x6xf32>
  %19 = graph.min %17, %18 : !graph.tensor<[2, 8, 6], f32>
  %20 = graph.cast %19 to i8 : !graph.tensor<[2, 8, 6], f32>
  return %20 : !graph.tensor<[2, 8, 6], i8>
}

// Codes of another type.
// CHECK-LABEL: @types(
// CHECK: graph.div
// CHECK: %[[Y:.*]] = graph.cast %{{.*}} to {{u?}}i8
// CHECK-NEXT: return %[[Y]]
func.func @types(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 8, 6], i8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.cast %1 to f32 : !graph.tensor<[2, 8, 6], i32>
  %3 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %4 = graph.mul %2, %3 : !graph.tensor<[2, 8, 6], f32>
  %5 = graph.constant dense<2.5e-01> : tensor<2x8x6xf32>
  %6 = graph.div %4, %5 : !graph.tensor<[2, 8, 6], f32>
  %7 = graph.round %6 : !graph.tensor<[2, 8, 6], f32>
  %8 = graph.constant dense<-128.0> : tensor<2x8x6xf32>
  %9 = graph.max %7, %8 : !graph.tensor<[2, 8, 6], f32>
  %10 = graph.constant dense<127.0> : tensor<2x8x6xf32>
  %11 = graph.min %9, %10 : !graph.tensor<[2, 8, 6], f32>
  %12 = graph.cast %11 to i8 : !graph.tensor<[2, 8, 6], f32>
  return %12 : !graph.tensor<[2, 8, 6], i8>
}

// A scale for each channel.
// CHECK-LABEL: @axis(
// CHECK: graph.div
// CHECK: %[[Y:.*]] = graph.cast %{{.*}} to {{u?}}i8
// CHECK-NEXT: return %[[Y]]
func.func @axis(%c: !graph.tensor<[2, 8, 6], ui8>) -> !graph.tensor<[2, 8, 6], ui8> {
  %1 = graph.cast %c to i32 : !graph.tensor<[2, 8, 6], ui8>
  %2 = graph.cast %1 to f32 : !graph.tensor<[2, 8, 6], i32>
  %3 = graph.constant dense<[[0.1], [0.2], [0.1], [0.2], [0.1], [0.2], [0.1], [0.2]]> : tensor<8x1xf32>
  %4 = graph.broadcast %3 : !graph.tensor<[8, 1], f32> to !graph.tensor<[2, 8, 6], f32>
  %5 = graph.mul %2, %4 : !graph.tensor<[2, 8, 6], f32>
  %6 = graph.constant dense<0.1> : tensor<2x8x6xf32>
  %7 = graph.div %5, %6 : !graph.tensor<[2, 8, 6], f32>
  %8 = graph.round %7 : !graph.tensor<[2, 8, 6], f32>
  %9 = graph.constant dense<0.0> : tensor<2x8x6xf32>
  %10 = graph.max %8, %9 : !graph.tensor<[2, 8, 6], f32>
  %11 = graph.constant dense<255.0> : tensor<2x8x6xf32>
  %12 = graph.min %10, %11 : !graph.tensor<[2, 8, 6], f32>
  %13 = graph.cast %12 to ui8 : !graph.tensor<[2, 8, 6], f32>
  return %13 : !graph.tensor<[2, 8, 6], ui8>
}
