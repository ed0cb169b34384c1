//===- TensorCopyTest.cpp - im2col, stores, the limits of maps ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// What an im2col copy should give is worked out from the convolution that it
// serves: row r of the matrix is output pixel number First + r, and a tap's
// column is the input pixel that the tap sees there.

#include "emulator/execute/TensorMap.h"
#include "emulator/numbers/Formats.h"
#include "test/unit/emulator/Harness.h"

#include <gmock/gmock.h>

#include <cstring>

using namespace kpc::emulator;
using testing::HasSubstr;

namespace {

/// A convolution over N images of H x W pixels.
struct Image {
  int64_t N, D, H, W, C;
  int Stride, Dilation, Filter, Pad;
  bool Deep; ///< five dims
  int64_t out(int64_t Size) const {
    return (Size + 2 * Pad - Dilation * (Filter - 1) - 1) / Stride + 1;
  }
  /// Any bits; of an odd value, so that none is zero.
  static uint16_t element(int64_t At) { return uint16_t(At * 40503 + 1) | 1; }
};

struct Column {
  int64_t First; ///< output pixel
  int Tap[3];    ///< of W, H, D
  int64_t Channel;
  uint32_t Channels, Pixels;
  int Swizzle, Fill;
};

struct Im2col : testing::Test {
  DeviceMemory Memory{1 << 24};
  std::optional<Finding> Trouble;
  std::string Errors;
  std::vector<uint8_t> Out;

  void run(const Image &I, const Column &C);
  void check(const Image &I, const Column &C);
  static std::string text(const Image &I, const Column &C);
};

/// Coordinates of output pixel `At` without the tap: w, h, d, n.
std::vector<int64_t> baseOf(const Image &I, int64_t At) {
  std::vector<int64_t> Base;
  for (int64_t Size : {I.W, I.H, I.D}) {
    if (Size == I.D && !I.Deep && Base.size() == 2)
      break;
    Base.push_back(At % I.out(Size) * I.Stride - I.Pad);
    At /= I.out(Size);
  }
  Base.push_back(At);
  return Base;
}

std::string list(const std::vector<int64_t> &Values) {
  std::string Out;
  for (int64_t V : Values)
    Out += (Out.empty() ? "" : ", ") + std::to_string(V);
  return "{" + Out + "}";
}

std::string Im2col::text(const Image &I, const Column &C) {
  uint32_t Bytes = C.Pixels * C.Channels * 2;
  std::vector<int64_t> Start = baseOf(I, C.First), Taps;
  Start.insert(Start.begin(), C.Channel);
  for (size_t D = 0; D + 2 < Start.size(); ++D)
    Taps.push_back(C.Tap[D] * I.Dilation);
  std::string Dims = I.Deep ? "5d" : "4d";
  return ".version 8.8 .target sm_90a .address_size 64\n"
         ".extern .shared .align 1024 .b8 s[];\n"
         ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 out) {\n"
         ".reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>;\n"
         "mov.u32 %r1, s; mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1;\n"
         "mbarrier.init.shared::cta.b64 [%r1+32768], 1;\n"
         "fence.mbarrier_init.release.cluster;\n"
         "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+32768], " +
         std::to_string(Bytes) +
         ";\n"
         "cp.async.bulk.tensor." +
         Dims +
         ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], "
         "[%rd1, " +
         list(Start) + "], [%r1+32768], " + list(Taps) +
         ";\n"
         "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1+32768], 0;\n"
         "@!%p1 bra W; ld.param.u64 %rd2, [out]; mov.u32 %r2, 0;\n"
         "L: ld.shared.b16 %rs1, [%r1]; st.global.b16 [%rd2], %rs1;\n"
         "add.u32 %r1, %r1, 2; add.u64 %rd2, %rd2, 2; add.u32 %r2, %r2, 2;\n"
         "setp.lt.u32 %p2, %r2, " +
         std::to_string(C.Swizzle ? (C.Pixels - 1) * (16u << C.Swizzle) +
                                        C.Channels * 2
                                  : Bytes) +
         "; @%p2 bra L; ret; }\n";
}

