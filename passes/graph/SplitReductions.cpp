//===- SplitReductions.cpp - Long reductions in two levels ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %y = graph.reduce sum, %x axes [0] : <[16777216], f32>
///     →  %p = graph.window sum, %x window [16384] stride [16384] …  // [1024]
///        %y = graph.reduce sum, %p axes [0]
///
///   %i = graph.arg_reduce max, %x axis 1 : <[32, 128000], f32>
///     →  %m = graph.reduce max, %x axes [1]
///        %c = select(%x == %m, iota, greatest index)
///        %i = graph.reduce min, %c axes [1]
///
///   %y = graph.cumsum %x axis 0 : <[n], f32>
///     →  %s = graph.window sum, %x window [4096] stride [4096] …
///        %c = graph.cumsum %s axis 0 exclusive
///        %y = graph.cumsum %x axis 0 block 4096 + %c[iota / 4096]
///
///   %y = graph.window max, %x window [1, 13, 13, 1] …
///     →  %w = graph.window max, %x window [1, 1, 13, 1] …
///        %y = graph.window max, %w window [1, 13, 1, 1] …
///
/// GEMMs with a long K: SplitGemm.h; those that are no tiles: GemmShape.h.
///
/// A GPU has a block of threads for each result of a reduction: where there are
/// few results, most of the chip has nothing to do. Every order of additions is
/// fixed by the sizes.
///
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "dialects/shape/PracticalRange.h"
#include "passes/graph/GemmShape.h"
#include "passes/graph/Passes.h"
#include "passes/graph/RowSpace.h"
#include "passes/graph/SplitGemm.h"
#include "passes/graph/TargetNames.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_SPLITREDUCTIONS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// Blocks that keep the largest chips busy (132 to 192 multiprocessors).
constexpr int64_t FewBlocks = 128, ManyBlocks = 1024;
/// Columns that a block reduces side by side.
constexpr int64_t ColumnsOfBlock = 32;
/// Elements of a part, at least: fewer are read in less time than a second
/// kernel takes to start (2 us). A block of columns has 32 times as many.
constexpr int64_t LeastPart = 4096, LeastRows = 256;
/// Rows from this length on are split, if nothing else reads them.
constexpr int64_t LongRow = 16384, LongColumn = 2048;
/// Shorter rows have a thread each, which finds the greatest in one walk.
constexpr int64_t ShortArgRow = 64;
/// Elements of a block of running sums, at least: along lines a block of
/// threads has one, across lines each thread has a column of one.
constexpr int64_t LeastScanLine = 4096, LeastScanColumn = 256;
/// Threads that hide the latency of memory on the largest chips.
constexpr int64_t ManyThreads = 1 << 17;
/// Windows of at most so many taps are one kernel, which reads each pixel once
/// for all of a tile: a second one would move the image again.
constexpr int64_t MostTaps = 49;

/// The size, or the greatest that it may have.
int64_t mostOf(const Expr &E, const shape::Facts &Facts) {
  return saidSize(E, Facts).value_or(Facts.range(E).Max);
}

/// Whether a reduction alone reads what `V` is computed from: no softmax or
/// norm, whose kernel keeps the row.
bool isReadByOne(Value V, Operation *Reader, unsigned Depth = 0) {
  constexpr unsigned MostDepth = 16;
  for (Operation *User : V.getUsers())
    if (User != Reader)
      return false;
  Operation *Def = V.getDefiningOp();
  if (!Def || isa<ConstantOp, WeightOp>(Def))
    return true;
  if (isa<BroadcastOp, ReshapeOp>(Def) || Def->hasTrait<ElementwiseTrait>())
    return Depth < MostDepth &&
           llvm::all_of(
               Def->getOperands(),
               [&](Value Operand) {
                 return isReadByOne(Operand, Def, Depth + 1);
               });
  return !isa<ReduceOp>(Def);
}

