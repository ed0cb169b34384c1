//===- SchemasTest.cpp - Schemas and rules belong together ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Schemas.h"
#include "compiler/import/torch/Rules.h"

#include "llvm/ADT/StringRef.h"

#include <gmock/gmock.h>

using namespace kpc::torch;
using testing::SizeIs;

namespace {

TEST(Schemas, EveryRuleHasOne) {
  for (const Rule *R : allRules()) {
    llvm::StringRef Target(R->Target);
    if (Target.starts_with("higher_order."))
      continue;
    auto [Operator, Overload] = Target.rsplit('.');
    bool Found = false;
    for (const Schema &S : schemasOf({Operator.data(), Operator.size()}))
      Found |= S.Overload == std::string_view(Overload.data(), Overload.size());
    EXPECT_TRUE(Found) << Target.str();
  }
}

TEST(Schemas, SayWhatArgumentsAre) {
  const std::vector<Schema> &All = schemasOf("max_pool2d_with_indices");
  ASSERT_THAT(All, SizeIs(1));
  EXPECT_EQ(All[0].Overload, "default");
  EXPECT_EQ(All[0].Results, 2);
  ASSERT_THAT(All[0].Arguments, SizeIs(6));
  EXPECT_EQ(All[0].Arguments[1].Name, "kernel_size");
  EXPECT_EQ(All[0].Arguments[1].Is, SchemaArgument::Kind::Ints);
  EXPECT_FALSE(All[0].Arguments[1].HasDefault);
  EXPECT_TRUE(All[0].Arguments[2].HasDefault);
  const Schema &Index = schemasOf("index").front();
  EXPECT_EQ(Index.Arguments[1].Is, SchemaArgument::Kind::Tensors);
  EXPECT_TRUE(Index.Arguments[1].Optional);
  EXPECT_EQ(schemasOf("split").front().Results, -1);
  EXPECT_TRUE(schemasOf("gelu").front().Arguments[1].KeywordOnly);
  EXPECT_THAT(schemasOf("no_such_operator"), SizeIs(0));
}

TEST(Schemas, TensorsComeBeforeNumbers) {
  const std::vector<Schema> &All = schemasOf("add");
  ASSERT_THAT(All, SizeIs(2));
  EXPECT_EQ(All[0].Overload, "Tensor");
  EXPECT_EQ(All[1].Overload, "Scalar");
}

} // namespace
