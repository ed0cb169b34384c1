//===- LowerRings.cpp - Copies and accesses of a warp's own stages --------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Rows that the lanes of a warp copy into a stage of their ring, or each lane
/// a vector, and vectors that they load from there. Tiles are plain rows; a row
/// swizzle moves the units of 16 bytes within their row:
///
///   byte of (row, byte in row) = row · row bytes + (byte xor bits of the row)
///
/// LowerPipes.cpp has the ring's stages.
///
//===----------------------------------------------------------------------===//

#include "passes/tile/LowerTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kpc::tile;

namespace {

/// Bytes of a copy, and lanes of a warp.
constexpr int64_t UnitBytes = 16, Lanes = 32;

/// Arithmetic on indices, and places in a tile of plain rows.
class RowWriter {
public:
  RowWriter(OpBuilder &B, Location Loc) : B(B), Loc(Loc) {}

  Value index(int64_t V) { return arith::ConstantIndexOp::create(B, Loc, V); }
  template <typename Op> Value with(Value A, Value C) {
    return B.createOrFold<Op>(Loc, A, C);
  }
  template <typename Op> Value with(Value A, int64_t C) {
    return with<Op>(A, index(C));
  }
  Value add(Value A, Value C) { return with<arith::AddIOp>(A, C); }
  Value add(Value A, int64_t C) { return C ? add(A, index(C)) : A; }
  Value mul(Value A, Value C) { return with<arith::MulIOp>(A, C); }
  Value mul(Value A, int64_t C) { return C == 1 ? A : mul(A, index(C)); }
  Value toI64(Value Index) {
    return B.createOrFold<arith::IndexCastOp>(Loc, B.getI64Type(), Index);
  }

  /// The pointer behind `Base` by `Bytes`, an index.
  Value pointer(Value Base, Value Bytes) {
    return LLVM::GEPOp::create(B, Loc, Base.getType(), B.getI8Type(), Base,
                               ArrayRef<LLVM::GEPArg>{toI64(Bytes)});
  }

  /// Where a row of a tile begins, in bytes.
  Value placeOfRow(SharedType Tile, Value Row) {
    return mul(Row, Tile.getRowBytes());
  }
  /// Where the element (Row, Column) is in its row.
  Value placeInRow(SharedType Tile, Value Row, Value Column) {
    return swizzled(Tile, Row, byteOf(Tile, Column));
  }
  /// Where it is in the tile. The swizzle changes bits of the place in the row
  /// alone; exchanged last, it leaves one value for LLVM to move out of loops.
  Value placeIn(SharedType Tile, Value Row, Value Column) {
    return swizzled(Tile, Row,
                    add(placeOfRow(Tile, Row), byteOf(Tile, Column)));
  }

private:
  Value byteOf(SharedType Tile, Value Column) {
    return mul(Column, int64_t(Tile.getElementBits()) / 8);
  }
  Value swizzled(SharedType Tile, Value Row, Value Byte) {
    int64_t RowBit = llvm::Log2_64(uint64_t(Tile.getRowBytes()));
    for (ArrayRef<int64_t> Swizzle = Tile.getRowSwizzle(); !Swizzle.empty();
         Swizzle = Swizzle.drop_front(3)) {
      // Of the row's number, the bits that are XORed into those of the unit.
      int64_t Bits = Swizzle[0], Base = Swizzle[1], Shift = Swizzle[2];
      Value Of =
          with<arith::DivUIOp>(Row, int64_t(1) << (Base + Shift - RowBit));
      Of = with<arith::AndIOp>(Of, (int64_t(1) << Bits) - 1);
      Byte = with<arith::XOrIOp>(Byte, mul(Of, int64_t(1) << Base));
    }
    return Byte;
  }

  OpBuilder &B;
  Location Loc;
};

/// After so many rows, and so many bytes of a row, the swizzle begins again.
struct Period {
  int64_t Rows = 1, Bytes = 1;
};
Period periodOf(SharedType Tile) {
  Period P;
  int64_t RowBit = llvm::Log2_64(uint64_t(Tile.getRowBytes()));
  for (ArrayRef<int64_t> Swizzle = Tile.getRowSwizzle(); !Swizzle.empty();
       Swizzle = Swizzle.drop_front(3)) {
    int64_t Bits = Swizzle[0], Base = Swizzle[1], Shift = Swizzle[2];
    P.Rows = std::max(P.Rows, int64_t(1) << (Bits + Base + Shift - RowBit));
    P.Bytes = std::max(P.Bytes, int64_t(1) << (Bits + Base));
  }
  return P;
}

struct LowerWarp : TilePattern<WarpOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(WarpOp Op, OpAdaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Rewriter.replaceOp(Op,
                       NvvmWriter(Rewriter, Op.getLoc()).toIndex(Place.Warp));
    return success();
  }
};

