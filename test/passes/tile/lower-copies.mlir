// RUN: kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-place-shared,kpc-lower-tile,canonicalize,cse))' %s | FileCheck %s

// A tile of 128 columns has two lines of 128 bytes; a box fills one of them.

!x = !tile.view<bf16, box [64, 64], swizzle 128>
!batched = !tile.view<bf16, box [1, 32, 64], swizzle 128>
!wide = !tile.smem<[64, 128], bf16, swizzle 128>
!half = !tile.smem<[32, 128], bf16, swizzle 128, pitch 64>
!pipe = !tile.pipe<1 of [!wide]>
gpu.module @m {
  // A view is a pointer to its parameter.
  // CHECK-LABEL: gpu.func @load(%arg0: !llvm.ptr, %arg1: index, %arg2: index)
  gpu.func @load(%x: !x, %row: index, %column: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    // CHECK-DAG: %[[SLOT:.*]] = llvm.mlir.addressof @kpc_shared
    // CHECK-DAG: %[[C64:.*]] = arith.constant 64 : i32
    %pipe = tile.pipe tma consumers 4 : <1 of [!wide]>
    tile.barrier_init
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      %cursor = tile.cursor
      %free = tile.acquire %pipe[%cursor] : !pipe -> !tile.stage<free>
      %tile = tile.tiles %pipe[%free] : !pipe, !tile.stage<free> -> !wide
      // CHECK: nvvm.mbarrier.arrive.expect_tx %[[FULL:.*]], %{{.*}}
      // CHECK-DAG: %[[ROW:.*]] = arith.index_cast %arg1
      // CHECK-DAG: %[[COLUMN:.*]] = arith.index_cast %arg2
      // CHECK-DAG: %[[SECOND:.*]] = arith.addi %[[COLUMN]], %[[C64]]
      // Coordinates go innermost first.
      // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %[[SLOT]], %arg0, %[[FULL]], box[%[[COLUMN]], %[[ROW]]] {isCTAOnly = true}
      // The second line is 64 rows of 128 bytes further.
      // CHECK: %[[LINE:.*]] = llvm.getelementptr %[[SLOT]][8192]
      // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %[[LINE]], %arg0, %[[FULL]], box[%[[SECOND]], %[[ROW]]] {isCTAOnly = true}
      // CHECK-NOT: nvvm.cp.async
      tile.tma_load %x[%row, %column] into %tile signal %pipe[%free] : !x, !wide, !pipe, !tile.stage<free>
      tile.commit %pipe[%free] : !pipe, !tile.stage<free>
    }
    gpu.return
  }

  // Rows 32 to 63 of a batch's matrix: a part keeps the pitch of the whole, so its second line is as far away.
  // CHECK-LABEL: gpu.func @store(%arg0: !llvm.ptr, %arg1: index, %arg2: index)
  gpu.func @store(%y: !batched, %batch: index, %row: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    // CHECK-DAG: %[[STAGE:.*]] = llvm.mlir.addressof @kpc_shared
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %staging = tile.alloc : <[64, 128], bf16, swizzle 128>
    tile.barrier_init
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      // CHECK: %[[PART:.*]] = llvm.getelementptr %[[STAGE]][
      %part = tile.subview_rows %staging[%c32] : !wide -> !half
      // CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      tile.fence_proxy
      // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %arg0, %[[PART]], box[%{{.*}}, %[[ROW:.*]], %[[BATCH:.*]]]
      // CHECK: %[[LINE:.*]] = llvm.getelementptr %[[PART]][8192]
      // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %arg0, %[[LINE]], box[%{{.*}}, %[[ROW]], %[[BATCH]]]
      tile.tma_store %part to %y[%batch, %row, %c0] : !half, !batched
      // CHECK: nvvm.cp.async.bulk.commit.group
      tile.tma_store_commit
      // Only the reads of shared memory are waited for.
      // CHECK: nvvm.cp.async.bulk.wait_group 1 {read}
      tile.tma_store_wait<1>
    }
    gpu.return
  }
}
