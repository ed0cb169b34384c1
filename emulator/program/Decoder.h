//===- Decoder.h - Statements into instructions -----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The decoder resolves names to rows; emulator/instructions says for each
/// opcode what its modifiers and operands are and gives its handler. Every
/// mistake and every unknown instruction of a module is collected.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_PROGRAM_DECODER_H
#define KPC_EMULATOR_PROGRAM_DECODER_H

#include "emulator/program/Program.h"
#include "emulator/program/Target.h"
#include "emulator/program/Type.h"

#include <functional>
#include <map>
#include <optional>
#include <set>

namespace kpc::emulator {

/// The modifiers of a statement, taken one after the other. What nobody takes
/// is an error, so that no modifier is passed over.
class Modifiers {
public:
  explicit Modifiers(const std::vector<std::string> &All)
      : All(All), Taken(All.size()) {}
  /// Whether the word is there; takes it.
  bool take(std::string_view Word);
  /// The first of these words that is there, by number.
  std::optional<size_t> takeOne(std::initializer_list<std::string_view> Words);
  /// The next type, in the order of writing.
  std::optional<Type> takeType();
  /// The first that was not taken; empty: all were.
  std::string_view left() const;

private:
  const std::vector<std::string> &All;
  std::vector<bool> Taken;
};

/// Addresses of the module's variables, and declared ones.
using VariableAddresses = std::map<std::string, ModuleVariable>;

class Decoder {
public:
  Decoder(Kernel &K, const VariableAddresses &Variables, const TextTarget &For,
          std::vector<LoadError> &Errors);
  void run();

  // For emulator/instructions; each reports what is wrong and gives nothing.

  /// A row of `Bits` a lane to read: register, immediate, special register, or
  /// address of a variable.
  std::optional<uint32_t> source(const ptx::Operand &O, unsigned Bits);
  /// A register's row to write; a row that nobody reads for "_".
  std::optional<uint32_t> target(const ptx::Operand &O, unsigned Bits);
  /// The bits of a register; 0: not a register.
  unsigned registerBits(const ptx::Operand &O);
  /// A predicate, and whether it is written "!p".
  bool predicate(const ptx::Operand &O, uint32_t &Row, bool &Negated);
  /// The space and base of [O]; sets Source[0], Offset.
  bool address(const ptx::Operand &O, Instruction &I);
  /// The same for an instruction with several; appended to Kernel::Addresses.
  /// `Coordinates`: rows of 32 bits for a tensor map's.
  bool addAddress(const ptx::Operand &O, Instruction &I, Space Where,
                  std::vector<uint32_t> *Coordinates = nullptr);
  /// An immediate's value.
  std::optional<uint64_t> immediate(const ptx::Operand &O);
  /// Rows for a vector or one operand of at least `ElementBits` a lane; sets
  /// Rows and Count. `Bits`: of the registers, one size for all.
  bool rows(const ptx::Operand &O, Instruction &I, bool Write,
            unsigned ElementBits, unsigned &Bits);
  /// A fresh row.
  uint32_t makeRow(unsigned Bits);
  uint32_t constant(uint64_t Value, unsigned Bits);
  /// The carry flag's row.
  uint32_t carry();
  bool fail(std::string Text);
  const ptx::Statement &statement() const { return *Current; }
  Kernel &kernel() { return K; }
  /// What the text is for.
  const Target &chip() const { return For.Chip; }
  /// Registers of a wgmma, which others may not touch while it runs.
  void addMatrixRow(uint32_t Row) { K.MatrixRows.push_back(Row); }

private:
  struct Register {
    uint32_t Row;
    unsigned Bits;
    std::optional<Type> Declared;
  };
  std::optional<Register> findRegister(const std::string &Name);
  const ptx::Variable *findVariable(const std::string &Name);
  std::optional<uint64_t> addressOf(const std::string &Name, Space &Where,
                                    bool &Dynamic);
  std::optional<uint32_t> special(const std::string &Name, unsigned Bits);
  std::optional<uint32_t> label(const std::string &Name);
  bool branch(Instruction &I);
  /// Reports what the text's target or version lacks.
  void checkNeeds(const struct Opcode &Of);
  /// Reports registers that are declared of another type.
  void checkTypes(const struct Opcode &Of);
  bool checkType(const ptx::Operand &O, std::string_view Word, bool AnySize);
  void decode(size_t Number);
  void markMatrixRows();
  void layOut();
  void layOutParameters();

  Kernel &K;
  const VariableAddresses &Variables;
  const TextTarget &For;
  std::vector<LoadError> &Errors;
  const ptx::Statement *Current = nullptr;
  std::map<std::pair<int, std::string>, Register> Known;
  std::map<std::pair<uint64_t, unsigned>, uint32_t> KnownConstants;
  std::map<std::pair<Special, unsigned>, uint32_t> KnownSpecials;
  struct Placed {
    Space Where;
    uint64_t Address;
    bool Dynamic;
  };
  std::map<std::pair<int, std::string>, Placed> Places; ///< by scope
  uint32_t CarryRow = NoRow;
  std::vector<uint32_t> Reads, Writes; ///< registers of the statement
  bool CurrentFailed = false;
};

/// Decodes one opcode into `I`; false: reported, or a form that is not known
/// (then nothing was reported).
using DecodeFunction = bool (*)(Decoder &D, const ptx::Statement &S,
                                Modifiers &M, Instruction &I);

/// What a form of an opcode needs of its text (instructions/Requirements.cpp).
struct Requirement {
  std::string_view Opcode;  ///< empty: every one
  std::string_view Words;   ///< modifiers that are there, or with ! are not
  std::string_view Targets; ///< one of these; empty: any
  unsigned Version;         ///< of PTX
};

/// Which registers must be declared as an instruction's type says (PTX ISA,
/// "Operand Type Checking"); sizes are the decode functions' business.
enum class OperandTypes : uint8_t {
  One,       ///< all, if there is one type
  Converted, ///< the first of the first type, the others of the second
  Loaded,    ///< the first
  Stored,    ///< the second
  Any
};

struct Opcode {
  DecodeFunction Decode = nullptr;
  OperandTypes Types = OperandTypes::One;
  std::vector<const Requirement *> Needs = {};
  Opcode() = default;
  Opcode(DecodeFunction Decode, OperandTypes Types = OperandTypes::One)
      : Decode(Decode), Types(Types) {}
};

/// The opcodes by name (emulator/instructions/Opcodes.cpp).
using OpcodeTable = std::map<std::string_view, Opcode>;
const OpcodeTable &opcodes();

/// What a module says it is for; nullopt: reported.
std::optional<TextTarget> targetOf(const ptx::Module &Text,
                                   std::vector<LoadError> &Errors);

/// Decodes the entries of a module; `Errors` empty: all of them.
Program decodeModule(const ptx::Module &Text,
                     const VariableAddresses &Variables, const TextTarget &For,
                     std::vector<LoadError> &Errors);

} // namespace kpc::emulator

#endif // KPC_EMULATOR_PROGRAM_DECODER_H
