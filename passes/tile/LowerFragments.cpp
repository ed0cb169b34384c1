//===- LowerFragments.cpp - Fragments as what one thread holds ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/tile/LowerTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

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

/// The word of elements I and I + 1, the first in its low half.
Value wordOf(OpBuilder &B, Location Loc, Value Fragment, int64_t I) {
  Value Low = LLVM::ExtractValueOp::create(B, Loc, Fragment, I),
        High = LLVM::ExtractValueOp::create(B, Loc, Fragment, I + 1);
  auto Pair = VectorType::get(2, Low.getType());
  NvvmWriter W(B, Loc);
  Value Vector = LLVM::UndefOp::create(B, Loc, Pair);
  Vector = LLVM::InsertElementOp::create(B, Loc, Vector, Low, W.i32(0));
  Vector = LLVM::InsertElementOp::create(B, Loc, Vector, High, W.i32(1));
  return LLVM::BitcastOp::create(B, Loc, B.getI32Type(), Vector);
}

/// Sixteen columns by an stmatrix.x4: four 8×8 matrices, whose rows' addresses
/// come from eight lanes each (PTX ISA 9.7.14.5.16).
struct LowerStoreShared : TilePattern<StoreSharedOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(StoreSharedOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    if (Op.getFragment().getType().isTmemLayout()) {
      putLanes(Rewriter, Op, Adaptor);
      return success();
    }
    if (Op.getTransposed()) {
      storeTransposed(Rewriter, Op, Adaptor);
      return success();
    }
    if (Op.getPairs() || Op.getTile().getType().getElementBits() != 16) {
      storePairs(Rewriter, Op, Adaptor);
      return success();
    }
    Location Loc = Op.getLoc();
    NvvmWriter W(Rewriter, Loc);
    SharedType Tile = Op.getTile().getType();
    int64_t LineBytes = Tile.getSwizzle(),
            LineElements = Tile.getLineElements();
    // Lane l gives row l % 16 of the warp's 16, columns 0–7 or 8–15.
    Value OfWarp = W.shiftLeft(W.bitAnd(Place.Warp, 3), 4);
    Value Row = W.add(OfWarp, W.bitAnd(Place.Lane, 15));
    Value RowBytes = W.mul(Row, LineBytes);
    Value Swizzle = W.swizzleOfRow(Tile, Row);
    Value Half = W.shiftLeft(W.shiftRight(Place.Lane, 4), 4); // 16 bytes
    Value Start = W.pointer(Adaptor.getTile(), RowBytes);
    int64_t PerBlock = Tile.getColumns() / 2;
    for (int64_t Block = 0; Block < Tile.getRows() / 64; ++Block)
      for (int64_t Column = 0; Column < Tile.getColumns(); Column += 16) {
        int64_t Line = Column / LineElements;
        Value InLine = W.add(Half, Column % LineElements * 2);
        Value Address =
            W.pointer(W.pointer(Start, W.bitXor(InLine, Swizzle)),
                      (Line * Tile.getPitch() + Block * 64) * LineBytes);
        store(Rewriter, Loc, Address, Adaptor.getFragment(),
              Block * PerBlock + Column / 2, NVVM::MMALayout::row);
      }
    Rewriter.eraseOp(Op);
    return success();
  }

  /// A warp's 16 rows are columns of the tile, and each 16 columns are rows:
  /// four matrices of an stmatrix.x4.trans. Elements of 8 and 32 bits are
  /// stored one by one.
  void storeTransposed(ConversionPatternRewriter &Rewriter, StoreSharedOp Op,
                       OpAdaptor Adaptor) const {
    Location Loc = Op.getLoc();
    NvvmWriter W(Rewriter, Loc);
    SharedType Tile = Op.getTile().getType();
    int64_t LineBytes = Tile.getSwizzle(), Bytes = Tile.getElementBits() / 8;
    bool ByMatrix = Bytes == 2;
    // Lane 8 m + r gives row r of matrix m: the second and the fourth have the
    // fragment's rows from 8 on, the third and fourth its columns. Of other
    // sizes, a lane's first element is row 2 (l % 4) and column l / 4.
    Value Row = ByMatrix ? W.add(W.bitAnd(Place.Lane, 7),
                                 W.shiftLeft(W.shiftRight(Place.Lane, 4), 3))
                         : W.shiftLeft(W.bitAnd(Place.Lane, 3), 1);
    Value Column =
        W.add(W.shiftLeft(W.bitAnd(Place.Warp, 3), 4),
              ByMatrix ? W.bitAnd(Place.Lane, 8) : W.shiftRight(Place.Lane, 2));
    Value Byte = W.mul(Column, Bytes);
    Value InLine = W.bitAnd(Byte, LineBytes - 1);
    Value Start =
        W.pointer(Adaptor.getTile(),
                  W.mul(W.shiftRight(Byte, llvm::Log2_64(uint64_t(LineBytes))),
                        Tile.getPitch() * LineBytes));
    auto At = [&](Value RowOf, int64_t More, int64_t MoreInLine) -> Value {
      Value Swizzled =
          W.bitXor(W.add(InLine, MoreInLine), W.swizzleOfRow(Tile, RowOf));
      Value OfRow = W.pointer(Start, W.mul(RowOf, LineBytes));
      return W.pointer(W.pointer(OfRow, Swizzled), More * LineBytes);
    };
    for (int64_t First = 0; First < Tile.getRows(); First += 16) {
      if (ByMatrix) {
        store(Rewriter, Loc, At(Row, First, 0), Adaptor.getFragment(),
              First / 2, NVVM::MMALayout::col);
        continue;
      }
      for (int64_t I = 0; I < 8; ++I) {
        Value One = LLVM::ExtractValueOp::create(
            Rewriter, Loc, Adaptor.getFragment(), First / 2 + I);
        LLVM::StoreOp::create(
            Rewriter, Loc, One,
            At(W.add(Row, I % 2), First + I / 4 * 8, I / 2 % 2 * 8 * Bytes),
            /*alignment=*/Bytes);
      }
    }
    Rewriter.eraseOp(Op);
  }

  static void store(OpBuilder &B, Location Loc, Value Address, Value Fragment,
                    int64_t First, NVVM::MMALayout Layout) {
    SmallVector<Value> Words;
    for (int64_t I = 0; I < 4; ++I)
      Words.push_back(wordOf(B, Loc, Fragment, First + 2 * I));
    MLIRContext *Context = B.getContext();
    NVVM::StMatrixOp::create(B, Loc, Address, Words, Layout,
                             NVVM::LdStMatrixShapeAttr::get(Context, 8, 8),
                             NVVM::LdStMatrixEltType::B16);
  }

  /// The word of as many elements as it holds, the first in its low bits.
  static Value wordAt(OpBuilder &B, Location Loc, Value Fragment, int64_t First,
                      int64_t Count) {
    NvvmWriter W(B, Loc);
    Value Vector;
    for (int64_t I = 0; I < Count; ++I) {
      Value One = LLVM::ExtractValueOp::create(B, Loc, Fragment, First + I);
      if (!Vector)
        Vector = LLVM::UndefOp::create(B, Loc,
                                       VectorType::get(Count, One.getType()));
      Vector = LLVM::InsertElementOp::create(B, Loc, Vector, One, W.i32(I));
    }
    return LLVM::BitcastOp::create(B, Loc, B.getI32Type(), Vector);
  }

  /// 16 bytes of a thread's row by one store: the swizzle puts those of eight
  /// rows into different banks.
  void putLanes(ConversionPatternRewriter &Rewriter, StoreSharedOp Op,
                OpAdaptor Adaptor) const {
    Location Loc = Op.getLoc();
    NvvmWriter W(Rewriter, Loc);
    SharedType Tile = Op.getTile().getType();
    int64_t LineBytes = Tile.getSwizzle();
    Value Row = W.bitAnd(Place.Thread, WarpgroupThreads - 1);
    Value Swizzle = W.swizzleOfRow(Tile, Row);
    Value Start = W.pointer(Adaptor.getTile(), W.mul(Row, LineBytes));
    auto Four = VectorType::get(4, Rewriter.getI32Type());
    int64_t Bits = Tile.getElementBits(), PerWord = 32 / Bits;
    for (int64_t Column = 0; Column < Tile.getColumns();
         Column += 4 * PerWord) {
      Value Words = LLVM::UndefOp::create(Rewriter, Loc, Four);
      for (int64_t I = 0; I < 4; ++I)
        Words = LLVM::InsertElementOp::create(
            Rewriter, Loc, Words,
            wordAt(Rewriter, Loc, Adaptor.getFragment(), Column + PerWord * I,
                   PerWord),
            W.i32(I));
      Value InLine =
          W.bitXor(W.i32(Column % Tile.getLineElements() * Bits / 8), Swizzle);
      int64_t Line = Column / Tile.getLineElements();
      LLVM::StoreOp::create(Rewriter, Loc, Words,
                            W.pointer(W.pointer(Start, InLine),
                                      Line * Tile.getPitch() * LineBytes),
                            /*alignment=*/16);
    }
    Rewriter.eraseOp(Op);
  }

  /// Each thread stores its own elements, two neighbours at a time.
  void storePairs(ConversionPatternRewriter &Rewriter, StoreSharedOp Op,
                  OpAdaptor Adaptor) const {
    Location Loc = Op.getLoc();
    NvvmWriter W(Rewriter, Loc);
    SharedType Tile = Op.getTile().getType();
    int64_t Line = Tile.getSwizzle(), PairBytes = Tile.getElementBits() / 4;
    Value OfWarp = W.shiftLeft(W.bitAnd(Place.Warp, 3), 4);
    Value Row = W.add(OfWarp, W.shiftRight(Place.Lane, 2));
    Value RowBytes = W.mul(Row, Line);
    Value Swizzle = W.swizzleOfRow(Tile, Row);
    Value Start = W.pointer(Adaptor.getTile(), RowBytes);
    Value Mine = W.bitXor(W.mul(W.bitAnd(Place.Lane, 3), PairBytes), Swizzle);
    int64_t PerBlock = Tile.getColumns() / 2;
    auto Pair = VectorType::get(2, Tile.getElement());
    for (int64_t Column = 0; Column < Tile.getColumns(); Column += 8) {
      int64_t Byte = Column * PairBytes / 2;
      Value At = W.pointer(Start, W.bitXor(Mine, W.i32(Byte % Line)));
      for (int64_t Row = 0; Row < Tile.getRows(); Row += 8) {
        if (Row % 64 >= 16) // of each 64 rows a thread has two
          continue;
        int64_t First = Row / 64 * PerBlock + Column / 2 + Row % 64 / 8 * 2;
        Value Two = LLVM::UndefOp::create(Rewriter, Loc, Pair);
        for (int64_t I = 0; I < 2; ++I)
          Two = LLVM::InsertElementOp::create(
              Rewriter, Loc, Two,
              LLVM::ExtractValueOp::create(Rewriter, Loc, Adaptor.getFragment(),
                                           First + I),
              W.i32(I));
        LLVM::StoreOp::create(
            Rewriter, Loc, Two,
            W.pointer(At, (Byte / Line * Tile.getPitch() + Row) * Line),
            /*alignment=*/PairBytes);
      }
    }
    Rewriter.eraseOp(Op);
  }
};

