//===- Device.cpp - The emulated device of a process ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/driver/Device.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

namespace kpc::emulator::driver {

static constexpr uint64_t GiB = uint64_t{1} << 30;

static const char *setting(const char *Name, const char *Default) {
  const char *Value = std::getenv(Name);
  return Value && *Value ? Value : Default;
}

Device::Device()
    : Memory(std::strtoull(setting("KPC_EMULATE_MEMORY", "16"), nullptr, 10) *
             GiB) {
  std::string Target = setting("KPC_EMULATE_TARGET", "sm_90a");
  int Number = Target.starts_with("sm_") ? std::atoi(Target.c_str() + 3) : 90;
  Major = Number / 10;
  Minor = Number % 10;
  Name = "kpc emulator (" + Target + ")";
  unsigned All = std::max(1u, std::thread::hardware_concurrency());
  int Wanted = std::atoi(setting("KPC_EMULATE_THREADS", "0"));
  // One by default: a strict run can be repeated.
  Threads = Wanted > 0 ? std::min(unsigned(Wanted), All) : 1;
  Strict = std::strcmp(setting("KPC_EMULATE_STRICT", "1"), "0") != 0;
  Seed = unsigned(std::atoi(setting("KPC_EMULATE_SEED", "1")));
}

Result caught() try { throw; } catch (const std::bad_alloc &) {
  return OutOfMemory;
} catch (const std::exception &E) {
  try {
    Device::get().setLastText(std::string("the emulator failed: ") + E.what());
  } catch (...) {
  }
  return Unknown;
} catch (...) {
  return Unknown;
}

Device &Device::get() {
  static auto *The = new Device; // outlives the exit handlers of its users
  return *The;
}

Result Device::fault() {
  std::lock_guard<std::mutex> Guard(Lock);
  return Fault;
}
std::string Device::lastText() {
  std::lock_guard<std::mutex> Guard(Lock);
  return LastText;
}
void Device::setLastText(std::string Text) {
  std::lock_guard<std::mutex> Guard(Lock);
  LastText = std::move(Text);
}

bool Device::isAccessible(uint64_t Address, uint64_t Bytes) {
  uint64_t Base = 0, Size = 0;
  if (!Memory.find(Address, Base, Size))
    return Address != 0 || Bytes == 0;
  return Memory.covers(Address, Bytes);
}

Result Device::prepare(Launch &L, const KernelNodeParams &P) {
  auto *F = static_cast<Function *>(P.Function);
  if (!F)
    return InvalidHandle;
  if (P.Extra || (!P.Params && !F->K->Parameters.empty()))
    return InvalidValue;
  L.F = F;
  std::copy(P.Grid, P.Grid + 3, L.Shape.Grid);
  std::copy(P.Block, P.Block + 3, L.Shape.Block);
  L.Shape.DynamicShared = P.SharedBytes;
  if (P.SharedBytes > F->MaxDynamicShared) {
    setLastText("kernel " + F->K->Name + ": " + std::to_string(P.SharedBytes) +
                " bytes of dynamic shared memory, but "
                "cuFuncSetAttribute allows " +
                std::to_string(F->MaxDynamicShared));
    return InvalidValue;
  }
  L.Parameters.assign(F->K->ParameterBytes, 0);
  for (size_t N = 0; N < F->K->Parameters.size(); ++N) {
    const Parameter &Of = F->K->Parameters[N];
    std::memcpy(L.Parameters.data() + Of.Offset, P.Params[N], Of.Bytes);
  }
  return Success;
}

static Result resultOf(FindingKind Kind) {
  switch (Kind) {
  case FindingKind::BadLaunch:
    return InvalidValue;
  case FindingKind::OutOfBounds:
  case FindingKind::UseAfterFree:
  case FindingKind::WriteToReadOnly:
    return IllegalAddress;
  case FindingKind::Misaligned:
    return MisalignedAddress;
  case FindingKind::Trap:
    return IllegalInstruction;
  default:
    return LaunchFailed;
  }
}

Result Device::run(const Launch &L) {
  LaunchOptions Options{Threads, Strict, Seed};
  LaunchResult R = launch(*L.F->K, L.Shape, L.Parameters, Memory, Options);
  if (!R.Trouble)
    return Success;
  Result Code = resultOf(R.Trouble->Kind);
  std::string Text = R.Trouble->text();
  std::fprintf(stderr, "emulator: %s\n", Text.c_str());
  std::lock_guard<std::mutex> Guard(Lock);
  LastText = std::move(Text);
  if (Code != InvalidValue)
    Fault = Code;
  return Code;
}

} // namespace kpc::emulator::driver
