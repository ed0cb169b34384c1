//===- ImportTest.cpp - From models to the graph dialect ------------------===//
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
using kpc::graph::SymbolicTensorType;

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

TEST(BadImport, UnknownOp) {
  EXPECT_EQ(Imported(unary("Rellu")).Diags.text(),
            "error[KPC-I0007]: 'n' (Rellu, opset 17) in m.onnx: kpc has no "
            "import rule for this operator\n"
            "  hint: did you mean Relu? `kpc ops` lists what imports\n");
}

TEST(BadImport, OpNewerThanTheModel) {
  EXPECT_EQ(Imported(unary("Mish")).Diags.text(),
            "error[KPC-I0007]: 'n' (Mish, opset 17) in m.onnx: kpc imports "
            "this operator of opset 18 to 28 only\n"
            "  hint: convert the model to one of these opsets: "
            "onnx.version_converter\n");
}

TEST(BadImport, UnknownDomain) {
  ModelProto M = unary("Relu");
  only(M)->set_domain("org.example");
  EXPECT_EQ(Imported(M).Diags.text(),
            "error[KPC-I0008]: 'n' (org.example.Relu) in m.onnx: kpc knows no "
            "operators of the domain 'org.example'\n"
            "  hint: `kpc ops` lists the domains and operators that import; "
            "--operator brings others\n");
}

TEST(BadImport, AttributeOfTheWrongType) {
  ModelProto M = unary("Elu");
  attribute(only(M), "alpha", AttributeProto::INT)->set_i(1);
  EXPECT_EQ(Imported(M).Diags.text(),
            "error[KPC-I0020]: 'n' (Elu, opset 17) in m.onnx: attribute "
            "'alpha' is an int, but should be a float\n"
            "  hint: the attribute's type is part of the operator's "
            "definition; export the model again\n");
}

TEST(BadImport, MissingAttribute) {
  ModelProto M = unary("MaxPool", {1, 1, 4, 4});
  EXPECT_EQ(Imported(M).Diags.text(),
            "error[KPC-I0021]: 'n' (MaxPool, opset 17) in m.onnx: attribute "
            "'kernel_shape' is missing\n"
            "  hint: the operator's definition asks for it; export the model "
            "again\n");
}

TEST(BadImport, UnknownAttribute) {
  ModelProto M = unary("Relu");
  intAttribute(only(M), "slope", 1);
  EXPECT_EQ(Imported(M).Diags.text(),
            "error[KPC-I0023]: 'n' (Relu, opset 17) in m.onnx: has no "
            "attribute 'slope' that kpc knows\n"
            "  hint: remove the attribute, or convert the model to the opset "
            "that has it\n");
}

TEST(BadImport, WrongRank) {
  ModelProto M = unary("MaxPool", {4, 4});
  intsAttribute(only(M), "kernel_shape", {2, 2});
  EXPECT_EQ(Imported(M).Diags.text(),
            "error[KPC-I0025]: 'n' (MaxPool, opset 17) in m.onnx: input 0 has "
            "rank 2, but should have 3 or more\n"
            "  hint: check the shapes that flow into the node\n");
}

TEST(BadImport, AxisOutsideTheRank) {
  ModelProto M = unary("Softmax");
  intAttribute(only(M), "axis", 5);
  EXPECT_EQ(Imported(M).Diags.text(),
            "error[KPC-I0022]: 'n' (Softmax, opset 17) in m.onnx: axis 5 is "
            "outside the rank 2\n"
            "  hint: the operator's definition says what is allowed; `kpc ops` "
            "lists what of it does not compile\n");
}

TEST(BadImport, SizesThatDoNotBroadcast) {
  ModelProto M = model();
  input(M, "a", {2, 3});
  input(M, "b", {4});
  node(M, "Add", {"a", "b"}, {"y"}, "n");
  output(M, "y");
  EXPECT_EQ(Imported(M).Diags.text(),
            "error[KPC-I0026]: 'n' (Add, opset 17) in m.onnx: sizes [2, 3] and "
            "[4] cannot be broadcast together\n"
            "  hint: check the shapes that flow into the node\n");
}

