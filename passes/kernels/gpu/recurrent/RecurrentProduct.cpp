//===- RecurrentProduct.cpp - The product of a recurrent step -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// sums[gate of a unit, row of the batch] = weights · state, by mma.sync. K is
/// walked in parts of 64 bytes, of which each of four neighbouring lanes has
/// 16: two steps of the instruction. The order of K in the instruction differs
/// from that in memory. It is the same for both factors, so that all accesses
/// are whole loads. Warps take parts in turn, and their accumulators are added
/// in a fixed order.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/recurrent/Recurrent.h"

#include "passes/kernels/gpu/MmaSync.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kpc::kernels {

using Values = SmallVector<Value>;

/// f32 as tensor cores take it: to the nearest tf32, unless it is split.
Value RecurrentKernel::rounded(Value V) {
  if (!Factor.isF32() || Shape.Split)
    return V;
  Type F32 = W.B.getF32Type(), I32 = W.B.getI32Type();
  if (V.getType() == I32)
    V = arith::BitcastOp::create(W.B, W.Loc, F32, V).getResult();
  Value Word = NVVM::InlinePtxOp::create(
                   W.B, W.Loc, TypeRange{I32}, ValueRange{V}, ValueRange(),
                   "cvt.rna.tf32.f32 {$w0}, {$r0};", Value())
                   .getResult(0);
  return arith::BitcastOp::create(W.B, W.Loc, F32, Word);
}

/// 16 bytes of a row of this block's weights as four words; zeros where there
/// is no such row or no such column.
Values RecurrentKernel::weightWords(Value Row, Value Part, Value Quarter) {
  Value Gate = quotient(Row, S.Units);
  Value Unit = W.add(FirstUnit, rest(Row, S.Units));
  Value IsThere =
      W.both(W.less(Gate, W.index(Shape.Gates)), W.less(Unit, Hidden));
  Value Column =
      W.mul(W.add(W.mul(Part, W.index(4)), Quarter), W.index(wordElements()));
  Value Zero = W.index(0);
  Value Line = linear({{W.index(Shape.Gates), Direction},
                       {W.index(Shape.Gates), Gate},
                       {Hidden, Unit}});
  Line = choose(IsThere, Line, Zero);
  auto Words = VectorType::get({4}, W.B.getI32Type());
  Values All;
  if (Shape.Hidden % wordElements() == 0) {
    Value Inside = W.both(IsThere, W.less(Column, Hidden));
    Value At = W.add(W.mul(Line, Hidden), choose(Inside, Column, Zero));
    for (Value Word : wordsOf(load(Words, elementAt(R, Factor, At), 16)))
      All.push_back(choose(Inside, Word, i32(0)));
  } else {
    Values Elements;
    Value None = arith::ConstantOp::create(W.B, W.Loc, Factor,
                                           W.B.getFloatAttr(Factor, 0));
    for (int64_t I = 0; I < wordElements(); ++I) {
      Value K = W.add(Column, W.index(I));
      Value Inside = W.both(IsThere, W.less(K, Hidden));
      Value At = W.add(W.mul(Line, Hidden), choose(Inside, K, Zero));
      Elements.push_back(
          choose(Inside, load(Factor, elementAt(R, Factor, At)), None));
    }
    auto Whole = VectorType::get({wordElements()}, Factor);
    Value V = vector::FromElementsOp::create(W.B, W.Loc, Whole, Elements);
    All = wordsOf(vector::BitCastOp::create(W.B, W.Loc, Words, V));
  }
  if (Factor.isF32() && !Shape.Split)
    for (Value &Word : All)
      Word =
          arith::BitcastOp::create(W.B, W.Loc, W.B.getI32Type(), rounded(Word));
  return All;
}

/// The kept parts, in the order of fragments: a lane's four words of a step lie
/// together.
void RecurrentKernel::keepWeights() {
  auto Four = VectorType::get({4}, W.B.getI32Type());
  W.loop(Thread, W.index(S.Kept * tiles() * 32), W.index(S.threads()), {},
         [&](Value I, ValueRange) {
           Value Of = rest(I, 32), Tile = rest(quotient(I, 32), tiles()),
                 Part = quotient(I, 32 * tiles());
           Value Row = W.add(W.mul(Tile, W.index(16)), quotient(Of, 4));
           Values Upper = weightWords(Row, Part, rest(Of, 4));
           Values Lower =
               weightWords(W.add(Row, W.index(8)), Part, rest(Of, 4));
           Value To = bytesAt(
               Weights,
               W.add(W.mul(quotient(I, 32), W.index(int64_t{2} * 32 * 16)),
                     W.mul(Of, W.index(16))));
           for (int64_t Step = 0; Step < 2; ++Step) {
             Values Words{Upper[2 * Step], Lower[2 * Step], Upper[2 * Step + 1],
                          Lower[2 * Step + 1]};
             store(vector::FromElementsOp::create(W.B, W.Loc, Four, Words),
                   bytesAt(To, W.index(Step * 32 * 16)), 16);
           }
           return SmallVector<Value>();
         });
}

