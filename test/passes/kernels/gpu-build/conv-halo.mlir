// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_80 %s | FileCheck %s

// A convolution of few channels, whose warpgroups keep tiles of the image with their border in shared memory, and share the filter.

// 18 × 18 pixels of 16 channels, rows of 24; a filter of 9 taps.
// CHECK-DAG: !smem = !tile.smem<[256, 64], f16, swizzle 128>
// CHECK-DAG: !smem{{[0-9]*}} = !tile.smem<[144, 16], f16, swizzle 32>
// CHECK-DAG: !smem{{[0-9]*}} = !tile.smem<[324, 24], f16>
// CHECK-LABEL: gpu.func @conv(
// CHECK-SAME: grid = ["min(arg3*6, max(sm_count*2, 1))", "1", "1"], block = [256, 1, 1]
// CHECK-SAME: kernel.schedule = #kernel.schedule<"conv_halo 16x16x16 warpgroups 2 stages 1">
// CHECK: %[[RING:.*]] = tile.alloc : !smem
// CHECK: %[[FILTER:.*]] = tile.alloc
// CHECK: tile.barrier_init
// The first pixels, then the filter.
// CHECK: tile.role "tiles" warps 0 to 8
// CHECK: tile.cp_async %{{.*}} by 16 columns 16 warpgroup
// CHECK: tile.cp_async_commit
// CHECK: tile.cp_async %{{.*}} into %[[FILTER]] by 16
// CHECK: tile.sync block
// CHECK: tile.role "tiles" warps 0 to 8
// CHECK: scf.for
// CHECK: tile.cp_async_wait<0>
// CHECK-NEXT: tile.sync warpgroup
// CHECK: tile.mma_window %{{.*}} width 18 channels 16, %[[FILTER]], %{{.*}} taps [3, 3] strides [1, 1] dilations [1, 1] lines 16
// Results go through the pixels' memory, when all have multiplied them.
// CHECK: tile.sync warpgroup
// CHECK: tile.reuse
// CHECK: tile.store_shared
// CHECK: tile.sync warpgroup
// CHECK: tile.store_global %{{.*}} by 16 whole warpgroup
// The next pixels come when all have stored.
// CHECK: tile.sync warpgroup
// CHECK: tile.cp_async %{{.*}} by 16 columns 16 warpgroup
func.func @conv(%x_p: memref<f16>, %w_p: memref<f16>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 32, optimum = 4>}) attributes {kernel.forced_schedule = #kernel.schedule<"conv_halo 16x16x16 warpgroups 2 stages 1">, kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 64, 48, 16], strides: [49152, 768, 16, 1] : memref<f16> to memref<?x64x48x16xf16, strided<[49152, 768, 16, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x64x48x16xf16, strided<[49152, 768, 16, 1]>> to tensor<?x64x48x16xf16>
  %x_e = tensor.empty(%n) : tensor<?x64x48x16xf32>
  %x = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x_t : tensor<?x64x48x16xf16>) outs(%x_e : tensor<?x64x48x16xf32>) {
  ^bb0(%v: f16, %o: f32):
    %e = arith.extf %v : f16 to f32
    linalg.yield %e : f32
  } -> tensor<?x64x48x16xf32>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [3, 3, 16, 16], strides: [768, 256, 16, 1] : memref<f16> to memref<3x3x16x16xf16, strided<[768, 256, 16, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<3x3x16x16xf16, strided<[768, 256, 16, 1]>> to tensor<3x3x16x16xf16>
  %w_e = tensor.empty() : tensor<3x3x16x16xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%w_t : tensor<3x3x16x16xf16>) outs(%w_e : tensor<3x3x16x16xf32>) {
  ^bb0(%v: f16, %o: f32):
    %e = arith.extf %v : f16 to f32
    linalg.yield %e : f32
  } -> tensor<3x3x16x16xf32>
  %p_e = tensor.empty(%n) : tensor<?x66x50x16xf32>
  %p = kernel.pad %x low [0, 1, 1, 0] high [0, 1, 1, 0] outside 0.0 : f32 into %p_e : tensor<?x64x48x16xf32> into tensor<?x66x50x16xf32>
  %s_e = tensor.empty(%n) : tensor<?x64x48x16xf32>
  %zero = arith.constant 0.0 : f32
  %s_f = linalg.fill ins(%zero : f32) outs(%s_e : tensor<?x64x48x16xf32>) -> tensor<?x64x48x16xf32>
  %s = kernel.conv %p, %w strides [1, 1] dilations [1, 1] into %s_f : (tensor<?x66x50x16xf32>, tensor<3x3x16x16xf32>, tensor<?x64x48x16xf32>) -> tensor<?x64x48x16xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 64, 48, 16], strides: [49152, 768, 16, 1] : memref<f16> to memref<?x64x48x16xf16, strided<[49152, 768, 16, 1]>>
  %y_e = tensor.empty(%n) : tensor<?x64x48x16xf16>
  %y = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s : tensor<?x64x48x16xf32>) outs(%y_e : tensor<?x64x48x16xf16>) {
  ^bb0(%v: f32, %o: f16):
    %r = arith.truncf %v : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x64x48x16xf16>
  bufferization.materialize_in_destination %y in restrict writable %y_m : (tensor<?x64x48x16xf16>, memref<?x64x48x16xf16, strided<[49152, 768, 16, 1]>>) -> ()
  return
}
