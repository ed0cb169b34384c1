//===- Emulator.cpp - Emulated devices ------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Emulator.h"

#include "compiler/target/Target.h"
#include "tools/kpc/Options.h"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

namespace kpc::cli {

static constexpr const char *Library = "libkpc_emulator_driver.so";

/// Empty: there is none.
static std::string findLibrary() {
  std::error_code Failed;
  std::filesystem::path Program =
      std::filesystem::read_symlink("/proc/self/exe", Failed);
  if (Failed)
    return {};
  for (const char *Folder : {".", "../lib", "../lib/kpc"}) {
    std::filesystem::path At = Program.parent_path() / Folder / Library;
    if (std::filesystem::exists(At, Failed))
      return At.lexically_normal().string();
  }
  return {};
}

std::string useEmulator(const std::string &Target) {
  bool IsChip = Target.starts_with("sm_");
  if (target::Lookup Found = target::lookup(Target); !IsChip || !Found)
    throw UsageError(
        Code::UsageValue,
        fmt::format("--device: '{}' is no GPU that can be emulated",
                    printable(Target)),
        "write emulate:sm_80, emulate:sm_90a ...; `kpc targets` lists chips");
  std::string Found = findLibrary();
  if (Found.empty())
    throw UsageError(
        Code::UsageNotAvailable,
        fmt::format("--device: the emulator's library {} is not there",
                    Library),
        "it lies beside the executable or in ../lib; builds of kpc make it");
  ::setenv("KPC_CUDA_DRIVER", Found.c_str(), 1);
  ::setenv("KPC_EMULATE_TARGET", Target.c_str(), 1);
  return Found;
}

std::string emulatedTarget() {
  const char *Driver = std::getenv("KPC_CUDA_DRIVER");
  const char *Target = std::getenv("KPC_EMULATE_TARGET");
  if (!Driver || !std::string_view(Driver).ends_with(Library))
    return {};
  return Target && *Target ? Target : "sm_90a"; // as the library takes it
}

} // namespace kpc::cli
