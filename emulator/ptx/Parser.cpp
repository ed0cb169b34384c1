//===- Parser.cpp - PTX text into syntax ----------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/ptx/Parser.h"

#include "emulator/ptx/Lexer.h"

#include <optional>

namespace kpc::emulator::ptx {

namespace {

/// Braces deeper than this are no kernel's.
constexpr int MaxDepth = 64;
/// Elements of a variable; more is no kernel's.
constexpr uint64_t MaxElements = uint64_t{1} << 32;

class Parser {
public:
  explicit Parser(std::string_view Text) : Lex(Text) {}
  std::variant<Module, SyntaxError> run();

private:
  bool fail(std::string Text) {
    if (!Error)
      Error = SyntaxError{Lex.peek().Line, std::move(Text)};
    return false;
  }
  bool at(char Mark) const { return Lex.peek().is(Mark); }
  bool at(std::string_view Word) const { return Lex.peek().is(Word); }
  bool accept(char Mark) {
    bool Yes = at(Mark);
    if (Yes)
      Lex.take();
    return Yes;
  }
  bool accept(std::string_view Word) {
    bool Yes = at(Word);
    if (Yes)
      Lex.take();
    return Yes;
  }
  bool expect(char Mark) {
    if (accept(Mark))
      return true;
    return fail(std::string("expected '") + Mark + "' before '" +
                std::string(Lex.peek().Text) + "'");
  }
  std::optional<std::string> word(const char *What);
  std::optional<uint64_t> number();
  void skipTo(char Mark);

  bool topLevel();
  bool function(bool IsEntry);
  bool parameters(std::vector<Variable> &Out);
  bool attributes(Function &F);
  bool dims(std::vector<uint64_t> &Out);
  bool block(Function &F, int Scope, int Depth);
  bool directive(Function &F, int Scope);
  bool registers(Scope &S);
  bool branchTargets(Scope &S, const std::string &Label);
  bool variable(Variable &V);
  bool typeAndName(Variable &V);
  bool initial(Variable &V, int Depth = 0);
  bool statement(Function &F, int Scope);
  bool operand(Operand &O, int Depth = 0);
  bool address(Operand &O, int Depth);
  bool list(std::vector<Operand> &Out, char End, int Depth);

  Lexer Lex;
  Module Out;
  std::optional<SyntaxError> Error;
};

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
  if (Error)
    return *Error;
  return std::move(Out);
}

static bool isSpace(std::string_view W) {
  return W == ".global" || W == ".const" || W == ".shared" || W == ".local" ||
         W == ".param";
}

bool Parser::topLevel() {
  bool Extern = false;
  while (at(".visible") || at(".weak") || at(".extern") || at(".common"))
    Extern |= Lex.take().Text == ".extern";
  if (accept(".version")) {
    Out.Version = std::string(Lex.take().Text);
    return true;
  }
  if (accept(".target")) {
    Out.Target = word("a target").value_or("");
    while (accept(','))
      Lex.take();
    return true;
  }
  if (accept(".address_size")) {
    auto Bits = number();
    return Bits && (*Bits == 64 || fail("only 64-bit addresses are emulated"));
  }
  if (at(".file") || at(".loc")) {
    int Line = Lex.peek().Line;
    while (Lex.peek().TheKind != Token::Kind::End && Lex.peek().Line == Line)
      Lex.take();
    return true;
  }
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
    if (!variable(V))
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

bool Parser::function(bool IsEntry) {
  Function F;
  F.IsEntry = IsEntry;
  F.Line = Lex.peek().Line;
  std::vector<Variable> Results;
  if (!IsEntry && at('(') && !parameters(Results))
    return false;
  F.Name = word("a name").value_or("");
  if (Error || (at('(') && !parameters(F.Parameters)) || !attributes(F))
    return false;
  if (accept(';')) // a declaration
    return true;
  F.Scopes.emplace_back();
  if (!expect('{') || !block(F, 0, 0))
    return false;
  Out.Functions.push_back(std::move(F));
  return true;
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

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

bool Parser::registers(Scope &S) {
  std::string Type;
  while (Lex.peek().TheKind == Token::Kind::Word &&
         Lex.peek().Text.front() == '.')
    Type = std::string(Lex.take().Text.substr(1));
  if (Type != "pred" && typeBytes(Type) == 0)
    return fail("'." + Type + "' is no type of a register");
  do {
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
    if (!S.Registers.emplace(*Name, R).second)
      return fail("'" + *Name + "' is declared twice");
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

bool Parser::directive(Function &F, int Scope) {
  if (accept(".reg"))
    return registers(F.Scopes[Scope]);
  if (accept(".loc")) {
    int Line = Lex.peek().Line;
    while (Lex.peek().TheKind != Token::Kind::End && Lex.peek().Line == Line)
      Lex.take();
    return true;
  }
  if (accept(".pragma")) {
    skipTo(';');
    return true;
  }
  if (!isSpace(Lex.peek().Text))
    return fail("'" + std::string(Lex.peek().Text) +
                "' is not known inside of functions");
  Variable V;
  if (!variable(V) || !expect(';'))
    return false;
  std::string Name = V.Name;
  if (!F.Scopes[Scope].Variables.emplace(Name, std::move(V)).second)
    return fail("'" + Name + "' is declared twice");
  return true;
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

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
  if (accept('@')) {
    S.GuardNegated = accept('!');
    S.Guard = word("a predicate").value_or("");
  }
  auto Opcode = word("an instruction");
  if (!Opcode)
    return false;
  if (S.Guard.empty() && accept(':')) {
    struct Scope &Here = F.Scopes[Scope];
    if (accept(".branchtargets"))
      return branchTargets(Here, *Opcode);
    if (at(".callprototype"))
      return fail(".callprototype is not supported");
    if (!Here.Labels.emplace(*Opcode, F.Body.size()).second)
      return fail("label '" + *Opcode + "' is there twice");
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

} // namespace

std::variant<Module, SyntaxError> parse(std::string_view Text) {
  return Parser(Text).run();
}

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

uint64_t typeBytes(const std::string &Type) {
  static const std::map<std::string, uint64_t> Bytes = {
      {"b8", 1},   {"u8", 1},     {"s8", 1},     {"b16", 2},   {"u16", 2},
      {"s16", 2},  {"f16", 2},    {"bf16", 2},   {"b32", 4},   {"u32", 4},
      {"s32", 4},  {"f32", 4},    {"f16x2", 4},  {"b64", 8},   {"u64", 8},
      {"s64", 8},  {"f64", 8},    {"bf16x2", 4}, {"f32x2", 8}, {"b128", 16},
      {"tf32", 4}, {"e4m3x2", 2}, {"e5m2x2", 2}};
  auto Found = Bytes.find(Type);
  return Found == Bytes.end() ? 0 : Found->second;
}

uint64_t Variable::elementBytes() const { return typeBytes(Type); }

std::string Statement::text() const {
  std::string Out = Opcode;
  for (const std::string &M : Modifiers)
    Out += "." + M;
  return Out;
}

} // namespace kpc::emulator::ptx
