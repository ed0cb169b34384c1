// RUN: kpc-opt %s | kpc-opt | FileCheck %s

// Each warp has a ring of its own, which its lanes fill and read; then its memory is used again by all.

// CHECK: !smem = !tile.smem<[16, 64], f16, row_swizzle [1, 6, 1]>
// CHECK: !smem1 = !tile.smem<[16, 64], f16, row_swizzle [2, 5, 3]>
// CHECK: !pipe = !tile.pipe<3 of [!smem, !smem1]>
!k = !tile.smem<[16, 64], f16, row_swizzle [1, 6, 1]>
!v = !tile.smem<[16, 64], f16, row_swizzle [2, 5, 3]>
!ring = !tile.pipe<3 of [!k, !v]>
!parts = !tile.smem<[8, 68], f32>
!w = !tile.smem<[64, 64], f16, row_swizzle [1, 4, 3, 2, 5, 5]>
!pieces = !tile.pipe<2 of [!w]>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @warps
  // CHECK-SAME: memref<?xf16>
  gpu.func @warps(%x: memref<?xf16>, %stride: index, %n: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    // CHECK: tile.warp
    %warp = tile.warp
    // CHECK: %[[RING:.*]] = tile.pipe cp_async warps 4 : !pipe
    %ring = tile.pipe cp_async warps 4 : !ring
    // CHECK: tile.cursor of %[[RING]] : !pipe
    %start = tile.cursor of %ring : !ring
    %free = tile.acquire %ring[%start] : !ring -> !tile.stage<free>
    %k, %v = tile.tiles %ring[%free] : !ring, !tile.stage<free> -> !k, !v
    // CHECK: tile.cp_async_rows %arg0[%{{.*}}] stride %arg1 rows %arg2 columns 64 into %{{.*}} signal %[[RING]][%{{.*}}] : memref<?xf16>, !smem, !pipe, !tile.stage<free>
    tile.cp_async_rows %x[%c0] stride %stride rows %n columns 64 into %k signal %ring[%free] : memref<?xf16>, !k, !ring, !tile.stage<free>
    tile.cp_async_rows %x[%c16] stride %stride rows %n columns 48 into %v signal %ring[%free] : memref<?xf16>, !v, !ring, !tile.stage<free>
    tile.commit %ring[%free] : !ring, !tile.stage<free>
    // CHECK: scf.for
    %last = scf.for %i = %c0 to %n step %c16 iter_args(%at = %start) -> (!tile.cursor) {
      %next = tile.next %ring[%at] : !ring
      %more = tile.acquire %ring[%next] : !ring -> !tile.stage<free>
      tile.commit %ring[%more] : !ring, !tile.stage<free>
      // CHECK: tile.wait %[[RING]][%{{.*}}] in_flight 1 : !pipe -> !tile.stage<full>
      %full = tile.wait %ring[%at] in_flight 1 : !ring -> !tile.stage<full>
      %kk, %vv = tile.tiles %ring[%full] : !ring, !tile.stage<full> -> !k, !v
      // CHECK: tile.load_vector %{{.*}}[%{{.*}}, %{{.*}}] : !smem -> vector<4xi32>
      %a = tile.load_vector %kk[%c0, %c16] : !k -> vector<4xi32>
      // CHECK: tile.load_vector %{{.*}}[%{{.*}} + 8, %{{.*}} + 32] : !smem1 -> vector<2xf32>
      %b = tile.load_vector %vv[%c0 + 8, %c0 + 32] : !v -> vector<2xf32>
      tile.release %ring[%full] : !ring, !tile.stage<full>
      scf.yield %next : !tile.cursor
    }
    // CHECK: tile.drain %[[RING]]
    tile.drain %ring[%last] : !ring
    tile.sync block
    // CHECK: %[[PARTS:.*]] = tile.reuse %[[RING]] : !pipe -> !smem2
    %parts = tile.reuse %ring : !ring -> !parts
    %sums = arith.constant dense<0.0> : vector<4xf32>
    // CHECK: tile.store_vector %{{.*}} to %[[PARTS]][%{{.*}} + 2, %{{.*}} + 64] : vector<4xf32>, !smem2
    tile.store_vector %sums to %parts[%warp + 2, %c0 + 64] : vector<4xf32>, !parts
    // CHECK: tile.store_vector %{{.*}} to %[[PARTS]][%{{.*}}, %{{.*}}] : vector<4xf32>, !smem2
    tile.store_vector %sums to %parts[%warp, %c16] : vector<4xf32>, !parts
    // CHECK: tile.cluster_sync aligned
    tile.cluster_sync aligned
    // CHECK: tile.load_vector %[[PARTS]][%{{.*}} + 4, %{{.*}}] of block 1 : !smem2 -> vector<4xf32>
    %theirs = tile.load_vector %parts[%warp + 4, %c16] of block 1 : !parts -> vector<4xf32>
    gpu.return
  }

  // Each lane has pieces of its own; two swizzles of a tile.
  // CHECK-LABEL: gpu.func @pieces
  gpu.func @pieces(%x: memref<?xf16>, %i: index, %is: i1) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    %ring = tile.pipe cp_async warps 1 : !pieces
    // CHECK: tile.alloc
    %sums = tile.alloc : <[8, 8], f32>
    // CHECK: %[[POLICY:.*]] = tile.cache_policy evict_first
    %policy = tile.cache_policy evict_first
    %start = tile.cursor of %ring : !pieces
    %free = tile.acquire %ring[%start] : !pieces -> !tile.stage<free>
    %w = tile.tiles %ring[%free] : !pieces, !tile.stage<free> -> !w
    // CHECK: tile.cp_async_vector if %arg2 %arg0[%arg1] inside %arg2 into %{{.*}}[%arg1, %arg1] by 16 policy %[[POLICY]] signal
    tile.cp_async_vector if %is %x[%i] inside %is into %w[%i, %i] by 16 policy %policy signal %ring[%free] : memref<?xf16>, !w, !pieces, !tile.stage<free>
    // CHECK: tile.grid_dependency_wait
    tile.grid_dependency_wait
    // CHECK: tile.cp_async_vector %arg0[%arg1] into %{{.*}}[%arg1, %arg1] by 8 signal
    tile.cp_async_vector %x[%i] into %w[%i, %i] by 8 signal %ring[%free] : memref<?xf16>, !w, !pieces, !tile.stage<free>
    tile.commit %ring[%free] : !pieces, !tile.stage<free>
    %full = tile.wait %ring[%start] : !pieces -> !tile.stage<full>
    %ww = tile.tiles %ring[%full] : !pieces, !tile.stage<full> -> !w
    // CHECK: tile.load_matrix %{{.*}}[%arg1 + 32, %arg1 + 8] : !smem{{[0-9]*}} -> vector<4xi32>
    %a = tile.load_matrix %ww[%i + 32, %i + 8] : !w -> vector<4xi32>
    tile.release %ring[%full] : !pieces, !tile.stage<full>
    gpu.return
  }
}
