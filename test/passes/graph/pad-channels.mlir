// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(pad-channels))' | FileCheck %s
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(pad-channels{narrow=true}))' | FileCheck %s --check-prefix=NARROW
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(pad-channels{narrow=true keep=stem}))' | FileCheck %s --check-prefix=KEPT
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(pad-channels{few-alone=true}))' | FileCheck %s --check-prefix=FEW
// RUN: not kpc-opt %s --pass-pipeline='builtin.module(func.func(pad-channels{keep=a(}))' 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: error: 'a(' is no regular expression

// Steps of two pixels are 16 bytes where pixels have four channels; the zeros around the image go into memory.
// CHECK-LABEL: @first(
// CHECK: graph.pad %{{.*}}, %{{.*}} low [0, 0, 0, 0] high [0, 0, 1, 0] interior [0, 0, 0, 0] : <[7, 7, 3, 64], f16>
// CHECK: graph.pad %arg0, %{{.*}} low [0, 3, 3, 0] high [0, 3, 3, 1] interior [0, 0, 0, 0] : <[n, 224, 224, 3], f16>
// CHECK: graph.conv %{{.*}} stride [2, 2] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : <[n, 230, 230, 4], f16>, <[7, 7, 4, 64], f16>
func.func @first(%x: !graph.tensor<[n, 224, 224, 3], f16>) -> !graph.tensor<[n, 112, 112, 64], f16> {
  %w = graph.weight "m#w" [] : !graph.tensor<[7, 7, 3, 64], f16>
  %y = graph.conv %x, %w stride [2, 2] dilation [1, 1] low [3, 3] high [3, 3] groups 1 : !graph.tensor<[n, 224, 224, 3], f16>, !graph.tensor<[7, 7, 3, 64], f16>
  return %y : !graph.tensor<[n, 112, 112, 64], f16>
}

// Lines of 31 pixels get one more, which the filter does not reach.
// CHECK-LABEL: @odd_lines(
// CHECK: graph.pad %arg0, %{{.*}} low [0, 1, 1, 0] high [0, 1, 2, 1]
// CHECK: graph.conv {{.*}} : <[n, 31, 32, 4], f16>
func.func @odd_lines(%x: !graph.tensor<[n, 29, 29, 3], f16>) -> !graph.tensor<[n, 15, 15, 16], f16> {
  %w = graph.weight "m#w" [] : !graph.tensor<[3, 3, 3, 16], f16>
  %y = graph.conv %x, %w stride [2, 2] dilation [1, 1] low [1, 1] high [1, 1] groups 1 : !graph.tensor<[n, 29, 29, 3], f16>, !graph.tensor<[3, 3, 3, 16], f16>
  return %y : !graph.tensor<[n, 15, 15, 16], f16>
}

// Lines of unknown length begin at units where each pixel has eight channels; the zeros are in memory all the same.
// CHECK-LABEL: @dynamic(
// CHECK: graph.pad %arg0, %{{.*}} low [0, 3, 3, 0] high [0, 3, 3, 5] interior [0, 0, 0, 0] : <[n, h, w, 3], f16>
// CHECK: graph.conv %{{.*}} stride [2, 2] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : <[n, "h + 6", "w + 6", 8], f16>, <[7, 7, 8, 64], f16>
func.func @dynamic(%x: !graph.tensor<[n, h, w, 3], f16>) -> !graph.tensor<[n, "floordiv(h - 1, 2) + 1", "floordiv(w - 1, 2) + 1", 64], f16> {
  %w = graph.weight "m#w" [] : !graph.tensor<[7, 7, 3, 64], f16>
  %y = graph.conv %x, %w stride [2, 2] dilation [1, 1] low [3, 3] high [3, 3] groups 1 : !graph.tensor<[n, h, w, 3], f16>, !graph.tensor<[7, 7, 3, 64], f16>
  return %y : !graph.tensor<[n, "floordiv(h - 1, 2) + 1", "floordiv(w - 1, 2) + 1", 64], f16>
}

