//===- TakeNumber.h - Numbers of a schedule's text --------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads what schedules print, word by word.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_TAKENUMBER_H
#define KPC_PASSES_SCHEDULE_TAKENUMBER_H

#include <charconv>
#include <cstdint>
#include <string_view>

namespace kpc::schedule {

/// Takes a word and a number behind it from the start of `Text`. False, and
/// nothing is taken, where they are not there.
inline bool takeNumber(std::string_view &Text, std::string_view Word,
                       int64_t &Number) {
  if (!Text.starts_with(Word))
    return false;
  const char *Start = Text.data() + Word.size(),
             *Last = Text.data() + Text.size();
  auto [End, Error] = std::from_chars(Start, Last, Number);
  if (Error != std::errc())
    return false;
  Text.remove_prefix(size_t(End - Text.data()));
  return true;
}

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_TAKENUMBER_H
