//===- Lexer.h - PTX text into words ----------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Words keep their dots: "ld.global.v4.b32", "%tid.x", ".reg", "$L__BB0_2". A
/// "::" inside a word belongs to it ("shared::cta").
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_PTX_LEXER_H
#define KPC_EMULATOR_PTX_LEXER_H

#include <cstdint>
#include <string>
#include <string_view>

namespace kpc::emulator::ptx {

struct Token {
  enum class Kind { End, Word, Integer, Float32, Float64, String, Mark, Bad };
  Kind TheKind = Kind::End;
  std::string_view Text;
  uint64_t Bits = 0; ///< of a number
  int Line = 0;

  bool is(char Mark) const {
    return TheKind == Kind::Mark && Text.front() == Mark;
  }
  bool is(std::string_view Word) const {
    return TheKind == Kind::Word && Text == Word;
  }
  bool isNumber() const {
    return TheKind == Kind::Integer || TheKind == Kind::Float32 ||
           TheKind == Kind::Float64;
  }
};

class Lexer {
public:
  explicit Lexer(std::string_view Text) : Rest(Text) { advance(); }
  const Token &peek() const { return Next; }
  Token take() {
    Token T = Next;
    advance();
    return T;
  }

private:
  void advance();
  void skipBlank();
  Token word();
  Token number();
  Token cut(Token::Kind Kind, size_t Length);

  std::string_view Rest;
  int Line = 1;
  Token Next;
};

} // namespace kpc::emulator::ptx

#endif // KPC_EMULATOR_PTX_LEXER_H
