//===- TileBase.td - Dialect and types of tile ----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every op of the dialect is made of. Ops are in files by family.
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TILE_BASE
#define KPC_TILE_BASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::kpc::tile";
  let summary = "One GPU kernel: which warps move what into which memory, and which warps wait for it";
  let description = [{
    A thin, explicit language for kernels on tensor cores. Nothing is inferred:
    a builder writes each step, verifiers check it, and the lowering is nearly one
    to one. Ops are in a `gpu.func`, together with `scf`, `arith` and `memref`. A
    warpgroup is 128 threads whose first warp's number is a multiple of four.

    Asynchronous products have data edges: `tile.mma` gives a `!tile.pending`, and
    only `tile.await` makes values of it. Data in shared memory passes through a
    `!tile.pipe`, whose stages are tokens that are used exactly once.

    ```mlir
    %pipe = tile.pipe tma consumers 4 : <4 of [!a, !b]>
    tile.barrier_init
    tile.role "producer" warps 0 to 4 registers 40 {
    ^bb0(%group: index):
      tile.elect role {
        %free = tile.acquire %pipe[%cursor] : !pipe -> !tile.stage<free>
        %a, %b = tile.tiles %pipe[%free] : !pipe, !tile.stage<free> -> !a, !b
        tile.tma_load %x[%m, %k] into %a signal %pipe[%free] : !view, !a, !pipe, !tile.stage<free>
        tile.commit %pipe[%free] : !pipe, !tile.stage<free>
      }
    }
    ```
  }];
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{ void registerTypes(); }];
}

