//===- TileMma.td - Tensor cores and fragments ----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products, and what is done with their results.
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TILE_MMA
#define KPC_TILE_MMA

include "dialects/tile/TileBase.td"

def Tile_MmaOp : Tile_Op<"mma"> {
  let summary = "Begins d = a·b + c on tensor cores (wgmma)";
  let description = [{
    All threads of one warpgroup execute it. `a` is M×K, `b` K×N, both in shared
    memory (with `a_transposed`, `a` is stored K×M; with `b_transposed`, `b` is
    stored N×K). Without `c`, d = a·b. `c` is a fragment or a pending product, so
    sums are made in the order of the ops. The op is one group, which
    `tile.wgmma_wait` counts. `a` may also be packed in registers, 64 rows of 16
    bits. The lowering ensures that these are not written before the product is
    complete.

    | a, b | d | K a multiple of | transposed a, untransposed b |
    | --- | --- | --- | --- |
    | f16 | f32 | 16 | yes |
    | bf16 | f32 | 16 | yes |
    | tf32 in f32 | f32 | 8 | no |
    | f8E4M3FN, f8E5M2 each | f32 | 32 | no |
    | i8, ui8 each | i32, which wraps | 32 | no |

        Tensor cores accumulate FP8 products with about 14 bits. A kernel that needs
    f32's accuracy begins a new accumulator every few steps and adds these up in
    registers.

    For wgmma (sm_90a), M is a multiple of 64, and N is a multiple of 8 up to 256;
    for integers N above 32 is a multiple of 16.

    ```mlir
    %d = tile.mma %a, %b, %c : !a, !b, !tile.pending<!d> -> !tile.pending<!d>
    ```
  }];
  let arguments = (ins AnyTypeOf<[Tile_SharedType, Tile_PackedType]>:$a, Tile_SharedType:$b,
                       Optional<AnyTypeOf<[Tile_FragmentType, Tile_PendingType]>>:$c,
                       UnitAttr:$a_transposed, UnitAttr:$b_transposed);
  let results = (outs Tile_PendingType:$d);
  let assemblyFormat = [{$a (`transposed` $a_transposed^)? `,` $b (`transposed` $b_transposed^)? (`,` $c^)? attr-dict `:`
                         qualified(type($a)) `,` qualified(type($b)) (`,` qualified(type($c))^)? `->`
                         qualified(type($d))}];
  let hasVerifier = 1;
}

def Tile_WgmmaWaitOp : Tile_Op<"wgmma_wait", [AllTypesMatch<["pending", "still"]>]> {
  let summary = "Waits until at most the newest `in_flight` wgmma groups of this warpgroup are in flight";
  let description = "The operands of older groups may be overwritten after it (`wgmma.wait_group`).";
  let arguments = (ins Tile_PendingType:$pending, I32Attr:$in_flight);
  let results = (outs Tile_PendingType:$still);
  let assemblyFormat = "`<` $in_flight `>` $pending attr-dict `:` qualified(type($pending))";
  let hasVerifier = 1;
}

def Tile_AwaitOp : Tile_Op<"await"> {
  let summary = "Waits until at most the newest `in_flight` wgmma groups are in flight, and gives a result";
  let description = [{
    The awaited product is not among those: `in_flight` others began after it, in
    the same block.

    ```mlir
    %s = tile.mma %q, %k transposed : !q, !k -> !tile.pending<!s>
    %o = tile.mma %p, %v, %sum : !p, !v, !o -> !tile.pending<!o>
    %scores = tile.await<1> %s : !tile.pending<!s> -> !s     // %o goes on
    ```
  }];
  let arguments = (ins Tile_PendingType:$pending, DefaultValuedAttr<I32Attr, "0">:$in_flight);
  let results = (outs Tile_FragmentType:$fragment);
  let builders = [OpBuilder<(ins "::mlir::Type":$fragment, "::mlir::Value":$pending), [{
    build($_builder, $_state, fragment, pending, /*in_flight=*/0);
  }]>];
  let assemblyFormat = "(`<` $in_flight^ `>`)? $pending attr-dict `:` qualified(type($pending)) `->` qualified(type($fragment))";
  let hasVerifier = 1;
}

