//===- TileTensorMemory.td - Tensor memory and its products ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor cores of Blackwell (tcgen05) keep their sums in a memory of their
// own: one thread begins products, other warps read what came of them.
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TILE_TENSORMEMORY
#define KPC_TILE_TENSORMEMORY

include "dialects/tile/TileMma.td"

def Tile_TmemAllocOp : Tile_Op<"tmem_alloc"> {
  let summary = "Tensor memory, until `tile.tmem_free`";
  let description = [{
    It has all 128 rows of a power of two of columns, 32 to 512, which is the whole
    memory. Its contents are undefined. The op is in the kernel's entry block,
    after `tile.barrier_init`, and ends with a barrier of all threads.

    With `pair`, both blocks of a cluster of two allocate it together, at the same
    place, for products of both (`tile.tmem_mma … pair`). Either all of a
    kernel's allocations are pairs or none is (PTX ISA, tcgen05, `.cta_group`).

    ```mlir
    %memory = tile.tmem_alloc : !tile.tmem<[128, 512], f32>
    ```
  }];
  let arguments = (ins UnitAttr:$pair);
  let results = (outs Tile_TensorMemoryType:$memory);
  let assemblyFormat = "(`pair` $pair^)? attr-dict `:` qualified(type($memory))";
  let hasVerifier = 1;
}

def Tile_TmemFreeOp : Tile_Op<"tmem_free"> {
  let summary = "Frees tensor memory";
  let description = [{
    It begins with a barrier of all threads, for a pair of those of both blocks. No
    product or copy may still use the memory. A kernel must free what it has
    allocated.
  }];
  let arguments = (ins Tile_TensorMemoryType:$memory);
  let assemblyFormat = "$memory attr-dict `:` qualified(type($memory))";
  let hasVerifier = 1;
}

def Tile_TmemMmaOp : Tile_Op<"tmem_mma"> {
  let summary = "Begins d = a·b, or d = a·b + d where `add`, in tensor memory";
  let description = [{
    One thread executes it for its block (it is in `tile.elect`). Products of
    one thread on the same d are made in its order. `a` is 128×K, `b` K×N, both
    in shared memory (with `a_transposed`, `a` is stored K×128; with
    `b_transposed`, `b` is stored N×K). Neither they nor `d` may be touched
    before the product is complete. Only barriers show that: `tile.release …
    after_mma` of the stage that was read, `tile.commit` of the stage of `d`.

    `a` may also lie in tensor memory, 128×K of 16 bits: what other threads have
    stored there (`tile.tmem_store`) and handed over through a pipe that threads
    fill. Products on different d may be made in any order (PTX ISA, tcgen05,
    pipelined instructions): who writes over such an `a` waits for its product.

    With `pair`, the product is that of two blocks, begun by the even one for
    both: 256×K by K×N. Each block has its own 128 rows of `a` and of `d`, and
    half of the columns of `b`, at the same places of its memory.

    | a, b | d | K a multiple of | transposed a, untransposed b |
    | --- | --- | --- | --- |
    | f16 | f32 | 16 | yes |
    | bf16 | f32 | 16 | yes |
    | tf32 in f32 | f32 | 8 | no |
    | f8E4M3FN, f8E5M2, each as it is | f32 | 32 | no |

    N is a multiple of 16 up to 256.

    ```mlir
    tile.tmem_mma %a, %b into %d add %more : !a, !b, !d
    ```
  }];
  let arguments = (ins AnyTypeOf<[Tile_SharedType, Tile_TensorMemoryType]>:$a, Tile_SharedType:$b,
                       Tile_TensorMemoryType:$d, I1:$add, UnitAttr:$a_transposed, UnitAttr:$b_transposed,
                       UnitAttr:$pair);
  let assemblyFormat = [{$a (`transposed` $a_transposed^)? `,` $b (`transposed` $b_transposed^)? `into` $d `add` $add
                         (`pair` $pair^)? attr-dict `:` qualified(type($a)) `,` qualified(type($b)) `,`
                         qualified(type($d))}];
  let hasVerifier = 1;
}

def Tile_TmemLoadOp : Tile_Op<"tmem_load"> {
  let summary = "Begins to read some columns of tensor memory into registers";
  let description = [{
    All threads of one warpgroup execute it. Of each four warps, the first can
    access only rows 0–31, the second only 32–63, and so on. Thread t gets row t,
    from column `first` on. `tile.await` waits for it.

    ```mlir
    %p = tile.tmem_load %d[%first] : !tile.tmem<[128, 256], f32> -> !tile.pending<!tile.fragment<[128, 64], f32, tmem_32x32b>>
    %f = tile.await %p : …
    ```
  }];
  let arguments = (ins Tile_TensorMemoryType:$memory, Index:$first);
  let results = (outs Tile_PendingType:$fragment);
  let assemblyFormat = "$memory `[` $first `]` attr-dict `:` qualified(type($memory)) `->` qualified(type($fragment))";
  let hasVerifier = 1;
}

