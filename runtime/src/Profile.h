//===- Profile.h - How long each step of a run took -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// And the same as Chrome trace events.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_PROFILE_H
#define KPC_RUNTIME_SRC_PROFILE_H

#include "kpc/runtime.h"

#include <string>
#include <vector>

namespace kpc::rt {

struct ProfileStep {
  std::string Name, Symbol, Nodes;
  kpc_profile_step Facts{}; ///< bytes and operations of one run, until finish()
  int64_t Runs = 0;
};

struct Profile {
  std::string Track; ///< the device, as the trace calls it
  std::vector<ProfileStep> Steps;
  std::string Trace;

  /// Fills `Trace` and the pointers in `Steps`, once all steps are there.
  void finish();
};

/// `Text` with what JSON asks to be escaped; bytes that are not UTF-8 become
/// '?'.
std::string jsonEscaped(const std::string &Text);

} // namespace kpc::rt

#endif // KPC_RUNTIME_SRC_PROFILE_H
