//===- Lanes.h - Loops over the lanes of a warp -----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// lanes<Op, D, S…> is the handler that puts Op()(a, b, …) into each lane of
/// the mask. With all lanes on the loop is free for the compiler to vectorise:
/// an instruction's result row may be one of its sources, but lane by lane.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_INSTRUCTIONS_LANES_H
#define KPC_EMULATOR_INSTRUCTIONS_LANES_H

#include "emulator/execute/Warp.h"
#include "emulator/program/Decoder.h"

#include <bit>
#include <tuple>
#include <utility>

namespace kpc::emulator {

template <typename F> inline void forEachLane(uint32_t Mask, F Do) {
  for (; Mask != 0; Mask &= Mask - 1)
    Do(static_cast<unsigned>(std::countr_zero(Mask)));
}

template <typename Op, typename D, typename... S, size_t... N>
inline void lanesOf(Warp &W, const Instruction &I, uint32_t Mask,
                    std::index_sequence<N...>) {
  D *Out = W.row<D>(I.Target[0]);
  std::tuple<S *...> In{W.row<S>(I.Source[N])...};
  if (Mask == ~uint32_t{0}) {
#pragma clang loop vectorize(assume_safety)
    for (unsigned L = 0; L < WarpSize; ++L)
      Out[L] = Op()(std::get<N>(In)[L]...);
    return;
  }
  forEachLane(Mask, [&](unsigned L) { Out[L] = Op()(std::get<N>(In)[L]...); });
}

template <typename Op, typename D, typename... S>
void lanes(Warp &W, const Instruction &I, uint32_t Mask) {
  lanesOf<Op, D, S...>(W, I, Mask, std::index_sequence_for<S...>{});
}

/// A lane of a register of `Bytes`, as an unsigned number.
inline uint64_t loadLane(Warp &W, uint32_t Row, unsigned Bytes, unsigned Lane) {
  switch (Bytes) {
  case 1:
    return W.row<uint8_t>(Row)[Lane];
  case 2:
    return W.row<uint16_t>(Row)[Lane];
  case 4:
    return W.row<uint32_t>(Row)[Lane];
  default:
    return W.row<uint64_t>(Row)[Lane];
  }
}
inline void storeLane(Warp &W, uint32_t Row, unsigned Bytes, unsigned Lane,
                      uint64_t Value) {
  switch (Bytes) {
  case 1:
    W.row<uint8_t>(Row)[Lane] = static_cast<uint8_t>(Value);
    return;
  case 2:
    W.row<uint16_t>(Row)[Lane] = static_cast<uint16_t>(Value);
    return;
  case 4:
    W.row<uint32_t>(Row)[Lane] = static_cast<uint32_t>(Value);
    return;
  default:
    W.row<uint64_t>(Row)[Lane] = Value;
  }
}

/// Operand 0 is the result, of `TargetBits`; the next ones are sources of these
/// bits. Reports what is wrong.
inline bool operands(Decoder &D, const ptx::Statement &S, Instruction &I,
                     unsigned TargetBits,
                     std::initializer_list<unsigned> SourceBits) {
  if (S.Operands.size() != 1 + SourceBits.size())
    return D.fail("wrong number of operands");
  auto To = D.target(S.Operands[0], TargetBits);
  if (!To)
    return false;
  I.Target[0] = *To;
  size_t N = 0;
  for (unsigned Bits : SourceBits) {
    auto From = D.source(S.Operands[1 + N], Bits);
    if (!From)
      return false;
    I.Source[N++] = *From;
  }
  return true;
}

} // namespace kpc::emulator

#endif // KPC_EMULATOR_INSTRUCTIONS_LANES_H
