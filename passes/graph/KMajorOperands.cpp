//===- KMajorOperands.cpp - Weights contiguous along K -------------------===//
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
/// those of tf32 and of 8 bits along K alone; mma.sync those of 8 bits, too. A
/// weight is turned when the artifact is written; the transpose in the region
/// is a view and costs nothing. Any other operand is turned by a region of its
/// own, where the GEMM or the convolution is worth that:
///
///   %t = graph.region "x_k_major"(%x) { graph.transpose … }
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
#define GEN_PASS_DEF_KMAJOROPERANDS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// Rows of TMA begin at multiples of 16 bytes: of so many elements of f32.
constexpr int64_t RowElements = 4;
/// Of 8 bits, as many channels as pad-channels makes of few.
constexpr int64_t FewBytes = 8;

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
    Own.Argument = dyn_cast<BlockArgument>(Read);
    if (Own.Argument)
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
  int64_t Few =
      isCode(typeOf(Conv.getW()).getElementType()) ? FewBytes : RowElements;
  bool FoldsTaps = Channels && *Channels <= Few && Conv.getGroups() == 1 &&
                   Conv.getDilation().back() == 1 &&
                   llvm::all_of(Conv.getLow(), IsZero) &&
                   llvm::all_of(Conv.getHigh(), IsZero);
  // Behind the taps, or in front of the last of them.
  Order.erase(Order.begin() + O);
  Order.insert(Order.end() - (FoldsTaps ? 2 : 1), O);
  return Order;
}

/// The order of an operand's dims in memory that wgmma reads, of dims as they
/// are read; none where it never does.
std::optional<SmallVector<int64_t>> wantedOrder(OpOperand &Read,
                                                const shape::Facts &Facts) {
  if (auto Conv = dyn_cast<ConvOp>(Read.getOwner())) {
    bool HasKernel =
        Conv.getGroups() == 1 || isCode(typeOf(Conv.getW()).getElementType());
    return HasKernel ? std::optional(filterOrder(Conv)) : std::nullopt;
  }
  SymbolicTensorType Ty = typeOf(Read.get());
  int64_t Rank = Ty.getRank();
  bool IsB = Read.getOperandNumber() == 1;
  if (Rank < 2)
    return std::nullopt;
  const shape::Expr &K = Ty.getDims()[IsB ? Rank - 2 : Rank - 1];
  if (!isCode(Ty.getElementType()) && Facts.divisor(K) % RowElements)
    return std::nullopt;
  auto Order = llvm::to_vector(llvm::seq<int64_t>(0, Rank));
  if (IsB)
    std::swap(Order[Rank - 2], Order[Rank - 1]);
  return Order;
}

/// A weight, and the step of its recipe that gives it other dims.
struct Stored {
  WeightOp Weight;
  Attribute Reshape; ///< null: it has the dims that are read
};

/// The weight that `V` is, maybe in other dims, as the folded phases of a
/// transposed convolution are. A recipe reshapes what is in the model's order.
Stored storedWeight(Value V) {
  auto Reshape = V.getDefiningOp<ReshapeOp>();
  if (!Reshape)
    return {V.getDefiningOp<WeightOp>(), {}};
  auto Weight = Reshape.getX().getDefiningOp<WeightOp>();
  if (!Weight || !typeOf(V).hasStaticShape() ||
      llvm::any_of(Weight.getRecipe(), [](Attribute Step) {
        return cast<DictionaryAttr>(Step).contains("transpose");
      }))
    return {};
  SmallVector<int64_t> Sizes;
  for (const shape::Expr &Size : typeOf(V).getDims())
    Sizes.push_back(*Size.asConstant());
  Builder B(V.getContext());
  return {Weight, B.getDictionaryAttr(B.getNamedAttr(
                      "reshape", B.getDenseI64ArrayAttr(Sizes)))};
}

class Turner {
public:
  Turner(func::FuncOp Main, const shape::Facts &Facts, int64_t LeastUses,
         bool Tf32)
      : Main(Main), Facts(Facts), LeastUses(LeastUses), Tf32(Tf32) {}

  /// Gives the region the operand contiguous along K, if it is a weight, or if
  /// `MayCopy` and a copy pays. The op reads it through one transpose.
  void turn(RegionOp Region, OpOperand &Read, bool MayCopy);

private:
  Value turnedWeight(Stored From, ArrayRef<int64_t> Perm,
                     SymbolicTensorType To);
  Value turnedCopy(Value V, ArrayRef<int64_t> Perm, SymbolicTensorType To);
  bool pays(Value V, Operation *Op) const;
  bool isKMajor(Type Element) const {
    return isCode(Element) || (Tf32 && Element.isF32());
  }

  func::FuncOp Main;
  const shape::Facts &Facts;
  int64_t LeastUses;
  bool Tf32;
  DenseMap<std::pair<Value, Attribute>, Value> Copies;
};

/// Whether each element of `V` takes part in so many multiply-adds. Codes are
/// multiplied by loops otherwise.
bool Turner::pays(Value V, Operation *Op) const {
  if (isCode(typeOf(V).getElementType()))
    return true;
  auto Optimum = [&](const shape::Expr &E) {
    return double(Facts.optimum(E).value_or(0));
  };
  // Taps and channels of a filter, columns of A.
  auto Summed = isa<ConvOp>(Op)
                    ? typeOf(Op->getOperand(1)).getDims().drop_back()
                    : typeOf(Op->getOperand(0)).getDims().take_back();
  double Work = Optimum(typeOf(Op->getResult(0)).getNumElements());
  for (const shape::Expr &Size : Summed)
    Work *= Optimum(Size);
  return Work >=
         double(LeastUses) * std::max(Optimum(typeOf(V).getNumElements()), 1.0);
}

