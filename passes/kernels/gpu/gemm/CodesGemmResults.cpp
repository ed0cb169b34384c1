//===- CodesGemmResults.cpp - What a GEMM of codes makes of its sums ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The epilogue, whose fragments have columns of the result as rows: scales of
/// columns, both halves of heads (RoPE), factors of rows (RMSNorm), and stores.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/gemm/CodesGemm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kpc::kernels {

/// The column in the tile that a row of a group's fragment is.
Value CodesGemm::columnOf(Value Group, Value InFragment) {
  auto Div = [&](Value A, int64_t B) {
    return W.B.createOrFold<arith::DivUIOp>(W.Loc, A, W.index(B));
  };
  auto Rem = [&](Value A, int64_t B) {
    return W.B.createOrFold<arith::RemUIOp>(W.Loc, A, W.index(B));
  };
  Value Warp = W.add(W.mul(Group, W.index(4)), Div(InFragment, 16)),
        First = W.mul(firstSlice(Warp), W.index(8)),
        Other = W.mul(Rem(Div(InFragment, 8), 2), W.index(8 * slicesToOther()));
  return W.add(W.add(First, Other), Rem(InFragment, 8));
}

/// The row of a tile whose factor is number `Number` of a thread's.
Value CodesGemm::rowInTile(Value Group, int64_t Number) {
  Value InGroup =
      W.B.createOrFold<arith::RemUIOp>(W.Loc, W.thread(), W.index(128));
  return W.add(W.add(W.mul(Group, W.index(128)), InGroup),
               W.index(Number * 128 * S.groups()));
}

/// The factors of a tile's rows, of which each thread computes one or two: in a
/// fragment a thread has 16 rows and more, and all warps the same. They are
/// read before the tile's first products and stored after these.
CodesGemm::Values CodesGemm::factorsAt(Value Row, Value Group) {
  Values All;
  if (!Factors)
    return All;
  Value Last = W.B.createOrFold<arith::SubIOp>(W.Loc, RowCount, W.index(1));
  int64_t Rank = cast<ShapedType>(Factors.getType()).getRank();
  for (int64_t I = 0; I * 128 * S.groups() < S.TileM; ++I) {
    Values At(size_t(Rank), W.index(0));
    At[0] = W.B.createOrFold<arith::MinUIOp>(
        W.Loc, W.add(Row, rowInTile(Group, I)), Last);
    All.push_back(W.Emitter.element(W.B, Factors, At));
    if (!All.back())
      Result = failure();
  }
  return failed(Result) ? Values() : All;
}

/// Who reads them waits once more.
void CodesGemm::storeFactors(ValueRange Of, Value Group) {
  if (Of.empty())
    return;
  auto One = VectorType::get({1}, W.B.getF32Type());
  // Those of the tile before are read.
  tile::SyncOp::create(W.B, W.Loc, tile::Scope::Role);
  for (auto [I, Factor] : llvm::enumerate(Of)) {
    Value InTile = rowInTile(Group, int64_t(I)), Own = Factor;
    auto Store = [&] {
      tile::StoreVectorOp::create(
          W.B, W.Loc, vector::FromElementsOp::create(W.B, W.Loc, One, Own),
          FactorTile, W.index(0), 0, InTile, 0);
    };
    if (int64_t(I + 1) * 128 * S.groups() <= S.TileM)
      Store();
    else
      W.when(W.less(InTile, W.index(S.TileM)), Store);
  }
}

/// A part times the scales of its columns, which are the fragment's rows.
Value CodesGemm::scaled(Value Part, const GemmMatch::TiledCodes &Codes,
                        const AccumulatorCoord &At) {
  Type F32 = W.B.getF32Type(), Index = W.B.getIndexType();
  auto Ty = cast<tile::FragmentType>(Part.getType());
  Values First = {At.Column, At.Row}, Within = {At.Columns, At.Rows};
  if (At.ColumnOf) {
    First[0] = W.index(0);
    Within[0] = W.index(Ty.getRows());
  }
  auto Map = tile::MapOp::create(W.B, W.Loc, Ty, Part, First, Within);
  OpBuilder::InsertionGuard Guard(W.B);
  Block *Body = W.B.createBlock(&Map.getBody(), {}, {F32, Index, Index},
                                SmallVector<Location>(3, W.Loc));
  Value Column = Body->getArgument(1);
  if (At.ColumnOf)
    Column = At.ColumnOf(Column);
  Value Scale = memref::LoadOp::create(W.B, W.Loc, Codes.Scales.Memref,
                                       ValueRange{W.index(0), Column});
  if (Scale.getType() != F32)
    Scale = arith::ExtFOp::create(W.B, W.Loc, F32, Scale);
  if (double Factor = Numbers.factor(); Factor != 1)
    Scale = arith::MulFOp::create(W.B, W.Loc, Scale, f32(Factor));
  tile::YieldOp::create(
      W.B, W.Loc,
      arith::MulFOp::create(W.B, W.Loc, Body->getArgument(0), Scale));
  return Map.getResult();
}

