//===- FoldConstants.cpp - Computes constants when compiling --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/fold/FoldConstants.h"
#include "compiler/TextModel.h"
#include "compiler/artifact/PlanToContents.h"
#include "compiler/fold/RunContents.h"
#include "dialects/graph/Graph.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "passes/graph/ConstantValues.h"
#include "passes/graph/Passes.h"
#include "passes/graph/ScorePlaces.h"
#include "runtime/format/Sha256.h"
#include "llvm/ADT/SetVector.h"

using namespace kpc;
using namespace mlir;
using namespace kpc::graph;

namespace {

/// Most bytes that one folded value may take: more stays for run time.
constexpr int64_t MostBytes = int64_t(1) << 30;
/// A value may take so many bytes, or so many times those that it is made of:
/// one that repeats what is small is cheaper to compute than to read.
constexpr int64_t FreeBytes = int64_t(1) << 20, MostGrowth = 4;
/// The same for masks that are made of places (`iota`) and single numbers:
/// kernels that read them compute most of them as fast.
constexpr int64_t FreeBytesOfMasks = int64_t(64) << 10, MostNumbers = 1024;

/// Finds what can be computed now, and what of it is needed later.
class Frontier {
public:
  /// Values that are computed take `MostInAll` together: all are there at once.
  Frontier(func::FuncOp Main, uint64_t MostInAll) : Left(MostInAll) {
    for (Operation &Op : Main.getBody().front())
      if (isKnown(&Op)) {
        Known.insert(&Op);
        Left -= computedBytes(&Op);
        MadeOf[&Op] = bytesBehind(&Op);
      }
    for (Operation *Op : Known)
      for (Operation *User : Op->getUsers())
        if (!Known.contains(User))
          need(Op->getResult(0));
  }

  ArrayRef<Value> values() const { return Needed.getArrayRef(); }
  /// Whether something is left for the sake of memory alone.
  bool isCut() const { return Cut; }

  /// The ops behind the values, in order.
  SmallVector<Operation *> ops() const {
    DenseSet<Operation *> Reached;
    SmallVector<Operation *> Work;
    for (Value V : Needed)
      Work.push_back(V.getDefiningOp());
    while (!Work.empty()) {
      Operation *Op = Work.pop_back_val();
      if (!Reached.insert(Op).second)
        continue;
      for (Value Operand : Op->getOperands())
        Work.push_back(Operand.getDefiningOp());
    }
    SmallVector<Operation *> Ordered;
    for (Operation *Op : Known)
      if (Reached.contains(Op))
        Ordered.push_back(Op);
    return Ordered;
  }

private:
  bool isKnown(Operation *Op) {
    if (Op->getNumResults() != 1 || Op->getNumRegions() != 0)
      return false;
    auto Ty = dyn_cast<SymbolicTensorType>(Op->getResult(0).getType());
    if (!Ty || !Ty.hasStaticShape())
      return false;
    if (isa<ConstantOp, WeightOp>(Op))
      return true;
    if (readsSizes(Op))
      return false;
    // A user's code runs where the user runs it.
    if (isa<CustomOp>(Op))
      return false;
    // An artifact holds the codes of quantised weights, not their values.
    if (isa<DequantiseOp, DequantiseTilesOp, DequantiseBlocksOp>(Op))
      return false;
    std::optional<int64_t> Count = Ty.getNumElements().asConstant();
    if (!Count || *Count > MostBytes / elementBytes(Ty.getElementType()))
      return false;
    bool IsOfKnown = (Op->getNumOperands() != 0 || isa<IotaOp>(Op)) &&
                     llvm::all_of(Op->getOperands(), [&](Value Operand) {
                       return Known.contains(Operand.getDefiningOp());
                     });
    bool Fits = computedBytes(Op) <= Left;
    Cut |= IsOfKnown && !Fits;
    return IsOfKnown && Fits;
  }

  /// What there is already takes nothing, and what only repeats or renames it
  /// is part of other kernels.
  static uint64_t computedBytes(Operation *Op) {
    return isa<ConstantOp, WeightOp, BroadcastOp, ReshapeOp>(Op)
               ? 0
               : bytesOf(Op->getResult(0));
  }

  static int64_t bytesOf(Value V) {
    std::optional<int64_t> Count = typeOf(V).getNumElements().asConstant();
    return Count.value_or(0) * elementBytes(typeOf(V).getElementType());
  }

  /// Bytes that a known value is computed from.
  int64_t bytesBehind(Operation *Op) const {
    int64_t Own = bytesOf(Op->getResult(0)), Sum = 0;
    if (auto Constant = dyn_cast<ConstantOp>(Op)) {
      auto Elements = dyn_cast<DenseElementsAttr>(Constant.getValue());
      return Elements && Elements.isSplat() ? std::min<int64_t>(Own, 8) : Own;
    }
    if (isa<WeightOp>(Op))
      return Own;
    if (isa<IotaOp>(Op))
      return 0;
    for (Value Operand : Op->getOperands())
      Sum = std::min(Sum + MadeOf.lookup(Operand.getDefiningOp()), Own);
    return Sum;
  }

  /// What repeats or only renames something is not worth storing; what it is
  /// made of may be.
  void need(Value V) {
    Operation *Op = V.getDefiningOp();
    if (isa<WeightOp>(Op) || !Asked.insert(Op).second)
      return;
    // Kernels of few rows copy scales from memory, be they all the same.
    bool IsCopied = llvm::any_of(Op->getUsers(), [](Operation *User) {
      return isa<DequantiseTilesOp>(User);
    });
    if (IsCopied)
      Needed.insert(V);
    if (IsCopied || isa<ConstantOp>(Op))
      return;
    int64_t Bytes = bytesOf(V);
    int64_t Behind = MadeOf.lookup(Op);
    bool IsMask = typeOf(V).getElementType().isInteger(1);
    bool Grows = Bytes > (IsMask && Behind < MostNumbers ? FreeBytesOfMasks
                                                         : FreeBytes) &&
                 Bytes / MostGrowth > Behind;
    // Attention in a window skips what it computes, not what it reads.
    Grows |= isMaskOfPlaces(Op);
    if (!Grows && !isa<BroadcastOp, IotaOp, ReshapeOp, UnpackOp>(Op)) {
      Needed.insert(V);
      return;
    }
    for (Value Operand : Op->getOperands())
      need(Operand);
  }

