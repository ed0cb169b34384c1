//===- LaunchName.cpp - What people call a launch -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/report/LaunchName.h"

#include <algorithm>
#include <cctype>

namespace kpc::cli {

static bool isDigit(char C) {
  return std::isdigit(static_cast<unsigned char>(C)) != 0;
}

static bool isNumber(const std::string &Text) {
  return !Text.empty() && std::all_of(Text.begin(), Text.end(), isDigit);
}

/// Sizes in braces as numbers; those that these dims do not tell stay words.
static std::string withSizes(const std::string &Title,
                             const shape::Bindings &Dims) {
  std::string Out;
  for (size_t At = 0; At < Title.size();) {
    size_t Open = Title.find('{', At), Close = Title.find('}', At);
    if (Open == std::string::npos || Close == std::string::npos ||
        Close < Open) {
      Out += Title.substr(At);
      break;
    }
    Out += Title.substr(At, Open - At);
    std::string Size = Title.substr(Open + 1, Close - Open - 1);
    std::optional<shape::Expr> E = shape::Expr::parse(Size);
    std::optional<int64_t> Value = E ? E->evaluate(Dims) : std::nullopt;
    // What is no number keeps its braces, so that the signs leave it alone.
    // Sums of many sizes that data decides say nothing to people.
    constexpr size_t MostWords = 24;
    Out += Value                     ? std::to_string(*Value)
           : Size.size() > MostWords ? "{n}"
                                     : "{" + Size + "}";
    At = Close + 1;
  }
  return Out;
}

static std::string withSigns(const std::string &Text) {
  std::string Out;
  bool InBraces = false;
  for (size_t I = 0; I < Text.size(); ++I) {
    char C = Text[I];
    char Before = I ? Text[I - 1] : ' ';
    char After = I + 1 < Text.size() ? Text[I + 1] : ' ';
    bool Ends = isDigit(Before) || Before == '}' || Before == ' ';
    bool Begins = isDigit(After) || After == '{' || After == ' ';
    if (C == '{' || C == '}')
      InBraces = C == '{';
    else if (!InBraces && C == 'x' && Ends && Begins)
      Out += "×";
    else if (!InBraces && C == '-' && After == '>') {
      Out += "→";
      ++I;
    } else
      Out += C;
  }
  return Out;
}

std::string titleAt(const std::string &Title, const shape::Bindings &Dims) {
  return withSigns(withSizes(Title, Dims));
}

ModulePlace placeOfScope(const std::string &Scope) {
  std::vector<std::string> Parts;
  size_t Begin = 0;
  for (size_t At = 0; At <= Scope.size(); ++At)
    if (At == Scope.size() || Scope[At] == '.') {
      Parts.push_back(Scope.substr(Begin, At - Begin));
      Begin = At + 1;
    }
  // The first number counts the layers, what is below it is their inside.
  size_t Layer = Parts.size();
  for (size_t I = Parts.size(); I-- > 0;)
    if (isNumber(Parts[I]))
      Layer = I;
  ModulePlace Out;
  if (Layer < Parts.size()) {
    std::string List = Layer ? Parts[Layer - 1] : "layer";
    // "layers.3" is layer 3, "layer1.2" is not layer1 2.
    if (List.size() > 2 && List.ends_with("s"))
      List.pop_back();
    bool Numbered = !List.empty() && isDigit(List.back());
    Out.Layer = List + (Numbered ? "." : " ") + Parts[Layer];
  }
  for (size_t I = Layer < Parts.size() ? Layer + 1 : 0; I < Parts.size(); ++I)
    Out.Rest += (Out.Rest.empty() ? "" : ".") + Parts[I];
  return Out;
}

std::string nameOfLaunch(const LaunchFacts &L, const shape::Bindings &Dims) {
  if (L.Title.empty())
    return L.Name;
  ModulePlace Place = placeOfScope(L.Scope);
  const std::string &Where = Place.Layer.empty() ? Place.Rest : Place.Layer;
  return (Where.empty() ? "" : Where + " · ") + titleAt(L.Title, Dims);
}

} // namespace kpc::cli
