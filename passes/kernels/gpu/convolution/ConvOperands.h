//===- ConvOperands.h - A convolution as operands ---------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The operands of a convolution, channels last, as those of a GEMM whose A is
/// nowhere in memory. Its rows are the places of the filter in all images, its
/// K runs over the taps and, in slices, over the channels; for each tap and
/// slice a TMA copy in its im2col mode walks over as many places as a tile has
/// rows, and loads of each the pixel under the tap, or zeros beside the image.
///
///      x ──im2col──▶ stage: places × channels ─┐
///      w ───TMA────▶       channels × outputs ─┴─ Engine ──▶ y
///
/// `Engine` is what multiplies (HopperGemm, BlackwellGemm), as in
/// GemmOperands.h.
///
/// Filters of 16 bits are contiguous along outputs or along channels, others
/// along channels alone, as wgmma and tcgen05 want it.
///
/// Taps that all outputs of a tile have as zeros are left out: those that the
/// phases of a transposed convolution lack.
///
/// Not for: groups, channels or outputs that do not lie at multiples of 16
/// bytes, filters that reach further than the copies' offsets do.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_CONVOLUTION_CONVOPERANDS_H
#define KPC_PASSES_KERNELS_GPU_CONVOLUTION_CONVOPERANDS_H

#include "passes/kernels/gpu/convolution/ImplicitGemm.h"
#include "passes/kernels/gpu/gemm/GemmOperands.h"
#include "passes/schedule/ConvSchedule.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <memory>
#include <vector>

namespace kpc::kernels {

/// The convolution that `Form` is, its taps folded into few channels; null,
/// with the reason: it is none of one group, or a GEMM.
std::shared_ptr<ImplicitGemm> readForIm2col(FusedKernel &Form,
                                            schedule::Refusal &Why);

/// Why im2col copies do not bring this convolution, or `Mma`, the instruction,
/// does not multiply it; none: they do.
std::optional<schedule::Refusal> refusalByIm2col(ImplicitGemm &Conv,
                                                 llvm::StringRef Mma);

/// What a schedule is chosen for; none where there are too few places or
/// outputs for tensor cores.
std::optional<schedule::ConvShape> convShapeOf(ImplicitGemm &Conv);

/// The steps of a convolution's sum: slices of the first tap's channels, then
/// of the next one's. In 32 bits, as all that the thread which copies keeps: it
/// has few registers.
class ConvSteps {
public:
  ConvSteps(ImplicitGemm &Conv, int64_t Slice) : Conv(Conv), Slice(Slice) {}

  /// All of K, each tap's channels up to whole slices.
  mlir::Value countK(GpuWriter &W);
  /// How many steps `K` is.
  mlir::Value stepsOf(GpuWriter &W, mlir::Value K);
  /// The place of the filter that row `Row` is: the pixel under its first tap,
  /// behind its image.
  llvm::SmallVector<mlir::Value> firstPixel(GpuWriter &W, mlir::Value Row);
  struct Step {
    mlir::Value Tap, Channel; ///< i32, index
    llvm::SmallVector<mlir::Value> Offsets;
  };
  Step at(GpuWriter &W, mlir::Value Number);

  /// Whether tiles of so many columns have no use for some of the taps.
  bool leavesOutTaps(int64_t Columns) const;
  /// The taps that a tile's columns have, a mask of 32 bits.
  mlir::Value liveTaps(GpuWriter &W, mlir::Value Column, int64_t Columns) const;
  /// What is left of K, and whether step `Number` of all is a part of it.
  mlir::Value countLive(GpuWriter &W, mlir::Value Live) const;
  mlir::Value isLive(GpuWriter &W, mlir::Value Live, mlir::Value Number) const;

private:
  std::vector<uint32_t> tilesWith(int64_t Columns) const;

