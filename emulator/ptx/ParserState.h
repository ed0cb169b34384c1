//===- ParserState.h - The parser's class -----------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The parser's class; its parts are in Parser.cpp, ParseDeclarations.cpp and
/// ParseStatements.cpp.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_PTX_PARSERSTATE_H
#define KPC_EMULATOR_PTX_PARSERSTATE_H

#include "emulator/ptx/Lexer.h"
#include "emulator/ptx/Parser.h"

#include <optional>

namespace kpc::emulator::ptx {

/// Braces deeper than this are no kernel's.
inline constexpr int MaxDepth = 64;
/// Elements of a variable; more is no kernel's.
inline constexpr uint64_t MaxElements = uint64_t{1} << 32;

class Parser {
public:
  explicit Parser(std::string_view Text) : Lex(Text) {}
  std::variant<Module, SyntaxError> run();

private:
  bool fail(std::string Text) {
    return failAt(Lex.peek().Line, std::move(Text));
  }
  bool failAt(int Line, std::string Text) {
    if (!Error)
      Error = SyntaxError{Line, std::move(Text)};
    return false;
  }
  /// Registers, variables, parameters and labels of a scope share its names.
  bool declare(Scope &S, const std::string &Name, int Line);
  bool declareRegisters(Scope &S, const std::string &Name,
                        const RegisterRange &R, int Line);
  bool declareInModule(const std::string &Name, int Line);
  bool declaredTwice(const std::string &Name, int First, int Line) {
    return failAt(Line, "'" + Name + "' is declared twice, first in line " +
                            std::to_string(First));
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
  bool file();
  bool location();
  void skipLine(int Line);
  bool directive(Function &F, int Scope);
  bool pragma();
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
  std::map<std::string, int> Declared;     ///< lines of the module's names
  uint32_t SourceFile = 0, SourceLine = 0; ///< of the last .loc
  uint32_t UsedBytes = ~uint32_t{0};       ///< of the next instruction
  std::optional<SyntaxError> Error;
};

/// ".global" and the other state spaces of variables.
bool isSpace(std::string_view Word);

} // namespace kpc::emulator::ptx

#endif // KPC_EMULATOR_PTX_PARSERSTATE_H
