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
/// 70, with a reproducer and the command that replays it. The reproducer is a
/// folder:
///
///   kpc-fault-4711/replay.sh          does the same again
///   kpc-fault-4711/input1/model.onnx  what the command read, where it is small
///   kpc-fault-4711/input1/model.data
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
#include <vector>

namespace kpc::cli {

/// From now on a crash is reported. Call it in main() after setCommandLine.
void catchFaults();
/// Where reproducers go: TMPDIR, else /tmp.
std::string reproducerFolder();

/// The command reads `Path`, and with it the files `Beside`, in its folder or
/// below. Nothing is copied before there is a fault.
void reproduceWith(const std::string &Path,
                   const std::vector<std::string> &Beside = {});

/// Says what happened, writes the reproducer, returns the exit code 70.
int reportFault(std::string_view What);

/// Crashes where KPC_CRASH_FOR_TESTING asks for it.
void crashForTesting(bool InWorker);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_FAULT_H
