//===- TilePipe.td - Rings of stages between roles ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who fills a stage, who waits for it, who gives it back.
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TILE_PIPE
#define KPC_TILE_PIPE

include "dialects/tile/TileBase.td"

def Tile_Completion : I32EnumAttr<"Completion", "", [I32EnumAttrCase<"Tma", 0, "tma">,
                                                     I32EnumAttrCase<"Threads", 1, "threads">,
                                                     I32EnumAttrCase<"Mma", 2, "mma">,
                                                     I32EnumAttrCase<"CpAsync", 3, "cp_async">]> {
  let cppNamespace = "::kpc::tile";
}

def Tile_PipeOp : Tile_Op<"pipe"> {
  let summary = "Declares a pipe";
  let description = [{
    `completion` says what makes a stage full: `tma`, the bytes of the copies
    that signal it; `threads`, one `tile.commit` of each of `producers` warps;
    `mma`, in tensor memory, the products that were begun before `tile.commit`.
    What threads put into tensor memory (`tile.tmem_store`) is read by products.
    A stage is free again when each of `consumers` warps has released it; a
    release by the end of products (`after_mma`) counts as a warp's. Stands in
    the kernel's entry block, before `tile.barrier_init`.

    With `pair`, a stage belongs to both blocks of a cluster of two, and has its
    tiles in each. The barriers for work of both blocks are the even block's: the
    copies of both announce their bytes there and are waited for there, and
    `consumers` of both release there what products filled. Products arrive at the
    barriers of both blocks.

    With `cp_async`, each of the block's `warps` warps has a ring of its own in
    shared memory, of as many stages, which its lanes fill and read: there are no
    barriers. A stage is full when the group of `cp.async` copies that
    `tile.commit` closes is complete; `tile.wait` says how many younger groups
    may be in flight. That wait is also where the lanes meet: a stage that was
    released in front of it is free behind it. All lanes of the warp execute the
    ops of such a ring. A kernel has one, and no other `cp.async` groups. The
    lowering follows the ring through loops and branches: a stage must be free
    where it is acquired, full where a wait ends, and all copies must be waited
    for (`tile.drain`) before the kernel ends or uses the memory again.

    ```mlir
    %pipe = tile.pipe tma consumers 8 : <4 of [!tile.smem<[128, 64], bf16, swizzle 128>]>
    %ring = tile.pipe cp_async warps 4 : <3 of [!tile.smem<[16, 128], f16, row_swizzle [1, 6, 2]>]>
    ```
  }];
  let arguments = (ins DefaultValuedAttr<Tile_Completion, "Completion::Tma">:$completion,
                       DefaultValuedAttr<I32Attr, "1">:$producers, DefaultValuedAttr<I32Attr, "0">:$consumers,
                       UnitAttr:$pair, DefaultValuedAttr<I32Attr, "0">:$warps);
  let results = (outs Tile_PipeType:$pipe);
  let assemblyFormat = [{$completion (`pair` $pair^)? (`warps` $warps^)? (`producers` $producers^)?
                         (`consumers` $consumers^)? attr-dict `:` type($pipe)}];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Each warp has a ring of its own, without barriers.
    bool isOfWarps() { return getCompletion() == ::kpc::tile::Completion::CpAsync; }
  }];
}

