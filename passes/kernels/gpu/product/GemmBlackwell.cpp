//===- GemmBlackwell.cpp - Matrix products on tcgen05 ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A product of 16-bit matrices on chips with tensor memory. One warp of a
/// block copies slices of both operands into a ring in shared memory (TMA); one
/// thread of another begins products on them (tcgen05.mma), whose sums grow in
/// tensor memory; a warpgroup reads the sums of the tile before, does in
/// registers what the kernel does with each element, and stores through shared
/// memory (TMA).
///
///   global A,B ──TMA──▶ slots ──tcgen05──▶ tensor memory: two tiles of sums
///                        ▲ full/empty         │ full/empty
///   global D ◀──TMA── staging ◀── registers ◀─┘ epilogue
///
/// In a pair, two blocks multiply as one: 256 rows, of which each has 128, by
/// columns of which each has half in its shared memory. The even block's thread
/// begins the products of both.
///
/// Not for: sums that may be empty, rows of memory that do not start at
/// multiples of 16 bytes. Never run on hardware by this project.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/ScheduleChoice.h"
#include "passes/kernels/gpu/product/MatrixOperands.h"
#include "passes/schedule/BlackwellSchedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace kpc::kernels {

using schedule::BlackwellSchedule;

namespace {

/// Warps of a block: one that copies, one that multiplies, two that idle, so
/// that those which finish are a warpgroup.
constexpr int64_t CopyingWarp = 0, MultiplyingWarp = 1, FirstFinishing = 4,
                  Warps = 8;

class BlackwellProduct : public TmaProduct {
public:
  BlackwellProduct(KernelForm &Form, MatrixProduct &P,
                   const BlackwellSchedule &S)
      : TmaProduct(Form, P, S), Cut(S) {}

  LogicalResult emit(GpuLaunch &Launch);

protected:
  const BlackwellSchedule &Cut;

private:
  void declare();
  void multiply();
  void finish(Value Group);
  Values multiplyTile(Value Cursor, Value SumsCursor);
  void finishTile(const Place &Where, Value Group, Value Slot);
  Value tileOf(Value Slot);

  tile::TensorMemoryType SumsTy;
  Value SumsPipe, Memory;
};

void BlackwellProduct::declare() {
  MLIRContext *Context = W.B.getContext();
  int64_t Blocks = S.blocks();
  declareMemory(/*Groups=*/1, /*Rows=*/S.TileRows, /*Consumers=*/1,
                Cut.isPair());
  auto MemoryOf = [&](int64_t Columns) {
    return tile::TensorMemoryType::get(Context, {S.TileRows, Columns},
                                       W.B.getF32Type());
  };
  SumsTy = MemoryOf(S.TileColumns);
  auto PipeTy = tile::PipeType::get(Context, Cut.Accumulators, {SumsTy});
  SumsPipe = tile::PipeOp::create(
      W.B, W.Loc, PipeTy, tile::Completion::Mma,
      /*producers=*/1, (Warps - FirstFinishing) * Blocks, Cut.isPair());
  tile::StartOp::create(W.B, W.Loc);
  Memory = tile::TmemAllocOp::create(
      W.B, W.Loc, MemoryOf(Cut.tensorMemoryColumns()), Cut.isPair());
  if (!Cut.isPair())
    return;
  Rank = tile::BlockRankOp::create(W.B, W.Loc, W.B.getIndexType());
  tile::ClusterSyncOp::create(W.B, W.Loc);
}

/// The sums in a slot.
Value BlackwellProduct::tileOf(Value Slot) {
  return tile::TilesOp::create(W.B, W.Loc, TypeRange{SumsTy}, SumsPipe, Slot,
                               Memory)
      .getResult(0);
}

/// One thread begins all products of a tile; slots are given back as they end.
BlackwellProduct::Values BlackwellProduct::multiplyTile(Value Cursor,
                                                        Value SumsCursor) {
  MLIRContext *Context = W.B.getContext();
  auto Free = tile::SlotType::get(Context, tile::SlotState::Free);
  auto Full = tile::SlotType::get(Context, tile::SlotState::Full);
  Value Sums = tile::AcquireOp::create(W.B, W.Loc, Free, SumsPipe, SumsCursor);
  Value D = tileOf(Sums), Zero = W.index(0);
  Value Behind =
      W.loop(Zero, SumCount, W.index(S.TileSum), Cursor,
             [&](Value Step, ValueRange In) -> Values {
               Value Slot = tile::WaitOp::create(W.B, W.Loc, Full, Pipe, In[0]);
               auto Parts = tile::TilesOp::create(
                   W.B, W.Loc, TypeRange{TileA, TileB}, Pipe, Slot);
               // The first slice begins the sums.
               Value Add = arith::CmpIOp::create(
                   W.B, W.Loc, arith::CmpIPredicate::ne, Step, Zero);
               tile::TmemMmaOp::create(W.B, W.Loc, Parts.getResult(0),
                                       Parts.getResult(1), D, Add, ATransposed,
                                       BTransposed, Cut.isPair());
               tile::ReleaseOp::create(W.B, W.Loc, Pipe, Slot, /*blocks=*/1,
                                       /*after_mma=*/true);
               return {next(Pipe, In[0])};
             })[0];
  tile::CommitOp::create(W.B, W.Loc, SumsPipe, Sums);
  return {Behind, next(SumsPipe, SumsCursor)};
}

void BlackwellProduct::multiply() {
  auto All = [&] {
    elect(tile::Scope::Role, [&] {
      forEachTile({cursor(), cursor()}, [&](Value, ValueRange In) -> Values {
        return multiplyTile(In[0], In[1]);
      });
    });
  };
  if (!Cut.isPair())
    return All();
  W.when(arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq, Rank,
                               W.index(0)),
         All);
}

