//===- CommandLine.cpp - The arguments as a shell would take them ---------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Command.h"

namespace kpc::cli {

static std::string TheText;

static std::string quoted(std::string_view Text) {
  static constexpr std::string_view Plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
      "_-./=:,+@%";
  if (!Text.empty() && Text.find_first_not_of(Plain) == std::string_view::npos)
    return std::string(Text);
  std::string Out = "'";
  for (char C : Text)
    Out += C == '\'' ? std::string("'\\''") : std::string(1, C);
  return Out + "'";
}

void setCommandLine(int Count, char **Arguments) {
  TheText.clear();
  for (int I = 0; I < Count; ++I)
    TheText += (I ? " " : "") + quoted(Arguments[I]);
}

std::string commandLineText() { return TheText; }

} // namespace kpc::cli
