//===- TileThreads.td - Copies and products that threads make -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies whose addresses every thread computes (cp.async), and products whose
// operands warps load themselves (ldmatrix, mma.sync): every chip from sm_80
// on.
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TILE_THREADS
#define KPC_TILE_THREADS

include "dialects/tile/TileCluster.td"

def Tile_CpAsyncOp : Tile_Op<"cp_async", [SingleBlock]> {
  let summary = "Begins copies from global into shared memory (`cp.async`), by all threads of the block";
  let description = [{
    A tile is copied in pieces of `bytes` bytes: 4, 8, 16 or one element's. The
    elements of a piece are neighbours along a row, and neighbouring threads take
    neighbouring pieces. The region's arguments are the row and the column of a
    piece's first element in the tile. `tile.yield_address` gives its place in
    `memory`, counted in elements, and how many elements from there on are copied;
    the others become zeros. Without a number all are copied. `memory` is aligned
    so that its pieces are.

    Pieces of 16 bytes go past the first cache, unless `cached` says that the block
    copies them again: the pixels that several taps of a filter read.

    With `row_stride`, what the region gives for a row is that many elements after
    what it gives for the row above. Then a thread computes the first of its
    addresses alone.

    With `warpgroup`, in a role of whole warpgroups, each of them copies its own tile
    by itself.

    With `columns`, the tile has plain rows, and that many columns of each are
    copied: an image's channels, whose rows are longer so that pixels of a line are
    in other banks.

    Pieces of 1 and 2 bytes are loaded and stored by the thread itself, and are
    complete when the op ends. Others are complete after `tile.cp_async_wait`. The
    thread that copied a piece sees it then, other threads after a `tile.sync`.

    ```mlir
    tile.cp_async %x into %a by 16 : memref<?xbf16>, !a {
    ^bb0(%row: index, %column: index):
      …
      tile.yield_address %at, %count
    }
    tile.cp_async_commit
    ```
  }];
  let arguments = (ins AnyMemRef:$memory, Tile_SharedType:$tile, I32Attr:$bytes, Optional<Index>:$row_stride, UnitAttr:$cached,
                       DefaultValuedAttr<I32Attr, "0">:$columns, UnitAttr:$warpgroup);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{$memory `into` $tile `by` $bytes (`row_stride` $row_stride^)? (`cached` $cached^)? (`columns` $columns^)?
                         (`warpgroup` $warpgroup^)? attr-dict `:` type($memory) `,` qualified(type($tile)) $body}];
  let hasVerifier = 1;
}

def Tile_StoreGlobalOp : Tile_Op<"store_global", [SingleBlock]> {
  let summary = "Stores a tile to global memory, by all threads of the block";
  let description = [{
    The reverse of `tile.cp_async`, in pieces of 1, 2, 4, 8 or 16 bytes. It is
    complete when the op ends. It sees other threads' writes into the tile after a
    `tile.sync`. With `whole`, pieces of fewer elements are not stored: the builder
    says so where rows end with a piece, and no code stores one element at a time.

    ```mlir
    tile.store_global %staging to %y by 16 : !staging, memref<?xbf16> {
    ^bb0(%row: index, %column: index):
      …
      tile.yield_address %at, %count
    }
    ```
  }];
  let arguments = (ins Tile_SharedType:$tile, AnyMemRef:$memory, I32Attr:$bytes, UnitAttr:$whole,
                       UnitAttr:$warpgroup);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{$tile `to` $memory `by` $bytes (`whole` $whole^)? (`warpgroup` $warpgroup^)? attr-dict `:` qualified(type($tile)) `,` type($memory) $body}];
  let hasVerifier = 1;
}

def Tile_YieldAddressOp : Tile_Op<"yield_address", [Pure, Terminator, ParentOneOf<["CpAsyncOp", "StoreGlobalOp"]>]> {
  let summary = "Yields the address of a piece of a tile in memory, and how many of its elements exist";
  let description = "`count` may be negative, which means none, or too large, which means all.";
  let arguments = (ins Index:$at, Optional<Index>:$count);
  let assemblyFormat = "$at (`,` $count^)? attr-dict";
}

