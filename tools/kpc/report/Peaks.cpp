//===- Peaks.cpp - What a device can do at best ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/report/Peaks.h"

#include "compiler/target/Target.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

namespace kpc::cli {

std::vector<Peaks::Rate> Peaks::rates() const {
  std::vector<Rate> Out;
  auto Add = [&](const char *Name, double Tflops) {
    if (Tflops > 0)
      Out.push_back({Name, Tflops});
  };
  bool Tensor = Fp16 > 0 || Tf32 > 0;
  Add(Tensor ? "fp32 without Tensor Cores" : "fp32", Fp32);
  Add("tf32 Tensor Cores", Tf32);
  Add("fp16 Tensor Cores", Fp16);
  std::stable_sort(Out.begin(), Out.end(), [](const Rate &A, const Rate &B) {
    return A.Tflops < B.Tflops;
  });
  return Out;
}

Peaks peaksOf(const std::string &Target) {
  Peaks Out;
  const target::Target *T = target::findTarget(Target);
  if (!T || T->Cost.DramGBps <= 0)
    return Out;
  Out.Of = std::string(T->Cost.Reference) + ", by its data sheet";
  Out.GBps = T->Cost.DramGBps;
  Out.Fp32 = T->Cost.Fp32;
  Out.Tf32 = T->Cost.Tf32;
  Out.Fp16 = T->Cost.Fp16;
  Out.Fp8 = T->Cost.Fp8;
  Out.Int8 = T->Cost.Int8;
  return Out;
}

//===----------------------------------------------------------------------===//
// The host's
//===----------------------------------------------------------------------===//

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point Start) {
  return std::chrono::duration<double>(Clock::now() - Start).count();
}

/// Each of the threads runs `Work` with its number; the seconds of the slowest.
template <class F> static double secondsOfAll(int Threads, F Work) {
  std::vector<std::thread> All;
  All.reserve(Threads);
  Clock::time_point Start = Clock::now();
  for (int I = 0; I < Threads; ++I)
    All.emplace_back(Work, I);
  for (std::thread &T : All)
    T.join();
  return secondsSince(Start);
}

#if defined(__x86_64__)
/// Enough sums side by side to hide a multiply-add's latency, few enough for
/// the registers. Lanes × sums × 2 operations a turn.
template <class Vector, int Sums>
[[gnu::always_inline]] static inline float multiplyAdds(int64_t Turns) {
  Vector Sum[Sums], Factor = {}, Term = {};
  for (size_t Lane = 0; Lane < sizeof(Vector) / sizeof(float); ++Lane) {
    Factor[Lane] = 0.999F;
    Term[Lane] = 0.001F;
  }
  for (int I = 0; I < Sums; ++I)
    Sum[I] = Factor + static_cast<float>(I);
  for (int64_t Turn = 0; Turn < Turns; ++Turn)
#pragma clang loop unroll(full)
    for (int I = 0; I < Sums; ++I) {
#pragma clang fp contract(fast)
      Sum[I] = Sum[I] * Factor + Term;
    }
  for (int I = 1; I < Sums; ++I)
    Sum[0] += Sum[I];
  return Sum[0][0];
}

using Floats16 = float __attribute__((vector_size(64)));
using Floats8 = float __attribute__((vector_size(32)));
using Floats4 = float __attribute__((vector_size(16)));

constexpr int WideSums = 20, NarrowSums = 12;

[[gnu::target("avx512f")]] static float with512(int64_t Turns) {
  return multiplyAdds<Floats16, WideSums>(Turns);
}
[[gnu::target("avx2,fma")]] static float with256(int64_t Turns) {
  return multiplyAdds<Floats8, NarrowSums>(Turns);
}
static float with128(int64_t Turns) {
  return multiplyAdds<Floats4, NarrowSums>(Turns);
}

/// 10^12 operations a second.
static double measureFp32(int Threads) {
  bool Wide = __builtin_cpu_supports("avx512f");
  bool Fused = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  float (*Run)(int64_t) = Wide ? with512 : Fused ? with256 : with128;
  double Each = 2.0 * (Wide    ? 16.0 * WideSums
                       : Fused ? 8.0 * NarrowSums
                               : 4.0 * NarrowSums);
  constexpr int64_t Turns = 2'000'000;
  double Best = 0;
  for (int Try = 0; Try < 12; ++Try) {
    double Seconds = secondsOfAll(Threads, [&](int) {
      volatile float Kept = Run(Turns);
      static_cast<void>(Kept);
    });
    Best = std::max(Best, Each * Turns * Threads / Seconds / 1e12);
  }
  return Best;
}
#else
static double measureFp32(int) { return 0; }
#endif

/// 10^9 bytes a second, read.
static double measureMemory(int Threads) {
  constexpr size_t Bytes = size_t(256) << 20; // more than caches hold
  size_t Numbers = Bytes / sizeof(uint64_t);
  std::unique_ptr<uint64_t[]> Data(new (std::nothrow) uint64_t[Numbers]);
  if (!Data)
    return 0;
  auto PartOf = [&](int I) {
    return Numbers * static_cast<size_t>(I) / static_cast<size_t>(Threads);
  };
  secondsOfAll(Threads, [&](int I) {
    std::fill(&Data[PartOf(I)], &Data[0] + PartOf(I + 1), 1);
  });
  double Best = 0;
  for (int Try = 0; Try < 3; ++Try) {
    double Seconds = secondsOfAll(Threads, [&](int I) {
      uint64_t Sum = 0;
      for (size_t At = PartOf(I); At < PartOf(I + 1); ++At)
        Sum += Data[At];
      volatile uint64_t Kept = Sum;
      static_cast<void>(Kept);
    });
    Best = std::max(Best, static_cast<double>(Bytes) / Seconds / 1e9);
  }
  return Best;
}

Peaks measureHostPeaks(int Threads) {
  if (Threads <= 0)
    Threads =
        static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  Peaks Out;
  Out.Of = "this processor, measured";
  Out.GBps = measureMemory(Threads);
  Out.Fp32 = measureFp32(Threads);
  return Out;
}

} // namespace kpc::cli
