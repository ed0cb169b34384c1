//===- ControlFlow.cpp - Where diverged threads meet again ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/program/ControlFlow.h"

#include <algorithm>

namespace kpc::emulator {

namespace {

/// Blocks by number; the last number is the end of all paths.
struct Graph {
  std::vector<uint32_t> Starts;             ///< first instruction of a block
  std::vector<std::vector<uint32_t>> After; ///< successors
  std::vector<std::vector<uint32_t>> Before;
  uint32_t end() const { return static_cast<uint32_t>(Starts.size()); }
  uint32_t blockAt(uint32_t Pc) const {
    auto It = std::upper_bound(Starts.begin(), Starts.end(), Pc);
    return static_cast<uint32_t>(It - Starts.begin()) - 1;
  }
};

} // namespace

static std::vector<uint32_t> targetsOf(const Kernel &K, const Instruction &I) {
  if (I.TheFlow == Flow::Branch)
    return {I.Jump};
  if (I.TheFlow == Flow::Table)
    return K.Tables[I.Jump];
  return {};
}

static Graph graphOf(const Kernel &K) {
  Graph G;
  auto Size = static_cast<uint32_t>(K.Code.size());
  std::vector<bool> Leader(Size + 1);
  Leader[0] = true;
  for (uint32_t Pc = 0; Pc < Size; ++Pc) {
    const Instruction &I = K.Code[Pc];
    if (I.TheFlow == Flow::Next)
      continue;
    Leader[Pc + 1] = true;
    for (uint32_t T : targetsOf(K, I))
      Leader[std::min(T, Size)] = true;
  }
  for (uint32_t Pc = 0; Pc < Size; ++Pc)
    if (Leader[Pc])
      G.Starts.push_back(Pc);
  G.After.resize(G.Starts.size() + 1);
  G.Before.resize(G.Starts.size() + 1);
  for (uint32_t B = 0; B < G.end(); ++B) {
    uint32_t Next = B + 1 < G.end() ? G.Starts[B + 1] : Size;
    const Instruction &Last = K.Code[Next - 1];
    std::vector<uint32_t> Out;
    for (uint32_t T : targetsOf(K, Last))
      Out.push_back(T < Size ? G.blockAt(T) : G.end());
    bool FallsThrough = Last.TheFlow == Flow::Next || Last.Guard != NoRow;
    if (FallsThrough)
      Out.push_back(Next < Size ? B + 1 : G.end());
    if (Last.TheFlow == Flow::Exit)
      Out.push_back(G.end());
    for (uint32_t To : Out) {
      G.After[B].push_back(To);
      G.Before[To].push_back(B);
    }
  }
  return G;
}

/// Blocks from the end backwards, each after one of its successors; blocks
/// that never reach the end are missing.
static std::vector<uint32_t> reversePostOrder(const Graph &G) {
  std::vector<uint32_t> Order;
  std::vector<bool> Seen(G.end() + 1);
  std::vector<std::pair<uint32_t, size_t>> Stack{{G.end(), 0}};
  Seen[G.end()] = true;
  while (!Stack.empty()) {
    auto &[Block, Next] = Stack.back();
    if (Next == G.Before[Block].size()) {
      Order.push_back(Block);
      Stack.pop_back();
      continue;
    }
    uint32_t To = G.Before[Block][Next++];
    if (!Seen[To]) {
      Seen[To] = true;
      Stack.emplace_back(To, 0);
    }
  }
  std::reverse(Order.begin(), Order.end());
  return Order;
}

/// Immediate post-dominators (Cooper, Harvey, Kennedy, "A Simple, Fast
/// Dominance Algorithm"); the end for blocks that never reach it.
static std::vector<uint32_t> postDominators(const Graph &G) {
  constexpr uint32_t Unknown = ~uint32_t{0};
  std::vector<uint32_t> Order = reversePostOrder(G);
  std::vector<uint32_t> Rank(G.end() + 1, Unknown), Idom(G.end() + 1, Unknown);
  for (uint32_t I = 0; I < Order.size(); ++I)
    Rank[Order[I]] = I;
  Idom[G.end()] = G.end();
  auto Meet = [&](uint32_t A, uint32_t B) {
    while (A != B) {
      while (Rank[A] > Rank[B])
        A = Idom[A];
      while (Rank[B] > Rank[A])
        B = Idom[B];
    }
    return A;
  };
  for (bool Changed = true; Changed;) {
    Changed = false;
    for (uint32_t Block : Order) {
      if (Block == G.end())
        continue;
      uint32_t Best = Unknown;
      for (uint32_t S : G.After[Block])
        if (Rank[S] != Unknown && Idom[S] != Unknown)
          Best = Best == Unknown ? S : Meet(Best, S);
      if (Best != Idom[Block]) {
        Idom[Block] = Best;
        Changed = true;
      }
    }
  }
  for (uint32_t &I : Idom)
    if (I == Unknown)
      I = G.end();
  return Idom;
}

void findReconvergence(Kernel &K) {
  if (K.Code.empty())
    return;
  Graph G = graphOf(K);
  std::vector<uint32_t> Idom = postDominators(G);
  for (uint32_t Pc = 0; Pc < K.Code.size(); ++Pc) {
    Instruction &I = K.Code[Pc];
    if (I.TheFlow != Flow::Branch && I.TheFlow != Flow::Table)
      continue;
    uint32_t Meeting = Idom[G.blockAt(Pc)];
    I.Reconverge = Meeting == G.end() ? EndOfCode : G.Starts[Meeting];
  }
}

} // namespace kpc::emulator