def Tile_ExtractColumnsOp : Tile_Op<"extract_columns", [Pure]> {
  let summary = "Some columns of a fragment; no data moves";
  let description = [{
    With `rotate_half` n (RoPE), column c of the part is column c + n or c - n of
        the fragment: neighbouring runs of n columns change places. A thread holds the
    same two of each eight columns, so an n that is a multiple of 8, or 1
    (interleaved), moves no data.

    ```mlir
    %x = tile.extract_columns %d from 64 : !d -> !part                // a head of 64
    %s = tile.extract_columns %d from 64 rotate_half 32 : !d -> !part  // its halves, the second first
    ```
  }];
  let arguments = (ins Tile_FragmentType:$fragment, I64Attr:$first, DefaultValuedAttr<I64Attr, "0">:$rotate_half);
  let results = (outs Tile_FragmentType:$part);
  let builders = [OpBuilder<(ins "::mlir::Type":$part, "::mlir::Value":$fragment, "int64_t":$first), [{
    build($_builder, $_state, part, fragment, first, /*rotate_half=*/0);
  }]>];
  let assemblyFormat = [{$fragment `from` $first (`rotate_half` $rotate_half^)? attr-dict `:` qualified(type($fragment)) `->`
                         qualified(type($part))}];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The fragment's column that is column `C` of the part.
    int64_t columnOf(int64_t C);
  }];
}

def Tile_PairedRowsOp : Tile_Op<"paired_rows", [Pure, AllTypesMatch<["fragment", "paired"]>]> {
  let summary = "Runs of rows of a fragment change places in pairs";
  let description = [{
    Row r of the result is row r + n or r - n: of each 2 n rows, the first n and the
    others change places. With 8 rows, a thread has both, and no data moves. With
    one, lanes exchange them. It is RoPE's other half of a head where a fragment's
    rows are columns of the result.

    ```mlir
    %s = tile.paired_rows %d by 8 : !tile.fragment<[64, 32], f32>
    ```
  }];
  let arguments = (ins Tile_FragmentType:$fragment, I64Attr:$rows);
  let results = (outs Tile_FragmentType:$paired);
  let assemblyFormat = "$fragment `by` $rows attr-dict `:` qualified(type($fragment))";
  let hasVerifier = 1;
}

def Tile_LoadColumnsOp : Tile_Op<"load_columns"> {
  let summary = "A fragment whose rows are all alike: a part of a tile of one row";
  let description = [{
    What an epilogue reads once for each column, a bias or scales, as an operand of
    `tile.map`. `first` is a multiple of 8 and counts columns of the tile. A thread
    loads the two adjacent columns that it holds of each eight.

    With `twice`, each two columns lie in the tile twice: columns 2i and 2i + 1 are
    its elements 4i and 4i + 1, and again 4i + 2 and 4i + 3. So one load gives a
    thread registers of their own for both of its rows, for a product to add to.

    ```mlir
    %b = tile.load_columns %bias[%first] : !tile.smem<[1, 192], f32, swizzle 0> -> !tile.fragment<[64, 64], f32>
    %c = tile.load_columns twice %mask[%zero] : !tile.smem<[1, 256], f32, swizzle 0> -> !tile.fragment<[64, 128], f32>
    ```
  }];
  let arguments = (ins Tile_SharedType:$tile, Index:$first, UnitAttr:$twice);
  let results = (outs Tile_FragmentType:$fragment);
  let assemblyFormat = "(`twice` $twice^)? $tile `[` $first `]` attr-dict `:` qualified(type($tile)) `->` qualified(type($fragment))";
  let hasVerifier = 1;
}

