//===- Conditional.h - What data decides without the host -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A graph has its parameters before it runs. So a loop that data ends can be
/// a node of one only if two copies of its body do for all iterations: each
/// parameter is the same in every second iteration, or a place that moves on
/// by as many bytes each time. Shared by the runtime and by what tells people.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_FORMAT_CONDITIONAL_H
#define KPC_RUNTIME_FORMAT_CONDITIONAL_H

#include "runtime/format/artifact_generated.h"

#include <span>
#include <vector>

namespace kpc::format {

/// A number in the iterations p, p+2, p+4, … of a loop.
enum class Motion : uint8_t {
  None,  ///< the same in all iterations
  Turns, ///< the same in these
  Steps, ///< linear
  Other
};
/// Of a program's words (Expr).
Motion motionOf(std::span<const int64_t> Words, int64_t Counter);

/// Why a step of a loop that data ends keeps it out of a graph.
inline constexpr const char *TakesIterationNumber =
    "a kernel takes the iteration's number";
inline constexpr const char *PlaceDoesNotStep =
    "a place follows from the iteration's number, but not by steps of one "
    "length";

/// Why conditional nodes cannot hold a control whose condition, or that of one
/// inside, is data; null: they can.
const char *whyReadBack(const Model &M, const Target &T, uint32_t Control);

/// The same for each control as a device meets it: a branch that is read back
/// may hold nodes, a loop may not. Null as well where no data decides.
std::vector<const char *> readBackReasons(const Model &M, const Target &T);

} // namespace kpc::format

#endif // KPC_RUNTIME_FORMAT_CONDITIONAL_H
