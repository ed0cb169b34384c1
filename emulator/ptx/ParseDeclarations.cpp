//===- ParseDeclarations.cpp - PTX text into syntax: names ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/ptx/ParserState.h"

#include <charconv>
#include <string_view>

namespace kpc::emulator::ptx {

/// ".global .align 4 .f32 x[4] = {…}", without the ';'.
bool Parser::variable(Variable &V) {
  V.Line = Lex.peek().Line;
  if (at(".reg")) // parameters of .func
    Lex.take(), V.Space = "reg";
  else if (isSpace(Lex.peek().Text))
    V.Space = std::string(Lex.take().Text.substr(1));
  else
    return fail("expected a state space before '" +
                std::string(Lex.peek().Text) + "'");
  return typeAndName(V) && (!accept('=') || initial(V));
}

bool Parser::typeAndName(Variable &V) {
  while (Lex.peek().TheKind == Token::Kind::Word &&
         Lex.peek().Text.front() == '.') {
    std::string Word(Lex.take().Text);
    if (Word == ".align") {
      auto N = number();
      if (!N)
        return false;
      if (*N == 0 || (*N & (*N - 1)) || *N > 4096)
        return fail("an alignment is a power of two");
      // The alignment after .ptr is of what the pointer points to.
      if (V.Type.empty())
        V.Alignment = *N;
    } else if (Word == ".ptr") {
      while (isSpace(Lex.peek().Text))
        Lex.take();
    } else if (Word == ".v2" || Word == ".v4") {
      V.Count = Word == ".v2" ? 2 : 4;
    } else if (Word == ".unified" || Word == ".attribute") {
      return fail(Word + " is not supported");
    } else {
      V.Type = Word.substr(1);
    }
  }
  V.Name = word("a name").value_or("");
  if (Error)
    return false;
  if (typeBytes(V.Type) == 0 && V.Space != "reg")
    return fail("'." + V.Type + "' is no type of a variable");
  while (accept('[')) {
    V.IsArray = true;
    if (accept(']')) {
      V.Count = 0;
      continue;
    }
    auto N = number();
    if (!N || !expect(']'))
      return false;
    if (*N > MaxElements || V.Count > MaxElements)
      return fail("the variable is too large");
    V.Count *= *N;
  }
  return V.Count <= MaxElements || fail("the variable is too large");
}

bool Parser::initial(Variable &V, int Depth) {
  if (Depth > MaxDepth)
    return fail("values are nested too deeply");
  if (accept('{')) {
    do {
      if (!initial(V, Depth + 1))
        return false;
    } while (accept(','));
    return expect('}');
  }
  bool Negative = accept('-');
  if (Lex.peek().isNumber()) {
    uint64_t Bits = Lex.take().Bits;
    V.Initial.push_back(Negative ? -Bits : Bits);
  } else if (Lex.peek().TheKind == Token::Kind::Word) {
    std::string Name(Lex.take().Text);
    if (Name == "generic") {
      if (!expect('('))
        return false;
      Name = word("a variable").value_or("");
      if (!expect(')'))
        return false;
    }
    V.Relocations.emplace_back(V.Initial.size(), Name);
    V.Initial.push_back(0);
    if (accept('+')) {
      auto N = number();
      if (!N)
        return false;
      V.Initial.back() = *N;
    }
  } else {
    return fail("expected a value before '" + std::string(Lex.peek().Text) +
                "'");
  }
  if (V.Count == 0 && V.IsArray)
    return fail("an array with values needs its size");
  return V.Initial.size() <= V.Count || fail("more values than elements");
}

bool Parser::declare(Scope &S, const std::string &Name, int Line) {
  auto [Has, New] = S.Declared.emplace(Name, Line);
  return New || declaredTwice(Name, Has->second, Line);
}

/// The place of "%r12" in a range of "%r"; nullopt: it can be in none.
static std::optional<int64_t> placeIn(const std::string &Name,
                                      const std::string &Prefix) {
  if (!Name.starts_with(Prefix))
    return std::nullopt;
  std::string_view Digits = std::string_view(Name).substr(Prefix.size());
  if (Digits.empty() || Digits.size() > 7 ||
      Digits.find_first_not_of("0123456789") != std::string_view::npos ||
      (Digits.size() > 1 && Digits.front() == '0'))
    return std::nullopt;
  return std::stol(std::string(Digits));
}

bool Parser::declareRegisters(Scope &S, const std::string &Name,
                              const RegisterRange &R, int Line) {
  for (const auto &[Other, Range] : S.Registers) {
    if ((Range.Count < 0) == (R.Count < 0))
      continue;
    const RegisterRange &All = R.Count < 0 ? Range : R;
    auto At = R.Count < 0 ? placeIn(Name, Other) : placeIn(Other, Name);
    if (At && *At < All.Count)
      return declaredTwice(R.Count < 0 ? Name : Other,
                           S.Declared.at(R.Count < 0 ? Other + "<" : Other),
                           Line);
  }
  return declare(S, R.Count < 0 ? Name : Name + "<", Line);
}

bool Parser::registers(Scope &S) {
  std::string Type;
  while (Lex.peek().TheKind == Token::Kind::Word &&
         Lex.peek().Text.front() == '.')
    Type = std::string(Lex.take().Text.substr(1));
  if (Type != "pred" && typeBytes(Type) == 0)
    return fail("'." + Type + "' is no type of a register");
  do {
    int Line = Lex.peek().Line;
    auto Name = word("a register's name");
    if (!Name)
      return false;
    RegisterRange R{Type, -1};
    if (accept('<')) {
      auto N = number();
      if (!N || !expect('>'))
        return false;
      if (*N > 1000000)
        return fail("more than a million registers");
      R.Count = static_cast<int64_t>(*N);
    }
    if (!declareRegisters(S, *Name, R, Line))
      return false;
    S.Registers.emplace(*Name, R);
  } while (accept(','));
  return expect(';');
}

bool Parser::branchTargets(Scope &S, const std::string &Label) {
  auto &Targets = S.BranchTargets[Label];
  do {
    auto Name = word("a label");
    if (!Name)
      return false;
    Targets.push_back(*Name);
  } while (accept(','));
  return expect(';');
}

void Parser::skipLine(int Line) {
  while (Lex.peek().TheKind != Token::Kind::End && Lex.peek().Line == Line)
    Lex.take();
}

/// .file NUMBER "NAME", and what may follow on the line.
bool Parser::file() {
  int Line = Lex.take().Line;
  auto Number = number();
  if (!Number)
    return false;
  std::string_view Name = Lex.peek().Text;
  if (Lex.peek().TheKind == Token::Kind::String && Name.size() >= 2)
    Out.Files[static_cast<uint32_t>(*Number)] =
        std::string(Name.substr(1, Name.size() - 2));
  skipLine(Line);
  return true;
}

/// .loc FILE LINE COLUMN, and where it was inlined.
bool Parser::location() {
  int Line = Lex.take().Line;
  auto File = number(), At = File ? number() : std::nullopt;
  if (!At)
    return false;
  SourceFile = static_cast<uint32_t>(*File);
  SourceLine = static_cast<uint32_t>(*At);
  skipLine(Line);
  return true;
}

/// PTX ISA, "Pragma Strings: used_bytes_mask": a mask of the load behind it.
/// Others are hints.
bool Parser::pragma() {
  constexpr std::string_view Name = "\"used_bytes_mask 0x";
  std::string_view Text = Lex.peek().Text;
  if (Text.starts_with(Name)) {
    Text = Text.substr(Name.size(), Text.size() - Name.size() - 1);
    auto [End, Wrong] =
        std::from_chars(Text.data(), Text.data() + Text.size(), UsedBytes, 16);
    if (Wrong != std::errc() || End != Text.data() + Text.size())
      return fail("used_bytes_mask takes a number of up to 32 bits");
  }
  skipTo(';');
  return true;
}

bool Parser::directive(Function &F, int Scope) {
  if (accept(".reg"))
    return registers(F.Scopes[Scope]);
  if (at(".loc"))
    return location();
  if (accept(".pragma"))
    return pragma();
  if (!isSpace(Lex.peek().Text))
    return fail("'" + std::string(Lex.peek().Text) +
                "' is not known inside of functions");
  Variable V;
  if (!variable(V) || !expect(';'))
    return false;
  std::string Name = V.Name;
  if (!declare(F.Scopes[Scope], Name, V.Line))
    return false;
  F.Scopes[Scope].Variables.emplace(Name, std::move(V));
  return true;
}

} // namespace kpc::emulator::ptx
