//===- KernelAttrs.td - The kernel dialect and its attributes -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known of a kernel's arguments, and how a kernel that is built is
// launched. Attributes that must agree with the function they stand at are
// checked there, by the dialect's hooks (KernelAttrs.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef KPC_KERNEL_ATTRS
#define KPC_KERNEL_ATTRS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/DialectBase.td"
include "mlir/IR/EnumAttr.td"

def Kernel_Dialect : Dialect {
  let name = "kernel";
  let cppNamespace = "::kpc::kernel";
  let summary = "Ops and attributes of kernels that linalg does not have";
  let description = [{
    A kernel has `linalg.generic`s around named ops such as `kernel.gemm`,
    `kernel.attention` and `kernel.sort_runs`. A softmax between two GEMMs, made
    of generics, would be four that reduce, and each builder would have to find
    that pattern again. A named op says what it computes, and the builder decides
    how.

    Attributes hold the rest. In linalg form:

    ```mlir
    func.func @relu(%x: memref<f32>, %y: memref<f32>, %n: index {kernel.size = #kernel.size<min = 1, max = 4096>})
        attributes {kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>} {
    ```

    When it is built for a GPU, with the launch contract:

    ```mlir
    gpu.func @relu(…) kernel attributes {
      kernel.buffers = #kernel.buffers<reads = [0], writes = [1]>,
      kernel.launch = #kernel.launch<grid = ["ceildiv(arg2, 256)", "1", "1"], block = [256, 1, 1]>,
      kernel.schedule = #kernel.schedule<"map x4">} {
    ```

        | attribute | attached to | says |
    | --- | --- | --- |
    | `kernel.size` | an index argument | range, divisor and optimum |
    | `kernel.row_squares` | a buffer argument | the number of the argument whose rows' sums of squares it holds |
    | `kernel.buffers` | the function | which arguments are read and written |
    | `kernel.forced_schedule` | the function in linalg form | the user's schedule |
    | `kernel.tiles` | a generic of the linalg form | how the codes of a quantised weight lie in the tensor it extracts from first |
    | `kernel.launch` | a kernel built for a GPU | grid, block, shared memory, cluster |
    | `kernel.work` | a kernel built for the host | units of work, and how many are worth a task |
    | `kernel.schedule` | a built kernel | what was chosen |
    | `kernel.tensor_maps` | a kernel built for a GPU | an array: its last parameters |
    | `kernel.schedule_costs` | the module of a kernel built for a GPU | texts: the best schedules with their costs |
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let discardableAttrs = (ins
    "::kpc::kernel::SizeAttr":$size,
    "::kpc::kernel::BuffersAttr":$buffers,
    "::kpc::kernel::TilesAttr":$tiles,
    "::mlir::IntegerAttr":$row_squares,
    "::mlir::StringAttr":$block_scales,
    "::kpc::kernel::ScheduleAttr":$forced_schedule,
    "::kpc::kernel::LaunchAttr":$launch,
    "::kpc::kernel::WorkAttr":$work,
    "::kpc::kernel::ScheduleAttr":$schedule,
    "::mlir::ArrayAttr":$tensor_maps,
    "::mlir::ArrayAttr":$schedule_costs);
  let extraClassDeclaration = [{
    void registerAttributes();
    /// The indexing maps of convolutions of a kind, which are made once in a
    /// context. May be called from several threads.
    ::mlir::ArrayAttr convMaps(const ConvMapsKey &Key);

  private:
    ::std::mutex ConvMapsMutex;
    ::std::map<ConvMapsKey, ::mlir::ArrayAttr> ConvMaps;

  public:
  }];
}

class Kernel_Attr<string name, string attrMnemonic> : AttrDef<Kernel_Dialect, name> {
  let mnemonic = attrMnemonic;
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Kernel_SizeAttr : Kernel_Attr<"Size", "size"> {
  let summary = "What is known of a size";
  let description = [{
    The value is in [min, max] and a multiple of `divisor`. Schedules are chosen
    for `optimum`. A missing fact is unknown: 0, no upper bound, 1, none.

    ```mlir
    #kernel.size<min = 1, max = 4096, divisor = 8, optimum = 512>
    ```
  }];
  let parameters = (ins
    DefaultValuedParameter<"int64_t", "0">:$min,
    OptionalParameter<"std::optional<int64_t>">:$max,
    DefaultValuedParameter<"int64_t", "1">:$divisor,
    OptionalParameter<"std::optional<int64_t>">:$optimum);
}

def Kernel_BuffersAttr : Kernel_Attr<"Buffers", "buffers"> {
  let summary = "Which arguments a kernel reads and which it writes";
  let description = [{
    Arguments are named by their numbers; an argument may be both read and
    written. The memory of a written argument overlaps no other argument's.
    `weight_bytes`, if present, has a number for each argument that is read: the
    bytes of a weight, which no kernel of a run writes, or 0. Weights of less than
    64 KiB have 0, so that kernels that differ only in a bias stay one.

    ```mlir
    #kernel.buffers<reads = [0, 1], writes = [2], weight_bytes = [0, 1179648]>
    ```
  }];
  let parameters = (ins
    "::mlir::DenseI64ArrayAttr":$reads,
    "::mlir::DenseI64ArrayAttr":$writes,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$weight_bytes);
  let extraClassDeclaration = [{
    bool isRead(int64_t Argument) const { return ::llvm::is_contained(getReads().asArrayRef(), Argument); }
    bool isWritten(int64_t Argument) const { return ::llvm::is_contained(getWrites().asArrayRef(), Argument); }
    /// Bytes of a weight of some size; 0 for what else is read or written.
    int64_t getWeightBytesOf(int64_t Argument) const;
  }];
}

def Kernel_TilesAttr : Kernel_Attr<"Tiles", "tiles"> {
  let summary = "A generic dequantises codes that lie in tiles, as graph.dequantise_tiles";
  let description = [{
    The generic's elements are [K, N]. Its body extracts from the tensors that
    hold the tiles, the scales and the zero points, in this order; without zero
    points, all are `offset`. `block` elements of K have one scale. With `number`
    codes are finite floats of that type.

    ```mlir
    #kernel.tiles<bits = 4, block = 128, offset = 8>
    ```
  }];
  let parameters = (ins "int64_t":$bits, "int64_t":$block, "int64_t":$offset,
                        OptionalParameter<"::mlir::Type">:$number);
}

def Kernel_ScheduleAttr : Kernel_Attr<"Schedule", "schedule"> {
  let summary = "A schedule in its family's words";
  let description = [{
    The family's name, then the family's words for tiles, stages and so on, as
    `--explain` and `kpc inspect` print them and `--schedule FILE` takes them. The
    registry of families knows whether the kernel has such a schedule.

    ```mlir
    #kernel.schedule<"gemm 128x256x64 stages 4 group_m 8">
    ```
  }];
  let parameters = (ins StringRefParameter<>:$text);
  let assemblyFormat = "`<` $text `>`";
}

def Kernel_LaunchAttr : Kernel_Attr<"Launch", "launch"> {
  let summary = "How a kernel that is built for a GPU is launched";
  let description = [{
    `grid` holds three expressions of dialects/shape over `argN` (N counts all
        arguments) and `sm_count`. If their product is 0, nothing is launched.
    `shared` is dynamic shared memory in bytes. A cluster has `cluster`
    blocks along x, and the grid is a multiple of that. Dependents of a kernel
    with `no_early_pdl_trigger` start when it has ended, not when all its blocks
    have begun (programmatic dependent launch). A kernel with `no_early_start`
    starts when those that it depends on have ended. With `prefetches_part`, of
    weights that are too large to be prefetched as a whole the first part is.

    ```mlir
    #kernel.launch<grid = ["ceildiv(arg4*64, 256)", "1", "1"], block = [256, 1, 1], shared = 33824, cluster = 2>
    ```
  }];
  let parameters = (ins
    "::mlir::ArrayAttr":$grid,
    "::mlir::DenseI32ArrayAttr":$block,
    DefaultValuedParameter<"int64_t", "0">:$shared,
    DefaultValuedParameter<"int64_t", "1">:$cluster,
    DefaultValuedParameter<"bool", "false">:$no_early_pdl_trigger,
    DefaultValuedParameter<"bool", "false">:$prefetches_part,
    DefaultValuedParameter<"bool", "false">:$no_early_start);
  let extraClassDeclaration = [{
    /// Threads of a block.
    int64_t getThreads() const;
    LaunchAttr withShared(int64_t Bytes) const;
  }];
}

def Kernel_WorkAttr : Kernel_Attr<"Work", "work"> {
  let summary = "How a kernel that is built for the host is shared by threads";
  let description = [{
    The kernel's last two arguments are a range of units of work. There are
        `units` of them, an expression of dialects/shape over `argN`. A task of
    fewer than `grain` units costs more than it gains.

    ```mlir
    #kernel.work<units = "arg4*49", grain = 16>
    ```
  }];
  let parameters = (ins StringRefParameter<>:$units, "int64_t":$grain);
}

def Kernel_Fill : I32EnumAttr<"TensorMapFill", "what a copy brings from outside of a tensor",
    [I32EnumAttrCase<"Zero", 0, "zero">, I32EnumAttrCase<"Nan", 1, "nan">]> {
  let cppNamespace = "::kpc::kernel";
  let genSpecializedAttr = 0;
}

def Kernel_Im2colAttr : Kernel_Attr<"Im2col", "im2col"> {
  let summary = "The box of a tensor map in im2col mode";
  let description = [{
    The corners of the box of pixels, one number for each spatial dim, and the
    number of channels and pixels of a copy (PTX ISA 5.5.4).

    ```mlir
    #kernel.im2col<lower = [-1, -1], upper = [-1, -1], channels = 64, pixels = 128>
    ```
  }];
  let parameters = (ins
    "::mlir::DenseI32ArrayAttr":$lower, "::mlir::DenseI32ArrayAttr":$upper,
    "uint32_t":$channels, "uint32_t":$pixels);
}

def Kernel_TensorMapAttr : Kernel_Attr<"TensorMap", "tensor_map"> {
  let summary = "A tensor map that a kernel takes as a parameter";
  let description = [{
    `buffer` is the argument that points to the tensor. `dims` (elements,
    innermost first) and `strides` (bytes, of dims 1 and on) are expressions of
    dialects/shape over `argN`. `box` is in elements, innermost first, and
        `traversal` the step between them. `swizzle` and `l2`, the L2 promotion, are
    in bytes. An element of tf32 reads f32 and rounds it. In im2col mode `im2col`
    replaces `box`.

    ```mlir
    #kernel.tensor_map<buffer = 0, element = bf16, dims = ["arg5", "arg4"], strides = ["arg5*2"], box = [64, 128],
                       swizzle = 128>
    ```
  }];
  let parameters = (ins
    "uint32_t":$buffer,
    "::mlir::Type":$element,
    "::mlir::ArrayAttr":$dims,
    "::mlir::ArrayAttr":$strides,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$box,
    DefaultValuedParameter<"uint32_t", "0">:$swizzle,
    DefaultValuedParameter<"uint32_t", "DefaultL2">:$l2,
    DefaultValuedParameter<"TensorMapFill", "TensorMapFill::Zero">:$fill,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$traversal,
    OptionalParameter<"Im2colAttr">:$im2col);
}

#endif // KPC_KERNEL_ATTRS
