// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(round-by-feedback{group=32}))' | FileCheck %s
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(round-by-feedback{group=32}))' --remark-format=emitRemark --remarks-filter=quantisation 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

!x = !graph.tensor<[n, 4], f32>
!w = !graph.tensor<[4, 1], f32>
!y = !graph.tensor<[n, 1], f32>

// The first two channels are nearly the same: what rounding 4.4 takes, 4.4 gets back. Alone, both would be 4.
module attributes {graph.calibration = {
    alike = {least = -1.0 : f64, greatest = 1.0 : f64, range = 1.0 : f64,
             products = dense<[1.0, 0.99, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0]> : tensor<10xf32>},
    even = {least = -1.0 : f64, greatest = 1.0 : f64, range = 1.0 : f64}}} {

// CHECK-LABEL: @alike(
// CHECK: graph.constant dense<[84, 240]> : tensor<2xui8>
// CHECK: graph.dequantise
// REMARK: remark: loc("alike"): [Passed] feedback | {{.*}}"26.8 dB", Remark=" before, ", Remark="38.3 dB", Remark=" after."
func.func @alike(%x: !x) -> !y {
  %w = graph.constant dense<[[4.4], [4.4], [0.0], [15.0]]> : tensor<4x1xf32>
  %y = graph.matmul %x, %w : !x, !w loc("alike")
  return %y : !y
}

// Calibration kept nothing of it: quantise-weights rounds it.
// CHECK-LABEL: @even(
// CHECK-NOT: graph.dequantise
// CHECK: return
func.func @even(%x: !x) -> !y {
  %w = graph.constant dense<[[4.4], [4.4], [0.0], [15.0]]> : tensor<4x1xf32>
  %y = graph.matmul %x, %w : !x, !w loc("even")
  return %y : !y
}
}
