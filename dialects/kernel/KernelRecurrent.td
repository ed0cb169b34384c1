//===- KernelRecurrent.td - Recurrent layers --------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_KERNEL_RECURRENT
#define KPC_KERNEL_RECURRENT

include "dialects/kernel/KernelAttrs.td"
include "mlir/IR/OpBase.td"

def Kernel_RecurrentOp : Op<Kernel_Dialect, "recurrent", [AttrSizedOperandSegments]> {
  let summary = "All steps of a recurrent layer: the whole of its function";
  let description = [{
    As `graph.recurrent` without a body. Operands are the function's arguments.
    The last three that it writes are the memory of cells, the states that blocks
    exchange, and counters that are zero before it. `r` has the type in which Tensor
    Cores multiply; with `tf32` they may round f32.

    ```mlir
    kernel.recurrent "lstm" (%x) weights %r state %h0 cell %c0 -> (%y, %h, %c, %m, %e, %n) steps %s batch %b hidden 512
        reversed [false] : …
    ```
  }];
  let arguments = (ins StrAttr:$kind, Variadic<AnyMemRef>:$x, AnyMemRef:$r, Optional<AnyMemRef>:$bias,
                       Optional<AnyMemRef>:$lengths, AnyMemRef:$state, Optional<AnyMemRef>:$cell,
                       Variadic<AnyMemRef>:$writes, Index:$steps, Index:$batch, I64Attr:$hidden,
                       DenseBoolArrayAttr:$reversed, UnitAttr:$tf32);
  let assemblyFormat = [{$kind `(` $x `)` `weights` $r (`bias` $bias^)? (`lengths` $lengths^)? `state` $state
                         (`cell` $cell^)? `->` `(` $writes `)` `steps` $steps `batch` $batch `hidden` $hidden
                         `reversed` $reversed (`tf32` $tf32^)? attr-dict `:` type(operands)}];
}

#endif // KPC_KERNEL_RECURRENT
