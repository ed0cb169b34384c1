//===- FuseCachesIntoAttention.cpp - Rows appended where keys are read ----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %pk = graph.region "present_key"(%past_key, %k) { graph.concat … }
///   %pv = graph.region "present_value"(%past_value, %v) { graph.concat … }
///   %y = graph.region "attention"(%q, %pk, %pv) { graph.attention … }
///     →  %y, %pk, %pv = graph.region "…"(%q, %past_key, %k, %past_value, %v)
///
/// The kernel of an attention of few queries has all keys and values in shared
/// memory on their way to the products. It stores them from there, so that the
/// cache is read once, and no kernel only moves it.
///
/// Rows may also be replaced where only the run knows it, as in a buffer that
/// the caller shares between past and present:
///
///   graph.select %is_new, (graph.gather_elements %k, %at), %past_key
///
/// What makes %is_new, %at and the mask of positions is then part of the region
/// as well: a few integer operations for each row.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/FuseCachesIntoAttention.h"
#include "compiler/target/Target.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "passes/graph/CodeHeads.h"
#include "passes/graph/ConstantValues.h"
#include "passes/graph/GemmRegion.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/RegionRoles.h"
#include "passes/graph/TargetNames.h"
#include "passes/schedule/DecodeSchedule.h"

#include <array>

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_FUSECACHESINTOATTENTION
#include "passes/graph/FuseCachesIntoAttention.h.inc"
} // namespace kpc::graph

