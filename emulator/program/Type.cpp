//===- Type.cpp - PTX's types ---------------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/program/Type.h"

namespace kpc::emulator {

namespace {
struct Row {
  std::string_view Name;
  unsigned Bits;
  bool Signed, Float, Untyped;
};
} // namespace

/// In the order of Type.
static constexpr Row Rows[] = {
    {"pred", 1, false, false, false},    {"b8", 8, false, false, true},
    {"u8", 8, false, false, false},      {"s8", 8, true, false, false},
    {"b16", 16, false, false, true},     {"u16", 16, false, false, false},
    {"s16", 16, true, false, false},     {"f16", 16, false, true, false},
    {"bf16", 16, false, true, false},    {"e4m3x2", 16, false, true, false},
    {"e5m2x2", 16, false, true, false},  {"e2m3x2", 16, false, true, false},
    {"e3m2x2", 16, false, true, false},  {"e2m1x2", 8, false, true, false},
    {"ue8m0x2", 16, false, true, false}, {"b32", 32, false, false, true},
    {"u32", 32, false, false, false},    {"s32", 32, true, false, false},
    {"f32", 32, false, true, false},     {"tf32", 32, false, true, false},
    {"f16x2", 32, false, true, false},   {"bf16x2", 32, false, true, false},
    {"b64", 64, false, false, true},     {"u64", 64, false, false, false},
    {"s64", 64, true, false, false},     {"f64", 64, false, true, false},
    {"f32x2", 64, false, true, false},   {"b128", 128, false, false, true}};
static_assert(std::size(Rows) == size_t(Type::B128) + 1);

static const Row &rowOf(Type T) { return Rows[static_cast<size_t>(T)]; }

std::optional<Type> typeNamed(std::string_view Name) {
  for (size_t I = 0; I < std::size(Rows); ++I)
    if (Rows[I].Name == Name)
      return static_cast<Type>(I);
  return std::nullopt;
}

std::string_view nameOf(Type T) { return rowOf(T).Name; }
unsigned bitsOf(Type T) { return rowOf(T).Bits; }
bool isSigned(Type T) { return rowOf(T).Signed; }
bool isFloat(Type T) { return rowOf(T).Float; }
bool isUntyped(Type T) { return rowOf(T).Untyped; }

} // namespace kpc::emulator
