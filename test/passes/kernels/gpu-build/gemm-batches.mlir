// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_80 %s | FileCheck %s --check-prefix=SYNC
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_100a %s | FileCheck %s --check-prefix=PAIRS

// Each operand has a batch that the other repeats: loops that a matrix does not move in are no dimensions of its tensor map, and the result's are one.

// CHECK-LABEL: gpu.module @each_side
// CHECK: grid = ["min(sm_count, {{.*}}*32)", "1", "1"]
// CHECK-SAME: kernel.schedule = #kernel.schedule<"gemm
// CHECK-SAME: #kernel.tensor_map<buffer = 0, element = f16, dims = ["64", "arg3", "8"], strides = ["128", "arg3*128"], box = [64, {{[0-9]+}}, 1], swizzle = 128>
// CHECK-SAME: #kernel.tensor_map<buffer = 1, element = f16, dims = ["128", "64", "4"], strides = ["256", "16384"], box = [64, {{[0-9]+}}, 1], swizzle = 128>
// CHECK-SAME: #kernel.tensor_map<buffer = 2, element = f16, dims = ["128", "arg3", "32"], strides = ["256", "arg3*256"], box = [64, 64, 1], swizzle = 128>
// SYNC-LABEL: gpu.module @each_side
// SYNC: kernel.schedule = #kernel.schedule<"mmasync
// PAIRS-LABEL: gpu.module @each_side
// PAIRS: #kernel.tensor_map<buffer = 0, element = f16, dims = ["64", "arg3", "8"]
#a = affine_map<(b, c, m, n, k) -> (b, m, k)>
#b = affine_map<(b, c, m, n, k) -> (c, k, n)>
#d = affine_map<(b, c, m, n, k) -> (b, c, m, n)>
#id = affine_map<(b, c, m, n) -> (b, c, m, n)>
func.func @each_side(%a_p: memref<f16>, %b_p: memref<f16>, %d_p: memref<f16>, %s: index {kernel.size = #kernel.size<min = 1, optimum = 512>}) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c4 = arith.constant 4 : index
  %sa = arith.muli %s, %c64 : index
  %sd = arith.muli %s, %c128 : index
  %sd4 = arith.muli %sd, %c4 : index
  %a_m = memref.reinterpret_cast %a_p to offset: [0], sizes: [8, %s, 64], strides: [%sa, 64, 1] : memref<f16> to memref<8x?x64xf16, strided<[?, 64, 1]>>
  %a = bufferization.to_tensor %a_m restrict : memref<8x?x64xf16, strided<[?, 64, 1]>> to tensor<8x?x64xf16>
  %b_m = memref.reinterpret_cast %b_p to offset: [0], sizes: [4, 64, 128], strides: [8192, 128, 1] : memref<f16> to memref<4x64x128xf16, strided<[8192, 128, 1]>>
  %b = bufferization.to_tensor %b_m restrict : memref<4x64x128xf16, strided<[8192, 128, 1]>> to tensor<4x64x128xf16>
  %d_m = memref.reinterpret_cast %d_p to offset: [0], sizes: [8, 4, %s, 128], strides: [%sd4, %sd, 128, 1] : memref<f16> to memref<8x4x?x128xf16, strided<[?, ?, 128, 1]>>
  %e = tensor.empty(%s) : tensor<8x4x?x128xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4x?x128xf32>) -> tensor<8x4x?x128xf32>
  %g = linalg.generic {indexing_maps = [#a, #b, #d], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<8x?x64xf16>, tensor<4x64x128xf16>) outs(%zeros : tensor<8x4x?x128xf32>) {
  ^bb0(%x: f16, %y: f16, %acc: f32):
    %xw = arith.extf %x : f16 to f32
    %yw = arith.extf %y : f16 to f32
    %p = arith.mulf %xw, %yw : f32
    %sum = arith.addf %acc, %p : f32
    linalg.yield %sum : f32
  } -> tensor<8x4x?x128xf32>
  %ne = tensor.empty(%s) : tensor<8x4x?x128xf16>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%g : tensor<8x4x?x128xf32>) outs(%ne : tensor<8x4x?x128xf16>) {
  ^bb0(%x: f32, %y: f16):
    %t = arith.truncf %x : f32 to f16
    linalg.yield %t : f16
  } -> tensor<8x4x?x128xf16>
  bufferization.materialize_in_destination %n in restrict writable %d_m : (tensor<8x4x?x128xf16>, memref<8x4x?x128xf16, strided<[?, ?, 128, 1]>>) -> ()
  return
}

