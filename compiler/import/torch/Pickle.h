//===- Pickle.h - The pickles that PyTorch writes ---------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A pickle is a program that builds values. This reads the few opcodes that
/// torch.jit.save and torch.save emit, and knows each callable that a pickle
/// may name: it makes tensors, lists, dicts, or an object of a class of a
/// TorchScript archive. Any other opcode or name is an error. Nothing is
/// imported, called or executed.
///
///   std::string Why;
///   auto Pickle = Pickle::read(Bytes, Why);
///   if (!Pickle) …                       // `Why` says what is wrong and where
///   if (const PickleValue *V = Pickle->root().attribute("training")) …
///
/// Values may be shared, but never hold themselves.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCH_PICKLE_H
#define KPC_COMPILER_IMPORT_TORCH_PICKLE_H

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kpc::torch {

struct PickleValue {
  enum class Kind {
    None,
    Bool, ///< `Int` is 0 or 1
    Int,
    Float,
    Text,
    List,    ///< `Items`
    Tuple,   ///< `Items`
    Dict,    ///< `Items`: keys and values in turn
    Object,  ///< `Text` is its class; `Items` is its state, once it is built
    Storage, ///< `Text` is its key, `Type` its type, `Int` its element count
    Tensor,  ///< `Items` is its storage; `Int` the offset in elements; `Type`
             ///< is "float8_e4m3fn" where its storage has no type
    Device,  ///< `Text`
    Global,  ///< a class or a callable: `Text`
  };
  Kind Is = Kind::None;
  int64_t Int = 0;
  double Float = 0;
  std::string Text;
  std::string Type; ///< of a storage: "FloatStorage"
  std::vector<const PickleValue *> Items;
  std::vector<int64_t> Sizes, Strides; ///< in elements

  /// An attribute of an object; null if it has none of that name.
  const PickleValue *attribute(std::string_view Name) const;
};

class Pickle {
public:
  /// More values than any model has attributes.
  static constexpr size_t MostValues = 4'000'000;
  /// Levels of lists, dicts and objects in each other.
  static constexpr size_t Deepest = 512;

  /// None with the reason in `Why`.
  static std::optional<Pickle> read(std::span<const uint8_t> Bytes,
                                    std::string &Why);
  const PickleValue &root() const { return *Root; }

private:
  friend class PickleReader;
  std::deque<PickleValue> Values; ///< owns them: addresses stay
  const PickleValue *Root = nullptr;
};

} // namespace kpc::torch

#endif // KPC_COMPILER_IMPORT_TORCH_PICKLE_H
