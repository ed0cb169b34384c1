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
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Kernel_Op<string mnemonic, list<Trait> traits = []> : Op<Kernel_Dialect, mnemonic, traits>;

def Kernel_AttentionOp : Kernel_Op<"attention", [Pure, AttrSizedOperandSegments, DestinationStyleOpInterface]> {
  let summary = "softmax(scale · q·kᵀ + bias) · v, of many heads";
  let description = [{
    `q` is [batch, heads, queries, depth], `k` [batch, groups, keys, depth], `v`
    [batch, groups, keys, width]; heads are a multiple of groups, and head `h`
    reads group `h / (heads / groups)`. `bias` (f32) is added to the scaled
    scores, `mask` (i1) says which are seen; both have four dimensions, each of
    the scores' size or 1. With `causal offset`, query `i` sees key `j` where
    `j <= i + offset`. A query that sees nothing gives zeros.

    Operands may be computed: bias and mask are pulled at [batch, head, query,
    key] by whoever builds the kernel, so a generic in front of them is a score
    function with coordinates and needs no memory.

    ```mlir
    %y = kernel.attention %q, %k, %v mask %seen causal %past scale 1.250000e-01 into %empty
       : (tensor<2x8x?x64xf32>, …) -> tensor<2x8x?x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$q, AnyRankedTensor:$k, AnyRankedTensor:$v, Optional<AnyRankedTensor>:$bias,
                       Optional<AnyRankedTensor>:$mask, Optional<Index>:$offset, F64Attr:$scale,
                       AnyRankedTensor:$init);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = [{$q `,` $k `,` $v (`bias` $bias^)? (`mask` $mask^)? (`causal` $offset^)? `scale` $scale
                         `into` $init attr-dict `:` functional-type(operands, results)}];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
  }];
  let hasVerifier = 1;
}

#endif // KPC_KERNEL
