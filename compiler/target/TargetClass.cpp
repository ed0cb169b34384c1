//===- TargetClass.cpp - Targets that share a plan ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/target/TargetClass.h"

#include <algorithm>

namespace kpc::target {

bool TargetClass::contains(const Target &T) const {
  return std::find(Targets.begin(), Targets.end(), &T) != Targets.end();
}

std::string TargetClass::name() const {
  std::string Text;
  for (const Target *T : Targets) {
    if (!Text.empty())
      Text += "+";
    Text += T->Name;
  }
  std::replace(Text.begin(), Text.end(), ':', '-');
  return Text;
}

bool multipliesFp8(const Target &T) {
  bool BySync = T.Can.CpAsync && (T.Can.MmaSync & MmaFp8) != 0;
  return T.Can.Wgmma || T.Can.Tcgen05 || BySync;
}

bool copiesRowsOfFp8(const Target &T) { return T.Can.Wgmma || T.Can.Tcgen05; }

bool multipliesInt8(const Target &T) {
  return T.Can.CpAsync && (T.Can.MmaSync & MmaInt8) != 0;
}

bool prefersInt8(const Target &T) {
  return multipliesInt8(T) && !T.Can.Tcgen05;
}

bool sharePlan(const Target &A, const Target &B) {
  // Processors differ in vectors alone, which are for code generation.
  if (A.isHost() || B.isHost())
    return A.isHost() && B.isHost();
  return A.Can == B.Can && A.Limit == B.Limit;
}

std::vector<TargetClass> classesOf(std::span<const Target *const> All) {
  std::vector<TargetClass> Classes;
  for (const Target *T : All) {
    auto Same =
        std::find_if(Classes.begin(), Classes.end(), [&](const TargetClass &C) {
          return sharePlan(C.first(), *T);
        });
    if (Same == Classes.end())
      Same = Classes.insert(Classes.end(), TargetClass());
    Same->Targets.push_back(T);
  }
  return Classes;
}

} // namespace kpc::target
