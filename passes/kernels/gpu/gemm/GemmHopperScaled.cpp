//===- GemmHopperScaled.cpp - GEMMs of FP8 in blocks of 128 on wgmma ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A GEMM of FP8 codes whose blocks of 128 elements of K have scales of f32: of
/// each row of A, and of each column of B or each 128. It is GemmHopper.cpp
/// with promoted accumulation (HopperGemm.cpp): a stage has 128 elements of K,
/// so that the sums of a stage are multiplied by one scale of their row and one
/// of their columns when they are added up:
///
///   sum[m, n] += stage[m, n] * (a[m, k / 128] * b[n / 128, k / 128])
///
/// A thread loads the scales of its rows itself, a stage ahead. Where each
/// column has scales of its own, a stage has those of its columns, too.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/KernelFamily.h"
#include "passes/kernels/gpu/gemm/GemmOperands.h"
#include "passes/kernels/gpu/gemm/GemmTileWalk.h"
#include "passes/kernels/gpu/gemm/HopperGemm.h"
#include "passes/kernels/gpu/gemm/ScaledGemm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace kpc::kernels {

namespace {

/// Elements of K, and columns of B, that share a scale.
constexpr int64_t BlockElements = 128;
/// Columns that begin at a multiple of so many are of one block.
constexpr int64_t RunColumns = 64;

class GemmHopperScaled : public GemmOperands<HopperGemm> {
public:
  GemmHopperScaled(FusedKernel &Form, BlockFp8Gemm &G,
                   const schedule::GemmSchedule &S)
      : GemmOperands(Form, G.P, S), G(G) {}

private:
  int64_t multicastOfA() override { return S.ClusterN; }
  int64_t multicastOfB() override { return S.ClusterM; }

  bool addsUpStages() const override { return true; }

  /// Whether a tile's columns may be of two blocks. Tiles begin at multiples of
  /// 64 columns.
  bool hasTwoBlocks() const { return BlockElements % S.TileN != 0; }

  tile::ColumnType columnOf(Type Element) {
    return tile::ColumnType::get(W.B.getContext(), S.consumerRows(), Element);
  }

  void beginTile(const TileCoord &Where, Value Group) override {
    Type F32 = W.B.getF32Type(), Place = W.B.getI64Type();
    ScalesOfA = flatView(W, Form.Func.getArgument(G.ScalesOfA), F32);
    Value Row = W.add(Where.Row, W.mul(Group, W.index(64))),
          Last = before(RowCount);
    Value Numbers =
        tile::RowNumbersOp::create(W.B, W.Loc, columnOf(W.B.getI32Type()));
    Value Stride = valueOf(W, Form, G.StrideOfA);
    RowPlaces = apply(columnOf(Place), Numbers, [&](ValueRange In) -> Value {
      Value At = least(W.add(Row, toIndex(In[0])), Last);
      return arith::IndexCastOp::create(W.B, W.Loc, Place, W.mul(At, Stride));
    });
    LastBlock = blockOf(before(valueOf(W, Form, P.K)));
    if (!G.HasColumnScales)
      placeColumns(Where);
  }

  void placeColumns(const TileCoord &Where) {
    ScalesOfB =
        flatView(W, Form.Func.getArgument(G.ScalesOfB), W.B.getF32Type());
    // A cluster's last tile may lie beyond the columns.
    Value Stride = valueOf(W, Form, G.StrideOfB);
    auto PlaceOf = [&](Value Column) {
      Value Inside = least(Column, before(ColumnCount));
      return W.mul(blockOf(Inside), Stride);
    };
    ColumnPlaces = {PlaceOf(Where.Column)};
    if (!hasTwoBlocks())
      return;
    Value Rest = compute<arith::RemUIOp>(Where.Column, W.index(BlockElements)),
          Columns = compute<arith::SubIOp>(W.index(BlockElements), Rest);
    ColumnPlaces.push_back(PlaceOf(W.add(Where.Column, Columns)));
    ColumnsOfFirst = toI32(Columns);
  }

  Value blockOf(Value Element) {
    return compute<arith::DivUIOp>(Element, W.index(BlockElements));
  }
  Value before(Value Count) {
    return compute<arith::SubIOp>(Count, W.index(1));
  }
  Value least(Value X, Value Y) { return compute<arith::MinUIOp>(X, Y); }

  Value load(Value Memory, Value Place, Value Block) {
    return memref::LoadOp::create(W.B, W.Loc, Memory,
                                  ValueRange{W.add(Place, Block)});
  }

  //===--------------------------------------------------------------------===//
  // Scales of single columns, in the stages
  //===--------------------------------------------------------------------===//

  void declareTiles() override {
    GemmOperands::declareTiles();
    if (G.HasColumnScales)
      MoreTiles.push_back(tile::SharedType::get(W.B.getContext(), {1, S.TileN},
                                                W.B.getF32Type(),
                                                /*swizzle=*/0));
  }

  void addOperandViews() override {
    GemmOperands::addOperandViews();
    if (!G.HasColumnScales)
      return;
    Type F32 = W.B.getF32Type();
    auto View = tile::ViewType::get(W.B.getContext(), F32, {1, S.TileN},
                                    /*swizzle=*/0);
    shape::Expr Blocks = P.K.ceilDiv(BlockElements),
                Bytes = G.StrideOfB * shape::Expr(4);
    ViewOfScales = addExactView(View, G.ScalesOfB, F32, {P.N, Blocks}, {Bytes},
                                {S.TileN, 1});
  }

  void loadMore(const TileCoord &Where, Value Step, ValueRange Tiles,
                Value Stage) override {
    if (G.HasColumnScales)
      tile::TmaLoadOp::create(
          W.B, W.Loc, ViewOfScales,
          ValueRange{blockOf(W.add(FirstK, Step)), Where.Column}, Tiles[2],
          Pipe, Stage);
  }

