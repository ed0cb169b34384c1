//===- SinkNormFactors.cpp - RMSNorm's factors go after few-row GEMMs -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %n = graph.mul (graph.mul %x, %r), %w     %r of each row, %w constant
///   %y = graph.matmul %n, %m                  %m constant
///     →  %z = graph.matmul %x, (graph.mul %w, %m)
///        %y = graph.mul %z, %r
///
/// where %r is made of the sums of squares of the rows of %x (RMSNorm). In a
/// model of 16 bits %x is cast to f32 and the norm back: then the GEMM is of
/// f32 as well, and its result is cast. The
/// GEMM then need not wait for a norm: the kernel of few rows adds up the
/// squares of the rows that it reads. The weight is constant and is computed
/// when compiling. Codes that kpc makes are made of it; those that a model has
/// stay, and with them the norm.
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/graph/ConstantValues.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/NodePatterns.h"
#include "passes/graph/Passes.h"
#include "passes/graph/StoredValues.h"
#include "passes/schedule/GemvSchedule.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_SINKNORMFACTORS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// A norm of rows: x · factor · weight.
struct RowNorm {
  Value X, Factor;                 ///< [M, K], [M, 1]
  Value Weight;                    ///< [K], constant; null: none
  Value Result;                    ///< [M, K], of the model's type
  SmallVector<Operation *, 3> Ops; ///< from the factor's product to the result
};

/// The broadcast operand of a product, and the other one.
std::pair<Value, Value> broadcastOperand(MulOp Op) {
  for (auto [One, Other] :
       {std::pair(Op.getA(), Op.getB()), std::pair(Op.getB(), Op.getA())})
    if (auto Repeated = One.getDefiningOp<BroadcastOp>())
      return {Repeated.getX(), Other};
  return {};
}

/// Whether all elements of `V` are one number: of known sizes a constant.
bool isRepeated(Value V) {
  auto Repeated = V.getDefiningOp<BroadcastOp>();
  return (Repeated && typeOf(Repeated.getX()).getNumElements() == Expr(1)) ||
         splatValue(V);
}

/// Whether `Factor` is made of the sums of squares of the rows of `X`, and
/// otherwise of what is the same for all rows.
bool isOfSquares(Value Factor, Value X) {
  constexpr unsigned MostSteps = 8;
  for (unsigned Step = 0; Step < MostSteps; ++Step) {
    Operation *Def = Factor.getDefiningOp();
    if (!Def)
      return false;
    if (auto Sum = dyn_cast<ReduceOp>(Def)) {
      auto Square = Sum.getX().getDefiningOp<MulOp>();
      return Sum.getKind() == ReduceKind::sum &&
             Sum.getAxes() == ArrayRef<int64_t>{1} && Square &&
             Square.getA() == X && Square.getB() == X;
    }
    if (!Def->hasTrait<ElementwiseTrait>() && !isa<ReshapeOp>(Def))
      return false;
    Value Next;
    for (Value V : Def->getOperands()) {
      if (isRepeated(V))
        continue;
      if (Next)
        return false;
      Next = V;
    }
    if (!Next)
      return false;
    Factor = Next;
  }
  return false;
}

bool isNarrowing(Operation *Op) {
  auto Cast = dyn_cast<CastOp>(Op);
  if (!Cast)
    return false;
  Type To = typeOf(Cast.getY()).getElementType();
  return typeOf(Cast.getX()).getElementType().isF32() &&
         (To.isF16() || To.isBF16());
}

std::optional<RowNorm> normOf(MulOp Op) {
  auto [Factor, X] = broadcastOperand(Op);
  SymbolicTensorType Ty = typeOf(Op.getResult());
  if (!Factor || Ty.getRank() != 2 || typeOf(X) != Ty ||
      typeOf(Factor).getDims() != ArrayRef<Expr>{Ty.getDims()[0], Expr(1)} ||
      !isOfSquares(Factor, X))
    return std::nullopt;
  RowNorm Norm{X, Factor, {}, Op.getResult(), {Op}};
  // The weight, and the model's type, in any order.
  while (Norm.Result.hasOneUse()) {
    Operation *Next = *Norm.Result.user_begin();
    auto Scaled = dyn_cast<MulOp>(Next);
    auto [Weight, Other] =
        Scaled ? broadcastOperand(Scaled) : std::pair<Value, Value>();
    bool IsWeight = !Norm.Weight && Weight && Other == Norm.Result &&
                    isConstant(Weight) &&
                    typeOf(Weight).getNumElements() == Ty.getDims()[1];
    if (IsWeight)
      Norm.Weight = Weight;
    else if (!isNarrowing(Next) || !X.getDefiningOp<CastOp>())
      break;
    Norm.Result = Next->getResult(0);
    Norm.Ops.push_back(Next);
  }
  return Norm;
}

