// RUN: sed 's/SCHEDULE/gemm 128x128x64 stages 3 group_m 8 pingpong/' %s | kpc-opt --kpc-gpu-build-kernels=arch=sm_90a | FileCheck %s
// RUN: sed 's/SCHEDULE/gemm 64x256x64 stages 2 group_m 8 cluster 2x1 pingpong/' %s | kpc-opt --kpc-gpu-build-kernels=arch=sm_90a | FileCheck %s --check-prefix=SHARED
// RUN: sed 's/SCHEDULE/gemm 128x256x64 stages 2 group_m 8 pingpong/' %s | not kpc-opt --kpc-gpu-build-kernels=arch=sm_90a 2>&1 | FileCheck %s --check-prefix=WIDE
// RUN: sed 's/SCHEDULE/gemm 64x128x64 stages 4 group_m 8 split_k 2 pingpong/' %s | not kpc-opt --kpc-gpu-build-kernels=arch=sm_90a 2>&1 | FileCheck %s --check-prefix=SPLIT

// A stage is one warpgroup's, and each warpgroup has two buffers of its 128 rows.
// CHECK: ![[A:.*]] = !tile.smem<[128, 64], f16, swizzle 128>
// CHECK: ![[B:.*]] = !tile.smem<[64, 128], f16, swizzle 128>
// CHECK: ![[STAGING:.*]] = !tile.smem<[512, 64], f16, swizzle 128>
// CHECK: !pipe = !tile.pipe<3 of [![[A]], ![[B]]]>
// CHECK: grid = ["min(sm_count, floordiv(arg3 + 127, 128)*2)", "1", "1"]
// CHECK: tile.pipe tma consumers 4
// CHECK: tile.alloc : ![[STAGING]]
// CHECK: tile.role "producer" warps 0 to 4 registers 24
// CHECK: tile.role "consumer" warps 4 to 12 registers 240 {
// CHECK-NEXT: ^bb0(%[[GROUP:.*]]: index):
// The second lets the first begin.
// CHECK: %[[IS_SECOND:.*]] = arith.cmpi eq, %{{.*}}, %c1_i32
// CHECK-NEXT: scf.if %[[IS_SECOND]] {
// CHECK-NEXT: tile.pass_turn
// 400 are seven steps, the stages of one tile.
// CHECK: %[[BEFORE:.*]] = arith.muli %[[GROUP]], %c7
// CHECK: %[[FIRST:.*]] = tile.skip %{{.*}} by %[[BEFORE]]
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[FIRST]]) -> (!tile.cursor)
// CHECK: tile.wait_turn
// CHECK: tile.mma
// CHECK: scf.for
// CHECK: tile.mma
// CHECK: tile.wgmma_wait<1> {{.*}}
// CHECK: tile.pass_turn
// CHECK-NEXT: tile.await {{.*}} -> !{{.*}}
// CHECK: tile.map
// CHECK: tile.tma_store
// CHECK: tile.skip %{{.*}} by %c7
// CHECK: tile.wait_turn

// Of two blocks that share copies, the eight warps that have a stage release it.
// SHARED: tile.pipe tma consumers 8
// SHARED: tile.tma_multicast
// SHARED: tile.wait_turn
// SHARED: tile.release %{{.*}} to 2

// A thread would have 256 sums.
// WIDE: the schedule 'gemm 128x256x64 stages 2 group_m 8 pingpong' is none of this kernel's

// SPLIT: the schedule 'gemm 64x128x64 stages 4 group_m 8 split_k 2 pingpong' is none of this kernel's
func.func @product(%x: memref<f16>, %w: memref<f16>, %y: memref<f16>, %m: index {kernel.size = #kernel.size<min = 1, max = 4096, optimum = 1024>})
    attributes {kernel.buffers = #kernel.buffers<reads = [0, 1], writes = [2]>, kernel.forced_schedule = #kernel.schedule<"SCHEDULE">} {
  %xm = memref.reinterpret_cast %x to offset: [0], sizes: [%m, 400], strides: [400, 1] : memref<f16> to memref<?x400xf16, strided<[400, 1]>>
  %wm = memref.reinterpret_cast %w to offset: [0], sizes: [400, 256], strides: [256, 1] : memref<f16> to memref<400x256xf16, strided<[256, 1]>>
  %ym = memref.reinterpret_cast %y to offset: [0], sizes: [%m, 256], strides: [256, 1] : memref<f16> to memref<?x256xf16, strided<[256, 1]>>
  %xt = bufferization.to_tensor %xm restrict : memref<?x400xf16, strided<[400, 1]>> to tensor<?x400xf16>
  %wt = bufferization.to_tensor %wm restrict : memref<400x256xf16, strided<[256, 1]>> to tensor<400x256xf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%m) : tensor<?x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x256xf32>) -> tensor<?x256xf32>
  %k = tensor.empty() : tensor<400xi1>
  %p = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%xt, %wt, %k : tensor<?x400xf16>, tensor<400x256xf16>, tensor<400xi1>) outs(%f : tensor<?x256xf32>) {
  ^bb0(%a: f16, %b: f16, %u: i1, %c: f32):
    %a32 = arith.extf %a : f16 to f32
    %b32 = arith.extf %b : f16 to f32
    %m0 = arith.mulf %a32, %b32 : f32
    %s0 = arith.addf %c, %m0 : f32
    linalg.yield %s0 : f32
  } -> tensor<?x256xf32>
  %r = tensor.empty(%m) : tensor<?x256xf16>
  %q = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<?x256xf32>) outs(%r : tensor<?x256xf16>) {
  ^bb0(%a: f32, %o: f16):
    %n = arith.truncf %a : f32 to f16
    linalg.yield %n : f16
  } -> tensor<?x256xf16>
  bufferization.materialize_in_destination %q in restrict writable %ym : (tensor<?x256xf16>, memref<?x256xf16, strided<[256, 1]>>) -> ()
  return
}
