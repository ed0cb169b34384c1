//===- DataSizesTest.cpp - Sizes that data decides, and lists of tensors --===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Requirements.h"
#include "test/unit/onnx/Imported.h"

using namespace kpc;
using namespace kpc::onnx;
using namespace kpc::onnx::test;

/// "n at most rows": what each decided size is.
static std::string decided(Imported &I) {
  if (!I.Module)
    return I.Diags.text();
  auto Main = *I.Module->getOps<mlir::func::FuncOp>().begin();
  std::string Text;
  for (unsigned R = 0; R < Main.getNumResults(); ++R)
    if (auto D = Main.getResultAttrOfType<graph::DimsAttr>(R, "graph.decides"))
      Text += (Text.empty() ? "" : ", ") + D.getDims().front().str() +
              " at most " +
              Main.getResultAttrOfType<graph::DimsAttr>(R, "graph.at_most")
                  .getDims()
                  .front()
                  .str();
  return Text;
}

static ModelProto nonZero() {
  ModelProto M = model();
  input(M, "x", {2, -1});
  node(M, "NonZero", {"x"}, {"y"}, "n");
  output(M, "y");
  return M;
}

TEST(DataSizes, ANumberOfResultsIsASize) {
  Imported I(nonZero());
  EXPECT_EQ(I.result(), "!graph.tensor<[2, y_size], i64>");
  EXPECT_EQ(decided(I), "y_size at most d1*2");
}

TEST(DataSizes, OneThatNothingNamesIsForgotten) {
  ModelProto M = nonZero();
  input(M, "z", {3});
  node(M, "Abs", {"z"}, {"w"}, "a");
  M.mutable_graph()->mutable_output()->Clear();
  output(M, "w");
  Imported I(M);
  EXPECT_EQ(decided(I), "");
}

TEST(DataSizes, AValueThatTheModelComputesIsASize) {
  ModelProto M = model();
  input(M, "x", {5});
  input(M, "data", {7});
  node(M, "ArgMax", {"data"}, {"k"}, "best");
  node(M, "TopK", {"x", "k"}, {"y", "i"}, "top");
  output(M, "y");
  Imported I(M);
  EXPECT_EQ(I.result(), "!graph.tensor<[k_value], f32>");
  EXPECT_EQ(decided(I), "k_value at most 2147483647");
}

TEST(DataSizes, ScalesMustGiveTheDeclaredSizes) {
  ModelProto M = model();
  input(M, "x", {3, 4});
  input(M, "scales", {2});
  node(M, "Resize", {"x", "", "scales"}, {"y"}, "grow");
  output(M, "y", {3, 8});
  Imported I(M);
  EXPECT_EQ(I.result(), "!graph.tensor<[3, 8], f32>");
  ASSERT_TRUE(I.Module);
  std::string Text;
  for (const graph::Requirement &R : graph::requirements(*I.Module))
    Text += R.Left.str() + (R.Equal ? " is " : " at most ") + R.Right.str() +
            ": " + R.Reason + "\n";
  EXPECT_EQ(Text,
            "y_fault is 0: 'grow' (Resize) has scales[0] of 0, below or "
            "no number, expected more than 0\n"
            "y_size is 3: 'grow' (Resize) resizes axis 0 by "
            "its scales to the declared size\n"
            "y_fault_1 is 0: 'grow' (Resize) has scales[1] of 0, below or "
            "no number, expected more than 0\n"
            "y_size_1 is 8: 'grow' (Resize) resizes axis 1 by "
            "its scales to the declared size\n");
}

