//===- Limits.cpp - What a kernel waits for -------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/report/Limits.h"

#include "codegen/nvptx/Ptxas.h"

#include <fmt/format.h>

namespace kpc::cli {

/// Below this a GPU kernel's time, by events, is mostly that of its launch;
/// a host's, that of waking threads: microseconds.
constexpr double ShortOnGpu = 4, ShortOnHost = 3;
/// A part of a peak rate that is called near.
constexpr double Near = 0.7;
/// No memory is so much faster than its peak rate.
constexpr double Faster = 1.1;

bool usesTensorCores(const KernelFacts *K) {
  if (!K)
    return false;
  for (const char *Family :
       {"gemm ", "mmasync ", "gemv ", "conv ", "conv_mmasync ", "conv_halo ",
        "attention ", "attention_tcgen05 ", "attention_mmasync ", "decode "})
    if (K->Family.starts_with(Family))
      return true;
  return false;
}

/// The rate of the Tensor Cores for what the kernel multiplies.
static double tensorRate(const std::string &Types, const Peaks &P) {
  auto Has = [&](const char *Name) {
    return Types.find(Name) != std::string::npos;
  };
  if (Has("fp8") && P.Fp8 > 0)
    return P.Fp8;
  if (Has("int8") && P.Int8 > 0)
    return P.Int8;
  if (Has("f16"))
    return P.Fp16;
  return P.Tf32 > 0 ? P.Tf32 : P.Fp16;
}

Bounds boundsOf(const ReportStep &S, const Peaks &P) {
  if (!P.known())
    return {};
  double Tensor =
      usesTensorCores(S.Kernel) ? tensorRate(S.Kernel->Precision, P) : 0;
  double Rate = Tensor > 0 ? Tensor : P.Fp32;
  auto Flops = static_cast<double>(std::max<int64_t>(S.Time->Flops, 0));
  return {static_cast<double>(S.Time->Bytes) / (P.GBps * 1e3),
          Flops / (Rate * 1e6)};
}

static Limit memoryLimit(const ReportStep &S) {
  bool Wide = S.Kernel && S.Kernel->Precision.find("f32") != std::string::npos;
  return {"memory", "It moves its bytes about as fast as the memory can.",
          Wide ? "Fewer bytes are faster: --precision fp16 or bf16 halves "
                 "them, and what it is fused with saves a trip to memory."
               : "Fewer bytes are faster: see below what was not fused, and "
                 "why."};
}

static Limit scalarLimit() {
  return {"scalar", "Its products run on scalar units, not on Tensor Cores.",
          "Compile with --precision fp16, bf16 or tf32; the notes on slow "
          "paths say why no kernel on Tensor Cores took it."};
}

Limit limitOf(const ReportStep &S, const Bounds &B) {
  double Time = S.Time->Microseconds, Least = B.least();
  bool ByMemory = B.Memory >= B.Compute;
  bool Contracts = S.Launch && (S.Launch->Kind == "GEMM" ||
                                S.Launch->Kind == "convolution" ||
                                S.Launch->Kind == "attention");
  if (!S.Kernel)
    return {"copy", "It copies or fills memory, and computes nothing.",
            "An output that no kernel can write in place is copied: return "
            "the value itself, not one that is an input or output already."};
  if (S.Kernel->SpillBytes > nvptx::FewSpilledBytes)
    return {"spills",
            fmt::format("It spills {} bytes of registers to memory.",
                        S.Kernel->SpillBytes),
            "Name another schedule with --schedule; kpc compile --explain "
            "lists them."};
  if (Least <= 0 || Time <= 0)
    return {"not known", "There are no peak rates to compare it with.", ""};
  if (ByMemory && Least > Faster * Time)
    return {"cache",
            "Its bytes come from caches, faster than memory gives them, or it "
            "reads a part of them alone.",
            ""};
  if (Least / Time >= Near)
    return ByMemory ? memoryLimit(S)
                    : Limit{"arithmetic",
                            "It computes about as fast as the device can.",
                            "Only a narrower type or less work is faster."};
  if (S.Gpu && Contracts && !usesTensorCores(S.Kernel) && !ByMemory)
    return scalarLimit();
  if (Time < (S.Gpu ? ShortOnGpu : ShortOnHost))
    return {"launch",
            S.Gpu ? "It is so short that its launch is most of it."
                  : "It is so short that handing it to threads is most of it.",
            S.Gpu ? "A larger batch spreads launches over more work; see below "
                    "what was not fused, and why."
                  : "A larger batch spreads it over more work; fewer threads "
                    "(--threads) cost less to wake."};
  if (ByMemory)
    return {"latency",
            "It waits for memory: too few bytes are on their way at once, or "
            "they are read more than once.",
            "Larger dims keep more bytes on their way. A large kernel that "
            "stays far from the peak is worth a report to kpc's makers."};
  return {"latency",
          S.Gpu ? "It has too few blocks for the chip, or steps in a row."
                : "Its loops do not keep the vector units busy.",
          S.Gpu ? "A larger batch fills the chip; --dim NAME=MIN..MAX:opt=N "
                  "tunes for the size that matters."
                : "Give the size that matters with --dim NAME=MIN..MAX:opt=N "
                  "when compiling."};
}

} // namespace kpc::cli