// At steps of one pixel, pixels have eight channels; the image stays as it is. The first convolution gets filters of
// zeros for the channels that the second one needs.
// mma.sync copies the 12 channels as they are.
// FEW-LABEL: @eight(
// FEW: graph.pad {{.*}} : <[3, 3, 3, 12], f16>
// FEW-NOT: graph.pad {{.*}} : <[3, 3, 12, 16], f16>
// FEW: return
// CHECK-LABEL: @eight(
// CHECK: graph.pad %arg0, %{{.*}} low [0, 0, 0, 0] high [0, 0, 0, 5]
// CHECK: graph.pad {{.*}} high [0, 0, 0, 4] interior [0, 0, 0, 0] : <[3, 3, 8, 12], f16>
// CHECK: graph.conv {{.*}} low [1, 1] high [1, 1] groups 1 : <[n, 32, 32, 8], f16>, <[3, 3, 8, 16], f16>
// CHECK: graph.pad {{.*}} high [0, 0, 4, 0] interior [0, 0, 0, 0] : <[3, 3, 12, 16], f16>
// CHECK: graph.conv {{.*}} low [1, 1] high [1, 1] groups 1 : <[n, 32, 32, 16], f16>
func.func @eight(%x: !graph.tensor<[n, 32, 32, 3], f16>) -> !graph.tensor<[n, 32, 32, 16], f16> {
  %w = graph.weight "m#w" [] : !graph.tensor<[3, 3, 3, 12], f16>
  %v = graph.weight "m#v" [] : !graph.tensor<[3, 3, 12, 16], f16>
  %y = graph.conv %x, %w stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 1 : !graph.tensor<[n, 32, 32, 3], f16>, !graph.tensor<[3, 3, 3, 12], f16>
  %z = graph.conv %y, %v stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 1 : !graph.tensor<[n, 32, 32, 12], f16>, !graph.tensor<[3, 3, 12, 16], f16>
  return %z : !graph.tensor<[n, 32, 32, 16], f16>
}

// A filter that batch normalisation scales is known when compiling, whatever the operations.
// CHECK-LABEL: @normalised(
// CHECK: graph.pad %{{.*}}, %{{.*}} low [0, 0, 0, 0] high [0, 0, 1, 0] interior [0, 0, 0, 0] : <[7, 7, 3, 64], f16>
// CHECK: graph.conv {{.*}} : <[n, 230, 230, 4], f16>, <[7, 7, 4, 64], f16>
func.func @normalised(%x: !graph.tensor<[n, 224, 224, 3], f16>) -> !graph.tensor<[n, 112, 112, 64], f16> {
  %w = graph.weight "m#w" [] : !graph.tensor<[7, 7, 3, 64], f16>
  %v = graph.weight "m#variance" [] : !graph.tensor<[64], f16>
  %r = graph.rsqrt %v : !graph.tensor<[64], f16>
  %b = graph.broadcast %r : !graph.tensor<[64], f16> to !graph.tensor<[7, 7, 3, 64], f16>
  %s = graph.mul %w, %b : !graph.tensor<[7, 7, 3, 64], f16>
  %y = graph.conv %x, %s stride [2, 2] dilation [1, 1] low [3, 3] high [3, 3] groups 1 : !graph.tensor<[n, 224, 224, 3], f16>, !graph.tensor<[7, 7, 3, 64], f16>
  return %y : !graph.tensor<[n, 112, 112, 64], f16>
}