def Tile_CpAsyncCommitOp : Tile_Op<"cp_async_commit"> {
  let summary = "Closes a group of this thread's `cp.async` copies";
  let assemblyFormat = "attr-dict";
}

def Tile_CpAsyncWaitOp : Tile_Op<"cp_async_wait"> {
  let summary = "Waits until at most the newest `in_flight` groups of this thread's `cp.async` are in flight";
  let arguments = (ins I32Attr:$in_flight);
  let assemblyFormat = "`<` $in_flight `>` attr-dict";
  let hasVerifier = 1;
}

def Tile_WarpOp : Tile_Op<"warp", [Pure]> {
  let summary = "The number of this warp in its block, a value that the compiler knows to be alike in all lanes";
  let results = (outs Index:$warp);
  let assemblyFormat = "attr-dict";
}

def Tile_CpAsyncRowsOp : Tile_Op<"cp_async_rows"> {
  let summary = "Begins the copies of a matrix's rows into a tile of a stage of the warp's ring (`cp.async`)";
  let description = [{
    All lanes of the warp execute it; neighbouring lanes copy neighbouring 16
    bytes, so that a copy instruction has whole rows. Row `r` of the tile begins at
    element `first + r · stride` of `memory`. Rows from `rows` on become zeros, and
    so do columns from `columns` on: nothing is read there. `memory` is aligned so
    that all rows begin at multiples of 16 bytes.

    ```mlir
    tile.cp_async_rows %k[%first] stride %stride rows %left columns 128 into %tile signal %ring[%free] : memref<?xf16>, !k, !ring, !tile.stage<free>
    tile.commit %ring[%free] : !ring, !tile.stage<free>
    ```
  }];
  let arguments = (ins AnyMemRef:$memory, Index:$first, Index:$stride, Index:$rows, I32Attr:$columns,
                       Tile_SharedType:$tile, Tile_PipeType:$pipe, Tile_StageType:$stage);
  let assemblyFormat = [{$memory `[` $first `]` `stride` $stride `rows` $rows `columns` $columns `into` $tile `signal`
                         $pipe `[` $stage `]` attr-dict `:` type($memory) `,` qualified(type($tile)) `,`
                         qualified(type($pipe)) `,` qualified(type($stage))}];
  let hasVerifier = 1;
}

def Tile_Eviction : I32EnumAttr<"Eviction", "What the second cache gives up first", [
    I32EnumAttrCase<"Normal", 0, "evict_normal">, I32EnumAttrCase<"First", 1, "evict_first">]> {
  let cppNamespace = "::kpc::tile";
}

def Tile_CachePolicyOp : Tile_Op<"cache_policy", [Pure]> {
  let summary = "How copies treat the second cache (`createpolicy`, PTX ISA 9.7.9.20)";
  let description = [{
    What is read once (`evict_first`) should not drive out what is used again.

    ```mlir
    %policy = tile.cache_policy evict_first
    ```
  }];
  let arguments = (ins Tile_Eviction:$eviction);
  let results = (outs I64:$policy);
  let assemblyFormat = "$eviction attr-dict";
}

