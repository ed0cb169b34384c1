// RUN: kpc-opt %s --sink-scales --canonicalize | FileCheck %s
// RUN: kpc-opt %s --sink-scales=whole-rows --canonicalize | FileCheck %s --check-prefix ROWS

!a = !graph.tensor<[32, 64], f8E4M3FN>
!x = !graph.tensor<[32, 64], f32>
!b = !graph.tensor<[64, 24], f8E4M3FN>
!w = !graph.tensor<[64, 24], f32>
!y = !graph.tensor<[32, 24], f32>

// One scale for all of A, one for each column of B: both are factors of the result.
// CHECK-LABEL: @columns(
// CHECK-SAME: %[[A:[^:]*]]: !graph.tensor<[32, 64], f8E4M3FN>, %[[B:[^:]*]]: !graph.tensor<[64, 24], f8E4M3FN>, %[[S:[^:]*]]: !graph.tensor<[24], f32>
// CHECK: %[[Y:.*]] = graph.matmul %[[A]], %[[B]] : <[32, 64], f8E4M3FN>, <[64, 24], f8E4M3FN>
// CHECK: %[[SB:.*]] = graph.broadcast %{{.*}} : <[1, 24], f32> to <[32, 24], f32>
// CHECK: %[[S2:.*]] = graph.mul %[[SB]], %{{.*}} : <[32, 24], f32>
// CHECK: %[[YB:.*]] = graph.mul %[[Y]], %[[S2]] : <[32, 24], f32>
// CHECK-NEXT: return %[[YB]]
func.func @columns(%a: !a, %b: !b, %s: !graph.tensor<[24], f32>) -> !y {
  %wide = graph.cast %a to f32 : !a
  %scale = graph.constant dense<2.5e-01> : tensor<32x64xf32>
  %x = graph.mul %wide, %scale : !x
  %codes = graph.cast %b to f32 : !b
  %each = graph.broadcast %s : !graph.tensor<[24], f32> to !w
  %w = graph.mul %each, %codes : !w
  %y = graph.matmul %x, %w : !x, !w
  return %y : !y
}

// A scale for each row of A and of the turned B, in a model of f16: the result is rounded once.
// CHECK-LABEL: @rows(
// CHECK: %[[T:.*]] = graph.transpose %{{.*}} [1, 0] : <[24, 64], f8E5M2>
// CHECK: graph.matmul %{{.*}}, %[[T]] : <[32, 64], f8E4M3FN>, <[64, 24], f8E5M2>
// CHECK: graph.broadcast %{{.*}} : <[32, 1], f32> to <[32, 24], f32>
// CHECK: graph.broadcast %{{.*}} : <[1, 24], f32> to <[32, 24], f32>
// CHECK: %[[H:.*]] = graph.cast %{{.*}} to f16 : <[32, 24], f32>
// CHECK-NEXT: return %[[H]]
func.func @rows(%a: !a, %b: !graph.tensor<[24, 64], f8E5M2>, %sa: !graph.tensor<[32, 1], f32>, %sb: !graph.tensor<[24, 1], f32>) -> !graph.tensor<[32, 24], f16> {
  %wide = graph.cast %a to f32 : !a
  %ra = graph.broadcast %sa : !graph.tensor<[32, 1], f32> to !x
  %x = graph.mul %wide, %ra : !x
  %xh = graph.cast %x to f16 : !x
  %codes = graph.cast %b to f32 : !graph.tensor<[24, 64], f8E5M2>
  %rb = graph.broadcast %sb : !graph.tensor<[24, 1], f32> to !graph.tensor<[24, 64], f32>
  %w = graph.mul %codes, %rb : !graph.tensor<[24, 64], f32>
  %wh = graph.cast %w to f16 : !graph.tensor<[24, 64], f32>
  %t = graph.transpose %wh [1, 0] : !graph.tensor<[24, 64], f16>
  %y = graph.matmul %xh, %t : !graph.tensor<[32, 64], f16>, !graph.tensor<[64, 24], f16>
  return %y : !graph.tensor<[32, 24], f16>
}

// A scale along K is no factor of the sum.
// CHECK-LABEL: @along_k(
// CHECK: graph.matmul %{{.*}}, %{{.*}} : <[32, 64], f32>, <[64, 24], f32>
func.func @along_k(%a: !a, %b: !b, %s: !graph.tensor<[64], f32>) -> !y {
  %wide = graph.cast %a to f32 : !a
  %each = graph.broadcast %s : !graph.tensor<[64], f32> to !x
  %x = graph.mul %wide, %each : !x
  %w = graph.cast %b to f32 : !b
  %y = graph.matmul %x, %w : !x, !w
  return %y : !y
}

