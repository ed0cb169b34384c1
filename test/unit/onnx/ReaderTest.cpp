//===- ReaderTest.cpp - What the reader makes of models that are good -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/model/Reader.h"
#include "test/unit/onnx/Models.h"

#include <cstring>

using namespace kpc;
using namespace kpc::onnx;
using namespace kpc::onnx::test;

static Model read(const ModelProto &M, const std::string &Folder = "") {
  Diagnostics D;
  std::optional<Model> Result =
      readModel(bytes(M.SerializeAsString()), Folder, D);
  EXPECT_EQ(D.text(), "");
  return Result ? std::move(*Result) : Model();
}

/// A model that hands initializer w through.
static ModelProto holding(TensorProto *&W, const std::vector<int64_t> &Dims,
                          int Type) {
  ModelProto M = model();
  node(M, "Identity", {"w"}, {"y"});
  output(M, "y");
  initializer(M, "w", Dims, Type);
  W = M.mutable_graph()->mutable_initializer(0);
  return M;
}

TEST(ReadTensor, TypedFieldsOfEveryKind) {
  TensorProto *W;
  ModelProto M = holding(W, {2}, TensorProto::FLOAT16);
  W->add_int32_data(0x3c00);
  W->add_int32_data(0xc000);
  EXPECT_EQ(*read(M).Main.Initializers.at("w").reals(),
            (std::vector<double>{1, -2}));

  M = holding(W, {2}, TensorProto::BFLOAT16);
  W->add_int32_data(0x3f80);
  W->add_int32_data(0xc000);
  EXPECT_EQ(*read(M).Main.Initializers.at("w").reals(),
            (std::vector<double>{1, -2}));

  M = holding(W, {2}, TensorProto::UINT32);
  W->add_uint64_data(7);
  W->add_uint64_data(4294967295);
  EXPECT_EQ(*read(M).Main.Initializers.at("w").integers(),
            (std::vector<int64_t>{7, 4294967295}));

  M = holding(W, {2}, TensorProto::INT8);
  W->add_int32_data(-128);
  W->add_int32_data(127);
  EXPECT_EQ(*read(M).Main.Initializers.at("w").integers(),
            (std::vector<int64_t>{-128, 127}));

  M = holding(W, {1}, TensorProto::DOUBLE);
  W->add_double_data(0.1);
  EXPECT_EQ(*read(M).Main.Initializers.at("w").reals(),
            (std::vector<double>{0.1}));

  M = holding(W, {1}, TensorProto::COMPLEX64);
  W->add_float_data(1);
  W->add_float_data(2);
  EXPECT_EQ(read(M).Main.Initializers.at("w").Bytes.size(), 8u);

  M = holding(W, {2}, TensorProto::STRING);
  W->add_string_data("a");
  W->add_string_data("bc");
  EXPECT_EQ(read(M).Main.Initializers.at("w").Strings,
            (std::vector<std::string>{"a", "bc"}));
}

TEST(ReadTensor, TypesNewerThanTheSchema) {
  TensorProto *W;
  ModelProto M = holding(W, {3}, 22); // INT4, two to a byte
  W->set_raw_data(std::string("\xf1\x08", 2));
  const Model Read = read(M);
  const Tensor &T = Read.Main.Initializers.at("w");
  EXPECT_EQ(T.Type, ElementType::Int4);
  EXPECT_EQ(*T.integers(), (std::vector<int64_t>{1, -1, -8}));

  M = holding(W, {5}, 25); // UINT2, four to a byte
  W->set_raw_data(std::string("\xe4\x02", 2));
  EXPECT_EQ(*read(M).Main.Initializers.at("w").integers(),
            (std::vector<int64_t>{0, 1, 2, 3, 2}));

  for (int Type : {17, 18, 19, 20, 24}) {
    M = holding(W, {2}, Type);
    W->set_raw_data("ab");
    EXPECT_EQ(read(M).Main.Initializers.at("w").Bytes.size(), 2u);
  }
  M = holding(W, {4}, 23); // FLOAT4E2M1
  W->set_raw_data("ab");
  EXPECT_EQ(read(M).Main.Initializers.at("w").Bytes.size(), 2u);

  for (int Type : {27, 28}) { // FLOAT6E2M3, FLOAT6E3M2: four in three bytes
    M = holding(W, {5}, Type);
    W->set_raw_data("abcd");
    EXPECT_EQ(read(M).Main.Initializers.at("w").Bytes.size(), 4u);
    W->clear_raw_data();
    for (int Code : {1, 2, 63, 32, 5})
      W->add_int32_data(Code);
    const Model Typed = read(M);
    const Tensor &Packed = Typed.Main.Initializers.at("w");
    EXPECT_EQ(std::vector<uint8_t>(Packed.Bytes.begin(), Packed.Bytes.end()),
              (std::vector<uint8_t>{0x81, 0xF0, 0x83, 0x05}));
  }
}

