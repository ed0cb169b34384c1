//===- GemmBlackwellScaled.cpp - GEMMs with block scales on tcgen05 -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A GEMM of codes of MXFP8, MXFP4 or NVFP4 with their scales:
/// BlackwellGemm.h's with bytes along K and the scales in each stage. TMA
/// copies them with the codes; in front of the stage's products, the thread
/// that multiplies begins to copy them on into tensor memory (tcgen05.cp). Each
/// stage has columns of its own there, behind the accumulators:
///
///   global A, B, scales ──TMA──▶ stages ─┬── codes ───────────────┐
///                                        └─ scales ─tcgen05.cp─▶ tcgen05.mma
///
/// Scales lie in memory in panels of 128 rows, whose words are 512 bytes that
/// tcgen05.cp takes as they are. So a tile's columns begin at a panel.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/KernelFamily.h"
#include "passes/kernels/gpu/gemm/BlackwellGemm.h"
#include "passes/kernels/gpu/gemm/GemmTileWalk.h"
#include "passes/kernels/gpu/gemm/ScaledGemm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace kpc::kernels {

using schedule::BlackwellSchedule;
using shape::Expr;

namespace {

/// Rows of a panel, the columns of tensor memory that a word of its rows takes,
/// and the lines that it is copied in, whose bytes are the most of a box.
constexpr int64_t PanelRows = 128, WordColumns = 4, LinesOfWord = 2,
                  LineBytes = 256;

class GemmBlackwellScaled : public BlackwellOperands {
public:
  GemmBlackwellScaled(FusedKernel &Form, ScaledGemm &G,
                      const BlackwellSchedule &S)
      : BlackwellOperands(Form, G.P, S), G(G) {}

private:
  int64_t words() const { return tile::scaleWords(G.Format, S.TileK); }
  int64_t panelsOfB() const { return S.TileN / PanelRows; }

  Type tileElement(const Matrix &M) override {
    return G.isFp8() ? M.Element : byte();
  }
  Type byte() {
    return IntegerType::get(W.B.getContext(), 8, IntegerType::Unsigned);
  }

  void declareTiles() override {
    BlackwellOperands::declareTiles();
    for (int64_t Panels : {int64_t(1), panelsOfB()})
      MoreTiles.push_back(tile::SharedType::get(
          W.B.getContext(), {Panels * words() * LinesOfWord, LineBytes}, byte(),
          /*swizzle=*/0));
  }

  void addOperandViews() override {
    BlackwellOperands::addOperandViews();
    ViewOfA = scalesView(G.ScalesOfA, P.M, 1);
    ViewOfB = scalesView(G.ScalesOfB, P.N, panelsOfB());
  }

  BlockArgument scalesView(unsigned Argument, const Expr &Rows,
                           int64_t Panels) {
    Expr Words = G.KBytes.ceilDiv(bytesOfScale(G.Format) * WordBytes);
    int64_t Lines = words() * LinesOfWord;
    auto View = tile::ViewType::get(W.B.getContext(), byte(),
                                    {Panels, Lines, LineBytes}, /*swizzle=*/0);
    return addView(
        View, Argument,
        {Expr(LineBytes), Words * Expr(LinesOfWord), Rows.ceilDiv(PanelRows)},
        {Expr(LineBytes), Words * Expr(LinesOfWord * LineBytes)},
        {LineBytes, Lines, Panels});
  }

  Value countK() override { return valueOf(W, Form, G.KBytes); }

  /// Words behind the last one are zeros, as the codes there are.
  void loadMore(const TileCoord &Where, Value Step, ValueRange Tiles,
                Value Stage) override {
    Value Line = W.mul(compute<arith::DivUIOp>(Step, W.index(S.TileK)),
                       W.index(words() * LinesOfWord));
    Value Panel = W.index(PanelRows);
    for (auto [View, First, Tile] :
         {std::tuple(ViewOfA, Where.Row, Tiles[2]),
          std::tuple(ViewOfB, Where.Column, Tiles[3])})
      tile::TmaLoadOp::create(
          W.B, W.Loc, View,
          ValueRange{compute<arith::DivUIOp>(First, Panel), Line, W.index(0)},
          Tile, Pipe, Stage);
  }

