//===- GpuGemv.cpp - Products of few rows, as fast as memory --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A GEMM of at most 16 rows at a time with weights of 16 bits, or codes of 4
/// and 8 bits with scales, which are read once. cp.async copies them into
/// shared memory, many stages ahead, and mma.sync multiplies them (m16n8k16;
/// its 16 rows are those of x, padded). The warps of a block share K, and their
/// accumulators are added in order through shared memory. A block takes tile
/// after tile of the columns, and its copies continue from one to the next.
/// More than 16 rows are taken 16 at a time. GemvTile.h has the code.
///
/// If results of two columns are combined (the two GEMMs of a gate, or RoPE's
/// halves of a head), a tile has both.
///
//===----------------------------------------------------------------------===//
#include "compiler/target/TargetClass.h"
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/KernelFamily.h"
#include "passes/kernels/gpu/gemm/GemvTile.h"
#include "passes/schedule/GemvSchedule.h"

using namespace mlir;

namespace kpc::kernels {

using schedule::GemvSchedule;
using schedule::GemvShape;
using shape::Expr;

namespace {

constexpr int64_t TileM = GemvTile::TileM, ThreadK = GemvTile::ThreadK;

/// Whether a load of `Elements` of each line of `Stride` is aligned.
bool isAligned(const GemmMatch &P, const Expr &Stride, int64_t Elements) {
  return P.Facts.divisor(Stride) % Elements == 0;
}

/// Rows that this builder is for, or fewer. Where they are more than typically,
/// no other builder multiplies codes by Tensor Cores.
bool hasFewRows(const GemmMatch &P) {
  if (P.Codes)
    return P.Facts.range(P.M).Max <= schedule::MostFewRows;
  return schedule::isForFewRows(typicalProduct(P.C.M.Sizes, UnknownExtent),
                                P.Facts.range(P.M).Max,
                                !P.Second && !P.RotateHalf);
}

/// Why this family does not take the GEMM; none: it does, by `shapeOf`.
std::optional<schedule::Refusal> refusalOf(GemmMatch &P) {
  auto Refuse = [](RefusalKind Kind, std::string Reason) {
    return schedule::Refusal{"", Kind, std::move(Reason)};
  };
  Type Element = P.A.Element;
  bool KContiguous = P.B.RowStride == Expr(1) && P.B.ColumnStride != Expr(1);
  bool ColumnsContiguous = P.B.ColumnStride == Expr(1);
  if (P.hasBatch())
    return Refuse(RefusalKind::Size, "it is a batch of GEMMs");
  if (!hasFewRows(P))
    return Refuse(RefusalKind::Size, "it has more rows than 16");
  if (!(Element.isF16() || Element.isBF16()) || !P.hasTensorTypes())
    return Refuse(RefusalKind::ElementType, "A and B are not of 16 bits");
  if (P.A.ColumnStride != Expr(1) || !(KContiguous || ColumnsContiguous))
    return Refuse(RefusalKind::Layout,
                  "rows of A, or rows and columns of B, are not contiguous");
  if (P.Facts.range(P.K).Min < ThreadK || P.Facts.divisor(P.K) % ThreadK != 0)
    return Refuse(RefusalKind::Size, "K is no multiple of 8");
  if (!isAligned(P, P.A.RowStride, ThreadK) || !hasValue(P, P.A.RowStride) ||
      !hasValue(P, KContiguous ? P.B.ColumnStride : P.B.RowStride) ||
      (KContiguous && !isAligned(P, P.B.ColumnStride, ThreadK)) ||
      (!KContiguous && columnsOfAccess(P) <= 1))
    return Refuse(RefusalKind::Layout,
                  "rows do not begin at multiples of 16 bytes");
  // Weights of two products, and of heads, are columns side by side.
  if (KContiguous && (P.Second || P.RotateHalf > 1))
    return Refuse(RefusalKind::Layout,
                  "K is contiguous in B, of a gate or with RoPE");
  return std::nullopt;
}

/// The same of a GEMM with codes.
std::optional<schedule::Refusal> refusalOfCodes(GemmMatch &P) {
  auto Refuse = [](RefusalKind Kind, std::string Reason) {
    return schedule::Refusal{"", Kind, std::move(Reason)};
  };
  linalg::LinalgOp Op = P.C.R.Op;
  Type Element = P.A.Element;
  const GemmMatch::TiledCodes &Codes = *P.Codes;
  bool HasTypes =
      (Element.isF16() || Element.isBF16()) &&
      getElementTypeOrSelf(Op->getResultTypes()[0]).isF32() &&
      isa<Float16Type, BFloat16Type, Float32Type>(Codes.Scales.Element) &&
      (!Codes.Zeros || Codes.Zeros->Element == Element);
  int64_t Depth = GemvTile::TileBytes / Codes.Bits;
  if (P.hasBatch())
    return Refuse(RefusalKind::Size, "it is a batch of GEMMs");
  if (!hasFewRows(P))
    return Refuse(RefusalKind::Size, "it has more rows than 16");
  if (!HasTypes)
    return Refuse(RefusalKind::ElementType, "A is not of 16 bits");
  if (Codes.Block % GemvTile::StepK ||
      (Codes.Block % Depth && Depth % Codes.Block))
    return Refuse(RefusalKind::Layout,
                  "blocks of scales are of no whole 32 elements of K");
  if (P.A.ColumnStride != Expr(1) || !hasValue(P, P.A.RowStride) ||
      !isAligned(P, P.A.RowStride, ThreadK) || !P.K.asConstant() ||
      P.Facts.divisor(P.K) % ThreadK != 0)
    return Refuse(RefusalKind::Layout,
                  "rows of A do not begin at multiples of 16 bytes");
  return std::nullopt;
}

GemvShape shapeOf(GemmMatch &P) {
  GemvShape Shape;
  Shape.M = typicalProduct(P.C.M.Sizes, UnknownExtent);
  Shape.MaxM = std::min(P.Facts.range(P.M).Max, TileM);
  Shape.Products = P.Second ? 2 : 1;
  Shape.RotateHalf = P.RotateHalf;
  Shape.N = typicalProduct(P.C.N.Sizes, UnknownExtent) * Shape.Products;
  Shape.K = typicalProduct(P.C.K.Sizes, UnknownExtent);
  Shape.KContiguous = P.B.RowStride == Expr(1) && P.B.ColumnStride != Expr(1);
  Shape.HasSquares = P.squares().has_value();
  if (P.Codes) {
    auto BytesOf = [](const Matrix &M) {
      return int64_t(M.Element.getIntOrFloatBitWidth() / 8);
    };
    Shape.KContiguous = true;
    Shape.WeightBits = P.Codes->Bits;
    Shape.HasFloatCodes = bool(P.Codes->Number);
    Shape.Block = P.Codes->Block;
    Shape.ScaleBytes = BytesOf(P.Codes->Scales);
    Shape.ZeroBytes = P.Codes->Zeros ? BytesOf(*P.Codes->Zeros) : 0;
  }
  return Shape;
}

LogicalResult emitGemv(GemmMatch::Forms &Own, GemmMatch &P,
                       const GemvSchedule &S, GemvTile::Chip On,
                       GpuLaunch &Launch) {
  GpuWriter W(Own.First);
  GemvTile Tile(W, P, S, On);
  Expr Columns(Tile.resultColumns() * S.Tiles);
  Expr Blocks = P.N.ceilDiv(Columns);
  if (P.Facts.range(P.M).Min < 1) // none where there is no row to read
    Blocks = Blocks * Expr::min(P.M, Expr(1));
  Launch.Grid[0] = Blocks.str();
  Launch.Block = {int32_t(S.threads()), 1, 1};
  // With no norm before it, it is launched while a GEMM runs that leaves memory
  // idle: one of few columns, whose weights were prefetched. Of codes, half of
  // which are prefetched or more, a token took 6 % longer so on an H200.
  if (S.HasSquares) {
    Launch.Unread = {P.squares()->Argument};
    Launch.PrefetchesPart = !P.Codes;
  }
  // ptxas 13.0 spills 8 bytes to make room for a second block, which the cost
  // model does not count on.
  if (P.Codes && S.Warps > 8 && S.Slices > 2)
    Launch.ResidentBlocks = 1;
  return Tile.emit(P.Facts.range(P.M).Max > TileM);
}

} // namespace

FamilyAnswer queryGpuGemv(FusedKernel &Form, const target::Target &T) {
  auto Own = std::make_shared<GemmMatch::Forms>();
  std::optional<GemmMatch> Plain = GemmMatch::readAny(Form, *Own),
                           Read = Plain ? std::move(Plain)
                                        : GemmMatch::readTiled(Form, *Own);
  if (!Read)
    return FamilyAnswer::refuse(RefusalKind::Form, NoGemm);
  if (std::optional<schedule::Refusal> No =
          Read->Codes ? refusalOfCodes(*Read) : refusalOf(*Read))
    return FamilyAnswer::refuse(*No);
  auto P = std::make_shared<GemmMatch>(std::move(*Read));
  GemvShape Shape = shapeOf(*P);
  GemvTile::Chip On{schedule::fitsCache(Shape, T), target::multipliesFp8(T),
                    T.launchesEarly()};
  return FamilyAnswer::offer(
      schedule::rankGemvSchedules(Shape, T),
      [Own, P, On](const GemvSchedule &S, GpuLaunch &Launch) {
        return emitGemv(*Own, *P, S, On, Launch);
      });
}

} // namespace kpc::kernels
