//===- LowerMmaWindow.cpp - Lowers tile.mma_window ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The rows of a are pixels of an image in shared memory, whose rows are plain:
/// a lane's pixel under any tap is a constant away from that under the first.
/// So there is one address for all ldmatrix of a, and no arithmetic.
///
/// A step is 16 channels under the taps of one column of the filter. Its taps
/// below each other see mostly the same lines of pixels: of a warp with B lines
/// of places and R taps, B + R - 1 in place of B · R. What was loaded is kept
/// for the step.
///
///     line 0   p ─ tap 0 of places 0                  a warp with two lines,
///     line 1   p ─ tap 1 of places 0, tap 0 of 1      three taps
///     line 2   p ─ tap 2 of places 0, tap 1 of 1
///     line 3   p ─                    tap 2 of 1
///
/// Where taps of a line are one piece of memory (pixels side by side, without
/// bytes between them), steps go on from pixel to pixel. What is left of a
/// piece, 8 elements, is an mma.sync of half the size: nothing is multiplied
/// with zeros, of which infinite elements would make NaN. Fewer elements are
/// followed by another pixel's, which become zeros in registers.
///
//===----------------------------------------------------------------------===//

#include "passes/tile/SyncProducts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::tile;

namespace {

/// Elements of the sum that an instruction takes, and those of a half.
constexpr int64_t StepElements = 16, HalfStep = 8;
/// Instructions that a warp's products are straight code for; more are a loop.
constexpr int64_t MostUnrolled = 640;

class WindowProducts {
public:
  WindowProducts(OpBuilder &B, MmaWindowOp Op, Value Image, Value Filter,
                 const ThreadPlace &Place)
      : B(B), Loc(Op.getLoc()), W(B, Loc), Op(Op), Place(Place), Filter(Filter),
        Products(B, Loc, kindsOf(Op)) {
    PixelBytes = Op.getImage().getType().getRowBytes();
    Channels = Op.getChannels();
    Down = Op.getTaps()[0];
    Across = Op.getTaps()[1];
    Below = Op.getD().getType().getRows() / 64;
    Columns = Op.getD().getType().getColumns();
    bool IsDense = PixelBytes == Channels * 2 && Op.getDilations()[1] == 1;
    // Of a line of taps: pieces of memory, and their elements.
    Pieces = IsDense ? 1 : Across;
    Elements = IsDense ? Across * Channels : Channels;
    TapRows = Across * int64_t(llvm::alignTo(Channels, HalfStep));
    FirstPixel = firstPixel(Image);
    if (int64_t Last = Elements % HalfStep)
      LastMask = maskOf(Last);
  }

  void multiply(MutableArrayRef<Value> Sums) {
    int64_t Steps = Elements / StepElements, Rest = Elements % StepElements;
    int64_t OfStep = Down * Below * Columns / 8;
    bool IsShort = Pieces * (Steps + (Rest > 0)) * OfStep <= MostUnrolled;
    // A single half of each piece needs its place in the filter.
    if (IsShort || Elements == HalfStep) {
      for (int64_t Piece = 0; Piece < Pieces; ++Piece)
        multiplyPiece({FirstPixel, Filter}, Piece, Sums);
    } else if (Pieces > 1) {
      loop(Pieces, pieceBytes(), Channels, Sums,
           [&](const Start &From, MutableArrayRef<Value> In) {
             multiplyPiece(From, 0, In);
           });
    } else {
      loop(Steps, StepBytes, StepElements, Sums,
           [&](const Start &From, MutableArrayRef<Value> In) {
             multiplyStep(From, 0, 0, StepElements, In);
           });
      if (Rest)
        multiplyStep({FirstPixel, Filter}, Steps * StepBytes,
                     Steps * StepElements, Rest, Sums);
    }
  }

private:
  /// Pointers to this lane's first pixel, and to the filter's first row.
  struct Start {
    Value Pixel, Filter;
  };

  static Kinds kindsOf(MmaWindowOp Op) {
    Type Element = Op.getImage().getType().getElement();
    return {Element, Element, Op.getD().getType().getElement()};
  }

  int64_t pieceBytes() { return Op.getDilations()[1] * PixelBytes; }

  /// Lanes give the rows of matrices: 16 in a line, then the same with the
  /// other 8 channels.
  Value firstPixel(Value Image) {
    Value Group = W.mul(W.bitAnd(Place.Warp, 3), Below);
    Value Lines = W.i32(Op.getLines());
    Value Line = arith::RemUIOp::create(B, Loc, Group, Lines),
          Column = arith::DivUIOp::create(B, Loc, Group, Lines);
    Column = W.add(W.shiftLeft(Column, 4), W.bitAnd(Place.Lane, 15));
    Value Pixel = W.add(W.mul(Line, Op.getStrides()[0] * Op.getWidth()),
                        W.mul(Column, Op.getStrides()[1]));
    Value Half = W.shiftLeft(W.shiftRight(Place.Lane, 4), 4);
    return W.pointer(Image, W.add(W.mul(Pixel, PixelBytes), Half));
  }

  /// A loop over `Count` parts of the sum, so many bytes of pixels and rows of
  /// the filter apart.
  void loop(int64_t Count, int64_t Bytes, int64_t Rows,
            MutableArrayRef<Value> Sums,
            function_ref<void(const Start &, MutableArrayRef<Value>)> Body) {
    auto Number = [&](int64_t V) -> Value { return W.i32(V); };
    auto For = scf::ForOp::create(B, Loc, Number(0), Number(Count), Number(1),
                                  SmallVector<Value>(Sums));
    OpBuilder::InsertionGuard Guard(B);
    B.setInsertionPointToStart(For.getBody());
    SmallVector<Value> In(For.getRegionIterArgs());
    int64_t Line = Op.getFilter().getType().getSwizzle();
    Value I = For.getInductionVar();
    Body({W.pointer(FirstPixel, W.mul(I, Bytes)),
          W.pointer(Filter, W.mul(I, Rows * Line))},
         In);
    scf::YieldOp::create(B, Loc, In);
    llvm::copy(For.getResults(), Sums.begin());
  }

