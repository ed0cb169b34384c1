//===- ProcAddress.cpp - cuGetProcAddress ---------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/driver/Api.h"

#include <cstring>
#include <dlfcn.h>
#include <string>

using namespace kpc::emulator::driver;

/// The library itself is asked, for the second version first: a name without a
/// suffix means the newest one that the emulator has.
KPC_EXPORT Result cuGetProcAddress_v2(const char *Name, void **Out, int,
                                      uint64_t, int *Status) try {
  static void *const Self = [] {
    Dl_info Info{};
    ::dladdr(reinterpret_cast<void *>(&cuGetProcAddress_v2), &Info);
    return ::dlopen(Info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
  std::string Wanted = Name;
  *Out = nullptr;
  if (Self && Wanted.starts_with("cu")) {
    *Out = ::dlsym(Self, (Wanted + "_v2").c_str());
    if (!*Out)
      *Out = ::dlsym(Self, Wanted.c_str());
  }
  if (Status)
    *Status = *Out ? 0 : 1;
  return *Out ? Success : NotFound;
}
KPC_CATCH
KPC_EXPORT Result cuGetProcAddress(const char *Name, void **Out, int Version,
                                   uint64_t Flags) try {
  return cuGetProcAddress_v2(Name, Out, Version, Flags, nullptr);
}
KPC_CATCH

/// Asked by kpc's runtime: PTX only.
KPC_EXPORT unsigned kpc_driver_images(void) { return 2; }