/// Whether elements of the rows are computed from what `Op` makes of each, as
/// in a norm: a kernel of rows reads them again.
bool isReadAgain(ReduceOp Op) {
  constexpr unsigned MostSteps = 32;
  shape::Expr Elements = typeOf(Op.getX()).getNumElements();
  SmallVector<Value> Worklist{Op.getY()};
  for (unsigned Steps = 0; !Worklist.empty() && Steps < MostSteps; ++Steps)
    for (Operation *User : Worklist.pop_back_val().getUsers()) {
      if (isa<BroadcastOp>(User) &&
          typeOf(User->getResult(0)).getNumElements() == Elements)
        return true;
      if (isa<ReshapeOp, BroadcastOp, TransposeOp>(User) ||
          User->hasTrait<ElementwiseTrait>())
        Worklist.push_back(User->getResult(0));
    }
  return false;
}

/// The least divisor of `Size` from `Least` to four times that which is a
/// multiple of `Step`; `Least` if there is none.
int64_t partOf(int64_t Size, int64_t Least, int64_t Step) {
  for (int64_t Part = llvm::alignTo(Least, Step); Part <= 4 * Least;
       Part += Step)
    if (Size % Part == 0)
      return Part;
  return Least;
}

class Splitter {
public:
  /// Longer rows are in no kernel of rows.
  Splitter(Operation *Op, const shape::Facts &Facts, int64_t LongestRow)
      : B(Op), Loc(Op->getLoc()), Facts(Facts), LongestRow(LongestRow) {}

  /// The windows of the first level; empty where one level will do. `IsAlone`:
  /// no kernel of rows is made of it.
  SmallVector<int64_t> windowsOf(ReduceOp Op, bool IsAlone) const;
  SmallVector<int64_t> windowsOfPieces(ReduceOp Op, const RowSpace &Rows) const;
  Value inTwoLevels(ReduceOp Op, ArrayRef<int64_t> Windows);
  Value inTwoReductions(ArgReduceOp Op);
  /// Elements of a block of running sums; none where one kernel will do.
  std::optional<int64_t> scanBlockOf(CumSumOp Op) const;
  Value inBlocks(CumSumOp Op, int64_t ScanBlock);
  /// A window of one axis, then the same of the others; null where it has one
  /// axis, few taps, or its windows do not overlap along all of them.
  Value byAxes(WindowOp Op);

private:
  /// Elements of the longest row that a kernel of rows keeps. What nothing
  /// reads again has one block, whatever a cluster keeps.
  int64_t keptBy(ReduceOp Op, const std::optional<RowSpace> &Rows) const {
    int64_t OfOnePiece =
        LongestRow > RowSpace::LongestOfBlock && !isReadAgain(Op)
            ? RowSpace::LongestOfBlock
            : LongestRow;
    return Rows ? Rows->longestRow(OfOnePiece, Facts) : OfOnePiece;
  }
  Value scalar(Attribute V, Type Ty) {
    auto Tensor = RankedTensorType::get({}, Ty);
    return ConstantOp::create(B, Loc, DenseElementsAttr::get(Tensor, V));
  }
  Value spread(Value V, ArrayRef<Expr> To) {
    return BroadcastOp::create(B, Loc, typeOf(V).withDims(To), V);
  }
  /// Floats of 16 bits are summed up in f32, all the way.
  Value widened(Value X) {
    Type Element = typeOf(X).getElementType();
    if (!Element.isF16() && !Element.isBF16())
      return X;
    return CastOp::create(B, Loc, X, B.getF32Type());
  }
  Value narrowed(Value Y, Type Element) {
    if (typeOf(Y).getElementType() == Element)
      return Y;
    return CastOp::create(B, Loc, Y, Element);
  }
  /// One result for each window; the last one has what is left.
  Value windows(ReduceKind Kind, Value X, ArrayRef<int64_t> Windows) const;

  mutable OpBuilder B;
  Location Loc;
  const shape::Facts &Facts;
  int64_t LongestRow;
};

