//===- DecodeTensor.cpp - TensorProto to plain data -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/model/Decode.h"

#include <cstring>

namespace kpc::onnx {

/// Copies a typed field's elements into `Bytes`, each cut to `T`.
template <typename T, typename List>
static std::shared_ptr<const std::vector<uint8_t>> pack(const List &Values) {
  auto Bytes =
      std::make_shared<std::vector<uint8_t>>(Values.size() * sizeof(T));
  for (int I = 0; I < Values.size(); ++I) {
    T Value = static_cast<T>(Values.Get(I));
    std::memcpy(Bytes->data() + static_cast<size_t>(I) * sizeof(T), &Value,
                sizeof(T));
  }
  return Bytes;
}

/// Codes of six bits as raw data has them: four in three bytes, the first in
/// the lowest bits.
static std::shared_ptr<const std::vector<uint8_t>>
packSixBits(const google::protobuf::RepeatedField<int32_t> &Values) {
  auto Bytes = std::make_shared<std::vector<uint8_t>>(
      (static_cast<size_t>(Values.size()) * 6 + 7) / 8);
  for (int I = 0; I < Values.size(); ++I) {
    size_t Bit = static_cast<size_t>(I) * 6;
    uint32_t Code = (static_cast<uint32_t>(Values.Get(I)) & 63) << Bit % 8;
    (*Bytes)[Bit / 8] |= static_cast<uint8_t>(Code);
    if (Code > 255)
      (*Bytes)[Bit / 8 + 1] |= static_cast<uint8_t>(Code >> 8);
  }
  return Bytes;
}

namespace {
/// The elements of a tensor that uses a typed field instead of raw data.
struct TypedData {
  std::shared_ptr<const std::vector<uint8_t>> Bytes;
  std::string_view Field;
  uint64_t Elements = 0; ///< of the field
};
} // namespace

/// Whether each value fits `Bits`, read signed or unsigned; a code of six bits
/// is unsigned.
static bool fitInt32(const ::onnx::TensorProto &Proto, unsigned Bits) {
  int64_t Low = Bits == 6 ? 0 : -(int64_t(1) << (Bits - 1)),
          High = (int64_t(1) << Bits) - 1;
  for (int32_t V : Proto.int32_data())
    if (V < Low || V > High)
      return false;
  return true;
}

/// Which field holds elements of a type is part of the schema (onnx.proto).
static TypedData typedData(const ::onnx::TensorProto &Proto, ElementType Type) {
  switch (Type) {
  case ElementType::Float:
  case ElementType::Complex64:
    return {pack<float>(Proto.float_data()), "float_data",
            static_cast<uint64_t>(Proto.float_data_size())};
  case ElementType::Double:
  case ElementType::Complex128:
    return {pack<double>(Proto.double_data()), "double_data",
            static_cast<uint64_t>(Proto.double_data_size())};
  case ElementType::Int64:
    return {pack<int64_t>(Proto.int64_data()), "int64_data",
            static_cast<uint64_t>(Proto.int64_data_size())};
  case ElementType::Uint64:
    return {pack<uint64_t>(Proto.uint64_data()), "uint64_data",
            static_cast<uint64_t>(Proto.uint64_data_size())};
  case ElementType::Uint32:
    return {pack<uint32_t>(Proto.uint64_data()), "uint64_data",
            static_cast<uint64_t>(Proto.uint64_data_size())};
  default:
    break;
  }
  auto Elements = static_cast<uint64_t>(Proto.int32_data_size());
  unsigned Bits = elementBits(Type);
  if (Bits == 32)
    return {pack<int32_t>(Proto.int32_data()), "int32_data", Elements};
  if (Bits == 16)
    return {pack<uint16_t>(Proto.int32_data()), "int32_data", Elements};
  if (Bits == 6)
    return {packSixBits(Proto.int32_data()), "int32_data", Elements};
  return {pack<uint8_t>(Proto.int32_data()), "int32_data", Elements};
}

bool Decoder::strings(::onnx::TensorProto &Proto, const std::string &Who,
                      const ModelPlace &Where, Tensor &Result) {
  if (Proto.string_data_size() != Result.count()) {
    Diags.error(Code::ImportDataLength)
        .at(Where)
        .message(Who + ": string " + dimsText(Result.Dims) + " needs " +
                 std::to_string(Result.count()) + " strings, but has " +
                 std::to_string(Proto.string_data_size()));
    return false;
  }
  for (std::string &S : *Proto.mutable_string_data())
    Result.Strings.push_back(std::move(S));
  return true;
}

/// The data inside the message: raw, or in the field of its type.
bool Decoder::stored(::onnx::TensorProto &Proto, const std::string &Who,
                     const ModelPlace &Where, Tensor &Result) {
  std::string Has;
  if (Proto.has_raw_data()) {
    auto Raw = std::make_shared<std::string>();
    Raw->swap(*Proto.mutable_raw_data());
    Result.Bytes = {reinterpret_cast<const uint8_t *>(Raw->data()),
                    Raw->size()};
    Result.Keep = Raw;
    Has = std::to_string(Result.Bytes.size()) + " bytes of raw data";
  } else {
    TypedData Data = typedData(Proto, Result.Type);
    unsigned Bits = elementBits(Result.Type);
    if (Data.Field == "int32_data" && Bits < 32 &&
        !fitInt32(Proto, Bits == 6 ? Bits : std::max(Bits, 8u))) {
      Diags.error(Code::ImportMalformed)
          .at(Where)
          .message(Who + ": int32_data has values that do not fit " +
                   elementTypeName(Result.Type));
      return false;
    }
    Result.Bytes = {Data.Bytes->data(), Data.Bytes->size()};
    Result.Keep = Data.Bytes;
    Has = std::to_string(Data.Elements) + " elements in " +
          std::string(Data.Field);
  }
  uint64_t Need =
      *storedBytes(Result.Type, static_cast<uint64_t>(Result.count()));
  if (Result.Bytes.size() != Need) {
    Diags.error(Code::ImportDataLength)
        .at(Where)
        .message(Who + ": " + elementTypeName(Result.Type) + " " +
                 dimsText(Result.Dims) + " needs " + std::to_string(Need) +
                 " bytes, but has " + Has);
    return false;
  }
  return true;
}

bool Decoder::tensor(::onnx::TensorProto &Proto, const std::string &Who,
                     const ModelPlace &Where, Tensor &Result) {
  Result.Name = Proto.name();
  Result.Dims.assign(Proto.dims().begin(), Proto.dims().end());
  std::optional<ElementType> Type = elementType(Proto.data_type());
  if (!Type || *Type == ElementType::Undefined) {
    Diags.error(Code::ImportElementType)
        .at(Where)
        .message(Who + " has the element type number " +
                 std::to_string(Proto.data_type()) +
                 ", which ONNX does not define")
        .hint("export the model again");
    return false;
  }
  Result.Type = *Type;
  if (Result.Dims.size() > HighestRank) {
    Diags.error(Code::ImportRank)
        .at(Where)
        .message(Who + " has rank " + std::to_string(Result.Dims.size()) +
                 "; kpc takes up to " + std::to_string(HighestRank));
    return false;
  }
  std::optional<int64_t> Count = elementCount(Result.Dims);
  if (!Count || !storedBytes(*Type, static_cast<uint64_t>(*Count))) {
    bool Negative = false;
    for (int64_t D : Result.Dims)
      Negative |= D < 0;
    Diags.error(Code::ImportBadDims)
        .at(Where)
        .message(Who + " has the dims " + dimsText(Result.Dims) +
                 (Negative ? ", one of them negative"
                           : ", whose product overflows"));
    return false;
  }
  if (Proto.has_segment()) {
    Diags.error(Code::ImportMalformed)
        .at(Where)
        .message(Who + " is stored in segments, which no ONNX version uses");
    return false;
  }
  bool Outside = Proto.data_location() == ::onnx::TensorProto::EXTERNAL;
  if (*Type == ElementType::String && !Outside)
    return strings(Proto, Who, Where, Result);
  if (*Type == ElementType::String) {
    Diags.error(Code::ImportElementType)
        .at(Where)
        .message(Who + ": strings cannot be external data");
    return false;
  }
  if (!Outside)
    return stored(Proto, Who, Where, Result);
  ExternalData::Entries Entries;
  for (const auto &Entry : Proto.external_data())
    Entries.emplace_back(Entry.key(), Entry.value());
  return External.attach(Result, Entries, Diags);
}

/// Bytes that a sparse tensor may take with its zeros: it is a constant of a
/// small file, not a way to fill the memory.
constexpr uint64_t MostOfSparse = uint64_t(1) << 30;

/// Places in a dense tensor: indices count through it, or have a column for
/// each axis. None where one lies outside.
static std::optional<std::vector<int64_t>>
densePlaces(const std::vector<int64_t> &Indices, const Tensor &Dense,
            bool Columns) {
  size_t Each = Columns ? Dense.Dims.size() : 1;
  std::vector<int64_t> Places;
  for (size_t I = 0; I + Each <= Indices.size(); I += Each) {
    int64_t Place = 0;
    for (size_t Axis = 0; Axis < Each; ++Axis) {
      int64_t Size = Columns ? Dense.Dims[Axis] : Dense.count();
      int64_t At = Indices[I + Axis];
      if (At < 0 || At >= Size)
        return std::nullopt;
      Place = Place * Size + At;
    }
    Places.push_back(Place);
  }
  return Places;
}

bool Decoder::sparse(::onnx::SparseTensorProto &Proto, const std::string &Who,
                     const ModelPlace &Where, Tensor &Result) {
  Tensor Elements, At;
  if (!tensor(*Proto.mutable_values(), "the values of " + Who, Where,
              Elements) ||
      !tensor(*Proto.mutable_indices(), "the indices of " + Who, Where, At))
    return false;
  Result.Name = Elements.Name;
  Result.Type = Elements.Type;
  Result.Dims.assign(Proto.dims().begin(), Proto.dims().end());
  auto Fail = [&](std::string Message) {
    Diags.error(Code::ImportMalformed).at(Where).message(Who + Message);
    return false;
  };
  std::optional<int64_t> Count = elementCount(Result.Dims);
  std::optional<uint64_t> Size =
      Count ? storedBytes(Result.Type, static_cast<uint64_t>(*Count))
            : std::nullopt;
  unsigned Bytes = elementBits(Result.Type) / 8;
  if (!Size || *Size > MostOfSparse || Result.Dims.size() > HighestRank)
    return Fail(" is sparse and has the dims " + dimsText(Result.Dims) +
                "; kpc takes those of up to 1 GiB with their zeros");
  std::optional<std::vector<int64_t>> Indices = At.integers();
  // Data outside the file is not there yet.
  if (Bytes == 0 || !Elements.File.empty() || !Indices)
    return Fail(" is sparse; its values should be of 8 bits or more, its "
                "indices int64, and both inside the file");
  bool Columns = At.Dims.size() == 2;
  if (At.Dims.empty() || At.Dims.front() != Elements.count() ||
      (Columns && At.Dims[1] != static_cast<int64_t>(Result.Dims.size())))
    return Fail(" is sparse and has indices " + dimsText(At.Dims) + " for " +
                std::to_string(Elements.count()) + " values");
  std::optional<std::vector<int64_t>> Places =
      densePlaces(*Indices, Result, Columns);
  if (!Places)
    return Fail(" is sparse and has an index outside of " +
                dimsText(Result.Dims));
  auto Dense = std::make_shared<std::vector<uint8_t>>(*Size);
  for (size_t I = 0; I < Places->size(); ++I)
    std::copy_n(Elements.Bytes.data() + I * Bytes, Bytes,
                Dense->data() + static_cast<size_t>((*Places)[I]) * Bytes);
  Result.Bytes = {Dense->data(), Dense->size()};
  Result.Keep = Dense;
  return true;
}

} // namespace kpc::onnx
