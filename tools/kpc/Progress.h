//===- Progress.h - What is done now, and how far --------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_PROGRESS_H
#define KPC_TOOLS_KPC_PROGRESS_H

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kpc::cli {

/// Auto: a bar on a terminal, else lines.
enum class ProgressStyle { Auto, Bar, Lines, Json };

std::vector<std::string> progressStyleNames();
/// One of progressStyleNames().
ProgressStyle progressStyleByName(std::string_view Name);

/// On standard error: a bar on a terminal; in a log, of work that takes more
/// than a moment, a line as a phase begins and one every few seconds while it
/// lasts; nothing when quiet. As JSON, for programs, each line is an object:
/// {"phase": "kernels", "done": 12, "total": 40}.
class Progress {
public:
  explicit Progress(bool Quiet, ProgressStyle Style = ProgressStyle::Auto);
  ~Progress() { clear(); }
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  void show(std::string_view What, size_t Done, size_t Total);
  /// Takes the bar away, before other text.
  void clear();

private:
  using Clock = std::chrono::steady_clock;
  void drawBar(std::string_view What, size_t Done, size_t Total);

  enum { Nothing, Lines, Bar, Json } Mode = Nothing;
  std::string Phase;
  Clock::time_point Start = Clock::now(), LastShown{};
  bool OnScreen = false;
};

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_PROGRESS_H
