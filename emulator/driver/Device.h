//===- Device.h - The emulated device of a process --------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One device, as Settings.h has it.
///
/// Work is done when it is enqueued: streams are always empty.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_DRIVER_DEVICE_H
#define KPC_EMULATOR_DRIVER_DEVICE_H

#include "emulator/Load.h"
#include "emulator/driver/Api.h"
#include "emulator/driver/Settings.h"
#include "emulator/execute/Launch.h"

#include <mutex>
#include <string>

namespace kpc::emulator::driver {

struct Module {
  std::unique_ptr<LoadedModule> Loaded;
  std::vector<std::unique_ptr<struct Function>> Functions;
};

struct Function {
  const Kernel *K;
  /// cuFuncSetAttribute's limit; more is refused, as by the driver.
  uint64_t MaxDynamicShared;
};

/// A launch with its parameters copied.
struct Launch {
  const Function *F = nullptr;
  LaunchShape Shape;
  std::vector<uint8_t> Parameters;
};

class Device {
public:
  static Device &get();

  DeviceMemory &memory() { return Memory; }
  const Settings &settings() const { return Wanted; }
  const std::string &name() const { return Name; }

  Result prepare(Launch &L, const KernelNodeParams &P);
  Result run(const Launch &L);
  /// Whether an access by the driver is right. Addresses of no allocation are
  /// the host's, as with unified addressing.
  bool isAccessible(uint64_t Address, uint64_t Bytes);

  /// The error that ended the device's life; Success: it lives.
  Result fault();
  /// Of the last finding; empty: none.
  std::string lastText();
  void setLastText(std::string Text);

private:
  Device();
  const Settings Wanted;
  DeviceMemory Memory;
  const std::string Name;
  std::mutex Lock;
  Result Fault = Success;
  std::string LastText;
};

/// What every call that does work begins with.
#define KPC_RETURN_FAULT()                                                     \
  if (Result Dead = Device::get().fault())                                     \
  return Dead

} // namespace kpc::emulator::driver

#endif // KPC_EMULATOR_DRIVER_DEVICE_H