void CodesGemm::finish(const TileCoord &Where, Value Group, ValueRange Acc) {
  int64_t Rows = S.partRows();
  auto PartTy = tile::FragmentType::get(W.B.getContext(), {64, Rows},
                                        P.accumulatorType());
  Value Column = W.add(Where.Column, W.mul(Group, W.index(64))), Kept,
        First = W.index(0);
  if (Factors)
    tile::SyncOp::create(W.B, W.Loc, tile::Scope::Role);
  if (S.SplitK > 1) {
    // Columns of the fragment are rows of the result.
    Kept = storeForSplitK(Group, Acc[0], S.TileN, S.TileM);
    First = W.mul(Rank, W.index(S.storedRows()));
  }
  for (int64_t R = 0; R < S.storedRows(); R += Rows) {
    Value InTile = W.add(First, W.index(R)), Row = W.add(Where.Row, InTile);
    AccumulatorCoord At{Value(), Row, Column, RowCount, ColumnCount};
    At.Transposed = true;
    if (hasHeads())
      At.ColumnOf = [&](Value InFragment) -> Value {
        Value Last =
            W.B.createOrFold<arith::SubIOp>(W.Loc, ColumnCount, W.index(1));
        return W.B.createOrFold<arith::MinUIOp>(
            W.Loc, W.add(Where.Column, columnOf(Group, InFragment)), Last);
      };
    Values Parts;
    for (auto [I, Sums] : llvm::enumerate(Acc)) {
      Value Part = Kept ? Value(tile::ClusterReduceOp::create(
                              W.B, W.Loc, PartTy, Kept, InTile, S.SplitK))
                        : Value(tile::ExtractColumnsOp::create(
                              W.B, W.Loc, PartTy, Sums, R));
      if (!hasBlocks(P))
        Part = scaled(Part, codesOf(unsigned(I)), At);
      Parts.push_back(Part);
    }
    if (P.RotateHalf)
      Parts.push_back(tile::PairedRowsOp::create(W.B, W.Loc, PartTy, Parts[0],
                                                 hasHeads() ? 8 : 1));
    SmallVector<std::pair<Value, Value>> Known;
    if (Factors)
      Known.emplace_back(Factors, tile::LoadColumnsOp::create(
                                      W.B, W.Loc, PartTy, FactorTile, InTile));
    Value Out = mapAccumulators(W, P, At, Parts[0], Result,
                                Parts.size() > 1 ? Parts[1] : Value(), Known);
    store(Where, Group, Row, Column, Out, R / Rows);
  }
}

/// As storePart.
void CodesGemm::store(const TileCoord &Where, Value Group, Value Row,
                      Value Column, Value Out, int64_t Number) {
  constexpr int64_t Buffers = schedule::StagingBuffers;
  int64_t Rows = S.partRows(), Buffer = Number % Buffers,
          Parts = S.storedRows() / Rows;
  Value OfGroup = W.mul(Group, W.index(Rows * Buffers)), Whole, Staged;
  // Halves of a head may be stored by two warpgroups.
  auto Scope = 4 % slicesToOther() ? tile::Scope::Role : tile::Scope::Warpgroup;
  if (hasHeads()) {
    Whole = rowsOf(StagingTile, W.index(Rows * Buffer), Rows);
    auto All = cast<tile::SharedType>(Whole.getType());
    auto Ty =
        tile::SharedType::get(W.B.getContext(), {Rows, 64}, All.getElement(),
                              All.getSwizzle(), All.getPitch());
    Staged = tile::SubviewColumnsOp::create(W.B, W.Loc, Ty, Whole,
                                            W.mul(Group, W.index(64)));
  } else {
    Staged = rowsOf(StagingTile, W.add(OfGroup, W.index(Rows * Buffer)), Rows);
  }
  bool UsedLast = Number == 0 && Parts % Buffers != 0;
  elect(tile::Scope::Warpgroup, [&] {
    tile::TmaStoreWaitOp::create(W.B, W.Loc, UsedLast ? 0 : Buffers - 1);
  });
  tile::SyncOp::create(W.B, W.Loc, Scope);
  if (hasHeads())
    tile::StoreSharedOp::create(W.B, W.Loc, Out, Whole, Group, /*pairs=*/false,
                                /*transposed=*/true,
                                W.B.getI64IntegerAttr(P.RotateHalf));
  else
    tile::StoreSharedOp::create(W.B, W.Loc, Out, Staged, /*pairs=*/false,
                                /*transposed=*/true);
  tile::FenceProxyOp::create(W.B, W.Loc);
  tile::SyncOp::create(W.B, W.Loc, Scope);
  elect(tile::Scope::Warpgroup, [&] {
    tile::TmaStoreOp::create(W.B, W.Loc, Staged, ViewD,
                             at(P.D, Where, Row, Column));
    tile::TmaStoreCommitOp::create(W.B, W.Loc);
  });
}

} // namespace kpc::kernels
