//===- ManifestCode.cpp - The code of operators that users bring ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/import/custom/ManifestReader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace kpc;
using namespace kpc::custom;

static constexpr uint64_t MostSourceBytes = uint64_t(16) << 20;

/// The contents of a file in the manifest's folder.
std::optional<std::string> ManifestReader::file(const std::string &Name,
                                                const std::string &Field) {
  llvm::SmallString<128> Full(llvm::sys::path::parent_path(Path));
  if (llvm::sys::path::is_absolute(Name))
    Full = Name;
  else
    llvm::sys::path::append(Full, Name);
  uint64_t Bytes = 0;
  if (!llvm::sys::fs::is_regular_file(Full) ||
      llvm::sys::fs::file_size(Full, Bytes)) {
    error(Field, "expected a file, got '" + printable(Name) +
                     "', which cannot be read");
    return std::nullopt;
  }
  if (Bytes > MostSourceBytes) {
    error(Field, "expected at most 16 MiB, got " + std::to_string(Bytes) +
                     " bytes in '" + printable(Name) + "'");
    return std::nullopt;
  }
  auto Buffer = llvm::MemoryBuffer::getFile(Full);
  if (!Buffer) {
    error(Field, "cannot read '" + printable(Name) +
                     "': " + Buffer.getError().message());
    return std::nullopt;
  }
  if ((*Buffer)->getBuffer().contains('\0')) {
    error(Field, "expected a text, got '" + printable(Name) +
                     "', which holds a zero byte");
    return std::nullopt;
  }
  if ((*Buffer)->getBuffer().empty()) {
    error(Field,
          "expected a source, got '" + printable(Name) + "', which is empty");
    return std::nullopt;
  }
  return (*Buffer)->getBuffer().str();
}

/// A size or an attribute, with or without a type.
void ManifestReader::readArgument(const json::Value &V,
                                  const std::string &Field, UserCode &Into) {
  const json::Object *Typed = V.getAsObject();
  const json::Value *Given = Typed ? Typed->get("value") : &V;
  Argument A;
  if (Typed) {
    refuseOthers(*Typed, Field, {"value", "type"});
    A.Type = text(*Typed, "type", Field + ".");
    if (!Given)
      return expected(Field + ".value", "an attribute or an expression", Given);
  }
  std::optional<StringRef> Name = Given->getAsString();
  const Attribute *Of =
      Name ? Op.attribute({Name->data(), Name->size()}) : nullptr;
  if (Of && Of->Is != Attribute::Kind::Int) {
    if (Of->Is != Attribute::Kind::Float)
      return error(Field, "expected an attribute of the type int or float, "
                          "got '" +
                              Of->Name + "', which is " +
                              std::string(kindName(Of->Is)) +
                              "; give it in a macro, as {" + Of->Name + "}");
    A.Attribute = Of->Name;
    if (A.Type.empty())
      A.Type = "f32";
    if (A.Type != "f32" && A.Type != "f64")
      error(Field, "expected f32 or f64 for a float attribute, got '" +
                       printable(A.Type) + "'");
    Into.Arguments.push_back(std::move(A));
    return;
  }
  std::optional<Expr> E = size(*Given, Field);
  if (!E)
    return;
  checkSizes({*E}, Field);
  A.Size = *E;
  if (A.Type.empty())
    A.Type = "i64";
  if (A.Type != "i32" && A.Type != "i64")
    error(Field,
          "expected i32 or i64 for a size, got '" + printable(A.Type) + "'");
  Into.Arguments.push_back(std::move(A));
}

/// "{T}" and the like must name what there is.
void ManifestReader::readPlaceholders(StringRef Text,
                                      const std::string &Field) {
  while (true) {
    size_t Open = Text.find('{');
    if (Open == StringRef::npos)
      return;
    size_t Close = Text.find('}', Open);
    StringRef Name = Text.slice(Open + 1, Close);
    if (Close == StringRef::npos || !isName(Name))
      return error(Field, "expected a name and '}' after '{' in " +
                              std::string("'") +
                              printable({Text.data(), Text.size()}) + "'");
    std::string Of = Name.str();
    if (!Op.attribute(Of) && !Op.Types.count(Of) && !Sizes.count(Of))
      error(Field, "expected an attribute, a dim or a name in \"types\" "
                   "between braces, got '" +
                       Of + "'");
    Text = Text.drop_front(Close + 1);
  }
}

