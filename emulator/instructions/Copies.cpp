//===- Copies.cpp - How bulk copies are done later -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "Data Movement and Conversion Instructions: Asynchronous Copy". What
// a load writes is known to others through its mbarrier, what a store reads
// through its bulk group.

#include "emulator/instructions/Copies.h"
#include "emulator/instructions/Opcodes.h"

#include <cstring>

namespace kpc::emulator {

AsyncBarrier *barrierForCopy(Warp &W, const Instruction &I, Cta &Block,
                             uint64_t Offset, unsigned Lane) {
  AsyncBarrier *B = Block.asyncBarrier(Offset);
  if (!B) {
    W.report(FindingKind::BarrierMisuse, I, Lane,
             "no mbarrier was initialised there");
    return nullptr;
  }
  bool Own = W.self() == B->By;
  bool Fenced = B->FenceClock && (Own || W.Mine.Known[B->By] >= B->FenceClock);
  if (Fenced || !W.block().launch().Strict)
    return B;
  W.report(FindingKind::MissingProxyFence, I, Lane,
           "no fence.mbarrier_init or fence.proxy.async between the mbarrier's "
           "initialisation and this copy");
  return nullptr;
}

namespace {

class LoadOperation final : public AsyncOperation {
public:
  LoadOperation(Warp &W, const Instruction &I, unsigned Lane, BulkLoad Load,
                const Warp::Agent &By)
      : AsyncOperation(1, NoAgent), W(W), I(I), Lane(Lane),
        Load(std::move(Load)), By(By) {}

private:
  void step(unsigned) override {
    for (const CopyPiece &P : Load.Pieces) {
      std::memcpy(P.Shared, P.Global, P.Bytes);
      if (Load.HasMap)
        fillUnit(Load.Map, {0, 0, P.Bytes}, P.Shared);
    }
    finishLoad(W, I, Lane, Load, By);
  }

  Warp &W;
  const Instruction &I;
  unsigned Lane;
  BulkLoad Load;
  Warp::Agent By;
};

/// First shared memory is read, then global memory written.
class StoreOperation : public AsyncOperation {
public:
  explicit StoreOperation(std::vector<CopyPiece> Pieces)
      : AsyncOperation(2, NoAgent), Pieces(std::move(Pieces)) {}

private:
  void step(unsigned Number) final {
    if (Number == 0) {
      for (const CopyPiece &P : Pieces)
        Data.insert(Data.end(), P.Shared, P.Shared + P.Bytes);
      return;
    }
    const uint8_t *From = Data.data();
    for (const CopyPiece &P : Pieces) {
      put(P, From);
      From += P.Bytes;
    }
  }
  virtual void put(const CopyPiece &P, const uint8_t *From) {
    std::memcpy(P.Global, From, P.Bytes);
  }

  std::vector<CopyPiece> Pieces;
  std::vector<uint8_t> Data;
};

/// Updates global memory element by element.
class ReduceOperation final : public StoreOperation {
public:
  ReduceOperation(std::vector<CopyPiece> Pieces, const Reduction &How)
      : StoreOperation(std::move(Pieces)), How(How) {}

private:
  void put(const CopyPiece &P, const uint8_t *From) override {
    reduceInto(P.Global, From, P.Bytes, How);
  }

  Reduction How;
};

bool decodeCopy(Decoder &D, const ptx::Statement &S, Modifiers &M,
                Instruction &I) {
  if (M.take("reduce"))
    return decodeBulkReduce(D, S, M, I);
  if (!M.take("async"))
    return false;
  return M.take("bulk") ? decodeBulkCopy(D, S, M, I)
                        : decodeSmallCopy(D, S, M, I);
}

} // namespace

void finishLoad(Warp &W, const Instruction &I, unsigned Lane,
                const BulkLoad &Load, const Warp::Agent &By) {
  AsyncBarrier *B = Load.Block->asyncBarrier(Load.Barrier);
  if (!B)
    return W.report(FindingKind::BarrierMisuse, I, Lane,
                    "the copy's mbarrier was invalidated before its end");
  uint32_t &Known = B->Joined.Known[By.Id];
  Known = std::max(Known, By.Clock);
  B->Bytes -= int64_t(Load.Bytes);
  Load.Block->settle(Load.Barrier, *B);
}

void startLoad(Warp &W, const Instruction &I, unsigned Lane, BulkLoad Load,
               const Warp::Agent &By) {
  W.block().start(
      std::make_unique<LoadOperation>(W, I, Lane, std::move(Load), By));
}

void startStore(Warp &W, unsigned Lane, std::vector<CopyPiece> Pieces,
                const Warp::Agent &By) {
  uint64_t Id =
      W.block().start(std::make_unique<StoreOperation>(std::move(Pieces)));
  W.async().addStore(Lane, Id, By.Clock);
}

void startReduction(Warp &W, unsigned Lane, std::vector<CopyPiece> Pieces,
                    const Reduction &How, const Warp::Agent &By) {
  uint64_t Id = W.block().start(
      std::make_unique<ReduceOperation>(std::move(Pieces), How));
  W.async().addStore(Lane, Id, By.Clock);
}

void addCopies(OpcodeTable &Table) {
  Table["cp"] = {decodeCopy, OperandTypes::Any};
}

} // namespace kpc::emulator
