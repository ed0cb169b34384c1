//===- GraphReduction.td - Many elements into one -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions over axes and over windows, and contractions. 16-bit floats are
// accumulated in f32.
//
//===----------------------------------------------------------------------===//
#ifndef KPC_GRAPH_REDUCTION
#define KPC_GRAPH_REDUCTION

include "dialects/graph/GraphBase.td"

def Graph_Sum  : I32EnumAttrCase<"sum", 0>;
def Graph_Prod : I32EnumAttrCase<"prod", 1>;
def Graph_RMax : I32EnumAttrCase<"max", 2>;
def Graph_RMin : I32EnumAttrCase<"min", 3>;
def Graph_ReduceKind : I32EnumAttr<"ReduceKind", "how elements are combined",
    [Graph_Sum, Graph_Prod, Graph_RMax, Graph_RMin]> {
  let cppNamespace = "::kpc::graph";
}

def Graph_ReduceOp : Graph_InferredOp<"reduce"> {
  let summary = "Combines all elements along axes, which are removed from the sizes";
  let description = [{
    The result of no elements is 0, 1, the lowest or the highest value of the type
    (the infinities for floats). If an element is NaN, so is the result.

    ```mlir
    %s = graph.reduce sum, %x axes [1] : !graph.tensor<[batch, 64], f32>   // -> [batch]
    ```
  }];
  let arguments = (ins Graph_ReduceKind:$kind, Graph_Tensor:$x, DenseI64ArrayAttr:$axes);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$kind `,` $x `axes` $axes attr-dict `:` type($x)";
}

def Graph_ArgReduceOp : Graph_InferredOp<"arg_reduce"> {
  let summary = "The i64 index of the greatest (max) or least (min) element along an axis, which is removed";
  let description = "The first of equal elements counts, or with `select_last` the last. `kind` is max or min.";
  let arguments = (ins Graph_ReduceKind:$kind, Graph_Tensor:$x, I64Attr:$axis, UnitAttr:$select_last);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$kind `,` $x `axis` $axis (`select_last` $select_last^)? attr-dict `:` type($x)";
}

def Graph_CumSumOp : Graph_InferredOp<"cumsum"> {
  let summary = "Running sum along an axis";
  let description = [{
    `exclusive` excludes the element itself; `reverse` sums from the end (ONNX
    CumSum-14). With `block`, sums start again at each multiple of that index.
  }];
  let arguments = (ins Graph_NumberTensor:$x, I64Attr:$axis, UnitAttr:$exclusive, UnitAttr:$reverse,
                       OptionalAttr<I64Attr>:$block);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x `axis` $axis (`exclusive` $exclusive^)? (`reverse` $reverse^)? (`block` $block^)? attr-dict `:` type($x)";
}

