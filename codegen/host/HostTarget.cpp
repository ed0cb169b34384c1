//===- HostTarget.cpp - The CPU that code is made for ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/host/HostTarget.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

namespace kpc::codegen {

llvm::Expected<HostTargetOptions>
HostTargetOptions::fromName(llvm::StringRef Name) {
  HostTargetOptions Options;
  Options.Cpu = Name.str();
  if (Name == "x86-64-v2") {
    Options.VectorBits = 128;
    Options.HasFma = Options.HasF16c = false;
    return Options;
  }
  if (Name == "x86-64-v3")
    return Options;
  if (Name == "x86-64-v4") {
    Options.VectorBits = 512;
    return Options;
  }
  if (Name != "native")
    return llvm::createStringError(
        "unknown host CPU '%s'; known: x86-64-v2, x86-64-v3, x86-64-v4, native",
        Name.str().c_str());
#if defined(__x86_64__)
  Options.Cpu = llvm::sys::getHostCPUName().str();
  llvm::StringMap<bool> Features = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> Names;
  for (const auto &Feature : Features)
    Names.push_back((Feature.second ? "+" : "-") + Feature.first().str());
  std::sort(Names.begin(), Names.end());
  for (const std::string &One : Names)
    Options.Features += (Options.Features.empty() ? "" : ",") + One;
  Options.HasFma = Features.lookup("fma");
  Options.HasF16c = Features.lookup("f16c");
  bool Wide = Features.lookup("avx512f") && Features.lookup("avx512bw") &&
              Features.lookup("avx512dq") && Features.lookup("avx512vl");
  Options.VectorBits = Wide ? 512 : Features.lookup("avx2") ? 256 : 128;
  return Options;
#else
  return llvm::createStringError("this machine is not x86-64");
#endif
}

kernels::HostMachine HostTargetOptions::machine() const {
  kernels::HostMachine Machine;
  Machine.VectorBits = VectorBits;
  Machine.VectorRegisters = VectorBits >= 512 ? 32 : 16;
  Machine.HasFma = HasFma;
  return Machine;
}

} // namespace kpc::codegen
