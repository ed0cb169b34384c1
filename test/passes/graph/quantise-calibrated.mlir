// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-convs{for=plain=fp32,conv_of_fp8=fp8},quantise-gemms{type=int8 for=plain=fp16,eight=fp8}))' | FileCheck %s
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-convs{int8=rounded for=conv_of_fp8=fp8 fp8=rounded},quantise-gemms{type=int8 int8=rounded}))' | FileCheck %s --check-prefix=ROUNDED
// RUN: not kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-gemms{type=int7}))' 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-gemms{int8=fast}))' 2>&1 | FileCheck %s --check-prefix=USE
// RUN: not kpc-opt %s --pass-pipeline='builtin.module(func.func(quantise-gemms{for=exact}))' 2>&1 | FileCheck %s --check-prefix=FOR

// TYPE: expected none, int8 or fp8, got 'int7'
// USE: expected none, multiplied or rounded, got 'fast'
// FOR: expected REGEX=TYPE, got 'exact'

!x = !graph.tensor<[32, 64], f32>
!w = !graph.tensor<[64, 24], f32>
!y = !graph.tensor<[32, 24], f32>
!i = !graph.tensor<[2, 8, 8, 16], f32>
!f = !graph.tensor<[3, 3, 16, 32], f32>
!o = !graph.tensor<[2, 8, 8, 32], f32>

