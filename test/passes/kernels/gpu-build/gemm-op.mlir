// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_80 %s | FileCheck %s --check-prefix=SYNC
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_120a %s | FileCheck %s --check-prefix=SLOW
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_89 %s | FileCheck %s --check-prefix=ADA
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_100a %s | FileCheck %s --check-prefix=MEMORY

// The named GEMM, as lower-regions writes it: families of GEMMs ask it, and builders of loops take it as a reduction.

// CHECK-LABEL: gpu.module @narrow
// CHECK: kernel.schedule = #kernel.schedule<"gemm
// SYNC-LABEL: gpu.module @narrow
// SYNC: kernel.schedule = #kernel.schedule<"mmasync
func.func @narrow(%a_p: memref<f16>, %b_p: memref<f16>, %d_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %a_m = memref.reinterpret_cast %a_p to offset: [0], sizes: [128, 64], strides: [64, 1] : memref<f16> to memref<128x64xf16, strided<[64, 1]>>
  %a_t = bufferization.to_tensor %a_m restrict : memref<128x64xf16, strided<[64, 1]>> to tensor<128x64xf16>
  %a_e = tensor.empty() : tensor<128x64xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a_t : tensor<128x64xf16>) outs(%a_e : tensor<128x64xf32>) {
  ^bb0(%x: f16, %y: f32):
    %w = arith.extf %x : f16 to f32
    linalg.yield %w : f32
  } -> tensor<128x64xf32>
  %b_m = memref.reinterpret_cast %b_p to offset: [0], sizes: [64, 128], strides: [128, 1] : memref<f16> to memref<64x128xf16, strided<[128, 1]>>
  %b_t = bufferization.to_tensor %b_m restrict : memref<64x128xf16, strided<[128, 1]>> to tensor<64x128xf16>
  %b_e = tensor.empty() : tensor<64x128xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%b_t : tensor<64x128xf16>) outs(%b_e : tensor<64x128xf32>) {
  ^bb0(%x: f16, %y: f32):
    %w = arith.extf %x : f16 to f32
    linalg.yield %w : f32
  } -> tensor<64x128xf32>
  %d_m = memref.reinterpret_cast %d_p to offset: [0], sizes: [128, 128], strides: [128, 1] : memref<f32> to memref<128x128xf32, strided<[128, 1]>>
  %e = tensor.empty() : tensor<128x128xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<128x128xf32>) -> tensor<128x128xf32>
  %d = kernel.gemm %a, %b into %zeros : (tensor<128x64xf32>, tensor<64x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  bufferization.materialize_in_destination %d in restrict writable %d_m : (tensor<128x128xf32>, memref<128x128xf32, strided<[128, 1]>>) -> ()
  return
}

// A batch of A with one B, which is rows of one GEMM.
// CHECK-LABEL: gpu.module @shared
// CHECK: kernel.schedule = #kernel.schedule<"gemm
func.func @shared(%a_p: memref<bf16>, %b_p: memref<bf16>, %d_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %a_m = memref.reinterpret_cast %a_p to offset: [0], sizes: [4, 128, 64], strides: [8192, 64, 1] : memref<bf16> to memref<4x128x64xbf16, strided<[8192, 64, 1]>>
  %a_t = bufferization.to_tensor %a_m restrict : memref<4x128x64xbf16, strided<[8192, 64, 1]>> to tensor<4x128x64xbf16>
  %a_e = tensor.empty() : tensor<4x128x64xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a_t : tensor<4x128x64xbf16>) outs(%a_e : tensor<4x128x64xf32>) {
  ^bb0(%x: bf16, %y: f32):
    %w = arith.extf %x : bf16 to f32
    linalg.yield %w : f32
  } -> tensor<4x128x64xf32>
  %b_m = memref.reinterpret_cast %b_p to offset: [0], sizes: [1, 64, 128], strides: [8192, 128, 1] : memref<bf16> to memref<1x64x128xbf16, strided<[8192, 128, 1]>>
  %b_t = bufferization.to_tensor %b_m restrict : memref<1x64x128xbf16, strided<[8192, 128, 1]>> to tensor<1x64x128xbf16>
  %b_e = tensor.empty() : tensor<1x64x128xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%b_t : tensor<1x64x128xbf16>) outs(%b_e : tensor<1x64x128xf32>) {
  ^bb0(%x: bf16, %y: f32):
    %w = arith.extf %x : bf16 to f32
    linalg.yield %w : f32
  } -> tensor<1x64x128xf32>
  %d_m = memref.reinterpret_cast %d_p to offset: [0], sizes: [4, 128, 128], strides: [16384, 128, 1] : memref<f32> to memref<4x128x128xf32, strided<[16384, 128, 1]>>
  %e = tensor.empty() : tensor<4x128x128xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<4x128x128xf32>) -> tensor<4x128x128xf32>
  %d = kernel.gemm %a, %b into %zeros : (tensor<4x128x64xf32>, tensor<1x64x128xf32>, tensor<4x128x128xf32>) -> tensor<4x128x128xf32>
  bufferization.materialize_in_destination %d in restrict writable %d_m : (tensor<4x128x128xf32>, memref<4x128x128xf32, strided<[16384, 128, 1]>>) -> ()
  return
}

