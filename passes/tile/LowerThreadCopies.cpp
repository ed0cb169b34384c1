//===- LowerThreadCopies.cpp - Copies that all threads make ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A tile.cp_async becomes, for each piece of a thread, the block that tells
/// where it is and a cp.async, whose source size is what is there (the rest
/// becomes zero). Pieces are counted along the rows of the tile: where a row's
/// pieces divide the threads, a thread's pieces are all in one column, and its
/// rows have the same swizzle, so that all but the first address are constants
/// away.
///
//===----------------------------------------------------------------------===//

#include "dialects/kernel/Kernel.h"
#include "passes/tile/LowerTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kpc::tile;

namespace {

/// Threads that share the pieces of `Op`: the block's, or a warpgroup's; 0
/// where nothing is said.
template <typename Copy> int64_t threadsOf(Copy Op) {
  if (Op.getWarpgroup())
    return WarpgroupThreads;
  auto Kernel = Op->template getParentOfType<gpu::GPUFuncOp>();
  kpc::kernel::LaunchAttr Launch =
      Kernel ? kpc::kernel::launchOf(Kernel) : kpc::kernel::LaunchAttr();
  return Launch ? Launch.getThreads() : 0;
}

/// The pieces of a tile that a thread copies.
class Pieces {
public:
  /// `Columns` of each row.
  Pieces(OpBuilder &B, Location Loc, SharedType Tile, Value Pointer,
         int64_t Columns, int64_t Bytes, int64_t Threads, bool OfWarpgroup,
         const ThreadPlace &Place)
      : Tile(Tile), Bytes(Bytes), Threads(Threads), B(B), Loc(Loc), W(B, Loc),
        Pointer(Pointer), Thread(Place.Thread) {
    if (OfWarpgroup)
      Thread = W.bitAnd(Thread, WarpgroupThreads - 1);
    PerRow = Columns * Tile.getElementBits() / 8 / Bytes;
    Total = PerRow * Tile.getRows();
    IsPart = Columns < Tile.getColumns();
    // Rows of one thread are a multiple of 8 apart; plain ones have no pattern.
    Regular = Threads % ((Tile.getSwizzle() ? 8 : 1) * PerRow) == 0;
  }

  int64_t count() const { return (Total + Threads - 1) / Threads; }
  /// Rows from a thread's piece to its next; 0: they differ.
  int64_t rowsApart() const { return Regular ? Threads / PerRow : 0; }
  /// Not every thread has a piece of this number.
  bool isPartial(int64_t Number) const {
    return (Number + 1) * Threads > Total;
  }
  Value isThere(int64_t Number) {
    return arith::CmpIOp::create(B, Loc, arith::CmpIPredicate::slt, Thread,
                                 W.i32(Total - Number * Threads));
  }

  struct Piece {
    Value Row, Column; ///< index, of the first element
    Value Address;     ///< in shared memory
  };
  Piece at(int64_t Number) {
    int64_t Line = Tile.getSwizzle() ? Tile.getSwizzle() : Tile.getRowBytes();
    if (Regular) {
      if (!Start)
        begin();
      int64_t Row = Number * Threads / PerRow;
      return {
          arith::AddIOp::create(B, Loc, FirstRow,
                                arith::ConstantIndexOp::create(B, Loc, Row)),
          Column, W.pointer(Start, Row * Line)};
    }
    Value Index = W.add(Thread, Number * Threads);
    return split(Index);
  }

private:
  void begin() {
    Piece First = split(Thread);
    FirstRow = First.Row;
    Column = First.Column;
    Start = First.Address;
  }

