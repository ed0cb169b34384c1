//===- Refusal.h - Why a kernel family does not take a kernel ---*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A family's "no", as data: it travels from a worker to the driver, which
/// tells it to the user with a way out that fits its kind. Plain C++.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_REFUSAL_H
#define KPC_PASSES_SCHEDULE_REFUSAL_H

#include <string>

namespace kpc::schedule {

enum class RefusalKind {
  Form,        ///< the kernel computes something else
  ElementType, ///< the family does not multiply these types
  Layout,      ///< operands do not lie in memory as the family reads them
  Size,        ///< sizes are too small, too large or not known
  Target,      ///< the target lacks the instructions or the memory
};

struct Refusal {
  std::string Family; ///< its name in the registry
  RefusalKind Kind = RefusalKind::Form;
  /// A clause in the words of the kernel: "rows of A do not begin at multiples
  /// of 16 bytes".
  std::string Reason;
};

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_REFUSAL_H
