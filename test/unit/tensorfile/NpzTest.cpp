//===- NpzTest.cpp - numpy's zip archives of arrays -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/tensorfile/TensorFile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <zlib.h>

using namespace kpc;
using namespace kpc::tensorfile;
using testing::HasSubstr;

static std::string number(uint64_t Value, int Size) {
  std::string Out;
  for (int I = 0; I < Size; ++I, Value >>= 8)
    Out += static_cast<char>(Value & 255);
  return Out;
}

static std::string deflated(const std::string &Text) {
  z_stream Stream{};
  deflateInit2(&Stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string Out(deflateBound(&Stream, Text.size()), '\0');
  Stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(Text.data()));
  Stream.avail_in = static_cast<uInt>(Text.size());
  Stream.next_out = reinterpret_cast<Bytef *>(Out.data());
  Stream.avail_out = static_cast<uInt>(Out.size());
  deflate(&Stream, Z_FINISH);
  Out.resize(Stream.total_out);
  deflateEnd(&Stream);
  return Out;
}

namespace {
struct Archive {
  std::string Bytes, Directory;
  int Members = 0;

  /// `Claimed` takes the place of the true size.
  void add(const std::string &Name, const std::string &Content, bool Deflate,
           uint64_t Claimed = 0, bool Wide = false) {
    std::string Data = Deflate ? deflated(Content) : Content;
    uint64_t Size = Claimed ? Claimed : Content.size();
    uint64_t Local = Bytes.size();
    uLong Crc = crc32(0, reinterpret_cast<const Bytef *>(Content.data()),
                      static_cast<uInt>(Content.size()));
    std::string Common =
        number(Deflate ? 8 : 0, 2) + number(0, 4) + number(Crc, 4);
    std::string Sizes = Wide ? number(0xFFFFFFFF, 4) + number(0xFFFFFFFF, 4)
                             : number(Data.size(), 4) + number(Size, 4);
    std::string Extra = Wide ? number(1, 2) + number(16, 2) + number(Size, 8) +
                                   number(Data.size(), 8)
                             : "";
    Bytes += "PK\x03\x04" + number(45, 2) + number(0, 2) + Common + Sizes +
             number(Name.size(), 2) + number(0, 2) + Name + Data;
    Directory += "PK\x01\x02" + number(45, 2) + number(45, 2) + number(0, 2) +
                 Common + Sizes + number(Name.size(), 2) +
                 number(Extra.size(), 2) + number(0, 2) + number(0, 2) +
                 number(0, 2) + number(0, 4) + number(Local, 4) + Name + Extra;
    ++Members;
  }
  std::string finish() const {
    return Bytes + Directory + "PK\x05\x06" + number(0, 4) +
           number(Members, 2) + number(Members, 2) +
           number(Directory.size(), 4) + number(Bytes.size(), 4) + number(0, 2);
  }
};
} // namespace

static std::string array(int64_t Count) {
  int64_t Dims[] = {Count};
  return npyHeader(ElementType::U8, Dims) +
         std::string(static_cast<size_t>(Count), 'x');
}

static std::optional<std::vector<HostTensor>> read(const std::string &File,
                                                   std::string &Error) {
  return readNpz({reinterpret_cast<const uint8_t *>(File.data()), File.size()},
                 Error);
}

TEST(Npz, StoredDeflatedAndWide) {
  Archive A;
  A.add("a.npy", array(3), false);
  A.add("b.npy", array(5000), true);
  A.add("c.npy", array(7), true, 0, /*Wide=*/true);
  A.add("notes.txt", "no array", false);
  std::string Error;
  auto Tensors = read(A.finish(), Error);
  ASSERT_TRUE(Tensors) << Error;
  ASSERT_EQ(Tensors->size(), 3u);
  EXPECT_EQ((*Tensors)[1].Name, "b");
  EXPECT_EQ((*Tensors)[1].Dims, std::vector<int64_t>{5000});
  EXPECT_EQ((*Tensors)[2].Data.data()[6], 'x');
}

TEST(Npz, Lies) {
  std::string Error;
  Archive Larger;
  Larger.add("a.npy", array(100), true, uint64_t(1) << 50, /*Wide=*/true);
  EXPECT_FALSE(read(Larger.finish(), Error));
  EXPECT_THAT(Error, HasSubstr("'a.npy' is damaged"));
  Archive Shorter;
  Shorter.add("a.npy", array(100), true, 50);
  EXPECT_FALSE(read(Shorter.finish(), Error));
  Archive Stored;
  Stored.add("a.npy", array(100), false, 5000);
  EXPECT_FALSE(read(Stored.finish(), Error));
  // Many entries for the same bytes.
  Archive Same;
  Same.add("a.npy", array(100000), false);
  std::string One = Same.Directory;
  for (int I = 0; I < 100; ++I, ++Same.Members)
    Same.Directory += One;
  EXPECT_FALSE(read(Same.finish(), Error));
  EXPECT_EQ(Error, "its members are larger than the file");
}

TEST(Npz, CutShort) {
  Archive A;
  A.add("a.npy", array(300), true);
  A.add("b.npy", array(30), false);
  std::string Good = A.finish(), Error;
  for (size_t Size = 0; Size < Good.size(); ++Size)
    EXPECT_FALSE(read(Good.substr(0, Size), Error)) << Size;
}

TEST(Npz, ChangedBytes) {
  Archive A;
  A.add("a.npy", array(300), true);
  A.add("b.npy", array(30), false, 0, /*Wide=*/true);
  std::string Good = A.finish();
  std::mt19937 Random(1);
  for (int I = 0; I < 20000; ++I) {
    std::string File = Good, Error;
    for (int J = 0; J < 2; ++J)
      File[Random() % File.size()] = static_cast<char>(Random());
    auto Read = read(File, Error);
    EXPECT_NE(Read.has_value(), !Error.empty());
  }
}