  /// The column of the stage's words.
  Values firstPlacesOfProducts() override {
    return {W.index(Cut.firstScaleColumn())};
  }
  Values nextPlaces(ValueRange Places) override {
    int64_t Last = Cut.firstScaleColumn() + (S.Stages - 1) * Cut.ScaleColumns;
    Value IsLast = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq,
                                         Places[0], W.index(Last));
    return {arith::SelectOp::create(
        W.B, W.Loc, IsLast, W.index(Cut.firstScaleColumn()),
        W.add(Places[0], W.index(Cut.ScaleColumns)))};
  }

  void multiply(ValueRange Tiles, Value D, Value Add,
                ValueRange Places) override {
    Value ScalesA = copyScales(Tiles[2], 1, Places[0]);
    Value ScalesB =
        copyScales(Tiles[3], panelsOfB(),
                   W.add(Places[0], W.index(words() * WordColumns)));
    tile::TmemMmaScaledOp::create(W.B, W.Loc, G.Format, Tiles[0], ScalesA,
                                  Tiles[1], ScalesB, D, Add, Cut.isPair());
  }

  Value copyScales(Value Tile, int64_t Panels, Value Column) {
    auto Of = tile::TensorMemoryType::get(
        W.B.getContext(),
        {tile::TensorMemoryRows, words() * Panels * WordColumns},
        IntegerType::get(W.B.getContext(), 32, IntegerType::Unsigned));
    Value Part = tile::TmemPartOp::create(W.B, W.Loc, Of, Memory, Column);
    tile::TmemCopyOp::create(W.B, W.Loc, Tile, Panels, Part, Cut.isPair());
    return Part;
  }

  ScaledGemm &G;
  BlockArgument ViewOfA, ViewOfB;
};

/// As TMA and the builder see the kernel: bytes along K.
void countBytes(ScaledGemm &G) {
  std::swap(G.P.B.RowStride, G.P.B.ColumnStride); // of B as it is multiplied
  G.P.K = G.KBytes;
}

} // namespace

FamilyAnswer queryGemmBlackwellScaled(FusedKernel &Form,
                                      const target::Target &T) {
  std::optional<ScaledGemm> Read = ScaledGemm::read(Form);
  if (!Read)
    return FamilyAnswer::refuse(RefusalKind::Form, NoScaledGemm);
  if (!T.Can.Tcgen05)
    return FamilyAnswer::refuse(RefusalKind::Target,
                                "the target has no tcgen05");
  if (!Read->InPanels)
    return FamilyAnswer::refuse(RefusalKind::Layout,
                                "its scales do not lie in panels of 128 rows");
  auto G = std::make_shared<ScaledGemm>(std::move(*Read));
  countBytes(*G);
  // Bytes of two codes are copied, and their sums are f32, as those of FP8.
  GemmMatch Bytes = G->P;
  if (!G->isFp8())
    Bytes.A.Element = Bytes.B.Element =
        Float8E4M3FNType::get(Form.Func.getContext());
  if (std::optional<schedule::Refusal> No = refusalByTma(Bytes))
    return FamilyAnswer::refuse(*No);
  std::optional<schedule::GemmShape> Shape = gemmShapeOf(Bytes);
  if (!Shape)
    return FamilyAnswer::refuse(RefusalKind::Size, TooFewForMma);
  Shape->BytesOfScale = bytesOfScale(G->Format);
  Shape->IsFp4 = !G->isFp8();
  if (Shape->IsFp4)
    Shape->K = (Shape->K + 1) / 2;
  return FamilyAnswer::offer(
      schedule::rankBlackwellSchedules(*Shape, T),
      [&Form, G](const BlackwellSchedule &S, GpuLaunch &Launch) {
        return GemmBlackwellScaled(Form, *G, S).emit(Launch);
      },
      [Shape = *Shape, &T](StringRef Text) {
        return schedule::readBlackwellSchedule(Text.str(), Shape, T);
      });
}

} // namespace kpc::kernels
