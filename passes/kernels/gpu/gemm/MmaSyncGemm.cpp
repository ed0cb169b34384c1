//===- MmaSyncGemm.cpp - GEMMs on mma.sync --------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/gemm/MmaSyncGemm.h"
#include "passes/kernels/gpu/gemm/GemmTileWalk.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

std::optional<schedule::Refusal>
refusalOfMmaSyncTypes(const GemmMatch &P, const target::Target &T) {
  auto No = [](std::string Why) {
    return schedule::Refusal{"", RefusalKind::ElementType, std::move(Why)};
  };
  if (P.isExactF32() && !schedule::paysToSplit(T))
    return No(P.multipliedTypes() +
              ": three products of tf32 for each are no faster here than fp32 "
              "arithmetic");
  if (!P.isExactF32() && !P.hasTensorTypes())
    return No(P.multipliedTypes());
  if (P.isFp8() && !(T.Can.MmaSync & target::MmaFp8))
    return No("mma.sync multiplies FP8 on sm_89, sm_90a and later chips, whose "
              "own code says so");
  if (!P.hasStoredType())
    return No("the result is neither of f16, bf16, f32, i32 nor 8 bits");
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// Stages of one operand below each other: `Extent` of its rows or columns, by
/// `TileK` of the sum.
tile::SharedType MmaSyncGemm::stageType(const Source &From, int64_t Extent,
                                        int64_t Stages) {
  int64_t Rows = From.AlongK ? Extent : S.TileK,
          Columns = From.AlongK ? S.TileK : Extent;
  // A warpgroup's part is of whole lines.
  int64_t OfGroup = &From == &A ? S.WarpgroupM : groupColumns();
  int64_t Line = From.AlongK ? Columns : OfGroup;
  int64_t Row = Line * From.Element.getIntOrFloatBitWidth() / 8;
  return tile::SharedType::get(W.B.getContext(), {Rows * Stages, Columns},
                               From.Element, std::min(Row, SharedLineBytes));
}

Value MmaSyncGemm::stageOf(Value Ring, const Source &From, int64_t Extent,
                           Value Stage) {
  auto Whole = cast<tile::SharedType>(Ring.getType());
  int64_t Rows = stageType(From, Extent, 1).getRows();
  auto Part = tile::SharedType::get(
      W.B.getContext(), {Rows, Whole.getColumns()}, Whole.getElement(),
      Whole.getSwizzle(), Whole.getPitch());
  return tile::SubviewRowsOp::create(W.B, W.Loc, Part, Ring,
                                     W.mul(Stage, W.index(Rows)));
}

/// Some rows of A or columns of B in a stage.
Value MmaSyncGemm::partOfStage(Value Tile, const Source &From, Value First,
                               int64_t Extent) {
  auto Whole = cast<tile::SharedType>(Tile.getType());
  auto Part = tile::SharedType::get(W.B.getContext(),
                                    {From.AlongK ? Extent : Whole.getRows(),
                                     From.AlongK ? Whole.getColumns() : Extent},
                                    Whole.getElement(), Whole.getSwizzle(),
                                    Whole.getPitch());
  if (From.AlongK)
    return tile::SubviewRowsOp::create(W.B, W.Loc, Part, Tile, First);
  return tile::SubviewColumnsOp::create(W.B, W.Loc, Part, Tile, First);
}

/// One tile for each block.
void MmaSyncGemm::placeBlock() {
  RowCount = W.size(P.C.M.Sizes);
  ColumnCount = countColumns();
  Value RowTiles = toI32(W.ceilDiv(RowCount, S.TileM)),
        ColumnTiles = toI32(W.ceilDiv(ColumnCount, resultColumns()));
  Value Tile = toI32(W.block());
  if (P.hasBatch()) {
    Value PerBatch =
        W.B.createOrFold<arith::MulIOp>(W.Loc, RowTiles, ColumnTiles);
    Batch = toIndex(W.B.createOrFold<arith::DivUIOp>(W.Loc, Tile, PerBatch));
    Tile = W.B.createOrFold<arith::RemUIOp>(W.Loc, Tile, PerBatch);
  }
  TileIndex Place = tileInOrder(W, Tile, RowTiles, ColumnTiles, S.GroupM);
  FirstRow = W.mul(toIndex(Place.Row), W.index(S.TileM));
  FirstColumn = W.mul(toIndex(Place.Column), W.index(resultColumns()));
  // The warpgroup's number; ptxas keeps it in uniform registers.
  Group = W.B.createOrFold<arith::DivUIOp>(W.Loc, W.thread(),
                                           W.index(tile::WarpgroupThreads));
}

void MmaSyncGemm::gather(const Source &From, Value Stage,
                         function_ref<Piece(Value, Value)> PieceAt) {
  auto Gather = tile::CpAsyncOp::create(W.B, W.Loc, From.Memory, Stage,
                                        uint32_t(From.PieceBytes),
                                        From.RowStride, From.Cached);
  OpBuilder::InsertionGuard Guard(W.B);
  Type Index = W.B.getIndexType();
  Block *Body =
      W.B.createBlock(&Gather.getBody(), {}, {Index, Index}, {W.Loc, W.Loc});
  Piece One = PieceAt(Body->getArgument(0), Body->getArgument(1));
  if (Exists) {
    Value All = W.index(elementsOf(From));
    One.Count = arith::SelectOp::create(
        W.B, W.Loc, Exists, One.Count ? One.Count : All, W.index(0));
  }
  tile::YieldAddressOp::create(W.B, W.Loc, One.At, One.Count);
}

/// Begins the copies of the step along K that begins at `Step`; zeros where
/// `IsThere` is false.
void MmaSyncGemm::fill(Value Stage, Value Step, Value IsThere) {
  Exists = IsThere;
  gather(A, stageOf(RingA, A, S.TileM, Stage), [&](Value Row, Value Column) {
    return pieceOfA(W.add(FirstRow, A.AlongK ? Row : Column),
                    W.add(Step, A.AlongK ? Column : Row));
  });
  fillB(Stage, Step);
  fillMore(Stage, Step);
}

/// Of two GEMMs, what a warpgroup multiplies is columns of the first and behind
/// them those of the second at the same place.
void MmaSyncGemm::fillB(Value Stage, Value Step) {
  Value Tile = stageOf(RingB, B, S.TileN, Stage);
  auto Gather = [&](const Source &From, Value Into, Value First, auto PieceAt) {
    gather(From, Into, [&](Value Row, Value Column) {
      return PieceAt(W.add(First, From.AlongK ? Row : Column),
                     W.add(Step, From.AlongK ? Column : Row));
    });
  };
  auto OfB = [&](Value Column, Value K) { return pieceOfB(Column, K); };
  auto OfSecond = [&](Value Column, Value K) {
    return pieceOfSecondB(Column, K);
  };
  if (!P.Second)
    return Gather(B, Tile, FirstColumn, OfB);
  int64_t Share = groupColumns();
  for (int64_t Number = 0; Number < S.TileN / S.WarpgroupN; ++Number) {
    Value First = W.add(FirstColumn, W.index(Number * Share));
    auto Part = [&](int64_t Of) {
      return partOfStage(Tile, B, W.index(Number * S.WarpgroupN + Of), Share);
    };
    Gather(B, Part(0), First, OfB);
    Gather(SecondB, Part(Share), First, OfSecond);
  }
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// What this warpgroup multiplies of a stage.
MmaSyncGemm::Factors MmaSyncGemm::factorsOf(Value Stage) {
  auto Mine = [&](Value Ring, const Source &From, int64_t Extent, Value Number,
                  int64_t OfGroup) -> Value {
    Value Tile = stageOf(Ring, From, Extent, Stage);
    if (OfGroup == Extent)
      return Tile;
    return partOfStage(Tile, From, W.mul(Number, W.index(OfGroup)), OfGroup);
  };
  Value Down = W.index(S.groupsDown());
  Value RowGroup = W.B.createOrFold<arith::RemUIOp>(W.Loc, Group, Down),
        ColumnGroup = W.B.createOrFold<arith::DivUIOp>(W.Loc, Group, Down);
  return {Mine(RingA, A, S.TileM, RowGroup, S.WarpgroupM),
          Mine(RingB, B, S.TileN, ColumnGroup, S.WarpgroupN),
          W.mul(RowGroup, W.index(S.WarpgroupM)),
          W.mul(ColumnGroup, W.index(S.WarpgroupN))};
}

Value MmaSyncGemm::multiplyTiles(Value, const Factors &Of, Value Acc,
                                 tile::Tf32 As) {
  return tile::MmaSyncOp::create(W.B, W.Loc, Acc.getType(), Of.Left, Of.Right,
                                 Acc, !A.AlongK, B.AlongK, As,
                                 /*promoted=*/P.isFp8() && T.sumsFp8Shortly());
}

/// A step of a stage, which `tile.mma_factors` multiplies.
Value MmaSyncGemm::loadFactors(Value Stage, int64_t Step, tile::Tf32 As) {
  Factors Of = factorsOf(Stage);
  auto Type = tile::FactorsType::get(
      W.B.getContext(), {S.WarpgroupM, S.WarpgroupN}, A.Element, B.Element);
  return tile::LoadFactorsOp::create(W.B, W.Loc, Type, Of.Left, Of.Right,
                                     !A.AlongK, B.AlongK, uint32_t(Step), As);
}

bool MmaSyncGemm::loadsAhead() const {
  // Copies through registers have a branch for each element of a stage that may
  // not exist.
  // With two stages copies have to begin as early as they can: after the
  // barrier, which then is the first of a step.
  constexpr int64_t FewestStages = 3;
  bool HasCopies = S.Stages >= FewestStages &&
                   std::min(A.PieceBytes, B.PieceBytes) >= LeastCopyBytes;
  // With two B, or angles, the factors of two steps and 128 sums spill.
  constexpr int64_t MostBesideMore = 64;
  bool HasRoom =
      !(P.Second || P.RotateHalf) || S.accumulators() <= MostBesideMore;
  // What ldmatrix does not transpose takes an address for each word.
  bool ByWords = A.Element.isF32() && !(A.AlongK && B.AlongK);
  return HasCopies && HasRoom && !ByWords && !P.isExactF32() &&
         !(P.isFp8() && T.sumsFp8Shortly());
}

/// Waits until the oldest stage is there, and for the other threads.
void MmaSyncGemm::awaitStage() {
  tile::CpAsyncWaitOp::create(W.B, W.Loc, S.Stages - 2);
  tile::SyncOp::create(W.B, W.Loc, tile::Scope::Block);
}

Value MmaSyncGemm::stageAfter(Value Stage) {
  Value Next = W.add(Stage, W.index(1));
  Value IsLast = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq,
                                       Next, W.index(S.Stages));
  return arith::SelectOp::create(W.B, W.Loc, IsLast, W.index(0), Next);
}

/// A stage is filled again, `Stages` - 1 steps ahead, when all have multiplied
/// what was in it: in the step after.
Value MmaSyncGemm::mainloop(tile::Tf32 As) {
  auto Fragment = tile::FragmentType::get(
      W.B.getContext(), {S.WarpgroupM, S.WarpgroupN}, P.accumulatorType());
  Value Zero = arith::ConstantOp::create(W.B, W.Loc,
                                         W.B.getZeroAttr(P.accumulatorType()));
  Value Acc = tile::SplatOp::create(W.B, W.Loc, Fragment, Zero);
  if (loadsAhead())
    return mainloopAhead(Acc, As);
  auto FillWhere = [&](Value Stage, Value Step) {
    W.when(W.less(Step, KCount), [&] { fill(Stage, Step); });
    tile::CpAsyncCommitOp::create(W.B, W.Loc);
  };
  for (int64_t Stage = 0; Stage < S.Stages - 1; ++Stage)
    FillWhere(W.index(Stage), W.index(Stage * S.TileK));
  Value Ahead = W.index((S.Stages - 1) * S.TileK);
  return W.loop(W.index(0), KCount, W.index(S.TileK),
                {Acc, W.index(0), W.index(S.Stages - 1)},
                [&](Value Step, ValueRange In) -> Values {
                  awaitStage();
                  FillWhere(In[2], W.add(Step, Ahead));
                  Factors Of = factorsOf(In[1]);
                  Value More = multiplyTiles(In[1], Of, In[0], As);
                  return {More, stageAfter(In[1]), stageAfter(In[2])};
                })[0];
}

/// The same, with the factors of 32 bytes along K loaded while those before are
/// multiplied. The barrier comes before a stage's last products, whose
/// factors are in registers already: tensor cores have work while warps wait
/// for each other and for the next stage's first factors. Copies are no branch
/// of their own, so that ptxas interleaves them with products; beyond K they
/// are zeros.
Value MmaSyncGemm::mainloopAhead(Value Acc, tile::Tf32 As) {
  auto Fill = [&](Value Stage, Value Step) {
    fill(Stage, Step, W.less(Step, KCount));
    tile::CpAsyncCommitOp::create(W.B, W.Loc);
  };
  for (int64_t Stage = 0; Stage < S.Stages - 1; ++Stage)
    Fill(W.index(Stage), W.index(Stage * S.TileK));
  Value Ahead = W.index((S.Stages - 1) * S.TileK);
  constexpr int64_t StepBits = 256;
  int64_t Parts =
      S.TileK * int64_t(A.Element.getIntOrFloatBitWidth()) / StepBits;
  awaitStage();
  Value First = loadFactors(W.index(0), 0, As);
  // Each block has rows. ptxas does not know, nor how often the loop runs: of a
  // short K it would unroll all of it, and spill.
  Value End = arith::SelectOp::create(W.B, W.Loc, W.less(FirstRow, RowCount),
                                      KCount, W.index(0));
  return W.loop(
      W.index(0), End, W.index(S.TileK),
      {Acc, First, W.index(0), W.index(S.Stages - 1)},
      [&](Value Step, ValueRange In) -> Values {
        Value Acc = In[0], Now = In[1], Stage = In[2], Next = stageAfter(Stage);
        for (int64_t Part = 0; Part < Parts; ++Part) {
          bool IsLast = Part + 1 == Parts;
          if (IsLast)
            awaitStage();
          Value Then =
              loadFactors(IsLast ? Next : Stage, IsLast ? 0 : Part + 1, As);
          if (Part == 0)
            Fill(In[3], W.add(Step, Ahead));
          Acc = tile::MmaFactorsOp::create(W.B, W.Loc, Acc.getType(), Now, Acc);
          Now = Then;
        }
        return {Acc, Now, Next, stageAfter(In[3])};
      })[0];
}

/// Sums of split factors are NaN wherever an infinity takes part: it has no
/// rest, and times the rest of the other factor it may be NaN. There the sums
/// of truncated factors are what fp32 arithmetic gives, infinite or NaN.
/// Factors from 3.4011e38 on, whose high part is infinite, are finite in them.
/// The loop that makes them runs where a block has found such an element.
Value MmaSyncGemm::accumulators() {
  if (!P.isExactF32())
    return mainloop(tile::Tf32::Rounded);
  Value Acc = mainloop(tile::Tf32::Split);
  tile::CpAsyncWaitOp::create(W.B, W.Loc, 0);
  tile::SyncOp::create(W.B, W.Loc, tile::Scope::Block);
  Value Any = tile::AnyNanOp::create(W.B, W.Loc, W.B.getI1Type(), Acc);
  auto Again = scf::IfOp::create(W.B, W.Loc, TypeRange(Acc.getType()), Any,
                                 /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard Guard(W.B);
  W.B.setInsertionPointToEnd(Again.elseBlock());
  scf::YieldOp::create(W.B, W.Loc, Acc);
  W.B.setInsertionPointToEnd(Again.thenBlock());
  Value Truncated = mainloop(tile::Tf32::Truncated);
  auto Apply = tile::ApplyOp::create(W.B, W.Loc, Acc.getType(),
                                     ValueRange{Acc, Truncated});
  scf::YieldOp::create(W.B, W.Loc, Apply.getResult());
  Type F32 = W.B.getF32Type();
  Block *Body = W.B.createBlock(&Apply.getBody(), {},
                                TypeRange{F32, F32, W.B.getI32Type()},
                                SmallVector<Location>(3, W.Loc));
  Value Sum = Body->getArgument(0);
  Value IsNan =
      arith::CmpFOp::create(W.B, W.Loc, arith::CmpFPredicate::UNO, Sum, Sum);
  tile::YieldOp::create(
      W.B, W.Loc,
      arith::SelectOp::create(W.B, W.Loc, IsNan, Body->getArgument(1), Sum));
  return Again.getResult(0);
}

LogicalResult MmaSyncGemm::emit(GpuLaunch &Launch) {
  W.B.getContext()->loadDialect<tile::TileDialect>();
  placeBlock();
  KCount = countK();
  prepare();
  RingA = tile::AllocOp::create(W.B, W.Loc, stageType(A, S.TileM, S.Stages));
  RingB = tile::AllocOp::create(W.B, W.Loc, stageType(B, S.TileN, S.Stages));
  tile::BarrierInitOp::create(W.B, W.Loc);
  Value Acc = accumulators();
  tile::CpAsyncWaitOp::create(W.B, W.Loc, 0);
  storeTile(Acc, RingA);
  Launch.Grid[0] = (P.M.ceilDiv(Expr(S.TileM)) *
                    P.N.ceilDiv(Expr(resultColumns())) * P.Batch)
                       .str();
  Launch.Block = {int32_t(S.threads()), 1, 1};
  // Left to its own judgement ptxas 13.0 keeps to 80 registers for sm_80, and
  // spills.
  Launch.ResidentBlocks = 1;
  return Result;
}

} // namespace kpc::kernels
