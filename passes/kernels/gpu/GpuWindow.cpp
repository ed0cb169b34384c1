//===- GpuWindow.cpp - Pooling and other small reductions -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One thread reduces alone, for a few neighbours along the last parallel loop
/// (the channels), which it reads and writes as vectors. The builder takes
/// pooling, depthwise convolution, short rows, and every reduction whose
/// partial results cannot be joined (argmax). It reduces in the order of the
/// loops.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/GpuReduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace kpc::kernels {

namespace {

constexpr int32_t BlockThreads = 256;
constexpr int64_t UnknownSize = 1024;
/// Threads per SM that hide the latency of memory.
constexpr int64_t BusyThreads = 256;

unsigned chooseLanes(const Reduction &R, const target::Target &T) {
  if (R.Parallel.empty())
    return 1;
  unsigned Last = R.Parallel.size() - 1;
  int64_t Lanes = storeLanesOf(R.Form.Outputs, Last, Last, T.Can.WidestAccess);
  Lanes = std::min<int64_t>(
      Lanes, R.lanesAlong(R.Parallel.back(), T.Can.WidestAccess));
  int64_t Elements = typicalProduct(R.ParallelSizes, UnknownSize);
  while (Lanes > 1 && Elements / Lanes < T.Cost.SmCount * BusyThreads)
    Lanes /= 2;
  return Lanes;
}

class WindowNest {
public:
  WindowNest(GpuWriter &W, const Reduction &R, unsigned Lanes)
      : W(W), R(R), Lanes(Lanes), Loads(W, Lanes) {}

  LogicalResult emit(ArrayRef<Value> At) {
    SmallVector<Value> Start;
    linalg::LinalgOp Op = R.Op;
    SmallVector<Value> Indices(At);
    if (!At.empty())
      Loads.begin(At.back());
    for (unsigned L = 0; L < Lanes; ++L) {
      if (!At.empty())
        Indices.back() = Loads.at(L);
      for (Value Init : Op.getDpsInits()) {
        Start.push_back(W.Emitter.element(W.B, Init, Indices));
        if (!Start.back())
          return failure();
      }
    }
    SmallVector<Value> Done = nest(At, {}, Start);
    if (!At.empty())
      Loads.end();
    if (failed(Result))
      return failure();
    unsigned Count = Op->getNumResults();
    SmallVector<SmallVector<Value>> Results;
    for (unsigned L = 0; L < Lanes; ++L)
      Results.emplace_back(ArrayRef<Value>(Done).slice(L * Count, Count));
    return storeOutputs(W, R, At, Results);
  }

private:
  SmallVector<Value> nest(ArrayRef<Value> At, SmallVector<Value> Reduced,
                          ValueRange Carried) {
    if (Reduced.size() == R.Reduced.size())
      return step(At, Reduced, Carried);
    if (constantOf(R.ReducedSizes[Reduced.size()]) == 1) {
      Reduced.push_back(W.index(0));
      return nest(At, std::move(Reduced), Carried);
    }
    return W.loop(W.index(0), W.size(R.ReducedSizes[Reduced.size()]),
                  W.index(1), Carried, [&](Value Index, ValueRange Inner) {
                    SmallVector<Value> More(Reduced);
                    More.push_back(Index);
                    return nest(At, More, Inner);
                  });
  }

  SmallVector<Value> step(ArrayRef<Value> At, ArrayRef<Value> Reduced,
                          ValueRange Carried) {
    unsigned Count = Carried.size() / Lanes;
    SmallVector<Value> Next, Indices(At);
    // The inputs of all lanes first, side by side: branches that they share
    // (padding) can then be merged. The bodies find them made.
    if (Lanes > 1)
      for (unsigned L = 0; L < Lanes; ++L) {
        Indices.back() = Loads.at(L);
        pullInputs(loopValues(R, Indices, Reduced));
      }
    for (unsigned L = 0; L < Lanes; ++L) {
      if (!At.empty())
        Indices.back() = Loads.at(L);
      if (failed(W.Emitter.body(W.B, R.Op, loopValues(R, Indices, Reduced),
                                Carried.slice(L * Count, Count), Next))) {
        Result = failure();
        return SmallVector<Value>(Carried);
      }
    }
    return Next;
  }

  void pullInputs(ArrayRef<Value> Loops) {
    linalg::LinalgOp Op = R.Op;
    for (OpOperand *Input : Op.getDpsInputOperands()) {
      if (!Op.payloadUsesValueFromOperand(Input))
        continue;
      SmallVector<Value> At;
      for (AffineExpr Expr : Op.getMatchingIndexingMap(Input).getResults())
        At.push_back(W.Emitter.apply(W.B, W.Loc, Expr, Loops));
      if (!W.Emitter.element(W.B, Input->get(), At))
        Result = failure();
    }
  }

  GpuWriter &W;
  const Reduction &R;
  unsigned Lanes;
  LaneLoads Loads;
  LogicalResult Result = success();
};

} // namespace

/// Writes the kernel: a thread reduces the windows of its lanes.
static LogicalResult emitWindow(Reduction &R, unsigned Lanes) {
  GpuWriter W(R.Form);
  Value OfBlock = W.mul(W.block(), W.index(BlockThreads));
  Value Number = W.add(OfBlock, W.thread());
  // Lanes > 1 divides the last size.
  SmallVector<OpFoldResult> Sizes(R.ParallelSizes);
  if (!Sizes.empty())
    Sizes.back() = W.ceilDiv(W.size(Sizes.back()), Lanes);
  auto Bound = Reduction::boundOf(R.ParallelSizes);
  LogicalResult Result = success();
  W.when(W.less(Number, W.size(Sizes)), [&] {
    SmallVector<Value> At = W.split(Number, Sizes, Bound);
    if (!At.empty())
      At.back() = W.mul(At.back(), W.index(Lanes));
    Result = WindowNest(W, R, Lanes).emit(At);
  });
  return Result;
}

FamilyAnswer queryGpuWindow(FusedKernel &Form, const target::Target &T) {
  std::optional<Reduction> Read = Reduction::read(Form, /*OrOnes=*/true);
  if (!Read)
    return FamilyAnswer::refuse(RefusalKind::Form,
                                "outputs are not of the shape of one "
                                "reduction");
  auto R = std::make_shared<Reduction>(std::move(*Read));
  std::optional<shape::Expr> Elements = productExpr(R->ParallelSizes);
  if (!Elements)
    return FamilyAnswer::refuse(RefusalKind::Size,
                                "a size of its result is no expression");
  unsigned Lanes = chooseLanes(*R, T);
  std::string Grid = Elements->ceilDiv(int64_t(BlockThreads) * Lanes).str();
  return FamilyAnswer::offer("window x" + std::to_string(Lanes),
                             [R, Lanes, Grid](GpuLaunch &Launch) {
                               Launch.Block = {BlockThreads, 1, 1};
                               Launch.Grid[0] = Grid;
                               return emitWindow(*R, Lanes);
                             });
}

} // namespace kpc::kernels
