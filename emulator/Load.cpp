//===- Load.cpp - From PTX text to a program ------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/Load.h"

#include "emulator/program/Decoder.h"
#include "emulator/ptx/Parser.h"

#include <cstring>

namespace kpc::emulator {

LoadedModule::~LoadedModule() {
  for (auto &[Name, V] : Variables)
    if (V.Address)
      Memory.release(V.Address);
}

bool LoadedModule::placeVariables(const std::vector<ptx::Variable> &Texts,
                                  std::vector<LoadError> &Errors) {
  size_t Before = Errors.size();
  for (const ptx::Variable &T : Texts) {
    ModuleVariable V{T, 0};
    bool InDevice = T.Space == "global" || T.Space == "const";
    if (InDevice) {
      if (T.IsExtern)
        Errors.push_back({T.Line, "'" + T.Name + "' is defined elsewhere"});
      V.Address = Memory.allocate(T.bytes(), T.Space == "const", T.Name);
      if (V.Address == 0)
        Errors.push_back({T.Line, "no memory for '" + T.Name + "'"});
    } else if (T.Space != "shared") {
      Errors.push_back(
          {T.Line, "a variable in ." + T.Space + " outside of functions"});
    }
    Variables[T.Name] = V;
  }
  for (auto &[Name, V] : Variables)
    if (V.Address)
      fill(V);
  return Errors.size() == Before;
}

void LoadedModule::fill(const ModuleVariable &V) {
  auto *To = reinterpret_cast<uint8_t *>(V.Address);
  std::memset(To, 0, V.Text.bytes());
  uint64_t Bytes = V.Text.elementBytes();
  for (size_t N = 0; N < V.Text.Initial.size(); ++N)
    std::memcpy(To + N * Bytes, &V.Text.Initial[N],
                std::min<uint64_t>(Bytes, 8));
  for (const auto &[N, Name] : V.Text.Relocations) {
    auto Of = Variables.find(Name);
    if (Of == Variables.end() || Bytes != 8)
      continue;
    uint64_t Value = Of->second.Address + V.Text.Initial[N];
    std::memcpy(To + N * Bytes, &Value, 8);
  }
}

std::unique_ptr<LoadedModule> LoadedModule::load(std::string_view Text,
                                                 DeviceMemory &Memory,
                                                 std::vector<LoadError> &Errors,
                                                 unsigned Capability) {
  auto Parsed = ptx::parse(Text);
  if (auto *E = std::get_if<ptx::SyntaxError>(&Parsed)) {
    Errors.push_back({E->Line, E->Text});
    return nullptr;
  }
  auto &Module = std::get<ptx::Module>(Parsed);
  auto For = targetOf(Module, Errors);
  if (!For)
    return nullptr;
  if (Capability != 0 && !runsOn(For->Chip, Capability)) {
    Errors.push_back({Module.TargetLine,
                      ".target " + For->Name +
                          " does not run on a chip of compute capability " +
                          versionText(Capability)});
    return nullptr;
  }
  std::unique_ptr<LoadedModule> Out(new LoadedModule(Memory));
  if (!Out->placeVariables(Module.Variables, Errors))
    return nullptr;
  Out->P = decodeModule(Module, Out->Variables, *For, Errors);
  return Errors.empty() ? std::move(Out) : nullptr;
}

uint64_t LoadedModule::addressOf(const std::string &Name,
                                 uint64_t &Bytes) const {
  auto It = Variables.find(Name);
  if (It == Variables.end())
    return 0;
  Bytes = It->second.Text.bytes();
  return It->second.Address;
}

std::string describe(const std::vector<LoadError> &Errors) {
  std::string Out;
  for (const LoadError &E : Errors)
    Out += "line " + std::to_string(E.Line) + ": " + E.Text + "\n";
  return Out;
}

} // namespace kpc::emulator
