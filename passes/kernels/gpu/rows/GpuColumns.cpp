//===- GpuColumns.cpp - Rows that are columns of memory -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Softmax, norms and similar kernels (see RowKernel.h) over a dimension that
/// is not the last one, such as the channels of channels-first images.
/// Neighbouring threads have neighbouring columns, so that they read whole
/// lines. Groups of threads walk down the columns, and join their partial
/// results in shared memory:
///
///             32 threads x Lanes columns
///   group 0   r0 ───────────────────────    each reduction: all rows from
///   group 1   r1 ───────────────────────    memory, the first cache after the
///     …                                     first one; then groups in order
///   group 0   r8 ───────────────────────
///
/// Then all rows are read once more, for the results.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/GpuReduction.h"
#include "passes/kernels/gpu/rows/RowKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace kpc::kernels {

namespace {

constexpr int64_t LineThreads = 32; ///< side by side
/// Bytes of the smallest element's columns that a thread has.
constexpr int64_t ThreadBytes = 8;
/// Rows of a thread that are on the way at once.
constexpr int64_t Ahead = 4;
constexpr int64_t FewestGroups = 8, MostGroups = 32;
/// Sizes of which nothing is known.
constexpr int64_t UnknownSize = 1024;

struct ColumnSchedule {
  int64_t Lanes = 1, Groups = FewestGroups;

  int64_t columns() const { return LineThreads * Lanes; }
  std::string str() const {
    return "columns " + std::to_string(LineThreads) + " x " +
           std::to_string(Groups) + " threads x " + std::to_string(Lanes);
  }
};

/// The dimensions behind the row, of which all elements are columns.
ArrayRef<OpFoldResult> columnSizes(const RowKernel &K) {
  auto Behind = llvm::make_range(K.LoopOfDim.rbegin(), K.LoopOfDim.rend());
  auto InRow = llvm::find_if(
      Behind, [&](unsigned Loop) { return Loop >= K.OuterSizes.size(); });
  return ArrayRef(K.OuterSizes).take_back(InRow - Behind.begin());
}

/// Those in front of it, each of which has columns of its own.
ArrayRef<OpFoldResult> otherSizes(const RowKernel &K) {
  return ArrayRef(K.OuterSizes).drop_back(columnSizes(K).size());
}

class ColumnNest {
public:
  ColumnNest(GpuWriter &W, RowKernel &K, const ColumnSchedule &S)
      : W(W), K(K), S(S) {}

  LogicalResult emit();

private:
  using Values = SmallVector<Value>;
  /// A row, for all columns of the thread.
  struct Part {
    Value Row;
    Value Inside; ///< null: always
  };

  void placeThread();
  SmallVector<Part> partsFrom(Value Base);
  Values placeOf(const Part &P, Value Column);
  void fold(const RowReduction &R, const Part &P, MutableArrayRef<Values> Sums);
  void reduce(const RowReduction &R);
  void join(const RowReduction &R, MutableArrayRef<Values> Sums);
  void storeWide(const Part &P);
  void storeNarrow();
  void fail() { Result = failure(); }

