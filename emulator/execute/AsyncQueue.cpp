//===- AsyncQueue.cpp - What was started and is not done ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/execute/AsyncQueue.h"

namespace kpc::emulator {

uint64_t AsyncQueue::add(std::unique_ptr<AsyncOperation> Op) {
  Op->Id = Next++;
  All.push_back(std::move(Op));
  return Next - 1;
}

/// An operation's step may add or end others, so it is looked up again.
void AsyncQueue::advanceAt(size_t At) {
  AsyncOperation &Op = *All[At];
  uint64_t Id = Op.Id;
  Op.advance();
  if (!Op.isOver())
    return;
  auto It = std::lower_bound(
      All.begin(), All.end(), Id,
      [](const auto &Which, uint64_t Wanted) { return Which->Id < Wanted; });
  All.erase(It);
}

void AsyncQueue::finish(uint64_t Id, unsigned Steps) {
  auto Find = [&] {
    return std::lower_bound(
        All.begin(), All.end(), Id,
        [](const auto &Which, uint64_t Wanted) { return Which->Id < Wanted; });
  };
  auto It = Find();
  if (It == All.end() || (*It)->Id != Id)
    return;
  AgentId Chain = (*It)->chain();
  for (size_t At = 0; At < All.size() && All[At]->Id < Id;) {
    if (Chain != NoAgent && All[At]->chain() == Chain)
      advanceAt(At);
    else
      ++At;
  }
  while (true) {
    It = Find();
    if (It == All.end() || (*It)->Id != Id || (*It)->done() >= Steps)
      return;
    advanceAt(static_cast<size_t>(It - All.begin()));
  }
}

void AsyncQueue::advanceOne(Choices &Choose) {
  if (All.empty())
    return;
  size_t At = Choose.below(static_cast<uint32_t>(All.size()));
  if (AgentId Chain = All[At]->chain(); Chain != NoAgent)
    for (size_t First = 0; First < At; ++First)
      if (All[First]->chain() == Chain)
        At = First;
  advanceAt(At);
}

void AsyncQueue::finishAll() {
  while (!All.empty())
    advanceAt(0);
}

std::vector<CommitGroups::Member> CommitGroups::covered(uint64_t Left,
                                                        bool Forget) {
  std::vector<Member> Out;
  size_t Committed = Groups.size() - 1;
  size_t Count = Committed > Left ? Committed - static_cast<size_t>(Left) : 0;
  for (size_t G = 0; G < Count; ++G)
    Out.insert(Out.end(), Groups[G].begin(), Groups[G].end());
  if (Forget)
    Groups.erase(Groups.begin(),
                 Groups.begin() + static_cast<std::ptrdiff_t>(Count));
  return Out;
}

std::vector<CommitGroups::Member> CommitGroups::all() {
  std::vector<Member> Out;
  for (const std::vector<Member> &G : Groups)
    Out.insert(Out.end(), G.begin(), G.end());
  clear();
  return Out;
}

} // namespace kpc::emulator