// What is f32 is left alone unless it will be narrow; groups, one channel, and filters that are computed always are.
// CHECK-LABEL: @others(
// CHECK-NOT: graph.pad
// NARROW-LABEL: @others(
// NARROW: graph.conv {{.*}} : <[n, 8, 8, 8], f32>
// NARROW-NOT: graph.pad
// NARROW: return
func.func @others(%x: !graph.tensor<[n, 8, 8, 3], f32>, %g: !graph.tensor<[n, 8, 8, 6], f16>, %one: !graph.tensor<[n, 8, 8, 1], f16>, %c: !graph.tensor<[3, 3, 6, 8], f16>)
    -> (!graph.tensor<[n, 6, 6, 8], f32>, !graph.tensor<[n, 6, 6, 8], f16>, !graph.tensor<[n, 6, 6, 8], f16>, !graph.tensor<[n, 6, 6, 8], f16>) {
  %w = graph.weight "m#w" [] : !graph.tensor<[3, 3, 3, 8], f32>
  %u = graph.weight "m#u" [] : !graph.tensor<[3, 3, 3, 8], f16>
  %v = graph.weight "m#v" [] : !graph.tensor<[3, 3, 1, 8], f16>
  %0 = graph.conv %x, %w stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[n, 8, 8, 3], f32>, !graph.tensor<[3, 3, 3, 8], f32>
  %1 = graph.conv %g, %u stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 2 : !graph.tensor<[n, 8, 8, 6], f16>, !graph.tensor<[3, 3, 3, 8], f16>
  %2 = graph.conv %one, %v stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[n, 8, 8, 1], f16>, !graph.tensor<[3, 3, 1, 8], f16>
  %3 = graph.conv %g, %c stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[n, 8, 8, 6], f16>, !graph.tensor<[3, 3, 6, 8], f16>
  return %0, %1, %2, %3 : !graph.tensor<[n, 6, 6, 8], f32>, !graph.tensor<[n, 6, 6, 8], f16>, !graph.tensor<[n, 6, 6, 8], f16>, !graph.tensor<[n, 6, 6, 8], f16>
}

// What stays f32 by its node's name is left alone, too.
// NARROW-LABEL: @kept(
// NARROW-COUNT-2: graph.conv {{.*}} : <[n, 8, 8, 8], f32>
// KEPT-LABEL: @kept(
// KEPT: graph.conv {{.*}} : <[n, 8, 8, 3], f32>
// KEPT: graph.conv {{.*}} : <[n, 8, 8, 8], f32>
func.func @kept(%x: !graph.tensor<[n, 8, 8, 3], f32>) -> (!graph.tensor<[n, 6, 6, 8], f32>, !graph.tensor<[n, 6, 6, 8], f32>) {
  %w = graph.weight "m#w" [] : !graph.tensor<[3, 3, 3, 8], f32>
  %0 = graph.conv %x, %w stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[n, 8, 8, 3], f32>, !graph.tensor<[3, 3, 3, 8], f32> loc("stem")
  %1 = graph.conv %x, %w stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[n, 8, 8, 3], f32>, !graph.tensor<[3, 3, 3, 8], f32> loc("body")
  return %0, %1 : !graph.tensor<[n, 6, 6, 8], f32>, !graph.tensor<[n, 6, 6, 8], f32>
}

// Codes of 8 bits lie in units of 16: at steps of two pixels, eight channels and the zeros around the image; else whole units.
// CHECK-LABEL: @codes(
// CHECK: graph.pad %arg0, %{{.*}} low [0, 3, 3, 0] high [0, 3, 3, 5]
// CHECK: graph.conv {{.*}} low [0, 0] high [0, 0] groups 1 : <[n, 38, 38, 8], f8E4M3FN>, <[7, 7, 8, 32], f8E4M3FN>
// CHECK: graph.pad %arg1, %{{.*}} low [0, 0, 0, 0] high [0, 0, 0, 12]
// CHECK: graph.conv {{.*}} low [1, 1] high [1, 1] groups 1 : <[n, 16, 16, 32], f8E4M3FN>, <[3, 3, 32, 16], f8E4M3FN>
func.func @codes(%x: !graph.tensor<[n, 32, 32, 3], f8E4M3FN>, %z: !graph.tensor<[n, 16, 16, 20], f8E4M3FN>)
    -> (!graph.tensor<[n, 16, 16, 32], f32>, !graph.tensor<[n, 16, 16, 16], f32>) {
  %w = graph.weight "m#w" [] : !graph.tensor<[7, 7, 3, 32], f8E4M3FN>
  %v = graph.weight "m#v" [] : !graph.tensor<[3, 3, 20, 16], f8E4M3FN>
  %0 = graph.conv %x, %w stride [2, 2] dilation [1, 1] low [3, 3] high [3, 3] groups 1 : !graph.tensor<[n, 32, 32, 3], f8E4M3FN>, !graph.tensor<[7, 7, 3, 32], f8E4M3FN>
  %1 = graph.conv %z, %v stride [1, 1] dilation [1, 1] low [1, 1] high [1, 1] groups 1 : !graph.tensor<[n, 16, 16, 20], f8E4M3FN>, !graph.tensor<[3, 3, 20, 16], f8E4M3FN>
  return %0, %1 : !graph.tensor<[n, 16, 16, 32], f32>, !graph.tensor<[n, 16, 16, 16], f32>
}

