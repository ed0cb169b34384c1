//===- Target.h - What a text's .target stands for --------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// sm_90 is for chips of compute capability 9.0 and all later ones; sm_100f for
/// those of its family from 10.0 on; sm_90a for 9.0 alone (PTX ISA, ".target").
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_PROGRAM_TARGET_H
#define KPC_EMULATOR_PROGRAM_TARGET_H

#include <optional>
#include <string>
#include <string_view>

namespace kpc::emulator {

struct Target {
  unsigned Number = 0;  ///< 90: compute capability 9.0
  unsigned Family = 0;  ///< number of the first chip that has its features
  char Suffix = 0;      ///< 'a', 'f', or 0
  unsigned Version = 0; ///< of PTX that it begins with; 80: 8.0
};

/// What a text says of itself.
struct TextTarget {
  Target Chip;
  unsigned Version = 0; ///< of PTX
  std::string Name;     ///< "sm_90a"
  /// What it lacks: "needs .target sm_90a, and the text says sm_80"; empty:
  /// nothing.
  std::string lacks(std::string_view Targets, unsigned AtLeast) const;
};

/// nullopt: no target that is known.
std::optional<Target> targetNamed(std::string_view Name);
/// "sm_80, sm_86, … (sm_90 and later also with an a, …)".
std::string knownTargets();

/// 80 for "8.0"; nullopt: no version.
std::optional<unsigned> versionNamed(std::string_view Text);
/// "8.0".
std::string versionText(unsigned Version);

/// Whether a text for `T` has what one of these targets brings: "sm_90a,
/// sm_100f".
bool hasFeaturesOf(const Target &T, std::string_view OneOf);
/// Whether a chip of this compute capability runs a text for `T`.
bool runsOn(const Target &T, unsigned Capability);

} // namespace kpc::emulator

#endif // KPC_EMULATOR_PROGRAM_TARGET_H
