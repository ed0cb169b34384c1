//===- Copies.h - What asynchronous copies share ----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The parts of the copies' files: Copies.cpp (what is one instruction),
/// SmallCopies.cpp (cp.async), BulkCopies.cpp and TensorCopies.cpp. A copy is
/// checked when it is issued; its bytes move later (execute/AsyncQueue.h).
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_INSTRUCTIONS_COPIES_H
#define KPC_EMULATOR_INSTRUCTIONS_COPIES_H

#include "emulator/execute/Cta.h"
#include "emulator/execute/TensorWalk.h"
#include "emulator/instructions/Lanes.h"

namespace kpc::emulator {

inline const AddressOperand *addresses(Warp &W, const Instruction &I) {
  return &W.kernel().Addresses[I.Jump];
}

/// Bytes that lie together on both sides, in host memory.
struct CopyPiece {
  uint8_t *Shared, *Global;
  unsigned Bytes;
};

/// A bulk copy into shared memory, as it was issued.
struct BulkLoad {
  std::vector<CopyPiece> Pieces;
  Cta *Block = nullptr; ///< where the bytes go
  uint64_t Barrier = 0; ///< its offset there
  uint64_t Bytes = 0;   ///< that it reports
  bool HasMap = false;  ///< each piece is a unit of this map's
  TensorMap Map;
};

/// The mbarrier that a copy reports to, known to the issuing warp and to the
/// async proxy; nullptr: reported.
AsyncBarrier *barrierForCopy(Warp &W, const Instruction &I, Cta &Block,
                             uint64_t Offset, unsigned Lane);

/// What an atomic makes of an element (Atomics.cpp).
struct Reduction {
  uint8_t What = 0, T = 0;
  uint64_t packed() const { return What | uint64_t{T} << 8; }
  static Reduction of(uint64_t V) { return {uint8_t(V), uint8_t(V >> 8)}; }
};
/// ".add.f32" and the like; nullopt: there is none.
std::optional<Reduction> takeReduction(Modifiers &M);
/// ".add" and the like, for elements of whatever type the map says.
std::optional<uint8_t> takeReductionKind(Modifiers &M);
/// nullopt: bulk copies have no such reduction.
std::optional<Reduction> bulkReduction(uint8_t What, Type T);
/// Each element of global or shared memory, at once.
void reduceInto(uint8_t *To, const uint8_t *From, unsigned Bytes,
                const Reduction &How);

/// All are done later. A store or a reduction counts for its lane's bulk
/// groups.
void startLoad(Warp &W, const Instruction &I, unsigned Lane, BulkLoad Load,
               const Warp::Agent &By);
void startStore(Warp &W, unsigned Lane, std::vector<CopyPiece> Pieces,
                const Warp::Agent &By);
void startReduction(Warp &W, unsigned Lane, std::vector<CopyPiece> Pieces,
                    const Reduction &How, const Warp::Agent &By);

bool decodeBulkReduce(Decoder &D, const ptx::Statement &S, Modifiers &M,
                      Instruction &I);
/// The copy's bytes have arrived: its mbarrier and who waits for it learn so.
void finishLoad(Warp &W, const Instruction &I, unsigned Lane,
                const BulkLoad &Load, const Warp::Agent &By);

// The decoders, by what follows "cp.async"; the words before were taken.
bool decodeSmallCopy(Decoder &D, const ptx::Statement &S, Modifiers &M,
                     Instruction &I);
bool decodeBulkCopy(Decoder &D, const ptx::Statement &S, Modifiers &M,
                    Instruction &I);
bool decodeTensorReduce(Decoder &D, const ptx::Statement &S, Modifiers &M,
                        Instruction &I);
bool decodeTensorCopy(Decoder &D, const ptx::Statement &S, Modifiers &M,
                      Instruction &I, bool Stores);

} // namespace kpc::emulator

#endif // KPC_EMULATOR_INSTRUCTIONS_COPIES_H
