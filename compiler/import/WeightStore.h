//===- WeightStore.h - Bytes of a model's weights by name ----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `graph.weight "m.onnx#conv1.weight"` names its bytes; this is where they
/// are found. Nothing is copied: bytes lie in the mapped data file or in what
/// the reader made of the model, which the store keeps alive.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_WEIGHTSTORE_H
#define KPC_COMPILER_IMPORT_WEIGHTSTORE_H

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kpc {

struct Weight {
  /// As the graph dialect writes it: "f32", "ui8", "i1" (one byte an element).
  std::string ElementType;
  std::vector<int64_t> Dims;
  /// Row major, little endian, densely packed.
  std::span<const uint8_t> Bytes;
  std::shared_ptr<const void> Keep;
};

/// By the name that `graph.weight` uses.
class WeightStore {
public:
  /// False if there is one of that name already.
  bool add(std::string Source, Weight W) {
    return Weights.emplace(std::move(Source), std::move(W)).second;
  }
  /// Null if there is none. Pointers stay valid while the store lives.
  const Weight *find(std::string_view Source) const {
    auto It = Weights.find(Source);
    return It == Weights.end() ? nullptr : &It->second;
  }
  const std::map<std::string, Weight, std::less<>> &all() const {
    return Weights;
  }

private:
  std::map<std::string, Weight, std::less<>> Weights;
};

} // namespace kpc

#endif // KPC_COMPILER_IMPORT_WEIGHTSTORE_H
