//===- ArchiveTest.cpp - Zip archives, sound and hostile ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Inflate.h"
#include "compiler/import/torch/Zip.h"
#include "test/unit/torch/Archives.h"

#include <gmock/gmock.h>

using namespace kpc::torch;
using kpc::test::Entry;
using kpc::test::zipOf;
using testing::HasSubstr;

namespace {

std::shared_ptr<const ZipArchive> open(const std::string &File,
                                       std::string &Why) {
  return ZipArchive::of(
      {reinterpret_cast<const uint8_t *>(File.data()), File.size()}, nullptr,
      Why);
}

/// Why an archive is refused; empty if it is not.
std::string refusal(const std::string &File) {
  std::string Why;
  return open(File, Why) ? "" : Why;
}

std::vector<uint8_t> bytes(std::initializer_list<int> Values) {
  return {Values.begin(), Values.end()};
}

TEST(Zip, StoredEntriesAreSpansOfTheFile) {
  std::string File = zipOf({{"a/x", "hello"}, {"a/y", "you"}}), Why;
  auto Zip = open(File, Why);
  ASSERT_TRUE(Zip) << Why;
  const ZipEntry *E = Zip->find("a/y");
  ASSERT_NE(E, nullptr);
  auto Data = Zip->read(*E, 100, Why);
  ASSERT_TRUE(Data);
  EXPECT_EQ(Data->text(), "you");
  EXPECT_EQ(reinterpret_cast<const char *>(Data->Bytes.data()),
            File.data() + E->Offset);
  EXPECT_FALSE(Zip->read(*E, 2, Why));
  EXPECT_THAT(Why, HasSubstr("kpc reads up to 2"));
  EXPECT_EQ(Zip->find("a/z"), nullptr);
}

TEST(Zip, EveryCutIsRefusedOrReadInPart) {
  std::string Whole = zipOf({{"a", "hello"}, {"b", std::string(300, 'x')}});
  for (size_t Size = 0; Size < Whole.size(); ++Size)
    EXPECT_NE(refusal(Whole.substr(0, Size)), "") << Size;
}

TEST(Zip, EveryChangedByteEndsWell) {
  std::string Whole = zipOf({{"a", "hello"}, {"b", "world"}});
  for (size_t I = 0; I < Whole.size(); ++I)
    for (int V : {0, 1, 0x7f, 0x80, 0xff}) {
      std::string Changed = Whole, Why;
      Changed[I] = static_cast<char>(V);
      if (auto Zip = open(Changed, Why))
        for (const auto &[Name, E] : Zip->entries())
          (void)Zip->read(E, 1 << 20, Why);
    }
}

TEST(Zip, NamesStayInside) {
  for (const char *Name :
       {"/etc/passwd", "../x", "a/../../x", "a//b", "a\\b", "C:x", ".", ""})
    EXPECT_THAT(refusal(zipOf({{Name, "x"}})), HasSubstr("leads out")) << Name;
}

TEST(Zip, EntriesMustNotShareBytesOrNames) {
  Entry Same{"b", "hello"};
  Same.At = 0;
  EXPECT_THAT(refusal(zipOf({{"a", "hello"}, Same})), HasSubstr("overlap"));
  EXPECT_THAT(refusal(zipOf({{"a", "x"}, {"a", "y"}})),
              HasSubstr("the name of another"));
}

TEST(Zip, SizesMustFit) {
  Entry Large{"a", "hello"};
  Large.Size = Large.Packed = 1 << 20;
  EXPECT_THAT(refusal(zipOf({Large})), HasSubstr("out of range"));
  Entry Two{"a", "hello"};
  Two.Size = 4;
  EXPECT_THAT(refusal(zipOf({Two})), HasSubstr("two sizes"));
}

TEST(Zip, OtherMethodsAreRefused) {
  std::string Why, File = zipOf({{.Name = "a", .Bytes = "x", .Method = 12}});
  auto Zip = open(File, Why);
  ASSERT_TRUE(Zip);
  EXPECT_FALSE(Zip->read(*Zip->find("a"), 100, Why));
  EXPECT_THAT(Why, HasSubstr("method 12"));
}

TEST(Zip, ABombIsRefusedByItsSize) {
  Entry Bomb{.Name = "a", .Bytes = "xxxx", .Method = 8};
  Bomb.Size = 0xfffffff0;
  std::string Why, File = zipOf({Bomb});
  auto Zip = open(File, Why);
  ASSERT_TRUE(Zip);
  EXPECT_FALSE(Zip->read(*Zip->find("a"), UINT64_MAX, Why));
  EXPECT_THAT(Why, HasSubstr("damaged"));
}

// Streams that zlib.compressobj(9, zlib.DEFLATED, -15) of Python makes.
TEST(Inflate, FixedCodesAndRepeats) {
  std::vector<uint8_t> Out;
  ASSERT_TRUE(inflate(bytes({0x4b, 0x4c, 0x84, 0x01, 0x00}), 10, Out));
  EXPECT_EQ(std::string(Out.begin(), Out.end()), "aaaaaaaaaa");
}

TEST(Inflate, StoredBlocks) {
  std::vector<uint8_t> Out;
  ASSERT_TRUE(inflate(bytes({1, 2, 0, 0xfd, 0xff, 'h', 'i'}), 2, Out));
  EXPECT_EQ(std::string(Out.begin(), Out.end()), "hi");
}

TEST(Inflate, WrongSizesAndCutsFail) {
  std::vector<uint8_t> Out, Good = bytes({0x4b, 0x4c, 0x84, 0x01, 0x00});
  EXPECT_FALSE(inflate(Good, 9, Out));
  EXPECT_FALSE(inflate(Good, 11, Out));
  for (size_t I = 0; I + 1 < Good.size(); ++I)
    EXPECT_FALSE(inflate({Good.data(), I}, 10, Out));
  EXPECT_FALSE(inflate(bytes({0x07}), 0, Out)) << "no block has type 3";
}

} // namespace