void Im2col::run(const Image &I, const Column &C) {
  std::string Text = text(I, C);
  Text.insert(Text.find(".reg .b32"), ".reg .b16 %rs<4>; ");
  std::vector<LoadError> All;
  auto Loaded = LoadedModule::load(Text, Memory, All);
  Errors = describe(All);
  if (!Loaded)
    return;
  int64_t Count = I.N * I.D * I.H * I.W * I.C;
  uint64_t In = Memory.allocate(uint64_t(Count) * 2),
           To = Memory.allocate(32768);
  for (int64_t At = 0; At < Count; ++At)
    reinterpret_cast<uint16_t *>(In)[At] = Image::element(At);
  std::vector<uint64_t> Dims{uint64_t(I.C), uint64_t(I.W), uint64_t(I.H)};
  if (I.Deep)
    Dims.push_back(uint64_t(I.D));
  Dims.push_back(uint64_t(I.N));
  std::vector<uint64_t> Strides;
  for (uint64_t Bytes = 2; uint64_t D : Dims)
    Strides.push_back(Bytes *= D);
  int Reach = I.Dilation * (I.Filter - 1);
  int Lower[] = {-I.Pad, -I.Pad, -I.Pad},
      Upper[] = {I.Pad - Reach, I.Pad - Reach, I.Pad - Reach};
  auto Step = uint32_t(I.Stride);
  uint32_t Steps[] = {1, Step, Step, I.Deep ? Step : 1, 1};
  TensorMap Map;
  Errors +=
      encodeIm2col(Map, C.Fill ? 9 : 1, uint32_t(Dims.size()), In, Dims.data(),
                   Strides.data(), {Lower, Upper, C.Channels, C.Pixels}, Steps,
                   0, C.Swizzle, C.Fill);
  std::vector<uint8_t> Parameters(sizeof Map + 8);
  std::memcpy(Parameters.data(), &Map, sizeof Map);
  std::memcpy(&Parameters[sizeof Map], &To, 8);
  LaunchShape Shape;
  Shape.DynamicShared = 32768 + 64;
  Trouble = launch(*Loaded->find("k"), Shape, Parameters, Memory, {}).Trouble;
  Out.assign(reinterpret_cast<uint8_t *>(To),
             reinterpret_cast<uint8_t *>(To) + 32768);
}

void Im2col::check(const Image &I, const Column &C) {
  run(I, C);
  ASSERT_EQ(Errors, "");
  // What swizzles leave free between lines was never written.
  bool Gaps = C.Swizzle && C.Channels * 2 < 16u << C.Swizzle;
  if (Gaps) {
    ASSERT_TRUE(Trouble);
    EXPECT_STREQ(nameOf(Trouble->Kind), "uninitialised-shared");
    return;
  }
  ASSERT_EQ(Trouble ? Trouble->text() : "", "");
  uint32_t Pitch = C.Swizzle ? 16u << C.Swizzle : C.Channels * 2;
  constexpr uint32_t Turned[] = {0, 0x10, 0x30, 0x70};
  for (uint32_t Row = 0; Row < C.Pixels; ++Row) {
    std::vector<int64_t> At = baseOf(I, C.First + Row);
    for (size_t D = 0; D + 1 < At.size(); ++D)
      At[D] += C.Tap[D] * I.Dilation;
    if (!I.Deep)
      At.insert(At.begin() + 2, 0);
    bool Inside = At[0] >= 0 && At[0] < I.W && At[1] >= 0 && At[1] < I.H &&
                  At[2] >= 0 && At[2] < I.D && At[3] < I.N;
    for (uint32_t Channel = 0; Channel < C.Channels; ++Channel) {
      uint32_t Byte = Row * Pitch + Channel * 2;
      Byte ^= Byte >> 3 & Turned[C.Swizzle];
      uint16_t Got = 0, Want = C.Fill ? 0x7FF7 : 0;
      std::memcpy(&Got, &Out[Byte], 2);
      int64_t From = C.Channel + Channel;
      if (Inside && From < I.C)
        Want = Image::element(
            (((At[3] * I.D + At[2]) * I.H + At[1]) * I.W + At[0]) * I.C + From);
      ASSERT_EQ(Got, Want) << "row " << Row << ", channel " << Channel;
    }
  }
}

TEST_F(Im2col, EverySwizzle) {
  Image I{2, 1, 7, 9, 64, 1, 1, 3, 1, false};
  for (int Swizzle = 0; Swizzle < 4; ++Swizzle)
    for (int Fill : {0, 1}) {
      uint32_t Channels = Swizzle ? 8u << Swizzle : 24;
      check(I, {0, {0, 0, 0}, 0, Channels, 64, Swizzle, Fill});
      check(I, {40, {2, 1, 0}, 8, Channels, 100, Swizzle, Fill});
    }
}

TEST_F(Im2col, StridesDilationsAndTheEnd) {
  for (int Tap = 0; Tap < 3; ++Tap) {
    check({3, 1, 10, 13, 16, 2, 1, 3, 1, false},
          {5, {Tap, 2, 0}, 0, 16, 64, 1, 0});
    check({3, 1, 10, 13, 16, 2, 2, 3, 2, false},
          {0, {1, Tap, 0}, 0, 16, 128, 1, 0});
    check({3, 1, 10, 13, 16, 3, 1, 3, 0, false},
          {7, {Tap, Tap, 0}, 0, 8, 64, 0, 0});
    // Behind the last image all is outside; channels end inside of the copy.
    check({1, 1, 4, 4, 24, 1, 1, 3, 1, false},
          {8, {Tap, 0, 0}, 0, 32, 32, 2, 0});
  }
}

TEST_F(Im2col, FiveDims) {
  for (int Tap = 0; Tap < 3; ++Tap)
    check({2, 4, 5, 6, 32, 1, 1, 3, 1, true},
          {11, {1, 2, Tap}, 0, 32, 200, 2, 0});
}