  void readStage(ValueRange Tiles) override {
    if (G.HasColumnScales)
      OfColumns =
          tile::LoadColumnsOp::create(W.B, W.Loc, Acc, Tiles[0], W.index(0));
  }

  //===--------------------------------------------------------------------===//
  // Factors
  //===--------------------------------------------------------------------===//

  /// Scales of the rows, and one for each block of the columns.
  Values factorsOfStage(Value K) override {
    Value Block = least(blockOf(W.add(FirstK, K)), LastBlock);
    Values Factors = {
        apply(columnOf(W.B.getF32Type()), RowPlaces, [&](ValueRange In) {
          return load(ScalesOfA, toIndex(In[0]), Block);
        })};
    for (Value Place : ColumnPlaces)
      Factors.push_back(load(ScalesOfB, Place, Block));
    return Factors;
  }

  Value addStage(Value Sum, Value More, ValueRange Factors) override {
    if (G.HasColumnScales)
      return addScaled(Sum, More, Factors[0]);
    Values Operands = {More};
    llvm::append_range(Operands, factorsOfRuns(Factors));
    size_t Runs = Operands.size() - 1;
    if (Sum)
      Operands.push_back(Sum);
    return apply(Acc, Operands, [&](ValueRange In) -> Value {
      // The number of a column is a constant and less than 8: this is folded.
      Value Factor = In[Runs], Column = In.back();
      for (size_t Run = Runs - 1; Run > 0; --Run) {
        Value IsBefore =
            arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::ult, Column,
                                  i32(int64_t(Run) * RunColumns));
        Factor = arith::SelectOp::create(W.B, W.Loc, IsBefore, In[Run], Factor);
      }
      if (!Sum)
        return arith::MulFOp::create(W.B, W.Loc, In[0], Factor);
      return math::FmaOp::create(W.B, W.Loc, In[0], Factor, In[1 + Runs]);
    });
  }

  /// With a factor of each row and one of each column.
  Value addScaled(Value Sum, Value More, Value OfRows) {
    Values Operands = {More, OfRows, OfColumns};
    if (Sum)
      Operands.push_back(Sum);
    return apply(Acc, Operands, [&](ValueRange In) -> Value {
      Value Factor = arith::MulFOp::create(W.B, W.Loc, In[1], In[2]);
      if (!Sum)
        return arith::MulFOp::create(W.B, W.Loc, In[0], Factor);
      return math::FmaOp::create(W.B, W.Loc, In[0], Factor, In[3]);
    });
  }

  /// One factor of the rows for each 64 columns that may be of another block.
  Values factorsOfRuns(ValueRange Factors) {
    auto Column = columnOf(W.B.getF32Type());
    Values OfBlocks;
    for (Value OfColumns : Factors.drop_front())
      OfBlocks.push_back(apply(Column, Factors[0], [&](ValueRange In) -> Value {
        return arith::MulFOp::create(W.B, W.Loc, In[0], OfColumns);
      }));
    if (!hasTwoBlocks())
      return OfBlocks;
    Values Runs;
    for (int64_t First = 0; First < S.TileN; First += RunColumns) {
      Value IsOfFirst = arith::CmpIOp::create(
          W.B, W.Loc, arith::CmpIPredicate::slt, i32(First), ColumnsOfFirst);
      Runs.push_back(apply(Column, OfBlocks, [&](ValueRange In) -> Value {
        return arith::SelectOp::create(W.B, W.Loc, IsOfFirst, In[0], In[1]);
      }));
    }
    return Runs;
  }

  BlockFp8Gemm &G;
  Value ScalesOfA, ScalesOfB;
  Value RowPlaces;      ///< of a row's first scale, a column of i64
  Values ColumnPlaces;  ///< of the first scale of each block of columns
  Value ColumnsOfFirst; ///< columns of the tile that are of the first block
  Value LastBlock;      ///< of K
  BlockArgument ViewOfScales; ///< of single columns
  Value OfColumns;            ///< the stage's scales of columns
};

} // namespace

FamilyAnswer queryGemmHopperScaled(FusedKernel &Form, const target::Target &T) {
  std::optional<BlockFp8Gemm> Read = BlockFp8Gemm::read(Form);
  if (!Read)
    return FamilyAnswer::refuse(
        RefusalKind::Form, "it is no GEMM of FP8 with scales of blocks of 128");
  if (!T.Can.Wgmma)
    return FamilyAnswer::refuse(RefusalKind::Target, "the target has no wgmma");
  auto G = std::make_shared<BlockFp8Gemm>(std::move(*Read));
  if (std::optional<schedule::Refusal> No = refusalByTma(G->P))
    return FamilyAnswer::refuse(*No);
  std::optional<schedule::GemmShape> Shape = gemmShapeOf(G->P);
  if (!Shape)
    return FamilyAnswer::refuse(RefusalKind::Size, TooFewForMma);
  Shape->Promotes = Shape->LoadsScales = true;
  Shape->StagesColumnScales = G->HasColumnScales;
  Shape->StagedBytes = G->P.stagedBytes();
  return FamilyAnswer::offer(
      schedule::rankGemmSchedules(*Shape, T),
      [&Form, G, Most = T.Limit.SharedPerBlock](const schedule::GemmSchedule &S,
                                                GpuLaunch &Launch) {
        return GemmHopperScaled(Form, *G, S).emit(Launch, Most);
      },
      [Shape = *Shape, &T](StringRef Text) {
        return schedule::readGemmSchedule(Text.str(), Shape, T);
      });
}

} // namespace kpc::kernels
