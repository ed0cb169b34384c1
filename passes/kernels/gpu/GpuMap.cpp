//===- GpuMap.cpp - Elementwise kernels on a GPU --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Every output element is pulled by itself. A thread computes a few
/// neighbours, which it loads and stores as one vector where the memory allows,
/// as wide as the chip's widest access. If rows of the output begin anywhere, a
/// thread instead computes a few elements at distances of a warp: lanes store
/// neighbouring elements, and several loads are in flight. If there is one
/// output shape, each thread computes one such group. If there are several, all
/// threads walk all of them.
///
/// A KV cache in which rows are replaced may be updated in place (see
/// docs/dialects/plan.md). Threads of unchanged elements then do nothing.
///
/// This builder takes every kernel, gathers and small reductions included.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/AccessMaps.h"
#include "passes/kernels/form/OutputSections.h"
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/GpuThreads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace kpc::kernels {

namespace {

constexpr int32_t BlockThreads = 256;
/// Elements of an output about whose size nothing is known.
constexpr int64_t UnknownSize = 1 << 20;
/// Threads per SM that hide the latency of memory; fewer: narrower groups.
constexpr int64_t BusyThreads = 512;

/// Elements of a thread that are a warp apart.
constexpr int64_t MostSpread = 8;
constexpr int64_t WarpThreads = 32;
/// Vectors of a row that has a shorter one at its end: less is wasted.
constexpr int64_t LeastVectors = 4;

/// A section with the number of neighbours one thread does, or of elements that
/// are a warp apart.
struct Groups {
  const OutputSection &S;
  unsigned Lanes = 1;
  unsigned Spread = 1;

  /// The last run's size is a multiple of Lanes.
  bool isExact() const {
    if (S.Runs.empty())
      return true;
    return powerOfTwoDivisor(S.runSizes(S.Runs.size() - 1)) % Lanes == 0;
  }
  SmallVector<OpFoldResult> allSizes() const {
    SmallVector<OpFoldResult> All;
    for (unsigned Run = 0; Run < S.Runs.size(); ++Run)
      llvm::append_range(All, S.runSizes(Run));
    return All;
  }
  /// Elements of the last run in the groups of a warp, or in one group.
  int64_t step() const { return Spread > 1 ? Spread * WarpThreads : Lanes; }
  /// Rows end with a group that is not whole: groups are counted by rows.
  bool isRagged() const { return !S.isFlat() && (Spread > 1 || !isExact()); }
  /// The number of groups, as text.
  std::string count() const {
    std::optional<shape::Expr> All = productExpr(allSizes());
    if (!isRagged())
      return All ? All->ceilDiv(shape::Expr(int64_t(Lanes))).str()
                 : std::string();
    std::optional<shape::Expr> Row = productExpr(S.runSizes(S.Runs.size() - 1));
    std::optional<shape::Expr> Outer = productExpr(S.unitSizes());
    if (!Row || !Outer)
      return std::string();
    shape::Expr Each = Row->ceilDiv(shape::Expr(step()));
    if (Spread > 1)
      Each = Each * shape::Expr(WarpThreads);
    return (*Outer * Each).str();
  }
  std::string str() const {
    if (Spread > 1)
      return "map x" + std::to_string(Spread) + " spread";
    return "map x" + std::to_string(Lanes) + (isRagged() ? " ragged" : "");
  }
};

/// Whether an element takes loops to compute, beside those of a reduction.
bool hasLoops(const FusedKernel &Form) {
  func::FuncOp Func = Form.Func;
  return Func
      .walk([](Operation *Op) {
        return isa<scf::ForOp, scf::WhileOp>(Op) ? WalkResult::interrupt()
                                                 : WalkResult::advance();
      })
      .wasInterrupted();
}

Groups chooseGroups(const OutputSection &S, const FusedKernel &Form,
                    const target::Target &T) {
  // Lanes of a reduction or a search would each have a loop of their own.
  if (S.Runs.empty() || Form.Root || hasLoops(Form))
    return {S};
  const auto &Last = S.Runs.back();
  Groups G{S, storeLanesOf(S.Outputs, Last.back(), Last, T.Can.WidestAccess)};
  int64_t Row = typicalProduct(S.runSizes(S.Runs.size() - 1), /*Unknown=*/1);
  if (!S.isFlat())
    while (G.Lanes > 1 && !G.isExact() && Row < LeastVectors * G.Lanes)
      G.Lanes /= 2;
  int64_t Elements = typicalProduct(G.allSizes(), UnknownSize);
  auto IsBusy = [&](int64_t Each) {
    return Elements / Each >= T.Cost.SmCount * BusyThreads;
  };
  while (G.Lanes > 1 && !IsBusy(G.Lanes))
    G.Lanes /= 2;
  if (G.Lanes > 1 || S.isFlat())
    return G;
  // Of the lanes of a row's warps at most a quarter idles.
  for (int64_t Spread = MostSpread; Spread > 1; Spread /= 2) {
    int64_t Step = Spread * WarpThreads;
    if (IsBusy(Spread) && (Row + Step - 1) / Step * Step * 3 <= Row * 4) {
      G.Spread = Spread;
      break;
    }
  }
  return G;
}

/// An output each of whose elements is new or an input's own.
struct Replaced {
  Value IsNew; ///< a tensor of i1; of the kept elements if `Negated`
  bool Negated;
  Value Kept; ///< the input's memref
};

/// The input behind what one operation, of `Ops`, makes of its elements.
template <typename... Ops> Value throughElementwise(Value Tensor) {
  auto Map = Tensor.getDefiningOp<linalg::GenericOp>();
  if (!Map || Map.getNumLoops() != Map.getNumParallelLoops() ||
      Map.getNumDpsInputs() != 1 ||
      !llvm::all_of(Map.getIndexingMapsArray(),
                    [](AffineMap Of) { return Of.isIdentity(); }))
    return {};
  Operation &First = Map.getBody()->front();
  if (!isa<Ops...>(First) ||
      First.getOperand(0) != Map.getBody()->getArgument(0) ||
      Map.getBody()->getTerminator()->getOperand(0) != First.getResult(0))
    return {};
  return Map.getDpsInputs().front();
}

bool areSameView(Value A, Value B) {
  auto X = A.getDefiningOp<memref::ReinterpretCastOp>(),
       Y = B.getDefiningOp<memref::ReinterpretCastOp>();
  return X && Y && X.getType() == Y.getType() &&
         X.getMixedSizes() == Y.getMixedSizes() &&
         X.getMixedStrides() == Y.getMixedStrides() &&
         X.getMixedOffsets() == Y.getMixedOffsets();
}

/// Finds `select(is new, new, x)` whose condition is one for each row. None
/// where it is something else.
std::optional<Replaced> replacedBy(const OutputSection &S,
                                   const KernelOutput &Output) {
  Value Tensor = Output.Tensor;
  if (Value Wide = throughElementwise<arith::TruncFOp>(Tensor))
    Tensor = Wide;
  auto Map = Tensor.getDefiningOp<linalg::GenericOp>();
  if (!Map || Map.getNumReductionLoops() > 0 ||
      !llvm::hasNItems(*Map.getBody(), 2))
    return std::nullopt;
  auto Select = dyn_cast<arith::SelectOp>(Map.getBody()->front());
  auto Yield = cast<linalg::YieldOp>(Map.getBody()->getTerminator());
  if (!Select || Yield.getOperand(0) != Select.getResult())
    return std::nullopt;
  auto InputOf = [&](Value Of) -> Value {
    auto Argument = dyn_cast<BlockArgument>(Of);
    if (!Argument || Argument.getOwner() != Map.getBody() ||
        Argument.getArgNumber() >= unsigned(Map.getNumDpsInputs()))
      return {};
    OpOperand *Operand = Map.getMatchingOpOperand(Argument);
    return Map.getMatchingIndexingMap(Operand).isIdentity() ? Operand->get()
                                                            : Value();
  };
  unsigned Last = S.Sizes.size() - 1;
  Value IsNew = InputOf(Select.getCondition());
  if (!IsNew)
    return std::nullopt;
  AccessMaps Condition = accessesOf(IsNew);
  if (Condition.Opaque[Last] ||
      llvm::any_of(Condition.Accesses, [&](const Access &Of) {
        return Of.Map.isFunctionOfDim(Last);
      }))
    return std::nullopt;
  for (bool Negated : {false, true}) {
    Value Kept =
        InputOf(Negated ? Select.getTrueValue() : Select.getFalseValue());
    if (!Kept)
      continue;
    if (Value Narrow = throughElementwise<arith::ExtFOp>(Kept))
      Kept = Narrow;
    Value View = viewOf(Kept);
    if (View && areSameView(View, Output.Memref))
      return Replaced{IsNew, Negated, View};
  }
  return std::nullopt;
}

/// That of each output; empty where one of them has none.
SmallVector<Replaced> replacedIn(const OutputSection &S) {
  SmallVector<Replaced> All;
  for (const KernelOutput &Output : S.Outputs) {
    std::optional<Replaced> One;
    if (!S.Sizes.empty())
      One = replacedBy(S, Output);
    if (!One)
      return {};
    All.push_back(*One);
  }
  return All;
}

class GpuMapNest {
public:
  GpuMapNest(GpuWriter &W, const Groups &G)
      : W(W), G(G), S(G.S), InPlace(replacedIn(G.S)) {}

  /// The number of groups as a value.
  Value count() {
    if (!G.isRagged())
      return W.ceilDiv(W.size(G.allSizes()), G.Lanes);
    Value Each = W.ceilDiv(W.size(lastRun()), G.step());
    if (G.Spread > 1)
      Each = W.mul(Each, W.index(WarpThreads));
    return W.mul(W.size(S.unitSizes()), Each);
  }

  /// One group; `Group` is less than count().
  LogicalResult emit(Value Group) {
    Base.assign(S.Sizes.size(), W.index(0));
    if (S.Runs.empty()) {
      store({});
    } else if (S.isFlat()) {
      Value First = W.mul(Group, W.index(G.Lanes));
      Base[S.Runs.back().back()] = First;
      flat(First);
    } else {
      rows(Group);
    }
    return Result;
  }

private:
  SmallVector<OpFoldResult> lastRun() const {
    return S.runSizes(S.Runs.size() - 1);
  }

  void flat(Value First) { vectorOrLess(First, W.size(G.allSizes())); }

  /// The lanes from `First` on that are less than `Size`.
  void vectorOrLess(Value First, Value Size) {
    if (G.isExact())
      return vector();
    Value End = W.add(First, W.index(G.Lanes));
    Value Whole =
        arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::sle, End, Size);
    W.when(
        Whole, [&] { vector(); },
        [&] {
          W.loop(First, Size, W.index(1), {}, [&](Value I, ValueRange) {
            store(I);
            return SmallVector<Value>();
          });
        });
  }

  void rows(Value Group) {
    // The sizes of the runs, the last one in groups.
    SmallVector<OpFoldResult> Sizes;
    for (unsigned Run = 0; Run < S.Runs.size(); ++Run) {
      Value Size = W.size(S.runSizes(Run));
      if (Run + 1 == S.Runs.size())
        Size = W.ceilDiv(Size, G.step());
      Sizes.push_back(Size);
    }
    std::optional<int64_t> Bound = 1;
    for (OpFoldResult Size : G.allSizes()) {
      auto Max = maxOf(Size);
      int64_t Product;
      Bound = Bound && Max && !__builtin_mul_overflow(*Bound, *Max, &Product)
                  ? std::optional(Product)
                  : std::nullopt;
    }
    Value Lane;
    if (G.Spread > 1) {
      Value Warp = W.index(WarpThreads);
      Lane = W.B.createOrFold<arith::RemUIOp>(W.Loc, Group, Warp);
      Group = W.B.createOrFold<arith::DivUIOp>(W.Loc, Group, Warp);
    }
    SmallVector<Value> At = W.split(Group, Sizes, Bound);
    for (unsigned Run = 0; Run < S.Runs.size(); ++Run)
      Base[S.Runs[Run].back()] = At[Run];
    Value &Last = Base[S.Runs.back().back()];
    Last = W.mul(Last, W.index(G.step()));
    if (Lane)
      spread(W.add(Last, Lane));
    else
      vectorOrLess(Last, W.size(lastRun()));
  }

  /// Elements a warp apart from `First` on. All are computed before one is
  /// stored: loads stay together. Beyond the row's end the last one is computed
  /// again and not stored.
  void spread(Value First) {
    Value Size = W.size(lastRun()), One = W.index(1);
    Value Last = W.B.createOrFold<arith::SubIOp>(W.Loc, Size, One);
    bool IsWhole =
        powerOfTwoDivisor(lastRun()) % int64_t(G.Spread * WarpThreads) == 0;
    SmallVector<SmallVector<Value>> Places, Elements;
    SmallVector<Value> Inside;
    for (unsigned I = 0; I < G.Spread; ++I) {
      Value Mine = W.add(First, W.index(I * WarpThreads));
      Inside.push_back(IsWhole ? Value() : W.less(Mine, Size));
      if (!IsWhole)
        Mine = arith::MinSIOp::create(W.B, W.Loc, Mine, Last);
      Places.emplace_back(Base);
      Places.back()[S.Runs.back().back()] = Mine;
      Elements.emplace_back();
      for (const KernelOutput &Out : S.Outputs) {
        Elements.back().push_back(
            W.Emitter.element(W.B, Out.Tensor, Places.back()));
        if (!Elements.back().back()) {
          Result = failure();
          return;
        }
      }
    }
    for (unsigned I = 0; I < G.Spread; ++I) {
      auto Store = [&] {
        for (auto [Out, V] : llvm::zip_equal(S.Outputs, Elements[I]))
          memref::StoreOp::create(W.B, W.Loc, V, Out.Memref, Places[I]);
      };
      if (Inside[I])
        W.when(Inside[I], Store);
      else
        Store();
    }
  }

  /// Whether the lanes of the group at Base have anything to do.
  Value hasWork() {
    Value Work;
    for (auto [Output, Of] : llvm::zip_equal(S.Outputs, InPlace)) {
      Value Here = hasWork(Output, Of);
      Work = Work ? arith::OrIOp::create(W.B, W.Loc, Work, Here) : Here;
    }
    return Work;
  }

  /// Whether they have any of one output: always where that is not where its
  /// kept elements are.
  Value hasWork(const KernelOutput &Output, const Replaced &Of) {
    auto Begin = [&](Value Memref) -> Value {
      return memref::ExtractAlignedPointerAsIndexOp::create(W.B, W.Loc, Memref);
    };
    Value Work = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::ne,
                                       Begin(Output.Memref), Begin(Of.Kept));
    unsigned Dim = S.Runs.back().back();
    for (unsigned L = 0; L < G.Lanes; ++L) {
      SmallVector<Value> At = Base;
      At[Dim] = W.add(At[Dim], W.index(L));
      Value IsNew = W.Emitter.element(W.B, Of.IsNew, At);
      if (!IsNew) {
        Result = failure();
        return Work;
      }
      if (Of.Negated)
        IsNew = arith::XOrIOp::create(
            W.B, W.Loc, IsNew,
            arith::ConstantOp::create(W.B, W.Loc, W.B.getBoolAttr(true)));
      Work = arith::OrIOp::create(W.B, W.Loc, Work, IsNew);
    }
    return Work;
  }

  void vector() {
    if (InPlace.empty())
      return vectorAtBase();
    W.when(hasWork(), [&] { vectorAtBase(); });
  }

  /// All lanes of the group at Base.
  void vectorAtBase() {
    unsigned Dim = S.Runs.back().back();
    LaneLoads Loads(W, G.Lanes);
    Loads.begin(Base[Dim]);
    for (const KernelOutput &Out : S.Outputs) {
      SmallVector<Value> Elements;
      for (unsigned L = 0; L < G.Lanes; ++L) {
        SmallVector<Value> At = Base;
        At[Dim] = Loads.at(L);
        Elements.push_back(W.Emitter.element(W.B, Out.Tensor, At));
        if (!Elements.back()) {
          Result = failure();
          Loads.end();
          return;
        }
      }
      storeLanes(W, Elements, Out.Memref, Base);
    }
    Loads.end();
  }

  /// One element, at `Last` of the last run.
  void store(Value Last) {
    SmallVector<Value> At = Base;
    if (Last)
      At[S.Runs.back().back()] = Last;
    for (const KernelOutput &Out : S.Outputs) {
      Value Element = W.Emitter.element(W.B, Out.Tensor, At);
      if (!Element) {
        Result = failure();
        return;
      }
      memref::StoreOp::create(W.B, W.Loc, Element, Out.Memref, At);
    }
  }

  GpuWriter &W;
  const Groups &G;
  const OutputSection &S;
  SmallVector<Replaced> InPlace; ///< of each output, or none
  SmallVector<Value> Base;
  LogicalResult Result = success();
};

} // namespace

