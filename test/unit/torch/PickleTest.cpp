//===- PickleTest.cpp - Pickles, sound and hostile ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Pickle.h"

#include <gmock/gmock.h>

using namespace kpc::torch;
using testing::HasSubstr;
using Kind = PickleValue::Kind;

namespace {

std::optional<Pickle> read(const std::string &Text, std::string &Why) {
  return Pickle::read(
      {reinterpret_cast<const uint8_t *>(Text.data()), Text.size()}, Why);
}

/// Why a pickle is refused; empty if it is not.
std::string refusal(const std::string &Text) {
  std::string Why;
  return read(Text, Why) ? "" : Why;
}

std::string text(std::string_view S) {
  std::string Out = "X";
  for (int I = 0; I < 4; ++I)
    Out += static_cast<char>(S.size() >> (8 * I) & 255);
  return Out + std::string(S);
}

std::string small(unsigned char N) {
  return std::string("K") + static_cast<char>(N);
}

/// A storage of `Count` floats and a tensor of [2, 3] with strides [3, 1].
std::string tensor(unsigned char Count, unsigned char Offset = 0) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") +
         "ctorch\nFloatStorage\n" + text("7") + text("cpu") + small(Count) +
         "tQ" + small(Offset) + small(2) + small(3) + "\x86" + small(3) +
         small(1) + "\x86" + "\x89" + "ccollections\nOrderedDict\n)RtR";
}

TEST(Pickle, ReadsContainersAndNumbers) {
  std::string Why;
  std::string Negative("J\xfe\xff\xff\xff", 5), Long("\x8a\x02\x00\xff", 4);
  std::string Half("G\x3f\xe0\0\0\0\0\0\0", 9);
  auto P =
      read("\x80\x02(" + Negative + Long + Half + "N\x88" + "](" + small(1) +
               small(2) + "e" + "}(" + text("k") + text("v") + "ut.",
           Why);
  ASSERT_TRUE(P) << Why;
  const PickleValue &R = P->root();
  ASSERT_EQ(R.Is, Kind::Tuple);
  ASSERT_EQ(R.Items.size(), 7u);
  EXPECT_EQ(R.Items[0]->Int, -2);
  EXPECT_EQ(R.Items[1]->Int, -256);
  EXPECT_EQ(R.Items[2]->Float, 0.5);
  EXPECT_EQ(R.Items[3]->Is, Kind::None);
  EXPECT_EQ(R.Items[4]->Int, 1);
  EXPECT_EQ(R.Items[5]->Items.size(), 2u);
  EXPECT_EQ(R.Items[6]->Items[1]->Text, "v");
}

TEST(Pickle, ReadsModulesAndTensors) {
  std::string Why;
  auto P =
      read("\x80\x02"
           "c__torch__.net\nNet\n)\x81}(" +
               text("training") + "\x89" + text("weight") + tensor(6) + "ub.",
           Why);
  ASSERT_TRUE(P) << Why;
  EXPECT_EQ(P->root().Text, "__torch__.net.Net");
  ASSERT_TRUE(P->root().attribute("training"));
  EXPECT_FALSE(P->root().attribute("bias"));
  const PickleValue *T = P->root().attribute("weight");
  ASSERT_TRUE(T && T->Is == Kind::Tensor);
  EXPECT_THAT(T->Sizes, testing::ElementsAre(2, 3));
  EXPECT_THAT(T->Strides, testing::ElementsAre(3, 1));
  EXPECT_EQ(T->Items[0]->Type, "FloatStorage");
  EXPECT_EQ(T->Items[0]->Text, "7");
}

TEST(Pickle, ReadsStateDicts) {
  std::string Why;
  // An OrderedDict with an attribute, which holds a parameter.
  auto P = read("\x80\x02"
                "ccollections\nOrderedDict\n)R(" +
                    text("w") + "ctorch._utils\n_rebuild_parameter\n" +
                    tensor(6) + "\x88" + "ccollections\nOrderedDict\n)R\x87R" +
                    "u}(" + text("_metadata") + "}ub.",
                Why);
  ASSERT_TRUE(P) << Why;
  ASSERT_EQ(P->root().Is, Kind::Dict);
  ASSERT_EQ(P->root().Items.size(), 2u);
  EXPECT_EQ(P->root().Items[1]->Is, Kind::Tensor);
}

/// A vector of `Count` elements of a type whose storage has `Bytes` bytes.
std::string untyped(const std::string &Type, unsigned char Bytes,
                    unsigned char Count) {
  return "ctorch._utils\n_rebuild_tensor_v3\n((" + text("storage") +
         "ctorch.storage\nUntypedStorage\n" + text("0") + text("cpu") +
         small(Bytes) + "tQ" + small(0) + small(Count) + "\x85" + small(1) +
         "\x85" + "\x89" + "ccollections\nOrderedDict\n)R" + "ctorch\n" + Type +
         "\ntR.";
}

