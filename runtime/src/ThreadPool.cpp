//===- ThreadPool.cpp - Threads for one session's kernels -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/ThreadPool.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <sched.h>
#include <system_error>

namespace kpc::rt {

// About 20 µs: longer than the gap between two steps, shorter than it takes
// the system to wake a thread.
static constexpr int SpinCount = 4000;

static void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// A container may have many processors and the time of a few.
static int processorsOfQuota() {
  std::FILE *File = std::fopen("/sys/fs/cgroup/cpu.max", "re");
  if (!File)
    return INT_MAX;
  char Line[64] = "", *End = nullptr; // "200000 100000", or "max 100000"
  bool Read = std::fgets(Line, sizeof Line, File);
  std::fclose(File);
  long Quota = std::strtol(Line, &End, 10);
  long Period = std::strtol(End, nullptr, 10);
  if (!Read || Quota <= 0 || Period <= 0)
    return INT_MAX;
  return int(std::clamp((Quota + Period - 1) / Period, 1l, long(INT_MAX)));
}

int availableProcessors() {
  int Count = int(std::thread::hardware_concurrency());
  cpu_set_t Set;
  CPU_ZERO(&Set);
  if (::sched_getaffinity(0, sizeof Set, &Set) == 0)
    Count = CPU_COUNT(&Set);
  return std::clamp(Count, 1, processorsOfQuota());
}

Result<std::unique_ptr<ThreadPool>> ThreadPool::make(int Threads) {
  std::unique_ptr<ThreadPool> Pool(new ThreadPool);
  Pool->Workers.reserve(size_t(Threads - 1));
  try {
    for (int I = 1; I < Threads; ++I)
      Pool->Workers.emplace_back([P = Pool.get()] { P->workerLoop(); });
  } catch (const std::system_error &E) {
    Error Out = failure(ErrorCode::System, "cannot start %d threads: %s",
                        Threads, E.what());
    Out.Hint = "ask for fewer with num_threads";
    return Out;
  }
  return Pool;
}

ThreadPool::~ThreadPool() {
  Stopping.store(true);
  Generation.fetch_add(1);
  Generation.notify_all();
  for (std::thread &Worker : Workers)
    Worker.join();
}

bool ThreadPool::join() {
  int Now = State.load(std::memory_order_relaxed);
  while (!(Now & Closed))
    if (State.compare_exchange_weak(Now, Now + 1, std::memory_order_acquire,
                                    std::memory_order_relaxed))
      return true;
  return false;
}

void ThreadPool::leave() {
  if (State.fetch_sub(1, std::memory_order_acq_rel) == (Closed | 1))
    State.notify_one();
}

void ThreadPool::takeChunks() {
  for (;;) {
    int64_t Begin = Next.fetch_add(Chunk, std::memory_order_relaxed);
    if (Begin >= Work)
      return;
    Function(Context, Begin, Begin + std::min(Chunk, Work - Begin));
  }
}

void ThreadPool::workerLoop() {
  int Seen = 0;
  while (!Stopping.load(std::memory_order_acquire)) {
    int Now = Generation.load(std::memory_order_acquire);
    for (int Spin = 0; Now == Seen && Spin < SpinCount; ++Spin) {
      pause();
      Now = Generation.load(std::memory_order_acquire);
    }
    if (Now == Seen) {
      Generation.wait(Seen, std::memory_order_acquire);
      continue;
    }
    Seen = Now;
    if (join()) {
      takeChunks();
      leave();
    }
  }
}

void ThreadPool::run(int64_t TheWork, int64_t TheChunk, Body TheFunction,
                     void *TheContext) {
  if (Workers.empty() || TheChunk >= TheWork) {
    TheFunction(TheContext, 0, TheWork);
    return;
  }
  Function = TheFunction;
  Context = TheContext;
  Work = TheWork;
  Chunk = TheChunk;
  Next.store(0, std::memory_order_relaxed);
  State.store(0, std::memory_order_release);
  Generation.fetch_add(1, std::memory_order_release);
  Generation.notify_all();
  takeChunks();
  int Now = State.fetch_or(Closed, std::memory_order_acq_rel) | Closed;
  for (int Spin = 0; Now != Closed && Spin < SpinCount; ++Spin) {
    pause();
    Now = State.load(std::memory_order_acquire);
  }
  while (Now != Closed) {
    State.wait(Now, std::memory_order_acquire);
    Now = State.load(std::memory_order_acquire);
  }
}

} // namespace kpc::rt
