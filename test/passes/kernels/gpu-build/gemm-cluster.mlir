// RUN: sed 's/SCHEDULE/gemm 128x64x64 stages 8 group_m 8 split_k 4/' %s | kpc-opt --kpc-gpu-build-kernels=arch=sm_90a | FileCheck %s --check-prefix=SPLIT
// RUN: sed 's/SCHEDULE/gemm 64x128x64 stages 4 group_m 8 cluster 2x1/' %s | kpc-opt --kpc-gpu-build-kernels=arch=sm_90a | FileCheck %s --check-prefix=DOWN
// RUN: sed 's/SCHEDULE/gemm 64x128x64 stages 4 group_m 8 cluster 1x2/' %s | kpc-opt --kpc-gpu-build-kernels=arch=sm_90a | FileCheck %s --check-prefix=ALONG
// RUN: sed 's/SCHEDULE/gemm 128x64x64 stages 8 group_m 8 split_k 8/' %s | not kpc-opt --kpc-gpu-build-kernels=arch=sm_90a 2>&1 | FileCheck %s --check-prefix=SHORT

// Blocks that have a part of one sum each. Every cluster computes one tile.
// SPLIT: grid = ["floordiv(arg3 + 127, 128)*16", "1", "1"], {{.*}}, cluster = 4>
// SPLIT: tile.barrier_init
// SPLIT-NEXT: %[[RANK:.*]] = tile.block_rank
// 400 are seven steps: of 1, 2, 2 and 2 for the four blocks.
// SPLIT: %[[BEGIN:.*]] = arith.muli %{{.*}}, %c7_i32 : i32
// SPLIT-NEXT: arith.divui %[[BEGIN]], %c4_i32 : i32
// SPLIT: tile.role "producer"
// SPLIT: tile.role "consumer"
// SPLIT: %[[SUMS:.*]] = tile.await
// SPLIT: tile.sync role
// SPLIT-NEXT: %[[ALL:.*]] = tile.reuse
// SPLIT: %[[MINE:.*]] = tile.subview_rows %[[ALL]]
// SPLIT-NEXT: tile.cluster_store %[[SUMS]] in %[[MINE]]
// SPLIT-NEXT: tile.cluster_sync
// Each block finishes a quarter of the columns.
// SPLIT: tile.cluster_reduce %[[MINE]][%{{.*}}] of 4 : {{.*}} -> !{{.*}}
// SPLIT: tile.map
// SPLIT: tile.tma_store
// SPLIT: tile.cluster_sync

// Tiles below each other, which need the same of B.
// DOWN: grid = ["min(floordiv(sm_count, 2)*2, floordiv(arg3 + 127, 128)*4)", "1", "1"]
// DOWN-SAME: cluster = 2
// DOWN: tile.pipe tma consumers 8
// DOWN: tile.cluster_sync
// DOWN: tile.tma_load %{{.*}} into
// DOWN: %[[PART:.*]] = tile.subview_rows
// DOWN: tile.tma_multicast %{{.*}} into %[[PART]] signal %{{.*}} of 2
// DOWN: tile.release %{{.*}} to 2
// DOWN: tile.cluster_sync

// Side by side, with the same of A.
// ALONG: grid = ["min(floordiv(sm_count, 2)*2, floordiv(arg3 + 63, 64)*2)", "1", "1"]
// ALONG: tile.tma_multicast
// ALONG: tile.tma_load

// Seven steps are not enough for eight blocks.
// SHORT: the schedule 'gemm 128x64x64 stages 8 group_m 8 split_k 8' is none of this kernel's
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