/// The same places as those of LowerStoreShared: ldmatrix where it has
/// stmatrix.
struct LowerLoadShared : TilePattern<LoadSharedOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(LoadSharedOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    SharedType Tile = Op.getTile().getType();
    SmallVector<Value> All(Tile.getRows() / 64 * Tile.getColumns() / 2);
    if (Tile.getElementBits() == 16)
      loadMatrices(Rewriter, Op, Adaptor.getTile(), All);
    else
      loadPairs(Rewriter, Op, Adaptor.getTile(), All);
    Type To = getTypeConverter()->convertType(Op.getFragment().getType());
    Rewriter.replaceOp(Op, pack(Rewriter, Op.getLoc(), To, All));
    return success();
  }

private:
  /// Two elements of a thread, which `Pair` holds.
  static void part(OpBuilder &B, Location Loc, Value Pair, Value *Into) {
    NvvmWriter W(B, Loc);
    for (int64_t I = 0; I < 2; ++I)
      Into[I] = LLVM::ExtractElementOp::create(B, Loc, Pair, W.i32(I));
  }

  static void partWord(OpBuilder &B, Location Loc, Value Word, Value *Into) {
    Value Eight = arith::ConstantOp::create(B, Loc, B.getI16IntegerAttr(8));
    Value High = arith::ShRUIOp::create(B, Loc, Word, Eight);
    Into[0] = arith::TruncIOp::create(B, Loc, B.getI8Type(), Word);
    Into[1] = arith::TruncIOp::create(B, Loc, B.getI8Type(), High);
  }

  void loadMatrices(OpBuilder &B, LoadSharedOp Op, Value Pointer,
                    MutableArrayRef<Value> All) const {
    Location Loc = Op.getLoc();
    NvvmWriter W(B, Loc);
    SharedType Tile = Op.getTile().getType();
    int64_t LineBytes = Tile.getSwizzle(),
            LineElements = Tile.getLineElements();
    // Lane l gives row l % 16 of the warp's 16, columns 0–7 or 8–15.
    Value OfWarp = W.shiftLeft(W.bitAnd(Place.Warp, 3), 4);
    Value Row = W.add(OfWarp, W.bitAnd(Place.Lane, 15));
    Value Swizzle = W.swizzleOfRow(Tile, Row);
    Value Half = W.shiftLeft(W.shiftRight(Place.Lane, 4), 4); // 16 bytes
    Value Start = W.pointer(Pointer, W.mul(Row, LineBytes));
    int64_t PerBlock = Tile.getColumns() / 2;
    SmallVector<Type> Words(4, B.getI32Type());
    auto Pair = VectorType::get(2, Tile.getElement());
    for (int64_t Block = 0; Block < Tile.getRows() / 64; ++Block)
      for (int64_t Column = 0; Column < Tile.getColumns(); Column += 16) {
        int64_t Line = Column / LineElements;
        Value InLine = W.add(Half, Column % LineElements * 2);
        Value Address =
            W.pointer(W.pointer(Start, W.bitXor(InLine, Swizzle)),
                      (Line * Tile.getPitch() + Block * 64) * LineBytes);
        Value Four = NVVM::LdMatrixOp::create(
            B, Loc, LLVM::LLVMStructType::getLiteral(B.getContext(), Words),
            Address, /*num=*/4, NVVM::MMALayout::row,
            NVVM::LdStMatrixShapeAttr::get(B.getContext(), 8, 8),
            NVVM::LdStMatrixEltType::B16);
        for (int64_t I = 0; I < 4; ++I)
          part(B, Loc,
               LLVM::BitcastOp::create(
                   B, Loc, Pair, LLVM::ExtractValueOp::create(B, Loc, Four, I)),
               &All[Block * PerBlock + Column / 2 + 2 * I]);
      }
  }

  void loadPairs(OpBuilder &B, LoadSharedOp Op, Value Pointer,
                 MutableArrayRef<Value> All) const {
    Location Loc = Op.getLoc();
    NvvmWriter W(B, Loc);
    SharedType Tile = Op.getTile().getType();
    int64_t Line = Tile.getSwizzle(), PairBytes = Tile.getElementBits() / 4;
    Value OfWarp = W.shiftLeft(W.bitAnd(Place.Warp, 3), 4);
    Value Row = W.add(OfWarp, W.shiftRight(Place.Lane, 2));
    Value Swizzle = W.swizzleOfRow(Tile, Row);
    Value Start = W.pointer(Pointer, W.mul(Row, Line));
    Value Mine = W.bitXor(W.mul(W.bitAnd(Place.Lane, 3), PairBytes), Swizzle);
    int64_t PerBlock = Tile.getColumns() / 2;
    // Two bytes are a word, which one instruction may convert (PairCodes.cpp);
    // LLVM would load those of a vector apart.
    bool IsWord = PairBytes == 2;
    Type Loaded =
        IsWord ? Type(B.getI16Type())
               : Type(VectorType::get(
                     2, getTypeConverter()->convertType(Tile.getElement())));
    for (int64_t Column = 0; Column < Tile.getColumns(); Column += 8) {
      int64_t Byte = Column * PairBytes / 2;
      Value At = W.pointer(Start, W.bitXor(Mine, W.i32(Byte % Line)));
      // Of each 64 rows a thread has two.
      for (int64_t Block = 0; Block < Tile.getRows() / 64; ++Block)
        for (int64_t Half = 0; Half < 2; ++Half) {
          int64_t Row = Block * 64 + Half * 8;
          Value Two = LLVM::LoadOp::create(
              B, Loc, Loaded,
              W.pointer(At, (Byte / Line * Tile.getPitch() + Row) * Line),
              /*alignment=*/PairBytes);
          Value *Into = &All[Block * PerBlock + Column / 2 + Half * 2];
          if (IsWord)
            partWord(B, Loc, Two, Into);
          else
            part(B, Loc, Two, Into);
        }
    }
  }
};

} // namespace

void kpc::tile::populateFragmentPatterns(const TypeConverter &Types,
                                         RewritePatternSet &Patterns,
                                         const ThreadPlace &Place) {
  Patterns.add<LowerExtractColumns, LowerLoadColumns, LowerMap,
               LowerStoreShared, LowerLoadShared>(Types, Patterns.getContext(),
                                                  Place);
}
