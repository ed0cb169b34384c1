//===- TargetsCommand.cpp - kpc targets -----------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/target/Target.h"
#include "tools/kpc/Json.h"
#include "tools/kpc/Options.h"
#include "tools/kpc/TextTable.h"

#include <fmt/format.h>

namespace kpc::cli {

static std::string_view kindName(target::Kind K) {
  switch (K) {
  case target::Kind::Gpu:
    return "gpu";
  case target::Kind::Portable:
    return "portable";
  case target::Kind::Host:
    return "host";
  }
  return "host";
}

/// What `native` and `host` mean on this machine.
static std::string nativeText() {
  target::Machine Here = target::thisMachine();
  std::string Out;
  for (const char *Name : {"native", "host"}) {
    target::Lookup Found = target::lookup(Name, Here);
    std::string Means = Found ? std::string() : "not available: " + Found.Error;
    for (const target::Target *T : Found.Targets)
      Means += (Means.empty() ? "" : ", ") + std::string(T->Name);
    Out += fmt::format("  {:<10}  {}\n", Name, Means);
  }
  return Out;
}

static void printText() {
  TextTable Table("lll");
  for (const target::Target &T : target::allTargets())
    Table.row({std::string(T.Name), std::string(T.Summary),
               T.isGpu() ? "needs " + driverText(T.LeastDriver) : ""});
  fmt::print("targets:\n{}", Table.text());
  TextTable Aliases("lll");
  for (const target::Alias &A : target::allAliases())
    Aliases.row(
        {std::string(A.Name), fmt::format("{}", fmt::join(A.Targets, ", "))});
  fmt::print("other spellings:\n{}", Aliases.text());
  fmt::print("on this machine:\n{}", nativeText());
}

static void printJson() {
  Json All = Json::array();
  for (const target::Target &T : target::allTargets()) {
    Json J;
    J["name"] = T.Name;
    J["kind"] = kindName(T.TheKind);
    J["summary"] = T.Summary;
    if (T.isGpu()) {
      J["compute_capability"] =
          fmt::format("{}.{}", T.Compute / 10, T.Compute % 10);
      J["arch_specific"] = T.ArchSpecific;
      J["least_driver"] = T.LeastDriver;
      J["ptx_version"] =
          fmt::format("{}.{}", T.PtxVersion / 10, T.PtxVersion % 10);
      J["shared_memory_per_block"] = T.Limit.SharedPerBlock;
    } else {
      J["vector_bits"] = T.Can.VectorBits;
    }
    All.push_back(std::move(J));
  }
  Json Out;
  Out["targets"] = std::move(All);
  for (const target::Alias &A : target::allAliases())
    Out["aliases"][std::string(A.Name)] = A.Targets;
  printJsonText(Out);
}

void addTargetsCommand(CLI::App &Main, Action &Chosen) {
  auto Json = std::make_shared<bool>(false);
  CLI::App &App = *Main.add_subcommand("targets", "list what kpc compiles for");
  App.add_flag("--json", *Json, "print JSON");
  App.callback([Json, &Chosen] {
    Chosen = [Json] {
      *Json ? printJson() : printText();
      return int(Done);
    };
  });
}

} // namespace kpc::cli
