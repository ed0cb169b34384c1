//===- GpuTargets.cpp - The table of GPU targets --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the numbers come from:
//  [guide]  CUDA C++ Programming Guide 13.0, "Compute Capabilities", table
//           "Technical Specifications per Compute Capability"
//  [ptx]    PTX ISA 9.0, the tables "Target ISA Notes" of each instruction
//  [llvm]   LLVM 22, llvm/lib/Target/NVPTX/NVPTX.td: least PTX version of a
//  chip [notes]  CUDA 13.0 release notes, table of driver versions The product
//  data sheets named in each row's Reference, for Costs. Rates are dense (data
//  sheets often print the sparse figure, twice as high).
//
//===----------------------------------------------------------------------===//

#include "compiler/target/Tables.h"

namespace kpc::target {

namespace {

constexpr int64_t MiB = int64_t(1024) * 1024;
constexpr uint32_t AmpereMma =
    MmaF16 | MmaBf16 | MmaTf32 | MmaF64 | MmaInt8; // [ptx] mma
constexpr uint32_t AdaMma = AmpereMma | MmaFp8;    // [ptx] mma, sm_89
constexpr uint32_t GeForceBlackwellMma = AdaMma | MmaBlockScaled;

// [guide]: shared memory of a block is the SM's less 1 KiB that the system
// keeps for each block.
constexpr Limits limits(int32_t SharedKiB, int32_t Threads, int32_t Blocks) {
  Limits L;
  L.SharedPerSm = SharedKiB * 1024;
  L.SharedPerBlock = (SharedKiB - 1) * 1024;
  L.ThreadsPerSm = Threads;
  L.BlocksPerSm = Blocks;
  return L;
}

/// [ptx] tcgen05, tensor memory.
constexpr Limits withTensorMemory(Limits L) {
  L.TensorMemoryColumns = 512;
  return L;
}

constexpr Capabilities ampere(uint32_t Mma) {
  return {.CpAsync = true, .MmaSync = Mma, .WidestAccess = 16};
}

// Code for Hopper alone has wgmma; PTX that later chips read, too, is older
// than FP8.
constexpr Capabilities hopper(bool Wgmma) {
  return {.CpAsync = true,
          .Tma = true,
          .Wgmma = Wgmma,
          .MmaSync = Wgmma ? AdaMma : AmpereMma,
          .WidestAccess = 16,
          .ClusterBlocks = 8};
}

// 256-bit global accesses: [ptx] ld, "v8.b32 and v4.b64 ... sm_100 or higher".
constexpr Capabilities blackwell() {
  return {.CpAsync = true,
          .Tma = true,
          .Tcgen05 = true,
          .MmaSync = AdaMma,
          .WidestAccess = 32,
          .ClusterBlocks = 8};
}

constexpr Capabilities blackwellGeForce() {
  return {.CpAsync = true,
          .Tma = true,
          .MmaSync = GeForceBlackwellMma,
          .WidestAccess = 32,
          .ClusterBlocks = 8};
}

struct Rates {
  double Fp32 = 0, Tf32 = 0, Fp16 = 0, Fp8 = 0, Fp4 = 0, Int8 = 0;
};

constexpr Costs costs(std::string_view Reference, int32_t SmCount,
                      double DramGBps, int64_t L2MiB, const Rates &R) {
  return {.Reference = Reference,
          .SmCount = SmCount,
          .Fp32 = R.Fp32,
          .Tf32 = R.Tf32,
          .Fp16 = R.Fp16,
          .Fp8 = R.Fp8,
          .Fp4 = R.Fp4,
          .Int8 = R.Int8,
          .DramGBps = DramGBps,
          .L2Bytes = L2MiB * MiB};
}

// The products whose figures stand for a chip: SMs, bandwidth, MiB of L2,
// rates.
constexpr Costs A100 =
    costs("A100 80GB SXM", 108, 2039, 40,
          {.Fp32 = 19.5, .Tf32 = 156, .Fp16 = 312, .Int8 = 624});
constexpr Costs A10 = costs(
    "A10", 72, 600, 6, {.Fp32 = 31.2, .Tf32 = 62.5, .Fp16 = 125, .Int8 = 250});
constexpr Costs L40S =
    costs("L40S", 142, 864, 96,
          {.Fp32 = 91.6, .Tf32 = 183, .Fp16 = 362, .Fp8 = 733, .Int8 = 733});
// SM count, L2 and bandwidth as an H200 reports them.
constexpr Costs H200 =
    costs("H200 SXM", 132, 4800, 60,
          {.Fp32 = 67, .Tf32 = 494, .Fp16 = 989, .Fp8 = 1979, .Int8 = 1979});
constexpr Costs B200 = costs("B200 SXM", 148, 8000, 126,
                             {.Fp32 = 75,
                              .Tf32 = 1125,
                              .Fp16 = 2250,
                              .Fp8 = 4500,
                              .Fp4 = 9000,
                              .Int8 = 4500});
// Int8 is the one rate that fell against B200.
constexpr Costs B300 = costs("B300 SXM", 148, 8000, 126,
                             {.Fp32 = B200.Fp32,
                              .Tf32 = B200.Tf32,
                              .Fp16 = B200.Fp16,
                              .Fp8 = B200.Fp8,
                              .Fp4 = 13500,
                              .Int8 = 150});
constexpr Costs Thor = costs("Jetson T5000", 20, 273, 32,
                             {.Fp32 = 8, .Fp16 = 258, .Fp8 = 517, .Fp4 = 1035});
constexpr Costs Rtx5090 = costs("GeForce RTX 5090", 170, 1792, 96,
                                {.Fp32 = 104.8,
                                 .Tf32 = 104.8,
                                 .Fp16 = 209.5,
                                 .Fp8 = 419,
                                 .Fp4 = 1676,
                                 .Int8 = 838});
constexpr Costs Gb10 = costs("GB10", 48, 273, 24,
                             {.Fp32 = 31, .Fp16 = 62, .Fp8 = 125, .Fp4 = 500});

/// What a row says beside its capabilities, limits and costs.
struct Chip {
  std::string_view Name, Summary;
  int32_t Compute, LeastDriver;
};

/// Code of one chip, by PTX 9.0. An `a` behind the number: this chip alone.
constexpr Target chip(const Chip &C, const Capabilities &Can,
                      const Limits &Limit, const Costs &Cost) {
  return {.Name = C.Name,
          .Summary = C.Summary,
          .Can = Can,
          .Limit = Limit,
          .Cost = Cost,
          .Compute = C.Compute,
          .ArchSpecific = C.Name.ends_with('a'),
          .LlvmChip = C.Name,
          .LlvmFeatures = "+ptx90",
          .PtxVersion = 90,
          .LeastDriver = C.LeastDriver};
}

/// Portable PTX uses the oldest version that knows the chip [llvm], so that the
/// oldest driver can read it.
constexpr Target portable(const Chip &C, std::string_view LlvmChip,
                          std::string_view LlvmFeatures, int32_t PtxVersion,
                          const Capabilities &Can, const Limits &Limit,
                          const Costs &Cost) {
  Target T = chip(C, Can, Limit, Cost);
  T.TheKind = Kind::Portable;
  T.ArchSpecific = false;
  T.LlvmChip = LlvmChip;
  T.LlvmFeatures = LlvmFeatures;
  T.PtxVersion = PtxVersion;
  return T;
}

constexpr Target Gpus[] = {
    chip({"sm_80", "Ampere: A100, A30", 80, 11000}, ampere(AmpereMma),
         limits(164, 2048, 32), A100),
    chip({"sm_86", "Ampere: A10, A40, GeForce RTX 30", 86, 11010},
         ampere(AmpereMma), limits(100, 1536, 16), A10),
    chip({"sm_89", "Ada: L4, L40S, GeForce RTX 40", 89, 11080}, ampere(AdaMma),
         limits(100, 1536, 24), L40S),
    chip({"sm_90a", "Hopper: H100, H200, GH200", 90, 12000},
         hopper(/*Wgmma=*/true), limits(228, 2048, 32), H200),
    chip({"sm_100a", "Blackwell: B200, GB200", 100, 12080}, blackwell(),
         withTensorMemory(limits(228, 2048, 32)), B200),
    chip({"sm_103a", "Blackwell Ultra: B300, GB300", 103, 12090}, blackwell(),
         withTensorMemory(limits(228, 2048, 32)), B300),
    chip({"sm_110a", "Blackwell: Jetson Thor", 110, 13000}, blackwell(),
         withTensorMemory(limits(228, 1536, 24)), Thor),
    chip({"sm_120a", "Blackwell: RTX PRO 6000, GeForce RTX 50", 120, 12080},
         blackwellGeForce(), limits(100, 1536, 24), Rtx5090),
    chip({"sm_121a", "Blackwell: GB10 (DGX Spark)", 121, 12090},
         blackwellGeForce(), limits(100, 1536, 24), Gb10),
    // The limits of the smallest chip from there on: 8.6 and 12.0 have 99 KiB
    // of shared memory and 1536 threads. Policies for the second cache are of
    // PTX 7.4.
    portable({"compute_80", "PTX for every chip from compute capability 8.0 on",
              80, 11040},
             "sm_80", "+ptx74", 74, ampere(AmpereMma), limits(100, 1536, 16),
             A10),
    portable({"compute_90", "PTX for every chip from compute capability 9.0 on",
              90, 11080},
             "sm_90", "+ptx78", 78, hopper(/*Wgmma=*/false),
             limits(100, 1536, 24), H200),
};

} // namespace

std::span<const Target> gpuTargets() { return Gpus; }

} // namespace kpc::target