/// The slot is given back as soon as all of it is in registers or stored.
void BlackwellProduct::finishTile(const Place &Where, Value Group, Value Slot) {
  auto Part =
      tile::FragmentType::get(W.B.getContext(), {S.TileRows, S.partColumns()},
                              W.B.getF32Type(), tile::FragmentLayout::Lanes);
  auto Pending = tile::PendingType::get(W.B.getContext(), Part);
  Value Sums = tileOf(Slot);
  for (int64_t C = 0; C < S.TileColumns; C += S.partColumns()) {
    Value Read =
        tile::TmemLoadOp::create(W.B, W.Loc, Pending, Sums, W.index(C));
    Value Own = tile::AwaitOp::create(W.B, W.Loc, Part, Read);
    if (C + S.partColumns() == S.TileColumns)
      tile::ReleaseOp::create(W.B, W.Loc, SumsPipe, Slot);
    Value Column = W.add(Where.Column, W.index(C));
    storePart(Where, Group, Where.Row, Column,
              mapElements(Where, Where.Row, Column, Own), C / S.partColumns());
  }
}

void BlackwellProduct::finish(Value Group) {
  auto Full = tile::SlotType::get(W.B.getContext(), tile::SlotState::Full);
  forEachTile(cursor(), [&](Value Tile, ValueRange In) -> Values {
    Value Slot = tile::WaitOp::create(W.B, W.Loc, Full, SumsPipe, In[0]);
    finishTile(placeOf(Tile), Group, Slot);
    return {next(SumsPipe, In[0])};
  });
  // Shared memory lives until the stores have read it.
  elect(tile::Scope::Warpgroup,
        [&] { tile::WaitStoresOp::create(W.B, W.Loc, 0); });
}

LogicalResult BlackwellProduct::emit(GpuLaunch &Launch) {
  W.B.getContext()->loadDialect<tile::TileDialect>();
  declare();
  role("producer", CopyingWarp, CopyingWarp + 1, 0,
       [&](Value) { produce(/*Drain=*/true); });
  role("multiplier", MultiplyingWarp, MultiplyingWarp + 1, 0,
       [&](Value) { multiply(); });
  role("finisher", FirstFinishing, Warps, 0,
       [&](Value Group) { finish(Group); });
  tile::TmemFreeOp::create(W.B, W.Loc, Memory);
  describeLaunch(Launch, Warps * 32);
  return Result;
}

/// What slots, and what is stored, is made for.
bool are16Bit(const MatrixProduct &P) {
  return P.A.Element.getIntOrFloatBitWidth() == 16 &&
         P.D.Element.getIntOrFloatBitWidth() == 16;
}

class GemmBlackwell : public MatrixOperands<BlackwellProduct> {
public:
  using MatrixOperands::MatrixOperands;

private:
  int64_t columnsOfB() override { return Cut.ownColumns(); }
  Value firstColumnOfB(const Place &Where) override {
    if (!Cut.isPair())
      return Where.Column;
    return W.add(Where.Column, W.mul(Rank, W.index(Cut.ownColumns())));
  }
};

} // namespace

FailureOr<bool> buildGemmBlackwell(KernelForm &Form, const target::Target &T,
                                   GpuLaunch &Launch) {
  if (!T.Can.Tcgen05)
    return false;
  std::optional<MatrixProduct> P = MatrixProduct::read(Form);
  if (!P || !areMatrixOperands(*P) || !are16Bit(*P))
    return false;
  std::optional<schedule::GemmShape> Shape = gemmShapeOf(*P);
  if (!Shape)
    return false;
  std::vector<schedule::BlackwellCost> Ranked =
      schedule::rankBlackwellSchedules(*Shape, T);
  const schedule::BlackwellCost *Chosen =
      chooseSchedule(Form, Ranked, Launch, [&](StringRef Text) {
        return schedule::readBlackwellSchedule(Text.str(), *Shape, T);
      });
  if (!Chosen)
    return false;
  if (failed(GemmBlackwell(Form, *P, Chosen->Schedule).emit(Launch)))
    return failure();
  return true;
}

} // namespace kpc::kernels
