// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s --check-prefix=WGMMA
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_100a %s | FileCheck %s --check-prefix=TCGEN05
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_103a %s | FileCheck %s --check-prefix=TCGEN05
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_110a %s | FileCheck %s --check-prefix=TCGEN05
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_80 %s | FileCheck %s --check-prefixes=SYNC,PAIRS
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=compute_80 %s | FileCheck %s --check-prefixes=SYNC,PAIRS
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_120a %s | FileCheck %s --check-prefixes=SYNC,MATRICES
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=compute_90 %s | FileCheck %s --check-prefixes=SYNC,MATRICES

// Wgmma is sm_90a's alone, tensor memory that of sm_100a to sm_110a: other chips, and code for several, have mma.sync; those before sm_90 have no stmatrix.

// WGMMA: kernel.schedule = #kernel.schedule<"gemm
// WGMMA: tile.mma
// TCGEN05: kernel.schedule = #kernel.schedule<"gemm
// TCGEN05: tile.tmem_mma
// SYNC-LABEL: gpu.module @product
// SYNC: kernel.schedule = #kernel.schedule<"mmasync
// SYNC: tile.mma_factors
// PAIRS: tile.store_shared %{{.*}} into %{{.*}} in pairs
// MATRICES: tile.store_shared %{{.*}} into %{{.*}} : !
func.func @product(%x_p: memref<bf16>, %w_p: memref<bf16>, %y_p: memref<bf16>, %m: index) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<bf16> to memref<?x64xbf16, strided<[64, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x64xbf16, strided<[64, 1]>> to tensor<?x64xbf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [64, 128], strides: [128, 1] : memref<bf16> to memref<64x128xbf16, strided<[128, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<64x128xbf16, strided<[128, 1]>> to tensor<64x128xbf16>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%m, 128], strides: [128, 1] : memref<bf16> to memref<?x128xbf16, strided<[128, 1]>>
  %s_empty = tensor.empty(%m) : tensor<?x128xf32>
  %zero = arith.constant 0.0 : f32
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x128xf32>) -> tensor<?x128xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x64xbf16>, tensor<64x128xbf16>) outs(%s_fill : tensor<?x128xf32>) {
  ^bb0(%x: bf16, %w: bf16, %s: f32):
    %e = arith.extf %x : bf16 to f32
    %f = arith.extf %w : bf16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x128xf32>
  %y_empty = tensor.empty(%m) : tensor<?x128xbf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%s_t : tensor<?x128xf32>) outs(%y_empty : tensor<?x128xbf16>) {
  ^bb0(%s: f32, %y: bf16):
    %r = arith.truncf %s : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<?x128xbf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x128xbf16>, memref<?x128xbf16, strided<[128, 1]>>) -> ()
  return
}

// The least sum is enough, and what divides its stride.
// WGMMA-LABEL: gpu.module @known_sum
// WGMMA: kernel.schedule = #kernel.schedule<"gemm
// WGMMA-SAME: dims = ["arg4", "arg3"]
// WGMMA-SAME: strides = ["arg4*2"]
func.func @known_sum(%x_p: memref<bf16>, %w_p: memref<bf16>, %y_p: memref<bf16>, %m: index, %k: index {kernel.size = #kernel.size<min = 8, divisor = 8>}) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%m, %k], strides: [%k, 1] : memref<bf16> to memref<?x?xbf16, strided<[?, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x?xbf16, strided<[?, 1]>> to tensor<?x?xbf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [%k, 128], strides: [128, 1] : memref<bf16> to memref<?x128xbf16, strided<[128, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<?x128xbf16, strided<[128, 1]>> to tensor<?x128xbf16>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%m, 128], strides: [128, 1] : memref<bf16> to memref<?x128xbf16, strided<[128, 1]>>
  %s_empty = tensor.empty(%m) : tensor<?x128xf32>
  %zero = arith.constant 0.0 : f32
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x128xf32>) -> tensor<?x128xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x?xbf16>, tensor<?x128xbf16>) outs(%s_fill : tensor<?x128xf32>) {
  ^bb0(%x: bf16, %w: bf16, %s: f32):
    %e = arith.extf %x : bf16 to f32
    %f = arith.extf %w : bf16 to f32
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x128xf32>
  %y_empty = tensor.empty(%m) : tensor<?x128xbf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%s_t : tensor<?x128xf32>) outs(%y_empty : tensor<?x128xbf16>) {
  ^bb0(%s: f32, %y: bf16):
    %r = arith.truncf %s : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<?x128xbf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x128xbf16>, memref<?x128xbf16, strided<[128, 1]>>) -> ()
  return
}
