//===- BadInputTest.cpp - What the reader says of models that are at fault ===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/model/Reader.h"
#include "test/unit/onnx/Models.h"

using namespace kpc;
using namespace kpc::onnx;
using namespace kpc::onnx::test;

/// The whole of what a user sees of a file named m.onnx.
static std::string said(const std::string &Content,
                        const std::string &Folder = "") {
  Diagnostics D;
  D.setFile("m.onnx");
  std::optional<Model> M = readModel(bytes(Content), Folder, D);
  EXPECT_EQ(M.has_value(), !D.hasErrors());
  return D.text();
}

static std::string said(const ModelProto &M, const std::string &Folder = "") {
  return said(M.SerializeAsString(), Folder);
}

static ModelProto relu() {
  ModelProto M = model();
  input(M, "x", {2});
  node(M, "Relu", {"x"}, {"y"}, "r");
  output(M, "y", {2});
  return M;
}

/// y = x + w, with an initializer for the test to damage.
static ModelProto addW(TensorProto *&W, const std::vector<int64_t> &Dims = {2},
                       int Type = 1) {
  ModelProto M = model();
  input(M, "x", {2});
  node(M, "Add", {"x", "w"}, {"y"}, "a");
  output(M, "y", {2});
  initializer(M, "w", Dims, Type);
  // Moved messages keep their parts where they are.
  W = M.mutable_graph()->mutable_initializer(0);
  return M;
}

TEST(BadFile, NoFault) { EXPECT_EQ(said(relu()), ""); }

TEST(BadFile, Empty) {
  EXPECT_EQ(said(std::string()),
            "error[KPC-I0002]: m.onnx: the file is empty\n"
            "  hint: export or download the model again\n");
}

TEST(BadFile, NotProtobuf) {
  EXPECT_EQ(said("hello, world\n"),
            "error[KPC-I0003]: m.onnx: the file is not an ONNX model: its "
            "first bytes are not those of a ModelProto\n"
            "  hint: give a binary .onnx file (a serialised ModelProto)\n");
}

TEST(BadFile, AnotherMessage) {
  TensorProto T;
  T.add_dims(1);
  T.set_data_type(1);
  EXPECT_EQ(said(T.SerializeAsString()),
            "error[KPC-I0003]: m.onnx: the file is not an ONNX model: field "
            "'producer_name' at byte 2 has the wrong wire type\n"
            "  hint: give a binary .onnx file (a serialised ModelProto)\n");
}

TEST(BadFile, FilesOfOthers) {
  using namespace std::string_literals;
  EXPECT_EQ(said("\x18\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\"}}\0\0\0\0"s),
            "error[KPC-I0003]: m.onnx: the file is no model: it is a "
            "safetensors file, which holds weights and no graph\n"
            "  hint: load the weights into the module in Python, then save it "
            "with torch.export.save\n");
  const std::pair<std::string, const char *> Files[] = {
      {"GGUF\3\0\0\0"s, "a GGUF file"},
      {"\x89HDF\r\n\x1a\n\0\0"s, "an HDF5 file"},
      {"\x1c\0\0\0TFL3\0\0"s, "a TensorFlow Lite model"},
      {"version https://git-lfs.github.com/spec/v1\n"s, "a pointer of Git LFS"},
      {"<!DOCTYPE html><html>"s, "a web page"},
      {"<?xml version=\"1.0\"?>"s, "XML"},
      {"\x1f\x8b\x08\0\0"s, "compressed by gzip"},
      {"\x7f"
       "ELF\2\1\1\0"s,
       "compiled code"},
      {"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80"s,
       "weights of an old torch.save"}};
  for (const auto &[Bytes, Is] : Files)
    EXPECT_NE(said(Bytes).find(Is), std::string::npos) << said(Bytes);
}

TEST(BadFile, Truncated) {
  std::string Whole = relu().SerializeAsString();
  EXPECT_EQ(said(Whole.substr(0, 20)),
            "error[KPC-I0004]: m.onnx: the file is cut short: 'graph', which "
            "starts at byte 2, is longer than the file (20 bytes)\n"
            "  hint: export or download the model again\n");
  // Any shorter prefix is refused as well, or has no graph.
  for (size_t N = 0; N < Whole.size(); ++N)
    EXPECT_NE(said(Whole.substr(0, N)), "") << N;
}

