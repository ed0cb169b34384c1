//===- Fault.h - Faults of kpc's own ----------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A crash or an exception that reaches main() is an internal fault: exit code
/// 70, with a reproducer (a shell script that does the same again) and the
/// command that replays it.
///
/// Tests ask for one with the environment variable KPC_CRASH_FOR_TESTING:
/// `abort`, `segv`, `throw` or `memory` in this process, `worker` in a worker;
/// `hang` makes workers wait for ever.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_FAULT_H
#define KPC_TOOLS_KPC_FAULT_H

#include <string>
#include <string_view>

namespace kpc::cli {

/// From now on a crash is reported. Call it in main() after setCommandLine.
void catchFaults();
/// Where reproducers go: TMPDIR, else /tmp.
std::string reproducerFolder();

/// Says what happened, writes the reproducer, returns the exit code 70.
int reportFault(std::string_view What);

/// Crashes where KPC_CRASH_FOR_TESTING asks for it.
void crashForTesting(bool InWorker);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_FAULT_H
