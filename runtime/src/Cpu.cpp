//===- Cpu.cpp - What this processor can run ------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/Cpu.h"

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace kpc::rt {

#if defined(__x86_64__)
namespace {

// Intel SDM, volume 2, CPUID: registers of the leaves 1, 7 and 0x80000001.
struct Leaves {
  uint32_t Ecx1 = 0, Ebx7 = 0, EcxExtended = 0;
  uint64_t Saved = 0; ///< XCR0: registers that the system saves
};

Leaves readLeaves() {
  Leaves L;
  uint32_t A, B, C, D;
  if (__get_cpuid(1, &A, &B, &C, &D))
    L.Ecx1 = C;
  if (__get_cpuid_count(7, 0, &A, &B, &C, &D))
    L.Ebx7 = B;
  if (__get_cpuid(0x80000001, &A, &B, &C, &D))
    L.EcxExtended = C;
  if (L.Ecx1 & bit_OSXSAVE) {
    uint32_t Low, High;
    __asm__("xgetbv" : "=a"(Low), "=d"(High) : "c"(0));
    L.Saved = uint64_t(High) << 32 | Low;
  }
  return L;
}

bool all(uint64_t Bits, uint64_t Needed) { return (Bits & Needed) == Needed; }

} // namespace

int cpuLevel() {
  constexpr uint32_t Lahf = 1u << 0, Lzcnt = 1u << 5; // leaf 0x80000001
  constexpr uint64_t Ymm = 0x6, Zmm = 0xe6;           // XCR0
  Leaves L = readLeaves();
  if (!all(L.Ecx1, bit_SSE3 | bit_SSSE3 | bit_SSE4_1 | bit_SSE4_2 | bit_POPCNT |
                       bit_CMPXCHG16B) ||
      !all(L.EcxExtended, Lahf))
    return 1;
  if (!all(L.Ecx1, bit_AVX | bit_F16C | bit_FMA | bit_MOVBE) ||
      !all(L.Ebx7, bit_AVX2 | bit_BMI | bit_BMI2) ||
      !all(L.EcxExtended, Lzcnt) || !all(L.Saved, Ymm))
    return 2;
  if (!all(L.Ebx7, bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ |
                       bit_AVX512VL) ||
      !all(L.Saved, Zmm))
    return 3;
  return 4;
}
#else
int cpuLevel() { return 0; }
#endif

const char *cpuLevelName(int Level) {
  const char *Names[] = {"no x86-64", "x86-64", "x86-64-v2", "x86-64-v3",
                         "x86-64-v4"};
  return Names[Level < 0 || Level > 4 ? 0 : Level];
}

} // namespace kpc::rt
