// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(smooth-channels))' | FileCheck %s

!x = !graph.tensor<[32, 2], f32>
!w = !graph.tensor<[2, 8], f32>
!y = !graph.tensor<[32, 8], f32>

module attributes {graph.calibration = {
    outlier = {least = -100.0 : f64, greatest = 100.0 : f64, range = 100.0 : f64,
               largest = dense<[100.0, 1.0]> : tensor<2xf32>, mean = dense<0.0> : tensor<2xf32>, rms = dense<[30.0, 0.3]> : tensor<2xf32>},
    even = {least = -1.0 : f64, greatest = 1.0 : f64, range = 1.0 : f64,
            largest = dense<1.0> : tensor<2xf32>, mean = dense<0.0> : tensor<2xf32>, rms = dense<0.3> : tensor<2xf32>}}} {

// A channel is a hundred times as great as the other: what it is divided by, its row of the weight is multiplied by. What is known of
// the new operand stands at the product.
// CHECK-LABEL: @outlier(
// CHECK-SAME: %[[X:[^:]*]]: !graph.tensor<[32, 2], f32>
// CHECK: %[[W:.*]] = graph.constant
// CHECK: graph.constant dense<{{.*}}> : tensor<1x2xf32>
// CHECK: %[[D:.*]] = graph.mul %[[X]], %{{.*}} : <[32, 2], f32>
// CHECK: graph.constant dense<{{.*}}> : tensor<2x1xf32>
// CHECK: %[[M:.*]] = graph.mul %[[W]], %{{.*}} : <[2, 8], f32>
// CHECK: graph.matmul %[[D]], %[[M]] {graph.operand = {greatest = {{.*}}, largest = {{.*}}, least = {{.*}}, mean = {{.*}}, range = {{.*}}, rms = {{.*}}}}
func.func @outlier(%x: !x) -> !y {
  %w = graph.constant dense<[[1.0, 0.5, 0.25, -1.0, 0.3, 0.7, -0.2, 0.9], [0.6, -0.5, 0.15, 1.0, -0.3, 0.7, 0.2, -0.9]]> : tensor<2x8xf32>
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

// Two products of one operand that multiply other types have factors of their own; one that stays as it is reads the operand.
// CHECK-LABEL: @types(
// CHECK-SAME: %[[X:[^:]*]]: !graph.tensor<[32, 2], f32>
// CHECK: %[[I:.*]] = graph.mul %[[X]], %{{.*}} : <[32, 2], f32>
// CHECK: graph.matmul %[[I]], %{{.*}}graph.precision = "int8"
// CHECK: graph.matmul %[[X]], %{{.*}}graph.precision = "none"
func.func @types(%x: !x) -> (!y, !y) {
  %w = graph.constant dense<[[1.0, 0.5, 0.25, -1.0, 0.3, 0.7, -0.2, 0.9], [0.6, -0.5, 0.15, 1.0, -0.3, 0.7, 0.2, -0.9]]> : tensor<2x8xf32>
  %0 = graph.matmul %x, %w {graph.precision = "int8"} : !x, !w loc("outlier")
  %1 = graph.matmul %x, %w {graph.precision = "none"} : !x, !w loc("outlier")
  return %0, %1 : !y, !y
}
}
