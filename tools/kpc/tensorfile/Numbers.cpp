//===- Numbers.cpp - Elements as numbers ----------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/tensorfile/HostTensor.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace kpc::tensorfile {

/// A float type of at most 16 bits: sign, exponent, mantissa from high to low.
struct NarrowFloat {
  int Exponent, Mantissa, Bias;
  bool Infinities;      ///< the highest exponent holds infinities and NaN
  bool OnlyOneNan;      ///< all ones below the sign is NaN (the "fn" forms)
  bool NegativeZeroNan; ///< the code of -0 is the only NaN ("fnuz")
};

static NarrowFloat layoutOf(ElementType Type) {
  switch (Type) {
  case ElementType::F16:
    return {5, 10, 15, true, false, false};
  case ElementType::BF16:
    return {8, 7, 127, true, false, false};
  case ElementType::F8E4M3FN:
    return {4, 3, 7, false, true, false};
  case ElementType::F8E4M3FNUZ:
    return {4, 3, 8, false, false, true};
  case ElementType::F8E5M2:
    return {5, 2, 15, true, false, false};
  case ElementType::F8E5M2FNUZ:
    return {5, 2, 16, false, false, true};
  default: // F4E2M1
    return {2, 1, 1, false, false, false};
  }
}

double fromBits(ElementType Type, uint32_t Bits) {
  constexpr double NaN = std::numeric_limits<double>::quiet_NaN();
  if (Type == ElementType::F8E8M0) // a power of two without a sign
    return Bits == 255 ? NaN : std::ldexp(1.0, static_cast<int>(Bits) - 127);
  NarrowFloat F = layoutOf(Type);
  uint32_t Mantissa = Bits & ((1u << F.Mantissa) - 1);
  uint32_t Exponent = (Bits >> F.Mantissa) & ((1u << F.Exponent) - 1);
  uint32_t Highest = (1u << F.Exponent) - 1;
  bool Negative = (Bits >> (F.Mantissa + F.Exponent)) & 1;
  if (F.NegativeZeroNan && Negative && !Exponent && !Mantissa)
    return NaN;
  if (Exponent == Highest && F.Infinities) {
    double Infinity = std::numeric_limits<double>::infinity();
    return Mantissa ? NaN : Negative ? -Infinity : Infinity;
  }
  if (F.OnlyOneNan && Exponent == Highest && Mantissa + 1 == 1u << F.Mantissa)
    return NaN;
  double Magnitude =
      Exponent ? std::ldexp(Mantissa + (1u << F.Mantissa),
                            static_cast<int>(Exponent) - F.Bias - F.Mantissa)
               : std::ldexp(Mantissa, 1 - F.Bias - F.Mantissa);
  return Negative ? -Magnitude : Magnitude;
}

uint16_t toBfloat(float Value) {
  uint32_t Bits = std::bit_cast<uint32_t>(Value);
  if (std::isnan(Value))
    return static_cast<uint16_t>(Bits >> 16 | 0x40);
  return static_cast<uint16_t>((Bits + 0x7FFF + (Bits >> 16 & 1)) >> 16);
}

uint16_t toHalf(float Value) {
  uint32_t Bits = std::bit_cast<uint32_t>(Value);
  uint16_t Sign = Bits >> 16 & 0x8000;
  double Magnitude = std::fabs(static_cast<double>(Value));
  if (std::isnan(Value))
    return Sign | 0x7E00;
  if (Magnitude >= 65520) // the midpoint between 65504 and what would follow
    return Sign | 0x7C00;
  if (Magnitude < 0x1p-14) // subnormal: units of 2^-24
    return Sign | static_cast<uint16_t>(std::nearbyint(Magnitude * 0x1p24));
  int Exponent;
  double Fraction = std::frexp(Magnitude, &Exponent); // [0.5, 1)
  auto Units = static_cast<uint32_t>(std::nearbyint(Fraction * 0x1p11));
  // A carry out of the mantissa lands in the exponent, where it belongs.
  return static_cast<uint16_t>(
      Sign | (static_cast<uint32_t>(Exponent + 14) * 1024 + Units - 1024));
}

template <class T> static T load(const uint8_t *From) {
  T Value;
  std::memcpy(&Value, From, sizeof(T));
  return Value;
}

/// Element I, of a type of less than a byte.
static uint32_t packedBits(const uint8_t *Data, int64_t I, int Bits) {
  int64_t PerByte = 8 / Bits;
  return Data[I / PerByte] >> (I % PerByte * Bits) & ((1u << Bits) - 1);
}

