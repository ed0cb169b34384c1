//===- Progress.cpp - What is done now, and how far -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Progress.h"

#include "compiler/diagnostics/Diagnostics.h"

#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

namespace kpc::cli {

static bool dumbTerminal() {
  const char *Term = std::getenv("TERM");
  return !Term || !*Term || std::string_view(Term) == "dumb";
}

std::vector<std::string> progressStyleNames() {
  return {"auto", "bar", "lines", "json"};
}

ProgressStyle progressStyleByName(std::string_view Name) {
  return Name == "bar"     ? ProgressStyle::Bar
         : Name == "lines" ? ProgressStyle::Lines
         : Name == "json"  ? ProgressStyle::Json
                           : ProgressStyle::Auto;
}

Progress::Progress(bool Quiet, ProgressStyle Style) {
  if (Quiet)
    return;
  switch (Style) {
  case ProgressStyle::Auto:
    Mode = ::isatty(STDERR_FILENO) && !dumbTerminal() ? Bar : Lines;
    break;
  case ProgressStyle::Bar:
    Mode = Bar;
    break;
  case ProgressStyle::Lines:
    Mode = Lines;
    break;
  case ProgressStyle::Json:
    Mode = Json;
    break;
  }
}

void Progress::show(std::string_view What, size_t Done, size_t Total) {
  if (Mode == Nothing)
    return;
  Clock::time_point Now = Clock::now();
  bool NewPhase = Phase != What;
  // A bar that changes more often than eyes can follow costs time; a log is
  // read later.
  auto Pause = std::chrono::milliseconds(Mode == Lines ? 10000 : 50);
  bool Last = Mode != Lines && Done == Total;
  if (!NewPhase && !Last && Now - LastShown < Pause)
    return;
  if (Mode == Lines && Now - Start < std::chrono::seconds(2))
    return;
  Phase = What;
  LastShown = Now;
  if (Mode == Bar)
    return drawBar(What, Done, Total);
  if (Mode == Json) {
    fmt::print(stderr, "{{\"phase\":{},\"done\":{},\"total\":{}}}\n",
               jsonQuote(What), Done, Total);
    std::fflush(stderr);
    return;
  }
  if (Total > 1)
    fmt::print(stderr, "{}: {} of {}\n", What, Done, Total);
  else
    fmt::print(stderr, "{}\n", What);
}

void Progress::drawBar(std::string_view What, size_t Done, size_t Total) {
  constexpr size_t Width = 30;
  std::string Line;
  if (Total > 1) {
    size_t Full = Done >= Total ? Width : Width * Done / Total;
    Line = fmt::format("{:<12.30} [{}{}] {}/{}", What, std::string(Full, '='),
                       std::string(Width - Full, ' '), Done, Total);
  } else {
    Line = fmt::format("{:.60}", What);
  }
  fmt::print(stderr, "\r{}\033[K", Line);
  std::fflush(stderr);
  OnScreen = true;
}

void Progress::clear() {
  if (!OnScreen)
    return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  OnScreen = false;
}

} // namespace kpc::cli