namespace {

/// Queries of all heads that share keys: with more of them the kernel reads
/// keys again so often that others are faster, whatever these store.
constexpr int64_t MostRows = 64;
/// Elements in 16 bytes.
constexpr int64_t PieceElements = 8;

/// A tensor in front of heads, and which of its dimensions each of theirs is.
struct Heads {
  Value V;
  std::array<int64_t, 4> Dims = {0, 1, 2, 3};
};

/// Follows what kernels of attention read through: other types of floats,
/// orders of heads and, with `Slices`, some of the heads.
Heads followed(Heads At, bool Slices) {
  while (Operation *Op = At.V.getDefiningOp()) {
    if (auto Turn = dyn_cast<TransposeOp>(Op); Turn && isOrderOfHeads(Op)) {
      for (int64_t &Dim : At.Dims)
        Dim = Turn.getPerm()[Dim];
    } else if (auto Slice = dyn_cast<SliceOp>(Op); Slice && Slices) {
      for (auto [D, Start, Step, From, To] : llvm::enumerate(
               Slice.getStart().getDims(), Slice.getStep(),
               typeOf(Slice.getX()).getDims(), typeOf(Slice.getY()).getDims()))
        if (Step != 1 || !Start.asConstant() ||
            (int64_t(D) != At.Dims[1] &&
             (Start != shape::Expr(0) || From != To)))
          return At;
    } else if (!isa<CastOp>(Op) ||
               !isFloat(typeOf(Op->getOperand(0)).getElementType())) {
      return At;
    }
    At.V = Op->getOperand(0);
  }
  return At;
}

/// A region that appends new rows to a cache for the argument of an attention.
struct Appends {
  RegionOp Region;
  BlockArgument Argument; ///< of the attention's region
  /// What puts a row of zeros before all of them for the attention alone: the
  /// sink of its softmax; null: nothing.
  RegionOp Lead = {};
};

/// The region's operand that `Op` puts a row of zeros before; null where it
/// does anything else.
Value afterZeros(RegionOp Region, const Heads &Of) {
  auto Join = Of.V.getDefiningOp<ConcatOp>();
  if (!Join || Join.getXs().size() != 2 ||
      int64_t(Join.getAxis()) != Of.Dims[2])
    return {};
  Value Zeros = Join.getXs()[0];
  if (auto Repeat = Zeros.getDefiningOp<BroadcastOp>())
    Zeros = Repeat.getX();
  auto Rest = dyn_cast<BlockArgument>(followed({Join.getXs()[1]}, false).V);
  bool IsZero =
      splatValue(Zeros) == 0 &&
      typeOf(Join.getXs()[0]).getDims()[Of.Dims[2]] == Expr(1) &&
      followed({Join.getXs()[1], Of.Dims}, /*Slices=*/false).Dims == Of.Dims;
  return IsZero && Rest ? Region.getInputs()[Rest.getArgNumber()] : Value();
}

/// Whether each row of `V` has one element for all columns, dimension
/// `Column`.
bool isSameForColumns(Value V, int64_t Column) {
  auto Repeat = V.getDefiningOp<BroadcastOp>();
  if (!Repeat)
    return false;
  ArrayRef<Expr> From = typeOf(Repeat.getX()).getDims();
  int64_t Missing = typeOf(V).getRank() - int64_t(From.size());
  return Column < Missing || From[Column - Missing] == Expr(1);
}

/// What rows are gathered from, each at an index of its own; null where `At` is
/// something else.
Value gatheredRows(const Heads &At) {
  Heads In = followed(At, /*Slices=*/false);
  auto Rows = In.V.getDefiningOp<GatherElementsOp>();
  return Rows && In.Dims == At.Dims && int64_t(Rows.getAxis()) == At.Dims[2] &&
                 isSameForColumns(Rows.getIndices(), At.Dims[3])
             ? Rows.getX()
             : Value();
}

/// The cache and its new rows, as `Of` joins them; empty where it does anything
/// else.
SmallVector<Value, 2> partsOf(const Heads &Of) {
  if (auto Join = Of.V.getDefiningOp<ConcatOp>())
    return Join.getXs().size() == 2 && int64_t(Join.getAxis()) == Of.Dims[2]
               ? SmallVector<Value, 2>(Join.getXs())
               : SmallVector<Value, 2>();
  auto Select = Of.V.getDefiningOp<SelectOp>();
  if (!Select || !isSameForColumns(Select.getCondition(), Of.Dims[3]))
    return {};
  for (auto [Fresh, Kept] : {std::pair(Select.getA(), Select.getB()),
                             std::pair(Select.getB(), Select.getA())})
    if (Value New = gatheredRows({Fresh, Of.Dims})) {
      Value Past = gatheredRows({Kept, Of.Dims});
      return {Past ? Past : Kept, New};
    }
  return {};
}

/// What writes the keys, or the values, that an attention reads; none where it
/// is anything but one cache and its new rows.
std::optional<Appends> appendsFor(RegionOp Reader, Value Operand) {
  Heads Of = followed({Operand}, /*Slices=*/false);
  auto Argument = dyn_cast<BlockArgument>(Of.V);
  if (!Argument || !Argument.hasOneUse())
    return std::nullopt;
  Value Read = Reader.getInputs()[Argument.getArgNumber()];
  auto From = Read.getDefiningOp<RegionOp>();
  if (!From || From.getNumResults() != 1 ||
      llvm::count(Reader.getInputs(), Read) != 1 ||
      From->getBlock() != Reader->getBlock())
    return std::nullopt;
  Of.V = From.getBody().front().getTerminator()->getOperand(0);
  Of = followed(Of, /*Slices=*/false);
  RegionOp Lead;
  if (Value Rest = afterZeros(From, Of); Rest && Read.hasOneUse()) {
    Lead = From;
    From = Rest.getDefiningOp<RegionOp>();
    if (!From || From.getNumResults() != 1 ||
        From->getBlock() != Reader->getBlock())
      return std::nullopt;
    Read = Rest;
    Of.V = From.getBody().front().getTerminator()->getOperand(0);
    Of = followed(Of, /*Slices=*/false);
  }
  SmallVector<Value, 2> Parts = partsOf(Of);
  Type Element = typeOf(Read).getElementType();
  for (Value Part : Parts) {
    Heads In = followed({Part, Of.Dims}, /*Slices=*/true);
    auto Source = dyn_cast<BlockArgument>(In.V);
    if (!Source || typeOf(Source).getElementType() != Element ||
        In.Dims[3] != 3)
      return std::nullopt;
  }
  return Parts.empty() ? std::nullopt
                       : std::optional(Appends{From, Argument, Lead});
}

/// Whether the kernel of an attention of `Keys` keys computes `V`, the one
/// result of a kernel, itself: places of rows, which of them count, and numbers
/// that these choose, made of what does not differ by key.
bool isOfPlaces(Value V, const Expr &Keys, unsigned Steps = 0) {
  constexpr unsigned MostSteps = 16;
  if (Steps > MostSteps)
    return false;
  bool IsWhole = isa<IntegerType>(typeOf(V).getElementType());
  auto IsSmall = [&](Value Input) {
    return isOfPlaces(Input, Keys, Steps + 1) ||
           !llvm::is_contained(typeOf(Input).getDims(), Keys);
  };
  if (auto View = V.getDefiningOp<ReshapeOp>())
    return isOfPlaces(View.getX(), Keys, Steps + 1);
  auto From = V.getDefiningOp<RegionOp>();
  return From && From.getNumResults() == 1 &&
         llvm::all_of(From.getInputs(), IsSmall) &&
         llvm::all_of(From.getBody().front().without_terminator(),
                      [&](Operation &Op) {
                        return isa<BroadcastOp, ConstantOp, IotaOp, ReshapeOp,
                                   SizesOp, CastOp, CompareOp, SelectOp>(Op) ||
                               (IsWhole && Op.hasTrait<ElementwiseTrait>());
                      });
}

/// The inputs of regions that become one.
class Inputs {
public:
  Inputs(OpBuilder &B, RegionMerger &Joiner, Expr Keys)
      : B(B), Joiner(Joiner), Keys(std::move(Keys)) {}