module attributes {graph.calibration = {
    signed = {least = -2.0 : f64, greatest = 3.0 : f64, range = 2.54 : f64},
    positive = {least = 0.0 : f64, greatest = 8.0 : f64, range = 5.1 : f64},
    eight = {least = -2.0 : f64, greatest = 4.48 : f64, range = 1.0 : f64},
    skewed = {least = -0.2 : f64, greatest = 5.0 : f64, range = 5.0 : f64},
    rows = {least = -2.0 : f64, greatest = 3.0 : f64, range = 3.0 : f64, rows},
    conv = {least = 0.0 : f64, greatest = 5.1 : f64, range = 5.1 : f64},
    conv_of_fp8 = {least = -2.0 : f64, greatest = 4.48 : f64, range = 1.0 : f64},
    plain = {least = 0.0 : f64, greatest = 5.1 : f64, range = 5.1 : f64}}} {

// 2.54 is 127: a factor of 50, and no row is looked at. The scales of both are one vector, which is constant.
// CHECK-LABEL: @signed(
// CHECK-SAME: %[[X:[^:]*]]: !graph.tensor<[32, 64], f32>
// CHECK: %[[F:.*]] = graph.constant dense<5.000000e+01> : tensor<f32>
// CHECK: %[[S:.*]] = graph.broadcast %[[F]]
// CHECK: %[[Q:.*]] = graph.mul %[[X]], %[[S]]
// CHECK: %[[R:.*]] = graph.round %[[Q]]
// CHECK: %[[C:.*]] = graph.cast %[[R]] to i8
// CHECK: graph.reduce max, %{{.*}} axes [0] : <[64, 24], f32>
// CHECK: %[[P:.*]] = graph.matmul %[[C]], %{{.*}} : <[32, 64], i8>, <[64, 24], i8>
// CHECK: %[[W:.*]] = graph.mul %{{.*}}, %{{.*}} : <[1, 24], f32>
// CHECK: %[[B:.*]] = graph.broadcast %[[W]]
// CHECK: graph.mul %{{.*}}, %[[B]] : <[32, 24], f32>

// The host multiplies the same numbers as floats.
// ROUNDED-LABEL: @signed(
// ROUNDED: %[[C:.*]] = graph.cast %{{.*}} to i8 : <[32, 64], f32>
// ROUNDED: %[[F:.*]] = graph.cast %[[C]] to f32
// ROUNDED: graph.matmul %[[F]], %{{.*}} : <[32, 64], f32>, <[64, 24], f32>
func.func @signed(%x: !x) -> !y {
  %w = graph.weight "m#w" [] : !w
  %y = graph.matmul %x, %w : !x, !w loc("signed")
  return %y : !y
}

// Nothing is negative: 255 codes, without a sign.
// CHECK-LABEL: @positive(
// CHECK: graph.constant dense<5.000000e+01> : tensor<f32>
// CHECK: graph.cast %{{.*}} to ui8
// CHECK: graph.matmul %{{.*}} : <[32, 64], ui8>, <[64, 24], i8>
func.func @positive(%x: !x) -> !y {
  %w = graph.weight "m#w" [] : !w
  %y = graph.matmul %x, %w : !x, !w loc("positive")
  return %y : !y
}

// A range far to one side of 0, as behind a GELU: 255 codes and a zero point, which takes a constant off each column.
// CHECK-LABEL: @skewed(
// CHECK: graph.constant dense<1.000000e+01> : tensor<f32>
// CHECK: %[[Z:.*]] = graph.add
// CHECK: %[[R:.*]] = graph.round %[[Z]]
// CHECK: graph.cast %[[R]] to ui8
// CHECK: %[[P:.*]] = graph.matmul %{{.*}} : <[32, 64], ui8>, <[64, 24], i8>
// CHECK: graph.reduce sum, %{{.*}} axes [0] : <[64, 24], i32>
// CHECK: graph.constant dense<10> : tensor<i32>
// CHECK: %[[D:.*]] = graph.sub %[[P]], %{{.*}} : <[32, 24], i32>
// CHECK: graph.cast %[[D]] to f32
// ROUNDED-LABEL: @skewed(
// ROUNDED: %[[C:.*]] = graph.cast %{{.*}} to ui8
// ROUNDED: %[[F:.*]] = graph.cast %[[C]] to f32
// ROUNDED: %[[D:.*]] = graph.sub %[[F]], %{{.*}} : <[32, 64], f32>
// ROUNDED: graph.matmul %[[D]]
func.func @skewed(%x: !x) -> !y {
  %w = graph.weight "m#w" [] : !w
  %y = graph.matmul %x, %w : !x, !w loc("skewed")
  return %y : !y
}

// The calibration says that rows find their scales.
// CHECK-LABEL: @rows(
// CHECK: graph.reduce max, %{{.*}} axes [1] : <[32, 64], f32>
func.func @rows(%x: !x) -> !y {
  %w = graph.weight "m#w" [] : !w
  %y = graph.matmul %x, %w : !x, !w loc("rows")
  return %y : !y
}

// FP8 takes the greatest magnitude, whatever the method chose for integers, and what is beyond is clipped.
// CHECK-LABEL: @eight(
// CHECK: graph.constant dense<1.000000e+02> : tensor<f32>
// CHECK: graph.min
// CHECK: graph.max
// CHECK: graph.cast %{{.*}} to f8E4M3FN
// CHECK: graph.matmul %{{.*}} : <[32, 64], f8E4M3FN>, <[64, 24], f8E4M3FN>
func.func @eight(%x: !x) -> !y {
  %w = graph.weight "m#w" [] : !w
  %y = graph.matmul %x, %w : !x, !w loc("eight")
  return %y : !y
}

// CHECK-LABEL: @conv(
// CHECK: graph.cast %{{.*}} to ui8
// CHECK: graph.reduce max, %{{.*}} axes [0, 1, 2] : <[3, 3, 16, 32], f32>
// CHECK: %[[P:.*]] = graph.conv %{{.*}} : <[2, 8, 8, 16], ui8>, <[3, 3, 16, 32], i8>
// CHECK: graph.cast %[[P]] to f32
// ROUNDED-LABEL: @conv(
// ROUNDED: graph.cast %{{.*}} to ui8
// ROUNDED: graph.conv %{{.*}} : <[2, 8, 8, 16], f32>, <[3, 3, 16, 32], f32>
func.func @conv(%x: !i) -> !o {
  %w = graph.weight "m#f" [] : !f
  %y = graph.conv %x, %w stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 1 : !i, !f loc("conv")
  return %y : !o
}

// Codes of FP8 of both signs, whatever lies around an image; what is beyond is clipped.
// CHECK-LABEL: @conv_of_fp8(
// CHECK: graph.constant dense<1.000000e+02> : tensor<f32>
// CHECK: graph.min
// CHECK: graph.max
// CHECK: graph.cast %{{.*}} to f8E4M3FN
// CHECK: graph.reduce max, %{{.*}} axes [0, 1, 2] : <[3, 3, 16, 32], f32>
// CHECK: %[[P:.*]] = graph.conv %{{.*}} : <[2, 8, 8, 16], f8E4M3FN>, <[3, 3, 16, 32], f8E4M3FN>
// CHECK: graph.mul %[[P]], %{{.*}} : <[2, 8, 8, 32], f32>
// ROUNDED-LABEL: @conv_of_fp8(
// ROUNDED: graph.cast %{{.*}} to f8E4M3FN
// ROUNDED: graph.conv %{{.*}} : <[2, 8, 8, 16], f32>, <[3, 3, 16, 32], f32>
func.func @conv_of_fp8(%x: !i) -> !o {
  %w = graph.weight "m#f" [] : !f
  %y = graph.conv %x, %w stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 1 : !i, !f loc("conv_of_fp8")
  return %y : !o
}

// No range is known, or another type was asked for.
// CHECK-LABEL: @others(
// CHECK: graph.conv %{{.*}} : <[2, 8, 8, 16], f32>, <[3, 3, 16, 32], f32>
// CHECK: graph.conv %{{.*}} : <[2, 8, 8, 16], f32>, <[3, 3, 16, 32], f32>
// CHECK: graph.matmul %{{.*}} : <[32, 64], f32>, <[64, 24], f32>
// CHECK: graph.reduce max, %{{.*}} axes [1] : <[32, 64], f32>
// CHECK: graph.matmul %{{.*}} : <[32, 64], i8>, <[64, 24], i8>
func.func @others(%x: !i, %a: !x) -> (!o, !o, !y, !y) {
  %w = graph.weight "m#f" [] : !f
  %v = graph.weight "m#w" [] : !w
  %0 = graph.conv %x, %w stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 1 : !i, !f loc("unknown")
  %1 = graph.conv %x, %w stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 1 : !i, !f loc("plain")
  %2 = graph.matmul %a, %v : !x, !w loc("plain")
  %3 = graph.matmul %a, %v : !x, !w loc("unknown")
  return %0, %1, %2, %3 : !o, !o, !y, !y
}
}
