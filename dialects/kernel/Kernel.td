//===- Kernel.td - What kernels hold beside linalg ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Few ops on tensors that stand in the form of a kernel where linalg has no
// word for what builders must know.
//
//===----------------------------------------------------------------------===//
#ifndef KPC_KERNEL
#define KPC_KERNEL

include "dialects/kernel/KernelAttrs.td"
include "mlir/Dialect/Linalg/IR/LinalgInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Kernel_Op<string mnemonic, list<Trait> traits = []> : Op<Kernel_Dialect, mnemonic, traits>;

def Kernel_AttentionOp : Kernel_Op<"attention", [Pure, AttrSizedOperandSegments, DestinationStyleOpInterface]> {
  let summary = "softmax(scale · q·kᵀ + bias) · v, of many heads";
  let description = [{
    `q` is [batch, heads, queries, depth], `k` [batch, groups, keys, depth], `v`
    [batch, groups, keys, width]; heads are a multiple of groups, and head `h`
    reads group `h / (heads / groups)`. With `softcap c` a scaled score `s` is
        `c * tanh(s / c)`. `bias` (f32) is added to that, and `mask` (i1) says which
    keys a query sees. Both have four dimensions, each of the scores' size or 1.
    With `causal offset`, query `i` sees key `j` where `j <= i + offset`. A query
    that sees no key gives zeros. With `tf32` Tensor Cores may round factors of
    f32.

    Operands may be computed: the kernel's builder pulls bias and mask at [batch,
    head, query, key]. So a generic that computes them is a score function with
    coordinates, and needs no memory.

    ```mlir
    %y = kernel.attention %q, %k, %v mask %seen causal %past scale 1.250000e-01 into %empty
       : (tensor<2x8x?x64xf32>, …) -> tensor<2x8x?x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$q, AnyRankedTensor:$k, AnyRankedTensor:$v, Optional<AnyRankedTensor>:$bias,
                       Optional<AnyRankedTensor>:$mask, Optional<Index>:$offset, F64Attr:$scale,
                       OptionalAttr<F64Attr>:$softcap, UnitAttr:$tf32, AnyRankedTensor:$init);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = [{$q `,` $k `,` $v (`bias` $bias^)? (`mask` $mask^)? (`causal` $offset^)? `scale` $scale
                         (`softcap` $softcap^)? (`tf32` $tf32^)? `into` $init attr-dict `:` functional-type(operands, results)}];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
  }];
  let hasVerifier = 1;
}

def Kernel_GemmOp : Kernel_Op<"gemm", [Pure, SingleBlock, DestinationStyleOpInterface, LinalgStructuredInterface]> {
  let summary = "D = A · B + init";
  let description = [{
    `a` is [batch…, M, K], `b` [batch…, K, N…] and the result [batch…, M, N…]. A
        batch dimension of size 1 is shared by all of the result's. N may be several
    dimensions, for instance columns that are split into heads.

    Elements of all three have one type, the accumulator's. A generic before the op
    widens 16-bit values, and families of GEMMs read through it. With `tf32`,
    factors of f32 may be rounded to tf32 where tensor cores multiply them.

    It is a structured op of linalg, whose loops are batch…, M, N… and K and
    whose body is `acc + a * b`. So code that does not ask for a GEMM, such as a
    builder of loops, treats it as any reduction. The body follows from the types
    and is not printed.

    ```mlir
    %d = kernel.gemm %a, %b tf32 into %zeros
       : (tensor<8x?x64xf32>, tensor<1x64x256xf32>, tensor<8x?x256xf32>) -> tensor<8x?x256xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$a, AnyRankedTensor:$b, AnyRankedTensor:$init, UnitAttr:$tf32);
  let results = (outs AnyRankedTensor:$d);
  let regions = (region SizedRegion<1>:$combiner);
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$a, "::mlir::Value":$b, "::mlir::Value":$init)>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Leading dimensions of D in front of M.
    unsigned getBatchRank() { return getA().getType().getRank() - 2; }
    /// What is multiplied and added up in.
    ::mlir::Type getAccumulatorType() { return getD().getType().getElementType(); }

    // What linalg asks of a structured op.
    ::mlir::SmallVector<::mlir::utils::IteratorType> getIteratorTypesArray();
    ::mlir::ArrayAttr getIndexingMaps();
    bool hasDynamicIndexingMaps() { return true; }
    bool hasIndexSemantics() { return false; }
    std::string getLibraryCallName() { return "op_has_no_registered_library_name"; }
    static std::function<void(::mlir::ImplicitLocOpBuilder &, ::mlir::Block &,
                              ::mlir::ArrayRef<::mlir::NamedAttribute>,
                              ::mlir::function_ref<::mlir::InFlightDiagnostic()>)>
    getRegionBuilder() { return buildMultiplyAdd; }
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
  }];
}