/// The windows of a row that is many short pieces of memory, too long for a
/// kernel of rows: the pixels of a group in a channels-last image. Each element
/// of a piece is a column; a small reduction joins them.
SmallVector<int64_t> Splitter::windowsOfPieces(ReduceOp Op,
                                               const RowSpace &Rows) const {
  std::optional<int64_t> Row = saidSize(Rows.rowSize(), Facts),
                         Piece = saidSize(Rows.pieceSize(), Facts);
  if (!Row || !Piece || *Piece >= RowSpace::LongPiece ||
      *Row <= keptBy(Op, Rows))
    return {};
  ArrayRef<Expr> Dims = typeOf(Op.getX()).getDims();
  int64_t Elements = mostOf(typeOf(Op.getX()).getNumElements(), Facts),
          Columns = Elements / *Row * *Piece, Pixels = *Row / *Piece,
          Blocks = std::min<int64_t>(
              llvm::divideCeil(uint64_t(Columns), uint64_t(ColumnsOfBlock)),
              ManyBlocks),
          Part = std::max(LeastRows, Pixels * Blocks / ManyBlocks);
  SmallVector<int64_t> Windows(Dims.size(), 1);
  int64_t InPiece = 1;
  for (size_t I = Dims.size(); I-- > 0 && Part > 1;) {
    if (!llvm::is_contained(Op.getAxes(), int64_t(I)))
      continue;
    std::optional<int64_t> Size = Dims[I].asConstant();
    if (InPiece < *Piece) {
      InPiece *= Size.value_or(1);
      continue;
    }
    Windows[I] = Size && *Size <= 2 * Part ? *Size
                 : Size                    ? partOf(*Size, Part, 1)
                                           : Part;
    Part = llvm::divideCeil(Part, Windows[I]);
  }
  return Windows;
}

SmallVector<int64_t> Splitter::windowsOf(ReduceOp Op, bool IsAlone) const {
  std::optional<RowSpace> Rows = RowSpace::reducedBy(Op);
  if (Rows && !Rows->hasColumns() && !Rows->isOnePiece())
    if (SmallVector<int64_t> Windows = windowsOfPieces(Op, *Rows);
        !Windows.empty())
      return Windows;
  ArrayRef<Expr> Dims = typeOf(Op.getX()).getDims();
  SmallVector<bool> IsReduced(Dims.size(), false);
  for (int64_t Axis : Op.getAxes())
    IsReduced[Axis] = true;
  Expr Results(1), Length(1);
  std::optional<bool> AlongRows;
  for (size_t I = Dims.size(); I-- > 0;) {
    (IsReduced[I] ? Length : Results) =
        (IsReduced[I] ? Length : Results) * Dims[I];
    if (!AlongRows && Dims[I] != Expr(1))
      AlongRows = IsReduced[I];
  }
  if (!AlongRows)
    return {};
  int64_t Blocks = mostOf(Results, Facts);
  if (!*AlongRows)
    Blocks = llvm::divideCeil(uint64_t(Blocks), uint64_t(ColumnsOfBlock));
  if (Blocks < 1 || Blocks >= FewBlocks)
    return {};
  std::optional<int64_t> Known = saidSize(Length, Facts);
  IsAlone |= !*AlongRows || isReadByOne(Op.getX(), Op);
  if (!IsAlone && Known.value_or(0) <= keptBy(Op, Rows))
    return {};
  int64_t Long = *AlongRows ? LongRow : LongColumn;
  if (mostOf(Length, Facts) < Long)
    return {};
  int64_t Part = *AlongRows ? LeastPart : LeastRows;
  if (Known)
    Part = std::max(Part, *Known * Blocks / ManyBlocks);
  // From the last axis on: what moves fastest in memory is in one part. Parts
  // of lines begin where vectors do.
  constexpr int64_t Vector = 8;
  SmallVector<int64_t> Windows(Dims.size(), 1);
  for (size_t I = Dims.size(); I-- > 0 && Part > 1;) {
    if (!IsReduced[I])
      continue;
    std::optional<int64_t> Size = Dims[I].asConstant();
    if (Size == 0)
      return {};
    if (Size && *Size <= 2 * Part)
      Windows[I] = *Size;
    else
      Windows[I] =
          Size ? partOf(*Size, Part, I + 1 == Dims.size() ? Vector : 1) : Part;
    Part = llvm::divideCeil(Part, Windows[I]);
  }
  return Windows;
}

