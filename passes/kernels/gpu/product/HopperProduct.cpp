//===- HopperProduct.cpp - Tiles of sums on wgmma, and their way out ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/product/HopperProduct.h"
#include "passes/kernels/gpu/product/ProductTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace kpc::kernels {

//===----------------------------------------------------------------------===//
// Blocks of a cluster
//===----------------------------------------------------------------------===//

/// Blocks that share copies wait until all of them have their barriers; those
/// that share a sum take a part of it each.
void HopperProduct::joinCluster() {
  if (S.blocks() == 1)
    return;
  Rank = tile::BlockRankOp::create(W.B, W.Loc, W.B.getIndexType());
  if (S.sharers() > 1)
    tile::ClusterSyncOp::create(W.B, W.Loc);
  if (S.Split > 1)
    shareSum();
}

/// Parts differ by at most one step. None is empty: the schedule is legal for
/// sums of `Split` steps and more only.
void HopperProduct::shareSum() {
  Value Steps = toI32(W.ceilDiv(SumCount, S.TileSum)), Of = toI32(Rank);
  auto Begin = [&](Value Part) {
    Value Before = compute<arith::MulIOp>(Part, Steps);
    return compute<arith::DivUIOp>(Before, i32(S.Split));
  };
  Value First = Begin(Of);
  Value End = Begin(compute<arith::AddIOp>(Of, i32(1)));
  Value Own = compute<arith::SubIOp>(End, First);
  SumFirst = W.mul(toIndex(First), W.index(S.TileSum));
  SumCount = W.mul(toIndex(Own), W.index(S.TileSum));
}

//===----------------------------------------------------------------------===//
// Products, and what becomes of them
//===----------------------------------------------------------------------===//

/// 64 columns of a tile, a line of each row.
Value HopperProduct::linesOf(Value Tile, Value First) {
  auto Whole = cast<tile::SharedType>(Tile.getType());
  auto Part = tile::SharedType::get(W.B.getContext(), {Whole.getRows(), 64},
                                    Whole.getElement(), Whole.getSwizzle(),
                                    Whole.getPitch());
  return tile::LinesOp::create(W.B, W.Loc, Part, Tile, First);
}

/// The sums of a warpgroup's rows of one tile. A slot is given back one product
/// late: when the product that reads it is over, the next is already under way.
Value HopperProduct::multiplyTile(Value Group, Value &Cursor) {
  MLIRContext *Context = W.B.getContext();
  auto Full = tile::SlotType::get(Context, tile::SlotState::Full);
  auto Pending = tile::PendingType::get(Context, Sums);
  Value First = W.mul(Group, W.index(64));
  auto Multiply = [&](Value At, Value Add) {
    Value Slot = tile::WaitOp::create(W.B, W.Loc, Full, Pipe, At);
    auto Parts =
        tile::TilesOp::create(W.B, W.Loc, TypeRange{TileA, TileB}, Pipe, Slot);
    Value Rows = Parts.getResult(0);
    if (!S.PingPong)
      Rows = ATransposed ? linesOf(Rows, First) : rowsOf(Rows, First);
    Value D = tile::MmaOp::create(W.B, W.Loc, Pending, Rows, Parts.getResult(1),
                                  Add, ATransposed, BTransposed);
    return std::tuple(D, Slot, next(Pipe, At));
  };
  auto [D, Slot, Next] = Multiply(Cursor, Value());
  Values Last =
      W.loop(W.index(S.TileSum), SumCount, W.index(S.TileSum), {D, Slot, Next},
             [&](Value, ValueRange In) -> Values {
               auto [Sum, Held, After] = Multiply(In[2], In[0]);
               Value Still =
                   tile::RetireOp::create(W.B, W.Loc, Sum.getType(), Sum, 1);
               tile::ReleaseOp::create(W.B, W.Loc, Pipe, In[1], S.sharers());
               return {Still, Held, After};
             });
  Cursor = Last[2];
  // The next warpgroup's products follow those that are under way here.
  if (S.PingPong)
    tile::PassTurnOp::create(W.B, W.Loc);
  Value Done = tile::AwaitOp::create(W.B, W.Loc, Sums, Last[0]);
  tile::ReleaseOp::create(W.B, W.Loc, Pipe, Last[1], S.sharers());
  return Done;
}

