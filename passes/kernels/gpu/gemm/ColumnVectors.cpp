//===- ColumnVectors.cpp - What an epilogue reads by column ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/gemm/ColumnVectors.h"

using namespace mlir;

namespace kpc::kernels {

/// What TMA asks of addresses in shared memory (PTX ISA, cp.async.bulk.tensor).
static constexpr int64_t TileAlignment = 128;
/// A stage's: full and empty.
static constexpr int64_t BarrierBytes = 16;

static int64_t bytesOf(Type Element) {
  return Element.getIntOrFloatBitWidth() / 8;
}

bool ColumnVectors::fits(const GemmMatch::ColumnVector &V, int64_t Columns) {
  Type Ty = V.Element;
  return (Ty.isF32() || Ty.isF16() || Ty.isBF16()) &&
         Columns * bytesOf(Ty) % TileAlignment == 0;
}

ColumnVectors::ColumnVectors(GpuWriter &W, ArrayRef<GemmMatch::ColumnVector> Of,
                             int64_t Columns, int64_t Stages)
    : W(W), Of(Of), Stages(Stages) {
  for (const GemmMatch::ColumnVector &V : Of)
    Tiles.push_back(tile::SharedType::get(W.B.getContext(), {1, Columns},
                                          V.Element, /*swizzle=*/0));
}

int64_t ColumnVectors::bytes() const {
  int64_t OfStage = BarrierBytes;
  for (Type Tile : Tiles)
    OfStage += cast<tile::SharedType>(Tile).getBytes();
  return Stages * OfStage;
}

void ColumnVectors::declare(ArrayRef<Value> Through, int64_t Consumers) {
  Views.assign(Through.begin(), Through.end());
  auto Ty = tile::PipeType::get(W.B.getContext(), Stages, Tiles);
  Pipe = tile::PipeOp::create(W.B, W.Loc, Ty, tile::Completion::Tma,
                              /*producers=*/1, Consumers, /*pair=*/false);
}

Value ColumnVectors::skip(Value At, Value Count) {
  return tile::SkipOp::create(W.B, W.Loc, At.getType(), Pipe, At, Count);
}

Value ColumnVectors::load(Value Column, Value At) {
  auto Free = tile::StageType::get(W.B.getContext(), tile::StageState::Free);
  Value Into = tile::AcquireOp::create(W.B, W.Loc, Free, Pipe, At);
  auto Parts = tile::TilesOp::create(W.B, W.Loc, Tiles, Pipe, Into);
  for (auto [View, Part] : llvm::zip_equal(Views, Parts.getResults()))
    tile::TmaLoadOp::create(W.B, W.Loc, View, Column, Part, Pipe, Into);
  tile::CommitOp::create(W.B, W.Loc, Pipe, Into);
  return tile::NextOp::create(W.B, W.Loc, At.getType(), Pipe, At);
}

Value ColumnVectors::wait(Value At) {
  auto Full = tile::StageType::get(W.B.getContext(), tile::StageState::Full);
  Stage = tile::WaitOp::create(W.B, W.Loc, Full, Pipe, At);
  Held = llvm::to_vector_of<Value>(
      tile::TilesOp::create(W.B, W.Loc, Tiles, Pipe, Stage).getResults());
  return tile::NextOp::create(W.B, W.Loc, At.getType(), Pipe, At);
}

ColumnVectors::Fragments ColumnVectors::fragments(Value First,
                                                  ArrayRef<int64_t> Shape) {
  Fragments All;
  for (auto [Vector, Tile] : llvm::zip_equal(Of, Held)) {
    auto Ty = tile::FragmentType::get(W.B.getContext(), Shape, Vector.Element);
    All.emplace_back(Vector.Tensor,
                     tile::LoadColumnsOp::create(W.B, W.Loc, Ty, Tile, First));
  }
  return All;
}

void ColumnVectors::release() {
  tile::ReleaseOp::create(W.B, W.Loc, Pipe, Stage);
}

} // namespace kpc::kernels
