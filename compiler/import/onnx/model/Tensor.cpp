//===- Tensor.cpp - Dense data of ONNX models -----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/model/Model.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace kpc::onnx {

static_assert(std::endian::native == std::endian::little,
              "ONNX data is little endian and used as it lies");

std::optional<int64_t> elementCount(std::span<const int64_t> Dims) {
  int64_t Product = 1;
  bool Empty = false;
  for (int64_t D : Dims) {
    if (D < 0)
      return std::nullopt;
    if (D == 0)
      Empty = true;
    else if (__builtin_mul_overflow(Product, D, &Product))
      return std::nullopt;
  }
  return Empty ? 0 : Product;
}

std::string dimsText(std::span<const int64_t> Dims) {
  std::string Out = "[";
  for (size_t I = 0; I < Dims.size() && I < 16; ++I)
    Out += (I ? ", " : "") + std::to_string(Dims[I]);
  return Out + (Dims.size() > 16 ? ", ...]" : "]");
}

int64_t Tensor::count() const { return elementCount(Dims).value_or(0); }

template <typename T>
static T elementAt(std::span<const uint8_t> Bytes, size_t I) {
  T Value;
  std::memcpy(&Value, Bytes.data() + I * sizeof(T), sizeof(T));
  return Value;
}

/// Reads every element by one of the widths of integers.
template <typename T, typename To>
static std::vector<To> widen(std::span<const uint8_t> Bytes) {
  std::vector<To> Out(Bytes.size() / sizeof(T));
  for (size_t I = 0; I < Out.size(); ++I)
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): an int8_t is a number here.
    Out[I] = static_cast<To>(elementAt<T>(Bytes, I));
  return Out;
}

/// Elements of 4 or 2 bits, the first in the low bits.
static std::vector<int64_t> unpack(const Tensor &T, unsigned Bits,
                                   bool Signed) {
  std::vector<int64_t> Out(static_cast<size_t>(T.count()));
  int64_t Span = int64_t(1) << Bits;
  for (size_t I = 0; I < Out.size(); ++I) {
    size_t Bit = I * Bits;
    int64_t Value = (T.Bytes[Bit / 8] >> (Bit % 8)) & (Span - 1);
    Out[I] = Signed && Value >= Span / 2 ? Value - Span : Value;
  }
  return Out;
}

std::optional<std::vector<int64_t>> Tensor::integers() const {
  switch (Type) {
  case ElementType::Bool:
  case ElementType::Uint8:
    return widen<uint8_t, int64_t>(Bytes);
  case ElementType::Int8:
    return widen<int8_t, int64_t>(Bytes);
  case ElementType::Uint16:
    return widen<uint16_t, int64_t>(Bytes);
  case ElementType::Int16:
    return widen<int16_t, int64_t>(Bytes);
  case ElementType::Uint32:
    return widen<uint32_t, int64_t>(Bytes);
  case ElementType::Int32:
    return widen<int32_t, int64_t>(Bytes);
  case ElementType::Uint64:
  case ElementType::Int64:
    return widen<int64_t, int64_t>(Bytes);
  case ElementType::Int4:
  case ElementType::Int2:
  case ElementType::Uint4:
  case ElementType::Uint2:
    return unpack(*this, elementBits(Type),
                  Type == ElementType::Int4 || Type == ElementType::Int2);
  default:
    return std::nullopt;
  }
}

/// IEEE binary16.
static double fromHalf(uint16_t H) {
  int Exponent = (H >> 10) & 31;
  double Mantissa = H & 1023;
  double Value = Exponent == 0 ? std::ldexp(Mantissa, -24)
                               : std::ldexp(Mantissa + 1024, Exponent - 25);
  if (Exponent == 31)
    Value = (H & 1023) ? NAN : INFINITY;
  return H & 0x8000 ? -Value : Value;
}

std::optional<std::vector<double>> Tensor::reals() const {
  std::vector<double> Out;
  switch (Type) {
  case ElementType::Float:
    return widen<float, double>(Bytes);
  case ElementType::Double:
    return widen<double, double>(Bytes);
  case ElementType::Float16:
    for (size_t I = 0; I < Bytes.size() / 2; ++I)
      Out.push_back(fromHalf(elementAt<uint16_t>(Bytes, I)));
    return Out;
  case ElementType::Bfloat16:
    for (size_t I = 0; I < Bytes.size() / 2; ++I)
      Out.push_back(
          std::bit_cast<float>(uint32_t(elementAt<uint16_t>(Bytes, I)) << 16));
    return Out;
  case ElementType::Uint64:
    return widen<uint64_t, double>(Bytes);
  default:
    break;
  }
  std::optional<std::vector<int64_t>> Whole = integers();
  if (!Whole)
    return std::nullopt;
  return std::vector<double>(Whole->begin(), Whole->end());
}

template <typename T>
static Tensor ofValues(std::string Name, ElementType Type,
                       std::vector<int64_t> Dims,
                       const std::vector<T> &Values) {
  auto Owned = std::make_shared<const std::vector<T>>(Values);
  Tensor Out;
  Out.Name = std::move(Name);
  Out.Type = Type;
  Out.Dims = std::move(Dims);
  Out.Bytes = {reinterpret_cast<const uint8_t *>(Owned->data()),
               Owned->size() * sizeof(T)};
  Out.Keep = Owned;
  return Out;
}

Tensor Tensor::ofIntegers(std::string Name, std::vector<int64_t> Dims,
                          const std::vector<int64_t> &Values) {
  return ofValues(std::move(Name), ElementType::Int64, std::move(Dims), Values);
}

Tensor Tensor::ofFloats(std::string Name, std::vector<int64_t> Dims,
                        const std::vector<float> &Values) {
  return ofValues(std::move(Name), ElementType::Float, std::move(Dims), Values);
}

std::string_view kindName(Attribute::Kind K) {
  static constexpr std::string_view Names[] = {"nothing",
                                               "a float",
                                               "an int",
                                               "a string",
                                               "a tensor",
                                               "a graph",
                                               "a list of floats",
                                               "a list of ints",
                                               "a list of strings",
                                               "a list of tensors",
                                               "a list of graphs",
                                               "an empty list",
                                               "a sparse tensor or a type"};
  return Names[static_cast<size_t>(K)];
}

ModelPlace Node::place() const {
  ModelPlace P;
  P.Node = Name;
  for (size_t I = 0; P.Node.empty() && I < Outputs.size(); ++I)
    P.Node = Outputs[I];
  P.Op = Domain.empty() ? Op : Domain + "." + Op;
  P.Opset = Opset;
  P.Path = Path;
  return P;
}

} // namespace kpc::onnx
