//===- ReduceData.cpp - Smaller data and sizes ----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/ReduceData.h"

#include "compiler/import/onnx/model/ElementType.h"
#include "compiler/import/onnx/model/ExternalData.h"
#include "tools/kpc/Reduce.h"

#include <algorithm>
#include <climits>
#include <cstring>

namespace kpc::cli {

using ::onnx::GraphProto;
using ::onnx::TensorProto;
using ::onnx::ValueInfoProto;

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

/// Bytes of an element; 0 where elements are packed, or strings.
static size_t elementBytes(const TensorProto &T) {
  auto Type = onnx::elementType(T.data_type());
  return Type ? onnx::elementBits(*Type) / 8 : 0;
}

static int64_t countOf(const TensorProto &T) {
  int64_t Count = 1;
  for (int64_t Dim : T.dims())
    if (Dim < 0 || __builtin_mul_overflow(Count, Dim, &Count))
      return -1;
  return Count;
}

/// Data as raw bytes, which all changes work on; false where it has another
/// form or another length.
static bool makeRaw(TensorProto &T) {
  auto Move = [&T](auto &List) {
    if (List.empty())
      return;
    T.mutable_raw_data()->assign(reinterpret_cast<const char *>(List.data()),
                                 size_t(List.size()) * sizeof(*List.data()));
    List.Clear();
  };
  if (T.data_type() == TensorProto::FLOAT)
    Move(*T.mutable_float_data());
  else if (T.data_type() == TensorProto::DOUBLE)
    Move(*T.mutable_double_data());
  else if (T.data_type() == TensorProto::INT64)
    Move(*T.mutable_int64_data());
  else if (T.data_type() == TensorProto::INT32)
    Move(*T.mutable_int32_data());
  size_t Size = elementBytes(T);
  int64_t Count = countOf(T);
  return Size && Count >= 0 && uint64_t(Count) <= INT_MAX / Size &&
         T.raw_data().size() == uint64_t(Count) * Size &&
         T.external_data().empty();
}

static int indexOf(const GraphProto &Graph, const std::string &Name) {
  for (int I = 0; I < Graph.initializer_size(); ++I)
    if (Graph.initializer(I).name() == Name)
      return I;
  return -1;
}

static ValueInfoProto inputLike(const TensorProto &T) {
  ValueInfoProto Info;
  Info.set_name(T.name());
  auto &Type = *Info.mutable_type()->mutable_tensor_type();
  Type.set_elem_type(T.data_type());
  Type.mutable_shape();
  for (int64_t Dim : T.dims())
    Type.mutable_shape()->add_dim()->set_dim_value(Dim);
  return Info;
}

bool becomeInput(GraphProto &Graph, const std::string &Name) {
  int At = indexOf(Graph, Name);
  if (At < 0)
    return false;
  bool Listed = std::any_of(Graph.input().begin(), Graph.input().end(),
                            [&](const auto &V) { return V.name() == Name; });
  if (!Listed)
    *Graph.add_input() = inputLike(Graph.initializer(At));
  Graph.mutable_initializer()->DeleteSubrange(At, 1);
  return true;
}

bool becomeZeros(GraphProto &Graph, const std::string &Name) {
  int At = indexOf(Graph, Name);
  if (At < 0 || !makeRaw(*Graph.mutable_initializer(At)))
    return false;
  std::string &Bytes = *Graph.mutable_initializer(At)->mutable_raw_data();
  if (Bytes.find_first_not_of('\0') == std::string::npos)
    return false;
  std::fill(Bytes.begin(), Bytes.end(), '\0');
  return true;
}

bool becomeSplat(GraphProto &Graph, const std::string &Name) {
  int At = indexOf(Graph, Name);
  if (At < 0 || !makeRaw(*Graph.mutable_initializer(At)))
    return false;
  TensorProto &T = *Graph.mutable_initializer(At);
  size_t Size = elementBytes(T);
  std::string &Bytes = *T.mutable_raw_data();
  if (Bytes.size() <= Size ||
      std::memcmp(Bytes.data(), Bytes.data() + Size, Bytes.size() - Size) == 0)
    return false;
  for (size_t I = Size; I < Bytes.size(); I += Size)
    std::memcpy(Bytes.data() + I, Bytes.data(), Size);
  return true;
}

bool takeDataIn(::onnx::ModelProto &Model, const std::string &Folder,
                Diagnostics &Diags) {
  constexpr uint64_t Room = uint64_t(1) << 30; // half of what a message holds
  onnx::ExternalData External(Folder);
  GraphProto &Graph = *Model.mutable_graph();
  uint64_t Taken = Model.ByteSizeLong();
  std::vector<std::string> Beyond;
  for (TensorProto &T : *Graph.mutable_initializer()) {
    if (T.external_data().empty())
      continue;
    onnx::ExternalData::Entries Entries;
    for (const auto &E : T.external_data())
      Entries.emplace_back(E.key(), E.value());
    onnx::Tensor Found;
    Found.Name = T.name();
    Found.Type =
        onnx::elementType(T.data_type()).value_or(onnx::ElementType::Undefined);
    Found.Dims.assign(T.dims().begin(), T.dims().end());
    int64_t Count = countOf(T);
    if (Count < 0 || !onnx::storedBytes(Found.Type, uint64_t(Count)) ||
        !External.attach(Found, Entries, Diags))
      return false;
    if (Found.Bytes.size() > Room - std::min(Room, Taken)) {
      Beyond.push_back(T.name());
      continue;
    }
    Taken += Found.Bytes.size();
    T.clear_external_data();
    T.clear_data_location();
    T.set_raw_data(Found.Bytes.data(), Found.Bytes.size());
  }
  for (const std::string &Name : Beyond)
    becomeInput(Graph, Name);
  return true;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

std::vector<int64_t> sizesOf(const GraphProto &Graph) {
  std::vector<int64_t> Sizes;
  for (const auto &V : Graph.input())
    for (const auto &Dim : V.type().tensor_type().shape().dim())
      if (Dim.has_dim_value())
        Sizes.push_back(Dim.dim_value());
  for (const TensorProto &T : Graph.initializer())
    Sizes.insert(Sizes.end(), T.dims().begin(), T.dims().end());
  std::sort(Sizes.begin(), Sizes.end(), std::greater<>());
  Sizes.erase(std::unique(Sizes.begin(), Sizes.end()), Sizes.end());
  while (!Sizes.empty() && Sizes.back() <= 1)
    Sizes.pop_back();
  return Sizes;
}

/// Keeps the first elements of each axis.
static bool cut(TensorProto &T, const std::vector<int64_t> &To) {
  if (!makeRaw(T))
    return false;
  size_t Size = elementBytes(T);
  std::vector<int64_t> From(T.dims().begin(), T.dims().end());
  std::string Out;
  int64_t Count = 1;
  for (int64_t Dim : To)
    Count *= Dim;
  Out.reserve(size_t(Count) * Size);
  for (int64_t I = 0; I < Count; ++I) {
    int64_t Rest = I, Place = 0, Stride = 1;
    for (size_t Axis = To.size(); Axis-- > 0;) {
      Place += Rest % To[Axis] * Stride;
      Rest /= To[Axis];
      Stride *= From[Axis];
    }
    Out.append(T.raw_data(), size_t(Place) * Size, Size);
  }
  T.set_raw_data(std::move(Out));
  for (size_t Axis = 0; Axis < To.size(); ++Axis)
    T.set_dims(static_cast<int>(Axis), To[Axis]);
  return true;
}

/// A vector of whole numbers that may be a shape: its elements.
static bool replaceElements(TensorProto &T, int64_t Old, int64_t New) {
  constexpr int64_t Most = 64;
  if (T.data_type() != TensorProto::INT64 || T.dims_size() > 1 ||
      countOf(T) > Most || !makeRaw(T))
    return false;
  bool Changed = false;
  std::string &Bytes = *T.mutable_raw_data();
  for (size_t At = 0; At + sizeof(int64_t) <= Bytes.size();
       At += sizeof(int64_t)) {
    int64_t Element = 0;
    std::memcpy(&Element, Bytes.data() + At, sizeof Element);
    if (Element != Old)
      continue;
    std::memcpy(Bytes.data() + At, &New, sizeof New);
    Changed = true;
  }
  return Changed;
}

static bool replaceIn(TensorProto &T, int64_t Old, int64_t New) {
  std::vector<int64_t> To(T.dims().begin(), T.dims().end());
  std::replace(To.begin(), To.end(), Old, New);
  bool Changed = replaceElements(T, Old, New);
  if (!std::equal(To.begin(), To.end(), T.dims().begin()))
    Changed |= cut(T, To);
  return Changed;
}

bool replaceSize(GraphProto &Graph, int64_t Old, int64_t New) {
  bool Changed = false;
  for (ValueInfoProto &V : *Graph.mutable_input())
    if (V.type().has_tensor_type() && V.type().tensor_type().has_shape())
      for (auto &Dim : *V.mutable_type()
                            ->mutable_tensor_type()
                            ->mutable_shape()
                            ->mutable_dim())
        if (Dim.has_dim_value() && Dim.dim_value() == Old) {
          Dim.set_dim_value(New);
          Changed = true;
        }
  for (TensorProto &T : *Graph.mutable_initializer())
    Changed |= replaceIn(T, Old, New);
  for (auto &Node : *Graph.mutable_node())
    if (Node.op_type() == "Constant")
      for (auto &A : *Node.mutable_attribute())
        if (A.has_t())
          Changed |= replaceIn(*A.mutable_t(), Old, New);
  for (ValueInfoProto &V : *Graph.mutable_output())
    if (V.type().has_tensor_type())
      V.mutable_type()->mutable_tensor_type()->clear_shape();
  Graph.clear_value_info();
  return Changed;
}

std::vector<std::string> dimNames(const GraphProto &Graph) {
  std::vector<std::string> Names;
  for (const auto &V : Graph.input())
    for (const auto &Dim : V.type().tensor_type().shape().dim())
      if (!Dim.has_dim_value())
        Names.push_back(Dim.dim_param());
  std::sort(Names.begin(), Names.end());
  Names.erase(std::unique(Names.begin(), Names.end()), Names.end());
  return Names;
}

void fixDim(GraphProto &Graph, const std::string &Name) {
  for (auto *List : {Graph.mutable_input(), Graph.mutable_output()})
    for (ValueInfoProto &V : *List)
      if (V.type().has_tensor_type() && V.type().tensor_type().has_shape())
        for (auto &Dim : *V.mutable_type()
                              ->mutable_tensor_type()
                              ->mutable_shape()
                              ->mutable_dim())
          if (!Dim.has_dim_value() && Dim.dim_param() == Name)
            Dim.set_dim_value(1);
  Graph.clear_value_info();
}

} // namespace kpc::cli