  uint64_t Left; ///< bytes that may still be computed
  bool Cut = false;
  llvm::SetVector<Operation *> Known;
  DenseMap<Operation *, int64_t> MadeOf; ///< bytes
  DenseSet<Operation *> Asked;
  llvm::SetVector<Value> Needed;
};

/// A module whose @main computes the values from constants.
OwningOpRef<ModuleOp> moduleOf(const Frontier &F, Location Loc) {
  auto Module = ModuleOp::create(Loc);
  OpBuilder B = OpBuilder::atBlockEnd(Module.getBody());
  auto Types =
      llvm::map_to_vector(F.values(), [](Value V) { return V.getType(); });
  auto Main =
      func::FuncOp::create(B, Loc, "main", B.getFunctionType({}, Types));
  B.setInsertionPointToStart(Main.addEntryBlock());
  IRMapping Map;
  for (Operation *Op : F.ops())
    B.clone(*Op, Map);
  func::ReturnOp::create(B, Loc, llvm::map_to_vector(F.values(), [&](Value V) {
                           return Map.lookup(V);
                         }));
  return Module;
}

LogicalResult lowerToPlan(ModuleOp Module) {
  PassManager Passes(Module.getContext());
  Passes.addNestedPass<func::FuncOp>(createFoldRecipes());
  Passes.addNestedPass<func::FuncOp>(createFormRegions());
  Passes.addPass(createLowerRegions());
  return Passes.run(Module);
}

std::string elementName(Type Element) {
  std::string Text;
  llvm::raw_string_ostream(Text) << Element;
  return Text;
}

} // namespace

std::string kpc::addComputed(SymbolicTensorType Ty, std::vector<uint8_t> Bytes,
                             WeightStore &Weights) {
  Weight W;
  W.ElementType = elementName(Ty.getElementType());
  for (const shape::Expr &E : Ty.getDims())
    W.Dims.push_back(*E.asConstant());
  std::string Text = W.ElementType;
  for (uint64_t Dim : W.Dims)
    Text += "x" + std::to_string(Dim);
  format::Sha256 Hash;
  Hash.update(Text.data(), Text.size());
  Hash.update(Bytes.data(), Bytes.size());
  // 64 bits of SHA-256: no collision is expected among hundreds of values.
  std::string Digest = format::toHex(Hash.finish()).data();
  std::string Source = "folded#" + Digest.substr(0, 16);
  auto Kept = std::make_shared<std::vector<uint8_t>>(std::move(Bytes));
  W.Bytes = *Kept;
  W.Keep = Kept;
  Weights.add(Source, std::move(W));
  return Source;
}

/// The values that @main of `Constants` returns, as weights. `For` is what
/// errors are about.
FailureOr<std::vector<std::string>> ConstantFolding::compute(ModuleOp Constants,
                                                             ModuleOp For) {
  std::string Text = moduleText(Constants, /*Locations=*/false);
  if (auto Before = Known.find(Text); Before != Known.end())
    return Before->second;
  auto Main = Constants.lookupSymbol<func::FuncOp>("main");
  auto Types = llvm::to_vector(Main.getResultTypes());
  if (failed(lowerToPlan(Constants)))
    return failure();
  std::vector<TargetKernels> Targets(1);
  if (!Compile(Constants, Targets.front()))
    return failure();
  auto Refuse = [&](llvm::Error Why) {
    For.emitError("constants cannot be folded: ")
        << llvm::toString(std::move(Why));
    return failure();
  };
  auto Contents = planToContents(Weights, Targets, /*Strip=*/false);
  if (!Contents)
    return Refuse(Contents.takeError());
  auto Outputs = runContents(*Contents);
  if (!Outputs)
    return Refuse(Outputs.takeError());
  std::vector<std::string> Sources;
  for (auto [Ty, Bytes] : llvm::zip_equal(Types, *Outputs))
    Sources.push_back(
        addComputed(cast<SymbolicTensorType>(Ty), std::move(Bytes), Weights));
  Known.emplace(std::move(Text), Sources);
  return Sources;
}

LogicalResult ConstantFolding::run(ModuleOp Module) {
  auto Main = Module.lookupSymbol<func::FuncOp>("main");
  if (!Main)
    return success();
  // What does not fit beside the rest comes in the next round.
  while (true) {
    Frontier F(Main, MostBytes);
    if (F.values().empty())
      return success();
    OwningOpRef<ModuleOp> Constants = moduleOf(F, Module.getLoc());
    auto Sources = compute(*Constants, Module);
    if (failed(Sources))
      return failure();
    SmallVector<Operation *> Behind = F.ops();
    for (auto [V, Source] : llvm::zip_equal(F.values(), *Sources)) {
      Value Folded = V;
      OpBuilder B(Folded.getDefiningOp());
      Value New = WeightOp::create(B, Folded.getLoc(), typeOf(Folded), Source,
                                   B.getArrayAttr({}));
      Folded.replaceAllUsesWith(New);
    }
    for (Operation *Op : llvm::reverse(Behind))
      if (Op->use_empty())
        Op->erase();
    if (!F.isCut())
      return success();
  }
}