def Kernel_ConvOp : Kernel_Op<"conv", [Pure, SingleBlock, DestinationStyleOpInterface, LinalgStructuredInterface]> {
  let summary = "Convolution, channels last";
  let description = [{
    `x` is [N, spatial…, C], `w` is [taps…, C / groups, O] and the result
    [N, spatial…, O]; `strides` and `dilations` have one entry a spatial
    dimension. Channel `o` of the result belongs to group `o / (O / groups)`, and
    sums over that group's channels of `x`.

        `x` includes the zeros around the image, because an index map cannot name an
    element that does not exist. A `kernel.pad` makes them, and families of
    convolutions read the pads from it. Elements of all three have one type, as
    those of `kernel.gemm`, and `tf32` means the same.

    It is a structured op of linalg, whose loops are N, spatial…, O, taps… and
    channels, and whose body is `acc + x * w`. The body follows from the types
    and is not printed.

    ```mlir
    %y = kernel.conv %x, %w strides [2, 2] dilations [1, 1] groups 4 tf32 into %zeros
       : (tensor<?x16x16x64xf32>, tensor<3x3x16x128xf32>, tensor<?x7x7x128xf32>) -> tensor<?x7x7x128xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$w, AnyRankedTensor:$init, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, I64Attr:$groups, UnitAttr:$tf32);
  let results = (outs AnyRankedTensor:$y);
  let regions = (region SizedRegion<1>:$combiner);
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$x, "::mlir::Value":$w, "::mlir::Value":$init,
                                 "::llvm::ArrayRef<int64_t>":$strides, "::llvm::ArrayRef<int64_t>":$dilations,
                                 "int64_t":$groups)>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    unsigned getSpatialRank() { return getX().getType().getRank() - 2; }
    /// What is multiplied and added up in.
    ::mlir::Type getAccumulatorType() { return getY().getType().getElementType(); }

    // What linalg asks of a structured op.
    ::mlir::SmallVector<::mlir::utils::IteratorType> getIteratorTypesArray();
    ::mlir::ArrayAttr getIndexingMaps();
    bool hasDynamicIndexingMaps() { return true; }
    bool hasIndexSemantics() { return false; }
    std::string getLibraryCallName() { return "op_has_no_registered_library_name"; }
    static std::function<void(::mlir::ImplicitLocOpBuilder &, ::mlir::Block &,
                              ::mlir::ArrayRef<::mlir::NamedAttribute>,
                              ::mlir::function_ref<::mlir::InFlightDiagnostic()>)>
    getRegionBuilder() { return buildMultiplyAdd; }
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
  }];
}

def Kernel_PadOp : Kernel_Op<"pad", [Pure, SingleBlock, DestinationStyleOpInterface, LinalgStructuredInterface]> {
  let summary = "A tensor with a constant around it";
  let description = [{
    `low` elements come before each dimension of `x` and `high` after it. All of
    them are `outside`; negative numbers remove elements. `sizes` are those
    of the padded dimensions of `x` whose sizes are not constants, in order.

    It is a structured op of linalg whose body reads `x` at the indices of an
    element, if these are inside. `tensor.pad` is not a structured op, so each
    reader of loops would need a case for it. The body is not printed.

    ```mlir
    %p = kernel.pad %x low [0, 1, 1, 0] high [0, 1, 1, 0] outside 0.000000e+00 : f32 sizes [%h] into %empty
       : tensor<?x?x14x64xf32> into tensor<?x?x16x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, Variadic<Index>:$sizes, AnyRankedTensor:$init, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$high, TypedAttrInterface:$outside);
  let results = (outs AnyRankedTensor:$y);
  let regions = (region SizedRegion<1>:$element);
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$x, "::mlir::ValueRange":$sizes, "::mlir::Value":$init,
                                 "::llvm::ArrayRef<int64_t>":$low, "::llvm::ArrayRef<int64_t>":$high,
                                 "::mlir::TypedAttr":$outside)>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool isPadded(unsigned Dim) { return getLow()[Dim] != 0 || getHigh()[Dim] != 0; }

    // What linalg asks of a structured op.
    ::mlir::SmallVector<::mlir::utils::IteratorType> getIteratorTypesArray();
    ::mlir::ArrayAttr getIndexingMaps();
    bool hasDynamicIndexingMaps() { return true; }
    bool hasIndexSemantics() { return true; }
    std::string getLibraryCallName() { return "op_has_no_registered_library_name"; }
    static std::function<void(::mlir::ImplicitLocOpBuilder &, ::mlir::Block &,
                              ::mlir::ArrayRef<::mlir::NamedAttribute>,
                              ::mlir::function_ref<::mlir::InFlightDiagnostic()>)>
    getRegionBuilder() { return nullptr; }
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
  }];
}