TEST(ReadTensor, EmptyAndScalar) {
  TensorProto *W;
  ModelProto M = holding(W, {0, 5}, 1);
  EXPECT_EQ(read(M).Main.Initializers.at("w").count(), 0);
  M = holding(W, {}, 1);
  W->add_float_data(3);
  EXPECT_EQ(*read(M).Main.Initializers.at("w").reals(),
            (std::vector<double>{3}));
}

TEST(ReadTensor, ExternalDataIsMapped) {
  Folder F;
  std::filesystem::create_directory(F.Path / "sub");
  F.file("sub/w.bin", std::string(16, '\0') + std::string("\0\0\x80\x3f", 4));
  TensorProto *W;
  ModelProto M = holding(W, {1}, 1);
  W->set_data_location(TensorProto::EXTERNAL);
  for (auto [Key, Value] :
       {std::pair("location", "./sub/w.bin"), std::pair("offset", "16"),
        std::pair("length", "4")}) {
    auto *E = W->add_external_data();
    E->set_key(Key);
    E->set_value(Value);
  }
  Model Read = read(M, F.Path.string());
  const Tensor &T = Read.Main.Initializers.at("w");
  EXPECT_EQ(T.File, "./sub/w.bin");
  EXPECT_EQ(T.Offset, 16u);
  EXPECT_EQ(*T.reals(), (std::vector<double>{1}));
}

static void setLocation(TensorProto *T, const std::string &Where) {
  T->set_data_location(TensorProto::EXTERNAL);
  auto *E = T->add_external_data();
  E->set_key("location");
  E->set_value(Where);
}

// Wherever tensors are in a model; what the reader would refuse is no file of
// the model's. A damaged model has those that lie in front of the damage.
TEST(DataFiles, OfAllTensors) {
  Folder F;
  ModelProto M = model();
  setLocation(initializer(M, "a", {1}), "one.bin");
  setLocation(initializer(M, "b", {1}), "one.bin");
  setLocation(initializer(M, "c", {1}), "sub/two.bin");
  for (const char *Refused : {"../up.bin", "/etc/passwd", "", "a/../../b"})
    setLocation(initializer(M, std::string("r") + Refused, {1}), Refused);
  NodeProto *N = node(M, "Constant", {}, {"k"});
  setLocation(attribute(N, "value", AttributeProto::TENSOR)->mutable_t(),
              "attribute.bin");
  NodeProto *If = node(M, "If", {"p"}, {"q"});
  GraphProto *Then =
      attribute(If, "then_branch", AttributeProto::GRAPH)->mutable_g();
  setLocation(Then->add_initializer(), "branch.bin");
  NodeProto *Inner = M.add_functions()->add_node();
  setLocation(attribute(Inner, "value", AttributeProto::TENSOR)->mutable_t(),
              "function.bin");
  std::string Bytes = M.SerializeAsString();
  F.file("m.onnx", Bytes);
  EXPECT_EQ(
      dataFiles((F.Path / "m.onnx").string()),
      (std::vector<std::string>{"attribute.bin", "branch.bin", "function.bin",
                                "one.bin", "sub/two.bin"}));
  for (size_t Length = 0; Length < Bytes.size(); ++Length) {
    F.file("cut.onnx", Bytes.substr(0, Length));
    EXPECT_LE(dataFiles((F.Path / "cut.onnx").string()).size(), 5u);
  }
  EXPECT_EQ(dataFiles((F.Path / "none.onnx").string()),
            std::vector<std::string>());
}

TEST(ReadGraph, NodesAreSortedInFileOrder) {
  ModelProto M = model();
  input(M, "x", {2});
  node(M, "Neg", {"a"}, {"y"}, "last");
  node(M, "Relu", {"x"}, {"b"}, "free");
  node(M, "Abs", {"x"}, {"a"}, "first");
  output(M, "y", {2});
  std::vector<std::string> Names;
  for (const Node &N : read(M).Main.Nodes)
    Names.push_back(N.Name);
  EXPECT_EQ(Names, (std::vector<std::string>{"free", "first", "last"}));
}

