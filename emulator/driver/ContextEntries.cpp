//===- ContextEntries.cpp - cuInit, devices, contexts, errors -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/driver/Device.h"

#include <cstring>

using namespace kpc::emulator::driver;

// Values of CUdevice_attribute that are asked for.
enum : int {
  MaxThreadsPerBlock = 1,
  WarpSizeAttribute = 10,
  MultiprocessorCount = 16,
  CapabilityMajor = 75,
  CapabilityMinor = 76,
  MaxSharedOptIn = 97
};

KPC_EXPORT Result cuInit(unsigned Flags) try {
  if (std::string Problem = Device::get().settings().Problem;
      !Problem.empty()) {
    Device::get().setLastText(std::move(Problem));
    return InvalidValue;
  }
  return Flags == 0 ? Success : InvalidValue;
}
KPC_CATCH
KPC_EXPORT Result cuDriverGetVersion(int *Out) try {
  *Out = 13000;
  return Success;
}
KPC_CATCH

KPC_EXPORT Result cuGetErrorName(Result Code, const char **Out) try {
  switch (Code) {
  case Success:
    *Out = "CUDA_SUCCESS";
    break;
  case InvalidValue:
    *Out = "CUDA_ERROR_INVALID_VALUE";
    break;
  case OutOfMemory:
    *Out = "CUDA_ERROR_OUT_OF_MEMORY";
    break;
  case InvalidDevice:
    *Out = "CUDA_ERROR_INVALID_DEVICE";
    break;
  case InvalidImage:
    *Out = "CUDA_ERROR_INVALID_IMAGE";
    break;
  case InvalidPtx:
    *Out = "CUDA_ERROR_INVALID_PTX";
    break;
  case InvalidHandle:
    *Out = "CUDA_ERROR_INVALID_HANDLE";
    break;
  case NotFound:
    *Out = "CUDA_ERROR_NOT_FOUND";
    break;
  case IllegalAddress:
    *Out = "CUDA_ERROR_ILLEGAL_ADDRESS";
    break;
  case IllegalInstruction:
    *Out = "CUDA_ERROR_ILLEGAL_INSTRUCTION";
    break;
  case LaunchTimeout:
    *Out = "CUDA_ERROR_LAUNCH_TIMEOUT";
    break;
  case MisalignedAddress:
    *Out = "CUDA_ERROR_MISALIGNED_ADDRESS";
    break;
  case LaunchFailed:
    *Out = "CUDA_ERROR_LAUNCH_FAILED";
    break;
  case Unknown:
    *Out = "CUDA_ERROR_UNKNOWN";
    break;
  case NotSupported:
    *Out = "CUDA_ERROR_NOT_SUPPORTED";
    break;
  default:
    *Out = nullptr;
    return InvalidValue;
  }
  return Success;
}
KPC_CATCH

/// The last finding's text, which says more than the code.
KPC_EXPORT Result cuGetErrorString(Result Code, const char **Out) try {
  static thread_local std::string Text;
  Text = Code == Success ? "no error" : Device::get().lastText();
  if (Text.empty())
    Text = "refused by the emulator";
  *Out = Text.c_str();
  return Success;
}
KPC_CATCH

KPC_EXPORT Result cuDeviceGetCount(int *Out) try {
  *Out = 1;
  return Success;
}
KPC_CATCH
KPC_EXPORT Result cuDeviceGet(int *Out, int Ordinal) try {
  *Out = 0;
  return Ordinal == 0 ? Success : InvalidDevice;
}
KPC_CATCH
KPC_EXPORT Result cuDeviceGetName(char *Out, int Size, int) try {
  if (Size < 1)
    return InvalidValue;
  std::strncpy(Out, Device::get().name().c_str(), size_t(Size));
  Out[Size - 1] = 0;
  return Success;
}
KPC_CATCH
KPC_EXPORT Result cuDeviceTotalMem_v2(size_t *Out, int) try {
  *Out = Device::get().memory().limit();
  return Success;
}
KPC_CATCH
KPC_EXPORT Result cuDeviceGetAttribute(int *Out, int Which, int) try {
  switch (Which) {
  case MaxThreadsPerBlock:
    *Out = 1024;
    break;
  case WarpSizeAttribute:
    *Out = 32;
    break;
  case MultiprocessorCount: // of which the emulator makes no difference
    *Out = 4;
    break;
  case CapabilityMajor:
    *Out = int(Device::get().settings().Capability / 10);
    break;
  case CapabilityMinor:
    *Out = int(Device::get().settings().Capability % 10);
    break;
  case MaxSharedOptIn:
    *Out = 227 * 1024;
    break;
  default:
    *Out = 0;
    return InvalidValue;
  }
  return Success;
}
KPC_CATCH

KPC_EXPORT Result cuDevicePrimaryCtxRetain(void **Out, int) try {
  *Out = &Device::get();
  return Success;
}
KPC_CATCH
KPC_EXPORT Result cuDevicePrimaryCtxRelease_v2(int) { return Success; }
KPC_EXPORT Result cuCtxPushCurrent_v2(void *) { return Success; }
KPC_EXPORT Result cuCtxPopCurrent_v2(void **Out) try {
  if (Out)
    *Out = &Device::get();
  return Success;
}
KPC_CATCH
KPC_EXPORT Result cuCtxSetCurrent(void *) { return Success; }
KPC_EXPORT Result cuCtxSynchronize() { return Device::get().fault(); }