/// Writes the kernel: each thread has groups of neighbouring elements.
static LogicalResult emitMap(FusedKernel &Form, ArrayRef<Groups> All) {
  GpuWriter W(Form);
  Value OfBlock = W.mul(W.block(), W.index(BlockThreads));
  Value Thread = W.add(OfBlock, W.thread());
  LogicalResult Result = success();
  if (All.size() == 1) {
    GpuMapNest Nest(W, All[0]);
    W.when(W.less(Thread, Nest.count()), [&] { Result = Nest.emit(Thread); });
  } else {
    Value Blocks = gpu::GridDimOp::create(W.B, W.Loc, gpu::Dimension::x);
    Value Threads = W.mul(Blocks, W.index(BlockThreads));
    for (const Groups &G : All) {
      GpuMapNest Nest(W, G);
      W.loop(Thread, Nest.count(), Threads, {}, [&](Value Group, ValueRange) {
        if (failed(Nest.emit(Group)))
          Result = failure();
        return SmallVector<Value>();
      });
    }
  }
  return Result;
}

FamilyAnswer queryGpuMap(FusedKernel &Form, const target::Target &T) {
  // The groups refer to the sections.
  auto Sections =
      std::make_shared<SmallVector<OutputSection>>(formSections(Form));
  auto All = std::make_shared<SmallVector<Groups>>();
  std::string Total;
  for (const OutputSection &S : *Sections) {
    All->push_back(chooseGroups(S, Form, T));
    std::string Count = All->back().count();
    if (Count.empty())
      return FamilyAnswer::refuse(RefusalKind::Size,
                                  "it has an output whose size is no "
                                  "expression over the kernel's size "
                                  "arguments");
    Total += (Total.empty() ? "" : " + ") + Count;
  }
  std::string Schedule =
      Sections->size() > 1 ? "map sections" : All->front().str();
  return FamilyAnswer::offer(
      Schedule, [&Form, Sections, All, Total](GpuLaunch &Launch) {
        Launch.Block = {BlockThreads, 1, 1};
        Launch.Grid[0] =
            "ceildiv(" + Total + ", " + std::to_string(BlockThreads) + ")";
        return emitMap(Form, *All);
      });
}

} // namespace kpc::kernels
