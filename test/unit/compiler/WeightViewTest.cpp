//===- WeightViewTest.cpp - Weights in another order and type -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/weights/WeightView.h"
#include "llvm/ADT/APFloat.h"

#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

using namespace kpc;

namespace {

/// The whole, one element at a time.
std::vector<uint8_t> expected(const WeightView &V,
                              const std::vector<uint8_t> &Bytes) {
  size_t Width = bitWidth(V.From) / 8;
  std::vector<uint8_t> Out;
  int64_t Count = std::accumulate(V.Dims.begin(), V.Dims.end(), int64_t(1),
                                  std::multiplies<>());
  for (int64_t I = 0; I < Count; ++I) {
    int64_t Rest = I, Place = 0;
    for (size_t D = V.Dims.size(); D-- > 0; Rest /= V.Dims[D])
      Place += Rest % V.Dims[D] * V.Strides[D];
    Out.insert(Out.end(), Bytes.begin() + Place * Width,
               Bytes.begin() + (Place + 1) * Width);
  }
  return Out;
}

std::vector<uint8_t> read(const artifact::WeightReader &Read, size_t Size,
                          size_t Part) {
  std::vector<uint8_t> Out(Size);
  for (size_t Begin = 0; Begin < Size; Begin += Part)
    EXPECT_EQ(Read(Begin, Out.data() + Begin, std::min(Part, Size - Begin)),
              std::nullopt);
  return Out;
}

WeightView transposed(std::vector<int64_t> Dims, std::vector<int64_t> Order,
                      ElementType Type) {
  WeightView V{{}, {}, Type, Type};
  std::vector<int64_t> Strides(Dims.size(), 1);
  for (size_t D = Dims.size() - 1; D-- > 0;)
    Strides[D] = Strides[D + 1] * Dims[D + 1];
  for (int64_t D : Order) {
    V.Dims.push_back(Dims[D]);
    V.Strides.push_back(Strides[D]);
  }
  return V;
}

} // namespace

TEST(WeightView, EveryOrderAndPart) {
  std::vector<int64_t> Dims = {5, 19, 1, 24};
  std::vector<int64_t> Order = {0, 1, 2, 3};
  do {
    for (ElementType Type :
         {ElementType::U8, ElementType::Bool, ElementType::BF16,
          ElementType::F32, ElementType::I64}) {
      WeightView V = transposed(Dims, Order, Type);
      size_t Width = bitWidth(Type) / 8;
      std::vector<uint8_t> Bytes(5 * 19 * 24 * Width);
      std::iota(Bytes.begin(), Bytes.end(), 0);
      for (size_t I = 0; I < Bytes.size(); I += 7)
        Bytes[I] ^= I >> 8;
      auto Read = readerOf(V, Bytes);
      auto Whole = expected(V, Bytes);
      for (size_t Part : {Whole.size(), 640 * Width, 17 * Width, Width})
        EXPECT_EQ(read(Read, Whole.size(), Part), Whole) << Part;
    }
  } while (std::next_permutation(Order.begin(), Order.end()));
}

TEST(WeightView, ScalarsAndNothing) {
  std::vector<uint8_t> Bytes = {1, 2, 3, 4};
  auto Read = readerOf({{}, {}, ElementType::F32, ElementType::F32}, Bytes);
  EXPECT_EQ(read(Read, 4, 4), Bytes);
  auto None =
      readerOf({{3, 0}, {0, 1}, ElementType::F32, ElementType::F32}, {});
  EXPECT_EQ(None(0, nullptr, 0), std::nullopt);
}

/// Both narrow types against LLVM's own arithmetic, over every pattern of the
/// upper half of the bits with lower halves that round down, tie and round up.
TEST(WeightView, CastsRoundToNearestEven) {
  std::vector<uint32_t> Bits;
  for (uint32_t High = 0; High < 0x10000; ++High)
    for (uint32_t Low : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x2fffu, 0x3000u,
                         0x7fffu, 0x8000u, 0x8001u, 0xefffu, 0xf000u, 0xffffu})
      Bits.push_back(High << 16 | Low);
  std::span<const uint8_t> Bytes(reinterpret_cast<uint8_t *>(Bits.data()),
                                 Bits.size() * 4);
  for (ElementType To : {ElementType::F16, ElementType::BF16}) {
    const llvm::fltSemantics &Semantics = To == ElementType::F16
                                              ? llvm::APFloat::IEEEhalf()
                                              : llvm::APFloat::BFloat();
    auto Read =
        readerOf({{int64_t(Bits.size())}, {1}, ElementType::F32, To}, Bytes);
    std::vector<uint16_t> Got(Bits.size());
    Read(0, reinterpret_cast<uint8_t *>(Got.data()), Got.size() * 2);
    for (size_t I = 0; I < Bits.size(); ++I) {
      llvm::APFloat Value(llvm::APFloat::IEEEsingle(),
                          llvm::APInt(32, Bits[I]));
      bool Lossy;
      Value.convert(Semantics, llvm::APFloat::rmNearestTiesToEven, &Lossy);
      ASSERT_EQ(Got[I], Value.bitcastToAPInt().getZExtValue())
          << std::hex << Bits[I];
    }
  }
}

TEST(WeightView, CastsToFloatsOfEightBits) {
  std::vector<float> Values = {0.0f,    -1.5f,   448.0f, 464.0f,
                               1000.0f, 0.0009f, -0.0f,  3.1f};
  std::span<const uint8_t> Bytes(reinterpret_cast<uint8_t *>(Values.data()),
                                 Values.size() * 4);
  for (auto [To, Kind] :
       {std::pair(ElementType::F8E4M3FN, &llvm::APFloat::Float8E4M3FN()),
        std::pair(ElementType::F8E4M3FNUZ, &llvm::APFloat::Float8E4M3FNUZ()),
        std::pair(ElementType::F8E5M2, &llvm::APFloat::Float8E5M2()),
        std::pair(ElementType::F8E5M2FNUZ, &llvm::APFloat::Float8E5M2FNUZ())}) {
    auto Read = readerOf({{8}, {1}, ElementType::F32, To}, Bytes);
    std::vector<uint8_t> Wanted;
    for (float V : Values) {
      llvm::APFloat Value(V);
      bool Lossy;
      Value.convert(*Kind, llvm::APFloat::rmNearestTiesToEven, &Lossy);
      Wanted.push_back(uint8_t(Value.bitcastToAPInt().getZExtValue()));
    }
    EXPECT_EQ(read(Read, 8, 3), Wanted);
  }
}

TEST(WeightView, OtherCasts) {
  std::vector<double> Values = {1.5, -0.25, 3e300, 1.0 / 3};
  std::span<const uint8_t> Bytes(reinterpret_cast<uint8_t *>(Values.data()),
                                 32);
  auto Read =
      readerOf({{2, 2}, {1, 2}, ElementType::F64, ElementType::F32}, Bytes);
  std::vector<float> Got(4);
  Read(0, reinterpret_cast<uint8_t *>(Got.data()), 16);
  EXPECT_EQ(Got, (std::vector<float>{1.5f, HUGE_VALF, -0.25f, 1.0f / 3}));
  EXPECT_TRUE(canCast(ElementType::F16, ElementType::F64));
  EXPECT_TRUE(canCast(ElementType::I8, ElementType::I8));
  EXPECT_FALSE(canCast(ElementType::I8, ElementType::F32));
}