struct LowerCpAsyncRows : TilePattern<CpAsyncRowsOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(CpAsyncRowsOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    RowWriter R(Rewriter, Loc);
    NvvmWriter W(Rewriter, Loc);
    SharedType Tile = Op.getTile().getType();
    int64_t ElementBytes = int64_t(Tile.getElementBits()) / 8,
            Units = Tile.getRowBytes() / UnitBytes, AtOnce = Lanes / Units;
    Value Lane = W.toIndex(Place.Lane);
    Value Row = R.with<arith::DivUIOp>(Lane, Units),
          Column = R.mul(R.with<arith::RemUIOp>(Lane, Units),
                         UnitBytes / ElementBytes);
    // This lane's place in the first rows; the others are a distance behind it
    // that is the same in all lanes.
    Value First =
        R.add(R.add(R.mul(Row, Op.getStride()), Column), Op.getFirst());
    Value Base = memref::ExtractAlignedPointerAsIndexOp::create(Rewriter, Loc,
                                                                Op.getMemory());
    Value From = LLVM::IntToPtrOp::create(
        Rewriter, Loc, LLVM::LLVMPointerType::get(Op.getContext(), 1),
        R.toI64(Base));
    From = R.pointer(From, R.mul(First, ElementBytes));
    Value RowStride = R.mul(Op.getStride(), ElementBytes);
    auto Less = [&](Value A, Value C) -> Value {
      return arith::CmpIOp::create(Rewriter, Loc, arith::CmpIPredicate::slt, A,
                                   C);
    };
    Value InRow;
    if (int64_t(Op.getColumns()) < Tile.getColumns())
      InRow = Less(Column, R.index(int64_t(Op.getColumns())));
    // As many of the tile's rows are there: a word.
    Value Count = W.toI32(R.with<arith::MinSIOp>(
        R.with<arith::MaxSIOp>(Op.getRows(), 0), Tile.getRows()));
    Value RowWord = W.toI32(Row);
    for (int64_t Number = 0; Number < Tile.getRows(); Number += AtOnce) {
      Value Here = R.add(Row, Number);
      Value Inside = Less(RowWord, W.add(Count, -Number));
      if (InRow)
        Inside = R.with<arith::AndIOp>(Inside, InRow);
      // Nothing is read where no byte is taken.
      Value Bytes = arith::SelectOp::create(Rewriter, Loc, Inside,
                                            W.i32(UnitBytes), W.i32(0));
      NVVM::CpAsyncOp::create(
          Rewriter, Loc,
          R.pointer(Adaptor.getTile(), R.placeIn(Tile, Here, Column)),
          R.pointer(From, R.mul(RowStride, Number)), UnitBytes,
          NVVM::LoadCacheModifierKind::CG, Bytes);
    }
    Rewriter.eraseOp(Op);
    return success();
  }
};

struct LowerCachePolicy : TilePattern<CachePolicyOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(CachePolicyOp Op, OpAdaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    std::string Text = "createpolicy.fractional.L2::" +
                       stringifyEviction(Op.getEviction()).str() +
                       ".b64 {$w0}, 1.0;";
    Rewriter.replaceOp(Op, NVVM::InlinePtxOp::create(
                               Rewriter, Op.getLoc(), TypeRange{Op.getType()},
                               ValueRange(), ValueRange(), Text, Value()));
    return success();
  }
};

struct LowerGridDependencyWait : TilePattern<GridDependencyWaitOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(GridDependencyWaitOp Op, OpAdaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    // Not the intrinsics, which LLVM takes for ones that memory does not matter
    // to: loads would move across them.
    Rewriter.replaceOpWithNewOp<LLVM::InlineAsmOp>(
        Op, TypeRange(), ValueRange(),
        "griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;",
        "~{memory}", /*has_side_effects=*/true, /*is_align_stack=*/false,
        LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
    return success();
  }
};

struct LowerCpAsyncVector : TilePattern<CpAsyncVectorOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(CpAsyncVectorOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    RowWriter R(Rewriter, Loc);
    NvvmWriter W(Rewriter, Loc);
    SharedType Tile = Op.getTile().getType();
    int64_t Bytes = Op.getBytes();
    Value To = LLVM::PtrToIntOp::create(
        Rewriter, Loc, Rewriter.getI32Type(),
        R.pointer(Adaptor.getTile(),
                  R.placeIn(Tile, Op.getRow(), Op.getColumn())));
    Value Base = memref::ExtractAlignedPointerAsIndexOp::create(Rewriter, Loc,
                                                                Op.getMemory());
    Value From =
        R.toI64(R.add(Base, R.mul(Op.getAt(), Tile.getElementBits() / 8)));
    SmallVector<Value> Operands = {To, From};
    // Less than 16 bytes go through the first cache.
    std::string Text = std::string("cp.async.") +
                       (Bytes == UnitBytes ? "cg" : "ca") + ".shared.global";
    std::string Rest = " [{$r0}], [{$r1}], " + std::to_string(Bytes);
    auto Append = [&](Value V) {
      Rest += ", {$r" + std::to_string(Operands.size()) + "}";
      Operands.push_back(V);
    };
    // Nothing is read where no byte is taken.
    Value Count = W.i32(Bytes);
    if (Value Inside = Op.getInside())
      Count = arith::SelectOp::create(Rewriter, Loc, Inside, Count, W.i32(0));
    Append(Count);
    if (Value Policy = Adaptor.getPolicy()) {
      Text += ".L2::cache_hint";
      Append(Policy);
    }
    NVVM::InlinePtxOp::create(Rewriter, Loc, TypeRange(), Operands,
                              ValueRange(), Text + Rest + ";",
                              Op.getCondition());
    Rewriter.eraseOp(Op);
    return success();
  }
};

