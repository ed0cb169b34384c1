//===- PairProducts.cpp - A gate's two products in one kernel -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In:  regions of one product each, of one left side, the second of which
///      takes the first's result element by element (SwiGLU, GEGLU).
/// Out: one region of both products.
///
///   %g = graph.region "gate"(%x, %w)        →   %y = graph.region
///   { … matmul %x, %w … }                           "gate+up"(%x, %w, %v) {
///   %y = graph.region "up"(%g, %x, %v)                … matmul %x, %w …
///   { … matmul %x, %v … %g · … }                      … matmul %x, %v … · … }
///
/// The gate is neither written nor read, and both products read the left side
/// once. Behind set-precision, so that types are what the builder will see:
/// only the one for wgmma keeps two sums, and to all others such a region would
/// be a loop for each element. So it is for artifacts of such targets alone.
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_PAIRPRODUCTS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// The argument of its region that `V` is, widened at most.
BlockArgument argumentBehind(Value V) {
  if (auto Cast = V.getDefiningOp<CastOp>())
    V = Cast.getX();
  return dyn_cast<BlockArgument>(V);
}

/// A region of one product, and of ops that work on its result element by
/// element.
struct ProductRegion {
  RegionOp Region;
  MatmulOp Product;
  BlockArgument A, B;

  static std::optional<ProductRegion> read(RegionOp Region);
  Value input(BlockArgument Argument) {
    return Region.getInputs()[Argument.getArgNumber()];
  }
};

/// Whether all that is made of `V` has its sizes and is made of its elements at
/// the same place.
bool isUsedInPlace(Value V) {
  ArrayRef<Expr> Dims = typeOf(V).getDims();
  SmallVector<Value> Worklist{V};
  DenseSet<Operation *> Seen;
  while (!Worklist.empty())
    for (Operation *User : Worklist.pop_back_val().getUsers()) {
      if (isa<YieldOp>(User) || !Seen.insert(User).second)
        continue;
      if (!User->hasTrait<ElementwiseTrait>() || User->getNumResults() != 1 ||
          typeOf(User->getResult(0)).getDims() != Dims)
        return false;
      Worklist.push_back(User->getResult(0));
    }
  return true;
}

std::optional<ProductRegion> ProductRegion::read(RegionOp Region) {
  ProductRegion Found{Region, {}, {}, {}};
  if (Region.getNumResults() != 1)
    return std::nullopt;
  for (Operation &Op : Region.getBody().front().without_terminator()) {
    if (auto Product = dyn_cast<MatmulOp>(Op)) {
      if (Found.Product)
        return std::nullopt;
      Found.Product = Product;
    } else if (!Op.hasTrait<ElementwiseTrait>() &&
               !isa<BroadcastOp, ConstantOp>(Op)) {
      return std::nullopt;
    }
  }
  if (!Found.Product || typeOf(Found.Product.getY()).getRank() != 2 ||
      !isUsedInPlace(Found.Product.getY()))
    return std::nullopt;
  Found.A = argumentBehind(Found.Product.getA());
  Found.B = argumentBehind(Found.Product.getB());
  if (!Found.A || !Found.B)
    return std::nullopt;
  return Found;
}

class Pairer {
public:
  Pairer(func::FuncOp Main, const shape::Facts &Facts, int64_t FewRows)
      : Main(Main), Facts(Facts), FewRows(FewRows) {}

  void run() {
    for (RegionOp Region :
         llvm::to_vector(Main.getBody().front().getOps<RegionOp>())) {
      if (Merged.contains(Region))
        continue;
      std::optional<ProductRegion> Gate = ProductRegion::read(Region);
      if (!Gate || !Region.getOutputs()[0].hasOneUse())
        continue;
      OpOperand &Use = *Region.getOutputs()[0].use_begin();
      auto User = dyn_cast<RegionOp>(Use.getOwner());
      std::optional<ProductRegion> Up =
          User ? ProductRegion::read(User) : std::nullopt;
      if (!Up || !meet(*Gate, *Up, Use.getOperandNumber()))
        continue;
      StringRef Why = refusal(*Gate, *Up);
      if (Why.empty())
        merge(*Gate, *Up, Use.getOperandNumber());
      else
        remark::missed(User.getLoc(),
                       remark::RemarkOpts::name("gate").category("recognition"))
            << "A gate's two products stay two kernels, because " + Why.str() +
                   ".";
    }
  }

private:
  /// Whether each element of the gate meets that of the other product at the
  /// same place, and both have one left side.
  static bool meet(ProductRegion &Gate, ProductRegion &Up, unsigned Operand) {
    BlockArgument In = Up.Region.getBody().getArgument(Operand);
    return Gate.input(Gate.A) == Up.input(Up.A) && In != Up.A && In != Up.B &&
           typeOf(In).getDims() == typeOf(Up.Product.getY()).getDims() &&
           isUsedInPlace(In);
  }
  StringRef refusal(ProductRegion &Gate, ProductRegion &Up) const;
  void merge(ProductRegion &Gate, ProductRegion &Up, unsigned Operand);

