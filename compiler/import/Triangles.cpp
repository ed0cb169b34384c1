//===- Triangles.cpp - Weights that are causal masks ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Triangles.h"

#include "llvm/ADT/APFloat.h"

#include <cstring>

using namespace mlir;

namespace kpc::frontend {

/// What an element of a mask is as a number; none for types of no mask.
static std::optional<double> numberAt(const uint8_t *At, StringRef Type,
                                      size_t Bytes) {
  uint64_t Bits = 0;
  std::memcpy(&Bits, At, Bytes);
  const llvm::fltSemantics *Float =
      llvm::StringSwitch<const llvm::fltSemantics *>(Type)
          .Case("f16", &APFloat::IEEEhalf())
          .Case("bf16", &APFloat::BFloat())
          .Case("f32", &APFloat::IEEEsingle())
          .Case("f64", &APFloat::IEEEdouble())
          .Default(nullptr);
  if (!Float)
    return double(Bits);
  APFloat Number(*Float, APInt(unsigned(Bytes * 8), Bits));
  bool Lost;
  Number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &Lost);
  return Number.convertToDouble();
}

static size_t bytesOfMaskType(StringRef Type) {
  return llvm::StringSwitch<size_t>(Type)
      .Cases({"i1", "i8", "ui8"}, 1)
      .Cases({"f16", "bf16"}, 2)
      .Cases({"f32", "i32"}, 4)
      .Cases({"f64", "i64"}, 8)
      .Default(0);
}

std::optional<Triangle> Triangle::of(const Weight &W) {
  size_t Bytes = bytesOfMaskType(W.ElementType);
  ArrayRef<int64_t> Dims(W.Dims);
  if (!Bytes || Dims.size() < 2 ||
      llvm::any_of(Dims.drop_back(2), [](int64_t D) { return D != 1; }))
    return std::nullopt;
  int64_t Rows = Dims[Dims.size() - 2], Columns = Dims.back();
  if (Rows < 2 || Columns < 2 ||
      W.Bytes.size() != size_t(Rows) * size_t(Columns) * Bytes)
    return std::nullopt;
  auto At = [&](int64_t Row, int64_t Column) {
    return W.Bytes.data() + size_t(Row * Columns + Column) * Bytes;
  };
  auto IsFirst = [&](int64_t Row, int64_t Column) {
    return std::memcmp(At(Row, Column), At(0, 0), Bytes) == 0;
  };
  int64_t Inside = 1;
  while (Inside < Columns && IsFirst(0, Inside))
    ++Inside;
  if (Inside == Columns)
    return std::nullopt;
  // The rest of the row is one value: each element is the one in front of it.
  if (std::memcmp(At(0, Inside), At(0, Inside + 1),
                  size_t(Columns - Inside - 1) * Bytes) != 0)
    return std::nullopt;
  // Each row is the one above it, moved on by one place.
  for (int64_t Row = 1; Row < Rows; ++Row)
    if (!IsFirst(Row, 0) || std::memcmp(At(Row, 1), At(Row - 1, 0),
                                        size_t(Columns - 1) * Bytes) != 0)
      return std::nullopt;
  Triangle Found{Inside - 1, *numberAt(At(0, 0), W.ElementType, Bytes),
                 *numberAt(At(0, Inside), W.ElementType, Bytes)};
  // As ScoreTerms::hides: what exporters write instead of minus infinity.
  constexpr double Hides = -1e4;
  auto [Low, High] = std::minmax(Found.Inside, Found.Outside);
  bool IsFloat = StringRef(W.ElementType).contains('f');
  bool IsMask = IsFloat ? Low <= Hides && High == 0 : Low == 0 && High == 1;
  return IsMask ? std::optional(Found) : std::nullopt;
}

Value triangleOf(Emitter &E, const Weight &W, Type Element) {
  std::optional<Triangle> Found = Triangle::of(W);
  if (!Found)
    return {};
  Dims Sizes(W.Dims.begin(), W.Dims.end());
  auto Rank = int64_t(Sizes.size());
  Value Row = E.iota(Sizes, Rank - 2, E.i64()),
        Column = E.iota(Sizes, Rank - 1, E.i64());
  Value Last =
      Found->Diagonal ? E.add(Row, E.scalarInt(Found->Diagonal, E.i64())) : Row;
  Value Within = E.compare(Predicate::le, Column, Last);
  if (graph::isBool(Element))
    return Found->Inside ? Within : E.notOf(Within);
  auto Number = [&](double V) {
    return graph::isFloat(Element) ? E.scalar(V, Element)
                                   : E.scalarInt(int64_t(V), Element);
  };
  return E.select(Within, Number(Found->Inside), Number(Found->Outside));
}

} // namespace kpc::frontend
