//===- AddressText.h - Device addresses in words ----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An address says nothing to who reads a finding; the allocation it lies in or
/// beside, and the kernel's argument that points there, do.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_EXECUTE_ADDRESSTEXT_H
#define KPC_EMULATOR_EXECUTE_ADDRESSTEXT_H

#include "emulator/execute/Cta.h"

namespace kpc::emulator {

/// "0x7f20".
std::string hexadecimal(uint64_t Value);

/// "byte 4 of an allocation of 256 bytes (argument 1, 'out', plus 4)", "8 bytes
/// behind the end of the variable 'table' of 64 bytes", "near no allocation".
std::string placeOf(const LaunchState &Launch, uint64_t Address);

/// Both, with a comma between.
std::string addressText(const LaunchState &Launch, uint64_t Address);

} // namespace kpc::emulator

#endif // KPC_EMULATOR_EXECUTE_ADDRESSTEXT_H
