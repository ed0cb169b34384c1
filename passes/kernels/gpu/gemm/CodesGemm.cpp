//===- CodesGemm.cpp - Many rows and weights of codes, by wgmma -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/gemm/CodesGemm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kpc::kernels {

/// Words of 4 bytes that a lane of a tile of codes has.
static constexpr int64_t WordsOfLane = 4;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value CodesGemm::fma(Value A, Value B, Value C) {
  return LLVM::FMAOp::create(W.B, W.Loc, A, B, C);
}

Value CodesGemm::pair(double V) {
  return arith::ConstantOp::create(
      W.B, W.Loc,
      DenseElementsAttr::get(pairType(), W.B.getFloatAttr(P.A.Element, V)));
}

void CodesGemm::placeThread(Value Group) {
  auto Div = [&](Value A, int64_t B) {
    return W.B.createOrFold<arith::DivUIOp>(W.Loc, A, W.index(B));
  };
  auto Rem = [&](Value A, int64_t B) {
    return W.B.createOrFold<arith::RemUIOp>(W.Loc, A, W.index(B));
  };
  Value Thread = W.thread(), Lane = Rem(Thread, 32),
        Warp = Rem(Div(Thread, 32), 4), G = Div(Lane, 4), T = Rem(Lane, 4);
  Slice = firstSlice(W.add(W.mul(Group, W.index(4)), Warp));
  FirstWord = W.mul(G, W.index(4 * WordsOfLane));
  ColumnOfThread = W.add(W.mul(Slice, W.index(8)), G);
  if (P.Codes->Bits == 4) {
    FirstBit = toI32(W.mul(T, W.index(4)));
    return;
  }
  // A word has bytes 0, 2, 1, 3: two pairs. Lane t has that of bytes t % 2 and
  // t % 2 + 2 of the first or of the second word, as prmt numbers them.
  Value First = W.add(W.mul(Div(T, 2), W.index(4)), Rem(T, 2));
  Bytes = toI32(W.add(W.mul(First, W.index(0x101)), W.index(0x200)));
}

/// The first slice of 8 columns that a warp has, by its number among all that
/// multiply. The other one is `slicesToOther` further: the next one, or, of
/// RoPE, that of the other half of the head.
Value CodesGemm::firstSlice(Value WarpOfAll) {
  int64_t Together = slicesToOther();
  Value Run = W.B.createOrFold<arith::DivUIOp>(W.Loc, WarpOfAll,
                                               W.index(Together)),
        InRun = W.B.createOrFold<arith::RemUIOp>(W.Loc, WarpOfAll,
                                                 W.index(Together));
  return W.add(W.mul(Run, W.index(2 * Together)), InRun);
}

Value CodesGemm::load(Type Ty, Value Tile, Value Row, int64_t RowOffset,
                      Value Column, int64_t ColumnOffset) {
  return tile::LoadVectorOp::create(W.B, W.Loc, Ty, Tile, Row, RowOffset,
                                    Column, ColumnOffset,
                                    /*block=*/IntegerAttr());
}