// Columns in memory as heads.
// CHECK-LABEL: gpu.module @heads
// CHECK: kernel.schedule = #kernel.schedule<"gemm
func.func @heads(%a_p: memref<f16>, %b_p: memref<f16>, %d_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %a_m = memref.reinterpret_cast %a_p to offset: [0], sizes: [128, 64], strides: [64, 1] : memref<f16> to memref<128x64xf16, strided<[64, 1]>>
  %a_t = bufferization.to_tensor %a_m restrict : memref<128x64xf16, strided<[64, 1]>> to tensor<128x64xf16>
  %a_e = tensor.empty() : tensor<128x64xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a_t : tensor<128x64xf16>) outs(%a_e : tensor<128x64xf32>) {
  ^bb0(%x: f16, %y: f32):
    %w = arith.extf %x : f16 to f32
    linalg.yield %w : f32
  } -> tensor<128x64xf32>
  %b_m = memref.reinterpret_cast %b_p to offset: [0], sizes: [64, 4, 32], strides: [128, 32, 1] : memref<f16> to memref<64x4x32xf16, strided<[128, 32, 1]>>
  %b_t = bufferization.to_tensor %b_m restrict : memref<64x4x32xf16, strided<[128, 32, 1]>> to tensor<64x4x32xf16>
  %b_e = tensor.empty() : tensor<64x4x32xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%b_t : tensor<64x4x32xf16>) outs(%b_e : tensor<64x4x32xf32>) {
  ^bb0(%x: f16, %y: f32):
    %w = arith.extf %x : f16 to f32
    linalg.yield %w : f32
  } -> tensor<64x4x32xf32>
  %d_m = memref.reinterpret_cast %d_p to offset: [0], sizes: [128, 4, 32], strides: [128, 32, 1] : memref<f32> to memref<128x4x32xf32, strided<[128, 32, 1]>>
  %e = tensor.empty() : tensor<128x4x32xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<128x4x32xf32>) -> tensor<128x4x32xf32>
  %d = kernel.gemm %a, %b into %zeros : (tensor<128x64xf32>, tensor<64x4x32xf32>, tensor<128x4x32xf32>) -> tensor<128x4x32xf32>
  bufferization.materialize_in_destination %d in restrict writable %d_m : (tensor<128x4x32xf32>, memref<128x4x32xf32, strided<[128, 32, 1]>>) -> ()
  return
}

// Rounded to tf32. wgmma and tcgen05 would want K contiguous in B.
// CHECK-LABEL: gpu.module @rounded
// CHECK: kernel.schedule = #kernel.schedule<"mmasync
// MEMORY-LABEL: gpu.module @rounded
// MEMORY: kernel.schedule = #kernel.schedule<"mmasync
// SYNC-LABEL: gpu.module @rounded
// SYNC: kernel.schedule = #kernel.schedule<"mmasync
func.func @rounded(%a_p: memref<f32>, %b_p: memref<f32>, %d_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %a_m = memref.reinterpret_cast %a_p to offset: [0], sizes: [128, 64], strides: [64, 1] : memref<f32> to memref<128x64xf32, strided<[64, 1]>>
  %a_t = bufferization.to_tensor %a_m restrict : memref<128x64xf32, strided<[64, 1]>> to tensor<128x64xf32>
  %b_m = memref.reinterpret_cast %b_p to offset: [0], sizes: [64, 128], strides: [128, 1] : memref<f32> to memref<64x128xf32, strided<[128, 1]>>
  %b_t = bufferization.to_tensor %b_m restrict : memref<64x128xf32, strided<[128, 1]>> to tensor<64x128xf32>
  %d_m = memref.reinterpret_cast %d_p to offset: [0], sizes: [128, 128], strides: [128, 1] : memref<f32> to memref<128x128xf32, strided<[128, 1]>>
  %e = tensor.empty() : tensor<128x128xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<128x128xf32>) -> tensor<128x128xf32>
  %d = kernel.gemm %a_t, %b_t tf32 into %zeros : (tensor<128x64xf32>, tensor<64x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  bufferization.materialize_in_destination %d in restrict writable %d_m : (tensor<128x128xf32>, memref<128x128xf32, strided<[128, 1]>>) -> ()
  return
}

