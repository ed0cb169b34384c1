//===- TileMemory.td - Shared memory and copies ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrices in shared memory, and their copies from and to global memory.
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TILE_MEMORY
#define KPC_TILE_MEMORY

include "dialects/tile/TilePipe.td"

def Tile_AllocOp : Tile_Op<"alloc"> {
  let summary = "Shared memory that lives as long as the block";
  let description = "The op is in the kernel's entry block, before `tile.barrier_init`.";
  let results = (outs Tile_SharedType:$tile);
  let assemblyFormat = "attr-dict `:` type($tile)";
  let hasVerifier = 1;
}

def Tile_SubviewRowsOp : Tile_Op<"subview_rows", [Pure]> {
  let summary = "A view of some rows of a tile";
  let description = [{
    `first` is a multiple of 8, so that the pattern of addresses stays in step.

    ```mlir
    %mine = tile.subview_rows %a[%first] : !tile.smem<[128, 64], bf16, swizzle 128> -> !tile.smem<[64, 64], bf16, swizzle 128, pitch 128>
    ```
  }];
  let arguments = (ins Tile_SharedType:$tile, Index:$first);
  let results = (outs Tile_SharedType:$part);
  let assemblyFormat = "$tile `[` $first `]` attr-dict `:` qualified(type($tile)) `->` qualified(type($part))";
  let hasVerifier = 1;
}

def Tile_TmaLoadOp : Tile_Op<"tma_load"> {
  let summary = "Begins a TMA copy from global memory into a tile of a stage";
  let description = [{
    One thread executes it. `at` is the first element, outermost dimension first.
    Elements outside of the tensor become zero. A tile that is larger than
    the view's box takes several copies. Their bytes count for the stage.

    ```mlir
    tile.tma_load %x[%m, %k] into %a signal %pipe[%free] : !view, !a, !pipe, !tile.stage<free>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$at, Tile_SharedType:$tile, Tile_PipeType:$pipe,
                       Tile_StageType:$stage);
  let assemblyFormat = [{$view `[` $at `]` `into` $tile `signal` $pipe `[` $stage `]` attr-dict `:`
                         qualified(type($view)) `,` qualified(type($tile)) `,` qualified(type($pipe)) `,`
                         qualified(type($stage))}];
  let hasVerifier = 1;
}

def Tile_TmaLoadIm2colOp : Tile_Op<"tma_load_im2col"> {
  let summary = "Begins a TMA copy of pixels, as a convolution walks over them, into a tile of a stage";
  let description = [{
    One thread executes it. The view's tensor map is an im2col map: it describes
    images (n, spatial…, channels), and its box is pixels × channels. `at` is the
    first place of the filter, and the first channel, outermost dimension first.
    Row r of the tile is the r-th place after it, in the order of the map's corners
    and steps, rows after rows and images after images. At each place the copy
    takes the pixel at the distance `offsets`, one for each spatial dimension: the
    tap.
    Pixels and channels outside of the image become zero. A tile of more columns
    than the view's box takes several copies.

    ```mlir
    tile.tma_load_im2col %x[%n, %h, %w, %c] tap [%dh, %dw] into %a signal %pipe[%free] : !view, !a, !pipe, !tile.stage<free>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$at, Variadic<Index>:$offsets, Tile_SharedType:$tile,
                       Tile_PipeType:$pipe, Tile_StageType:$stage);
  let traits = [AttrSizedOperandSegments];
  let assemblyFormat = [{$view `[` $at `]` `tap` `[` $offsets `]` `into` $tile `signal` $pipe `[` $stage `]` attr-dict
                         `:` qualified(type($view)) `,` qualified(type($tile)) `,` qualified(type($pipe)) `,`
                         qualified(type($stage))}];
  let hasVerifier = 1;
}

def Tile_TmaStoreOp : Tile_Op<"tma_store"> {
  let summary = "Begins a TMA copy of a tile to global memory";
  let description = [{
    One thread executes it, after a `tile.fence_proxy` of the threads that wrote
    the tile. Elements outside of the tensor are dropped.
  }];
  let arguments = (ins Tile_SharedType:$tile, Tile_ViewType:$view, Variadic<Index>:$at);
  let assemblyFormat = "$tile `to` $view `[` $at `]` attr-dict `:` qualified(type($tile)) `,` qualified(type($view))";
  let hasVerifier = 1;
}

def Tile_TmaStoreCommitOp : Tile_Op<"tma_store_commit"> {
  let summary = "Closes a group of this thread's stores";
  let assemblyFormat = "attr-dict";
}

def Tile_TmaStoreWaitOp : Tile_Op<"tma_store_wait"> {
  let summary = "Waits until at most the newest `in_flight` groups of this thread's stores still read their tiles";
  let arguments = (ins I32Attr:$in_flight);
  let assemblyFormat = "`<` $in_flight `>` attr-dict";
  let hasVerifier = 1;
}

def Tile_FenceProxyOp : Tile_Op<"fence_proxy"> {
  let summary = "Makes this thread's writes to shared memory visible to later copies and tensor-core products";
  let assemblyFormat = "attr-dict";
}

#endif // KPC_TILE_MEMORY
