//===- Harness.cpp - Short kernels for the emulator's tests ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/emulator/Harness.h"

#include <cstring>
#include <regex>

namespace kpc::emulator::test {

std::string kernelText(const std::string &Body, const std::string &Module,
                       const std::string &Attributes,
                       const std::string &Target) {
  return ".version 8.8\n.target " + Target + "\n.address_size 64\n" + Module +
         "\n.visible .entry k(.param .u64 in, .param .u64 out) " + Attributes +
         "\n{\n"
         ".reg .pred %p<32>; .reg .b16 %rs<32>; .reg .b32 %r<32>;\n"
         ".reg .b64 %rd<32>; .shared .align 16 .b8 tile[256];\n"
         "ld.param.u64 %rd0, [in]; ld.param.u64 %rd1, [out];\n"
         "mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;\n"
         "add.u64 %rd2, %rd0, %rd3; add.u64 %rd3, %rd1, %rd3;\n" +
         Body + "\nret;\n}\n";
}

std::string Outcome::text() const {
  static const std::regex Address("0x[0-9a-f]+");
  return std::regex_replace(Trouble ? Trouble->text() : Errors, Address, "0x…");
}

Outcome run(const std::string &Body, const Setup &S) {
  Outcome Out;
  DeviceMemory Memory(uint64_t{1} << 24);
  std::vector<LoadError> Errors;
  auto M = LoadedModule::load(
      kernelText(Body, S.Module, S.Attributes, S.Target), Memory, Errors);
  Out.Errors = describe(Errors);
  if (!M)
    return Out;
  uint64_t Buffers[2] = {Memory.allocate(S.Input.size() * 4),
                         Memory.allocate(S.OutputWords * 4)};
  if (!S.Input.empty())
    std::memcpy(reinterpret_cast<void *>(Buffers[0]), S.Input.data(),
                S.Input.size() * 4);
  if (S.Zeroed)
    std::memset(reinterpret_cast<void *>(Buffers[1]), 0, S.OutputWords * 4);
  std::vector<uint8_t> Parameters(sizeof Buffers);
  std::memcpy(Parameters.data(), Buffers, sizeof Buffers);
  if (S.InputWritten)
    Memory.markWritten(Buffers[0]);
  LaunchShape Shape;
  Shape.BeginsEarly = S.BeginsEarly;
  Shape.Grid[0] = S.Blocks;
  Shape.Block[0] = S.Threads;
  Out.Trouble = launch(*M->find("k"), Shape, Parameters, Memory,
                       {.Threads = 2,
                        .Strict = S.Strict,
                        .Seed = S.Seed,
                        .Seconds = S.Seconds})
                    .Trouble;
  Out.Output.resize(S.OutputWords);
  std::memcpy(Out.Output.data(), reinterpret_cast<void *>(Buffers[1]),
              S.OutputWords * 4);
  return Out;
}

} // namespace kpc::emulator::test