// What squeezes an image's channels: SiLU keeps zeros, and a bias becomes longer.
// CHECK-LABEL: @squeezed(
// CHECK: graph.conv {{.*}} : <[n, 1, 1, 96], f16>, <[1, 1, 96, 8], f16>
// CHECK: graph.pad {{.*}} high [2] interior [0] : <[6], f16>
// CHECK: graph.add {{.*}} : <[n, 1, 1, 8], f16>
// CHECK: graph.sigmoid {{.*}} : <[n, 1, 1, 8], f16>
// CHECK: graph.mul {{.*}} : <[n, 1, 1, 8], f16>
// CHECK: graph.conv {{.*}} : <[n, 1, 1, 8], f16>, <[1, 1, 8, 96], f16>
func.func @squeezed(%x: !graph.tensor<[n, 1, 1, 96], f16>) -> !graph.tensor<[n, 1, 1, 96], f16> {
  %w = graph.weight "m#w" [] : !graph.tensor<[1, 1, 96, 6], f16>
  %v = graph.weight "m#v" [] : !graph.tensor<[1, 1, 6, 96], f16>
  %b = graph.weight "m#b" [] : !graph.tensor<[6], f16>
  %y = graph.conv %x, %w stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[n, 1, 1, 96], f16>, !graph.tensor<[1, 1, 96, 6], f16>
  %c = graph.broadcast %b : !graph.tensor<[6], f16> to !graph.tensor<[n, 1, 1, 6], f16>
  %z = graph.add %y, %c : !graph.tensor<[n, 1, 1, 6], f16>
  %s = graph.sigmoid %z : !graph.tensor<[n, 1, 1, 6], f16>
  %a = graph.mul %z, %s : !graph.tensor<[n, 1, 1, 6], f16>
  %r = graph.conv %a, %v stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[n, 1, 1, 6], f16>, !graph.tensor<[1, 1, 6, 96], f16>
  return %r : !graph.tensor<[n, 1, 1, 96], f16>
}

// A sigmoid of zero is not zero, and a bias that only the run knows cannot become longer.
// CHECK-LABEL: @not_zero(
// CHECK: graph.sigmoid {{.*}} : <[n, 1, 1, 6], f16>
// CHECK: graph.pad {{.*}} high [0, 0, 0, 2] interior [0, 0, 0, 0] : <[n, 1, 1, 6], f16>
// CHECK: graph.add {{.*}} : <[n, 1, 1, 6], f16>
// CHECK: graph.pad {{.*}} high [0, 0, 0, 2] interior [0, 0, 0, 0] : <[n, 1, 1, 6], f16>
func.func @not_zero(%x: !graph.tensor<[n, 1, 1, 96], f16>, %b: !graph.tensor<[6], f16>) -> (!graph.tensor<[n, 1, 1, 96], f16>, !graph.tensor<[n, 1, 1, 96], f16>) {
  %w = graph.weight "m#w" [] : !graph.tensor<[1, 1, 96, 6], f16>
  %u = graph.weight "m#u" [] : !graph.tensor<[1, 1, 96, 6], f16>
  %v = graph.weight "m#v" [] : !graph.tensor<[1, 1, 6, 96], f16>
  %y = graph.conv %x, %w stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[n, 1, 1, 96], f16>, !graph.tensor<[1, 1, 96, 6], f16>
  %s = graph.sigmoid %y : !graph.tensor<[n, 1, 1, 6], f16>
  %r = graph.conv %s, %v stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[n, 1, 1, 6], f16>, !graph.tensor<[1, 1, 6, 96], f16>
  %z = graph.conv %x, %u stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[n, 1, 1, 96], f16>, !graph.tensor<[1, 1, 96, 6], f16>
  %c = graph.broadcast %b : !graph.tensor<[6], f16> to !graph.tensor<[n, 1, 1, 6], f16>
  %a = graph.add %z, %c : !graph.tensor<[n, 1, 1, 6], f16>
  %q = graph.conv %a, %v stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[n, 1, 1, 6], f16>, !graph.tensor<[1, 1, 6, 96], f16>
  return %r, %q : !graph.tensor<[n, 1, 1, 96], f16>, !graph.tensor<[n, 1, 1, 96], f16>
}

