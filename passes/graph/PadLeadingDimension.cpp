//===- PadLeadingDimension.cpp - Copies that pad rows ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In:  regions. Out: the same, some with a copy in front or behind.
///
///   %y = graph.region "fc"(%x, %w)   →   %c = graph.region "x_rows"(%x)
///                                        %d = graph.region "fc"(%c, %w)
///                                        %y = graph.region "fc_rows"(%d)
///
/// `lower-regions` gives %c and %d the rows that the caller's %x and %y lack.
/// An fp32 input that is multiplied by 16-bit weights, or convolved with them,
/// is copied as 16 bits, because Tensor Cores multiply operands of one type:
///
///                                    →   %c = graph.region "x_f16"(%x)
///
//===----------------------------------------------------------------------===//

#include "passes/graph/FloatTypeNames.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/LeadingDimensions.h"
#include "passes/graph/Passes.h"
#include "passes/graph/StoredValues.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_PADLEADINGDIMENSION
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// Multiply-adds of each pixel's element from which it is worth a copy: without
/// one a convolution is loops, or columns that are added up.
constexpr int64_t LeastUsesOfPixel = 8;

/// A region that copies `V` as elements of `To`, at the builder's place.
Value copyOf(OpBuilder &B, Value V, StringRef Name, Type To) {
  Location Loc = V.getLoc();
  std::string Called = Name.str();
  llvm::raw_string_ostream Text(Called);
  if (To == typeOf(V).getElementType())
    Text << "_rows";
  else
    Text << "_" << To;
  auto Copy = RegionOp::create(B, Loc, typeOf(V).withElementType(To), Called,
                               ValueRange{V});
  OpBuilder::InsertionGuard Guard(B);
  Block *Body = B.createBlock(&Copy.getBody(), {}, {V.getType()}, {Loc});
  Value Same = CastOp::create(B, Loc, Body->getArgument(0), To);
  YieldOp::create(B, Loc, Same);
  return Copy.getOutputs()[0];
}

/// Makes the region read `V`, a narrower copy of what it read as `Input`.
void readNarrow(RegionOp Region, unsigned Input, Value V) {
  Region.getInputsMutable()[Input].set(V);
  BlockArgument Inside = Region.getBody().getArgument(Input);
  Type Wide = typeOf(Inside).getElementType();
  Inside.setType(V.getType());
  OpBuilder B = OpBuilder::atBlockBegin(&Region.getBody().front());
  auto Widened = CastOp::create(B, V.getLoc(), Inside, Wide);
  Inside.replaceAllUsesExcept(Widened, Widened);
}

class Repacker {
public:
  /// `Narrow`: the type that f32 is stored in, but for the nodes `Kept`; null:
  /// f32 stays.
  Repacker(func::FuncOp Main, const shape::Facts &Facts, int64_t LeastUses,
           Type Narrow, const NodePatterns &Kept)
      : Main(Main), Facts(Facts), LeastUses(LeastUses), Narrow(Narrow),
        Kept(Kept) {}

  void run() {
    auto Regions = llvm::to_vector(Main.getBody().front().getOps<RegionOp>());
    for (RegionOp Region : Regions)
      if (MatmulOp Product = productOf(Region)) {
        copyInputs(Region, Product);
        copyOutput(Region, Product);
      } else {
        for (auto Conv : Region.getBody().front().getOps<ConvOp>())
          narrowPixels(Region, Conv);
      }
  }

private:
  static MatmulOp productOf(RegionOp Region) {
    auto Products = Region.getBody().front().getOps<MatmulOp>();
    return Products.empty() ? MatmulOp() : *Products.begin();
  }
  /// How often each element of `V` is multiplied, the product being what it is.
  int64_t usesOf(Value V, MatmulOp Product) const {
    auto Count = [&](Value Of) {
      return Facts.optimum(typeOf(Of).getNumElements()).value_or(0);
    };
    Expr Sum = typeOf(Product.getA()).getDims().back();
    double Work = double(Count(Product.getResult())) *
                  double(Facts.optimum(Sum).value_or(0));
    return int64_t(Work / double(std::max<int64_t>(Count(V), 1)));
  }
  bool pays(Value V, MatmulOp Product) const {
    return wantsPadding(V, Facts) && usesOf(V, Product) >= LeastUses;
  }
  Value copyOfInput(RegionOp Region, BlockArgument Input, Type Element);
  void narrowPixels(RegionOp Region, ConvOp Conv);
  bool narrows(RegionOp Region, MatmulOp Product) const;
  void copyInputs(RegionOp Region, MatmulOp Product);
  void copyOutput(RegionOp Region, MatmulOp Product);

  func::FuncOp Main;
  const shape::Facts &Facts;
  int64_t LeastUses;
  Type Narrow;
  const NodePatterns &Kept;
  DenseMap<std::pair<Value, Type>, Value> Copies; ///< of inputs
};

/// Whether Tensor Cores could multiply the operands if those of fp32 were
/// copied as 16 bits: each is an input of the model that is of use to the GEMM
/// alone.
bool Repacker::narrows(RegionOp Region, MatmulOp Product) const {
  if (!Narrow || Kept.match(Product))
    return false;
  return llvm::all_of(gemmInputs(Region), [&](unsigned I) {
    Value From = Region.getInputs()[I];
    Type Element = typeOf(From).getElementType();
    return Element == Narrow || (Element.isF32() && isa<BlockArgument>(From) &&
                                 Region.getBody().getArgument(I).hasOneUse() &&
                                 usesOf(From, Product) >= LeastUses);
  });
}

