//===- Native.cpp - What machine this is ----------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/target/Target.h"

#include <dlfcn.h>

namespace kpc::target {

/// Asks the CUDA driver, loaded by name: kpc itself needs none. The numbers
/// are of the driver API's stable ABI (CUdevice_attribute 75 and 76).
static std::optional<int32_t> computeOfFirstGpu() {
  void *Driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!Driver)
    return std::nullopt;
  auto Init = reinterpret_cast<int (*)(unsigned)>(dlsym(Driver, "cuInit"));
  auto Get =
      reinterpret_cast<int (*)(int *, int)>(dlsym(Driver, "cuDeviceGet"));
  auto Ask = reinterpret_cast<int (*)(int *, int, int)>(
      dlsym(Driver, "cuDeviceGetAttribute"));
  int Device = 0, Major = 0, Minor = 0;
  // The library stays loaded: the driver does not take unloading well.
  if (!Init || !Get || !Ask || Init(0) || Get(&Device, 0) ||
      Ask(&Major, 75, Device) || Ask(&Minor, 76, Device))
    return std::nullopt;
  return Major * 10 + Minor;
}

static std::optional<int32_t> levelOfCpu() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4"))
    return 4;
  if (__builtin_cpu_supports("x86-64-v3"))
    return 3;
  if (__builtin_cpu_supports("x86-64-v2"))
    return 2;
#endif
  return std::nullopt;
}

Machine thisMachine() { return {computeOfFirstGpu, levelOfCpu}; }

} // namespace kpc::target
