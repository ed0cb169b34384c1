//===- NvvmWriter.cpp - Small pieces of code for one thread ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/tile/LowerTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace kpc::tile;

/// How long a waiting thread may sleep before it looks again, in nanoseconds.
static constexpr int64_t WaitTicks = 10'000'000;

SmallVector<Value> kpc::tile::unpack(OpBuilder &B, Location Loc, Value Struct) {
  SmallVector<Value> All;
  size_t Count = cast<LLVM::LLVMStructType>(Struct.getType()).getBody().size();
  for (size_t I = 0; I < Count; ++I)
    All.push_back(LLVM::ExtractValueOp::create(B, Loc, Struct, int64_t(I)));
  return All;
}

Value kpc::tile::pack(OpBuilder &B, Location Loc, Type Ty,
                      ArrayRef<Value> Values) {
  Value Struct = LLVM::UndefOp::create(B, Loc, Ty);
  for (auto [I, V] : llvm::enumerate(Values))
    Struct = LLVM::InsertValueOp::create(B, Loc, Struct, V, I);
  return Struct;
}

Value NvvmWriter::i32(int64_t V) {
  return arith::ConstantIntOp::create(B, Loc, V, 32);
}
Value NvvmWriter::add(Value A, Value C) {
  return arith::AddIOp::create(B, Loc, A, C);
}
Value NvvmWriter::add(Value A, int64_t C) { return C ? add(A, i32(C)) : A; }
Value NvvmWriter::mul(Value A, int64_t C) {
  return C == 1 ? A : arith::MulIOp::create(B, Loc, A, i32(C)).getResult();
}
Value NvvmWriter::shiftLeft(Value A, int64_t C) {
  return arith::ShLIOp::create(B, Loc, A, i32(C));
}
Value NvvmWriter::shiftRight(Value A, int64_t C) {
  return arith::ShRUIOp::create(B, Loc, A, i32(C));
}
Value NvvmWriter::bitAnd(Value A, int64_t C) {
  return arith::AndIOp::create(B, Loc, A, i32(C));
}
Value NvvmWriter::bitXor(Value A, Value C) {
  return arith::XOrIOp::create(B, Loc, A, C);
}
Value NvvmWriter::equal(Value A, int64_t C) {
  return arith::CmpIOp::create(B, Loc, arith::CmpIPredicate::eq, A, i32(C));
}
Value NvvmWriter::toI32(Value Index) {
  return arith::IndexCastOp::create(B, Loc, B.getI32Type(), Index);
}
Value NvvmWriter::toIndex(Value I32) {
  return arith::IndexCastOp::create(B, Loc, B.getIndexType(), I32);
}

Value NvvmWriter::pointer(Value Base, Value Offset) {
  return LLVM::GEPOp::create(B, Loc, Base.getType(), B.getI8Type(), Base,
                             ArrayRef<LLVM::GEPArg>{Offset});
}
Value NvvmWriter::pointer(Value Base, int64_t Offset) {
  if (!Offset)
    return Base;
  return LLVM::GEPOp::create(B, Loc, Base.getType(), B.getI8Type(), Base,
                             ArrayRef<LLVM::GEPArg>{int32_t(Offset)});
}

Value NvvmWriter::swizzleOfRow(SharedType Tile, Value Row) {
  int64_t Line = Tile.getSwizzle();
  return bitAnd(shiftRight(mul(Row, Line), 3), (Line / 16 - 1) << 4);
}

int64_t NvvmWriter::swizzleOfRow(SharedType Tile, int64_t Row) {
  int64_t Line = Tile.getSwizzle();
  return ((Row * Line) >> 3) & ((Line / 16 - 1) << 4);
}

void NvvmWriter::waitBarrier(Value Barrier, Value Parity) {
  NVVM::MBarrierTryWaitParityOp::create(B, Loc, Barrier, Parity,
                                        i32(WaitTicks));
}

