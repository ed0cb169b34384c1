//===- Clocks.cpp - How fast the machine runs now -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Clocks.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>

namespace kpc::cli {

Clocks hostClocks() {
  Clocks Out;
  std::ifstream File("/proc/cpuinfo");
  for (std::string Line; std::getline(File, Line);) {
    size_t Colon = Line.find(": ");
    if (Colon == std::string::npos)
      continue;
    std::string Value = Line.substr(Colon + 2);
    if (Line.starts_with("model name") && Out.Device.empty())
      Out.Device = Value;
    // The fastest core is the one that has been working.
    if (Line.starts_with("cpu MHz"))
      Out.Core = std::max(Out.Core.value_or(0), std::atoi(Value.c_str()));
  }
  return Out;
}

Clocks gpuClocks(int Ordinal) {
  Clocks Out;
  void *Library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!Library)
    return Out;
  auto Init = reinterpret_cast<int (*)()>(::dlsym(Library, "nvmlInit_v2"));
  auto Get = reinterpret_cast<int (*)(unsigned, void **)>(
      ::dlsym(Library, "nvmlDeviceGetHandleByIndex_v2"));
  auto Name = reinterpret_cast<int (*)(void *, char *, unsigned)>(
      ::dlsym(Library, "nvmlDeviceGetName"));
  auto Clock = reinterpret_cast<int (*)(void *, int, unsigned *)>(
      ::dlsym(Library, "nvmlDeviceGetClockInfo"));
  void *Device = nullptr;
  if (!Init || !Get || !Name || !Clock || Init() ||
      Get(static_cast<unsigned>(Ordinal), &Device))
    return Out;
  char Text[96] = {};
  if (!Name(Device, Text, sizeof(Text) - 1))
    Out.Device = Text;
  unsigned Megahertz = 0;
  if (!Clock(Device, 1, &Megahertz)) // NVML_CLOCK_SM
    Out.Core = static_cast<int>(Megahertz);
  if (!Clock(Device, 2, &Megahertz)) // NVML_CLOCK_MEM
    Out.Memory = static_cast<int>(Megahertz);
  return Out;
}

} // namespace kpc::cli