def Graph_WindowOp : Graph_InferredOp<"window"> {
  let summary = "Combines the elements of each window";
  let description = [{
    All lists have one entry for each dimension of x. Element i of the result
    combines `x[i*stride + k*dilation - low]` for k below `window`, without those
    outside x. The size is `floor((n + low + high - (window-1)*dilation - 1) / stride) + 1`.

    ```mlir
    %y = graph.window max, %x window [1, 3, 3, 1] stride [1, 2, 2, 1] dilation [1, 1, 1, 1] low [0, 1, 1, 0] high [0, 1, 1, 0]
       : !graph.tensor<[n, 112, 112, 64], f32>
    ```
  }];
  let arguments = (ins Graph_ReduceKind:$kind, Graph_Tensor:$x, DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$stride,
                       DenseI64ArrayAttr:$dilation, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = [{$kind `,` $x `window` $window `stride` $stride `dilation` $dilation `low` $low `high` $high
                         attr-dict `:` type($x)}];
  let extraClassDeclaration = [{
    /// Whether windows lie side by side, without gaps, and are longer than those
    /// of pooling: parts of a long reduction.
    bool isPartition();
  }];
}

def Graph_MatmulOp : Graph_InferredOp<"matmul"> {
  let summary = "Batched matrix product";
  let description = [{
    `a[batch..., M, K] * b[batch..., K, N]`; both have the same rank >= 2. A
    batch size of 1 on one side is shared by all of the other's.

        Both have one type, which is that of the result. Or each is f8E4M3FN or
    f8E5M2, and the result is f32: products are exact, and added in f32. For
    8-bit integers, each with or without a sign, the result is i32, in which
    sums wrap.

    ```mlir
    %y = graph.matmul %a, %b : !graph.tensor<[batch, 64], f32>, !graph.tensor<[64, 10], f32>
    ```
  }];
  let arguments = (ins Graph_FactorTensor:$a, Graph_FactorTensor:$b);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($a) `,` type($b)";
}

def Graph_ConvOp : Graph_InferredOp<"conv"> {
  let summary = "Convolution, channels last";
  let description = [{
    x is `[N, spatial..., C]`, w is `[spatial..., C/groups, O]`, y is
        `[N, spatial..., O]`. Lists have one entry for each spatial dimension; x is
    surrounded by `low` and `high` zeros. Channel o belongs to group
    `o / (O/groups)`. For FP8 the result is f32 and for 8-bit integers i32, as
    for `graph.matmul`.

    ```mlir
    %y = graph.conv %x, %w stride [2, 2] dilation [1, 1] low [3, 3] high [3, 3] groups 1
       : !graph.tensor<[n, 224, 224, 3], f32>, !graph.tensor<[7, 7, 3, 64], f32>
    ```
  }];
  let arguments = (ins Graph_FactorTensor:$x, Graph_FactorTensor:$w, DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$dilation,
                       DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, I64Attr:$groups);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = [{$x `,` $w `stride` $stride `dilation` $dilation `low` $low `high` $high `groups` $groups
                         attr-dict `:` type($x) `,` type($w)}];
}

def Graph_ConvTransposeOp : Graph_InferredOp<"conv_transpose"> {
  let summary = "Transposed convolution, channels last";
  let description = [{
    x is `[N, spatial..., C]`, w is `[spatial..., C, O/groups]`, y is
    `[N, spatial..., O]`. Element i of x, times tap k of w, is added to place
        `i*stride + k*dilation - low` of y. `low` and `high` are cropped from the ends
    of the full result; a negative number adds zeros. The size is
    `(n-1)*stride + (taps-1)*dilation + 1 - low - high`, at least 0. Groups are
    as those of `graph.conv` (ONNX ConvTranspose-11).

    ```mlir
    %y = graph.conv_transpose %x, %w stride [2, 2] dilation [1, 1] low [1, 1] high [1, 1] groups 1
       : !graph.tensor<[n, 16, 16, 64], f32>, !graph.tensor<[4, 4, 64, 32], f32>   // -> [n, 32, 32, 32]
    ```
  }];
  let arguments = (ins Graph_NumberTensor:$x, Graph_NumberTensor:$w, DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$dilation,
                       DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, I64Attr:$groups);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = [{$x `,` $w `stride` $stride `dilation` $dilation `low` $low `high` $high `groups` $groups
                         attr-dict `:` type($x) `,` type($w)}];
}

def Graph_AttentionOp : Graph_InferredOp<"attention", [AttrSizedOperandSegments]> {
  let summary = "softmax(scale * q * k^T + bias) * v, of many heads";
  let description = [{
    q is `[batch, heads, queries, depth]`, k `[batch, groups, keys, depth]`, v
    `[batch, groups, keys, width]`, y `[batch, heads, queries, width]`. The
    number of heads is a multiple of that of groups; head `h` reads group
    `h / (heads / groups)`.

        The score of a query and a key is computed in this order: their product, times
    `scale` (positive); `softcap * tanh(score / softcap)` if that is given;
    plus `bias`; minus infinity where `mask` is false, or where with `causal`
    the key's index is greater than the query's plus that expression. With 0, both
    begin together; with the number of past keys, they end together. `bias` has
    q's type, `mask` has bools; each of their four sizes is the scores' or 1. The
    softmax is over the keys, at least in f32. A query that sees no key gives
    zeros.

    ```mlir
    %y = graph.attention %q, %k, %v mask %seen scale 1.250000e-01 causal <[past]>
       : !graph.tensor<[b, 32, s, 64], f16>, !graph.tensor<[b, 8, "s + past", 64], f16>, !graph.tensor<[b, 8, "s + past", 64], f16>,
         !graph.tensor<[1, 1, s, "s + past"], i1>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$q, Graph_FloatTensor:$k, Graph_FloatTensor:$v, Optional<Graph_FloatTensor>:$bias,
                       Optional<Graph_BoolTensor>:$mask, F64Attr:$scale, OptionalAttr<F64Attr>:$softcap,
                       OptionalAttr<Graph_DimsAttr>:$causal);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = [{$q `,` $k `,` $v (`bias` $bias^)? (`mask` $mask^)? `scale` $scale (`softcap` $softcap^)?
                         (`causal` $causal^)? attr-dict `:` type(operands)}];
}

#endif // KPC_GRAPH_REDUCTION
