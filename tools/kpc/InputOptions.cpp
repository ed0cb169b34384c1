//===- InputOptions.cpp - Options that say which tensors a model gets ---===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Inputs.h"

#include <fmt/format.h>

namespace kpc::cli {

void addInputs(CLI::App &App, InputOptions &Options) {
  addText(
      App, "-i,--input", "NAME=FILE",
      "an input: NAME=FILE (.npy, .npz, ONNX .pb), NAME=random, NAME=zeros; "
      "FILE.npz with an array per input; random or zeros for all others; "
      "repeatable",
      [&Options](const std::string &Text) {
        auto Word = [](std::string_view W) -> std::optional<Filling> {
          if (W == "random")
            return Filling::Random;
          return W == "zeros" ? std::optional(Filling::Zeros) : std::nullopt;
        };
        if (auto How = Word(Text)) {
          if (Options.Others && Options.Others != How)
            throw UsageError(Code::UsageConflict,
                             "--input: random and zeros are both for all "
                             "others",
                             "write NAME=random or NAME=zeros for some");
          Options.Others = How;
          return;
        }
        // Names of inputs may contain '=', names of files hardly do.
        size_t Equals = Text.rfind('=');
        if (Equals == std::string::npos && !Text.empty()) {
          // Whether it names its arrays is asked when the inputs are known.
          Options.List.push_back({"", Filling::File, Text});
          return;
        }
        if (Equals == std::string::npos || Equals == 0 ||
            Equals + 1 == Text.size())
          throw UsageError(
              Code::UsageValue,
              fmt::format("--input: '{}' is not NAME=FILE", printable(Text)),
              "write NAME=FILE, NAME=random, NAME=zeros, random or zeros");
        std::string Name = Text.substr(0, Equals);
        std::string Value = Text.substr(Equals + 1);
        auto How = Word(Value);
        Options.List.push_back(
            {Name, How.value_or(Filling::File), How ? "" : Value});
      });
  addNumber(App, "--seed", Options.Seed, 0, INT64_MAX,
            "for random inputs (default: 0)");
  addDimValues(App, Options.Dims);
}

/// What to write for `Text`, which stands where NAME=FILE should.
static std::string inputHint(const Model &M, const std::string &Text) {
  constexpr size_t Shown = 8;
  std::vector<kpc_port> Ports = M.inputs();
  if (Ports.empty())
    return "the model has no inputs";
  std::string Names;
  for (size_t I = 0; I < Ports.size() && I < Shown; ++I) {
    std::string Name = printable(Ports[I].name);
    if (Text == Ports[I].name)
      return fmt::format("say where '{0}' comes from: {0}=FILE, {0}=random or "
                         "{0}=zeros",
                         Name);
    Names += (I ? "', '" : "'") + Name;
  }
  Names += "'";
  if (Ports.size() > Shown)
    Names += fmt::format(" and {} more", Ports.size() - Shown);
  if (Ports.size() == 1)
    return fmt::format("the model's input is {}: write --input {}={}", Names,
                       printable(Ports[0].name), printable(Text));
  return fmt::format("the model's inputs are {}: write --input NAME={}", Names,
                     printable(Text));
}

void needInputNames(const Model &M, const InputOptions &Options) {
  for (const InputOptions::Given &G : Options.List)
    if (G.Name.empty() && !G.File.ends_with(".npz"))
      throw UsageError(
          Code::UsageValue,
          fmt::format("--input: '{}' is not NAME=FILE", printable(G.File)),
          inputHint(M, G.File));
}

} // namespace kpc::cli