// Sixteen rows read weights alone; K and N may have any size, but where TMA copies all rows.
// ROWS-LABEL: @columns(
// ROWS: graph.matmul %{{.*}}, %{{.*}} : <[32, 64], f8E4M3FN>, <[64, 24], f8E4M3FN>
// ROWS-LABEL: @few(
// ROWS: graph.matmul %{{.*}}, %{{.*}} : <[32, 23], f32>, <[23, 9], f32>
// CHECK-LABEL: @few(
// CHECK: graph.matmul %{{.*}}, %{{.*}} : <[16, 64], f32>, <[64, 24], f32>
// CHECK: graph.matmul %{{.*}}, %{{.*}} : <[32, 23], f8E4M3FN>, <[23, 9], f8E4M3FN>
func.func @few(%a: !graph.tensor<[16, 64], f8E4M3FN>, %b: !b, %c: !graph.tensor<[32, 23], f8E4M3FN>, %d: !graph.tensor<[23, 9], f8E4M3FN>)
    -> (!graph.tensor<[16, 24], f32>, !graph.tensor<[32, 9], f32>) {
  %x = graph.cast %a to f32 : !graph.tensor<[16, 64], f8E4M3FN>
  %w = graph.cast %b to f32 : !b
  %y = graph.matmul %x, %w : !graph.tensor<[16, 64], f32>, !w
  %u = graph.cast %c to f32 : !graph.tensor<[32, 23], f8E4M3FN>
  %v = graph.cast %d to f32 : !graph.tensor<[23, 9], f8E4M3FN>
  %z = graph.matmul %u, %v : !graph.tensor<[32, 23], f32>, !graph.tensor<[23, 9], f32>
  return %y, %z : !graph.tensor<[16, 24], f32>, !graph.tensor<[32, 9], f32>
}

// A convolution: one scale for the image, one for each output of the filter. Zeros around an image are codes, too. One of groups of one
// channel stays.
// CHECK-LABEL: @conv(
// CHECK-SAME: %[[X:[^:]*]]: !graph.tensor<[2, 8, 8, 16], f8E4M3FN>, %[[W:[^:]*]]: !graph.tensor<[3, 3, 16, 24], f8E5M2>
// CHECK: %[[Y:.*]] = graph.conv %[[X]], %[[W]] stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 1 : <[2, 8, 8, 16], f8E4M3FN>, <[3, 3, 16, 24], f8E5M2>
// CHECK: graph.mul %[[Y]], %{{.*}} : <[2, 8, 8, 24], f32>
// CHECK-LABEL: @depthwise(
// CHECK: graph.conv {{.*}} groups 16 : <[2, 8, 8, 16], f32>, <[3, 3, 1, 16], f32>
func.func @conv(%a: !graph.tensor<[2, 8, 8, 16], f8E4M3FN>, %b: !graph.tensor<[3, 3, 16, 24], f8E5M2>, %s: !graph.tensor<[24], f32>) -> !graph.tensor<[2, 8, 8, 24], f32> {
  %wide = graph.cast %a to f32 : !graph.tensor<[2, 8, 8, 16], f8E4M3FN>
  %scale = graph.constant dense<2.5e-01> : tensor<2x8x8x16xf32>
  %x = graph.mul %wide, %scale : !graph.tensor<[2, 8, 8, 16], f32>
  %codes = graph.cast %b to f32 : !graph.tensor<[3, 3, 16, 24], f8E5M2>
  %each = graph.broadcast %s : !graph.tensor<[24], f32> to !graph.tensor<[3, 3, 16, 24], f32>
  %w = graph.mul %codes, %each : !graph.tensor<[3, 3, 16, 24], f32>
  %y = graph.conv %x, %w stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 1 : !graph.tensor<[2, 8, 8, 16], f32>, !graph.tensor<[3, 3, 16, 24], f32>
  return %y : !graph.tensor<[2, 8, 8, 24], f32>
}
func.func @depthwise(%a: !graph.tensor<[2, 8, 8, 16], f8E4M3FN>, %b: !graph.tensor<[3, 3, 1, 16], f8E4M3FN>) -> !graph.tensor<[2, 8, 8, 16], f32> {
  %x = graph.cast %a to f32 : !graph.tensor<[2, 8, 8, 16], f8E4M3FN>
  %w = graph.cast %b to f32 : !graph.tensor<[3, 3, 1, 16], f8E4M3FN>
  %y = graph.conv %x, %w stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 16 : !graph.tensor<[2, 8, 8, 16], f32>, !graph.tensor<[3, 3, 1, 16], f32>
  return %y : !graph.tensor<[2, 8, 8, 16], f32>
}

