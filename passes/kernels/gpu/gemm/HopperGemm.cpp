//===- HopperGemm.cpp - Mainloop and epilogue on wgmma --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/gemm/HopperGemm.h"
#include "passes/kernels/gpu/gemm/GemmTileWalk.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace kpc::kernels {

//===----------------------------------------------------------------------===//
// Blocks of a cluster
//===----------------------------------------------------------------------===//

/// Blocks that share copies wait until all of them have their barriers; those
/// that split K take a part of it each.
void HopperGemm::setUpCluster() {
  if (S.blocks() == 1)
    return;
  Rank = tile::BlockRankOp::create(W.B, W.Loc, W.B.getIndexType());
  if (S.multicast() > 1)
    tile::ClusterSyncOp::create(W.B, W.Loc);
  if (S.SplitK > 1)
    takeShareOfK();
}

/// Parts differ by at most one step. None is empty: the schedule is legal for
/// K of `SplitK` steps and more only.
void HopperGemm::takeShareOfK() {
  Value Steps = toI32(W.ceilDiv(KCount, S.TileK)), Of = toI32(Rank);
  auto Begin = [&](Value Part) {
    Value Before = compute<arith::MulIOp>(Part, Steps);
    return compute<arith::DivUIOp>(Before, i32(S.SplitK));
  };
  Value First = Begin(Of);
  Value End = Begin(compute<arith::AddIOp>(Of, i32(1)));
  Value Own = compute<arith::SubIOp>(End, First);
  FirstK = W.mul(toIndex(First), W.index(S.TileK));
  KCount = W.mul(toIndex(Own), W.index(S.TileK));
}

//===----------------------------------------------------------------------===//
// Products, and the epilogue
//===----------------------------------------------------------------------===//

/// 64 columns of a tile, a line of each row.
Value HopperGemm::subviewColumns(Value Tile, Value First) {
  auto Whole = cast<tile::SharedType>(Tile.getType());
  auto Part = tile::SharedType::get(W.B.getContext(), {Whole.getRows(), 64},
                                    Whole.getElement(), Whole.getSwizzle(),
                                    Whole.getPitch());
  return tile::SubviewColumnsOp::create(W.B, W.Loc, Part, Tile, First);
}

/// Waits for the stage at `At` and begins its products, on top of `Add` where
/// that is given.
HopperGemm::StageProducts HopperGemm::multiplyStage(Value Group, Value At,
                                                    Value Add) {
  MLIRContext *Context = W.B.getContext();
  auto Full = tile::StageType::get(Context, tile::StageState::Full);
  auto Pending = tile::PendingType::get(Context, Acc);
  Value Stage = tile::WaitOp::create(W.B, W.Loc, Full, Pipe, At);
  auto Parts = tile::TilesOp::create(W.B, W.Loc, tilesOfStage(), Pipe, Stage);
  readStage(Parts.getResults().drop_front(2));
  Value Rows = Parts.getResult(0), First = W.mul(Group, W.index(64));
  if (!S.PingPong)
    Rows = ATransposed ? subviewColumns(Rows, First) : rowsOf(Rows, First);
  Value D = tile::MmaOp::create(W.B, W.Loc, Pending, Rows, Parts.getResult(1),
                                Add, ATransposed, BTransposed);
  return {D, Stage, next(Pipe, At)};
}

Value HopperGemm::addStage(Value Sum, Value More, ValueRange) {
  if (!Sum)
    return More;
  return apply(Acc, {Sum, More}, [&](ValueRange In) -> Value {
    return arith::AddFOp::create(W.B, W.Loc, In[0], In[1]);
  });
}

