//===- Wire.cpp - Whether bytes can be a ModelProto -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/model/Wire.h"

#include <optional>
#include <string_view>

namespace kpc::onnx {

namespace {
enum WireType : unsigned { Varint = 0, Fixed64 = 1, Length = 2, Fixed32 = 5 };

struct Field {
  uint64_t Number;
  unsigned Type;
  std::string_view Name;
};
} // namespace

/// ModelProto's fields (onnx.proto of ONNX 1.22).
static constexpr Field ModelFields[] = {
    {1, Varint, "ir_version"},
    {2, Length, "producer_name"},
    {3, Length, "producer_version"},
    {4, Length, "domain"},
    {5, Varint, "model_version"},
    {6, Length, "doc_string"},
    {7, Length, "graph"},
    {8, Length, "opset_import"},
    {14, Length, "metadata_props"},
    {20, Length, "training_info"},
    {25, Length, "functions"},
    {26, Length, "configuration"},
};

static std::optional<uint64_t> readVarint(std::span<const uint8_t> Bytes,
                                          size_t &At) {
  uint64_t Value = 0;
  for (unsigned Shift = 0; Shift < 64 && At < Bytes.size(); Shift += 7) {
    uint8_t Byte = Bytes[At++];
    Value |= uint64_t(Byte & 127) << Shift;
    if (!(Byte & 128))
      return Value;
  }
  return std::nullopt;
}

static const Field *findField(uint64_t Number) {
  for (const Field &F : ModelFields)
    if (F.Number == Number)
      return &F;
  return nullptr;
}

WireFault checkWire(std::span<const uint8_t> Bytes, std::string &Detail) {
  size_t At = 0;
  bool First = true;
  while (At < Bytes.size()) {
    size_t Start = At;
    std::string Where = "at byte " + std::to_string(Start);
    std::optional<uint64_t> Tag = readVarint(Bytes, At);
    const Field *Known = Tag ? findField(*Tag >> 3) : nullptr;
    if (First ? !Known : (!Tag || (*Tag >> 3) == 0)) {
      Detail = First ? "its first bytes are not those of a ModelProto"
                     : "no field starts " + Where;
      return First ? WireFault::NotOnnx : WireFault::Damaged;
    }
    unsigned Type = *Tag & 7;
    if (Known && Known->Type != Type) {
      Detail = "field '" + std::string(Known->Name) + "' " + Where +
               " has the wrong wire type";
      return WireFault::NotOnnx;
    }
    First = false;
    std::string Name = Known ? "'" + std::string(Known->Name) + "'" : "a field";
    uint64_t Size = Type == Fixed64 ? 8 : Type == Fixed32 ? 4 : 0;
    std::optional<uint64_t> Value = 0;
    if (Type == Varint || Type == Length)
      Value = readVarint(Bytes, At);
    else if (Type != Fixed64 && Type != Fixed32) {
      Detail = "no field starts " + Where;
      return WireFault::Damaged;
    }
    if (Type == Length && Value)
      Size = *Value;
    if (!Value || Size > Bytes.size() - At) {
      Detail = Name + ", which starts " + Where +
               ", is longer than the file (" + std::to_string(Bytes.size()) +
               " bytes)";
      return WireFault::Truncated;
    }
    At += Size;
  }
  return WireFault::None;
}

void forEachField(
    std::string_view Text,
    const std::function<void(uint64_t Number, std::string_view Value)> &Found) {
  std::span<const uint8_t> Bytes(reinterpret_cast<const uint8_t *>(Text.data()),
                                 Text.size());
  size_t At = 0;
  while (At < Bytes.size()) {
    std::optional<uint64_t> Tag = readVarint(Bytes, At);
    unsigned Type = Tag ? *Tag & 7 : 7;
    uint64_t Size = Type == Fixed64 ? 8 : Type == Fixed32 ? 4 : 0;
    if (Type == Varint || Type == Length) {
      std::optional<uint64_t> Value = readVarint(Bytes, At);
      if (!Value)
        return;
      Size = Type == Length ? *Value : 0;
    } else if (Type != Fixed64 && Type != Fixed32) {
      return;
    }
    if (Size > Bytes.size() - At)
      return;
    if (Type == Length)
      Found(*Tag >> 3, Text.substr(At, Size));
    At += Size;
  }
}

} // namespace kpc::onnx
