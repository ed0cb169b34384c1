//===- CodeHeads.cpp - Attention whose keys and values are codes ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/graph/CodeHeads.h"

#include "passes/graph/CodeOperand.h"
#include "passes/graph/RegionBuilder.h"
#include "passes/graph/RegionRoles.h"
#include "passes/schedule/DecodeSchedule.h"

#include <cmath>
#include <set>

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

/// Copies are of 16 bytes, and heads have at most so many elements.
static constexpr int64_t HeadUnit = 16, MostInHead = 256;

bool graph::hasFewQueries(const Expr &Queries, const shape::Facts &Facts) {
  if (Facts.range(Queries).Max <= schedule::MostDecodeQueries)
    return true;
  std::set<std::string, std::less<>> Names;
  Queries.collectSymbols(Names);
  for (const std::string &Name : Names) {
    auto Known = Facts.symbols().find(Name);
    if (Known == Facts.symbols().end() || !Known->second.Optimum)
      return false;
  }
  return Facts.optimum(Queries).value_or(INT64_MAX) <=
         schedule::MostDecodeQueries;
}

static bool isCodeOfHeads(const std::optional<CodeOperand> &Of) {
  return Of && isa<Float8E4M3FNType>(typeOf(Of->Codes).getElementType());
}

/// A scale that is one positive constant; none: it is something else.
static std::optional<double> constantScale(Value Scale) {
  if (!Scale)
    return 1;
  std::optional<double> Known = splatValue(Scale);
  bool IsFactor = Known && std::isfinite(*Known) && *Known > 0;
  return IsFactor ? Known : std::nullopt;
}

/// `X`, whose dim 1 is heads, times a scalar, or times what each group of heads
/// has: in f32, since products with small scales are no numbers of 16 bits.
static Value timesScale(OpBuilder &B, Location Loc, Value X, Value Scale) {
  SymbolicTensorType Ty = typeOf(X);
  Type F32 = B.getF32Type();
  auto Cast = [&](Value V, Type To) -> Value {
    return typeOf(V).getElementType() == To ? V : CastOp::create(B, Loc, V, To);
  };
  SmallVector<Expr> Grouped(Ty.getDims());
  if (typeOf(Scale).getRank() == 1) {
    // Heads of a group stand side by side, as if they were more queries.
    const Expr &Groups = typeOf(Scale).getDims()[0];
    Grouped[2] = Grouped[1].floorDiv(Groups) * Grouped[2];
    Grouped[1] = Groups;
    Scale = B.createOrFold<ReshapeOp>(
        Loc, typeOf(Scale).withDims({Expr(1), Groups, Expr(1), Expr(1)}),
        Scale);
  }
  Value Wide =
      Cast(B.createOrFold<ReshapeOp>(Loc, Ty.withDims(Grouped), X), F32);
  Value All = BroadcastOp::create(B, Loc, typeOf(Wide), Cast(Scale, F32));
  Value Product = Cast(MulOp::create(B, Loc, Wide, All), Ty.getElementType());
  return B.createOrFold<ReshapeOp>(Loc, Ty, Product);
}

/// Why the kernel does not read codes for this attention; empty: it does.
static StringRef refusalOfCodes(AttentionOp Op, const shape::Facts &Facts) {
  std::optional<int64_t> Depth = typeOf(Op.getQ()).getStaticDim(3),
                         Width = typeOf(Op.getV()).getStaticDim(3);
  if (!hasFewQueries(typeOf(Op.getQ()).getDims()[2], Facts))
    return "it has many queries";
  if (!Depth || !Width || *Depth % HeadUnit || *Width % HeadUnit ||
      std::max(*Depth, *Width) > MostInHead)
    return "its heads are no multiple of 16 elements, or more than 256";
  if (Facts.range(typeOf(Op.getK()).getDims()[2]).Min < 1)
    return "its number of keys may be 0";
  return "";
}

