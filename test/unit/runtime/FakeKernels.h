//===- FakeKernels.h - The kernels of the fake driver -----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TEST_UNIT_RUNTIME_FAKEKERNELS_H
#define KPC_TEST_UNIT_RUNTIME_FAKEKERNELS_H

#include "test/unit/runtime/FakeTensorMap.h"

#include <cstring>

namespace kpc::test {

using KernelBody = void (*)(void **Params);

template <class T> T param(void **Params, int Index) {
  return *static_cast<T *>(Params[Index]);
}

inline void add(void **P) {
  for (int64_t I = 0; I < param<int64_t>(P, 3); ++I)
    param<float *>(P, 2)[I] = param<float *>(P, 0)[I] + param<float *>(P, 1)[I];
}
inline void scale(void **P) {
  for (int64_t I = 0; I < param<int64_t>(P, 3); ++I)
    param<float *>(P, 1)[I] =
        param<float *>(P, 0)[I] * float(param<int64_t>(P, 2));
}
inline void sumRows(void **P) {
  int64_t Cols = param<int64_t>(P, 2);
  for (int64_t R = 0; R < param<int64_t>(P, 3); ++R) {
    float Sum = 0;
    for (int64_t C = 0; C < Cols; ++C)
      Sum += param<float *>(P, 0)[R * Cols + C];
    param<float *>(P, 1)[R] = Sum;
  }
}

// The same through tensor maps, which follow the other parameters: a map that
// is blank or of another address gives a wrong result.
template <KernelBody Body, int Buffers> void mapped(void **P) {
  void *Given[4] = {P[0], P[1], P[2], P[3]};
  uint64_t Addresses[Buffers];
  for (int I = 0; I < Buffers; ++I) {
    const auto *Map = static_cast<const FakeTensorMap *>(P[4 + I]);
    if (Map->Magic != FakeTensorMap::Mark)
      return;
    Addresses[I] = Map->Address;
    Given[I] = &Addresses[I];
  }
  Body(Given);
}

// The runtime's own (ConditionKernels.h). A node's handle is an address.
inline void decide(void **P) {
  auto *Slot = param<uint64_t *>(P, 1);
  uint64_t Flags = param<uint64_t>(P, 2);
  uint64_t Count = Flags & 6 ? *Slot : 0;
  if (Flags & 2)
    ++Count;
  if (Flags & 1)
    *Slot = Count;
  bool Holds = Flags & 4 ? Count & 1 : *param<uint8_t *>(P, 0) != 0;
  unsigned Runs = Holds && Count < param<uint64_t>(P, 3);
  *param<unsigned *>(P, 4) = Runs;
  if (Flags & 8)
    *param<unsigned *>(P, 5) = Flags & 16 ? !Runs : Runs;
}
inline void move(void **P) {
  uint64_t Times = *param<uint64_t *>(P, 0) / 2;
  std::memcpy(param<char *>(P, 1) + Times * param<uint64_t>(P, 2),
              param<char *>(P, 3) + Times * param<uint64_t>(P, 4),
              param<uint64_t>(P, 5));
}

struct Kernel {
  const char *Name;
  KernelBody Body;
  int Params, Maps = 0;
};
inline constexpr Kernel Kernels[] = {
    {"kpc_add", add, 4},
    {"kpc_scale", scale, 4},
    {"kpc_sum_rows", sumRows, 4},
    {"kpc_decide", decide, 6},
    {"kpc_move", move, 6},
    {"kpc_add_mapped", mapped<add, 3>, 4, 3},
    {"kpc_scale_mapped", mapped<scale, 2>, 4, 2}};

} // namespace kpc::test

#endif // KPC_TEST_UNIT_RUNTIME_FAKEKERNELS_H
