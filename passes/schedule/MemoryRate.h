//===- MemoryRate.h - What a chip's memory gives ----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_MEMORYRATE_H
#define KPC_PASSES_SCHEDULE_MEMORYRATE_H

#include "compiler/target/Target.h"

namespace kpc::schedule {

/// Bytes of a microsecond that a kernel of copies reaches.
inline double bytesOfMicrosecond(const target::Target &T) {
  constexpr double CopyShare = 0.86;
  /// Where a target has no figure of its own.
  constexpr double AnyGBps = 2000;
  return (T.Cost.DramGBps > 0 ? T.Cost.DramGBps : AnyGBps) * CopyShare * 1e3;
}

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_MEMORYRATE_H
