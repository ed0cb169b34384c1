//===- WeightRecipe.cpp - Prepares weights for the artifact --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/weights/WeightRecipe.h"
#include "compiler/weights/WeightTiles.h"
#include "compiler/weights/WeightView.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <numeric>

using namespace kpc;
using namespace mlir;
using llvm::createStringError;

namespace {

ElementType elementTypeByName(StringRef Name) {
  return llvm::StringSwitch<ElementType>(Name)
      .Case("f32", ElementType::F32)
      .Case("f64", ElementType::F64)
      .Case("f16", ElementType::F16)
      .Case("bf16", ElementType::BF16)
      .Case("i1", ElementType::Bool)
      .Case("i8", ElementType::I8)
      .Case("i16", ElementType::I16)
      .Case("i32", ElementType::I32)
      .Case("i64", ElementType::I64)
      .Case("ui8", ElementType::U8)
      .Case("ui16", ElementType::U16)
      .Case("ui32", ElementType::U32)
      .Case("ui64", ElementType::U64)
      .Case("f8E4M3FN", ElementType::F8E4M3FN)
      .Case("f8E4M3FNUZ", ElementType::F8E4M3FNUZ)
      .Case("f8E5M2", ElementType::F8E5M2)
      .Case("f8E5M2FNUZ", ElementType::F8E5M2FNUZ)
      .Case("f8E8M0FNU", ElementType::F8E8M0)
      // A byte each, where a value was computed when compiling.
      .Case("f4E2M1FN", ElementType::U8)
      .Cases({"i2", "i4"}, ElementType::I8)
      .Cases({"ui2", "ui4"}, ElementType::U8)
      .Default(ElementType::Undefined);
}

std::string typeName(Type Ty) {
  std::string Text;
  llvm::raw_string_ostream(Text) << Ty;
  return Text;
}

SmallVector<int64_t> rowMajor(ArrayRef<int64_t> Dims) {
  SmallVector<int64_t> Strides(Dims.size(), 1);
  for (size_t I = Dims.size(); I-- > 1;)
    Strides[I - 1] = Strides[I] * Dims[I];
  return Strides;
}

int64_t count(ArrayRef<int64_t> Dims) {
  return std::accumulate(Dims.begin(), Dims.end(), int64_t(1),
                         std::multiplies<int64_t>());
}

/// Elements; rows are brought to multiples of less.
constexpr int64_t LongestPad = 64;

/// What a recipe leaves: elements in the order of a view, and the length that
/// zeros bring each row of it to; 0: its own.
struct Prepared {
  WeightView View;
  int64_t Row = 0;
};

llvm::Error applyStep(Prepared &P, NamedAttribute Step) {
  WeightView &V = P.View;
  StringRef Name = Step.getName().strref();
  // Nothing is done to rows that are longer than the tensor's.
  if (P.Row)
    return createStringError("recipe step '" + Name + "' stands after pad");
  if (Name == "cast") {
    V.To =
        elementTypeByName(typeName(cast<TypeAttr>(Step.getValue()).getValue()));
    return llvm::Error::success();
  }
  auto List = dyn_cast<DenseI64ArrayAttr>(Step.getValue());
  if (!List)
    return createStringError("recipe step '" + Name + "' needs a list");
  ArrayRef<int64_t> Values = List;
  if (Name == "transpose") {
    if (Values.size() != V.Dims.size())
      return createStringError("recipe transposes a tensor of another rank");
    WeightView Old = V;
    for (auto [I, P] : llvm::enumerate(Values)) {
      V.Dims[I] = Old.Dims[P];
      V.Strides[I] = Old.Strides[P];
    }
    return llvm::Error::success();
  }
  if (Name == "reshape" && count(Values) == count(V.Dims) &&
      ArrayRef(V.Strides) == ArrayRef(rowMajor(V.Dims))) {
    V.Dims.assign(Values.begin(), Values.end());
    V.Strides = rowMajor(V.Dims);
    return llvm::Error::success();
  }
  if (Name == "pad" && Values.size() == 1 && !V.Dims.empty() &&
      Values[0] >= V.Dims.back() && Values[0] - V.Dims.back() < LongestPad) {
    P.Row = Values[0];
    return llvm::Error::success();
  }
  return createStringError("recipe step '" + Name +
                           "' does not fit the tensor");
}

/// Rows of `Row` bytes out of those of `Own` bytes that `Read` gives.
artifact::WeightReader padded(const artifact::WeightReader &Read, uint64_t Own,
                              uint64_t Row) {
  return [=](uint64_t Begin, uint8_t *Out,
             size_t Size) -> std::optional<std::string> {
    while (Size) {
      uint64_t Number = Begin / Row, In = Begin % Row;
      size_t Here = std::min<uint64_t>(Size, Row - In), Real = 0;
      if (In < Own) {
        Real = std::min<uint64_t>(Here, Own - In);
        if (auto Error = Read(Number * Own + In, Out, Real))
          return Error;
      }
      std::memset(Out + Real, 0, Here - Real);
      Begin += Here;
      Out += Here;
      Size -= Here;
    }
    return std::nullopt;
  };
}

/// The first step, if it packs codes into tiles.
std::optional<WeightTiles> tilesOf(ArrayAttr Recipe) {
  auto Step =
      Recipe.empty() ? DictionaryAttr() : dyn_cast<DictionaryAttr>(Recipe[0]);
  auto List = Step ? Step.getAs<DenseI64ArrayAttr>("tiles") : nullptr;
  if (!List || List.size() != 6)
    return std::nullopt;
  ArrayRef<int64_t> V = List;
  return WeightTiles{V[0], V[1], V[2], V[3], V[4], uint8_t(V[5])};
}

llvm::Expected<artifact::Weight> tiledWeight(std::string Name,
                                             const WeightTiles &Tiles,
                                             const Weight &Source,
                                             bool OneStep) {
  if (!OneStep)
    return createStringError("weight '" + Name +
                             "': a recipe with tiles has no other steps");
  if (Tiles.sourceBytes() > Source.Bytes.size())
    return createStringError("weight '" + Name + "' has too few bytes");
  artifact::Weight W;
  W.Name = std::move(Name);
  W.Type = ElementType::U8;
  std::vector<int64_t> Dims = Tiles.dims();
  W.Dims.assign(Dims.begin(), Dims.end());
  W.Length = count(Dims);
  W.Read = readerOf(Tiles, Source.Bytes);
  return W;
}

} // namespace

