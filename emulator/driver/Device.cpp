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
#include <cstring>
#include <new>

namespace kpc::emulator::driver {

Device::Device()
    : Wanted(Settings::fromEnvironment()), Memory(Wanted.MemoryBytes),
      Name("kpc emulator (" + Wanted.Target + ")"),
      Fault(Wanted.Problem.empty() ? Success : InvalidValue),
      LastText(Wanted.Problem) {}

Result caught() try { throw; } catch (const std::bad_alloc &) {
  return OutOfMemory;
} catch (const std::exception &E) {
  try {
    Device::get().setLastText(std::string("the emulator failed: ") + E.what());
    return Unknown;
  } catch (...) { // no memory for the text
    return Unknown;
  }
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
  for (size_t N = 0; P.Params && N < F->K->Parameters.size(); ++N) {
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
  case FindingKind::TimeLimit:
    return LaunchTimeout;
  default:
    return LaunchFailed;
  }
}

Result Device::run(const Launch &L) {
  LaunchResult R =
      launch(*L.F->K, L.Shape, L.Parameters, Memory, Wanted.Launch);
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