/// Whether `V` is made of floats of 16 bits and more alone, each of which
/// nothing else uses: a weight that is changed is stored once, as before.
bool isOwnWeight(Value V) {
  constexpr unsigned MostSteps = 16;
  SmallVector<Value> Worklist{V};
  for (unsigned Step = 0; !Worklist.empty(); ++Step) {
    Value One = Worklist.pop_back_val();
    Operation *Def = One.getDefiningOp();
    auto Element = dyn_cast<FloatType>(typeOf(One).getElementType());
    if (Step >= MostSteps || !Def || !One.hasOneUse() || !Element ||
        Element.getWidth() < 16 || isa<DequantiseOp>(Def))
      return false;
    llvm::append_range(Worklist, Def->getOperands());
  }
  return true;
}

/// Whether `V` is made of codes that the model has.
bool isMadeOfCodes(Value V) {
  while (Operation *Def = V.getDefiningOp()) {
    if (isa<DequantiseOp>(Def))
      return true;
    if (!isa<TransposeOp, ReshapeOp, CastOp>(Def))
      return false;
    V = Def->getOperand(0);
  }
  return false;
}

/// Whether `V` is a result, in another shape or type at most.
bool isReturned(Value V) {
  return llvm::any_of(V.getUsers(), [](Operation *User) {
    return isa<ReshapeOp, CastOp>(User)
               ? isReturned(User->getResult(0))
               : User->hasTrait<OpTrait::IsTerminator>();
  });
}

/// Whether the caller's code has `V`, which then keeps its type.
bool isForeign(Value V) {
  while (isa_and_present<ReshapeOp, CastOp>(V.getDefiningOp()))
    V = V.getDefiningOp()->getOperand(0);
  return isa<BlockArgument>(V) || isa<CustomOp>(V.getDefiningOp()) ||
         isReturned(V);
}

class Sinker {
public:
  Sinker(shape::Facts Facts, const NodePatterns &Kept)
      : Facts(std::move(Facts)), Kept(Kept) {}

  void run(func::FuncOp Main) {
    SmallVector<MulOp> Products;
    Main.walk([&](MulOp Op) { Products.push_back(Op); });
    DenseSet<Operation *> Erased;
    for (MulOp Op : Products) {
      std::optional<RowNorm> Norm =
          Erased.contains(Op) ? std::nullopt : normOf(Op);
      if (!Norm || !takesFactor(*Norm))
        continue;
      for (OpOperand &Use : llvm::make_early_inc_range(Norm->Result.getUses()))
        sink(*Norm, cast<MatmulOp>(Use.getOwner()));
      for (Operation *Made : llvm::reverse(Norm->Ops)) {
        Erased.insert(Made);
        Made->erase();
      }
    }
  }

private:
  /// Whether kernels of the few-row family multiply the norm, all by weights.
  bool takesFactor(const RowNorm &Norm) {
    ArrayRef<Expr> Dims = typeOf(Norm.X).getDims();
    std::optional<int64_t> Rows = Facts.optimum(Dims[0]),
                           Sum = Dims[1].asConstant();
    bool HasGemms =
        Rows && schedule::isForFewRows(*Rows, *Rows, /*Plain=*/true) && Sum &&
        *Sum % KDivisor == 0 && !isForeign(Norm.X) && !mayStayWide(Norm.X) &&
        !Norm.Result.use_empty() &&
        llvm::all_of(Norm.Result.getUses(), [&](OpOperand &Use) {
          auto Gemm = dyn_cast<MatmulOp>(Use.getOwner());
          return Gemm && Use.getOperandNumber() == 0 && !Kept.match(Gemm) &&
                 typeOf(Gemm.getB()).getRank() == 2 && isConstant(Gemm.getB());
        });
    auto WeightOf = [](OpOperand &Use) {
      return cast<MatmulOp>(Use.getOwner()).getB();
    };
    if (!HasGemms || llvm::all_of(Norm.Result.getUses(), [&](OpOperand &Use) {
          return isOwnWeight(WeightOf(Use));
        }))
      return HasGemms;
    if (llvm::any_of(Norm.Result.getUses(), [&](OpOperand &Use) {
          return isMadeOfCodes(WeightOf(Use));
        }))
      remark::missed(Norm.Result.getLoc(),
                     remark::RemarkOpts::name("norm").category("fusion"))
          << "The norm stays a kernel: its weight, which differs along K, "
             "cannot be multiplied into codes that the model has.";
    return false;
  }