// The same with K contiguous in B: by wgmma, or by tcgen05, eight elements of K in an instruction.
// CHECK-LABEL: gpu.module @rounded_along_k
// CHECK: kernel.schedule = #kernel.schedule<"gemm {{[0-9]+x[0-9]+}}x32 stages
// MEMORY-LABEL: gpu.module @rounded_along_k
// MEMORY: kernel.schedule = #kernel.schedule<"gemm {{[0-9]+x[0-9]+}}x32 stages
// MEMORY: #kernel.tensor_map<buffer = 0, element = tf32, dims = ["64", "128"], strides = ["256"], box = [32, 128], swizzle = 128>
// MEMORY: #kernel.tensor_map<buffer = 1, element = tf32, dims = ["64", "128"], strides = ["256"], box = [32, {{[0-9]+}}], swizzle = 128>
// MEMORY: tile.tmem_mma %{{.*}}#0, %{{.*}}#1 transposed into
// SYNC-LABEL: gpu.module @rounded_along_k
// SYNC: kernel.schedule = #kernel.schedule<"mmasync
func.func @rounded_along_k(%a_p: memref<f32>, %b_p: memref<f32>, %d_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %a_m = memref.reinterpret_cast %a_p to offset: [0], sizes: [128, 64], strides: [64, 1] : memref<f32> to memref<128x64xf32, strided<[64, 1]>>
  %a_t = bufferization.to_tensor %a_m restrict : memref<128x64xf32, strided<[64, 1]>> to tensor<128x64xf32>
  %b_m = memref.reinterpret_cast %b_p to offset: [0], sizes: [64, 128], strides: [1, 64] : memref<f32> to memref<64x128xf32, strided<[1, 64]>>
  %b_t = bufferization.to_tensor %b_m restrict : memref<64x128xf32, strided<[1, 64]>> to tensor<64x128xf32>
  %d_m = memref.reinterpret_cast %d_p to offset: [0], sizes: [128, 128], strides: [128, 1] : memref<f32> to memref<128x128xf32, strided<[128, 1]>>
  %e = tensor.empty() : tensor<128x128xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<128x128xf32>) -> tensor<128x128xf32>
  %d = kernel.gemm %a_t, %b_t tf32 into %zeros : (tensor<128x64xf32>, tensor<64x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  bufferization.materialize_in_destination %d in restrict writable %d_m : (tensor<128x128xf32>, memref<128x128xf32, strided<[128, 1]>>) -> ()
  return
}

// Not rounded: factors are split into two numbers of tf32, except where fp32 arithmetic is as fast as tf32.
// CHECK-LABEL: gpu.module @exact
// CHECK: kernel.schedule = #kernel.schedule<"mmasync
// CHECK: tile.mma_sync split
// SYNC-LABEL: gpu.module @exact
// SYNC: kernel.schedule = #kernel.schedule<"mmasync
// SYNC: tile.mma_sync split
// SLOW-LABEL: gpu.module @exact
// SLOW: kernel.schedule = #kernel.schedule<"contraction
func.func @exact(%a_p: memref<f32>, %b_p: memref<f32>, %d_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %a_m = memref.reinterpret_cast %a_p to offset: [0], sizes: [128, 64], strides: [64, 1] : memref<f32> to memref<128x64xf32, strided<[64, 1]>>
  %a_t = bufferization.to_tensor %a_m restrict : memref<128x64xf32, strided<[64, 1]>> to tensor<128x64xf32>
  %b_m = memref.reinterpret_cast %b_p to offset: [0], sizes: [64, 128], strides: [128, 1] : memref<f32> to memref<64x128xf32, strided<[128, 1]>>
  %b_t = bufferization.to_tensor %b_m restrict : memref<64x128xf32, strided<[128, 1]>> to tensor<64x128xf32>
  %d_m = memref.reinterpret_cast %d_p to offset: [0], sizes: [128, 128], strides: [128, 1] : memref<f32> to memref<128x128xf32, strided<[128, 1]>>
  %e = tensor.empty() : tensor<128x128xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<128x128xf32>) -> tensor<128x128xf32>
  %d = kernel.gemm %a_t, %b_t into %zeros : (tensor<128x64xf32>, tensor<64x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  bufferization.materialize_in_destination %d in restrict writable %d_m : (tensor<128x128xf32>, memref<128x128xf32, strided<[128, 1]>>) -> ()
  return
}

