// RUN: not kpc-opt %s --pass-pipeline='builtin.module(func.func(round-by-feedback))' 2>&1 | FileCheck %s

// CHECK: error: {{.*}}expected mean products of 4 channels in the calibration, got 3 numbers; calibrate again with this model
module attributes {graph.calibration = {
    short = {least = -1.0 : f64, greatest = 1.0 : f64, range = 1.0 : f64, products = dense<1.0> : tensor<3xf32>}}} {
func.func @short(%x: !graph.tensor<[n, 4], f32>) -> !graph.tensor<[n, 1], f32> {
  %w = graph.constant dense<1.0> : tensor<4x1xf32>
  %y = graph.matmul %x, %w : !graph.tensor<[n, 4], f32>, !graph.tensor<[4, 1], f32> loc("short")
  return %y : !graph.tensor<[n, 1], f32>
}
}
