//===- GpuGemv.cpp - Products of few rows, as fast as memory --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A product of at most 16 rows at a time with a matrix of 16-bit weights that
/// are read once: cp.async into shared memory, many slots ahead, and from there
/// to mma.sync (m16n8k16; the rows are its 16, padded). The warps of a block
/// share the sum; their results are added in order through shared memory. A
/// block takes tile after tile of the columns, and its copies run on from one
/// to the next. More than 16 rows are taken 16 by 16. GemvTile.h has the code.
///
/// Where results of two columns meet (two products of one left side, a gate; a
/// rotary embedding's halves of a head), a tile has both.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/ScheduleChoice.h"
#include "passes/kernels/gpu/product/GemvTile.h"
#include "passes/schedule/GemvSchedule.h"

using namespace mlir;

namespace kpc::kernels {

using schedule::GemvSchedule;
using schedule::GemvShape;
using shape::Expr;

namespace {

constexpr int64_t TileRows = GemvTile::TileRows,
                  ThreadSum = GemvTile::ThreadSum;
/// With more rows than this the weights are read too often.
constexpr int64_t MostRows = 64;
/// Sizes of which nothing is known.
constexpr int64_t UnknownSize = 512;

/// Whether a load of `Elements` of each line of `Stride` is aligned.
bool isAligned(const MatrixProduct &P, const Expr &Stride, int64_t Elements) {
  return P.Facts.divisor(Stride) % Elements == 0;
}

/// Rows that this builder is for, or fewer.
bool hasFewRows(const MatrixProduct &P) {
  int64_t Typical = typicalProduct(P.C.Rows.Sizes, UnknownSize);
  return Typical <= TileRows && P.Facts.range(P.Rows).Max <= MostRows;
}

std::optional<GemvShape> shapeOf(MatrixProduct &P) {
  Type Element = P.A.Element;
  bool SumContiguous = P.B.RowStride == Expr(1) && P.B.ColumnStride != Expr(1);
  bool ColumnsContiguous = P.B.ColumnStride == Expr(1);
  if (P.hasBatch() || !hasFewRows(P) ||
      !(Element.isF16() || Element.isBF16()) || P.B.Element != Element ||
      !cast<ShapedType>(P.C.R.Op.getResultTypes()[0])
           .getElementType()
           .isF32() ||
      P.A.ColumnStride != Expr(1) || !(SumContiguous || ColumnsContiguous) ||
      P.Facts.range(P.Sum).Min < ThreadSum ||
      P.Facts.divisor(P.Sum) % ThreadSum != 0 ||
      !isAligned(P, P.A.RowStride, ThreadSum) || !hasValue(P, P.A.RowStride) ||
      !hasValue(P, SumContiguous ? P.B.ColumnStride : P.B.RowStride))
    return std::nullopt;
  // Weights of two products, and of heads, are columns side by side.
  if (SumContiguous && (P.Second || P.Exchanged))
    return std::nullopt;
  GemvShape Shape;
  Shape.Rows = typicalProduct(P.C.Rows.Sizes, UnknownSize);
  Shape.MostRows = std::min(P.Facts.range(P.Rows).Max, TileRows);
  Shape.Products = P.Second ? 2 : 1;
  Shape.Exchanged = P.Exchanged;
  Shape.Columns =
      typicalProduct(P.C.Columns.Sizes, UnknownSize) * Shape.Products;
  Shape.Sum = typicalProduct(P.C.Sum.Sizes, UnknownSize);
  Shape.SumContiguous = SumContiguous;
  if (SumContiguous)
    return isAligned(P, P.B.ColumnStride, ThreadSum) ? std::optional(Shape)
                                                     : std::nullopt;
  return columnsOfAccess(P) > 1 ? std::optional(Shape) : std::nullopt;
}

} // namespace

FailureOr<bool> buildGpuGemv(KernelForm &Form, const target::Target &T,
                             GpuLaunch &Launch) {
  MatrixProduct::Forms Own;
  std::optional<MatrixProduct> P = MatrixProduct::readAny(Form, Own);
  std::optional<GemvShape> Shape = P ? shapeOf(*P) : std::nullopt;
  if (!Shape)
    return false;
  std::vector<schedule::GemvCost> Ranked =
      schedule::rankGemvSchedules(*Shape, T);
  const schedule::GemvCost *Chosen = chooseSchedule(Form, Ranked, Launch);
  if (!Chosen)
    return false;
  const GemvSchedule &S = Chosen->Schedule;
  GpuWriter W(Own.First);
  GemvTile Tile(W, *P, S, schedule::fitsCache(*Shape, T));
  Expr Columns(Tile.resultColumns() * S.Tiles);
  Expr Blocks = P->Columns.ceilDiv(Columns);
  if (P->Facts.range(P->Rows).Min < 1) // none where there is no row to read
    Blocks = Blocks * Expr::min(P->Rows, Expr(1));
  Launch.Grid[0] = Blocks.str();
  Launch.Block = {int32_t(S.threads()), 1, 1};
  Launch.SharedBytes = S.sharedBytes();
  if (failed(Tile.emit(P->Facts.range(P->Rows).Max > TileRows)))
    return failure();
  return true;
}

} // namespace kpc::kernels