TEST(Pickle, StoragesWithoutATypeCountBytes) {
  EXPECT_EQ(refusal(untyped("float8_e4m3fn", 4, 4)), "");
  EXPECT_THAT(refusal(untyped("float8_e4m3fn", 4, 5)),
              HasSubstr("reaches past the 4"));
  EXPECT_EQ(refusal(untyped("uint16", 8, 4)), "");
  EXPECT_THAT(refusal(untyped("uint16", 8, 5)), HasSubstr("reaches past"));
  EXPECT_THAT(refusal(untyped("float33", 8, 5)), HasSubstr("it names"));
}

TEST(Pickle, TypedListsAreLists) {
  std::string Why;
  auto P =
      read("ctorch.jit._pickle\nbuild_intlist\n](" + small(4) + "e\x85R.", Why);
  ASSERT_TRUE(P) << Why;
  EXPECT_EQ(P->root().Is, Kind::List);
  EXPECT_EQ(P->root().Items[0]->Int, 4);
}

TEST(Pickle, RefusesCallablesItDoesNotKnow) {
  EXPECT_THAT(refusal("cposix\nsystem\n(" + text("true") + "tR."),
              HasSubstr("it names 'posix.system'"));
  EXPECT_THAT(refusal("c__builtin__\neval\n."), HasSubstr("__builtin__.eval"));
  // Names that look like PyTorch's are none of it either.
  EXPECT_THAT(refusal("ctorch._utils\n_rebuild_tensor_v2.x\n."),
              HasSubstr("it names"));
  EXPECT_THAT(refusal("ctorch\nEvilStorage\n."), HasSubstr("EvilStorage"));
}

TEST(Pickle, RefusesToCallAClass) {
  EXPECT_THAT(refusal("c__torch__.a\nB\n)R."), HasSubstr("does not take"));
  EXPECT_THAT(refusal("c__torch__.a\nB\n" + small(1) + "\x85\x81."),
              HasSubstr("no arguments"));
  EXPECT_THAT(refusal("ccollections\nOrderedDict\n)\x81."),
              HasSubstr("a class of the archive"));
  EXPECT_THAT(refusal(text("x") + ")R."), HasSubstr("expected a known name"));
  EXPECT_THAT(refusal("c__torch__.a\nB\n."), HasSubstr("where a value should"));
}

TEST(Pickle, RefusesOtherOpcodes) {
  // INST, OBJ, STACK_GLOBAL, EXT1, PERSID, DUP and POP.
  for (char Code : {'i', 'o', '\x93', '\x82', 'P', '2', '0'})
    EXPECT_THAT(refusal(std::string("\x80\x02N") + Code + "."),
                HasSubstr("none that PyTorch's picklers write"));
  EXPECT_THAT(refusal("\x80\x04N."), HasSubstr("expected protocol 2"));
}

TEST(Pickle, RefusesEveryTruncation) {
  std::string Whole = "\x80\x02"
                      "c__torch__.net\nNet\n)\x81q\x01}(" +
                      text("weight") + tensor(6) + "ub.";
  ASSERT_EQ(refusal(Whole), "");
  for (size_t I = 0; I < Whole.size(); ++I)
    EXPECT_THAT(refusal(Whole.substr(0, I)), HasSubstr("of the pickle: "));
}

TEST(Pickle, RefusesTensorsPastTheirStorage) {
  EXPECT_EQ(refusal(tensor(6) + "."), "");
  EXPECT_THAT(refusal(tensor(5) + "."), HasSubstr("reaches past the 5"));
  EXPECT_THAT(refusal(tensor(6, 1) + "."), HasSubstr("reaches past the 6"));
}

TEST(Pickle, RefusesValuesThatHoldThemselves) {
  EXPECT_THAT(refusal(std::string("]q\0h\0a.", 7)), HasSubstr("holds itself"));
}

TEST(Pickle, RefusesDeepNests) {
  auto Nest = [](size_t Levels) {
    return std::string(Levels, ']') + std::string(Levels - 1, 'a') + ".";
  };
  EXPECT_EQ(refusal(Nest(Pickle::Deepest)), "");
  EXPECT_THAT(refusal(Nest(Pickle::Deepest + 1)), HasSubstr("nest deeper"));
  EXPECT_THAT(refusal(Nest(1'000'000)), HasSubstr("nest deeper"));
}

TEST(Pickle, SharedValuesAreFine) {
  // Each tuple holds the one before twice: 2^40 ways to the first.
  std::string Text = ")";
  for (char I = 0; I < 40; ++I)
    Text += std::string("q") + I + "h" + I + "\x86";
  EXPECT_EQ(refusal(Text + "."), "");
}

TEST(Pickle, RefusesAnUnbalancedStack) {
  EXPECT_THAT(refusal("a."), HasSubstr("a value on the stack"));
  EXPECT_THAT(refusal("e."), HasSubstr("a mark on the stack"));
  EXPECT_THAT(refusal("NN."), HasSubstr("one value at the end, got 2"));
  EXPECT_THAT(refusal("."), HasSubstr("one value at the end, got 0"));
  EXPECT_THAT(refusal(std::string("h\x09.", 3)), HasSubstr("memo slot 9"));
  // A mark guards what lies below it.
  EXPECT_THAT(refusal("N(\x85."), HasSubstr("a value on the stack"));
}

} // namespace
