// RUN: kpc-opt --kpc-gpu-build-kernels=arch=sm_90a %s | FileCheck %s
// RUN: sed 's/"conv 64x64x64 stages 8 group_m 11"/"conv 64x128x64 stages 5 group_m 11"/' %s | kpc-opt --kpc-gpu-build-kernels=arch=sm_90a | FileCheck %s --check-prefix=WIDE
// RUN: sed 's/"conv 64x64x64 stages 8 group_m 11"/"conv 64x64x64 stages 8 group_m 11 split_k 2"/' %s | kpc-opt --kpc-gpu-build-kernels=arch=sm_90a | FileCheck %s --check-prefix=SPLIT
// RUN: sed 's/"conv 64x64x64 stages 8 group_m 11"/"conv 256x128x64 stages 3 group_m 2 pair"/' %s | kpc-opt --kpc-gpu-build-kernels=arch=sm_100a | FileCheck %s --check-prefix=TCGEN05

// Taps that all columns of a tile lack are left out: 64 outputs have the first tap, 64 the first two, the others all nine.
// Tiles of 64 columns compare where they begin with both borders. Each tile's sum is as long as its mask has taps.

// CHECK-LABEL: gpu.func @conv(
// CHECK: tile.role "producer"
// CHECK: %[[SECOND:.*]] = arith.cmpi uge, %[[COLUMN:.*]], %c64_i32
// CHECK: %[[TWO:.*]] = arith.select %[[SECOND]], %c3_i32, %c1_i32
// CHECK: %[[THIRD:.*]] = arith.cmpi uge, %[[COLUMN]], %c128_i32
// CHECK: %[[LIVE:.*]] = arith.select %[[THIRD]], %c511_i32, %[[TWO]]
// CHECK: scf.for %[[STEP:[a-z0-9]+]] = %{{.*}} to %c18_i32 {{.*}} iter_args(%[[AT:.*]] = %{{.*}})
// CHECK: %[[TAP:.*]] = arith.divui %[[STEP]], %c2_i32
// CHECK: %[[SHIFTED:.*]] = arith.shrui %[[LIVE]], %[[TAP]]
// CHECK: %[[IS:.*]] = arith.trunci %[[SHIFTED]] : i32 to i1
// CHECK: scf.if %[[IS]]
// CHECK: tile.acquire
// CHECK: tile.tma_load_im2col
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[AT]]
// CHECK: tile.role "consumer"
// CHECK: %[[TAPS:.*]] = math.ctpop %{{.*}} : i32
// CHECK: %[[STEPS:.*]] = arith.muli %[[TAPS]], %c2_i32
// Each tile has two steps, which LLVM does not see.
// CHECK: %[[TWO:.*]] = arith.maxui %[[STEPS]], %c2_i32
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[TWO]] : i32 to index
// CHECK: %[[K:.*]] = arith.muli %[[INDEX]], %c64
// CHECK: tile.mma
// CHECK: scf.for %{{.*}} = %c64 to %[[K]] step %c64
// The place is computed again after the products, from a number that LLVM does not know.
// CHECK: tile.await
// CHECK: nvvm.inline_ptx "mov.b32 {$w0}, {$r0};"

// A tile of 128 columns has the taps of both its parts.
// WIDE-LABEL: gpu.func @conv(
// WIDE: tile.role "producer"
// WIDE: %[[SECOND:.*]] = arith.cmpi uge, %{{.*}}, %c128_i32
// WIDE: arith.select %[[SECOND]], %c511_i32, %c3_i32

// Blocks that share a sum have parts of all taps.
// SPLIT-LABEL: gpu.func @conv(
// SPLIT-NOT: math.ctpop
// SPLIT: tile.cluster_reduce

