//===- AttentionDecodeReduce.cpp - Parts of a softmax put together --------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Warps have seen different keys. Each leaves its part of the rows in shared
/// memory, where the ring was; the block joins them in order, and the blocks of
/// a cluster, through each other's shared memory, what each of them has: so
/// the result does not depend on who comes first.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/attention/AttentionDecode.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kpc::kernels {

/// A lane's sums are a piece's columns of two rows in each chunk; its totals
/// are another row's.
void AttentionDecode::storePart(const State &End) {
  // Copies that nobody waits for write zeros where parts will be.
  tile::DrainOp::create(W.B, W.Loc, Ring, End.At);
  tile::SyncOp::create(W.B, W.Loc, tile::Scope::Block);
  Type F32 = W.B.getF32Type();
  constexpr int64_t EndsPadded = 4; // greatest score, total, and nothing twice
  Parts = tile::ReuseOp::create(
      W.B, W.Loc,
      tile::SharedType::get(W.B.getContext(),
                            {(S.Warps + 1) * S.Rows, endsAt() + EndsPadded},
                            F32,
                            /*swizzle=*/0),
      Ring);
  auto Store = [&](Value Vector, Value Row, int64_t RowOffset, Value Column,
                   int64_t ColumnOffset) {
    tile::StoreVectorOp::create(W.B, W.Loc, Vector, Parts, Row, RowOffset,
                                Column, ColumnOffset);
  };
  Value Before = W.mul(Warp, W.index(S.Rows)),
        SumRow = W.add(Before, W.mul(T, W.index(2))), EndRow = W.add(Before, G),
        None = W.index(0), Column = W.mul(G, W.index(pieceElements()));
  for (int64_t Half = 0; Half < halves(); ++Half) {
    for (int64_t Row = 0; Row < 2; ++Row)
      for (int64_t Chunk = 0; Chunk < widthChunks(); ++Chunk)
        for (int64_t Word = 0; Word < pairsOfPiece(); Word += 2) {
          Values Some;
          for (int64_t I : {0, 2, 4, 6})
            Some.push_back(End.Sums[sumsAt(Half, Chunk, Word) + I + Row]);
          Store(vector::FromElementsOp::create(W.B, W.Loc, vectorOf(4, F32),
                                               Some),
                SumRow, 8 * Half + Row, Column,
                widthChunk() * Chunk + 2 * Word);
        }
    Value Total = End.Total[Half];
    for (int32_t Mask : {1, 2})
      Total = compute<arith::AddFOp>(Total, W.shuffleXor(Total, Mask));
    // All lanes of a row store the same.
    Store(vector::FromElementsOp::create(W.B, W.Loc, vectorOf(2, F32),
                                         Values{End.Most[Half], Total}),
          EndRow, 8 * Half, None, endsAt());
  }
  tile::SyncOp::create(W.B, W.Loc, tile::Scope::Block);
}

/// Of `Count` parts the four columns of a row from `Column` on.
AttentionDecode::Reduced
AttentionDecode::reduceParts(int64_t Count, LoadPart Load, Value Column) {
  auto Two = vectorOf(2, W.B.getF32Type()),
       Four = vectorOf(4, W.B.getF32Type());
  Value None = W.index(0);
  Values Sums, Most, Total;
  Reduced All;
  for (int64_t Part = 0; Part < Count; ++Part) {
    Value Ends = Load(Two, Part, None, endsAt());
    Most.push_back(vector::ExtractOp::create(W.B, W.Loc, Ends, int64_t(0)));
    Total.push_back(vector::ExtractOp::create(W.B, W.Loc, Ends, int64_t(1)));
    Sums.push_back(Load(Four, Part, Column, 0));
    All.Most = All.Most ? compute<arith::MaxNumFOp>(All.Most, Most.back())
                        : Most.back();
  }
  Value Shift = shiftOf(All.Most);
  for (auto [Part, Of, Sum] : llvm::zip_equal(Most, Total, Sums)) {
    Value Factor = exp2(compute<arith::SubFOp>(Part, Shift));
    Value Shrunk = compute<arith::MulFOp>(Of, Factor);
    Value Columns = compute<arith::MulFOp>(
        Sum, vector::BroadcastOp::create(W.B, W.Loc, Four, Factor));
    All.Total = All.Total ? compute<arith::AddFOp>(All.Total, Shrunk) : Shrunk;
    All.Sums = All.Sums ? compute<arith::AddFOp>(All.Sums, Columns) : Columns;
  }
  return All;
}

