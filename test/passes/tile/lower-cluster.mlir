// RUN: kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-place-shared,kpc-lower-tile,canonicalize,cse))' %s | FileCheck %s
// RUN: kpc-opt --pass-pipeline='builtin.module(gpu.module(kpc-place-shared,kpc-lower-to-nvvm))' %s | FileCheck %s --check-prefix=NVVM

// Blocks of a cluster, which reach each other's shared memory.

!part = !tile.smem<[32, 64], bf16, swizzle 128, pitch 64>
!tile = !tile.smem<[64, 64], bf16, swizzle 128>
!view = !tile.view<bf16, box [32, 64], swizzle 128>
!pipe = !tile.pipe<4 of [!tile]>
!sums = !tile.fragment<[64, 64], f32>
!kept = !tile.smem<[64, 64], f32>
gpu.module @m {
  // The size of the cluster is the kernel's own.
  // NVVM: llvm.func @share{{.*}}nvvm.cluster_dim = array<i32: 2, 1, 1>
  // CHECK-LABEL: gpu.func @share
  gpu.func @share(%x: !view) kernel attributes {kernel.launch = #kernel.launch<grid = ["2", "1", "1"], block = [256, 1, 1], cluster = 2>,
      kernel.tensor_maps = [#kernel.tensor_map<buffer = 0, element = bf16, dims = ["64", "64"], strides = ["128"], box = [64, 32], swizzle = 128>]} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %pipe = tile.pipe tma consumers 8 : !pipe
    tile.barrier_init
    // CHECK: %[[RANK:.*]] = nvvm.read.ptx.sreg.cluster.ctaid.x
    %rank = tile.block_rank
    // CHECK: nvvm.cluster.arrive
    // CHECK-NEXT: nvvm.cluster.wait
    tile.cluster_sync
    tile.role "producer" warps 0 to 4 registers 40 {
    ^bb0(%group: index):
      tile.elect role {
        %at = tile.cursor
        %free = tile.acquire %pipe[%at] : !pipe -> !tile.stage<free>
        %tile = tile.tiles %pipe[%free] : !pipe, !tile.stage<free> -> !tile
        %first = arith.muli %rank, %c32 : index
        %part = tile.subview_rows %tile[%first] : !tile -> !part
        // Into the same place of both blocks: bits 0 and 1.
        // CHECK: %[[TO:.*]] = llvm.addrspacecast %{{.*}} : !llvm.ptr<3> to !llvm.ptr<7>
        // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %[[TO]], %{{.*}} multicast_mask = %[[BOTH:.*]] : !llvm.ptr<7>
        tile.tma_multicast %x[%first, %c0] into %part signal %pipe[%free] of 2 : !view, !part, !pipe, !tile.stage<free>
        tile.commit %pipe[%free] : !pipe, !tile.stage<free>
      }
    }
    tile.role "consumer" warps 4 to 8 registers 240 {
    ^bb0(%group: index):
      %at = tile.cursor
      %full = tile.wait %pipe[%at] : !pipe -> !tile.stage<full>
      // Lane l tells block l.
      // CHECK: %[[THERE:.*]] = nvvm.mapa %{{.*}}, %{{.*}} : !llvm.ptr<3> -> !llvm.ptr<7>
      // CHECK: nvvm.inline_ptx "mbarrier.arrive.shared::cluster.b64 _, [{$r0}];" ro(%[[THERE]] : !llvm.ptr<7>)
      tile.release %pipe[%full] to 2 : !pipe, !tile.stage<full>
      tile.cluster_sync
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @sum
  gpu.func @sum() kernel attributes {kernel.launch = #kernel.launch<grid = ["4", "1", "1"], block = [128, 1, 1], cluster = 4>} {
    %c8 = arith.constant 8 : index
    %pipe = tile.pipe tma consumers 4 : !pipe
    tile.barrier_init
    tile.role "all" warps 0 to 4 registers 240 {
    ^bb0(%group: index):
      %sums = ub.poison : !sums
      %kept = tile.reuse %pipe : !pipe -> !kept
      // 32 values of a thread in fours: 16 bytes for each of 128 threads, then the next four.
      // CHECK: llvm.store %{{.*}}, %[[MINE:.*]] {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
      // CHECK: llvm.getelementptr %[[MINE]][2048]
      // CHECK-COUNT-7: llvm.store
      // CHECK-NOT: llvm.store
      tile.cluster_store %sums in %kept : !sums, !kept
      // CHECK: nvvm.cluster.arrive
      tile.cluster_sync
      // Columns 8 to 23: eight values of a thread, from its second four on, of four blocks in their order.
      // CHECK-COUNT-4: nvvm.mapa
      // CHECK-NOT: nvvm.mapa
      %part = tile.cluster_reduce %kept[%c8] of 4 : !kept -> !tile.fragment<[64, 16], f32>
      tile.cluster_sync
    }
    gpu.return
  }
}
