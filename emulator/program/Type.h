//===- Type.h - PTX's types -------------------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Names as PTX writes them.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_PROGRAM_TYPE_H
#define KPC_EMULATOR_PROGRAM_TYPE_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace kpc::emulator {

enum class Type : uint8_t {
  Pred,
  B8,
  U8,
  S8,
  B16,
  U16,
  S16,
  F16,
  BF16,
  E4M3x2,
  E5M2x2,
  E2M3x2,
  E3M2x2,
  E2M1x2,
  UE8M0x2,
  B32,
  U32,
  S32,
  F32,
  TF32,
  F16x2,
  BF16x2,
  B64,
  U64,
  S64,
  F64,
  F32x2,
  B128
};

std::optional<Type> typeNamed(std::string_view Name);
std::string_view nameOf(Type T);

/// 1 for Pred.
unsigned bitsOf(Type T);
bool isSigned(Type T);
bool isFloat(Type T);
/// B8 to B128: any register of the size.
bool isUntyped(Type T);

} // namespace kpc::emulator

#endif // KPC_EMULATOR_PROGRAM_TYPE_H
