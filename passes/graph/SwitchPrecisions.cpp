//===- SwitchPrecisions.cpp - What products multiply, by a switch ---------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   func.func @main(%x)
///     %y = graph.matmul %x, %w                                   loc("fc")
///     →  func.func @main(%x, %p {graph.name = "kpc.precisions"})
///          %0 = graph.matmul %x, %w {graph.precision = "none"}
///          %1 = graph.matmul %x, %w {graph.precision = "int8"}
///          %2 = %p[place of "fc"] == 1
///          %y = graph.select %2, %1, %0
///
/// One artifact so shows the error of each layer in each type, and of any
/// choice of them, without a compile for each. The passes that quantise see
/// products of different types, and know of no switch.
///
//===----------------------------------------------------------------------===//

#include "dialects/graph/BlockCodes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/MakeCodes.h"
#include "passes/graph/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_SWITCHPRECISIONS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

constexpr StringLiteral InputName = "kpc.precisions";
/// The type that is the weight's alone.
constexpr StringLiteral OfWeight = "int4";

/// A product, and which of the types it can have, by their places.
struct Switched {
  Operation *Product;
  SmallVector<size_t> Types;
};

struct SwitchPrecisionsPass
    : graph::impl::SwitchPrecisionsBase<SwitchPrecisionsPass> {
  using SwitchPrecisionsBase::SwitchPrecisionsBase;

  void runOnOperation() override {
    for (StringRef Type : Types)
      if (Type != OfWeight &&
          (Type == "none" || (!codeTypeNamed(Type) &&
                              !BlockFormat::named(Type, &getContext())))) {
        getOperation().emitError()
            << "expected int8, fp8, mxfp8, mxfp4, nvfp4 or int4, got '" << Type
            << "'";
        return signalPassFailure();
      }
    SmallVector<func::FuncOp> Functions;
    for (auto Func : getOperation().getOps<func::FuncOp>())
      if (isGraphFunction(Func))
        Functions.push_back(Func);
    if (Functions.size() == 1 && failed(addSwitches(Functions.front())))
      signalPassFailure();
  }

private:
  LogicalResult addSwitches(func::FuncOp Func) {
    FailureOr<CodePolicy> Policy =
        CodePolicy::read({"none", {}, Int8, Fp8, Wgmma}, Func);
    if (failed(Policy))
      return failure();
    llvm::MapVector<StringRef, SmallVector<Switched>> ByNode =
        productsOf(Func, *Policy);
    Builder B(&getContext());
    SmallVector<Attribute> All;
    for (auto &[Node, Products] : ByNode) {
      SmallVector<StringRef> Words = {Node};
      for (auto [Place, Type] : llvm::enumerate(Types))
        if (llvm::any_of(Products, [&](const Switched &S) {
              return llvm::is_contained(S.Types, Place);
            }))
          Words.push_back(Type);
      All.push_back(B.getStrArrayAttr(Words));
    }
    getOperation()->setAttr(SwitchedAttr, B.getArrayAttr(All));
    if (ByNode.empty())
      return success();
    auto Ty =
        SymbolicTensorType::get({Expr(int64_t(ByNode.size()))}, B.getI32Type());
    unsigned Place = Func.getNumArguments();
    auto Name = B.getDictionaryAttr(
        B.getNamedAttr("graph.name", B.getStringAttr(InputName)));
    if (failed(Func.insertArgument(Place, Ty, Name, Func.getLoc())))
      return failure();
    for (auto [Node, Of] : llvm::enumerate(ByNode))
      for (const Switched &S : Of.second)
        rewrite(S, Func.getArgument(Place), int64_t(Node));
    return success();
  }

  /// By the names of their nodes, in order. Values in loops and branches are
  /// not switched: what they multiply is not calibrated either.
  llvm::MapVector<StringRef, SmallVector<Switched>>
  productsOf(func::FuncOp Func, const CodePolicy &Policy) {
    llvm::MapVector<StringRef, SmallVector<Switched>> Found;
    Builder B(&getContext());
    for (Operation &Op : Func.getBody().front()) {
      if (!multipliesWeight(&Op) || nodeName(&Op).empty())
        continue;
      Switched S{&Op, {}};
      for (auto [Place, Type] : llvm::enumerate(Types)) {
        Op.setAttr(PrecisionAttr, B.getStringAttr(Type));
        if (canHave(&Op, Type, Policy))
          S.Types.push_back(Place);
      }
      Op.setAttr(PrecisionAttr, B.getStringAttr("none"));
      if (!S.Types.empty())
        Found[nodeName(&Op)].push_back(S);
    }
    return Found;
  }

  bool canHave(Operation *Op, StringRef Type, const CodePolicy &Policy) {
    if (Type == OfWeight)
      return hasMatrix(Op);
    if (auto F = BlockFormat::named(Type, &getContext()))
      return hasBlocks(Op, *F);
    auto Gemm = dyn_cast<MatmulOp>(Op);
    return Policy.refusal(Op).empty() ||
           (Gemm && Policy.refusalOfWeight(Gemm).empty());
  }

  static bool hasMatrix(Operation *Op) {
    auto Gemm = dyn_cast<MatmulOp>(Op);
    if (!Gemm)
      return false;
    SymbolicTensorType Weight = typeOf(Gemm.getB());
    return Weight.getRank() == 2 && Weight.hasStaticShape();
  }

  static bool hasBlocks(Operation *Op, const BlockFormat &F) {
    auto Gemm = dyn_cast<MatmulOp>(Op);
    if (!Gemm)
      return false;
    shape::Facts Facts = symbolFacts(Op->getParentOfType<ModuleOp>());
    const Expr &K = typeOf(Gemm.getA()).getDims().back();
    return Facts.divisor(K) % F.Block == 0 && Facts.range(K).Min >= 1;
  }

  void rewrite(const Switched &S, Value Switches, int64_t Place) {
    OpBuilder B(S.Product);
    B.setInsertionPointAfter(S.Product);
    Location Loc = S.Product->getLoc();
    Type I32 = B.getI32Type();
    Value One =
        SliceOp::create(B, Loc, SymbolicTensorType::get({Expr(1)}, I32),
                        Switches, DimsAttr::get(B.getContext(), {Expr(Place)}),
                        B.getDenseI64ArrayAttr({1}));
    One = ReshapeOp::create(B, Loc, SymbolicTensorType::get({}, I32), One);
    Value Plain = S.Product->getResult(0), Y = Plain;
    SymbolicTensorType To = typeOf(Plain);
    llvm::SmallPtrSet<Operation *, 4> Own;
    for (size_t Type : S.Types) {
      Operation *Copy = B.clone(*S.Product);
      Copy->setAttr(PrecisionAttr, B.getStringAttr(Types[Type]));
      Value Number = ConstantOp::create(
          B, Loc,
          DenseElementsAttr::get(RankedTensorType::get({}, I32),
                                 B.getI32IntegerAttr(int32_t(Type) + 1)));
      Value Is = CompareOp::create(B, Loc, Predicate::eq, One, Number);
      Is = BroadcastOp::create(B, Loc, To.withElementType(B.getI1Type()), Is);
      Y = SelectOp::create(B, Loc, Is, Copy->getResult(0), Y);
      Own.insert(Y.getDefiningOp());
    }
    Plain.replaceAllUsesExcept(Y, Own);
  }
};

} // namespace
