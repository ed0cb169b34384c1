//===- TileKernelTest.cpp - GEMMs on tensor cores, assembled --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What ptxas makes of the kernels that builders for tensor cores write. A line
/// C75xx means that it serialised the products, and spills that the sums do not
/// fit the registers: both are right and slow, so that nothing but this sees
/// them.
///
//===----------------------------------------------------------------------===//
#include "Assembled.h"
#include "GemmText.h"

using namespace kpc;
using namespace kpc::testing;

namespace {

/// On Hopper: A, B and D, and the bias of a finished product, whose part of a
/// tile goes through shared memory.
size_t mapsOf(const Product &P) { return P.Finished ? 4 : 3; }

class TileKernel : public ::testing::TestWithParam<Product> {};

TEST_P(TileKernel, IsAssembledWithoutLoss) {
  expectNoLoss(textOf(GetParam()).text(),
               {"gemm ", OfHopper, mapsOf(GetParam())});
}

const Product Products[] = {
    {"square_8192", "bf16", 8192, 8192, 8192},
    {"wide_3072", "bf16", 4096, 3072, 768},
    {"narrow_768", "f16", 4096, 768, 3072},
    {"small", "bf16", 17, 72, 40},
    {"eight_rows", "f16", 8, 64, 64},
    {"odd_columns", "bf16", 300, 520, 1000},
    {"transposed", "bf16", 4096, 4096, 4096, /*Transposed=*/true},
    {"finished", "f16", 4096, 4096, 4096, false, /*Finished=*/true},
    {"transposed_finished", "bf16", 512, 768, 768, true, true},
    {"batched", "bf16", 384, 384, 64, false, false, /*Batch=*/192},
    {"batched_transposed", "f16", 384, 64, 384, true, false, 12},
    {"batched_finished", "bf16", 128, 256, 512, false, true, 32},
};

INSTANTIATE_TEST_SUITE_P(Gemm, TileKernel, ::testing::ValuesIn(Products),
                         [](const ::testing::TestParamInfo<Product> &Info) {
                           return std::string(Info.param.Name);
                         });

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

class GateKernel : public ::testing::TestWithParam<Product> {};

TEST_P(GateKernel, IsAssembledWithoutLoss) {
  expectNoLoss(gateOf(GetParam()).text(), {"gemm ", OfHopper, 4});
}

INSTANTIATE_TEST_SUITE_P(
    Gemm, GateKernel,
    ::testing::Values(Product{"gate_8192", "f16", 4096, 8192, 2048},
                      Product{"gate_transposed", "bf16", 512, 11008, 4096,
                              true},
                      Product{"gate_few_rows", "f16", 64, 8192, 2048}),
    [](const ::testing::TestParamInfo<Product> &Info) {
      return std::string(Info.param.Name);
    });

class TurnedKernel : public ::testing::TestWithParam<RotatedHeads> {};

TEST_P(TurnedKernel, IsAssembledWithoutLoss) {
  expectNoLoss(turnedOf(GetParam()).text(), {"gemm ", OfHopper, 3});
}

INSTANTIATE_TEST_SUITE_P(
    Gemm, TurnedKernel,
    ::testing::Values(RotatedHeads{"heads_of_64", 4096, 48, 32, 2048},
                      RotatedHeads{"heads_of_128", 8192, 64, 64, 4096},
                      RotatedHeads{"heads_of_32", 4096, 48, 16, 1024},
                      RotatedHeads{"heads_of_96", 4096, 32, 48, 2048},
                      RotatedHeads{"neighbours", 4096, 48, 32, 2048, true},
                      RotatedHeads{"few_rows", 64, 48, 32, 2048}),
    [](const ::testing::TestParamInfo<RotatedHeads> &Info) {
      return std::string(Info.param.Name);
    });

/// The same where warpgroups take turns: each has a whole tile's sums.
std::string withSchedule(std::string Text, const char *Schedule) {
  Text.insert(Text.find("attributes {") + 12,
              "kernel.forced_schedule = #kernel.schedule<\"" +
                  std::string(Schedule) + "\">, ");
  return Text;
}

TEST(PingPongKernel, IsAssembledWithoutLoss) {
  for (const char *Schedule :
       {"gemm 128x192x64 stages 4 group_m 8 pingpong",
        "gemm 128x128x64 stages 5 group_m 8 pingpong",
        "gemm 64x256x64 stages 4 group_m 8 pingpong",
        "gemm 64x192x64 stages 4 group_m 8 pingpong",
        "gemm 64x128x64 stages 4 group_m 8 cluster 2x1 pingpong"})
    for (size_t Which : {1, 6, 7, 9}) // plain, transposed, finished, batched
      if (isInSample(Schedule, Which, 3))
        expectNoLoss(withSchedule(textOf(Products[Which]).text(), Schedule),
                     {Schedule, OfHopper, mapsOf(Products[Which])});
  for (const char *Schedule : {"gemm 128x128x64 stages 4 group_m 8 pingpong",
                               "gemm 64x256x64 stages 3 group_m 8 pingpong"})
    expectNoLoss(withSchedule(gateOf({"gate", "f16", 4096, 8192, 2048}).text(),
                              Schedule),
                 {Schedule, OfHopper, 4});
  expectNoLoss(
      withSchedule(turnedOf({"heads_of_64", 4096, 48, 32, 2048}).text(),
                   "gemm 64x128x64 stages 4 group_m 8 pingpong"),
      {"gemm 64x128x64 stages 4 group_m 8 pingpong", OfHopper, 3});
}

class TensorMemoryKernel : public ::testing::TestWithParam<Product> {};

TEST_P(TensorMemoryKernel, IsAssembledWithoutLoss) {
  unsigned Number = 0;
  for (const char *Chip : {"sm_100a", "sm_103a", "sm_110a"})
    if (isInSample(GetParam().Name, Number++, 3))
      expectNoLoss(textOf(GetParam()).text(), {"gemm ", OfBlackwell, 3}, Chip);
}

/// By one block and by a pair, whichever is ranked first.
TEST_P(TensorMemoryKernel, IsAssembledByForce) {
  unsigned Number = 0;
  for (const char *Schedule : {"gemm 128x64x64 stages 2 group_m 1",
                               "gemm 128x192x64 stages 4 group_m 8",
                               "gemm 128x256x64 stages 4 group_m 8",
                               "gemm 256x128x64 stages 4 group_m 4 pair",
                               "gemm 256x256x64 stages 6 group_m 8 pair"}) {
    if (!isInSample(GetParam().Name, Number++, 3))
      continue;
    std::string Text = textOf(GetParam()).text();
    size_t At = Text.find("attributes {");
    ASSERT_NE(At, std::string::npos);
    Text.insert(At + 12, "kernel.forced_schedule = #kernel.schedule<\"" +
                             std::string(Schedule) + "\">, ");
    expectNoLoss(Text, {Schedule, OfBlackwell, 3}, "sm_100a");
  }
}

INSTANTIATE_TEST_SUITE_P(Gemm, TensorMemoryKernel,
                         ::testing::ValuesIn(Products),
                         [](const ::testing::TestParamInfo<Product> &Info) {
                           return std::string(Info.param.Name);
                         });

TEST_P(GateKernel, IsAssembledWithTensorMemory) {
  if (isInSample(GetParam().Name, 1, 3))
    expectNoLoss(gateOf(GetParam()).text(), {"gemm ", OfBlackwell, 4},
                 "sm_100a");
}

TEST_P(TurnedKernel, IsAssembledWithTensorMemory) {
  // No parts of the epilogue have whole heads of 96.
  if (GetParam().Half != 48 && isInSample(GetParam().Name, 1, 3))
    expectNoLoss(turnedOf(GetParam()).text(), {"gemm ", OfBlackwell, 3},
                 "sm_100a");
}

/// Both, by pairs and in the widest tiles.
TEST(TensorMemoryEpilogue, IsAssembledWithoutLoss) {
  for (const char *Schedule : {"gemm 128x256x64 stages 4 group_m 8",
                               "gemm 256x256x64 stages 6 group_m 8 pair"}) {
    expectNoLoss(withSchedule(gateOf({"gate", "f16", 4096, 8192, 2048}).text(),
                              Schedule),
                 {Schedule, OfBlackwell, 4}, "sm_100a");
    for (int64_t Half : {16, 32, 64})
      if (isInSample(Schedule, Half / 32, 3))
        expectNoLoss(
            withSchedule(turnedOf({"heads", 4096, 48, Half, 2048}).text(),
                         Schedule),
            {Schedule, OfBlackwell, 3}, "sm_100a");
  }
}

//===----------------------------------------------------------------------===//
// The same on mma.sync
//===----------------------------------------------------------------------===//

const char *const SyncChips[] = {"sm_80", "sm_86", "sm_89", "sm_120a"};

class SyncKernel
    : public ::testing::TestWithParam<std::tuple<const char *, Product>> {};

TEST_P(SyncKernel, IsAssembledWithoutLoss) {
  auto [Target, P] = GetParam();
  if (!isChipInSample(SyncChips, Target, P.Name))
    return;
  expectNoLoss(
      textOf(P).text(),
      {"mmasync ", {"mma.sync.aligned.m16n8k16", "ldmatrix", "cp.async."}, 0},
      Target);
}

INSTANTIATE_TEST_SUITE_P(
    Gemm, SyncKernel,
    ::testing::Combine(::testing::ValuesIn(SyncChips),
                       ::testing::ValuesIn(Products)),
    [](const ::testing::TestParamInfo<SyncKernel::ParamType> &Info) {
      return std::string(std::get<0>(Info.param)) + "_" +
             std::get<1>(Info.param).Name;
    });

const std::vector<const char *> OfSync = {"mma.sync.aligned.m16n8k16",
                                          "ldmatrix", "cp.async."};

class SyncGateKernel : public SyncKernel {};

TEST_P(SyncGateKernel, IsAssembledWithoutLoss) {
  auto [Target, P] = GetParam();
  if (isChipInSample(SyncChips, Target, P.Name))
    expectNoLoss(gateOf(P).text(), {"mmasync ", OfSync, 0}, Target);
}

INSTANTIATE_TEST_SUITE_P(
    Gemm, SyncGateKernel,
    ::testing::Combine(
        ::testing::ValuesIn(SyncChips),
        ::testing::Values(Product{"gate_8192", "f16", 4096, 8192, 2048},
                          Product{"gate_transposed", "bf16", 512, 11008, 4096,
                                  true},
                          Product{"gate_few_rows", "f16", 64, 8192, 2048},
                          Product{"gate_short", "bf16", 128, 1024, 512})),
    [](const ::testing::TestParamInfo<SyncKernel::ParamType> &Info) {
      return std::string(std::get<0>(Info.param)) + "_" +
             std::get<1>(Info.param).Name;
    });

/// Of each warpgroup's tile, whichever is ranked first.
TEST(SyncGate, IsAssembledByForce) {
  for (const char *Schedule :
       {"mmasync 128x128x32 warpgroup 128x64 stages 4 group_m 8",
        "mmasync 128x256x64 warpgroup 128x128 stages 2 group_m 8",
        "mmasync 256x128x32 warpgroup 128x128 stages 3 group_m 8",
        "mmasync 128x128x64 warpgroup 128x128 stages 2 group_m 8",
        "mmasync 64x128x64 warpgroup 64x64 stages 3 group_m 8"})
    for (const char *Target : SyncChips)
      if (isChipInSample(SyncChips, Target, Schedule))
        expectNoLoss(
            withSchedule(gateOf({"gate", "f16", 4096, 8192, 2048}).text(),
                         Schedule),
            {Schedule, OfSync, 0}, Target);
}

class SyncRopeKernel
    : public ::testing::TestWithParam<std::tuple<const char *, RotatedHeads>> {
};

TEST_P(SyncRopeKernel, IsAssembledWithoutLoss) {
  auto [Target, H] = GetParam();
  if (isChipInSample(SyncChips, Target, H.Name))
    expectNoLoss(turnedOf(H).text(), {"mmasync ", OfSync, 0}, Target);
}

INSTANTIATE_TEST_SUITE_P(
    Gemm, SyncRopeKernel,
    ::testing::Combine(
        ::testing::ValuesIn(SyncChips),
        ::testing::Values(RotatedHeads{"heads_of_64", 4096, 48, 32, 2048},
                          RotatedHeads{"heads_of_128", 8192, 64, 64, 4096},
                          RotatedHeads{"heads_of_32", 4096, 48, 16, 1024},
                          RotatedHeads{"heads_of_16", 4096, 48, 8, 1024},
                          RotatedHeads{"neighbours", 4096, 48, 32, 2048, true},
                          RotatedHeads{"few_rows", 64, 48, 32, 2048})),
    [](const ::testing::TestParamInfo<std::tuple<const char *, RotatedHeads>>
           &Info) {
      return std::string(std::get<0>(Info.param)) + "_" +
             std::get<1>(Info.param).Name;
    });

TEST(SyncRope, IsAssembledByForce) {
  struct Tile {
    const char *Schedule;
    std::vector<int64_t> Halves;
  };
  for (auto [Schedule, Halves] :
       {Tile{"mmasync 128x128x32 warpgroup 128x128 stages 3 group_m 8", {64}},
        Tile{"mmasync 256x128x32 warpgroup 128x128 stages 3 group_m 8", {64}},
        Tile{"mmasync 128x128x64 warpgroup 64x128 stages 2 group_m 8", {64, 8}},
        Tile{"mmasync 128x128x64 warpgroup 128x64 stages 2 group_m 8",
             {32, 16, 8}},
        Tile{"mmasync 128x128x32 warpgroup 128x64 stages 3 group_m 8", {32, 8}},
        Tile{"mmasync 64x128x64 warpgroup 64x64 stages 3 group_m 8", {32}}})
    for (const char *Target : SyncChips)
      if (isChipInSample(SyncChips, Target, Schedule))
        for (int64_t Half : Halves) {
          SCOPED_TRACE(std::string(Target) + " half " + std::to_string(Half));
          expectNoLoss(
              withSchedule(
                  turnedOf({"heads", 4096, 2048 / Half, Half, 2048}).text(),
                  Schedule),
              {Schedule, OfSync, 0}, Target);
        }
}

} // namespace
