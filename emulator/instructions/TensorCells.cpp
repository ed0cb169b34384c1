//===- TensorCells.cpp - tcgen05.ld and tcgen05.st ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "tcgen05.ld", "tcgen05.st" and the figures of their shapes. The data
// moves at once; what may not happen yet is found by the shadow, for which a
// load reads and a store writes until tcgen05.wait.

#include "emulator/instructions/Tensor.h"

namespace kpc::emulator {

namespace {

enum class Shape : uint8_t { S32x32, S16x64, S16x128, S16x256, S16x32x2 };

struct MovePlan {
  Shape TheShape;
  bool Packs; ///< two columns of 16 bits in a register
  unsigned Times;
  uint32_t Second; ///< 16x32bx2: column of the upper lanes
  uint64_t packed() const {
    return uint64_t(TheShape) | uint64_t{Packs} << 8 | uint64_t{Times} << 16 |
           uint64_t{Second} << 32;
  }
  static MovePlan of(uint64_t V) {
    return {Shape(V & 0xFF), (V >> 8 & 1) != 0, unsigned(V >> 16 & 0xFFFF),
            uint32_t(V >> 32)};
  }
  bool isHalf() const { return TheShape != Shape::S32x32; }
  unsigned registers() const {
    return Times * (TheShape == Shape::S16x256   ? 4
                    : TheShape == Shape::S16x128 ? 2
                                                 : 1);
  }
  /// Columns of the table; twice as many of tensor memory if it packs.
  unsigned columns() const {
    return Times * (TheShape == Shape::S16x256   ? 8
                    : TheShape == Shape::S16x128 ? 4
                    : TheShape == Shape::S16x64  ? 2
                                                 : 1);
  }
};

struct Cell {
  unsigned Lane, Column;
};

/// Where register I of thread T lies, from the address on.
Cell cellOf(const MovePlan &P, unsigned T, unsigned I) {
  switch (P.TheShape) {
  case Shape::S32x32:
    return {T, I};
  case Shape::S16x64:
    return {T / 4 + 8 * (T % 2), 2 * I + T / 2 % 2};
  case Shape::S16x128:
    return {T / 4 + 8 * (I % 2), 4 * (I / 2) + T % 4};
  case Shape::S16x256:
    return {T / 4 + 8 * (I / 2 % 2), 8 * (I / 4) + 2 * (T % 4) + I % 2};
  case Shape::S16x32x2:
    return {T % 16, I + (T >= 16 ? P.Second : 0)};
  }
  return {};
}

/// The lanes that the warp may touch, from the address on; false: reported.
bool checkLanes(Warp &W, const Instruction &I, const MovePlan &P,
                unsigned Lane) {
  unsigned First = W.number() % 4 * WarpSize;
  bool Fits = P.isHalf() ? Lane == First || Lane == First + 16 : Lane == First;
  if (Fits)
    return true;
  bool Own = Lane >= First && Lane < First + WarpSize;
  W.report(Own ? FindingKind::Misaligned : FindingKind::ForeignLanes, I, 0,
           "warp " + std::to_string(W.number()) + " reaches lanes " +
               std::to_string(First) + " to " + std::to_string(First + 31) +
               " from their first one on" +
               (P.isHalf() ? " or from the middle" : "") + ", not from lane " +
               std::to_string(Lane) + " on");
  return false;
}

/// Mode 1 stores.
void moveCells(Warp &W, const Instruction &I, uint32_t Mask) {
  if (!isWholeWarp(W, I, Mask))
    return;
  MovePlan P = MovePlan::of(I.Immediate);
  auto Address = uint32_t(W.addressOf(I, 0));
  for (unsigned L = 1; L < WarpSize; ++L)
    if (uint32_t(W.addressOf(I, L)) != Address)
      return W.report(FindingKind::BadOperand, I, L,
                      "the threads of the warp have different addresses");
  unsigned Lane = tensorLane(Address), Column = tensorColumn(Address);
  if (!checkLanes(W, I, P, Lane))
    return;
  bool Stores = I.Mode != 0;
  Warp::Agent By = W.block().begin(
      W.block().agent(Stores ? AgentKind::TensorStore : AgentKind::TensorLoad,
                      W.number()),
      I);
  unsigned Width = P.columns() * (P.Packs ? 2 : 1);
  TensorUse Use{&W.block(),
                {Lane, P.isHalf() ? 16u : 32u, Column, Width},
                Stores,
                !Stores};
  WarpTensor &T = W.tensor();
  if (!T.access(I, 0, Use, By, T.plain()))
    return;
  if (P.TheShape == Shape::S16x32x2) {
    Use.Area.Column += P.Second;
    if (!T.access(I, 0, Use, By, T.plain()))
      return;
  }
  T.addIssued(0, By);
  TensorMemory &Memory = W.block().tensor();
  const uint32_t *Rows = &W.kernel().Vectors[I.Rows];
  for (unsigned R = 0; R < P.registers(); ++R)
    for (unsigned L = 0; L < WarpSize; ++L) {
      Cell At = cellOf(P, L, R);
      uint32_t &Word = W.row<uint32_t>(Rows[R])[L];
      unsigned Row = Lane + At.Lane;
      if (!P.Packs) {
        uint32_t &In = Memory.at(Row, Column + At.Column);
        (Stores ? In : Word) = Stores ? Word : In;
        continue;
      }
      uint32_t &Low = Memory.at(Row, Column + 2 * At.Column),
               &High = Memory.at(Row, Column + 2 * At.Column + 1);
      if (Stores) {
        Low = Word & 0xFFFF;
        High = Word >> 16;
      } else {
        Word = (Low & 0xFFFF) | High << 16;
      }
    }
}

} // namespace

bool decodeTensorMove(Decoder &D, const ptx::Statement &S, Modifiers &M,
                      Instruction &I, bool Stores) {
  auto Which =
      M.takeOne({"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"});
  auto Times = M.takeOne({"x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128"});
  MovePlan P{};
  P.Packs = M.take(Stores ? "unpack::16b" : "pack::16b");
  if (!Which || !Times || !M.take("sync") || !M.take("aligned") ||
      !M.take("b32"))
    return false;
  P.TheShape = Shape(*Which);
  P.Times = 1u << *Times;
  bool Halves = P.TheShape == Shape::S16x32x2;
  if (P.registers() > 128 || S.Operands.size() != (Halves ? 3u : 2u))
    return D.fail("wrong number of operands");
  const ptx::Operand
      &Address = S.Operands[Stores ? 0 : 1],
      &Data = S.Operands[Halves ? (Stores ? 2 : 0) : (Stores ? 1 : 0)];
  if (Halves) {
    auto Second = D.immediate(S.Operands[Stores ? 1 : 2]);
    if (!Second)
      return false;
    P.Second = uint32_t(*Second);
  }
  I.Where = Space::Global; // an address of its own: no window is added
  unsigned Bits = 0;
  if (!D.address(Address, I) || !D.rows(Data, I, !Stores, 32, Bits))
    return false;
  if (Bits != 32 || I.Count != P.registers())
    return D.fail("this shape has " + std::to_string(P.registers()) +
                  " registers of 32 bits");
  I.Mode = Stores;
  I.Immediate = P.packed();
  I.Run = moveCells;
  return true;
}

} // namespace kpc::emulator
