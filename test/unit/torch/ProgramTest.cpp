//===- ProgramTest.cpp - Programs, sound and hostile ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Program.h"
#include "compiler/import/torch/ImportProgram.h"
#include "mlir/IR/MLIRContext.h"
#include "test/unit/torch/Archives.h"

#include <fstream>
#include <gmock/gmock.h>

using namespace kpc;
using testing::HasSubstr;
using Expr = shape::Expr;

namespace {

const char *const Meta =
    R"({"dtype": 7, "sizes": [{"as_int": 2}], "strides": [{"as_int": 1}],
        "storage_offset": {"as_int": 0}})";

/// y = op(x, w), whose weight lies in the archive.
std::string
program(const std::string &Op = "torch.ops.aten.add.Tensor",
        const std::string &Version = R"({"major": 8, "minor": 1})") {
  std::string M = Meta;
  return R"({"schema_version": )" + Version +
         R"(, "range_constraints": {}, "graph_module": {"graph": {
      "inputs": [], "outputs": [],
      "nodes": [{"target": ")" +
         Op + R"(", "inputs": [
         {"name": "self", "arg": {"as_tensor": {"name": "x"}}},
         {"name": "other", "arg": {"as_tensor": {"name": "w"}}}],
         "outputs": [{"as_tensor": {"name": "y"}}], "metadata": {}}],
      "tensor_values": {"x": )" +
         M + R"(, "w": )" + M + R"(, "y": )" + M +
         R"(}, "sym_int_values": {}}, "signature": {
      "input_specs": [
        {"parameter": {"arg": {"name": "w"}, "parameter_name": "m.w"}},
        {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
      "output_specs": [
        {"user_output": {"arg": {"as_tensor": {"name": "y"}}}}]}}})";
}

std::string config(const std::string &Description,
                   const std::string &Pickled = "false") {
  return R"({"config": {"m.w": {"path_name": "weight_0", "use_pickle": )" +
         Pickled + R"(, "tensor_meta": )" + Description + "}}}";
}

std::vector<test::Entry> archive(const std::string &Program = program(),
                                 const std::string &Config = config(Meta)) {
  return {{"m/byteorder", "little"},
          {"m/models/model.json", Program},
          {"m/data/weights/model_weights_config.json", Config},
          {"m/data/weights/weight_0", std::string("\0\0\x80?\0\0\0@", 8)}};
}

/// What importing an archive says; empty if it imports.
std::string faults(const std::string &File) {
  std::string Path = testing::TempDir() + "program.pt2";
  std::ofstream(Path, std::ios::binary) << File;
  mlir::MLIRContext Context;
  WeightStore Weights;
  Diagnostics Diags;
  auto Module = torch::importProgram(Context, Path, {}, Weights, Diags);
  EXPECT_EQ(static_cast<bool>(Module), !Diags.hasErrors());
  return Diags.text();
}

std::string faults(const std::vector<test::Entry> &Entries) {
  return faults(test::zipOf(Entries));
}

TEST(Program, Imports) { EXPECT_EQ(faults(archive()), ""); }

TEST(Program, OtherVersionsAreNamed) {
  EXPECT_EQ(faults(archive(program("torch.ops.aten.add.Tensor",
                                   R"({"major": 7, "minor": 3})"))),
            "");
  EXPECT_THAT(faults(archive(program("x", R"({"major": 6})"))),
              HasSubstr("schema version 6; kpc reads versions 7 to 8"));
  EXPECT_THAT(faults(archive(program("x", R"({"major": 9})"))),
              HasSubstr("update kpc"));
  EXPECT_THAT(faults(archive(program("x", "{}"))),
              HasSubstr("does not say which version"));
  std::vector<test::Entry> Entries = archive();
  Entries.push_back({"m/archive_version", "1"});
  EXPECT_THAT(faults(Entries), HasSubstr("layout version 1; kpc reads"));
}

