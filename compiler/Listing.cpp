//===- Listing.cpp - What --emit shows ------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Listing.h"

#include <algorithm>
#include <filesystem>

namespace kpc {

static constexpr std::pair<std::string_view, Phase> PhaseNames[] = {
    {"graph", Phase::Graph}, {"linalg", Phase::Linalg}, {"plan", Phase::Plan},
    {"tile", Phase::Tile},   {"nvvm", Phase::Nvvm},     {"llvm", Phase::Llvm},
    {"ptx", Phase::Ptx},     {"sass", Phase::Sass},
};

std::optional<Phase> phaseByName(std::string_view Name) {
  for (auto [Known, P] : PhaseNames)
    if (Known == Name)
      return P;
  return std::nullopt;
}

std::vector<std::string> phaseNames() {
  std::vector<std::string> Names;
  for (auto [Name, P] : PhaseNames)
    Names.emplace_back(Name);
  return Names;
}

std::string phaseName(Phase P) {
  for (auto [Name, Known] : PhaseNames)
    if (Known == P)
      return std::string(Name);
  return {};
}

std::string listingWord(std::optional<Phase> Emit) {
  if (!Emit)
    return {};
  switch (*Emit) {
  case Phase::Tile:
    return "tile";
  case Phase::Nvvm:
    return "nvvm";
  case Phase::Llvm:
    return "llvm";
  case Phase::Ptx:
    return "ptx";
  case Phase::Sass:
    return "sass";
  default:
    return {};
  }
}

std::string listingStem(const CompileOptions &Options) {
  std::string Name = std::filesystem::path(Options.Model).filename();
  return Name.substr(0, Name.find('.'));
}

static const char *endingOf(Phase Emit) {
  switch (Emit) {
  case Phase::Tile:
    return ".tile.mlir";
  case Phase::Nvvm:
    return ".nvvm.mlir";
  case Phase::Ptx:
    return ".ptx";
  case Phase::Sass:
    return ".sass";
  default:
    return ".ll";
  }
}

std::string listingSuffix(Phase Emit, const target::Target &T) {
  std::string Target(T.Name);
  std::replace(Target.begin(), Target.end(), ':', '-');
  return "." + Target + endingOf(Emit);
}

void appendListing(std::string &Listing, Phase Emit,
                   const std::string &Kernel) {
  // Each kernel has names of types in front: a file of its own, as
  // `kpc-opt --split-input-file` takes several.
  if (Emit == Phase::Tile && !Listing.empty() && !Kernel.empty())
    Listing += "// -----\n";
  Listing += Kernel;
}

std::string reasonAgainstListing(Phase Emit, const target::Target &T) {
  std::string Name(T.Name);
  if (T.isHost() && Emit != Phase::Llvm)
    return "--emit " + listingWord(Emit) + " shows the code of GPU targets; '" +
           Name + "' is none, --emit llvm shows its code";
  if (Emit == Phase::Sass && T.TheKind == target::Kind::Portable)
    return "'" + Name +
           "' is PTX, which the driver translates for the chip it finds: "
           "--emit ptx shows it, and --arch sm_90a, for instance, has machine "
           "code";
  return {};
}

} // namespace kpc
