//===- InputValuesTest.cpp - Values that only the run knows ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/InputValues.h"
#include "dialects/graph/Requirements.h"
#include "test/unit/onnx/Imported.h"

using namespace kpc;
using namespace kpc::onnx;
using namespace kpc::onnx::test;

static constexpr int Int64 = TensorProto::INT64, Float = TensorProto::FLOAT;

/// y = Op(x, n), of which the model declares no sizes.
static ModelProto ofInput(const std::string &Op,
                          const std::vector<int64_t> &Dims,
                          const std::vector<int64_t> &Elements,
                          int Type = Int64) {
  ModelProto M = model();
  input(M, "x", Dims);
  input(M, "n", Elements, Type);
  node(M, Op, {"x", "n"}, {"y"}, "n");
  output(M, "y");
  return M;
}

/// "n[0]=`n[0]` n[1]=7"
static std::string values(Imported &I) {
  std::string Text;
  for (const graph::InputValue &V : graph::inputValues(*I.Module))
    Text += (Text.empty() ? "" : " ") +
            graph::inputValueName(V.Input, V.Element) + "=" + V.Size.str();
  return Text;
}

//===----------------------------------------------------------------------===//
// Elements of inputs as sizes
//===----------------------------------------------------------------------===//

TEST(InputValues, AnElementIsASize) {
  Imported I(ofInput("Tile", {2, 3}, {2}));
  EXPECT_EQ(I.result(), "!graph.tensor<[\"n[0]*2\", \"n[1]*3\"], f32>");
  EXPECT_EQ(values(I), "n[0]=n[0] n[1]=n[1]");
  EXPECT_EQ(graph::symbolFacts(*I.Module).symbols().at("n[0]").Max, INT32_MAX);
}

TEST(InputValues, WhatFollowsFromThemIsASizeToo) {
  ModelProto M = model();
  input(M, "n", {2}, Int64);
  node(M, "Add", {"n", "n"}, {"twice"}, "add");
  node(M, "ConstantOfShape", {"twice"}, {"y"}, "n");
  output(M, "y");
  EXPECT_EQ(Imported(M).result(),
            "!graph.tensor<[\"n[0]*2\", \"n[1]*2\"], f32>");
}

TEST(InputValues, WhatNoSizeNeedsIsForgotten) {
  ModelProto M = ofInput("Tile", {2}, {3});
  int64s(M, "at", {1}, {1});
  node(M, "Gather", {"n", "at"}, {"one"}, "pick");
  M.mutable_graph()->mutable_node()->SwapElements(0, 1);
  M.mutable_graph()->mutable_node(1)->set_input(1, "one");
  Imported I(M);
  EXPECT_EQ(I.result(), "!graph.tensor<[\"n[1]*2\"], f32>");
  EXPECT_EQ(values(I), "n[1]=n[1]");
  EXPECT_EQ(graph::symbolFacts(*I.Module).symbols().count("n[0]"), 0U);
}

TEST(InputValues, AnElementThatIsSaidIsChecked) {
  ImportOptions Options;
  Options.Dims["n[0]"] = {.Min = 4, .Max = 4};
  Options.Dims["n[1]"] = {.Min = 1, .Max = 8, .Optimum = 2};
  Imported I(ofInput("Tile", {2, 3}, {2}), Options);
  EXPECT_EQ(I.result(), "!graph.tensor<[8, \"n[1]*3\"], f32>");
  EXPECT_EQ(values(I), "n[0]=4 n[1]=n[1]");
  EXPECT_EQ(graph::symbolFacts(*I.Module).symbols().at("n[1]").Max, 8);
}

TEST(InputValues, OneThatMustBeAnotherSizeIsChecked) {
  Imported I(ofInput("Expand", {-1, 3}, {2}));
  EXPECT_EQ(I.result(), "!graph.tensor<[d0, 3], f32>");
  EXPECT_EQ(values(I), "n[0]=d0 n[1]=3");
}

TEST(InputValues, WholeFloats) {
  ModelProto M = model();
  input(M, "x", {2, 3});
  input(M, "n", {2}, Float);
  node(M, "Floor", {"n"}, {"whole"}, "floor");
  intAttribute(node(M, "Cast", {"whole"}, {"n64"}, "cast"), "to", Int64);
  node(M, "Tile", {"x", "n64"}, {"y"}, "n");
  output(M, "y");
  Imported I(M);
  EXPECT_EQ(I.result(), "!graph.tensor<[\"n[0]*2\", \"n[1]*3\"], f32>");
}

