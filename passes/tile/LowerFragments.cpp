//===- LowerFragments.cpp - Fragments as what one thread holds ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/tile/LowerTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace kpc::tile;

namespace {

struct LowerExtractColumns : TilePattern<ExtractColumnsOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(ExtractColumnsOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    FragmentType From = Op.getFragment().getType(), To = Op.getPart().getType();
    Value Part = LLVM::UndefOp::create(Rewriter, Loc,
                                       getTypeConverter()->convertType(To));
    // Of each 64 rows, two columns are one value of a thread; in lanes, a
    // thread has a row.
    bool Lanes = From.isTmemLayout();
    int64_t PerValue = Lanes ? 1 : 2, Blocks = Lanes ? 1 : From.getRows() / 64;
    int64_t Wide = From.getColumns() / PerValue,
            Narrow = To.getColumns() / PerValue,
            Group = 8 / PerValue; // values that stay together
    // Neighbours are values next to each other in either layout.
    bool IsInterleaved = Op.getRotateHalf() == 1;
    auto ValueOf = [&](int64_t I) {
      if (IsInterleaved)
        return int64_t(Op.getFirst()) / PerValue + (I ^ 1);
      return Op.columnOf(I / Group * 8) / PerValue + I % Group;
    };
    for (int64_t Block = 0; Block < Blocks; ++Block)
      for (int64_t I = 0; I < Narrow; ++I)
        Part = LLVM::InsertValueOp::create(
            Rewriter, Loc, Part,
            LLVM::ExtractValueOp::create(Rewriter, Loc, Adaptor.getFragment(),
                                         Block * Wide + ValueOf(I)),
            Block * Narrow + I);
    Rewriter.replaceOp(Op, Part);
    return success();
  }
};

/// A thread has rows g and g + 8 of its warp's 16. Rows that follow one another
/// are those of lanes four apart.
struct LowerPairedRows : TilePattern<PairedRowsOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(PairedRowsOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    NvvmWriter W(Rewriter, Loc);
    FragmentType Ty = Op.getFragment().getType();
    int64_t Count = Ty.getRows() / 64 * Ty.getColumns() / 2;
    constexpr int32_t LanesOfRow = 4, LastLane = 31;
    Value Paired = LLVM::UndefOp::create(Rewriter, Loc,
                                         getTypeConverter()->convertType(Ty));
    for (int64_t I = 0; I < Count; ++I) {
      bool IsOwn = Op.getRows() == 8;
      // Of each four elements two are of row g.
      Value One = LLVM::ExtractValueOp::create(
          Rewriter, Loc, Adaptor.getFragment(), IsOwn ? I ^ 2 : I);
      if (!IsOwn)
        One = NVVM::ShflOp::create(Rewriter, Loc, One.getType(), W.i32(-1), One,
                                   W.i32(LanesOfRow), W.i32(LastLane),
                                   NVVM::ShflKind::bfly, UnitAttr());
      Paired = LLVM::InsertValueOp::create(Rewriter, Loc, Paired, One, I);
    }
    Rewriter.replaceOp(Op, Paired);
    return success();
  }
};

/// Two adjacent columns of each eight, which both rows of a thread share.
struct LowerLoadColumns : TilePattern<LoadColumnsOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(LoadColumnsOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    NvvmWriter W(Rewriter, Loc);
    FragmentType To = Op.getFragment().getType();
    int64_t Bytes = Op.getTile().getType().getElementBits() / 8;
    // Twice: a pair of columns for one row, and again for the other.
    int64_t Times = Op.getTwice() ? 2 : 1;
    auto Loaded = VectorType::get(2 * Times, To.getElement());
    Value OfLane = W.shiftLeft(W.bitAnd(Place.Lane, 3), 1);
    Value First = W.pointer(
        Adaptor.getTile(),
        W.mul(W.add(W.toI32(Adaptor.getFirst()), OfLane), Times * Bytes));
    SmallVector<Value> OfBlock; // 64 rows: both rows of each pair
    for (int64_t Column = 0; Column < To.getColumns(); Column += 8) {
      Value All = LLVM::LoadOp::create(Rewriter, Loc, Loaded,
                                       W.pointer(First, Column * Times * Bytes),
                                       2 * Times * Bytes);
      for (int64_t I = 0; I < 4; ++I)
        OfBlock.push_back(LLVM::ExtractElementOp::create(
            Rewriter, Loc, All, W.i32(I % (2 * Times))));
    }
    SmallVector<Value> All;
    for (int64_t Block = 0; Block < To.getRows() / 64; ++Block)
      llvm::append_range(All, OfBlock);
    Rewriter.replaceOp(
        Op, pack(Rewriter, Loc, getTypeConverter()->convertType(To), All));
    return success();
  }
};

