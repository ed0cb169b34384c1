//===- BlackwellGemm.cpp - GEMMs on tcgen05, without operands -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/gemm/BlackwellGemm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace kpc::kernels {

/// Warps of a block: one that copies, one that multiplies, two that idle, so
/// that those of the epilogue are a warpgroup.
static constexpr int64_t TmaWarp = 0, MmaWarp = 1, FirstEpilogueWarp = 4,
                         Warps = 8;

void BlackwellGemm::declare() {
  MLIRContext *Context = W.B.getContext();
  int64_t Blocks = S.blocks();
  declareMemory(/*Groups=*/1, /*Rows=*/S.TileM, /*Consumers=*/1, Cut.isPair());
  auto MemoryOf = [&](int64_t Columns) {
    return tile::TensorMemoryType::get(Context, {S.TileM, Columns},
                                       W.B.getF32Type());
  };
  AccTy = MemoryOf(S.TileN);
  auto PipeTy = tile::PipeType::get(Context, Cut.accumulators(), {AccTy});
  AccPipe = tile::PipeOp::create(
      W.B, W.Loc, PipeTy, tile::Completion::Mma,
      /*producers=*/1, (Warps - FirstEpilogueWarp) * Blocks, Cut.isPair());
  tile::BarrierInitOp::create(W.B, W.Loc);
  Memory = tile::TmemAllocOp::create(
      W.B, W.Loc, MemoryOf(Cut.tensorMemoryColumns()), Cut.isPair());
  if (!Cut.isPair())
    return;
  Rank = tile::BlockRankOp::create(W.B, W.Loc, W.B.getIndexType());
  tile::ClusterSyncOp::create(W.B, W.Loc);
}

/// The accumulators in a stage.
Value BlackwellGemm::tileOf(Value Stage) {
  return tile::TilesOp::create(W.B, W.Loc, TypeRange{AccTy}, AccPipe, Stage,
                               Memory)
      .getResult(0);
}

/// One thread begins all MMAs of a tile; stages are given back as they end.
BlackwellGemm::Values BlackwellGemm::mainloop(Value Count, ValueRange Places) {
  MLIRContext *Context = W.B.getContext();
  auto Free = tile::StageType::get(Context, tile::StageState::Free);
  auto Full = tile::StageType::get(Context, tile::StageState::Full);
  Value Acc = tile::AcquireOp::create(W.B, W.Loc, Free, AccPipe, Places[1]);
  Values OfStages = {Places[0]};
  llvm::append_range(OfStages, Places.drop_front(2));
  Value D = tileOf(Acc), Zero = W.index(0);
  Values Behind = W.loop(
      Zero, Count, W.index(S.TileK), OfStages,
      [&](Value Step, ValueRange In) -> Values {
        Value Stage = tile::WaitOp::create(W.B, W.Loc, Full, Pipe, In[0]);
        auto Parts =
            tile::TilesOp::create(W.B, W.Loc, tilesOfStage(), Pipe, Stage);
        // The first slice overwrites the accumulators.
        Value Add = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::ne,
                                          Step, Zero);
        multiply(Parts.getResults(), D, Add, In.drop_front());
        tile::ReleaseOp::create(W.B, W.Loc, Pipe, Stage, /*blocks=*/1,
                                /*after_mma=*/true);
        Values Next = {next(Pipe, In[0])};
        llvm::append_range(Next, nextPlaces(In.drop_front()));
        return Next;
      });
  tile::CommitOp::create(W.B, W.Loc, AccPipe, Acc);
  Values All = {Behind[0], next(AccPipe, Places[1])};
  llvm::append_range(All, ArrayRef(Behind).drop_front());
  return All;
}

void BlackwellGemm::multiply(ValueRange Tiles, Value D, Value Add, ValueRange) {
  tile::TmemMmaOp::create(W.B, W.Loc, Tiles[0], Tiles[1], D, Add, ATransposed,
                          BTransposed, Cut.isPair());
}

void BlackwellGemm::mma() {
  auto All = [&] {
    elect(tile::Scope::Role, [&] {
      Values Places = {cursor(), cursor()};
      llvm::append_range(Places, firstPlacesOfProducts());
      forEachTile(Places, [&](Value Tile, ValueRange In) {
        return mainloop(countOfTile(Tile), In);
      });
    });
  };
  if (!Cut.isPair())
    return All();
  W.when(arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq, Rank,
                               W.index(0)),
         All);
}

