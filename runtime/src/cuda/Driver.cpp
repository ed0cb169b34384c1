//===- Driver.cpp - The CUDA driver as one table of functions -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/cuda/Driver.h"

#include <cstdlib>
#include <dlfcn.h>

namespace kpc::rt::cuda {

// cuGetProcAddress of CUDA 11.3, and of 12.0 on (with a status as fifth
// argument).
using GetProcAddress = Outcome (*)(const char *, void **, int, uint64_t);
using GetProcAddress2 = Outcome (*)(const char *, void **, int, uint64_t,
                                    int *);

static constexpr const char *NvidiaLibrary = "libcuda.so.1";

// A library that was named in place of NVIDIA's may have settings of its own,
// and `Why` says what is wrong with them.
Status Driver::missing(const char *Why) const {
  Error E = failure(ErrorCode::DriverMissing,
                    "the CUDA driver '%s' cannot be used: %s", Path.c_str(),
                    Why ? Why : "unknown reason");
  E.Hint = Path == NvidiaLibrary ? "install NVIDIA's driver, or run on the host"
           : IsByVariable
               ? "correct that or KPC_CUDA_DRIVER, or run on the host"
               : "correct that or the library's name, or run on the host";
  return E;
}

Status Driver::lacks(const char *Function) const {
  return missing(
      formatted("it has no %s (CUDA 11.4 or newer)", Function).c_str());
}

namespace {
/// Finds functions by the name of their first version.
class Lookup {
public:
  explicit Lookup(void *Library)
      : Second(reinterpret_cast<GetProcAddress2>(
            ::dlsym(Library, "cuGetProcAddress_v2"))),
        First(reinterpret_cast<GetProcAddress>(
            ::dlsym(Library, "cuGetProcAddress"))) {}
  bool works() const { return Second || First; }
  void *operator()(const char *Name, int Version = ApiVersion) const {
    void *Found = nullptr;
    int Ignored = 0;
    Outcome Code = Second ? Second(Name, &Found, Version, 0, &Ignored)
                          : First(Name, &Found, Version, 0);
    return Code == Success ? Found : nullptr;
  }

private:
  GetProcAddress2 Second;
  GetProcAddress First;
};
} // namespace

Result<std::shared_ptr<const Driver>> Driver::open(const std::string &Given) {
  auto Out = std::make_shared<Driver>();
  const char *Default = std::getenv("KPC_CUDA_DRIVER");
  Out->Path = !Given.empty()        ? Given
              : Default && *Default ? Default
                                    : NvidiaLibrary;
  Out->IsByVariable = Given.empty();
  // NODELETE: a driver has threads and exit handlers of its own.
  Out->Library =
      ::dlopen(Out->Path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!Out->Library)
    return Out->missing(::dlerror());
  Lookup Find(Out->Library);
  if (!Find.works())
    return Out->lacks("cuGetProcAddress");
#define KPC_FIND(Name, ...)                                                    \
  Out->Table.Name =                                                            \
      reinterpret_cast<DriverTable::Name##Function>(Find("cu" #Name));         \
  if (!Out->Table.Name)                                                        \
    return Out->lacks("cu" #Name);
  KPC_CUDA_FUNCTIONS(KPC_FIND)
#undef KPC_FIND
  if (auto Declare = reinterpret_cast<unsigned (*)()>(
          ::dlsym(Out->Library, "kpc_driver_images")))
    Out->Images = Declare();
  Outcome Code = Out->Table.Init(0);
  if (Code == NoDevice)
    return failure(ErrorCode::NoDevice, "the CUDA driver finds no device");
  if (Code != Success)
    return Out->missing(Out->describe(Code).c_str());
  if (Status S = Out->check(Out->Table.DriverGetVersion(&Out->Version),
                            "ask the driver's version");
      !S)
    return S;
  if (Out->Version < ApiVersion)
    return failure(ErrorCode::DriverTooOld,
                   "the CUDA driver supports CUDA %d.%d, at least %d.%d is "
                   "needed",
                   Out->Version / 1000, Out->Version % 1000 / 10,
                   ApiVersion / 1000, ApiVersion % 1000 / 10);
  // An older driver may have a function of the same name in another form.
#define KPC_FIND(Name, Since, ...)                                             \
  if (Out->Version >= Since)                                                   \
    Out->Table.Name = reinterpret_cast<DriverTable::Name##Function>(           \
        Find("cu" #Name, Since));
  KPC_CUDA_OPTIONAL_FUNCTIONS(KPC_FIND)
#undef KPC_FIND
  return std::shared_ptr<const Driver>(std::move(Out));
}

Driver::~Driver() {
  if (Library)
    ::dlclose(Library);
}

std::string Driver::describe(Outcome Code) const {
  const char *Name = nullptr, *Text = nullptr;
  if (Table.GetErrorName(Code, &Name) != Success || !Name)
    Name = "unknown error";
  if (Table.GetErrorString(Code, &Text) != Success || !Text)
    Text = "";
  return formatted("%s (%d): %s", Name, Code, Text);
}

bool isSticky(Outcome Code) {
  switch (Code) {
  case 214: // ECC_UNCORRECTABLE
  case 219: // NVLINK_UNCORRECTABLE
  case 700: // ILLEGAL_ADDRESS
  case 702: // LAUNCH_TIMEOUT
  case 709: // CONTEXT_IS_DESTROYED
  case 710: // ASSERT
  case 714: // HARDWARE_STACK_ERROR
  case 715: // ILLEGAL_INSTRUCTION
  case 716: // MISALIGNED_ADDRESS
  case 717: // INVALID_ADDRESS_SPACE
  case 718: // INVALID_PC
  case 719: // LAUNCH_FAILED
  case 999: // UNKNOWN
    return true;
  default:
    return false;
  }
}

Status Driver::check(Outcome Code, const char *Doing) const {
  if (Code == Success)
    return success();
  ErrorCode Kind = ErrorCode::Driver;
  if (Code == OutOfMemory)
    Kind = ErrorCode::DeviceOutOfMemory;
  if (isSticky(Code))
    Kind = ErrorCode::SessionLost;
  Error E = failure(Kind, "cannot %s: %s", Doing, describe(Code).c_str());
  if (Kind == ErrorCode::SessionLost)
    E.Hint = "the session is lost, and this process's CUDA context with it: "
             "free its sessions and start a new process";
  constexpr Outcome CooperativeLaunchTooLarge = 720;
  if (Code == CooperativeLaunchTooLarge)
    E.Hint = "blocks of this kernel wait for one another, and the device has "
             "too few multiprocessors for all of them; choose another target "
             "of the file, or compile for 'portable', too";
  return E;
}

} // namespace kpc::rt::cuda