/// Puts this block's sums where the others of its cluster read them: into the
/// slots, which nobody needs any more. Gives what is kept of this group.
Value HopperProduct::shareOfSums(Value Group, Value Sums) {
  auto Kept = tile::SharedType::get(
      W.B.getContext(), {S.TileRows, S.TileColumns}, W.B.getF32Type(), 0);
  // The other groups have read their last slots, too.
  tile::SyncOp::create(W.B, W.Loc, tile::Scope::Role);
  Value All = tile::ReuseOp::create(W.B, W.Loc, Kept, Pipe);
  Value Mine = rowsOf(All, W.mul(Group, W.index(64)));
  tile::KeepOp::create(W.B, W.Loc, Sums, Mine);
  tile::ClusterSyncOp::create(W.B, W.Loc);
  return Mine;
}

/// What the function sees beside the part of `From` that begins at `First`:
/// the second product's sums, or those that change places with the part's; null
/// where there is neither.
Value HopperProduct::besidePart(Value From, int64_t First, Type Part) {
  if (P.Second)
    return tile::ColumnsOp::create(W.B, W.Loc, Part, From,
                                   resultColumns() + First);
  if (P.Exchanged)
    return tile::ColumnsOp::create(W.B, W.Loc, Part, From, First, P.Exchanged);
  return {};
}

/// Whether parts of a tile are whole heads, or heads whole parts: then what is
/// read for one part is what others read.
bool HopperProduct::sharesAngles() const {
  int64_t Head = 2 * P.Exchanged, Part = S.partColumns();
  return Head && (Part % Head == 0 || Head % Part == 0);
}

void HopperProduct::finishTile(const Place &Where, Value Group, Value Sums) {
  auto PartTy = tile::FragmentType::get(
      W.B.getContext(), {S.consumerRows(), S.partColumns()}, W.B.getF32Type());
  Value Row =
      S.PingPong ? Where.Row : W.add(Where.Row, W.mul(Group, W.index(64)));
  Value Kept, First = W.index(0); // of the columns that are this block's
  if (S.Split > 1) {
    Kept = shareOfSums(Group, Sums);
    First = W.mul(Rank, W.index(S.storedColumns()));
  }
  struct Part {
    Value Column, Sums, Beside;
  };
  SmallVector<Part> Parts;
  // In turn, nobody waits for what is read.
  bool ReadsFirst = (P.ReadsAtResult && !S.PingPong) || sharesAngles();
  for (int64_t C = 0; C < resultColumns() / S.Split; C += S.partColumns()) {
    Value InTile = W.add(First, W.index(C));
    Value Own =
        Kept ? Value(tile::CollectOp::create(W.B, W.Loc, PartTy, Kept, InTile,
                                             S.Split))
             : Value(tile::ColumnsOp::create(W.B, W.Loc, PartTy, Sums, C));
    Parts.push_back({W.add(Where.Column, InTile), Own,
                     besidePart(Kept ? Own : Sums, Kept ? 0 : C, PartTy)});
    if (!ReadsFirst)
      storePart(Where, Group, Row, Parts.back().Column,
                mapElements(Where, Row, Parts.back().Column, Own,
                            Parts.back().Beside),
                C / S.partColumns());
  }
  if (!ReadsFirst)
    return;
  // All reads of memory begin before the first store waits for anything. Parts
  // at the same place of their heads come one after another: they read the same
  // angles, once.
  size_t PartsOfHead = std::max<int64_t>(2 * P.Exchanged / S.partColumns(), 1);
  for (size_t InHead = 0; InHead < PartsOfHead; ++InHead)
    for (size_t I = InHead; I < Parts.size(); I += PartsOfHead)
      Parts[I].Sums = mapElements(Where, Row, Parts[I].Column, Parts[I].Sums,
                                  Parts[I].Beside);
  for (auto [Number, One] : llvm::enumerate(Parts))
    storePart(Where, Group, Row, One.Column, One.Sums, Number);
}

