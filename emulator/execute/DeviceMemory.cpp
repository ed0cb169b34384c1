//===- DeviceMemory.cpp - The emulated device's memory --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/execute/DeviceMemory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace kpc::emulator {

static constexpr uint64_t Alignment = 256;
/// What fresh memory holds: a NaN as f32, far from any index as integer.
static constexpr int FreshByte = 0xFF;

static uint64_t rounded(uint64_t Bytes) {
  return (std::max<uint64_t>(Bytes, 1) + Alignment - 1) / Alignment * Alignment;
}

const MemoryRange *findRange(const MemoryMap &Map, uint64_t Address) {
  auto It = std::upper_bound(
      Map.begin(), Map.end(), Address,
      [](uint64_t A, const MemoryRange &R) { return A < R.Begin; });
  if (It == Map.begin())
    return nullptr;
  --It;
  return Address < It->End ? &*It : nullptr;
}

uint64_t distanceFrom(const MemoryRange &R, uint64_t Address) {
  return Address < R.Begin ? R.Begin - Address
         : Address < R.End ? 0
                           : Address - R.End + 1;
}

const MemoryRange *nearestRange(const MemoryMap &Map, uint64_t Address) {
  auto It = std::upper_bound(
      Map.begin(), Map.end(), Address,
      [](uint64_t A, const MemoryRange &R) { return A < R.Begin; });
  const MemoryRange *Best = nullptr;
  for (auto Near : {It, It == Map.begin() ? Map.end() : std::prev(It)})
    if (Near != Map.end() &&
        (!Best || distanceFrom(*Near, Address) <= distanceFrom(*Best, Address)))
      Best = &*Near;
  return Best;
}

DeviceMemory::~DeviceMemory() {
  for (auto &[Address, B] : All)
    if (B.Live)
      std::free(reinterpret_cast<void *>(Address));
}

void DeviceMemory::forgetDead(uint64_t Begin, uint64_t End) {
  auto It = All.lower_bound(Begin);
  if (It != All.begin() &&
      std::prev(It)->first + std::prev(It)->second.Bytes > Begin)
    --It;
  while (It != All.end() && It->first < End)
    It = All.erase(It);
}

uint64_t DeviceMemory::allocate(uint64_t Bytes, bool ReadOnly,
                                const std::string &Variable) {
  std::lock_guard<std::mutex> Guard(Lock);
  if (Bytes > Limit || Used + rounded(Bytes) > Limit)
    return 0;
  void *Host = std::aligned_alloc(Alignment, rounded(Bytes));
  if (!Host)
    return 0;
  std::memset(Host, FreshByte, Bytes);
  auto Address = reinterpret_cast<uint64_t>(Host);
  forgetDead(Address, Address + rounded(Bytes));
  All[Address] = {Bytes, true, ReadOnly, /*Written=*/false,
                  Variable.empty() ? nullptr
                                   : Names.insert(Variable).first->c_str()};
  Used += rounded(Bytes);
  Current.reset();
  return Address;
}

bool DeviceMemory::release(uint64_t Address) {
  std::lock_guard<std::mutex> Guard(Lock);
  auto It = All.find(Address);
  if (It == All.end() || !It->second.Live)
    return false;
  It->second.Live = false;
  Used -= rounded(It->second.Bytes);
  std::free(reinterpret_cast<void *>(Address));
  Current.reset();
  return true;
}

bool DeviceMemory::find(uint64_t Address, uint64_t &Base,
                        uint64_t &Bytes) const {
  std::lock_guard<std::mutex> Guard(Lock);
  auto It = All.upper_bound(Address);
  if (It == All.begin())
    return false;
  --It;
  Base = It->first;
  Bytes = It->second.Bytes;
  return It->second.Live && Address - Base < std::max<uint64_t>(Bytes, 1);
}

bool DeviceMemory::covers(uint64_t Address, uint64_t Bytes) const {
  uint64_t Base = 0, Size = 0;
  return find(Address, Base, Size) && Bytes <= Size &&
         Address - Base <= Size - Bytes;
}

std::shared_ptr<const MemoryMap> DeviceMemory::snapshot() const {
  std::lock_guard<std::mutex> Guard(Lock);
  if (!Current) {
    auto Map = std::make_shared<MemoryMap>();
    for (const auto &[Address, B] : All)
      Map->push_back({Address, Address + B.Bytes, B.Live, B.ReadOnly, B.Written,
                      B.Variable});
    Current = std::move(Map);
  }
  return Current;
}

void DeviceMemory::markWritten(uint64_t Address) {
  std::lock_guard<std::mutex> Guard(Lock);
  auto It = All.find(Address);
  if (It == All.end() || It->second.Written)
    return;
  It->second.Written = true;
  Current.reset();
}

uint64_t DeviceMemory::used() const {
  std::lock_guard<std::mutex> Guard(Lock);
  return Used;
}

} // namespace kpc::emulator
