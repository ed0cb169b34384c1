//===- Arena.cpp - Packs values into one block of memory ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/Arena.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace kpc::rt {

namespace {

/// No item starts at less than this: a kernel's widest vector is 64 bytes.
constexpr uint64_t LeastAlignment = 64;
/// Pairs of items that live together, up to which the better search is used:
/// about 100 MB and half a second.
constexpr size_t MostPairs = size_t(1) << 23;
/// Pairs looked at while improving on the first orders, about 30 ms.
constexpr size_t SearchBudget = size_t(1) << 23;
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

/// For each item those that live at the same time; none if there are too many.
/// Item i's are Others[Starts[i]] … Others[Starts[i + 1] - 1].
struct Neighbours {
  std::vector<size_t> Starts;
  std::vector<uint32_t> Others;
};

std::optional<Neighbours> findNeighbours(const std::vector<ArenaItem> &Items,
                                         const std::vector<uint32_t> &ByFirst) {
  std::vector<std::pair<uint32_t, uint32_t>> Pairs;
  std::vector<uint32_t> Live;
  for (uint32_t Index : ByFirst) {
    std::erase_if(Live, [&](uint32_t Other) {
      return Items[Other].LastStep < Items[Index].FirstStep;
    });
    if (Pairs.size() + Live.size() > MostPairs)
      return std::nullopt;
    for (uint32_t Other : Live)
      Pairs.emplace_back(Index, Other);
    Live.push_back(Index);
  }
  Neighbours Out;
  Out.Starts.assign(Items.size() + 1, 0);
  for (auto [A, B] : Pairs) {
    ++Out.Starts[A + 1];
    ++Out.Starts[B + 1];
  }
  std::partial_sum(Out.Starts.begin(), Out.Starts.end(), Out.Starts.begin());
  Out.Others.resize(2 * Pairs.size());
  std::vector<size_t> Next(Out.Starts.begin(), Out.Starts.end() - 1);
  for (auto [A, B] : Pairs) {
    Out.Others[Next[A]++] = B;
    Out.Others[Next[B]++] = A;
  }
  return Out;
}

/// Places items in the given order, each in the lowest gap between those placed
/// before that are live at the same time. Returns the block's size.
uint64_t placeInOrder(std::vector<ArenaItem> &Items, const Neighbours &Near,
                      const std::vector<uint32_t> &Order) {
  std::vector<bool> Placed(Items.size());
  std::vector<std::pair<uint64_t, uint64_t>> Taken; // begin, end
  uint64_t Total = 0;
  for (uint32_t Index : Order) {
    ArenaItem &Item = Items[Index];
    Taken.clear();
    for (size_t I = Near.Starts[Index]; I < Near.Starts[Index + 1]; ++I) {
      const ArenaItem &There = Items[Near.Others[I]];
      if (Placed[Near.Others[I]])
        Taken.emplace_back(There.Offset, There.Offset + paddedSize(There));
    }
    std::sort(Taken.begin(), Taken.end());
    uint64_t Alignment = alignmentOf(Item), Size = paddedSize(Item), At = 0;
    for (auto [Begin, End] : Taken) {
      if (At + Size <= Begin)
        break;
      At = std::max(At, roundUp(End, Alignment));
    }
    Item.Offset = At;
    Placed[Index] = true;
    Total = std::max(Total, At + Size);
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

using Less = bool (*)(const ArenaItem &, const ArenaItem &);

std::vector<uint32_t> sorted(const std::vector<ArenaItem> &Items, Less Before) {
  std::vector<uint32_t> Order(Items.size());
  std::iota(Order.begin(), Order.end(), 0);
  std::sort(Order.begin(), Order.end(), [&](uint32_t A, uint32_t B) {
    if (Before(Items[A], Items[B]))
      return true;
    return !Before(Items[B], Items[A]) && A < B;
  });
  return Order;
}

bool byFirstStep(const ArenaItem &A, const ArenaItem &B) {
  return A.FirstStep < B.FirstStep;
}

/// The orders that are tried first. The largest first is usually best.
constexpr Less Orders[] = {
    [](const ArenaItem &A, const ArenaItem &B) {
      return paddedSize(A) > paddedSize(B);
    },
    [](const ArenaItem &A, const ArenaItem &B) {
      uint32_t LengthA = A.LastStep - A.FirstStep;
      uint32_t LengthB = B.LastStep - B.FirstStep;
      return LengthA != LengthB ? LengthA > LengthB
                                : paddedSize(A) > paddedSize(B);
    },
    byFirstStep,
    [](const ArenaItem &A, const ArenaItem &B) {
      return A.LastStep > B.LastStep;
    },
};

/// Looks for a small packing: some orders, then the best of them again and
/// again with the items that stick out moved towards the front.
class Search {
public:
  Search(std::vector<ArenaItem> &Items, const Neighbours &Near,
         uint64_t LiveBytes)
      : Items(Items), Near(Near), GoodEnough(LiveBytes + LiveBytes / 64) {}

  uint64_t run() {
    for (Less Before : Orders)
      if (attempt(sorted(Items, Before)))
        return finish();
    std::vector<uint32_t> Order = BestOrder;
    size_t Cost = Near.Others.size() + 16 * Items.size();
    for (size_t Spent = 0; Spent < SearchBudget; Spent += Cost) {
      // Those that end in the uppermost sixteenth above what is good enough.
      uint64_t Limit = GoodEnough + (LastSize - GoodEnough) * 15 / 16;
      std::vector<uint32_t> Next;
      for (size_t I = 0; I < Order.size(); ++I) {
        uint32_t Item = Order[I];
        Next.push_back(Item);
        if (Items[Item].Offset + paddedSize(Items[Item]) <= Limit)
          continue;
        size_t To = I / 2;
        std::rotate(Next.begin() + std::ptrdiff_t(To), Next.end() - 1,
                    Next.end());
      }
      Order = std::move(Next);
      if (attempt(Order))
        break;
    }
    return finish();
  }

private:
  bool attempt(std::vector<uint32_t> Order) {
    LastSize = placeInOrder(Items, Near, Order);
    if (LastSize < BestSize) {
      BestSize = LastSize;
      Best = Items;
      BestOrder = std::move(Order);
    }
    return BestSize <= GoodEnough;
  }
  uint64_t finish() {
    Items = std::move(Best);
    return BestSize;
  }

  std::vector<ArenaItem> &Items;
  const Neighbours &Near;
  uint64_t GoodEnough, LastSize = 0, BestSize = ~uint64_t(0);
  std::vector<ArenaItem> Best;
  std::vector<uint32_t> BestOrder;
};

uint64_t packShared(std::vector<ArenaItem> &Items, uint64_t LiveBytes) {
  std::vector<uint32_t> ByFirst = sorted(Items, byFirstStep);
  std::optional<Neighbours> Near = findNeighbours(Items, ByFirst);
  if (!Near)
    return placeByStep(Items, ByFirst);
  return Search(Items, *Near, LiveBytes).run();
}

} // namespace

/// Each stage above what lives on from those before it.
static uint64_t packStages(std::vector<ArenaItem> &Items, uint64_t LiveBytes) {
  uint32_t Stages = 0;
  for (const ArenaItem &Item : Items)
    Stages = std::max(Stages, Item.Stage + 1);
  if (Stages <= 1)
    return packShared(Items, LiveBytes);
  uint64_t Total = 0;
  for (uint32_t Stage = 0; Stage < Stages; ++Stage) {
    std::vector<uint32_t> Indices;
    std::vector<ArenaItem> Own;
    uint32_t First = ~uint32_t(0);
    for (uint32_t I = 0; I < Items.size(); ++I)
      if (Items[I].Stage == Stage) {
        Indices.push_back(I);
        Own.push_back(Items[I]);
        First = std::min(First, Items[I].FirstStep);
      }
    if (Own.empty())
      continue;
    uint64_t Above = 0, Alignment = LeastAlignment;
    for (const ArenaItem &Item : Own)
      Alignment = std::max(Alignment, alignmentOf(Item));
    for (const ArenaItem &Item : Items)
      if (Item.Stage < Stage && Item.LastStep >= First)
        Above = std::max(Above, Item.Offset + paddedSize(Item));
    Above = roundUp(Above, Alignment);
    uint64_t Size = packShared(Own, largestLiveSum(Own));
    for (size_t I = 0; I < Own.size(); ++I)
      Items[Indices[I]].Offset = Above + Own[I].Offset;
    Total = std::max(Total, Above + Size);
  }
  return Total;
}

std::optional<ArenaPlan> packArena(std::vector<ArenaItem> &Items, bool Reuse) {
  ArenaPlan Plan;
  std::vector<uint32_t> ByStage(Items.size());
  std::iota(ByStage.begin(), ByStage.end(), 0);
  std::stable_sort(ByStage.begin(), ByStage.end(), [&](uint32_t A, uint32_t B) {
    return Items[A].Stage < Items[B].Stage;
  });
  for (uint32_t Index : ByStage) {
    ArenaItem &Item = Items[Index];
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
    Plan.Size = packStages(Items, Plan.LiveBytes);
  return Plan;
}

} // namespace kpc::rt