def Kernel_SortRunsOp : Kernel_Op<"sort_runs", [Pure, DestinationStyleOpInterface, AllTypesMatch<["init", "y"]>]> {
  let summary = "Runs of `from` ascending elements along the last dimension become runs of `to`";
  let description = [{
    As `graph.sort_runs`: `from` is 1, or half of `to`. Elements are i64, and no
    two of a row are equal except fillers, which are the greatest number. If each
    row is one run, `y` may have only the first elements of each.

    ```mlir
    %y = kernel.sort_runs %x from 1 to 4096 into %empty : tensor<4x8192xi64> -> tensor<4x8192xi64>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, I64Attr:$from, I64Attr:$to, AnyRankedTensor:$init);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = "$x `from` $from `to` $to `into` $init attr-dict `:` type($x) `->` type($y)";
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
    bool merges() { return getFrom() > 1; }
  }];
}

def Kernel_DigitCountsOp : Kernel_Op<"digit_counts", [Pure, DestinationStyleOpInterface, AllTypesMatch<["init", "y"]>]> {
  let summary = "How often each part of a row has each value of a digit";
  let description = [{
    As `graph.digit_counts`: `y` has the parts and the digit's values as its last
    two dimensions.

    ```mlir
    %y = kernel.digit_counts %x shift 32 into %empty : tensor<4x?xi64> -> tensor<4x64x256xi32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, I64Attr:$shift, AnyRankedTensor:$init);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = "$x `shift` $shift `into` $init attr-dict `:` type($x) `->` type($y)";
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
  }];
}

def Kernel_OrderByDigitOp : Kernel_Op<"order_by_digit", [Pure, DestinationStyleOpInterface, AllTypesMatch<["x", "init", "y"]>]> {
  let summary = "Each row in the order of a digit";
  let description = [{
    As `graph.order_by_digit`.

    ```mlir
    %y = kernel.order_by_digit %x, %counts shift 32 into %empty : tensor<4x?xi64>, tensor<4x64x256xi32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$counts, I64Attr:$shift, AnyRankedTensor:$init);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = "$x `,` $counts `shift` $shift `into` $init attr-dict `:` type($y) `,` type($counts)";
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
  }];
}

def Kernel_CustomOp : Kernel_Op<"custom", [AttrSizedOperandSegments]> {
  let summary = "A kernel that a user wrote: the whole of its function";
  let description = [{
    Operands are the function's arguments, in order. `code` is the dictionary of
    `graph.custom` without the sizes, which are operands here. With `cuda` it is
    for GPUs, otherwise for the host. The last four sizes of CUDA code
    are the grid and the bytes of shared memory. Those of host code are the dims
    of all buffers, then the arguments.

    ```mlir
    kernel.custom "my.ops::Silu" (%arg0) -> (%arg1) sizes (%arg2, %arg3, %arg4, %arg5, %arg6)
        cuda {function = "silu", …} : (memref<f32>) -> memref<f32>
    ```
  }];
  let arguments = (ins StrAttr:$operator_name, Variadic<AnyMemRef>:$reads, Variadic<AnyMemRef>:$writes,
                       Variadic<Index>:$sizes, UnitAttr:$cuda, DictionaryAttr:$code);
  let assemblyFormat = [{$operator_name `(` $reads `)` `->` `(` $writes `)` `sizes` `(` $sizes `)` (`cuda` $cuda^)? $code
                         attr-dict `:` functional-type($reads, $writes)}];
}

#endif // KPC_KERNEL
