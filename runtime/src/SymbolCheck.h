//===- SymbolCheck.h - Sizes that an artifact takes -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_SYMBOLCHECK_H
#define KPC_RUNTIME_SRC_SYMBOLCHECK_H

#include "runtime/src/Model.h"

#include <span>

namespace kpc::rt {

/// Checks each value against the range and divisor of its symbol, but for the
/// symbols that are still open.
Status checkSymbols(const Model &M, std::span<const int64_t> Symbols,
                    std::span<const uint8_t> Open);

} // namespace kpc::rt

#endif // KPC_RUNTIME_SRC_SYMBOLCHECK_H
