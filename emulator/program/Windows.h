//===- Windows.h - Generic addresses of the other spaces --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Generic addresses of device memory are host addresses, which have at most 57
/// bits; shared, local and parameter memory lie in windows above them.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_PROGRAM_WINDOWS_H
#define KPC_EMULATOR_PROGRAM_WINDOWS_H

#include <cstdint>

namespace kpc::emulator {

inline constexpr uint64_t WindowMask = uint64_t{0xF} << 60;
inline constexpr uint64_t SharedWindow = uint64_t{1} << 60;
inline constexpr uint64_t LocalWindow = uint64_t{2} << 60;
inline constexpr uint64_t ParamWindow = uint64_t{3} << 60;

/// Shared memory of a CTA on Hopper and Blackwell, with the 1 KiB that the
/// system keeps.
inline constexpr uint64_t MaxSharedBytes = uint64_t{228} * 1024;
/// PTX ISA, "Local State Space".
inline constexpr uint64_t MaxLocalBytes = uint64_t{512} * 1024;

} // namespace kpc::emulator

#endif // KPC_EMULATOR_PROGRAM_WINDOWS_H
