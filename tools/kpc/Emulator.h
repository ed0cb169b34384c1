//===- Emulator.h - Emulated devices ----------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--device emulate:sm_90a`: the runtime opens the PTX emulator
/// (libkpc_emulator_driver.so, beside the executable or in ../lib) in place of
/// the CUDA driver. docs/emulator.md.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_EMULATOR_H
#define KPC_TOOLS_KPC_EMULATOR_H

#include <string>

namespace kpc::cli {

/// Makes cuda:0 an emulated GPU of the target; throws UsageError. Before the
/// runtime opens a driver. The library is returned.
std::string useEmulator(const std::string &Target);

/// The target that cuda:0 was made an emulated GPU of; empty: none.
std::string emulatedTarget();

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_EMULATOR_H
