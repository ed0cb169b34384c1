//===- Tensor.h - What the files of tcgen05 share ---------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// PTX ISA, "TensorCore 5th Generation Family Instructions": allocation
/// (TensorAllocation.cpp), fences, waits and commits (TensorSync.cpp), ld and
/// st (TensorCells.cpp), cp (TensorCopyIn, in TensorOperands' terms), mma
/// (TensorMatrix.cpp, TensorBlockScale.cpp). What is not confirmed by the ISA's
/// text is refused when the text is loaded.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_INSTRUCTIONS_TENSOR_H
#define KPC_EMULATOR_INSTRUCTIONS_TENSOR_H

#include "emulator/execute/Cta.h"
#include "emulator/execute/WarpTensor.h"
#include "emulator/instructions/Lanes.h"

namespace kpc::emulator {

/// "cta_group::1" or "cta_group::2", the same in all of a kernel; 0: reported.
unsigned takeGroup(Decoder &D, Modifiers &M);

/// Lane and column of an address in tensor memory.
inline unsigned tensorLane(uint32_t Address) { return Address >> 16; }
inline unsigned tensorColumn(uint32_t Address) { return Address & 0xFFFF; }

/// All 32 lanes come here; false: reported.
bool isWholeWarp(Warp &W, const Instruction &I, uint32_t Mask);

/// The block, or it and its peer by rank in the pair; false: reported.
struct TensorBlocks {
  Cta *Of[2] = {nullptr, nullptr};
  unsigned Count = 0;
};
bool findBlocks(Warp &W, const Instruction &I, unsigned Lane, unsigned Group,
                TensorBlocks &Out);

/// Operations of a warp that are done in the order of issue.
AgentId tensorChain(Warp &W);

// The decoders, by the word behind "tcgen05", which was taken.
bool decodeTensorAlloc(Decoder &D, const ptx::Statement &S, Modifiers &M,
                       Instruction &I);
bool decodeTensorDealloc(Decoder &D, const ptx::Statement &S, Modifiers &M,
                         Instruction &I);
bool decodeTensorRelinquish(Decoder &D, const ptx::Statement &S, Modifiers &M,
                            Instruction &I);
bool decodeTensorMove(Decoder &D, const ptx::Statement &S, Modifiers &M,
                      Instruction &I, bool Stores);
bool decodeTensorCopyIn(Decoder &D, const ptx::Statement &S, Modifiers &M,
                        Instruction &I);
bool decodeTensorMatrix(Decoder &D, const ptx::Statement &S, Modifiers &M,
                        Instruction &I);

} // namespace kpc::emulator

#endif // KPC_EMULATOR_INSTRUCTIONS_TENSOR_H
