//===- WeightSegment.cpp - The weights of an artifact ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/artifact/WeightSegment.h"
#include "runtime/format/Container.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

namespace kpc::artifact {

// Small enough for a core's own cache, large enough that a write costs more
// than the call.
static constexpr uint64_t PieceSize = uint64_t(1) << 20;
// Pieces begin at multiples of every element's size.
static_assert(PieceSize % format::WeightAlignment == 0);

WeightSegment::WeightSegment(const std::vector<Weight> &Weights)
    : Weights(Weights) {
  constexpr uint64_t Alignment = format::WeightAlignment;
  for (const Weight &W : Weights) {
    Length = (Length + Alignment - 1) / Alignment * Alignment;
    Offsets.push_back(Length);
    Length += W.Length;
  }
}

/// The bytes of the segment from `Begin` on; zeros where there is no weight.
MaybeError WeightSegment::fill(uint64_t Begin, Bytes &Piece) const {
  uint64_t End = Begin + Piece.size();
  auto First = std::upper_bound(Offsets.begin(), Offsets.end(), Begin);
  size_t I = First == Offsets.begin() ? 0 : First - Offsets.begin() - 1;
  uint64_t Filled = Begin;
  for (; I < Weights.size() && Offsets[I] < End; ++I) {
    uint64_t From = std::max(Begin, Offsets[I]);
    uint64_t To = std::min(End, Offsets[I] + Weights[I].Length);
    if (From >= To)
      continue;
    std::fill(Piece.begin() + (Filled - Begin), Piece.begin() + (From - Begin),
              0);
    if (MaybeError E = Weights[I].Read(
            From - Offsets[I], Piece.data() + (From - Begin), To - From))
      return E;
    Filled = To;
  }
  std::fill(Piece.begin() + (Filled - Begin), Piece.end(), 0);
  return std::nullopt;
}

/// One writing of the segment: the pieces, and how far each is.
class WeightSegment::Pipeline {
public:
  Pipeline(const WeightSegment &Segment, Output &Out, uint64_t Position,
           int Threads)
      : Segment(Segment), Out(Out), Position(Position),
        Count((Segment.Length + PieceSize - 1) / PieceSize),
        Slots(std::min<uint64_t>(Count, Threads > 1 ? Threads + 2 : 1)) {}

  MaybeError run(int Threads, format::Sha256 &Hash) {
    std::vector<std::thread> Workers = start(Threads);
    MaybeError Failure;
    for (uint64_t I = 0; I < Count && !Failure; ++I) {
      Slot &S = Slots[I % Slots.size()];
      // Where no thread could be made, this one does the work.
      if (Workers.empty())
        make(I, S);
      else
        waitFor(I, S);
      Failure = std::move(S.Failure);
      if (!Failure)
        Hash.update(S.Piece.data(), S.Piece.size());
      release();
    }
    stop();
    for (std::thread &Worker : Workers)
      Worker.join();
    return Failure;
  }

private:
  struct Slot {
    Bytes Piece;
    MaybeError Failure;
    uint64_t Ready = UINT64_MAX; ///< the piece that it holds
  };

  std::vector<std::thread> start(int Threads) {
    std::vector<std::thread> Workers;
    if (Threads <= 1 || Count <= 1)
      return Workers;
    try {
      for (uint64_t I = 0; I < std::min<uint64_t>(Count, Threads); ++I)
        Workers.emplace_back([this] { work(); });
    } catch (const std::system_error &) {
      return Workers; // a limit on threads: those that there are do
    }
    return Workers;
  }

  void work() {
    while (true) {
      uint64_t I;
      {
        std::unique_lock Lock(Mutex);
        Changed.wait(Lock, [&] {
          return Stopped || Next == Count || Next < Digested + Slots.size();
        });
        if (Stopped || Next == Count)
          return;
        I = Next++;
      }
      Slot &S = Slots[I % Slots.size()];
      make(I, S);
      std::lock_guard Lock(Mutex);
      S.Ready = I;
      Changed.notify_all();
    }
  }

  void make(uint64_t I, Slot &S) {
    uint64_t Begin = I * PieceSize;
    S.Piece.resize(std::min(PieceSize, Segment.Length - Begin));
    S.Failure = Segment.fill(Begin, S.Piece);
    if (!S.Failure)
      S.Failure = Out.writeAt(Position + Begin, S.Piece.data(), S.Piece.size());
  }

  void waitFor(uint64_t I, Slot &S) {
    std::unique_lock Lock(Mutex);
    Changed.wait(Lock, [&] { return S.Ready == I; });
  }

  void release() {
    std::lock_guard Lock(Mutex);
    ++Digested;
    Changed.notify_all();
  }

  void stop() {
    std::lock_guard Lock(Mutex);
    Stopped = true;
    Changed.notify_all();
  }

  const WeightSegment &Segment;
  Output &Out;
  uint64_t Position;
  uint64_t Count; ///< pieces
  std::vector<Slot> Slots;
  std::mutex Mutex;
  std::condition_variable Changed;
  uint64_t Next = 0, Digested = 0; ///< pieces begun, and done with
  bool Stopped = false;
};

MaybeError WeightSegment::write(Output &Out, uint64_t Position, int Threads,
                                format::Sha256 &Hash) const {
  return Pipeline(*this, Out, Position, Threads).run(Threads, Hash);
}

} // namespace kpc::artifact