/// The function's body once for each element that a thread holds.
struct LowerMap : TilePattern<MapOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(MapOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    FragmentType From = Op.getFragment().getType();
    Value Result = LLVM::UndefOp::create(
        Rewriter, Loc, getTypeConverter()->convertType(Op.getType()));
    auto Apply = [&](int64_t Place, Value Row, Value Column) {
      Value Element = LLVM::ExtractValueOp::create(
          Rewriter, Loc, Adaptor.getFragment(), Place);
      IRMapping Map;
      mlir::Block &Body = Op.getBody().front();
      SmallVector<Value> Arguments = {Element, Row, Column};
      for (Value Other : Adaptor.getPaired())
        Arguments.push_back(
            LLVM::ExtractValueOp::create(Rewriter, Loc, Other, Place));
      Map.map(Body.getArguments(), Arguments);
      for (Operation &Inner : Body.without_terminator())
        Rewriter.clone(Inner, Map);
      Value Yielded = Map.lookupOrDefault(Body.getTerminator()->getOperand(0));
      Result =
          LLVM::InsertValueOp::create(Rewriter, Loc, Result, Yielded, Place);
    };
    if (From.isTmemLayout()) {
      LaneCoordinates At(Rewriter, Op, Place);
      for (int64_t I = 0; I < From.getColumns(); ++I)
        Apply(I, At.row(), At.column(I));
      Rewriter.replaceOp(Op, Result);
      return success();
    }
    Coordinates At(Rewriter, Op, Place);
    int64_t PerBlock = From.getColumns() / 2;
    for (int64_t Block = 0; Block < From.getRows() / 64; ++Block)
      for (int64_t I = 0; I < PerBlock; ++I) {
        Value Row = At.row(Block, I / 2 % 2), Column = At.column(I);
        Apply(Block * PerBlock + I, Row, Column);
      }
    Rewriter.replaceOp(Op, Result);
    return success();
  }

