//===- WeightView.cpp - A weight's bytes in another order -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/weights/WeightView.h"
#include "llvm/ADT/APFloat.h"

#include <bit>
#include <cstring>

using namespace kpc;
using llvm::SmallVector;

// Where neighbours in memory lie in neighbouring rows, so many rows are read at
// once: half a cache line of 4-byte elements. More rows would push each other
// out of the first cache where rows are a power of two apart.
static constexpr int64_t RowsAtOnce = 8;

namespace {

const llvm::fltSemantics *semantics(ElementType T) {
  switch (T) {
  case ElementType::F16:
    return &llvm::APFloat::IEEEhalf();
  case ElementType::BF16:
    return &llvm::APFloat::BFloat();
  case ElementType::F8E4M3FN:
    return &llvm::APFloat::Float8E4M3FN();
  case ElementType::F8E4M3FNUZ:
    return &llvm::APFloat::Float8E4M3FNUZ();
  case ElementType::F8E5M2:
    return &llvm::APFloat::Float8E5M2();
  case ElementType::F8E5M2FNUZ:
    return &llvm::APFloat::Float8E5M2FNUZ();
  case ElementType::F32:
    return &llvm::APFloat::IEEEsingle();
  case ElementType::F64:
    return &llvm::APFloat::IEEEdouble();
  default:
    return nullptr;
  }
}

/// One element as it is.
template <class Int> struct Move {
  static constexpr size_t InBytes = sizeof(Int), OutBytes = sizeof(Int);
  void operator()(const uint8_t *In, uint8_t *Out) const {
    std::memcpy(Out, In, sizeof(Int));
  }
};

/// One float to another, to nearest even.
template <size_t In, size_t Out> class FloatCast {
public:
  static constexpr size_t InBytes = In, OutBytes = Out;
  FloatCast(ElementType From, ElementType To)
      : From(*semantics(From)), To(*semantics(To)) {}

  void operator()(const uint8_t *Source, uint8_t *Result) const {
    uint64_t Bits = 0;
    std::memcpy(&Bits, Source, In);
    llvm::APFloat Value(From, llvm::APInt(In * 8, Bits));
    bool Lossy;
    Value.convert(To, llvm::APFloat::rmNearestTiesToEven, &Lossy);
    Bits = Value.bitcastToAPInt().getZExtValue();
    std::memcpy(Result, &Bits, Out);
  }

private:
  const llvm::fltSemantics &From, &To;
};

/// f32 to bf16 or f16 where the result is a normal number: most of the bits
/// go away, and what they were worth rounds. Everything else is FloatCast's.
template <int MantissaBits, int ExponentBias> class Narrow {
public:
  static constexpr size_t InBytes = 4, OutBytes = 2;
  explicit Narrow(ElementType To) : Exact(ElementType::F32, To) {}

  void operator()(const uint8_t *In, uint8_t *Out) const {
    uint32_t Bits;
    std::memcpy(&Bits, In, 4);
    uint32_t Magnitude = Bits & 0x7fffffff;
    if (Magnitude < Least || Magnitude >= Beyond)
      return Exact(In, Out);
    uint32_t Odd = (Magnitude >> Dropped) & 1;
    Magnitude += (uint32_t(1) << (Dropped - 1)) - 1 + Odd;
    uint16_t Result =
        uint16_t(((Magnitude - Rebias) >> Dropped) | ((Bits >> 16) & 0x8000));
    std::memcpy(Out, &Result, 2);
  }

private:
  static constexpr int Dropped = 23 - MantissaBits;
  static constexpr uint32_t Rebias = uint32_t(127 - ExponentBias) << 23;
  /// The least normal number, and the first that may round to infinity.
  static constexpr uint32_t Least = Rebias + (uint32_t(1) << 23);
  static constexpr uint32_t Beyond = Rebias +
                                     (uint32_t(2 * ExponentBias + 1) << 23) -
                                     (uint32_t(1) << (Dropped - 1));
  FloatCast<4, 2> Exact;
};
using NarrowToF16 = Narrow<10, 15>;
using NarrowToBf16 = Narrow<7, 127>;

class Reader {
public:
  Reader(WeightView Given, std::span<const uint8_t> Bytes)
      : V(simplified(std::move(Given))), Bytes(Bytes) {}

  std::optional<std::string> operator()(uint64_t Begin, uint8_t *Out,
                                        size_t Size) const {
    if (Size == 0) // a dim of 0
      return std::nullopt;
    if (V.From != V.To) {
      cast(Begin, Out, Size);
      return std::nullopt;
    }
    switch (bitWidth(V.To)) {
    case 16:
      read(Move<uint16_t>(), Begin, Out, Size);
      break;
    case 32:
      read(Move<uint32_t>(), Begin, Out, Size);
      break;
    case 64:
      read(Move<uint64_t>(), Begin, Out, Size);
      break;
    default: // bools are bytes too
      read(Move<uint8_t>(), Begin, Out, Size);
    }
    return std::nullopt;
  }

private:
  /// Dims that lie in memory as they do in the result become one.
  static WeightView simplified(WeightView V) {
    WeightView Result{{}, {}, V.From, V.To};
    for (size_t D = 0; D < V.Dims.size(); ++D) {
      if (V.Dims[D] == 1)
        continue;
      if (!Result.Dims.empty() &&
          Result.Strides.back() == V.Strides[D] * V.Dims[D]) {
        Result.Dims.back() *= V.Dims[D];
        Result.Strides.back() = V.Strides[D];
        continue;
      }
      Result.Dims.push_back(V.Dims[D]);
      Result.Strides.push_back(V.Strides[D]);
    }
    if (Result.Dims.empty()) {
      Result.Dims.push_back(1);
      Result.Strides.push_back(1);
    }
    return Result;
  }