/// Four columns of a row at a time.
void AttentionDecode::eachUnit(Value First, Value Step,
                               function_ref<void(Value, Value)> Body) {
  int64_t InRow = Shape.Width / 4;
  W.loop(First, W.index(S.Rows * InRow), Step, {}, [&](Value Unit, ValueRange) {
    Value Row = compute<arith::DivUIOp>(Unit, W.index(InRow));
    Value Column =
        W.mul(compute<arith::RemUIOp>(Unit, W.index(InRow)), W.index(4));
    Body(Row, Column);
    return Values();
  });
}

void AttentionDecode::reduceWarps() {
  int64_t OfBlock = S.Warps * S.Rows;
  eachUnit(Thread, W.index(S.threads()), [&](Value Row, Value Column) {
    auto Load = [&](Type Ty, int64_t Part, Value At, int64_t Offset) -> Value {
      return tile::LoadVectorOp::create(
          W.B, W.Loc, Ty, Parts, Row, Part * S.Rows, At, Offset, IntegerAttr());
    };
    Reduced J = reduceParts(S.Warps, Load, Column);
    if (S.Splits > 1)
      return storeOwnPart(J, Row, Column);
    if (S.Blocks == 1)
      return storeResult(J, Row, Column);
    tile::StoreVectorOp::create(W.B, W.Loc, J.Sums, Parts, Row, OfBlock, Column,
                                /*column_offset=*/0);
    Value Ends = vector::FromElementsOp::create(
        W.B, W.Loc, vectorOf(2, W.B.getF32Type()), Values{J.Most, J.Total});
    Value None = W.index(0);
    Value IsFirst = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq,
                                          Column, None);
    W.when(IsFirst, [&] {
      tile::StoreVectorOp::create(W.B, W.Loc, Ends, Parts, Row, OfBlock, None,
                                  endsAt());
    });
  });
}

/// Each block finishes its share of the columns.
void AttentionDecode::reduceBlocks() {
  // Arriving releases and waiting acquires what was written.
  tile::ClusterSyncOp::create(W.B, W.Loc, /*aligned=*/true);
  Value First = W.add(W.mul(Rank, W.index(S.threads())), Thread);
  eachUnit(First, W.index(S.threads() * S.Blocks),
           [&](Value Row, Value Column) {
             auto Load = [&](Type Ty, int64_t Block, Value At,
                             int64_t Offset) -> Value {
               return tile::LoadVectorOp::create(
                   W.B, W.Loc, Ty, Parts, Row, S.Warps * S.Rows, At, Offset,
                   W.B.getI32IntegerAttr(int32_t(Block)));
             };
             storeResult(reduceParts(S.Blocks, Load, Column), Row, Column);
           });
  // Nobody ends whose memory is still read.
  tile::ClusterSyncOp::create(W.B, W.Loc, /*aligned=*/true);
}

//===----------------------------------------------------------------------===//
// Blocks of the grid
//===----------------------------------------------------------------------===//

/// Where a part of the task's rows is in memory.
Value AttentionDecode::partOf(Value Part, Value Row, Value Column) {
  Value Number = W.add(W.mul(Task, W.index(S.Splits)), Part);
  Value At = W.add(W.mul(Number, W.index(S.Rows)), Row);
  return W.add(W.mul(At, W.index(S.partPitch(Shape))), Column);
}

void AttentionDecode::storeOwnPart(const Reduced &J, Value Row, Value Column) {
  Type F32 = W.B.getF32Type();
  Value Memory = flatView(W, Form.Func.getArgument(A.Split->Parts), F32);
  auto Store = [&](Value Vector, Value At, int64_t Bytes) {
    auto Op = vector::StoreOp::create(W.B, W.Loc, Vector, Memory, At);
    Op.setAlignment(Bytes);
  };
  Store(J.Sums, partOf(Rank, Row, Column), 16);
  Value IsFirst = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq,
                                        Column, W.index(0));
  W.when(IsFirst, [&] {
    Store(vector::FromElementsOp::create(W.B, W.Loc, vectorOf(2, F32),
                                         Values{J.Most, J.Total}),
          partOf(Rank, Row, W.index(endsAt())), 8);
  });
}