  void multiplyPiece(const Start &From, int64_t Piece,
                     MutableArrayRef<Value> Sums) {
    for (int64_t Element = 0; Element < Elements; Element += StepElements)
      multiplyStep(From, Piece * pieceBytes() + Element * 2,
                   Piece * Channels + Element,
                   std::min(StepElements, Elements - Element), Sums);
  }

  /// `Size` elements under a column of taps: `Byte` in the pixels of the first
  /// line, `Row` in the filter.
  void multiplyStep(const Start &From, int64_t Byte, int64_t Row, int64_t Size,
                    MutableArrayRef<Value> Sums) {
    MatrixOperand OfFilter(B, Loc, Op.getFilter().getType(), From.Filter, Place,
                           /*IsA=*/false, /*AlongK=*/false);
    llvm::SmallDenseMap<int64_t, SmallVector<Value, 4>> Lines;
    for (int64_t Tap = 0; Tap < Down; ++Tap) {
      SmallVector<Value> Left;
      for (int64_t I = 0; I < Below; ++I) {
        int64_t Line = I * Op.getStrides()[0] + Tap * Op.getDilations()[0];
        SmallVector<Value, 4> &Words = Lines[Line];
        if (Words.empty())
          Words = loadPixels(From.Pixel,
                             Line * Op.getWidth() * PixelBytes + Byte, Size);
        llvm::append_range(Left, Words);
      }
      int64_t OfTap = Tap * TapRows + Row;
      for (int64_t Column = 0; Column < Columns; Column += 16)
        multiplyColumns(Left, OfFilter, OfTap, Column, Size, Sums);
    }
  }

  void multiplyColumns(ArrayRef<Value> Left, MatrixOperand &OfFilter,
                       int64_t Row, int64_t Column, int64_t Size,
                       MutableArrayRef<Value> Sums) {
    if (Size > HalfStep)
      return Products.multiplyColumns(Left, OfFilter.loadRows(Row, Column),
                                      Columns, Column, Sums);
    // 16 rows that are there, of which half are used.
    bool IsSecond = Row >= HalfStep;
    SmallVector<Value, 4> Right =
        OfFilter.loadRows(IsSecond ? Row - HalfStep : Row, Column);
    for (int64_t Block = 0; Block < Below; ++Block)
      for (int64_t Half = 0; Half < 2; ++Half)
        Products.multiply(
            Left.slice(2 * Block, 2), Right[2 * Half + (IsSecond ? 1 : 0)],
            SyncProducts::sumsOf(Sums, Columns, Block, Column + 8 * Half));
  }

  SmallVector<Value, 4> loadPixels(Value Pixel, int64_t Byte, int64_t Size) {
    int64_t Count = Size > HalfStep ? 4 : 2;
    MLIRContext *Context = B.getContext();
    SmallVector<Type> Each(Count, B.getI32Type());
    Value All = NVVM::LdMatrixOp::create(
        B, Loc, LLVM::LLVMStructType::getLiteral(Context, Each),
        W.pointer(Pixel, Byte), uint32_t(Count), NVVM::MMALayout::row,
        NVVM::LdStMatrixShapeAttr::get(Context, 8, 8),
        NVVM::LdStMatrixEltType::B16);
    SmallVector<Value, 4> Words;
    for (int64_t I = 0; I < Count; ++I) {
      Value Word = LLVM::ExtractValueOp::create(B, Loc, All, I);
      if (Size % HalfStep && I >= Count - 2)
        Word = arith::AndIOp::create(B, Loc, Word, LastMask);
      Words.push_back(Word);
    }
    return Words;
  }

  /// What this lane's two elements of 8 are multiplied with bit by bit, of
  /// which `Count` belong to a pixel.
  Value maskOf(int64_t Count) {
    Value Quad = W.bitAnd(Place.Lane, 3);
    auto Select = [&](int64_t Lanes, int64_t Bits, Value Else) -> Value {
      Value Is = arith::CmpIOp::create(B, Loc, arith::CmpIPredicate::ult, Quad,
                                       W.i32(Lanes));
      return arith::SelectOp::create(B, Loc, Is, W.i32(Bits), Else);
    };
    Value Odd = Count % 2 ? Select(Count / 2 + 1, 0xffff, W.i32(0)) : W.i32(0);
    return Select(Count / 2, -1, Odd);
  }

  OpBuilder &B;
  Location Loc;
  NvvmWriter W;
  MmaWindowOp Op;
  const ThreadPlace &Place;
  Value Filter, FirstPixel, LastMask;
  SyncProducts Products;
  int64_t PixelBytes, Channels, Down, Across, Below, Columns, Pieces, Elements,
      TapRows;
};

struct LowerMmaWindow : TilePattern<MmaWindowOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(MmaWindowOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    SmallVector<Value> Sums = unpack(Rewriter, Loc, Adaptor.getC());
    WindowProducts(Rewriter, Op, Adaptor.getImage(), Adaptor.getFilter(), Place)
        .multiply(Sums);
    Rewriter.replaceOp(
        Op, pack(Rewriter, Loc,
                 getTypeConverter()->convertType(Op.getD().getType()), Sums));
    return success();
  }
};

} // namespace

void kpc::tile::populateWindowPatterns(const TypeConverter &Types,
                                       RewritePatternSet &Patterns,
                                       const ThreadPlace &Place) {
  Patterns.add<LowerMmaWindow>(Types, Patterns.getContext(), Place);
}