  /// Whether `X` is stored in f32 without the rewrite, or in a type of the
  /// user's choice: then its norm alone is narrow, as where a norm's result is
  /// added to what comes in.
  bool mayStayWide(Value X) {
    constexpr size_t MostOps = 2048;
    // The model itself stores it in 16 bits.
    if (auto Cast = X.getDefiningOp<CastOp>())
      return typeOf(Cast.getX()).getElementType().getIntOrFloatBitWidth() > 16;
    SetVector<Operation *> Seen;
    auto Add = [&](Value V) {
      if (Operation *Def = V.getDefiningOp())
        Seen.insert(Def);
    };
    Add(X);
    for (size_t I = 0; I < Seen.size(); ++I) {
      Operation *Op = Seen[I];
      if (Kept.match(Op) || isSensitive(Op) || Seen.size() > MostOps)
        return true;
      if (Op->hasTrait<ElementwiseTrait>() || isa<BroadcastOp, ReshapeOp>(Op))
        llvm::for_each(Op->getOperands(), Add);
    }
    return false;
  }

  void sink(const RowNorm &Norm, MatmulOp Gemm) {
    OpBuilder B(Gemm);
    Location Loc = B.getFusedLoc({Norm.Result.getLoc(), Gemm.getLoc()});
    Type Element = typeOf(Norm.X).getElementType();
    auto Widened = [&](Value V) -> Value {
      return B.createOrFold<CastOp>(V.getLoc(), V, Element);
    };
    Value Weight = Widened(Gemm.getB());
    if (Norm.Weight) {
      SymbolicTensorType Ty = typeOf(Weight);
      Value Column = ReshapeOp::create(
          B, Loc, Ty.withDims(ArrayRef<Expr>{Ty.getDims()[0], Expr(1)}),
          Widened(Norm.Weight));
      Weight = MulOp::create(B, Loc, Weight,
                             BroadcastOp::create(B, Loc, Ty, Column));
    }
    Value Product = MatmulOp::create(B, Gemm.getLoc(), Norm.X, Weight);
    Value Factor =
        BroadcastOp::create(B, Gemm.getLoc(), typeOf(Product), Norm.Factor);
    Value Scaled = MulOp::create(B, Gemm.getLoc(), Product, Factor);
    Gemm.getResult().replaceAllUsesWith(B.createOrFold<CastOp>(
        Gemm.getLoc(), Scaled, typeOf(Gemm.getY()).getElementType()));
    Gemm.erase();
    remark::passed(Loc, remark::RemarkOpts::name("norm").category("fusion"))
        << "The factors of a norm's rows come after its GEMM, which adds up "
           "the "
           "squares itself.";
  }

  /// What that family asks of K.
  static constexpr int64_t KDivisor = 8;
  shape::Facts Facts;
  const NodePatterns &Kept;
};

struct SinkNormFactorsPass
    : graph::impl::SinkNormFactorsBase<SinkNormFactorsPass> {
  using SinkNormFactorsBase::SinkNormFactorsBase;
  void runOnOperation() override {
    func::FuncOp Main = getOperation();
    FailureOr<NodePatterns> Kept = NodePatterns::read(Keep, Main);
    if (failed(Kept))
      return signalPassFailure();
    if (isGraphFunction(Main))
      Sinker(symbolFacts(Main->getParentOfType<ModuleOp>()), *Kept).run(Main);
  }
};

} // namespace