TEST(DataSizes, ARangeMayBeGiven) {
  ModelProto M = nonZero();
  auto *Shape = M.mutable_graph()
                    ->mutable_output(0)
                    ->mutable_type()
                    ->mutable_tensor_type()
                    ->mutable_shape();
  Shape->add_dim()->set_dim_value(2);
  Shape->add_dim()->set_dim_param("found");
  M.mutable_graph()
      ->mutable_output(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->set_elem_type(7);
  ImportOptions Options;
  Options.Dims["found"] = {.Min = 1, .Max = 9};
  Imported I(M, Options);
  EXPECT_EQ(I.result(), "!graph.tensor<[2, found], i64>");
  ASSERT_TRUE(I.Module);
  shape::Facts Facts = graph::symbolFacts(*I.Module);
  EXPECT_EQ(Facts.range(shape::Expr::symbol("found")), (shape::Interval{1, 9}));
  Options.Dims["found"] = {.Min = 3, .Max = 3};
  Imported Fixed(M, Options);
  EXPECT_EQ(Fixed.result(), "!graph.tensor<[2, 3], i64>");
  EXPECT_EQ(decided(Fixed), "3 at most d1*2");
  Options.Dims["lost"] = {};
  EXPECT_NE(Imported(M, Options).Diags.text().find("has no dim 'lost'"),
            std::string::npos);
}

TEST(DataSizes, Messages) {
  ModelProto Scalar = model();
  input(Scalar, "x", {});
  node(Scalar, "NonZero", {"x"}, {"y"}, "n");
  output(Scalar, "y");
  EXPECT_NE(Imported(Scalar).Diags.text().find("input 0 is a scalar"),
            std::string::npos);
  ModelProto Boxes = model();
  input(Boxes, "b", {1, 6, 5});
  input(Boxes, "s", {1, 1, 6});
  node(Boxes, "NonMaxSuppression", {"b", "s"}, {"y"}, "n");
  output(Boxes, "y");
  EXPECT_NE(Imported(Boxes).Diags.text().find(
                "expected [batch, boxes, 4] and [batch, classes, boxes]"),
            std::string::npos);
  ModelProto Long = model();
  input(Long, "x", {5000, 2});
  intAttribute(node(Long, "Unique", {"x"}, {"y"}, "n"), "axis", 0);
  output(Long, "y");
  EXPECT_NE(Imported(Long).Diags.text().find("kpc compares up to 4096"),
            std::string::npos);
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

TEST(Sequences, NothingIsLeftOfThem) {
  ModelProto M = model();
  input(M, "x", {6, 4});
  int64s(M, "two", {1}, {2});
  int64s(M, "one", {}, {-1});
  node(M, "SplitToSequence", {"x", "two"}, {"s"}, "split");
  node(M, "SequenceAt", {"s", "one"}, {"last"}, "at");
  node(M, "SequenceInsert", {"s", "last"}, {"more"}, "insert");
  intAttribute(node(M, "ConcatFromSequence", {"more"}, {"y"}, "join"), "axis",
               1);
  output(M, "y");
  EXPECT_NE(Imported(M).Diags.text().find(
                "the parts have 2 in all, but the axis has 6"),
            std::string::npos);
  int64s(M, "each", {}, {2});
  M.mutable_graph()->mutable_node(0)->set_input(1, "each");
  EXPECT_EQ(Imported(M).result(), "!graph.tensor<[2, 16], f32>");
}

/// A loop of as many iterations as x has rows, each of which appends `Item`.
static ModelProto appendingLoop(const char *Item) {
  ModelProto M = model();
  input(M, "x", {-1, 4});
  int64s(M, "first", {1}, {0});
  node(M, "Shape", {"x"}, {"dims"}, "dims");
  node(M, "Gather", {"dims", "first"}, {"steps"}, "steps");
  node(M, "SequenceEmpty", {}, {"empty"}, "empty");
  GraphProto *G =
      attribute(node(M, "Loop", {"steps", "", "empty"}, {"s"}, "loop"), "body",
                AttributeProto::GRAPH)
          ->mutable_g();
  describe(G->add_input(), "i", {}, TensorProto::INT64);
  describe(G->add_input(), "go", {}, TensorProto::BOOL);
  G->add_input()->set_name("in");
  fill(G->add_node(), "Identity", {"go"}, {"again"});
  fill(G->add_node(), "Gather", {"x", "i"}, {"row"});
  if (std::string_view(Item) == "part") {
    fill(G->add_node(), "Unsqueeze", {"i", "first"}, {"end"});
    fill(G->add_node(), "Slice", {"x", "first", "end"}, {"part"});
  }
  fill(G->add_node(), "SequenceInsert", {"in", Item}, {"out"});
  output(*G, "again");
  output(*G, "out");
  return M;
}

TEST(Sequences, ALoopThatAppendsIsOneTensor) {
  ModelProto M = appendingLoop("row");
  intAttribute(node(M, "ConcatFromSequence", {"s"}, {"y"}, "join"), "axis", 0);
  output(M, "y");
  output(M, "s");
  Imported I(M);
  ASSERT_TRUE(I.Module) << I.Diags.text();
  EXPECT_EQ(I.count<graph::LoopOp>(), 1);
  EXPECT_EQ(I.result(), "!graph.tensor<[\"d0*4\"], f32>");
  EXPECT_NE(I.Diags.text().find("KPC-I0044"), std::string::npos);
}

TEST(Sequences, MessagesOfUnknownLengths) {
  ModelProto Grows = appendingLoop("part");
  output(Grows, "s");
  EXPECT_NE(Imported(Grows).Diags.text().find(
                "a size inside changes from iteration to iteration"),
            std::string::npos);
  ModelProto Reads = appendingLoop("row");
  node(Reads, "SequenceLength", {"s"}, {"y"}, "length");
  output(Reads, "y");
  Reads.mutable_graph()
      ->mutable_node(3)
      ->mutable_attribute(0)
      ->mutable_g()
      ->mutable_node(2)
      ->set_op_type("SequenceConstruct");
  EXPECT_NE(Imported(Reads).Diags.text().find(
                "does more with a sequence than append elements"),
            std::string::npos);
  ModelProto Joined = appendingLoop("row");
  node(Joined, "SequenceConstruct", {"x"}, {"t"}, "make");
  node(Joined, "SequenceInsert", {"t", "s"}, {"y"}, "insert");
  output(Joined, "y");
  EXPECT_NE(Imported(Joined).Diags.text().find("input 1 should be a tensor"),
            std::string::npos);
}

TEST(Sequences, Messages) {
  ModelProto M = model();
  input(M, "x", {6, 4});
  int64s(M, "at", {}, {7});
  node(M, "SequenceConstruct", {"x", "x"}, {"s"}, "make");
  node(M, "SequenceAt", {"s", "at"}, {"y"}, "at");
  output(M, "y");
  EXPECT_NE(Imported(M).Diags.text().find(
                "position, input 1, is 7, outside a sequence of 2"),
            std::string::npos);
  M.mutable_graph()->mutable_node(1)->set_op_type("Add");
  EXPECT_NE(Imported(M).Diags.text().find(
                "input 0 is a sequence, but should be a tensor"),
            std::string::npos);
}
