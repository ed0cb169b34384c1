//===- ConvSyncSchedule.cpp - How a convolution on mma.sync is cut --------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/ConvSyncSchedule.h"
#include "passes/schedule/TakeNumber.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string_view>

using namespace kpc;
using namespace kpc::schedule;

namespace {

/// What finding a pixel takes of the issue slots, beside a GEMM's copies: the
/// place under the tap, a comparison for each dimension, the address. Counted
/// in the PTX of two spatial dimensions, not fitted to a chip.
constexpr int64_t SlotsToFindPixel = 8;
/// What each step takes to find its taps and channels, in us. Tiles of 64
/// elements of K took 137 us where those of 32 took 155 (H200, 32 images of
/// 56×56×224, 3×3 taps, 4 groups).
constexpr double StepTime = 0.1;
/// Outputs of all groups of a tile: beyond one tile there is nothing to join.
constexpr int64_t MostJoinedOutputs = 256;

constexpr std::string_view Name = "conv_mmasync ", GemmName = "mmasync ",
                           GroupsWord = " groups ";

MmaSyncShape gemmOf(const ConvSyncSchedule &S, const ConvSyncShape &Shape) {
  MmaSyncShape Gemm;
  Gemm.Batch = Shape.Groups / S.Groups;
  Gemm.M = Shape.Places;
  Gemm.N = Shape.Outputs * S.Groups;
  Gemm.K = Shape.Taps * S.channelsOfTap(Shape);
  Gemm.ElementBytes = Shape.ElementBytes;
  Gemm.ResultBytes = Shape.ResultBytes;
  Gemm.PieceOfA = S.pixelPiece(Shape);
  Gemm.PieceOfB = S.filterPiece(Shape);
  Gemm.MoreSlotsOfA = SlotsToFindPixel;
  Gemm.HasResidual = Shape.HasResidual;
  Gemm.Split = Shape.Split;
  Gemm.IsFp8 = Shape.IsFp8;
  return Gemm;
}

ConvSyncCost costOf(const MmaSyncCost &Gemm, int64_t Groups, int64_t K) {
  ConvSyncCost Cost{{Gemm.Schedule, Groups}, Gemm, 0};
  int64_t Steps = (K + Gemm.Schedule.TileK - 1) / Gemm.Schedule.TileK;
  Cost.Find = Gemm.Tiles * double(Steps) * StepTime;
  Cost.Total = Gemm.Total + Cost.Find;
  return Cost;
}

/// Whether tiles of so many groups cover all, and none twice.
bool canJoin(int64_t Groups, const ConvSyncShape &Shape) {
  return Groups >= 1 && Shape.Groups % Groups == 0 &&
         (Groups == 1 || Groups * Shape.Outputs <= MostJoinedOutputs);
}

/// What one copy moves: `Bytes`, or one element where that is less than
/// cp.async has.
int64_t pieceOf(int64_t Bytes, const ConvSyncShape &Shape) {
  constexpr int64_t LeastCopy = 4;
  return Bytes < LeastCopy ? Shape.ElementBytes : Bytes;
}

} // namespace

int64_t ConvSyncSchedule::pixelPiece(const ConvSyncShape &Shape) const {
  int64_t Piece = Shape.PixelAlignment;
  // A tile's first channel is anywhere where it is not the pixel's first.
  if (Groups != Shape.Groups)
    Piece = std::gcd(Piece, Groups * Shape.Channels * Shape.ElementBytes);
  return pieceOf(Piece, Shape);
}

int64_t ConvSyncSchedule::filterPiece(const ConvSyncShape &Shape) const {
  int64_t Piece = Shape.FilterAlignment;
  // No piece has channels of two taps.
  if (Shape.KMajorFilter)
    Piece = std::gcd(Piece, channelsOfTap(Shape) * Shape.ElementBytes);
  // No piece has channels or outputs of two groups.
  if (Shape.Groups > 1)
    Piece =
        std::gcd(Piece, (Shape.KMajorFilter ? Shape.Channels : Shape.Outputs) *
                            Shape.ElementBytes);
  return pieceOf(Piece, Shape);
}

int64_t ConvSyncSchedule::channelsOfTap(const ConvSyncShape &Shape) const {
  int64_t Piece = pixelPiece(Shape) / Shape.ElementBytes;
  return (Groups * Shape.Channels + Piece - 1) / Piece * Piece;
}

std::string ConvSyncSchedule::str() const {
  std::string Text(Name);
  Text += MmaSyncSchedule::str().substr(GemmName.size());
  if (Groups > 1)
    Text.append(GroupsWord).append(std::to_string(Groups));
  return Text;
}

std::string ConvSyncCost::str() const {
  char Text[64];
  std::snprintf(Text, sizeof Text, ": %.1f us = %.1f find + GEMM of ", Total,
                Find);
  // Behind the GEMM's own schedule and ": ".
  return Schedule.str() + Text +
         Gemm.str().substr(Gemm.Schedule.str().size() + 2);
}

std::vector<ConvSyncCost>
schedule::rankConvSyncSchedules(const ConvSyncShape &Shape,
                                const target::Target &T) {
  std::vector<ConvSyncCost> Ranked;
  for (int64_t Groups = 1; Groups <= Shape.Groups; ++Groups) {
    if (!canJoin(Groups, Shape))
      continue;
    ConvSyncSchedule S;
    S.Groups = Groups;
    for (const MmaSyncCost &One : rankMmaSyncSchedules(gemmOf(S, Shape), T))
      Ranked.push_back(costOf(One, Groups, gemmOf(S, Shape).K));
  }
  std::stable_sort(Ranked.begin(), Ranked.end(),
                   [](const ConvSyncCost &A, const ConvSyncCost &B) {
                     return A.Total < B.Total;
                   });
  return Ranked;
}

std::optional<ConvSyncCost>
schedule::readConvSyncSchedule(const std::string &Text,
                               const ConvSyncShape &Shape,
                               const target::Target &T) {
  std::string_view Rest = Text;
  if (!Rest.starts_with(Name))
    return std::nullopt;
  Rest.remove_prefix(Name.size());
  ConvSyncSchedule S;
  size_t End = Rest.find(GroupsWord);
  std::string Gemm(GemmName);
  Gemm += Rest.substr(0, End);
  if (End != std::string_view::npos) {
    Rest.remove_prefix(End);
    if (!takeNumber(Rest, GroupsWord, S.Groups) || !Rest.empty())
      return std::nullopt;
  }
  if (!canJoin(S.Groups, Shape))
    return std::nullopt;
  std::optional<MmaSyncCost> Cost =
      readMmaSyncSchedule(Gemm, gemmOf(S, Shape), T);
  if (!Cost)
    return std::nullopt;
  return costOf(*Cost, S.Groups, gemmOf(S, Shape).K);
}
