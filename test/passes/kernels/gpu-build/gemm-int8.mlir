// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_80 %s | FileCheck %s --check-prefix=SYNC

// Integers of 8 bits, with and without a sign: sums are i32, and what the kernel makes of them is part of it.

// CHECK-LABEL: gpu.module @bytes
// CHECK: kernel.schedule = #kernel.schedule<"gemm
// CHECK: tile.mma %{{.*}}, %{{.*}} transposed :
// CHECK: tile.wgmma_wait
// CHECK: tile.map
// CHECK: arith.sitofp
// SYNC-LABEL: gpu.module @bytes
// SYNC: kernel.schedule = #kernel.schedule<"mmasync
// SYNC: tile.load_factors %{{.*}}, %{{.*}} transposed step
// SYNC: tile.map
// SYNC: arith.sitofp
func.func @bytes(%a_p: memref<i8>, %b_p: memref<i8>, %d_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %a_m = memref.reinterpret_cast %a_p to offset: [0], sizes: [128, 256], strides: [256, 1] : memref<i8> to memref<128x256xi8, strided<[256, 1]>>
  %a_t = bufferization.to_tensor %a_m restrict : memref<128x256xi8, strided<[256, 1]>> to tensor<128x256xi8>
  %a_e = tensor.empty() : tensor<128x256xi32>
  %a = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a_t : tensor<128x256xi8>) outs(%a_e : tensor<128x256xi32>) {
  ^bb0(%x: i8, %y: i32):
    %w = arith.extui %x : i8 to i32
    linalg.yield %w : i32
  } -> tensor<128x256xi32>
  %b_m = memref.reinterpret_cast %b_p to offset: [0], sizes: [256, 64], strides: [1, 256] : memref<i8> to memref<256x64xi8, strided<[1, 256]>>
  %b_t = bufferization.to_tensor %b_m restrict : memref<256x64xi8, strided<[1, 256]>> to tensor<256x64xi8>
  %b_e = tensor.empty() : tensor<256x64xi32>
  %b = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%b_t : tensor<256x64xi8>) outs(%b_e : tensor<256x64xi32>) {
  ^bb0(%x: i8, %y: i32):
    %w = arith.extsi %x : i8 to i32
    linalg.yield %w : i32
  } -> tensor<256x64xi32>
  %d_m = memref.reinterpret_cast %d_p to offset: [0], sizes: [128, 64], strides: [64, 1] : memref<f32> to memref<128x64xf32, strided<[64, 1]>>
  %e = tensor.empty() : tensor<128x64xi32>
  %zero = arith.constant 0 : i32
  %zeros = linalg.fill ins(%zero : i32) outs(%e : tensor<128x64xi32>) -> tensor<128x64xi32>
  %d = kernel.gemm %a, %b into %zeros : (tensor<128x256xi32>, tensor<256x64xi32>, tensor<128x64xi32>) -> tensor<128x64xi32>
  %f_e = tensor.empty() : tensor<128x64xf32>
  %f = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%d : tensor<128x64xi32>) outs(%f_e : tensor<128x64xf32>) {
  ^bb0(%x: i32, %y: f32):
    %w = arith.sitofp %x : i32 to f32
    linalg.yield %w : f32
  } -> tensor<128x64xf32>
  bufferization.materialize_in_destination %f in restrict writable %d_m : (tensor<128x64xf32>, memref<128x64xf32, strided<[64, 1]>>) -> ()
  return
}

// Bytes that are contiguous along N are not loaded.
// CHECK-LABEL: gpu.module @turned
// CHECK-NOT: tile.
// SYNC-LABEL: gpu.module @turned
// SYNC-NOT: tile.
func.func @turned(%a_p: memref<i8>, %b_p: memref<i8>, %d_p: memref<i32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %a_m = memref.reinterpret_cast %a_p to offset: [0], sizes: [128, 256], strides: [256, 1] : memref<i8> to memref<128x256xi8, strided<[256, 1]>>
  %a_t = bufferization.to_tensor %a_m restrict : memref<128x256xi8, strided<[256, 1]>> to tensor<128x256xi8>
  %a_e = tensor.empty() : tensor<128x256xi32>
  %a = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a_t : tensor<128x256xi8>) outs(%a_e : tensor<128x256xi32>) {
  ^bb0(%x: i8, %y: i32):
    %w = arith.extsi %x : i8 to i32
    linalg.yield %w : i32
  } -> tensor<128x256xi32>
  %b_m = memref.reinterpret_cast %b_p to offset: [0], sizes: [256, 64], strides: [64, 1] : memref<i8> to memref<256x64xi8, strided<[64, 1]>>
  %b_t = bufferization.to_tensor %b_m restrict : memref<256x64xi8, strided<[64, 1]>> to tensor<256x64xi8>
  %b_e = tensor.empty() : tensor<256x64xi32>
  %b = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%b_t : tensor<256x64xi8>) outs(%b_e : tensor<256x64xi32>) {
  ^bb0(%x: i8, %y: i32):
    %w = arith.extsi %x : i8 to i32
    linalg.yield %w : i32
  } -> tensor<256x64xi32>
  %d_m = memref.reinterpret_cast %d_p to offset: [0], sizes: [128, 64], strides: [64, 1] : memref<i32> to memref<128x64xi32, strided<[64, 1]>>
  %e = tensor.empty() : tensor<128x64xi32>
  %zero = arith.constant 0 : i32
  %zeros = linalg.fill ins(%zero : i32) outs(%e : tensor<128x64xi32>) -> tensor<128x64xi32>
  %d = kernel.gemm %a, %b into %zeros : (tensor<128x256xi32>, tensor<256x64xi32>, tensor<128x64xi32>) -> tensor<128x64xi32>
  bufferization.materialize_in_destination %d in restrict writable %d_m : (tensor<128x64xi32>, memref<128x64xi32, strided<[64, 1]>>) -> ()
  return
}
