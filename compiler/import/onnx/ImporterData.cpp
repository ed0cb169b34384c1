//===- ImporterData.cpp - Constants and weights of a model ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Triangles.h"
#include "compiler/import/onnx/Importer.h"

#include "compiler/import/onnx/model/Reader.h"

using namespace mlir;
using namespace kpc::graph;

namespace kpc::onnx {

/// Whether all elements have the same bytes; of packed ones it is not asked.
static bool repeats(const Tensor &T) {
  size_t Size = elementBits(T.Type) / 8;
  if (Size == 0 || T.Bytes.size() < Size)
    return false;
  return std::memcmp(T.Bytes.data(), T.Bytes.data() + Size,
                     T.Bytes.size() - Size) == 0;
}

/// The elements as an attribute; `Count` of them from the start.
static DenseElementsAttr elementsOf(const Tensor &T, RankedTensorType Ty,
                                    size_t Count) {
  if (T.Type == ElementType::Bool) {
    SmallVector<bool> Bits;
    for (uint8_t V : T.Bytes.first(Count))
      Bits.push_back(V != 0);
    return DenseElementsAttr::get(Ty, Bits);
  }
  size_t Size = std::max(elementBits(T.Type) / 8, 1u);
  ArrayRef<char> Raw(reinterpret_cast<const char *>(T.Bytes.data()),
                     Count * Size);
  return DenseElementsAttr::getFromRawBuffer(Ty, Raw);
}

/// With a byte for each element of 2 or 4 bits, as constants have them.
static Tensor unpacked(const Tensor &T) {
  unsigned Bits = elementBits(T.Type);
  if (Bits == 0 || Bits >= 8)
    return T;
  auto Codes = std::make_shared<std::vector<uint8_t>>();
  auto Count = static_cast<size_t>(T.count());
  for (size_t I = 0; I < Count; ++I)
    Codes->push_back(static_cast<uint8_t>(
        T.Bytes[I * Bits / 8] >> (I * Bits % 8) & ((1u << Bits) - 1)));
  Tensor Result = T;
  Result.Bytes = {Codes->data(), Codes->size()};
  Result.Keep = Codes;
  return Result;
}

Value Importer::build(const Tensor &T, NodeImport &Reader) {
  Type Element = graphType(B.getContext(), T.Type);
  if (!Element)
    return Reader.fail(Code::ImportElementType, "reads '" + printable(T.Name) +
                                                    "', whose type " +
                                                    elementTypeName(T.Type) +
                                                    " cannot be computed with");
  int64_t Count = T.count();
  if (Count == 0 && isSubByte(Element))
    return Reader.full(0, Dims(T.Dims.begin(), T.Dims.end()), Element);
  if (Count == 0 || Count > 64) {
    if (Count == 0 || !repeats(T))
      return weight(T, Element, Reader);
    auto Scalar = RankedTensorType::get({}, Element);
    Dims Sizes(T.Dims.begin(), T.Dims.end());
    return Reader.broadcast(Reader.constant(elementsOf(T, Scalar, 1)), Sizes);
  }
  return Reader.constant(elementsOf(unpacked(T),
                                    RankedTensorType::get(T.Dims, Element),
                                    static_cast<size_t>(Count)));
}

/// Bools of any byte but 0 are true; memory holds 1 for them.
static Tensor withPlainBools(const Tensor &T) {
  if (T.Type != ElementType::Bool ||
      llvm::all_of(T.Bytes, [](uint8_t V) { return V <= 1; }))
    return T;
  auto Plain = std::make_shared<std::vector<uint8_t>>();
  for (uint8_t V : T.Bytes)
    Plain->push_back(V != 0);
  Tensor Result = T;
  Result.Bytes = {Plain->data(), Plain->size()};
  Result.Keep = Plain;
  return Result;
}

Value Importer::weight(const Tensor &T, Type Element, NodeImport &Reader) {
  std::string Source = ModelName + "#" + printable(T.Name);
  Tensor Plain = withPlainBools(T);
  Weight W{typeText(Element), Plain.Dims, Plain.Bytes, Plain.Keep};
  if (Value Mask = frontend::triangleOf(Reader, W, Element))
    return Mask;
  if (isSubByte(Element)) {
    W.ElementType = "ui8";
    W.Dims = {static_cast<int64_t>(Plain.Bytes.size())};
  }
  // Subgraphs may use a name again for other data.
  std::string Wanted = Source;
  for (unsigned I = 1; !Weights.add(Source, W); ++I) {
    const Weight *Other = Weights.find(Source);
    if (Other->Bytes.data() == W.Bytes.data() && Other->Dims == W.Dims)
      break;
    Source = Wanted + "_" + std::to_string(I);
  }
  Dims Sizes(T.Dims.begin(), T.Dims.end());
  return Reader.buildSized(WeightOp::getOperationName(), {},
                           {B.getNamedAttr("source", B.getStringAttr(Source)),
                            B.getNamedAttr("recipe", B.getArrayAttr({}))},
                           Sizes, Element);
}

Value Importer::build(const Contents &C, NodeImport &Reader) {
  Type Element = graphType(B.getContext(), C.Type);
  Dims Sizes(C.Dims.begin(), C.Dims.end());
  if (!Element)
    return Reader.fail(Code::ImportElementType,
                       elementTypeName(C.Type) + " cannot be computed with");
  if (C.count() == 0)
    return Reader.full(0, Sizes, Element);
  if (C.isReal())
    return Reader.reshape(Reader.floatVector(C.Real, Element), Sizes);
  if (std::optional<std::vector<int64_t>> Numbers = C.integers()) {
    if (isBool(Element)) {
      SmallVector<bool> Bits(Numbers->begin(), Numbers->end());
      auto Ty = RankedTensorType::get(C.Dims, Element);
      return Reader.constant(DenseElementsAttr::get(Ty, Bits));
    }
    return Reader.reshape(Reader.intVector(*Numbers, Element), Sizes);
  }
  Value V = Reader.sizes(C.Whole);
  return Reader.reshape(Reader.cast(V, Element), Sizes);
}

} // namespace kpc::onnx