unsigned bytesOf(Type Vector) {
  auto Ty = cast<VectorType>(Vector);
  return unsigned(Ty.getNumElements() * Ty.getElementTypeBitWidth() / 8);
}

/// Where a vector is: (Row, Column), and behind it constant bytes, the whole
/// periods of the swizzle, which become part of the instruction.
struct VectorPlace {
  Value Row, Column;
  int64_t Bytes = 0;

  template <typename Access> static VectorPlace of(RowWriter &R, Access Op) {
    SharedType Tile = Op.getTile().getType();
    int64_t ElementBytes = int64_t(Tile.getElementBits()) / 8,
            RowOffset = Op.getRowOffset(), ColumnOffset = Op.getColumnOffset();
    Period P = periodOf(Tile);
    int64_t Rows = RowOffset / P.Rows * P.Rows,
            InRow = ColumnOffset * ElementBytes / P.Bytes * P.Bytes;
    return {R.add(Op.getRow(), RowOffset - Rows),
            R.add(Op.getColumn(), ColumnOffset - InRow / ElementBytes),
            Rows * Tile.getRowBytes() + InRow};
  }
};

struct LowerLoadVector : TilePattern<LoadVectorOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(LoadVectorOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    RowWriter R(Rewriter, Loc);
    NvvmWriter W(Rewriter, Loc);
    SharedType Tile = Op.getTile().getType();
    VectorPlace At = VectorPlace::of(R, Op);
    Value From;
    if (std::optional<uint32_t> Block = Op.getBlock()) {
      // One address of the other block's row, wherever in it vectors are.
      From = NVVM::MapaOp::create(
          Rewriter, Loc, NvvmWriter::clusterPointer(Op.getContext()),
          R.pointer(Adaptor.getTile(), R.placeOfRow(Tile, At.Row)),
          W.i32(int64_t(*Block)));
      From = R.pointer(From, R.placeInRow(Tile, At.Row, At.Column));
    } else {
      From = R.pointer(Adaptor.getTile(), R.placeIn(Tile, At.Row, At.Column));
    }
    Type Ty = Op.getVector().getType();
    Rewriter.replaceOp(Op, LLVM::LoadOp::create(Rewriter, Loc, Ty,
                                                W.pointer(From, At.Bytes),
                                                bytesOf(Ty)));
    return success();
  }
};

struct LowerLoadMatrix : TilePattern<LoadMatrixOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(LoadMatrixOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    RowWriter R(Rewriter, Loc);
    VectorPlace At = VectorPlace::of(R, Op);
    Value From = NvvmWriter(Rewriter, Loc)
                     .pointer(R.pointer(Adaptor.getTile(),
                                        R.placeIn(Op.getTile().getType(),
                                                  At.Row, At.Column)),
                              At.Bytes);
    MLIRContext *Context = Op.getContext();
    Type I32 = Rewriter.getI32Type();
    auto Four = LLVM::LLVMStructType::getLiteral(Context, {I32, I32, I32, I32});
    Value Loaded = NVVM::LdMatrixOp::create(
        Rewriter, Loc, Four, From, 4, NVVM::MMALayout::col,
        NVVM::LdStMatrixShapeAttr::get(Context, 8, 8),
        NVVM::LdStMatrixEltType::B16);
    SmallVector<Value> Words;
    for (int64_t I = 0; I < 4; ++I)
      Words.push_back(LLVM::ExtractValueOp::create(Rewriter, Loc, Loaded, I));
    Rewriter.replaceOpWithNewOp<vector::FromElementsOp>(
        Op, Op.getVector().getType(), Words);
    return success();
  }
};

struct LowerStoreVector : TilePattern<StoreVectorOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(StoreVectorOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    RowWriter R(Rewriter, Loc);
    VectorPlace At = VectorPlace::of(R, Op);
    Value To = R.pointer(Adaptor.getTile(),
                         R.placeIn(Op.getTile().getType(), At.Row, At.Column));
    LLVM::StoreOp::create(Rewriter, Loc, Op.getVector(),
                          NvvmWriter(Rewriter, Loc).pointer(To, At.Bytes),
                          bytesOf(Op.getVector().getType()));
    Rewriter.eraseOp(Op);
    return success();
  }
};

} // namespace

void kpc::tile::populateRingPatterns(const TypeConverter &Types,
                                     RewritePatternSet &Patterns,
                                     const ThreadPlace &Place) {
  Patterns.add<LowerWarp, LowerCpAsyncRows, LowerCachePolicy,
               LowerGridDependencyWait, LowerCpAsyncVector, LowerLoadVector,
               LowerLoadMatrix, LowerStoreVector>(Types, Patterns.getContext(),
                                                  Place);
}