std::optional<StringRef> graph::sinkScalesOfHeads(AttentionOp Op,
                                                  const shape::Facts &Facts) {
  std::optional<CodeOperand> K = CodeOperand::read(Op->getOpOperand(1), 1),
                             V = CodeOperand::read(Op->getOpOperand(2), 1);
  if (!isCodeOfHeads(K) || !isCodeOfHeads(V))
    return std::nullopt;
  if (StringRef Why = refusalOfCodes(Op, Facts); !Why.empty())
    return Why;
  OpBuilder B(Op);
  Location Loc = Op.getLoc();
  Type Element = typeOf(Op.getQ()).getElementType();
  if (std::optional<double> Known = constantScale(K->Scale))
    Op.setScaleAttr(
        B.getF64FloatAttr(Op.getScale().convertToDouble() * *Known));
  else
    Op.getQMutable().assign(timesScale(B, Loc, Op.getQ(), K->Scale));
  Op.getKMutable().assign(CastOp::create(B, Loc, K->Codes, Element));
  Op.getVMutable().assign(CastOp::create(B, Loc, V->Codes, Element));
  Op->setAttr(CodesAttr, B.getUnitAttr());
  if (!V->Scale)
    return "";
  B.setInsertionPointAfter(Op);
  Value Y = Op.getY();
  SmallPtrSet<Operation *, 8> Own;
  Operation *Last = Op->getNextNode();
  Value Scaled = timesScale(B, Loc, Y, V->Scale);
  for (Operation *Made = Op->getNextNode(); Made != Last;
       Made = Made->getNextNode())
    Own.insert(Made);
  Y.replaceAllUsesExcept(Scaled, Own);
  return "";
}

static bool widensCodes(Operation *Op) {
  auto Cast = dyn_cast_or_null<CastOp>(Op);
  return Cast && isa<Float8E4M3FNType>(typeOf(Cast.getX()).getElementType());
}

/// Whether it multiplies rows of codes, or turns codes whose keys are columns.
static bool followsCodes(Operation *Op) {
  return isa<MulOp, TransposeOp>(Op) &&
         llvm::any_of(Op->getOperands(), [](Value Operand) {
           return widensCodes(Operand.getDefiningOp());
         });
}

bool graph::widensHeads(Operation *Op) {
  bool Widens = widensCodes(Op);
  return (Widens || followsCodes(Op)) &&
         llvm::all_of(Op->getUses(), [&](OpOperand &Use) {
           Operation *User = Use.getOwner();
           return (readsMemory(Use) && User->hasAttr(CodesAttr)) ||
                  (Widens && followsCodes(User) && widensHeads(User));
         });
}

bool graph::readsHeads(OpOperand &Use) {
  return readsMemory(Use) || widensHeads(Use.getOwner());
}

/// Whether `Op` is a step on the way to codes by one constant scale.
static bool makesCodes(Operation *Op) {
  if (auto Cast = dyn_cast<CastOp>(Op))
    return isa<Float8E4M3FNType>(typeOf(Cast.getY()).getElementType());
  return isa<MulOp, MinOp, MaxOp>(Op) &&
         (splatValue(Op->getOperand(0)) || splatValue(Op->getOperand(1)));
}

/// Whether queries are codes, too, so that a kernel multiplies them.
static bool multipliesCodes(AttentionOp Op) {
  Operation *Queries = Op.getQ().getDefiningOp();
  return widensCodes(Queries) || (Queries && followsCodes(Queries));
}

/// Whether it multiplies by one number that only the run may know, or is a view
/// of that, or spreads it.
static bool scalesByOne(Operation *Op) {
  auto IsOne = [](Value V) {
    return llvm::all_of(typeOf(V).getDims(),
                        [](const Expr &Size) { return Size == Expr(1); });
  };
  auto Spreads = [&](Operation *Spread) {
    return isa_and_present<BroadcastOp, ReshapeOp>(Spread) &&
           IsOne(Spread->getOperand(0));
  };
  return Spreads(Op) ||
         (isa<MulOp>(Op) && llvm::any_of(Op->getOperands(), [&](Value Factor) {
            return Spreads(Factor.getDefiningOp());
          }));
}

bool graph::endsCodeAttention(AttentionOp Op, ArrayRef<Operation *> Ops) {
  if (Op->hasAttr(ResultCodesAttr))
    return llvm::all_of(Ops, [](Operation *End) {
      return isOrderOfHeads(End) || makesCodes(End);
    });
  return Op->hasAttr(CodesAttr) && llvm::all_of(Ops, [&](Operation *End) {
           auto Product = dyn_cast<MulOp>(End);
           auto Cast = dyn_cast<CastOp>(End);
           return isOrderOfHeads(End) ||
                  (multipliesCodes(Op) && scalesByOne(End)) ||
                  (Cast && isFloat(typeOf(Cast.getX()).getElementType()) &&
                   isFloat(typeOf(Cast.getY()).getElementType())) ||
                  (Product && (constantScale(Product.getA()) ||
                               constantScale(Product.getB())));
         });
}