// What something else reads keeps its channels.
// CHECK-LABEL: @read_twice(
// CHECK: graph.conv {{.*}} : <[n, 1, 1, 96], f16>, <[1, 1, 96, 6], f16>
// CHECK: graph.pad {{.*}} high [0, 0, 0, 2]
func.func @read_twice(%x: !graph.tensor<[n, 1, 1, 96], f16>) -> (!graph.tensor<[n, 1, 1, 96], f16>, !graph.tensor<[n, 1, 1, 6], f16>) {
  %w = graph.weight "m#w" [] : !graph.tensor<[1, 1, 96, 6], f16>
  %v = graph.weight "m#v" [] : !graph.tensor<[1, 1, 6, 96], f16>
  %y = graph.conv %x, %w stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[n, 1, 1, 96], f16>, !graph.tensor<[1, 1, 96, 6], f16>
  %a = graph.relu %y : !graph.tensor<[n, 1, 1, 6], f16>
  %r = graph.conv %a, %v stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[n, 1, 1, 6], f16>, !graph.tensor<[1, 1, 6, 96], f16>
  return %r, %a : !graph.tensor<[n, 1, 1, 96], f16>, !graph.tensor<[n, 1, 1, 6], f16>
}

// Constants of all elements keep their number: x * min(max(x + 3, 0), 6) is zero for a zero x.
// CHECK-LABEL: @hard_swish(
// CHECK: graph.conv {{.*}} : <[2, 1, 1, 96], f16>, <[1, 1, 96, 8], f16>
// CHECK: %[[THREE:.*]] = graph.constant dense<3.000000e+00> : tensor<f16>
// CHECK: graph.broadcast %[[THREE]] : <[], f16> to <[2, 1, 1, 8], f16>
// CHECK: graph.conv {{.*}} : <[2, 1, 1, 8], f16>, <[1, 1, 8, 96], f16>
func.func @hard_swish(%x: !graph.tensor<[2, 1, 1, 96], f16>) -> !graph.tensor<[2, 1, 1, 96], f16> {
  %w = graph.weight "m#w" [] : !graph.tensor<[1, 1, 96, 6], f16>
  %v = graph.weight "m#v" [] : !graph.tensor<[1, 1, 6, 96], f16>
  %three = graph.constant dense<3.0> : tensor<2x1x1x6xf16>
  %zero = graph.constant dense<0.0> : tensor<2x1x1x6xf16>
  %six = graph.constant dense<6.0> : tensor<2x1x1x6xf16>
  %y = graph.conv %x, %w stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[2, 1, 1, 96], f16>, !graph.tensor<[1, 1, 96, 6], f16>
  %a = graph.add %y, %three : !graph.tensor<[2, 1, 1, 6], f16>
  %b = graph.max %a, %zero : !graph.tensor<[2, 1, 1, 6], f16>
  %c = graph.min %b, %six : !graph.tensor<[2, 1, 1, 6], f16>
  %d = graph.mul %y, %c : !graph.tensor<[2, 1, 1, 6], f16>
  %r = graph.conv %d, %v stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[2, 1, 1, 6], f16>, !graph.tensor<[1, 1, 6, 96], f16>
  return %r : !graph.tensor<[2, 1, 1, 96], f16>
}

