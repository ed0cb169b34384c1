//===- QuantiseWeights.cpp - Weights of GEMMs become codes ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %y = graph.matmul %x, %w              %w [K, N] constant
///     →  %c = graph.unpack %bytes         [N, K] of ui4
///        %d = graph.dequantise %c scales %s zeros %z blocks [1, 128]
///        %y = graph.matmul %x, transpose(%d)
///
/// What is multiplied stays as wide as it was: kernels of few rows read the
/// codes, others have the weight dequantised in front.
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/QuantisationError.h"
#include "passes/graph/WeightCodes.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace kpc::graph {
#define GEN_PASS_DEF_QUANTISEWEIGHTS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

struct QuantiseWeightsPass
    : graph::impl::QuantiseWeightsBase<QuantiseWeightsPass> {
  using QuantiseWeightsBase::QuantiseWeightsBase;
  QuantiseWeightsPass() = default;
  QuantiseWeightsPass(const QuantiseWeightsOptions &Options, WeightReader Read,
                      WeightWriter Write)
      : QuantiseWeightsBase(Options), Read(std::move(Read)),
        Write(std::move(Write)) {}

  void runOnOperation() override {
    auto Found = WeightPolicy::productsOf(getOperation(), TypeName, For, Group);
    if (failed(Found))
      return signalPassFailure();
    for (MatmulOp Op : *Found)
      if (failed(quantise(Op)))
        return signalPassFailure();
  }

  WeightReader Read;
  WeightWriter Write;

private:
  LogicalResult quantise(MatmulOp Op) {
    FailureOr<std::optional<ProductWeights>> Found = finiteWeights(Op, Read);
    if (failed(Found))
      return failure();
    if (!*Found)
      return success();
    const ProductWeights &W = **Found;
    std::vector<float> Power = powerOf(Op, W);
    GroupCodes Codes = GroupCodes::of(W, Group, Power);
    remark::passed(Op.getLoc(),
                   remark::RemarkOpts::name("weights").category("quantisation"))
        << "A weight is codes of 4 bits, each group of "
        << std::to_string(int64_t(Group))
        << " of K with a scale and a zero point: signal over expected error "
        << decibelText(Codes.Error.decibels()) << ".";
    readCodes(Op, Codes, Write);
    return success();
  }
};

} // namespace

std::unique_ptr<Pass>
graph::createQuantiseWeights(const QuantiseWeightsOptions &Options,
                             WeightReader Read, WeightWriter Write) {
  return std::make_unique<QuantiseWeightsPass>(Options, std::move(Read),
                                               std::move(Write));
}
