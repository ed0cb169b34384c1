//===- Manifest.cpp - Operators that users bring --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/import/ShallowJson.h"
#include "compiler/import/custom/ElementTypes.h"
#include "compiler/import/custom/ManifestReader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace kpc;
using namespace kpc::custom;

static constexpr uint64_t MostManifestBytes = uint64_t(1) << 20;

bool custom::isName(StringRef Text) {
  return !Text.empty() && !llvm::isDigit(Text.front()) &&
         llvm::all_of(Text,
                      [](char C) { return llvm::isAlnum(C) || C == '_'; });
}

/// What a value is, for "expected …, got …".
static std::string wordsFor(const json::Value &V) {
  switch (V.kind()) {
  case json::Value::Null:
    return "null";
  case json::Value::Boolean:
    return *V.getAsBoolean() ? "true" : "false";
  case json::Value::Number:
    return llvm::formatv("{0}", V).str();
  case json::Value::String:
    return "'" + printable({V.getAsString()->data(), V.getAsString()->size()}) +
           "'";
  case json::Value::Array:
    return V.getAsArray()->empty() ? "an empty list" : "a list";
  case json::Value::Object:
    return "an object";
  }
  return {};
}

void ManifestReader::expected(const std::string &Field, const std::string &What,
                              const json::Value *Got) {
  error(Field,
        "expected " + What + ", got " + (Got ? wordsFor(*Got) : "nothing"));
}

void ManifestReader::error(const std::string &Field, const std::string &Message,
                           std::string Hint) {
  Good = false;
  auto &D = Diags.error(kpc::Code::ImportManifest)
                .message(printable(Path) + (Field.empty() ? "" : ", " + Field) +
                         ": " + Message);
  if (!Hint.empty())
    D.hint(std::move(Hint));
}

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

void ManifestReader::refuseOthers(const json::Object &O,
                                  const std::string &Field,
                                  std::vector<std::string_view> Known) {
  std::set<std::string> Others; // the object has no order
  for (const auto &[Key, Value] : O)
    if (std::string Given = StringRef(Key).str();
        !llvm::is_contained(Known, Given))
      Others.insert(Given);
  for (const std::string &Given : Others) {
    std::string_view Near = nearest(Given, Known);
    error(Field,
          "expected " + llvm::join(Known, ", ") + ", got '" + printable(Given) +
              "'",
          Near.empty() ? "" : "did you mean '" + std::string(Near) + "'?");
  }
}

std::string ManifestReader::text(const json::Object &O, StringRef Key,
                                 const std::string &Field, bool Required) {
  const json::Value *V = O.get(Key);
  if (!V && !Required)
    return {};
  std::optional<StringRef> Text = V ? V->getAsString() : std::nullopt;
  if (Text && !Text->empty() && !Text->contains('\0'))
    return Text->str();
  expected(Field + Key.str(), "a text", V);
  return {};
}

std::string ManifestReader::name(const json::Object &O,
                                 const std::string &Field) {
  std::string Text = text(O, "name", Field);
  if (!Text.empty() && !isName(Text))
    error(Field + "name", "expected a name of letters, digits and '_', got '" +
                              printable(Text) + "'");
  return Text;
}

const json::Array *ManifestReader::list(const json::Object &O, StringRef Key,
                                        const std::string &Field,
                                        bool Required) {
  const json::Value *V = O.get(Key);
  if (V && V->getAsArray())
    return V->getAsArray();
  if (V || Required)
    expected(Field + Key.str(), "a list", V);
  return nullptr;
}

