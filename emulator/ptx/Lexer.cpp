//===- Lexer.cpp - PTX text into words ------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/ptx/Lexer.h"

#include <bit>
#include <cctype>
#include <charconv>

namespace kpc::emulator::ptx {

static bool startsWord(char C) {
  return std::isalpha(static_cast<unsigned char>(C)) || C == '_' || C == '$' ||
         C == '%' || C == '.';
}
static bool continuesWord(char C) {
  return startsWord(C) || std::isdigit(static_cast<unsigned char>(C));
}
static bool isDigit(char C) {
  return std::isdigit(static_cast<unsigned char>(C)) != 0;
}

void Lexer::skipBlank() {
  while (!Rest.empty()) {
    if (Rest.starts_with("//")) {
      Rest.remove_prefix(std::min(Rest.find('\n'), Rest.size()));
    } else if (Rest.starts_with("/*")) {
      size_t End = Rest.find("*/", 2);
      End = End == std::string_view::npos ? Rest.size() : End + 2;
      for (char C : Rest.substr(0, End))
        Line += C == '\n';
      Rest.remove_prefix(End);
    } else if (std::isspace(static_cast<unsigned char>(Rest.front()))) {
      Line += Rest.front() == '\n';
      Rest.remove_prefix(1);
    } else {
      return;
    }
  }
}

Token Lexer::cut(Token::Kind Kind, size_t Length) {
  Token T{Kind, Rest.substr(0, Length), 0, Line};
  Rest.remove_prefix(Length);
  return T;
}

Token Lexer::word() {
  size_t N = 1;
  while (N < Rest.size()) {
    if (continuesWord(Rest[N]))
      ++N;
    else if (Rest.substr(N, 2) == "::" && N + 2 < Rest.size() &&
             continuesWord(Rest[N + 2]))
      N += 2;
    else
      break;
  }
  return cut(Token::Kind::Word, N);
}

/// 12, 0x1F, 017, 0b101, 12U, 0f3F800000, 0d3FF0000000000000, 1.5e3.
Token Lexer::number() {
  size_t N = 1;
  while (N < Rest.size() && continuesWord(Rest[N]))
    ++N;
  std::string_view Text = Rest.substr(0, N);
  char Second = Text.size() > 1 ? Text[1] : ' ';
  bool Zero = Text[0] == '0';
  auto Parse = [&](std::string_view Digits, int Base) {
    Token T = cut(Token::Kind::Integer, N);
    while (!Digits.empty() && Digits.back() == 'U' && Base != 36)
      Digits.remove_suffix(1);
    auto [End, Error] = std::from_chars(
        Digits.data(), Digits.data() + Digits.size(), T.Bits, Base);
    if (Error != std::errc() || End != Digits.data() + Digits.size() ||
        Digits.empty())
      T.TheKind = Token::Kind::Bad;
    return T;
  };
  if (Zero && (Second == 'f' || Second == 'F') && Text.size() == 10) {
    Token T = Parse(Text.substr(2), 16);
    if (T.TheKind == Token::Kind::Integer)
      T.TheKind = Token::Kind::Float32;
    return T;
  }
  if (Zero && (Second == 'd' || Second == 'D') && Text.size() == 18) {
    Token T = Parse(Text.substr(2), 16);
    if (T.TheKind == Token::Kind::Integer)
      T.TheKind = Token::Kind::Float64;
    return T;
  }
  if (Zero && (Second == 'x' || Second == 'X'))
    return Parse(Text.substr(2), 16);
  if (Zero && (Second == 'b' || Second == 'B'))
    return Parse(Text.substr(2), 2);
  if (Text.find('.') != std::string_view::npos) {
    double Value = 0;
    size_t Length = Rest.find_first_not_of("0123456789.eE+-");
    Length = std::min(Length, Rest.size());
    std::string_view Number = Rest.substr(0, Length);
    auto [End, Error] = std::from_chars(Number.begin(), Number.end(), Value);
    if (Error != std::errc())
      return cut(Token::Kind::Bad, N);
    Token T = cut(Token::Kind::Float64, size_t(End - Number.begin()));
    T.Bits = std::bit_cast<uint64_t>(Value);
    return T;
  }
  bool Octal = Zero && Text.size() > 1 && isDigit(Second);
  return Parse(Text, Octal ? 8 : 10);
}

void Lexer::advance() {
  skipBlank();
  if (Rest.empty()) {
    Next = Token{Token::Kind::End, {}, 0, Line};
    return;
  }
  char C = Rest.front();
  if (isDigit(C)) {
    Next = number();
  } else if (startsWord(C)) {
    Next = word();
  } else if (C == '"') {
    size_t End = Rest.find('"', 1);
    Next = End == std::string_view::npos ? cut(Token::Kind::Bad, Rest.size())
                                         : cut(Token::Kind::String, End + 1);
  } else {
    bool Known = std::string_view("{}[]()<>,;:@!|+-=*").find(C) !=
                 std::string_view::npos;
    Next = cut(Known ? Token::Kind::Mark : Token::Kind::Bad, 1);
  }
}

} // namespace kpc::emulator::ptx
