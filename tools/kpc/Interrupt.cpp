//===- Interrupt.cpp - Ctrl-C ---------------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Interrupt.h"

#include "tools/kpc/Command.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstring>
#include <sys/time.h>
#include <unistd.h>

namespace kpc::cli {

static std::atomic<bool> Polled{false}, Seen{false};
static_assert(std::atomic<bool>::is_always_lock_free);

static void endNow() {
  static constexpr char Text[] = "\ninterrupted\n";
  (void)!::write(STDERR_FILENO, Text, sizeof(Text) - 1);
  ::_exit(Interrupted);
}

static void onSignal(int Signal) {
  if (!Polled || Seen.exchange(true) || Signal == SIGALRM)
    endNow();
  // What does not look at the flag for this long is not going to.
  itimerval Timer{};
  Timer.it_value.tv_sec = 3;
  ::setitimer(ITIMER_REAL, &Timer, nullptr);
}

void catchInterrupts() {
  struct sigaction Act{};
  Act.sa_handler = onSignal;
  Act.sa_flags = SA_RESTART;
  ::sigemptyset(&Act.sa_mask);
  for (int Signal : {SIGINT, SIGTERM, SIGHUP, SIGALRM})
    ::sigaction(Signal, &Act, nullptr);
}

PolledInterrupts::PolledInterrupts() { Polled = true; }
PolledInterrupts::~PolledInterrupts() { Polled = false; }

bool interrupted() { return Seen; }

static const char *TimeLimitText = "";

static void onTimeLimit(int) {
  (void)!::write(STDERR_FILENO, TimeLimitText, std::strlen(TimeLimitText));
  ::_exit(InputAtFault);
}

static void setTimer(double Seconds) {
  itimerval Timer{};
  double Whole = std::floor(Seconds);
  Timer.it_value.tv_sec = static_cast<time_t>(Whole);
  Timer.it_value.tv_usec = static_cast<suseconds_t>((Seconds - Whole) * 1e6);
  ::setitimer(ITIMER_REAL, &Timer, nullptr);
}

TimeLimit::TimeLimit(double Seconds, const char *Text) {
  if (Seconds <= 0)
    return;
  TimeLimitText = Text;
  ::signal(SIGALRM, onTimeLimit);
  // A timer of 0 is none.
  setTimer(std::max(Seconds, 1e-3));
}

TimeLimit::~TimeLimit() { setTimer(0); }

} // namespace kpc::cli
