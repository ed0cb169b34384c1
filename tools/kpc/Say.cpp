//===- Say.cpp - Messages to people, in colour on terminals ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Say.h"

#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

namespace kpc::cli {

static bool IsColoured = false;

void chooseColour(int Count, char **Arguments) {
  const char *Off = std::getenv("NO_COLOR");
  const char *Terminal = std::getenv("TERM");
  bool IsDumb = Terminal && std::string_view(Terminal) == "dumb";
  IsColoured = !(Off && *Off) && !IsDumb && ::isatty(STDERR_FILENO) == 1;
  std::string_view Word;
  for (int I = 1; I < Count; ++I) {
    std::string_view Argument = Arguments[I];
    if (Argument.starts_with("--color="))
      Word = Argument.substr(Argument.find('=') + 1);
    else if (Argument == "--color" && I + 1 < Count)
      Word = Arguments[I + 1];
  }
  if (Word == "always" || Word == "never")
    IsColoured = Word == "always";
}

namespace {
struct Kind {
  std::string_view Word, Code; ///< of ECMA-48: SGR
};
constexpr Kind Kinds[] = {{"fatal error", "1;31"}, {"error", "1;31"},
                          {"warning", "1;35"},     {"note", "1;36"},
                          {"remark", "1;34"},      {"hint", "1;32"}};
} // namespace

/// `error[KPC-I0001]:`, `note:`; none where the line begins otherwise.
static std::string_view headOf(std::string_view Line, const Kind &K) {
  if (!Line.starts_with(K.Word))
    return {};
  size_t End = K.Word.size();
  if (Line.substr(End).starts_with("["))
    End = Line.find(']', End) + 1; // 0 where there is none
  return End && Line.substr(End).starts_with(":") ? Line.substr(0, End + 1)
                                                  : std::string_view();
}

std::string coloured(std::string_view Text) {
  std::string Out;
  while (!Text.empty()) {
    std::string_view Line = Text.substr(0, Text.find('\n'));
    Text.remove_prefix(std::min(Text.size(), Line.size() + 1));
    size_t Indent = std::min(Line.find_first_not_of(' '), Line.size());
    Out += Line.substr(0, Indent);
    Line.remove_prefix(Indent);
    for (const Kind &K : Kinds)
      if (std::string_view Head = headOf(Line, K); !Head.empty()) {
        Out += fmt::format("\x1b[{}m{}\x1b[0m", K.Code, Head);
        Line.remove_prefix(Head.size());
        break;
      }
    Out += Line;
    Out += '\n';
  }
  return Out;
}

void say(std::string_view Text) {
  if (IsColoured)
    fmt::print(stderr, "{}", coloured(Text));
  else
    fmt::print(stderr, "{}", Text);
}

} // namespace kpc::cli