class Tile_Type<string name, string tileMnemonic> : TypeDef<Tile_Dialect, name> {
  let mnemonic = tileMnemonic;
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

def Tile_ViewType : Tile_Type<"View", "view"> {
  let summary = "A tensor in global memory that TMA copies boxes of";
  let description = [{
    An argument of the kernel: a tensor map (128 bytes, PTX ISA 5.5.8), encoded
    when shapes and pointers are bound. The kernel's attribute
    `kernel.tensor_maps` says how to encode it, at the position of the argument
    among the views. `box` is the extent of one copy, in elements, outermost
    dimension first. `swizzle` (0, 32, 64, 128 bytes) is its layout in shared
    memory.

    `!tile.view<bf16, box [128, 64], swizzle 128>`
  }];
  let parameters = (ins "::mlir::Type":$element, ArrayRefParameter<"int64_t">:$box, "int64_t":$swizzle);
  let assemblyFormat = "`<` $element `,` `box` `[` $box `]` `,` `swizzle` $swizzle `>`";
}

def Tile_SharedType : Tile_Type<"Shared", "smem"> {
  let summary = "A matrix in shared memory";
  let description = [{
    Rows × columns, with a row's elements contiguous in lines of `swizzle` bytes.
    Line `c` of row `r` is at `(c * pitch + r) * swizzle`; then the address is
    swizzled (PTX ISA 5.5.7). `pitch` is the number of rows of the whole
    allocation, also for a part of its rows. Swizzle 0 means plain rows without
    lines.

    Plain rows of a power of two bytes may have a swizzle of their own,
    `row_swizzle [bits, base, shift]`: of a byte's offset in the tile, the `bits`
    bits from bit `base` on are XORed with those `shift` bits higher (CuTe's
    Swizzle<bits, base, shift>), which are bits of the row's number. Six numbers
    are two such swizzles of different bits of the unit. Threads copy such rows
    (`tile.cp_async_rows`, `tile.cp_async_vector`) and load their 16 bytes
    (`tile.load_vector`, `tile.load_matrix`); the swizzle keeps the lanes that load
    at once out of each other's banks.

    `!tile.smem<[64, 256], bf16, swizzle 128>`, a part of 128 rows:
    `!tile.smem<[64, 64], bf16, swizzle 128, pitch 128>`; a warp's step of values:
    `!tile.smem<[16, 128], f16, row_swizzle [2, 5, 4]>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$element, "int64_t":$swizzle,
                        "int64_t":$pitch, ArrayRefParameter<"int64_t">:$rowSwizzle);
  let builders = [TypeBuilder<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$element, "int64_t":$swizzle), [{
    return $_get($_ctxt, shape, element, swizzle, shape[0], ::llvm::ArrayRef<int64_t>());
  }]>, TypeBuilder<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$element, "int64_t":$swizzle,
                        "int64_t":$pitch), [{
    return $_get($_ctxt, shape, element, swizzle, pitch, ::llvm::ArrayRef<int64_t>());
  }]>];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    int64_t getRows() const { return getShape()[0]; }
    int64_t getColumns() const { return getShape()[1]; }
    unsigned getElementBits() const { return getElement().getIntOrFloatBitWidth(); }
    int64_t getRowBytes() const { return getColumns() * getElementBits() / 8; }
    /// Row after row, every element at its place.
    bool isPlain() const { return !getSwizzle() && getRowSwizzle().empty(); }
    /// Bytes of the elements; of a part, without what lies between its lines.
    int64_t getBytes() const { return getRows() * getColumns() * getElementBits() / 8; }
    /// Elements in a line of `swizzle` bytes; all columns without swizzle.
    int64_t getLineElements() const { return getSwizzle() ? getSwizzle() * 8 / getElementBits() : getColumns(); }
    /// Bytes after which the pattern of addresses repeats.
    int64_t getAlignment() const { return getSwizzle() ? getSwizzle() * 8 : 128; }
  }];
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

def Tile_TensorMemoryType : Tile_Type<"TensorMemory", "tmem"> {
  let summary = "A matrix in tensor memory";
  let description = [{
    128 rows, one in each lane, with an element of 32 bits in each column, of which
    a block has 512 (PTX ISA, tcgen05, tensor memory). In a pair of blocks,
    each has 128 rows of a matrix of 256.

    Elements of f16 or bf16 are a factor's, two neighbours of a row in one column
    of the memory, the first in its low half (matrix A in tensor memory).

    Elements of ui32 are words of four scales, which belong to neighbouring
        blocks of K of one row of a factor. The words of 128 rows take 4 columns: the
    word of row r is in column r / 32 of lanes r % 32, 32 + r % 32, 64 + r % 32 and
    96 + r % 32.

    `!tile.tmem<[128, 256], f32>`, `!tile.tmem<[128, 128], bf16>`,
    `!tile.tmem<[128, 4], ui32>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$element);
  let assemblyFormat = "`<` `[` $shape `]` `,` $element `>`";
  let extraClassDeclaration = [{
    int64_t getRows() const { return getShape()[0]; }
    int64_t getColumns() const { return getShape()[1]; }
    /// Columns of the memory, of 32 bits each, that the matrix takes.
    int64_t getWords() const { return getColumns() * getElement().getIntOrFloatBitWidth() / 32; }
  }];
}

def Tile_BlockFormat : I32EnumAttr<"BlockFormat", "", [I32EnumAttrCase<"Mxfp8", 0, "mxfp8">,
                                                   I32EnumAttrCase<"Mxfp4", 1, "mxfp4">,
                                                   I32EnumAttrCase<"Nvfp4", 2, "nvfp4">]> {
  let cppNamespace = "::kpc::tile";
}

def Tile_FragmentLayout : I32EnumAttr<"FragmentLayout", "", [I32EnumAttrCase<"Wgmma", 0, "wgmma">,
                                                             I32EnumAttrCase<"Tmem32x32b", 1, "tmem_32x32b">]> {
  let cppNamespace = "::kpc::tile";
}

def Tile_FragmentLayoutParameter : EnumParameter<Tile_FragmentLayout> {
  let defaultValue = "::kpc::tile::FragmentLayout::Wgmma";
}

def Tile_FragmentType : Tile_Type<"Fragment", "fragment"> {
  let summary = "A matrix in the registers of one warpgroup";
  let description = [{
    Rows are a multiple of 64, columns of 8. Thread `t`, with `w = t / 32`,
    `g = t % 32 / 4`, `q = t % 4`, holds, of each 64 rows, element `i` of row
    `16w + g + 8(i / 2 % 2)` and column `8(i / 4) + 2q + i % 2` (PTX ISA,
    wgmma, matrix D).

        With `tmem_32x32b`, there are 128 rows, and thread t holds row t, as
    `tcgen05.ld.32x32b` reads it from tensor memory.

    `!tile.fragment<[64, 256], f32>`, `!tile.fragment<[128, 64], f32, tmem_32x32b>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$element,
                        Tile_FragmentLayoutParameter:$layout);
  let builders = [TypeBuilder<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$element), [{
    return $_get($_ctxt, shape, element, ::kpc::tile::FragmentLayout::Wgmma);
  }]>];
  let assemblyFormat = "`<` `[` $shape `]` `,` $element (`,` $layout^)? `>`";
  let extraClassDeclaration = [{
    int64_t getRows() const { return getShape()[0]; }
    int64_t getColumns() const { return getShape()[1]; }
    /// Elements that one thread holds.
    int64_t getPerThread() const { return getRows() * getColumns() / 128; }
    bool isTmemLayout() const { return getLayout() == ::kpc::tile::FragmentLayout::Tmem32x32b; }
  }];
}

def Tile_ColumnType : Tile_Type<"Column", "column"> {
  let summary = "One value for each row of a fragment";
  let description = [{
    The four threads that share a row hold it alike. With `partial`, each of
    them holds what it made of its own elements; `tile.lane_reduce` combines the
    four. With `tmem_32x32b` it belongs to fragments in that layout: thread t
    holds the value of row t, and what it made of its elements is of all.

    `!tile.column<64, f32>`, `!tile.column<64, f32, partial>`,
    `!tile.column<128, f32, tmem_32x32b>`
  }];
  let parameters = (ins "int64_t":$rows, "::mlir::Type":$element, DefaultValuedParameter<"bool", "false">:$parts,
                        Tile_FragmentLayoutParameter:$layout);
  let builders = [TypeBuilder<(ins "int64_t":$rows, "::mlir::Type":$element), [{
    return $_get($_ctxt, rows, element, false, ::kpc::tile::FragmentLayout::Wgmma);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    bool isTmemLayout() const { return getLayout() == ::kpc::tile::FragmentLayout::Tmem32x32b; }
    /// Values that one thread holds.
    int64_t getPerThread() const { return isTmemLayout() ? 1 : getRows() / 32; }
  }];
}

def Tile_PackedType : Tile_Type<"Packed", "packed"> {
  let summary = "A matrix in registers, 4 bytes of a row in each, as an mma takes its left operand";
  let description = [{
    The elements of a fragment of the same shape, in its order, with two neighbours
    of a row in one register. Each 64 rows and 16 columns are matrix A of a wgmma,
    and of four mma.sync, one in each warp.

    A register has one element of f32. Of each 8 columns, matrix A of a mma.sync
    of tf32 has columns 0, 2, 4, 6 as its first four along K, and then 1, 3, 5, 7.
    So a thread keeps its own elements of the fragment. The rows of the other
    operand are taken in that order, too.

    A register has four elements of FP8, two pairs of adjacent columns: of each 16
    columns, a matrix A has columns 0 1 8 9, 2 3 10 11, 4 5 12 13 and 6 7 14 15
    along K. The other operand has its K in that order.

    `!tile.packed<[64, 128], f16>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$element);
  let assemblyFormat = "`<` `[` $shape `]` `,` $element `>`";
  let extraClassDeclaration = [{
    int64_t getRows() const { return getShape()[0]; }
    int64_t getColumns() const { return getShape()[1]; }
    /// Registers of one thread.
    int64_t getPerThread() const {
      return getRows() * getColumns() * getElement().getIntOrFloatBitWidth() / 4096;
    }
  }];
}

def Tile_FactorsType : Tile_Type<"Factors", "factors"> {
  let summary = "Both operands of one mma.sync step in the registers of a warpgroup's warps";
  let description = [{
    32 bytes along K of the rows of a and the columns of b: `shape` is M and N of
    the step's result. A warp has 16 of each 64 rows, and all columns.

    `!tile.factors<[256, 64], f16, f16>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$a, "::mlir::Type":$b);
  let assemblyFormat = "`<` `[` $shape `]` `,` $a `,` $b `>`";
  let extraClassDeclaration = [{
    int64_t getRows() const { return getShape()[0]; }
    int64_t getColumns() const { return getShape()[1]; }
    /// Registers of one thread: four of each 64 rows, and of each 16 columns.
    int64_t getPerThread() const { return getRows() / 16 + getColumns() / 4; }
  }];
}

def Tile_PendingType : Tile_Type<"Pending", "pending"> {
  let summary = "A fragment that tensor cores are still writing";
  let description = [{
    It may also be a fragment that is being read from tensor memory. It is used
    exactly once: by the next `tile.mma`, `tile.wgmma_wait`, or `tile.await`.
  }];
  let parameters = (ins "::kpc::tile::FragmentType":$fragment);
  let assemblyFormat = "`<` qualified($fragment) `>`";
  let genVerifyDecl = 0;
}

//===----------------------------------------------------------------------===//
// Pipes
//===----------------------------------------------------------------------===//

def Tile_PipeType : Tile_Type<"Pipe", "pipe"> {
  let summary = "A ring of stages in shared or tensor memory";
  let description = [{
    Each stage holds one of every tile, and has a full and an empty barrier unless
    the ring is a warp's own (`tile.pipe cp_async`). `!tile.pipe<4 of [!tile.smem<…>, !tile.smem<…>]>`,
    `!tile.pipe<2 of [!tile.tmem<[128, 256], f32>]>`
  }];
  let parameters = (ins "int64_t":$stages, ArrayRefParameter<"::mlir::Type">:$tiles);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Where tile `I` is in a stage, in bytes; I == number of tiles: a stage's size.
    int64_t getTileOffset(size_t I) const;
    int64_t getStageBytes() const { return getTileOffset(getTiles().size()); }
    /// What copies fill a stage with.
    int64_t getFilledBytes() const;
    /// The stages are in tensor memory; in shared memory are barriers alone.
    bool isInTensorMemory() const;
    /// Columns of tensor memory of one stage.
    int64_t getStageColumns() const;
  }];
}

def Tile_StageState : I32EnumAttr<"StageState", "", [I32EnumAttrCase<"Free", 0, "free">,
                                                   I32EnumAttrCase<"Full", 1, "full">]> {
  let cppNamespace = "::kpc::tile";
}

def Tile_StageType : Tile_Type<"Stage", "stage"> {
  let summary = "One stage of a pipe, held: `free` by who fills it, `full` by who reads it";
  let description = "It is ended exactly once, by `tile.commit` or `tile.release`.";
  let parameters = (ins EnumParameter<Tile_StageState>:$state);
  let assemblyFormat = "`<` $state `>`";
  let genVerifyDecl = 0;
}

def Tile_CursorType : Tile_Type<"Cursor", "cursor"> {
  let summary = "A place in a pipe: the stage and the parity of its round";
  let genVerifyDecl = 0;
}

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

#endif // KPC_TILE_BASE
