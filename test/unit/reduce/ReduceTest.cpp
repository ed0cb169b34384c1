//===- ReduceTest.cpp - The smallest model that still fails ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Reduce.h"
#include "tools/kpc/ReduceData.h"

#include <gmock/gmock.h>

using namespace kpc::cli;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;
using testing::ElementsAre;

namespace {

void setType(onnx::ValueInfoProto &V, const std::string &Name,
             const std::vector<int64_t> &Dims) {
  V.set_name(Name);
  auto &Type = *V.mutable_type()->mutable_tensor_type();
  Type.set_elem_type(TensorProto::FLOAT);
  Type.mutable_shape();
  for (int64_t Dim : Dims)
    if (Dim < 0)
      Type.mutable_shape()->add_dim()->set_dim_param("n");
    else
      Type.mutable_shape()->add_dim()->set_dim_value(Dim);
}

NodeProto &addNode(GraphProto &Graph, const std::string &Op,
                   const std::vector<std::string> &Inputs,
                   const std::string &Output) {
  NodeProto &Node = *Graph.add_node();
  Node.set_op_type(Op);
  for (const std::string &Input : Inputs)
    Node.add_input(Input);
  Node.add_output(Output);
  return Node;
}

void addFloats(GraphProto &Graph, const std::string &Name,
               const std::vector<int64_t> &Dims, float First) {
  TensorProto &T = *Graph.add_initializer();
  T.set_name(Name);
  T.set_data_type(TensorProto::FLOAT);
  int64_t Count = 1;
  for (int64_t Dim : Dims) {
    T.add_dims(Dim);
    Count *= Dim;
  }
  for (int64_t I = 0; I < Count; ++I)
    T.add_float_data(First + static_cast<float>(I));
}

/// x -> Op0 -> v0 -> … ; every value has the type of x.
ModelProto chain(const std::vector<std::string> &Ops, int64_t Size = 8) {
  ModelProto Model;
  Model.set_ir_version(8);
  Model.add_opset_import()->set_version(17);
  GraphProto &Graph = *Model.mutable_graph();
  setType(*Graph.add_input(), "x", {Size});
  std::string Value = "x";
  for (size_t I = 0; I < Ops.size(); ++I) {
    std::string Next = "v" + std::to_string(I);
    addNode(Graph, Ops[I], {Value}, Next);
    setType(*Graph.add_value_info(), Next, {Size});
    Value = Next;
  }
  setType(*Graph.add_output(), Value, {Size});
  return Model;
}

std::vector<std::string> opsOf(const ModelProto &Model) {
  std::vector<std::string> Ops;
  for (const NodeProto &Node : Model.graph().node())
    Ops.push_back(Node.op_type());
  return Ops;
}

/// What the tests' models declare is all that is known.
Reduction whileTrue(std::function<bool(const ModelProto &)> Fails,
                    const ModelProto &First) {
  Reduction How;
  How.Fails = std::move(Fails);
  How.TypesOf = [Known = OnnxParts(First).declared()](const ModelProto &) {
    return Known;
  };
  return How;
}

bool has(const ModelProto &Model, const std::string &Op) {
  std::vector<std::string> Ops = opsOf(Model);
  return std::find(Ops.begin(), Ops.end(), Op) != Ops.end();
}

TEST(Reduce, OneNodeOfManyIsLeft) {
  std::vector<std::string> Ops(40, "Relu");
  Ops[23] = "Bad";
  ModelProto Model = chain(Ops);
  ModelProto Small = reduced(
      Model,
      whileTrue([](const ModelProto &M) { return has(M, "Bad"); }, Model));
  EXPECT_THAT(opsOf(Small), ElementsAre("Bad"));
  ASSERT_EQ(Small.graph().input_size(), 1);
  EXPECT_EQ(Small.graph().input(0).name(), "v22");
  // Its size does not matter to the predicate.
  EXPECT_EQ(
      Small.graph().input(0).type().tensor_type().shape().dim(0).dim_value(),
      1);
  ASSERT_EQ(Small.graph().output_size(), 1);
  EXPECT_EQ(Small.graph().output(0).name(), "v23");
}

TEST(Reduce, TwoNodesThatAreNeededTogetherStay) {
  ModelProto Model =
      chain({"Relu", "First", "Neg", "Abs", "Second", "Exp", "Log"});
  ModelProto Small =
      reduced(Model, whileTrue(
                         [](const ModelProto &M) {
                           return has(M, "First") && has(M, "Second");
                         },
                         Model));
  EXPECT_THAT(opsOf(Small), ElementsAre("First", "Second"));
}

TEST(Reduce, ANodeStaysWhereTheTypeBehindItIsNotKnown) {
  ModelProto Model = chain({"Unknown", "Bad"});
  Model.mutable_graph()->clear_value_info();
  ModelProto Small = reduced(
      Model,
      whileTrue([](const ModelProto &M) { return has(M, "Bad"); }, Model));
  EXPECT_THAT(opsOf(Small), ElementsAre("Unknown", "Bad"));
}

TEST(Reduce, AnswersAndResultsAreTheSameEachTime) {
  ModelProto Model = chain(std::vector<std::string>(30, "Bad"));
  std::vector<std::string> Results, Counts;
  for (int Time = 0; Time < 2; ++Time) {
    int Asked = 0;
    ModelProto Small = reduced(Model, whileTrue(
                                          [&](const ModelProto &M) {
                                            ++Asked;
                                            return M.graph().node_size() >= 3;
                                          },
                                          Model));
    Results.push_back(Small.SerializeAsString());
    Counts.push_back(std::to_string(Asked));
    EXPECT_EQ(Small.graph().node_size(), 3);
  }
  EXPECT_EQ(Results[0], Results[1]);
  EXPECT_EQ(Counts[0], Counts[1]);
}

TEST(Reduce, TheSearchEndsWhenItIsTold) {
  ModelProto Model = chain(std::vector<std::string>(40, "Bad"));
  int Asked = 0;
  Reduction How = whileTrue(
      [&](const ModelProto &) {
        ++Asked;
        return true;
      },
      Model);
  How.Stop = [&] { return Asked >= 3; };
  reduced(Model, How);
  EXPECT_EQ(Asked, 3);
}

TEST(Reduce, WeightsBecomeInputsOrZeros) {
  ModelProto Model = chain({"Relu"});
  GraphProto &Graph = *Model.mutable_graph();
  addFloats(Graph, "w", {2, 3}, 1);
  Graph.mutable_node(0)->add_input("w");
  auto IsData = [](const ModelProto &M) {
    return M.graph().initializer_size() == 1 && has(M, "Relu");
  };
  ModelProto Small = reduced(Model, whileTrue(IsData, Model));
  ASSERT_EQ(Small.graph().initializer_size(), 1);
  const TensorProto &W = Small.graph().initializer(0);
  EXPECT_EQ(W.raw_data().find_first_not_of('\0'), std::string::npos);
  EXPECT_EQ(W.raw_data().size(), 4u); // sizes become 1
  ModelProto Free = reduced(
      Model,
      whileTrue([](const ModelProto &M) { return has(M, "Relu"); }, Model));
  EXPECT_EQ(Free.graph().initializer_size(), 0);
}

TEST(Reduce, EqualSizesShrinkTogetherAndDataIsCut) {
  GraphProto Graph;
  setType(*Graph.add_input(), "x", {4, 6});
  addFloats(Graph, "w", {6, 3}, 0);
  TensorProto &Shape = *Graph.add_initializer();
  Shape.set_name("shape");
  Shape.set_data_type(TensorProto::INT64);
  Shape.add_dims(2);
  Shape.add_int64_data(6);
  Shape.add_int64_data(-1);
  EXPECT_THAT(sizesOf(Graph), ElementsAre(6, 4, 3, 2));
  ASSERT_TRUE(replaceSize(Graph, 6, 2));
  EXPECT_EQ(Graph.input(0).type().tensor_type().shape().dim(1).dim_value(), 2);
  EXPECT_THAT(Graph.initializer(0).dims(), ElementsAre(2, 3));
  ASSERT_EQ(Graph.initializer(0).raw_data().size(), 24u);
  int64_t First = 0;
  std::memcpy(&First, Graph.initializer(1).raw_data().data(), sizeof First);
  EXPECT_EQ(First, 2);
  // The first columns of the first rows stay.
  ASSERT_TRUE(replaceSize(Graph, 3, 1));
  float Rows[2];
  ASSERT_EQ(Graph.initializer(0).raw_data().size(), sizeof Rows);
  std::memcpy(Rows, Graph.initializer(0).raw_data().data(), sizeof Rows);
  EXPECT_THAT(Rows, ElementsAre(0, 3));
  EXPECT_FALSE(replaceSize(Graph, 77, 1));
}

TEST(OnnxParts, NodesAreOrderedAndCyclesEnd) {
  ModelProto Model;
  GraphProto &Graph = *Model.mutable_graph();
  addNode(Graph, "Last", {"b"}, "c");
  addNode(Graph, "First", {"x"}, "a");
  addNode(Graph, "Middle", {"a"}, "b");
  addNode(Graph, "Round", {"q"}, "p");
  addNode(Graph, "AndRound", {"p"}, "q");
  OnnxParts Parts(Model);
  EXPECT_THAT(Parts.order(), testing::SizeIs(5));
  EXPECT_THAT(
      std::vector<int>(Parts.order().begin(), Parts.order().begin() + 3),
      ElementsAre(1, 2, 0));
  EXPECT_THAT(Parts.behind({"b"}), ElementsAre(1, 2));
}

TEST(OnnxParts, WhatSubgraphsReadComesAlong) {
  ModelProto Model = chain({"Relu", "If"});
  NodeProto &If = *Model.mutable_graph()->mutable_node(1);
  addFloats(*Model.mutable_graph(), "w", {8}, 0);
  for (const char *Name : {"then_branch", "else_branch"}) {
    auto &Branch = *If.add_attribute();
    Branch.set_name(Name);
    GraphProto &Body = *Branch.mutable_g();
    addNode(Body, "Add", {"x", "w"}, "inner");
    addNode(Body, "Neg", {"inner"}, "result");
    Body.add_output()->set_name("result");
  }
  EXPECT_THAT(readsOf(If), ElementsAre("v0", "w", "x"));
  OnnxParts Parts(Model);
  std::optional<ModelProto> Alone = Parts.of({1}, Parts.declared());
  ASSERT_TRUE(Alone);
  EXPECT_EQ(Alone->graph().input_size(), 2);
  EXPECT_EQ(Alone->graph().initializer_size(), 1);
}

} // namespace