// What a kernel may not have as a number is refused: exp(20) is beyond f16, and zero times it no zero.
// CHECK-LABEL: @beyond(
// CHECK: graph.pad {{.*}} high [0, 0, 0, 2] interior [0, 0, 0, 0] : <[2, 1, 1, 6], f16>
func.func @beyond(%x: !graph.tensor<[2, 1, 1, 96], f16>) -> !graph.tensor<[2, 1, 1, 96], f16> {
  %w = graph.weight "m#w" [] : !graph.tensor<[1, 1, 96, 6], f16>
  %v = graph.weight "m#v" [] : !graph.tensor<[1, 1, 6, 96], f16>
  %twenty = graph.constant dense<20.0> : tensor<2x1x1x6xf16>
  %y = graph.conv %x, %w stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[2, 1, 1, 96], f16>, !graph.tensor<[1, 1, 96, 6], f16>
  %a = graph.sub %twenty, %y : !graph.tensor<[2, 1, 1, 6], f16>
  %b = graph.exp %a : !graph.tensor<[2, 1, 1, 6], f16>
  %c = graph.mul %y, %b : !graph.tensor<[2, 1, 1, 6], f16>
  %r = graph.conv %c, %v stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[2, 1, 1, 6], f16>, !graph.tensor<[1, 1, 6, 96], f16>
  return %r : !graph.tensor<[2, 1, 1, 96], f16>
}

// A convolution in between stays f32, and its input as long as it is.
// KEPT-LABEL: @in_between(
// KEPT: graph.conv {{.*}} : <[n, 1, 1, 12], f32>, <[1, 1, 12, 12], f32>
func.func @in_between(%x: !graph.tensor<[n, 1, 1, 96], f32>) -> !graph.tensor<[n, 1, 1, 96], f32> {
  %w = graph.weight "m#w" [] : !graph.tensor<[1, 1, 96, 12], f32>
  %u = graph.weight "m#u" [] : !graph.tensor<[1, 1, 12, 12], f32>
  %v = graph.weight "m#v" [] : !graph.tensor<[1, 1, 12, 96], f32>
  %y = graph.conv %x, %w stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[n, 1, 1, 96], f32>, !graph.tensor<[1, 1, 96, 12], f32>
  %z = graph.conv %y, %u stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[n, 1, 1, 12], f32>, !graph.tensor<[1, 1, 12, 12], f32> loc("stem")
  %s = graph.add %z, %y : !graph.tensor<[n, 1, 1, 12], f32>
  %r = graph.conv %s, %v stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[n, 1, 1, 12], f32>, !graph.tensor<[1, 1, 12, 96], f32>
  return %r : !graph.tensor<[n, 1, 1, 96], f32>
}

// Nothing is followed out of the body of a loop or a branch.
// CHECK-LABEL: @branch(
// CHECK: graph.conv {{.*}} : <[n, 1, 1, 96], f16>, <[1, 1, 96, 6], f16>
// CHECK: graph.if
// CHECK: graph.pad {{.*}} high [0, 0, 0, 2]
func.func @branch(%x: !graph.tensor<[n, 1, 1, 96], f16>, %is: !graph.tensor<[], i1>) -> !graph.tensor<[n, 1, 1, 96], f16> {
  %w = graph.weight "m#w" [] : !graph.tensor<[1, 1, 96, 6], f16>
  %v = graph.weight "m#v" [] : !graph.tensor<[1, 1, 6, 96], f16>
  %y = graph.conv %x, %w stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[n, 1, 1, 96], f16>, !graph.tensor<[1, 1, 96, 6], f16>
  %r = graph.if %is : (!graph.tensor<[], i1>) -> !graph.tensor<[n, 1, 1, 96], f16> {
    %a = graph.relu %y : !graph.tensor<[n, 1, 1, 6], f16>
    %c = graph.conv %a, %v stride [1, 1] dilation [1, 1] low [0, 0] high [0, 0] groups 1 : !graph.tensor<[n, 1, 1, 6], f16>, !graph.tensor<[1, 1, 6, 96], f16>
    graph.yield %c : !graph.tensor<[n, 1, 1, 96], f16>
  } else {
    graph.yield %x : !graph.tensor<[n, 1, 1, 96], f16>
  }
  return %r : !graph.tensor<[n, 1, 1, 96], f16>
}