TEST(Program, OtherFilesAreToldApart) {
  EXPECT_THAT(faults({{"m/code/__torch__.py", ""}, {"m/data.pkl", ""}}),
              HasSubstr("TorchScript and no program of torch.export"));
  EXPECT_THAT(faults({{"m/data.pkl", ""}}), HasSubstr("torch.save"));
  EXPECT_THAT(faults({{"x", ""}}), HasSubstr("holds no exported program"));
  EXPECT_THAT(faults({{"m/data.pkl", ""}, {"m/data/0", ""}}),
              HasSubstr("pickled tensors (torch.save) and no graph"));
  EXPECT_THAT(faults({{"m/data.pkl", ""}, {"m/bytecode.pkl", ""}}),
              HasSubstr("a mobile archive of TorchScript"));
  EXPECT_THAT(faults({{"m/data/aotinductor/model/x.so", ""}}),
              HasSubstr("a package of AOTInductor"));
  EXPECT_THAT(faults("PK\3\4"), HasSubstr("cut off"));
}

TEST(Program, UnknownOperatorsAreCounted) {
  EXPECT_THAT(faults(archive(program("torch.ops.my.op.default"))),
              HasSubstr("which the program uses 1 time"));
}

std::string text(const std::string &S) {
  std::string Out = "X";
  test::put(Out, S.size(), 4);
  return Out + S;
}

/// A vector of two floats as a pickle of torch.save has it.
const std::string PickledTensor =
    "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") +
    "ctorch\nFloatStorage\n" + text("0") + text("cpu") + "K\x02tQK" +
    std::string(1, '\0') + "K\x02\x85K\x01\x85\x89" +
    "ccollections\nOrderedDict\n)RtR";

/// What torch.save writes of a pickle.
std::string saved(const std::string &Pickle) {
  return test::zipOf({{"archive/data.pkl", "\x80\x02" + Pickle + "."},
                      {"archive/byteorder", "little"},
                      {"archive/data/0", std::string("\0\0\x80?\0\0\0@", 8)}});
}

std::string savedDict() {
  return saved("}(" + text("m.w") + PickledTensor + text("step") + "K\x05u");
}

TEST(Program, PickledWeightsAreRead) {
  std::vector<test::Entry> Entries = archive(program(), config(Meta, "true"));
  Entries.back().Bytes = saved(PickledTensor);
  EXPECT_EQ(faults(Entries), "");
  // Anything else that is pickled is none of kpc's.
  Entries.back().Bytes = saved("cposix\nsystem\n" + text("true") + "\x85R");
  EXPECT_THAT(faults(Entries), HasSubstr("it names 'posix.system'"));
  Entries.back().Bytes = savedDict();
  EXPECT_THAT(faults(Entries), HasSubstr("no plain tensor"));
  Entries.back().Bytes = "PK";
  EXPECT_THAT(faults(Entries), HasSubstr("no plain tensor"));
}

TEST(Program, OldLayoutsAreRead) {
  // PyTorch 2.8, then 2.5 to 2.7.
  EXPECT_EQ(faults({{"m/byteorder", "little"},
                    {"m/models/model.json", program()},
                    {"m/data/weights/model.pt", savedDict()},
                    {"m/data/constants/model.pt", saved("}")}}),
            "");
  std::vector<test::Entry> Old = {
      {"serialized_exported_program.json", program()},
      {"serialized_state_dict.pt", savedDict()},
      {"serialized_constants.pt", ""},
      {"serialized_example_inputs.pt", "not read"},
      {"version", "8.1"}};
  EXPECT_EQ(faults(Old), "");
  Old[1].Bytes = saved("}");
  EXPECT_THAT(faults(Old), HasSubstr("no data for the tensor 'm.w'"));
  Old[1].Bytes = "x";
  EXPECT_THAT(faults(Old), HasSubstr("cannot read the pickled tensors of "
                                     "'serialized_state_dict.pt'"));
  EXPECT_THAT(faults({{"serialized_exported_program.json", "{}"}}),
              HasSubstr("does not say which version"));
}

TEST(Program, WeightsOutsideOfTheirBytesAreRefused) {
  for (
      const char *Description :
      {R"({"dtype": 7, "sizes": [{"as_int": 3}], "strides": [{"as_int": 1}]})",
       R"({"dtype": 7, "sizes": [{"as_int": 2}], "strides": [{"as_int": 2}]})",
       R"({"dtype": 7, "sizes": [{"as_int": 2}], "strides": [{"as_int": 1}],
            "storage_offset": {"as_int": 1}})",
       R"({"dtype": 7, "sizes": [{"as_int": 2}], "strides": [{"as_int": 1}],
            "storage_offset": {"as_int": 9223372036854775807}})",
       R"({"dtype": 7, "sizes": [{"as_int": 1000000000000}],
            "strides": [{"as_int": 1000000}]})",
       R"({"dtype": 7, "sizes": [{"as_int": -1}], "strides": [{"as_int": 1}]})"})
    EXPECT_THAT(faults(archive(program(), config(Description))),
                HasSubstr("lies outside of its 8 bytes"))
        << Description;
}

