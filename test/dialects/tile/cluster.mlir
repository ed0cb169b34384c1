// RUN: kpc-opt %s | kpc-opt | FileCheck %s

// Blocks of a cluster, and lines of a tile.

!tile = !tile.smem<[64, 64], bf16, swizzle 128>
!part = !tile.smem<[32, 64], bf16, swizzle 128, pitch 64>
!wide = !tile.smem<[64, 128], bf16, swizzle 128>
!view = !tile.view<bf16, box [32, 64], swizzle 128>
!pipe = !tile.pipe<4 of [!tile]>
!sums = !tile.fragment<[64, 64], f32>
!kept = !tile.smem<[64, 64], f32>
// CHECK-LABEL: gpu.func @share
gpu.module @m {
  gpu.func @share(%x: !view, %wide: !wide, %i: index) kernel attributes {kernel.launch = #kernel.launch<grid = ["1", "1", "1"], block = [256, 1, 1], cluster = 2>} {
    // CHECK: %[[PIPE:.*]] = tile.pipe
    %pipe = tile.pipe tma consumers 8 : !pipe
    tile.barrier_init
    // CHECK: %[[RANK:.*]] = tile.block_rank
    %rank = tile.block_rank
    // CHECK-NEXT: tile.cluster_sync
    tile.cluster_sync
    tile.role "producer" warps 0 to 4 registers 40 {
    ^bb0(%group: index):
      tile.elect role {
        %at = tile.cursor
        %free = tile.acquire %pipe[%at] : !pipe -> !tile.stage<free>
        %tile = tile.tiles %pipe[%free] : !pipe, !tile.stage<free> -> !tile
        // CHECK: %[[PART:.*]] = tile.subview_rows
        %part = tile.subview_rows %tile[%rank] : !tile -> !part
        // CHECK: tile.tma_multicast %{{.*}}[%[[RANK]], %{{.*}}] into %[[PART]] signal %[[PIPE]][%{{.*}}] of 2 : !view, !smem{{[0-9]*}}, !pipe, !tile.stage<free>
        tile.tma_multicast %x[%rank, %i] into %part signal %pipe[%free] of 2 : !view, !part, !pipe, !tile.stage<free>
        tile.commit %pipe[%free] : !pipe, !tile.stage<free>
      }
    }
    tile.role "consumer" warps 4 to 8 registers 240 {
    ^bb0(%group: index):
      // CHECK: tile.subview_columns %{{.*}}[%{{.*}}] : !smem{{[0-9]*}} -> !smem
      %lines = tile.subview_columns %wide[%i] : !wide -> !tile
      // CHECK: tile.release %[[PIPE]][%{{.*}}] to 2 : !pipe, !tile.stage<full>
      %at = tile.cursor
      %full = tile.wait %pipe[%at] : !pipe -> !tile.stage<full>
      tile.release %pipe[%full] to 2 : !pipe, !tile.stage<full>
      %sums = ub.poison : !sums
      // CHECK: %[[KEPT:.*]] = tile.reuse %[[PIPE]] : !pipe -> !smem
      %kept = tile.reuse %pipe : !pipe -> !kept
      // CHECK: tile.cluster_store %{{.*}} in %[[KEPT]] : !fragment{{[0-9]*}}, !smem
      tile.cluster_store %sums in %kept : !sums, !kept
      // CHECK: tile.cluster_reduce %[[KEPT]][%{{.*}}] of 2 : !smem{{[0-9]*}} -> !fragment
      %sum = tile.cluster_reduce %kept[%i] of 2 : !kept -> !tile.fragment<[64, 16], f32>
    }
    gpu.return
  }
}
