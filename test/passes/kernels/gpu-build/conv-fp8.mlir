// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_89 %s | FileCheck %s --check-prefix=SYNC
// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_80 %s | FileCheck %s --check-prefix=LOOPS

// Codes of FP8, one type in the image and another in the filter: each stage of wgmma begins new accumulators, which are added up in
// registers. On sm_89 mma.sync's sums are promoted, too. Chips without FP8 have loops; there the graph has dequantised codes before.

// CHECK-LABEL: gpu.module @codes
// CHECK: kernel.schedule = #kernel.schedule<"conv {{[0-9]+}}x{{[0-9]+}}x32
// CHECK: im2col
// CHECK: tile.role "consumer"
// CHECK: tile.mma %{{[^,]*}}, %{{[^,]*}} transposed :
// CHECK: tile.await
// CHECK: scf.for
// CHECK: tile.mma %{{[^,]*}}, %{{[^,]*}} transposed :
// CHECK: tile.await
// CHECK: tile.apply
// CHECK: arith.addf
// SYNC-LABEL: gpu.module @codes
// SYNC: kernel.schedule = #kernel.schedule<"conv_mmasync
// SYNC: tile.mma_sync promoted
// LOOPS-LABEL: gpu.module @codes
// LOOPS: kernel.schedule = #kernel.schedule<"contraction
func.func @codes(%x_p: memref<i8>, %w_p: memref<i8>, %y_p: memref<f16>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [4, 16, 16, 32], strides: [8192, 512, 32, 1] : memref<i8> to memref<4x16x16x32xi8, strided<[8192, 512, 32, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<4x16x16x32xi8, strided<[8192, 512, 32, 1]>> to tensor<4x16x16x32xi8>
  %x_e = tensor.empty() : tensor<4x16x16x32xf32>
  %x = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x_t : tensor<4x16x16x32xi8>) outs(%x_e : tensor<4x16x16x32xf32>) {
  ^bb0(%c: i8, %o: f32):
    %f = arith.bitcast %c : i8 to f8E5M2
    %e = arith.extf %f : f8E5M2 to f32
    linalg.yield %e : f32
  } -> tensor<4x16x16x32xf32>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [3, 3, 24, 32], strides: [2304, 768, 32, 1] : memref<i8> to memref<3x3x24x32xi8, strided<[2304, 768, 32, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<3x3x24x32xi8, strided<[2304, 768, 32, 1]>> to tensor<3x3x24x32xi8>
  %w_e = tensor.empty() : tensor<3x3x32x24xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,d,c)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%w_t : tensor<3x3x24x32xi8>) outs(%w_e : tensor<3x3x32x24xf32>) {
  ^bb0(%c: i8, %o: f32):
    %f = arith.bitcast %c : i8 to f8E4M3FN
    %e = arith.extf %f : f8E4M3FN to f32
    linalg.yield %e : f32
  } -> tensor<3x3x32x24xf32>
  %p_e = tensor.empty() : tensor<4x18x18x32xf32>
  %p = kernel.pad %x low [0, 1, 1, 0] high [0, 1, 1, 0] outside 0.0 : f32 into %p_e : tensor<4x16x16x32xf32> into tensor<4x18x18x32xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [4, 16, 16, 24], strides: [6144, 384, 24, 1] : memref<f16> to memref<4x16x16x24xf16, strided<[6144, 384, 24, 1]>>
  %s_e = tensor.empty() : tensor<4x16x16x24xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%s_e : tensor<4x16x16x24xf32>) -> tensor<4x16x16x24xf32>
  %s = kernel.conv %p, %w strides [1, 1] dilations [1, 1] into %zeros : (tensor<4x18x18x32xf32>, tensor<3x3x32x24xf32>, tensor<4x16x16x24xf32>) -> tensor<4x16x16x24xf32>
  %y_e = tensor.empty() : tensor<4x16x16x24xf16>
  %y = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s : tensor<4x16x16x24xf32>) outs(%y_e : tensor<4x16x16x24xf16>) {
  ^bb0(%v: f32, %o: f16):
    %h = arith.truncf %v : f32 to f16
    linalg.yield %h : f16
  } -> tensor<4x16x16x24xf16>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<4x16x16x24xf16>, memref<4x16x16x24xf16, strided<[6144, 384, 24, 1]>>) -> ()
  return
}

// Outputs side by side in the filter are not what instructions of 8 bits read.
// CHECK-LABEL: gpu.module @turned
// CHECK-NOT: tile.
// SYNC-LABEL: gpu.module @turned
// SYNC-NOT: tile.
func.func @turned(%x_p: memref<i8>, %w_p: memref<i8>, %y_p: memref<f16>) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [4, 16, 16, 32], strides: [8192, 512, 32, 1] : memref<i8> to memref<4x16x16x32xi8, strided<[8192, 512, 32, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<4x16x16x32xi8, strided<[8192, 512, 32, 1]>> to tensor<4x16x16x32xi8>
  %x_e = tensor.empty() : tensor<4x16x16x32xf32>
  %x = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x_t : tensor<4x16x16x32xi8>) outs(%x_e : tensor<4x16x16x32xf32>) {
  ^bb0(%c: i8, %o: f32):
    %f = arith.bitcast %c : i8 to f8E4M3FN
    %e = arith.extf %f : f8E4M3FN to f32
    linalg.yield %e : f32
  } -> tensor<4x16x16x32xf32>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [3, 3, 32, 24], strides: [2304, 768, 24, 1] : memref<i8> to memref<3x3x32x24xi8, strided<[2304, 768, 24, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<3x3x32x24xi8, strided<[2304, 768, 24, 1]>> to tensor<3x3x32x24xi8>
  %w_e = tensor.empty() : tensor<3x3x32x24xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%w_t : tensor<3x3x32x24xi8>) outs(%w_e : tensor<3x3x32x24xf32>) {
  ^bb0(%c: i8, %o: f32):
    %f = arith.bitcast %c : i8 to f8E4M3FN
    %e = arith.extf %f : f8E4M3FN to f32
    linalg.yield %e : f32
  } -> tensor<3x3x32x24xf32>
  %p_e = tensor.empty() : tensor<4x18x18x32xf32>
  %p = kernel.pad %x low [0, 1, 1, 0] high [0, 1, 1, 0] outside 0.0 : f32 into %p_e : tensor<4x16x16x32xf32> into tensor<4x18x18x32xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [4, 16, 16, 24], strides: [6144, 384, 24, 1] : memref<f16> to memref<4x16x16x24xf16, strided<[6144, 384, 24, 1]>>
  %s_e = tensor.empty() : tensor<4x16x16x24xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%s_e : tensor<4x16x16x24xf32>) -> tensor<4x16x16x24xf32>
  %s = kernel.conv %p, %w strides [1, 1] dilations [1, 1] into %zeros : (tensor<4x18x18x32xf32>, tensor<3x3x32x24xf32>, tensor<4x16x16x24xf32>) -> tensor<4x16x16x24xf32>
  %y_e = tensor.empty() : tensor<4x16x16x24xf16>
  %y = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s : tensor<4x16x16x24xf32>) outs(%y_e : tensor<4x16x16x24xf16>) {
  ^bb0(%v: f32, %o: f16):
    %h = arith.truncf %v : f32 to f16
    linalg.yield %h : f16
  } -> tensor<4x16x16x24xf16>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<4x16x16x24xf16>, memref<4x16x16x24xf16, strided<[6144, 384, 24, 1]>>) -> ()
  return
}
