//===- Settings.cpp - The device that the environment asks for ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/driver/Settings.h"

#include "emulator/program/Target.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

namespace kpc::emulator::driver {

static constexpr uint64_t MaxGiB = uint64_t{1} << 20, MaxThreads = 1024;
static constexpr double MaxSeconds = 1e6;

/// nullptr: not there, or empty.
static const char *valueOf(const char *Name) {
  const char *Value = std::getenv(Name);
  return Value && *Value ? Value : nullptr;
}

template <typename T> static bool number(const char *Text, T &Out) {
  const char *Last = Text + std::strlen(Text);
  auto [End, Error] = std::from_chars(Text, Last, Out);
  return Error == std::errc() && End == Last;
}

void Settings::refuse(const char *Name, const std::string &Must) {
  Problem += (Problem.empty() ? "" : "; ") + std::string(Name) + " is '" +
             valueOf(Name) + "': it must be " + Must;
}

void Settings::read() {
  if (const char *Value = valueOf("KPC_EMULATE_TARGET")) {
    auto Found = targetNamed(Value);
    if (Found && Found->Suffix != 'f')
      Capability = Found->Number;
    else
      refuse("KPC_EMULATE_TARGET", "one of " + knownTargets());
    Target = Value;
  }
  uint64_t Whole = 0;
  if (const char *Value = valueOf("KPC_EMULATE_THREADS")) {
    if (!number(Value, Whole) || Whole < 1 || Whole > MaxThreads)
      refuse("KPC_EMULATE_THREADS",
             "a number of threads from 1 to " + std::to_string(MaxThreads));
    // One by default: a strict run can be repeated.
    Launch.Threads = unsigned(std::clamp<uint64_t>(
        Whole, 1, std::max(1u, std::thread::hardware_concurrency())));
  }
  if (const char *Value = valueOf("KPC_EMULATE_STRICT")) {
    Launch.Strict = std::strcmp(Value, "0") != 0;
    if (Launch.Strict && std::strcmp(Value, "1") != 0)
      refuse("KPC_EMULATE_STRICT", "0 or 1");
  }
  if (const char *Value = valueOf("KPC_EMULATE_SEED")) {
    uint32_t Seed = 1;
    if (!number(Value, Seed))
      refuse("KPC_EMULATE_SEED", "a whole number from 0 to 4294967295");
    Launch.Seed = Seed;
  }
  if (const char *Value = valueOf("KPC_EMULATE_MEMORY")) {
    if (!number(Value, Whole) || Whole < 1 || Whole > MaxGiB)
      refuse("KPC_EMULATE_MEMORY",
             "a number of GiB from 1 to " + std::to_string(MaxGiB));
    else
      MemoryBytes = Whole << 30;
  }
  if (const char *Value = valueOf("KPC_EMULATE_PTX")) {
    std::error_code Ignored;
    if (!std::filesystem::is_directory(Value, Ignored))
      refuse("KPC_EMULATE_PTX", "a folder that is there");
    Texts = Value;
  }
  if (const char *Value = valueOf("KPC_EMULATE_TIME_LIMIT"))
    if (!number(Value, Launch.Seconds) || !(Launch.Seconds > 0) ||
        Launch.Seconds > MaxSeconds)
      refuse("KPC_EMULATE_TIME_LIMIT",
             "a number of seconds, more than 0 and at most 1000000");
}

Settings Settings::fromEnvironment() {
  Settings Out;
  Out.read();
  return Out;
}

} // namespace kpc::emulator::driver
