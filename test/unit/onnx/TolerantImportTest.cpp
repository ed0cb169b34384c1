//===- TolerantImportTest.cpp - Files as the world writes them ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Requirements.h"
#include "dialects/graph/SizeReasons.h"
#include "test/unit/onnx/Imported.h"

using namespace kpc;
using namespace kpc::onnx;
using namespace kpc::onnx::test;

//===----------------------------------------------------------------------===//
// Faults of the file that leave the meaning clear
//===----------------------------------------------------------------------===//

static ::onnx::TensorShapeProto *shapeOf(ModelProto &M, int Input) {
  return M.mutable_graph()
      ->mutable_input(Input)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape();
}

TEST(TolerantImport, NegativeDimsAreUnknown) {
  ModelProto M = unary("Relu", {-1, 3});
  shapeOf(M, 0)->mutable_dim(0)->set_dim_value(-1);
  M.mutable_graph()->mutable_output(0)->clear_type();
  Imported I(M);
  EXPECT_EQ(I.result(), "!graph.tensor<[x_0, 3], f32>");
  EXPECT_EQ(I.Diags.text(), "");
}

TEST(TolerantImport, AQuestionMarkIsNoName) {
  ModelProto M = unary("Relu", {-1, 3});
  shapeOf(M, 0)->mutable_dim(0)->set_dim_param("?");
  M.mutable_graph()->mutable_output(0)->clear_type();
  ImportOptions Options;
  Options.Dims["x_0"] = {.Min = 5, .Max = 5};
  Imported I(M, Options);
  EXPECT_EQ(I.result(), "!graph.tensor<[5, 3], f32>");
}

TEST(TolerantImport, NoneIsNoName) {
  ModelProto M = unary("Relu", {-1, -1, 3});
  shapeOf(M, 0)->mutable_dim(0)->set_dim_param("None");
  shapeOf(M, 0)->mutable_dim(1)->set_dim_param("None");
  M.mutable_graph()->mutable_output(0)->clear_type();
  Imported I(M);
  EXPECT_EQ(I.result(), "!graph.tensor<[x_0, x_1, 3], f32>");
}

TEST(TolerantImport, StringsThatNothingReads) {
  ModelProto M = unary("Relu");
  input(M, "id", {-1}, TensorProto::STRING);
  Imported I(M);
  EXPECT_EQ(I.Diags.text(),
            "warning[KPC-I0038]: m.onnx: the model's input 'id' is strings, "
            "and nothing reads it: it is left out\n"
            "  hint: export the model again to be rid of it; --strict makes "
            "this an error\n");
  ASSERT_TRUE(I.Module);
  EXPECT_EQ((*I.Module->getOps<mlir::func::FuncOp>().begin()).getNumArguments(),
            1U);
}

TEST(TolerantImport, TheLastOfTwoOperatorSetsCounts) {
  ModelProto M = unary("Relu");
  M.add_opset_import()->set_version(13);
  EXPECT_EQ(Imported(M).Diags.text(),
            "warning[KPC-I0038]: m.onnx: the model asks for two versions of "
            "operator set 'ai.onnx', 17 and 13; the last counts\n"
            "  hint: export the model again to be rid of it; --strict makes "
            "this an error\n");
}

TEST(TolerantImport, AnOperatorSetIsMissing) {
  ModelProto M = unary("Relu");
  M.mutable_opset_import(0)->set_domain("org.example");
  Imported I(M);
  EXPECT_EQ(I.result(), "!graph.tensor<[2, 3], f32>");
  EXPECT_EQ(I.Diags.all().size(), 1u);
}

TEST(TolerantImport, TheLastOfTwoInitializersCounts) {
  ModelProto M = unary("Reshape");
  M.mutable_graph()->mutable_output(0)->clear_type();
  int64s(M, "s", {1}, {7});
  int64s(M, "s", {1}, {6});
  only(M)->add_input("s");
  Imported I(M);
  EXPECT_EQ(I.result(), "!graph.tensor<[6], f32>");
  EXPECT_EQ(I.Diags.all().size(), 1u);
}

TEST(TolerantImport, AnOutputThatIsListedTwiceIsGivenOnce) {
  ModelProto M = unary("Relu");
  output(M, "y");
  Imported I(M);
  auto Main = *I.Module->getOps<mlir::func::FuncOp>().begin();
  EXPECT_EQ(Main.getNumResults(), 1u);
  EXPECT_EQ(I.Diags.text(),
            "warning[KPC-I0038]: 'n' (Relu, opset 17) in m.onnx: the model "
            "lists its output 'y' twice; it is given once\n"
            "  hint: export the model again to be rid of it; --strict makes "
            "this an error\n");
}