  Piece split(Value Index) {
    auto Div = [&](Value V, int64_t By) -> Value {
      return arith::DivUIOp::create(B, Loc, V, W.i32(By));
    };
    int64_t Line = Tile.getSwizzle();
    Value Row = Div(Index, PerRow);
    Value Byte =
        W.mul(arith::SubIOp::create(B, Loc, Index, W.mul(Row, PerRow)), Bytes);
    if (!Line)
      return {W.toIndex(Row), W.toIndex(Div(Byte, Tile.getElementBits() / 8)),
              W.pointer(Pointer,
                        IsPart ? W.add(W.mul(Row, Tile.getRowBytes()), Byte)
                               : W.mul(Index, Bytes))};
    Value InLine =
        W.bitXor(W.bitAnd(Byte, Line - 1), W.swizzleOfRow(Tile, Row));
    Value Lines =
        W.mul(W.add(W.mul(Div(Byte, Line), Tile.getPitch()), Row), Line);
    Value Element = Div(Byte, Tile.getElementBits() / 8);
    return {W.toIndex(Row), W.toIndex(Element),
            W.pointer(Pointer, W.add(Lines, InLine))};
  }

  SharedType Tile;
  int64_t Bytes, Threads, PerRow = 0, Total = 0;
  bool Regular = false, IsPart = false;
  OpBuilder &B;
  Location Loc;
  NvvmWriter W;
  Value Pointer, Thread, Start, FirstRow, Column;
};

/// What the block of an op tells of a piece.
struct Source {
  Value At, Count;
};
Source sourceOf(OpBuilder &B, Block &Body, const Pieces::Piece &Piece) {
  IRMapping Map;
  Map.map(Body.getArguments(), ValueRange{Piece.Row, Piece.Column});
  for (Operation &Inner : Body.without_terminator())
    B.clone(Inner, Map);
  auto Place = cast<YieldAddressOp>(Body.getTerminator());
  return {Map.lookupOrDefault(Place.getAt()),
          Place.getCount() ? Map.lookupOrDefault(Place.getCount()) : Value()};
}

/// The pieces of a gather or scatter; a failure after an error.
template <typename Copy>
FailureOr<Pieces> piecesOf(Copy Op, Value Pointer, OpBuilder &B,
                           const ThreadPlace &Place) {
  int64_t Threads = threadsOf(Op);
  if (Threads == 0)
    return Op.emitOpError(
        "needs a kernel with 'kernel.launch': its threads share "
        "the pieces");
  int64_t Columns = Op.getTile().getType().getColumns();
  if constexpr (std::is_same_v<Copy, CpAsyncOp>)
    Columns = Op.getColumns() ? int64_t(Op.getColumns()) : Columns;
  return Pieces(B, Op.getLoc(), Op.getTile().getType(), Pointer, Columns,
                Op.getBytes(), Threads, Op.getWarpgroup(), Place);
}

struct LowerCpAsync : TilePattern<CpAsyncOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(CpAsyncOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    FailureOr<Pieces> All = piecesOf(Op, Adaptor.getTile(), Rewriter, Place);
    if (failed(All))
      return failure();
    if (Op.getBytes() < 4)
      copyElements(Rewriter, Op, *All);
    else
      copyPieces(Rewriter, Op, *All);
    Rewriter.eraseOp(Op);
    return success();
  }

private:
  /// Runs `Body` where this thread has the piece.
  static void whereThere(OpBuilder &B, Location Loc, Pieces &All,
                         int64_t Number, function_ref<void()> Body) {
    if (!All.isPartial(Number))
      return Body();
    auto If = scf::IfOp::create(B, Loc, All.isThere(Number),
                                /*withElseRegion=*/false);
    OpBuilder::InsertionGuard Guard(B);
    B.setInsertionPointToStart(If.thenBlock());
    Body();
  }