void NvvmWriter::arriveOncePerWarp(Value Barrier, const ThreadPlace &Place) {
  // A predicate, no branch: a branch here makes ptxas take the loop for
  // divergent. The default scope is the block; that of the cluster would cost
  // a fence of the whole GPU.
  NVVM::InlinePtxOp::create(
      B, Loc, TypeRange(), ValueRange{Barrier}, ValueRange(),
      "mbarrier.arrive.shared::cta.b64 _, [{$r0}];", equal(Place.Lane, 0));
}

void NvvmWriter::arriveAtBlocks(Value Barrier, int64_t Blocks,
                                const ThreadPlace &Place) {
  // Lane l arrives at block l. What the warp read is over; nothing that it
  // wrote is handed over, so that the default scope will do here, too.
  Value There = NVVM::MapaOp::create(B, Loc, clusterPointer(B.getContext()),
                                     Barrier, Place.Lane);
  Value Mine = arith::CmpIOp::create(B, Loc, arith::CmpIPredicate::ult,
                                     Place.Lane, i32(Blocks));
  NVVM::InlinePtxOp::create(
      B, Loc, TypeRange(), ValueRange{There}, ValueRange(),
      "mbarrier.arrive.shared::cluster.b64 _, [{$r0}];", Mine);
}

Value NvvmWriter::isLeader() {
  return equal(NVVM::BlockInClusterIdXOp::create(B, Loc, B.getI32Type()), 0);
}

Value NvvmWriter::leaderBarrier(Value Barrier) {
  return NVVM::MapaOp::create(B, Loc, clusterPointer(B.getContext()), Barrier,
                              i32(0));
}

void NvvmWriter::arriveAtLeader(Value Barrier, const ThreadPlace &Place) {
  // What the other block's products wait for is told to its thread: the scope
  // is the cluster's.
  NVVM::InlinePtxOp::create(
      B, Loc, TypeRange(), ValueRange{leaderBarrier(Barrier)}, ValueRange(),
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [{$r0}];",
      equal(Place.Lane, 0));
}

void NvvmWriter::arriveAfterMma(Value Barrier, bool Pair) {
  Value Both;
  if (Pair)
    Both = arith::ConstantIntOp::create(B, Loc, 0b11, /*width=*/16);
  NVVM::Tcgen05CommitOp::create(B, Loc, Barrier, Both,
                                Pair ? NVVM::CTAGroupKind::CTA_2
                                     : NVVM::CTAGroupKind::CTA_1);
}

Type NvvmWriter::clusterPointer(MLIRContext *Context) {
  return LLVM::LLVMPointerType::get(Context, 7);
}

void NvvmWriter::syncWarp() { NVVM::SyncWarpOp::create(B, Loc, i32(-1)); }

/// Two barriers of 8 bytes for each stage.
static constexpr int64_t BarrierPairBytes = 16;

static Value barrier(NvvmWriter &W, PipeType Pipe, Value Base, Value Stage,
                     int64_t Which) {
  int64_t First = Pipe.getStages() * Pipe.getStageBytes() + Which * 8;
  return W.pointer(W.pointer(Base, W.mul(Stage, BarrierPairBytes)), First);
}

Value kpc::tile::fullBarrier(NvvmWriter &W, PipeType Pipe, Value Base,
                             Value Stage) {
  return barrier(W, Pipe, Base, Stage, 0);
}
Value kpc::tile::emptyBarrier(NvvmWriter &W, PipeType Pipe, Value Base,
                              Value Stage) {
  return barrier(W, Pipe, Base, Stage, 1);
}
int64_t kpc::tile::pipeBytes(PipeOp Op) {
  PipeType Pipe = Op.getPipe().getType();
  int64_t Bytes = Pipe.getStages() * Pipe.getStageBytes();
  if (Op.isOfWarps())
    return int64_t(Op.getWarps()) * Bytes;
  return Bytes + Pipe.getStages() * BarrierPairBytes;
}