TEST(TolerantImport, AnUnreadInputWithoutAShapeIsLeftOut) {
  ModelProto M = unary("Relu");
  input(M, "q", {});
  M.mutable_graph()
      ->mutable_input(1)
      ->mutable_type()
      ->mutable_tensor_type()
      ->clear_shape();
  Imported I(M);
  auto Main = *I.Module->getOps<mlir::func::FuncOp>().begin();
  EXPECT_EQ(Main.getNumArguments(), 1u);
}

TEST(TolerantImport, StrictMakesWarningsErrors) {
  Diagnostics Diags;
  Diags.setStrict(true);
  Diags.warning(Code::ImportContradiction).message("a");
  EXPECT_TRUE(Diags.hasErrors());
  EXPECT_EQ(Diags.all().front().Level, Severity::Error);
}

//===----------------------------------------------------------------------===//
// What the user says
//===----------------------------------------------------------------------===//

TEST(GivenDims, ByPlace) {
  ImportOptions Options;
  Options.Places["x"] = {{.Min = 2, .Max = 9}, {.Min = 3, .Max = 3}};
  Imported I(unary("Relu", {-1, 3}), Options);
  EXPECT_EQ(graph::symbolFacts(*I.Module).symbols().at("d0").Max, 9);
}

TEST(GivenDims, ByPlaceOfAnInputWithoutAShape) {
  ModelProto M = unary("Relu");
  M.mutable_graph()->mutable_output(0)->clear_type();
  M.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->clear_shape();
  ImportOptions Options;
  Options.Places["x"] = {{}, {.Min = 3, .Max = 3}};
  EXPECT_EQ(Imported(M, Options).result(), "!graph.tensor<[x_0, 3], f32>");
}

TEST(GivenDims, ThatDoNotFit) {
  ImportOptions Options;
  Options.Places["x"] = {{.Min = 2, .Max = 2}};
  EXPECT_EQ(Imported(unary("Relu", {-1, 3}), Options).Diags.text(),
            "error[KPC-I0032]: m.onnx: --dim gives 1 sizes of input 'x', which "
            "has 2 dims\n"
            "  hint: the model's inputs are x float [d0, 3]\n");
  Options.Places["x"] = {{}, {.Min = 4, .Max = 4}};
  EXPECT_EQ(Imported(unary("Relu", {-1, 3}), Options).Diags.text(),
            "error[KPC-I0032]: m.onnx: dim 1 of input 'x' is 3 in the model\n"
            "  hint: the model's inputs are x float [d0, 3]\n");
}

TEST(GivenValues, LeaveTheSignature) {
  ModelProto M = unary("Reshape", {2, 3});
  M.mutable_graph()->mutable_output(0)->clear_type();
  input(M, "s", {2}, TensorProto::INT64);
  only(M)->add_input("s");
  ImportOptions Options;
  Options.Values["s"] = "3, -1";
  Imported I(M, Options);
  EXPECT_EQ(I.result(), "!graph.tensor<[3, 2], f32>");
  auto Main = *I.Module->getOps<mlir::func::FuncOp>().begin();
  EXPECT_EQ(Main.getNumArguments(), 1u);
  Options.Values["s"] = "3,x";
  EXPECT_EQ(Imported(M, Options).Diags.text(),
            "error[KPC-I0040]: m.onnx: --value s=3,x: 'x' is no int64, the "
            "type of input 's'\n"
            "  hint: write one element, or all of them with commas between: "
            "--value sr=16000\n");
  Options.Values["s"] = "3,2,1";
  EXPECT_EQ(Imported(M, Options).Diags.errorCount(), 1u);
}

//===----------------------------------------------------------------------===//
// Values that are known when compiling
//===----------------------------------------------------------------------===//

