//===- Syntax.cpp - PTX as it is written ----------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/ptx/Syntax.h"

namespace kpc::emulator::ptx {

uint64_t typeBytes(const std::string &Type) {
  static const std::map<std::string, uint64_t> Bytes = {
      {"b8", 1},   {"u8", 1},     {"s8", 1},     {"b16", 2},   {"u16", 2},
      {"s16", 2},  {"f16", 2},    {"bf16", 2},   {"b32", 4},   {"u32", 4},
      {"s32", 4},  {"f32", 4},    {"f16x2", 4},  {"b64", 8},   {"u64", 8},
      {"s64", 8},  {"f64", 8},    {"bf16x2", 4}, {"f32x2", 8}, {"b128", 16},
      {"tf32", 4}, {"e4m3x2", 2}, {"e5m2x2", 2}};
  auto Found = Bytes.find(Type);
  return Found == Bytes.end() ? 0 : Found->second;
}

uint64_t Variable::elementBytes() const { return typeBytes(Type); }

std::string Statement::text() const {
  std::string Out = Opcode;
  for (const std::string &M : Modifiers)
    Out += "." + M;
  return Out;
}

} // namespace kpc::emulator::ptx
