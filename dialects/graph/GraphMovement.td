//===- GraphMovement.td - Ops that move elements --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each element of the result is an element of an operand, or a filler.
//
//===----------------------------------------------------------------------===//
#ifndef KPC_GRAPH_MOVEMENT
#define KPC_GRAPH_MOVEMENT

include "dialects/graph/GraphBase.td"

def Graph_BroadcastOp : Graph_Op<"broadcast", [Pure]> {
  let summary = "Repeats along dimensions of size 1 and along new ones";
  let description = [{
    Sizes are aligned at the end, as numpy does; each size of x is 1 or the
    result's.

    ```mlir
    %y = graph.broadcast %b : !graph.tensor<[64], f32> to !graph.tensor<[batch, 64], f32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$x);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_ReshapeOp : Graph_Op<"reshape", [Pure]> {
  let summary = "The same elements in row-major order under other sizes";
  let description = [{
    The products of the sizes are equal, as expressions.

    ```mlir
    %y = graph.reshape %x : !graph.tensor<[batch, 4, 4], f32> to !graph.tensor<[batch, 16], f32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$x);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_TransposeOp : Graph_InferredOp<"transpose"> {
  let summary = "Permutes dimensions: y's dimension i is x's dimension perm[i]";
  let description = [{
    ```mlir
    %y = graph.transpose %x [0, 2, 3, 1] : !graph.tensor<[n, 3, 8, 8], f32>   // -> [n, 8, 8, 3]
    ```
  }];
  let arguments = (ins Graph_Tensor:$x, DenseI64ArrayAttr:$perm);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x $perm attr-dict `:` type($x)";
  let hasFolder = 1;
}

def Graph_SliceOp : Graph_Op<"slice", [Pure]> {
  let summary = "y[i] = x[start + i*step] in each dimension";
  let description = [{
    Steps are not zero and may be negative. Every index lies inside x.

    ```mlir
    %y = graph.slice %x start #graph.dims<[0, "n + -1"]> step [1, -1]
       : !graph.tensor<[4, n], f32> to !graph.tensor<[2, n], f32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$x, Graph_DimsAttr:$start, DenseI64ArrayAttr:$step);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x `start` $start `step` $step attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_ConcatOp : Graph_InferredOp<"concat"> {
  let summary = "Operands one after another along an axis";
  let arguments = (ins Variadic<Graph_Tensor>:$xs, I64Attr:$axis);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$xs `axis` $axis attr-dict `:` type($xs)";
  let hasFolder = 1;
}

def Graph_PadOp : Graph_InferredOp<"pad"> {
  let summary = "Surrounds x, and spreads its elements, with a scalar";
  let description = [{
    In each dimension: `low` fillers, then x with `interior` fillers between
        neighbours, then `high` fillers. A negative `low` or `high` crops. The size
    becomes `low + n + (n-1)*interior + high` (0 stays `low + high`).

    ```mlir
    %y = graph.pad %x, %zero low [1, 0] high [1, 0] interior [0, 0] : !graph.tensor<[4, n], f32>, !graph.tensor<[], f32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$x, Graph_Tensor:$filler, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$interior);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x `,` $filler `low` $low `high` $high `interior` $interior attr-dict `:` type($x) `,` type($filler)";
  let hasFolder = 1;
}

def Graph_GatherOp : Graph_InferredOp<"gather"> {
  let summary = "Picks slices along an axis by integer indices";
  let description = [{
    `y[o..., i..., r...] = x[o..., indices[i...], r...]` with o the dimensions
    before `axis`. A negative index counts from the end; one outside is clamped
    to the range, so that no memory beyond x is read.

    ```mlir
    %y = graph.gather %x, %i axis 0 : !graph.tensor<[1000, 64], f32>, !graph.tensor<[batch, seq], i64>
    ```
  }];
  let arguments = (ins Graph_Tensor:$x, Graph_IntTensor:$indices, I64Attr:$axis);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x `,` $indices `axis` $axis attr-dict `:` type($x) `,` type($indices)";
}

def Graph_GatherElementsOp : Graph_InferredOp<"gather_elements"> {
  let summary = "y has the indices' sizes; y[i] = x[i with i[axis] replaced by indices[i]]";
  let description = "Negative indices count from the end; those outside are clamped (ONNX GatherElements-13).";
  let arguments = (ins Graph_Tensor:$x, Graph_IntTensor:$indices, I64Attr:$axis);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x `,` $indices `axis` $axis attr-dict `:` type($x) `,` type($indices)";
}

def Graph_GatherNdOp : Graph_InferredOp<"gather_nd"> {
  let summary = "Picks slices by index vectors";
  let description = [{
    The last dimension of `indices` holds an index into the k dimensions of x
    that follow the first `batch_dims`, which x and indices share (ONNX
    GatherND-13). Negative indices count from the end; those outside are clamped.
  }];
  let arguments = (ins Graph_Tensor:$x, Graph_IntTensor:$indices, I64Attr:$batch_dims);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x `,` $indices `batch_dims` $batch_dims attr-dict `:` type($x) `,` type($indices)";
}

def Graph_ScatterNone : I32EnumAttrCase<"none", 0>;
def Graph_ScatterAdd  : I32EnumAttrCase<"add", 1>;
def Graph_ScatterMul  : I32EnumAttrCase<"mul", 2>;
def Graph_ScatterMax  : I32EnumAttrCase<"max", 3>;
def Graph_ScatterMin  : I32EnumAttrCase<"min", 4>;
def Graph_ScatterKind : I32EnumAttr<"ScatterKind", "how an update meets what is there",
    [Graph_ScatterNone, Graph_ScatterAdd, Graph_ScatterMul, Graph_ScatterMax, Graph_ScatterMin]> {
  let cppNamespace = "::kpc::graph";
}

def Graph_ScatterElementsOp : Graph_InferredOp<"scatter_elements"> {
  let summary = "x with y[i with i[axis] replaced by indices[i]] combined with updates[i], in row-major order of i";
  let description = "ONNX ScatterElements-18. Of several updates to one place the last wins for kind none. Negative indices count from the end; updates outside are dropped.";
  let arguments = (ins Graph_ScatterKind:$kind, Graph_Tensor:$x, Graph_IntTensor:$indices, Graph_Tensor:$updates, I64Attr:$axis);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$kind `,` $x `,` $indices `,` $updates `axis` $axis attr-dict `:` type($x) `,` type($indices) `,` type($updates)";
}

def Graph_ScatterNdOp : Graph_InferredOp<"scatter_nd"> {
  let summary = "x with slices named by index vectors combined with updates, in row-major order";
  let description = "ONNX ScatterND-18. Negative indices count from the end; updates outside are dropped.";
  let arguments = (ins Graph_ScatterKind:$kind, Graph_Tensor:$x, Graph_IntTensor:$indices, Graph_Tensor:$updates);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$kind `,` $x `,` $indices `,` $updates attr-dict `:` type($x) `,` type($indices) `,` type($updates)";
}

def Graph_IotaOp : Graph_Op<"iota", [Pure]> {
  let summary = "Each element is its index along an axis";
  let arguments = (ins I64Attr:$axis);
  let results = (outs Graph_NumberTensor:$y);
  let assemblyFormat = "`axis` $axis attr-dict `:` type($y)";
  let hasVerifier = 1;
}

def Graph_PackOp : Graph_InferredOp<"pack"> {
  let summary = "The bytes of elements of 2 or 4 bits, packed as ONNX packs them";
  let description = [{
    Elements are in row-major order, the first in the low bits of a byte. The rest
    of the last byte is zeros.

    ```mlir
    %b = graph.pack %x : !graph.tensor<[n, 3], i4>   // -> [ceildiv(n*3, 2)], ui8
    ```
  }];
  let arguments = (ins Graph_Tensor:$x);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Graph_UnpackOp : Graph_Op<"unpack", [Pure]> {
  let summary = "The elements that `pack` packed";
  let description = [{
    ```mlir
    %x = graph.unpack %b : !graph.tensor<[6], ui8> to !graph.tensor<[4, 3], i4>
    ```
  }];
  let arguments = (ins Graph_Tensor:$x);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
}

#endif // KPC_GRAPH_MOVEMENT