TEST(Program, AWeightMustBeThere) {
  std::vector<test::Entry> Entries = archive();
  Entries.pop_back();
  EXPECT_THAT(faults(Entries), HasSubstr("which the archive has not"));
}

/// Texts in the text are JSON, too: they name outputs alone, and are left out.
TEST(Program, DeepJsonInATextNamesNothing) {
  std::string Text = program();
  std::string_view Module = "\"graph_module\": {";
  size_t At = Text.find(Module);
  ASSERT_NE(At, std::string::npos);
  Text.insert(
      At + Module.size(),
      R"("module_call_graph": [{"fqn": "", "signature": {"out_spec": ")" +
          std::string(1'000'000, '[') + R"("}}], )");
  EXPECT_EQ(faults(archive(Text)), "");
}

TEST(Program, DeepJsonIsRefused) {
  EXPECT_THAT(faults(archive(std::string(100'000, '['))),
              HasSubstr("nests deeper than 200"));
}

TEST(Program, BareNumbersOfOldArchivesAreRead) {
  // y = clamp(x, min, max), whose bounds PyTorch 2.5 writes as Python does.
  std::string Clamp = program("torch.ops.aten.clamp.default");
  const std::string Other =
      R"({"name": "other", "arg": {"as_tensor": {"name": "w"}}})";
  auto With = [&](const std::string &Bound) {
    std::string Whole = Clamp;
    Whole.replace(Whole.find(Other), Other.size(),
                  R"({"name": "min", "arg": {"as_float": )" + Bound + "}}");
    return faults(archive(Whole));
  };
  for (const char *Bound : {"-Infinity", "Infinity", "NaN", "-1.5"})
    EXPECT_EQ(With(Bound), "") << Bound;
  // Texts stay what they are, also after a quote in them.
  EXPECT_EQ(With(R"(NaN}, "\"NaN": {"as_float": -Infinity)"), "");
  for (const char *Bound : {"-Infinite", "nan", "--Infinity"})
    EXPECT_THAT(With(Bound), HasSubstr("is no JSON")) << Bound;
}

TEST(Program, JsonOfAnyShapeEndsWell) {
  std::string Whole = program();
  for (size_t Size = 0; Size < Whole.size(); Size += 7)
    EXPECT_NE(faults(archive(Whole.substr(0, Size))), "");
  for (const char *Other : {"null", "1", "\"x\"", "[]", "{}"})
    for (const char *Part : {"\"inputs\": []", "\"tensor_values\": {",
                             "{\"as_int\": 2}", "{\"as_tensor\":"}) {
      std::string Changed = Whole;
      Changed.insert(Changed.find(Part), std::string("\"z\": ") + Other + ", ");
      (void)faults(archive(Changed));
    }
}

TEST(Sizes, AreReadFromSympy) {
  std::map<std::string, Expr, std::less<>> Symbols{{"s0", Expr::symbol("n")}};
  auto Read = [&](const char *Text) {
    auto E = torch::parseSize(Text, Symbols);
    return E ? E->str() : "none";
  };
  EXPECT_EQ(Read("Symbol('s0', positive=True, integer=True)"), "n");
  EXPECT_EQ(Read("Add(Mul(Integer(2), Symbol('s0')), Integer(-1))"),
            (Expr::symbol("n") * 2 - 1).str());
  EXPECT_EQ(Read("FloorDiv(Symbol('s0'), Integer(2))"),
            Expr::symbol("n").floorDiv(2).str());
  EXPECT_EQ(Read("Pow(Symbol('s0'), Integer(2))"),
            (Expr::symbol("n") * Expr::symbol("n")).str());
  EXPECT_EQ(Read("2*s0 - 1"), (Expr::symbol("n") * 2 - 1).str());
  EXPECT_EQ(Read("(s0//2) + s0**2"), (Expr::symbol("n").floorDiv(2) +
                                      Expr::symbol("n") * Expr::symbol("n"))
                                         .str());
  EXPECT_EQ(Read("-(1 + Max(2, s0))"),
            (Expr(0) - (Expr::max(2, Expr::symbol("n")) + 1)).str());
  Expr Half = Expr::symbol("n").floorDiv(2);
  EXPECT_EQ(Read("TruncToInt(Mul(Float('0.5', precision=53), "
                 "ToFloat(Symbol('s0'))))"),
            Half.str());
  EXPECT_EQ(Read("FloorToInt(IntTrueDiv(s0, Integer(2)))"), Half.str());
  EXPECT_EQ(Read("CeilToInt(IntTrueDiv(Symbol('s0'), Integer(2)))"),
            Expr::symbol("n").ceilDiv(2).str());
  EXPECT_EQ(Read("TruncToInt(0.375*s0)"),
            (Expr::symbol("n") * 3).floorDiv(8).str());
  // What is no whole number is no size; 0.1 is over no power of two that fits.
  for (const char *Bad :
       {"0.5*s0",
        "IntTrueDiv(s0, 2)",
        "TruncToInt(0.1*s0)",
        "Float('x')",
        "Float(",
        "TruncToInt(Mul(Float('0.0000001', precision=53), s0))",
        "u0",
        "2*",
        "(s0",
        "s0)",
        "s0 s0",
        "--",
        "s0**99",
        "",
        "Symbol('u0')",
        "Symbol(",
        "Integer(x)",
        "Add(",
        "Sin(Integer(1))",
        "Integer(1) Integer(2)",
        "Pow(Integer(2), Integer(99))"})
    EXPECT_EQ(Read(Bad), "none") << Bad;
  std::string Deep;
  for (int I = 0; I < 10'000; ++I)
    Deep += "Add(";
  EXPECT_FALSE(torch::parseSize(Deep, Symbols));
  EXPECT_FALSE(torch::parseSize(std::string(10'000, '('), Symbols));
  EXPECT_FALSE(torch::parseSize(std::string(10'000, '-'), Symbols));
}

TEST(Sizes, RelationsAreReadFromSympyAndPython) {
  std::map<std::string, Expr, std::less<>> Symbols{{"s0", Expr::symbol("n")}};
  auto Read = [&](const char *Text) -> std::string {
    auto R = torch::parseRelation(Text, Symbols);
    if (!R)
      return "none";
    const char *Signs[] = {"<", "<=", "==", "!="};
    return R->Left.str() + " " + Signs[static_cast<int>(R->Is)] + " " +
           R->Right.str();
  };
  EXPECT_EQ(Read("GreaterThan(Symbol('s0', integer=True), Integer(2))"),
            "2 <= n");
  EXPECT_EQ(Read("StrictLessThan(Symbol('s0'), Integer(2))"), "n < 2");
  EXPECT_EQ(Read("Equality(Symbol('s0'), Integer(2))"), "n == 2");
  EXPECT_EQ(Read("Ne(s0, 2)"), "n != 2");
  EXPECT_EQ(Read("s0 > 2"), "2 < n");
  EXPECT_EQ(Read("s0 % 8 == 0"), (Expr::symbol("n").mod(8)).str() + " == 0");
  for (const char *Bad : {"", "s0", "s0 <", "< 2", "Equality(s0)",
                          "s0 == 2 == 2", "And(s0 < 2, s0 > 1)", "u0 == 1"})
    EXPECT_EQ(Read(Bad), "none") << Bad;
}

TEST(Program, NamesOfDimsAreChecked) {
  std::vector<test::Entry> Entries = archive();
  auto Names = [&](const std::string &Text) {
    std::vector<test::Entry> Of = Entries;
    Of.push_back({"m/extra/kpc_dims.json", Text});
    return faults(Of);
  };
  EXPECT_EQ(Names("{}"), "");
  EXPECT_EQ(Names(R"({"x": ["batch", null, 3]})"), ""); // of a number: nothing
  EXPECT_THAT(Names("[]"), HasSubstr("is no object of inputs"));
  EXPECT_THAT(Names("{"), HasSubstr("is no JSON"));
  EXPECT_THAT(Names(R"({"z": ["batch"]})"), HasSubstr("which is no input"));
}

} // namespace
