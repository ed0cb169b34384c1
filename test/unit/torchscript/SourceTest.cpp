//===- SourceTest.cpp - Source that PyTorch prints, sound and hostile -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torchscript/Source.h"

#include <gmock/gmock.h>

using namespace kpc::torchscript;
using testing::HasSubstr;

namespace {

constexpr std::string_view Net = R"(class Net(Module):
  __parameters__ = ["weight", ]
  training : bool
  __annotations__["0"] = __torch__.other.Block
  size : Final[int] = -3
  def forward(self: __torch__.Net,
    x: Tensor,
    state: Optional[Tensor]=None) -> Tuple[Tensor, Tensor]:
    _0 = getattr(self, "0")
    a, b, = (_0).forward(x, )
    if torch.eq((torch.size(a))[-1], 1e-05):
      c : Tensor = torch.zeros([2], dtype=6)
    else:
      pass
    for i in range(4):
      self.state = a
    while True:
      return (a,)
    d, e = 1, {"k": [0.5]}
    return (a, b)
def helper(x: int=2) -> NoneType:
  return None
)";

std::string refusal(std::string_view Text) {
  std::string Why;
  return parseSource(Text, Why) ? "" : Why;
}

TEST(Source, ReadsClassesAndFunctions) {
  std::string Why;
  auto File = parseSource(Net, Why);
  ASSERT_TRUE(File) << Why;
  ASSERT_EQ(File->Classes.size(), 1u);
  ASSERT_EQ(File->Functions.size(), 1u);
  const Class &C = File->Classes[0];
  EXPECT_EQ(C.Attributes.size(), 4u);
  EXPECT_EQ(C.Attributes[3].Value->Int, -3);
  const Function &F = C.Methods.at(0);
  ASSERT_EQ(F.Parameters.size(), 3u);
  EXPECT_EQ(F.Parameters[2].Default->Is, Node::Kind::None);
  ASSERT_EQ(F.Body.size(), 7u);
  EXPECT_EQ(F.Body[1].Targets.size(), 2u);
  const Statement &If = F.Body[2];
  EXPECT_EQ(If.Is, Statement::Kind::If);
  EXPECT_EQ(If.Value->Items[2].Float, 1e-05);
  EXPECT_EQ(If.Body[0].Value->Keywords.back(), "dtype");
  // One value in brackets is that value; with a comma it is a tuple.
  EXPECT_EQ(F.Body[4].Body[0].Value->Is, Node::Kind::Tuple);
  EXPECT_EQ(F.Body[5].Value->Items[1].Is, Node::Kind::Dict);
}

TEST(Source, HasSlicesTasksAndEscapes) {
  std::string Why;
  auto File = parseSource("def f(x: Tensor) -> Tensor:\n"
                          "  def task():\n"
                          "    y = (x)[1:-1]\n"
                          "    return y\n"
                          "  s = \"\\a\\r\\v\\303\"\n"
                          "  z = x[:2]\n"
                          "  return fork(task)\n",
                          Why);
  ASSERT_TRUE(File) << Why;
  const Function &F = File->Functions[0];
  EXPECT_EQ(F.Body[0].Is, Statement::Kind::Define);
  EXPECT_EQ(F.Body[0].Targets[0].Text, "task");
  const Node &Slice = *F.Body[0].Body[0].Value;
  EXPECT_EQ(Slice.Is, Node::Kind::Call);
  EXPECT_EQ(Slice.Items[0].Text, "slice");
  EXPECT_EQ(Slice.Items[3].Int, -1);
  EXPECT_EQ(F.Body[1].Value->Text, "\a\r\v\303");
  EXPECT_EQ(F.Body[2].Value->Items[2].Is, Node::Kind::None);
  EXPECT_THAT(refusal("def f():\n  x = y[1:2:3]\n"), HasSubstr("']'"));
  EXPECT_THAT(refusal("def f():\n  def g(x):\n    pass\n"), HasSubstr("')'"));
}

TEST(Source, NamesTheLineOfAFault) {
  EXPECT_EQ(refusal("def f(x:\n  Tensor) -> int:\n  return )\n"),
            "line 3: expected no closing bracket");
  EXPECT_EQ(refusal("import os\n"),
            "line 1: expected 'class' or 'def', got 'import'");
  EXPECT_EQ(refusal("def f():\n  x = y z\n"),
            "line 2: expected the end of the line, got 'z'");
  EXPECT_THAT(refusal("def f():\n  x = a @ b\n"), HasSubstr("got '@'"));
  EXPECT_THAT(refusal("def f():\n  x = 99999999999999999999z\n"),
              HasSubstr("a number that fits"));
}

TEST(Source, EveryTruncationEnds) {
  std::string Why;
  for (size_t I = 0; I < Net.size(); ++I)
    if (!parseSource(Net.substr(0, I), Why)) {
      EXPECT_THAT(Why, HasSubstr("expected"));
    }
}

TEST(Source, RefusesDeepNests) {
  auto Nest = [](size_t Levels) {
    return "def f():\n  x = " + std::string(Levels, '[') +
           std::string(Levels, ']') + "\n";
  };
  EXPECT_EQ(refusal(Nest(100)), "");
  EXPECT_THAT(refusal(Nest(100'000)), HasSubstr("levels"));
  std::string Chain = "def f():\n  x = a";
  for (int I = 0; I < 100'000; ++I)
    Chain += ".a";
  EXPECT_THAT(refusal(Chain + "\n"), HasSubstr("levels"));
}

} // namespace