def Tile_GridDependencyWaitOp : Tile_Op<"grid_dependency_wait"> {
  let summary = "Waits for the kernels that this one depends on (`griddepcontrol.wait`), then lets its own dependents be launched";
  let description = [{
    Programmatic dependent launch, PTX ISA 9.7.13.13: from sm_90 on a kernel may
    begin while those that it depends on still run. A kernel without this op waits
    before its first instruction. One with it waits here, so that copies of
    weights, which no kernel writes, begin before. All threads execute the op.

    ```mlir
    tile.cp_async_vector %w[%at] into %tile[%row, %column] by 16 signal %ring[%free] : memref<?xf16>, !w, !ring, !tile.stage<free>
    tile.grid_dependency_wait                       // x is what another kernel wrote
    tile.cp_async_vector %x[%at] into %rows[%row, %column] by 16 signal %ring[%free] : memref<?xf16>, !x, !ring, !tile.stage<free>
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_CpAsyncVectorOp : Tile_Op<"cp_async_vector", [AttrSizedOperandSegments]> {
  let summary = "Begins this lane's copy of 4, 8 or 16 bytes into a tile of a stage of the warp's ring (`cp.async`)";
  let description = [{
    The copy of what `tile.load_vector` loads: from element `at` of `memory` on to
    the place (`row`, `column`). All lanes of the warp execute the op, each with
    its own places. Where `inside` is false, nothing is read and the bytes become
    zeros. Where `if` is false, the lane copies nothing, and the tile keeps what it
    has. `memory` is aligned so that the pieces are.

    ```mlir
    tile.cp_async_vector %w[%at] inside %is into %tile[%row, %column] by 16 policy %policy signal %ring[%free] : memref<?xf16>, !w, !ring, !tile.stage<free>
    ```
  }];
  let arguments = (ins AnyMemRef:$memory, Index:$at, Optional<I1>:$inside, Tile_SharedType:$tile, Index:$row,
                       Index:$column, I32Attr:$bytes, Optional<I1>:$condition, Optional<I64>:$policy,
                       Tile_PipeType:$pipe, Tile_StageType:$stage);
  let assemblyFormat = [{(`if` $condition^)? $memory `[` $at `]` (`inside` $inside^)? `into` $tile `[` $row `,` $column `]`
                         `by` $bytes (`policy` $policy^)? `signal` $pipe `[` $stage `]` attr-dict `:` type($memory) `,`
                         qualified(type($tile)) `,` qualified(type($pipe)) `,` qualified(type($stage))}];
  let hasVerifier = 1;
}

def Tile_LoadMatrixOp : Tile_Op<"load_matrix"> {
  let summary = "Loads four matrices of 8 × 8 elements of 16 bits into the warp's registers, transposed (`ldmatrix.trans`)";
  let description = [{
    Lane 8 m + r gives the place of row r of matrix m, 16 bytes of a row of the
    tile. Of each matrix, lane 4 g + t gets the elements of rows 2 t and 2 t + 1 in
    column g, as a word. Offsets are as in `tile.load_vector`.

    ```mlir
    %w = tile.load_matrix %tile[%row + 32, %column + 8] : !w -> vector<4xi32>
    ```
  }];
  let arguments = (ins Tile_SharedType:$tile, Index:$row, DefaultValuedAttr<I32Attr, "0">:$row_offset, Index:$column,
                       DefaultValuedAttr<I32Attr, "0">:$column_offset);
  let results = (outs AnyVectorOfNonZeroRank:$vector);
  let assemblyFormat = [{$tile `[` $row (`+` $row_offset^)? `,` $column (`+` $column_offset^)? `]` attr-dict `:`
                         qualified(type($tile)) `->` type($vector)}];
  let hasVerifier = 1;
}

def Tile_LoadVectorOp : Tile_Op<"load_vector"> {
  let summary = "Loads 2, 4, 8 or 16 bytes of a row of a tile into this thread's registers";
  let description = [{
    The tile has plain rows, perhaps with a row swizzle. If it is a stage's, the
    stage is full. Elements may be of another type than the tile's; `column`
    counts the tile's. The place is at a multiple of the vector's bytes. Offsets
    are constants, which become part of the instruction where the swizzle lets
    them. With `block`, the tile is that of another block of the cluster.

    ```mlir
    %w = tile.load_vector %k[%row + 8, %column + 64] : !k -> vector<4xi32>
    %p = tile.load_vector %parts[%row, %column] of block 3 : !parts -> vector<4xf32>
    ```
  }];
  let arguments = (ins Tile_SharedType:$tile, Index:$row, DefaultValuedAttr<I32Attr, "0">:$row_offset, Index:$column,
                       DefaultValuedAttr<I32Attr, "0">:$column_offset, OptionalAttr<I32Attr>:$block);
  let results = (outs AnyVectorOfNonZeroRank:$vector);
  let assemblyFormat = [{$tile `[` $row (`+` $row_offset^)? `,` $column (`+` $column_offset^)? `]` (`of` `block` $block^)?
                         attr-dict `:` qualified(type($tile)) `->` type($vector)}];
  let hasVerifier = 1;
}

def Tile_StoreVectorOp : Tile_Op<"store_vector"> {
  let summary = "Stores 2, 4, 8 or 16 bytes of this thread's registers in a row of a tile";
  let description = [{
    The reverse of `tile.load_vector`. Other threads see them after a `tile.sync`.

    ```mlir
    tile.store_vector %sums to %parts[%row, %column + 8] : vector<4xf32>, !parts
    ```
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$vector, Tile_SharedType:$tile, Index:$row,
                       DefaultValuedAttr<I32Attr, "0">:$row_offset, Index:$column,
                       DefaultValuedAttr<I32Attr, "0">:$column_offset);
  let assemblyFormat = [{$vector `to` $tile `[` $row (`+` $row_offset^)? `,` $column (`+` $column_offset^)? `]` attr-dict
                         `:` type($vector) `,` qualified(type($tile))}];
  let hasVerifier = 1;
}

def Tile_Tf32 : I32EnumAttr<"Tf32", "How factors of f32 become factors of tf32", [
    I32EnumAttrCase<"Rounded", 0, "rounded">, I32EnumAttrCase<"Truncated", 1, "truncated">,
    I32EnumAttrCase<"Cut", 2, "cut">, I32EnumAttrCase<"Split", 3, "split">]> {
  let cppNamespace = "::kpc::tile";
}

def Tile_MmaScaledOp : Tile_Op<"mma_scaled", [AllTypesMatch<["c", "d"]>]> {
  let summary = "d = (a · its scales)·(b · its scales) + c, by the warps of one warpgroup of sm_120a or sm_121a";
  let description = [{
    `a` is [M, K] and `b` [N, K], both swizzled and contiguous along K: codes of
    FP8, or bytes (ui8) that hold two codes of FP4 each, the first in the low bits.
    A scale is for a block of 32 elements of K (mxfp8, mxfp4, of E8M0) or of 16
    (nvfp4, of E4M3).

        Scales are words of four, which belong to neighbouring blocks of one row:
    `[words, 4 · rows]` of ui8, without a swizzle. Word w of a row is for bytes
    128·w… of its codes (mxfp8), 64·w… (mxfp4) or 32·w… (nvfp4). `rows` is the
    place of the first row of `a`, and of `b`, in its scales.

    | format | mma.sync | K bytes of an instruction | scales of it |
    | --- | --- | --- | --- |
    | mxfp8 | m16n8k32, kind::mxf8f6f4 | 32 | 1 |
    | mxfp4 | m16n8k64, kind::mxf4 | 32 | 2 |
    | nvfp4 | m16n8k64, kind::mxf4nvf4, 4X | 32 | 4 |

    ```mlir
    %d = tile.mma_scaled nvfp4 %a scales %sa, %b scales %sb rows [%m, %n], %c : !a, !sa, !b, !sb -> !d
    ```
  }];
  let arguments = (ins Tile_BlockFormat:$format, Tile_SharedType:$a, Tile_SharedType:$a_scales, Tile_SharedType:$b,
                       Tile_SharedType:$b_scales, Index:$a_row, Index:$b_row, Tile_FragmentType:$c);
  let results = (outs Tile_FragmentType:$d);
  let assemblyFormat = [{$format $a `scales` $a_scales `,` $b `scales` $b_scales `rows` `[` $a_row `,` $b_row `]` `,` $c
                         attr-dict `:` qualified(type($a)) `,` qualified(type($a_scales)) `,` qualified(type($b)) `,`
                         qualified(type($b_scales)) `->` qualified(type($d))}];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Scales of a row that an instruction takes.
    int64_t getScalesPerStep() { return ::kpc::tile::scalesPerStep(getFormat()); }
  }];
}

def Tile_MmaSyncOp : Tile_Op<"mma_sync", [AllTypesMatch<["c", "d"]>]> {
  let summary = "d = a·b + c on tensor cores (`mma.sync`), by the warps of one warpgroup";
  let description = [{
    As `tile.mma`, but complete when the op ends. Each warp loads its part of both
    operands into registers, for its 16 of each 64 rows (mma.sync m16n8k16, for
    tf32 m16n8k8, for FP8 and integers m16n8k32). Sums are made in the order of
    the operand's columns. It sees other warps' writes into the operands after a
    `tile.sync`. `a` may already be packed in registers: `tile.pack` makes it from
    a fragment, `tile.load_packed` loads it from a tile of 16 bits. With a packed
    `a` of f32, `b` is not transposed.

    | a, b | d | K a multiple of | transposed a, untransposed b |
    | --- | --- | --- | --- |
    | f16 | f32 | 16 | yes |
    | bf16 | f32 | 16 | yes |
    | tf32 in f32 | f32 | 8 | yes |
    | f8E4M3FN, f8E5M2 each | f32 | 32 | no |
    | i8, ui8 each | i32, which wraps | 32 | no |

    Factors of f32 become factors of tf32:

        - `rounded`: to nearest. From 3.4011e38 on they are infinite.
    - `truncated`: the instruction drops the bits that tf32 lacks. Errors have one
      sign, but finite numbers stay finite.
    - `cut`: each is multiplied by 1 + 0.72 * 2^-11 before it is truncated. This is
      one instruction in place of four of rounding. Sums are as exact, because
      errors have both signs, and tf32 numbers do not change. From 3.4016e38 on
      they are infinite.

    With `split` they are not rounded. Each is the sum of two tf32 numbers, of
    which three products are made (3xTF32). Every 16 of K are summed separately
    and then added in f32, to nearest, because tensor cores truncate their sums.
    The error is that of f32 arithmetic. Where a factor is infinite or NaN, the
    sum is NaN (`tile.any_nan`).

    With `promoted`, FP8 products are summed separately for every 64 of K, and
    then added in f32, because the tensor cores of sm_89 accumulate them with
    about 14 bits.

    ```mlir
    %d = tile.mma_sync %a, %b, %c : !a, !b -> !d
    %e = tile.mma_sync split %f, %g, %d : !f, !g -> !d
    ```
  }];
  let arguments = (ins AnyTypeOf<[Tile_SharedType, Tile_PackedType]>:$a, Tile_SharedType:$b, Tile_FragmentType:$c,
                       UnitAttr:$a_transposed, UnitAttr:$b_transposed,
                       DefaultValuedAttr<Tile_Tf32, "::kpc::tile::Tf32::Rounded">:$tf32, UnitAttr:$promoted);
  let results = (outs Tile_FragmentType:$d);
  let assemblyFormat = [{($tf32^)? (`promoted` $promoted^)? $a (`transposed` $a_transposed^)? `,` $b (`transposed` $b_transposed^)? `,` $c
                         attr-dict `:` qualified(type($a)) `,` qualified(type($b)) `->` qualified(type($d))}];
  let hasVerifier = 1;
}

def Tile_MmaWindowOp : Tile_Op<"mma_window", [AllTypesMatch<["c", "d"]>]> {
  let summary = "d = a·b + c, where a is what the taps of a filter see of an image in shared memory (`mma.sync`)";
  let description = [{
    As `tile.mma_sync`, with an `a` that is nowhere in memory: its rows are places
    of the filter, its columns the channels of the pixels under one tap after the
    other. `image` has a pixel in each of its plain rows, `width` of them to a line,
    and of each pixel `channels` columns count. `filter` has taps × channels rows.
    Elements are f16 or bf16.

    With one tap in a line, a pixel may have more `channels` than its row: the rest
    is in the pixels after it. So are a line's taps over few channels. Each tap
    then has a multiple of 8 rows in `filter`, and those after `channels` are zeros.

    Places are a rectangle of `lines` lines, as many as the fragment has rows. 16
    in a line are a group, and groups are counted down the lines, then
    across. The four warps have equal parts of the groups, one after the other. So a
    warp has groups below each other, and loads a pixel once for the taps below each
    other that see it. With G = rows / 64 groups of a warp, row 64·i + 16·w + j of
    the fragment is place j of group w·G + i.

    ```mlir
    %d = tile.mma_window %image width 18 channels 32, %filter, %c taps [3, 3] strides [1, 1] dilations [1, 1] lines 16 : !image, !filter -> !d
    ```
  }];
  let arguments = (ins Tile_SharedType:$image, I64Attr:$width, I64Attr:$channels, Tile_SharedType:$filter,
                       Tile_FragmentType:$c, DenseI64ArrayAttr:$taps, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, I64Attr:$lines);
  let results = (outs Tile_FragmentType:$d);
  let assemblyFormat = [{$image `width` $width `channels` $channels `,` $filter `,` $c `taps` $taps `strides` $strides
                         `dilations` $dilations `lines` $lines attr-dict `:` qualified(type($image)) `,`
                         qualified(type($filter)) `->` qualified(type($d))}];
  let hasVerifier = 1;
}

def Tile_AnyNanOp : Tile_Op<"any_nan"> {
  let summary = "A barrier of the block, which tells all threads whether an element of their fragments is NaN";
  let description = [{
    ```mlir
    %any = tile.any_nan %acc : !tile.fragment<[64, 64], f32>
    ```
  }];
  let arguments = (ins Tile_FragmentType:$fragment);
  let results = (outs I1:$any);
  let assemblyFormat = "$fragment attr-dict `:` qualified(type($fragment))";
  let hasVerifier = 1;
}

def Tile_LoadPackedOp : Tile_Op<"load_packed"> {
  let summary = "Loads a tile into registers, as the left operand of products (`ldmatrix`)";
  let description = [{
    The warps of one warpgroup execute it; each has its 16 of each 64 rows. It
    loads an operand once that is multiplied many times. It sees other warps'
    writes into the tile after a `tile.sync`.

    ```mlir
    %q = tile.load_packed %tile : !tile.smem<[64, 128], f16, swizzle 128> -> !tile.packed<[64, 128], f16>
    ```
  }];
  let arguments = (ins Tile_SharedType:$tile);
  let results = (outs Tile_PackedType:$packed);
  let assemblyFormat = "$tile attr-dict `:` qualified(type($tile)) `->` qualified(type($packed))";
  let hasVerifier = 1;
}

def Tile_LoadFactorsOp : Tile_Op<"load_factors"> {
  let summary = "Loads what one mma.sync step multiplies of two tiles into registers (`ldmatrix`)";
  let description = [{
    The first half of a `tile.mma_sync`, for 32 bytes along K: step `step` of
    them. A kernel can so load a step while it multiplies the one before, also
    across barriers. The operands are as there. Factors of f32 are not `split`.

    ```mlir
    %f = tile.load_factors %a, %b step 1 : !a, !b -> !tile.factors<[128, 64], f16, f16>
    %e = tile.mma_factors %f, %d : !tile.factors<[128, 64], f16, f16>, !d
    ```
  }];
  let arguments = (ins Tile_SharedType:$a, Tile_SharedType:$b, UnitAttr:$a_transposed, UnitAttr:$b_transposed,
                       I32Attr:$step, DefaultValuedAttr<Tile_Tf32, "::kpc::tile::Tf32::Rounded">:$tf32);
  let results = (outs Tile_FactorsType:$factors);
  let assemblyFormat = [{($tf32^)? $a (`transposed` $a_transposed^)? `,` $b (`transposed` $b_transposed^)? `step` $step
                         attr-dict `:` qualified(type($a)) `,` qualified(type($b)) `->` qualified(type($factors))}];
  let hasVerifier = 1;
}

def Tile_MmaFactorsOp : Tile_Op<"mma_factors", [Pure, AllTypesMatch<["c", "d"]>]> {
  let summary = "d = a·b + c of factors in registers (`mma.sync`), by the warps of one warpgroup";
  let arguments = (ins Tile_FactorsType:$factors, Tile_FragmentType:$c);
  let results = (outs Tile_FragmentType:$d);
  let assemblyFormat = "$factors `,` $c attr-dict `:` qualified(type($factors)) `,` qualified(type($d))";
  let hasVerifier = 1;
}

#endif // KPC_TILE_THREADS
