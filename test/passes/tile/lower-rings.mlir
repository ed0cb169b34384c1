// RUN: kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-place-shared,kpc-lower-tile,canonicalize,cse))' %s | FileCheck %s

// Rings of warps. A stage has 2,048 bytes of keys and 2,048 of values: a ring of three stages 12,288, those of four warps 49,152.

!k = !tile.smem<[16, 64], f16, row_swizzle [1, 6, 1]>
!v = !tile.smem<[16, 64], f16, row_swizzle [2, 5, 3]>
!ring = !tile.pipe<3 of [!k, !v]>
!parts = !tile.smem<[8, 68], f32>
!w = !tile.smem<[32, 64], f16, row_swizzle [1, 4, 3, 2, 5, 5]>
!pieces = !tile.pipe<2 of [!k, !w]>
gpu.module @m {
  // CHECK-LABEL: gpu.func @warps
  // CHECK-SAME: shared = 49152
  // CHECK-DAG: %[[SHARED:.*]] = llvm.mlir.addressof @kpc_shared
  // CHECK-DAG: %[[RING_BYTES:.*]] = arith.constant 12288 : i32
  // CHECK-DAG: %[[STAGE:.*]] = arith.constant 4096 : i32
  // CHECK-DAG: %[[LAST:.*]] = arith.constant 8192 : i32
  // CHECK-DAG: %[[NONE:.*]] = arith.constant 0 : i32
  gpu.func @warps(%x: memref<?xf16>, %y: memref<?xvector<4xi32>>, %stride: index, %n: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1], cluster = 2>} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    // CHECK: %[[WARP:.*]] = nvvm.shfl.sync idx
    // CHECK-NOT: nvvm.mbarrier
    %warp = tile.warp
    // The warp's ring is behind those of the warps before it.
    // CHECK: %[[MINE:.*]] = arith.muli %[[WARP]], %[[RING_BYTES]]
    // CHECK: %[[RING:.*]] = llvm.getelementptr %[[SHARED]][%[[MINE]]]
    %ring = tile.pipe cp_async warps 4 : !ring
    %first = tile.cursor of %ring : !ring
    %second = tile.next %ring[%first] : !ring
    %f0 = tile.acquire %ring[%first] : !ring -> !tile.stage<free>
    %k0, %v0 = tile.tiles %ring[%f0] : !ring, !tile.stage<free> -> !k, !v
    // Eight lanes have a row: 16 rows are four copies. Rows that are not there take no bytes.
    // CHECK: %[[AT_LEAST:.*]] = arith.maxsi %arg3, %c0
    // CHECK: %[[AT_MOST:.*]] = arith.minsi %[[AT_LEAST]], %c16
    // CHECK: %[[ROWS:.*]] = arith.index_cast %[[AT_MOST]] : index to i32
    // CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %{{.*}}, %[[ROWS]]
    // CHECK: %[[SIZE:.*]] = arith.select %[[INSIDE]], %{{.*}}, %[[NONE]]
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %[[SIZE]]
    // CHECK-COUNT-3: nvvm.cp.async.shared.global
    // CHECK-NOT: nvvm.cp.async.shared.global
    tile.cp_async_rows %x[%c0] stride %stride rows %n columns 64 into %k0 signal %ring[%f0] : memref<?xf16>, !k, !ring, !tile.stage<free>
    // CHECK: nvvm.cp.async.commit.group
    tile.commit %ring[%f0] : !ring, !tile.stage<free>
    // Columns that are not there take none either.
    // CHECK: %[[IN_ROW:.*]] = arith.cmpi slt, %{{.*}}, %c48
    // CHECK: arith.andi %{{.*}}, %[[IN_ROW]]
    // CHECK-COUNT-4: nvvm.cp.async.shared.global
    %f1 = tile.acquire %ring[%second] : !ring -> !tile.stage<free>
    %k1, %v1 = tile.tiles %ring[%f1] : !ring, !tile.stage<free> -> !k, !v
    tile.cp_async_rows %x[%c16] stride %stride rows %n columns 48 into %v1 signal %ring[%f1] : memref<?xf16>, !v, !ring, !tile.stage<free>
    tile.commit %ring[%f1] : !ring, !tile.stage<free>
    // A cursor is the stage's byte.
    // CHECK: scf.for {{.*}} iter_args(%[[AT:.*]] = %[[NONE]]) -> (i32)
    %last = scf.for %i = %c0 to %n step %c16 iter_args(%at = %first) -> (!tile.cursor) {
      // CHECK-NEXT: nvvm.cp.async.wait.group 1
      // CHECK-NEXT: nvvm.bar.warp.sync
      %full = tile.wait %ring[%at] in_flight 1 : !ring -> !tile.stage<full>
      // CHECK: %[[IS_LAST:.*]] = arith.cmpi eq, %[[AT]], %[[LAST]]
      // CHECK: %[[BEHIND:.*]] = arith.addi %[[AT]], %[[STAGE]]
      // CHECK: %[[NEXT:.*]] = arith.select %[[IS_LAST]], %[[NONE]], %[[BEHIND]]
      %next = tile.next %ring[%at] : !ring
      %third = tile.next %ring[%next] : !ring
      %free = tile.acquire %ring[%third] : !ring -> !tile.stage<free>
      // CHECK: nvvm.cp.async.commit.group
      tile.commit %ring[%free] : !ring, !tile.stage<free>
      // CHECK: %[[KEYS:.*]] = llvm.getelementptr %[[RING]][%[[AT]]]
      // CHECK: %[[VALUES:.*]] = llvm.getelementptr %[[KEYS]][2048]
      %k, %v = tile.tiles %ring[%full] : !ring, !tile.stage<full> -> !k, !v
      // Of keys, bit 0 of the row moves units by four; rows 8 apart are alike.
      // CHECK: %[[BIT:.*]] = arith.andi %{{.*}}, %c1
      // CHECK: %[[BY:.*]] = arith.muli %[[BIT]], %c64
      // CHECK: arith.xori %{{.*}}, %[[BY]]
      // CHECK: %[[FROM:.*]] = llvm.getelementptr %[[KEYS]][%{{.*}}] : (!llvm.ptr<3>, i64)
      // CHECK: %[[EIGHT:.*]] = llvm.getelementptr %[[FROM]][1024]
      // CHECK: llvm.load %[[EIGHT]] {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
      %a = tile.load_vector %k[%i + 8, %warp] : !k -> vector<4xi32>
      // Of values, bits 1 and 2 move them by two: of nine rows, eight are constant.
      // CHECK: %[[ROW:.*]] = arith.addi %{{.*}}, %c1
      // CHECK: arith.divui %[[ROW]], %c2
      // CHECK: %[[FROM2:.*]] = llvm.getelementptr %[[VALUES]][%{{.*}}] : (!llvm.ptr<3>, i64)
      // CHECK: %[[NINE:.*]] = llvm.getelementptr %[[FROM2]][1024]
      // CHECK: llvm.load %[[NINE]]
      %b = tile.load_vector %v[%i + 9, %warp] : !v -> vector<4xi32>
      memref.store %a, %y[%i] : memref<?xvector<4xi32>>
      memref.store %b, %y[%warp] : memref<?xvector<4xi32>>
      tile.release %ring[%full] : !ring, !tile.stage<full>
      // CHECK: scf.yield %[[NEXT]]
      scf.yield %next : !tile.cursor
    }
    // CHECK: nvvm.cp.async.wait.group 0
    // CHECK-NEXT: nvvm.barrier
    tile.drain %ring[%last] : !ring
    tile.sync block
    // All rings' memory, not the warp's: rows of 272 bytes.
    %parts = tile.reuse %ring : !ring -> !parts
    %sums = arith.constant dense<0.0> : vector<4xf32>
    // CHECK: %[[TO:.*]] = llvm.getelementptr %[[SHARED]][%{{.*}}] : (!llvm.ptr<3>, i64)
    // CHECK: %[[TO2:.*]] = llvm.getelementptr %[[TO]][800]
    // CHECK: llvm.store %{{.*}}, %[[TO2]] {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
    tile.store_vector %sums to %parts[%warp + 2, %n + 64] : vector<4xf32>, !parts
    // CHECK: nvvm.cluster.arrive {aligned}
    // CHECK-NEXT: nvvm.cluster.wait {aligned}
    tile.cluster_sync aligned
    // CHECK: %[[THERE:.*]] = nvvm.mapa %{{.*}}, %{{.*}} : !llvm.ptr<3> -> !llvm.ptr<7>
    // CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[THERE]][%{{.*}}] : (!llvm.ptr<7>, i64)
    // CHECK: %[[PLACE4:.*]] = llvm.getelementptr %[[PLACE]][1088]
    // CHECK: llvm.load %[[PLACE4]] {alignment = 16 : i64} : !llvm.ptr<7> -> vector<4xi32>
    %theirs = tile.load_vector %parts[%warp + 4, %n] of block 1 : !parts -> vector<4xi32>
    memref.store %theirs, %y[%n] : memref<?xvector<4xi32>>
    gpu.return
  }

  // What uses the memory again may be larger than the rings.
  // CHECK-LABEL: gpu.func @larger
  // CHECK-SAME: shared = 65536
  gpu.func @larger() kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    %ring = tile.pipe cp_async warps 1 : !ring
    tile.sync block
    %parts = tile.reuse %ring : !ring -> !tile.smem<[128, 128], f32>
    gpu.return
  }

  // Each lane copies its own pieces, and the second cache keeps none of them. Such a ring is told by addresses that each thread has for itself.
  // CHECK-LABEL: gpu.func @pieces
  // CHECK-SAME: shared = 12416
  gpu.func @pieces(%x: memref<?xf16>, %y: memref<?xvector<4xi32>>, %n: index, %m: index, %is: i1, %if: i1) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [32, 1, 1]>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: %[[THREAD:.*]] = arith.index_cast %thread_id_x : index to i32
    // CHECK: %[[WARP:.*]] = arith.shrui %[[THREAD]], %c5_i32
    // CHECK: %[[MINE:.*]] = arith.muli %[[WARP]], %c12288_i32
    // CHECK: %[[RING:.*]] = llvm.getelementptr %{{.*}}[%[[MINE]]]
    %ring = tile.pipe cp_async warps 1 : !pieces
    %sums = tile.alloc : <[1, 32], f32>
    // CHECK: %[[POLICY:.*]] = nvvm.inline_ptx "createpolicy.fractional.L2::evict_first.b64 {$w0}, 1.0;"
    %policy = tile.cache_policy evict_first
    // CHECK: %[[BEGIN:.*]] = llvm.ptrtoint %[[RING]] : !llvm.ptr<3> to i32
    %at = tile.cursor of %ring : !pieces
    %free = tile.acquire %ring[%at] : !pieces -> !tile.stage<free>
    // CHECK: %[[STAGE:.*]] = llvm.inttoptr %[[BEGIN]] : i32 to !llvm.ptr<3>
    %w, %v = tile.tiles %ring[%free] : !pieces, !tile.stage<free> -> !k, !w
    // CHECK: %[[BYTES:.*]] = arith.select %{{.*}}, %c16_i32, %c0_i32
    // CHECK: nvvm.inline_ptx "cp.async.cg.shared.global.L2::cache_hint [{$r0}], [{$r1}], 16, {$r2}, {$r3};" ro(%{{.*}}, %{{.*}}, %[[BYTES]], %[[POLICY]] : i32, i64, i32, i64), predicate = %{{.*}}
    tile.cp_async_vector if %if %x[%n] inside %is into %w[%n, %c0] by 16 policy %policy signal %ring[%free] : memref<?xf16>, !k, !pieces, !tile.stage<free>
    // Two swizzles: bit 0 of the row moves units by one, bits 3 and 4 by two and four.
    // CHECK: %[[LOW:.*]] = arith.andi %{{.*}}, %c1
    // CHECK: arith.muli %[[LOW]], %c16
    // CHECK: %[[EIGHTS:.*]] = arith.divui %{{.*}}, %c8
    // CHECK: %[[HIGH:.*]] = arith.andi %[[EIGHTS]], %c3
    // CHECK: arith.muli %[[HIGH]], %c32
    // CHECK: nvvm.inline_ptx "cp.async.ca.shared.global [{$r0}], [{$r1}], 4, {$r2};"
    tile.cp_async_vector %x[%n] into %v[%m, %c0] by 4 signal %ring[%free] : memref<?xf16>, !w, !pieces, !tile.stage<free>
    tile.commit %ring[%free] : !pieces, !tile.stage<free>
    %full = tile.wait %ring[%at] : !pieces -> !tile.stage<full>
    %ww, %vv = tile.tiles %ring[%full] : !pieces, !tile.stage<full> -> !k, !w
    // CHECK: nvvm.ldmatrix %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<col>, num = 4 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>}
    %words = tile.load_matrix %vv[%m, %c0 + 8] : !w -> vector<4xi32>
    memref.store %words, %y[%n] : memref<?xvector<4xi32>>
    tile.release %ring[%full] : !pieces, !tile.stage<full>
    // After the last stage comes the first.
    // CHECK: %[[END:.*]] = arith.addi %[[BEGIN]], %c12288_i32
    // CHECK: arith.cmpi eq, %{{.*}}, %[[END]]
    %next = tile.next %ring[%at] : !pieces
    tile.sync block
    %more = tile.acquire %ring[%next] : !pieces -> !tile.stage<free>
    %w2, %v2 = tile.tiles %ring[%more] : !pieces, !tile.stage<free> -> !k, !w
    tile.cp_async_vector %x[%m] into %w2[%c0, %c0] by 16 policy %policy signal %ring[%more] : memref<?xf16>, !k, !pieces, !tile.stage<free>
    tile.commit %ring[%more] : !pieces, !tile.stage<free>
    tile.drain %ring[%next] : !pieces
    gpu.return
  }
}