TEST(InputValues, LongInputsAreData) {
  ModelProto M = ofInput("Tile", {2}, {100});
  EXPECT_EQ(Imported(M).Diags.text(),
            "error[KPC-I0029]: 'n' (Tile, opset 17) in m.onnx: input 1 "
            "(repeats) is known only when the model runs\n"
            "  hint: say what it is when compiling: --value n=…\n");
}

//===----------------------------------------------------------------------===//
// What is required of them
//===----------------------------------------------------------------------===//

TEST(InputValues, AReshapeNeedsAsManyElements) {
  Imported I(ofInput("Reshape", {2, 6}, {1}));
  // One size follows from the other: nothing else is required.
  EXPECT_EQ(I.result(), "!graph.tensor<[\"n[0] + max(-n[0] + 1, 0)*2\"], f32>");
  std::vector<graph::Requirement> R = graph::requirements(*I.Module);
  ASSERT_EQ(R.size(), 1U);
  EXPECT_TRUE(R[0].Equal);
  EXPECT_EQ(R[0].Right.str(), "12");
  EXPECT_EQ(R[0].Reason, "'n' (Reshape) reshapes to as many elements");
}

TEST(InputValues, TopKSelectsNoMoreThanThereAre) {
  ModelProto M = ofInput("TopK", {-1}, {1});
  only(M)->add_output("indices");
  ImportOptions Options;
  Options.Dims["d0"] = {.Min = 1, .Max = 100};
  Imported I(M, Options);
  ASSERT_TRUE(I.Module) << I.Diags.text();
  std::vector<graph::Requirement> R = graph::requirements(*I.Module);
  ASSERT_EQ(R.size(), 1U) << I.Diags.text();
  EXPECT_EQ(R[0].Left.str() + " <= " + R[0].Right.str(), "n[0] <= d0");
}

TEST(InputValues, ASliceFromTheEnd) {
  ModelProto M = model();
  input(M, "x", {9});
  input(M, "n", {1}, Int64);
  int64s(M, "end", {1}, {100});
  node(M, "Neg", {"n"}, {"start"}, "neg");
  node(M, "Slice", {"x", "start", "end"}, {"y"}, "n");
  output(M, "y");
  ImportOptions Options;
  Options.Dims["n[0]"] = {.Min = 1, .Max = 5};
  EXPECT_EQ(Imported(M, Options).result(), "!graph.tensor<[\"n[0]\"], f32>");
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

TEST(InputValues, AxesThatGiveTheSameSizesAreAChoice) {
  ModelProto M = ofInput("ReduceSum", {3, 3, 4}, {1});
  intAttribute(only(M), "keepdims", 0);
  EXPECT_EQ(Imported(M).Diags.text(),
            "error[KPC-I0029]: 'n' (ReduceSum, opset 17) in m.onnx: input 1 "
            "(axes) is known only when the model runs, and decides the sizes "
            "of output 0\n"
            "  hint: say what it is when compiling: --value n=…, or declare "
            "the sizes of output 0 in the model\n");
  M.mutable_graph()->clear_output();
  output(M, "y", {3, 4});
  Imported I(M);
  EXPECT_EQ(I.result(), "!graph.tensor<[3, 4], f32>");
  EXPECT_EQ(I.count<graph::SelectOp>(), 1);
  EXPECT_EQ(values(I), "");
}

TEST(InputValues, SizesAreDeclaredBehindElementwiseNodes) {
  ModelProto M = model();
  input(M, "x", {3, 4});
  input(M, "n", {1}, Int64);
  intAttribute(node(M, "ReduceSum", {"x", "n"}, {"sum"}, "sum"), "keepdims", 0);
  node(M, "Log", {"sum"}, {"log"}, "log");
  node(M, "Neg", {"log"}, {"y"}, "neg");
  output(M, "y", {4});
  Imported I(M);
  EXPECT_EQ(I.result(), "!graph.tensor<[4], f32>");
  EXPECT_EQ(I.count<graph::SelectOp>(), 0);
}

TEST(InputValues, CumSumAlongAnyAxis) {
  Imported I(ofInput("CumSum", {3, 5, -1}, {}));
  EXPECT_EQ(I.result(), "!graph.tensor<[3, 5, d2], f32>");
  EXPECT_EQ(I.count<graph::CumSumOp>(), 3);
}

TEST(InputValues, NoAxesAreAllAxes) {
  ModelProto M = ofInput("ReduceMax", {3, 5}, {0});
  M.mutable_opset_import(0)->set_version(18);
  EXPECT_EQ(Imported(M).result(), "!graph.tensor<[1, 1], f32>");
}
