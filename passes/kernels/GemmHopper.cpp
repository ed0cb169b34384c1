//===- GemmHopper.cpp - Matrix products on wgmma --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A product of 16-bit matrices, or of f32 as tf32, on sm_90a. One warp of a
/// block copies slices of both operands into a ring in shared memory (TMA);
/// one, two or three other warpgroups multiply them (wgmma), 64 rows each, with
/// one product in flight while the next slice is waited for; what the kernel
/// does with each element happens in registers; the result goes through shared
/// memory back by TMA. Blocks stay and take tile after tile, so that the ring
/// runs on over the end of a tile.
///
///      global A,B ──TMA──▶ slot 0 … slot S-1 ──wgmma──▶ registers
///                             ▲  full/empty barriers       │ epilogue
///      global D ◀──TMA── staging, two of 64×64 ◀──stmatrix─┘
///
/// Not for: sums that may be empty, rows of memory that do not start at
/// multiples of 16 bytes.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/HopperProduct.h"
#include "passes/kernels/ScheduleChoice.h"
#include "passes/kernels/SizeFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace kpc::kernels {

using schedule::GemmSchedule;
using shape::Expr;

namespace {

/// What TMA asks of strides, in bytes.
constexpr int64_t StrideBytes = 16;

/// Copies of `M` can be made: it is contiguous along the columns, or, with
/// `RowsToo`, along either.
bool isReadable(const MatrixProduct &P, const Matrix &M, bool RowsToo) {
  int64_t Elements = StrideBytes * 8 / M.Element.getIntOrFloatBitWidth();
  auto Whole = [&](const Expr &Stride) {
    int64_t Divisor = P.Facts.divisor(Stride);
    return Divisor % Elements == 0; // 0 divides as all do
  };
  bool ByRow = M.ColumnStride == Expr(1) && Whole(M.RowStride);
  bool ByColumn = M.RowStride == Expr(1) && Whole(M.ColumnStride);
  return (ByRow || (RowsToo && ByColumn)) && Whole(M.BatchStride);
}

bool fits(const MatrixProduct &P) {
  Type To = P.D.Element;
  // Of tf32, wgmma takes operands with the sum side by side alone.
  bool Turned = !P.isTf32();
  bool AlongSum = P.A.ColumnStride == Expr(1) && P.B.RowStride == Expr(1);
  return P.hasTensorTypes() && (To.isF16() || To.isBF16() || To.isF32()) &&
         P.Facts.range(P.Sum).Min >= 1 && (Turned || AlongSum) &&
         isReadable(P, P.A, true) && isReadable(P, P.B, true) &&
         isReadable(P, P.D, false);
}

/// Lines of the second cache that each line of a copy touches: rows that do
/// not begin at one take two.
int64_t linesPerLine(const MatrixProduct &P, const Matrix &M) {
  int64_t Elements =
      schedule::CacheLineBytes * 8 / M.Element.getIntOrFloatBitWidth();
  Expr Stride = M.ColumnStride == Expr(1) ? M.RowStride : M.ColumnStride;
  return P.Facts.divisor(Stride) % Elements == 0 ? 1 : 2;
}

class GemmHopper : public HopperProduct {
public:
  using HopperProduct::HopperProduct;

private:
  void declareTiles() override;
  void addOperandViews() override;
  Value countSum() override { return W.size(P.C.Sum.Sizes); }
  Value produceTile(const Place &Where, Value Cursor) override;

  void bring(BlockArgument View, const Place &Where, Value Row, Value Column,
             Value Tile, Value Slot, int64_t Blocks);

