//===- GemmBlackwell.cpp - GEMMs on tcgen05 -------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A GEMM of matrices of 16 bits, or of FP8, on chips with tensor memory. One
/// warp of a block copies slices of both operands into a ring in shared memory
/// (TMA); one thread of another begins MMAs on them (tcgen05.mma), whose
/// accumulators grow in tensor memory; a warpgroup reads the accumulators of
/// the tile before, does in registers what the kernel does with each element,
/// and stores through shared memory (TMA).
///
///   global A,B ──TMA──▶ stages ─tcgen05──▶ tensor memory: two tiles of sums
///                        ▲ full/empty         │ full/empty
///   global D ◀──TMA── staging ◀── registers ◀─┘ epilogue
///
/// In a pair, two blocks multiply as one: 256 rows, of which each has 128, by
/// columns of which each has half in its shared memory. The even block's thread
/// begins the MMAs of both.
///
/// Sums of FP8 stay in tensor memory as those of 16 bits do: tcgen05 adds them
/// up in f32, not in 14 bits as wgmma. Scales of a tensor, of rows and of
/// columns are part of what happens in registers.
///
/// Not for: a K that may be 0, rows of memory that do not start at
/// multiples of 16 bytes. Never run on hardware by this project.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/KernelFamily.h"
#include "passes/kernels/gpu/gemm/GemmOperands.h"
#include "passes/schedule/BlackwellSchedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace kpc::kernels {

using schedule::BlackwellSchedule;

namespace {

/// Warps of a block: one that copies, one that multiplies, two that idle, so
/// that those of the epilogue are a warpgroup.
constexpr int64_t TmaWarp = 0, MmaWarp = 1, FirstEpilogueWarp = 4, Warps = 8;

class BlackwellGemm : public TmaGemm {
public:
  BlackwellGemm(FusedKernel &Form, GemmMatch &P, const BlackwellSchedule &S)
      : TmaGemm(Form, P, S), Cut(S) {}

  LogicalResult emit(GpuLaunch &Launch);

protected:
  const BlackwellSchedule &Cut;

private:
  void declare();
  void mma();
  void epilogue(Value Group);
  Values mainloop(Value Cursor, Value AccCursor);
  void epilogueTile(const TileCoord &Where, Value Group, Value Stage);
  Value tileOf(Value Stage);

  tile::TensorMemoryType AccTy;
  Value AccPipe, Memory;
};

void BlackwellGemm::declare() {
  MLIRContext *Context = W.B.getContext();
  int64_t Blocks = S.blocks();
  declareMemory(/*Groups=*/1, /*Rows=*/S.TileM, /*Consumers=*/1, Cut.isPair());
  auto MemoryOf = [&](int64_t Columns) {
    return tile::TensorMemoryType::get(Context, {S.TileM, Columns},
                                       W.B.getF32Type());
  };
  AccTy = MemoryOf(S.TileN);
  auto PipeTy = tile::PipeType::get(Context, Cut.Accumulators, {AccTy});
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
BlackwellGemm::Values BlackwellGemm::mainloop(Value Cursor, Value AccCursor) {
  MLIRContext *Context = W.B.getContext();
  auto Free = tile::StageType::get(Context, tile::StageState::Free);
  auto Full = tile::StageType::get(Context, tile::StageState::Full);
  Value Acc = tile::AcquireOp::create(W.B, W.Loc, Free, AccPipe, AccCursor);
  Value D = tileOf(Acc), Zero = W.index(0);
  Value Behind = W.loop(
      Zero, KCount, W.index(S.TileK), Cursor,
      [&](Value Step, ValueRange In) -> Values {
        Value Stage = tile::WaitOp::create(W.B, W.Loc, Full, Pipe, In[0]);
        auto Parts = tile::TilesOp::create(W.B, W.Loc, TypeRange{TileA, TileB},
                                           Pipe, Stage);
        // The first slice overwrites the accumulators.
        Value Add = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::ne,
                                          Step, Zero);
        tile::TmemMmaOp::create(W.B, W.Loc, Parts.getResult(0),
                                Parts.getResult(1), D, Add, ATransposed,
                                BTransposed, Cut.isPair());
        tile::ReleaseOp::create(W.B, W.Loc, Pipe, Stage, /*blocks=*/1,
                                /*after_mma=*/true);
        return {next(Pipe, In[0])};
      })[0];
  tile::CommitOp::create(W.B, W.Loc, AccPipe, Acc);
  return {Behind, next(AccPipe, AccCursor)};
}

void BlackwellGemm::mma() {
  auto All = [&] {
    elect(tile::Scope::Role, [&] {
      forEachTile({cursor(), cursor()}, [&](Value, ValueRange In) -> Values {
        return mainloop(In[0], In[1]);
      });
    });
  };
  if (!Cut.isPair())
    return All();
  W.when(arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq, Rank,
                               W.index(0)),
         All);
}

