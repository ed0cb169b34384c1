//===- InputCosts.h - Whether 16 bits of inputs pay in a GEMM ---*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_INPUTCOSTS_H
#define KPC_PASSES_GRAPH_INPUTCOSTS_H

#include "compiler/target/Target.h"
#include "dialects/graph/Graph.h"

namespace kpc::graph {

/// Microseconds of a GEMM with both factors in f32, and in 16 bits with the
/// kernels that narrow them.
struct InputCosts {
  double Wide, Narrow;
};

/// Those of the first target that is modelled to lose by 16 bits, or else of
/// the last; none where there is no target, or one has no kernel of 16 bits.
/// `Casts`: the elements that each kernel narrows.
std::optional<InputCosts>
costsOfInputs(MatmulOp Gemm, llvm::ArrayRef<shape::Expr> Casts,
              const shape::Facts &Facts,
              llvm::ArrayRef<const target::Target *> Targets);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_INPUTCOSTS_H
