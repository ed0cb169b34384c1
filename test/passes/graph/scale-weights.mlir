// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(scale-weights{group=32}))' | FileCheck %s
// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(scale-weights{group=32}))' --remark-format=emitRemark --remarks-filter=quantisation 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

!x = !graph.tensor<[32, 2], f32>
!w = !graph.tensor<[2, 8], f32>
!y = !graph.tensor<[32, 8], f32>

module attributes {graph.calibration = {
    outlier = {least = -100.0 : f64, greatest = 100.0 : f64, range = 100.0 : f64,
               largest = dense<[100.0, 1.0]> : tensor<2xf32>, mean = dense<0.0> : tensor<2xf32>, rms = dense<[30.0, 0.3]> : tensor<2xf32>},
    even = {least = -1.0 : f64, greatest = 1.0 : f64, range = 1.0 : f64,
            largest = dense<1.0> : tensor<2xf32>, mean = dense<0.0> : tensor<2xf32>, rms = dense<0.3> : tensor<2xf32>}}} {

// The row that a hundred times as great numbers multiply gets most of the group's range, for which they are divided.
// CHECK-LABEL: @outlier(
// CHECK-SAME: %[[X:[^:]*]]: !graph.tensor<[32, 2], f32>
// CHECK: %[[W:.*]] = graph.constant
// CHECK: %[[D:.*]] = graph.mul %[[X]], %{{.*}} : <[32, 2], f32>
// CHECK: %[[M:.*]] = graph.mul %[[W]], %{{.*}} : <[2, 8], f32>
// CHECK: graph.matmul %[[D]], %[[M]] {graph.divided = dense<{{.*}}> : tensor<2xf32>, graph.operand = {
// REMARK: remark: loc("outlier"): [Passed] scaled | {{.*}}"{{[0-9.]+}} dB", Remark=" before, ", Remark="{{[0-9.]+}} dB", Remark=" after."
func.func @outlier(%x: !x) -> !y {
  %w = graph.constant dense<[[1.0, 0.51, 0.25, -1.0, 0.3, 0.7, -0.2, 0.9], [-1.6, -2.5, 2.15, 1.0, -1.3, 1.7, 1.2, -1.9]]> : tensor<2x8xf32>
  %y = graph.matmul %x, %w : !x, !w loc("outlier")
  return %y : !y
}

// Nothing is gained.
// CHECK-LABEL: @even(
// CHECK-NOT: graph.mul
// CHECK: return
func.func @even(%x: !x) -> !y {
  %w = graph.constant dense<[[1.0, 0.5, 0.25, -1.0, 0.3, 0.7, -0.2, 0.9], [0.6, -0.5, 0.15, 1.0, -0.3, 0.7, 0.2, -0.9]]> : tensor<2x8xf32>
  %y = graph.matmul %x, %w : !x, !w loc("even")
  return %y : !y
}
}
