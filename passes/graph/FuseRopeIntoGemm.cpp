//===- FuseRopeIntoGemm.cpp - RoPE in a GEMM's epilogue -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In:  a region of a product whose columns are heads, and one that turns some
///      of these (RopeRegion.h); others read those that are not turned.
/// Out: one region of both, the product in the loops of the heads.
///
///   %p = graph.region "qkv"(%x, %w)           %y = graph.region "qkv+rotary"
///   { matmul %x, %w }                                (%x, %w, %c, %s) {
///   %h = graph.reshape %p : …to <[b,s,48,2,32]>   %m = matmul %x, %w
///   %r = graph.region "rotary"(%h, %c, %s)        %h = graph.reshape %m : …
///   { heads 0 to 40: %h·c + exchanged(%h)·s }  →    to <[r,48,2,32]>
///   %q = graph.reshape %r                         %t = %h·c + exchanged(%h)·s
///   graph.region(%q, …)  // heads 0 to 40         select(head < 40, %t, %h) }
///   %v = graph.reshape %p                       %q = graph.reshape %y
///   graph.region(%v, …)  // heads 40 to 48      graph.region(%q, %q, …)
///
/// What the embedding read and wrote is not moved at all. Rows stay one
/// dimension, so that operands lie as they did; angles that are given by
/// position are picked by a row's remainder.
///
/// Behind set-precision, for targets with Tensor Cores, as fuse-gated-mlp
/// is.
///
//===----------------------------------------------------------------------===//

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/Remarks.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"
#include "passes/graph/RopeGemm.h"
#include "passes/graph/TargetNames.h"
#include "passes/schedule/GemmSchedule.h"
#include "passes/schedule/HopperCosts.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_FUSEROPEINTOGEMM
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// Columns of wgmma's widest tiles: a head is in one tile.
constexpr int64_t WidestTiles[] = {schedule::hopper::MaxN,
                                   schedule::hopper::MaxNOfThree};
/// Columns of a thread's own places in a tile's sums: halves are whole ones.
constexpr int64_t ThreadColumns = 8;

//===----------------------------------------------------------------------===//
// Those that read the heads
//===----------------------------------------------------------------------===//

/// The dimension of heads of a view `<[…, heads, depth]>`, which may have
/// others of size 1 behind the heads (one token of `[batch, heads, 1, depth]`);
/// none where it is no view of the `AsHeads`.
std::optional<int64_t> headsIn(ArrayRef<Expr> View, ArrayRef<Expr> AsHeads) {
  auto Larger = [](ArrayRef<Expr> Sizes) {
    return llvm::filter_to_vector(
        Sizes, [](const Expr &Size) { return Size != Expr(1); });
  };
  if (View == AsHeads)
    return int64_t(View.size()) - 2;
  const Expr &Heads = AsHeads[AsHeads.size() - 2];
  if (View.size() < 2 || Heads == Expr(1) || AsHeads.back() == Expr(1) ||
      View.back() != AsHeads.back() || Larger(View) != Larger(AsHeads))
    return std::nullopt;
  auto D = int64_t(View.size()) - 2;
  while (View[D] == Expr(1))
    --D;
  return View[D] == Heads ? std::optional(D) : std::nullopt;
}

/// Whether an argument of a region, whose dimension `D` is heads, is read at
/// others than the turned heads alone.
bool readsOtherHeads(Value V, int64_t D, const RopeRegion &Rope) {
  return llvm::all_of(V.getUsers(), [&](Operation *User) {
    if (isa<CastOp>(User))
      return readsOtherHeads(User->getResult(0), D, Rope);
    auto Slice = dyn_cast<SliceOp>(User);
    if (!Slice || Slice.getStep()[D] != 1)
      return false;
    std::optional<int64_t> First = Slice.getStart().getDims()[D].asConstant();
    std::optional<int64_t> Count = typeOf(Slice.getY()).getStaticDim(D);
    return First && Count &&
           (*First + *Count <= Rope.First ||
            *First >= Rope.First + Rope.Rotated);
  });
}

