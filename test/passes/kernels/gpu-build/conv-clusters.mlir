// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s

// Convolutions whose blocks work together in clusters of two.

// Each block has a part of the taps and slices, from its own first step on.
// CHECK-LABEL: gpu.func @split(
// CHECK-SAME: grid = ["{{.*}}floordiv(arg3*49 + 63, 64)
// CHECK: %[[RANK:.*]] = tile.block_rank
// CHECK: tile.role "producer"
// CHECK: scf.for %[[NUMBER:[a-z0-9]+]] =
// CHECK: %[[STEP:.*]] = arith.addi %{{.*}}, %[[NUMBER]] : i32
// CHECK: arith.divui %[[STEP]]
// CHECK: tile.tma_load_im2col
// CHECK: tile.role "consumer"
// CHECK: tile.cluster_reduce
func.func @split(%x_p: memref<f16>, %w_p: memref<f16>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 32, optimum = 4>}) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>, kernel.forced_schedule = #kernel.schedule<"conv 64x64x64 stages 8 group_m 11 split_k 2">} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 14, 14, 120], strides: [23520, 1680, 120, 1] : memref<f16> to memref<?x14x14x120xf16, strided<[23520, 1680, 120, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x14x14x120xf16, strided<[23520, 1680, 120, 1]>> to tensor<?x14x14x120xf16>
  %x_t_wide_e = tensor.empty(%n) : tensor<?x14x14x120xf32>
  %x_t_wide = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x_t : tensor<?x14x14x120xf16>) outs(%x_t_wide_e : tensor<?x14x14x120xf32>) {
  ^bb0(%v: f16, %o: f32):
    %e = arith.extf %v : f16 to f32
    linalg.yield %e : f32
  } -> tensor<?x14x14x120xf32>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [3, 3, 120, 64], strides: [23040, 7680, 64, 1] : memref<f16> to memref<3x3x120x64xf16, strided<[23040, 7680, 64, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<3x3x120x64xf16, strided<[23040, 7680, 64, 1]>> to tensor<3x3x120x64xf16>
  %w_t_wide_e = tensor.empty() : tensor<3x3x120x64xf32>
  %w_t_wide = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%w_t : tensor<3x3x120x64xf16>) outs(%w_t_wide_e : tensor<3x3x120x64xf32>) {
  ^bb0(%v: f16, %o: f32):
    %e = arith.extf %v : f16 to f32
    linalg.yield %e : f32
  } -> tensor<3x3x120x64xf32>
  %p_empty = tensor.empty(%n) : tensor<?x16x16x120xf32>
  %p = kernel.pad %x_t_wide low [0, 1, 1, 0] high [0, 1, 1, 0] outside 0.0 : f32 into %p_empty : tensor<?x14x14x120xf32> into tensor<?x16x16x120xf32>
  %s_empty = tensor.empty(%n) : tensor<?x7x7x64xf32>
  %zero = arith.constant 0.0 : f32
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x7x7x64xf32>) -> tensor<?x7x7x64xf32>
  %s_t = kernel.conv %p, %w_t_wide strides [2, 2] dilations [1, 1] into %s_fill : (tensor<?x16x16x120xf32>, tensor<3x3x120x64xf32>, tensor<?x7x7x64xf32>) -> tensor<?x7x7x64xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 7, 7, 64], strides: [3136, 448, 64, 1] : memref<f16> to memref<?x7x7x64xf16, strided<[3136, 448, 64, 1]>>
  %y_empty = tensor.empty(%n) : tensor<?x7x7x64xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s_t : tensor<?x7x7x64xf32>) outs(%y_empty : tensor<?x7x7x64xf16>) {
  ^bb0(%s: f32, %y: f16):
    %r = arith.truncf %s : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x7x7x64xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x7x7x64xf16>, memref<?x7x7x64xf16, strided<[3136, 448, 64, 1]>>) -> ()
  return
}

// Each block copies half of the channels of w's slice to both; pixels are its own.
// CHECK-LABEL: gpu.func @cluster(
// CHECK-SAME: #kernel.tensor_map<buffer = 1, {{[^>]*}}, box = [64, 32, 1]
// CHECK: tile.role "producer"
// CHECK: tile.tma_load_im2col
// CHECK: tile.tma_multicast
// CHECK-NOT: tile.tma_load %
func.func @cluster(%x_p: memref<f16>, %w_p: memref<f16>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 32, optimum = 4>}) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>, kernel.forced_schedule = #kernel.schedule<"conv 64x64x64 stages 8 group_m 11 cluster 2">} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 14, 14, 120], strides: [23520, 1680, 120, 1] : memref<f16> to memref<?x14x14x120xf16, strided<[23520, 1680, 120, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x14x14x120xf16, strided<[23520, 1680, 120, 1]>> to tensor<?x14x14x120xf16>
  %x_t_wide_e = tensor.empty(%n) : tensor<?x14x14x120xf32>
  %x_t_wide = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x_t : tensor<?x14x14x120xf16>) outs(%x_t_wide_e : tensor<?x14x14x120xf32>) {
  ^bb0(%v: f16, %o: f32):
    %e = arith.extf %v : f16 to f32
    linalg.yield %e : f32
  } -> tensor<?x14x14x120xf32>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [3, 3, 120, 64], strides: [23040, 7680, 64, 1] : memref<f16> to memref<3x3x120x64xf16, strided<[23040, 7680, 64, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<3x3x120x64xf16, strided<[23040, 7680, 64, 1]>> to tensor<3x3x120x64xf16>
  %w_t_wide_e = tensor.empty() : tensor<3x3x120x64xf32>
  %w_t_wide = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%w_t : tensor<3x3x120x64xf16>) outs(%w_t_wide_e : tensor<3x3x120x64xf32>) {
  ^bb0(%v: f16, %o: f32):
    %e = arith.extf %v : f16 to f32
    linalg.yield %e : f32
  } -> tensor<3x3x120x64xf32>
  %p_empty = tensor.empty(%n) : tensor<?x16x16x120xf32>
  %p = kernel.pad %x_t_wide low [0, 1, 1, 0] high [0, 1, 1, 0] outside 0.0 : f32 into %p_empty : tensor<?x14x14x120xf32> into tensor<?x16x16x120xf32>
  %s_empty = tensor.empty(%n) : tensor<?x7x7x64xf32>
  %zero = arith.constant 0.0 : f32
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x7x7x64xf32>) -> tensor<?x7x7x64xf32>
  %s_t = kernel.conv %p, %w_t_wide strides [2, 2] dilations [1, 1] into %s_fill : (tensor<?x16x16x120xf32>, tensor<3x3x120x64xf32>, tensor<?x7x7x64xf32>) -> tensor<?x7x7x64xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 7, 7, 64], strides: [3136, 448, 64, 1] : memref<f16> to memref<?x7x7x64xf16, strided<[3136, 448, 64, 1]>>
  %y_empty = tensor.empty(%n) : tensor<?x7x7x64xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s_t : tensor<?x7x7x64xf32>) outs(%y_empty : tensor<?x7x7x64xf16>) {
  ^bb0(%s: f32, %y: f16):
    %r = arith.truncf %s : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x7x7x64xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x7x7x64xf16>, memref<?x7x7x64xf16, strided<[3136, 448, 64, 1]>>) -> ()
  return
}