def Tile_MapOp : Tile_Op<"map", [RecursiveMemoryEffects, SingleBlock, AttrSizedOperandSegments]> {
  let summary = "Applies a scalar function, which sees coordinates, to each element of a fragment";
  let description = [{
    The region's arguments are the element, its row and its column, counted from
    `at`. These coordinates are always inside of `within`. For a place outside,
    the region computes the value of some other element, which the store drops.
    With one bound, that of the rows, all columns exist.

    Of each fragment given by `with`, the element at the same place is a further
    argument after the column: the second accumulator of a gated MLP, RoPE's other half, or
    a bias (`tile.load_columns`).

    ```mlir
    %y = tile.map %d at [%m, %n] within [%rows, %columns] : !d -> !y {
    ^bb0(%value: f32, %row: index, %column: index):
      %b = memref.load %bias[%column] : memref<?xf32>
      %sum = arith.addf %value, %b : f32
      tile.yield %sum : f32
    }
    ```
  }];
  let arguments = (ins Tile_FragmentType:$fragment, Variadic<Index>:$at, Variadic<Index>:$within,
                       Variadic<Tile_FragmentType>:$paired);
  let results = (outs Tile_FragmentType:$result);
  let regions = (region SizedRegion<1>:$body);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$fragment, "::mlir::ValueRange":$at,
                                 "::mlir::ValueRange":$within), [{
    build($_builder, $_state, result, fragment, at, within, /*paired=*/::mlir::ValueRange());
  }]>];
  let assemblyFormat = [{$fragment `at` `[` $at `]` `within` `[` $within `]` (`with` $paired^)? attr-dict `:`
                         qualified(type($fragment)) (`,` qualified(type($paired))^)? `->` qualified(type($result))
                         $body}];
  let hasVerifier = 1;
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ParentOneOf<["MapOp", "ApplyOp", "RoleOp", "ElectOp"]>]> {
  let summary = "Ends a region";
  let arguments = (ins Optional<AnyType>:$value);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::Value()); }]>];
  let assemblyFormat = "($value^ `:` type($value))? attr-dict";
}

def Tile_StoreSharedOp : Tile_Op<"store_shared"> {
  let summary = "Writes a fragment into shared memory";
  let description = [{
    Elements have 8, 16 or 32 bits. Those of 16 bits are stored by stmatrix, which
    chips before sm_90 lack. With `pairs` each thread stores its own elements, two
    at a time, as it stores those of 8 and 32 bits.

    With `transposed` the tile has the fragment's columns as rows. It may have those
    of several warpgroups, of which this is number `group`. Then rows 0 to 7 and 8 to
    15 of a warp are columns that are `apart` from one another, a multiple of 8: of
    each 2 · apart columns, the first ones are the first rows of warps in turn.

    ```mlir
    tile.store_shared %y into %staged transposed : !tile.fragment<[64, 32], f16>, !tile.smem<[32, 64], f16, swizzle 128>
    tile.store_shared %h into %heads transposed of %group apart 64 : !tile.fragment<[64, 32], f16>, !tile.smem<[32, 128], f16, swizzle 128>
    ```
  }];
  let arguments = (ins Tile_FragmentType:$fragment, Tile_SharedType:$tile, Optional<Index>:$group, UnitAttr:$pairs,
                       UnitAttr:$transposed, OptionalAttr<I64Attr>:$apart);
  let builders = [OpBuilder<(ins "::mlir::Value":$fragment, "::mlir::Value":$tile, CArg<"bool", "false">:$pairs,
                                 CArg<"bool", "false">:$transposed), [{
    build($_builder, $_state, fragment, tile, /*group=*/::mlir::Value(), pairs, transposed, /*apart=*/::mlir::IntegerAttr());
  }]>];
  let assemblyFormat = [{$fragment `into` $tile (`in` `pairs` $pairs^)? (`transposed` $transposed^)?
                         (`of` $group^ `apart` $apart)? attr-dict `:`
                         qualified(type($fragment)) `,` qualified(type($tile))}];
  let hasVerifier = 1;
}

def Tile_LoadSharedOp : Tile_Op<"load_shared"> {
  let summary = "Reads a fragment from shared memory";
  let description = [{
    The reverse of `tile.store_shared`, by the warps of one warpgroup. Elements of
    16 bits are loaded by ldmatrix, those of 8 and 32 bits two at a time. It sees
    other warps' writes into the tile after a `tile.sync`, and copies after a
    `tile.wait`.

    ```mlir
    %f = tile.load_shared %tile : !tile.smem<[64, 64], f16, swizzle 128> -> !tile.fragment<[64, 64], f16>
    ```
  }];
  let arguments = (ins Tile_SharedType:$tile);
  let results = (outs Tile_FragmentType:$fragment);
  let assemblyFormat = [{$tile attr-dict `:` qualified(type($tile)) `->` qualified(type($fragment))}];
  let hasVerifier = 1;
}

#endif // KPC_TILE_MMA