// Keys and values of few queries are read as codes: one constant scale of keys is part of the scores', that of values a factor of the
// result. Scales of heads are factors of the queries and of the result.
// CHECK-LABEL: @cache(
// CHECK-DAG: %[[K:.*]] = graph.cast %arg1 to f32 : <[2, 2, 300, 64], f8E4M3FN>
// CHECK-DAG: %[[V:.*]] = graph.cast %arg2 to f32 : <[2, 2, 300, 64], f8E4M3FN>
// CHECK: %[[Y:.*]] = graph.attention %arg0, %[[K]], %[[V]] scale 6.250000e-02 {{{.*}}graph.codes}
// CHECK: graph.mul %[[Y]], %{{.*}} : <[2, 8, 1, 64], f32>
// CHECK-LABEL: @cache_of_heads(
// CHECK: %[[Q:.*]] = graph.mul %{{.*}}, %{{.*}} : <[2, 2, 4, 64], f32>
// CHECK: %[[H:.*]] = graph.reshape %[[Q]] : <[2, 2, 4, 64], f32> to <[2, 8, 1, 64], f32>
// CHECK: graph.attention %[[H]], %{{.*}}, %{{.*}} scale 1.250000e-01 {{{.*}}graph.codes}
// CHECK: graph.mul %{{.*}} : <[2, 2, 4, 64], f32>
func.func @cache(%q: !graph.tensor<[2, 8, 1, 64], f32>, %k: !graph.tensor<[2, 2, 300, 64], f8E4M3FN>, %v: !graph.tensor<[2, 2, 300, 64], f8E4M3FN>) -> !graph.tensor<[2, 8, 1, 64], f32> {
  %ck = graph.cast %k to f32 : !graph.tensor<[2, 2, 300, 64], f8E4M3FN>
  %sk = graph.constant dense<5.0e-01> : tensor<2x2x300x64xf32>
  %wk = graph.mul %ck, %sk : !graph.tensor<[2, 2, 300, 64], f32>
  %cv = graph.cast %v to f32 : !graph.tensor<[2, 2, 300, 64], f8E4M3FN>
  %sv = graph.constant dense<2.5e-01> : tensor<2x2x300x64xf32>
  %wv = graph.mul %cv, %sv : !graph.tensor<[2, 2, 300, 64], f32>
  %y = graph.attention %q, %wk, %wv scale 0.125 : !graph.tensor<[2, 8, 1, 64], f32>, !graph.tensor<[2, 2, 300, 64], f32>, !graph.tensor<[2, 2, 300, 64], f32>
  return %y : !graph.tensor<[2, 8, 1, 64], f32>
}
func.func @cache_of_heads(%q: !graph.tensor<[2, 8, 1, 64], f32>, %k: !graph.tensor<[2, 2, 300, 64], f8E4M3FN>, %v: !graph.tensor<[2, 2, 300, 64], f8E4M3FN>, %s: !graph.tensor<[1, 2, 1, 1], f32>) -> !graph.tensor<[2, 8, 1, 64], f32> {
  %ck = graph.cast %k to f32 : !graph.tensor<[2, 2, 300, 64], f8E4M3FN>
  %each = graph.broadcast %s : !graph.tensor<[1, 2, 1, 1], f32> to !graph.tensor<[2, 2, 300, 64], f32>
  %wk = graph.mul %ck, %each : !graph.tensor<[2, 2, 300, 64], f32>
  %cv = graph.cast %v to f32 : !graph.tensor<[2, 2, 300, 64], f8E4M3FN>
  %wv = graph.mul %cv, %each : !graph.tensor<[2, 2, 300, 64], f32>
  %y = graph.attention %q, %wk, %wv scale 0.125 : !graph.tensor<[2, 8, 1, 64], f32>, !graph.tensor<[2, 2, 300, 64], f32>, !graph.tensor<[2, 2, 300, 64], f32>
  return %y : !graph.tensor<[2, 8, 1, 64], f32>
}

// Of many queries, and of heads that are no multiple of 16 elements, codes are dequantised.
// CHECK-LABEL: @many_queries(
// CHECK-NOT: graph.codes
// CHECK: return
func.func @many_queries(%q: !graph.tensor<[2, 8, 9, 64], f32>, %k: !graph.tensor<[2, 2, 300, 64], f8E4M3FN>, %r: !graph.tensor<[2, 2, 1, 24], f32>, %h: !graph.tensor<[2, 2, 30, 24], f8E4M3FN>) -> (!graph.tensor<[2, 8, 9, 64], f32>, !graph.tensor<[2, 2, 1, 24], f32>) {
  %c = graph.cast %k to f32 : !graph.tensor<[2, 2, 300, 64], f8E4M3FN>
  %y = graph.attention %q, %c, %c scale 0.125 : !graph.tensor<[2, 8, 9, 64], f32>, !graph.tensor<[2, 2, 300, 64], f32>, !graph.tensor<[2, 2, 300, 64], f32>
  %d = graph.cast %h to f32 : !graph.tensor<[2, 2, 30, 24], f8E4M3FN>
  %z = graph.attention %r, %d, %d scale 0.125 : !graph.tensor<[2, 2, 1, 24], f32>, !graph.tensor<[2, 2, 30, 24], f32>, !graph.tensor<[2, 2, 30, 24], f32>
  return %y, %z : !graph.tensor<[2, 8, 9, 64], f32>, !graph.tensor<[2, 2, 1, 24], f32>
}
