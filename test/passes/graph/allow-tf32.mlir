// RUN: kpc-opt --allow-tf32 %s | FileCheck %s

// A GEMM of f32 may be made of tf32, and a kernel that sums up products of f32 otherwise; one of f64, or without sums,
// says nothing.

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

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
// CHECK: func.func @product({{.*}}) attributes {kernel.buffers = #kernel.buffers<reads = [], writes = [2]>, kernel.tf32}
func.func @product(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>, %y: tensor<4x4xf32>) attributes {kernel.buffers = #kernel.buffers<reads = [], writes = [2]>} {
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x8xf32>, tensor<8x4xf32>) outs(%y : tensor<4x4xf32>) {
  ^bb0(%l: f32, %r: f32, %s: f32):
    %p = arith.mulf %l, %r : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<4x4xf32>
  return
}

// CHECK: func.func @doubles({{.*}}) attributes {kernel.buffers = #kernel.buffers<reads = [], writes = [2]>}
func.func @doubles(%x: tensor<4x8xf64>, %w: tensor<8x4xf64>, %y: tensor<4x4xf64>) attributes {kernel.buffers = #kernel.buffers<reads = [], writes = [2]>} {
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<4x8xf64>, tensor<8x4xf64>) outs(%y : tensor<4x4xf64>) {
  ^bb0(%l: f64, %r: f64, %s: f64):
    %p = arith.mulf %l, %r : f64
    %t = arith.addf %s, %p : f64
    linalg.yield %t : f64
  } -> tensor<4x4xf64>
  return
}

// CHECK: func.func @map({{.*}}) attributes {kernel.buffers = #kernel.buffers<reads = [], writes = [1]>}
func.func @map(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) attributes {kernel.buffers = #kernel.buffers<reads = [], writes = [1]>} {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%y : tensor<4x4xf32>) {
  ^bb0(%l: f32, %s: f32):
    linalg.yield %l : f32
  } -> tensor<4x4xf32>
  return
}
