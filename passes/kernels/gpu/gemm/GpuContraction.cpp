//===- GpuContraction.cpp - GEMMs and convolutions ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A sum of products whose loops are rows (in the first operand only), columns
/// (in the second only), batch (in both) and K: GEMMs, and convolutions as
/// implicit GEMMs (rows: n, oh, ow; K: kh, kw, ci). A block computes a tile of
/// rows × columns. Slices of both operands go through shared memory; the next
/// slice is loaded while the current one is multiplied. Each thread keeps a
/// small tile in registers. Sums are made in the order of K's loops, in the
/// type of the accumulator.
///
/// This kernel uses no tensor cores. It is for types and chips that they do not
/// support, and a reference for the others.
///
//===----------------------------------------------------------------------===//
#include "dialects/kernel/Kernel.h"
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/gemm/GpuContractionTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kpc::kernels {

/// Results of a thread up to which a tile is small. By itself ptxas 13.0 makes
/// room for 8 such blocks a multiprocessor, with 32 registers a thread, and
/// spills; it does so, too, where it is asked for 2.
static constexpr int64_t FewResults = 8;

/// Follows `V` through conversions to an input of `Op`; null if it is none.
static BlockArgument inputBehind(Value V, linalg::LinalgOp Op,
                                 SmallVectorImpl<Operation *> &Casts) {
  while (Operation *Def = V.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp, arith::SIToFPOp,
             arith::UIToFPOp, arith::TruncFOp>(Def))
      return {};
    Casts.insert(Casts.begin(), Def);
    V = Def->getOperand(0);
  }
  auto Arg = dyn_cast<BlockArgument>(V);
  if (!Arg || Arg.getOwner() != Op.getBlock() ||
      Arg.getArgNumber() >= Op.getNumDpsInputs())
    return {};
  return Arg;
}

/// The two factors of a body `acc + a * b`.
static std::optional<std::pair<Value, Value>> factorsOf(linalg::LinalgOp Op) {
  Value Acc = Op.getBlock()->getArguments().back();
  Operation *Sum =
      Op.getBlock()->getTerminator()->getOperand(0).getDefiningOp();
  if (auto Fma = dyn_cast_or_null<math::FmaOp>(Sum)) {
    if (Fma.getC() == Acc)
      return std::pair(Fma.getA(), Fma.getB());
    return std::nullopt;
  }
  if (!isa_and_nonnull<arith::AddFOp, arith::AddIOp>(Sum) || !Acc.hasOneUse())
    return std::nullopt;
  unsigned Which = Sum->getOperand(0) == Acc ? 1 : 0;
  if (Sum->getOperand(1 - Which) != Acc)
    return std::nullopt;
  Operation *Mul = Sum->getOperand(Which).getDefiningOp();
  if (!isa_and_nonnull<arith::MulFOp, arith::MulIOp>(Mul))
    return std::nullopt;
  return std::pair(Mul->getOperand(0), Mul->getOperand(1));
}

/// Fills in what `C` multiplies: GEMMs and convolutions say so, of a generic
/// the body does.
static bool readFactors(Contraction &C) {
  linalg::LinalgOp Op = C.R.Op;
  auto Take = [&](OpOperand &Input, Contraction::Operand &Into) {
    Into.Tensor = Input.get();
    Into.Map = Op.getMatchingIndexingMap(&Input);
    Into.Element = getElementTypeOrSelf(Input.get());
  };
  if (auto Gemm = dyn_cast<kernel::GemmOp>(Op.getOperation())) {
    Take(Gemm.getAMutable(), C.A);
    Take(Gemm.getBMutable(), C.B);
    return true;
  }
  if (auto Conv = dyn_cast<kernel::ConvOp>(Op.getOperation())) {
    Take(Conv.getXMutable(), C.A);
    Take(Conv.getWMutable(), C.B);
    return true;
  }
  auto Factors = factorsOf(Op);
  if (!Factors)
    return false;
  BlockArgument A = inputBehind(Factors->first, Op, C.A.Casts),
                B = inputBehind(Factors->second, Op, C.B.Casts);
  if (!A || !B)
    return false;
  Take(Op->getOpOperand(A.getArgNumber()), C.A);
  Take(Op->getOpOperand(B.getArgNumber()), C.B);
  C.A.Element = Factors->first.getType();
  C.B.Element = Factors->second.getType();
  return true;
}

std::optional<Contraction> Contraction::read(FusedKernel &Form) {
  auto R = Reduction::read(Form);
  if (!R || R->Op->getNumResults() != 1 || !R->isCombinable())
    return std::nullopt;
  Contraction C{*R, {}, {}, {}, {}, {}, {}};
  if (!readFactors(C) || C.A.Element.isInteger(1))
    return std::nullopt;
  // Columns should be what the output is contiguous along.
  if (R->Parallel.empty())
    return std::nullopt;
  // A convolution's columns are its outputs, also where there is one.
  unsigned Last = R->Parallel.back();
  if (!isa<kernel::ConvOp>(R->Op.getOperation()) &&
      C.A.Map.isFunctionOfDim(Last) && !C.B.Map.isFunctionOfDim(Last))
    std::swap(C.A, C.B);
  for (unsigned Loop : R->Parallel) {
    bool InA = C.A.Map.isFunctionOfDim(Loop),
         InB = C.B.Map.isFunctionOfDim(Loop);
    if (!InA && !InB)
      return std::nullopt;
    (InA && InB ? C.Batch : InA ? C.M : C.N).add(R->Op, Loop);
  }
  for (unsigned Loop : R->Reduced)
    C.K.add(R->Op, Loop);
  return C;
}