std::optional<Expr> ManifestReader::size(const json::Value &V,
                                         const std::string &Field) {
  if (std::optional<int64_t> Number = V.getAsInteger())
    return Expr(*Number);
  std::string Why;
  if (std::optional<StringRef> Text = V.getAsString()) {
    if (std::optional<Expr> E = Expr::parse({Text->data(), Text->size()}, &Why))
      return E;
    error(Field, "expected a number or an expression over sizes, got " +
                     wordsFor(V) + ": " + Why);
    return std::nullopt;
  }
  expected(Field, "a number or an expression over sizes", &V);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Types, shapes, attributes
//===----------------------------------------------------------------------===//

void ManifestReader::readTypes(const json::Object &O) {
  const json::Value *V = O.get("types");
  if (!V)
    return;
  if (!V->getAsObject())
    return expected("types", "an object of lists", V);
  for (const auto &[Key, Given] : *V->getAsObject()) {
    std::string Name = StringRef(Key).str(), Field = "types." + printable(Name);
    if (!isName(Name) || isElementType(Name))
      error(Field, "expected a name that is no element type");
    const json::Array *List = Given.getAsArray();
    if (!List || List->empty()) {
      expected(Field, "a list of element types", &Given);
      continue;
    }
    for (const json::Value &One : *List) {
      std::optional<StringRef> Type = One.getAsString();
      if (!Type || !isElementType(*Type))
        expected(Field, "one of " + elementTypeNames(), &One);
      else
        Op.Types[Name].push_back(Type->str());
    }
  }
}

/// "*rows", a name, a number or an expression.
std::optional<Dim> ManifestReader::dim(const json::Value &V,
                                       const std::string &Field) {
  Dim D;
  std::optional<StringRef> Text = V.getAsString();
  if (Text && Text->starts_with("*")) {
    D.IsRest = true;
    D.Name = Text->drop_front().str();
    if (isName(D.Name))
      return D;
    expected(Field, "a name after '*'", &V);
    return std::nullopt;
  }
  std::optional<Expr> E = size(V, Field);
  if (!E)
    return std::nullopt;
  D.Size = *E;
  if (E->asConstant() && *E->asConstant() < 0)
    expected(Field, "a size, which is not negative", &V);
  return D;
}

void ManifestReader::readTensors(const json::Object &O, StringRef Key,
                                 std::vector<Tensor> &Into) {
  const json::Array *List = list(O, Key, "", /*Required=*/true);
  if (!List)
    return;
  if (List->empty() && Key == "outputs")
    error("outputs", "expected at least one output, got an empty list");
  std::set<std::string> Names;
  for (auto [I, V] : llvm::enumerate(*List)) {
    std::string Field = Key.str() + "[" + std::to_string(I) + "]";
    const json::Object *One = V.getAsObject();
    if (!One) {
      expected(Field, "an object with name, type and shape", &V);
      continue;
    }
    refuseOthers(*One, Field, {"name", "type", "shape"});
    Tensor T;
    T.Name = name(*One, Field + ".");
    if (!Names.insert(T.Name).second)
      error(Field + ".name", "expected names that differ, got '" +
                                 printable(T.Name) + "' twice");
    T.Type = text(*One, "type", Field + ".");
    if (!T.Type.empty() && !isElementType(T.Type) && !Op.Types.count(T.Type))
      error(Field + ".type", "expected one of " + elementTypeNames() +
                                 ", or a name in \"types\", got '" +
                                 printable(T.Type) + "'");
    if (const json::Array *Shape =
            list(*One, "shape", Field + ".", /*Required=*/true)) {
      for (auto [J, Given] : llvm::enumerate(*Shape))
        if (std::optional<Dim> D =
                dim(Given, Field + ".shape[" + std::to_string(J) + "]"))
          T.Shape.push_back(std::move(*D));
      if (llvm::count_if(T.Shape, [](const Dim &D) { return D.IsRest; }) > 1)
        error(Field + ".shape", "expected at most one '*'");
    }
    Into.push_back(std::move(T));
  }
}

/// Names that stand alone as a dim of an input.
void ManifestReader::bindNames() {
  for (const Tensor &T : Op.Inputs)
    for (const Dim &D : T.Shape) {
      if (D.IsRest)
        Rests.insert(D.Name);
      else if (std::optional<std::string> Name = D.Size.asSymbol();
               Name && !Op.attribute(*Name))
        Sizes.insert(*Name);
    }
  for (const std::string &Name : Rests)
    if (!Sizes.insert(Name).second)
      error("inputs", "expected '" + Name + "' to be one dim or '*" + Name +
                          "', got both");
  for (const Attribute &A : Op.Attributes)
    if (!Sizes.insert(A.Name).second)
      error("attributes",
            "expected names that no dim has, got '" + printable(A.Name) + "'");
  for (const auto &[Name, Types] : Op.Types)
    if (Sizes.count(Name))
      error("types", "expected names that no dim or attribute has, got '" +
                         printable(Name) + "'");
  for (const Attribute &A : Op.Attributes)
    if (A.Is != Attribute::Kind::Int)
      Sizes.erase(A.Name);
}

void ManifestReader::checkSizes(const std::vector<Expr> &Given,
                                const std::string &Field) {
  for (const Expr &E : Given) {
    std::set<std::string, std::less<>> Names;
    E.collectSymbols(Names);
    for (const std::string &Name : Names)
      if (!Sizes.count(Name))
        error(Field,
              "expected names of inputs' dims or of int attributes (" +
                  (Sizes.empty() ? "there are none" : llvm::join(Sizes, ", ")) +
                  "), got '" + printable(Name) + "'");
  }
}

void ManifestReader::checkShapes() {
  for (auto [Key, List] :
       {std::pair("inputs", &Op.Inputs), std::pair("outputs", &Op.Outputs)})
    for (auto [I, T] : llvm::enumerate(*List))
      for (const Dim &D : T.Shape) {
        std::string Field =
            Key + ("[" + std::to_string(I)) + std::string("].shape");
        if (D.IsRest && !Rests.count(D.Name))
          error(Field, "expected '*' with a name that an input has, got '*" +
                           D.Name + "'");
        if (!D.IsRest)
          checkSizes({D.Size}, Field);
      }
}

std::optional<AttributeValue> ManifestReader::value(const json::Value &V,
                                                    Attribute::Kind K,
                                                    const std::string &Field) {
  using Kind = Attribute::Kind;
  auto All = [&](auto Get, auto Into) -> std::optional<AttributeValue> {
    const json::Array None, *List = V.getAsArray();
    const json::Value *Wrong = List ? nullptr : &V;
    for (const json::Value &One : List ? *List : None) {
      if (auto Number = Get(One))
        Into.push_back(*Number);
      else
        Wrong = &One;
    }
    if (!Wrong)
      return AttributeValue(std::move(Into));
    expected(Field, "a list of numbers", Wrong);
    return std::nullopt;
  };
  switch (K) {
  case Kind::Int:
    if (std::optional<int64_t> Number = V.getAsInteger())
      return AttributeValue(*Number);
    expected(Field, "a whole number", &V);
    return std::nullopt;
  case Kind::Float:
    if (std::optional<double> Number = V.getAsNumber())
      return AttributeValue(*Number);
    expected(Field, "a number", &V);
    return std::nullopt;
  case Kind::Text:
    if (std::optional<StringRef> Text = V.getAsString())
      return AttributeValue(Text->str());
    expected(Field, "a text", &V);
    return std::nullopt;
  case Kind::Ints:
    return All([](const json::Value &One) { return One.getAsInteger(); },
               std::vector<int64_t>());
  case Kind::Floats:
    return All([](const json::Value &One) { return One.getAsNumber(); },
               std::vector<double>());
  }
  return std::nullopt;
}

void ManifestReader::readAttributes(const json::Object &O) {
  const json::Array *List = list(O, "attributes", "", /*Required=*/false);
  for (auto [I, V] : llvm::enumerate(List ? *List : json::Array())) {
    std::string Field = "attributes[" + std::to_string(I) + "]";
    const json::Object *One = V.getAsObject();
    if (!One) {
      expected(Field, "an object with name and type", &V);
      continue;
    }
    refuseOthers(*One, Field, {"name", "type", "default"});
    Attribute A;
    A.Name = name(*One, Field + ".");
    std::string Type = text(*One, "type", Field + ".");
    bool Known = false;
    for (Attribute::Kind K :
         {Attribute::Kind::Int, Attribute::Kind::Float, Attribute::Kind::Text,
          Attribute::Kind::Ints, Attribute::Kind::Floats})
      if (Type == kindName(K)) {
        A.Is = K;
        Known = true;
      }
    if (!Known && !Type.empty())
      error(Field + ".type", "expected int, float, string, ints or floats, "
                             "got '" +
                                 printable(Type) + "'");
    if (const json::Value *Default = One->get("default"); Default && Known)
      A.Default = value(*Default, A.Is, Field + ".default");
    Op.Attributes.push_back(std::move(A));
  }
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

std::optional<Operator> ManifestReader::read() {
  Op.Manifest = Path;
  uint64_t Bytes = 0;
  if (llvm::sys::fs::is_directory(Path)) {
    error("", "expected a file, got a folder");
    return std::nullopt;
  }
  if (!llvm::sys::fs::file_size(Path, Bytes) && Bytes > MostManifestBytes) {
    error("",
          "expected at most 1 MiB, got " + std::to_string(Bytes) + " bytes");
    return std::nullopt;
  }
  auto Buffer = llvm::MemoryBuffer::getFile(Path);
  if (!Buffer) {
    error("", "cannot read it: " + Buffer.getError().message());
    return std::nullopt;
  }
  llvm::Expected<json::Value> Read = parseJson((*Buffer)->getBuffer());
  if (!Read) {
    error("", "expected JSON: " + llvm::toString(Read.takeError()));
    return std::nullopt;
  }
  const json::Object *O = Read->getAsObject();
  if (!O) {
    expected("", "an object", &*Read);
    return std::nullopt;
  }
  refuseOthers(*O, "",
               {"domain", "name", "types", "inputs", "outputs", "attributes",
                "cuda", "host"});
  Op.Domain = text(*O, "domain", "");
  if (Op.Domain == "ai.onnx")
    error("domain", "expected a domain of your own, got 'ai.onnx', whose "
                    "operators have one meaning");
  Op.Name = name(*O, "");
  readTypes(*O);
  readTensors(*O, "inputs", Op.Inputs);
  readTensors(*O, "outputs", Op.Outputs);
  for (const Tensor &T : Op.Outputs)
    if (Op.Types.count(T.Type) &&
        llvm::none_of(Op.Inputs,
                      [&](const Tensor &In) { return In.Type == T.Type; }))
      error("outputs", "expected types that an input has, got '" + T.Type +
                           "', which follows from nothing");
  readAttributes(*O);
  bindNames();
  checkShapes();
  Op.Cuda = readCode(*O, "cuda");
  Op.Host = readCode(*O, "host");
  if (!O->get("cuda") && !O->get("host"))
    error("", "expected \"cuda\", \"host\" or both, got neither");
  return Good ? std::optional(std::move(Op)) : std::nullopt;
}

std::optional<Operator> custom::readManifest(const std::string &Path,
                                             Diagnostics &Diags) {
  return ManifestReader(Path, Diags).read();
}

std::string_view custom::kindName(Attribute::Kind K) {
  constexpr std::string_view Names[] = {"int", "float", "string", "ints",
                                        "floats"};
  return Names[size_t(K)];
}

const Attribute *Operator::attribute(std::string_view Wanted) const {
  auto It = llvm::find_if(Attributes,
                          [&](const Attribute &A) { return A.Name == Wanted; });
  return It == Attributes.end() ? nullptr : &*It;
}

bool Operators::read(const Texts &Paths, Diagnostics &Diags) {
  size_t Before = Diags.errorCount();
  All.reserve(Paths.size());
  for (const std::string &Path : Paths) {
    std::optional<Operator> Op = readManifest(Path, Diags);
    if (!Op)
      continue;
    if (const Operator *Other = find(Op->Domain, Op->Name)) {
      Diags.error(kpc::Code::ImportManifest)
          .message(printable(Path) + ": expected one manifest of '" +
                   printable(Op->fullName()) + "', got another one in " +
                   printable(Other->Manifest));
      continue;
    }
    All.push_back(std::move(*Op));
  }
  return Diags.errorCount() == Before;
}

const Operator *Operators::find(std::string_view Domain,
                                std::string_view Name) const {
  auto It = llvm::find_if(All, [&](const Operator &Op) {
    return Op.Domain == Domain && Op.Name == Name;
  });
  return It == All.end() ? nullptr : &*It;
}
