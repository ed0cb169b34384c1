//===- ProgramDims.cpp - Names of a program's dims ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// torch.export keeps no names of dims: its symbols are s31 and s77, and may be
/// others in the next export. A dim is therefore called by the first input and
/// axis where it stands alone; a size that data decides, by the first result.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Program.h"

#include "llvm/ADT/StringExtras.h"

namespace kpc::torch {

std::string plainName(const std::string &Wanted) {
  std::string Name;
  for (char C : Wanted)
    Name += llvm::isAlnum(C) || C == '_' ? C : '_';
  return Name.empty() || llvm::isDigit(Name[0]) ? "_" + Name : Name;
}

std::string loneSymbol(const std::string &Text) {
  llvm::StringRef Rest(Text);
  if (Rest.consume_front("Symbol('"))
    return Rest.count('(') > 0 ? "" : Rest.split('\'').first.str();
  // As PyTorch 2.6 and older write it.
  bool IsName = !Rest.empty() && llvm::isAlpha(Rest.front()) &&
                llvm::all_of(Rest, [](char C) { return llvm::isAlnum(C); });
  return IsName ? Text : "";
}

bool isTensorInput(const InputSpec &S) {
  return S.Is == InputSpec::Kind::User &&
         S.Value.Is == Argument::Kind::Tensor && !S.Value.Values.empty();
}

std::string outputName(const Program &P, size_t Place) {
  std::string Name = Place < P.OutputNames.size() ? P.OutputNames[Place]
                                                  : std::to_string(Place);
  if (Name.empty())
    return "output";
  return llvm::isDigit(Name[0]) ? "output_" + Name : Name;
}

std::vector<NamedSymbol> namedSymbols(const Program &P) {
  std::vector<NamedSymbol> Names;
  auto Known = [&](const std::string &Symbol) {
    for (const NamedSymbol &N : Names)
      if (N.Symbol == Symbol)
        return true;
    return false;
  };
  for (const InputSpec &S : P.Inputs) {
    if (!isTensorInput(S))
      continue;
    const std::string &Input = S.Value.Values.front();
    auto It = P.Main.Tensors.find(Input);
    for (size_t I = 0;
         It != P.Main.Tensors.end() && I < It->second.Sizes.size(); ++I) {
      std::string Symbol = loneSymbol(It->second.Sizes[I].Text);
      if (Symbol.empty() || Known(Symbol))
        continue;
      if (auto Named = P.DimNames.find(Symbol); Named != P.DimNames.end())
        Names.push_back({Symbol, Named->second, "", 0});
      else
        Names.push_back(
            {Symbol, plainName(Input + "_" + std::to_string(I)), Input, I});
    }
  }
  // Symbols of data begin with 'u'.
  for (const Node &N : P.Main.Nodes)
    for (const Argument &A : N.Outputs)
      for (const std::string &Result : A.Values) {
        auto Add = [&](const Size &S, const std::string &Name) {
          std::string Symbol = loneSymbol(S.Text);
          if (Symbol.starts_with("u") && !Known(Symbol))
            Names.push_back({Symbol, plainName(Name), "", 0, /*ByData=*/true});
        };
        if (auto It = P.Main.Tensors.find(Result); It != P.Main.Tensors.end())
          for (size_t I = 0; I < It->second.Sizes.size(); ++I)
            Add(It->second.Sizes[I], Result + "_" + std::to_string(I));
        else if (auto It = P.Main.Numbers.find(Result);
                 It != P.Main.Numbers.end())
          Add(It->second, Result);
      }
  // What stands in sums alone.
  for (const auto &[Symbol, Range] : P.Ranges)
    if (Symbol.starts_with("s") && !Known(Symbol))
      Names.push_back({Symbol, plainName(Symbol), "", 0});
  return Names;
}

} // namespace kpc::torch
