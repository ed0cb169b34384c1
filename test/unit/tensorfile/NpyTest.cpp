//===- NpyTest.cpp - numpy's format for one array -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/tensorfile/TensorFile.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace kpc;
using namespace kpc::tensorfile;
using testing::HasSubstr;

static std::span<const uint8_t> bytesOf(const std::string &Text) {
  return {reinterpret_cast<const uint8_t *>(Text.data()), Text.size()};
}

/// What kpc writes for a tensor.
static std::string written(const HostTensor &T) {
  std::vector<uint8_t> Unpacked;
  auto Elements =
      npyElements(T.Type, T.count(), {T.Data.data(), T.Data.size()}, Unpacked);
  std::string File = npyHeader(T.Type, T.Dims);
  File.append(reinterpret_cast<const char *>(Elements.data()), Elements.size());
  return File;
}

static std::string fileOf(const std::string &Header,
                          const std::string &Elements) {
  std::string File("\x93NUMPY\x01\x00", 8);
  File += static_cast<char>(Header.size() & 255);
  File += static_cast<char>(Header.size() >> 8);
  return File + Header + Elements;
}

TEST(Npy, EveryTypeComesBack) {
  for (int Number = 1; Number <= 26; ++Number) {
    auto Type = static_cast<ElementType>(Number);
    if (Type == ElementType::String)
      continue;
    std::vector<std::vector<int64_t>> Shapes = {{}, {5}, {2, 3}, {0, 4}};
    for (const auto &Dims : Shapes) {
      auto T = makeTensor("", Type, Dims);
      for (size_t I = 0; I < T->Data.size(); ++I)
        T->Data.data()[I] = Type == ElementType::Bool ? I % 2 : 17 * I + 3;
      // What follows the last element of a packed type is 0.
      int Bits = bitWidth(Type);
      if (Bits < 8 && T->count() * Bits % 8)
        T->Data.data()[T->Data.size() - 1] &= (1 << T->count() * Bits % 8) - 1;
      std::string Error, File = written(*T);
      EXPECT_EQ((File.size() - (Bits < 8 ? T->count() : T->Data.size())) % 64,
                0u);
      auto Back = readNpy(bytesOf(File), Error);
      ASSERT_TRUE(Back) << typeAndDims(*T) << ": " << Error;
      ASSERT_TRUE(becomes(*Back, Type)) << typeAndDims(*T);
      EXPECT_EQ(Back->Dims, Dims);
      ASSERT_EQ(Back->Data.size(), T->Data.size());
      EXPECT_EQ(std::memcmp(Back->Data.data(), T->Data.data(), T->Data.size()),
                0)
          << typeAndDims(*T);
    }
  }
}

TEST(Npy, OrdersOfBytesAndDims) {
  std::string Error;
  auto Big = readNpy(bytesOf(fileOf("{'descr': '>i2', 'fortran_order': False, "
                                    "'shape': (2,), }\n",
                                    std::string("\x01\x02\x03\x04", 4))),
                     Error);
  ASSERT_TRUE(Big) << Error;
  EXPECT_EQ(*toDoubles(Big->Type, {Big->Data.data(), 4}, 2),
            (std::vector<double>{0x102, 0x304}));
  // A column-major 2x3: columns (1,2), (3,4), (5,6).
  auto Columns =
      readNpy(bytesOf(fileOf("{'descr': '|u1', 'fortran_order': True, "
                             "'shape': (2, 3)}",
                             "\x01\x02\x03\x04\x05\x06")),
              Error);
  ASSERT_TRUE(Columns) << Error;
  EXPECT_EQ(*toDoubles(Columns->Type, {Columns->Data.data(), 6}, 6),
            (std::vector<double>{1, 3, 5, 2, 4, 6}));
}

static std::string errorOf(const std::string &File) {
  std::string Error;
  EXPECT_FALSE(readNpy(bytesOf(File), Error)) << File;
  return Error;
}

TEST(Npy, Faults) {
  EXPECT_EQ(errorOf(""), "it is not a numpy array");
  EXPECT_EQ(errorOf("\x93NUMPY"), "it is not a numpy array");
  EXPECT_EQ(errorOf(std::string("\x93NUMPY\x09\x00\x00\x00\x00\x00", 12)),
            "its format version 9 is unknown");
  EXPECT_EQ(errorOf(std::string("\x93NUMPY\x01\x00\xff\xff{}", 12)),
            "it is cut short");
  EXPECT_EQ(errorOf(fileOf("{'descr': '<f4'}", "")), "its header is damaged");
  EXPECT_EQ(errorOf(fileOf("{'descr': '<f4', 'fortran_order': False, 'shape': "
                           "(-1,)}",
                           "")),
            "its header is damaged");
  EXPECT_THAT(errorOf(fileOf("{'descr': '|O', 'fortran_order': False, "
                             "'shape': (1,)}",
                             "")),
              HasSubstr("Python objects"));
  EXPECT_THAT(errorOf(fileOf("{'descr': '<f4', 'fortran_order': False, "
                             "'shape': (2,)}",
                             "1234567")),
              HasSubstr("f32[2] needs 8 bytes of elements, 7 are there"));
  EXPECT_THAT(errorOf(fileOf("{'descr': '<f8', 'fortran_order': False, "
                             "'shape': (9223372036854775807, 9)}",
                             "")),
              HasSubstr("more than 2^63"));
}

// No change of a few bytes makes it do anything but succeed or say why not.
TEST(Npy, ChangedBytes) {
  auto T = makeTensor("", ElementType::F32, {2, 3});
  std::string Good = written(*T);
  std::mt19937 Random(1);
  for (int I = 0; I < 20000; ++I) {
    std::string File = Good;
    for (int J = 0; J < 3; ++J)
      File[Random() % 128] = static_cast<char>(Random());
    if (I % 4 == 0)
      File.resize(Random() % File.size());
    std::string Error;
    auto Read = readNpy(bytesOf(File), Error);
    EXPECT_NE(Read.has_value(), !Error.empty());
  }
}

TEST(Npy, NamesOfFiles) {
  EXPECT_EQ(fileNameFor("a/b/c"), "a_b_c");
  EXPECT_EQ(fileNameFor("a\nb"), "a_b");
  EXPECT_EQ(fileNameFor(".."), "_..");
  EXPECT_EQ(fileNameFor(""), "_");
}
