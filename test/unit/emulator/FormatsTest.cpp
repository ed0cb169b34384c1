//===- FormatsTest.cpp - Number formats, every value ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/numbers/Formats.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace kpc::emulator;

namespace {

/// Each finite value comes back; halfway points go to the even neighbour.
void checkFormat(const Format &F) {
  for (uint32_t Bits = 0; Bits <= F.Max; ++Bits) {
    double Value = decode(Bits, F);
    EXPECT_EQ(encode(Value, F, Rounding::Nearest, false), Bits);
    uint32_t Sign = 1u << (F.bits() - 1);
    EXPECT_EQ(encode(-Value, F, Rounding::Nearest, false), Bits | Sign);
    if (Bits == F.Max)
      break;
    double Next = decode(Bits + 1, F), Middle = (Value + Next) / 2;
    ASSERT_LT(Value, Next);
    uint32_t Even = Bits % 2 ? Bits + 1 : Bits;
    EXPECT_EQ(encode(Middle, F, Rounding::Nearest, false), Even);
    EXPECT_EQ(encode(std::nextafter(Middle, 0), F, Rounding::Nearest, false),
              Bits);
    EXPECT_EQ(encode(Middle, F, Rounding::Zero, false), Bits);
    EXPECT_EQ(encode(Middle, F, Rounding::Up, false), Bits + 1);
    EXPECT_EQ(encode(-Middle, F, Rounding::Up, false), Bits | Sign);
    EXPECT_EQ(encode(-Middle, F, Rounding::Down, false), (Bits + 1) | Sign);
  }
}

TEST(Formats, EveryValue) {
  for (const Format &F : {Half, Brain, E4M3, E5M2, E2M3, E3M2, E2M1})
    checkFormat(F);
}

TEST(Formats, FastHalves) {
  for (uint32_t Bits = 0; Bits < 0x10000; ++Bits) {
    auto H = uint16_t(Bits);
    double Want = decode(Bits, Half);
    if (std::isnan(Want)) {
      EXPECT_TRUE(std::isnan(halfToFloat(H)));
      EXPECT_EQ(floatToHalf(halfToFloat(H)), 0x7FFF);
      continue;
    }
    EXPECT_EQ(halfToFloat(H), Want);
    EXPECT_EQ(floatToHalf(halfToFloat(H)), H);
    float Above = std::nextafter(halfToFloat(H), HUGE_VALF);
    EXPECT_EQ(floatToHalf(Above),
              encode(Above, Half, Rounding::Nearest, false));
    float Middle = float((Want + decode((Bits + 1) & 0xFFFF, Half)) / 2);
    if (std::isfinite(Middle))
      EXPECT_EQ(floatToHalf(Middle),
                encode(Middle, Half, Rounding::Nearest, false));
  }
}

/// The published values (OCP FP8 and MX, PTX ISA).
TEST(Formats, EdgeValues) {
  EXPECT_EQ(decode(0x7E, E4M3), 448);
  EXPECT_EQ(decode(0x7B, E5M2), 57344);
  EXPECT_EQ(decode(0x1F, E2M3), 7.5);
  EXPECT_EQ(decode(0x1F, E3M2), 28);
  EXPECT_EQ(decode(0x7, E2M1), 6);
  auto To = [](double V, const Format &F) {
    return encode(V, F, Rounding::Nearest, true);
  };
  EXPECT_EQ(To(464, E4M3), 0x7Eu);
  EXPECT_EQ(To(0x1p-10, E4M3), 0u);
  EXPECT_EQ(To(std::nextafter(0x1p-10, 1), E4M3), 1u);
  EXPECT_EQ(To(-0.0, E4M3), 0x80u);
  EXPECT_EQ(To(NAN, E4M3), 0x7Fu);
  EXPECT_EQ(To(-HUGE_VAL, E4M3), 0xFEu);
  EXPECT_EQ(To(HUGE_VAL, E5M2), 0x7Bu);
  EXPECT_EQ(To(NAN, E2M1), 0x7u);
  double Ties[] = {0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5};
  double Want[] = {0, 1, 1, 2, 2, 4, 4};
  for (size_t I = 0; I < 7; ++I)
    EXPECT_EQ(decode(To(Ties[I], E2M1), E2M1), Want[I]);
  EXPECT_EQ(encodePower(1.5, false, true), 127);
  EXPECT_EQ(encodePower(1.5, true, true), 128);
  EXPECT_EQ(encodePower(HUGE_VAL, true, true), 0xFE);
  EXPECT_EQ(encodePower(NAN, true, true), 0xFF);
  EXPECT_EQ(decodePower(0), 0x1p-127);
}

/// Against the host's own float arithmetic in its rounding modes.
TEST(Formats, SingleFromDouble) {
  uint64_t State = 88172645463325252ull;
  for (int N = 0; N < 200000; ++N) {
    State ^= State << 13, State ^= State >> 7, State ^= State << 17;
    auto A = std::bit_cast<double>(State);
    if (std::isnan(A))
      continue;
    EXPECT_EQ(encode(A, Single, Rounding::Nearest, false),
              std::bit_cast<uint32_t>(float(A)));
  }
  // Exactly half of the lowest bit, and a sum that a double cannot hold.
  double Odd = sumToOdd(1 + 0x1p-24, 0x1p-60);
  EXPECT_EQ(encode(Odd, Single, Rounding::Nearest, false), 0x3F800001u);
}

} // namespace
