//===- MemoryEntries.cpp - Device memory, copies, fills -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/driver/Device.h"

#include <algorithm>
#include <cstring>

using namespace kpc::emulator::driver;

static Result refuse(const char *Call, const char *Why) {
  Device::get().setLastText(std::string(Call) + ": " + Why);
  return InvalidValue;
}

KPC_EXPORT Result cuMemAlloc_v2(uint64_t *Out, size_t Bytes) try {
  KPC_RETURN_FAULT();
  if (Bytes == 0)
    return refuse("cuMemAlloc", "no bytes");
  *Out = Device::get().memory().allocate(Bytes);
  return *Out ? Success : OutOfMemory;
}
KPC_CATCH
KPC_EXPORT Result cuMemFree_v2(uint64_t Address) try {
  if (Address == 0 || Device::get().memory().release(Address))
    return Success;
  return refuse("cuMemFree", "no allocation begins there");
}
KPC_CATCH
KPC_EXPORT Result cuMemGetInfo_v2(size_t *Free, size_t *Total) try {
  kpc::emulator::DeviceMemory &M = Device::get().memory();
  *Total = M.limit();
  *Free = M.limit() - M.used();
  return Success;
}
KPC_CATCH

static Result copy(const char *Call, uint64_t To, uint64_t From, size_t Bytes) {
  KPC_RETURN_FAULT();
  Device &D = Device::get();
  if (!D.isAccessible(To, Bytes) || !D.isAccessible(From, Bytes))
    return refuse(Call, "bytes outside of the allocation");
  std::memmove(reinterpret_cast<void *>(To),
               reinterpret_cast<const void *>(From), Bytes);
  return Success;
}

KPC_EXPORT Result cuMemcpyHtoD_v2(uint64_t To, const void *From,
                                  size_t Bytes) try {
  if (Bytes && !Device::get().memory().covers(To, Bytes))
    return refuse("cuMemcpyHtoD", "the destination is no device memory");
  return copy("cuMemcpyHtoD", To, reinterpret_cast<uint64_t>(From), Bytes);
}
KPC_CATCH
KPC_EXPORT Result cuMemcpyDtoH_v2(void *To, uint64_t From, size_t Bytes) try {
  if (Bytes && !Device::get().memory().covers(From, Bytes))
    return refuse("cuMemcpyDtoH", "the source is no device memory");
  return copy("cuMemcpyDtoH", reinterpret_cast<uint64_t>(To), From, Bytes);
}
KPC_CATCH
KPC_EXPORT Result cuMemcpyAsync(uint64_t To, uint64_t From, size_t Bytes,
                                void *) try {
  return copy("cuMemcpyAsync", To, From, Bytes);
}
KPC_CATCH

template <typename T> static Result fill(uint64_t To, T Value, size_t Count) {
  KPC_RETURN_FAULT();
  if (Count && !Device::get().memory().covers(To, Count * sizeof(T)))
    return refuse("cuMemset", "bytes outside of an allocation");
  std::fill_n(reinterpret_cast<T *>(To), Count, Value);
  return Success;
}
KPC_EXPORT Result cuMemsetD8Async(uint64_t To, unsigned char Value,
                                  size_t Count, void *) try {
  return fill(To, Value, Count);
}
KPC_CATCH
KPC_EXPORT Result cuMemsetD16Async(uint64_t To, unsigned short Value,
                                   size_t Count, void *) try {
  return fill(To, Value, Count);
}
KPC_CATCH
KPC_EXPORT Result cuMemsetD32Async(uint64_t To, unsigned Value, size_t Count,
                                   void *) try {
  return fill(To, Value, Count);
}
KPC_CATCH
