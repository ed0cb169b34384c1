//===- Requirements.cpp - The targets that instructions need --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, "PTX ISA Notes" and "Target ISA Notes" of each instruction, as ptxas
// 13.0 takes them (test/emulator/targets.py asks both).

#include "emulator/instructions/Opcodes.h"

namespace kpc::emulator {

// Targets of a family, with those that end in a.
#define KPC_DATACENTER "sm_100f, sm_110f"
#define KPC_BLACKWELL "sm_100f, sm_110f, sm_120f"
#define KPC_SCALED "sm_100a, sm_103a, sm_110a"

/// Of an opcode's rows the last one that a statement matches and its text does
/// not meet is told, so the special ones come last. Nothing that every target
/// of this table's age has is here.
static constexpr Requirement Rows[] = {
    // Every opcode.
    {"", "shared::cta", "", 78},
    {"", "shared::cluster", "sm_90", 78},
    {"", "cluster", "sm_90", 78},
    {"", "L2::cache_hint", "sm_80", 74},
    {"", "f32x2", "sm_100", 86},

    // Arithmetic.
    {"tanh", "", "sm_75", 70},
    {"ex2", "f16", "sm_75", 70},
    {"ex2", "f16x2", "sm_75", 70},
    {"min", "NaN", "sm_80", 70},
    {"max", "NaN", "sm_80", 70},
    {"min", "f16", "sm_80", 70},
    {"max", "f16", "sm_80", 70},
    {"min", "f16x2", "sm_80", 70},
    {"max", "f16x2", "sm_80", 70},
    {"fma", "relu", "sm_80", 70},
    {"fma", "bf16", "sm_80", 70},
    {"min", "bf16", "sm_80", 70},
    {"max", "bf16", "sm_80", 70},
    {"abs", "bf16", "sm_80", 70},
    {"neg", "bf16", "sm_80", 70},
    {"fma", "bf16x2", "sm_80", 70},
    {"min", "bf16x2", "sm_80", 70},
    {"max", "bf16x2", "sm_80", 70},
    {"abs", "bf16x2", "sm_80", 70},
    {"neg", "bf16x2", "sm_80", 70},
    {"abs", "f16", "sm_53", 65},
    {"abs", "f16x2", "sm_53", 65},
    {"add", "bf16", "sm_90", 78},
    {"sub", "bf16", "sm_90", 78},
    {"mul", "bf16", "sm_90", 78},
    {"tanh", "bf16", "sm_90", 78},
    {"ex2", "bf16", "sm_90", 78},
    {"setp", "bf16", "sm_90", 78},
    {"add", "bf16x2", "sm_90", 78},
    {"sub", "bf16x2", "sm_90", 78},
    {"mul", "bf16x2", "sm_90", 78},
    {"tanh", "bf16x2", "sm_90", 78},
    {"ex2", "bf16x2", "sm_90", 78},
    {"min", "relu", "sm_90", 80},
    {"max", "relu", "sm_90", 80},
    {"add", "u16x2", "sm_90", 80},
    {"add", "s16x2", "sm_90", 80},
    {"min", "u16x2", "sm_90", 80},
    {"min", "s16x2", "sm_90", 80},
    {"max", "u16x2", "sm_90", 80},
    {"max", "s16x2", "sm_90", 80},

    // Conversions.
    {"cvt", "relu", "sm_80", 70},
    {"cvt", "f16x2 f32", "sm_80", 70},
    {"cvt", "bf16 f32", "sm_80", 70},
    {"cvt", "bf16 f32 !rn !rz", "sm_80", 71}, // from bf16
    {"cvt", "bf16x2 f32", "sm_80", 70},
    {"cvt", "bf16 !f32", "sm_90", 78},
    {"cvt", "satfinite f16 f32", "", 81},
    {"cvt", "satfinite f16x2 f32", "sm_80", 81},
    {"cvt", "satfinite bf16 f32", "sm_80", 81},
    {"cvt", "satfinite bf16x2 f32", "sm_80", 81},
    {"cvt", "tf32", "sm_80", 70},
    {"cvt", "tf32 satfinite", "sm_80", 81},
    {"cvt", "tf32 rn", "sm_90", 78},
    {"cvt", "tf32 rz", "sm_90", 78},
    {"cvt", "tf32 rn satfinite", "sm_100", 86},
    {"cvt", "tf32 rz satfinite", "sm_100", 86},
    {"cvt", "e4m3x2", "sm_89", 78},
    {"cvt", "e5m2x2", "sm_89", 78},
    {"cvt", "e2m1x2", KPC_BLACKWELL, 86},
    {"cvt", "e2m3x2", KPC_BLACKWELL, 86},
    {"cvt", "e3m2x2", KPC_BLACKWELL, 86},
    {"cvt", "ue8m0x2", KPC_BLACKWELL, 86},
    {"cvta", "param", "", 77},

    // Memory.
    {"ld", "b128", "sm_70", 83},
    {"st", "b128", "sm_70", 83},
    {"ld", "v8", "sm_100", 88},
    {"st", "v8", "sm_100", 88},
    {"ld", "v4 b64", "sm_100", 88},
    {"ld", "v4 u64", "sm_100", 88},
    {"ld", "v4 s64", "sm_100", 88},
    {"ld", "v4 f64", "sm_100", 88},
    {"st", "v4 b64", "sm_100", 88},
    {"st", "v4 u64", "sm_100", 88},
    {"st", "v4 s64", "sm_100", 88},
    {"st", "v4 f64", "sm_100", 88},
    {"st", "async", "sm_90", 81},
    {"createpolicy", "", "sm_80", 74},
    {"discard", "", "sm_80", 74},
    {"applypriority", "", "sm_80", 74},
    {"prefetch", "tensormap", "sm_90", 80},
    {"atom", "v2", "sm_90", 81},
    {"atom", "v4", "sm_90", 81},
    {"atom", "v8", "sm_90", 81},
    {"red", "v2", "sm_90", 81},
    {"red", "v4", "sm_90", 81},
    {"red", "v8", "sm_90", 81},
    {"atom", "bf16", "sm_90", 78},
    {"atom", "bf16x2", "sm_90", 78},
    {"red", "bf16", "sm_90", 78},
    {"red", "bf16x2", "sm_90", 78},
    {"atom", "b128", "sm_90", 83},
    {"red", "async", "sm_90", 81},
    {"red", "async global", "sm_100", 87},

    // Warps, barriers, clusters.
    {"redux", "", "sm_80", 70},
    {"redux", "f32", "sm_100f", 86},
    {"elect", "", "sm_90", 80},
    {"mapa", "", "sm_90", 78},
    {"getctarank", "", "sm_90", 78},
    {"griddepcontrol", "", "sm_90", 78},
    {"setmaxnreg", "", "sm_90a, " KPC_BLACKWELL, 80},
    {"clusterlaunchcontrol", "", "sm_100", 86},
    {"clusterlaunchcontrol", "multicast::cluster::all", KPC_BLACKWELL, 86},
    {"fence", "proxy async", "sm_90", 80},
    {"fence", "proxy async.global", "sm_90", 80},
    {"fence", "proxy async.shared::cta", "sm_90", 80},
    {"fence", "mbarrier_init", "sm_90", 80},
    {"mbarrier", "", "sm_80", 70},
    {"mbarrier", "test_wait parity", "sm_80", 71},
    {"mbarrier", "try_wait", "sm_90", 78},
    {"mbarrier", "expect_tx", "sm_90", 80},
    {"mbarrier", "complete_tx", "sm_90", 80},

    // Copies.
    {"cp", "async", "sm_80", 70},
    {"cp", "async bulk", "sm_90", 80},
    {"cp",
     "bulk shared::cta global mbarrier::complete_tx::bytes !shared::cluster",
     "sm_90", 86},
    {"cp", "bulk cta_group::1", KPC_DATACENTER, 86},
    {"cp", "bulk cta_group::2", KPC_DATACENTER, 86},

    // Products of matrices.
    {"ldmatrix", "", "sm_75", 65},
    {"stmatrix", "", "sm_90", 78},
    {"mma", "", "sm_70", 64},
    {"mma", "m8n8k16", "sm_75", 65},
    {"mma", "m8n8k32", "sm_75", 65},
    {"mma", "m8n8k128", "sm_75", 70},
    {"mma", "m16n8k8", "sm_75", 65},
    {"mma", "m16n8k8 bf16", "sm_80", 70},
    {"mma", "m16n8k8 tf32", "sm_80", 70},
    {"mma", "m16n8k4", "sm_80", 70},
    {"mma", "m16n8k16", "sm_80", 70},
    {"mma", "m16n8k32", "sm_80", 70},
    {"mma", "m16n8k64", "sm_80", 70},
    {"mma", "m16n8k128", "sm_80", 70},
    {"mma", "m16n8k256", "sm_80", 70},
    {"mma", "and popc", "sm_80", 71},
    {"mma", "f64", "sm_80", 70},
    {"mma", "f64 m16n8k4", "sm_90", 78},
    {"mma", "f64 m16n8k8", "sm_90", 78},
    {"mma", "f64 m16n8k16", "sm_90", 78},
    {"mma", "e4m3", "sm_89", 84},
    {"mma", "e5m2", "sm_89", 84},
    {"mma", "kind::f8f6f4", KPC_BLACKWELL, 86},
    {"mma", "kind::f8f6f4 f16", KPC_BLACKWELL, 87},
    {"mma", "kind::f8f6f4 e2m1", "sm_120f", 87},
    {"mma", "kind::f8f6f4 e2m3", "sm_120f", 87},
    {"mma", "kind::f8f6f4 e3m2", "sm_120f", 87},
    {"mma", "block_scale", "sm_120f", 87},
    {"wgmma", "", "sm_90a", 80},
    {"wgmma", "s8 u8", "sm_90a", 84},
    {"tcgen05", "", KPC_DATACENTER, 86},
    {"tcgen05", "kind::i8", "sm_100a, sm_110a", 86},
    {"tcgen05", "shift", KPC_SCALED, 86},
    {"tcgen05", "block16", KPC_DATACENTER, 88},
    {"tcgen05", "block32", KPC_DATACENTER, 88},
    {"tcgen05", "scale_vec::1X", KPC_SCALED, 86},
    {"tcgen05", "scale_vec::2X", KPC_SCALED, 86},
    {"tcgen05", "scale_vec::4X", KPC_SCALED, 87},
};

void addRequirements(OpcodeTable &Table) {
  for (const Requirement &R : Rows) {
    if (!R.Opcode.empty()) {
      Table.at(R.Opcode).Needs.push_back(&R);
      continue;
    }
    for (auto &[Name, Has] : Table)
      Has.Needs.push_back(&R);
  }
}

} // namespace kpc::emulator