TEST(BadImport, StringTensors) {
  EXPECT_EQ(
      Imported(unary("Identity", {2}, TensorProto::STRING)).Diags.text(),
      "error[KPC-I0015]: 'n' (Identity, opset 17) in m.onnx: the model's "
      "input 'x' is strings, and nothing in the model says which: kpc takes "
      "strings only where they select or label\n"
      "  hint: compute with strings outside, and give the model numbers; "
      "compare them with constants or lists of the model, and it compiles\n");
}

TEST(BadImport, SequenceInput) {
  ModelProto M = unary("Identity");
  M.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_sequence_type()
      ->mutable_elem_type()
      ->mutable_tensor_type()
      ->set_elem_type(1);
  EXPECT_EQ(Imported(M).Diags.text(),
            "error[KPC-I0030]: 'n' (Identity, opset 17) in m.onnx: the "
            "model's input 'x' is a sequence, and how many tensors it has is "
            "not said\n"
            "  hint: say it with --dim x=COUNT, up to 256; each is an input of "
            "its own, x[0] and so on\n");
  ImportOptions Options;
  Options.Dims["x"] = {.Min = 2, .Max = 2};
  auto *Element = M.mutable_graph()
                      ->mutable_input(0)
                      ->mutable_type()
                      ->mutable_sequence_type()
                      ->mutable_elem_type()
                      ->mutable_tensor_type();
  Element->mutable_shape()->add_dim()->set_dim_value(3);
  M.mutable_graph()->mutable_output(0)->clear_type();
  Imported Two(M, Options);
  ASSERT_TRUE(Two.Module) << Two.Diags.text();
  auto Main = *Two.Module->getOps<mlir::func::FuncOp>().begin();
  EXPECT_EQ(Main.getNumArguments(), 2U);
  EXPECT_EQ(Main.getNumResults(), 2U);
  EXPECT_EQ(Main.getResultAttrOfType<mlir::StringAttr>(1, "graph.name"),
            "y[1]");
}

TEST(BadImport, ShapeKnownOnlyAtRunTime) {
  ModelProto M = model();
  input(M, "x", {2, 3});
  input(M, "s", {-1}, TensorProto::INT64);
  node(M, "Reshape", {"x", "s"}, {"y"}, "n");
  M.mutable_graph()->add_output()->set_name("y");
  EXPECT_EQ(Imported(M).Diags.text(),
            "error[KPC-I0029]: 'n' (Reshape, opset 17) in m.onnx: input 1 "
            "(shape) is known only when the model runs\n"
            "  hint: say what it is when compiling: --value s=…\n");
}

TEST(TolerantImport, DeclaredOutputContradicts) {
  ModelProto M = unary("Relu");
  M.mutable_graph()->clear_output();
  output(M, "y", {2, 4});
  Imported I(M);
  EXPECT_EQ(I.result(), "!graph.tensor<[2, 3], f32>");
  EXPECT_EQ(I.Diags.text(),
            "warning[KPC-I0037]: 'n' (Relu, opset 17) in m.onnx: the model "
            "declares its output 'y' as float [2, 4], but computes "
            "f32[2,3]\n"
            "  hint: kpc goes on with what is computed; --strict makes this an "
            "error\n");
}

TEST(BadImport, LargerThanAnyMemory) {
  ModelProto M = model();
  input(M, "x", {1});
  int64s(M, "s", {2}, {int64_t(1) << 40, int64_t(1) << 40});
  node(M, "Expand", {"x", "s"}, {"y"}, "n");
  output(M, "y");
  EXPECT_EQ(Imported(M).Diags.text(),
            "error[KPC-I0013]: 'n' (Expand, opset 17) in m.onnx: a tensor of "
            "[1099511627776, 1099511627776] is larger than any memory\n"
            "  hint: a size is damaged, or the model computes a wrong one; "
            "export the model again\n");
}

