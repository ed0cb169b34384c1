//===- Cpu.h - What this processor can run ----------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The x86-64 levels of the System V ABI, by cpuid and what the system saves.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_CPU_H
#define KPC_RUNTIME_SRC_CPU_H

namespace kpc::rt {

/// 1–4 for x86-64, x86-64-v2, -v3, -v4; 0 on other processors.
int cpuLevel();

/// "x86-64", "x86-64-v2", …
const char *cpuLevelName(int Level);

} // namespace kpc::rt

#endif // KPC_RUNTIME_SRC_CPU_H