  static void copyPieces(OpBuilder &B, CpAsyncOp Op, Pieces &All) {
    Location Loc = Op.getLoc();
    NvvmWriter W(B, Loc);
    int64_t Bytes = Op.getBytes(),
            ElementBytes = Op.getTile().getType().getElementBits() / 8;
    Value Base =
        memref::ExtractAlignedPointerAsIndexOp::create(B, Loc, Op.getMemory());
    Type Global = LLVM::LLVMPointerType::get(Op.getContext(), 1);
    // Pointers, of whose offsets LLVM makes constants and loop invariants.
    auto Index = [&](int64_t V) -> Value {
      return arith::ConstantIndexOp::create(B, Loc, V);
    };
    auto PointerAt = [&](Value From, Value Elements) -> Value {
      Value Offset =
          arith::MulIOp::create(B, Loc, Elements, Index(ElementBytes));
      Value Bytes = arith::IndexCastOp::create(B, Loc, B.getI64Type(), Offset);
      return LLVM::GEPOp::create(B, Loc, Global, B.getI8Type(), From,
                                 ArrayRef<LLVM::GEPArg>{Bytes});
    };
    Value Word = arith::IndexCastOp::create(B, Loc, B.getI64Type(), Base);
    Value Start = LLVM::IntToPtrOp::create(B, Loc, Global, Word);
    Value Pointer, Apart;
    if (Op.getRowStride() && All.rowsApart() && !All.isPartial(All.count() - 1))
      Apart = arith::MulIOp::create(B, Loc, Op.getRowStride(),
                                    Index(All.rowsApart()));
    for (int64_t I = 0; I < All.count(); ++I) {
      Pieces::Piece Piece = All.at(I);
      whereThere(B, Loc, All, I, [&] {
        Source From = sourceOf(B, Op.getBody().front(), Piece);
        if (I == 0 || !Apart)
          Pointer = PointerAt(Start, From.At);
        else
          Pointer = PointerAt(Pointer, Apart);
        Value Count;
        if (From.Count) {
          // Bytes that are there: 0 to all of the piece's.
          Value None = arith::ConstantIndexOp::create(B, Loc, 0),
                Most = arith::ConstantIndexOp::create(B, Loc,
                                                      Bytes / ElementBytes);
          Value There = arith::MinSIOp::create(
              B, Loc, arith::MaxSIOp::create(B, Loc, From.Count, None), Most);
          Count = W.mul(W.toI32(There), ElementBytes);
        }
        // Shorter ones than 16 bytes cannot go past the first cache.
        NVVM::CpAsyncOp::create(B, Loc, Piece.Address, Pointer, Bytes,
                                Bytes == 16 && !Op.getCached()
                                    ? NVVM::LoadCacheModifierKind::CG
                                    : NVVM::LoadCacheModifierKind::CA,
                                Count);
      });
    }
  }

  /// Elements of 1 or 2 bytes through registers, a few loads ahead of their
  /// stores.
  static void copyElements(OpBuilder &B, CpAsyncOp Op, Pieces &All) {
    constexpr int64_t Ahead = 8;
    Location Loc = Op.getLoc();
    Type Element = cast<MemRefType>(Op.getMemory().getType()).getElementType();
    Value Zero = arith::ConstantOp::create(B, Loc, B.getZeroAttr(Element));
    for (int64_t First = 0; First < All.count(); First += Ahead) {
      int64_t End = std::min(First + Ahead, All.count());
      SmallVector<std::pair<Value, Value>> Loaded; // address, value
      for (int64_t I = First; I < End; ++I) {
        Pieces::Piece Piece = All.at(I);
        Source From = sourceOf(B, Op.getBody().front(), Piece);
        Value There;
        if (From.Count)
          There = arith::CmpIOp::create(
              B, Loc, arith::CmpIPredicate::sgt, From.Count,
              arith::ConstantIndexOp::create(B, Loc, 0));
        if (All.isPartial(I)) {
          Value Mine = All.isThere(I);
          There = There ? arith::AndIOp::create(B, Loc, There, Mine).getResult()
                        : Mine;
        }
        Loaded.push_back(
            {Piece.Address, loadWhere(B, Op, There, From.At, Zero)});
      }
      for (auto [I, One] : llvm::enumerate(Loaded))
        whereThere(B, Loc, All, First + int64_t(I), [&, &One = One] {
          LLVM::StoreOp::create(B, Loc, One.second, One.first,
                                /*alignment=*/unsigned(Op.getBytes()));
        });
    }
  }

  static Value loadWhere(OpBuilder &B, CpAsyncOp Op, Value There, Value At,
                         Value Zero) {
    Location Loc = Op.getLoc();
    if (!There)
      return memref::LoadOp::create(B, Loc, Op.getMemory(), At);
    auto If = scf::IfOp::create(B, Loc, Zero.getType(), There,
                                /*withElseRegion=*/true);
    OpBuilder::InsertionGuard Guard(B);
    B.setInsertionPointToStart(If.thenBlock());
    Value Loaded = memref::LoadOp::create(B, Loc, Op.getMemory(), At);
    scf::YieldOp::create(B, Loc, Loaded);
    B.setInsertionPointToStart(If.elseBlock());
    scf::YieldOp::create(B, Loc, Zero);
    return If.getResult(0);
  }
};