/// Whether all other blocks of the task have stored their parts. What they have
/// written is then seen: the block's barrier, the release and the acquire add
/// up (PTX ISA, "Causality Order").
Value AttentionDecode::isLastBlock() {
  Type F32 = W.B.getF32Type(), I32 = W.B.getI32Type();
  auto One = VectorType::get(1, F32);
  constexpr int64_t Spare = 2; // behind a row's greatest score and total
  tile::SyncOp::create(W.B, W.Loc, tile::Scope::Block);
  W.when(W.less(Thread, W.index(1)), [&] {
    constexpr int64_t CounterBytes = 4;
    Value Address =
        W.add(memref::ExtractAlignedPointerAsIndexOp::create(
                  W.B, W.Loc, Form.Func.getArgument(A.Split->Counters)),
              W.mul(Task, W.index(CounterBytes)));
    Address = arith::IndexCastOp::create(W.B, W.Loc, W.B.getI64Type(), Address);
    constexpr unsigned GlobalSpace = 1;
    Value Counter = LLVM::IntToPtrOp::create(
        W.B, W.Loc, LLVM::LLVMPointerType::get(W.B.getContext(), GlobalSpace),
        Address);
    Value Before =
        NVVM::InlinePtxOp::create(
            W.B, W.Loc, TypeRange{I32}, ValueRange{Counter, i32(1)},
            ValueRange(),
            "atom.acq_rel.gpu.global.add.u32 {$w0}, [{$r0}], {$r1};", Value())
            .getResult(0);
    Value Number = arith::SIToFPOp::create(W.B, W.Loc, F32, Before);
    tile::StoreVectorOp::create(
        W.B, W.Loc, vector::BroadcastOp::create(W.B, W.Loc, One, Number), Parts,
        W.index(0), 0, W.index(0), endsAt() + Spare);
  });
  tile::SyncOp::create(W.B, W.Loc, tile::Scope::Block);
  Value Seen =
      tile::LoadVectorOp::create(W.B, W.Loc, One, Parts, W.index(0), 0,
                                 W.index(0), endsAt() + Spare, IntegerAttr());
  Seen = vector::ExtractOp::create(W.B, W.Loc, Seen, int64_t(0));
  return arith::CmpFOp::create(W.B, W.Loc, arith::CmpFPredicate::OEQ, Seen,
                               f32(double(S.Splits - 1)));
}

/// The last block adds up the parts of all, in their order.
void AttentionDecode::reduceSplits() {
  W.when(isLastBlock(), [&] {
    Type F32 = W.B.getF32Type();
    Value Memory = flatView(W, Form.Func.getArgument(A.Split->Parts), F32);
    constexpr int64_t AtOnce = 8; // whose loads are on their way
    eachUnit(Thread, W.index(S.threads()), [&](Value Row, Value Column) {
      auto Some = [&](Value First) {
        auto Load = [&](Type Ty, int64_t Part, Value At,
                        int64_t Offset) -> Value {
          auto Op =
              vector::LoadOp::create(W.B, W.Loc, cast<VectorType>(Ty), Memory,
                                     partOf(W.add(First, W.index(Part)), Row,
                                            W.add(At, W.index(Offset))));
          Op.setAlignment(8);
          return Op;
        };
        return reduceParts(AtOnce, Load, Column);
      };
      Reduced Begun = Some(W.index(0));
      Values All = W.loop(
          W.index(AtOnce), W.index(S.Splits), W.index(AtOnce),
          {Begun.Sums, Begun.Most, Begun.Total},
          [&](Value First, ValueRange In) -> Values {
            Reduced More = Some(First);
            Value Most = compute<arith::MaxNumFOp>(In[1], More.Most),
                  Shift = shiftOf(Most);
            auto Joined = [&](Value Old, Value New, bool IsVector) {
              Value F = exp2(compute<arith::SubFOp>(In[1], Shift)),
                    G = exp2(compute<arith::SubFOp>(More.Most, Shift));
              if (IsVector)
                for (Value *Each : {&F, &G})
                  *Each = vector::BroadcastOp::create(W.B, W.Loc,
                                                      vectorOf(4, F32), *Each);
              return compute<arith::AddFOp>(compute<arith::MulFOp>(Old, F),
                                            compute<arith::MulFOp>(New, G));
            };
            return {Joined(In[0], More.Sums, true), Most,
                    Joined(In[2], More.Total, false)};
          });
      storeResult({All[0], All[1], All[2]}, Row, Column);
    });
  });
}

void AttentionDecode::storeResult(const Reduced &J, Value InTile,
                                  Value Column) {
  Row R = rowAt(InTile);
  W.when(R.Inside, [&] {
    auto Four = VectorType::get({4}, W.B.getF32Type());
    // A row that has seen nothing is zeros.
    Value Nothing = arith::CmpFOp::create(W.B, W.Loc, arith::CmpFPredicate::OEQ,
                                          J.Total, f32(0));
    Value Inverse =
        choose(Nothing, f32(0),
               arith::DivFOp::create(W.B, W.Loc, f32(A.ValueScale), J.Total));
    Value Y = compute<arith::MulFOp>(
        J.Sums, vector::BroadcastOp::create(W.B, W.Loc, Four, Inverse));
    Y = arith::TruncFOp::create(W.B, W.Loc, VectorType::get({4}, Element), Y);
    auto Store = vector::StoreOp::create(
        W.B, W.Loc, Y,
        flatView(W, Form.Func.getArgument(A.Y.Argument), Element),
        offsetOf(A.Y, {Batch, R.Head, R.Query, Column}));
    Store.setAlignment(8);
  });
}

} // namespace kpc::kernels
