//===- Number.h - A number from a word of the command line ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The whole word, nothing around it.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_EMULATE_NUMBER_H
#define KPC_TOOLS_KPC_EMULATE_NUMBER_H

#include <charconv>
#include <string_view>

namespace kpc::emulator::tool {

/// `Base`: of integers.
template <typename T, typename... Ts>
bool number(std::string_view Text, T &Out, Ts... Base) {
  auto [End, Error] =
      std::from_chars(Text.data(), Text.data() + Text.size(), Out, Base...);
  return Error == std::errc() && End == Text.data() + Text.size();
}

} // namespace kpc::emulator::tool

#endif // KPC_TOOLS_KPC_EMULATE_NUMBER_H
