//===- Interrupt.h - Ctrl-C ------------------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ctrl-C and termination end kpc with exit code 130. Files have no name until
/// they are complete and workers end with the process, so ending at once leaves
/// nothing behind. A command that asks `interrupted()` gets a few seconds to
/// end by itself first; a second Ctrl-C ends it at once.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_INTERRUPT_H
#define KPC_TOOLS_KPC_INTERRUPT_H

namespace kpc::cli {

/// From now on signals end the process with 130.
void catchInterrupts();
/// The command looks at `interrupted()` while this lives.
class PolledInterrupts {
public:
  PolledInterrupts();
  ~PolledInterrupts();
};
bool interrupted();

/// Ends the process with exit code 1 when this has lived for so many seconds;
/// 0: never. Nothing else ends native code that runs for ever. `Text` is said
/// then, and must live as long.
class TimeLimit {
public:
  TimeLimit(double Seconds, const char *Text);
  TimeLimit(const TimeLimit &) = delete;
  TimeLimit &operator=(const TimeLimit &) = delete;
  ~TimeLimit();
};

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_INTERRUPT_H
