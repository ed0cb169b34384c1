//===- Load.h - From PTX text to a program ----------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A loaded module owns its variables in device memory.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_LOAD_H
#define KPC_EMULATOR_LOAD_H

#include "emulator/execute/DeviceMemory.h"
#include "emulator/program/Program.h"

#include <string_view>

namespace kpc::emulator {

class LoadedModule {
public:
  /// All mistakes and unknown instructions are in `Errors`, by line; nullptr if
  /// there are any. `Capability`: of the chip that it is for, 90 for 9.0; 0:
  /// whatever the text asks for.
  static std::unique_ptr<LoadedModule> load(std::string_view Text,
                                            DeviceMemory &Memory,
                                            std::vector<LoadError> &Errors,
                                            unsigned Capability = 0);
  ~LoadedModule();
  const Kernel *find(const std::string &Name) const { return P.find(Name); }
  const Program &program() const { return P; }
  /// Of a variable; 0: there is none.
  uint64_t addressOf(const std::string &Name, uint64_t &Bytes) const;

private:
  explicit LoadedModule(DeviceMemory &Memory) : Memory(Memory) {}
  bool placeVariables(const std::vector<ptx::Variable> &Texts,
                      std::vector<LoadError> &Errors);
  void fill(const ModuleVariable &V);

  DeviceMemory &Memory;
  std::map<std::string, ModuleVariable> Variables;
  Program P;
};

/// "line 12: …" for each.
std::string describe(const std::vector<LoadError> &Errors);

} // namespace kpc::emulator

#endif // KPC_EMULATOR_LOAD_H
