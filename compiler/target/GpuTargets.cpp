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

constexpr Capabilities ampere(uint32_t Mma) {
  return {.CpAsync = true, .MmaSync = Mma, .WidestAccess = 16};
}

constexpr Capabilities hopper(bool Wgmma) {
  return {.CpAsync = true,
          .Tma = true,
          .Wgmma = Wgmma,
          .MmaSync = AdaMma,
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

constexpr Target Gpus[] = {
    {.Name = "sm_80",
     .Summary = "Ampere: A100, A30",
     .Can = ampere(AmpereMma),
     .Limit = limits(164, 2048, 32),
     .Cost = {.Reference = "A100 80GB SXM",
              .SmCount = 108,
              .Fp32 = 19.5,
              .Tf32 = 156,
              .Fp16 = 312,
              .Int8 = 624,
              .DramGBps = 2039,
              .L2Bytes = 40 * MiB},
     .Compute = 80,
     .LlvmChip = "sm_80",
     .LlvmFeatures = "+ptx90",
     .PtxVersion = 90,
     .LeastDriver = 11000},
    {.Name = "sm_86",
     .Summary = "Ampere: A10, A40, GeForce RTX 30",
     .Can = ampere(AmpereMma),
     .Limit = limits(100, 1536, 16),
     .Cost = {.Reference = "A10",
              .SmCount = 72,
              .Fp32 = 31.2,
              .Tf32 = 62.5,
              .Fp16 = 125,
              .Int8 = 250,
              .DramGBps = 600,
              .L2Bytes = 6 * MiB},
     .Compute = 86,
     .LlvmChip = "sm_86",
     .LlvmFeatures = "+ptx90",
     .PtxVersion = 90,
     .LeastDriver = 11010},
    {.Name = "sm_89",
     .Summary = "Ada: L4, L40S, GeForce RTX 40",
     .Can = ampere(AdaMma),
     .Limit = limits(100, 1536, 24),
     .Cost = {.Reference = "L40S",
              .SmCount = 142,
              .Fp32 = 91.6,
              .Tf32 = 183,
              .Fp16 = 362,
              .Fp8 = 733,
              .Int8 = 733,
              .DramGBps = 864,
              .L2Bytes = 96 * MiB},
     .Compute = 89,
     .LlvmChip = "sm_89",
     .LlvmFeatures = "+ptx90",
     .PtxVersion = 90,
     .LeastDriver = 11080},
    {.Name = "sm_90a",
     .Summary = "Hopper: H100, H200, GH200",
     .Can = hopper(/*Wgmma=*/true),
     .Limit = limits(228, 2048, 32),
     // SM count, L2 and bandwidth as an H200 reports them.
     .Cost = {.Reference = "H200 SXM",
              .SmCount = 132,
              .Fp32 = 67,
              .Tf32 = 494,
              .Fp16 = 989,
              .Fp8 = 1979,
              .Int8 = 1979,
              .DramGBps = 4800,
              .L2Bytes = 60 * MiB},
     .Compute = 90,
     .ArchSpecific = true,
     .LlvmChip = "sm_90a",
     .LlvmFeatures = "+ptx90",
     .PtxVersion = 90,
     .LeastDriver = 12000},
    {.Name = "sm_100a",
     .Summary = "Blackwell: B200, GB200",
     .Can = blackwell(),
     .Limit = limits(228, 2048, 32),
     .Cost = {.Reference = "B200 SXM",
              .SmCount = 148,
              .Fp32 = 75,
              .Tf32 = 1125,
              .Fp16 = 2250,
              .Fp8 = 4500,
              .Fp4 = 9000,
              .Int8 = 4500,
              .DramGBps = 8000,
              .L2Bytes = 126 * MiB},
     .Compute = 100,
     .ArchSpecific = true,
     .LlvmChip = "sm_100a",
     .LlvmFeatures = "+ptx90",
     .PtxVersion = 90,
     .LeastDriver = 12080},
    {.Name = "sm_103a",
     .Summary = "Blackwell Ultra: B300, GB300",
     .Can = blackwell(),
     .Limit = limits(228, 2048, 32),
     // Int8 is the one rate that fell against B200.
     .Cost = {.Reference = "B300 SXM",
              .SmCount = 148,
              .Fp32 = 75,
              .Tf32 = 1125,
              .Fp16 = 2250,
              .Fp8 = 4500,
              .Fp4 = 13500,
              .Int8 = 150,
              .DramGBps = 8000,
              .L2Bytes = 126 * MiB},
     .Compute = 103,
     .ArchSpecific = true,
     .LlvmChip = "sm_103a",
     .LlvmFeatures = "+ptx90",
     .PtxVersion = 90,
     .LeastDriver = 12090},
    {.Name = "sm_110a",
     .Summary = "Blackwell: Jetson Thor",
     .Can = blackwell(),
     .Limit = limits(228, 1536, 24),
     .Cost = {.Reference = "Jetson T5000",
              .SmCount = 20,
              .Fp32 = 8,
              .Fp16 = 258,
              .Fp8 = 517,
              .Fp4 = 1035,
              .DramGBps = 273,
              .L2Bytes = 32 * MiB},
     .Compute = 110,
     .ArchSpecific = true,
     .LlvmChip = "sm_110a",
     .LlvmFeatures = "+ptx90",
     .PtxVersion = 90,
     .LeastDriver = 13000},
    {.Name = "sm_120a",
     .Summary = "Blackwell: RTX PRO 6000, GeForce RTX 50",
     .Can = blackwellGeForce(),
     .Limit = limits(100, 1536, 24),
     .Cost = {.Reference = "GeForce RTX 5090",
              .SmCount = 170,
              .Fp32 = 104.8,
              .Tf32 = 104.8,
              .Fp16 = 209.5,
              .Fp8 = 419,
              .Fp4 = 1676,
              .Int8 = 838,
              .DramGBps = 1792,
              .L2Bytes = 96 * MiB},
     .Compute = 120,
     .ArchSpecific = true,
     .LlvmChip = "sm_120a",
     .LlvmFeatures = "+ptx90",
     .PtxVersion = 90,
     .LeastDriver = 12080},
    {.Name = "sm_121a",
     .Summary = "Blackwell: GB10 (DGX Spark)",
     .Can = blackwellGeForce(),
     .Limit = limits(100, 1536, 24),
     .Cost = {.Reference = "GB10",
              .SmCount = 48,
              .Fp32 = 31,
              .Fp16 = 62,
              .Fp8 = 125,
              .Fp4 = 500,
              .DramGBps = 273,
              .L2Bytes = 24 * MiB},
     .Compute = 121,
     .ArchSpecific = true,
     .LlvmChip = "sm_121a",
     .LlvmFeatures = "+ptx90",
     .PtxVersion = 90,
     .LeastDriver = 12090},
    // Portable PTX uses the oldest version that knows the chip [llvm], so that
    // the oldest driver can read it, and the limits of the smallest chip from
    // there on: 8.6 and 12.0 have 99 KiB of shared memory and 1536 threads.
    {.Name = "compute_80",
     .TheKind = Kind::Portable,
     .Summary = "PTX for every chip from compute capability 8.0 on",
     .Can = ampere(AmpereMma),
     .Limit = limits(100, 1536, 16),
     .Cost = {.Reference = "A10",
              .SmCount = 72,
              .Fp32 = 31.2,
              .Tf32 = 62.5,
              .Fp16 = 125,
              .Int8 = 250,
              .DramGBps = 600,
              .L2Bytes = 6 * MiB},
     .Compute = 80,
     .LlvmChip = "sm_80",
     .LlvmFeatures = "+ptx70",
     .PtxVersion = 70,
     .LeastDriver = 11000},
    {.Name = "compute_90",
     .TheKind = Kind::Portable,
     .Summary = "PTX for every chip from compute capability 9.0 on",
     .Can = hopper(/*Wgmma=*/false),
     .Limit = limits(100, 1536, 24),
     .Cost = {.Reference = "H200 SXM",
              .SmCount = 132,
              .Fp32 = 67,
              .Tf32 = 494,
              .Fp16 = 989,
              .Fp8 = 1979,
              .Int8 = 1979,
              .DramGBps = 4800,
              .L2Bytes = 60 * MiB},
     .Compute = 90,
     .LlvmChip = "sm_90",
     .LlvmFeatures = "+ptx78",
     .PtxVersion = 78,
     .LeastDriver = 11080},
};

} // namespace

std::span<const Target> gpuTargets() { return Gpus; }

} // namespace kpc::target
