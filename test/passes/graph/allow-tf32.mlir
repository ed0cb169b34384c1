// RUN: kpc-opt --allow-tf32 %s | FileCheck %s

// A GEMM or a convolution of f32 may be made of tf32; one of f64 says nothing.

// CHECK: func.func @gemm({{.*}}) attributes {kernel.buffers = #kernel.buffers<reads = [], writes = [2]>} {
// CHECK: kernel.gemm %{{.*}}, %{{.*}} tf32 into
func.func @gemm(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>, %y: tensor<4x4xf32>) attributes {kernel.buffers = #kernel.buffers<reads = [], writes = [2]>} {
  %0 = kernel.gemm %x, %w into %y : (tensor<4x8xf32>, tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// CHECK: func.func @gemm_of_doubles(
// CHECK: kernel.gemm %{{.*}}, %{{.*}} into
func.func @gemm_of_doubles(%x: tensor<4x8xf64>, %w: tensor<8x4xf64>, %y: tensor<4x4xf64>) attributes {kernel.buffers = #kernel.buffers<reads = [], writes = [2]>} {
  %0 = kernel.gemm %x, %w into %y : (tensor<4x8xf64>, tensor<8x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  return
}

// CHECK: func.func @conv({{.*}}) attributes {kernel.buffers = #kernel.buffers<reads = [], writes = [2]>} {
// CHECK: kernel.conv %{{.*}}, %{{.*}} strides [1] dilations [1] groups 2 tf32 into
func.func @conv(%x: tensor<4x8x4xf32>, %w: tensor<3x2x6xf32>, %y: tensor<4x6x6xf32>) attributes {kernel.buffers = #kernel.buffers<reads = [], writes = [2]>} {
  %0 = kernel.conv %x, %w strides [1] dilations [1] groups 2 into %y : (tensor<4x8x4xf32>, tensor<3x2x6xf32>, tensor<4x6x6xf32>) -> tensor<4x6x6xf32>
  return
}

// CHECK: func.func @conv_of_doubles(
// CHECK: kernel.conv %{{.*}}, %{{.*}} strides [1] dilations [1] into
func.func @conv_of_doubles(%x: tensor<4x8x4xf64>, %w: tensor<3x4x6xf64>, %y: tensor<4x6x6xf64>) attributes {kernel.buffers = #kernel.buffers<reads = [], writes = [2]>} {
  %0 = kernel.conv %x, %w strides [1] dilations [1] into %y : (tensor<4x8x4xf64>, tensor<3x4x6xf64>, tensor<4x6x6xf64>) -> tensor<4x6x6xf64>
  return
}

// A sum of f32 is neither.
// CHECK: func.func @sum({{.*}}) attributes {kernel.buffers = #kernel.buffers<reads = [], writes = [1]>} {
// CHECK-NOT: tf32
func.func @sum(%x: tensor<4x8xf32>, %y: tensor<4xf32>) attributes {kernel.buffers = #kernel.buffers<reads = [], writes = [1]>} {
  %0 = linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x8xf32>) outs(%y : tensor<4xf32>) {
  ^bb0(%l: f32, %s: f32):
    %t = arith.addf %s, %l : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  return
}