llvm::Expected<artifact::Weight>
kpc::prepareWeight(std::string Name, const Weight &Source, ArrayAttr Recipe) {
  if (std::optional<WeightTiles> Tiles = tilesOf(Recipe))
    return tiledWeight(std::move(Name), *Tiles, Source, Recipe.size() == 1);
  Prepared P;
  WeightView &V = P.View;
  V.Dims.assign(Source.Dims.begin(), Source.Dims.end());
  V.Strides = rowMajor(V.Dims);
  V.From = V.To = elementTypeByName(Source.ElementType);
  if (V.From == ElementType::Undefined)
    return createStringError("weight '" + Name + "' has no known element type");
  for (Attribute Step : Recipe)
    for (NamedAttribute Field : cast<DictionaryAttr>(Step))
      if (llvm::Error E = applyStep(P, Field))
        return E;
  if (!canCast(V.From, V.To))
    return createStringError("weight '" + Name + "': recipes cast floats only");

  artifact::Weight W;
  W.Name = std::move(Name);
  W.Type = V.To;
  W.Dims.assign(V.Dims.begin(), V.Dims.end());
  W.Length = count(V.Dims) * (bitWidth(V.To) / 8);
  if (count(Source.Dims) * uint64_t(bitWidth(V.From) / 8) > Source.Bytes.size())
    return createStringError("weight '" + W.Name + "' has too few bytes");
  uint64_t Bytes = bitWidth(V.To) / 8, Own = 0;
  if (P.Row)
    Own = V.Dims.back() * Bytes;
  W.Read = readerOf(std::move(V), Source.Bytes);
  if (!P.Row)
    return W;
  W.Dims.back() = P.Row;
  W.Length = count(W.Dims) * Bytes;
  W.Read = padded(W.Read, Own, P.Row * Bytes);
  return W;
}

std::string kpc::recipeText(ArrayAttr Recipe) {
  std::string Text;
  llvm::raw_string_ostream(Text) << Recipe;
  return Text;
}
