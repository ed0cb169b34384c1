//===- Parser.cpp - PTX text into syntax: modules -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/ptx/ParserState.h"

namespace kpc::emulator::ptx {

std::optional<std::string> Parser::word(const char *What) {
  if (Lex.peek().TheKind != Token::Kind::Word) {
    fail(std::string("expected ") + What + " before '" +
         std::string(Lex.peek().Text) + "'");
    return std::nullopt;
  }
  return std::string(Lex.take().Text);
}

std::optional<uint64_t> Parser::number() {
  if (Lex.peek().TheKind != Token::Kind::Integer) {
    fail("expected a number before '" + std::string(Lex.peek().Text) + "'");
    return std::nullopt;
  }
  return Lex.take().Bits;
}

void Parser::skipTo(char Mark) {
  while (!at(Mark) && Lex.peek().TheKind != Token::Kind::End)
    Lex.take();
  accept(Mark);
}

//===----------------------------------------------------------------------===//
// Module
//===----------------------------------------------------------------------===//

std::variant<Module, SyntaxError> Parser::run() {
  while (!Error && Lex.peek().TheKind != Token::Kind::End)
    topLevel();
  if (!Error && Out.Version.empty())
    fail("the text has no .version");
  if (!Error && Out.Target.empty())
    fail("the text has no .target");
  if (Error)
    return *Error;
  return std::move(Out);
}

bool isSpace(std::string_view W) {
  return W == ".global" || W == ".const" || W == ".shared" || W == ".local" ||
         W == ".param";
}

bool Parser::topLevel() {
  bool Extern = false;
  while (at(".visible") || at(".weak") || at(".extern") || at(".common"))
    Extern |= Lex.take().Text == ".extern";
  if (accept(".version")) {
    Out.VersionLine = Lex.peek().Line;
    Out.Version = std::string(Lex.take().Text);
    return true;
  }
  if (accept(".target")) {
    Out.TargetLine = Lex.peek().Line;
    Out.Target = word("a target").value_or("");
    while (accept(','))
      Lex.take();
    return true;
  }
  if (accept(".address_size")) {
    auto Bits = number();
    return Bits && (*Bits == 64 || fail("only 64-bit addresses are emulated"));
  }
  if (at(".file"))
    return file();
  if (at(".loc"))
    return location();
  if (accept(".section")) {
    skipTo('}');
    return true;
  }
  if (accept(".pragma")) {
    skipTo(';');
    return true;
  }
  if (accept(".entry"))
    return function(true);
  if (accept(".func"))
    return function(false);
  if (isSpace(Lex.peek().Text)) {
    Variable V;
    V.IsExtern = Extern;
    if (!variable(V) || (!Extern && !declareInModule(V.Name, V.Line)))
      return false;
    Out.Variables.push_back(std::move(V));
    return expect(';');
  }
  return fail("'" + std::string(Lex.peek().Text) +
              "' is not known outside of functions");
}

bool Parser::dims(std::vector<uint64_t> &Out) {
  do {
    auto N = number();
    if (!N)
      return false;
    Out.push_back(*N);
  } while (accept(','));
  Out.resize(3, 1);
  return true;
}

bool Parser::attributes(Function &F) {
  while (Lex.peek().TheKind == Token::Kind::Word && !Error) {
    if (accept(".maxntid"))
      dims(F.MaxThreads);
    else if (accept(".reqntid"))
      dims(F.RequiredThreads);
    else if (accept(".reqnctapercluster"))
      dims(F.ClusterSize);
    else if (accept(".explicitcluster") || accept(".noreturn") ||
             accept(".blocksareclusters"))
      continue;
    else if (accept(".minnctapersm") || accept(".maxnreg") ||
             accept(".maxnctapersm") || accept(".maxclusterrank"))
      number();
    else if (accept(".pragma"))
      skipTo(';');
    else
      return fail("'" + std::string(Lex.peek().Text) +
                  "' is no known performance directive");
  }
  return !Error;
}

bool Parser::parameters(std::vector<Variable> &Params) {
  if (!expect('('))
    return false;
  if (accept(')'))
    return true;
  do {
    Variable V;
    if (!variable(V))
      return false;
    Params.push_back(std::move(V));
  } while (accept(','));
  return expect(')');
}

bool Parser::declareInModule(const std::string &Name, int Line) {
  auto [Has, New] = Declared.emplace(Name, Line);
  return New || declaredTwice(Name, Has->second, Line);
}

bool Parser::function(bool IsEntry) {
  UsedBytes = ~uint32_t{0}; // a pragma at a body's end is of nothing
  Function F;
  F.IsEntry = IsEntry;
  F.Line = Lex.peek().Line;
  SourceFile = SourceLine = 0;
  if (!IsEntry && at('(') && !parameters(F.Results))
    return false;
  F.Name = word("a name").value_or("");
  if (Error || (at('(') && !parameters(F.Parameters)) || !attributes(F))
    return false;
  if (accept(';')) // a declaration
    return true;
  if (!declareInModule(F.Name, F.Line))
    return false;
  F.Scopes.emplace_back();
  for (const auto *List : {&F.Results, &F.Parameters})
    for (const Variable &V : *List)
      if (!declare(F.Scopes[0], V.Name, V.Line))
        return false;
  if (!expect('{') || !block(F, 0, 0))
    return false;
  Out.Functions.push_back(std::move(F));
  return true;
}

std::variant<Module, SyntaxError> parse(std::string_view Text) {
  return Parser(Text).run();
}

} // namespace kpc::emulator::ptx
