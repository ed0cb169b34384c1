//===- KernelJob.h - One kernel for one target, as a worker's job -*- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What travels to a worker process and back, and what the cache holds. Plain
/// C++; both structs are lists of strings on the wire.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_KERNELS_KERNELJOB_H
#define KPC_COMPILER_KERNELS_KERNELJOB_H

#include "codegen/artifact/TensorMap.h"
#include "passes/schedule/Variants.h"

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kpc {

struct KernelJob {
  /// In the plan: of the model's nodes. Messages name it, code does not.
  std::string Symbol;
  /// For the driver alone: the function's name in `Text` and in the code. It
  /// follows from what the kernel computes, so that a cache entry serves every
  /// model that has the kernel.
  std::string Entry;
  std::string Target; ///< a name of compiler/target
  std::string Text;   ///< the kernel in linalg form, MLIR
  /// "" for machine code, or what --emit asks of a kernel: tile, nvvm, llvm,
  /// ptx, sass.
  std::string Listing;
  unsigned HostOptimization = 2; ///< see CompileOptions.h
  bool LineInfo = false;         ///< GPU: PTX names the lines of the listings
  std::string Schedule;          ///< the user's; empty: the builder chooses
  /// GPU: where ptxas slows the builder's first choice down, the schedule that
  /// is ranked next is taken, unless its estimate is above this. Of a variant,
  /// the estimate of the kernel for all sizes, which serves its sizes then.
  double MostMicroseconds = std::numeric_limits<double>::infinity();
  std::string Ptxas;      ///< the program; empty: PTX only
  std::string Nvdisasm;   ///< the program, for the listing sass
  std::string Nvrtc, Cxx; ///< custom operators: the library, the program
  /// Of a custom operator, for the driver alone: its name and its node's.
  std::string Operator, Node;
  /// What these programs say of their versions. For the cache alone: it is not
  /// sent to the worker.
  std::string Releases;
  /// Of a variant, for the driver alone: the kernel whose place it takes, for
  /// which of its sizes, and for which of the first launch's in words.
  std::string VariantOf;
  std::vector<schedule::SizeBounds> Where;
  std::string WhereText;
  /// Of any kernel, for the driver alone: the sizes of the first launch that
  /// its schedule is chosen for, in words; empty where all are known.
  std::string ChosenFor;

  std::string encode() const;
  static std::optional<KernelJob> decode(std::string_view Bytes);
};

struct CompiledKernel {
  /// For the driver alone: the job's.
  std::string Entry;
  std::string Code; ///< host: an ELF object; GPU: a cubin, or empty
  /// Of a custom operator: the function's name in the code, which for the host
  /// is a shared object then. Empty: the name is `Entry`.
  std::string Function;
  /// Of the kernel's arguments so many are given to it; those after are there
  /// for sizes alone. -1: all are.
  int64_t Arguments = -1;
  std::string Ptx;
  std::string Listing;
  std::string Schedule; ///< what the builder chose, in words
  /// The best of what it had to choose from, each with the parts of its cost.
  std::vector<std::string> ScheduleCosts;
  /// What ptxas did that slows the kernel down, in words; empty: nothing.
  std::string Slowed;
  /// Schedules that were ranked above and not taken, each with what ptxas did.
  std::vector<std::string> PassedOver;

  /// Sizes are expressions (dialects/shape) over `argN`, the kernel's
  /// arguments counted from 0, and `sm_count`, the multiprocessors of the
  /// device (GPU only).
  std::string Work = "1"; ///< host: independent units
  int64_t Grain = 1;      ///< host: least units a task
  std::array<std::string, 3> Grid = {"1", "1", "1"};
  std::array<int64_t, 3> Block = {1, 1, 1};
  std::string Shared = "0";  ///< bytes of dynamic shared memory
  bool NoEarlyStart = false; ///< GPU: begins when earlier kernels have ended
  bool Cooperative = false;  ///< GPU: its blocks wait for each other
  /// GPU: buffers among the arguments that this code neither reads nor writes.
  std::vector<int64_t> Unread;
  int64_t Registers = -1, SpillBytes = -1;
  int64_t LeastDriver = 0; ///< CUDA driver version that loads the code
  /// GPU: parameters after the kernel's arguments.
  std::vector<artifact::KernelTensorMap> TensorMaps;

  std::string encode() const;
  static std::optional<CompiledKernel> decode(std::string_view Bytes);
};

} // namespace kpc

#endif // KPC_COMPILER_KERNELS_KERNELJOB_H