  func::FuncOp Main;
  const shape::Facts &Facts;
  int64_t FewRows;
  DenseSet<Operation *> Merged; ///< are there no more
};

/// What the builder asks of the operands, and where it would not pay.
StringRef Pairer::refusal(ProductRegion &Gate, ProductRegion &Up) const {
  constexpr int64_t Whole = 8; // elements of 16 bits in 16 bytes
  SymbolicTensorType A = typeOf(Gate.A), B = typeOf(Gate.B);
  Type Element = A.getElementType();
  if (!Element.isF16() && !Element.isBF16())
    return "they are not of 16 bits";
  if (B != typeOf(Up.B) || B.getElementType() != Element)
    return "their right sides are not alike";
  std::optional<int64_t> Sum = B.getStaticDim(0), Columns = B.getStaticDim(1);
  if (!Sum || !Columns || *Sum < 1 || *Sum % Whole || *Columns % Whole)
    return "their sizes are not multiples of 8";
  Expr Rows = A.getDims()[0];
  if (Facts.optimum(Rows).value_or(FewRows + 1) <= FewRows &&
      Facts.range(Rows).Max <= 4 * FewRows)
    return "they have few rows";
  return {};
}

void Pairer::merge(ProductRegion &Gate, ProductRegion &Up, unsigned Operand) {
  OpBuilder B(Up.Region);
  SmallVector<Value> Inputs(Gate.Region.getInputs());
  IRMapping Map;
  auto Region = RegionOp::create(
      B, B.getFusedLoc({Gate.Region.getLoc(), Up.Region.getLoc()}),
      Up.Region.getResultTypes(),
      (Gate.Region.getName() + "+" + Up.Region.getName()).str(), Inputs);
  Block *Body = B.createBlock(&Region.getBody());
  auto Take = [&](Value Input, BlockArgument From) {
    auto *Known = llvm::find(Inputs, Input);
    if (Known == Inputs.end()) {
      Inputs.push_back(Input);
      Known = Inputs.end() - 1;
    }
    unsigned Place = Known - Inputs.begin();
    while (Body->getNumArguments() <= Place)
      Body->addArgument(Inputs[Body->getNumArguments()].getType(),
                        From.getLoc());
    Map.map(From, Body->getArgument(Place));
  };
  for (auto [Input, From] : llvm::zip_equal(
           Gate.Region.getInputs(), Gate.Region.getBody().getArguments()))
    Take(Input, From);
  for (Operation &Op : Gate.Region.getBody().front().without_terminator())
    B.clone(Op, Map);
  // What was rounded for memory alone stays as it was computed.
  Value Yielded =
      Map.lookup(Gate.Region.getBody().front().getTerminator()->getOperand(0));
  auto Rounded = Yielded.getDefiningOp<CastOp>();
  for (auto [I, Input] : llvm::enumerate(Up.Region.getInputs()))
    if (I == Operand)
      Map.map(Up.Region.getBody().getArgument(I), Yielded);
    else
      Take(Input, Up.Region.getBody().getArgument(I));
  for (Operation &Op : Up.Region.getBody().front()) {
    auto Widened = dyn_cast<CastOp>(Op);
    if (Widened && Rounded &&
        Widened.getX() == Up.Region.getBody().getArgument(Operand) &&
        Widened.getType() == Rounded.getX().getType())
      Map.map(Widened.getResult(), Rounded.getX());
    else
      B.clone(Op, Map);
  }
  if (Rounded && Rounded->use_empty())
    Rounded->erase();
  Region.getInputsMutable().assign(Inputs);
  remark::passed(Region.getLoc(),
                 remark::RemarkOpts::name("gate").category("recognition"))
      << "A gate's two products are one kernel.";
  Up.Region.getOutputs()[0].replaceAllUsesWith(Region.getOutputs()[0]);
  Merged.insert(Up.Region);
  Up.Region.erase();
  Gate.Region.erase();
}

struct PairProductsPass : graph::impl::PairProductsBase<PairProductsPass> {
  using PairProductsBase::PairProductsBase;
  void runOnOperation() override {
    func::FuncOp Main = getOperation();
    if (!isGraphFunction(Main) || !Main.getBody().hasOneBlock())
      return;
    shape::Facts Facts = symbolFacts(Main->getParentOfType<ModuleOp>());
    Pairer(Main, Facts, FewRows).run();
  }
};

} // namespace