/// C + A · B: 16 rows of weights, 8 rows of the batch.
Values RecurrentKernel::product(ArrayRef<Value> A, ArrayRef<Value> B,
                                ArrayRef<Value> C) {
  if (!Factor.isF32())
    return multiplyFragments(W, Factor, A, B, C);
  Type F32 = W.B.getF32Type();
  auto Four =
      LLVM::LLVMStructType::getLiteral(W.B.getContext(), {F32, F32, F32, F32});
  auto Mma = NVVM::MmaOp::create(
      W.B, W.Loc, Four, A, B, C, ArrayRef<int64_t>{16, 8, 8}, std::nullopt,
      std::nullopt,
      std::array<NVVM::MMATypes, 2>{NVVM::MMATypes::tf32, NVVM::MMATypes::tf32},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                     NVVM::MMALayout::col});
  Values Sums;
  for (int64_t I = 0; I < 4; ++I)
    Sums.push_back(LLVM::ExtractValueOp::create(W.B, W.Loc, Mma, I));
  return Sums;
}

/// One step of K for all tiles. Split factors are two numbers of tf32 each, of
/// whose products the least is left out.
void RecurrentKernel::multiplyPart(ArrayRef<Values> Left,
                                   ArrayRef<Values> Right,
                                   MutableArrayRef<Values> All) {
  Type F32 = W.B.getF32Type(), I32 = W.B.getI32Type();
  auto Split = [&](ArrayRef<Value> Words, Values &High, Values &Low) {
    for (Value Word : Words) {
      auto Cut = [&](Value V) {
        return NVVM::InlinePtxOp::create(
                   W.B, W.Loc, TypeRange{I32}, ValueRange{V}, ValueRange(),
                   "cvt.rna.tf32.f32 {$w0}, {$r0};", Value())
            .getResult(0);
      };
      Value V = arith::BitcastOp::create(W.B, W.Loc, F32, Word);
      High.push_back(Cut(V));
      Value Whole = arith::BitcastOp::create(W.B, W.Loc, F32, High.back());
      Low.push_back(Cut(compute<arith::SubFOp>(V, Whole)));
    }
  };
  SmallVector<std::pair<Values, Values>> B;
  for (const Values &One : Right) {
    B.emplace_back();
    if (Shape.Split)
      Split(One, B.back().first, B.back().second);
    else
      B.back().first = One;
  }
  for (auto [Tile, A] : llvm::enumerate(Left)) {
    Values High = A, Low;
    if (Shape.Split) {
      High.clear();
      Split(A, High, Low);
    }
    for (auto [Column, Of] : llvm::enumerate(B)) {
      Values &To = All[Tile * Right.size() + Column];
      if (Shape.Split) {
        To = product(Low, Of.first, To);
        To = product(High, Of.second, To);
      }
      To = product(High, Of.first, To);
    }
  }
}

/// Where this lane's words of the state begin, for each tile of rows from
/// `FirstRow` on.
Values RecurrentKernel::stateRows(Value FirstRow, Value Current) {
  Values Rows;
  for (int64_t Tile = 0; Tile < columnTiles(); ++Tile) {
    Value Row = W.add(W.add(FirstRow, W.index(8 * Tile)), Group);
    // Rows behind the last are that again; nobody reads their sums.
    Row = compute<arith::MinSIOp>(Row, sub(Batch, W.index(1)));
    Value Line = linear({{W.index(Shape.Directions), Current},
                         {W.index(Shape.Directions), Direction},
                         {Batch, Row}});
    Rows.push_back(
        bytesAt(Exchange,
                W.add(W.mul(Line, W.index(paddedHidden() * Shape.ElementBytes)),
                      W.mul(Quad, W.index(16)))));
  }
  return Rows;
}