/// The words of both halves of a step, each in the order of the left operand:
/// of each 16 of K, columns g and g + 8 of the first 8, then of the others.
std::array<CodesGemm::Values, 2> CodesGemm::wordsOf(Value Tile) {
  // Four words, of 32 of K each: those of 4 bits are one access, those of bytes
  // two, with two words each of which one pair is taken.
  auto Ty = VectorType::get({WordsOfLane}, W.B.getI32Type());
  auto Loaded = [&](int64_t Chunk, int64_t Column) {
    Values Words;
    for (int64_t Of = 0; Of < P.Codes->Bits / 4; ++Of) {
      Value All = load(Ty, Tile, Slice, Column * slicesToOther(), FirstWord,
                       Chunk * WordsOfLane + Of * (TileBytes / 4));
      Values Four;
      for (int64_t I = 0; I < WordsOfLane; ++I)
        Four.push_back(vector::ExtractOp::create(W.B, W.Loc, All, I));
      if (P.Codes->Bits == 4)
        return Four;
      for (size_t I = 0; I < 4; I += 2)
        Words.push_back(Numbers.pairOfBytes(Four[I], Four[I + 1], Bytes));
    }
    return Words;
  };
  Values Each[4][2];
  for (int64_t Chunk = 0; Chunk < 4; ++Chunk)
    for (int64_t Column = 0; Column < 2; ++Column)
      Each[Chunk][Column] = Loaded(Chunk, Column);
  std::array<Values, 2> Halves;
  for (size_t Group = 0; Group < 4; ++Group) // 32 of K
    for (int64_t Chunk = 0; Chunk < 4; ++Chunk)
      for (int64_t Column = 0; Column < 2; ++Column)
        Halves[Group / 2].push_back(Each[Chunk][Column][Group]);
  return Halves;
}

/// Of each block of a half both columns' numbers, as pairs.
CodesGemm::Values CodesGemm::ofColumns(Value Tile, int64_t InHalf,
                                       function_ref<Value(Value)> Map) {
  auto Element = cast<tile::SharedType>(Tile.getType()).getElement();
  Values Pairs;
  int64_t Blocks = blocksOf(HalfK),
          First = P.Codes->Block < StepK ? InHalf * Blocks : 0;
  for (int64_t Block = First; Block < First + Blocks; ++Block)
    for (int64_t Column = 0; Column < 2; ++Column) {
      Value Loaded = load(VectorType::get({1}, Element), Tile, W.index(0),
                          Block, ColumnOfThread, Column * 8 * slicesToOther());
      Value One = vector::ExtractOp::create(W.B, W.Loc, Loaded, 0);
      Pairs.push_back(
          Map(vector::BroadcastOp::create(W.B, W.Loc, pairType(), One)));
    }
  return Pairs;
}

/// Takes one weight's codes of a step to registers; after those of the last
/// weight the stage is free again.
std::array<CodesGemm::Half, 2> CodesGemm::takeCodes(Value Stage,
                                                    unsigned Matrix) {
  auto Tiles = tile::TilesOp::create(W.B, W.Loc, CodeTiles, CodePipe, Stage);
  size_t Next = Matrix * CodeTiles.size() / matrices();
  Value Codes = Tiles.getResult(Next++), Scales, Zeros;
  if (hasBlocks(P))
    Scales = Tiles.getResult(Next++);
  if (codesOf(Matrix).Zeros)
    Zeros = Tiles.getResult(Next);
  std::array<Values, 2> Words = wordsOf(Codes);
  std::array<Half, 2> Halves;
  for (size_t InHalf = 0; InHalf < 2; ++InHalf) {
    Half &Own = Halves[InHalf];
    Own.Words = Words[InHalf];
    if (Scales)
      Own.Scales = ofColumns(Scales, InHalf, [](Value V) { return V; });
    if (Zeros)
      Own.Zeros = ofColumns(Zeros, InHalf, [&](Value V) {
        return fma(V, pair(-1), pair(-Numbers.shiftOfPair()));
      });
  }
  if (Matrix + 1 == matrices()) {
    NVVM::SyncWarpOp::create(W.B, W.Loc, i32(-1)); // all lanes have loaded
    tile::ReleaseOp::create(W.B, W.Loc, CodePipe, Stage);
  }
  return Halves;
}