/// A copy of an input of the model, made once.
Value Repacker::copyOfInput(RegionOp Region, BlockArgument Input,
                            Type Element) {
  Value &Copy = Copies[{Input, Element}];
  if (!Copy) {
    OpBuilder B(Region);
    auto Name =
        Main.getArgAttrOfType<StringAttr>(Input.getArgNumber(), "graph.name");
    Copy = copyOf(B, Input, Name ? Name.getValue() : "input", Element);
  }
  return Copy;
}

/// The region's input that an operand is, through casts and transposes.
static std::optional<unsigned> inputBehind(Value Operand) {
  while (isa_and_present<CastOp, TransposeOp>(Operand.getDefiningOp()))
    Operand = Operand.getDefiningOp()->getOperand(0);
  auto Argument = dyn_cast<BlockArgument>(Operand);
  return Argument ? std::optional(Argument.getArgNumber()) : std::nullopt;
}

/// Pixels of the caller's in fp32, convolved with filters of 16 bits. A
/// convolution that is no product of matrices reads them as they are.
void Repacker::narrowPixels(RegionOp Region, ConvOp Conv) {
  std::optional<unsigned> Image = inputBehind(Conv.getX()),
                          Filter = inputBehind(Conv.getW());
  if (!Narrow || Kept.match(Conv) || !Image || !Filter)
    return;
  auto Input = dyn_cast<BlockArgument>(Region.getInputs()[*Image]);
  Value Taps = Region.getInputs()[*Filter];
  Expr PerPixel = Expr(1);
  for (const Expr &Size : typeOf(Conv.getW()).getDims())
    PerPixel = PerPixel * Size;
  // Each element is multiplied with all of the filter that is for its channel.
  int64_t Channels = typeOf(Conv.getX())
                         .getStaticDim(typeOf(Conv.getX()).getRank() - 1)
                         .value_or(0),
          Uses = Facts.optimum(PerPixel).value_or(0) /
                 std::max<int64_t>(Channels, 1);
  for (int64_t Step : Conv.getStride())
    Uses /= std::max<int64_t>(Step, 1);
  bool IsDepthwise =
      Conv.getGroups() > 1 && int64_t(Conv.getGroups()) == Channels;
  if (!Input || IsDepthwise || Uses < LeastUsesOfPixel ||
      !typeOf(Input).getElementType().isF32() ||
      typeOf(Taps).getElementType() != Narrow ||
      !Region.getBody().getArgument(*Image).hasOneUse())
    return;
  readNarrow(Region, *Image, copyOfInput(Region, Input, Narrow));
}

void Repacker::copyInputs(RegionOp Region, MatmulOp Product) {
  bool AllNarrow = narrows(Region, Product);
  for (unsigned I : gemmInputs(Region)) {
    auto Argument = dyn_cast<BlockArgument>(Region.getInputs()[I]);
    if (!Argument)
      continue;
    bool Narrows = AllNarrow && typeOf(Argument).getElementType() != Narrow;
    if (!Narrows && !pays(Argument, Product))
      continue;
    Type Element = Narrows ? Narrow : typeOf(Argument).getElementType();
    Value Copy = copyOfInput(Region, Argument, Element);
    if (Narrows)
      readNarrow(Region, I, Copy);
    else
      Region.getInputsMutable()[I].set(Copy);
  }
}

void Repacker::copyOutput(RegionOp Region, MatmulOp Product) {
  if (Region.getNumResults() != 1)
    return;
  Value Output = Region.getOutputs()[0];
  bool Returned = llvm::any_of(Output.getUsers(), [](Operation *User) {
    return isa<func::ReturnOp>(User);
  });
  if (!Returned || !pays(Output, Product))
    return;
  OpBuilder B(Region->getContext());
  B.setInsertionPointAfter(Region);
  Value Copy =
      copyOf(B, Output, Region.getName(), typeOf(Output).getElementType());
  // Other kernels read the product itself.
  Output.replaceUsesWithIf(
      Copy, [](OpOperand &Use) { return isa<func::ReturnOp>(Use.getOwner()); });
}

struct PadLeadingDimensionPass
    : graph::impl::PadLeadingDimensionBase<PadLeadingDimensionPass> {
  using PadLeadingDimensionBase::PadLeadingDimensionBase;
  void runOnOperation() override {
    func::FuncOp Main = getOperation();
    if (!isGraphFunction(Main) || !Main.getBody().hasOneBlock())
      return;
    shape::Facts Facts = symbolFacts(Main->getParentOfType<ModuleOp>());
    FailureOr<NodePatterns> Kept = NodePatterns::read(Keep, Main);
    FailureOr<Type> Narrow = floatTypeNamed(NarrowName, Main);
    if (failed(Kept) || failed(Narrow))
      return signalPassFailure();
    Repacker(Main, Facts, LeastUses, *Narrow, *Kept).run();
  }
};

} // namespace
