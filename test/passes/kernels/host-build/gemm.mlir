// RUN: kpc-opt --kpc-host-build-kernel=vector-bits=256 %s | FileCheck %s

// The named GEMM on the host: a tile, as of a generic that multiplies and adds up.

// CHECK-LABEL: func.func @gemm(
// CHECK-SAME: kernel.schedule = #kernel.schedule<"tile
// CHECK: vector.fma
func.func @gemm(%a_p: memref<f32>, %b_p: memref<f32>, %d_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %a_m = memref.reinterpret_cast %a_p to offset: [0], sizes: [8, 64], strides: [64, 1] : memref<f32> to memref<8x64xf32, strided<[64, 1]>>
  %a_t = bufferization.to_tensor %a_m restrict : memref<8x64xf32, strided<[64, 1]>> to tensor<8x64xf32>
  %b_m = memref.reinterpret_cast %b_p to offset: [0], sizes: [64, 24], strides: [24, 1] : memref<f32> to memref<64x24xf32, strided<[24, 1]>>
  %b_t = bufferization.to_tensor %b_m restrict : memref<64x24xf32, strided<[24, 1]>> to tensor<64x24xf32>
  %d_m = memref.reinterpret_cast %d_p to offset: [0], sizes: [8, 24], strides: [24, 1] : memref<f32> to memref<8x24xf32, strided<[24, 1]>>
  %e = tensor.empty() : tensor<8x24xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<8x24xf32>) -> tensor<8x24xf32>
  %d = kernel.gemm %a_t, %b_t into %zeros : (tensor<8x64xf32>, tensor<64x24xf32>, tensor<8x24xf32>) -> tensor<8x24xf32>
  bufferization.materialize_in_destination %d in restrict writable %d_m : (tensor<8x24xf32>, memref<8x24xf32, strided<[24, 1]>>) -> ()
  return
}

// CHECK-LABEL: func.func @shared(
// CHECK-SAME: kernel.schedule = #kernel.schedule<"tile
// CHECK: vector.fma
func.func @shared(%a_p: memref<f32>, %b_p: memref<f32>, %d_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %a_m = memref.reinterpret_cast %a_p to offset: [0], sizes: [3, 8, 64], strides: [512, 64, 1] : memref<f32> to memref<3x8x64xf32, strided<[512, 64, 1]>>
  %a_t = bufferization.to_tensor %a_m restrict : memref<3x8x64xf32, strided<[512, 64, 1]>> to tensor<3x8x64xf32>
  %b_m = memref.reinterpret_cast %b_p to offset: [0], sizes: [1, 64, 24], strides: [1536, 24, 1] : memref<f32> to memref<1x64x24xf32, strided<[1536, 24, 1]>>
  %b_t = bufferization.to_tensor %b_m restrict : memref<1x64x24xf32, strided<[1536, 24, 1]>> to tensor<1x64x24xf32>
  %d_m = memref.reinterpret_cast %d_p to offset: [0], sizes: [3, 8, 24], strides: [192, 24, 1] : memref<f32> to memref<3x8x24xf32, strided<[192, 24, 1]>>
  %e = tensor.empty() : tensor<3x8x24xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<3x8x24xf32>) -> tensor<3x8x24xf32>
  %d = kernel.gemm %a_t, %b_t into %zeros : (tensor<3x8x64xf32>, tensor<1x64x24xf32>, tensor<3x8x24xf32>) -> tensor<3x8x24xf32>
  bufferization.materialize_in_destination %d in restrict writable %d_m : (tensor<3x8x24xf32>, memref<3x8x24xf32, strided<[192, 24, 1]>>) -> ()
  return
}

// CHECK-LABEL: func.func @integers(
// CHECK-SAME: kernel.schedule = #kernel.schedule<"tile
// CHECK: arith.muli %{{.*}} : vector<8xi32>
func.func @integers(%a_p: memref<i32>, %b_p: memref<i32>, %d_p: memref<i32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %a_m = memref.reinterpret_cast %a_p to offset: [0], sizes: [8, 64], strides: [64, 1] : memref<i32> to memref<8x64xi32, strided<[64, 1]>>
  %a_t = bufferization.to_tensor %a_m restrict : memref<8x64xi32, strided<[64, 1]>> to tensor<8x64xi32>
  %b_m = memref.reinterpret_cast %b_p to offset: [0], sizes: [64, 24], strides: [24, 1] : memref<i32> to memref<64x24xi32, strided<[24, 1]>>
  %b_t = bufferization.to_tensor %b_m restrict : memref<64x24xi32, strided<[24, 1]>> to tensor<64x24xi32>
  %d_m = memref.reinterpret_cast %d_p to offset: [0], sizes: [8, 24], strides: [24, 1] : memref<i32> to memref<8x24xi32, strided<[24, 1]>>
  %e = tensor.empty() : tensor<8x24xi32>
  %zero = arith.constant 0 : i32
  %zeros = linalg.fill ins(%zero : i32) outs(%e : tensor<8x24xi32>) -> tensor<8x24xi32>
  %d = kernel.gemm %a_t, %b_t into %zeros : (tensor<8x64xi32>, tensor<64x24xi32>, tensor<8x24xi32>) -> tensor<8x24xi32>
  bufferization.materialize_in_destination %d in restrict writable %d_m : (tensor<8x24xi32>, memref<8x24xi32, strided<[24, 1]>>) -> ()
  return
}

// A long sum is put aside after 512 products, so that it is not rounded at every step by what has come together.

// CHECK-LABEL: func.func @long(
// CHECK-SAME: kernel.schedule = #kernel.schedule<"tile
// CHECK-DAG: %[[BLOCK:.*]] = arith.constant 512 : index
// CHECK: scf.for {{.*}} step %[[BLOCK]] iter_args(%[[ALL:[^ ]+]] =
// CHECK: %[[NONE:.*]] = arith.constant dense<-0.000000e+00> : vector<8xf32>
// CHECK: %[[SOME:[^:]+]]:{{.*}} = scf.for {{.*}} iter_args(%{{.*}} = %[[NONE]]
// CHECK: vector.fma
// CHECK: arith.addf %[[ALL]], %[[SOME]]#0
func.func @long(%a_p: memref<f32>, %b_p: memref<f32>, %d_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %a_m = memref.reinterpret_cast %a_p to offset: [0], sizes: [8, 2048], strides: [2048, 1] : memref<f32> to memref<8x2048xf32, strided<[2048, 1]>>
  %a_t = bufferization.to_tensor %a_m restrict : memref<8x2048xf32, strided<[2048, 1]>> to tensor<8x2048xf32>
  %b_m = memref.reinterpret_cast %b_p to offset: [0], sizes: [2048, 24], strides: [24, 1] : memref<f32> to memref<2048x24xf32, strided<[24, 1]>>
  %b_t = bufferization.to_tensor %b_m restrict : memref<2048x24xf32, strided<[24, 1]>> to tensor<2048x24xf32>
  %d_m = memref.reinterpret_cast %d_p to offset: [0], sizes: [8, 24], strides: [24, 1] : memref<f32> to memref<8x24xf32, strided<[24, 1]>>
  %e = tensor.empty() : tensor<8x24xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<8x24xf32>) -> tensor<8x24xf32>
  %d = kernel.gemm %a_t, %b_t into %zeros : (tensor<8x2048xf32>, tensor<2048x24xf32>, tensor<8x24xf32>) -> tensor<8x24xf32>
  bufferization.materialize_in_destination %d in restrict writable %d_m : (tensor<8x24xf32>, memref<8x24xf32, strided<[24, 1]>>) -> ()
  return
}