/// A list of one to three.
std::vector<Expr> ManifestReader::extents(const json::Object &O, StringRef Key,
                                          const std::string &Field,
                                          bool Required) {
  std::vector<Expr> Out;
  const json::Array *List = list(O, Key, Field, Required);
  if (!List)
    return Out;
  if (List->empty() || List->size() > 3)
    error(Field + Key.str(),
          "expected one to three extents, got " + std::to_string(List->size()));
  for (const json::Value &V : *List)
    if (std::optional<Expr> E = size(V, Field + Key.str()))
      Out.push_back(*E);
  checkSizes(Out, Field + Key.str());
  return Out;
}

std::optional<UserCode> ManifestReader::readCode(const json::Object &O,
                                                 StringRef Key) {
  const json::Value *V = O.get(Key);
  if (!V)
    return std::nullopt;
  const json::Object *Given = V->getAsObject();
  if (!Given) {
    expected(Key.str(), "an object", V);
    return std::nullopt;
  }
  bool IsCuda = Key == "cuda";
  std::string Field = Key.str() + ".";
  std::vector<std::string_view> Known = {"source", "function", "arguments",
                                         "macros", "headers",  "options"};
  if (IsCuda)
    Known.insert(Known.end(), {"grid", "block", "shared"});
  else
    Known.push_back("library");
  refuseOthers(*Given, Key.str(), Known);
  UserCode C;
  C.Function = text(*Given, "function", Field);
  readPlaceholders(C.Function, Field + "function");
  if (!IsCuda && !C.Function.empty() && !isName(C.Function))
    error(Field + "function", "expected the name of an extern \"C\" function, "
                              "got '" +
                                  printable(C.Function) + "'");
  C.Library = IsCuda ? "" : text(*Given, "library", Field, /*Required=*/false);
  C.File = text(*Given, "source", Field, /*Required=*/C.Library.empty());
  if (!C.Library.empty() && !C.File.empty())
    error(Key.str(), "expected a source or a library, got both");
  if (!C.File.empty())
    if (std::optional<std::string> Source = file(C.File, Field + "source"))
      C.Source = std::move(*Source);
  const json::Array *Arguments =
      list(*Given, "arguments", Field, /*Required=*/false);
  for (auto [I, One] : llvm::enumerate(Arguments ? *Arguments : json::Array()))
    readArgument(One, Field + "arguments[" + std::to_string(I) + "]", C);
  if (const json::Value *Macros = Given->get("macros")) {
    if (!Macros->getAsObject())
      expected(Field + "macros", "an object of texts", Macros);
    else
      for (const auto &[Name, Value] : *Macros->getAsObject()) {
        std::string Of = Field + "macros." + printable(StringRef(Name).str());
        std::optional<StringRef> Text = Value.getAsString();
        if (!Text || !isName(StringRef(Name)) || Text->contains('\n')) {
          expected(Of, "a macro's name and a text of one line", &Value);
          continue;
        }
        readPlaceholders(*Text, Of);
        C.Macros.emplace_back(StringRef(Name).str(), Text->str());
      }
  }
  llvm::sort(C.Macros);
  for (auto [Name, IsHeader] :
       {std::pair("headers", true), {"options", false}}) {
    const json::Array *List = list(*Given, Name, Field, /*Required=*/false);
    for (const json::Value &One : List ? *List : json::Array()) {
      std::optional<StringRef> Text = One.getAsString();
      if (!Text || Text->empty() || Text->contains('\0')) {
        expected(Field + Name, "texts", &One);
        continue;
      }
      if (!IsHeader)
        C.Options.push_back(Text->str());
      else if (auto Contents = file(Text->str(), Field + Name))
        C.Headers.emplace_back(Text->str(), std::move(*Contents));
    }
  }
  if (!IsCuda)
    return C;
  C.Grid = extents(*Given, "grid", Field, /*Required=*/true);
  C.Block = extents(*Given, "block", Field, /*Required=*/true);
  if (const json::Value *Shared = Given->get("shared"))
    if (std::optional<Expr> E = size(*Shared, Field + "shared")) {
      checkSizes({*E}, Field + "shared");
      C.Shared = *E;
    }
  return C;
}
