//===- PickleReader.h - The machine that reads a pickle ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A private header of Pickle.cpp (bytes, stack and opcodes) and
/// PickleObjects.cpp (what names, objects and tensors become).
///
//===----------------------------------------------------------------------===//

#ifndef KPC_COMPILER_IMPORT_TORCH_PICKLEREADER_H
#define KPC_COMPILER_IMPORT_TORCH_PICKLEREADER_H

#include "compiler/import/torch/Pickle.h"

#include <unordered_map>

namespace kpc::torch {

/// Names from a file, safe to show.
std::string shownName(std::string_view Text);

/// The machine of a pickle: a stack, marks and a memo.
class PickleReader {
public:
  PickleReader(std::span<const uint8_t> Bytes, Pickle &Into, std::string &Why)
      : Bytes(Bytes), Into(Into), Why(Why) {}
  bool run();

private:
  bool fail(const std::string &Message) {
    if (Why.empty())
      Why = "byte " + std::to_string(OpAt) + " of the pickle: " + Message;
    return false;
  }
  bool step(uint8_t Code);
  bool stepContainer(uint8_t Code);
  /// None after a report where the file ends before.
  std::optional<uint64_t> number(size_t Width);
  std::optional<std::string_view> text(uint64_t Size);
  std::optional<std::string_view> line();

  PickleValue *make(PickleValue::Kind Is);
  bool push(PickleValue *V);
  PickleValue *pop();
  /// What lies above the last mark, which goes.
  std::optional<std::vector<const PickleValue *>> popToMark();
  bool tupleOf(size_t Count);
  bool put(std::optional<uint64_t> Slot);
  bool get(std::optional<uint64_t> Slot);
  bool readLong();
  bool readGlobal();
  bool newObject();
  bool reduce();
  bool build();
  bool storage();
  PickleValue *tensor(const PickleValue &Arguments, bool Untyped);
  bool fits(const PickleValue &T);
  bool readSizes(const PickleValue &From, std::vector<int64_t> &To);
  bool checkTree();

  std::span<const uint8_t> Bytes;
  Pickle &Into;
  std::string &Why;
  size_t At = 0, OpAt = 0;
  std::vector<PickleValue *> Stack;
  std::vector<size_t> Marks;
  std::unordered_map<uint64_t, PickleValue *> Memo;
};

} // namespace kpc::torch

#endif // KPC_COMPILER_IMPORT_TORCH_PICKLEREADER_H
