//===- OperatorsTest.cpp - What rules say of what they refuse -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/onnx/Imported.h"

using namespace kpc;
using namespace kpc::onnx;
using namespace kpc::onnx::test;

/// The first diagnostic of a node of a domain whose input is [2, 6].
static std::string refusal(const std::string &Op, const std::string &Domain,
                           int64_t Opset,
                           llvm::function_ref<void(NodeProto *)> Fill = {}) {
  ModelProto M = unary(Op, {2, 6});
  if (Domain.empty()) {
    M.mutable_opset_import(0)->set_version(Opset);
  } else {
    auto *Import = M.add_opset_import();
    Import->set_domain(Domain);
    Import->set_version(Opset);
    only(M)->set_domain(Domain);
  }
  if (Fill)
    Fill(only(M));
  return Imported(M).Diags.text();
}

static bool says(const std::string &Text, const std::string &Part) {
  return Text.find(Part) != std::string::npos;
}

TEST(RefusedOperators, SayWhy) {
  std::string Text = refusal("ImageDecoder", "", 20);
  EXPECT_TRUE(says(Text, "decodes a compressed image, and kpc has no decoders"))
      << Text;
  for (const char *Op :
       {"StringConcat", "StringNormalizer", "StringSplit", "RegexFullMatch"}) {
    Text = refusal(Op, "", 20);
    EXPECT_TRUE(says(Text, "works on strings, which kpc cannot compute with"))
        << Text;
  }
}

static void strings(NodeProto *N, const char *Name,
                    std::initializer_list<const char *> Texts) {
  AttributeProto *A = attribute(N, Name, AttributeProto::STRINGS);
  for (const char *Text : Texts)
    A->add_strings(Text);
}

TEST(Strings, LabelsAndMapsAreMetadata) {
  ModelProto M = unary("ZipMap");
  only(M)->set_domain("ai.onnx.ml");
  M.mutable_graph()->mutable_output(0)->clear_type();
  auto *Import = M.add_opset_import();
  Import->set_domain("ai.onnx.ml");
  Import->set_version(3);
  strings(only(M), "classlabels_strings", {"cat", "dog \"", "gnu"});
  std::vector<std::pair<std::string, std::string>> Metadata;
  ImportOptions Options;
  Options.Metadata = &Metadata;
  Imported I(M, Options);
  EXPECT_EQ(I.result(), "!graph.tensor<[2, 3], f32>");
  ASSERT_EQ(Metadata.size(), 1u);
  EXPECT_EQ(Metadata[0].first, "labels:y");
  EXPECT_EQ(Metadata[0].second, R"(["cat","dog \"","gnu"])");
  EXPECT_TRUE(says(I.Diags.text(), "warning[KPC-I0041]")) << I.Diags.text();
}

static ModelProto stringModel(const char *Op, const char *Domain) {
  ModelProto M = unary(Op);
  only(M)->set_domain(Domain);
  M.mutable_graph()->mutable_output(0)->clear_type();
  M.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->set_elem_type(::onnx::TensorProto::STRING);
  return M;
}

TEST(Strings, AnInputIsPlacesInTheListOfItsReaders) {
  ModelProto M = stringModel("OneHotEncoder", "ai.onnx.ml");
  strings(only(M), "cats_strings", {"red", "blue"});
  std::vector<std::pair<std::string, std::string>> Metadata;
  ImportOptions Options;
  Options.Metadata = &Metadata;
  Imported I(M, Options);
  EXPECT_EQ(I.result(), "!graph.tensor<[2, 3, 2], f32>");
  ASSERT_EQ(Metadata.size(), 1u);
  EXPECT_EQ(Metadata[0].first, "strings:x");
  EXPECT_EQ(Metadata[0].second, R"(["red","blue"])");
}

TEST(Strings, OthersAreRefused) {
  ModelProto M = stringModel("Relu", "");
  EXPECT_TRUE(says(Imported(M).Diags.text(),
                   "is strings, and nothing in the model says which"));
}

TEST(RefusedOperators, ExpertsThatAreNotThere) {
  std::string Text = refusal("MoE", "com.microsoft", 1,
                             [](NodeProto *N) { N->add_input("x"); });
  EXPECT_TRUE(says(Text, "2 inputs")) << Text;
}

/// What the first product refuses is not asked for its sizes by the second.
TEST(RefusedOperators, ExpertsOfAnotherWidth) {
  ModelProto M = model();
  auto *Import = M.add_opset_import();
  Import->set_domain("com.microsoft");
  Import->set_version(1);
  input(M, "x", {4, 8});
  input(M, "chances", {4, 2});
  input(M, "up", {2, 16, 7});
  input(M, "down", {2, 8, 16});
  node(M, "MoE", {"x", "chances", "up", "", "down"}, {"y"}, "n")
      ->set_domain("com.microsoft");
  output(M, "y");
  std::string Text = Imported(M).Diags.text();
  EXPECT_TRUE(says(Text, "8 columns meet 7 rows")) << Text;
}

TEST(RefusedOperators, CoefficientsThatDoNotFit) {
  std::string Text =
      refusal("LinearRegressor", "ai.onnx.ml", 1, [](NodeProto *N) {
        for (float V : {1.F, 2.F})
          (N->attribute_size()
               ? N->mutable_attribute(0)
               : attribute(N, "coefficients", AttributeProto::FLOATS))
              ->add_floats(V);
      });
  EXPECT_TRUE(says(Text, "2 coefficients do not fit 1 results of 6 features"))
      << Text;
}

TEST(RefusedOperators, TreesWithoutNodes) {
  std::string Text = refusal("TreeEnsembleRegressor", "ai.onnx.ml", 3);
  EXPECT_TRUE(says(Text, "the trees' attributes are of different lengths, or "
                         "empty"))
      << Text;
}

TEST(RefusedOperators, TypesThatAreNotDrawn) {
  std::string Text = refusal("RandomUniformLike", "", 22,
                             [](NodeProto *N) { intAttribute(N, "dtype", 7); });
  EXPECT_TRUE(says(Text, "draws int64, but kpc draws f16, bf16, f32 and f64 "
                         "here"))
      << Text;
  Text =
      refusal("RandomUniform", "", 22, [](NodeProto *N) { N->clear_input(); });
  EXPECT_TRUE(says(Text, "attribute 'shape' is missing")) << Text;
}

TEST(RefusedOperators, HeadsThatDoNotDivide) {
  std::string Text =
      refusal("MultiHeadAttention", "com.microsoft", 1,
              [](NodeProto *N) { intAttribute(N, "num_heads", 4); });
  EXPECT_TRUE(says(Text, "queries, keys and values should have rank 3, or be "
                         "packed in rank 5"))
      << Text;
}

TEST(RefusedOperators, UnknownFusedActivation) {
  std::string Text = refusal("FusedGemm", "com.microsoft", 1, [](NodeProto *N) {
    N->add_input(N->input(0));
    attribute(N, "activation", AttributeProto::STRING)->set_s("Sine");
    intAttribute(N, "transB", 1);
  });
  EXPECT_TRUE(says(Text, "attribute 'activation' is 'Sine'")) << Text;
}