/// The same where tensor cores do not add up stages, because they add up
/// products of FP8 in about 14 bits, or because stages have factors. Each stage
/// begins new accumulators, and those of all stages are added up in registers.
/// Meanwhile the other warpgroup's products run.
Value HopperGemm::promotedMainloop(Value Group, Value Count, Value &Cursor) {
  auto AddStage = [&](Value K, Value At, Value To, ValueRange Factors) {
    // In time for the next stage: they are on their way while this one's
    // products run.
    Values Following = factorsOfStage(W.add(K, W.index(S.TileK)));
    auto [D, Stage, Next] = multiplyStage(Group, At, Value());
    Value Sum = tile::AwaitOp::create(W.B, W.Loc, Acc, D);
    tile::ReleaseOp::create(W.B, W.Loc, Pipe, Stage, S.multicast());
    Values Carried = {addStage(To, Sum, Factors), Next};
    llvm::append_range(Carried, Following);
    return Carried;
  };
  auto AddNext = [&](Value K, ValueRange In) {
    return AddStage(K, In[1], In[0], In.drop_front(2));
  };
  // Two stages an iteration keep the next stage's factors where they were
  // loaded: between iterations ptxas would move them, and so wait for them,
  // before the products.
  Values Factors = factorsOfStage(W.index(0));
  // Of three stages one iteration would be left, and so no loop: ptxas spills.
  int64_t Steps = llvm::divideCeil(P.K.asConstant().value_or(0), S.TileK);
  bool InPairs = !Factors.empty() && Steps > 3 && S.SplitK == 1,
       IsEven = InPairs && Steps % 2 == 0;
  Values Sum;
  if (IsEven) {
    Sum = {tile::SplatOp::create(W.B, W.Loc, Acc, f32(0)), Cursor};
    llvm::append_range(Sum, Factors);
  } else {
    Sum = AddStage(W.index(0), Cursor, Value(), Factors);
  }
  Values Last = W.loop(
      W.index(IsEven ? 0 : S.TileK), Count,
      W.index((InPairs ? 2 : 1) * S.TileK), Sum, [&](Value K, ValueRange In) {
        Values Next = AddNext(K, In);
        return InPairs ? AddNext(W.add(K, W.index(S.TileK)), Next) : Next;
      });
  Cursor = Last[1];
  return Last[0];
}

/// The accumulators of a warpgroup's rows of one tile, whose sum is `Count`
/// long. A stage is given back
/// one wgmma group late: when the group that reads it is over, the next is
/// already in flight.
Value HopperGemm::mainloop(Value Group, Value Count, Value &Cursor) {
  if (addsUpStages())
    return promotedMainloop(Group, Count, Cursor);
  auto [D, Stage, Next] = multiplyStage(Group, Cursor, Value());
  Values Last =
      W.loop(W.index(S.TileK), Count, W.index(S.TileK), {D, Stage, Next},
             [&](Value, ValueRange In) -> Values {
               auto [Sum, Held, After] = multiplyStage(Group, In[2], In[0]);
               Value Still =
                   tile::WgmmaWaitOp::create(W.B, W.Loc, Sum.getType(), Sum, 1);
               tile::ReleaseOp::create(W.B, W.Loc, Pipe, In[1], S.multicast());
               return {Still, Held, After};
             });
  Cursor = Last[2];
  // The next warpgroup's products follow those that are under way here.
  if (S.PingPong)
    tile::PassTurnOp::create(W.B, W.Loc);
  Value Done = tile::AwaitOp::create(W.B, W.Loc, Acc, Last[0]);
  tile::ReleaseOp::create(W.B, W.Loc, Pipe, Last[1], S.multicast());
  return Done;
}

Value HopperGemm::storeForSplitK(Value Group, Value Acc, int64_t Rows,
                                 int64_t Columns) {
  auto Kept = tile::SharedType::get(W.B.getContext(), {Rows, Columns},
                                    P.accumulatorType(), 0);
  // The other groups have read their last stages, too.
  tile::SyncOp::create(W.B, W.Loc, tile::Scope::Role);
  Value All = tile::ReuseOp::create(W.B, W.Loc, Kept, Pipe);
  Value Mine = rowsOf(All, W.mul(Group, W.index(64)));
  tile::ClusterStoreOp::create(W.B, W.Loc, Acc, Mine);
  tile::ClusterSyncOp::create(W.B, W.Loc);
  return Mine;
}

/// What the function sees beside the part of `From` that begins at `First`:
/// the second GEMM's accumulators, or RoPE's other halves of the part's; null
/// where there is neither.
Value HopperGemm::pairedPart(Value From, int64_t First, Type Part) {
  if (P.Second)
    return tile::ExtractColumnsOp::create(W.B, W.Loc, Part, From,
                                          resultColumns() + First);
  if (P.RotateHalf)
    return tile::ExtractColumnsOp::create(W.B, W.Loc, Part, From, First,
                                          P.RotateHalf);
  return {};
}

