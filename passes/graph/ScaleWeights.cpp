//===- ScaleWeights.cpp - Rows that count get finer steps -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %y = graph.matmul %x, %w
///     →  %y = graph.matmul (%x / s), (s * %w)    s constant, of each channel
///
/// A group of K shares one step. Rows that are multiplied by great numbers are
/// made greater before the group is rounded, so that less of them is lost (AWQ,
/// arXiv:2306.00978). The products are the same; dividing %x is part of the
/// kernel that makes it.
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/graph/ChannelFactors.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/QuantisationError.h"
#include "passes/graph/WeightCodes.h"
#include "llvm/ADT/MapVector.h"

#include <cmath>

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace kpc::graph {
#define GEN_PASS_DEF_SCALEWEIGHTS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// What a factor of the operand must gain: it is not free where no kernel
/// makes the operand on the way.
constexpr double LeastGain = 0.25; // dB
constexpr unsigned Steps = 10;     ///< exponents from 0 to 1

/// GEMMs of one operand.
struct Group {
  OperandStatistics Of;
  SmallVector<Operation *> Products;
  std::vector<ProductWeights> Weights;
};

std::vector<float> factors(const OperandStatistics &Of, double Exponent) {
  // Channels that are nearly always zero keep a factor that 16 bits hold.
  constexpr double LeastShare = 1e-3;
  double Most = *llvm::max_element(Of.Rms), Mean = 0;
  std::vector<float> All;
  for (float Rms : Of.Rms) {
    double Share = std::max(double(Rms), LeastShare * Most);
    Mean += std::log(Share);
  }
  Mean = std::exp(Mean / double(Of.Rms.size()));
  for (float Rms : Of.Rms)
    All.push_back(float(
        std::pow(std::max(double(Rms), LeastShare * Most) / Mean, Exponent)));
  return All;
}

/// The error of all products, with what they multiply divided by factors.
double decibels(const Group &G, ArrayRef<float> Factors, int64_t Block) {
  std::vector<float> Power;
  for (auto [Rms, F] : llvm::zip_equal(G.Of.Rms, Factors))
    Power.push_back(Rms / F * Rms / F);
  CodeError Sum;
  for (const ProductWeights &W : G.Weights) {
    CodeError Own = GroupCodes::errorOf(W, Block, Factors, Power);
    Sum.Signal += Own.Signal;
    Sum.Noise += Own.Noise;
  }
  return Sum.decibels();
}

struct ScaleWeightsPass : graph::impl::ScaleWeightsBase<ScaleWeightsPass> {
  using ScaleWeightsBase::ScaleWeightsBase;
  ScaleWeightsPass() = default;
  ScaleWeightsPass(const ScaleWeightsOptions &Options, WeightReader Read)
      : ScaleWeightsBase(Options), Read(std::move(Read)) {}

  void runOnOperation() override {
    auto Found =
        WeightPolicy::productsOf(getOperation(), TypeName, For, GroupSize);
    if (failed(Found))
      return signalPassFailure();
    llvm::MapVector<Value, SmallVector<MatmulOp>> Groups;
    for (MatmulOp Op : *Found)
      if (statisticsOf(Op))
        Groups[Op.getA()].push_back(Op);
    for (auto &[X, Products] : Groups)
      if (failed(scale(X, Products)))
        return signalPassFailure();
  }

  WeightReader Read;

private:
  LogicalResult scale(Value X, ArrayRef<MatmulOp> Products) {
    Group G;
    G.Of = *statisticsOf(Products.front());
    for (MatmulOp Op : Products) {
      FailureOr<std::optional<ProductWeights>> W = finiteWeights(Op, Read);
      if (failed(W))
        return failure();
      if (!*W || !hasMoments(G.Of, **W))
        return success();
      G.Products.push_back(Op);
      G.Weights.push_back(std::move(**W));
    }
    if (*llvm::max_element(G.Of.Rms) <= 0)
      return success();
    double Before = decibels(G, factors(G.Of, 0), GroupSize),
           Best = Before + LeastGain;
    std::vector<float> Chosen;
    for (unsigned I = 1; I <= Steps; ++I) {
      std::vector<float> Factors = factors(G.Of, double(I) / Steps);
      double Now = decibels(G, Factors, GroupSize);
      if (Now <= Best)
        continue;
      Best = Now;
      Chosen = std::move(Factors);
    }
    if (Chosen.empty())
      return success();
    divideChannels(X, G.Products, G.Of, Chosen);
    Builder B(&getContext());
    auto Divided = DenseElementsAttr::get(
        RankedTensorType::get({int64_t(Chosen.size())}, B.getF32Type()),
        ArrayRef<float>(Chosen));
    for (Operation *Op : G.Products)
      Op->setAttr(DividedAttr, Divided);
    remark::passed(Products.front()->getLoc(),
                   remark::RemarkOpts::name("scaled").category("quantisation"))
        << "Rows of a weight that count more are rounded in finer steps: "
           "signal over expected error "
        << decibelText(Before) << " before, " << decibelText(Best) << " after.";
    return success();
  }
};

} // namespace

std::unique_ptr<Pass>
graph::createScaleWeights(const ScaleWeightsOptions &Options,
                          WeightReader Read) {
  return std::make_unique<ScaleWeightsPass>(Options, std::move(Read));
}
