//===- LowerFragmentMoves.cpp - Fragments to and from shared memory -------===//
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

/// Calls `Each` for each four matrices of 8 × 8 elements of 16 bits that a warp
/// moves at once, 16 rows and 16 columns, with the address that its lane gives
/// and the thread's first element of them.
void forMatrices(NvvmWriter &W, const ThreadPlace &Place, SharedType Tile,
                 Value Base,
                 llvm::function_ref<void(Value Address, int64_t First)> Each) {
  int64_t LineBytes = Tile.getSwizzle(), LineElements = Tile.getLineElements();
  // Lane l gives row l % 16 of the warp's 16, columns 0–7 or 8–15.
  Value OfWarp = W.shiftLeft(W.bitAnd(Place.Warp, 3), 4);
  Value Row = W.add(OfWarp, W.bitAnd(Place.Lane, 15));
  Value Swizzle = W.swizzleOfRow(Tile, Row);
  Value Half = W.shiftLeft(W.shiftRight(Place.Lane, 4), 4); // 16 bytes
  Value Start = W.pointer(Base, W.mul(Row, LineBytes));
  int64_t PerBlock = Tile.getColumns() / 2;
  for (int64_t Block = 0; Block < Tile.getRows() / 64; ++Block)
    for (int64_t Column = 0; Column < Tile.getColumns(); Column += 16) {
      int64_t Line = Column / LineElements;
      Value InLine = W.add(Half, Column % LineElements * 2);
      Each(W.pointer(W.pointer(Start, W.bitXor(InLine, Swizzle)),
                     (Line * Tile.getPitch() + Block * 64) * LineBytes),
           Block * PerBlock + Column / 2);
    }
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
    forMatrices(W, Place, Op.getTile().getType(), Adaptor.getTile(),
                [&](Value Address, int64_t First) {
                  store(Rewriter, Loc, Address, Adaptor.getFragment(), First,
                        NVVM::MMALayout::row);
                });
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
    auto Apart = int64_t(Op.getApart().value_or(8));
    Value OfWarp = firstColumnOfWarp(Rewriter, Loc, Adaptor.getGroup(), Apart);
    struct Place8 {
      Value Start, InLine; ///< the line, and the byte in it
    };
    auto PlaceOf = [&](Value Column) -> Place8 {
      Value Byte = W.mul(Column, Bytes);
      Value Line = W.shiftRight(Byte, llvm::Log2_64(uint64_t(LineBytes)));
      return {W.pointer(Adaptor.getTile(),
                        W.mul(Line, Tile.getPitch() * LineBytes)),
              W.bitAnd(Byte, LineBytes - 1)};
    };
    SmallVector<Place8, 2> Places; // of rows from 0 on, and from 8 on
    if (ByMatrix) {
      Value OfLane = W.bitAnd(Place.Lane, 8);
      if (Apart > 8)
        OfLane = W.mul(OfLane, Apart / 8);
      Places = {PlaceOf(W.add(OfWarp, OfLane))};
    } else {
      Value First = W.add(OfWarp, W.shiftRight(Place.Lane, 2));
      Places = {PlaceOf(First), PlaceOf(W.add(First, Apart))};
    }
    auto At = [&](const Place8 &Of, Value RowOf, int64_t More) -> Value {
      Value Swizzled = W.bitXor(Of.InLine, W.swizzleOfRow(Tile, RowOf));
      Value OfRow = W.pointer(Of.Start, W.mul(RowOf, LineBytes));
      return W.pointer(W.pointer(OfRow, Swizzled), More * LineBytes);
    };
    for (int64_t First = 0; First < Tile.getRows(); First += 16) {
      if (ByMatrix) {
        store(Rewriter, Loc, At(Places[0], Row, First), Adaptor.getFragment(),
              First / 2, NVVM::MMALayout::col);
        continue;
      }
      for (int64_t I = 0; I < 8; ++I) {
        Value One = LLVM::ExtractValueOp::create(
            Rewriter, Loc, Adaptor.getFragment(), First / 2 + I);
        LLVM::StoreOp::create(
            Rewriter, Loc, One,
            At(Places[I / 2 % 2], W.add(Row, I % 2), First + I / 4 * 8),
            /*alignment=*/Bytes);
      }
    }
    Rewriter.eraseOp(Op);
  }

  /// Where the warp's first row is: of each 2 · `Apart` columns, first ones are
  /// those of warps in turn.
  Value firstColumnOfWarp(OpBuilder &B, Location Loc, Value Group,
                          int64_t Apart) const {
    NvvmWriter W(B, Loc);
    Value Warp = W.bitAnd(Place.Warp, 3);
    if (Group)
      Warp = W.add(Warp, W.shiftLeft(W.toI32(Group), 2));
    int64_t Together = Apart / 8;
    if (Together == 1)
      return W.shiftLeft(Warp, 4);
    Value Run = arith::DivUIOp::create(B, Loc, Warp, W.i32(Together)),
          InRun = arith::RemUIOp::create(B, Loc, Warp, W.i32(Together));
    return W.add(W.mul(Run, 2 * Apart), W.shiftLeft(InRun, 3));
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

  /// Each thread stores its own elements, two adjacent ones at a time.
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
    SmallVector<Type> Words(4, B.getI32Type());
    auto Pair = VectorType::get(2, Tile.getElement());
    forMatrices(W, Place, Tile, Pointer, [&](Value Address, int64_t First) {
      Value Four = NVVM::LdMatrixOp::create(
          B, Loc, LLVM::LLVMStructType::getLiteral(B.getContext(), Words),
          Address, /*num=*/4, NVVM::MMALayout::row,
          NVVM::LdStMatrixShapeAttr::get(B.getContext(), 8, 8),
          NVVM::LdStMatrixEltType::B16);
      for (int64_t I = 0; I < 4; ++I)
        part(B, Loc,
             LLVM::BitcastOp::create(
                 B, Loc, Pair, LLVM::ExtractValueOp::create(B, Loc, Four, I)),
             &All[First + 2 * I]);
    });
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

void kpc::tile::populateFragmentMovePatterns(const TypeConverter &Types,
                                             RewritePatternSet &Patterns,
                                             const ThreadPlace &Place) {
  Patterns.add<LowerStoreShared, LowerLoadShared>(Types, Patterns.getContext(),
                                                  Place);
}