/// Whether parts of a tile are whole heads, or heads whole parts: then what is
/// read for one part is what others read.
bool HopperGemm::sharesAngles() const {
  int64_t Head = 2 * P.RotateHalf, Part = S.partColumns();
  return Head && (Part % Head == 0 || Head % Part == 0);
}

void HopperGemm::epilogueTile(const TileCoord &Where, Value Group, Value Acc,
                              Values &ReadsAt) {
  auto PartTy = tile::FragmentType::get(W.B.getContext(),
                                        {S.consumerRows(), S.partColumns()},
                                        P.accumulatorType());
  Value RowInTile = S.PingPong ? W.index(0) : W.mul(Group, W.index(64));
  Value Row = W.add(Where.Row, RowInTile);
  Value Kept, First = W.index(0); // of the columns that are this block's
  if (S.SplitK > 1) {
    Kept = storeForSplitK(Group, Acc, S.TileM, S.TileN);
    First = W.mul(Rank, W.index(S.storedColumns()));
  }
  if (Vectors)
    ReadsAt.front() = Vectors->wait(ReadsAt.front());
  struct Part {
    Value InTile, Column, Acc, Paired;
  };
  SmallVector<Part> Parts;
  auto Finish = [&](const Part &One) {
    ColumnVectors::Fragments Known;
    if (Vectors)
      Known = Vectors->fragments(One.InTile, PartTy.getShape());
    if (Residual) {
      auto Ty = tile::FragmentType::get(W.B.getContext(), PartTy.getShape(),
                                        P.Residual->M.storedElement());
      Known.emplace_back(P.Residual->Tensor,
                         Residual->fragment(RowInTile, Ty, ReadsAt.back()));
      ReadsAt.back() = Residual->next(ReadsAt.back());
    }
    return mapElements(Where, Row, One.Column, One.Acc, One.Paired, Known);
  };
  // In turn, nobody waits for what is read.
  bool ReadsFirst =
      (P.ReadsAtResult && !Residual && !S.PingPong) || sharesAngles();
  for (int64_t C = 0; C < resultColumns() / S.SplitK; C += S.partColumns()) {
    Value InTile = W.add(First, W.index(C));
    Value Own =
        Kept
            ? Value(tile::ClusterReduceOp::create(W.B, W.Loc, PartTy, Kept,
                                                  InTile, S.SplitK))
            : Value(tile::ExtractColumnsOp::create(W.B, W.Loc, PartTy, Acc, C));
    Parts.push_back({InTile, W.add(Where.Column, InTile), Own,
                     pairedPart(Kept ? Own : Acc, Kept ? 0 : C, PartTy)});
    if (ReadsFirst)
      continue;
    Value Out = Finish(Parts.back());
    if (Vectors && C + S.partColumns() == resultColumns() / S.SplitK)
      Vectors->release();
    storePart(Where, Group, Row, Parts.back().Column, Out, C / S.partColumns());
  }
  if (!ReadsFirst)
    return;
  // All reads of memory begin before the first store waits for anything. Parts
  // at the same place of their heads come one after another: they read the same
  // angles, once.
  size_t PartsOfHead = std::max<int64_t>(2 * P.RotateHalf / S.partColumns(), 1);
  for (size_t InHead = 0; InHead < PartsOfHead; ++InHead)
    for (size_t I = InHead; I < Parts.size(); I += PartsOfHead)
      Parts[I].Acc = Finish(Parts[I]);
  if (Vectors)
    Vectors->release();
  for (auto [Number, One] : llvm::enumerate(Parts))
    storePart(Where, Group, Row, One.Column, One.Acc, Number);
}

/// Elements that all of D share are read once, and not while a tile's sums wait
/// for them: the emitter has those that it is asked for again.
void HopperGemm::loadScalars() {
  for (Value Tensor : P.Scalars) {
    int64_t Rank = cast<ShapedType>(Tensor.getType()).getRank();
    (void)W.Emitter.element(W.B, Tensor, Values(Rank, W.index(0)));
  }
}

