//===- Settings.h - The device that the environment asks for ----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   KPC_EMULATE_TARGET      sm_80, sm_90a (default), …: its compute capability
///   KPC_EMULATE_THREADS     host threads a launch may use (default: 1)
///   KPC_EMULATE_STRICT      0: no search for races and uninitialised memory,
///                           asynchronous instructions are done at once
///   KPC_EMULATE_SEED        the order of what nothing orders
///   KPC_EMULATE_MEMORY      GiB of device memory (default 16)
///   KPC_EMULATE_PTX         a folder of texts to load in place of the module's
///   KPC_EMULATE_TIME_LIMIT  seconds that a launch may take (default: any)
///
/// A value that is none of these is told by cuInit, which fails.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_DRIVER_SETTINGS_H
#define KPC_EMULATOR_DRIVER_SETTINGS_H

#include "emulator/execute/Launch.h"

#include <string>

namespace kpc::emulator::driver {

struct Settings {
  std::string Target = "sm_90a";
  unsigned Capability = 90; ///< 90: 9.0
  uint64_t MemoryBytes = uint64_t{16} << 30;
  std::string Texts; ///< a folder; empty: none
  LaunchOptions Launch;
  std::string Problem; ///< what is wrong; empty: nothing

  static Settings fromEnvironment();

private:
  void read();
  /// A value that is not what it must be.
  void refuse(const char *Name, const std::string &Must);
};

} // namespace kpc::emulator::driver

#endif // KPC_EMULATOR_DRIVER_SETTINGS_H
