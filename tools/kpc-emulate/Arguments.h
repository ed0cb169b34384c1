//===- Arguments.h - A kernel's arguments from the command line -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Values and buffers, each held against the parameter that it is for.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_EMULATE_ARGUMENTS_H
#define KPC_TOOLS_KPC_EMULATE_ARGUMENTS_H

#include "emulator/execute/DeviceMemory.h"
#include "emulator/program/Program.h"

#include <string>
#include <vector>

namespace kpc::emulator::tool {

/// A buffer that is written to a file after the run.
struct Output {
  std::string File;
  uint64_t Address, Bytes;
};

/// "add(.u64 a, .align 64 .b8 map[128])".
std::string signatureOf(const Kernel &K);

class Arguments {
public:
  Arguments(const Kernel &K, DeviceMemory &Memory) : K(K), Memory(Memory) {}
  /// One text for each parameter; false: error() says what is wrong.
  bool read(const std::vector<std::string> &Texts);
  const std::string &error() const { return Error; }
  /// As the kernel lays them out.
  const std::vector<uint8_t> &bytes() const { return Bytes; }
  const std::vector<Output> &outputs() const { return Outputs; }

private:
  bool fail(const std::string &Text);
  bool checkCount(const std::vector<std::string> &Texts);
  bool take(size_t Number, const std::string &Text);
  /// The bytes of one argument; `Why`: what is wrong with its text.
  bool valueOf(const std::string &Kind, const std::string &Rest,
               std::vector<uint8_t> &Value, std::string &Why);
  bool bufferOf(const std::string &Kind, const std::string &Rest,
                std::vector<uint8_t> &Value, std::string &Why);

  const Kernel &K;
  DeviceMemory &Memory;
  std::vector<uint8_t> Bytes;
  std::vector<Output> Outputs;
  std::string Error;
};

/// False: the file cannot be read.
bool readFile(const std::string &Path, std::string &Out);

} // namespace kpc::emulator::tool

#endif // KPC_TOOLS_KPC_EMULATE_ARGUMENTS_H