void HopperGemm::consume(Value Group) {
  loadScalars();
  // Of one tile LLVM would take the loop apart, and compute places of the
  // epilogue between the last product and the wait (C7514).
  if (S.SplitK == 1 && tileCount().asConstant() == 1)
    Tiles = W.renewed(Tiles);
  forEachTile(firstPlaces(), [&](Value Tile, ValueRange In) -> Values {
    Value At = In[0];
    Values ReadsAt(In.drop_front());
    Value Count = countOfTile(Tile);
    if (addsUpStages())
      beginTile(placeOf(Tile), Group);
    Value Acc = mainloop(Group, Count, At);
    // Behind the products: between the last of them and the wait, ptxas takes
    // any other instruction for one that might read the accumulators (C7514),
    // and serialises all products. What the count of steps has computed of the
    // place LLVM would share, and compute in between.
    Value There = Count == KCount ? Tile : W.renewed(Tile);
    epilogueTile(placeOf(There), Group, Acc, ReadsAt);
    ReadsAt.insert(ReadsAt.begin(), At);
    return ReadsAt;
  });
  endRole();
}

/// Each warpgroup has every second tile of the block, and so every second run
/// of stages. In the turn that it has, it begins its tile's products; behind
/// them the other's follow, while it finishes. Who has the turn knows that all
/// stages in front of its own have been filled: parities tell a round from the
/// one before, but not from the one before that.
void HopperGemm::consumeInTurn(Value Group) {
  int64_t Turns = S.consumers();
  Value Steps = W.ceilDiv(KCount, S.TileK);
  auto Skip = [&](Value At, Value Count) -> Value {
    return tile::SkipOp::create(W.B, W.Loc, At.getType(), Pipe, At, Count);
  };
  auto IsMine = [&](Value Turn) -> Value {
    return arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq,
                                 toI32(Group), Turn);
  };
  loadScalars();
  W.when(IsMine(i32(Turns - 1)), [&] { tile::PassTurnOp::create(W.B, W.Loc); });
  Values Begin = {Skip(cursor(), W.mul(Group, Steps))};
  if (Vectors)
    Begin.push_back(Vectors->skip(cursor(), Group));
  if (Residual)
    Begin.push_back(Residual->skip(cursor(), Group));
  forEachTile(
      Begin,
      [&](Value Tile, ValueRange In) -> Values {
        Value At = In[0];
        Values ReadsAt(In.drop_front());
        tile::WaitTurnOp::create(W.B, W.Loc);
        Value Acc = mainloop(Group, KCount, At);
        epilogueTile(placeOf(Tile), Group, Acc, ReadsAt);
        Values Next = {Skip(At, W.mul(Steps, W.index(Turns - 1)))};
        if (Vectors)
          Next.push_back(Vectors->skip(ReadsAt.front(), W.index(Turns - 1)));
        if (Residual)
          Next.push_back(Residual->skip(ReadsAt.back(), W.index(Turns - 1)));
        return Next;
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

void HopperGemm::endRole() {
  // Shared memory lives until the stores have read it, and until the cluster's
  // other blocks have read it or told its barriers.
  if (S.blocks() > 1)
    tile::ClusterSyncOp::create(W.B, W.Loc);
  elect(tile::Scope::Warpgroup,
        [&] { tile::TmaStoreWaitOp::create(W.B, W.Loc, 0); });
}

LogicalResult HopperGemm::emit(GpuLaunch &Launch, int64_t SharedBytes) {
  W.B.getContext()->loadDialect<tile::TileDialect>();
  Acc = tile::FragmentType::get(W.B.getContext(), {S.consumerRows(), S.TileN},
                                P.accumulatorType());
  // In turn, a stage is one warpgroup's.
  stageReads((S.PingPong ? 1 : S.consumers()) * 4, SharedBytes);
  declareMemory(S.consumers(), S.consumerRows(),
                /*Consumers=*/(S.PingPong ? 1 : S.consumers()) * 4 *
                    S.multicast());
  tile::BarrierInitOp::create(W.B, W.Loc);
  setUpCluster();
  // Registers by warpgroups: they must fit 65,536 for all threads.
  struct Registers {
    int64_t Producer, Consumer;
  };
  constexpr Registers ByConsumers[] = {{40, 240}, {40, 232}, {32, 160}};
  // In turn, a thread has up to 192 accumulators.
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
