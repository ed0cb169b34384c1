//===- ParseStatements.cpp - PTX text into syntax: statements -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/ptx/ParserState.h"

#include <utility>

namespace kpc::emulator::ptx {

bool Parser::block(Function &F, int Scope, int Depth) {
  if (Depth > MaxDepth)
    return fail("blocks are nested too deeply");
  while (!accept('}')) {
    const Token &T = Lex.peek();
    if (Error || T.TheKind == Token::Kind::End)
      return fail("the text ends inside of a function");
    if (accept('{')) {
      int Inner = static_cast<int>(F.Scopes.size());
      F.Scopes.emplace_back().Parent = Scope;
      if (!block(F, Inner, Depth + 1))
        return false;
    } else if (accept(';')) {
      continue;
    } else if (T.TheKind == Token::Kind::Word && T.Text.front() == '.') {
      if (!directive(F, Scope))
        return false;
    } else if (!statement(F, Scope)) {
      return false;
    }
  }
  return !Error;
}

bool Parser::statement(Function &F, int Scope) {
  Statement S;
  S.Line = Lex.peek().Line;
  S.Scope = Scope;
  S.SourceFile = SourceFile;
  S.SourceLine = SourceLine;
  if (accept('@')) {
    S.GuardNegated = accept('!');
    S.Guard = word("a predicate").value_or("");
  }
  auto Opcode = word("an instruction");
  if (!Opcode)
    return false;
  if (S.Guard.empty() && accept(':')) {
    struct Scope &Here = F.Scopes[Scope];
    if (!declare(Here, *Opcode, S.Line))
      return false;
    if (accept(".branchtargets"))
      return branchTargets(Here, *Opcode);
    if (at(".callprototype"))
      return fail(".callprototype is not supported");
    Here.Labels.emplace(*Opcode, F.Body.size());
    return true;
  }
  for (size_t Start = 0, Dot = 0; Dot != std::string::npos; Start = Dot + 1) {
    Dot = Opcode->find('.', Start);
    std::string Part =
        Opcode->substr(Start, Dot == std::string::npos ? Dot : Dot - Start);
    if (Start == 0)
      S.Opcode = Part;
    else
      S.Modifiers.push_back(Part);
  }
  while (!at(';')) {
    Operand O;
    if (!operand(O))
      return false;
    S.Operands.push_back(std::move(O));
    if (accept(',')) {
      if (at(';'))
        return fail("expected an operand before ';'");
    } else if (!at(';')) {
      return fail("expected ',' or ';' before '" +
                  std::string(Lex.peek().Text) + "'");
    }
  }
  Lex.take();
  S.UsedBytes = std::exchange(UsedBytes, ~uint32_t{0});
  F.Body.push_back(std::move(S));
  return true;
}

bool Parser::list(std::vector<Operand> &Parts, char End, int Depth) {
  do {
    Operand O;
    if (!operand(O, Depth + 1))
      return false;
    Parts.push_back(std::move(O));
  } while (accept(','));
  return expect(End);
}

bool Parser::address(Operand &O, int Depth) {
  O.TheKind = Operand::Kind::Address;
  if (!list(O.Parts, ']', Depth))
    return false;
  Operand &Base = O.Parts.front();
  O.Offset = Base.Offset;
  Base.Offset = 0;
  return true;
}

bool Parser::operand(Operand &O, int Depth) {
  if (Depth > MaxDepth)
    return fail("operands are nested too deeply");
  if (accept('['))
    return address(O, Depth);
  if (accept('{') || at('(')) {
    char End = accept('(') ? ')' : '}';
    O.TheKind = Operand::Kind::Vector;
    if (End == ')' && accept(')')) // a call without operands
      return true;
    return list(O.Parts, End, Depth);
  }
  O.Negated = accept('!');
  bool Minus = accept('-');
  Token T = Lex.take();
  switch (T.TheKind) {
  case Token::Kind::Integer:
    O.TheKind = Operand::Kind::Integer;
    O.Bits = Minus ? -T.Bits : T.Bits;
    return true;
  case Token::Kind::Float32:
    O.TheKind = Operand::Kind::Float32;
    O.Bits = T.Bits ^ (Minus ? 0x80000000u : 0);
    return true;
  case Token::Kind::Float64:
    O.TheKind = Operand::Kind::Float64;
    O.Bits = T.Bits ^ (Minus ? uint64_t{1} << 63 : 0);
    return true;
  case Token::Kind::Word:
    break;
  default:
    return fail("expected an operand before '" + std::string(T.Text) + "'");
  }
  O.TheKind = T.Text == "_" ? Operand::Kind::Sink : Operand::Kind::Name;
  O.Name = std::string(T.Text);
  while (at('+') || at('-')) {
    bool Subtract = Lex.take().is('-');
    Subtract ^= accept('-');
    auto N = number();
    if (!N)
      return false;
    O.Offset += static_cast<int64_t>(Subtract ? -*N : *N);
  }
  if (accept('|')) {
    Operand First = O, Second;
    if (!operand(Second, Depth + 1))
      return false;
    O = Operand{};
    O.TheKind = Operand::Kind::Pair;
    O.Parts = {std::move(First), std::move(Second)};
  }
  return true;
}

} // namespace kpc::emulator::ptx
