//===- HostTileBlocks.cpp - How large a unit of host tiles is -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A unit is what one task computes: so large that its panels and regions pay,
// so small that regions fit the task's stack and threads have units to share.
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/host/HostTilePlan.h"

using namespace mlir;

namespace kpc::kernels {

/// Rows of a unit when a panel is shared by them: enough to pay for filling it.
static constexpr int64_t PanelRows = 256;
/// Most bytes of a region, on the stack of a task.
static constexpr int64_t RegionBytes = 512 * 1024;
/// Units to have, if sizes allow it, for threads to share.
static constexpr int64_t EnoughUnits = 8;

/// Groups outside of the row group that share the panels.
static void blockOtherRows(TilePlan &Plan, int64_t Target) {
  for (int G = int(Plan.vectorGroup()) - 1; G >= 0; --G) {
    if (G == Plan.Row)
      continue;
    bool Shares = llvm::none_of(Plan.Operands, [&](const TileOperand &One) {
      return One.From == TileOperand::Source::Panel &&
             One.dependsOn(Plan.Parallel[G]);
    });
    if (!Shares)
      continue;
    int64_t Room = std::max<int64_t>(Target / Plan.unitRows(), 1);
    int64_t Size = Plan.Parallel[G].constant().value_or(1 << 30);
    // Blocks of about the same size.
    if (Size > 0 && Size < (1 << 30) && Room < Size)
      Room = llvm::divideCeil(Size, llvm::divideCeil(Size, Room));
    Plan.Blocks[G] = std::max<int64_t>(std::min(Room, Size), 1);
  }
}

void chooseBlocks(TilePlan &Plan) {
  bool Panels = Plan.has(TileOperand::Source::Panel);
  bool Regions = Plan.has(TileOperand::Source::Region);
  Plan.Blocks.assign(Plan.Parallel.size(), 1);
  if (Plan.Row >= 0) {
    int64_t Target =
        Panels || Regions ? PanelRows : std::max(Plan.Rows * 4u, 16u);
    int64_t Size = Plan.Parallel[Plan.Row].constant().value_or(1 << 30);
    int64_t Block = std::max<int64_t>(Target / Plan.Rows, 1) * Plan.Rows;
    if (Size <= Target + Target / 2)
      Block = std::max<int64_t>(Size, 1);
    Plan.Blocks[Plan.Row] = Block;
    if (Panels || Regions)
      blockOtherRows(Plan, Target);
  }
  // Columns: more of them where a region is shared by them.
  int64_t Columns = Plan.tileColumns();
  int64_t Panel = std::max<int64_t>(
      llvm::divideCeil(Plan.Parallel.back().Typical, Columns), 1);
  int64_t RowUnits = 1;
  for (unsigned G = 0; G < Plan.vectorGroup(); ++G)
    RowUnits *= std::max<int64_t>(
        llvm::divideCeil(Plan.Parallel[G].Typical, Plan.Blocks[G]), 1);
  int64_t Width = 1;
  if (Regions || !Panels)
    Width = std::clamp<int64_t>(Panel * RowUnits / EnoughUnits, 1, Panel);
  Plan.Blocks.back() = Columns * Width;
}

/// Iterations of `Loop` in one unit.
static std::optional<int64_t> extentOf(const TilePlan &Plan, unsigned Loop) {
  for (auto [Group, Block] : llvm::zip_equal(Plan.Parallel, Plan.Blocks))
    if (llvm::is_contained(Group.Loops, Loop)) {
      return Loop == Group.last() ? Block : 1;
    }
  return constantOf(Plan.LoopSizes[Loop]);
}

/// The box of a region operand's index space that one unit reads; false where
/// it is no number.
static bool boxOf(const TilePlan &Plan, TileOperand &One) {
  One.Box.clear();
  for (AffineExpr Expr : One.Map.getResults()) {
    int64_t Extent = 1;
    for (unsigned Loop = 0; Loop < Plan.LoopSizes.size(); ++Loop) {
      int64_t Factor = factorOf(Expr, Loop);
      if (Factor == 0)
        continue;
      auto Size = extentOf(Plan, Loop);
      if (!Size)
        return false;
      Extent += Factor * std::max<int64_t>(*Size - 1, 0);
    }
    One.Box.push_back(Extent);
  }
  One.BoxStrides.assign(One.Box.size(), 1);
  for (int I = int(One.Box.size()) - 2; I >= 0; --I) {
    One.BoxStrides[I] = One.BoxStrides[I + 1] * One.Box[I + 1];
  }
  return true;
}

/// Gives up on a region: elements are computed where they are used.
static void pull(TileOperand &One) {
  One.From = TileOperand::Source::Pull;
  One.Lift = nullptr;
  One.Box.clear();
}

/// Halves a block; false where none can be.
static bool shrinkBlocks(TilePlan &Plan) {
  for (unsigned G = 0; G < Plan.vectorGroup(); ++G)
    if (int(G) != Plan.Row && Plan.Blocks[G] > 1) {
      Plan.Blocks[G] = llvm::divideCeil(Plan.Blocks[G], 2);
      return true;
    }
  if (Plan.Row >= 0 && Plan.Blocks[Plan.Row] > Plan.Rows) {
    int64_t Half = Plan.Blocks[Plan.Row] / 2;
    Plan.Blocks[Plan.Row] = std::max<int64_t>(Half / Plan.Rows, 1) * Plan.Rows;
    return true;
  }
  if (Plan.Blocks.back() > Plan.tileColumns()) {
    Plan.Blocks.back() =
        llvm::divideCeil(Plan.Blocks.back() / Plan.tileColumns(), 2) *
        Plan.tileColumns();
    return true;
  }
  return false;
}

void shapeRegions(TilePlan &Plan) {
  while (true) {
    int64_t Bytes = 0;
    for (TileOperand &One : Plan.Operands) {
      if (One.From != TileOperand::Source::Region)
        continue;
      if (!boxOf(Plan, One)) {
        pull(One);
        continue;
      }
      unsigned Bits =
          One.Element.isIndex() ? 64 : One.Element.getIntOrFloatBitWidth();
      Bytes += One.boxElements() * (Bits / 8);
    }
    if (Bytes <= RegionBytes)
      return;
    if (shrinkBlocks(Plan))
      continue;
    if (Bytes > 2 * RegionBytes)
      for (TileOperand &One : Plan.Operands)
        if (One.From == TileOperand::Source::Region)
          pull(One);
    return;
  }
}

} // namespace kpc::kernels
