//===- FillRandom.cpp - Tensors that are made up --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Inputs.h"
#include "tools/kpc/tensorfile/TensorFile.h"

namespace kpc::cli {

using tensorfile::HostTensor;

namespace {
/// SplitMix64 (Steele, Lea, Flood, 2014).
class RandomBits {
public:
  explicit RandomBits(uint64_t Seed) : State(Seed) {}
  uint64_t next() {
    uint64_t Z = State += 0x9E3779B97F4A7C15u;
    Z = (Z ^ Z >> 30) * 0xBF58476D1CE4E5B9u;
    Z = (Z ^ Z >> 27) * 0x94D049BB133111EBu;
    return Z ^ Z >> 31;
  }
  /// Nearly normal, mean 0 and variance 1, by additions alone, so that every
  /// machine gets the same: the sum of four uniform numbers.
  double normal() {
    uint64_t Bits = next();
    double Sum = 0;
    for (int I = 0; I < 4; ++I, Bits >>= 16)
      Sum += static_cast<double>(Bits & 0xFFFF) + 0.5;
    // Four uniform numbers on [0, 65536) have variance 4 * 65536^2 / 12.
    return (Sum - 2 * 65536.0) * (1.7320508075688772 / 65536.0);
  }

private:
  uint64_t State;
};
} // namespace

static double randomElement(ElementType Type, RandomBits &Bits) {
  switch (Type) {
  case ElementType::Bool:
    return static_cast<double>(Bits.next() >> 63);
  case ElementType::U8:
    return static_cast<double>(Bits.next() >> 56);
  case ElementType::I8:
  case ElementType::U16:
  case ElementType::I16:
  case ElementType::U32:
  case ElementType::I32:
  case ElementType::U64:
  case ElementType::I64:
    return static_cast<double>(Bits.next() % 10);
  default:
    return Bits.normal();
  }
}

void fillRandom(HostTensor &T, uint64_t Seed) {
  RandomBits Bits(Seed);
  int64_t Count = T.count();
  uint8_t *Data = T.Data.data();
  switch (T.Type) {
  case ElementType::C64:
  case ElementType::C128: {
    bool Wide = T.Type == ElementType::C128;
    for (int64_t I = 0; I < 2 * Count; ++I) {
      double Value = Bits.normal();
      if (Wide)
        reinterpret_cast<double *>(Data)[I] = Value;
      else
        reinterpret_cast<float *>(Data)[I] = static_cast<float>(Value);
    }
    return;
  }
  default:
    break;
  }
  for (int64_t I = 0; I < Count; ++I)
    if (!tensorfile::storeElement(T.Type, Data, I,
                                  randomElement(T.Type, Bits))) {
      // Floats of 8 bits and types of less: any bits but those of NaN: sign and
      // high exponents are left out. Powers of two are those around 1.
      for (size_t J = 0; J < T.Data.size(); ++J)
        Data[J] = T.Type == ElementType::F8E8M0
                      ? static_cast<uint8_t>(120 + (Bits.next() >> 60))
                      : static_cast<uint8_t>(Bits.next() >> 56) & 0x37;
      return;
    }
}

} // namespace kpc::cli
