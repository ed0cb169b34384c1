//===- TileCluster.td - Several blocks together ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of a cluster (the kernel's attribute `kernel.launch`: how many, along
// x) run at once, and reach each other's shared memory.
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TILE_CLUSTER
#define KPC_TILE_CLUSTER

include "dialects/tile/TileMemory.td"

def Tile_SubviewColumnsOp : Tile_Op<"subview_columns", [Pure]> {
  let summary = "A view of some columns of a tile: whole lines of its swizzle";
  let description = [{
    `first` is a multiple of a line's elements.

    ```mlir
    %mine = tile.subview_columns %a[%first] : !tile.smem<[64, 128], bf16, swizzle 128> -> !tile.smem<[64, 64], bf16, swizzle 128>
    ```
  }];
  let arguments = (ins Tile_SharedType:$tile, Index:$first);
  let results = (outs Tile_SharedType:$part);
  let assemblyFormat = "$tile `[` $first `]` attr-dict `:` qualified(type($tile)) `->` qualified(type($part))";
  let hasVerifier = 1;
}

def Tile_BlockRankOp : Tile_Op<"block_rank", [Pure]> {
  let summary = "The number of this block in its cluster";
  let results = (outs Index:$rank);
  let assemblyFormat = "attr-dict";
}

def Tile_ClusterSyncOp : Tile_Op<"cluster_sync"> {
  let summary = "A barrier of all threads of the cluster's blocks, except those that have ended";
  let description = [{
    All threads see earlier writes after it. After the last reads of other blocks'
    memory it must come before a block ends or overwrites what others read. After
    `tile.barrier_init` it must come before a block touches another's barriers.

    With `aligned`, all lanes of a warp execute it together
    (`barrier.cluster.arrive.aligned`).
  }];
  let arguments = (ins UnitAttr:$aligned);
  let assemblyFormat = "(`aligned` $aligned^)? attr-dict";
}

def Tile_TmaMulticastOp : Tile_Op<"tma_multicast"> {
  let summary = "Begins a TMA copy into the same tile of several blocks";
  let description = [{
    As `tile.tma_load`, but the bytes are written to the same place, and count for
    the same stage, in all `blocks` blocks of the cluster. In each of them, the
    stage must have been acquired or be free (`tile.release … to blocks`).

    ```mlir
    tile.tma_multicast %w[%k, %n] into %part signal %pipe[%free] of 2 : !view, !part, !pipe, !tile.stage<free>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$at, Tile_SharedType:$tile, Tile_PipeType:$pipe,
                       Tile_StageType:$stage, I32Attr:$blocks);
  let assemblyFormat = [{$view `[` $at `]` `into` $tile `signal` $pipe `[` $stage `]` `of` $blocks attr-dict `:`
                         qualified(type($view)) `,` qualified(type($tile)) `,` qualified(type($pipe)) `,`
                         qualified(type($stage))}];
  let hasVerifier = 1;
}

def Tile_ReuseOp : Tile_Op<"reuse", [Pure]> {
  let summary = "The memory of a pipe's stages, or of a tile, as another tile, when its contents are no longer needed";
  let description = [{
    The memory of all warps' rings (`tile.pipe cp_async`) is used again behind a
    `tile.drain` and a `tile.sync block`. Such a tile may be larger than the rings:
    `kpc-place-shared` leaves room for it.
  }];
  let arguments = (ins AnyTypeOf<[Tile_PipeType, Tile_SharedType]>:$memory);
  let results = (outs Tile_SharedType:$tile);
  let assemblyFormat = "$memory attr-dict `:` qualified(type($memory)) `->` qualified(type($tile))";
  let hasVerifier = 1;
}

def Tile_ClusterStoreOp : Tile_Op<"cluster_store"> {
  let summary = "Stores a fragment of f32 or i32 into shared memory for the other blocks of the cluster";
  let description = [{
    The order is that of the threads, not of rows: value `i` of thread `t` of the
    warpgroup is at byte `(i / 4 * 128 + t) * 16 + i % 4 * 4`.
    `tile.cluster_reduce` reads it.
  }];
  let arguments = (ins Tile_FragmentType:$fragment, Tile_SharedType:$tile);
  let assemblyFormat = "$fragment `in` $tile attr-dict `:` qualified(type($fragment)) `,` qualified(type($tile))";
  let hasVerifier = 1;
}

def Tile_ClusterReduceOp : Tile_Op<"cluster_reduce"> {
  let summary = "Sums the fragments that the cluster's blocks have stored (DSMEM), in the order of their ranks";
  let description = [{
    The result has some columns, from `first` on, a multiple of 8. `tile` holds the
    stored fragments, at the same place in all `blocks` blocks.

    ```mlir
    %sum = tile.cluster_reduce %kept[%first] of 4 : !tile.smem<[64, 128], f32> -> !tile.fragment<[64, 32], f32>
    ```
  }];
  let arguments = (ins Tile_SharedType:$tile, Index:$first, I32Attr:$blocks);
  let results = (outs Tile_FragmentType:$sum);
  let assemblyFormat = [{$tile `[` $first `]` `of` $blocks attr-dict `:` qualified(type($tile)) `->`
                         qualified(type($sum))}];
  let hasVerifier = 1;
}

#endif // KPC_TILE_CLUSTER
