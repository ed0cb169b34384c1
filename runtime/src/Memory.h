//===- Memory.h - Large blocks, from the caller's allocator or our own -*- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A Memory outlives the session that made it as long as a block of it lives.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_MEMORY_H
#define KPC_RUNTIME_SRC_MEMORY_H

#include "kpc/runtime.h"
#include "runtime/src/Errors.h"

#include <memory>

namespace kpc::rt {

class Memory {
public:
  virtual ~Memory() = default;
  /// Null where there is none.
  virtual void *allocate(uint64_t Bytes, uint64_t Alignment) = 0;
  virtual void release(void *Block, uint64_t Bytes) = 0;
  virtual kpc_device device() const = 0;
};

/// Host memory: the caller's if `Allocator.allocate` is set.
std::shared_ptr<Memory> hostMemory(const kpc_allocator &Allocator);

/// One block; frees itself.
class Block {
public:
  Block() = default;
  Block(Block &&Other) noexcept { *this = std::move(Other); }
  Block &operator=(Block &&Other) noexcept;
  ~Block() { reset(); }

  static Result<Block> make(const std::shared_ptr<Memory> &From, uint64_t Bytes,
                            uint64_t Alignment);
  void *data() const { return Data; }
  uint64_t size() const { return Size; }
  void reset();

private:
  std::shared_ptr<Memory> From;
  void *Data = nullptr;
  uint64_t Size = 0;
};

} // namespace kpc::rt

#endif // KPC_RUNTIME_SRC_MEMORY_H