Value Splitter::windows(ReduceKind Kind, Value X,
                        ArrayRef<int64_t> Windows) const {
  SmallVector<int64_t> Ones(Windows.size(), 1), Low(Windows.size(), 0), High;
  for (auto [Size, Window] : llvm::zip_equal(typeOf(X).getDims(), Windows))
    High.push_back(Facts.divisor(Size) % Window == 0 ? 0 : Window - 1);
  return WindowOp::create(B, Loc, Kind, X, Windows, Windows, Ones, Low, High);
}

Value Splitter::inTwoLevels(ReduceOp Op, ArrayRef<int64_t> Windows) {
  Value X = Op.getX();
  Type Element = typeOf(X).getElementType();
  Value Parts = windows(Op.getKind(), widened(X), Windows);
  return narrowed(ReduceOp::create(B, Loc, Op.getKind(), Parts, Op.getAxes()),
                  Element);
}

Value Splitter::inTwoReductions(ArgReduceOp Op) {
  Value X = Op.getX();
  SymbolicTensorType From = typeOf(X);
  int64_t Axis = Op.getAxis();
  SmallVector<Expr> Kept(From.getDims());
  Kept[Axis] = Expr(1);
  Value OfRow = ReduceOp::create(B, Loc, Op.getKind(), X, ArrayRef{Axis});
  Value Best = spread(ReshapeOp::create(B, Loc, From.withDims(Kept), OfRow),
                      From.getDims());
  Value Hit = CompareOp::create(B, Loc, Predicate::eq, X, Best);
  bool IsSmall =
      shape::practicalRange(Facts, From.getDims()[Axis]).Max <= INT32_MAX;
  Type Index = IsSmall ? B.getI32Type() : B.getI64Type();
  int64_t Most = IsSmall ? INT32_MAX : INT64_MAX;
  bool Last = Op.getSelectLast();
  auto Everywhere = [&](int64_t V, ArrayRef<Expr> Dims) {
    return spread(scalar(B.getIntegerAttr(Index, V), Index), Dims);
  };
  Value At = IotaOp::create(B, Loc, From.withElementType(Index), Axis);
  // NaN is the best of all and equal to nothing. Of several the first counts,
  // also where the last is asked for: then their indices run backwards.
  bool TurnsNans = Last && isFloat(From.getElementType());
  if (isFloat(From.getElementType())) {
    Value IsNan = IsNanOp::create(B, Loc, X);
    Hit = OrOp::create(B, Loc, Hit, IsNan);
    if (TurnsNans)
      At = SelectOp::create(
          B, Loc, IsNan,
          SubOp::create(B, Loc, Everywhere(Most, From.getDims()), At), At);
  }
  At = SelectOp::create(B, Loc, Hit, At,
                        Everywhere(Last ? -1 : Most, From.getDims()));
  Value Found = ReduceOp::create(
      B, Loc, Last ? ReduceKind::max : ReduceKind::min, At, ArrayRef{Axis});
  if (TurnsNans)
    Found = SelectOp::create(
        B, Loc, IsNanOp::create(B, Loc, OfRow),
        SubOp::create(B, Loc, Everywhere(Most, typeOf(Found).getDims()), Found),
        Found);
  return narrowed(Found, B.getI64Type());
}