  void cast(uint64_t Begin, uint8_t *Out, size_t Size) const {
    if (V.From == ElementType::F32 && V.To == ElementType::F16)
      return read(NarrowToF16(V.To), Begin, Out, Size);
    if (V.From == ElementType::F32 && V.To == ElementType::BF16)
      return read(NarrowToBf16(V.To), Begin, Out, Size);
    size_t In = bitWidth(V.From) / 8, To = bitWidth(V.To) / 8;
    if (In == 1)
      castFrom<1>(To, Begin, Out, Size);
    else if (In == 2)
      castFrom<2>(To, Begin, Out, Size);
    else if (In == 4)
      castFrom<4>(To, Begin, Out, Size);
    else
      castFrom<8>(To, Begin, Out, Size);
  }

  template <size_t In>
  void castFrom(size_t To, uint64_t Begin, uint8_t *Out, size_t Size) const {
    if (To == 1)
      read(FloatCast<In, 1>(V.From, V.To), Begin, Out, Size);
    else if (To == 2)
      read(FloatCast<In, 2>(V.From, V.To), Begin, Out, Size);
    else if (To == 4)
      read(FloatCast<In, 4>(V.From, V.To), Begin, Out, Size);
    else
      read(FloatCast<In, 8>(V.From, V.To), Begin, Out, Size);
  }

  /// Row by row; a row is the last dim.
  template <class Element>
  void read(const Element &E, uint64_t Begin, uint8_t *Out, size_t Size) const {
    const int64_t Width = V.Dims.back(), Stride = V.Strides.back();
    const size_t Outer = V.Dims.size() - 1;
    int64_t Left = Size / Element::OutBytes;
    int64_t Column = Begin / Element::OutBytes % Width;
    SmallVector<int64_t> Index = indexOfRow(Begin / Element::OutBytes / Width);
    int64_t Place = placeOf(Index);
    while (Left > 0) {
      const uint8_t *In =
          Bytes.data() + (Place + Column * Stride) * Element::InBytes;
      bool Neighbours = Outer && V.Strides[Outer - 1] == 1 && Stride != 1;
      if (Neighbours && !Column && Left >= RowsAtOnce * Width &&
          V.Dims[Outer - 1] - Index[Outer - 1] >= RowsAtOnce) {
        readRows(E, In, Out);
        Out += RowsAtOnce * Width * Element::OutBytes;
        Left -= RowsAtOnce * Width;
        advance(Index, Place, RowsAtOnce);
        continue;
      }
      int64_t Here = std::min(Width - Column, Left);
      readRow(E, In, Out, Here);
      Out += Here * Element::OutBytes;
      Left -= Here;
      Column = 0;
      advance(Index, Place, 1);
    }
  }

  template <class Element>
  void readRow(const Element &E, const uint8_t *In, uint8_t *Out,
               int64_t Count) const {
    const int64_t Stride = V.Strides.back();
    if (Stride == 1 && V.From == V.To) {
      std::memcpy(Out, In, Count * Element::OutBytes);
      return;
    }
    for (int64_t I = 0; I < Count; ++I)
      E(In + I * Stride * Element::InBytes, Out + I * Element::OutBytes);
  }

  template <class Element>
  void readRows(const Element &E, const uint8_t *In, uint8_t *Out) const {
    const int64_t Width = V.Dims.back(), Stride = V.Strides.back();
    for (int64_t I = 0; I < Width; ++I)
      for (int64_t Row = 0; Row < RowsAtOnce; ++Row)
        E(In + (I * Stride + Row) * Element::InBytes,
          Out + (Row * Width + I) * Element::OutBytes);
  }

  /// Of all dims but the last.
  SmallVector<int64_t> indexOfRow(int64_t Row) const {
    SmallVector<int64_t> Index(V.Dims.size() - 1);
    for (size_t D = Index.size(); D-- > 0;) {
      Index[D] = Row % V.Dims[D];
      Row /= V.Dims[D];
    }
    return Index;
  }

  int64_t placeOf(const SmallVector<int64_t> &Index) const {
    int64_t Place = 0;
    for (size_t D = 0; D < Index.size(); ++D)
      Place += Index[D] * V.Strides[D];
    return Place;
  }

  /// By `Rows`, of which the innermost dim of the index has as many left.
  void advance(SmallVector<int64_t> &Index, int64_t &Place,
               int64_t Rows) const {
    for (size_t D = Index.size(); D-- > 0; Rows = 1) {
      Place += Rows * V.Strides[D];
      Index[D] += Rows;
      if (Index[D] < V.Dims[D])
        return;
      Place -= V.Strides[D] * V.Dims[D];
      Index[D] = 0;
    }
  }

  WeightView V;
  std::span<const uint8_t> Bytes;
};

} // namespace

bool kpc::canCast(ElementType From, ElementType To) {
  return From == To || (semantics(From) && semantics(To));
}

artifact::WeightReader kpc::readerOf(WeightView View,
                                     std::span<const uint8_t> Bytes) {
  return Reader(std::move(View), Bytes);
}
