//===- Modifiers.cpp - The words behind an opcode -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/program/Decoder.h"

namespace kpc::emulator {

bool Modifiers::take(std::string_view Word) {
  for (size_t I = 0; I < All.size(); ++I)
    if (!Taken[I] && All[I] == Word) {
      Taken[I] = true;
      return true;
    }
  return false;
}

std::optional<size_t>
Modifiers::takeOne(std::initializer_list<std::string_view> Words) {
  size_t Number = 0;
  for (std::string_view W : Words) {
    if (take(W))
      return Number;
    ++Number;
  }
  return std::nullopt;
}

std::optional<Type> Modifiers::takeType() {
  for (size_t I = 0; I < All.size(); ++I)
    if (!Taken[I])
      if (auto T = typeNamed(All[I])) {
        Taken[I] = true;
        return T;
      }
  return std::nullopt;
}

std::string_view Modifiers::left() const {
  for (size_t I = 0; I < All.size(); ++I)
    if (!Taken[I])
      return All[I];
  return {};
}

} // namespace kpc::emulator