/// Pads as PyTorch writes them: [w_low, w_high, h_low, h_high] reshaped, turned
/// over, transposed, reshaped and cast.
TEST(KnownValues, PadsOfTorch) {
  ModelProto M = model();
  input(M, "x", {-1, 4});
  int64s(M, "given", {4}, {1, 2, 0, 0});
  int64s(M, "pairs", {2}, {-1, 2});
  int64s(M, "last", {1}, {-1});
  int64s(M, "first", {1}, {INT64_MIN + 1});
  int64s(M, "axis", {1}, {0});
  int64s(M, "flat", {1}, {-1});
  node(M, "Reshape", {"given", "pairs"}, {"a"});
  node(M, "Slice", {"a", "last", "first", "axis", "last"}, {"b"});
  intsAttribute(node(M, "Transpose", {"b"}, {"c"}), "perm", {1, 0});
  node(M, "Reshape", {"c", "flat"}, {"d"});
  intAttribute(node(M, "Cast", {"d"}, {"pads"}), "to", TensorProto::INT64);
  node(M, "Pad", {"x", "pads"}, {"y"}, "n");
  output(M, "y");
  EXPECT_EQ(Imported(M).result(), "!graph.tensor<[d0, 7], f32>");
}

/// x, a tensor of [d0, 3], reshaped to what `Op` makes of its number of rows.
static ModelProto reshapedBy(
    const std::function<std::string(ModelProto &, const std::string &)> &Op) {
  ModelProto M = model();
  input(M, "x", {-1, 4});
  int64s(M, "zero", {1}, {0});
  int64s(M, "rest", {1}, {-1});
  node(M, "Shape", {"x"}, {"sizes"});
  node(M, "Gather", {"sizes", "zero"}, {"rows"});
  std::string Rows = Op(M, "rows");
  intAttribute(node(M, "Concat", {Rows, "rest"}, {"s"}), "axis", 0);
  node(M, "Reshape", {"x", "s"}, {"y"}, "n");
  output(M, "y");
  return M;
}

TEST(KnownValues, FloatsOfSizes) {
  // floor(float(rows) * 2.0) rows.
  ModelProto M = reshapedBy([](ModelProto &M, const std::string &Rows) {
    float Two = 2;
    initializer(M, "two", {1})
        ->set_raw_data(
            std::string(reinterpret_cast<char *>(&Two), sizeof(Two)));
    intAttribute(node(M, "Cast", {Rows}, {"f"}), "to", TensorProto::FLOAT);
    node(M, "Mul", {"f", "two"}, {"g"});
    node(M, "Floor", {"g"}, {"h"});
    intAttribute(node(M, "Cast", {"h"}, {"i"}), "to", TensorProto::INT64);
    return "i";
  });
  EXPECT_EQ(Imported(M).result(), "!graph.tensor<[\"d0*2\", 2], f32>");
}

TEST(KnownValues, NegAndLogicOfSizes) {
  // where(-rows < 0 and true, rows, 1): rows, for at least 1 of them.
  ModelProto M = reshapedBy([](ModelProto &M, const std::string &Rows) {
    int64s(M, "one", {1}, {1});
    initializer(M, "yes", {1}, TensorProto::BOOL)->set_raw_data("\1");
    node(M, "Neg", {Rows}, {"f"});
    node(M, "Less", {"f", "zero"}, {"g"});
    node(M, "And", {"g", "yes"}, {"h"});
    node(M, "Where", {"h", Rows, "one"}, {"i"});
    return "i";
  });
  ImportOptions Options;
  Options.Dims["d0"] = {.Min = 1};
  EXPECT_EQ(Imported(M, Options).result(), "!graph.tensor<[d0, 4], f32>");
}

TEST(KnownValues, ARoundedQuotientIsNotMultiplied) {
  // 3 * (rows / 3) in floats is not always the number of rows: the run says.
  ModelProto M = reshapedBy([](ModelProto &M, const std::string &Rows) {
    float Three = 3;
    initializer(M, "three", {1})
        ->set_raw_data(
            std::string(reinterpret_cast<char *>(&Three), sizeof(Three)));
    intAttribute(node(M, "Cast", {Rows}, {"f"}), "to", TensorProto::FLOAT);
    node(M, "Div", {"f", "three"}, {"g"});
    node(M, "Mul", {"g", "three"}, {"h"});
    intAttribute(node(M, "Cast", {"h"}, {"i"}), "to", TensorProto::INT64);
    return "i";
  });
  EXPECT_NE(Imported(M).result().find("s_value"), std::string::npos);
}

//===----------------------------------------------------------------------===//
// Sizes that must be what the model does not say
//===----------------------------------------------------------------------===//

