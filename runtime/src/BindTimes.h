//===- BindTimes.h - What binding a shape takes of the host -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_BINDTIMES_H
#define KPC_RUNTIME_SRC_BINDTIMES_H

#include "kpc/runtime.h"

#include <chrono>

namespace kpc::rt {

/// Adds the time that it lives to a number, in microseconds.
class Lap {
public:
  explicit Lap(double &To) : To(To), Start(Clock::now()) {}
  Lap(const Lap &) = delete;
  Lap &operator=(const Lap &) = delete;
  ~Lap() {
    To +=
        std::chrono::duration<double, std::micro>(Clock::now() - Start).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  double &To;
  Clock::time_point Start;
};

} // namespace kpc::rt

#endif // KPC_RUNTIME_SRC_BINDTIMES_H
