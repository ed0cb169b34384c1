// RUN: kpc-opt %s --pass-pipeline='builtin.module(func.func(correct-bias))' | FileCheck %s

!x = !graph.tensor<[32, 2], f32>
!w = !graph.tensor<[2, 8], f32>
!y = !graph.tensor<[32, 8], f32>

module attributes {graph.calibration = {
    biased = {least = 0.0 : f64, greatest = 2.0 : f64, range = 2.0 : f64,
              largest = dense<2.0> : tensor<2xf32>, mean = dense<1.9> : tensor<2xf32>, rms = dense<1.9> : tensor<2xf32>},
    centred = {least = -1.0 : f64, greatest = 1.0 : f64, range = 1.0 : f64,
               largest = dense<1.0> : tensor<2xf32>, mean = dense<0.0> : tensor<2xf32>, rms = dense<0.3> : tensor<2xf32>}}} {

// What the rounded weights lack, times the means, is added to each column.
// CHECK-LABEL: @biased(
// CHECK: %[[P:.*]] = graph.matmul
// CHECK: graph.constant dense<[0.00299214711, -0.00182517467, 6.3436327E-4, 0.000000e+00, 0.00189997547, -0.00189997547, 3.74032563E-4, 0.000000e+00]> : tensor<8xf32>
// CHECK: %[[B:.*]] = graph.broadcast %{{.*}} to <[32, 8], f32>
// CHECK: %[[Y:.*]] = graph.add %[[P]], %[[B]]
// CHECK: return %[[Y]]
func.func @biased(%x: !x) -> !y {
  %w = graph.constant dense<[[1.0, 0.503, 0.2501, -1.0, 0.301, 0.701, -0.203, 0.9], [0.6, -0.5, 0.15, 1.0, -0.3, 0.7, 0.2, -0.9]]> : tensor<2x8xf32>
  %y = graph.matmul %x, %w : !x, !w loc("biased")
  return %y : !y
}

// A bias that the model adds has the vector added to it when compiling. Of
// each column, what is added is 1 less than in the function above.
// CHECK-LABEL: @own_bias(
// CHECK: %[[P:.*]] = graph.matmul
// CHECK: graph.constant dense<[-0.997007846, -1.00182521, -0.999365627, -1.000000e+00, -0.998100042, -1.001900e+00, -0.99962598, -1.000000e+00]> : tensor<8xf32>
// CHECK: %[[B:.*]] = graph.broadcast %{{.*}} to <[32, 8], f32>
// CHECK: %[[Y:.*]] = graph.add %[[P]], %[[B]]
// CHECK: return %[[Y]]
func.func @own_bias(%x: !x) -> !y {
  %w = graph.constant dense<[[1.0, 0.503, 0.2501, -1.0, 0.301, 0.701, -0.203, 0.9], [0.6, -0.5, 0.15, 1.0, -0.3, 0.7, 0.2, -0.9]]> : tensor<2x8xf32>
  %b = graph.constant dense<-1.0> : tensor<8xf32>
  %rows = graph.broadcast %b : <[8], f32> to !y
  %y = graph.matmul %x, %w : !x, !w loc("biased")
  %z = graph.add %rows, %y : !y
  return %z : !y
}

// Nothing is gained where the means are 0.
// CHECK-LABEL: @centred(
// CHECK-NOT: graph.add
// CHECK: return
func.func @centred(%x: !x) -> !y {
  %w = graph.constant dense<[[1.0, 0.503, 0.2501, -1.0, 0.301, 0.701, -0.203, 0.9], [0.6, -0.5, 0.15, 1.0, -0.3, 0.7, 0.2, -0.9]]> : tensor<2x8xf32>
  %y = graph.matmul %x, %w : !x, !w loc("centred")
  return %y : !y
}
}