  /// What stands for `Input`: an argument, or what computes it.
  Value of(Value Input) {
    auto Found = Known.find(Input);
    if (Found != Known.end())
      return Found->second;
    Value Own = make(Input);
    Known[Input] = Own;
    return Own;
  }

private:
  Value make(Value Input) {
    if (!isOfPlaces(Input, Keys))
      return Joiner.argument(Input);
    if (auto View = Input.getDefiningOp<ReshapeOp>())
      return ReshapeOp::create(B, View.getLoc(), View.getType(),
                               of(View.getX()));
    auto From = Input.getDefiningOp<RegionOp>();
    IRMapping Map;
    Block &Body = From.getBody().front();
    for (auto [Each, Argument] :
         llvm::zip_equal(From.getInputs(), Body.getArguments()))
      Map.map(Argument, of(Each));
    for (Operation &Op : Body.without_terminator())
      B.clone(Op, Map);
    return Map.lookup(Body.getTerminator()->getOperand(0));
  }

  OpBuilder &B;
  RegionMerger &Joiner;
  Expr Keys;
  DenseMap<Value, Value> Known;
};

/// The attention of a region that is nothing else.
AttentionOp attentionOf(RegionOp Region) {
  auto All = Region.getBody().front().getOps<AttentionOp>();
  if (Region.getNumResults() != 1 || All.empty() ||
      std::next(All.begin()) != All.end())
    return {};
  return *All.begin();
}

struct FuseCachesIntoAttentionPass
    : graph::impl::FuseCachesIntoAttentionBase<FuseCachesIntoAttentionPass> {
  using FuseCachesIntoAttentionBase::FuseCachesIntoAttentionBase;

  void runOnOperation() override {
    func::FuncOp Main = getOperation();
    if (!isGraphFunction(Main) || !Main.getBody().hasOneBlock())
      return;
    auto All = targetsNamed(Targets, Main);
    if (failed(All))
      return signalPassFailure();
    shape::Facts Facts = symbolFacts(Main->getParentOfType<ModuleOp>());
    bool Changed = false;
    for (RegionOp Reader :
         llvm::to_vector(Main.getBody().front().getOps<RegionOp>())) {
      AttentionOp Op = attentionOf(Reader);
      if (!Op)
        continue;
      std::optional<Appends> Keys = appendsFor(Reader, Op.getK()),
                             Rest = appendsFor(Reader, Op.getV());
      if (!Keys || !Rest || Keys->Region == Rest->Region)
        continue;
      auto Named = remark::RemarkOpts::name("caches").category("fusion");
      if (StringRef Why = refusal(Op, Reader, {*Keys, *Rest}, Facts, *All);
          !Why.empty()) {
        remark::missed(Reader.getLoc(), Named)
            << "A kernel before the attention appends new keys and values "
               "to their caches, because " +
                   Why.str() + ".";
        continue;
      }
      fuse(Reader, {*Keys, *Rest});
      Changed = true;
    }
    // Those that made places of rows for one attention after another.
    if (Changed)
      for (Operation &Op :
           llvm::make_early_inc_range(llvm::reverse(Main.getBody().front())))
        if (isOpTriviallyDead(&Op))
          Op.erase();
  }

private:
  /// Why the kernel of the attention does not append; empty: it does.
  static StringRef refusal(AttentionOp Op, RegionOp Reader,
                           ArrayRef<Appends> Both, const shape::Facts &Facts,
                           ArrayRef<const target::Target *> Targets) {
    SymbolicTensorType Q = typeOf(Op.getQ()), V = typeOf(Op.getV());
    Type Element = typeOf(Reader.getOutputs()[0]).getElementType();
    if (Op->hasAttr(CodesAttr) || Op->hasAttr(ResultCodesAttr) ||
        !(Element.isF16() || Element.isBF16()))
      return "they or its result are not of 16 bits";
    for (const Appends &One : Both) {
      if (typeOf(One.Argument).getElementType() != Element)
        return "they are not of the type of its result";
      for (Operation *User : One.Region->getUsers())
        if (User != Reader && User != One.Lead && !isa<func::ReturnOp>(User))
          return "other kernels read them, too";
    }
    Heads Asked = followed({Op.getQ()}, /*Slices=*/true);
    if (typeOf(Asked.V).getElementType() != Element)
      return "queries are not of their type";
    std::optional<int64_t> HeadCount = Q.getStaticDim(1),
                           Groups = V.getStaticDim(1),
                           Depth = Q.getStaticDim(3), Width = V.getStaticDim(3);
    if (!HeadCount || !Groups || !Depth || !Width)
      return "its heads or their sizes are not known";
    if (*Depth % PieceElements || *Width % PieceElements)
      return "its heads are no multiple of 8 elements";
    // A grid of no query writes nothing, and the cache still has to be copied.
    if (Facts.range(Q.getDims()[2]).Min < 1)
      return "it may have no query. To fix: give the number of queries a range "
             "from 1 (--dim)";
    int64_t Each = *HeadCount / std::max<int64_t>(*Groups, 1);
    if (!hasFewQueries(Q.getDims()[2], Facts) ||
        Facts.range(Q.getDims()[2]).Max > MostRows / std::max<int64_t>(Each, 1))
      return "it may have more queries than a kernel of few reads its keys for "
             "at once: 64 of all heads that share keys. To fix: give the "
             "number of queries a range (--dim)";
    schedule::DecodeShape Shape;
    Shape.Rows = Each;
    Shape.Depth = *Depth;
    Shape.Width = *Width;
    Shape.Appends = true;
    if (!llvm::all_of(Targets, [&](const target::Target *T) {
          return !schedule::rankDecodeSchedules(Shape, *T).empty();
        }))
      return "the kernel of few queries has no schedule for such heads";
    return "";
  }

  /// Clones the region's ops; gives what it yields.
  static Value clone(RegionOp From, IRMapping &Map, OpBuilder &B) {
    Block &Body = From.getBody().front();
    for (Operation &Op : Body.without_terminator())
      B.clone(Op, Map);
    return Map.lookup(Body.getTerminator()->getOperand(0));
  }

  static void fuse(RegionOp Reader, ArrayRef<Appends> Both) {
    OpBuilder B(Reader);
    SmallVector<Location> Locs;
    SmallVector<Type> Types(Reader.getResultTypes());
    std::string Name;
    for (const Appends &One : Both) {
      RegionOp From = One.Region;
      Locs.push_back(From.getLoc());
      llvm::append_range(Types, From.getResultTypes());
      Name += From.getName().str() + "+";
    }
    Locs.push_back(Reader.getLoc());
    RegionMerger Joiner(B, B.getFusedLoc(Locs), Name + Reader.getName().str(),
                        Types);
    Inputs All(B, Joiner, typeOf(attentionOf(Reader).getK()).getDims()[2]);
    auto Arguments = [&](RegionOp From, IRMapping &Map) {
      for (auto [Input, Argument] :
           llvm::zip_equal(From.getInputs(), From.getBody().getArguments()))
        if (!Map.contains(Argument))
          Map.map(Argument, All.of(Input));
    };
    IRMapping Map;
    SmallVector<Value> Stored;
    for (const Appends &One : Both) {
      IRMapping Inner;
      Arguments(One.Region, Inner);
      Stored.push_back(clone(One.Region, Inner, B));
      Value Read = Stored.back();
      if (RegionOp Lead = One.Lead) {
        IRMapping Of;
        for (auto [Input, Argument] :
             llvm::zip_equal(Lead.getInputs(), Lead.getBody().getArguments()))
          if (Input.getDefiningOp() == One.Region)
            Of.map(Argument, Read);
        Arguments(Lead, Of);
        Read = clone(Lead, Of, B);
      }
      Map.map(One.Argument, Read);
    }
    Arguments(Reader, Map);
    SmallVector<Value> Yielded = {clone(Reader, Map, B)};
    llvm::append_range(Yielded, Stored);
    YieldOp::create(B, Reader.getLoc(), Yielded);
    RegionOp Whole = Joiner.finish();
    remark::passed(Whole.getLoc(),
                   remark::RemarkOpts::name("caches").category("fusion"))
        << "The kernel of an attention appends new keys and values to their "
           "caches.";
    Reader.getOutputs()[0].replaceAllUsesWith(Whole.getOutputs()[0]);
    Reader.erase();
    for (const Appends &One : Both)
      if (RegionOp Lead = One.Lead)
        Lead.erase();
    for (auto [One, New] :
         llvm::zip_equal(Both, Whole.getOutputs().drop_front())) {
      RegionOp From = One.Region;
      From.getOutputs()[0].replaceAllUsesWith(New);
      From.erase();
    }
  }
};

} // namespace