/// max_pool(x) by 2 and back by 2, added to x: as a U-Net does.
static ModelProto downAndUp() {
  ModelProto M = model();
  input(M, "x", {1, 1, -1, 8});
  auto *Pool = node(M, "MaxPool", {"x"}, {"low"}, "pool");
  intsAttribute(Pool, "kernel_shape", {2, 2});
  intsAttribute(Pool, "strides", {2, 2});
  float Scales[] = {1, 1, 2, 2};
  initializer(M, "scales", {4})
      ->set_raw_data(
          std::string(reinterpret_cast<char *>(Scales), sizeof(Scales)));
  node(M, "Resize", {"low", "", "scales"}, {"high"}, "resize");
  node(M, "Add", {"x", "high"}, {"y"}, "n");
  output(M, "y");
  return M;
}

TEST(AssumedSizes, AMultipleOfTheStride) {
  Imported I(downAndUp());
  EXPECT_EQ(I.Diags.text(),
            "warning[KPC-I0039]: 'n' (Add, opset 17) in m.onnx: d2 must be a "
            "multiple of 2: the node needs the sizes d2 and "
            "floordiv(d2, 2)*2 to be equal\n"
            "  hint: other sizes are refused when they are bound; --dim says "
            "it beforehand\n");
  shape::Facts Facts = graph::symbolFacts(*I.Module);
  EXPECT_EQ(Facts.symbols().at("d2").Divisor, 2);
  EXPECT_EQ(graph::sizeReasons(*I.Module).at("d2"),
            "'n' (Add) needs the sizes d2 and floordiv(d2, 2)*2 to be equal");
  EXPECT_TRUE(graph::takenDims(*I.Module).empty());
}

TEST(AssumedSizes, NothingIsAssumedOfWhatIsSaid) {
  ImportOptions Options;
  Options.Dims["d2"] = {.Min = 32, .Max = 640, .Divisor = 32};
  Imported I(downAndUp(), Options);
  EXPECT_EQ(I.Diags.text(), "");
  EXPECT_TRUE(graph::sizeReasons(*I.Module).empty());
}

TEST(AssumedSizes, ASqueezeThatMayRemove) {
  ModelProto M = unary("Squeeze", {-1, 1, 3});
  M.mutable_graph()->mutable_output(0)->clear_type();
  Imported I(M);
  EXPECT_EQ(I.result(), "!graph.tensor<[d0, 3], f32>");
  EXPECT_EQ(graph::symbolFacts(*I.Module).symbols().at("d0").Min, 2);
  ImportOptions Options;
  Options.Dims["d0"] = {.Min = 1, .Max = 1};
  EXPECT_EQ(Imported(M, Options).result(), "!graph.tensor<[3], f32>");
}

TEST(AssumedSizes, ASqueezeOfWhatMustBeOne) {
  ModelProto M = model();
  input(M, "x", {2, 1, -1});
  auto *Pool = node(M, "MaxPool", {"x"}, {"low"}, "pool");
  intsAttribute(Pool, "kernel_shape", {512});
  intsAttribute(Pool, "strides", {512});
  int64s(M, "axes", {1}, {2});
  node(M, "Squeeze", {"low", "axes"}, {"y"}, "n");
  output(M, "y");
  Imported I(M);
  EXPECT_EQ(I.result(), "!graph.tensor<[2, 1], f32>");
  EXPECT_EQ(I.Diags.text(),
            "warning[KPC-I0039]: 'n' (Squeeze, opset 17) in m.onnx: size d2 is "
            "taken to be 512: the node needs the size floordiv(d2, 512) to be "
            "1; any from 512 to 1023 would do\n"
            "  hint: for another, compile with --dim d2=VALUE\n");
}

/// A sixth element is there or not, and no one symbol says which.
TEST(AssumedSizes, ASqueezeOfWhatSeveralSymbolsDecide) {
  ModelProto M = model();
  input(M, "x", {-1, -1});
  int64s(M, "from", {1}, {5});
  int64s(M, "to", {1}, {6});
  int64s(M, "axes", {1}, {1});
  intAttribute(node(M, "Flatten", {"x"}, {"row"}, "flatten"), "axis", 0);
  node(M, "Slice", {"row", "from", "to", "axes"}, {"one"}, "slice");
  node(M, "Squeeze", {"one", "axes"}, {"y"}, "n");
  output(M, "y");
  Imported I(M);
  EXPECT_EQ(I.Diags.text(),
            "warning[KPC-I0039]: 'n' (Squeeze, opset 17) in m.onnx: the node "
            "removes a dimension; its size max(-min(d0*d1, 5) + min(d0*d1, "
            "6), 0) is assumed to be 1\n"
            "  hint: other sizes are refused when they are bound\n");
  EXPECT_EQ(I.result(), "!graph.tensor<[1], f32>");
  std::vector<graph::Requirement> Must = graph::requirements(*I.Module);
  ASSERT_EQ(Must.size(), 1U);
  EXPECT_TRUE(Must[0].Equal);
  EXPECT_EQ(Must[0].Right, shape::Expr(1));
  EXPECT_EQ(Must[0].Reason, "'n' (Squeeze) removes a dimension");
}

