//===- Nvtx.cpp - Ranges that NVIDIA's profilers show ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers and structs are those by which NVTX 2 and 3 and profilers agree
// (nvtxTypes.h and nvToolsExt.h of the NVTX sources); they do not change.
//
//===----------------------------------------------------------------------===//

#include "runtime/src/Nvtx.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>

namespace kpc::rt {

namespace {

using Function = void (*)();

/// A module's functions by their numbers: slots that the profiler fills, and a
/// table of pointers to them, which is what it sees. There is no function 0.
struct Module {
  static constexpr unsigned Largest = 16;
  unsigned Size = 0; ///< with function 0
  Function Filled[Largest] = {};
  Function *Table[Largest + 1] = {};

  explicit Module(unsigned Size) : Size(Size) {
    for (unsigned I = 1; I < Size; ++I)
      Table[I] = &Filled[I];
  }
};

constexpr unsigned ModuleCount = 7, DomainModule = 5;
constexpr unsigned DomainRangePush = 4, DomainRangePop = 5, DomainCreate = 12;

/// Written by a profiler while it attaches, and by some later: so these live as
/// long as the process. Nsight Compute (2025.3) does not attach where those of
/// CUDA are missing, though it is asked for ranges alone.
Module *modules() {
  // None, core, CUDA, OpenCL, CUDA runtime, core with domains, synchronisation.
  static Module All[ModuleCount] = {Module(0),  Module(16), Module(9),
                                    Module(15), Module(7),  Module(16),
                                    Module(7)};
  return All;
}

int moduleTable(unsigned Number, Function ***Table, unsigned *Size) {
  if (Number == 0 || Number >= ModuleCount)
    return 0;
  Module &M = modules()[Number];
  if (Table)
    *Table = M.Table;
  if (Size)
    *Size = M.Size;
  return 1;
}

struct CallbackTable {
  size_t StructSize;
  int (*ModuleTable)(unsigned Module, Function ***Table, unsigned *Size);
};
constexpr CallbackTable Callbacks = {sizeof(CallbackTable), moduleTable};

struct VersionTable {
  size_t StructSize;
  uint32_t Version, Reserved;
  void (*SetProfilerVersion)(uint32_t);
};
constexpr uint32_t NvtxVersion = 3;
constexpr VersionTable Version = {sizeof(VersionTable), NvtxVersion, 0,
                                  [](uint32_t) {}};

/// What a profiler asks for first, by number.
const void *exportTable(uint32_t Which) {
  constexpr uint32_t CallbackNumber = 1, VersionNumber = 3;
  return Which == CallbackNumber  ? static_cast<const void *>(&Callbacks)
         : Which == VersionNumber ? static_cast<const void *>(&Version)
                                  : nullptr;
}

/// An event with a name and nothing else.
struct EventAttributes {
  uint16_t Version = NvtxVersion;
  uint16_t Size = sizeof(EventAttributes);
  uint32_t Category = 0;
  int32_t ColorType = 0;
  uint32_t Color = 0;
  int32_t PayloadType = 0;
  int32_t Reserved = 0;
  uint64_t Payload = 0;
  int32_t MessageType = 1; // characters
  const char *Message = nullptr;
};
static_assert(sizeof(EventAttributes) == 48);

template <class To> To as(Function F) { return reinterpret_cast<To>(F); }

} // namespace

bool Nvtx::attach() {
  // Not of a process that has more rights than who started it.
  const char *Path = ::secure_getenv("NVTX_INJECTION64_PATH");
  if (!Path || !*Path)
    return false;
  // NODELETE: a profiler writes its file when the process ends.
  // NOLINTNEXTLINE(clang-analyzer-optin.taint.GenericTaint): NVTX's own way
  void *Library = ::dlopen(Path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!Library)
    return false;
  auto Initialise = reinterpret_cast<int (*)(const void *(*)(uint32_t))>(
      ::dlsym(Library, "InitializeInjectionNvtx2"));
  if (!Initialise || !Initialise(exportTable))
    return false;
  const Function *Filled = modules()[DomainModule].Filled;
  Push = as<decltype(Push)>(Filled[DomainRangePush]);
  Pop = as<decltype(Pop)>(Filled[DomainRangePop]);
  if (!Push || !Pop)
    return false;
  if (auto Create = as<void *(*)(const char *)>(Filled[DomainCreate]))
    Domain = Create("kpc");
  return true;
}

const Nvtx *Nvtx::attached() {
  static Nvtx Tool;
  static const bool Attached = Tool.attach();
  return Attached ? &Tool : nullptr;
}

void Nvtx::push(const char *Name) const {
  EventAttributes Event;
  Event.Message = Name;
  (void)Push(Domain, &Event);
}

void Nvtx::pop() const { (void)Pop(Domain); }

} // namespace kpc::rt