/// Where the accumulators of a result's column are. Each block of a pair has as
/// many columns of the one GEMM and of the other in its stages, and the MMA
/// puts those of the odd block behind those of the even one.
int64_t BlackwellGemm::accumulatorColumn(int64_t Column, bool OfSecond) const {
  if (!P.Second)
    return Column;
  int64_t Own = ownColumnsOfOne();
  return Column / Own * 2 * Own + (OfSecond ? Own : 0) + Column % Own;
}

Value BlackwellGemm::beginRead(Value Acc, int64_t Column) {
  MLIRContext *Context = W.B.getContext();
  auto Part = tile::FragmentType::get(Context, {S.TileM, S.partColumns()},
                                      W.B.getF32Type(),
                                      tile::FragmentLayout::Tmem32x32b);
  return tile::TmemLoadOp::create(
      W.B, W.Loc, tile::PendingType::get(Context, Part), Acc, W.index(Column));
}

Value BlackwellGemm::endRead(Value Read) {
  auto Pending = cast<tile::PendingType>(Read.getType());
  return tile::AwaitOp::create(W.B, W.Loc, Pending.getFragment(), Read);
}

/// Beside the accumulators, what the function sees with them: those of the
/// second GEMM, or RoPE's other halves of the part's, which a part of whole
/// heads has itself; null where there is neither.
BlackwellGemm::Part BlackwellGemm::readPart(Value Acc, int64_t Column) {
  Value Own = beginRead(Acc, accumulatorColumn(Column, /*OfSecond=*/false));
  int64_t Half = P.RotateHalf;
  bool HasHeads = Half && S.partColumns() % (2 * Half) == 0;
  Value Other;
  if (P.Second)
    Other = beginRead(Acc, accumulatorColumn(Column, /*OfSecond=*/true));
  else if (Half && !HasHeads)
    Other = beginRead(Acc, Column / Half % 2 ? Column - Half : Column + Half);
  Own = endRead(Own);
  if (Other)
    return {Own, endRead(Other)};
  if (HasHeads)
    Other = tile::ExtractColumnsOp::create(W.B, W.Loc, Own.getType(), Own,
                                           /*first=*/0, Half);
  return {Own, Other};
}

/// Where parts of the result's columns begin, in the order of their stores.
/// Those at the same place of their heads come one after another: they read the
/// same angles, once, and no others are kept in registers.
SmallVector<int64_t> BlackwellGemm::columnsOfParts() const {
  int64_t Part = S.partColumns(), Head = std::max(2 * P.RotateHalf, Part);
  SmallVector<int64_t> Columns;
  for (int64_t InHead = 0; InHead < Head; InHead += Part)
    for (int64_t C = InHead; C < resultColumns(); C += Head)
      Columns.push_back(C);
  return Columns;
}

/// The stage is given back as soon as all of it is in registers or stored.
void BlackwellGemm::epilogueTile(const TileCoord &Where, Value Group,
                                 Value Stage) {
  Value Acc = tileOf(Stage);
  SmallVector<int64_t> Columns = columnsOfParts();
  for (auto [Number, C] : llvm::enumerate(Columns)) {
    auto [Own, Paired] = readPart(Acc, C);
    if (Number + 1 == Columns.size())
      tile::ReleaseOp::create(W.B, W.Loc, AccPipe, Stage);
    Value Column = W.add(Where.Column, W.index(C));
    storePart(Where, Group, Where.Row, Column,
              mapElements(Where, Where.Row, Column, Own, Paired), Number);
  }
}

void BlackwellGemm::epilogue(Value Group) {
  auto Full = tile::StageType::get(W.B.getContext(), tile::StageState::Full);
  forEachTile(cursor(), [&](Value Tile, ValueRange In) -> Values {
    Value Stage = tile::WaitOp::create(W.B, W.Loc, Full, AccPipe, In[0]);
    epilogueTile(placeOf(Tile), Group, Stage);
    return {next(AccPipe, In[0])};
  });
  // Shared memory lives until the stores have read it.
  elect(tile::Scope::Warpgroup,
        [&] { tile::TmaStoreWaitOp::create(W.B, W.Loc, 0); });
}

LogicalResult BlackwellGemm::emit(GpuLaunch &Launch) {
  W.B.getContext()->loadDialect<tile::TileDialect>();
  declare();
  role("producer", TmaWarp, TmaWarp + 1, 0,
       [&](Value) { produce(/*Drain=*/true); });
  role("mma", MmaWarp, MmaWarp + 1, 0, [&](Value) { mma(); });
  role("epilogue", FirstEpilogueWarp, Warps, 0,
       [&](Value Group) { epilogue(Group); });
  tile::TmemFreeOp::create(W.B, W.Loc, Memory);
  describeLaunch(Launch, Warps * 32);
  return Result;
}

} // namespace kpc::kernels
