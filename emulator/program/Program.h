//===- Program.h - PTX decoded for execution --------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A register is a row of 32 lanes: 1, 2, 4, 8 or 16 bytes a lane, a predicate
/// 32 bits in all. Immediates, special registers and addresses of variables are
/// rows too, filled once, so that every source of an instruction is a row's
/// offset in the warp's register file.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_PROGRAM_PROGRAM_H
#define KPC_EMULATOR_PROGRAM_PROGRAM_H

#include "emulator/ptx/Syntax.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace kpc::emulator {

class Warp;
struct Instruction;
using Handler = void (*)(Warp &, const Instruction &, uint32_t Mask);

inline constexpr unsigned WarpSize = 32;
inline constexpr uint32_t NoRow = ~uint32_t{0};
/// No statement of the function's body.
inline constexpr uint32_t NoStatement = ~uint32_t{0};
/// A program counter behind the last instruction.
inline constexpr uint32_t EndOfCode = ~uint32_t{0};

/// What the warp's loop does itself.
enum class Flow : uint8_t { Next, Branch, Table, Exit };

enum class Space : uint8_t { Generic, Global, Shared, Local, Param, Const };

/// Bits of Instruction::Checks.
enum : uint8_t {
  UsesMatrixRow = 1,    ///< a register that a wgmma of the kernel has too
  ReadsDoubtfulRow = 2, ///< one that some path to here does not write
  WritesDoubtfulRow = 4
};

struct Instruction {
  Handler Run = nullptr;
  Flow TheFlow = Flow::Next;
  bool GuardNegated = false;
  Space Where = Space::Generic;
  uint8_t Bytes = 0;  ///< memory: of an element; warp operations: of a lane
  uint8_t Count = 0;  ///< rows of a vector
  uint8_t Mode = 0;   ///< the handler's own
  uint8_t Checks = 0; ///< what the warp looks at before it runs
  uint8_t AddressBytes = 0; ///< of the base in Source[0]; 0: none
  uint32_t Guard = NoRow;
  uint32_t Target[2] = {NoRow, NoRow};
  uint32_t Source[4] = {NoRow, NoRow, NoRow, NoRow};
  uint32_t Rows = 0; ///< first of Count in Kernel::Vectors
  /// Registers that are read, then those that are written, in Kernel::Uses.
  uint32_t Uses = 0;
  uint16_t Reads = 0, Writes = 0;
  uint32_t Jump = 0, Reconverge = EndOfCode;
  uint64_t Immediate = 0; ///< the handler's own
  int64_t Offset = 0;     ///< of an address
  uint32_t Statement = 0; ///< in the function's body
};

/// A row that has the same content in every CTA of a launch.
struct ConstantRow {
  uint32_t Row;
  uint8_t Bytes; ///< of a lane; 0: a predicate
  uint64_t Value;
};

/// A row that is filled when a warp starts.
enum class Special : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NWarpId,
  SmId,
  NSmId,
  GridId,
  LaneMaskEq,
  LaneMaskLe,
  LaneMaskLt,
  LaneMaskGe,
  LaneMaskGt,
  DynamicShared,
  TotalShared,
  ClusterIdX,
  ClusterIdY,
  ClusterIdZ,
  NClusterIdX,
  NClusterIdY,
  NClusterIdZ,
  ClusterCtaIdX,
  ClusterCtaIdY,
  ClusterCtaIdZ,
  ClusterNCtaIdX,
  ClusterNCtaIdY,
  ClusterNCtaIdZ,
  ClusterCtaRank,
  ClusterNCtaRank
};
struct SpecialRow {
  uint32_t Row;
  uint8_t Bytes;
  Special What;
};

struct Parameter {
  std::string Name;
  uint64_t Offset, Bytes;
};

/// One of several addresses of an instruction.
struct AddressOperand {
  uint32_t Row;
  uint8_t Bytes; ///< of the base; 0: none
  int64_t Offset;
};

struct Kernel {
  std::string Name;
  std::vector<Instruction> Code;
  std::vector<ConstantRow> Constants;
  std::vector<SpecialRow> Specials;
  std::vector<AddressOperand> Addresses;     ///< from Instruction::Jump on
  std::vector<uint32_t> Vectors;             ///< rows, for Instruction::Rows
  std::vector<uint32_t> Uses;                ///< rows, for Instruction::Uses
  std::vector<uint32_t> MatrixRows;          ///< of wgmma's registers; sorted
  std::vector<uint32_t> DoubtfulRows;        ///< that may be read unset; sorted
  std::vector<std::vector<uint32_t>> Tables; ///< targets of brx.idx
  std::vector<Parameter> Parameters;
  uint64_t ParameterBytes = 0;
  uint32_t RegisterBytes = 0; ///< of a warp
  uint64_t SharedBytes = 0;   ///< static
  uint64_t SharedAlignment = 16;
  uint64_t LocalBytes = 0; ///< of a thread
  bool UsesTensor = false; ///< there are tcgen05 instructions
  uint8_t TensorGroup = 0; ///< their cta_group; 0: not seen yet
  uint64_t MaxThreads[3] = {0, 0, 0}, RequiredThreads[3] = {0, 0, 0};
  ptx::Function Source;
  std::map<uint32_t, std::string> Files; ///< of .file, by number

  std::string textOf(const Instruction &I) const {
    return Source.Body[I.Statement].text();
  }
  int lineOf(const Instruction &I) const {
    return Source.Body[I.Statement].Line;
  }
  /// "bar.sync, line 12", for findings that name several.
  std::string pointOf(uint32_t Statement) const;
  /// "kernels.cu:12" of the text that the PTX is made of; empty: not known.
  std::string sourceOf(uint32_t Statement) const;
};

/// A variable of the module in device memory.
struct ModuleVariable {
  ptx::Variable Text;
  uint64_t Address = 0;
};

struct LoadError {
  int Line;
  std::string Text;
};

struct Program {
  std::vector<std::unique_ptr<Kernel>> Kernels;
  const Kernel *find(const std::string &Name) const;
};

} // namespace kpc::emulator

#endif // KPC_EMULATOR_PROGRAM_PROGRAM_H