  BlockArgument ViewA, ViewB;
};

void GemmHopper::declareTiles() {
  ATransposed = P.A.ColumnStride != Expr(1);
  BTransposed = P.B.RowStride == Expr(1);
  TileA = ATransposed ? sharedTile(S.TileSum, S.TileRows, P.A.Element)
                      : sharedTile(S.TileRows, S.TileSum, P.A.Element);
  TileB = BTransposed ? sharedTile(S.TileColumns, S.TileSum, P.A.Element)
                      : sharedTile(S.TileSum, S.TileColumns, P.A.Element);
}

/// Rows of an operand's tile that this block brings: where several blocks need
/// the same tile, each copies a part of it to all.
static int64_t ownRows(tile::SharedType Tile, int64_t Blocks) {
  return Tile.getRows() / Blocks;
}

void GemmHopper::addOperandViews() {
  auto LinesA = viewOfLines(TileA, ownRows(TileA, S.ClusterColumns));
  ViewA = ATransposed ? addMatrixView(P.A, LinesA, true, P.Sum, P.Rows)
                      : addMatrixView(P.A, LinesA, false, P.Rows, P.Sum);
  auto LinesB = viewOfLines(TileB, ownRows(TileB, S.ClusterRows));
  ViewB = BTransposed ? addMatrixView(P.B, LinesB, true, P.Columns, P.Sum)
                      : addMatrixView(P.B, LinesB, false, P.Sum, P.Columns);
}

/// Copies this block's rows of a tile into it, in all blocks that need it.
void GemmHopper::bring(BlockArgument View, const Place &Where, Value Row,
                       Value Column, Value Tile, Value Slot, int64_t Blocks) {
  if (Blocks == 1) {
    tile::LoadOp::create(W.B, W.Loc, View, at(Where, Row, Column), Tile, Pipe,
                         Slot);
    return;
  }
  int64_t Rows = ownRows(cast<tile::SharedType>(Tile.getType()), Blocks);
  Value First = W.mul(Rank, W.index(Rows));
  Value Part = rowsOf(Tile, First, Rows);
  tile::MulticastOp::create(W.B, W.Loc, View,
                            at(Where, W.add(Row, First), Column), Part, Pipe,
                            Slot, Blocks);
}

Value GemmHopper::produceTile(const Place &Where, Value Cursor) {
  auto Free = tile::SlotType::get(W.B.getContext(), tile::SlotState::Free);
  return W.loop(
      W.index(0), SumCount, W.index(S.TileSum), Cursor,
      [&](Value Step, ValueRange In) -> Values {
        Value Sum = W.add(SumFirst, Step);
        Value Slot = tile::AcquireOp::create(W.B, W.Loc, Free, Pipe, In[0]);
        auto Parts = tile::TilesOp::create(W.B, W.Loc, TypeRange{TileA, TileB},
                                           Pipe, Slot);
        if (ATransposed)
          bring(ViewA, Where, Sum, Where.Row, Parts.getResult(0), Slot,
                S.ClusterColumns);
        else
          bring(ViewA, Where, Where.Row, Sum, Parts.getResult(0), Slot,
                S.ClusterColumns);
        if (BTransposed)
          bring(ViewB, Where, Where.Column, Sum, Parts.getResult(1), Slot,
                S.ClusterRows);
        else
          bring(ViewB, Where, Sum, Where.Column, Parts.getResult(1), Slot,
                S.ClusterRows);
        tile::CommitOp::create(W.B, W.Loc, Pipe, Slot);
        return {tile::NextOp::create(W.B, W.Loc, In[0].getType(), Pipe, In[0])};
      })[0];
}

} // namespace

FailureOr<bool> buildGemmHopper(KernelForm &Form, const target::Target &T,
                                GpuLaunch &Launch) {
  if (!T.Can.Wgmma)
    return false;
  std::optional<MatrixProduct> P = MatrixProduct::read(Form);
  if (!P || !fits(*P))
    return false;
  constexpr int64_t Unknown = 512; // a size of which nothing is said
  constexpr int64_t Fewest = 8;    // rows or columns; fewer are reductions
  auto Typical = [&](const LoopGroup &Group) {
    return typicalProduct(Group.Sizes, Unknown);
  };
  schedule::GemmShape Shape;
  Shape.Rows = Typical(P->C.Rows);
  Shape.Columns = Typical(P->C.Columns);
  Shape.Sum = Typical(P->C.Sum);
  Shape.Batch = Typical(P->C.Batch);
  Shape.ElementBytes = P->A.Element.getIntOrFloatBitWidth() / 8;
  Shape.ResultBytes = P->D.Element.getIntOrFloatBitWidth() / 8;
  Shape.LeastSum = P->Facts.range(P->Sum).Min;
  Shape.LinesOfA = linesPerLine(*P, P->A);
  Shape.LinesOfB = linesPerLine(*P, P->B);
  if (Shape.Rows < Fewest || Shape.Columns < Fewest)
    return false;
  std::vector<schedule::GemmCost> Ranked =
      schedule::rankGemmSchedules(Shape, T);
  if (P->ReadsAtResult)
    llvm::erase_if(Ranked, [](const schedule::GemmCost &One) {
      return One.Schedule.TileColumns > schedule::MostColumnsBesideReads;
    });
  const schedule::GemmCost *Chosen =
      chooseSchedule(Form, Ranked, Launch, [&](StringRef Text) {
        return schedule::readGemmSchedule(Text.str(), Shape, T);
      });
  if (!Chosen)
    return false;
  if (failed(GemmHopper(Form, *P, Chosen->Schedule).emit(Launch)))
    return failure();
  return true;
}

} // namespace kpc::kernels
