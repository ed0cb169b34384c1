//===- ThreadPool.h - Threads for one session's kernels ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs one job at a time over chunks of [0, Work). The chunks depend on the
/// job alone, not on the number of threads or on who takes them; the calling
/// thread works too. Idle threads spin shortly, then sleep.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_THREADPOOL_H
#define KPC_RUNTIME_SRC_THREADPOOL_H

#include "runtime/src/Errors.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace kpc::rt {

// The padding keeps what threads contend for on lines of their own.
class ThreadPool { // NOLINT(clang-analyzer-optin.performance.Padding)
public:
  using Body = void (*)(void *Context, int64_t Begin, int64_t End);

  /// `Threads` counts the caller's.
  static Result<std::unique_ptr<ThreadPool>> make(int Threads);
  ~ThreadPool();

  /// Calls `Function` for every chunk and returns when all are done. `Work` is
  /// less than 2^61.
  void run(int64_t Work, int64_t Chunk, Body Function, void *Context);

  int threads() const { return int(Workers.size()) + 1; }

private:
  // The job is open while it takes helpers. State: bit 30 closed, the low bits
  // count the helpers at work. Its fields change only while it is closed and
  // has none.
  static constexpr int Closed = 1 << 30;

  ThreadPool() = default;
  void workerLoop();
  void takeChunks();
  bool join();
  void leave();

  Body Function = nullptr;
  void *Context = nullptr;
  int64_t Work = 0, Chunk = 1;
  alignas(64) std::atomic<int64_t> Next{0};
  alignas(64) std::atomic<int> State{Closed};
  alignas(64) std::atomic<int> Generation{0}; ///< rises with each job
  std::atomic<bool> Stopping{false};
  std::vector<std::thread> Workers;
};

/// Processors that this process may use, by affinity and by its quota of time.
int availableProcessors();

} // namespace kpc::rt

#endif // KPC_RUNTIME_SRC_THREADPOOL_H
