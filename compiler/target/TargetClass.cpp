//===- TargetClass.cpp - Targets that share a plan ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/target/TargetClass.h"

#include <algorithm>
#include <tuple>

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

bool multipliesBlocks(const Target &T) {
  return T.Can.Tcgen05 || (T.Can.MmaSync & MmaBlockScaled) != 0;
}

bool multipliesInt8(const Target &T) {
  return T.Can.CpAsync && (T.Can.MmaSync & MmaInt8) != 0;
}

bool prefersInt8(const Target &T) {
  return multipliesInt8(T) && !T.Can.Tcgen05;
}

/// Whether cost models that planning asks, of floats, give the same times.
static bool haveSameRates(const Costs &A, const Costs &B) {
  auto Of = [](const Costs &C) {
    return std::tuple(C.SmCount, C.Fp32, C.Tf32, C.Fp16, C.Fp8, C.DramGBps,
                      C.L2Bytes);
  };
  return Of(A) == Of(B);
}

bool sharePlan(const Target &A, const Target &B) {
  // Processors differ in vectors alone, which are for code generation.
  if (A.isHost() || B.isHost())
    return A.isHost() && B.isHost();
  return A.Can == B.Can && A.Limit == B.Limit && haveSameRates(A.Cost, B.Cost);
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
