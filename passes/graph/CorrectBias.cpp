//===- CorrectBias.cpp - The mean error of rounded weights is taken off ---===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %y = graph.matmul %x, %w
///     →  %1 = graph.matmul %x, %w
///        %y = graph.add %1, (mean of %x * (%w - rounded %w))
///
/// The vector is constant, and part of the product's epilogue. If the model
/// adds a constant vector there itself, that one is changed: one vector is read
/// for each column, not two.
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/graph/CodeProducts.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"
#include "passes/graph/QuantisationError.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace kpc::graph {
#define GEN_PASS_DEF_CORRECTBIAS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// What is gained by less is not worth a vector.
constexpr double LeastGain = 0.05; // dB

/// The model's own bias: a constant vector, with an element for each of `N`
/// columns, that is added to `Y` and to nothing else.
struct OwnBias {
  AddOp Sum;
  std::vector<float> Numbers;

  static std::optional<OwnBias> of(Value Y, int64_t N,
                                   const WeightReader &Read) {
    auto Sum = Y.hasOneUse() ? dyn_cast<AddOp>(*Y.user_begin()) : AddOp();
    if (!Sum)
      return std::nullopt;
    Value Other = Sum->getOperand(Sum->getOperand(0) == Y ? 1 : 0);
    auto Rows = Other.getDefiningOp<BroadcastOp>();
    if (!Rows)
      return std::nullopt;
    // Dims of a broadcast are counted from the last one.
    Value Vector = Rows.getX();
    SymbolicTensorType Ty = typeOf(Vector);
    if (Ty.getRank() == 0 || !Ty.getElementType().isF32() ||
        Ty.getStaticDim(Ty.getRank() - 1) != N ||
        Ty.getNumElements().asConstant() != N)
      return std::nullopt;
    if (std::optional<std::vector<float>> Numbers = numbersOf(Vector, Read))
      return OwnBias{Sum, std::move(*Numbers)};
    return std::nullopt;
  }
};

struct CorrectBiasPass : graph::impl::CorrectBiasBase<CorrectBiasPass> {
  using CorrectBiasBase::CorrectBiasBase;
  CorrectBiasPass() = default;
  CorrectBiasPass(CorrectBiasOptions Options, WeightReader Read)
      : CorrectBiasBase(std::move(Options)), Read(std::move(Read)) {}

  void runOnOperation() override {
    func::FuncOp Func = getOperation();
    if (!isGraphFunction(Func))
      return;
    FailureOr<CodePolicy> Policy =
        CodePolicy::read({TypeName, For, Int8, Fp8, Wgmma, Targets}, Func);
    if (failed(Policy))
      return signalPassFailure();
    SmallVector<Operation *> Products;
    Func.walk([&](Operation *Op) {
      if (multipliesWeight(Op) && Policy->refusal(Op).empty())
        Products.push_back(Op);
    });
    for (Operation *Op : Products)
      correct(Op, Policy->typeOf(Op));
  }

  WeightReader Read;

private:
  void correct(Operation *Op, CodeType Type) {
    std::optional<OperandStatistics> Of = statisticsOf(Op);
    std::optional<ProductWeights> W =
        Of ? ProductWeights::of(Op, Read) : std::nullopt;
    if (!W || !hasMoments(*Of, *W))
      return;
    ExpectedError Error = expectedError(*Of, *W, {}, Type);
    double Before = Error.decibels();
    Error.Mean = 0;
    double After = Error.decibels();
    if (After < Before + LeastGain)
      return;
    Location Loc = Op->getLoc();
    Value Y = Op->getResult(0);
    std::vector<float> Added = meanError(*Of, *W, Type);
    std::optional<OwnBias> Own = OwnBias::of(Y, W->N, Read);
    if (Own)
      llvm::transform(
          llvm::zip_equal(Added, Own->Numbers), Added.begin(),
          [](auto Two) { return std::get<0>(Two) + std::get<1>(Two); });
    OpBuilder B(Op->getContext());
    B.setInsertionPointAfter(Op);
    Value Vector = ConstantOp::create(
        B, Loc,
        DenseElementsAttr::get(RankedTensorType::get({W->N}, B.getF32Type()),
                               ArrayRef<float>(Added)));
    SymbolicTensorType To = typeOf(Y);
    Value All = spread(B, Loc, Vector, To, To.getRank() - 1);
    Value Sum = AddOp::create(B, Own ? Own->Sum.getLoc() : Loc, Y, All);
    if (Own) {
      Own->Sum.getResult().replaceAllUsesWith(Sum);
      Own->Sum.erase();
    } else {
      Y.replaceAllUsesExcept(Sum, Sum.getDefiningOp());
    }
    remark::passed(Loc,
                   remark::RemarkOpts::name("bias").category("quantisation"))
        << "The mean error of rounded weights is taken off: signal over "
           "expected error "
        << decibelText(Before) << " before, " << decibelText(After)
        << " after.";
  }
};

} // namespace

std::unique_ptr<Pass> graph::createCorrectBias(CorrectBiasOptions Options,
                                               WeightReader Read) {
  return std::make_unique<CorrectBiasPass>(std::move(Options), std::move(Read));
}