namespace {

/// The size of a dim of which nothing is known.
/// Smaller products are left to the reductions.
constexpr int64_t FewestRows = 8, FewestColumns = 8, ShortestK = 8;

constexpr Tile Tiles[] = {
    {128, 128, 8, 8, 8}, {128, 64, 8, 8, 4}, {64, 64, 16, 4, 4},
    {64, 32, 16, 4, 2},  {32, 32, 32, 2, 2},
};

/// Waves of blocks over the chip, times a block's work over the share of issue
/// slots that multiply: each step along K loads M + N values from shared
/// memory (4 at a time, each such load taking about 8 slots) for M*N products.
double cost(const Tile &T, int64_t M, int64_t N, int64_t Batch,
            int64_t SmCount) {
  double Blocks = double(llvm::divideCeilSigned(M, T.M)) *
                  double(llvm::divideCeilSigned(N, T.N)) * Batch;
  double Products = T.ThreadM * T.ThreadN;
  double Share = Products / (Products + 2.0 * (T.ThreadM + T.ThreadN));
  double Waves = std::max(1.0, Blocks / SmCount);
  if (Waves < 4) // whole waves count while there are few
    Waves = std::ceil(Waves);
  return Waves * T.M * T.N / Share;
}

Tile chooseTile(const Contraction &C, const target::Target &T) {
  int64_t M = typicalProduct(C.M.Sizes, UnknownExtent),
          N = typicalProduct(C.N.Sizes, UnknownExtent),
          Batch = typicalProduct(C.Batch.Sizes, UnknownExtent);
  const Tile *Best = nullptr;
  for (const Tile &Candidate : Tiles)
    if (!Best || cost(Candidate, M, N, Batch, T.Cost.SmCount) <
                     cost(*Best, M, N, Batch, T.Cost.SmCount))
      Best = &Candidate;
  Tile Chosen = *Best;
  // Steps of as many bytes: ptxas keeps what it reads ahead in registers.
  if (storageBytes(C.A.Element) == 8 && Chosen.Depth > 8)
    Chosen.Depth /= 2;
  return Chosen;
}

/// The blocks of a contraction; none where a size is no expression.
std::optional<std::string> gridOf(const Contraction &C, const Tile &Shape) {
  std::string M = productText(C.M.Sizes), N = productText(C.N.Sizes),
              Batch = productText(C.Batch.Sizes);
  if (M.empty() || N.empty() || Batch.empty())
    return std::nullopt;
  return "ceildiv(" + M + ", " + std::to_string(Shape.M) + ")*ceildiv(" + N +
         ", " + std::to_string(Shape.N) + ")*" + Batch;
}

} // namespace

FamilyAnswer queryGpuContraction(FusedKernel &Form, const target::Target &T) {
  std::optional<Contraction> Read = Contraction::read(Form);
  if (!Read)
    return FamilyAnswer::refuse(RefusalKind::Form, "it is no contraction");
  if (typicalProduct(Read->M.Sizes, UnknownExtent) < FewestRows ||
      typicalProduct(Read->N.Sizes, UnknownExtent) < FewestColumns ||
      typicalProduct(Read->K.Sizes, UnknownExtent) < ShortestK)
    return FamilyAnswer::refuse(RefusalKind::Size, "M, N or K is too small");
  Tile Shape = chooseTile(*Read, T);
  std::optional<std::string> Grid = gridOf(*Read, Shape);
  if (!Grid)
    return FamilyAnswer::refuse(RefusalKind::Size,
                                "M, N or the batch is no expression");
  std::string Schedule = "contraction " + std::to_string(Shape.M) + "x" +
                         std::to_string(Shape.N) + "x" +
                         std::to_string(Shape.Depth) + " simt";
  auto C = std::make_shared<Contraction>(std::move(*Read));
  return FamilyAnswer::offer(
      Schedule, [&Form, C, Shape, Grid = *Grid, &T](GpuLaunch &Launch) {
        Launch.Block = {Tile::Threads, 1, 1};
        Launch.Grid[0] = Grid;
        if (Shape.M * Shape.N <= FewResults * Tile::Threads)
          Launch.ResidentBlocks = 1;
        Launch.NoEarlyPdlTrigger = true; // blocks of many multiply-adds
        GpuWriter W(Form);
        return ContractionTile(W, *C, Shape, T).emit();
      });
}

} // namespace kpc::kernels