  ImplicitGemm &Conv;
  int64_t Slice;
  mlir::Value SliceCount; ///< of each tap, i32
};

template <typename Engine> class ConvOperands : public Engine {
public:
  template <typename ScheduleT>
  ConvOperands(FusedKernel &Form, ImplicitGemm &Conv, const ScheduleT &S)
      : Engine(Form, Conv.P, S), Conv(Conv), Steps(Conv, S.TileK) {}

protected:
  using TileCoord = typename Engine::TileCoord;
  using Values = typename Engine::Values;

  /// Blocks that need the same tile of B: each copies a part of its rows to
  /// all.
  virtual int64_t multicastOfB() { return 1; }
  /// Columns of B that are in this block's stages, and where they begin.
  virtual int64_t columnsOfB() { return this->S.TileN; }
  virtual mlir::Value firstColumnOfB(const TileCoord &Where) {
    return Where.Column;
  }

private:
  void declareTiles() override;
  void addOperandViews() override {
    addPixelView();
    addFilterView();
  }
  void addPixelView();
  void addFilterView();
  mlir::Value countK() override { return Steps.countK(this->W); }
  mlir::Value countOfTile(mlir::Value Tile) override;
  /// Blocks that share a sum take parts of all taps.
  bool leavesOutTaps() const {
    return this->S.SplitK == 1 && !this->S.PingPong &&
           Steps.leavesOutTaps(this->S.TileN);
  }
  mlir::Value produceTile(const TileCoord &Where, mlir::Value Cursor) override;
  mlir::Value produceLive(mlir::ValueRange First, mlir::Value Column,
                          mlir::Value Live, mlir::Value Cursor);
  mlir::Value produceStep(mlir::ValueRange First, mlir::Value Column,
                          mlir::Value Number, mlir::Value Cursor);
  void loadFilter(mlir::Value Tap, mlir::Value Channel, mlir::Value Column,
                  mlir::Value Tile, mlir::Value Stage);

  ImplicitGemm &Conv;
  ConvSteps Steps;
  mlir::BlockArgument Pixels, Filter;
};

template <typename Engine> void ConvOperands<Engine>::declareTiles() {
  auto &P = this->P;
  auto &S = this->S;
  this->BTransposed = Conv.isKMajor();
  this->TileA = this->sharedTile(S.TileM, S.TileK, P.A.Element);
  this->TileB = this->BTransposed
                    ? this->sharedTile(columnsOfB(), S.TileK, P.B.Element)
                    : this->sharedTile(S.TileK, columnsOfB(), P.B.Element);
}

/// x as images of pixels. The walk begins where the filter's first tap first
/// is, and ends where its last tap would leave the zeros around the image.
template <typename Engine> void ConvOperands<Engine>::addPixelView() {
  using shape::Expr;
  const Matrix &A = this->P.A;
  tile::SharedType Tile = this->TileA;
  mlir::Builder B(Tile.getContext());
  int64_t Bytes = A.Element.getIntOrFloatBitWidth() / 8, Rows = this->S.TileM,
          Line = Tile.getLineElements();
  llvm::SmallVector<Expr> Dims = {Conv.Channels}, Strides;
  llvm::SmallVector<int32_t> Lower, Upper;
  llvm::SmallVector<int64_t> Traversal = {1};
  for (const ImplicitGemm::Axis &Axis : llvm::reverse(Conv.Axes)) {
    Dims.push_back(Axis.Size);
    Strides.push_back(Axis.Pitch * Bytes);
    Lower.push_back(-Axis.Low);
    Upper.push_back(Axis.High - Axis.reach());
    Traversal.push_back(Axis.Stride);
  }
  Dims.push_back(Conv.Images);
  Strides.push_back(Conv.ImagePitch * Bytes);
  Traversal.push_back(1);
  auto View = tile::ViewType::get(B.getContext(), A.Element, {Rows, Line},
                                  Tile.getSwizzle());
  auto Walk =
      kernel::Im2colAttr::get(B.getContext(), B.getDenseI32ArrayAttr(Lower),
                              B.getDenseI32ArrayAttr(Upper), Line, Rows);
  Pixels = this->addView(View, A.Argument, Dims, Strides, /*Box=*/{}, Traversal,
                         Walk);
}

/// w as one matrix for each tap: of channels × outputs, or of outputs ×
/// channels.
template <typename Engine> void ConvOperands<Engine>::addFilterView() {
  using shape::Expr;
  const Matrix &B = this->P.B;
  tile::SharedType Tile = this->TileB;
  int64_t Bytes = B.Element.getIntOrFloatBitWidth() / 8,
          Line = Tile.getLineElements();
  int64_t Own = Tile.getRows() / multicastOfB(); // rows that this block copies
  auto View = tile::ViewType::get(Tile.getContext(), B.Element, {1, Own, Line},
                                  Tile.getSwizzle());
  llvm::SmallVector<Expr> Dims = {this->P.N, Conv.Channels, Expr(Conv.taps())};
  if (this->BTransposed)
    std::swap(Dims[0], Dims[1]);
  Expr Row = this->BTransposed ? B.ColumnStride : B.RowStride;
  Filter =
      this->addView(View, B.Argument, Dims,
                    {Row * Bytes, *Conv.tapPitch() * Bytes}, {Line, Own, 1});
}

template <typename Engine>
mlir::Value ConvOperands<Engine>::countOfTile(mlir::Value Tile) {
  if (!leavesOutTaps())
    return this->KCount;
  mlir::Value Live =
      Steps.liveTaps(this->W, this->placeOf(Tile).Column, this->S.TileN);
  return Steps.countLive(this->W, Live);
}

/// The steps of the taps that `Live` has.
template <typename Engine>
mlir::Value
ConvOperands<Engine>::produceLive(mlir::ValueRange First, mlir::Value Column,
                                  mlir::Value Live, mlir::Value Cursor) {
  auto &W = this->W;
  return W.loop(this->i32(0), Steps.stepsOf(W, this->KCount), this->i32(1),
                Cursor, [&](mlir::Value Number, mlir::ValueRange In) -> Values {
                  auto Step = mlir::scf::IfOp::create(
                      W.B, W.Loc, mlir::TypeRange(Cursor.getType()),
                      Steps.isLive(W, Live, Number), /*addThenBlock=*/true,
                      /*addElseBlock=*/true);
                  mlir::OpBuilder::InsertionGuard Guard(W.B);
                  W.B.setInsertionPointToEnd(Step.elseBlock());
                  mlir::scf::YieldOp::create(W.B, W.Loc, In[0]);
                  W.B.setInsertionPointToEnd(Step.thenBlock());
                  mlir::scf::YieldOp::create(
                      W.B, W.Loc, produceStep(First, Column, Number, In[0]));
                  return {Step.getResult(0)};
                })[0];
}

template <typename Engine>
mlir::Value ConvOperands<Engine>::produceTile(const TileCoord &Where,
                                              mlir::Value Cursor) {
  auto &W = this->W;
  Values First = Steps.firstPixel(W, Where.Row);
  mlir::Value Column = this->toI32(firstColumnOfB(Where));
  if (leavesOutTaps())
    return produceLive(First, Column,
                       Steps.liveTaps(W, Where.Column, this->S.TileN), Cursor);
  mlir::Value Begin = Steps.stepsOf(W, this->FirstK);
  return W.loop(this->i32(0), Steps.stepsOf(W, this->KCount), this->i32(1),
                Cursor, [&](mlir::Value Number, mlir::ValueRange In) -> Values {
                  mlir::Value Step =
                      W.B.template createOrFold<mlir::arith::AddIOp>(
                          W.Loc, Begin, Number);
                  return {produceStep(First, Column, Step, In[0])};
                })[0];
}

/// Blocks that need the same outputs copy some rows of them to all.
template <typename Engine>
void ConvOperands<Engine>::loadFilter(mlir::Value Tap, mlir::Value Channel,
                                      mlir::Value Column, mlir::Value Tile,
                                      mlir::Value Stage) {
  auto &W = this->W;
  mlir::Value Row = this->BTransposed ? Column : Channel,
              InRow = this->BTransposed ? Channel : Column;
  if (multicastOfB() == 1) {
    tile::TmaLoadOp::create(W.B, W.Loc, Filter,
                            mlir::ValueRange{Tap, Row, InRow}, Tile, this->Pipe,
                            Stage);
    return;
  }
  int64_t Own = this->TileB.getRows() / multicastOfB();
  mlir::Value First = W.mul(this->Rank, W.index(Own));
  mlir::Value Part = this->rowsOf(Tile, First, Own);
  tile::TmaMulticastOp::create(W.B, W.Loc, Filter,
                               mlir::ValueRange{Tap, W.add(Row, First), InRow},
                               Part, this->Pipe, Stage, multicastOfB());
}

template <typename Engine>
mlir::Value
ConvOperands<Engine>::produceStep(mlir::ValueRange First, mlir::Value Column,
                                  mlir::Value Number, mlir::Value Cursor) {
  auto &W = this->W;
  auto Free = tile::StageType::get(W.B.getContext(), tile::StageState::Free);
  ConvSteps::Step Step = Steps.at(W, Number);
  Values At;
  for (mlir::Value One : First)
    At.push_back(this->toIndex(One));
  At.push_back(Step.Channel);
  mlir::Value Stage =
      tile::AcquireOp::create(W.B, W.Loc, Free, this->Pipe, Cursor);
  auto Parts = tile::TilesOp::create(W.B, W.Loc, this->tilesOfStage(),
                                     this->Pipe, Stage);
  tile::TmaLoadIm2colOp::create(W.B, W.Loc, Pixels, At, Step.Offsets,
                                Parts.getResult(0), this->Pipe, Stage);
  mlir::Value Tap = this->toIndex(Step.Tap), Outputs = this->toIndex(Column);
  loadFilter(Tap, Step.Channel, Outputs, Parts.getResult(1), Stage);
  tile::CommitOp::create(W.B, W.Loc, this->Pipe, Stage);
  return this->next(this->Pipe, Cursor);
}

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_CONVOLUTION_CONVOPERANDS_H
