// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s

// Operands are read as they lie in memory.

// x is stored with its rows side by side: a stage has 64 lines of the sum, and each warpgroup multiplies a line's 64 columns.
// CHECK: gpu.func @rows_side_by_side
// CHECK-SAME: #kernel.tensor_map<buffer = 0, element = bf16, dims = ["arg3", "64"], strides = ["arg3*2"], box = [64, 64], swizzle = 128>
// CHECK: tile.tma_load %{{.*}}[%[[SUM:.*]], %[[ROW:.*]]] into
// CHECK: %[[A:.*]] = tile.subview_columns %{{.*}}[%{{.*}}]
// CHECK: tile.mma %[[A]] transposed, %{{.*}} : 
func.func @rows_side_by_side(%x_p: memref<bf16>, %w_p: memref<bf16>, %y_p: memref<bf16>, %m: index {kernel.size = #kernel.size<divisor = 64>}) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [64, %m], strides: [%m, 1] : memref<bf16> to memref<64x?xbf16, strided<[?, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<64x?xbf16, strided<[?, 1]>> to tensor<64x?xbf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [64, 128], strides: [128, 1] : memref<bf16> to memref<64x128xbf16, strided<[128, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<64x128xbf16, strided<[128, 1]>> to tensor<64x128xbf16>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%m, 128], strides: [128, 1] : memref<bf16> to memref<?x128xbf16, strided<[128, 1]>>
  %s_empty = tensor.empty(%m) : tensor<?x128xf32>
  %zero = arith.constant 0.0 : f32
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x128xf32>) -> tensor<?x128xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(k,m)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<64x?xbf16>, tensor<64x128xbf16>) outs(%s_fill : tensor<?x128xf32>) {
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

// A transpose in front of the product is no kernel and no loads.
// CHECK: gpu.func @through_a_transpose
// CHECK-SAME: #kernel.tensor_map<buffer = 1, element = f16, dims = ["64", "128"], strides = ["128"], box = [64, 64], swizzle = 128>
// CHECK: tile.mma %{{.*}}, %{{.*}} transposed
func.func @through_a_transpose(%x_p: memref<f16>, %w_p: memref<f16>, %y_p: memref<f16>, %m: index) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<f16> to memref<?x64xf16, strided<[64, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x64xf16, strided<[64, 1]>> to tensor<?x64xf16>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [128, 64], strides: [64, 1] : memref<f16> to memref<128x64xf16, strided<[64, 1]>>
  %w_s = bufferization.to_tensor %w_m restrict : memref<128x64xf16, strided<[64, 1]>> to tensor<128x64xf16>
  %t_empty = tensor.empty() : tensor<64x128xf32>
  %w_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(b,a)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%w_s : tensor<128x64xf16>) outs(%t_empty : tensor<64x128xf32>) {
  ^bb0(%w: f16, %o: f32):
    %e = arith.extf %w : f16 to f32
    linalg.yield %e : f32
  } -> tensor<64x128xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%m, 128], strides: [128, 1] : memref<f16> to memref<?x128xf16, strided<[128, 1]>>
  %s_empty = tensor.empty(%m) : tensor<?x128xf32>
  %zero = arith.constant 0.0 : f32
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x128xf32>) -> tensor<?x128xf32>
  %s_t = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(k,n)>, affine_map<(m,n,k)->(m,n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x_t, %w_t : tensor<?x64xf16>, tensor<64x128xf32>) outs(%s_fill : tensor<?x128xf32>) {
  ^bb0(%x: f16, %w: f32, %s: f32):
    %e = arith.extf %x : f16 to f32
    %p = arith.mulf %e, %w : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<?x128xf32>
  %y_empty = tensor.empty(%m) : tensor<?x128xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b)->(a,b)>, affine_map<(a,b)->(a,b)>], iterator_types = ["parallel", "parallel"]} ins(%s_t : tensor<?x128xf32>) outs(%y_empty : tensor<?x128xf16>) {
  ^bb0(%s: f32, %y: f16):
    %r = arith.truncf %s : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x128xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x128xf16>, memref<?x128xf16, strided<[128, 1]>>) -> ()
  return
}
