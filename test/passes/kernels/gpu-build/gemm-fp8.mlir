// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s

// Sums of FP8 that are one stage long have nothing to add up in registers: tiles are as wide as those of 16 bits.

// CHECK-LABEL: gpu.module @short
// CHECK: kernel.schedule = #kernel.schedule<"gemm {{.*}}x128 stages
// CHECK: tile.role "consumer"
// CHECK: tile.mma
// CHECK-NOT: arith.addf
// CHECK: gpu.return
func.func @short(%x_p: memref<i8>, %w_p: memref<i8>, %y_p: memref<f16>, %m: index {kernel.size = #kernel.size<optimum = 4096>}) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%m, 128], strides: [128, 1] : memref<i8> to memref<?x128xi8, strided<[128, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x128xi8, strided<[128, 1]>> to tensor<?x128xi8>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [256, 128], strides: [128, 1] : memref<i8> to memref<256x128xi8, strided<[128, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<256x128xi8, strided<[128, 1]>> to tensor<256x128xi8>
  %x_e = tensor.empty(%m) : tensor<?x128xf32>
  %x = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%x_t : tensor<?x128xi8>) outs(%x_e : tensor<?x128xf32>) {
  ^bb0(%c: i8, %o: f32):
    %f = arith.bitcast %c : i8 to f8E4M3FN
    %e = arith.extf %f : f8E4M3FN to f32
    linalg.yield %e : f32
  } -> tensor<?x128xf32>
  %w_e = tensor.empty() : tensor<256x128xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%w_t : tensor<256x128xi8>) outs(%w_e : tensor<256x128xf32>) {
  ^bb0(%c: i8, %o: f32):
    %f = arith.bitcast %c : i8 to f8E4M3FN
    %e = arith.extf %f : f8E4M3FN to f32
    linalg.yield %e : f32
  } -> tensor<256x128xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%m, 256], strides: [256, 1] : memref<f16> to memref<?x256xf16, strided<[256, 1]>>
  %s_empty = tensor.empty(%m) : tensor<?x256xf32>
  %zero = arith.constant 0.0 : f32
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x256xf32>) -> tensor<?x256xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(n,k)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<?x128xf32>, tensor<256x128xf32>) outs(%s_fill : tensor<?x256xf32>) {
  ^bb0(%e: f32, %f: f32, %s: f32):
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x256xf32>
  %y_empty = tensor.empty(%m) : tensor<?x256xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%s_t : tensor<?x256xf32>) outs(%y_empty : tensor<?x256xf16>) {
  ^bb0(%s: f32, %y: f16):
    %r = arith.truncf %s : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x256xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x256xf16>, memref<?x256xf16, strided<[256, 1]>>) -> ()
  return
}

// Longer ones are: each stage begins new accumulators.
// CHECK-LABEL: gpu.module @long
// CHECK: kernel.schedule = #kernel.schedule<"gemm {{.*}}x128 stages
// CHECK: tile.role "consumer"
// CHECK: tile.mma
// CHECK: tile.await
// CHECK: tile.mma
// CHECK: tile.await
// CHECK: tile.apply
// CHECK: arith.addf
func.func @long(%x_p: memref<i8>, %w_p: memref<i8>, %y_p: memref<f16>, %m: index {kernel.size = #kernel.size<optimum = 4096>}) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%m, 144], strides: [144, 1] : memref<i8> to memref<?x144xi8, strided<[144, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x144xi8, strided<[144, 1]>> to tensor<?x144xi8>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [256, 144], strides: [144, 1] : memref<i8> to memref<256x144xi8, strided<[144, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<256x144xi8, strided<[144, 1]>> to tensor<256x144xi8>
  %x_e = tensor.empty(%m) : tensor<?x144xf32>
  %x = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%x_t : tensor<?x144xi8>) outs(%x_e : tensor<?x144xf32>) {
  ^bb0(%c: i8, %o: f32):
    %f = arith.bitcast %c : i8 to f8E4M3FN
    %e = arith.extf %f : f8E4M3FN to f32
    linalg.yield %e : f32
  } -> tensor<?x144xf32>
  %w_e = tensor.empty() : tensor<256x144xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%w_t : tensor<256x144xi8>) outs(%w_e : tensor<256x144xf32>) {
  ^bb0(%c: i8, %o: f32):
    %f = arith.bitcast %c : i8 to f8E4M3FN
    %e = arith.extf %f : f8E4M3FN to f32
    linalg.yield %e : f32
  } -> tensor<256x144xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%m, 256], strides: [256, 1] : memref<f16> to memref<?x256xf16, strided<[256, 1]>>
  %s_empty = tensor.empty(%m) : tensor<?x256xf32>
  %zero = arith.constant 0.0 : f32
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x256xf32>) -> tensor<?x256xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(n,k)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<?x144xf32>, tensor<256x144xf32>) outs(%s_fill : tensor<?x256xf32>) {
  ^bb0(%e: f32, %f: f32, %s: f32):
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x256xf32>
  %y_empty = tensor.empty(%m) : tensor<?x256xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%s_t : tensor<?x256xf32>) outs(%y_empty : tensor<?x256xf16>) {
  ^bb0(%s: f32, %y: f16):
    %r = arith.truncf %s : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x256xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x256xf16>, memref<?x256xf16, strided<[256, 1]>>) -> ()
  return
}
