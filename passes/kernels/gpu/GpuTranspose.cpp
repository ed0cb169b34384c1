//===- GpuTranspose.cpp - Copies between layouts --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An elementwise kernel whose output is contiguous along one dim and whose
/// input is contiguous along another. A block moves a tile of 32 x 32 elements
/// through shared memory, reading lines of the input and writing lines of the
/// output. The kernel's other ops are computed when it writes.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/OutputSections.h"
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/GpuThreads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace kpc::kernels {

namespace {

constexpr int64_t TileSide = 32;
/// Threads down a tile: each does TileSide / TileThreads elements.
constexpr int32_t TileThreads = 8;
/// Smaller sides are left to the map builder's caches.
constexpr int64_t SmallestSide = 16;
constexpr int64_t UnknownSize = 1024;

/// What to transpose: runs of the output, and the access that crosses them.
struct Crossing {
  unsigned OutRun = 0, InRun = 0;
  Access Input;
};

std::optional<Crossing> findCrossing(const OutputSection &S) {
  if (S.Runs.size() < 2 || S.Outputs.size() != 1)
    return std::nullopt;
  AccessMaps Maps = accessesOf(S.Outputs.front().Tensor);
  Crossing C;
  C.OutRun = S.Runs.size() - 1;
  std::optional<Access> Found;
  for (const Access &A : Maps.Accesses) {
    auto Along = Maps.stride(A, S.Runs[C.OutRun].back());
    if (A.Map.getNumSymbols() != 0 || !Along || *Along == 0 || *Along == 1)
      continue;
    for (unsigned Run = 0; Run < C.OutRun; ++Run)
      if (Maps.stride(A, S.Runs[Run].back()) == 1) {
        if (Found)
          return std::nullopt; // two inputs to transpose: not one tile
        Found = A;
        C.InRun = Run;
      }
  }
  if (!Found)
    return std::nullopt;
  // The tile stands for the buffer: it must be read in this one way.
  for (const Access &A : Maps.Accesses)
    if (A.Memref == Found->Memref && A.Map != Found->Map)
      return std::nullopt;
  C.Input = *Found;
  return C;
}

class TransposeTile {
public:
  TransposeTile(GpuWriter &W, const OutputSection &S, const Crossing &C)
      : W(W), S(S), C(C) {}

  LogicalResult emit() {
    Value X = W.thread(gpu::Dimension::x), Y = W.thread(gpu::Dimension::y);
    placeTile();
    auto Type = cast<MemRefType>(C.Input.Memref.getType());
    // One more column, so that a column's elements are in different banks.
    Value Tile = W.shared({TileSide, TileSide + 1}, Type.getElementType());
    rows(
        Y,
        [&](Value Row) {
          // x along the input's line.
          Values At = place(/*In=*/X, /*Out=*/Row);
          Values Indices;
          for (AffineExpr Expr : C.Input.Map.getResults())
            Indices.push_back(W.Emitter.apply(W.B, W.Loc, Expr, At));
          Value V = memref::LoadOp::create(W.B, W.Loc, C.Input.Memref, Indices);
          memref::StoreOp::create(W.B, W.Loc, V, Tile, ValueRange{Row, X});
        },
        /*InFirst=*/true);
    W.barrier();
    W.Emitter.setLoadHook([&](OpBuilder &B, Location Loc, Value Memref,
                              ValueRange At) -> Value {
      if (Memref == C.Input.Memref)
        return memref::LoadOp::create(B, Loc, Tile, ValueRange{X, CurrentRow});
      return memref::LoadOp::create(B, Loc, Memref, At);
    });
    rows(
        Y,
        [&](Value Row) {
          CurrentRow = Row;
          Values At = place(/*In=*/Row, /*Out=*/X);
          const KernelOutput &Out = S.Outputs.front();
          Value V = W.Emitter.element(W.B, Out.Tensor, At);
          if (!V)
            Result = failure();
          else
            memref::StoreOp::create(W.B, W.Loc, V, Out.Memref, At);
        },
        /*InFirst=*/false);
    W.Emitter.setLoadHook({});
    return Result;
  }

private:
  using Values = SmallVector<Value>;

  void placeTile() {
    SmallVector<OpFoldResult> Sizes;
    for (unsigned Run = 0; Run < S.Runs.size(); ++Run) {
      Value Size = W.size(S.runSizes(Run));
      if (Run == C.InRun || Run == C.OutRun)
        Size = W.ceilDiv(Size, TileSide);
      Sizes.push_back(Size);
    }
    Tiles = W.split(W.block(), Sizes);
    InSize = W.size(S.runSizes(C.InRun));
    OutSize = W.size(S.runSizes(C.OutRun));
    for (unsigned Run : {C.InRun, C.OutRun})
      Tiles[Run] = W.mul(Tiles[Run], W.index(TileSide));
  }

  /// The output's indices of an element of the tile.
  Values place(Value In, Value Out) {
    Values At(S.Sizes.size(), W.index(0));
    for (unsigned Run = 0; Run < S.Runs.size(); ++Run) {
      Value Index = Tiles[Run];
      if (Run == C.InRun)
        Index = W.add(Index, In);
      if (Run == C.OutRun)
        Index = W.add(Index, Out);
      At[S.Runs[Run].back()] = Index;
    }
    return At;
  }

  /// The rows that this thread does of those that exist; x is along the
  /// input's run if `InFirst`.
  void rows(Value Y, llvm::function_ref<void(Value)> Body, bool InFirst) {
    Value X = W.thread(gpu::Dimension::x);
    for (int64_t R = 0; R < TileSide; R += TileThreads) {
      Value Row = W.add(Y, W.index(R));
      Value In = W.add(Tiles[C.InRun], InFirst ? X : Row);
      Value Out = W.add(Tiles[C.OutRun], InFirst ? Row : X);
      Value InInside = W.less(In, InSize), OutInside = W.less(Out, OutSize);
      W.when(W.both(InInside, OutInside), [&] { Body(Row); });
    }
  }

  GpuWriter &W;
  const OutputSection &S;
  const Crossing &C;
  Values Tiles;
  Value InSize, OutSize, CurrentRow;
  LogicalResult Result = success();
};

} // namespace

FamilyAnswer queryGpuTranspose(FusedKernel &Form, const target::Target &T) {
  if (Form.Root)
    return FamilyAnswer::refuse(RefusalKind::Form, "it reduces");
  SmallVector<OutputSection> Sections = formSections(Form);
  if (Sections.size() != 1)
    return FamilyAnswer::refuse(RefusalKind::Form, "it has several outputs");
  auto S = std::make_shared<OutputSection>(Sections.front());
  std::optional<Crossing> C = findCrossing(*S);
  if (!C)
    return FamilyAnswer::refuse(RefusalKind::Form, "it is no transpose");
  if (cast<MemRefType>(C->Input.Memref.getType())
          .getElementType()
          .isInteger(1)) // bools have no place in shared memory
    return FamilyAnswer::refuse(RefusalKind::ElementType, "its input is bool");
  std::string Blocks;
  for (unsigned Run = 0; Run < S->Runs.size(); ++Run) {
    std::string Text = productText(S->runSizes(Run));
    bool IsTiled = Run == C->InRun || Run == C->OutRun;
    if (Text.empty() || (IsTiled && typicalProduct(S->runSizes(Run),
                                                   UnknownSize) < SmallestSide))
      return FamilyAnswer::refuse(RefusalKind::Size,
                                  "its sides are short or no expressions");
    if (IsTiled)
      Text = "ceildiv(" + Text + ", " + std::to_string(TileSide) + ")";
    Blocks += (Blocks.empty() ? "" : "*") + Text;
  }
  return FamilyAnswer::offer("transpose 32x32",
                             [&Form, S, C = *C, Blocks](GpuLaunch &Launch) {
                               Launch.Block = {TileSide, TileThreads, 1};
                               Launch.Grid[0] = Blocks;
                               GpuWriter W(Form);
                               return TransposeTile(W, *S, C).emit();
                             });
}

} // namespace kpc::kernels
