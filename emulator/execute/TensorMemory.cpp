//===- TensorMemory.cpp - Tensor memory of a block ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/execute/TensorMemory.h"

namespace kpc::emulator {

/// What fresh tensor memory holds: a NaN as f32 and as f16.
static constexpr uint32_t Fresh = 0xFFFFFFFF;

void TensorMemory::reset(const Agents &Of, uint64_t Seed) {
  Cells.assign(size_t{Lanes} * Columns, Fresh);
  Set.assign(size_t{Lanes} * Columns, false);
  All.clear();
  Least = Columns;
  MayAllocate = true;
  Choose = Choices(Seed);
  Shadow.reset(uint64_t{Lanes} / GroupLanes * Columns, Of);
}

bool TensorMemory::isAllocated(unsigned Column, unsigned Count) const {
  unsigned End = Column + Count;
  for (const Allocation &A : All)
    if (A.Column <= Column && Column < A.Column + A.Columns)
      Column = A.Column + A.Columns; // the next one may go on there
  return Column >= End;
}

std::vector<unsigned> TensorMemory::placesFor(unsigned Count) const {
  std::vector<unsigned> Out;
  for (unsigned At = 0; At + Count <= Columns; At += Unit) {
    bool Free = true;
    for (const Allocation &A : All)
      Free &= At + Count <= A.Column || At >= A.Column + A.Columns;
    if (Free)
      Out.push_back(At);
  }
  return Out;
}

unsigned TensorMemory::choose(const std::vector<unsigned> &Places) {
  return Places[Choose.below(static_cast<uint32_t>(Places.size()))];
}

void TensorMemory::allocate(const Allocation &A) {
  auto It = All.begin();
  while (It != All.end() && It->Column < A.Column)
    ++It;
  All.insert(It, A);
  Least = A.Columns;
}

bool TensorMemory::release(unsigned Column, unsigned Count) {
  for (auto It = All.begin(); It != All.end(); ++It) {
    if (It->Column != Column || It->Columns != Count)
      continue;
    All.erase(It);
    for (unsigned Lane = 0; Lane < Lanes; ++Lane)
      for (unsigned C = Column; C < Column + Count; ++C) {
        at(Lane, C) = Fresh;
        Set[Lane * Columns + C] = false;
      }
    for (unsigned G = 0; G < Lanes / GroupLanes; ++G)
      Shadow.forget(uint64_t{G} * Columns + Column, Count);
    return true;
  }
  return false;
}

Conflict TensorMemory::access(const TensorArea &Area, const SharedAccess &A,
                              const Knowledge &Now, unsigned &Group) {
  unsigned Last = (Area.Lane + Area.Lanes - 1) / GroupLanes;
  for (Group = Area.Lane / GroupLanes; Group <= Last; ++Group)
    if (Conflict C = Shadow.access(uint64_t{Group} * Columns + Area.Column,
                                   Area.Columns, A, Now);
        C.TheKind != Conflict::Kind::None)
      return C;
  return {};
}

} // namespace kpc::emulator