TEST_F(Im2col, NarrowLinesLeaveGaps) {
  check({1, 1, 4, 4, 16, 1, 1, 1, 0, false}, {0, {0, 0, 0}, 0, 16, 8, 3, 0});
}

TEST_F(Im2col, MapsAndInstructionsAgree) {
  Image I{1, 1, 4, 4, 16, 1, 1, 3, 1, false};
  Column C{0, {0, 0, 0}, 0, 16, 8, 0, 0};
  std::string Text = text(I, C);
  EXPECT_THAT(Text, HasSubstr(".im2col."));
  int Corner[] = {0, 0, 0}, Low[] = {-129, 0};
  uint64_t Dims[] = {16, 4, 4, 1}, Strides[] = {32, 128, 512};
  uint32_t Steps[] = {1, 1, 1, 1};
  TensorMap M;
  auto With = [&](uint32_t Rank, const int *Lower, uint32_t Channels,
                  uint32_t Pixels) {
    return encodeIm2col(M, 6, Rank, 1 << 20, Dims, Strides,
                        {Lower, Corner, Channels, Pixels}, Steps, 0, 0, 0);
  };
  EXPECT_EQ(With(4, Corner, 16, 1024), "");
  EXPECT_EQ(M.boxBytes(), 16u * 1024 * 2);
  EXPECT_EQ(With(2, Corner, 16, 8), "rank");
  EXPECT_EQ(With(4, Low, 16, 8), "corner of dim 1");
  EXPECT_EQ(With(4, Corner, 257, 8), "channels of a pixel");
  EXPECT_EQ(With(4, Corner, 16, 1025), "pixels of a column");
  EXPECT_EQ(With(4, Corner, 4, 8),
            "the box's inner bytes are no multiple of 16");
}

/// What a copy of one tile of 32 x 4 numbers into a tensor gives; `Type` is a
/// CUtensorMapDataType.
std::string store(const std::string &Opcode, const std::string &Reduction,
                  int Type, const std::string &Coordinates) {
  DeviceMemory Memory(1 << 20);
  uint64_t Tensor = Memory.allocate(4096);
  TensorMap Map;
  uint64_t Dims[] = {32, 4}, Strides[] = {256};
  uint32_t Box[] = {16, 4}, Ones[] = {1, 1};
  EXPECT_EQ(
      encodeTiled(Map, Type, 2, Tensor, Dims, Strides, Box, Ones, 0, 0, 0), "");
  std::string Text =
      ".version 8.8 .target sm_90a .address_size 64\n"
      ".visible .entry k(.param .align 64 .b8 map[128]) {\n"
      ".reg .b32 %r<8>; .reg .b64 %rd<8>; .shared .align 128 .b8 s[512];\n"
      "mov.u32 %r1, %tid.x; mov.u32 %r2, s; mad.lo.u32 %r3, %r1, 16, %r2;\n"
      "st.shared.v4.b32 [%r3], {%r1, %r1, %r1, %r1};\n"
      "fence.proxy.async.shared::cta; bar.sync 0; mov.b64 %rd1, map;\n"
      "cvta.param.u64 %rd1, %rd1; setp.ne.u32 %p1, %r1, 0; @%p1 exit;\n" +
      Opcode + ".async.bulk.tensor.2d.global.shared::cta" + Reduction +
      ".tile.bulk_group [%rd1, {" + Coordinates +
      "}], [%r2];\n"
      "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret; }\n";
  Text.replace(Text.find(".reg .b32"), 0, ".reg .pred %p<4>; ");
  std::vector<LoadError> Errors;
  auto M = LoadedModule::load(Text, Memory, Errors);
  EXPECT_EQ(describe(Errors), "");
  if (!M)
    return "load";
  std::vector<uint8_t> Parameters(sizeof Map);
  std::memcpy(Parameters.data(), &Map, sizeof Map);
  LaunchShape Shape;
  Shape.Block[0] = 32;
  auto R = launch(*M->find("k"), Shape, Parameters, Memory, {});
  return R.Trouble ? R.Trouble->text() : std::string();
}

TEST(TensorStores, WhatHardwareRefuses) {
  constexpr int U64 = 4, S64 = 5;
  EXPECT_EQ(store("cp", "", U64, "16, 2"), "");
  EXPECT_EQ(store("cp.reduce", ".and", U64, "0, 0"), "");
  EXPECT_EQ(store("cp.reduce", ".min", S64, "0, 0"), "");
  EXPECT_THAT(store("cp", "", U64, "0, -1"), HasSubstr("negative coordinate"));
  EXPECT_THAT(store("cp.reduce", ".add", U64, "-2, 0"),
              HasSubstr("negative coordinate"));
  EXPECT_THAT(store("cp.reduce", ".and", S64, "0, 0"),
              HasSubstr("have no such reduction"));
  EXPECT_THAT(store("cp.reduce", ".add", S64, "0, 0"),
              HasSubstr("have no such reduction"));
}

} // namespace