TEST(ReadGraph, SubgraphsMaySeeOuterValues) {
  ModelProto M = model();
  input(M, "c", {}, TensorProto::BOOL);
  NodeProto *If = node(M, "If", {"c"}, {"y"}, "if");
  for (const char *Branch : {"then_branch", "else_branch"}) {
    GraphProto *G = attribute(If, Branch, AttributeProto::GRAPH)->mutable_g();
    fill(G->add_node(), "Neg", {"a"}, {"r"});
    output(*G, "r");
  }
  // Behind the If in the file, but read by its branches.
  input(M, "x", {2});
  node(M, "Abs", {"x"}, {"a"}, "abs");
  output(M, "y", {2});
  Model Read = read(M);
  ASSERT_EQ(Read.Main.Nodes.size(), 2u);
  EXPECT_EQ(Read.Main.Nodes[0].Name, "abs");
}

TEST(ReadGraph, InitializersAreNoInputs) {
  ModelProto M = model();
  input(M, "x", {2});
  input(M, "w", {2});
  initializer(M, "w", {2})->set_raw_data("12345678");
  node(M, "Add", {"x", "w"}, {"y"});
  output(M, "y", {2});
  Model Read = read(M);
  ASSERT_EQ(Read.Main.Inputs.size(), 1u);
  EXPECT_EQ(Read.Main.Inputs[0].Name, "x");
}

TEST(ReadGraph, ALongChain) {
  ModelProto M = model();
  input(M, "v0", {2});
  constexpr int Length = 100'000;
  for (int I = 0; I < Length; ++I)
    node(M, "Relu", {"v" + std::to_string(I)}, {"v" + std::to_string(I + 1)});
  output(M, "v" + std::to_string(Length), {2});
  EXPECT_EQ(read(M).Main.Nodes.size(), static_cast<size_t>(Length));
}

TEST(ReadNode, AttributesOfIrVersion1HaveNoType) {
  ModelProto M = model();
  input(M, "x", {2});
  NodeProto *N = node(M, "Elu", {"x"}, {"y"});
  AttributeProto *A = N->add_attribute();
  A->set_name("alpha");
  A->set_f(0.5F);
  output(M, "y", {2});
  const Model Read = read(M);
  const Attribute &Alpha = Read.Main.Nodes[0].Attributes.at("alpha");
  EXPECT_EQ(Alpha.Is, Attribute::Kind::Float);
  EXPECT_EQ(Alpha.Float, 0.5F);
}

