//===- Arena.cpp - Packs values into one block of memory ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/Arena.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

namespace kpc::rt {

namespace {

/// No item starts at less than this: a kernel's widest vector is 64 bytes.
constexpr uint64_t LeastAlignment = 64;
/// Up to this many items the better but quadratic orders are tried.
constexpr size_t QuadraticLimit = 2048;
constexpr uint64_t LargestSum = uint64_t(1) << 62;

uint64_t roundUp(uint64_t Size, uint64_t Alignment) {
  return (Size + Alignment - 1) & ~(Alignment - 1);
}

uint64_t alignmentOf(const ArenaItem &Item) {
  return std::max(Item.Alignment, LeastAlignment);
}

uint64_t paddedSize(const ArenaItem &Item) {
  return roundUp(Item.Size, alignmentOf(Item));
}

bool overlap(const ArenaItem &A, const ArenaItem &B) {
  return A.FirstStep <= B.LastStep && B.FirstStep <= A.LastStep;
}

/// Places items in the given order, each in the lowest gap between those placed
/// before that are live at the same time. Returns the block's size.
uint64_t placeInOrder(std::vector<ArenaItem> &Items,
                      const std::vector<uint32_t> &Order) {
  std::vector<uint32_t> Placed; // by offset
  Placed.reserve(Items.size());
  uint64_t Total = 0;
  for (uint32_t Index : Order) {
    ArenaItem &Item = Items[Index];
    uint64_t Alignment = alignmentOf(Item), Size = paddedSize(Item);
    uint64_t At = 0;
    for (uint32_t Other : Placed) {
      const ArenaItem &There = Items[Other];
      if (!overlap(Item, There))
        continue;
      if (At + Size <= There.Offset)
        break;
      At = std::max(At, roundUp(There.Offset + paddedSize(There), Alignment));
    }
    Item.Offset = At;
    Total = std::max(Total, At + Size);
    auto ByOffset = [&](uint32_t A, uint32_t B) {
      return Items[A].Offset < Items[B].Offset;
    };
    Placed.insert(
        std::upper_bound(Placed.begin(), Placed.end(), Index, ByOffset), Index);
  }
  return Total;
}

/// For very many items: by first step, into a list of free gaps; the gap that
/// fits best. n log n.
uint64_t placeByStep(std::vector<ArenaItem> &Items,
                     const std::vector<uint32_t> &ByFirstStep) {
  std::map<uint64_t, uint64_t> Gaps;      // offset → size, below the top
  std::multimap<uint32_t, uint32_t> Live; // last step → item
  uint64_t Top = 0, Total = 0;
  auto Free = [&](uint64_t Offset, uint64_t Size) {
    if (Size == 0)
      return;
    auto Next = Gaps.lower_bound(Offset);
    if (Next != Gaps.end() && Next->first == Offset + Size) {
      Size += Next->second;
      Next = Gaps.erase(Next);
    }
    if (Next != Gaps.begin()) {
      auto Before = std::prev(Next);
      if (Before->first + Before->second == Offset) {
        Offset = Before->first;
        Size += Before->second;
        Gaps.erase(Before);
      }
    }
    if (Offset + Size == Top)
      Top = Offset;
    else
      Gaps[Offset] = Size;
  };
  for (uint32_t Index : ByFirstStep) {
    ArenaItem &Item = Items[Index];
    while (!Live.empty() && Live.begin()->first < Item.FirstStep) {
      const ArenaItem &Dead = Items[Live.begin()->second];
      Free(Dead.Offset, paddedSize(Dead));
      Live.erase(Live.begin());
    }
    uint64_t Alignment = alignmentOf(Item), Size = paddedSize(Item);
    auto Best = Gaps.end();
    for (auto It = Gaps.begin(); It != Gaps.end(); ++It) {
      uint64_t Skip = roundUp(It->first, Alignment) - It->first;
      if (It->second >= Skip && It->second - Skip >= Size &&
          (Best == Gaps.end() || It->second < Best->second))
        Best = It;
    }
    uint64_t Begin = Top, Room = 0;
    if (Best != Gaps.end()) {
      Begin = Best->first;
      Room = Best->second;
      Gaps.erase(Best);
    }
    Item.Offset = roundUp(Begin, Alignment);
    uint64_t End = Item.Offset + Size;
    if (Room) {
      if (Begin + Room > End)
        Gaps[End] = Begin + Room - End;
    } else {
      Top = End;
    }
    if (Item.Offset > Begin)
      Gaps[Begin] = Item.Offset - Begin;
    Total = std::max(Total, End);
    Live.emplace(Item.LastStep, Index);
  }
  return Total;
}

/// The largest sum of padded sizes that are live at one step.
uint64_t largestLiveSum(const std::vector<ArenaItem> &Items) {
  std::map<uint32_t, uint64_t> Begins, Ends; // by step
  for (const ArenaItem &Item : Items) {
    Begins[Item.FirstStep] += paddedSize(Item);
    Ends[Item.LastStep] += paddedSize(Item);
  }
  uint64_t Now = 0, Largest = 0;
  auto End = Ends.begin();
  for (auto [Step, Size] : Begins) {
    for (; End != Ends.end() && End->first < Step; ++End)
      Now -= End->second;
    Now += Size;
    Largest = std::max(Largest, Now);
  }
  return Largest;
}

using Less = std::function<bool(const ArenaItem &, const ArenaItem &)>;

std::vector<uint32_t> sorted(const std::vector<ArenaItem> &Items,
                             const Less &Before) {
  std::vector<uint32_t> Order(Items.size());
  std::iota(Order.begin(), Order.end(), 0);
  std::sort(Order.begin(), Order.end(), [&](uint32_t A, uint32_t B) {
    if (Before(Items[A], Items[B]))
      return true;
    return !Before(Items[B], Items[A]) && A < B;
  });
  return Order;
}

uint64_t packShared(std::vector<ArenaItem> &Items, uint64_t LiveBytes) {
  auto First = [](const ArenaItem &A, const ArenaItem &B) {
    return A.FirstStep < B.FirstStep;
  };
  if (Items.size() > QuadraticLimit)
    return placeByStep(Items, sorted(Items, First));
  // The largest first is usually best; the others help where it is not.
  const Less Orders[] = {
      [](const ArenaItem &A, const ArenaItem &B) {
        return paddedSize(A) > paddedSize(B);
      },
      [](const ArenaItem &A, const ArenaItem &B) {
        uint32_t LengthA = A.LastStep - A.FirstStep;
        uint32_t LengthB = B.LastStep - B.FirstStep;
        return LengthA != LengthB ? LengthA > LengthB
                                  : paddedSize(A) > paddedSize(B);
      },
      First,
      [](const ArenaItem &A, const ArenaItem &B) {
        return A.LastStep > B.LastStep;
      },
  };
  std::vector<ArenaItem> Best;
  uint64_t BestSize = ~uint64_t(0);
  for (const Less &Before : Orders) {
    uint64_t Size = placeInOrder(Items, sorted(Items, Before));
    if (Size < BestSize) {
      BestSize = Size;
      Best = Items;
    }
    if (BestSize == LiveBytes) // nothing is better
      break;
  }
  Items = std::move(Best);
  return BestSize;
}

} // namespace

std::optional<ArenaPlan> packArena(std::vector<ArenaItem> &Items, bool Reuse) {
  ArenaPlan Plan;
  for (ArenaItem &Item : Items) {
    if (Item.Size > LargestSum)
      return std::nullopt;
    Item.Offset = Plan.SumBytes = roundUp(Plan.SumBytes, alignmentOf(Item));
    Plan.SumBytes += paddedSize(Item);
    if (Plan.SumBytes > LargestSum)
      return std::nullopt;
  }
  Plan.Size = Plan.SumBytes;
  if (Items.empty())
    return Plan;
  Plan.LiveBytes = largestLiveSum(Items);
  if (Reuse)
    Plan.Size = packShared(Items, Plan.LiveBytes);
  return Plan;
}

} // namespace kpc::rt
