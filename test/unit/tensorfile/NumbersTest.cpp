//===- NumbersTest.cpp - Elements as numbers ------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/tensorfile/HostTensor.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace kpc;
using namespace kpc::tensorfile;

TEST(Numbers, EveryHalfSurvives) {
  for (uint32_t Bits = 0; Bits < 65536; ++Bits) {
    double Value = fromBits(ElementType::F16, Bits);
    if (std::isnan(Value)) {
      EXPECT_EQ(Bits & 0x7C00, 0x7C00u);
      EXPECT_EQ(toHalf(static_cast<float>(Value)) & 0x7C00, 0x7C00);
      continue;
    }
    ASSERT_EQ(toHalf(static_cast<float>(Value)), Bits) << Value;
  }
}

TEST(Numbers, EveryBfloatSurvives) {
  for (uint32_t Bits = 0; Bits < 65536; ++Bits) {
    auto Value = static_cast<float>(fromBits(ElementType::BF16, Bits));
    auto Expected = std::bit_cast<float>(Bits << 16);
    if (std::isnan(Expected)) {
      EXPECT_TRUE(std::isnan(Value));
      continue;
    }
    ASSERT_EQ(std::bit_cast<uint32_t>(Value), Bits << 16);
    ASSERT_EQ(toBfloat(Value), Bits);
  }
}

// Between two neighbours the nearer one is taken, in the middle the even one.
TEST(Numbers, HalvesAreRoundedToNearestEven) {
  for (uint32_t Bits = 0; Bits < 0x7BFF; ++Bits) {
    double Low = fromBits(ElementType::F16, Bits);
    double High = fromBits(ElementType::F16, Bits + 1);
    double Middle = (Low + High) / 2;
    uint32_t Even = Bits % 2 ? Bits + 1 : Bits;
    auto AsFloat = static_cast<float>(Middle);
    ASSERT_EQ(toHalf(AsFloat), Even) << Middle;
    ASSERT_EQ(toHalf(std::nextafterf(AsFloat, 0)), Bits) << Middle;
    ASSERT_EQ(toHalf(std::nextafterf(AsFloat, INFINITY)), Bits + 1) << Middle;
  }
  EXPECT_EQ(toHalf(65519.996f), 0x7BFF);
  EXPECT_EQ(toHalf(65520.0f), 0x7C00);
  EXPECT_EQ(toHalf(-INFINITY), 0xFC00);
}

// The tables of the 8-bit formats: largest values and special codes.
TEST(Numbers, NarrowFloats) {
  EXPECT_EQ(fromBits(ElementType::F8E4M3FN, 0x7E), 448);
  EXPECT_TRUE(std::isnan(fromBits(ElementType::F8E4M3FN, 0x7F)));
  EXPECT_EQ(fromBits(ElementType::F8E4M3FNUZ, 0x7F), 240);
  EXPECT_TRUE(std::isnan(fromBits(ElementType::F8E4M3FNUZ, 0x80)));
  EXPECT_EQ(fromBits(ElementType::F8E5M2, 0x7B), 57344);
  EXPECT_EQ(fromBits(ElementType::F8E5M2, 0xFC), -INFINITY);
  EXPECT_EQ(fromBits(ElementType::F8E5M2FNUZ, 0x7F), 57344);
  EXPECT_TRUE(std::isnan(fromBits(ElementType::F8E5M2FNUZ, 0x80)));
  EXPECT_EQ(fromBits(ElementType::F8E8M0, 127), 1);
  EXPECT_TRUE(std::isnan(fromBits(ElementType::F8E8M0, 255)));
  EXPECT_EQ(fromBits(ElementType::F4E2M1, 7), 6);
  EXPECT_EQ(fromBits(ElementType::F4E2M1, 9), -0.5);
}

TEST(Numbers, PackedIntegers) {
  uint8_t Data[] = {0x8F, 0x01}; // 15, 8, 1
  auto Unsigned = toDoubles(ElementType::U4, Data, 3);
  auto Signed = toDoubles(ElementType::I4, Data, 3);
  ASSERT_TRUE(Unsigned && Signed);
  EXPECT_EQ(*Unsigned, (std::vector<double>{15, 8, 1}));
  EXPECT_EQ(*Signed, (std::vector<double>{-1, -8, 1}));
  uint8_t Two[] = {0xE4}; // 0, 1, 2, 3
  EXPECT_EQ(*toDoubles(ElementType::I2, Two, 4),
            (std::vector<double>{0, 1, -2, -1}));
}

TEST(Numbers, ConversionSaturates) {
  auto T = makeTensor("x", ElementType::F64, {4});
  double Values[] = {1e30, -1e30, NAN, 2.5};
  std::memcpy(T->Data.data(), Values, sizeof(Values));
  auto Bytes = convert(*T, ElementType::I8);
  ASSERT_TRUE(Bytes);
  auto *Got = reinterpret_cast<const int8_t *>(Bytes->Data.data());
  EXPECT_EQ(Got[0], 127);
  EXPECT_EQ(Got[1], -128);
  EXPECT_EQ(Got[2], 0);
  EXPECT_EQ(Got[3], 2);
  EXPECT_FALSE(convert(*T, ElementType::C64));
}

TEST(Numbers, Sizes) {
  auto Bytes = [](ElementType Type, std::vector<int64_t> Dims) {
    return tensorBytes(Type, Dims);
  };
  EXPECT_EQ(Bytes(ElementType::F32, {}), 4u);
  EXPECT_EQ(Bytes(ElementType::F32, {0, 1 << 20}), 0u);
  EXPECT_EQ(Bytes(ElementType::U4, {3}), 2u);
  EXPECT_EQ(Bytes(ElementType::F32, {-1}), std::nullopt);
  EXPECT_EQ(Bytes(ElementType::F32, {INT64_MAX, 4}), std::nullopt);
  EXPECT_EQ(Bytes(ElementType::F32, {INT64_MAX, 4, 0}), std::nullopt);
  EXPECT_THROW(AlignedBytes(size_t(1) << 60), std::bad_alloc);
}