static double elementAt(ElementType Type, const uint8_t *Data, int64_t I) {
  auto Signed = [&](int Bits) {
    uint32_t V = packedBits(Data, I, Bits);
    return double(V) - (V >> (Bits - 1) ? double(1 << Bits) : 0.0);
  };
  switch (Type) {
  case ElementType::F32:
    return load<float>(Data + 4 * I);
  case ElementType::F64:
    return load<double>(Data + 8 * I);
  case ElementType::U8:
  case ElementType::Bool:
    return Data[I];
  case ElementType::I8:
    return static_cast<int8_t>(Data[I]);
  case ElementType::U16:
    return load<uint16_t>(Data + 2 * I);
  case ElementType::I16:
    return load<int16_t>(Data + 2 * I);
  case ElementType::U32:
    return load<uint32_t>(Data + 4 * I);
  case ElementType::I32:
    return load<int32_t>(Data + 4 * I);
  case ElementType::U64:
    return static_cast<double>(load<uint64_t>(Data + 8 * I));
  case ElementType::I64:
    return static_cast<double>(load<int64_t>(Data + 8 * I));
  case ElementType::F16:
  case ElementType::BF16:
    return fromBits(Type, load<uint16_t>(Data + 2 * I));
  case ElementType::U4:
    return packedBits(Data, I, 4);
  case ElementType::U2:
    return packedBits(Data, I, 2);
  case ElementType::I4:
    return Signed(4);
  case ElementType::I2:
    return Signed(2);
  case ElementType::F4E2M1:
    return fromBits(Type, packedBits(Data, I, 4));
  default: // the 8-bit floats
    return fromBits(Type, Data[I]);
  }
}

static bool isNumber(ElementType Type) {
  return bitWidth(Type) != 0 && Type != ElementType::C64 &&
         Type != ElementType::C128;
}

std::optional<std::vector<double>>
toDoubles(ElementType Type, std::span<const uint8_t> Data, int64_t Count) {
  if (!isNumber(Type))
    return std::nullopt;
  std::vector<double> Out(static_cast<size_t>(Count));
  for (int64_t I = 0; I < Count; ++I)
    Out[I] = elementAt(Type, Data.data(), I);
  return Out;
}

template <class T> static void storeInteger(uint8_t *To, double Value) {
  constexpr double Least = static_cast<double>(std::numeric_limits<T>::min());
  constexpr double Most = static_cast<double>(std::numeric_limits<T>::max());
  T Result = std::isnan(Value) ? T(0)
             : Value <= Least  ? std::numeric_limits<T>::min()
             : Value >= Most   ? std::numeric_limits<T>::max()
                               : static_cast<T>(std::nearbyint(Value));
  std::memcpy(To, &Result, sizeof(T));
}

bool storeElement(ElementType Type, uint8_t *Data, int64_t I, double Value) {
  switch (Type) {
  case ElementType::F32: {
    auto Narrow = static_cast<float>(Value);
    std::memcpy(Data + 4 * I, &Narrow, 4);
    return true;
  }
  case ElementType::F64:
    std::memcpy(Data + 8 * I, &Value, 8);
    return true;
  case ElementType::F16:
  case ElementType::BF16: {
    auto Narrow = static_cast<float>(Value);
    uint16_t Bits =
        Type == ElementType::F16 ? toHalf(Narrow) : toBfloat(Narrow);
    std::memcpy(Data + 2 * I, &Bits, 2);
    return true;
  }
  case ElementType::Bool:
    Data[I] = Value != 0;
    return true;
  case ElementType::U8:
    storeInteger<uint8_t>(Data + I, Value);
    return true;
  case ElementType::I8:
    storeInteger<int8_t>(Data + I, Value);
    return true;
  case ElementType::U16:
    storeInteger<uint16_t>(Data + 2 * I, Value);
    return true;
  case ElementType::I16:
    storeInteger<int16_t>(Data + 2 * I, Value);
    return true;
  case ElementType::U32:
    storeInteger<uint32_t>(Data + 4 * I, Value);
    return true;
  case ElementType::I32:
    storeInteger<int32_t>(Data + 4 * I, Value);
    return true;
  case ElementType::U64:
    storeInteger<uint64_t>(Data + 8 * I, Value);
    return true;
  case ElementType::I64:
    storeInteger<int64_t>(Data + 8 * I, Value);
    return true;
  default:
    return false;
  }
}

std::optional<HostTensor> convert(const HostTensor &T, ElementType Type) {
  std::optional<HostTensor> Out = makeTensor(T.Name, Type, T.Dims);
  if (!Out || !isNumber(T.Type))
    return std::nullopt;
  if (T.Type == Type) {
    std::memcpy(Out->Data.data(), T.Data.data(), T.Data.size());
    return Out;
  }
  for (int64_t I = 0, N = T.count(); I < N; ++I)
    if (!storeElement(Type, Out->Data.data(), I,
                      elementAt(T.Type, T.Data.data(), I)))
      return std::nullopt;
  return Out;
}

} // namespace kpc::tensorfile
