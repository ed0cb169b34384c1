//===- StoredBits.h - How exact an approximation has to be ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The attribute of an erf or a tanh of which a kernel stores fewer bits than
/// f16 has: i32, the bits of the stored significand with the first one.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_KERNEL_STOREDBITS_H
#define KPC_DIALECTS_KERNEL_STOREDBITS_H

#include "llvm/ADT/StringRef.h"

namespace kpc::kernel {

inline constexpr llvm::StringLiteral StoredBitsName = "kernel.stored_bits";
/// Those of f16, where the attribute is not given.
inline constexpr unsigned StoredBitsOfF16 = 11;

} // namespace kpc::kernel

#endif // KPC_DIALECTS_KERNEL_STOREDBITS_H