Value Turner::turnedWeight(Stored From, ArrayRef<int64_t> Perm,
                           SymbolicTensorType To) {
  WeightOp Weight = From.Weight;
  OpBuilder B(Weight);
  SmallVector<Attribute> Recipe(Weight.getRecipe().getValue());
  if (From.Reshape)
    Recipe.push_back(From.Reshape);
  Recipe.push_back(B.getDictionaryAttr(
      B.getNamedAttr("transpose", B.getDenseI64ArrayAttr(Perm))));
  return WeightOp::create(B, Weight.getLoc(), To, Weight.getSource(),
                          B.getArrayAttr(Recipe));
}

Value Turner::turnedCopy(Value V, ArrayRef<int64_t> Perm,
                         SymbolicTensorType To) {
  OpBuilder B(V.getContext());
  Value &Copy = Copies[{V, B.getDenseI64ArrayAttr(Perm)}];
  if (Copy)
    return Copy;
  B.setInsertionPointAfterValue(V);
  StringRef Name = "input";
  if (auto Argument = dyn_cast<BlockArgument>(V)) {
    if (auto Given = Main.getArgAttrOfType<StringAttr>(Argument.getArgNumber(),
                                                       "graph.name"))
      Name = Given.getValue();
  } else if (auto From = V.getDefiningOp<RegionOp>()) {
    Name = From.getName();
  }
  auto Region = RegionOp::create(B, V.getLoc(), To, (Name + "_k_major").str(),
                                 ValueRange{V});
  Copy = Region.getOutputs()[0];
  Block *Body =
      B.createBlock(&Region.getBody(), {}, {V.getType()}, {V.getLoc()});
  Value Turned = TransposeOp::create(B, V.getLoc(), Body->getArgument(0), Perm);
  YieldOp::create(B, V.getLoc(), Turned);
  return Copy;
}

void Turner::turn(RegionOp Region, OpOperand &Read, bool MayCopy) {
  std::optional<OwnArgument> Own = ownArgument(Read.get());
  if (!Own || !isKMajor(typeOf(Own->Argument).getElementType()))
    return;
  std::optional<SmallVector<int64_t>> Order = wantedOrder(Read, Facts);
  if (!Order)
    return;
  SmallVector<int64_t> Perm =
      llvm::map_to_vector(*Order, [&](int64_t Dim) { return Own->Perm[Dim]; });
  // Whether K, the last of `Perm`, is the last in memory already.
  if (Perm.back() == int64_t(Perm.size()) - 1)
    return;
  SymbolicTensorType Ty = typeOf(Read.get());
  SymbolicTensorType To = Ty.withDims(llvm::map_to_vector(
      *Order, [&](int64_t Dim) { return Ty.getDims()[Dim]; }));
  OpOperand &Input = Region.getInputsMutable()[Own->Argument.getArgNumber()];
  Value From = Input.get();
  if (Stored Lies = storedWeight(From); Lies.Weight) {
    Input.set(turnedWeight(Lies, Perm, To));
    if (Lies.Reshape && From.use_empty())
      From.getDefiningOp()->erase();
    if (Lies.Weight.use_empty())
      Lies.Weight.erase();
  } else if (MayCopy && pays(From, Read.getOwner())) {
    Input.set(turnedCopy(From, Perm, To));
  } else {
    return;
  }
  Own->Argument.setType(To);
  OpBuilder B(Read.getOwner());
  Value Before = Read.get();
  Read.set(TransposeOp::create(B, Read.getOwner()->getLoc(), Own->Argument,
                               invertPermutationVector(*Order)));
  // What is read no more would have types of the argument as it was.
  while (auto Turn = Before.getDefiningOp<TransposeOp>()) {
    Before = Turn.getX();
    Turn.erase();
  }
}

bool multipliesCodes(Operation *Op) {
  return isCode(typeOf(Op->getOperand(0)).getElementType());
}

struct KMajorOperandsPass
    : graph::impl::KMajorOperandsBase<KMajorOperandsPass> {
  using KMajorOperandsBase::KMajorOperandsBase;

  void runOnOperation() override {
    func::FuncOp Main = getOperation();
    if (!isGraphFunction(Main))
      return;
    FailureOr<NodePatterns> Kept = NodePatterns::read(Keep, Main);
    if (failed(Kept))
      return signalPassFailure();
    shape::Facts Facts = symbolFacts(Main->getParentOfType<ModuleOp>());
    Turner Turns(Main, Facts, LeastUses, Tf32);
    SmallVector<Operation *> Readers;
    Main.walk([&](RegionOp Region) {
      for (Operation &Op : Region.getBody().front())
        if (isa<MatmulOp, ConvOp>(Op) &&
            (Wgmma || !isa<ConvOp>(Op) || multipliesCodes(&Op)) &&
            (multipliesCodes(&Op) || !Kept->match(&Op)))
          Readers.push_back(&Op);
    });
    for (Operation *Op : Readers)
      for (unsigned Operand : {0, 1}) {
        OpOperand &Read = Op->getOpOperand(Operand);
        bool IsF32 = typeOf(Read.get()).getElementType().isF32();
        bool ForWgmma = Wgmma && !(Split && IsF32);
        if (isa<MatmulOp>(Op) ||
            (Operand == 1 && (ForWgmma || multipliesCodes(Op))))
          Turns.turn(cast<RegionOp>(Op->getParentOp()), Read,
                     /*MayCopy=*/ForWgmma || multipliesCodes(Op));
      }
  }
};

} // namespace
