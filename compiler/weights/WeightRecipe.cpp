//===- WeightRecipe.cpp - Prepares weights for the artifact -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/weights/WeightRecipe.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <numeric>

using namespace kpc;
using namespace mlir;
using llvm::createStringError;

namespace {

/// A strided view of the source, and the element type it leaves as.
struct View {
  SmallVector<int64_t> Dims, Strides; ///< in elements of the source
  ElementType From = ElementType::Undefined, To = ElementType::Undefined;
};

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

llvm::Error applyStep(View &V, NamedAttribute Step) {
  StringRef Name = Step.getName().strref();
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
    View Old = V;
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
  return createStringError("recipe step '" + Name +
                           "' does not fit the tensor");
}

/// One float of 16, 32 or 64 bits to another, to nearest even.
class FloatCast {
public:
  FloatCast(ElementType From, ElementType To)
      : From(semantics(From)), To(semantics(To)), FromBits(bitWidth(From)),
        ToBits(bitWidth(To)) {}

  void operator()(const uint8_t *In, uint8_t *Out) const {
    uint64_t Bits = 0;
    std::memcpy(&Bits, In, FromBits / 8);
    llvm::APFloat Value(*From, llvm::APInt(FromBits, Bits));
    bool Lossy;
    Value.convert(*To, llvm::APFloat::rmNearestTiesToEven, &Lossy);
    Bits = Value.bitcastToAPInt().getZExtValue();
    std::memcpy(Out, &Bits, ToBits / 8);
  }

  static const llvm::fltSemantics *semantics(ElementType T) {
    switch (T) {
    case ElementType::F16:
      return &llvm::APFloat::IEEEhalf();
    case ElementType::BF16:
      return &llvm::APFloat::BFloat();
    case ElementType::F32:
      return &llvm::APFloat::IEEEsingle();
    case ElementType::F64:
      return &llvm::APFloat::IEEEdouble();
    default:
      return nullptr;
    }
  }

private:
  const llvm::fltSemantics *From, *To;
  unsigned FromBits, ToBits;
};

/// Walks the view in row-major order of its result, a piece at a time.
class Producer {
public:
  Producer(View V, std::span<const uint8_t> Bytes)
      : V(std::move(V)), Bytes(Bytes) {}

  std::optional<std::string>
  operator()(const artifact::WeightSink &Sink) const {
    if (V.From == V.To && ArrayRef(V.Strides) == ArrayRef(rowMajor(V.Dims)))
      return Sink(Bytes.data(), Bytes.size());
    constexpr size_t PieceBytes = 1 << 20;
    size_t In = bitWidth(V.From) / 8, Out = bitWidth(V.To) / 8;
    std::vector<uint8_t> Piece;
    Piece.reserve(PieceBytes + Out);
    SmallVector<int64_t> Index(V.Dims.size(), 0);
    int64_t Place = 0;
    std::optional<FloatCast> Cast;
    if (V.From != V.To)
      Cast.emplace(V.From, V.To);
    for (int64_t Left = count(V.Dims); Left > 0; --Left) {
      size_t At = Piece.size();
      Piece.resize(At + Out);
      if (Cast)
        (*Cast)(Bytes.data() + Place * In, Piece.data() + At);
      else
        std::memcpy(Piece.data() + At, Bytes.data() + Place * In, In);
      if (Piece.size() >= PieceBytes || Left == 1) {
        if (auto Error = Sink(Piece.data(), Piece.size()))
          return Error;
        Piece.clear();
      }
      advance(Index, Place);
    }
    return std::nullopt;
  }

private:
  void advance(SmallVector<int64_t> &Index, int64_t &Place) const {
    for (size_t D = Index.size(); D-- > 0;) {
      Place += V.Strides[D];
      if (++Index[D] < V.Dims[D])
        return;
      Place -= V.Strides[D] * V.Dims[D];
      Index[D] = 0;
    }
  }

  View V;
  std::span<const uint8_t> Bytes;
};

} // namespace

llvm::Expected<artifact::Weight>
kpc::prepareWeight(std::string Name, const Weight &Source, ArrayAttr Recipe) {
  View V;
  V.Dims.assign(Source.Dims.begin(), Source.Dims.end());
  V.Strides = rowMajor(V.Dims);
  V.From = V.To = elementTypeByName(Source.ElementType);
  if (V.From == ElementType::Undefined)
    return createStringError("weight '" + Name + "' has no known element type");
  for (Attribute Step : Recipe)
    for (NamedAttribute Field : cast<DictionaryAttr>(Step))
      if (llvm::Error E = applyStep(V, Field))
        return E;
  if (V.From != V.To &&
      (!FloatCast::semantics(V.From) || !FloatCast::semantics(V.To)))
    return createStringError("weight '" + Name + "': recipes cast floats only");

  artifact::Weight W;
  W.Name = std::move(Name);
  W.Type = V.To;
  W.Dims.assign(V.Dims.begin(), V.Dims.end());
  W.Length = count(V.Dims) * (bitWidth(V.To) / 8);
  W.Produce = Producer(V, Source.Bytes);
  return W;
}

std::string kpc::recipeText(ArrayAttr Recipe) {
  std::string Text;
  llvm::raw_string_ostream(Text) << Recipe;
  return Text;
}
