// RUN: kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-place-shared,kpc-lower-tile,canonicalize,cse))' %s | FileCheck %s

// One copy for each line of 64 channels; coordinates and offsets go innermost first, offsets as halfwords.

!x = !tile.view<f16, box [64, 64], swizzle 128>
!wide = !tile.smem<[64, 128], f16, swizzle 128>
!pipe = !tile.pipe<1 of [!wide]>
gpu.module @m {
  // CHECK-LABEL: gpu.func @load(%arg0: !llvm.ptr,
  gpu.func @load(%x: !x, %n: index, %h: index, %w: index, %c: index, %dh: index, %dw: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [128, 1, 1]>} {
    // CHECK-DAG: %[[C64:.*]] = arith.constant 64 : i32
    %pipe = tile.pipe tma consumers 4 : <1 of [!wide]>
    tile.barrier_init
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      %cursor = tile.cursor
      %free = tile.acquire %pipe[%cursor] : !pipe -> !tile.stage<free>
      %tile = tile.tiles %pipe[%free] : !pipe, !tile.stage<free> -> !wide
      // CHECK-DAG: %[[N:.*]] = arith.index_cast %arg1 : index to i32
      // CHECK-DAG: %[[H:.*]] = arith.index_cast %arg2 : index to i32
      // CHECK-DAG: %[[W:.*]] = arith.index_cast %arg3 : index to i32
      // CHECK-DAG: %[[C:.*]] = arith.index_cast %arg4 : index to i32
      // CHECK-DAG: %[[SECOND:.*]] = arith.addi %[[C]], %[[C64]]
      // CHECK-DAG: %[[DH:.*]] = arith.index_cast %arg5 : index to i16
      // CHECK-DAG: %[[DW:.*]] = arith.index_cast %arg6 : index to i16
      // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %arg0, %{{.*}}, box[%[[C]], %[[W]], %[[H]], %[[N]]] im2col[%[[DW]], %[[DH]]] {isCTAOnly = true, mode = #nvvm.tma_load_mode<im2col>}
      // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %arg0, %{{.*}}, box[%[[SECOND]], %[[W]], %[[H]], %[[N]]] im2col[%[[DW]], %[[DH]]]
      // CHECK-NOT: nvvm.cp.async
      tile.tma_load_im2col %x[%n, %h, %w, %c] tap [%dh, %dw] into %tile signal %pipe[%free] : !x, !wide, !pipe, !tile.stage<free>
      tile.commit %pipe[%free] : !pipe, !tile.stage<free>
    }
    gpu.return
  }

  // In a pair the even block's barrier counts the bytes of both.
  // CHECK-LABEL: gpu.func @pair(
  gpu.func @pair(%x: !x, %n: index, %h: index, %w: index, %c: index, %dh: index, %dw: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["2", "1", "1"], block = [128, 1, 1], cluster = 2>} {
    %pipe = tile.pipe tma pair consumers 1 : <1 of [!wide]>
    tile.barrier_init
    tile.role "all" warps 0 to 4 registers 128 {
    ^bb0(%group: index):
      %cursor = tile.cursor
      %free = tile.acquire %pipe[%cursor] : !pipe -> !tile.stage<free>
      %tile = tile.tiles %pipe[%free] : !pipe, !tile.stage<free> -> !wide
      // CHECK: %[[FAR:.*]] = nvvm.mapa
      // CHECK: %[[NUMBER:.*]] = llvm.ptrtoint %[[FAR]]
      // CHECK: %[[LEADER:.*]] = llvm.inttoptr %[[NUMBER]]
      // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %arg0, %[[LEADER]], box[%{{.*}}] im2col[%{{.*}}] {group = #nvvm.cta_group<cta_2>, mode = #nvvm.tma_load_mode<im2col>}
      // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %arg0, %[[LEADER]], box[%{{.*}}] im2col[%{{.*}}] {group = #nvvm.cta_group<cta_2>
      tile.tma_load_im2col %x[%n, %h, %w, %c] tap [%dh, %dw] into %tile signal %pipe[%free] : !x, !wide, !pipe, !tile.stage<free>
      tile.commit %pipe[%free] : !pipe, !tile.stage<free>
    }
    gpu.return
  }
}
