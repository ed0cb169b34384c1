//===- CommandLine.cpp - The arguments as a shell would take them ---------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Command.h"

#include <vector>

namespace kpc::cli {

static std::vector<std::string> TheArguments;

std::string shellQuoted(std::string_view Text) {
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
  TheArguments.assign(Arguments, Arguments + Count);
}

std::string commandLineText(const std::map<std::string, std::string> &Instead) {
  std::string Text;
  for (const std::string &Argument : TheArguments) {
    auto Found = Instead.find(Argument);
    Text += Text.empty() ? "" : " ";
    Text += Found == Instead.end() ? shellQuoted(Argument) : Found->second;
  }
  return Text;
}

} // namespace kpc::cli
