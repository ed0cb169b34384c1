//===- DataFiles.cpp - The files that a model's data lies in --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/model/ExternalData.h"
#include "compiler/import/onnx/model/Reader.h"
#include "compiler/import/onnx/model/Wire.h"

#include <set>

namespace kpc::onnx {

namespace {

/// Messages of onnx.proto on the way to a tensor's data.
enum class Message {
  Model,
  Graph,
  Function,
  Node,
  Attribute,
  Sparse,
  Tensor,
  Entry,
};

/// Field `Number` of `In` holds an `Of`.
struct Step {
  Message In;
  uint32_t Number;
  Message Of;
};

constexpr Step Steps[] = {
    {Message::Model, 7, Message::Graph},
    {Message::Model, 25, Message::Function},
    {Message::Graph, 1, Message::Node},
    {Message::Graph, 5, Message::Tensor},
    {Message::Graph, 15, Message::Sparse},
    {Message::Function, 7, Message::Node},
    {Message::Node, 5, Message::Attribute},
    {Message::Attribute, 5, Message::Tensor},
    {Message::Attribute, 6, Message::Graph},
    {Message::Attribute, 10, Message::Tensor},
    {Message::Attribute, 11, Message::Graph},
    {Message::Attribute, 22, Message::Sparse},
    {Message::Attribute, 23, Message::Sparse},
    {Message::Sparse, 1, Message::Tensor},
    {Message::Sparse, 2, Message::Tensor},
    {Message::Tensor, 13, Message::Entry},
};

/// The reader refuses messages that nest deeper.
constexpr int DeepestNesting = 128;

void collect(Message In, std::string_view Bytes, int Depth,
             std::set<std::string> &Locations) {
  if (In == Message::Entry) {
    std::string_view Key, Value;
    forEachField(Bytes, [&](uint64_t Number, std::string_view Text) {
      (Number == 1 ? Key : Value) = Text;
    });
    if (Key == "location" && reasonAgainstLocation(std::string(Value)).empty())
      Locations.emplace(Value);
    return;
  }
  if (Depth == DeepestNesting)
    return;
  forEachField(Bytes, [&](uint64_t Number, std::string_view Value) {
    for (const Step &S : Steps)
      if (S.In == In && S.Number == Number)
        collect(S.Of, Value, Depth + 1, Locations);
  });
}

} // namespace

std::vector<std::string> dataFiles(const std::string &Path) {
  std::string Why;
  std::shared_ptr<const MappedFile> File = MappedFile::open(Path, Why);
  if (!File)
    return {};
  std::set<std::string> Locations;
  std::span<const uint8_t> Bytes = File->bytes();
  collect(Message::Model,
          {reinterpret_cast<const char *>(Bytes.data()), Bytes.size()}, 0,
          Locations);
  return {Locations.begin(), Locations.end()};
}

} // namespace kpc::onnx
