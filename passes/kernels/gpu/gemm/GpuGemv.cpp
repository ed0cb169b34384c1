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
/// are read once: cp.async into shared memory, many stages ahead, and from
/// there to mma.sync (m16n8k16; the rows are its 16, padded). The warps of a
/// block share the sum; their results are added in order through shared memory.
/// A block takes tile after tile of the columns, and its copies run on from one
/// to the next. More than 16 rows are taken 16 by 16. GemvTile.h has the code.
///
/// Where results of two columns meet (two products of one left side, a gate; a
/// rotary embedding's halves of a head), a tile has both.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/ScheduleChoice.h"
#include "passes/kernels/gpu/gemm/GemvTile.h"
#include "passes/schedule/GemvSchedule.h"

using namespace mlir;

namespace kpc::kernels {

using schedule::GemvSchedule;
using schedule::GemvShape;
using shape::Expr;

namespace {

constexpr int64_t TileM = GemvTile::TileM, ThreadK = GemvTile::ThreadK;
/// With more rows than this the weights are read too often.
constexpr int64_t MaxM = 64;
/// Sizes of which nothing is known.
constexpr int64_t UnknownSize = 512;

/// Whether a load of `Elements` of each line of `Stride` is aligned.
bool isAligned(const GemmMatch &P, const Expr &Stride, int64_t Elements) {
  return P.Facts.divisor(Stride) % Elements == 0;
}

/// Rows that this builder is for, or fewer.
bool hasFewRows(const GemmMatch &P) {
  int64_t Typical = typicalProduct(P.C.M.Sizes, UnknownSize);
  return Typical <= TileM && P.Facts.range(P.M).Max <= MaxM;
}

std::optional<GemvShape> shapeOf(GemmMatch &P) {
  Type Element = P.A.Element;
  bool KContiguous = P.B.RowStride == Expr(1) && P.B.ColumnStride != Expr(1);
  bool ColumnsContiguous = P.B.ColumnStride == Expr(1);
  if (P.hasBatch() || !hasFewRows(P) ||
      !(Element.isF16() || Element.isBF16()) || P.B.Element != Element ||
      !cast<ShapedType>(P.C.R.Op.getResultTypes()[0])
           .getElementType()
           .isF32() ||
      P.A.ColumnStride != Expr(1) || !(KContiguous || ColumnsContiguous) ||
      P.Facts.range(P.K).Min < ThreadK || P.Facts.divisor(P.K) % ThreadK != 0 ||
      !isAligned(P, P.A.RowStride, ThreadK) || !hasValue(P, P.A.RowStride) ||
      !hasValue(P, KContiguous ? P.B.ColumnStride : P.B.RowStride))
    return std::nullopt;
  // Weights of two products, and of heads, are columns side by side.
  if (KContiguous && (P.Second || P.RotateHalf))
    return std::nullopt;
  GemvShape Shape;
  Shape.M = typicalProduct(P.C.M.Sizes, UnknownSize);
  Shape.MaxM = std::min(P.Facts.range(P.M).Max, TileM);
  Shape.Products = P.Second ? 2 : 1;
  Shape.RotateHalf = P.RotateHalf;
  Shape.N = typicalProduct(P.C.N.Sizes, UnknownSize) * Shape.Products;
  Shape.K = typicalProduct(P.C.K.Sizes, UnknownSize);
  Shape.KContiguous = KContiguous;
  if (KContiguous)
    return isAligned(P, P.B.ColumnStride, ThreadK) ? std::optional(Shape)
                                                   : std::nullopt;
  return columnsOfAccess(P) > 1 ? std::optional(Shape) : std::nullopt;
}

} // namespace

FailureOr<bool> buildGpuGemv(FusedKernel &Form, const target::Target &T,
                             GpuLaunch &Launch) {
  GemmMatch::Forms Own;
  std::optional<GemmMatch> P = GemmMatch::readAny(Form, Own);
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
  Expr Blocks = P->N.ceilDiv(Columns);
  if (P->Facts.range(P->M).Min < 1) // none where there is no row to read
    Blocks = Blocks * Expr::min(P->M, Expr(1));
  Launch.Grid[0] = Blocks.str();
  Launch.Block = {int32_t(S.threads()), 1, 1};
  Launch.SharedBytes = S.sharedBytes();
  if (failed(Tile.emit(P->Facts.range(P->M).Max > TileM)))
    return failure();
  return true;
}

} // namespace kpc::kernels
