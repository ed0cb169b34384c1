// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_80 %s | FileCheck %s --check-prefix=SYNC

// Results of 32 bits, and f32 that may be multiplied as tf32.

// Sums leave as they are, in lines of 32 columns.
// CHECK-DAG: !smem{{[0-9]*}} = !tile.smem<[{{[0-9]+}}, 64], f32, swizzle 128>
// CHECK-LABEL: gpu.module @single_result
// CHECK: kernel.schedule = #kernel.schedule<"gemm
// CHECK-SAME: kernel.tensor_maps = [{{.*}}#kernel.tensor_map<buffer = 2, element = f32, dims = ["64", "arg3"], strides = ["256"], box = [32, 64], swizzle = 128>]
// CHECK: tile.store_shared
// SYNC-LABEL: gpu.module @single_result
// SYNC: kernel.schedule = #kernel.schedule<"mmasync
// SYNC: tile.store_global %{{.*}} by 16 whole : !{{.*}}, memref<?xf32
func.func @single_result(%x_p: memref<bf16>, %w_p: memref<bf16>, %y_p: memref<f32>, %m: index) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<bf16> to memref<?x64xbf16, strided<[64, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x64xbf16, strided<[64, 1]>> to tensor<?x64xbf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [64, 64], strides: [64, 1] : memref<bf16> to memref<64x64xbf16, strided<[64, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<64x64xbf16, strided<[64, 1]>> to tensor<64x64xbf16>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<f32> to memref<?x64xf32, strided<[64, 1]>>
  %s_empty = tensor.empty(%m) : tensor<?x64xf32>
  %zero = arith.constant 0.0 : f32
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x64xf32>) -> tensor<?x64xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x64xbf16>, tensor<64x64xbf16>) outs(%s_fill : tensor<?x64xf32>) {
  ^bb0(%x: bf16, %w: bf16, %s: f32):
    %e = arith.extf %x : bf16 to f32
    %f = arith.extf %w : bf16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x64xf32>
  bufferization.materialize_in_destination %s_t in restrict writable %y_m : (tensor<?x64xf32>, memref<?x64xf32, strided<[64, 1]>>) -> ()
  return
}

// Copies round to tf32; a line of 128 bytes has 32 elements of the sum.
// CHECK-LABEL: gpu.module @tf32
// CHECK: kernel.schedule = #kernel.schedule<"gemm {{[0-9]+}}x{{[0-9]+}}x32 stages
// CHECK-SAME: element = tf32
// CHECK-SAME: element = tf32
// CHECK-SAME: element = f32
// CHECK: tile.mma %{{.*}}, %{{.*}} transposed : !smem{{[0-9]*}}, !smem{{[0-9]*}} -> !pending
// SYNC-LABEL: gpu.module @tf32
// SYNC: kernel.schedule = #kernel.schedule<"mmasync
// SYNC: tile.load_factors %{{.*}}, %{{.*}} transposed step
func.func @tf32(%x_p: memref<f32>, %w_p: memref<f32>, %y_p: memref<f32>, %m: index) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<f32> to memref<?x64xf32, strided<[64, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x64xf32, strided<[64, 1]>> to tensor<?x64xf32>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [64, 64], strides: [64, 1] : memref<f32> to memref<64x64xf32, strided<[64, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<64x64xf32, strided<[64, 1]>> to tensor<64x64xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<f32> to memref<?x64xf32, strided<[64, 1]>>
  %s_empty = tensor.empty(%m) : tensor<?x64xf32>
  %zero = arith.constant 0.0 : f32
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x64xf32>) -> tensor<?x64xf32>
  %wt_empty = tensor.empty() : tensor<64x64xf32>
  %wt = linalg.generic {indexing_maps = [affine_map<(k,n)->(n,k)>, affine_map<(k,n)->(k,n)>], iterator_types = ["parallel", "parallel"]} ins(%w_t : tensor<64x64xf32>) outs(%wt_empty : tensor<64x64xf32>) {
  ^bb0(%x: f32, %s: f32):
    linalg.yield %x : f32
  } -> tensor<64x64xf32>
  %s_t = kernel.gemm %x_t, %wt tf32 into %s_fill : (tensor<?x64xf32>, tensor<64x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  bufferization.materialize_in_destination %s_t in restrict writable %y_m : (tensor<?x64xf32>, memref<?x64xf32, strided<[64, 1]>>) -> ()
  return
}

// Wgmma takes tf32 along the sum alone.
// CHECK-LABEL: gpu.module @tf32_columns
// CHECK: kernel.schedule = #kernel.schedule<"mmasync
// CHECK: tile.mma_sync
// SYNC-LABEL: gpu.module @tf32_columns
// SYNC: kernel.schedule = #kernel.schedule<"mmasync
// SYNC: tile.mma_sync %{{[0-9]+}}, %{{[0-9]+}}, %
func.func @tf32_columns(%x_p: memref<f32>, %w_p: memref<f32>, %y_p: memref<f32>, %m: index) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<f32> to memref<?x64xf32, strided<[64, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x64xf32, strided<[64, 1]>> to tensor<?x64xf32>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [64, 64], strides: [64, 1] : memref<f32> to memref<64x64xf32, strided<[64, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<64x64xf32, strided<[64, 1]>> to tensor<64x64xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<f32> to memref<?x64xf32, strided<[64, 1]>>
  %s_empty = tensor.empty(%m) : tensor<?x64xf32>
  %zero = arith.constant 0.0 : f32
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x64xf32>) -> tensor<?x64xf32>
  %s_t = kernel.gemm %x_t, %w_t tf32 into %s_fill : (tensor<?x64xf32>, tensor<64x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  bufferization.materialize_in_destination %s_t in restrict writable %y_m : (tensor<?x64xf32>, memref<?x64xf32, strided<[64, 1]>>) -> ()
  return
}