TEST(BadFile, DamagedInside) {
  std::string Whole = relu().SerializeAsString();
  size_t At = Whole.find("Relu");
  ASSERT_NE(At, std::string::npos);
  Whole[At - 1] = 100;
  EXPECT_EQ(said(Whole),
            "error[KPC-I0004]: m.onnx: the file is damaged: a message inside "
            "it breaks off\n"
            "  hint: export or download the model again\n");
}

TEST(BadFile, NoGraph) {
  ModelProto M;
  M.set_ir_version(8);
  EXPECT_EQ(said(M), "error[KPC-I0006]: m.onnx: the model has no graph\n"
                     "  hint: export the model again; a ModelProto without a "
                     "graph computes nothing\n");
}

TEST(BadFile, Unreadable) {
  Diagnostics D;
  D.setFile("gone.onnx");
  EXPECT_FALSE(readModel("/nonexistent/gone.onnx", D));
  EXPECT_EQ(D.text(), "error[KPC-I0001]: gone.onnx: the file cannot be read: "
                      "No such file or directory\n"
                      "  hint: check the path and its permissions\n");
}

TEST(BadFile, NewerOpset) {
  ModelProto M = relu();
  M.mutable_opset_import(0)->set_version(99);
  EXPECT_EQ(said(M), "error[KPC-I0009]: m.onnx: the model asks for version 99 "
                     "of operator set 'ai.onnx'; kpc knows 1 to 28\n"
                     "  hint: convert the model to a version kpc knows: "
                     "onnx.version_converter\n");
}

TEST(BadFile, NestedDeeply) {
  ModelProto M = model();
  GraphProto *G = M.mutable_graph();
  for (int I = 0; I < 60; ++I) {
    NodeProto *N = fill(G->add_node(), "If", {}, {"y" + std::to_string(I)});
    G = attribute(N, "then_branch", AttributeProto::GRAPH)->mutable_g();
  }
  EXPECT_EQ(said(M),
            "error[KPC-I0031]: m.onnx: messages nest deeper than 128; each "
            "subgraph in a subgraph takes three\n"
            "  hint: flatten the model before compiling\n");
}

TEST(BadGraph, Cycle) {
  ModelProto M = model();
  input(M, "x", {2});
  node(M, "Add", {"x", "c"}, {"a"}, "first");
  node(M, "Relu", {"a"}, {"b"}, "second");
  node(M, "Neg", {"b"}, {"c"}, "third");
  node(M, "Abs", {"c"}, {"y"}, "behind");
  output(M, "y", {2});
  EXPECT_EQ(said(M),
            "error[KPC-I0010]: 'first' (Add, opset 17) in m.onnx: the nodes "
            "wait for one another: 'second', 'third', 'first'\n"
            "  hint: the graph must be acyclic; export the model again\n");
}

TEST(BadGraph, MissingInitializer) {
  ModelProto M = model();
  input(M, "x", {2});
  node(M, "Add", {"x", "w"}, {"y"}, "a");
  output(M, "y", {2});
  EXPECT_EQ(said(M),
            "error[KPC-I0011]: 'a' (Add, opset 17) in m.onnx: input 'w' is "
            "defined by no node, input or initializer\n"
            "  hint: a missing initializer or a node that was removed: export "
            "the model again with its weights\n");
}

TEST(BadGraph, UndefinedOutput) {
  ModelProto M = relu();
  output(M, "z");
  EXPECT_EQ(said(M),
            "error[KPC-I0011]: m.onnx: output 'z' is defined by no node, input "
            "or initializer\n"
            "  hint: a missing initializer or a node that was removed: export "
            "the model again with its weights\n");
}

TEST(BadGraph, DefinedTwice) {
  ModelProto M = relu();
  node(M, "Neg", {"x"}, {"y"}, "n");
  EXPECT_EQ(said(M), "error[KPC-I0012]: 'n' (Neg, opset 17) in m.onnx: value "
                     "'y' is defined twice\n"
                     "  hint: every value has one definition; rename one of "
                     "them\n");
}

TEST(BadTensor, NegativeDims) {
  TensorProto *W;
  ModelProto M = addW(W, {2, -3});
  EXPECT_EQ(said(M), "error[KPC-I0013]: m.onnx: initializer 'w' has the dims "
                     "[2, -3], one of them negative\n"
                     "  hint: a size is damaged, or the model computes a wrong "
                     "one; export the model again\n");
}

