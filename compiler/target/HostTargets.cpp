//===- HostTargets.cpp - The table of CPU targets -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The levels are those of the x86-64 psABI, section "Micro-Architecture
// Levels". A level, not a CPU name, so that the same model gives the same
// bytes on every machine of a fleet.
//
//===----------------------------------------------------------------------===//

#include "compiler/target/Tables.h"

namespace kpc::target {

namespace {

constexpr Target Hosts[] = {
    {.Name = "host:x86-64-v2",
     .TheKind = Kind::Host,
     .Summary = "SSE4.2: any x86-64 server since 2009",
     .Can = {.WidestAccess = 16, .VectorBits = 128},
     .LlvmChip = "x86-64-v2"},
    {.Name = "host:x86-64-v3",
     .TheKind = Kind::Host,
     .Summary = "AVX2, FMA, F16C: Haswell, Zen",
     .Can = {.WidestAccess = 32, .VectorBits = 256, .Fma = true, .F16c = true},
     .LlvmChip = "x86-64-v3"},
    // LLVM keeps to 256-bit vectors for this level unless it is told not to.
    {.Name = "host:x86-64-v4",
     .TheKind = Kind::Host,
     .Summary = "AVX-512: Skylake server, Zen 4",
     .Can = {.WidestAccess = 64, .VectorBits = 512, .Fma = true, .F16c = true},
     .LlvmChip = "x86-64-v4",
     .LlvmFeatures = "-prefer-256-bit"},
};

} // namespace

std::span<const Target> hostTargets() { return Hosts; }

} // namespace kpc::target
