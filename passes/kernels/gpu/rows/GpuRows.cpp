//===- GpuRows.cpp - Rows that stay in registers --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Softmax, norms and similar kernels (see RowKernel.h) in one pass over
/// memory. A few threads, a warp or a block hold a row in registers. Each
/// thread loads its part once, as vectors, computes in registers, and stores
/// once. Reductions are joined by shuffles, beyond a warp through shared
/// memory.
///
///   row    |t0 t1 … t31|t0 t1 … t31|…    each t: one vector; Accesses of them
///   load ─▶ max ─▶ exp(x - max) ─▶ sum ─▶ exp / sum ─▶ store
///             └ lanes, warps         └ lanes, warps
///
/// A thread beyond the row's end loads the last vector again, which counts in
/// no reduction and is not stored. If rows begin anywhere, vectors begin at the
/// first aligned element. The elements before and after the vectors, fewer than
/// two vectors, are one more element of some threads. Dynamic lengths get code
/// for several cases, chosen by conditions that are the same for all threads:
/// rows whose vectors are aligned and others; rows that fit in registers and
/// longer ones, which are read once for each reduction, mostly from L2.
///
/// The row of a group in a channels-last image is some channels of each pixel.
/// Vectors are then those of a pixel; the rest is the same.
///
/// The code fixes the order of every join.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/rows/RowChoice.h"
#include "passes/kernels/gpu/rows/RowNest.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace kpc::kernels {

using schedule::RowSchedule;

/// Elements of a thread that are on the way at once where a row is walked.
static constexpr int64_t LongElements = 16;
/// Threads of a multiprocessor that a kernel with several ways leaves room for.
/// Left to its own judgement ptxas 13.0 keeps such a kernel to 72 registers and
/// spills a word on sm_100a; with 640 threads it spills on sm_80, with 512
/// nowhere.
static constexpr int64_t ResidentThreads = 512;

/// Writes the kernel by the schedule `S` and what its sizes leave open.
static LogicalResult emitRows(RowKernel &K, const RowChoice &C,
                              const RowSchedule &S, const shape::Expr &Rows,
                              GpuLaunch &Launch) {
  Launch.Block = {int32_t(S.blockThreads()), 1, 1};
  Launch.Grid[0] = Rows.ceilDiv(S.Rows).str();
  bool MayBeLong = C.mayBeLong(S);

  GpuWriter W(K.Form);
  RowNest Nest(W, K, S);
  Nest.placeThread();
  auto ByAlignment = [&](llvm::function_ref<void(const RowWay &)> Emit,
                         RowWay How) {
    if (!C.MayBeOdd)
      return Emit(How);
    Value Aligned;
    for (OpFoldResult Stride : C.Check) {
      Value Rest = W.B.createOrFold<arith::RemUIOp>(W.Loc, W.size(Stride),
                                                    W.index(How.Lanes));
      Value Is = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq,
                                       Rest, W.index(0));
      Aligned = Aligned ? W.both(Aligned, Is) : Is;
    }
    RowWay Single{1, How.Lanes * How.Accesses};
    How.Aligned = true;
    W.when(Aligned, [&] { Emit(How); }, [&] { Emit(Single); });
  };
  auto Keep = [&] {
    bool Exact = C.Strides.empty() && constantOf(Nest.length()) == S.capacity();
    ByAlignment([&](const RowWay &How) { Nest.keep(How); },
                {C.Lanes, S.Accesses, false, Exact, C.Strides});
  };
  auto Walk = [&] {
    ByAlignment([&](const RowWay &How) { Nest.walk(How); },
                {C.Lanes, std::max<int64_t>(LongElements / C.Lanes, 1), false,
                 false, C.Strides});
  };
  if (!MayBeLong) {
    Keep();
  } else if (!S.Accesses) {
    Walk();
  } else {
    Value Least = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::sgt,
                                        Nest.length(), W.index(0));
    Value Fits =
        W.both(Least, W.less(Nest.length(), W.index(S.capacity() + 1)));
    W.when(Fits, Keep, Walk);
    Launch.ResidentBlocks =
        std::max(int32_t(ResidentThreads / S.blockThreads()), 1);
  }
  W.Emitter.setElementHook({});
  return Nest.Result;
}

FamilyAnswer queryGpuRows(FusedKernel &Form, const target::Target &T) {
  std::optional<RowKernel> Read = RowKernel::read(Form);
  // One reduction that nothing but the row's result is made of has families of
  // its own.
  if (!Read || (!Form.SeveralRoots && Read->Wide.empty()) ||
      Read->RowSizes.empty() || !Read->areRowsContiguous())
    return FamilyAnswer::refuse(RefusalKind::Form,
                                "it is no reduction of rows that are read "
                                "again");
  std::optional<shape::Expr> Rows = productExpr(Read->OuterSizes);
  if (!Rows || constantOf(Read->RowSizes.back()) == 0)
    return FamilyAnswer::refuse(RefusalKind::Size,
                                "rows are empty or their number is no "
                                "expression");
  auto K = std::make_shared<RowKernel>(std::move(*Read));
  auto C = std::make_shared<RowChoice>(readRowChoice(*K));
  std::vector<schedule::RowCost> Ranked =
      schedule::rankRowSchedules(C->Shape, T);
  auto Emit = [K, C, Rows = *Rows](const RowSchedule &S, GpuLaunch &Launch) {
    return emitRows(*K, *C, S, Rows, Launch);
  };
  if (!Ranked.empty())
    return FamilyAnswer::offer(std::move(Ranked), Emit);
  return FamilyAnswer::offer("rows of any length",
                             [Emit, Lanes = C->Lanes](GpuLaunch &Launch) {
                               return Emit({Lanes, 0, LongThreads, 1}, Launch);
                             });
}

} // namespace kpc::kernels
