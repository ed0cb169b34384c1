//===- GraphQuantised.td - Values that are data and scales ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one form of a quantised weight, whatever spelled it: data, scales of
// blocks and zero points are operands.
//
//===----------------------------------------------------------------------===//
#ifndef KPC_GRAPH_QUANTISED
#define KPC_GRAPH_QUANTISED

include "dialects/graph/GraphBase.td"

def Graph_DequantiseOp : Graph_Op<"dequantise", [Pure]> {
  let summary = "y = (w - zero) * scale, with a scale and a zero point for each block of w";
  let description = [{
    Element i of dimension d is in its block `i / blocks[d]`. So scales and
    zero points have as many elements in d as blocks begin in w; the last block
    may be shorter. A block of 1 means a scale for each element, a block of the
    whole dimension one scale for all. w has integers of 8 bits and less, for which
    everything before the last rounding is exact in f32, or floats of 8 and 4 bits,
    which have no zero points. Scales may be floats of 8 bits, such as MX's E8M0.

    ```mlir
    %y = graph.dequantise %w scales %s zeros %z blocks [1, 128]
       : !graph.tensor<[4096, 14336], ui4>, !graph.tensor<[4096, 112], f16>, !graph.tensor<[4096, 112], ui4> to <[4096, 14336], f16>
    ```
  }];
  let arguments = (ins Graph_Tensor:$w, Graph_ScaleTensor:$scales, Optional<Graph_Tensor>:$zeros,
                       DenseI64ArrayAttr:$blocks);
  let results = (outs Graph_FloatTensor:$y);
  let assemblyFormat = [{$w `scales` $scales (`zeros` $zeros^)? `blocks` $blocks attr-dict `:` type(operands)
                         `to` type($y)}];
  let hasVerifier = 1;
}

def Graph_BlockKind : I32EnumAttr<"BlockKind", "a format of codes that share scales in blocks", [
    I32EnumAttrCase<"mxfp8", 0>, I32EnumAttrCase<"mxfp4", 1>, I32EnumAttrCase<"nvfp4", 2>,
    I32EnumAttrCase<"fp8", 3>]> {
  let cppNamespace = "::kpc::graph";
}

def Graph_DequantiseBlocksOp : Graph_Op<"dequantise_blocks", [Pure]> {
  let summary = "y = code * scale of a GEMM's operand, with codes and scales in the layout of MMAs with block scales";
  let description = [{
    `codes` is [rows, K] of FP8 (mxfp8), or [rows, K/2] of ui8, two codes of FP4
    each, the first in the low bits. Scales of four neighbouring blocks of a row
    are one word: `scales` is [ceil(K/block/4), rows, 4] of ui8, bytes of E8M0
    (mxfp8, mxfp4: blocks of 32) or of E4M3 (nvfp4: blocks of 16). The result is
    [rows, K], and with `turned` [K, rows].

    Blocks of `fp8` have 128 elements of K, of FP8, and scales of f32:
    [rows, ceil(K/128)], with `turned` [ceil(K/128), rows], or of either
    [ceil(rows/128), ceil(K/128)] where 128 rows share one.

    ```mlir
    %y = graph.dequantise_blocks nvfp4 %c scales %s turned : !graph.tensor<[24, 32], ui8>, !graph.tensor<[1, 24, 4], ui8> to <[64, 24], f32>
    ```
  }];
  let arguments = (ins Graph_BlockKind:$kind, Graph_Tensor:$codes, Graph_Tensor:$scales, UnitAttr:$turned);
  let results = (outs Graph_FloatTensor:$y);
  let assemblyFormat = [{$kind $codes `scales` $scales (`turned` $turned^)? attr-dict `:` type(operands) `to` type($y)}];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getBlock() {
      return getKind() == BlockKind::nvfp4 ? 16 : getKind() == BlockKind::fp8 ? 128 : 32;
    }
    bool hasFp8() { return getKind() == BlockKind::mxfp8 || getKind() == BlockKind::fp8; }
    /// Rows that share a scale of `fp8`.
    int64_t getRowsOfScale();
  }];
}

def Graph_DequantiseTilesOp : Graph_Op<"dequantise_tiles", [Pure]> {
  let summary = "The same for a GEMM's right operand [K, N], with codes in tiles that few-row GEMMs read";
  let description = [{
    `tiles` is `[ceil(N/8), ceil(K/depth), 512]` of ui8, where a tile holds 8
    columns and `depth = 512 / bits` elements of K. Of column n and element k,
    with `i = k % depth`, lane `(n % 8) * 4 + i / 8 % 4` holds the code in its 16
    bytes: it is number `i / 32 * 8 + e`, with `e = i % 8 / 4 * 4 + i % 4 / 2 + i % 2 * 2` for 8 bits and
        `e = i % 8 / 2 + i % 2 * 4` for 4 bits. So one lane passes these 16 bytes to
    mma.sync, and pairs of elements are 16 bits apart in a word. Codes are
    unsigned integers, or with `number` floats of that type, f8E4M3FN or f8E5M2,
    that are finite, with neither zeros nor an offset. `scales` and `zeros` are `[ceil(K/block), ceil(N/8)*8]`, so that
    their rows begin at multiples of 16 bytes; elements beyond N are not read.
    Without zeros all zero points are `offset`.

    ```mlir
    %y = graph.dequantise_tiles %t scales %s bits 4 block 128 offset 8
       : !graph.tensor<[512, 32, 512], ui8>, !graph.tensor<[32, 4096], f16> to <[4096, 4096], f16>
    ```
  }];
  let arguments = (ins Graph_IntTensor:$tiles, Graph_FloatTensor:$scales, Optional<Graph_FloatTensor>:$zeros,
                       I64Attr:$bits, I64Attr:$block, I64Attr:$offset, OptionalAttr<TypeAttr>:$number);
  let results = (outs Graph_FloatTensor:$y);
  let assemblyFormat = [{$tiles `scales` $scales (`zeros` $zeros^)? `bits` $bits `block` $block `offset` $offset
                         (`number` $number^)? attr-dict `:` type(operands) `to` type($y)}];
  let hasVerifier = 1;
}

#endif // KPC_GRAPH_QUANTISED
