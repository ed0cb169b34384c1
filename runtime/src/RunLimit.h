//===- RunLimit.h - How long a run may take ---------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_RUNLIMIT_H
#define KPC_RUNTIME_SRC_RUNLIMIT_H

#include "runtime/src/Errors.h"

#include <algorithm>
#include <chrono>

namespace kpc::rt {

class RunLimit {
public:
  using Clock = std::chrono::steady_clock;

  /// 0: none.
  explicit RunLimit(int64_t Microseconds)
      : Most(std::min(Microseconds, Longest)) {}

  void start() { End = isSet() ? Clock::now() + Most : Never; }
  /// Until the next start.
  void lift() { End = Never; }
  bool isSet() const { return Most.count() > 0; }
  bool applies() const { return End != Never; }
  bool isOver() const { return applies() && Clock::now() >= End; }

  Error error() const {
    Error E = failure(ErrorCode::TimedOut,
                      "the run takes longer than the %.3g s that the session "
                      "allows",
                      std::chrono::duration<double>(Most).count());
    E.Hint = "give the session a larger max_run_us, or smaller inputs";
    return E;
  }

private:
  static constexpr Clock::time_point Never = Clock::time_point::max();
  // Nine years, which a clock's nanoseconds hold.
  static constexpr int64_t Longest = int64_t(1) << 48;

  std::chrono::microseconds Most;
  Clock::time_point End = Never;
};

} // namespace kpc::rt

#endif // KPC_RUNTIME_SRC_RUNLIMIT_H