def Tile_BarrierInitOp : Tile_Op<"barrier_init"> {
  let summary = "Initialises the barriers; all threads of the block see them after it";
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Tile_CursorOp : Tile_Op<"cursor", [Pure]> {
  let summary = "The first place of any pipe, or of the warp's ring `ring`";
  let arguments = (ins Optional<Tile_PipeType>:$ring);
  let results = (outs Tile_CursorType:$cursor);
  let assemblyFormat = "(`of` $ring^)? attr-dict (`:` qualified(type($ring))^)?";
  let hasVerifier = 1;
}

def Tile_NextOp : Tile_Op<"next", [Pure]> {
  let summary = "The next place; after the last stage comes the first, in the next round";
  let arguments = (ins Tile_PipeType:$pipe, Tile_CursorType:$cursor);
  let results = (outs Tile_CursorType:$next);
  let assemblyFormat = "$pipe `[` $cursor `]` attr-dict `:` qualified(type($pipe))";
}

def Tile_SkipOp : Tile_Op<"skip", [Pure]> {
  let summary = "The place `count` stages after this one; other warpgroups use those between";
  let arguments = (ins Tile_PipeType:$pipe, Tile_CursorType:$cursor, Index:$count);
  let results = (outs Tile_CursorType:$next);
  let assemblyFormat = "$pipe `[` $cursor `]` `by` $count attr-dict `:` qualified(type($pipe))";
}

def Tile_AcquireOp : Tile_Op<"acquire"> {
  let summary = "Waits until the stage at a place is free";
  let description = "In a pipe that TMA fills, the op also announces the bytes of the copies.";
  let arguments = (ins Tile_PipeType:$pipe, Tile_CursorType:$cursor);
  let results = (outs Tile_StageType:$stage);
  let assemblyFormat = "$pipe `[` $cursor `]` attr-dict `:` qualified(type($pipe)) `->` qualified(type($stage))";
  let hasVerifier = 1;
}

def Tile_CommitOp : Tile_Op<"commit"> {
  let summary = "Ends a free stage, after its holder has written, or begun to copy, all of it";
  let arguments = (ins Tile_PipeType:$pipe, Tile_StageType:$stage);
  let assemblyFormat = "$pipe `[` $stage `]` attr-dict `:` qualified(type($pipe)) `,` qualified(type($stage))";
  let hasVerifier = 1;
}

def Tile_WaitOp : Tile_Op<"wait"> {
  let summary = "Waits until the stage at a place is full";
  let description = [{
    In a warp's ring, `in_flight` younger groups of copies may still be in flight,
    and the warp's lanes meet: each sees what the others have copied, and stages
    that all of them released before are free.

    ```mlir
    %full = tile.wait %ring[%at] in_flight 1 : !ring -> !tile.stage<full>
    ```
  }];
  let arguments = (ins Tile_PipeType:$pipe, Tile_CursorType:$cursor, DefaultValuedAttr<I32Attr, "0">:$in_flight);
  let results = (outs Tile_StageType:$stage);
  let assemblyFormat = [{$pipe `[` $cursor `]` (`in_flight` $in_flight^)? attr-dict `:` qualified(type($pipe)) `->`
                         qualified(type($stage))}];
  let hasVerifier = 1;
}

def Tile_ReleaseOp : Tile_Op<"release"> {
  let summary = "Ends a full stage, which this warp no longer reads";
  let description = [{
    Products that read the stage must be complete: the op comes after a
    `tile.wgmma_wait` or `tile.await` of them. With `blocks`, it arrives at the
    barriers of all blocks of the cluster, which fill each other's stages.
    `consumers` of the pipe then counts the warps of all blocks.

    With `after_mma`, one thread executes it and continues at once. The stage is
    released when all products that the thread has begun (`tile.tmem_mma`) are
    complete.
  }];
  let arguments = (ins Tile_PipeType:$pipe, Tile_StageType:$stage, DefaultValuedAttr<I32Attr, "1">:$blocks,
                       UnitAttr:$after_mma);
  let assemblyFormat = [{$pipe `[` $stage `]` (`to` $blocks^)? (`after_mma` $after_mma^)? attr-dict `:`
                         qualified(type($pipe)) `,` qualified(type($stage))}];
  let hasVerifier = 1;
}

def Tile_TilesOp : Tile_Op<"tiles", [Pure]> {
  let summary = "The tiles of a stage";
  let description = [{
    Stages in tensor memory are adjacent in `memory`.

    ```mlir
    %d = tile.tiles %sums[%free] in %memory : !pipe, !tile.stage<free>, !tile.tmem<[128, 512], f32> -> !d
    ```
  }];
  let arguments = (ins Tile_PipeType:$pipe, Tile_StageType:$stage, Optional<Tile_TensorMemoryType>:$memory);
  let results = (outs Variadic<AnyTypeOf<[Tile_SharedType, Tile_TensorMemoryType]>>:$tiles);
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$tiles, "::mlir::Value":$pipe, "::mlir::Value":$stage), [{
    build($_builder, $_state, tiles, pipe, stage, /*memory=*/::mlir::Value());
  }]>];
  let assemblyFormat = [{$pipe `[` $stage `]` (`in` $memory^)? attr-dict `:` qualified(type($pipe)) `,`
                         qualified(type($stage)) (`,` qualified(type($memory))^)? `->` qualified(type($tiles))}];
  let hasVerifier = 1;
}

def Tile_DrainOp : Tile_Op<"drain"> {
  let summary = "Waits until all stages, or `count` of them, are free, starting after the last one that was filled";
  let description = [{
    Who fills a pipe that products or another block's warps release does so
    before it ends: barriers that somebody may still tell must live.

    With `count`, the stages from the place on: what was in that of the round
    before is read no more. Others than who fills the stage may wait for it so.

    In a warp's ring it waits for all of the thread's copies. Other threads'
    stages may be used again behind a `tile.sync block`.
  }];
  let arguments = (ins Tile_PipeType:$pipe, Tile_CursorType:$cursor, DefaultValuedAttr<I32Attr, "0">:$count);
  let builders = [OpBuilder<(ins "::mlir::Value":$pipe, "::mlir::Value":$cursor), [{
    build($_builder, $_state, pipe, cursor, /*count=*/0);
  }]>];
  let assemblyFormat = "$pipe `[` $cursor `]` (`count` $count^)? attr-dict `:` qualified(type($pipe))";
  let hasVerifier = 1;
}

#endif // KPC_TILE_PIPE