TEST(BadTensor, OverflowingDims) {
  TensorProto *W;
  ModelProto M = addW(W, {4294967296, 4294967296});
  EXPECT_EQ(said(M),
            "error[KPC-I0013]: m.onnx: initializer 'w' has the dims "
            "[4294967296, 4294967296], whose product overflows\n"
            "  hint: a size is damaged, or the model computes a wrong one; "
            "export the model again\n");
}

TEST(BadTensor, RawDataTooShort) {
  TensorProto *W;
  ModelProto M = addW(W);
  W->set_raw_data("1234567");
  EXPECT_EQ(said(M),
            "error[KPC-I0014]: m.onnx: initializer 'w': float [2] needs 8 "
            "bytes, but has 7 bytes of raw data\n"
            "  hint: the tensor is damaged; export the model again\n");
}

TEST(BadTensor, TypedDataTooLong) {
  TensorProto *W;
  ModelProto M = addW(W);
  for (int I = 0; I < 3; ++I)
    W->add_float_data(1);
  EXPECT_EQ(said(M),
            "error[KPC-I0014]: m.onnx: initializer 'w': float [2] needs 8 "
            "bytes, but has 3 elements in float_data\n"
            "  hint: the tensor is damaged; export the model again\n");
}

TEST(BadTensor, HugeWithoutData) {
  TensorProto *W;
  ModelProto M = addW(W, {int64_t(1) << 40});
  EXPECT_EQ(said(M),
            "error[KPC-I0014]: m.onnx: initializer 'w': float [1099511627776] "
            "needs 4398046511104 bytes, but has 0 elements in float_data\n"
            "  hint: the tensor is damaged; export the model again\n");
}

TEST(BadTensor, UnknownElementType) {
  TensorProto *W;
  ModelProto M = addW(W, {2}, 77);
  EXPECT_EQ(said(M), "error[KPC-I0015]: m.onnx: initializer 'w' has the "
                     "element type number 77, which ONNX does not define\n"
                     "  hint: export the model again\n");
}

TEST(BadTensor, ValueOutsideItsType) {
  TensorProto *W;
  ModelProto M = addW(W, {1}, TensorProto::INT8);
  W->add_int32_data(300);
  EXPECT_EQ(said(M), "error[KPC-I0033]: m.onnx: initializer 'w': int32_data "
                     "has values that do not fit int8\n"
                     "  hint: export the model again\n");
}

static void external(TensorProto *T, const std::string &Key,
                     const std::string &Value) {
  T->set_data_location(TensorProto::EXTERNAL);
  auto *Entry = T->add_external_data();
  Entry->set_key(Key);
  Entry->set_value(Value);
}

TEST(BadExternal, Missing) {
  Folder F;
  TensorProto *W;
  ModelProto M = addW(W);
  external(W, "location", "w.bin");
  EXPECT_EQ(said(M, F.Path.string()),
            "error[KPC-I0016]: m.onnx: initializer 'w': external data 'w.bin' "
            "cannot be read: No such file or directory\n"
            "  hint: put the file beside the model, under the name the model "
            "gives\n");
}

TEST(BadExternal, MissingForSeveral) {
  Folder F;
  TensorProto *W;
  ModelProto M = addW(W);
  external(W, "location", "w.bin");
  for (const char *Name : {"v", "u"}) {
    TensorProto Other = *W;
    Other.set_name(Name);
    *M.mutable_graph()->add_initializer() = Other;
  }
  EXPECT_EQ(said(M, F.Path.string()),
            "error[KPC-I0016]: m.onnx: initializer 'w' and 2 others: external "
            "data 'w.bin' cannot be read: No such file or directory\n"
            "  hint: put the file beside the model, under the name the model "
            "gives\n");
}

TEST(BadExternal, TooShort) {
  Folder F;
  F.file("w.bin", "123456789");
  TensorProto *W;
  ModelProto M = addW(W);
  external(W, "location", "w.bin");
  external(W, "offset", "4");
  EXPECT_EQ(said(M, F.Path.string()),
            "error[KPC-I0017]: m.onnx: initializer 'w': bytes 4 to 4+8 of "
            "'w.bin', which has only 9\n"
            "  hint: the data file is cut short or belongs to another model; "
            "copy it again\n");
}

