//===- GemvRows.cpp - Rows that a product of few rows computes ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/gemm/GemvRows.h"
#include "passes/kernels/gpu/rows/RowChoice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kpc::kernels {

using schedule::RowSchedule;

/// Accesses of a thread to a row: more elements leave ptxas no registers for
/// blocks of 512 threads.
static constexpr int64_t MostAccesses = 8;
static constexpr int64_t WarpThreads = 32;

std::optional<ComputedRows>
ComputedRows::read(FusedKernel &Form, const GemmMatch &P, std::string &Why) {
  std::optional<RowKernel> K = RowKernel::readTensor(Form, P.ComputedA);
  if (!K || K->RowSizes.size() != 1 || K->OuterSizes.size() != 1 ||
      !K->areRowsContiguous()) {
    Why = "its rows are computed by more than reductions of these rows";
    return std::nullopt;
  }
  RowChoice C = readRowChoice(*K);
  std::optional<int64_t> Length = P.K.asConstant();
  if (!Length || C.MayBeEmpty || C.MayBeOdd || !C.Strides.empty() ||
      C.Lanes < 2) {
    Why = "rows do not begin at multiples of 16 bytes, or their length is "
          "dynamic";
    return std::nullopt;
  }
  return ComputedRows{std::move(*K), C.Lanes, *Length};
}

RowSchedule ComputedRows::scheduleFor(int64_t Threads, int64_t Rows) const {
  RowSchedule S;
  S.Lanes = Lanes;
  auto AtOnce =
      int64_t(llvm::PowerOf2Ceil(uint64_t(std::max<int64_t>(Rows, 1))));
  S.Threads = std::max(Threads / AtOnce, WarpThreads);
  while (S.Threads < Threads &&
         llvm::divideCeil(Length, Lanes * S.Threads) > uint64_t(MostAccesses))
    S.Threads *= 2;
  S.Rows = Threads / S.Threads;
  S.Accesses = int64_t(llvm::divideCeil(Length, Lanes * S.Threads));
  return S;
}

void GemvRows::store(const KernelOutput &, ArrayRef<Value> Lanes,
                     ValueRange At) {
  Type Element = cast<MemRefType>(Held.getType()).getElementType();
  auto Narrow = llvm::map_to_vector(Lanes, [&](Value V) {
    return W.B.createOrFold<arith::TruncFOp>(W.Loc, Element, V);
  });
  storeLanes(W, Narrow, Held, ValueRange{HeldRow, At.back()});
}

void GemvRows::write(Value First, Value Count, int64_t Most, int64_t Lanes,
                     int64_t Length) {
  placeInBlock(W.thread());
  RowWay How{Lanes,
             S.Accesses,
             /*Aligned=*/false,
             /*Exact=*/Length == S.capacity(),
             {}};
  Value Last = W.B.createOrFold<arith::SubIOp>(W.Loc, Count, W.index(1));
  auto From = [&](Value Base) {
    // Spare threads compute the last row again.
    Value Row = W.add(Base, RowInBlock), Is;
    if (S.Rows > 1) {
      Is = W.less(Row, Count);
      Row = arith::MinSIOp::create(W.B, W.Loc, Row, Last);
    }
    HeldRow = Row;
    placeRow(W.add(First, Row), Is);
    keep(How);
  };
  // What was written is read behind the barrier, and what reductions were
  // joined in is written again.
  if (Most <= S.Rows) {
    From(W.index(0));
    W.barrier();
  } else {
    W.loop(W.index(0), Count, W.index(S.Rows), {}, [&](Value Base, ValueRange) {
      From(Base);
      W.barrier();
      return Values();
    });
  }
  W.Emitter.setElementHook({});
}

} // namespace kpc::kernels