// Copies by TMA have five dimensions; mma.sync finds its matrices by any number of strides.
// CHECK-LABEL: gpu.module @four
// CHECK: kernel.schedule = #kernel.schedule<"mmasync
// SYNC-LABEL: gpu.module @four
// SYNC: kernel.schedule = #kernel.schedule<"mmasync
#fa = affine_map<(b0, c0, b1, c1, b2, c2, b3, c3, m, n, k) -> (b0, b1, b2, b3, m, k)>
#fb = affine_map<(b0, c0, b1, c1, b2, c2, b3, c3, m, n, k) -> (c0, c1, c2, c3, k, n)>
#fd = affine_map<(b0, c0, b1, c1, b2, c2, b3, c3, m, n, k) -> (b0, c0, b1, c1, b2, c2, b3, c3, m, n)>
func.func @four(%a_p: memref<f16>, %b_p: memref<f16>, %d_p: memref<f32>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %a_m = memref.reinterpret_cast %a_p to offset: [0], sizes: [2, 2, 2, 2, 64, 64], strides: [131072, 49152, 20480, 8192, 64, 1] : memref<f16> to memref<2x2x2x2x64x64xf16, strided<[131072, 49152, 20480, 8192, 64, 1]>>
  %a = bufferization.to_tensor %a_m restrict : memref<2x2x2x2x64x64xf16, strided<[131072, 49152, 20480, 8192, 64, 1]>> to tensor<2x2x2x2x64x64xf16>
  %b_m = memref.reinterpret_cast %b_p to offset: [0], sizes: [2, 2, 2, 2, 64, 64], strides: [32768, 16384, 8192, 4096, 64, 1] : memref<f16> to memref<2x2x2x2x64x64xf16, strided<[32768, 16384, 8192, 4096, 64, 1]>>
  %b = bufferization.to_tensor %b_m restrict : memref<2x2x2x2x64x64xf16, strided<[32768, 16384, 8192, 4096, 64, 1]>> to tensor<2x2x2x2x64x64xf16>
  %d_m = memref.reinterpret_cast %d_p to offset: [0], sizes: [2, 2, 2, 2, 2, 2, 2, 2, 64, 64], strides: [524288, 262144, 131072, 65536, 32768, 16384, 8192, 4096, 64, 1] : memref<f32> to memref<2x2x2x2x2x2x2x2x64x64xf32, strided<[524288, 262144, 131072, 65536, 32768, 16384, 8192, 4096, 64, 1]>>
  %e = tensor.empty() : tensor<2x2x2x2x2x2x2x2x64x64xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<2x2x2x2x2x2x2x2x64x64xf32>) -> tensor<2x2x2x2x2x2x2x2x64x64xf32>
  %g = linalg.generic {indexing_maps = [#fa, #fb, #fd], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<2x2x2x2x64x64xf16>, tensor<2x2x2x2x64x64xf16>) outs(%zeros : tensor<2x2x2x2x2x2x2x2x64x64xf32>) {
  ^bb0(%x: f16, %y: f16, %acc: f32):
    %xw = arith.extf %x : f16 to f32
    %yw = arith.extf %y : f16 to f32
    %p = arith.mulf %xw, %yw : f32
    %sum = arith.addf %acc, %p : f32
    linalg.yield %sum : f32
  } -> tensor<2x2x2x2x2x2x2x2x64x64xf32>
  bufferization.materialize_in_destination %g in restrict writable %d_m : (tensor<2x2x2x2x2x2x2x2x64x64xf32>, memref<2x2x2x2x2x2x2x2x64x64xf32, strided<[524288, 262144, 131072, 65536, 32768, 16384, 8192, 4096, 64, 1]>>) -> ()
  return
}