std::optional<int64_t> Splitter::scanBlockOf(CumSumOp Op) const {
  SymbolicTensorType Ty = typeOf(Op.getX());
  int64_t Axis = Op.getAxis();
  bool AlongLine = Axis + 1 == Ty.getRank();
  Expr Others(1);
  for (auto [I, Size] : llvm::enumerate(Ty.getDims()))
    if (int64_t(I) != Axis)
      Others = Others * Size;
  const Expr &Size = Ty.getDims()[Axis];
  int64_t Lines = std::max<int64_t>(mostOf(Others, Facts), 1),
          Least = AlongLine ? LeastScanLine : LeastScanColumn,
          Enough = AlongLine ? FewBlocks : ManyThreads / 2;
  if (Op.getBlock() || Lines >= Enough || mostOf(Size, Facts) < 2 * Least)
    return std::nullopt;
  std::optional<int64_t> Known = saidSize(Size, Facts);
  if (!Known)
    return Least;
  int64_t Blocks = std::max<int64_t>(1, (AlongLine ? ManyBlocks : ManyThreads) /
                                            Lines),
          Part = std::max(Least, *Known / Blocks);
  constexpr int64_t Vector = 8;
  return partOf(*Known, llvm::alignTo(Part, Vector), Vector);
}

Value Splitter::inBlocks(CumSumOp Op, int64_t ScanBlock) {
  int64_t Axis = Op.getAxis();
  Value X = Op.getX();
  Type Element = typeOf(X).getElementType();
  SmallVector<int64_t> Windows(typeOf(X).getRank(), 1);
  Windows[Axis] = ScanBlock;
  Value Sums = windows(ReduceKind::sum, widened(X), Windows);
  Value Before = CumSumOp::create(B, Loc, Sums, Axis, /*exclusive=*/true,
                                  Op.getReverse(), /*block=*/nullptr);
  Value Inside =
      CumSumOp::create(B, Loc, X, Axis, Op.getExclusive(), Op.getReverse(),
                       B.getI64IntegerAttr(ScanBlock));
  // In the kernel these are f32 already.
  Inside = widened(Inside);
  Type I64 = B.getI64Type();
  Expr Size = typeOf(X).getDims()[Axis];
  auto Line = SymbolicTensorType::get({Size}, I64);
  Value Block = DivOp::create(
      B, Loc, IotaOp::create(B, Loc, Line, 0),
      spread(scalar(B.getI64IntegerAttr(ScanBlock), I64), Line.getDims()));
  Value Spread = GatherOp::create(B, Loc, Before, Block, Axis);
  return narrowed(AddOp::create(B, Loc, Inside, Spread), Element);
}

/// A combination of combinations along each axis is that of all, in another
/// order. What is outside the tensor is left out of either.
Value Splitter::byAxes(WindowOp Op) {
  ArrayRef<int64_t> Window = Op.getWindow(), Stride = Op.getStride();
  int64_t Taps = 1, Wide = 0, First = -1;
  for (auto [I, Size] : llvm::enumerate(Window)) {
    Taps *= Size;
    if (Size == 1 && Stride[I] == 1)
      continue;
    // Side by side, or a single one: each element is read once as it is.
    if (Stride[I] >= Size || typeOf(Op.getY()).getDims()[I] == Expr(1))
      return {};
    ++Wide;
    // What leaves the fewest elements; of equals the last, whose taps are
    // neighbours.
    if (First < 0 || Stride[I] >= Stride[First])
      First = int64_t(I);
  }
  if (Wide < 2 || Taps <= MostTaps)
    return {};
  auto Along = [&](Value X, bool OfFirst) -> Value {
    auto Part = [&](ArrayRef<int64_t> All, int64_t None) {
      return llvm::map_to_vector(llvm::enumerate(All), [&](auto One) {
        return (int64_t(One.index()) == First) == OfFirst ? One.value() : None;
      });
    };
    return WindowOp::create(B, Loc, Op.getKind(), X, Part(Window, 1),
                            Part(Stride, 1), Part(Op.getDilation(), 1),
                            Part(Op.getLow(), 0), Part(Op.getHigh(), 0));
  };
  // What the first kernel stores of 16 bits would be rounded.
  bool Rounds =
      Op.getKind() == ReduceKind::sum || Op.getKind() == ReduceKind::prod;
  Value Y = Along(Op.getX(), true);
  return narrowed(Along(Rounds ? widened(Y) : Y, false),
                  typeOf(Op.getX()).getElementType());
}