/// Whether all uses of a view are inputs of regions.
bool isReadByRegions(ReshapeOp View) {
  return llvm::all_of(View->getUsers(),
                      [](Operation *User) { return isa<RegionOp>(User); });
}

StringRef refusalOfUses(GemmRegion &Gemm, RopeRegion &Rope, ReshapeOp View,
                        const RopeSizes &Sizes) {
  StringRef Elsewhere = "the heads without RoPE are used elsewhere as well";
  auto HeadsOfView = [&](Operation *User,
                         int64_t Heads) -> std::optional<int64_t> {
    auto Other = dyn_cast<ReshapeOp>(User);
    if (!Other || !isReadByRegions(Other))
      return std::nullopt;
    return headsIn(typeOf(Other.getY()).getDims(), Sizes.asHeads(Heads));
  };
  if (!View->hasOneUse())
    return Elsewhere;
  for (Operation *User : Gemm.Region.getOutputs()[0].getUsers()) {
    if (User == View)
      continue;
    std::optional<int64_t> D = HeadsOfView(User, Rope.count());
    if (Rope.rotatesAll() || !D)
      return Elsewhere;
    for (OpOperand &Use : User->getUses())
      if (!readsOtherHeads(cast<RegionOp>(Use.getOwner())
                               .getBody()
                               .getArgument(Use.getOperandNumber()),
                           *D, Rope))
        return Elsewhere;
  }
  if (Rope.rotatesAll())
    return {};
  for (Operation *User : Rope.Region.getOutputs()[0].getUsers())
    if (!HeadsOfView(User, Rope.Rotated))
      return "its result is used by more than kernels that read heads";
  return {};
}

/// Whether `From` is made of what `Of` gives.
bool isMadeOf(ValueRange From, RegionOp Of) {
  SmallVector<Value> Worklist(From);
  DenseSet<Operation *> Seen;
  while (!Worklist.empty()) {
    Operation *Def = Worklist.pop_back_val().getDefiningOp();
    if (!Def || !Seen.insert(Def).second)
      continue;
    if (Def == Of)
      return true;
    Def->walk([&](Operation *Inner) {
      llvm::append_range(Worklist, Inner->getOperands());
    });
  }
  return false;
}

/// Makes the argument `V`, or what it is cast to, all heads where it was the
/// turned ones. `D` is its dimension of heads.
void readAmongAll(Value V, int64_t D, SymbolicTensorType All,
                  const RopeRegion &Rope) {
  SymbolicTensorType Part = typeOf(V);
  V.setType(Part.withDims(All.getDims()));
  for (OpOperand &Use : llvm::make_early_inc_range(V.getUses())) {
    Operation *User = Use.getOwner();
    SmallVector<Expr> Start(Part.getRank(), Expr(0));
    Start[D] = Expr(Rope.First);
    if (isa<CastOp>(User)) {
      readAmongAll(User->getResult(0), D, All, Rope);
      continue;
    }
    if (auto Slice = dyn_cast<SliceOp>(User)) {
      Start.assign(Slice.getStart().getDims().begin(),
                   Slice.getStart().getDims().end());
      Start[D] = Start[D] + Expr(Rope.First);
      Slice.setStartAttr(DimsAttr::get(V.getContext(), Start));
      continue;
    }
    OpBuilder B(User);
    Use.set(SliceOp::create(
        B, User->getLoc(), Part, V, DimsAttr::get(B.getContext(), Start),
        B.getDenseI64ArrayAttr(SmallVector<int64_t>(Part.getRank(), 1))));
  }
}