def Tile_TmemStoreOp : Tile_Op<"tmem_store"> {
  let summary = "Writes a fragment into some columns of tensor memory, and waits until it is there";
  let description = [{
    By one warpgroup, as `tile.tmem_load` reads. Elements are those of the memory:
    f32, or f16 and bf16, two of which are one word; `first` counts elements.

    ```mlir
    tile.tmem_store %p into %memory[%c0] : !tile.fragment<[128, 64], bf16, tmem_32x32b>, !tile.tmem<[128, 128], bf16>
    ```
  }];
  let arguments = (ins Tile_FragmentType:$fragment, Tile_TensorMemoryType:$memory, Index:$first);
  let assemblyFormat = [{$fragment `into` $memory `[` $first `]` attr-dict `:` qualified(type($fragment)) `,`
                         qualified(type($memory))}];
  let hasVerifier = 1;
}

def Tile_TmemPartOp : Tile_Op<"tmem_part", [Pure]> {
  let summary = "Some columns of tensor memory, from column `first` of the memory on, maybe of another type";
  let arguments = (ins Tile_TensorMemoryType:$memory, Index:$first);
  let results = (outs Tile_TensorMemoryType:$part);
  let assemblyFormat = "$memory `[` $first `]` attr-dict `:` qualified(type($memory)) `->` qualified(type($part))";
  let hasVerifier = 1;
}

def Tile_TmemCopyOp : Tile_Op<"tmem_copy"> {
  let summary = "Begins to copy words of scales from shared into tensor memory (`tcgen05.cp.32x128b.warpx4`)";
  let description = [{
    One thread executes it for its block (it is in `tile.elect`). Its later
    products see the words. Words of 128 rows are 512 bytes, the one of row r at
    `r % 32 * 16 + r / 32 * 4`. For each word along K they are a row of 512 bytes
    of `scales`, for one panel of 128 rows after the other. `memory` has 4 columns
    for each panel; those of one word are adjacent.

    `scales` may not change before the copy is complete, which only barriers show,
    as for `tile.tmem_mma`. Earlier products may not read `memory`. With `pair`,
    both blocks copy, each from its own shared memory.

    ```mlir
    tile.tmem_copy %scales panels 1 into %words : !tile.smem<[2, 256], ui8>, !tile.tmem<[128, 4], ui32>
    ```
  }];
  let arguments = (ins Tile_SharedType:$scales, I32Attr:$panels, Tile_TensorMemoryType:$memory, UnitAttr:$pair);
  let assemblyFormat = [{$scales `panels` $panels `into` $memory (`pair` $pair^)? attr-dict `:`
                         qualified(type($scales)) `,` qualified(type($memory))}];
  let hasVerifier = 1;
}

def Tile_TmemMmaScaledOp : Tile_Op<"tmem_mma_scaled"> {
  let summary = "Begins d = (a · its scales)·(b · its scales), or the same + d where `add`, in tensor memory";
  let description = [{
    As `tile.tmem_mma`, but neighbouring elements of K share a scale. `a` is
    [128, K] and `b` [N, K], both swizzled and contiguous along K: codes of FP8,
    or bytes (ui8) that hold two codes of FP4 each, the first in the low bits.
    Their scales are words in tensor memory, as `tile.tmem_copy` leaves them:
    4 columns for each word along K of the 128 rows of `a`, and of each 128 rows
    that begin in all of `b`.

    | format | kind | K bytes of an instruction | scales of it |
    | --- | --- | --- | --- |
    | mxfp8 | mxf8f6f4 | 32 | 1 |
    | mxfp4 | mxf4 | 32 | 2 |
    | nvfp4 | mxf4nvf4, block16 | 32 | 4 |

    With `pair`, each block has half of the rows of `b`, and the scales of all rows.

    ```mlir
    tile.tmem_mma_scaled mxfp8 %a scales %sa, %b scales %sb into %d add %more : !a, !sa, !b, !sb, !d
    ```
  }];
  let arguments = (ins Tile_BlockFormat:$format, Tile_SharedType:$a, Tile_TensorMemoryType:$a_scales, Tile_SharedType:$b,
                       Tile_TensorMemoryType:$b_scales, Tile_TensorMemoryType:$d, I1:$add, UnitAttr:$pair);
  let assemblyFormat = [{$format $a `scales` $a_scales `,` $b `scales` $b_scales `into` $d `add` $add (`pair` $pair^)?
                         attr-dict `:` qualified(type($a)) `,` qualified(type($a_scales)) `,` qualified(type($b)) `,`
                         qualified(type($b_scales)) `,` qualified(type($d))}];
  let hasVerifier = 1;
}

#endif // KPC_TILE_TENSORMEMORY
