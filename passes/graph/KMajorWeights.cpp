//===- KMajorWeights.cpp - Weights contiguous along K ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %w = graph.weight "m#w" [] : [K, N]      %w = … [{transpose = [1, 0]}]
///   graph.region "fc"(%x, %w) {          →   graph.region "fc"(%x, %w) {
///     graph.matmul %x, %w                      %t = graph.transpose %w [1, 0]
///   }                                          graph.matmul %x, %t
///                                            }
///
/// wgmma takes operands of 16 bits that are contiguous along K or along N, but
/// those of tf32 along K alone. The weight is turned when the artifact is
/// written; the transpose in the region is a view and costs nothing.
///
/// Filters become [taps…, O, C]. Those of few channels become [kh, O, kw, C]:
/// taps side by side are then one piece of memory, as the pixels under them.
///
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"
#include "passes/graph/StoredValues.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace kpc::graph {
#define GEN_PASS_DEF_KMAJORWEIGHTS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// Rows of TMA begin at multiples of 16 bytes: of so many elements of f32.
constexpr int64_t RowElements = 4;

/// A region's argument that one op reads, through transposes alone.
struct OwnArgument {
  BlockArgument Argument;
  SmallVector<int64_t>
      Perm; ///< dim I of what is read is Perm[I] of the argument
};

std::optional<OwnArgument> ownArgument(Value Read) {
  OwnArgument Own;
  Own.Perm = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(Read).getRank()));
  while (true) {
    if (!Read.hasOneUse())
      return std::nullopt;
    if ((Own.Argument = dyn_cast<BlockArgument>(Read)))
      return Own;
    auto Turn = Read.getDefiningOp<TransposeOp>();
    if (!Turn)
      return std::nullopt;
    for (int64_t &Dim : Own.Perm)
      Dim = Turn.getPerm()[Dim];
    Read = Turn.getX();
  }
}

/// The order of a filter's dims in memory.
SmallVector<int64_t> filterOrder(ConvOp Conv) {
  int64_t Rank = typeOf(Conv.getW()).getRank(), C = Rank - 2, O = Rank - 1;
  auto Order = llvm::to_vector(llvm::seq<int64_t>(0, Rank));
  std::optional<int64_t> Channels = typeOf(Conv.getW()).getStaticDim(C);
  auto IsZero = [](int64_t V) { return V == 0; };
  // As pad-channels has made it: the zeros around the image are in memory.
  bool FoldsTaps = Channels && *Channels <= RowElements &&
                   Conv.getDilation().back() == 1 &&
                   llvm::all_of(Conv.getLow(), IsZero) &&
                   llvm::all_of(Conv.getHigh(), IsZero);
  // Behind the taps, or in front of the last of them.
  Order.erase(Order.begin() + O);
  Order.insert(Order.end() - (FoldsTaps ? 2 : 1), O);
  return Order;
}

/// The order of B's or the filter's dims in memory that wgmma reads; none where
/// it reads them as they are, or never.
std::optional<SmallVector<int64_t>> wantedOrder(Operation *Op) {
  if (auto Conv = dyn_cast<ConvOp>(Op)) {
    if (Conv.getGroups() != 1)
      return std::nullopt;
    return filterOrder(Conv);
  }
  auto Gemm = cast<MatmulOp>(Op);
  SymbolicTensorType Ty = typeOf(Gemm.getB());
  int64_t Rank = Ty.getRank();
  if (Rank < 2 || Ty.getStaticDim(Rank - 2).value_or(0) % RowElements)
    return std::nullopt;
  auto Order = llvm::to_vector(llvm::seq<int64_t>(0, Rank));
  std::swap(Order[Rank - 2], Order[Rank - 1]);
  return Order;
}

/// Gives the region the weight with `Order` in memory, of the dims that are
/// read. The op reads it through one transpose.
void turn(RegionOp Region, OpOperand &Read, ArrayRef<int64_t> Order) {
  std::optional<OwnArgument> Own = ownArgument(Read.get());
  if (!Own || !typeOf(Own->Argument).getElementType().isF32())
    return;
  OpOperand &Input = Region.getInputsMutable()[Own->Argument.getArgNumber()];
  auto Weight = Input.get().getDefiningOp<WeightOp>();
  SmallVector<int64_t> Perm =
      llvm::map_to_vector(Order, [&](int64_t Dim) { return Own->Perm[Dim]; });
  if (!Weight || llvm::is_sorted(Perm))
    return;
  SymbolicTensorType Ty = typeOf(Read.get());
  SmallVector<shape::Expr> Dims = llvm::map_to_vector(
      Order, [&](int64_t Dim) { return Ty.getDims()[Dim]; });
  OpBuilder B(Weight);
  auto Step = B.getDictionaryAttr(
      B.getNamedAttr("transpose", B.getDenseI64ArrayAttr(Perm)));
  SmallVector<Attribute> Recipe(Weight.getRecipe().getValue());
  Recipe.push_back(Step);
  Input.set(WeightOp::create(B, Weight.getLoc(), Ty.withDims(Dims),
                             Weight.getSource(), B.getArrayAttr(Recipe)));

  if (Weight.use_empty())
    Weight.erase();

  Own->Argument.setType(Input.get().getType());
  Operation *Reader = Read.getOwner();
  B.setInsertionPoint(Reader);
  Read.set(TransposeOp::create(B, Reader->getLoc(), Own->Argument,
                               invertPermutationVector(Order)));
}

struct KMajorWeightsPass : graph::impl::KMajorWeightsBase<KMajorWeightsPass> {
  using KMajorWeightsBase::KMajorWeightsBase;

  void runOnOperation() override {
    func::FuncOp Main = getOperation();
    if (!isGraphFunction(Main))
      return;
    FailureOr<NodePatterns> Kept = NodePatterns::read(Keep, Main);
    if (failed(Kept))
      return signalPassFailure();
    Main.walk([&](RegionOp Region) {
      Block &Body = Region.getBody().front();
      for (Operation &Op : llvm::make_early_inc_range(Body)) {
        bool Reads = isa<MatmulOp>(Op) || (Filters && isa<ConvOp>(Op));
        if (!Reads || Kept->match(&Op))
          continue;
        if (std::optional<SmallVector<int64_t>> Order = wantedOrder(&Op))
          turn(Region, Op.getOpOperand(1), *Order);
      }
    });
  }
};

} // namespace