void HopperProduct::consume(Value Group) {
  forEachTile(cursor(), [&](Value Tile, ValueRange In) -> Values {
    Value At = In[0];
    Value Sums = multiplyTile(Group, At);
    // Behind the products: between the last of them and the wait, ptxas takes
    // any other instruction for one that might read the sums (C7514), and
    // serialises all products.
    finishTile(placeOf(Tile), Group, Sums);
    return {At};
  });
  endRole();
}

/// Each warpgroup has every second tile of the block, and so every second run
/// of slots. In the turn that it has, it begins its tile's products; behind
/// them the other's follow, while it finishes. Who has the turn knows that all
/// slots in front of its own have been filled: parities tell a round from the
/// one before, but not from the one before that.
void HopperProduct::consumeInTurn(Value Group) {
  int64_t Turns = S.consumers();
  Value Steps = W.ceilDiv(SumCount, S.TileSum);
  auto Skip = [&](Value At, Value Count) -> Value {
    return tile::SkipOp::create(W.B, W.Loc, At.getType(), Pipe, At, Count);
  };
  auto IsMine = [&](Value Turn) -> Value {
    return arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq,
                                 toI32(Group), Turn);
  };
  W.when(IsMine(i32(Turns - 1)), [&] { tile::PassTurnOp::create(W.B, W.Loc); });
  forEachTile(
      Skip(cursor(), W.mul(Group, Steps)),
      [&](Value Tile, ValueRange In) -> Values {
        Value At = In[0];
        tile::WaitTurnOp::create(W.B, W.Loc);
        Value Sums = multiplyTile(Group, At);
        finishTile(placeOf(Tile), Group, Sums);
        return {Skip(At, W.mul(Steps, W.index(Turns - 1)))};
      },
      Group, Turns);
  // The turn behind the block's last tile is waited for, too: no barrier is
  // left with arrivals.
  auto [First, Step] = firstTile();
  Value Left = compute<arith::SubIOp>(Tiles, First);
  Value Own = compute<arith::CeilDivUIOp>(Left, Step);
  W.when(IsMine(compute<arith::RemUIOp>(Own, i32(Turns))),
         [&] { tile::WaitTurnOp::create(W.B, W.Loc); });
  endRole();
}

void HopperProduct::endRole() {
  // Shared memory lives until the stores have read it, and until the cluster's
  // other blocks have read it or told its barriers.
  if (S.blocks() > 1)
    tile::ClusterSyncOp::create(W.B, W.Loc);
  elect(tile::Scope::Warpgroup,
        [&] { tile::WaitStoresOp::create(W.B, W.Loc, 0); });
}

LogicalResult HopperProduct::emit(GpuLaunch &Launch) {
  W.B.getContext()->loadDialect<tile::TileDialect>();
  Sums = tile::FragmentType::get(
      W.B.getContext(), {S.consumerRows(), S.TileColumns}, W.B.getF32Type());
  // In turn, a slot is one warpgroup's.
  declareMemory(S.consumers(), S.consumerRows(),
                /*Consumers=*/(S.PingPong ? 1 : S.consumers()) * 4 *
                    S.sharers());
  tile::StartOp::create(W.B, W.Loc);
  joinCluster();
  // Registers by warpgroups: they must fit 65,536 for all threads.
  struct Registers {
    int64_t Producer, Consumer;
  };
  constexpr Registers ByConsumers[] = {{40, 240}, {40, 232}, {32, 160}};
  // In turn, a thread has up to 192 sums.
  constexpr Registers InTurn = {24, 240};
  Registers R = S.PingPong ? InTurn : ByConsumers[S.consumers() - 1];
  role("producer", 0, 4, R.Producer, [&](Value) { produce(); });
  role("consumer", 4, 4 * (1 + S.consumers()), R.Consumer, [&](Value Group) {
    if (S.PingPong)
      consumeInTurn(Group);
    else
      consume(Group);
  });
  describeLaunch(Launch, S.threads());
  return Result;
}

} // namespace kpc::kernels