private:
  static Value plus(OpBuilder &B, Location Loc, Value A, int64_t C) {
    if (!C)
      return A;
    return arith::AddIOp::create(B, Loc, A,
                                 arith::ConstantIndexOp::create(B, Loc, C));
  }
  /// `A`, or the bound less `Size`.
  static Value inside(OpBuilder &B, Location Loc, Value A, Value Bound,
                      int64_t Size) {
    Value Last = arith::SubIOp::create(
        B, Loc, Bound, arith::ConstantIndexOp::create(B, Loc, Size));
    return arith::MinSIOp::create(B, Loc, A, Last);
  }

  /// The bound of the columns; null where all are inside.
  static Value columnBound(MapOp Op) {
    return Op.getWithin().size() > 1 ? Op.getWithin()[1] : Value();
  }
  /// The bound of the columns where it is known.
  static int64_t knownColumns(MapOp Op) {
    Value Bound = columnBound(Op);
    auto Known =
        Bound ? Bound.getDefiningOp<arith::ConstantIndexOp>() : nullptr;
    return Known ? Known.value() : 0;
  }

  /// Where a thread has a row: its columns are neighbours, which stay
  /// neighbours as far as the bound is known to be a multiple of their number,
  /// so that their loads can become one.
  class LaneCoordinates {
  public:
    LaneCoordinates(OpBuilder &B, MapOp Op, const ThreadPlace &Place)
        : B(B), Op(Op) {
      NvvmWriter W(B, Op.getLoc());
      Value Lane = W.toIndex(W.bitAnd(Place.Thread, WarpgroupThreads - 1));
      Row = inside(B, Op.getLoc(),
                   arith::AddIOp::create(B, Op.getLoc(), Op.getAt()[0], Lane),
                   Op.getWithin()[0], 1);
      int64_t Columns = knownColumns(Op);
      while (Columns && Together < 8 && Columns % (2 * Together) == 0)
        Together *= 2;
    }

    Value row() const { return Row; }
    Value column(int64_t I) {
      Value &First = Starts[I / Together];
      if (!First) {
        First = plus(B, Op.getLoc(), Op.getAt()[1], I - I % Together);
        if (Value Bound = columnBound(Op))
          First = inside(B, Op.getLoc(), First, Bound, Together);
      }
      return plus(B, Op.getLoc(), First, I % Together);
    }

  private:
    OpBuilder &B;
    MapOp Op;
    Value Row;
    int64_t Together = 1;
    llvm::SmallDenseMap<int64_t, Value> Starts;
  };

  /// Coordinates of this thread's elements, kept inside of the bounds.
  class Coordinates {
  public:
    Coordinates(OpBuilder &B, MapOp Op, const ThreadPlace &Place)
        : B(B), Op(Op) {
      NvvmWriter W(B, Op.getLoc());
      Value Warp = W.bitAnd(Place.Warp, 3);
      Value OfWarp = W.shiftLeft(Warp, 4);
      FirstRow = add(Op.getAt()[0],
                     W.toIndex(W.add(OfWarp, W.shiftRight(Place.Lane, 2))));
      FirstColumn = add(Op.getAt()[1],
                        W.toIndex(W.shiftLeft(W.bitAnd(Place.Lane, 3), 1)));
      Bound = columnBound(Op);
      int64_t Known = knownColumns(Op);
      Pairs = Known && Known % 2 == 0;
    }

    Value row(int64_t Block, int64_t Half) {
      Value &Row = Rows[Block * 2 + Half];
      if (!Row)
        Row =
            inside(add(FirstRow, Block * 64 + Half * 8), Op.getWithin()[0], 1);
      return Row;
    }

    Value column(int64_t I) {
      int64_t Group = I / 4, Second = I % 2;
      Value &Column = Columns[Group * 2 + Second];
      if (Column)
        return Column;
      Value Pair = add(FirstColumn, Group * 8);
      if (!Bound)
        return Column = add(Pair, Second);
      // Two neighbours stay neighbours where the bound is even: their loads
      // can become one.
      if (Pairs)
        return Column = add(inside(Pair, Bound, 2), Second);
      return Column = inside(add(Pair, Second), Bound, 1);
    }

  private:
    Value add(Value A, Value C) {
      return arith::AddIOp::create(B, Op.getLoc(), A, C);
    }
    Value add(Value A, int64_t C) { return plus(B, Op.getLoc(), A, C); }
    Value inside(Value A, Value Bound, int64_t Size) {
      return LowerMap::inside(B, Op.getLoc(), A, Bound, Size);
    }

    OpBuilder &B;
    MapOp Op;
    Value FirstRow, FirstColumn, Bound;
    bool Pairs = false;
    llvm::SmallDenseMap<int64_t, Value> Rows, Columns;
  };
};

} // namespace

void kpc::tile::populateFragmentPatterns(const TypeConverter &Types,
                                         RewritePatternSet &Patterns,
                                         const ThreadPlace &Place) {
  Patterns
      .add<LowerExtractColumns, LowerPairedRows, LowerLoadColumns, LowerMap>(
          Types, Patterns.getContext(), Place);
}
