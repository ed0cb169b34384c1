//===- Opcodes.cpp - The table of opcodes ---------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/instructions/Opcodes.h"

namespace kpc::emulator {

const OpcodeTable &opcodes() {
  static const OpcodeTable Table = [] {
    OpcodeTable T;
    addMoves(T);
    addArithmetic(T);
    addBits(T);
    addComparisons(T);
    addConversions(T);
    addMemory(T);
    addAtomics(T);
    addWarpOperations(T);
    addBarriers(T);
    addMatrixSync(T);
    addMatrixAsync(T);
    addAsyncBarriers(T);
    addCopies(T);
    addClusterOperations(T);
    addLaunchControl(T);
    addRegisterPool(T);
    addTensor(T);
    addRequirements(T);
    return T;
  }();
  return Table;
}

} // namespace kpc::emulator
