//===- ResidualTiles.cpp - What an epilogue reads by element --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/gemm/ResidualTiles.h"

using namespace mlir;

namespace kpc::kernels {

ResidualTiles::ResidualTiles(GpuWriter &W, tile::SharedType Part,
                             int64_t OfTile, int64_t Tiles, int64_t Room)
    : W(W), Part(Part), OfTile(OfTile) {
  Stages = std::clamp(Room / Part.getBytes(), OfTile, Tiles * OfTile);
}

int64_t ResidualTiles::bytes() const { return Stages * Part.getBytes(); }

void ResidualTiles::declare(Value Through, int64_t Consumers) {
  View = Through;
  auto Ty = tile::PipeType::get(W.B.getContext(), Stages, Type(Part));
  Pipe = tile::PipeOp::create(W.B, W.Loc, Ty, tile::Completion::Tma,
                              /*producers=*/1, Consumers, /*pair=*/false);
}

Value ResidualTiles::skip(Value At, Value Count) {
  Value Parts = W.mul(Count, W.index(OfTile));
  return tile::SkipOp::create(W.B, W.Loc, At.getType(), Pipe, At, Parts);
}

Value ResidualTiles::next(Value At) {
  return tile::NextOp::create(W.B, W.Loc, At.getType(), Pipe, At);
}

Value ResidualTiles::load(ValueRange Where, Value At) {
  auto Free = tile::StageType::get(W.B.getContext(), tile::StageState::Free);
  Value Into = tile::AcquireOp::create(W.B, W.Loc, Free, Pipe, At);
  auto Tile = tile::TilesOp::create(W.B, W.Loc, TypeRange{Part}, Pipe, Into);
  tile::TmaLoadOp::create(W.B, W.Loc, View, Where, Tile.getResult(0), Pipe,
                          Into);
  tile::CommitOp::create(W.B, W.Loc, Pipe, Into);
  return next(At);
}

Value ResidualTiles::fragment(Value First, tile::FragmentType Ty, Value At) {
  auto Full = tile::StageType::get(W.B.getContext(), tile::StageState::Full);
  Value Stage = tile::WaitOp::create(W.B, W.Loc, Full, Pipe, At);
  Value Tile = tile::TilesOp::create(W.B, W.Loc, TypeRange{Part}, Pipe, Stage)
                   .getResult(0);
  if (Ty.getRows() != Part.getRows()) {
    auto Rows = tile::SharedType::get(
        W.B.getContext(), {Ty.getRows(), Part.getColumns()}, Part.getElement(),
        Part.getSwizzle(), Part.getPitch());
    Tile = tile::SubviewRowsOp::create(W.B, W.Loc, Rows, Tile, First);
  }
  Value Out = tile::LoadSharedOp::create(W.B, W.Loc, Ty, Tile);
  tile::ReleaseOp::create(W.B, W.Loc, Pipe, Stage);
  return Out;
}

} // namespace kpc::kernels
