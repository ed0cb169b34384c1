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
/// axis where it stands alone.
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

/// The symbol that the text is, and nothing else; empty if it is more.
static std::string loneSymbol(const std::string &Text) {
  llvm::StringRef Rest(Text);
  if (!Rest.consume_front("Symbol('") || Rest.count('(') > 0)
    return {};
  return Rest.split('\'').first.str();
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
  // What stands in sums alone. Symbols of data begin with 'u'.
  for (const auto &[Symbol, Range] : P.Ranges)
    if (Symbol.starts_with("s") && !Known(Symbol))
      Names.push_back({Symbol, plainName(Symbol), "", 0});
  return Names;
}

} // namespace kpc::torch
