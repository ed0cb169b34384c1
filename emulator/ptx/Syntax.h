//===- Syntax.h - PTX as it is written --------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the parser gives: names are not resolved yet, opcodes not looked at.
///
///   @!%p1 ld.global.v2.f32 {%f1, %f2}, [%rd1+8];
///
/// is a Statement with Guard "%p1", GuardNegated, Opcode "ld", Modifiers
/// {"global", "v2", "f32"} and two operands, a Vector and an Address.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_PTX_SYNTAX_H
#define KPC_EMULATOR_PTX_SYNTAX_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kpc::emulator::ptx {

struct Operand {
  enum class Kind {
    Name,    ///< register, variable, label or parameter
    Integer, ///< Bits
    Float32, ///< Bits
    Float64, ///< Bits
    Vector,  ///< Parts
    Address, ///< [Parts[0] + Offset], more parts: coordinates
    Pair,    ///< a|b
    Sink     ///< _
  };
  Kind TheKind = Kind::Sink;
  std::string Name;
  uint64_t Bits = 0;
  int64_t Offset = 0;   ///< of an address, or of "name+4"
  bool Negated = false; ///< !p
  std::vector<Operand> Parts;
};

struct Statement {
  std::string Guard; ///< empty: none
  bool GuardNegated = false;
  std::string Opcode; ///< up to the first dot
  std::vector<std::string> Modifiers;
  std::vector<Operand> Operands;
  int Line = 0;
  int Scope = 0; ///< index of Function::Scopes
  /// As the last .loc before it says; 0: none.
  uint32_t SourceFile = 0, SourceLine = 0;
  /// Of a load: bit b where a pragma before it leaves its byte b in use.
  uint32_t UsedBytes = ~uint32_t{0};
  std::string text() const;
};

/// Space and type as written, without the dot.
struct Variable {
  std::string Space, Type, Name;
  uint64_t Alignment = 0; ///< 0: as the type
  uint64_t Count = 1;     ///< elements; 0: extern shared without size
  bool IsArray = false;
  std::vector<uint64_t> Initial; ///< element values; shorter: zeros follow
  /// Elements whose initial value is the address of a variable.
  std::vector<std::pair<size_t, std::string>> Relocations;
  bool IsExtern = false;
  int Line = 0;
  /// Bytes of one element; 0: the type is none.
  uint64_t elementBytes() const;
  uint64_t bytes() const { return elementBytes() * Count; }
  uint64_t alignment() const {
    return Alignment ? Alignment : elementBytes() ? elementBytes() : 1;
  }
};

/// ".reg .b32 %r<20>" declares %r0 to %r19, ".reg .b32 x" x alone (Count -1).
struct RegisterRange {
  std::string Type;
  int64_t Count = -1;
};

/// What a pair of braces declares.
struct Scope {
  int Parent = -1;
  std::map<std::string, RegisterRange> Registers; ///< by prefix or name
  std::map<std::string, size_t> Labels;           ///< to statement numbers
  /// Lines of all names, ranges of registers as "%r<".
  std::map<std::string, int> Declared;
  std::map<std::string, Variable> Variables;
  std::map<std::string, std::vector<std::string>> BranchTargets;
  /// Names for variables of other scopes: a called function's parameters.
  std::map<std::string, std::pair<int, std::string>> Aliases;
};

struct Function {
  std::string Name;
  bool IsEntry = false;
  std::vector<Variable> Parameters, Results;
  std::vector<Statement> Body;
  std::vector<Scope> Scopes; ///< the first is the function's own
  std::vector<uint64_t> MaxThreads, RequiredThreads, ClusterSize;
  int Line = 0;
};

struct Module {
  std::string Version, Target;
  int VersionLine = 0, TargetLine = 0;
  std::vector<Variable> Variables;
  std::vector<Function> Functions;
  /// The names of .file directives, by number.
  std::map<uint32_t, std::string> Files;
};

struct SyntaxError {
  int Line = 0;
  std::string Text;
};

/// Bytes of "b32", "f16x2", …; 0: no type. "pred" is 0 as well.
uint64_t typeBytes(const std::string &Type);

} // namespace kpc::emulator::ptx

#endif // KPC_EMULATOR_PTX_SYNTAX_H
