//===- Signature.cpp - The inputs of a TorchScript method -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torchscript/Signature.h"
#include "compiler/import/torchscript/Types.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace kpc::torchscript {

using llvm::StringRef;

std::string typeText(const Node &Type) {
  std::string Text;
  if (Type.Is == Node::Kind::Attribute)
    return Type.Text; // the last part of a class's name
  if (Type.Is != Node::Kind::Subscript)
    return Type.Is == Node::Kind::None ? "None" : Type.Text;
  for (size_t I = 0; I < Type.Items.size(); ++I)
    Text += (I == 0 ? "" : I == 1 ? "[" : ", ") + typeText(Type.Items[I]);
  return Text + "]";
}

static std::string literalText(const Node &N) {
  switch (N.Is) {
  case Node::Kind::None:
    return "None";
  case Node::Kind::Bool:
    return N.Int ? "True" : "False";
  case Node::Kind::Int:
    return std::to_string(N.Int);
  case Node::Kind::Float: {
    std::string Text = std::to_string(N.Float);
    Text.erase(Text.find_last_not_of('0') + 1);
    return Text.ends_with('.') ? Text + "0" : Text;
  }
  case Node::Kind::Text:
    return "\"" + N.Text + "\"";
  default:
    return "…";
  }
}

std::string signatureText(const Function &F) {
  std::string Text = F.Name + "(";
  for (size_t I = 1; I < F.Parameters.size(); ++I) {
    const Parameter &P = F.Parameters[I];
    Text += (I > 1 ? ", " : "") + P.Name;
    if (P.Type)
      Text += ": " + typeText(*P.Type);
    if (P.Default)
      Text += " = " + literalText(*P.Default);
  }
  Text += ")";
  if (F.Result)
    Text += " -> " + typeText(*F.Result);
  return printable(Text, 400);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Whether an option names an input or a part of it.
bool SignatureReader::knows(const std::string &Name) const {
  auto Has = [&](const auto &Map) {
    return llvm::any_of(Map, [&](const auto &Entry) {
      return Entry.first == Name ||
             StringRef(Entry.first).starts_with(Name + "_");
    });
  };
  return Has(Options.Shapes) || Has(Options.Values);
}

std::optional<Datum> SignatureReader::tensor(const std::string &Name,
                                             bool MayLack) {
  auto It = Options.Shapes.find(Name);
  if (It == Options.Shapes.end()) {
    if (!MayLack)
      Missing.push_back("--input-shape " + Name + "=SIZES");
    return std::nullopt;
  }
  Used.insert(Name);
  torch::TensorMeta M;
  M.Type = torch::ScalarType::Float;
  if (auto Type = Options.Types.find(Name); Type != Options.Types.end()) {
    M.Type = typeByName(Type->second);
    if (M.Type == torch::ScalarType::Unknown) {
      Diags.error(Code::ImportElementType)
          .message("--input-type gives '" + printable(Name) + "' the type '" +
                   printable(Type->second) + "', which kpc does not know")
          .hint(llvm::StringRef(Type->second).contains("complex")
                    ? "take a real tensor with a last size of 2, and "
                      "torch.view_as_complex it in the module"
                    : "types are f32, f16, bf16, f64, i64, i32, i16, i8, ui8 "
                      "and bool");
      return std::nullopt;
    }
  }
  for (size_t I = 0; I < It->second.size(); ++I) {
    const std::string &Text = It->second[I];
    torch::Size S;
    if (StringRef(Text).getAsInteger(10, S.Number)) {
      bool Named = Text != "?";
      std::string Symbol =
          torch::plainName(Named ? Text : Name + "_" + std::to_string(I));
      S.Text = "Symbol('" + Symbol + "')";
      // A dim of no elements is no input that any program expects.
      P.Ranges[Symbol] = {.Min = 1};
      if (Named)
        P.DimNames[Symbol] = Symbol;
    }
    M.Sizes.push_back(std::move(S));
  }
  torch::InputSpec Spec;
  Spec.Value.Is = torch::Argument::Kind::Tensor;
  Spec.Value.Values = {Name};
  P.Inputs.push_back(Spec);
  P.InputNames.push_back(Name);
  P.Main.Tensors.emplace(Name, std::move(M));
  return Datum::ofText(Name, Datum::Kind::Tensor);
}

std::optional<Datum> SignatureReader::number(const std::string &Type,
                                             const std::string &Name,
                                             bool MayLack) {
  auto It = Options.Values.find(Name);
  if (It == Options.Values.end()) {
    if (!MayLack)
      Missing.push_back("--value " + Name + "=" +
                        (Type == "str"    ? "TEXT"
                         : Type == "bool" ? "true"
                                          : "NUMBER"));
    return std::nullopt;
  }
  Used.insert(Name);
  StringRef Text(It->second);
  int64_t Whole = 0;
  double Real = 0;
  if (Type == "str")
    return Datum::ofText(Text.str());
  if (Type == "bool" && (Text.equals_insensitive("true") || Text == "1"))
    return Datum::ofBool(true);
  if (Type == "bool" && (Text.equals_insensitive("false") || Text == "0"))
    return Datum::ofBool(false);
  if (Type != "bool" && Type != "float" && !Text.getAsInteger(10, Whole))
    return Datum::ofInt(Whole);
  if ((Type == "float" || Type == "number") && !Text.getAsDouble(Real))
    return Datum::ofFloat(Real);
  Diags.error(Code::ImportValueOption)
      .message("--value gives '" + printable(Name) + "' the value '" +
               printable(It->second) + "', but it is of type " + Type);
  return std::nullopt;
}

/// "__torch__.models.Input" of nested attributes.
static std::string wholeName(const Node &Type) {
  return Type.Is == Node::Kind::Attribute
             ? wholeName(Type.Items.front()) + "." + Type.Text
             : Type.Text;
}

std::optional<Datum> SignatureReader::named(const Node &Type,
                                            const std::string &Name,
                                            bool MayLack) {
  std::string Why;
  Archive::Found C = Script.find(wholeName(Type), Why);
  if (!C.TheClass || C.TheClass->Base != "NamedTuple")
    return std::nullopt;
  std::vector<Datum> Parts;
  for (const Statement &S : C.TheClass->Attributes)
    if (S.Is == Statement::Kind::Declare)
      if (std::optional<Datum> V =
              value(*S.Type, Name + "_" + S.Targets.front().Text, MayLack))
        Parts.push_back(*V);
  if (Parts.size() != C.TheClass->Attributes.size())
    return Datum();
  Datum Tuple = Datum::ofList(std::move(Parts), Datum::Kind::Tuple);
  Tuple.Text = wholeName(Type);
  return Tuple;
}

std::vector<std::string>
SignatureReader::keysOf(const Node &Inner, const std::string &Name) const {
  // Parts of a list have their index after the key.
  unsigned Levels = 0;
  for (const Node *T = &Inner; T->Is == Node::Kind::Subscript;
       T = &T->Items.back())
    Levels +=
        T->Items.front().Text == "List" || T->Items.front().Text == "Tuple";
  std::vector<std::string> Keys;
  auto Add = [&](StringRef Key) {
    if (!Key.consume_front(Name + "_"))
      return;
    for (unsigned I = 0; I < Levels; ++I) {
      auto [Front, Place] = Key.rsplit('_');
      if (!Place.empty() && llvm::all_of(Place, llvm::isDigit))
        Key = Front;
    }
    if (!llvm::is_contained(Keys, Key))
      Keys.push_back(Key.str());
  };
  for (const auto &[Shown, Sizes] : Options.Shapes)
    Add(Shown);
  for (const auto &[Shown, Text] : Options.Values)
    Add(Shown);
  return Keys;
}

std::optional<Datum> SignatureReader::value(const Node &Type,
                                            const std::string &Name,
                                            bool MayLack) {
  std::string Text = typeText(Type);
  if (Type.Is != Node::Kind::Subscript) {
    if (Text == "Tensor")
      return tensor(Name, MayLack);
    if (Text == "int" || Text == "float" || Text == "bool" || Text == "str" ||
        Text == "number")
      return number(Text, Name, MayLack);
    // kpc compiles for the device that --arch names.
    if (Text == "Device" || Text == "device")
      return MayLack ? std::nullopt
                     : std::optional(Datum::ofText("cpu", Datum::Kind::Device));
    if (std::optional<Datum> V = named(Type, Name, MayLack))
      return V->isNone() ? std::nullopt : V;
    if (Text != "NoneType" && !MayLack)
      Diags.error(Code::ImportValueType)
          .message("the input '" + printable(Name) + "' has the type " +
                   printable(Text) + ", which kpc cannot take");
    return std::nullopt;
  }
  std::string Outer = Type.Items.front().Text;
  const Node &Inner = Type.Items.back();
  if (Outer == "Optional" || Outer == "Final") {
    if (!knows(Name) && Outer == "Optional")
      return MayLack ? std::nullopt : std::optional(Datum());
    return value(Inner, Name, MayLack);
  }
  // Options say which of the types is meant: the first whose parts they name.
  if (Outer == "Union") {
    auto Last = Type.Items.end() - 1;
    for (auto It = Type.Items.begin() + 1; It != Type.Items.end(); ++It) {
      bool IsPlain = It->Is != Node::Kind::Subscript;
      if (typeText(*It) == "NoneType")
        continue;
      bool Named =
          IsPlain ? Options.Shapes.count(Name) || Options.Values.count(Name)
                  : knows(Name) && !Options.Shapes.count(Name);
      if (Named || It == Last)
        return value(*It, Name, MayLack);
    }
    return MayLack ? std::nullopt : std::optional(Datum());
  }
  std::vector<Datum> Parts;
  if (Outer == "Tuple") {
    for (size_t I = 1; I < Type.Items.size(); ++I)
      if (std::optional<Datum> V =
              value(Type.Items[I], Name + "_" + std::to_string(I - 1), MayLack))
        Parts.push_back(*V);
    return Parts.size() + 1 == Type.Items.size()
               ? std::optional(
                     Datum::ofList(std::move(Parts), Datum::Kind::Tuple))
               : std::nullopt;
  }
  if (Outer == "List") {
    for (size_t I = 0; knows(Name + "_" + std::to_string(I)); ++I)
      if (std::optional<Datum> V =
              value(Inner, Name + "_" + std::to_string(I), MayLack))
        Parts.push_back(*V);
    if (Parts.empty() && !MayLack)
      return value(Inner, Name + "_0", false);
    return Parts.empty() ? std::nullopt
                         : std::optional(Datum::ofList(std::move(Parts)));
  }
  if (Outer == "Dict" && typeText(Type.Items[1]) == "str") {
    for (const std::string &Key : keysOf(Inner, Name))
      if (std::optional<Datum> V = value(Inner, Name + "_" + Key, MayLack)) {
        Parts.push_back(Datum::ofText(Key));
        Parts.push_back(*V);
      }
    if (Parts.empty() && !MayLack)
      return value(Inner, Name + "_KEY", false);
    return Parts.empty() ? std::nullopt
                         : std::optional(Datum::ofList(std::move(Parts),
                                                       Datum::Kind::Dict));
  }
  if (!MayLack)
    Diags.error(Code::ImportValueType)
        .message("the input '" + printable(Name) + "' has the type " +
                 printable(Text) + ", which kpc cannot take");
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

void SignatureReader::reportMissing() {
  std::string Line = "kpc compile " + printable(Path) + Options.Others;
  if (Options.Method != ScriptOptions().Method)
    Line += " --method " + printable(Options.Method);
  if (Options.ExplicitState)
    Line += " --state explicit";
  for (const auto &[Name, Sizes] : Options.Shapes)
    Line += " --input-shape " + printable(Name) + "=" +
            printable(llvm::join(Sizes, ","));
  for (const auto &[Name, Type] : Options.Types)
    Line += " --input-type " + printable(Name) + "=" + printable(Type);
  for (const auto &[Name, Text] : Options.Values)
    Line += " --value " + printable(Name) + "=" + printable(Text);
  for (const std::string &Option : Missing)
    Line += " " + printable(Option);
  bool TakesList = llvm::any_of(F.Parameters, [](const Parameter &P) {
    return P.Type && typeText(*P.Type) == "List[Tensor]";
  });
  Diags.error(Code::ImportNoRank)
      .message("TorchScript files hold no shapes, and this one needs " +
               std::to_string(Missing.size()) + " more for " + signatureText(F))
      .hint(std::string("write numbers, or names for dynamic dims as in "
                        "batch,3,224,224") +
            (TakesList ? ", and a shape for each tensor of a list" : "") +
            ", in: " + Line);
}

void SignatureReader::reportUnused() {
  auto Report = [&](const std::string &Name, const char *Option) {
    bool IsTensor =
        llvm::is_contained(Missing, "--input-shape " + Name + "=SIZES");
    if (!Used.count(Name) && IsTensor)
      Diags.error(Code::ImportValueOption)
          .message(std::string(Option) + " names '" + printable(Name) +
                   "', which is a tensor of " + signatureText(F))
          .hint("--input-shape makes it an input; --value gives numbers, "
                "truths and strings. A tensor that is always the same is a "
                "buffer of the module");
    else if (!Used.count(Name))
      Diags.error(Code::ImportValueOption)
          .message(std::string(Option) + " names '" + printable(Name) +
                   "', but the inputs are those of " + signatureText(F))
          .hint("parts of tuples, lists and dicts are called by their place "
                "or key: x_0, x_key");
  };
  for (const auto &[Name, Sizes] : Options.Shapes)
    Report(Name, "--input-shape");
  for (const auto &[Name, Type] : Options.Types)
    Report(Name, "--input-type");
  for (const auto &[Name, Text] : Options.Values)
    Report(Name, "--value");
}

std::optional<std::map<std::string, Datum>> SignatureReader::read() {
  size_t Errors = Diags.errorCount();
  std::map<std::string, Datum> Arguments;
  for (size_t I = 1; I < F.Parameters.size(); ++I) {
    const Parameter &Of = F.Parameters[I];
    static const Node Tensor = [] {
      Node N;
      N.Is = Node::Kind::Name;
      N.Text = "Tensor";
      return N;
    }();
    bool MayLack = Of.Default.has_value() && !knows(Of.Name);
    if (std::optional<Datum> V =
            value(Of.Type ? *Of.Type : Tensor, Of.Name, MayLack))
      Arguments.emplace(Of.Name, *V);
  }
  if (!Missing.empty())
    reportMissing();
  reportUnused();
  return Diags.errorCount() == Errors ? std::optional(std::move(Arguments))
                                      : std::nullopt;
}

} // namespace kpc::torchscript