TEST(BadImport, ConstantIndexOutside) {
  ModelProto M = model();
  input(M, "x", {3});
  int64s(M, "i", {1}, {7});
  node(M, "Gather", {"x", "i"}, {"y"}, "n");
  output(M, "y");
  EXPECT_EQ(Imported(M).Diags.text(),
            "error[KPC-I0026]: 'n' (Gather, opset 17) in m.onnx: index 7 is "
            "outside the size 3\n"
            "  hint: check the shapes that flow into the node\n");
}

TEST(BadImport, EveryFaultOnce) {
  ModelProto M = model();
  input(M, "x", {2});
  node(M, "Nope", {"x"}, {"a"}, "first");
  node(M, "Relu", {"a"}, {"b"}, "behind");
  node(M, "Neither", {"b"}, {"y"}, "second");
  output(M, "y");
  EXPECT_EQ(Imported(M).Diags.errorCount(), 2u);
}

/// Rows of x, [3, d1], and what is left of them, ordered.
static ModelProto orderedTwice() {
  ModelProto M = model();
  input(M, "x", {3, -1});
  int64s(M, "k", {1}, {2});
  node(M, "TopK", {"x", "k"}, {"a", "ai"}, "n");
  node(M, "TopK", {"a", "k"}, {"y", "yi"}, "behind");
  output(M, "y");
  return M;
}

TEST(ImportSizes, OrdersALengthOfAnyRange) {
  EXPECT_EQ(Imported(orderedTwice()).result(), "!graph.tensor<[3, 2], f32>");
  ImportOptions Options;
  Options.Dims["d1"] = {.Min = 2, .Max = 4096};
  EXPECT_EQ(Imported(orderedTwice(), Options).result(),
            "!graph.tensor<[3, 2], f32>");
}

// All pairs are compared, so that runs check that there are few.
TEST(ImportSizes, SlicesWithoutRangeAreTakenToBeFew) {
  ModelProto M = model();
  input(M, "x", {-1, 3});
  NodeProto *Unique = node(M, "Unique", {"x"}, {"y"}, "n");
  intAttribute(Unique, "axis", 0);
  output(M, "y");
  Imported I(M);
  EXPECT_EQ(I.result(), "!graph.tensor<[y_size, 3], f32>");
  std::string Text;
  llvm::raw_string_ostream Out(Text);
  I.Module->print(Out);
  EXPECT_NE(Text.find("'n' (Unique) compares all pairs of"), std::string::npos);
}

TEST(BadImport, UnknownDimOption) {
  ModelProto M = unary("Relu", {-1, 3});
  ImportOptions Options;
  Options.Dims["d1"] = {.Min = 1, .Max = 4};
  EXPECT_EQ(Imported(M, Options).Diags.text(),
            "error[KPC-I0032]: m.onnx: the model has no dim 'd1'\n"
            "  hint: did you mean 'd0'? the model's inputs are x float [d0, "
            "3]\n");
}

