//===- ModuleEntries.cpp - Modules, functions, launches -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/driver/Device.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace kpc::emulator;
using namespace kpc::emulator::driver;

// Values of CUjit_option and CUfunction_attribute.
enum : int {
  JitErrorLog = 5,
  JitErrorLogSize = 6,
  StaticSharedBytes = 1,
  MaxDynamicSharedBytes = 8
};

/// Writes the text to the caller's error log, as far as it fits; false: not all
/// of it does.
static bool report(const std::string &Text, unsigned Count, int *Options,
                   void **Values) {
  char *Log = nullptr;
  size_t Size = 0;
  for (unsigned I = 0; I < Count; ++I) {
    if (Options[I] == JitErrorLog)
      Log = static_cast<char *>(Values[I]);
    if (Options[I] == JitErrorLogSize)
      Size = reinterpret_cast<uintptr_t>(Values[I]);
  }
  if (!Log || Size == 0)
    return false;
  size_t Length = std::min(Text.size(), Size - 1);
  std::memcpy(Log, Text.data(), Length);
  Log[Length] = 0;
  return Length == Text.size();
}

/// KPC_EMULATE_PTX names a folder: a text whose first kernel is NAME is
/// replaced by its file NAME.ptx, if there is one.
static std::string editedText(const char *Text) {
  const std::string &Folder = Device::get().settings().Texts;
  const char *Entry = std::strstr(Text, ".entry");
  if (Folder.empty() || !Entry)
    return Text;
  Entry += std::strspn(Entry + 6, " \t\n") + 6;
  std::string Name(Entry, std::strcspn(Entry, " \t\n("));
  std::filesystem::path Path = Folder + "/" + Name + ".ptx";
  std::ifstream In(Path);
  std::error_code Ignored;
  if (!In || std::filesystem::is_directory(Path, Ignored))
    return Text;
  return std::string(std::istreambuf_iterator<char>(In), {});
}

KPC_EXPORT Result cuModuleLoadDataEx(void **Out, const void *Image,
                                     unsigned Count, int *Options,
                                     void **Values) try {
  KPC_RETURN_FAULT();
  const char *Text = static_cast<const char *>(Image);
  if (!Text || std::strncmp(Text,
                            "\x7f"
                            "ELF",
                            4) == 0) {
    Device::get().setLastText("the emulator takes PTX, not machine code");
    return InvalidImage;
  }
  std::vector<LoadError> Errors;
  auto M = std::make_unique<driver::Module>();
  M->Loaded = LoadedModule::load(editedText(Text), Device::get().memory(),
                                 Errors, Device::get().settings().Capability);
  if (!M->Loaded) {
    // Callers show the error's text and the log: nothing is said in both.
    std::string All = describe(Errors);
    if (All.ends_with('\n'))
      All.pop_back();
    std::string What = "the emulator cannot take this PTX";
    if (!report(All, Count, Options, Values))
      What += ":\n" + All;
    Device::get().setLastText(std::move(What));
    return InvalidPtx;
  }
  *Out = M.release();
  return Success;
}
KPC_CATCH
KPC_EXPORT Result cuModuleLoadData(void **Out, const void *Image) try {
  return cuModuleLoadDataEx(Out, Image, 0, nullptr, nullptr);
}
KPC_CATCH
KPC_EXPORT Result cuModuleUnload(void *M) try {
  delete static_cast<driver::Module *>(M);
  return Success;
}
KPC_CATCH

KPC_EXPORT Result cuModuleGetFunction(void **Out, void *Handle,
                                      const char *Name) try {
  auto *M = static_cast<driver::Module *>(Handle);
  const Kernel *K = M->Loaded->find(Name);
  if (!K)
    return NotFound;
  uint64_t Default = 48 * 1024;
  M->Functions.push_back(std::make_unique<driver::Function>(driver::Function{
      K, K->SharedBytes < Default ? Default - K->SharedBytes : 0}));
  *Out = M->Functions.back().get();
  return Success;
}
KPC_CATCH
KPC_EXPORT Result cuModuleGetGlobal_v2(uint64_t *Out, size_t *Bytes,
                                       void *Handle, const char *Name) try {
  uint64_t Size = 0;
  uint64_t At =
      static_cast<driver::Module *>(Handle)->Loaded->addressOf(Name, Size);
  if (Out)
    *Out = At;
  if (Bytes)
    *Bytes = Size;
  return At ? Success : NotFound;
}
KPC_CATCH

KPC_EXPORT Result cuFuncSetAttribute(void *Handle, int Which, int Value) try {
  auto *F = static_cast<driver::Function *>(Handle);
  if (Which != MaxDynamicSharedBytes)
    return Success; // preferences
  if (Value < 0 || uint64_t(Value) + F->K->SharedBytes > 227 * 1024)
    return InvalidValue;
  F->MaxDynamicShared = uint64_t(Value);
  return Success;
}
KPC_CATCH
KPC_EXPORT Result cuFuncGetAttribute(int *Out, int Which, void *Handle) try {
  auto *F = static_cast<driver::Function *>(Handle);
  if (Which != StaticSharedBytes)
    return NotSupported;
  *Out = int(F->K->SharedBytes);
  return Success;
}
KPC_CATCH

static Result launchKernel(const KernelNodeParams &P, bool Cooperative) {
  KPC_RETURN_FAULT();
  driver::Launch L;
  if (Result Code = Device::get().prepare(L, P))
    return Code;
  L.Shape.Cooperative = Cooperative;
  return Device::get().run(L);
}

KPC_EXPORT Result cuLaunchKernel(void *Function, unsigned GridX, unsigned GridY,
                                 unsigned GridZ, unsigned BlockX,
                                 unsigned BlockY, unsigned BlockZ,
                                 unsigned Shared, void *, void **Params,
                                 void **Extra) try {
  return launchKernel({Function,
                       {GridX, GridY, GridZ},
                       {BlockX, BlockY, BlockZ},
                       Shared,
                       Params,
                       Extra},
                      /*Cooperative=*/false);
}
KPC_CATCH

KPC_EXPORT Result cuLaunchCooperativeKernel(void *Function, unsigned GridX,
                                            unsigned GridY, unsigned GridZ,
                                            unsigned BlockX, unsigned BlockY,
                                            unsigned BlockZ, unsigned Shared,
                                            void *, void **Params) try {
  return launchKernel({Function,
                       {GridX, GridY, GridZ},
                       {BlockX, BlockY, BlockZ},
                       Shared,
                       Params,
                       nullptr},
                      /*Cooperative=*/true);
}
KPC_CATCH
