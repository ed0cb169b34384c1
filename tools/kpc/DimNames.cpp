//===- DimNames.cpp - Dims by the model's names ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/DimNames.h"

#include "compiler/TakenDims.h"

#include <fmt/format.h>

namespace kpc::cli {

std::optional<shape::Expr> takenDim(const Model &M, const std::string &Name) {
  for (const kpc_symbol &S : M.symbols())
    if (Name == S.name)
      return std::nullopt;
  std::string Key = std::string(TakenDimPrefix) + Name;
  std::string Text = M.provenance(Key.c_str());
  return Text.empty() ? std::nullopt : shape::Expr::parse(Text);
}

std::set<std::string, std::less<>>
decidedDims(const Model &M, const std::map<std::string, int64_t> &Given) {
  std::set<std::string, std::less<>> Names;
  for (const auto &[Name, Value] : Given)
    if (std::optional<shape::Expr> Size = takenDim(M, Name))
      Size->collectSymbols(Names);
    else
      Names.insert(Name);
  return Names;
}

std::optional<std::pair<std::string, int64_t>> GivenDim::decides() const {
  std::set<std::string, std::less<>> Names;
  Size.collectSymbols(Names);
  if (Names.size() != 1)
    return std::nullopt;
  const std::string &Other = *Names.begin();
  shape::Expr Is = Value - (Size - shape::Expr::symbol(Other));
  if (std::optional<int64_t> Constant = Is.asConstant())
    return std::pair(Other, *Constant);
  return std::nullopt;
}

void checkGivenDim(const GivenDim &Dim, const shape::Bindings &Bound,
                   Diagnostics &Diags) {
  std::optional<int64_t> Is = Dim.Size.evaluate(Bound);
  if (Is == Dim.Value)
    return;
  std::string Name = printable(Dim.Name);
  if (Dim.Size.isConstant()) {
    Diags.error(Code::RuntimeOutOfRange)
        .message(fmt::format("{} is {}, the model was compiled for {} alone",
                             Name, Dim.Value, Dim.Size.str()))
        .hint("it was fixed when compiling, by --dim or as an operator needs "
              "it");
    return;
  }
  std::set<std::string, std::less<>> Names;
  Dim.Size.collectSymbols(Names);
  std::string Options;
  for (const std::string &Other : Names)
    Options += fmt::format(" --dim {}=VALUE", printable(Other));
  Diags.error(Code::RuntimeWrongShape)
      .message(fmt::format("{} is {}, but when compiling it was found to be "
                           "{}, and that is {}",
                           Name, Dim.Value, printable(Dim.Size.str()),
                           Is ? std::to_string(*Is) : "not known"))
      .hint("give" + Options + " instead");
}

} // namespace kpc::cli
