//===- Opcodes.h - Decoders of the opcodes, by file -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each adds its opcodes to the table.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_INSTRUCTIONS_OPCODES_H
#define KPC_EMULATOR_INSTRUCTIONS_OPCODES_H

#include "emulator/program/Decoder.h"

namespace kpc::emulator {

void addMoves(OpcodeTable &Table);
void addArithmetic(OpcodeTable &Table);
void addBits(OpcodeTable &Table);
void addComparisons(OpcodeTable &Table);
void addConversions(OpcodeTable &Table);
void addMemory(OpcodeTable &Table);
void addAtomics(OpcodeTable &Table);
void addWarpOperations(OpcodeTable &Table);
void addBarriers(OpcodeTable &Table);
void addMatrixSync(OpcodeTable &Table);
void addMatrixAsync(OpcodeTable &Table);
void addAsyncBarriers(OpcodeTable &Table);
void addCopies(OpcodeTable &Table);
void addClusterOperations(OpcodeTable &Table);
void addLaunchControl(OpcodeTable &Table);
void addRegisterPool(OpcodeTable &Table);
void addTensor(OpcodeTable &Table);

/// The column Needs, when all opcodes are there.
void addRequirements(OpcodeTable &Table);

/// st.async and red.async, whose word "async" was taken.
bool decodeRemoteStore(Decoder &D, const ptx::Statement &S, Modifiers &M,
                       Instruction &I, bool Reduces);

/// barrier.cluster, whose first two words were taken.
bool decodeClusterBarrier(Decoder &D, const ptx::Statement &S, Modifiers &M,
                          Instruction &I);

/// mma.sync with a kind (0 f8f6f4, 1 mxf8f6f4, 2 mxf4, 3 mxf4nvf4) and the
/// words before it taken.
bool decodeKindMatrix(Decoder &D, const ptx::Statement &S, Modifiers &M,
                      Instruction &I, unsigned Kind);

/// mma.sync of integers and bits, and of f64; the words before the shape were
/// taken.
bool decodeIntegerMatrix(Decoder &D, const ptx::Statement &S, Modifiers &M,
                         Instruction &I);
bool decodeDoubleMatrix(Decoder &D, const ptx::Statement &S, Modifiers &M,
                        Instruction &I);

/// Opcodes that integers and floats share come to Arithmetic.cpp, which asks
/// these by the type.
bool decodeInteger(Decoder &D, const ptx::Statement &S, Modifiers &M,
                   Instruction &I, Type T);
bool decodeIntegerPair(Decoder &D, const ptx::Statement &S, Modifiers &M,
                       Instruction &I, bool Signed);
bool decodeFloat(Decoder &D, const ptx::Statement &S, Modifiers &M,
                 Instruction &I, Type T);
bool decodeHalf(Decoder &D, const ptx::Statement &S, Modifiers &M,
                Instruction &I, Type T);

/// min and max of integers, whose word "relu" was taken.
bool decodeExtremeRelu(Decoder &D, const ptx::Statement &S, Instruction &I,
                       Type T);

} // namespace kpc::emulator

#endif // KPC_EMULATOR_INSTRUCTIONS_OPCODES_H