// TCGEN05-LABEL: gpu.func @conv(
// TCGEN05: tile.role "producer"
// TCGEN05: arith.select %{{.*}}, %c511_i32, %c3_i32
// TCGEN05: tile.role "mma"
// TCGEN05: %[[TAPS:.*]] = math.ctpop %{{.*}} : i32
// TCGEN05: tile.tmem_mma
func.func @conv(%x_p: memref<f16>, %w_p: memref<f16>, %y_p: memref<f16>, %n: index {kernel.size = #kernel.size<min = 1, max = 32, optimum = 4>}) attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>, kernel.forced_schedule = #kernel.schedule<"conv 64x64x64 stages 8 group_m 11">} {
  %x_m = memref.reinterpret_cast %x_p to offset: [0], sizes: [%n, 14, 14, 120], strides: [23520, 1680, 120, 1] : memref<f16> to memref<?x14x14x120xf16, strided<[23520, 1680, 120, 1]>>
  %x_t = bufferization.to_tensor %x_m restrict : memref<?x14x14x120xf16, strided<[23520, 1680, 120, 1]>> to tensor<?x14x14x120xf16>
  %x_t_wide_e = tensor.empty(%n) : tensor<?x14x14x120xf32>
  %x_t_wide = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x_t : tensor<?x14x14x120xf16>) outs(%x_t_wide_e : tensor<?x14x14x120xf32>) {
  ^bb0(%v: f16, %o: f32):
    %e = arith.extf %v : f16 to f32
    linalg.yield %e : f32
  } -> tensor<?x14x14x120xf32>
  %w_m = memref.reinterpret_cast %w_p to offset: [0], sizes: [3, 3, 120, 256], strides: [92160, 30720, 256, 1] : memref<f16> to memref<3x3x120x256xf16, strided<[92160, 30720, 256, 1]>>
  %w_t = bufferization.to_tensor %w_m restrict : memref<3x3x120x256xf16, strided<[92160, 30720, 256, 1]>> to tensor<3x3x120x256xf16>
  %w_t_wide_e = tensor.empty() : tensor<3x3x120x256xf32>
  %w_t_wide = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%w_t : tensor<3x3x120x256xf16>) outs(%w_t_wide_e : tensor<3x3x120x256xf32>) {
  ^bb0(%v: f16, %o: f32):
    %e = arith.extf %v : f16 to f32
    linalg.yield %e : f32
  } -> tensor<3x3x120x256xf32>
  %p_empty = tensor.empty(%n) : tensor<?x16x16x120xf32>
  %p = kernel.pad %x_t_wide low [0, 1, 1, 0] high [0, 1, 1, 0] outside 0.0 : f32 into %p_empty : tensor<?x14x14x120xf32> into tensor<?x16x16x120xf32>
  %s_empty = tensor.empty(%n) : tensor<?x7x7x256xf32>
  %zero = arith.constant 0.0 : f32
  %s_fill = linalg.fill ins(%zero : f32) outs(%s_empty : tensor<?x7x7x256xf32>) -> tensor<?x7x7x256xf32>
  %s_t = kernel.conv %p, %w_t_wide strides [2, 2] dilations [1, 1] into %s_fill {kernel.live_taps = array<i64: 1, 3, 511, 511>} : (tensor<?x16x16x120xf32>, tensor<3x3x120x256xf32>, tensor<?x7x7x256xf32>) -> tensor<?x7x7x256xf32>
  %y_m = memref.reinterpret_cast %y_p to offset: [0], sizes: [%n, 7, 7, 256], strides: [12544, 1792, 256, 1] : memref<f16> to memref<?x7x7x256xf16, strided<[12544, 1792, 256, 1]>>
  %y_empty = tensor.empty(%n) : tensor<?x7x7x256xf16>
  %y_t = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->(a,b,c,d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%s_t : tensor<?x7x7x256xf32>) outs(%y_empty : tensor<?x7x7x256xf16>) {
  ^bb0(%s: f32, %y: f16):
    %r = arith.truncf %s : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x7x7x256xf16>
  bufferization.materialize_in_destination %y_t in restrict writable %y_m : (tensor<?x7x7x256xf16>, memref<?x7x7x256xf16, strided<[12544, 1792, 256, 1]>>) -> ()
  return
}