/// The left operand of one half: (code - zero) · scale, rounded once.
Value CodesGemm::packed(const Half &From, unsigned Matrix) {
  MLIRContext *Context = W.B.getContext();
  double Off = -Numbers.shiftOfPair() - double(codesOf(Matrix).Offset);
  Values Words;
  for (auto [I, Word] : llvm::enumerate(From.Words)) {
    Value Pair = LLVM::BitcastOp::create(W.B, W.Loc, pairType(),
                                         Numbers.pairAt(Word, FirstBit));
    // 8 words have 32 of K.
    size_t Block = blocksOf(HalfK) > 1 ? I / 8 : 0, Of = Block * 2 + I % 2;
    if (!From.Zeros.empty())
      Pair = fma(Pair, pair(1), From.Zeros[Of]);
    else if (Off != 0)
      Pair = fma(Pair, pair(1), pair(Off));
    if (!From.Scales.empty())
      Pair = fma(Pair, From.Scales[Of], pair(-0.0));
    Words.push_back(
        LLVM::BitcastOp::create(W.B, W.Loc, W.B.getI32Type(), Pair));
  }
  auto Ty = tile::PackedType::get(Context, {64, HalfK}, P.A.Element);
  return tile::PackWordsOp::create(W.B, W.Loc, Ty, Words);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

std::pair<Value, Value> CodesGemm::waitForRows(Value At) {
  auto Full = tile::StageType::get(W.B.getContext(), tile::StageState::Full);
  Value Stage = tile::WaitOp::create(W.B, W.Loc, Full, Pipe, At);
  Value Tile = tile::TilesOp::create(W.B, W.Loc, TypeRange{TileA}, Pipe, Stage)
                   .getResult(0);
  return {Stage, Tile};
}

/// Begins a product, and waits for the one before it.
Value CodesGemm::multiply(Value Left, Value Right, Value Add) {
  auto Pending = tile::PendingType::get(W.B.getContext(), Acc);
  Value Sum = tile::MmaOp::create(W.B, W.Loc, Pending, Left, Right, Add, false,
                                  /*b_transposed=*/true);
  return tile::WgmmaWaitOp::create(W.B, W.Loc, Pending, Sum, 1);
}

/// Waits for the codes of the step at a place, and makes the first weight's
/// left operand of its first half.
CodesGemm::State CodesGemm::beginStep(Value Rows, Value Codes) {
  auto Full = tile::StageType::get(W.B.getContext(), tile::StageState::Full);
  State Next;
  Next.Rows = Rows;
  Next.Stage = tile::WaitOp::create(W.B, W.Loc, Full, CodePipe, Codes);
  auto [First, Second] = takeCodes(Next.Stage, 0);
  Next.Left = packed(First, 0);
  Next.Second = Second;
  Next.Codes = next(CodePipe, Codes);
  if (matrices() == 1)
    Next.Stage = {};
  return Next;
}

CodesGemm::Values CodesGemm::listOf(const State &Of) {
  Values All = {Of.Rows, Of.Codes, Of.Left};
  if (Of.Stage)
    All.push_back(Of.Stage);
  for (const Values *Part :
       {&Of.Second.Words, &Of.Second.Scales, &Of.Second.Zeros})
    All.append(Part->begin(), Part->end());
  return All;
}

CodesGemm::State CodesGemm::stateIn(ValueRange All) {
  State Of{All[0], All[1], All[2], {}, {}};
  size_t At = 3, Pairs = size_t(blocksOf(HalfK)) * 2;
  if (matrices() > 1)
    Of.Stage = All[At++];
  auto Take = [&](size_t Count) {
    Values Part(All.slice(At, Count));
    At += Count;
    return Part;
  };
  Of.Second.Words = Take(WordsOfHalf);
  if (hasBlocks(P))
    Of.Second.Scales = Take(Pairs);
  if (P.Codes->Zeros)
    Of.Second.Zeros = Take(Pairs);
  return Of;
}

/// One step of K: both halves, each with all weights. While a product runs, the
/// codes of the next one become numbers. A stage of x is given back when the
/// first product after its own has begun.
CodesGemm::Progress CodesGemm::multiplyStep(const Progress &Before) {
  Progress After;
  After.Pending.resize(matrices());
  const State &Now = Before.Next;
  Value Left = Now.Left, Rows = Now.Rows, Held = Before.Held;
  SmallVector<Half> Second = {Now.Second};
  for (int64_t InHalf = 0; InHalf < 2; ++InHalf) {
    auto [Stage, Tile] = waitForRows(Rows);
    Rows = next(Pipe, Rows);
    ArrayRef<Value> Sums = InHalf ? After.Pending : Before.Pending;
    for (unsigned Matrix = 0; Matrix < matrices(); ++Matrix) {
      After.Pending[Matrix] =
          multiply(Left, Tile, Sums.empty() ? Value() : Sums[Matrix]);
      if (Matrix == 0 && Held)
        tile::ReleaseOp::create(W.B, W.Loc, Pipe, Held);
      bool IsLast = Matrix + 1 == matrices();
      if (InHalf == 0 && !IsLast) {
        auto [Own, Other] = takeCodes(Now.Stage, Matrix + 1);
        Left = packed(Own, Matrix + 1);
        Second.push_back(Other);
      } else if (InHalf == 0 || !IsLast) {
        unsigned Of = InHalf ? Matrix + 1 : 0;
        Left = packed(Second[Of], Of);
      }
    }
    Held = Stage;
  }
  After.Held = Held;
  After.Next = beginStep(Rows, Now.Codes);
  return After;
}

void CodesGemm::consumeCodes(Value Group) {
  loadScalars();
  placeThread(Group);
  if (S.SplitK == 1 && tileCount().asConstant() == 1)
    Tiles = W.renewed(Tiles);
  size_t Sums = matrices();
  auto Carried = [&](const Progress &Of) {
    Values All = Of.Pending;
    All.push_back(Of.Held);
    llvm::append_range(All, listOf(Of.Next));
    return All;
  };
  auto ProgressIn = [&](ValueRange All) -> Progress {
    return {Values(All.take_front(Sums)), All[Sums],
            stateIn(All.drop_front(Sums + 1))};
  };
  forEachTile(
      listOf(beginStep(cursor(), cursor())),
      [&](Value Tile, ValueRange In) -> Values {
        Values OfRows = factorsAt(placeOf(Tile).Row, Group);
        Values First = Carried(multiplyStep({{}, {}, stateIn(In)}));
        storeFactors(OfRows, Group);
        Progress Last =
            ProgressIn(W.loop(W.index(StepK), KCount, W.index(StepK), First,
                              [&](Value, ValueRange Now) {
                                return Carried(multiplyStep(ProgressIn(Now)));
                              }));
        Values Done;
        for (Value Pending : Last.Pending)
          Done.push_back(tile::AwaitOp::create(W.B, W.Loc, Acc, Pending));
        tile::ReleaseOp::create(W.B, W.Loc, Pipe, Last.Held);
        finish(placeOf(W.renewed(Tile)), Group, Done);
        return listOf(Last.Next);
      });
  endRole();
}

LogicalResult CodesGemm::emit(GpuLaunch &Launch) {
  W.B.getContext()->loadDialect<tile::TileDialect>();
  Acc = tile::FragmentType::get(W.B.getContext(), {64, S.TileM},
                                P.accumulatorType());
  declare();
  tile::BarrierInitOp::create(W.B, W.Loc);
  setUpCluster();
  struct Registers {
    int64_t Producer, Consumer;
  };
  // All together at most what the block begins with: of five warpgroups 96
  // each.
  constexpr Registers ByGroups[] = {{40, 240}, {40, 232}, {32, 160}, {32, 112}};
  Registers R = ByGroups[S.groups() - 1];
  role("producer", 0, 4, R.Producer, [&](Value) { produceAll(); });
  role("consumer", 4, 4 * (1 + S.groups()), R.Consumer,
       [&](Value Group) { consumeCodes(Group); });
  describeLaunch(Launch, S.threads());
  return Result;
}

} // namespace kpc::kernels