/// A kernel has each input once.
void joinInputs(RegionOp Region) {
  Block &Body = Region.getBody().front();
  for (unsigned I = Region.getInputs().size(); I-- > 1;) {
    Value Input = Region.getInputs()[I];
    auto Front = Region.getInputs().take_front(I);
    auto Known = llvm::find(Front, Input);
    if (Known == Front.end())
      continue;
    Body.getArgument(I).replaceAllUsesWith(
        Body.getArgument(Known - Front.begin()));
    Body.eraseArgument(I);
    Region.getInputsMutable().erase(I);
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

class RopeFuser {
public:
  RopeFuser(func::FuncOp Main, FusionCosts Costs, FusionCosts CostsOfCodes)
      : Body(Main.getBody().front()), Costs(std::move(Costs)),
        CostsOfCodes(std::move(CostsOfCodes)) {}

  void run() {
    for (RegionOp Region : llvm::to_vector(Body.getOps<RegionOp>()))
      if (std::optional<RopeRegion> Rope = RopeRegion::read(Region))
        fuse(*Rope);
    if (Changed)
      sortTopologically(&Body);
  }

private:
  void fuse(RopeRegion &Rope);
  std::string refusal(GemmRegion &Gemm, RopeRegion &Rope, ReshapeOp View,
                      const RopeSizes &Sizes) const;
  const FusionCosts &costsOf(const GemmRegion &Gemm) const {
    return Gemm.Tiles ? CostsOfCodes : Costs;
  }
  bool holdsHeads(GemmRegion &Gemm, int64_t Half) const;
  void replace(GemmRegion &Gemm, RopeRegion &Rope, const RopeSizes &Sizes);

  Block &Body;
  FusionCosts Costs, CostsOfCodes;
  bool Changed = false;
};

void RopeFuser::fuse(RopeRegion &Rope) {
  auto View =
      Rope.Region.getInputs()[Rope.X.getArgNumber()].getDefiningOp<ReshapeOp>();
  auto Region = View ? View.getX().getDefiningOp<RegionOp>() : RegionOp();
  std::optional<GemmRegion> Gemm =
      Region ? GemmRegion::readAny(Region) : std::nullopt;
  std::optional<RopeSizes> Sizes =
      Gemm ? RopeSizes::of(Rope, typeOf(Region.getOutputs()[0])) : std::nullopt;
  Location Loc = Rope.Region.getLoc();
  auto Options = remark::RemarkOpts::name("rotary").category("recognition");
  if (Region && !Gemm && !Region.getBody().getOps<MatmulOp>().empty())
    remark::missed(Loc, Options)
        << "RoPE is not fused into its GEMM: that kernel reads an operand in "
           "another order, or does more than elementwise work after it.";
  if (!Sizes)
    return;
  std::string Why = refusal(*Gemm, Rope, View, *Sizes);
  if (Why.empty()) {
    std::string Heads = std::to_string(Rope.Rotated) + " heads of " +
                        std::to_string(2 * Rope.half());
    replace(*Gemm, Rope, *Sizes);
    remark::passed(Loc, Options)
        << "RoPE of " + Heads + " is fused into its GEMM's epilogue.";
    return;
  }
  remark::missed(Loc, Options)
      << "RoPE is not fused into its GEMM: " + Why + ".";
}

/// Whether tiles of the GEMM have whole heads.
bool RopeFuser::holdsHeads(GemmRegion &Gemm, int64_t Half) const {
  if (const FusionCosts &Asked = costsOf(Gemm); Asked.isAsked())
    return Asked.holdHeads(Gemm.size(), Half);
  return llvm::any_of(WidestTiles,
                      [&](int64_t Tile) { return Tile % (2 * Half) == 0; });
}

std::string RopeFuser::refusal(GemmRegion &Gemm, RopeRegion &Rope,
                               ReshapeOp View, const RopeSizes &Sizes) const {
  if (StringRef Operands = Gemm.refusal(); !Operands.empty())
    return Operands.str();
  int64_t Half = Rope.distance();
  if (!Rope.Interleaved && (Half < 1 || Half % ThreadColumns))
    return "half a head is not a multiple of 8 elements";
  if (Half > schedule::MaxRotateHalf)
    return "its heads have more than 128 elements";
  // A column's place in its head would be a division: 88 to 1916 bytes a thread
  // spill (ptxas 13.0).
  if (Rope.Interleaved && !llvm::isPowerOf2_64(uint64_t(Rope.half())))
    return "it is interleaved, and its heads are no power of two";
  if (!holdsHeads(Gemm, Half))
    return "no tile of the GEMM holds whole heads";
  if (typeOf(Gemm.Region.getOutputs()[0]).getElementType() !=
      typeOf(Rope.Region.getOutputs()[0]).getElementType())
    return "its result has another type than the GEMM's";
  if (StringRef Why = refusalOfRope(Gemm, Rope, Sizes); !Why.empty())
    return Why.str();
  if (StringRef Why = refusalOfUses(Gemm, Rope, View, Sizes); !Why.empty())
    return Why.str();
  SmallVector<Value> Others(Rope.Region.getInputs());
  Others.erase(Others.begin() + Rope.X.getArgNumber());
  if (isMadeOf(Others, Gemm.Region))
    return "its angles depend on the GEMM's result";
  if (auto Slower = costsOf(Gemm).whereRopeIsSlower(Gemm.size(), Half))
    return "one kernel is no faster" + Slower->str();
  return {};
}

void RopeFuser::replace(GemmRegion &Gemm, RopeRegion &Rope,
                        const RopeSizes &Sizes) {
  Changed = true;
  Value Result = writeRopeGemm(Gemm, Rope, Sizes).getOutputs()[0];
  OpBuilder B(Rope.Region);
  auto SeenAs = [&](ArrayRef<Expr> Dims) -> Value {
    return B.createOrFold<ReshapeOp>(Rope.Region.getLoc(),
                                     typeOf(Result).withDims(Dims), Result);
  };
  Value Old = Rope.Region.getOutputs()[0], Before = Gemm.Region.getOutputs()[0];
  if (Rope.rotatesAll()) {
    Old.replaceAllUsesWith(SeenAs(typeOf(Old).getDims()));
  } else {
    llvm::SetVector<RegionOp> Readers;
    DenseMap<Type, Value> AllAs; ///< a kernel has each input once
    for (Value Heads : {Old, Before})
      for (Operation *View : llvm::to_vector(Heads.getUsers())) {
        if (View ==
            Rope.Region->getOperand(Rope.X.getArgNumber()).getDefiningOp())
          continue;
        SmallVector<Expr> Dims(typeOf(View->getResult(0)).getDims());
        int64_t Count = Heads == Old ? Rope.Rotated : Rope.count();
        int64_t D = headsIn(Dims, Sizes.asHeads(Count))
                        .value_or(int64_t(Dims.size()) - 2);
        Dims[D] = Expr(Rope.count());
        auto [Known, IsNew] =
            AllAs.try_emplace(typeOf(Result).withDims(Dims), Value());
        if (IsNew)
          Known->second = SeenAs(Dims);
        Value All = Known->second;
        for (OpOperand &Use : View->getUses()) {
          auto Reader = cast<RegionOp>(Use.getOwner());
          Readers.insert(Reader);
          if (Heads == Old)
            readAmongAll(Reader.getBody().getArgument(Use.getOperandNumber()),
                         D, typeOf(All), Rope);
        }
        View->replaceAllUsesWith(ValueRange{All});
        View->erase();
      }
    llvm::for_each(Readers, joinInputs);
  }
  Operation *View =
      Rope.Region.getInputs()[Rope.X.getArgNumber()].getDefiningOp();
  Rope.Region.erase();
  View->erase();
  Gemm.Region.erase();
}

struct FuseRopeIntoGemmPass
    : graph::impl::FuseRopeIntoGemmBase<FuseRopeIntoGemmPass> {
  using FuseRopeIntoGemmBase::FuseRopeIntoGemmBase;
  void runOnOperation() override {
    func::FuncOp Main = getOperation();
    if (!isGraphFunction(Main) || !Main.getBody().hasOneBlock())
      return;
    auto All = targetsNamed(Targets, Main),
         OfCodes =
             targetsNamed(CodeTargets.empty() ? Targets : CodeTargets, Main);
    if (failed(All) || failed(OfCodes))
      return signalPassFailure();
    shape::Facts Facts = symbolFacts(Main->getParentOfType<ModuleOp>());
    RopeFuser(Main, FusionCosts(*All, Facts), FusionCosts(*OfCodes, Facts))
        .run();
  }
};

} // namespace