/// The only use of `V`, if it has one.
OpOperand *onlyUse(Value V) {
  return V.hasOneUse() ? &*V.getUses().begin() : nullptr;
}

///   %r = graph.reduce sum, %x axes [1, 2] : <[n, 56, 56, 144], f32>
///   %k = graph.reshape %r : <[n, 144], f32> to <[n, 144, 1, 1], f32>
///   %m = graph.div %k, %pixels
/// divides before the reshape, which is then a view of what the reduction's
/// kernel stores. Kernels of rows find the division after it as well.
void scaleBeforeReshape(ReduceOp Op, const shape::Facts &Facts,
                        int64_t LongestRow) {
  std::optional<RowSpace> Rows = RowSpace::reducedBy(Op);
  if (Rows && Rows->fitsKernel(LongestRow, Facts))
    return;
  OpOperand *Use = onlyUse(Op.getY());
  auto Reshape = Use ? dyn_cast<ReshapeOp>(Use->getOwner()) : ReshapeOp();
  if (!Reshape || !movesOnesOnly(Reshape))
    return;
  OpOperand *Next = onlyUse(Reshape.getY());
  Operation *Scale = Next ? Next->getOwner() : nullptr;
  auto NumberOf = [](Value V) -> Value {
    if (auto Spread = V.getDefiningOp<BroadcastOp>())
      return typeOf(Spread.getX()).getRank() == 0 ? Spread.getX() : Value();
    return V.getDefiningOp<ConstantOp>() && splatValue(V) ? V : Value();
  };
  auto IsNumber = [&](OpOperand &Operand) {
    return &Operand == Next || NumberOf(Operand.get());
  };
  if (!isa_and_present<MulOp, DivOp>(Scale) ||
      !llvm::all_of(Scale->getOpOperands(), IsNumber))
    return;
  OpBuilder B(Scale);
  SymbolicTensorType Ty = typeOf(Op.getY());
  auto Repeated = [&](Value V) -> Value {
    Value Number = NumberOf(V);
    if (typeOf(Number).getRank() != 0) {
      auto Scalar = RankedTensorType::get({}, Ty.getElementType());
      Attribute One =
          cast<DenseElementsAttr>(Number.getDefiningOp<ConstantOp>().getValue())
              .getSplatValue<Attribute>();
      Number = ConstantOp::create(B, V.getLoc(),
                                  DenseElementsAttr::get(Scalar, One));
    }
    return BroadcastOp::create(B, V.getLoc(), Ty, Number);
  };
  IRMapping Map;
  for (OpOperand &Operand : Scale->getOpOperands())
    Map.map(Operand.get(),
            &Operand == Next ? Op.getY() : Repeated(Operand.get()));
  Operation *Scaled = B.clone(*Scale, Map);
  Scaled->getResult(0).setType(Ty);
  Value Viewed = ReshapeOp::create(B, Reshape.getLoc(), Reshape.getType(),
                                   Scaled->getResult(0));
  Scale->getResult(0).replaceAllUsesWith(Viewed);
  Scale->erase();
  Reshape->erase();
}

