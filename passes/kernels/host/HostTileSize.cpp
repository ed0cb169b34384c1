//===- HostTileSize.cpp - Sizes of register tiles and panels --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/host/HostTilePlan.h"

using namespace mlir;

namespace kpc::kernels {

/// Cycles for one reduction step of a tile, on a core with two multiply-add
/// units of four cycles' latency and two load ports.
static double tileCycles(int64_t Rows, int64_t Vectors, bool Shared) {
  double Fma = Rows * Vectors / 2.0;
  double Loads = Shared ? (Rows + Vectors) / 2.0 : Rows * Vectors / 2.0;
  return std::max({Fma, Loads, 4.0}) + 0.05 * Loads;
}

/// Cycles for one reduction step of all tiles.
static double columnsCost(int64_t Rows, int64_t Vectors, int64_t NumRows,
                          int64_t NumVectors, bool Shared) {
  auto Column = [&](int64_t Width) {
    double Cycles = NumRows / Rows * tileCycles(Rows, Width, Shared);
    if (int64_t Rest = NumRows % Rows)
      Cycles += tileCycles(Rest, Width, Shared) + 0.2;
    return Cycles;
  };
  double Cycles = NumVectors / Vectors * Column(Vectors);
  if (int64_t Rest = NumVectors % Vectors)
    Cycles += Column(Rest) + 0.5;
  return Cycles;
}

void chooseTileSize(TilePlan &Plan, const HostMachine &Machine) {
  bool Shared = llvm::any_of(Plan.Operands,
                             [](const TileOperand &One) {
                               return One.OnVector && !One.OnRow;
                             }) &&
                llvm::any_of(Plan.Operands, [](const TileOperand &One) {
                  return One.OnRow && !One.OnVector;
                });
  int64_t NumRows = Plan.Row < 0 ? 1 : Plan.Parallel[Plan.Row].Typical;
  int64_t NumVectors = std::max<int64_t>(
      llvm::divideCeil(Plan.Parallel.back().Typical, Plan.Lanes), 1);
  int64_t Results = Plan.Root->getNumResults();
  int64_t Registers = Machine.VectorRegisters;
  // Without sharing there is nothing to gain from many rows.
  int64_t MostRows = Shared ? 16 : 4;
  double Best = 0;
  for (int64_t Vectors = 1; Vectors <= std::min<int64_t>(8, NumVectors);
       ++Vectors)
    for (int64_t Rows = 1; Rows <= std::min(MostRows, NumRows); ++Rows) {
      int64_t Needed = Rows * Vectors * Results + Vectors + 1;
      if (Needed > Registers && Rows * Vectors > 1)
        continue;
      if (!Shared && Rows * Vectors > 8)
        continue;
      double Cost = columnsCost(Rows, Vectors, NumRows, NumVectors, Shared);
      if (Best == 0 || Cost < Best * 0.999) {
        Best = Cost;
        Plan.Rows = Rows;
        Plan.Vectors = Vectors;
      }
    }
}

/// Cuts the reduction so that a panel stays in a part of the second cache.
void chooseChunks(TilePlan &Plan, const HostMachine &Machine) {
  Plan.ChunkGroup = 0;
  if (Plan.Reduction.empty() || !Plan.has(TileOperand::Source::Panel))
    return;
  int64_t Bytes = 0;
  for (const TileOperand &One : Plan.Operands)
    if (One.From == TileOperand::Source::Panel)
      Bytes += Plan.tileColumns() *
               std::max(One.Element.getIntOrFloatBitWidth() / 8, 1u);
  int64_t Most = std::max<int64_t>(Machine.L2Bytes / 4 * 3 / Bytes, 8);
  for (int G = int(Plan.Reduction.size()) - 1; G >= 0; --G) {
    auto Size = Plan.Reduction[G].constant();
    if (Size && *Size <= Most) {
      Most /= std::max<int64_t>(*Size, 1);
      continue;
    }
    Plan.Split = true;
    Plan.ChunkGroup = G;
    Plan.Chunk = std::max<int64_t>(Most, 1);
    if (Size) // chunks of about the same size
      Plan.Chunk = llvm::divideCeil(*Size, llvm::divideCeil(*Size, Plan.Chunk));
    return;
  }
}

} // namespace kpc::kernels
