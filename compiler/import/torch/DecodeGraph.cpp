//===- DecodeGraph.cpp - From JSON to a program ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Unions of the schema are objects with one key that names the member:
/// `{"as_tensor": {"name": "x"}}`. See torch/_export/serde/schema.py.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/DecodeGraph.h"
#include "compiler/import/ShallowJson.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

namespace kpc::torch {

namespace json = llvm::json;
using llvm::StringRef;
using Kind = Argument::Kind;

std::string typeName(ScalarType T) {
  switch (T) {
  case ScalarType::Byte:
    return "uint8";
  case ScalarType::Char:
    return "int8";
  case ScalarType::Short:
    return "int16";
  case ScalarType::Int:
    return "int32";
  case ScalarType::Long:
    return "int64";
  case ScalarType::Half:
    return "float16";
  case ScalarType::Float:
    return "float32";
  case ScalarType::Double:
    return "float64";
  case ScalarType::ComplexHalf:
  case ScalarType::ComplexFloat:
  case ScalarType::ComplexDouble:
    return "a complex type";
  case ScalarType::Bool:
    return "bool";
  case ScalarType::BFloat16:
    return "bfloat16";
  case ScalarType::Uint16:
    return "uint16";
  case ScalarType::Float8E4M3FN:
    return "float8_e4m3fn";
  case ScalarType::Float8E5M2:
    return "float8_e5m2";
  default:
    return "type " + std::to_string(static_cast<int>(T));
  }
}

bool isComplexType(ScalarType T) { return partsType(T) != T; }

ScalarType partsType(ScalarType T) {
  switch (T) {
  case ScalarType::ComplexHalf:
    return ScalarType::Half;
  case ScalarType::ComplexFloat:
    return ScalarType::Float;
  case ScalarType::ComplexDouble:
    return ScalarType::Double;
  default:
    return T;
  }
}

unsigned bytesOf(ScalarType T) {
  switch (T) {
  case ScalarType::Byte:
  case ScalarType::Char:
  case ScalarType::Bool:
    return 1;
  case ScalarType::Short:
  case ScalarType::Half:
  case ScalarType::BFloat16:
  case ScalarType::Uint16:
    return 2;
  case ScalarType::Int:
  case ScalarType::Float:
    return 4;
  case ScalarType::Long:
  case ScalarType::Double:
    return 8;
  default:
    return 0;
  }
}

//===----------------------------------------------------------------------===//
// Numbers and tensors
//===----------------------------------------------------------------------===//

/// {"as_int": 3} or {"as_expr": {"expr_str": "…"}}.
static bool decodeSize(const json::Value &V, Size &S) {
  const json::Object *O = V.getAsObject();
  if (!O)
    return false;
  if (auto Number = O->getInteger("as_int")) {
    S.Number = *Number;
    return true;
  }
  const json::Object *E = O->getObject("as_expr");
  auto Text = E ? E->getString("expr_str") : std::nullopt;
  if (!Text || Text->empty())
    return false;
  S.Text = Text->str();
  return true;
}

static bool decodeSizes(const json::Object &O, StringRef Key,
                        std::vector<Size> &Sizes) {
  const json::Array *A = O.getArray(Key);
  if (!A || A->size() > 64)
    return false;
  for (const json::Value &V : *A)
    if (!decodeSize(V, Sizes.emplace_back()))
      return false;
  return true;
}

bool decodeMeta(const json::Object &O, TensorMeta &M) {
  auto Type = O.getInteger("dtype");
  const json::Value *Offset = O.get("storage_offset");
  if (!Type || *Type < 0 || *Type > 1000 || !decodeSizes(O, "sizes", M.Sizes) ||
      !decodeSizes(O, "strides", M.Strides) ||
      M.Sizes.size() != M.Strides.size())
    return false;
  M.Type = static_cast<ScalarType>(*Type);
  return !Offset || decodeSize(*Offset, M.Offset);
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

static bool decodeGraph(const json::Object &O, Graph &G, std::string &Why);

/// {"name": "x"} or {"as_none": true}, for lists of optional tensors also
/// {"as_tensor": {"name": "x"}}.
static bool decodeName(const json::Value &V, std::string &Name) {
  const json::Object *O = V.getAsObject();
  if (!O)
    return false;
  if (const json::Object *Inner = O->getObject("as_tensor"))
    O = Inner;
  else if (O->get("as_none"))
    return true;
  auto Text = O->getString("name");
  if (Text)
    Name = Text->str();
  return Text.has_value();
}

/// {"as_name": "s"} or {"as_int": 3}; a boolean likewise.
static bool decodeNumber(const json::Value &V, Argument &A) {
  if (auto Plain = V.getAsInteger()) {
    A.Ints.push_back(*Plain);
    A.Values.emplace_back();
    return true;
  }
  const json::Object *O = V.getAsObject();
  if (!O)
    return false;
  auto Name = O->getString("as_name");
  auto Number = O->getInteger("as_int");
  if (auto Bool = O->getBoolean("as_bool"))
    Number = *Bool;
  if (!Name && !Number)
    return false;
  A.Values.push_back(Name ? Name->str() : "");
  A.Ints.push_back(Number.value_or(0));
  return true;
}

static bool decodeReal(const json::Value &V, Argument &A) {
  if (auto Number = V.getAsNumber()) {
    A.Floats.push_back(*Number);
    return true;
  }
  // JSON has no infinities: they are text.
  auto Text = V.getAsString();
  if (const json::Object *O = V.getAsObject(); O && O->getNumber("as_float")) {
    A.Floats.push_back(*O->getNumber("as_float"));
    return true;
  }
  if (!Text)
    return false;
  A.Floats.push_back(llvm::StringSwitch<double>(*Text)
                         .Case("Infinity", INFINITY)
                         .Case("-Infinity", -INFINITY)
                         .Default(NAN));
  return true;
}

template <typename Decode>
static bool decodeAll(const json::Value &V, Decode Each) {
  const json::Array *A = V.getAsArray();
  if (!A)
    return false;
  for (const json::Value &Element : *A)
    if (!Each(Element))
      return false;
  return true;
}

static bool decodeMember(StringRef Key, const json::Value &V, Argument &A,
                         std::string &Why) {
  auto Named = [&](const json::Value &Of) {
    return decodeName(Of, A.Values.emplace_back());
  };
  auto Number = [&](const json::Value &Of) { return decodeNumber(Of, A); };
  auto Real = [&](const json::Value &Of) {
    // A number that the program computes has a name.
    const json::Object *O = Of.getAsObject();
    bool IsName = O && O->getString("as_name");
    A.Values.push_back(IsName ? O->getString("as_name")->str() : "");
    if (IsName)
      A.Floats.push_back(0);
    return IsName || decodeReal(Of, A);
  };
  auto Flag = [&](const json::Value &Of) {
    A.Values.emplace_back();
    A.Ints.push_back(Of.getAsBoolean().value_or(false));
    return Of.getAsBoolean().has_value();
  };
  A.Is = llvm::StringSwitch<Kind>(Key)
             .Case("as_none", Kind::None)
             .Case("as_tensor", Kind::Tensor)
             .Cases({"as_tensors", "as_optional_tensors", "as_nested_tensors"},
                    Kind::Tensors)
             .Cases({"as_int", "as_sym_int"}, Kind::Int)
             .Cases({"as_ints", "as_sym_ints"}, Kind::Ints)
             .Cases({"as_float", "as_sym_float"}, Kind::Float)
             .Cases({"as_floats", "as_sym_floats"}, Kind::Floats)
             .Cases({"as_bool", "as_sym_bool"}, Kind::Bool)
             .Cases({"as_bools", "as_sym_bools"}, Kind::Bools)
             .Case("as_string", Kind::Text)
             .Case("as_scalar_type", Kind::ScalarType)
             .Case("as_graph", Kind::Graph)
             .Default(Kind::Other);
  switch (A.Is) {
  case Kind::None:
  case Kind::Other:
    return true;
  case Kind::Tensor:
    return Named(V);
  case Kind::Tensors:
    return decodeAll(V, Named);
  case Kind::Int:
    return Number(V);
  case Kind::Ints:
    return decodeAll(V, Number);
  case Kind::Float:
    return Real(V);
  case Kind::Floats:
    return decodeAll(V, Real);
  case Kind::Bool:
    return Key == "as_bool" ? Flag(V) : Number(V);
  case Kind::Bools:
    return decodeAll(V, Flag);
  case Kind::Text:
    A.Text = V.getAsString().value_or("").str();
    return V.getAsString().has_value();
  case Kind::ScalarType:
    A.Ints = {V.getAsInteger().value_or(0)};
    A.Values = {""};
    return V.getAsInteger().has_value();
  case Kind::Graph: {
    const json::Object *O = V.getAsObject();
    const json::Object *G = O ? O->getObject("graph") : nullptr;
    A.Sub = std::make_shared<Graph>();
    return G && decodeGraph(*G, *A.Sub, Why);
  }
  }
  return false;
}

static bool decodeArgument(const json::Value &V, Argument &A,
                           std::string &Why) {
  const json::Object *O = V.getAsObject();
  if (!O || O->size() != 1)
    return false;
  return decodeMember(StringRef(O->begin()->first), O->begin()->second, A, Why);
}

static bool decodeArguments(const json::Object &O, StringRef Key,
                            std::vector<Argument> &Args, std::string &Why) {
  const json::Array *A = O.getArray(Key);
  if (!A)
    return false;
  for (const json::Value &V : *A) {
    Argument &Arg = Args.emplace_back();
    const json::Object *Of = V.getAsObject();
    const json::Value *Inner = Of ? Of->get("arg") : nullptr;
    if (Inner)
      Arg.Name = Of->getString("name").value_or("").str();
    if (!decodeArgument(Inner ? *Inner : V, Arg, Why))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

/// "File "/a/model.py", line 12, in forward\n    code" pairs, the innermost
/// last: the last one that is not PyTorch's own.
static std::string sourceOf(StringRef Trace) {
  llvm::SmallVector<StringRef> Lines;
  Trace.split(Lines, '\n');
  std::string Best;
  for (size_t I = 0; I < Lines.size(); ++I) {
    StringRef Line = Lines[I].trim();
    if (!Line.consume_front("File \""))
      continue;
    auto [File, Rest] = Line.split('"');
    bool Own = File.contains("/torch/nn/") || File.starts_with("<");
    if (Own && !Best.empty())
      continue;
    Rest.consume_front(", line ");
    Best = (File.rsplit('/').second.empty() ? File : File.rsplit('/').second)
               .str() +
           ":" + Rest.take_while(llvm::isDigit).str();
    if (I + 1 < Lines.size())
      Best += ": " + Lines[I + 1].trim().str();
  }
  return Best;
}

/// "L__self__,,torch.nn.Sequential;L__self__0,0,torch.nn.Linear": "0".
static std::string moduleOf(StringRef Stack) {
  StringRef Last = Stack.contains(';') ? Stack.rsplit(';').second : Stack;
  return Last.split(',').second.split(',').first.str();
}

static bool decodeNode(const json::Object &O, Node &N, std::string &Why) {
  auto Target = O.getString("target");
  if (!Target)
    return false;
  Target->consume_front("torch.ops.");
  N.Target = Target->str();
  Why = "a node of " + printable(N.Target);
  if (!decodeArguments(O, "inputs", N.Inputs, Why) ||
      !decodeArguments(O, "outputs", N.Outputs, Why))
    return false;
  N.Name = O.getString("name").value_or("").str();
  for (const Argument &A : N.Outputs)
    if (N.Name.empty() && !A.Values.empty())
      N.Name = A.Values.front();
  if (const json::Object *Meta = O.getObject("metadata")) {
    N.Module = moduleOf(Meta->getString("nn_module_stack").value_or(""));
    N.Source = sourceOf(Meta->getString("stack_trace").value_or(""));
  }
  return true;
}

static bool decodeGraph(const json::Object &O, Graph &G, std::string &Why) {
  Why = "its inputs or outputs";
  if (!decodeArguments(O, "inputs", G.Inputs, Why) ||
      !decodeArguments(O, "outputs", G.Outputs, Why))
    return false;
  Why = "its nodes";
  const json::Array *Nodes = O.getArray("nodes");
  const json::Object *Tensors = O.getObject("tensor_values");
  if (!Nodes || !Tensors)
    return false;
  for (const auto &[Name, V] : *Tensors) {
    const json::Object *Of = V.getAsObject();
    Why = "the value '" + printable(StringRef(Name).str()) + "'";
    if (!Of || !decodeMeta(*Of, G.Tensors[StringRef(Name).str()]))
      return false;
  }
  if (const json::Object *Numbers = O.getObject("sym_int_values"))
    for (const auto &[Name, V] : *Numbers) {
      Why = "the number '" + printable(StringRef(Name).str()) + "'";
      if (!decodeSize(V, G.Numbers[StringRef(Name).str()]))
        return false;
    }
  if (const json::Object *Conditions = O.getObject("sym_bool_values"))
    for (const auto &[Name, V] : *Conditions) {
      const json::Object *Of = V.getAsObject();
      const json::Object *E = Of ? Of->getObject("as_expr") : nullptr;
      if (auto Text = E ? E->getString("expr_str") : std::nullopt)
        G.Conditions[StringRef(Name).str()] = Text->str();
    }
  for (const json::Value &V : *Nodes) {
    const json::Object *Of = V.getAsObject();
    Why = "a node";
    if (!Of || !decodeNode(*Of, G.Nodes.emplace_back(), Why))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The signature
//===----------------------------------------------------------------------===//

static bool decodeInput(const json::Object &O, InputSpec &S, std::string &Why) {
  StringRef Key(O.begin()->first);
  const json::Object *Of = O.begin()->second.getAsObject();
  if (!Of)
    return false;
  using K = InputSpec::Kind;
  S.Is = llvm::StringSwitch<K>(Key)
             .Case("parameter", K::Parameter)
             .Case("buffer", K::Buffer)
             .Case("tensor_constant", K::Constant)
             .Case("custom_obj", K::CustomObject)
             .Case("token", K::Token)
             .Default(K::User);
  for (StringRef Name :
       {"parameter_name", "buffer_name", "tensor_constant_name"})
    if (auto Target = Of->getString(Name))
      S.Target = Target->str();
  const json::Value *Arg = Of->get("arg");
  if (S.Is == K::User)
    // A number that the exporter fixed has no value in the graph.
    return !Arg || decodeArgument(*Arg, S.Value, Why);
  if (!Arg)
    return false;
  S.Value.Is = Kind::Tensor;
  return decodeName(*Arg, S.Value.Values.emplace_back());
}

static bool decodeOutput(const json::Object &O, OutputSpec &S,
                         std::string &Why) {
  StringRef Key(O.begin()->first);
  const json::Object *Of = O.begin()->second.getAsObject();
  const json::Value *Arg = Of ? Of->get("arg") : nullptr;
  using K = OutputSpec::Kind;
  S.Is = llvm::StringSwitch<K>(Key)
             .Case("user_output", K::User)
             .Case("buffer_mutation", K::BufferMutation)
             .Case("user_input_mutation", K::InputMutation)
             .Default(K::Other);
  if (!Arg)
    return S.Is == K::Other;
  for (StringRef Name : {"buffer_name", "user_input_name"})
    if (auto Target = Of->getString(Name))
      S.Target = Target->str();
  if (S.Is == K::User)
    return decodeArgument(*Arg, S.Value, Why);
  S.Value.Is = Kind::Tensor;
  return decodeName(*Arg, S.Value.Values.emplace_back());
}

/// Names of a tree's leaves: "hidden", "present_0_1"; "" for a lone leaf.
static void leafNames(const json::Value &Spec, const std::string &Path,
                      unsigned Depth, std::vector<std::string> &Names) {
  const json::Object *O = Spec.getAsObject();
  if (!O || Depth > 100)
    return;
  auto Type = O->getString("type");
  const json::Array *Children = O->getArray("children_spec");
  if (!Type || !Children) {
    Names.push_back(Path);
    return;
  }
  // A dictionary's keys, or a class's fields, are in the context as JSON.
  std::vector<std::string> Keys;
  if (auto Context = O->getString("context")) {
    llvm::Expected<json::Value> Parsed = parseJson(*Context);
    if (!Parsed)
      llvm::consumeError(Parsed.takeError());
    else if (const json::Array *A = Parsed->getAsArray())
      for (const json::Value &Key : *A)
        Keys.push_back(Key.getAsString().value_or("").str());
  }
  for (size_t I = 0; I < Children->size(); ++I) {
    std::string Part =
        I < Keys.size() && !Keys[I].empty() ? Keys[I] : std::to_string(I);
    leafNames((*Children)[I], Path.empty() ? Part : Path + "_" + Part,
              Depth + 1, Names);
  }
}

static void decodeTrees(const json::Object &Module, Program &P) {
  const json::Array *Calls = Module.getArray("module_call_graph");
  for (const json::Value &V : Calls ? *Calls : json::Array()) {
    const json::Object *Call = V.getAsObject();
    if (!Call || Call->getString("fqn").value_or("?") != "")
      continue;
    const json::Object *Signature = Call->getObject("signature");
    auto Text = Signature ? Signature->getString("out_spec") : std::nullopt;
    if (!Text || Text->size() > 10'000'000)
      return;
    llvm::Expected<json::Value> Spec = parseJson(*Text);
    if (!Spec) {
      llvm::consumeError(Spec.takeError());
      return;
    }
    // [version, tree]
    if (const json::Array *A = Spec->getAsArray(); A && A->size() == 2)
      leafNames((*A)[1], "", 0, P.OutputNames);
    return;
  }
}

bool decodeProgram(const json::Object &O, Program &P, std::string &Why) {
  P.TorchVersion = O.getString("torch_version").value_or("").str();
  const json::Object *Module = O.getObject("graph_module");
  const json::Object *G = Module ? Module->getObject("graph") : nullptr;
  const json::Object *Signature =
      Module ? Module->getObject("signature") : nullptr;
  Why = "it has no graph";
  if (!G || !Signature || !decodeGraph(*G, P.Main, Why))
    return false;
  Why = "its signature";
  const json::Array *Inputs = Signature->getArray("input_specs");
  const json::Array *Outputs = Signature->getArray("output_specs");
  if (!Inputs || !Outputs)
    return false;
  for (const json::Value &V : *Inputs)
    if (const json::Object *Of = V.getAsObject();
        !Of || Of->size() != 1 ||
        !decodeInput(*Of, P.Inputs.emplace_back(), Why))
      return false;
  for (const json::Value &V : *Outputs)
    if (const json::Object *Of = V.getAsObject();
        !Of || Of->size() != 1 ||
        !decodeOutput(*Of, P.Outputs.emplace_back(), Why))
      return false;
  if (const json::Object *Ranges = O.getObject("range_constraints"))
    for (const auto &[Name, V] : *Ranges)
      if (const json::Object *Of = V.getAsObject()) {
        Program::Range &R = P.Ranges[StringRef(Name).str()];
        R.Min = std::max<int64_t>(Of->getInteger("min_val").value_or(0), 0);
        R.Max = Of->getInteger("max_val").value_or(INT64_MAX);
      }
  if (const json::Array *Guards = O.getArray("guards_code"))
    for (const json::Value &V : *Guards)
      P.Guards.push_back(V.getAsString().value_or("").str());
  decodeTrees(*Module, P);
  return true;
}

} // namespace kpc::torch