struct SplitReductionsPass
    : graph::impl::SplitReductionsBase<SplitReductionsPass> {
  using SplitReductionsBase::SplitReductionsBase;

  struct Work {
    Operation *Op;
    unsigned Level = 0;   ///< of splits that it came from
    bool IsOfArg = false; ///< of an argmax, which keeps no row
  };

  /// What replaces an op; null where it stays as it is.
  Value split(const Work &W, const shape::Facts &Facts,
              const GemmTargets &Gemms) const {
    Splitter S(W.Op, Facts, LongestRow);
    if (auto Reduce = dyn_cast<ReduceOp>(W.Op)) {
      // Parts of an unknown number are few enough.
      Expr Size = typeOf(Reduce.getX()).getNumElements();
      if (W.Level > unsigned(W.IsOfArg) && !saidSize(Size, Facts))
        return {};
      SmallVector<int64_t> Windows = S.windowsOf(Reduce, W.IsOfArg);
      if (llvm::any_of(Windows, [](int64_t Size) { return Size > 1; }))
        return S.inTwoLevels(Reduce, Windows);
    }
    if (auto Gemm = dyn_cast<MatmulOp>(W.Op)) {
      if (Value Y = reshapeGemm(Gemm, Facts))
        return Y;
      return splitGemm(Gemm, Facts, Gemms);
    }
    if (auto Window = dyn_cast<WindowOp>(W.Op))
      return S.byAxes(Window);
    if (auto Arg = dyn_cast<ArgReduceOp>(W.Op))
      if (mostOf(typeOf(Arg.getX()).getDims()[Arg.getAxis()], Facts) >
          ShortArgRow)
        return S.inTwoReductions(Arg);
    if (auto Sum = dyn_cast<CumSumOp>(W.Op)) {
      // Sums of blocks of an unknown number are few enough.
      const Expr &Size = typeOf(Sum.getX()).getDims()[Sum.getAxis()];
      if (W.Level == 0 || saidSize(Size, Facts))
        if (std::optional<int64_t> Block = S.scanBlockOf(Sum))
          return S.inBlocks(Sum, *Block);
    }
    return {};
  }

  void runOnOperation() override {
    shape::Facts Facts = symbolFacts(getOperation());
    auto All = targetsNamed(Targets, getOperation());
    if (failed(All))
      return signalPassFailure();
    GemmTargets Gemms{std::move(*All), Narrow, Tf32};
    SmallVector<Work> Todo;
    getOperation().walk([&](Operation *Op) {
      if (isa<ReduceOp, ArgReduceOp, CumSumOp, WindowOp, MatmulOp>(Op) &&
          !Op->getParentOfType<RegionOp>())
        Todo.push_back({Op});
    });
    // What a split leaves is split again: sums of blocks are a cumsum of a
    // 32nd of the elements.
    while (!Todo.empty()) {
      Work W = Todo.pop_back_val();
      Operation *Before = W.Op->getPrevNode();
      Value New = split(W, Facts, Gemms);
      if (!New)
        continue;
      bool IsOfArg = isa<ArgReduceOp>(W.Op);
      Operation *First =
          Before ? Before->getNextNode() : &W.Op->getBlock()->front();
      // A dot that became a reduction is no part of one yet; one that became a
      // product of parts is.
      bool IsPart = !isa<MatmulOp>(W.Op);
      for (Operation *At = First; At != W.Op; At = At->getNextNode())
        IsPart |= isa<MatmulOp>(At);
      unsigned Level = W.Level + IsPart;
      for (Operation *At = First; At != W.Op; At = At->getNextNode())
        // Windows of three axes are two of two and one.
        if (isa<ReduceOp, CumSumOp>(At) ||
            (isa<WindowOp>(At) && isa<WindowOp>(W.Op)))
          Todo.push_back({At, Level, IsOfArg});
      W.Op->getResult(0).replaceAllUsesWith(New);
      W.Op->erase();
    }
    SmallVector<ReduceOp> Left;
    getOperation().walk([&](ReduceOp Op) { Left.push_back(Op); });
    for (ReduceOp Op : Left)
      scaleBeforeReshape(Op, Facts, LongestRow);
  }
};

} // namespace