TEST(BadImport, EmptyRangeOfADim) {
  ImportOptions Options;
  Options.Dims["d0"] = {.Min = 4, .Max = 2};
  EXPECT_EQ(Imported(unary("Relu", {-1, 3}), Options).Diags.text(),
            "error[KPC-I0032]: m.onnx: the range of dim 'd0' is empty\n"
            "  hint: a range has sizes from 0 on, the least one first\n");
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

TEST(ImportSizes, NamesStay) {
  Imported I(unary("Relu", {-1, 3}));
  EXPECT_EQ(I.result(), "!graph.tensor<[d0, 3], f32>");
  EXPECT_EQ(graph::symbolFacts(*I.Module).symbols().count("d0"), 1u);
}

TEST(ImportSizes, AValueFixesADim) {
  ImportOptions Options;
  Options.Dims["d0"] = {.Min = 8, .Max = 8};
  Imported I(unary("Relu", {-1, 3}), Options);
  EXPECT_EQ(I.result(), "!graph.tensor<[8, 3], f32>");
  graph::TakenDims Taken = {{"d0", 8}};
  EXPECT_EQ(graph::takenDims(*I.Module), Taken);
}

/// x of [d0, 3] in two.
static ModelProto halves() {
  ModelProto M = model();
  input(M, "x", {-1, 3});
  node(M, "Split", {"x"}, {"a", "b"}, "n");
  node(M, "Mul", {"a", "b"}, {"y"});
  output(M, "y");
  return M;
}

TEST(ImportSizes, SplitsWhatIsSaidToDivide) {
  ImportOptions Options;
  Options.Dims["d0"] = {.Min = 2, .Max = 64, .Divisor = 2};
  EXPECT_EQ(Imported(halves(), Options).result(),
            "!graph.tensor<[\"floordiv(d0, 2)\", 3], f32>");
}

TEST(ImportSizes, PartsThatMustDivide) {
  ImportOptions Options;
  Options.Dims["d0"] = {.Min = 3, .Max = 63, .Divisor = 3};
  Imported I(halves(), Options);
  EXPECT_EQ(I.Diags.text(),
            "warning[KPC-I0039]: 'n' (Split, opset 17) in m.onnx: d0 must be a "
            "multiple of 6: the node needs the sizes d0 and "
            "floordiv(d0, 2)*2 to be equal\n"
            "  hint: other sizes are refused when they are bound; --dim says "
            "it beforehand\n");
  EXPECT_EQ(I.result(), "!graph.tensor<[\"floordiv(d0, 2)\", 3], f32>");
}

TEST(ImportSizes, TheLastPartMayBeSmaller) {
  ModelProto M = model(21);
  input(M, "x", {-1, 3});
  intAttribute(node(M, "Split", {"x"}, {"a", "b", "c"}, "n"), "num_outputs", 3);
  node(M, "Neg", {"c"}, {"y"});
  output(M, "y");
  Imported I(M);
  EXPECT_EQ(I.Diags.text(), "");
  EXPECT_EQ(I.result(),
            "!graph.tensor<[\"d0 - floordiv(d0 + 2, 3)*2\", 3], f32>");
}

TEST(ImportSizes, AsManyLengthsAsTheBatchHas) {
  ModelProto M = model();
  input(M, "x", {5, -1, 2});
  int64s(M, "lengths", {3}, {1, 5, 2});
  node(M, "ReverseSequence", {"x", "lengths"}, {"y"}, "n");
  output(M, "y");
  EXPECT_EQ(Imported(M).result(), "!graph.tensor<[5, 3, 2], f32>");
}

TEST(BadImport, LengthsOfAnotherBatch) {
  ModelProto M = model();
  input(M, "x", {5, 4, 2});
  int64s(M, "lengths", {3}, {1, 5, 2});
  node(M, "ReverseSequence", {"x", "lengths"}, {"y"}, "n");
  output(M, "y");
  EXPECT_EQ(Imported(M).Diags.text(),
            "error[KPC-I0026]: 'n' (ReverseSequence, opset 17) in m.onnx: has "
            "3 lengths for a batch of 4\n"
            "  hint: check the shapes that flow into the node\n");
}

TEST(ImportSizes, ComputedShapesAreShapes) {
  // reshape(x, concat(shape(x)[0:1], [-1])) with x of [d0, 3, 4]
  ModelProto M = model();
  input(M, "x", {-1, 3, 4});
  int64s(M, "zero", {}, {0});
  int64s(M, "axes", {1}, {0});
  int64s(M, "rest", {1}, {-1});
  node(M, "Shape", {"x"}, {"s"});
  node(M, "Gather", {"s", "zero"}, {"n"});
  node(M, "Unsqueeze", {"n", "axes"}, {"n1"});
  node(M, "Concat", {"n1", "rest"}, {"to"});
  intAttribute(M.mutable_graph()->mutable_node(3), "axis", 0);
  node(M, "Reshape", {"x", "to"}, {"y"});
  output(M, "y");
  Imported I(M);
  EXPECT_EQ(I.result(), "!graph.tensor<[d0, 12], f32>");
  EXPECT_EQ(I.count<graph::SizesOp>(), 0);
}

TEST(ImportSizes, ShapesCanBeOutputs) {
  ModelProto M = model();
  input(M, "x", {-1, 3});
  node(M, "Shape", {"x"}, {"y"});
  output(M, "y", {2}, TensorProto::INT64);
  Imported I(M);
  EXPECT_EQ(I.result(), "!graph.tensor<[2], i64>");
  EXPECT_EQ(I.count<graph::SizesOp>(), 1);
}

TEST(ImportSizes, UnnamedDimsThatMustBeEqualBecomeOne) {
  ModelProto M = unary("Add", {-1, 3});
  auto *Extra = M.mutable_graph()->add_input();
  describe(Extra, "z", {-1, 3});
  Extra->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->clear_value();
  only(M)->add_input("z");
  Imported I(M);
  EXPECT_EQ(I.result(), "!graph.tensor<[d0, 3], f32>");
  graph::TakenDims Taken = {{"z_0", shape::Expr::symbol("d0")}};
  EXPECT_EQ(graph::takenDims(*I.Module), Taken);
  EXPECT_EQ(I.Diags.text(),
            "warning[KPC-I0035]: 'n' (Add, opset 17) in m.onnx: size z_0 is "
            "taken to be d0, as the operator needs\n"
            "  hint: give the dims one name when exporting, or fix them with "
            "--dim\n");
}

TEST(ImportSizes, AFilterSaysHowManyChannelsThereAre) {
  ModelProto M = model();
  input(M, "x", {-1, -1, 8, 8});
  input(M, "w", {4, 3, 1, 1});
  intAttribute(node(M, "Conv", {"x", "w"}, {"y"}, "n"), "group", 2);
  output(M, "y");
  Imported I(M);
  EXPECT_EQ(I.result(), "!graph.tensor<[d0, 4, 8, 8], f32>");
  EXPECT_EQ(I.Diags.text(),
            "warning[KPC-I0035]: 'n' (Conv, opset 17) in m.onnx: size d1 is "
            "taken to be 6, as the operator needs\n"
            "  hint: give the dims one name when exporting, or fix them with "
            "--dim\n");
}

TEST(ImportSizes, OfTwoNamesThatMeetTheEarlierIsLeft) {
  for (const char *First : {"a", "b"}) {
    SCOPED_TRACE(First);
    const char *Second = *First == 'a' ? "b" : "a";
    ModelProto M = unary("Add", {-1, -1});
    auto *Extra = M.mutable_graph()->add_input();
    describe(Extra, "z", {-1, -1});
    auto Name = [](::onnx::ValueInfoProto *Of, const char *Text) {
      for (auto &Dim : *Of->mutable_type()
                            ->mutable_tensor_type()
                            ->mutable_shape()
                            ->mutable_dim())
        Dim.set_dim_param(Text);
    };
    Name(M.mutable_graph()->mutable_input(0), First);
    Name(Extra, Second);
    M.mutable_graph()->mutable_output(0)->clear_type();
    only(M)->add_input("z");
    Imported I(M);
    EXPECT_EQ(I.result(), "!graph.tensor<[a, a], f32>");
    EXPECT_EQ(I.Diags.text(),
              "warning[KPC-I0035]: 'n' (Add, opset 17) in m.onnx: size b is "
              "taken to be a, as the operator needs\n"
              "  hint: give the dims one name when exporting, or fix them with "
              "--dim\n");
  }
}

TEST(ImportSizes, ASliceByASizeLimitsIt) {
  // table[:d0] with d0 the number of x's rows and a table of 8.
  ModelProto M = unary("Slice", {8});
  M.mutable_graph()->mutable_output(0)->clear_type();
  auto *Rows = M.mutable_graph()->add_input();
  describe(Rows, "z", {-1});
  node(M, "Shape", {"z"}, {"n"});
  initializer(M, "zero", {1}, TensorProto::INT64)
      ->set_raw_data(std::string(8, '\0'));
  only(M)->add_input("zero");
  only(M)->add_input("n");
  Imported I(M);
  EXPECT_EQ(I.result(), "!graph.tensor<[d0], f32>");
  EXPECT_EQ(I.Diags.text(),
            "warning[KPC-I0036]: 'n' (Slice, opset 17) in m.onnx: size d0 is "
            "taken to be at most 8, the size of what is sliced by it\n"
            "  hint: give the dim a range with --dim to say so yourself\n");
}

TEST(ImportSizes, DeclaredSizesHelpWhereAShapeIsAnInput) {
  ModelProto M = model();
  input(M, "x", {2, 3});
  input(M, "s", {1}, TensorProto::INT64);
  node(M, "Reshape", {"x", "s"}, {"y"});
  output(M, "y", {6});
  EXPECT_EQ(Imported(M).result(), "!graph.tensor<[6], f32>");
}

TEST(ImportSizes, BoundInputsLeaveTheSignature) {
  ModelProto M = model();
  input(M, "x", {2, 3});
  input(M, "s", {2}, TensorProto::INT64);
  node(M, "Reshape", {"x", "s"}, {"y"});
  M.mutable_graph()->add_output()->set_name("y");
  ImportOptions Options;
  Options.Bound["s"] = Tensor::ofIntegers("s", {2}, {3, 2});
  Imported I(M, Options);
  EXPECT_EQ(I.result(), "!graph.tensor<[3, 2], f32>");
  auto Main = *I.Module->getOps<mlir::func::FuncOp>().begin();
  EXPECT_EQ(Main.getNumArguments(), 1u);
}

//===----------------------------------------------------------------------===//
// Loops and branches
//===----------------------------------------------------------------------===//

/// A loop that carries h, of [2, 3]: `Body` names the op that gives the next.
static ModelProto loopModel(int64_t Trips, const std::string &Body) {
  ModelProto M = model();
  input(M, "x", {2, 3});
  int64s(M, "trips", {}, {Trips});
  AttributeProto *A = attribute(node(M, "Loop", {"trips", "", "x"}, {"y"}, "n"),
                                "body", AttributeProto::GRAPH);
  GraphProto *G = A->mutable_g();
  describe(G->add_input(), "i", {}, TensorProto::INT64);
  describe(G->add_input(), "go", {}, TensorProto::BOOL);
  describe(G->add_input(), "h", {2, 3});
  fill(G->add_node(), "Identity", {"go"}, {"on"});
  NodeProto *N = fill(G->add_node(), Body, {"h", "h"}, {"next"});
  if (Body == "Concat")
    intAttribute(N, "axis", 0);
  output(*G, "on");
  output(*G, "next");
  output(M, "y");
  return M;
}

TEST(ImportControl, ALoopIsOneBody) {
  Imported I(loopModel(300, "Add"));
  EXPECT_EQ(I.result(), "!graph.tensor<[2, 3], f32>");
  EXPECT_EQ(I.count<graph::LoopOp>(), 1);
  EXPECT_EQ(I.count<graph::AddOp>(), 1);
  shape::Facts Facts = graph::symbolFacts(*I.Module);
  const auto &Symbols = Facts.symbols();
  ASSERT_EQ(Symbols.count("kpc_iteration"), 1u);
  EXPECT_EQ(Symbols.find("kpc_iteration")->second.Max, 299);
}

TEST(ImportControl, AShortLoopIsUnrolled) {
  Imported I(loopModel(16, "Add"));
  EXPECT_EQ(I.count<graph::LoopOp>(), 0);
  EXPECT_EQ(I.count<graph::AddOp>(), 16);
}

// No loop, for what it carries has another size in each iteration.
TEST(ImportControl, ALoopWhoseValuesGrowIsUnrolled) {
  Imported I(loopModel(20, "Concat"));
  EXPECT_EQ(I.result(), "!graph.tensor<[2097152, 3], f32>");
  EXPECT_EQ(I.count<graph::LoopOp>(), 0);
  EXPECT_TRUE(graph::symbolFacts(*I.Module).symbols().empty());
  EXPECT_TRUE(I.Diags.empty()) << I.Diags.text();
}

static ModelProto ifModel(const std::string &Then, const std::string &Else) {
  ModelProto M = model();
  input(M, "x", {3, 3});
  input(M, "c", {}, TensorProto::BOOL);
  NodeProto *If = node(M, "If", {"c"}, {"y"}, "n");
  auto branch = [&](const char *Name, const std::string &Op) {
    GraphProto *G = attribute(If, Name, AttributeProto::GRAPH)->mutable_g();
    std::vector<std::string> Inputs(Op == "MatMul" ? 2 : 1, "x");
    fill(G->add_node(), Op, Inputs, {Op + "_y"});
    output(*G, Op + "_y");
  };
  branch("then_branch", Then);
  branch("else_branch", Else);
  output(M, "y");
  return M;
}

TEST(ImportControl, WorkIsBranchedTo) {
  Imported I(ifModel("MatMul", "Neg"));
  EXPECT_EQ(I.result(), "!graph.tensor<[3, 3], f32>");
  EXPECT_EQ(I.count<graph::IfOp>(), 1);
}

TEST(ImportControl, LittleWorkIsDoneAndChosenFrom) {
  Imported I(ifModel("Exp", "Neg"));
  EXPECT_EQ(I.count<graph::IfOp>(), 0);
  EXPECT_EQ(I.count<graph::SelectOp>(), 1);
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

TEST(ImportData, LargeTensorsAreWeightsSmallOnesConstants) {
  ModelProto M = model();
  input(M, "x", {100});
  std::string Ramp, Same;
  for (int I = 0; I < 100; ++I) {
    float V = static_cast<float>(I);
    Ramp.append(reinterpret_cast<const char *>(&V), 4);
    Same.append("\0\0\x80\x3f", 4);
  }
  initializer(M, "ramp", {100})->set_raw_data(Ramp);
  initializer(M, "ones", {100})->set_raw_data(Same);
  node(M, "Add", {"x", "ramp"}, {"a"});
  node(M, "Mul", {"a", "ones"}, {"y"});
  output(M, "y", {100});
  Imported I(M);
  EXPECT_EQ(I.count<graph::WeightOp>(), 1);
  EXPECT_EQ(I.count<graph::ConstantOp>(), 1);
  const Weight *W = I.Weights.find("m.onnx#ramp");
  ASSERT_TRUE(W);
  EXPECT_EQ(W->ElementType, "f32");
  EXPECT_EQ(W->Dims, std::vector<int64_t>{100});
  EXPECT_EQ(W->Bytes.size(), 400u);
}

TEST(ImportTable, IsSortedAndWithoutOverlaps) {
  std::vector<OperatorInfo> Ops = supportedOperators();
  EXPECT_GT(Ops.size(), 100u);
  for (size_t I = 1; I < Ops.size(); ++I) {
    const OperatorInfo &A = Ops[I - 1], &B = Ops[I];
    EXPECT_LE(A.Since, A.Until);
    EXPECT_LE(std::tie(A.Domain, A.Name), std::tie(B.Domain, B.Name));
    if (A.Domain == B.Domain && A.Name == B.Name)
      EXPECT_LT(A.Until, B.Since) << A.Name;
  }
}
