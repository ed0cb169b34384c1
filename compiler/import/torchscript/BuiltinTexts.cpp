//===- BuiltinTexts.cpp - Strings of a program ----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Strings choose; what they say to a reader has no place in a compiled model.
/// They are of bytes, as TorchScript's are.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/torchscript/Evaluator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

namespace kpc::torchscript {

using llvm::StringRef;
using Kind = Datum::Kind;

/// Whether a string is not empty and of such characters alone; none for names
/// that ask nothing.
static std::optional<bool> asks(StringRef Name, StringRef Of) {
  auto All = [&](llvm::function_ref<bool(char)> Is) {
    return !Of.empty() && llvm::all_of(Of, Is);
  };
  auto Cased = [&](llvm::function_ref<bool(char)> Other) {
    return llvm::any_of(Of, llvm::isAlpha) && llvm::none_of(Of, Other);
  };
  if (Name == "isdigit" || Name == "isdecimal" || Name == "isnumeric")
    return All(llvm::isDigit);
  if (Name == "isalpha")
    return All(llvm::isAlpha);
  if (Name == "isalnum")
    return All(llvm::isAlnum);
  if (Name == "isspace")
    return All(llvm::isSpace);
  if (Name == "islower")
    return Cased(llvm::isUpper);
  if (Name == "isupper")
    return Cased(llvm::isLower);
  if (Name == "isidentifier")
    return All([](char C) { return llvm::isAlnum(C) || C == '_'; }) &&
           !llvm::isDigit(Of.front());
  return std::nullopt;
}

/// A string with other cases; none for names that change none.
static std::optional<std::string> cased(StringRef Name, StringRef Of) {
  std::string Out = Name == "lower" || Name == "capitalize" || Name == "title"
                        ? Of.lower()
                        : Of.str();
  if (Name == "lower")
    return Out;
  if (Name == "upper")
    return Of.upper();
  if (Name == "swapcase") {
    for (char &C : Out)
      C = llvm::isLower(C) ? llvm::toUpper(C) : llvm::toLower(C);
    return Out;
  }
  if (Name == "capitalize") {
    if (!Out.empty())
      Out[0] = llvm::toUpper(Out[0]);
    return Out;
  }
  if (Name == "title") {
    for (size_t I = 0; I < Out.size(); ++I)
      if (I == 0 || !llvm::isAlpha(Out[I - 1]))
        Out[I] = llvm::toUpper(Out[I]);
    return Out;
  }
  return std::nullopt;
}

/// "%s and %d" with values in their places; none for other forms.
static std::optional<std::string>
percentFormat(StringRef Of,
              llvm::function_ref<std::optional<std::string>()> Next) {
  std::string Out;
  for (size_t I = 0; I < Of.size(); ++I) {
    if (Of[I] != '%') {
      Out += Of[I];
      continue;
    }
    if (++I == Of.size())
      return std::nullopt;
    if (Of[I] == '%') {
      Out += '%';
      continue;
    }
    std::optional<std::string> V =
        Of[I] == 's' || Of[I] == 'd' ? Next() : std::nullopt;
    if (!V)
      return std::nullopt;
    Out += *V;
  }
  return Out;
}

std::optional<Datum> Evaluator::callText(const std::string &Name,
                                         PassedList &A) {
  if (Name == "print" || Name == "warn") {
    note("'" + Name + "' is left out: " +
         printable(Frames.back().File->place(Frames.back().Line)));
    return Datum();
  }
  if (Name == "chr" && A.size() == 1) {
    int64_t Code = A[0].Value.asInt().value_or(-1);
    if (Code < 0 || Code > 127)
      return unknownNumber("it makes a character of one");
    return Datum::ofText(std::string(1, static_cast<char>(Code)));
  }
  if (A.empty() || A[0].Value.Is != Kind::Text)
    return std::nullopt;
  // A copy: the text may be one of the arguments.
  std::string Held = A[0].Value.Text;
  StringRef Of(Held);
  auto Text = [&](std::string V) {
    return charge(V.size()) ? Datum::ofText(std::move(V)) : Datum();
  };
  size_t Used = 1;
  auto Next = [&]() -> std::optional<std::string> {
    if (Used >= A.size())
      return std::nullopt;
    return convert("str", A[Used++].Value).Text;
  };
  if (Name == "format") {
    std::string Out;
    for (size_t I = 0; I < Of.size(); ++I)
      if (Of.substr(I).starts_with("{}") && Used < A.size()) {
        Out += *Next();
        ++I;
      } else {
        Out += Of[I];
      }
    return Text(Out);
  }
  if (Name == "percentFormat") {
    std::optional<std::string> Out = percentFormat(Of, Next);
    if (!Out || Used != A.size())
      return fail(Code::ImportUnsupported,
                  "formats by '" + printable(Held) +
                      "': kpc knows %s and %d, one for each value");
    return Text(*Out);
  }
  if (Name == "slice" || Name == "list") {
    std::vector<Datum> Letters;
    for (char C : Of)
      Letters.push_back(Datum::ofText(std::string(1, C)));
    Datum All = Datum::ofList(std::move(Letters));
    if (!charge(Of.size()) || Name == "list")
      return Bad ? Datum() : All;
    Datum Part = sliced(All, A);
    std::string Out;
    for (size_t I = 0; !Bad && I < Part.Items->size(); ++I)
      Out += (*Part.Items)[I].Text;
    return Text(Out);
  }
  if (Name == "__getitem__" && A.size() == 2)
    return element(A[0].Value, A[1].Value);
  if (A.size() == 1) {
    if (Name == "len")
      return Datum::ofInt(static_cast<int64_t>(Of.size()));
    if (Name == "ord" && Of.size() == 1)
      return Datum::ofInt(static_cast<unsigned char>(Of[0]));
    if (std::optional<bool> Answer = asks(Name, Of))
      return Datum::ofBool(*Answer);
    if (std::optional<std::string> Other = cased(Name, Of))
      return Text(*Other);
  }
  if (Name == "splitlines") {
    llvm::SmallVector<StringRef> Parts;
    Of.split(Parts, '\n');
    if (!Parts.empty() && Parts.back().empty())
      Parts.pop_back();
    std::vector<Datum> List;
    for (StringRef Part : Parts)
      List.push_back(Datum::ofText(Part.str()));
    return charge(List.size() + Of.size()) ? Datum::ofList(std::move(List))
                                           : Datum();
  }
  if (Name == "mul" && A.size() == 2) {
    std::optional<int64_t> Times = A[1].Value.asInt();
    if (!Times)
      return unknownNumber("it repeats a string");
    std::string Out;
    for (int64_t I = 0; I < *Times && charge(Of.size() + 1); ++I)
      Out += Held;
    return Datum::ofText(Out);
  }
  if ((Name == "ljust" || Name == "rjust" || Name == "zfill") &&
      A.size() >= 2) {
    std::optional<int64_t> Wide = A[1].Value.asInt();
    if (!Wide)
      return unknownNumber("it fills up a string");
    int64_t More = std::max<int64_t>(*Wide, static_cast<int64_t>(Of.size())) -
                   static_cast<int64_t>(Of.size());
    if (!charge(static_cast<uint64_t>(More)))
      return Datum();
    std::string Fill(static_cast<size_t>(More),
                     Name == "zfill" ? '0'
                     : A.size() > 2 && !A[2].Value.Text.empty()
                         ? A[2].Value.Text[0]
                         : ' ');
    if (Name == "zfill" && (Of.starts_with("-") || Of.starts_with("+")))
      return Text(Held.substr(0, 1) + Fill + Held.substr(1));
    return Text(Name == "ljust" ? Held + Fill : Fill + Held);
  }
  return callTextPair(Name, A);
}

std::optional<Datum> Evaluator::callTextPair(const std::string &Name,
                                             PassedList &A) {
  std::string Held = A[0].Value.Text;
  StringRef Of(Held);
  auto Text = [&](std::string V) {
    return charge(V.size()) ? Datum::ofText(std::move(V)) : Datum();
  };
  // Printers write defaults: from the start, to the end, as often as there is.
  auto Is = [&](size_t I, int64_t Default) {
    return A.size() <= I || A[I].Value.asInt() == Default;
  };
  if (Name == "strip" || Name == "lstrip" || Name == "rstrip") {
    StringRef Chars = A.size() > 1 && A[1].Value.Is == Kind::Text
                          ? StringRef(A[1].Value.Text)
                          : StringRef(" \t\n\v\f\r");
    if (Name != "rstrip")
      Of = Of.ltrim(Chars);
    return Text((Name == "lstrip" ? Of : Of.rtrim(Chars)).str());
  }
  bool Splits = Name == "split" || Name == "rsplit";
  if (Splits && (A.size() < 2 || A[1].Value.isNone()) && Is(2, -1)) {
    std::vector<Datum> List;
    llvm::SmallVector<StringRef> Parts;
    llvm::SplitString(Of, Parts, " \t\n\v\f\r");
    for (StringRef Part : Parts)
      List.push_back(Datum::ofText(Part.str()));
    return charge(List.size() + Of.size()) ? Datum::ofList(std::move(List))
                                           : Datum();
  }
  if (A.size() < 2)
    return std::nullopt;
  const Datum &Other = A[1].Value;
  if (Name == "join" && Other.isSequence()) {
    std::string Out;
    for (size_t I = 0; I < Other.Items->size() && charge(Out.size()); ++I)
      Out += (I ? Of.str() : std::string()) + (*Other.Items)[I].Text;
    return Text(Out);
  }
  if (Other.Is != Kind::Text)
    return std::nullopt;
  if (Name == "replace" && A.size() >= 3 && A[2].Value.Is == Kind::Text &&
      !Other.Text.empty() && (A.size() < 4 || A[3].Value.asInt())) {
    int64_t Most = A.size() < 4 ? -1 : *A[3].Value.asInt();
    llvm::SmallVector<StringRef> Parts;
    Of.split(Parts, Other.Text,
             static_cast<int>(std::clamp<int64_t>(Most, -1, INT32_MAX)));
    return charge(Of.size() + Parts.size() * A[2].Value.Text.size())
               ? Text(llvm::join(Parts, A[2].Value.Text))
               : Datum();
  }
  if (Splits && !Other.Text.empty() &&
      (Is(2, -1) || (Name == "split" && A[2].Value.asInt()))) {
    int64_t Most = A.size() > 2 ? *A[2].Value.asInt() : -1;
    llvm::SmallVector<StringRef> Parts;
    Of.split(Parts, Other.Text,
             static_cast<int>(std::clamp<int64_t>(Most, -1, INT32_MAX)));
    std::vector<Datum> List;
    for (StringRef Part : Parts)
      List.push_back(Datum::ofText(Part.str()));
    return charge(List.size() + Of.size()) ? Datum::ofList(std::move(List))
                                           : Datum();
  }
  if (Name == "add")
    return Text(Held + Other.Text);
  if (Name == "__contains__")
    return Datum::ofBool(Of.contains(Other.Text));
  if (Name == "partition" || Name == "rpartition") {
    size_t At =
        Name == "partition" ? Of.find(Other.Text) : Of.rfind(Other.Text);
    bool Found = At != StringRef::npos;
    std::string Front = Found ? Held.substr(0, At) : "",
                Back = Found ? Held.substr(At + Other.Text.size()) : "";
    if (!Found)
      (Name == "partition" ? Front : Back) = Held;
    return Datum::ofList({Datum::ofText(Front),
                          Datum::ofText(Found ? Other.Text : ""),
                          Datum::ofText(Back)},
                         Kind::Tuple);
  }
  // What follows takes a part of the string, by default all of it.
  if (!Is(2, 0) || !(Is(3, -1) || Is(3, INT64_MAX)))
    return std::nullopt;
  if (Name == "startswith")
    return Datum::ofBool(Of.starts_with(Other.Text));
  if (Name == "endswith")
    return Datum::ofBool(Of.ends_with(Other.Text));
  if (Name == "count" && !Other.Text.empty())
    return Datum::ofInt(static_cast<int64_t>(Of.count(Other.Text)));
  bool Last = Name == "rfind" || Name == "rindex";
  if (Last || Name == "find" || Name == "index") {
    auto At =
        static_cast<int64_t>(Last ? Of.rfind(Other.Text) : Of.find(Other.Text));
    if (At < 0 && Name.ends_with("index"))
      return fail(Code::ImportUnsupported, "looks for '" +
                                               printable(Other.Text) +
                                               "', which the string has not");
    return Datum::ofInt(At);
  }
  return std::nullopt;
}

} // namespace kpc::torchscript
