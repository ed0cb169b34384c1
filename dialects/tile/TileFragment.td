//===- TileFragment.td - Arithmetic on fragments --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fragments with one value for each of their rows: what a softmax is made of.
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TILE_FRAGMENT
#define KPC_TILE_FRAGMENT

include "dialects/tile/TileMma.td"

def Tile_FragmentOrColumn : AnyTypeOf<[Tile_FragmentType, Tile_ColumnType]>;

def Tile_SplatOp : Tile_Op<"splat", [Pure]> {
  let summary = "The same value everywhere";
  let arguments = (ins AnyType:$value);
  let results = (outs Tile_FragmentOrColumn:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Tile_RowNumbersOp : Tile_Op<"row_numbers", [Pure]> {
  let summary = "The number of each row, counted from 0";
  let results = (outs Tile_ColumnType:$result);
  let assemblyFormat = "attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
}

def Tile_ApplyOp : Tile_Op<"apply", [RecursiveMemoryEffects, SingleBlock]> {
  let summary = "Applies a scalar function at each place of fragments and columns";
  let description = [{
    Fragments have one shape and layout, columns as many rows and the layout; a
    column's value is that of the row. The block has one argument for each operand and, where the result
    is a fragment, the number of the column, an i32. Columns alone give a
    column.

    ```mlir
    %y = tile.apply %x, %top : !s, !tile.column<64, f32> -> !s {
    ^bb0(%value: f32, %most: f32, %column: i32):
      %less = arith.subf %value, %most : f32
      tile.yield %less : f32
    }
    ```
  }];
  let arguments = (ins Variadic<Tile_FragmentOrColumn>:$operands);
  let results = (outs Tile_FragmentOrColumn:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{$operands attr-dict `:` qualified(type($operands)) `->` qualified(type($result)) $body}];
  let hasVerifier = 1;
}

def Tile_ReduceKind : I32EnumAttr<"ReduceKind", "", [I32EnumAttrCase<"Add", 0, "add">,
                                                 I32EnumAttrCase<"Max", 1, "max">]> {
  let cppNamespace = "::kpc::tile";
}

def Tile_ThreadReduceOp : Tile_Op<"thread_reduce", [Pure]> {
  let summary = "Each thread reduces its own elements of each row";
  let description = [{
    It reduces in the order of the columns, in `chains` independent chains. The
    first chain begins with `initial` if that is given. `max` ignores NaN.

    ```mlir
    %parts = tile.thread_reduce add %p, %before chains 2 : !s, !tile.column<64, f32, partial> -> !tile.column<64, f32, partial>
    ```
  }];
  let arguments = (ins Tile_ReduceKind:$kind, Tile_FragmentType:$fragment, Optional<Tile_ColumnType>:$initial,
                       DefaultValuedAttr<I32Attr, "1">:$chains);
  let results = (outs Tile_ColumnType:$result);
  let assemblyFormat = [{$kind $fragment (`,` $initial^)? (`chains` $chains^)? attr-dict `:` qualified(type($fragment))
                         (`,` qualified(type($initial))^)? `->` qualified(type($result))}];
  let hasVerifier = 1;
}

def Tile_LaneReduceOp : Tile_Op<"lane_reduce", [Pure]> {
  let summary = "Reduces the partial values of the four threads that share a row (two shuffles)";
  let description = "In the layout tmem_32x32b a thread has all of its row: nothing is to be done.";
  let arguments = (ins Tile_ReduceKind:$kind, Tile_ColumnType:$parts);
  let results = (outs Tile_ColumnType:$result);
  let assemblyFormat = "$kind $parts attr-dict `:` qualified(type($parts)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Tile_WarpAboveOp : Tile_Op<"warp_above", [Pure]> {
  let summary = "Whether a value in one of the warp's rows is above a number (`vote.sync.any`)";
  let description = [{
    All threads of a warp get the same answer, so that a branch on it is uniform.
    NaN is above nothing.

    ```mlir
    %grows = tile.warp_above %growth, %bound : !tile.column<64, f32>
    ```
  }];
  let arguments = (ins Tile_ColumnType:$column, F32:$bound);
  let results = (outs I1:$result);
  let assemblyFormat = "$column `,` $bound attr-dict `:` qualified(type($column))";
  let hasVerifier = 1;
}

def Tile_PackOp : Tile_Op<"pack", [Pure]> {
  let summary = "Packs adjacent f32 fragments, rounded to 16 bits or to FP8, or as f32, as the left operand of a product";
  let arguments = (ins Variadic<Tile_FragmentType>:$fragments);
  let results = (outs Tile_PackedType:$result);
  let assemblyFormat = "$fragments attr-dict `:` qualified(type($fragments)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Tile_PackWordsOp : Tile_Op<"pack_words", [Pure]> {
  let summary = "Words that each thread has made, as the left operand of a product";
  let description = [{
    The words of a `!tile.packed` of 16 bits, in its order: of each 16 columns those
    of rows g and g + 8 and columns 2q, 2q + 1, then those of columns 2q + 8 and
    2q + 9.

    ```mlir
    %a = tile.pack_words %0, %1, %2, %3 : !tile.packed<[64, 16], bf16>
    ```
  }];
  let arguments = (ins Variadic<I32>:$words);
  let results = (outs Tile_PackedType:$result);
  let assemblyFormat = "$words attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
}

def Tile_Function : I32EnumAttr<"Function", "", [I32EnumAttrCase<"Exp2", 0, "exp2">,
                                                 I32EnumAttrCase<"Reciprocal", 1, "reciprocal">]> {
  let cppNamespace = "::kpc::tile";
}

def Tile_ApproximateOp : Tile_Op<"approximate", [Pure]> {
  let summary = "2^x or 1/x by the special function unit";
  let description = [{
    One instruction, at most 2 ulp off (PTX ISA, ex2.approx.ftz and
        rcp.approx.ftz). A result or operand below the normal numbers is 0. It is for
    scores that are then rounded to 16 bits.
  }];
  let arguments = (ins Tile_Function:$function, F32:$x);
  let results = (outs F32:$y);
  let assemblyFormat = "$function $x attr-dict";
}

#endif // KPC_TILE_FRAGMENT
