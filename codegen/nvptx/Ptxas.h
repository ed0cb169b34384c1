//===- Ptxas.h - NVIDIA's assembler -----------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// PTX to machine code (a cubin), by the `ptxas` program of the CUDA toolkit:
/// the only optional tool kpc runs. Plain C++.
///
///   Ptxas P = findPtxas(Option);            // --ptxas, CUDA_HOME, PATH
///   if (!P) note(P.Missing);                // what to install
///   Assembly A = assemblePtx(P, Text, *findTarget("sm_90a"));
///   A.Cubin, A.Kernels[0].Registers, A.Warnings
///
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_NVPTX_PTXAS_H
#define KPC_CODEGEN_NVPTX_PTXAS_H

#include "compiler/target/Target.h"

#include <string>
#include <string_view>
#include <vector>

namespace kpc::nvptx {

struct Ptxas {
  /// The program; empty when there is none.
  std::string Path;
  /// 13000 is CUDA 13.0.
  int32_t Version = 0;
  /// All that it says of its version: two builds of one release differ in it.
  std::string Release;
  /// Why there is none, where it was looked for and what to install.
  std::string Missing;
  explicit operator bool() const { return !Path.empty(); }
};

/// Looks at `Option` (a program or a toolkit's folder; where given, nothing
/// else is looked at), at CUDA_HOME and CUDA_PATH, along PATH, and at
/// /usr/local/cuda. A program that does not run, or is not ptxas, is missing.
Ptxas findPtxas(std::string_view Option = {});

/// What one kernel uses, as `ptxas -v` tells it.
struct KernelUsage {
  std::string Name;
  int32_t Registers = 0;
  int64_t StackBytes = 0;
  int64_t SpillStoreBytes = 0, SpillLoadBytes = 0;
  int64_t SharedBytes = 0; ///< static
  int32_t Barriers = 0;
};

/// A thread's spilled bytes that are no reason to warn of a kernel where no
/// schedule has none: addresses that no loop changes, stored once. On an H200
/// two convolutions that spill 8 and 24 bytes took 0.88 and 0.96 of the time of
/// the same that compute them anew.
inline constexpr int64_t FewSpilledBytes = 32;

/// "spills 24 bytes of registers"
std::string spillText(int64_t Bytes);

struct Assembly {
  /// Not empty: it failed; the lines that ptxas printed.
  std::string Error;
  std::string Cubin;
  std::vector<KernelUsage> Kernels; ///< in the order of the PTX
  std::vector<std::string> Warnings;
  double Seconds = 0;
  bool ok() const { return Error.empty(); }
  /// What makes the first kernel slow, in words: "spills 744 bytes of
  /// registers", "reports a loss of speed (C7510)", which is how it says that
  /// it serialises instructions. Empty: nothing.
  std::string slowdown() const;
};

/// Assembles for `T` (portable targets too: the result tells that it can be
/// assembled, and is of the oldest chip). Deterministic.
Assembly assemblePtx(const Ptxas &Program, std::string_view Text,
                     const target::Target &T, double LimitSeconds = 120);

/// Reads what `ptxas -v` prints; exposed for its test.
void readPtxasLog(std::string_view Log, Assembly &Into);

} // namespace kpc::nvptx

#endif // KPC_CODEGEN_NVPTX_PTXAS_H