struct LowerStoreGlobal : TilePattern<StoreGlobalOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(StoreGlobalOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    SharedType Tile = Op.getTile().getType();
    FailureOr<Pieces> All = piecesOf(Op, Adaptor.getTile(), Rewriter, Place);
    if (failed(All))
      return failure();
    int64_t Elements = Op.getBytes() * 8 / Tile.getElementBits();
    auto Ty = VectorType::get(Elements, Tile.getElement());
    auto Constant = [&](int64_t V) -> Value {
      return arith::ConstantIndexOp::create(Rewriter, Loc, V);
    };
    for (int64_t I = 0; I < All->count(); ++I) {
      Pieces::Piece Piece = All->at(I);
      Source To = sourceOf(Rewriter, Op.getBody().front(), Piece);
      Value Count = To.Count ? To.Count : Constant(Elements);
      if (All->isPartial(I))
        Count = arith::SelectOp::create(Rewriter, Loc, All->isThere(I), Count,
                                        Constant(0));
      // All of the piece, else one by one where it may be a part.
      bool MayBePart = Elements > 1 && !Op.getWhole();
      auto When = [&](arith::CmpIPredicate P, int64_t Bound, bool Else) {
        Value Condition =
            arith::CmpIOp::create(Rewriter, Loc, P, Count, Constant(Bound));
        return scf::IfOp::create(Rewriter, Loc, Condition, Else);
      };
      auto Load = [&]() -> Value {
        return LLVM::LoadOp::create(Rewriter, Loc, Ty, Piece.Address,
                                    /*alignment=*/Op.getBytes());
      };
      OpBuilder::InsertionGuard Guard(Rewriter);
      auto Whole = When(arith::CmpIPredicate::sge, Elements, MayBePart);
      Rewriter.setInsertionPointToStart(Whole.thenBlock());
      auto Store =
          vector::StoreOp::create(Rewriter, Loc, Load(), Op.getMemory(), To.At);
      Store.setAlignment(Op.getBytes());
      if (!MayBePart)
        continue;
      Rewriter.setInsertionPointToStart(Whole.elseBlock());
      auto Some = When(arith::CmpIPredicate::sgt, 0, false);
      Rewriter.setInsertionPointToStart(Some.thenBlock());
      Value Vector = Load();
      for (int64_t E = 0; E < Elements - 1; ++E) {
        OpBuilder::InsertionGuard InOne(Rewriter);
        auto One = When(arith::CmpIPredicate::sgt, E, false);
        Rewriter.setInsertionPointToStart(One.thenBlock());
        Value Element = vector::ExtractOp::create(Rewriter, Loc, Vector, E);
        Value At = arith::AddIOp::create(Rewriter, Loc, To.At, Constant(E));
        memref::StoreOp::create(Rewriter, Loc, Element, Op.getMemory(), At);
      }
    }
    Rewriter.eraseOp(Op);
    return success();
  }
};

struct LowerCpAsyncCommit : TilePattern<CpAsyncCommitOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(CpAsyncCommitOp Op, OpAdaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Rewriter.replaceOpWithNewOp<NVVM::CpAsyncCommitGroupOp>(Op);
    return success();
  }
};

struct LowerCpAsyncWait : TilePattern<CpAsyncWaitOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(CpAsyncWaitOp Op, OpAdaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Rewriter.replaceOpWithNewOp<NVVM::CpAsyncWaitGroupOp>(Op, Op.getInFlight());
    return success();
  }
};

} // namespace

void kpc::tile::populateThreadCopyPatterns(const TypeConverter &Types,
                                           RewritePatternSet &Patterns,
                                           const ThreadPlace &Place) {
  Patterns.add<LowerCpAsync, LowerStoreGlobal, LowerCpAsyncCommit,
               LowerCpAsyncWait>(Types, Patterns.getContext(), Place);
}
