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

/// Of a cluster's shared memory.
static constexpr int64_t ClusterSpace = 7;

void AttentionDecode::store(Value V, Value Pointer) {
  unsigned Bytes = 4 * cast<VectorType>(V.getType()).getNumElements();
  LLVM::StoreOp::create(W.B, W.Loc, V, Pointer, Bytes);
}

/// A row of a warp's part; behind the warps', of the block's.
Value AttentionDecode::partPointer(Value Row, int64_t Part) {
  Value Bytes = W.mul(Row, W.index(partRowBytes()));
  return bytesAt(bytesAt(Shared, toI64(Bytes)), Part * S.partBytes(Shape));
}

/// A lane's sums are a piece's columns of two rows in each chunk; its totals
/// are another row's.
void AttentionDecode::storePart(const State &End) {
  // Copies that nobody waits for write zeros here.
  NVVM::CpAsyncWaitGroupOp::create(W.B, W.Loc, 0);
  W.barrier();
  auto Two = VectorType::get({2}, W.B.getF32Type()),
       Four = VectorType::get({4}, W.B.getF32Type());
  Value Before = W.mul(Warp, W.index(S.Rows));
  for (int64_t Half = 0; Half < halves(); ++Half) {
    Value FirstRow = W.add(Before, W.index(8 * Half));
    for (int64_t Row = 0; Row < 2; ++Row) {
      Value To = partPointer(
          W.add(FirstRow, W.add(W.mul(T, W.index(2)), W.index(Row))), 0);
      To = bytesAt(To, toI64(W.mul(G, W.index(pieceElements() * 4))));
      for (int64_t Chunk = 0; Chunk < widthChunks(); ++Chunk)
        for (int64_t Word = 0; Word < pairsOfPiece(); Word += 2) {
          Values Some;
          for (int64_t I : {0, 2, 4, 6})
            Some.push_back(End.Sums[sumsAt(Half, Chunk, Word) + I + Row]);
          store(vector::FromElementsOp::create(W.B, W.Loc, Four, Some),
                bytesAt(To, (widthChunk() * Chunk + 2 * Word) * 4));
        }
    }
    Value Total = End.Total[Half];
    for (int32_t Mask : {1, 2})
      Total = compute<arith::AddFOp>(Total, W.shuffleXor(Total, Mask));
    // All lanes of a row store the same.
    store(vector::FromElementsOp::create(W.B, W.Loc, Two,
                                         Values{End.Most[Half], Total}),
          bytesAt(partPointer(W.add(FirstRow, G), 0), endsAt()));
  }
  W.barrier();
}

/// Of `Count` parts, whose rows begin at `RowPointer`, the four columns from
/// `Column` on.
AttentionDecode::Reduced AttentionDecode::reduceParts(
    int64_t Count, function_ref<Value(int64_t)> RowPointer, Value Column) {
  auto Two = VectorType::get({2}, W.B.getF32Type()),
       Four = VectorType::get({4}, W.B.getF32Type());
  Value Bytes = W.B.createOrFold<arith::IndexCastOp>(W.Loc, W.B.getI64Type(),
                                                     W.mul(Column, W.index(4)));
  Values Sums, Most, Total;
  Reduced All;
  for (int64_t Part = 0; Part < Count; ++Part) {
    Value Row = RowPointer(Part);
    Value Ends = load(Two, bytesAt(Row, endsAt()));
    Most.push_back(vector::ExtractOp::create(W.B, W.Loc, Ends, int64_t(0)));
    Total.push_back(vector::ExtractOp::create(W.B, W.Loc, Ends, int64_t(1)));
    Sums.push_back(load(Four, bytesAt(Row, Bytes)));
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
  eachUnit(Thread, W.index(S.threads()), [&](Value Row, Value Column) {
    Reduced J = reduceParts(
        S.Warps, [&](int64_t Part) { return partPointer(Row, Part); }, Column);
    if (S.Blocks == 1)
      return storeResult(J, Row, Column);
    Value To = partPointer(Row, S.Warps);
    store(J.Sums, bytesAt(To, toI64(W.mul(Column, W.index(4)))));
    Value Ends = vector::FromElementsOp::create(
        W.B, W.Loc, VectorType::get({2}, W.B.getF32Type()),
        Values{J.Most, J.Total});
    Value IsFirst = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq,
                                          Column, W.index(0));
    W.when(IsFirst, [&] { store(Ends, bytesAt(To, endsAt())); });
  });
}

/// Arriving releases and waiting acquires what was written.
void AttentionDecode::syncCluster() {
  UnitAttr Aligned = W.B.getUnitAttr();
  NVVM::ClusterArriveOp::create(W.B, W.Loc, Aligned);
  NVVM::ClusterWaitOp::create(W.B, W.Loc, Aligned);
}

/// Each block finishes its share of the columns.
void AttentionDecode::reduceBlocks() {
  syncCluster();
  auto There = LLVM::LLVMPointerType::get(W.B.getContext(), ClusterSpace);
  Value First = W.add(W.mul(Rank, W.index(S.threads())), Thread);
  eachUnit(First, W.index(S.threads() * S.Blocks),
           [&](Value Row, Value Column) {
             Value Here = partPointer(Row, S.Warps);
             storeResult(reduceParts(
                             S.Blocks,
                             [&](int64_t Part) -> Value {
                               return NVVM::MapaOp::create(W.B, W.Loc, There,
                                                           Here, i32(Part));
                             },
                             Column),
                         Row, Column);
           });
  syncCluster(); // nobody ends whose memory is still read
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
