//===- Layout.cpp - Where a kernel's variables lie ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/program/Decoder.h"
#include "emulator/program/Windows.h"

#include <algorithm>
#include <tuple>

namespace kpc::emulator {

static uint64_t alignUp(uint64_t Value, uint64_t To) {
  return (Value + To - 1) / To * To;
}

static void collectNames(const std::vector<ptx::Operand> &Operands,
                         std::set<std::string> &Names) {
  for (const ptx::Operand &O : Operands) {
    if (O.TheKind == ptx::Operand::Kind::Name)
      Names.insert(O.Name);
    collectNames(O.Parts, Names);
  }
}

void Decoder::layOutParameters() {
  uint64_t At = 0;
  for (const ptx::Variable &P : K.Source.Parameters) {
    At = alignUp(At, P.alignment());
    K.Parameters.push_back({P.Name, At, P.bytes()});
    Places[{-1, P.Name}] = {Space::Param, At, false};
    At += P.bytes();
  }
  K.ParameterBytes = At;
  if (At > 32764)
    fail("more than 32764 bytes of parameters");
}

void Decoder::layOut() {
  layOutParameters();
  std::set<std::string> Names;
  for (const ptx::Statement &S : K.Source.Body)
    collectNames(S.Operands, Names);
  struct Wanted {
    std::pair<int, std::string> Key;
    const ptx::Variable *V;
  };
  std::vector<Wanted> Static, Dynamic;
  auto Place = [&](int Scope, const ptx::Variable &V) {
    std::pair<int, std::string> Key{Scope, V.Name};
    K.SharedAlignment = std::max(K.SharedAlignment, V.alignment());
    (V.IsExtern || V.Count == 0 ? Dynamic : Static).push_back({Key, &V});
  };
  for (size_t Scope = 0; Scope < K.Source.Scopes.size(); ++Scope)
    for (const auto &[Name, V] : K.Source.Scopes[Scope].Variables) {
      if (V.Space == "shared") {
        Place(static_cast<int>(Scope), V);
      } else if (V.Space == "local" || V.Space == "param") {
        K.LocalBytes =
            alignUp(K.LocalBytes, std::max<uint64_t>(V.alignment(), 16));
        Places[{static_cast<int>(Scope), Name}] = {Space::Local, K.LocalBytes,
                                                   false};
        K.LocalBytes += V.bytes();
      } else {
        fail("a variable in ." + V.Space + " inside of a function");
      }
    }
  for (const auto &[Name, V] : Variables)
    if (V.Text.Space == "shared" && Names.count(Name))
      Place(-1, V.Text);
  for (const Wanted &W : Static) {
    K.SharedBytes = alignUp(K.SharedBytes, W.V->alignment());
    Places[W.Key] = {Space::Shared, K.SharedBytes, false};
    K.SharedBytes += W.V->bytes();
  }
  if (!Dynamic.empty())
    K.SharedBytes = alignUp(K.SharedBytes, K.SharedAlignment);
  for (const Wanted &W : Dynamic)
    Places[W.Key] = {Space::Shared, K.SharedBytes, true};
  if (K.SharedBytes > MaxSharedBytes)
    fail("more static shared memory than a multiprocessor has");
  if (K.LocalBytes > MaxLocalBytes)
    fail("more than 512 KiB of local memory a thread");
  K.LocalBytes = alignUp(K.LocalBytes, 16);
}

/// Scopes from the inside out, then parameters and the module.
std::optional<uint64_t> Decoder::addressOf(const std::string &Named,
                                           Space &Where, bool &Dynamic) {
  Dynamic = false;
  int Scope = Current->Scope;
  std::string Name = Named;
  while (true) {
    while (Scope >= 0 && K.Source.Scopes[size_t(Scope)].Aliases.count(Name))
      std::tie(Scope, Name) = K.Source.Scopes[size_t(Scope)].Aliases.at(Name);
    if (auto It = Places.find({Scope, Name}); It != Places.end()) {
      Where = It->second.Where;
      Dynamic = It->second.Dynamic;
      return It->second.Address;
    }
    if (Scope < 0)
      break;
    Scope = K.Source.Scopes[Scope].Parent;
  }
  auto It = Variables.find(Name);
  if (It == Variables.end() || It->second.Text.Space == "shared")
    return std::nullopt;
  Where = It->second.Text.Space == "const" ? Space::Const : Space::Global;
  return It->second.Address;
}

} // namespace kpc::emulator