/// A part of K of each row of the state; zeros where `IsThere` says that there
/// is no such part.
SmallVector<Values> RecurrentKernel::stateWords(ArrayRef<Value> Rows,
                                                Value Part, Value IsThere) {
  auto Four = VectorType::get({4}, W.B.getI32Type());
  SmallVector<Values> All;
  for (Value Row : Rows) {
    Value From =
        bytesAt(Row, W.mul(Part, W.index(schedule::RecurrentShape::PartBytes)));
    All.push_back(wordsOf(load(Four, From, 16)));
    if (IsThere)
      for (Value &Word : All.back())
        Word = choose(IsThere, Word, i32(0));
  }
  return All;
}

/// The fragments of a part of a tile's weights, for both steps of K: from
/// shared memory where they are kept there.
std::array<Values, 2> RecurrentKernel::weightFragments(int64_t Tile, Value Part,
                                                       bool IsKept) {
  std::array<Values, 2> Steps;
  if (IsKept) {
    auto Four = VectorType::get({4}, W.B.getI32Type());
    Value Place = W.add(W.mul(Part, W.index(tiles())), W.index(Tile));
    Value From =
        bytesAt(Weights, W.add(W.mul(Place, W.index(int64_t{2} * 32 * 16)),
                               W.mul(Lane, W.index(16))));
    for (int64_t Step = 0; Step < 2; ++Step)
      Steps[Step] =
          wordsOf(load(Four, bytesAt(From, W.index(Step * 32 * 16)), 16));
    return Steps;
  }
  Value Row = W.add(Group, W.index(16 * Tile));
  Values Upper = weightWords(Row, Part, Quad),
         Lower = weightWords(W.add(Row, W.index(8)), Part, Quad);
  for (int64_t Step = 0; Step < 2; ++Step)
    Steps[Step] = {Upper[2 * Step], Lower[2 * Step], Upper[2 * Step + 1],
                   Lower[2 * Step + 1]};
  return Steps;
}

/// This warp's sums into shared memory: of a tile, a lane has rows g and g + 8
/// of columns 2 t and 2 t + 1.
void RecurrentKernel::storeSums(ArrayRef<Values> All) {
  for (int64_t Tile = 0; Tile < tiles(); ++Tile)
    for (int64_t Column = 0; Column < columnTiles(); ++Column)
      for (int64_t I = 0; I < 4; ++I) {
        Value Row = W.add(Group, W.index(16 * Tile + 8 * (I / 2)));
        Value To = W.add(W.mul(Quad, W.index(2)), W.index(8 * Column + I % 2));
        Value At = linear({{W.index(S.rows(Shape)), Warp},
                           {W.index(S.rows(Shape)), Row},
                           {W.index(S.pitch()), To}});
        store(All[size_t(Tile * columnTiles() + Column)][I],
              elementAt(Sums, W.B.getF32Type(), At));
      }
}

/// This warp's parts of the sums for the rows from `FirstRow` on.
void RecurrentKernel::multiply(Value FirstRow, Value Current) {
  Value Zero = f32(0);
  SmallVector<Values> All(size_t(tiles() * columnTiles()), Values(4, Zero));
  Values Rows = stateRows(FirstRow, Current);
  for (int64_t First = 0; First < Shape.parts(); First += S.Warps) {
    Value Part = W.add(Warp, W.index(First)), IsThere;
    if (First + S.Warps > Shape.parts()) {
      IsThere = W.less(Part, W.index(Shape.parts()));
      Part = compute<arith::MinSIOp>(Part, W.index(Shape.parts() - 1));
    }
    bool IsKept = First + S.Warps <= S.Kept || S.Kept == Shape.parts();
    SmallVector<Values> Right = stateWords(Rows, Part, IsThere);
    SmallVector<std::array<Values, 2>> Left;
    for (int64_t Tile = 0; Tile < tiles(); ++Tile)
      Left.push_back(weightFragments(Tile, Part, IsKept));
    for (int64_t Step = 0; Step < 2; ++Step) {
      SmallVector<Values> A, B;
      for (auto &One : Left)
        A.push_back(One[Step]);
      for (Values &One : Right)
        B.push_back({One[2 * Step], One[2 * Step + 1]});
      multiplyPart(A, B, All);
    }
  }
  storeSums(All);
}

/// Of all warps, always in one order.
Value RecurrentKernel::sum(Value Row, Value Column) {
  Value Total;
  for (int64_t Of = 0; Of < S.Warps; ++Of) {
    Value At = linear({{W.index(S.rows(Shape)), W.index(Of)},
                       {W.index(S.rows(Shape)), Row},
                       {W.index(S.pitch()), Column}});
    Value One = load(W.B.getF32Type(), elementAt(Sums, W.B.getF32Type(), At));
    Total = Total ? compute<arith::AddFOp>(Total, One) : One;
  }
  return Total;
}

} // namespace kpc::kernels