// CHECK-LABEL: gpu.module @integers
// CHECK: kernel.schedule = #kernel.schedule<"contraction
func.func @integers(%a_p: memref<i32>, %b_p: memref<i32>, %d_p: memref<i32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %a_m = memref.reinterpret_cast %a_p to offset: [0], sizes: [128, 64], strides: [64, 1] : memref<i32> to memref<128x64xi32, strided<[64, 1]>>
  %a_t = bufferization.to_tensor %a_m restrict : memref<128x64xi32, strided<[64, 1]>> to tensor<128x64xi32>
  %b_m = memref.reinterpret_cast %b_p to offset: [0], sizes: [64, 128], strides: [128, 1] : memref<i32> to memref<64x128xi32, strided<[128, 1]>>
  %b_t = bufferization.to_tensor %b_m restrict : memref<64x128xi32, strided<[128, 1]>> to tensor<64x128xi32>
  %d_m = memref.reinterpret_cast %d_p to offset: [0], sizes: [128, 128], strides: [128, 1] : memref<i32> to memref<128x128xi32, strided<[128, 1]>>
  %e = tensor.empty() : tensor<128x128xi32>
  %zero = arith.constant 0 : i32
  %zeros = linalg.fill ins(%zero : i32) outs(%e : tensor<128x128xi32>) -> tensor<128x128xi32>
  %d = kernel.gemm %a_t, %b_t into %zeros : (tensor<128x64xi32>, tensor<64x128xi32>, tensor<128x128xi32>) -> tensor<128x128xi32>
  bufferization.materialize_in_destination %d in restrict writable %d_m : (tensor<128x128xi32>, memref<128x128xi32, strided<[128, 1]>>) -> ()
  return
}

// FP8, whose codes lie in memory as bytes: the stages of both operands have their own types, and each stage's sums are added up apart.
// mma.sync has them from sm_89 on, where sums are short; before, it is a reduction of the decoded numbers.
// CHECK-LABEL: gpu.module @fp8
// CHECK: kernel.schedule = #kernel.schedule<"gemm
// CHECK: tile.mma %{{.*}}, %{{.*}} transposed : !smem{{[0-9]*}}, !smem{{[0-9]*}} -> !pending
// CHECK: scf.for
// CHECK: tile.mma %{{.*}}, %{{.*}} transposed :
// CHECK: tile.await
// CHECK: tile.apply
// CHECK: arith.addf
// SYNC-LABEL: gpu.module @fp8
// SYNC-NOT: tile.
// ADA-LABEL: gpu.module @fp8
// ADA: kernel.schedule = #kernel.schedule<"mmasync
// ADA: tile.mma_sync promoted %{{.*}}, %{{.*}} transposed,
// SLOW-LABEL: gpu.module @fp8
// SLOW: tile.load_factors %{{.*}}, %{{.*}} transposed step
func.func @fp8(%a_p: memref<i8>, %b_p: memref<i8>, %d_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %a_m = memref.reinterpret_cast %a_p to offset: [0], sizes: [64, 256], strides: [256, 1] : memref<i8> to memref<64x256xi8, strided<[256, 1]>>
  %a_t = bufferization.to_tensor %a_m restrict : memref<64x256xi8, strided<[256, 1]>> to tensor<64x256xi8>
  %a_e = tensor.empty() : tensor<64x256xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a_t : tensor<64x256xi8>) outs(%a_e : tensor<64x256xf32>) {
  ^bb0(%x: i8, %y: f32):
    %c = arith.bitcast %x : i8 to f8E4M3FN
    %w = arith.extf %c : f8E4M3FN to f32
    linalg.yield %w : f32
  } -> tensor<64x256xf32>
  %b_m = memref.reinterpret_cast %b_p to offset: [0], sizes: [256, 64], strides: [1, 256] : memref<i8> to memref<256x64xi8, strided<[1, 256]>>
  %b_t = bufferization.to_tensor %b_m restrict : memref<256x64xi8, strided<[1, 256]>> to tensor<256x64xi8>
  %b_e = tensor.empty() : tensor<256x64xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%b_t : tensor<256x64xi8>) outs(%b_e : tensor<256x64xf32>) {
  ^bb0(%x: i8, %y: f32):
    %c = arith.bitcast %x : i8 to f8E5M2
    %w = arith.extf %c : f8E5M2 to f32
    linalg.yield %w : f32
  } -> tensor<256x64xf32>
  %d_m = memref.reinterpret_cast %d_p to offset: [0], sizes: [64, 64], strides: [64, 1] : memref<f32> to memref<64x64xf32, strided<[64, 1]>>
  %e = tensor.empty() : tensor<64x64xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %d = kernel.gemm %a, %b into %zeros : (tensor<64x256xf32>, tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  bufferization.materialize_in_destination %d in restrict writable %d_m : (tensor<64x64xf32>, memref<64x64xf32, strided<[64, 1]>>) -> ()
  return
}
