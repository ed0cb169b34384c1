//===- SmoothChannels.cpp - One scale for channels that differ ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %y = graph.matmul %x, %w
///     →  %1 = graph.mul %x, (1 / s)      s constant, one for each channel
///        %2 = graph.mul %w, s
///        %y = graph.matmul %1, %2 {graph.operand = what is known of %1}
///
/// The products are the same, and codes of %1 waste less of their range
/// (SmoothQuant, arXiv:2211.10438). The factor of %x is part of the kernel that
/// makes its codes; that of %w is computed when compiling.
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/graph/ChannelFactors.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"
#include "passes/graph/QuantisationError.h"
#include "llvm/ADT/MapVector.h"

#include <cmath>

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace kpc::graph {
#define GEN_PASS_DEF_SMOOTHCHANNELS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// The exponents that are tried, and what one must gain: the factor is not
/// free where no kernel makes the codes on the way.
constexpr double Exponents[] = {0.25, 0.5, 0.75};
constexpr double LeastGain = 0.5; // dB

/// Products of one operand, with the numbers of their weights.
struct Group {
  OperandStatistics Of;
  SmallVector<Operation *> Products;
  std::vector<ProductWeights> Weights;
  CodeType Type = CodeType::None;
};

/// The greatest magnitude of each channel in all weights.
std::vector<float> greatestOfWeights(const Group &G) {
  std::vector<float> Greatest(G.Weights.front().Channels);
  for (const ProductWeights &W : G.Weights)
    for (int64_t K = 0; K < W.K; ++K) {
      float &Most = Greatest[W.channelOf(K)];
      for (float Number : ArrayRef<float>(W.row(K), size_t(W.N)))
        Most = std::max(Most, std::abs(Number));
    }
  return Greatest;
}

/// The factors by which channels are divided.
std::vector<float> factors(const Group &G, ArrayRef<float> OfWeight,
                           double Exponent) {
  std::vector<float> All(OfWeight.size(), 1);
  for (auto [Factor, OfOperand, Most] :
       llvm::zip_equal(All, G.Of.Largest, OfWeight))
    if (OfOperand > 0 && Most > 0)
      Factor =
          float(std::pow(OfOperand, Exponent) / std::pow(Most, 1 - Exponent));
  return All;
}

double decibels(const Group &G, const OperandStatistics &Of,
                ArrayRef<float> Factors) {
  ExpectedError Sum;
  for (const ProductWeights &W : G.Weights) {
    ExpectedError E = expectedError(Of, W, Factors, G.Type);
    Sum.Signal += E.Signal;
    Sum.Operand += E.noise();
  }
  return Sum.decibels();
}

struct SmoothChannelsPass
    : graph::impl::SmoothChannelsBase<SmoothChannelsPass> {
  using SmoothChannelsBase::SmoothChannelsBase;
  SmoothChannelsPass() = default;
  SmoothChannelsPass(SmoothChannelsOptions Options, WeightReader Read)
      : SmoothChannelsBase(std::move(Options)), Read(std::move(Read)) {}

  void runOnOperation() override {
    func::FuncOp Func = getOperation();
    if (!isGraphFunction(Func))
      return;
    FailureOr<CodePolicy> Policy =
        CodePolicy::read({TypeName, For, Int8, Fp8, Wgmma, Targets}, Func);
    if (failed(Policy))
      return signalPassFailure();
    // What suits the steps of one type does not suit those of another.
    llvm::MapVector<std::pair<Value, unsigned>, SmallVector<Operation *>>
        Groups;
    Func.walk([&](Operation *Op) {
      if (multipliesWeight(Op) && statisticsOf(Op) &&
          Policy->refusal(Op).empty())
        Groups[{Op->getOperand(0), unsigned(Policy->typeOf(Op))}].push_back(Op);
    });
    for (auto &[Key, Products] : Groups)
      smooth(Key.first, Products, Policy->typeOf(Products.front()));
  }

  WeightReader Read;

private:
  void smooth(Value X, ArrayRef<Operation *> Products, CodeType Type) {
    Group G;
    G.Of = *statisticsOf(Products.front());
    G.Type = Type;
    for (Operation *Op : Products) {
      std::optional<ProductWeights> W = ProductWeights::of(Op, Read);
      if (!W || !hasMoments(G.Of, *W))
        return;
      G.Products.push_back(Op);
      G.Weights.push_back(std::move(*W));
    }
    double Before = decibels(G, G.Of, {}), Best = Before + LeastGain;
    std::vector<float> Chosen, OfWeight = greatestOfWeights(G);
    for (double Exponent : Exponents) {
      std::vector<float> Factors = factors(G, OfWeight, Exponent);
      double Now = decibels(G, dividedChannels(G.Of, Factors), Factors);
      if (Now <= Best)
        continue;
      Best = Now;
      Chosen = std::move(Factors);
    }
    if (Chosen.empty())
      return;
    divideChannels(X, G.Products, G.Of, Chosen);
    remark::passed(
        Products.front()->getLoc(),
        remark::RemarkOpts::name("smoothed").category("quantisation"))
        << "Channels are divided by factors that the weight is multiplied by: "
           "signal over expected error "
        << decibelText(Before) << " before, " << decibelText(Best) << " after.";
  }
};

} // namespace

std::unique_ptr<Pass> graph::createSmoothChannels(SmoothChannelsOptions Options,
                                                  WeightReader Read) {
  return std::make_unique<SmoothChannelsPass>(std::move(Options),
                                              std::move(Read));
}
