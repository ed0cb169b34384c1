//===- QuantiseAttention.h - Attention of codes -----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_QUANTISEATTENTION_H
#define KPC_PASSES_GRAPH_QUANTISEATTENTION_H

#include "passes/graph/MakeCodes.h"

namespace kpc::graph {

/// Attention that is to be of FP8 multiplies codes by wgmma, which this makes
/// of its heads. Others stay in 16 bits with a remark, all where the targets
/// have no kernel of it.
void quantiseAttentions(mlir::func::FuncOp Func, const CodePolicy &Policy,
                        bool HaveKernel);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_QUANTISEATTENTION_H