/// The stage is given back as soon as all of it is in registers or stored.
void BlackwellGemm::epilogueTile(const TileCoord &Where, Value Group,
                                 Value Stage) {
  auto Part = tile::FragmentType::get(
      W.B.getContext(), {S.TileM, S.partColumns()}, W.B.getF32Type(),
      tile::FragmentLayout::Tmem32x32b);
  auto Pending = tile::PendingType::get(W.B.getContext(), Part);
  Value Acc = tileOf(Stage);
  for (int64_t C = 0; C < S.TileN; C += S.partColumns()) {
    Value Read = tile::TmemLoadOp::create(W.B, W.Loc, Pending, Acc, W.index(C));
    Value Own = tile::AwaitOp::create(W.B, W.Loc, Part, Read);
    if (C + S.partColumns() == S.TileN)
      tile::ReleaseOp::create(W.B, W.Loc, AccPipe, Stage);
    Value Column = W.add(Where.Column, W.index(C));
    storePart(Where, Group, Where.Row, Column,
              mapElements(Where, Where.Row, Column, Own), C / S.partColumns());
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

/// What products, and what is stored, are made for.
bool hasTypesOfTcgen05(const GemmMatch &P) {
  bool Multiplied = P.A.Element.getIntOrFloatBitWidth() == 16 || P.isFp8();
  return Multiplied && P.D.Element.getIntOrFloatBitWidth() == 16;
}

class GemmBlackwell : public GemmOperands<BlackwellGemm> {
public:
  using GemmOperands::GemmOperands;

private:
  int64_t columnsOfB() override { return Cut.ownColumns(); }
  Value firstColumnOfB(const TileCoord &Where) override {
    if (!Cut.isPair())
      return Where.Column;
    return W.add(Where.Column, W.mul(Rank, W.index(Cut.ownColumns())));
  }
};

} // namespace

FamilyAnswer queryGemmBlackwell(FusedKernel &Form, const target::Target &T) {
  if (!T.Can.Tcgen05)
    return FamilyAnswer::refuse(RefusalKind::Target,
                                "the target has no tcgen05");
  std::optional<GemmMatch> P = GemmMatch::read(Form);
  if (!P)
    return FamilyAnswer::refuse(RefusalKind::Form, NoGemm);
  if (std::optional<schedule::Refusal> No = refusalByTma(*P))
    return FamilyAnswer::refuse(*No);
  if (!hasTypesOfTcgen05(*P))
    return FamilyAnswer::refuse(
        RefusalKind::ElementType,
        "operands are neither of 16 bits nor FP8, or the result is not of 16 "
        "bits");
  std::optional<schedule::GemmShape> Shape = gemmShapeOf(*P);
  if (!Shape)
    return FamilyAnswer::refuse(RefusalKind::Size, TooFewForMma);
  return FamilyAnswer::offer(
      schedule::rankBlackwellSchedules(*Shape, T),
      [&Form, P = std::make_shared<GemmMatch>(std::move(*P))](
          const schedule::BlackwellSchedule &S, GpuLaunch &Launch) {
        return GemmBlackwell(Form, *P, S).emit(Launch);
      },
      [Shape = *Shape, &T](StringRef Text) {
        return schedule::readBlackwellSchedule(Text.str(), Shape, T);
      });
}

} // namespace kpc::kernels
