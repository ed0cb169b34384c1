//===- CudaMemory.cpp - Device memory and a stream for bench --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/CudaMemory.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>

namespace kpc::cli {

/// The driver's stable C interface, under the names that its library exports.
struct CudaMemory::Functions {
  int (*Init)(unsigned);
  int (*DeviceGet)(int *, int);
  int (*ContextRetain)(void **, int);
  int (*ContextRelease)(int);
  int (*ContextSetCurrent)(void *);
  int (*Allocate)(uint64_t *, size_t);
  int (*Free)(uint64_t);
  int (*CopyIn)(uint64_t, const void *, size_t);
  int (*StreamCreate)(void **, unsigned);
  int (*StreamDestroy)(void *);
  int (*StreamSynchronize)(void *);
  int (*EventCreate)(void **, unsigned);
  int (*EventDestroy)(void *);
  int (*EventRecord)(void *, void *);
  int (*EventSynchronize)(void *);
  int (*EventElapsedTime)(float *, void *, void *);
};

bool CudaMemory::load(std::string &Error) {
  const char *Named = std::getenv("KPC_CUDA_DRIVER");
  const char *Library = Named && *Named ? Named : "libcuda.so.1";
  // The library stays loaded: the driver does not take unloading well.
  void *Handle = ::dlopen(Library, RTLD_NOW | RTLD_LOCAL);
  if (!Handle) {
    Error = std::string("cannot load ") + Library;
    return false;
  }
  Driver = std::make_unique<Functions>();
  bool All = true;
  auto Find = [&](auto &Function, const char *Name) {
    Function = reinterpret_cast<std::remove_reference_t<decltype(Function)>>(
        ::dlsym(Handle, Name));
    All = All && Function;
  };
  Find(Driver->Init, "cuInit");
  Find(Driver->DeviceGet, "cuDeviceGet");
  Find(Driver->ContextRetain, "cuDevicePrimaryCtxRetain");
  Find(Driver->ContextRelease, "cuDevicePrimaryCtxRelease_v2");
  Find(Driver->ContextSetCurrent, "cuCtxSetCurrent");
  Find(Driver->Allocate, "cuMemAlloc_v2");
  Find(Driver->Free, "cuMemFree_v2");
  Find(Driver->CopyIn, "cuMemcpyHtoD_v2");
  Find(Driver->StreamCreate, "cuStreamCreate");
  Find(Driver->StreamDestroy, "cuStreamDestroy_v2");
  Find(Driver->StreamSynchronize, "cuStreamSynchronize");
  Find(Driver->EventCreate, "cuEventCreate");
  Find(Driver->EventDestroy, "cuEventDestroy_v2");
  Find(Driver->EventRecord, "cuEventRecord");
  Find(Driver->EventSynchronize, "cuEventSynchronize");
  Find(Driver->EventElapsedTime, "cuEventElapsedTime");
  if (!All)
    Error = std::string(Library) + " lacks functions that are needed";
  return All;
}

bool CudaMemory::start(int Ordinal, std::string &Error) {
  constexpr unsigned NonBlocking = 1; // CU_STREAM_NON_BLOCKING
  void *Context = nullptr;
  int Failed = Driver->Init(0);
  if (!Failed)
    Failed = Driver->DeviceGet(&Device, Ordinal);
  if (!Failed && !(Failed = Driver->ContextRetain(&Context, Device)))
    HasContext = true;
  if (!Failed)
    Failed = Driver->ContextSetCurrent(Context);
  if (!Failed)
    Failed = Driver->StreamCreate(&Stream, NonBlocking);
  for (void *&Event : Events)
    if (!Failed)
      Failed = Driver->EventCreate(&Event, 0);
  if (Failed)
    Error = "the CUDA driver refused to start (error " +
            std::to_string(Failed) + ")";
  return !Failed;
}

std::unique_ptr<CudaMemory> CudaMemory::open(int Ordinal, std::string &Error) {
  std::unique_ptr<CudaMemory> Memory(new CudaMemory());
  if (!Memory->load(Error)) {
    Memory->Driver.reset();
    return nullptr;
  }
  return Memory->start(Ordinal, Error) ? std::move(Memory) : nullptr;
}

CudaMemory::~CudaMemory() {
  if (!Driver)
    return;
  if (Stream)
    Driver->StreamSynchronize(Stream);
  for (uint64_t Block : Blocks)
    Driver->Free(Block);
  for (void *Event : Events)
    if (Event)
      Driver->EventDestroy(Event);
  if (Stream)
    Driver->StreamDestroy(Stream);
  if (HasContext)
    Driver->ContextRelease(Device);
}

void *CudaMemory::allocate(size_t Bytes, const void *From) {
  uint64_t Block = 0;
  if (Driver->Allocate(&Block, std::max<size_t>(Bytes, 1)))
    return nullptr;
  Blocks.push_back(Block);
  if (From && Bytes && Driver->CopyIn(Block, From, Bytes))
    return nullptr;
  return reinterpret_cast<void *>(Block);
}

bool CudaMemory::startTimer() {
  return !Driver->EventRecord(Events[0], Stream);
}

bool CudaMemory::stopTimer(double &Milliseconds) {
  float Elapsed = 0;
  if (Driver->EventRecord(Events[1], Stream) ||
      Driver->EventSynchronize(Events[1]) ||
      Driver->EventElapsedTime(&Elapsed, Events[0], Events[1]))
    return false;
  Milliseconds = Elapsed;
  return true;
}

bool CudaMemory::synchronize() { return !Driver->StreamSynchronize(Stream); }

} // namespace kpc::cli
