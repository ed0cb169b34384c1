//===- Swizzle.cpp - Where shared memory swaps its 16-byte pieces ---------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/layout/Swizzle.h"

namespace kpc::layout {

namespace {
/// Address bits under Mask are XORed with those `Shift` places higher.
struct Pattern {
  int64_t Mask;
  int Shift;
  int64_t Repeat, Span, Rows;
};
} // namespace

static Pattern patternOf(SwizzleMode Mode) {
  switch (Mode) {
  case SwizzleMode::None:
    return {0x00, 3, 16, 16, 8};
  case SwizzleMode::B32:
    return {0x10, 3, 256, 32, 8};
  case SwizzleMode::B64:
    return {0x30, 3, 512, 64, 8};
  case SwizzleMode::B128:
    return {0x70, 3, 1024, 128, 8};
  case SwizzleMode::B128Atom32:
    return {0x60, 2, 512, 128, 4};
  }
  return {0, 3, 16, 16, 8};
}

int64_t swizzle(SwizzleMode Mode, int64_t ByteAddress) {
  Pattern P = patternOf(Mode);
  return ByteAddress ^ ((ByteAddress >> P.Shift) & P.Mask);
}

int64_t repeatBytes(SwizzleMode Mode) { return patternOf(Mode).Repeat; }
int64_t spanBytes(SwizzleMode Mode) { return patternOf(Mode).Span; }
int64_t rowsPerStride(SwizzleMode Mode) { return patternOf(Mode).Rows; }

std::optional<SwizzleMode> swizzleOfSpan(int64_t Bytes) {
  switch (Bytes) {
  case 0:
    return SwizzleMode::None;
  case 32:
    return SwizzleMode::B32;
  case 64:
    return SwizzleMode::B64;
  case 128:
    return SwizzleMode::B128;
  default:
    return std::nullopt;
  }
}

} // namespace kpc::layout
