//===- Checks.cpp - What a text may not ask for ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Of an instruction that is right by itself: what the text's .target and
// .version lack for it, and registers that are declared of another type.

#include "emulator/program/Decoder.h"

#include <algorithm>

namespace kpc::emulator {

static bool has(const ptx::Statement &S, std::string_view Word) {
  return std::find(S.Modifiers.begin(), S.Modifiers.end(), Word) !=
         S.Modifiers.end();
}

static bool matches(const ptx::Statement &S, std::string_view Words) {
  while (!Words.empty()) {
    std::string_view Word = Words.substr(0, Words.find(' '));
    Words.remove_prefix(std::min(Words.size(), Word.size() + 1));
    bool Wanted = Word.front() != '!';
    if (has(S, Wanted ? Word : Word.substr(1)) != Wanted)
      return false;
  }
  return true;
}

void Decoder::checkNeeds(const struct Opcode &Of) {
  std::string Lacks;
  for (const Requirement *R : Of.Needs)
    if (matches(*Current, R->Words))
      if (std::string Here = For.lacks(R->Targets, R->Version); !Here.empty())
        Lacks = std::move(Here);
  if (!Lacks.empty())
    fail(Lacks);
}

/// Untyped registers take and give any type. Halves in pairs are untyped for
/// integers, as ptxas has it; formats that no register has are not checked.
static bool agrees(Type Register, Type Wanted) {
  if (isUntyped(Register) || isUntyped(Wanted) || Register == Wanted ||
      Register == Type::Pred)
    return true;
  if (!isFloat(Wanted))
    return !isFloat(Register) || Register == Type::F16x2;
  return Wanted != Type::F16 && Wanted != Type::F16x2 && Wanted != Type::F32 &&
         Wanted != Type::F64;
}

/// The type of an instruction's registers. None is declared a pair of integers:
/// what holds a pair of halves holds it too, as ptxas has it.
static std::optional<Type> registerType(std::string_view Word) {
  return Word == "u16x2" || Word == "s16x2" ? Type::F16x2 : typeNamed(Word);
}

bool Decoder::checkType(const ptx::Operand &O, std::string_view Word,
                        bool AnySize) {
  Type Wanted = *registerType(Word);
  using Kind = ptx::Operand::Kind;
  if (O.TheKind == Kind::Pair || O.TheKind == Kind::Vector)
    return std::all_of(
        O.Parts.begin(), O.Parts.end(), [&](const ptx::Operand &P) {
          // ptxas lets vectors of f32 be integers of the size.
          auto R = findRegister(P.Name);
          return (R && R->Declared && R->Bits == bitsOf(Wanted) &&
                  !isFloat(*R->Declared) && isFloat(Wanted)) ||
                 checkType(P, Word, AnySize);
        });
  if (O.TheKind != Kind::Name)
    return true;
  auto R = findRegister(O.Name);
  if (!R || !R->Declared || agrees(*R->Declared, Wanted))
    return true;
  // mul.wide has operands of two sizes, integers all of them.
  if (!AnySize && R->Bits != bitsOf(Wanted) && isFloat(Wanted))
    return true;
  return fail("'" + O.Name + "' is declared ." +
              std::string(nameOf(*R->Declared)) +
              ", and the instruction's type is ." + std::string(Word));
}

void Decoder::checkTypes(const struct Opcode &Of) {
  std::vector<std::string_view> Types;
  for (const std::string &Word : Current->Modifiers)
    if (registerType(Word))
      Types.push_back(Word);
  bool Converts = Of.Types == OperandTypes::Converted;
  if (Of.Types == OperandTypes::Any || Types.size() != (Converts ? 2u : 1u))
    return;
  const std::vector<ptx::Operand> &All = Current->Operands;
  for (size_t N = 0; N < All.size(); ++N) {
    bool IsLeftOut = (Of.Types == OperandTypes::Loaded && N != 0) ||
                     (Of.Types == OperandTypes::Stored && N != 1);
    std::string_view Wanted = Types[Converts && N != 0];
    if (!IsLeftOut && !checkType(All[N], Wanted, Of.Types != OperandTypes::One))
      return;
  }
}

std::optional<TextTarget> targetOf(const ptx::Module &Text,
                                   std::vector<LoadError> &Errors) {
  TextTarget Out;
  Out.Name = Text.Target;
  auto Version = versionNamed(Text.Version);
  if (!Version)
    Errors.push_back({Text.VersionLine, ".version '" + Text.Version +
                                            "' is none: it is written 8.0"});
  auto Chip = targetNamed(Text.Target);
  if (!Chip)
    Errors.push_back({Text.TargetLine, ".target '" + Text.Target +
                                           "' is not known; there are " +
                                           knownTargets()});
  if (!Version || !Chip)
    return std::nullopt;
  Out.Version = *Version;
  Out.Chip = *Chip;
  if (Out.Version < Chip->Version)
    Errors.push_back(
        {Text.TargetLine, ".target " + Out.Name + " needs .version " +
                              versionText(Chip->Version) +
                              ", and the text says " + versionText(*Version)});
  return Out;
}

} // namespace kpc::emulator