  GpuWriter &W;
  RowKernel &K;
  ColumnSchedule S;
  Value Thread, Group, First, IsColumn, Length;
  Values Outer; ///< without the last, which lanes are along
  unsigned Lane = 0;
  /// Of each lane, the results of a reduction.
  llvm::DenseMap<Operation *, SmallVector<Values>> Known;
  LogicalResult Result = success();
};

void ColumnNest::placeThread() {
  Thread = W.thread(gpu::Dimension::x);
  Group = W.thread(gpu::Dimension::y);
  ArrayRef<OpFoldResult> Sizes = columnSizes(K);
  Value Width = W.size(Sizes);
  SmallVector<OpFoldResult> Blocks(otherSizes(K));
  Blocks.push_back(W.ceilDiv(Width, S.columns()));
  Outer = W.split(W.block(), Blocks);
  Value Column = W.add(W.mul(Outer.pop_back_val(), W.index(S.columns())),
                       W.mul(Thread, W.index(S.Lanes)));
  // Threads beyond the last column compute it again.
  IsColumn = W.less(Column, Width);
  Column = arith::MinSIOp::create(
      W.B, W.Loc, Column,
      W.B.createOrFold<arith::SubIOp>(W.Loc, Width, W.index(S.Lanes)));
  llvm::append_range(Outer, W.split(Column, Sizes, Reduction::boundOf(Sizes)));
  First = Outer.pop_back_val();
  Length = W.size(K.RowSizes);
  W.Emitter.setElementHook(
      [this](OpBuilder &, Location, Value Tensor, ValueRange) -> Value {
        auto It = Known.find(Tensor.getDefiningOp());
        if (It == Known.end())
          return {};
        return It->second[Lane][cast<OpResult>(Tensor).getResultNumber()];
      });
}

/// The rows of a thread from `Base` on, which is one of them.
SmallVector<ColumnNest::Part> ColumnNest::partsFrom(Value Base) {
  SmallVector<Part> Parts{{Base, {}}};
  Value Last = W.B.createOrFold<arith::SubIOp>(W.Loc, Length, W.index(1));
  for (int64_t A = 1; A < Ahead; ++A) {
    Value Row = W.add(Base, W.index(A * S.Groups));
    Value Inside = W.less(Row, Length);
    Parts.push_back({arith::MinSIOp::create(W.B, W.Loc, Row, Last), Inside});
  }
  return Parts;
}

/// An element's place, outer dimensions first.
ColumnNest::Values ColumnNest::placeOf(const Part &P, Value Column) {
  Values Place(Outer);
  Place.push_back(Column);
  llvm::append_range(
      Place, W.split(P.Row, K.RowSizes, Reduction::boundOf(K.RowSizes)));
  return Place;
}

void ColumnNest::fold(const RowReduction &R, const Part &P,
                      MutableArrayRef<Values> Sums) {
  LaneLoads Loads(W, S.Lanes);
  Loads.begin(First);
  Values Place = placeOf(P, First);
  for (Lane = 0; Lane < S.Lanes; ++Lane) {
    Place[Outer.size()] = Loads.at(Lane);
    Values Next;
    if (failed(W.Emitter.body(W.B, R.Op, Place, Sums[Lane], Next))) {
      fail();
      break;
    }
    for (auto [Sum, New] : llvm::zip_equal(Sums[Lane], Next))
      Sum = P.Inside
                ? Value(arith::SelectOp::create(W.B, W.Loc, P.Inside, New, Sum))
                : New;
  }
  Loads.end();
}

/// All threads of a column get the sum of the groups, in their order.
void ColumnNest::join(const RowReduction &R, MutableArrayRef<Values> Sums) {
  SmallVector<Value> Memory;
  auto Column = [&](unsigned L) {
    return W.add(W.index(L * LineThreads), Thread);
  };
  for (auto [Number, Combiner] : llvm::enumerate(R.Combiners)) {
    Memory.push_back(
        W.shared({S.Groups, S.columns()}, Combiner->getResult(0).getType()));
    for (unsigned L = 0; L < S.Lanes; ++L)
      memref::StoreOp::create(W.B, W.Loc, Sums[L][Number], Memory.back(),
                              ValueRange{Group, Column(L)});
  }
  W.barrier();
  for (auto [Number, Combiner] : llvm::enumerate(R.Combiners))
    for (unsigned L = 0; L < S.Lanes; ++L) {
      Value Sum;
      for (int64_t G = 0; G < S.Groups; ++G) {
        Value One = memref::LoadOp::create(W.B, W.Loc, Memory[Number],
                                           ValueRange{W.index(G), Column(L)});
        Sum = Sum ? combine(W, Combiner, Sum, One) : One;
      }
      Sums[L][Number] = Sum;
    }
}

void ColumnNest::reduce(const RowReduction &R) {
  size_t Count = R.Combiners.size();
  Values Start;
  for (int64_t L = 0; L < S.Lanes; ++L)
    for (Operation *Combiner : R.Combiners)
      Start.push_back(neutral(W, Combiner));
  auto OfLanes = [&](ValueRange All) {
    SmallVector<Values> Sums;
    for (int64_t L = 0; L < S.Lanes; ++L)
      Sums.emplace_back(All.slice(L * Count, Count));
    return Sums;
  };
  Values All = W.loop(Group, Length, W.index(S.Groups * Ahead), Start,
                      [&](Value Base, ValueRange Carried) {
                        SmallVector<Values> Sums = OfLanes(Carried);
                        for (const Part &P : partsFrom(Base))
                          fold(R, P, Sums);
                        Values Next;
                        for (const Values &OfLane : Sums)
                          llvm::append_range(Next, OfLane);
                        return Next;
                      });
  if (failed(Result))
    return;
  SmallVector<Values> Sums = OfLanes(All);
  join(R, Sums);
  linalg::LinalgOp Op = R.Op;
  Values Place(Outer);
  Place.emplace_back();
  for (Lane = 0; Lane < S.Lanes; ++Lane) {
    Place.back() = W.add(First, W.index(Lane));
    if (failed(combineInitial(W, Op, R.Combiners, Place, Sums[Lane])))
      return fail();
  }
  Known[Op] = std::move(Sums);
}

void ColumnNest::storeWide(const Part &P) {
  LaneLoads Loads(W, S.Lanes);
  Loads.begin(First);
  Values Place = placeOf(P, First);
  Values Start = K.inShape(ArrayRef<Value>(Place));
  SmallVector<Values> Elements(K.Wide.size());
  for (auto [Number, Out] : llvm::enumerate(K.Wide))
    for (Lane = 0; Lane < S.Lanes && succeeded(Result); ++Lane) {
      Place[Outer.size()] = Loads.at(Lane);
      Value V =
          W.Emitter.element(W.B, Out.Tensor, K.inShape(ArrayRef<Value>(Place)));
      Elements[Number].push_back(V);
      if (!V)
        fail();
    }
  Loads.end();
  if (failed(Result))
    return;
  W.when(P.Inside ? W.both(P.Inside, IsColumn) : IsColumn, [&] {
    for (auto [Out, Lanes] : llvm::zip_equal(K.Wide, Elements))
      storeLanes(W, Lanes, Out.Memref, Start);
  });
}

/// Of each column one element, which its first group stores.
void ColumnNest::storeNarrow() {
  if (K.Narrow.empty() || failed(Result))
    return;
  Value IsFirst = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq,
                                        Group, W.index(0));
  W.when(W.both(IsFirst, IsColumn), [&] {
    for (const KernelOutput &Out : K.Narrow)
      for (Lane = 0; Lane < S.Lanes; ++Lane) {
        Values Loops(Outer), Place;
        Loops.push_back(W.add(First, W.index(Lane)));
        for (std::optional<unsigned> Loop : K.loopsOfNarrow(Out))
          Place.push_back(Loop ? Loops[*Loop] : W.index(0));
        Value V = W.Emitter.element(W.B, Out.Tensor, Place);
        if (!V)
          return fail();
        memref::StoreOp::create(W.B, W.Loc, V, Out.Memref, Place);
      }
  });
}