TEST(ReadNode, OldAttributesBecomeInputs) {
  ModelProto M = model(9);
  input(M, "x", {4, 4});
  NodeProto *N = node(M, "Slice", {"x"}, {"y"}, "s");
  intsAttribute(N, "starts", {1, 0});
  intsAttribute(N, "ends", {3, 2});
  output(M, "y");
  Model Read = read(M);
  const Node &S = Read.Main.Nodes[0];
  ASSERT_EQ(S.Inputs.size(), 3u);
  EXPECT_TRUE(S.Attributes.empty());
  EXPECT_EQ(*Read.Main.Initializers.at(S.Inputs[1]).integers(),
            (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(*Read.Main.Initializers.at(S.Inputs[2]).integers(),
            (std::vector<int64_t>{3, 2}));
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// A protobuf field of bytes, for fields that the packaged schema lacks.
static std::string field(int Number, const std::string &Value) {
  std::string Out;
  Out += static_cast<char>(Number << 3 | 2);
  Out += static_cast<char>(Value.size());
  return Out + Value;
}

static ::onnx::FunctionProto *function(ModelProto &M, const std::string &Name,
                                       std::vector<std::string> Inputs,
                                       std::vector<std::string> Outputs) {
  ::onnx::FunctionProto *F = M.add_functions();
  F->set_name(Name);
  F->set_domain("local");
  for (const std::string &I : Inputs)
    F->add_input(I);
  for (const std::string &O : Outputs)
    F->add_output(O);
  auto *Import = F->add_opset_import();
  Import->set_version(15);
  return F;
}

static NodeProto *call(NodeProto *N) {
  N->set_domain("local");
  return N;
}

static ModelProto withCall(const std::string &Function) {
  ModelProto M = model();
  auto *Import = M.add_opset_import();
  Import->set_domain("local");
  Import->set_version(1);
  input(M, "x", {2});
  call(node(M, Function, {"x"}, {"y"}, "call"));
  output(M, "y", {2});
  return M;
}

TEST(Functions, AreInlinedWithUniqueNames) {
  ModelProto M = withCall("Outer");
  ::onnx::FunctionProto *Inner = function(M, "Inner", {"a"}, {"b"});
  fill(Inner->add_node(), "Neg", {"a"}, {"t"}, "neg");
  fill(Inner->add_node(), "Abs", {"t"}, {"b"}, "abs");
  ::onnx::FunctionProto *Outer = function(M, "Outer", {"a"}, {"b"});
  call(fill(Outer->add_node(), "Inner", {"a"}, {"t"}, "one"));
  call(fill(Outer->add_node(), "Inner", {"t"}, {"b"}, "two"));
  Model Read = read(M);
  ASSERT_EQ(Read.Main.Nodes.size(), 4u);
  const std::vector<Node> &N = Read.Main.Nodes;
  EXPECT_EQ(N[0].Name, "call/one/neg");
  EXPECT_EQ(N[0].Path, "call > call/one");
  EXPECT_EQ(N[0].Opset, 15);
  EXPECT_EQ(N[0].Inputs[0], "x");
  EXPECT_EQ(N[0].Outputs[0], N[1].Inputs[0]);
  EXPECT_EQ(N[1].Outputs[0], N[2].Inputs[0]);
  EXPECT_NE(N[0].Outputs[0], N[2].Outputs[0]);
  EXPECT_EQ(N[3].Outputs[0], "y");
}

TEST(Functions, AttributesComeFromTheCallOrTheDefault) {
  ModelProto M = withCall("F");
  ::onnx::FunctionProto *F = function(M, "F", {"a"}, {"b"});
  F->add_attribute("given");
  F->add_attribute("absent");
  NodeProto *N = fill(F->add_node(), "Elu", {"a"}, {"b"});
  for (const char *Name : {"given", "absent", "preset"}) {
    AttributeProto *A = attribute(N, Name, AttributeProto::FLOAT);
    A->set_ref_attr_name(Name);
  }
  AttributeProto Default;
  Default.set_name("preset");
  Default.set_type(AttributeProto::FLOAT);
  Default.set_f(7);
  *F->mutable_unknown_fields() += field(11, Default.SerializeAsString());
  NodeProto *Call = M.mutable_graph()->mutable_node(0);
  attribute(Call, "given", AttributeProto::FLOAT)->set_f(3);
  const Model Read = read(M);
  const auto &Attributes = Read.Main.Nodes[0].Attributes;
  EXPECT_EQ(Attributes.at("given").Float, 3);
  EXPECT_EQ(Attributes.at("preset").Float, 7);
  EXPECT_EQ(Attributes.count("absent"), 0u);
}

TEST(Functions, OverloadsAreToldApart) {
  ModelProto M = withCall("F");
  for (const char *Overload : {"neg", "abs"}) {
    ::onnx::FunctionProto *F = function(M, "F", {"a"}, {"b"});
    fill(F->add_node(), std::string(Overload) == "neg" ? "Neg" : "Abs", {"a"},
         {"b"});
    *F->mutable_unknown_fields() += field(13, Overload);
  }
  *M.mutable_graph()->mutable_node(0)->mutable_unknown_fields() +=
      field(8, "abs");
  Model Read = read(M);
  ASSERT_EQ(Read.Main.Nodes.size(), 1u);
  EXPECT_EQ(Read.Main.Nodes[0].Op, "Abs");
}

static std::string refusal(const ModelProto &M) {
  Diagnostics D;
  D.setFile("m.onnx");
  EXPECT_FALSE(readModel(bytes(M.SerializeAsString()), "", D));
  return D.text();
}

TEST(Functions, MayNotCallThemselves) {
  ModelProto M = withCall("F");
  ::onnx::FunctionProto *F = function(M, "F", {"a"}, {"b"});
  call(fill(F->add_node(), "F", {"a"}, {"b"}, "again"));
  EXPECT_EQ(refusal(M),
            "error[KPC-I0028]: 'call/again' (local.F, opset 1) called from "
            "call in m.onnx: function 'F' calls itself\n"
            "  hint: local functions may not call themselves, and must have "
            "the inputs and attributes they are called with\n");
}

TEST(Functions, MayNotGrowWithoutBound) {
  ModelProto M = withCall("F0");
  for (int I = 0; I < 40; ++I) {
    ::onnx::FunctionProto *F =
        function(M, "F" + std::to_string(I), {"a"}, {"b"});
    std::string Next = "F" + std::to_string(I + 1);
    call(fill(F->add_node(), Next, {"a"}, {"t"}));
    call(fill(F->add_node(), Next, {"t"}, {"b"}));
  }
  ::onnx::FunctionProto *Last = function(M, "F40", {"a"}, {"b"});
  fill(Last->add_node(), "Neg", {"a"}, {"b"});
  EXPECT_NE(refusal(M).find("error[KPC-I0031]"), std::string::npos);
}