/// A slice of one element is one where there are so many.
TEST(AssumedSizes, AnExpandOfASliceOfOne) {
  ModelProto M = model();
  input(M, "x", {-1});
  input(M, "like", {-1, -1});
  int64s(M, "from", {1}, {5});
  int64s(M, "to", {1}, {6});
  node(M, "Slice", {"x", "from", "to"}, {"one"}, "slice");
  node(M, "Shape", {"like"}, {"size"}, "shape");
  node(M, "Expand", {"one", "size"}, {"y"}, "n");
  output(M, "y");
  Imported I(M);
  EXPECT_EQ(I.Diags.text(), "");
  EXPECT_EQ(I.result(), "!graph.tensor<[d0, d1], f32>");
  std::vector<graph::Requirement> Must = graph::requirements(*I.Module);
  ASSERT_EQ(Must.size(), 1U);
  EXPECT_TRUE(Must[0].Equal);
  EXPECT_EQ(Must[0].Right, shape::Expr(1));
  EXPECT_EQ(Must[0].Reason, "'n' (Expand) makes d1 elements of one");
}

/// The same of operators that broadcast by themselves.
TEST(AssumedSizes, ASliceOfOneBroadcasts) {
  ModelProto M = model();
  input(M, "x", {-1});
  input(M, "like", {-1, -1});
  int64s(M, "from", {1}, {0});
  int64s(M, "to", {1}, {1});
  node(M, "Slice", {"x", "from", "to"}, {"one"}, "slice");
  node(M, "Add", {"like", "one"}, {"y"}, "n");
  output(M, "y");
  Imported I(M);
  EXPECT_EQ(I.Diags.text(),
            "warning[KPC-I0039]: 'n' (Add, opset 17) in m.onnx: d0 must be at "
            "least 1: the node needs the sizes min(d0, 1) and 1 to be equal\n"
            "  hint: other sizes are refused when they are bound; --dim says "
            "it beforehand\n");
  EXPECT_EQ(I.result(), "!graph.tensor<[d0, d1], f32>");
  std::vector<graph::Requirement> Must = graph::requirements(*I.Module);
  ASSERT_EQ(Must.size(), 1U);
  EXPECT_EQ(Must[0].Left, shape::Expr(1));
  EXPECT_EQ(Must[0].Right, shape::Expr::symbol("d0"));
  EXPECT_FALSE(Must[0].Equal);
}

/// A row of a table by its place: all places are left.
TEST(AssumedSizes, ASqueezeOfOneRowByItsPlace) {
  ModelProto M = model();
  input(M, "place", {1}, TensorProto::INT64);
  input(M, "table", {32, 8});
  int64s(M, "one", {1}, {1});
  int64s(M, "axis", {1}, {0});
  node(M, "Add", {"place", "one"}, {"end"}, "add");
  node(M, "Slice", {"table", "place", "end"}, {"row"}, "slice");
  node(M, "Squeeze", {"row", "axis"}, {"y"}, "n");
  output(M, "y");
  Imported I(M);
  EXPECT_EQ(I.result(), "!graph.tensor<[8], f32>");
  std::vector<graph::Requirement> Must = graph::requirements(*I.Module);
  ASSERT_EQ(Must.size(), 1U);
  EXPECT_EQ(Must[0].Left, shape::Expr::symbol("place[0]"));
  EXPECT_EQ(Must[0].Right, shape::Expr(31));
  EXPECT_FALSE(Must[0].Equal);
}

TEST(AssumedSizes, ASliceTo1e9IsToTheEnd) {
  ModelProto M = unary("Slice", {-1});
  M.mutable_graph()->mutable_output(0)->clear_type();
  int64s(M, "zero", {1}, {0});
  int64s(M, "end", {1}, {1000000000});
  only(M)->add_input("zero");
  only(M)->add_input("end");
  EXPECT_EQ(Imported(M).result(), "!graph.tensor<[d0], f32>");
}