LogicalResult ColumnNest::emit() {
  placeThread();
  for (const RowReduction &R : K.Reductions) {
    reduce(R);
    if (failed(Result))
      return Result;
  }
  if (!K.Wide.empty())
    W.loop(Group, Length, W.index(S.Groups * Ahead), {},
           [&](Value Base, ValueRange) {
             for (const Part &P : partsFrom(Base))
               storeWide(P);
             return Values();
           });
  storeNarrow();
  W.Emitter.setElementHook({});
  return Result;
}

/// Neighbours that a thread loads and stores as one vector.
int64_t lanesOf(const RowKernel &K) {
  int64_t Lanes = std::max<int64_t>(ThreadBytes / K.LeastBytes, 1);
  auto Divide = [&](OpFoldResult Size) {
    while (Lanes > 1 && divisorOf(Size) % Lanes)
      Lanes /= 2;
  };
  Divide(K.OuterSizes.back());
  for (Value View : K.WideViews) {
    auto Type = cast<MemRefType>(View.getType());
    SmallVector<int64_t> Strides;
    int64_t Offset;
    if (failed(Type.getStridesAndOffset(Strides, Offset)) || Strides.empty() ||
        Strides.back() != 1 || ShapedType::isDynamic(Offset) || Offset % Lanes)
      return 1;
    for (unsigned Dim = 0; Dim + 1 < Strides.size(); ++Dim)
      Divide(strideOf(View, Dim));
  }
  return Lanes;
}

ColumnSchedule chooseSchedule(const RowKernel &K, const target::Target &T) {
  ColumnSchedule S;
  S.Lanes = lanesOf(K);
  int64_t Others = typicalProduct(otherSizes(K), UnknownSize),
          Width = typicalProduct(columnSizes(K), UnknownSize),
          Length = typicalProduct(K.RowSizes, UnknownSize);
  auto Blocks = [&] { return Others * llvm::divideCeil(Width, S.columns()); };
  while (S.Lanes > 1 && int64_t(Blocks()) < 2 * T.Cost.SmCount)
    S.Lanes /= 2;
  while (S.Groups < MostGroups &&
         int64_t(Blocks()) * S.Groups < T.Cost.SmCount * 2 * FewestGroups &&
         Length >= 2 * S.Groups * Ahead)
    S.Groups *= 2;
  return S;
}

} // namespace

FamilyAnswer queryGpuColumns(FusedKernel &Form, const target::Target &T) {
  std::optional<RowKernel> Read = RowKernel::read(Form);
  if (!Read || (!Form.SeveralRoots && Read->Wide.empty()) ||
      Read->RowSizes.empty() || !Read->areRowsColumns())
    return FamilyAnswer::refuse(RefusalKind::Form,
                                "it is no reduction of columns that are read "
                                "again");
  std::optional<shape::Expr> Outer = productExpr(otherSizes(*Read)),
                             Width = productExpr(columnSizes(*Read));
  if (!Outer || !Width)
    return FamilyAnswer::refuse(RefusalKind::Size,
                                "the number of columns is no expression");
  auto K = std::make_shared<RowKernel>(std::move(*Read));
  ColumnSchedule S = chooseSchedule(*K, T);
  std::string Grid = (Width->ceilDiv(S.columns()) * *Outer).str();
  return FamilyAnswer::offer(S.str(), [K, S, Grid](GpuLaunch &Launch) {
    Launch.Block = {int32_t(LineThreads), int32_t(S.Groups), 1};
    Launch.Grid[0] = Grid;
    GpuWriter W(K->Form);
    return ColumnNest(W, *K, S).emit();
  });
}

} // namespace kpc::kernels
