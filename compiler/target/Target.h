//===- Target.h - What kpc compiles for -------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Descriptors of the machines that kpc compiles for: what a chip can do
/// (Capabilities), what it has room for (Limits) and what things cost on it
/// (Costs). Everything above asks here instead of comparing chip names.
///
/// The descriptors are rows of constant tables (GpuTargets.cpp,
/// HostTargets.cpp): plain data, no MLIR, no LLVM. To add a chip, add a row.
///
///   Lookup L = lookup("sm_90");
///   L.Targets[0]->Name          // "sm_90a"
///   L.Note                      // "sm_90 means sm_90a: ..."
///   lookup("sm_9a").Error       // "... did you mean sm_90a?"
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_TARGET_TARGET_H
#define KPC_COMPILER_TARGET_TARGET_H

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kpc::target {

enum class Kind {
  Gpu,      ///< one chip; a cubin when ptxas is there, with its PTX
  Portable, ///< PTX alone, for every chip from its compute capability on
  Host,     ///< x86-64 code, run by the runtime's thread pool
};

/// Operand types that mma.sync multiplies, as bits of Capabilities::MmaSync.
enum MmaSyncKind : uint32_t {
  MmaF16 = 1u << 0,
  MmaBf16 = 1u << 1,
  MmaTf32 = 1u << 2,
  MmaF64 = 1u << 3,
  MmaInt8 = 1u << 4,
  MmaFp8 = 1u << 5, ///< from PTX 8.4 on
  /// kind::mxf8f6f4 and kind::mxf4nvf4, with block scales (sm_120, sm_121).
  MmaBlockScaled = 1u << 6,
};

struct Capabilities {
  bool CpAsync = false; ///< cp.async, global to shared
  bool Tma = false;     ///< cp.async.bulk.tensor and mbarrier transactions
  bool Wgmma = false;   ///< wgmma.mma_async (sm_90a alone)
  bool Tcgen05 = false; ///< tcgen05.* and tensor memory
  uint32_t MmaSync = 0; ///< MmaSyncKind bits
  /// Bytes of the widest load or store of one thread.
  int32_t WidestAccess = 16;
  /// Most blocks in a cluster that need no opt-in; 1: no clusters.
  int32_t ClusterBlocks = 1;
  /// Host: bits of the widest vector register.
  int32_t VectorBits = 0;
  /// Host: fused multiply-add, and conversions to and from fp16 in hardware.
  bool Fma = false, F16c = false;

  bool operator==(const Capabilities &) const = default;
};

struct Limits {
  int32_t SharedPerBlock = 0; ///< bytes a block may use, opted in
  int32_t SharedPerSm = 0;    ///< bytes
  int32_t RegistersPerSm = 65536;
  int32_t RegistersPerThread = 255;
  /// Columns of tensor memory that a block may take; 0: there is none.
  int32_t TensorMemoryColumns = 0;
  int32_t ThreadsPerBlock = 1024;
  int32_t ThreadsPerSm = 0;
  int32_t BlocksPerSm = 0;
  int64_t GridX = 2147483647;
  int64_t GridY = 65535;
  int64_t GridZ = 65535;

  bool operator==(const Limits &) const = default;
};

/// Dense peak rates in 10^12 operations per second (a multiply-add is two), of
/// the product in `Reference`. 0: the chip has no such unit, or no figure.
struct Costs {
  std::string_view Reference; ///< the product whose figures these are
  int32_t SmCount = 0;
  double Fp32 = 0;
  double Tf32 = 0;
  double Fp16 = 0; ///< also bf16, with fp32 accumulation
  double Fp8 = 0;
  double Fp4 = 0;
  double Int8 = 0;
  double DramGBps = 0; ///< 10^9 bytes per second
  int64_t L2Bytes = 0;
};

struct Target {
  std::string_view Name;
  Kind TheKind = Kind::Gpu;
  std::string_view Summary; ///< a phrase for `kpc targets`
  Capabilities Can = {};
  Limits Limit = {};
  Costs Cost = {};

  /// Compute capability times ten (sm_90a: 90); 0 for hosts.
  int32_t Compute = 0;
  /// Whether code for this target runs on exactly this compute capability.
  bool ArchSpecific = false;
  /// What LLVM calls the chip (`sm_90a`, `x86-64-v3`), and the features to ask
  /// for (`+ptx90`).
  std::string_view LlvmChip = "";
  std::string_view LlvmFeatures = "";
  /// The PTX version of LlvmFeatures, times ten; 0 for hosts.
  int32_t PtxVersion = 0;
  /// What the driver must support at least, as cuDriverGetVersion tells it
  /// (12080 is CUDA 12.8). See leastDriver for cubins.
  int32_t LeastDriver = 0;

  bool isGpu() const { return TheKind != Kind::Host; }
  bool isHost() const { return TheKind == Kind::Host; }
  /// Whether a kernel may begin before those that it depends on have ended, and
  /// wait for them itself (griddepcontrol).
  bool launchesEarly() const { return isGpu() && Compute >= 90; }
  /// Whether mma.sync adds up products of FP8 in about 14 bits, as Ada does.
  bool sumsFp8Shortly() const { return isGpu() && Compute == 89; }
};

/// Every target, in the order `kpc targets` prints them.
std::span<const Target> allTargets();
/// The row with exactly this name, or null. Aliases are not looked at.
const Target *findTarget(std::string_view Name);

/// Another spelling that stands for one or more targets.
struct Alias {
  std::string_view Name;
  std::vector<std::string_view> Targets;
  std::string_view Note; ///< what kpc says when it is used; may be empty
};
std::span<const Alias> allAliases();

/// What is found on this machine; replaced in tests.
struct Machine {
  /// Compute capability times ten of the first GPU; none where there is none.
  std::function<std::optional<int32_t>()> GpuCompute;
  /// 2, 3 or 4: the x86-64 level of the CPU; none on another architecture.
  std::function<std::optional<int32_t>()> HostLevel;
};
/// Asks the CUDA driver (loaded at run time) and the CPU.
Machine thisMachine();

struct Lookup {
  std::vector<const Target *> Targets;
  std::string Note;  ///< to be shown to the user; may be empty
  std::string Error; ///< not empty: the name means nothing, Targets is empty
  explicit operator bool() const { return Error.empty(); }
};
/// Finds what the user calls `Name`: a target, an alias, `native`, `host`.
Lookup lookup(std::string_view Name, const Machine &Here = thisMachine());

/// Names near `Name`, the nearest first, at most three.
std::vector<std::string> suggestTargets(std::string_view Name);

/// Least driver, as cuDriverGetVersion tells it, for a cubin of `T` that
/// ptxas of CUDA `PtxasVersion` (13000 is 13.0) wrote: drivers load cubins of
/// their own major version and older ones, and must know the chip.
int32_t leastDriver(const Target &T, int32_t PtxasVersion);
/// The Linux driver branch that brought a CUDA version: 12080 -> "570".
std::string_view driverBranch(int32_t CudaVersion);

/// Whether machine code of `T` runs on compute capability `Compute` (times
/// ten). PTX of a portable target also runs there when this is true.
bool runsOn(const Target &T, int32_t Compute);

/// "sm_80 (A100; ...)" and so on: one line for `kpc targets`.
std::string describe(const Target &T);

} // namespace kpc::target

#endif // KPC_COMPILER_TARGET_TARGET_H
