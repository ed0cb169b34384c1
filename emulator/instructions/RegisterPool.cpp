//===- RegisterPool.cpp - setmaxnreg --------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "setmaxnreg". A block begins with what its threads can have of a
// multiprocessor's registers, in eights; whoever asks for more waits until
// others have given enough back.

#include "emulator/execute/Cta.h"
#include "emulator/instructions/Lanes.h"
#include "emulator/instructions/Opcodes.h"

namespace kpc::emulator {

namespace {

/// Mode 1: more.
void setRegisters(Warp &W, const Instruction &I, uint32_t Mask) {
  if (!W.block().launch().Strict)
    return;
  auto Wanted = static_cast<unsigned>(I.Immediate);
  unsigned Has = W.RegistersPerThread;
  const char *Wrong = nullptr;
  if (Mask != W.live())
    Wrong = "not all threads of the warp come here together";
  else if (I.Mode && Wanted < Has)
    Wrong = "asks for fewer registers than the warp has";
  else if (!I.Mode && Wanted > Has)
    Wrong = "keeps more registers than the warp has";
  if (Wrong)
    return W.report(FindingKind::RegisterPool, I, 0,
                    std::string(Wrong) + " (" + std::to_string(Has) +
                        " a thread)");
  W.WaitsForRegisters = !W.block().takeRegisters(W, Wanted);
  if (!W.WaitsForRegisters)
    return;
  W.wait();
  W.repeat();
}

bool decodeSetRegisters(Decoder &D, const ptx::Statement &S, Modifiers &M,
                        Instruction &I) {
  auto Way = M.takeOne({"dec", "inc"});
  if (!Way || !M.take("sync") || !M.take("aligned") || !M.take("u32") ||
      S.Operands.size() != 1)
    return false;
  auto Count = D.immediate(S.Operands[0]);
  if (!Count)
    return false;
  if (*Count < 24 || *Count > 256 || *Count % 8)
    return D.fail("registers are 24 to 256, in eights");
  I.Mode = uint8_t(*Way);
  I.Immediate = *Count;
  I.Run = setRegisters;
  return true;
}

} // namespace

void addRegisterPool(OpcodeTable &Table) {
  Table["setmaxnreg"] = decodeSetRegisters;
}

} // namespace kpc::emulator