TEST(BadExternal, OutsideTheFolder) {
  Folder F;
  std::filesystem::create_directory(F.Path / "in");
  F.file("w.bin", "12345678");
  std::filesystem::create_symlink(F.Path / "w.bin", F.Path / "in/link.bin");
  std::filesystem::create_directory_symlink(F.Path, F.Path / "in/up");
  const std::pair<std::string, std::string> Cases[] = {
      {(F.Path / "w.bin").string(), "the path is absolute"},
      {"../w.bin", "the path leaves the model's folder"},
      {"a/../../w.bin", "the path leaves the model's folder"},
      {"link.bin", "'link.bin' is a link"},
      {"up/w.bin", "'up' is a link"},
  };
  for (const auto &[Location, Why] : Cases) {
    TensorProto *W;
    ModelProto M = addW(W);
    external(W, "location", Location);
    EXPECT_EQ(said(M, (F.Path / "in").string()),
              "error[KPC-I0018]: m.onnx: initializer 'w': external data '" +
                  Location + "' is refused: " + Why +
                  "\n"
                  "  hint: external data must be a plain file in the model's "
                  "folder or below: no absolute path, no `..`, no link\n");
  }
}

TEST(BadExternal, NoFolder) {
  const std::pair<std::string, std::string> Cases[] = {
      {"", "[KPC-I0018]: m.onnx: initializer 'w': external data 'w.bin' is "
           "refused: a model read from memory has no folder\n"
           "  hint: external data must be a plain file in the model's folder "
           "or below: no absolute path, no `..`, no link\n"},
      {"/nonexistent",
       "[KPC-I0016]: m.onnx: initializer 'w': external data 'w.bin' cannot be "
       "read: the model's folder cannot be opened\n"
       "  hint: put the file beside the model, under the name the model "
       "gives\n"}};
  for (const auto &[Where, Text] : Cases) {
    TensorProto *W;
    ModelProto M = addW(W);
    external(W, "location", "w.bin");
    EXPECT_EQ(said(M, Where), "error" + Text);
  }
}

TEST(BadExternal, MalformedNumbers) {
  for (const char *Number : {"-1", "0x10", "1e3", "", "99999999999999999999"}) {
    TensorProto *W;
    ModelProto M = addW(W);
    external(W, "location", "w.bin");
    external(W, "offset", Number);
    EXPECT_EQ(said(M, "/tmp"),
              "error[KPC-I0019]: m.onnx: initializer 'w': external data has "
              "the offset '" +
                  std::string(Number) +
                  "'\n"
                  "  hint: offset and length are decimal numbers of bytes; "
                  "export the model again\n");
  }
}

TEST(BadNode, AttributeHoldsAnotherType) {
  ModelProto M = relu();
  NodeProto *N = M.mutable_graph()->mutable_node(0);
  attribute(N, "alpha", AttributeProto::INT)->set_f(1);
  EXPECT_EQ(said(M),
            "error[KPC-I0020]: 'r' (Relu, opset 17) in m.onnx: attribute "
            "'alpha' says it is an int, but holds a float\n"
            "  hint: the attribute's type is part of the operator's "
            "definition; export the model again\n");
}

TEST(BadNode, AllFaultsAtOnce) {
  ModelProto M = model();
  input(M, "x", {2});
  node(M, "Add", {"x", "v"}, {"a"}, "first");
  node(M, "Add", {"a", "w"}, {"y"}, "second");
  output(M, "y", {2});
  Diagnostics D;
  readModel(bytes(M.SerializeAsString()), "", D);
  EXPECT_EQ(D.errorCount(), 2u);
}

TEST(BadFile, RandomDamageIsAlwaysSaid) {
  // Every byte of a small model, set to every value that matters on the wire.
  TensorProto *W;
  ModelProto M = addW(W);
  W->set_raw_data("12345678");
  std::string Whole = M.SerializeAsString();
  for (size_t I = 0; I < Whole.size(); ++I)
    for (int V : {0, 1, 0x7f, 0x80, 0xff, Whole[I] ^ 8}) {
      std::string Damaged = Whole;
      Damaged[I] = static_cast<char>(V);
      said(Damaged);
    }
}
