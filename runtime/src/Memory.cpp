//===- Memory.cpp - Large blocks, from the caller's allocator or our own --===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/Memory.h"

#include <cinttypes>
#include <new>

namespace kpc::rt {

namespace {

constexpr std::align_val_t OwnAlignment{4096};

class OwnHostMemory : public Memory {
public:
  void *allocate(uint64_t Bytes, uint64_t) override {
    return ::operator new(Bytes, OwnAlignment, std::nothrow);
  }
  void release(void *Block, uint64_t) override {
    ::operator delete(Block, OwnAlignment);
  }
  kpc_device device() const override { return KPC_HOST; }
};

class CallersHostMemory : public Memory {
public:
  explicit CallersHostMemory(const kpc_allocator &A) : Allocator(A) {}
  void *allocate(uint64_t Bytes, uint64_t Alignment) override {
    return Allocator.allocate(Allocator.user, Bytes, Alignment, device());
  }
  void release(void *Block, uint64_t Bytes) override {
    Allocator.release(Allocator.user, Block, Bytes, device());
  }
  kpc_device device() const override { return KPC_HOST; }

private:
  kpc_allocator Allocator;
};

} // namespace

std::shared_ptr<Memory> hostMemory(const kpc_allocator &Allocator) {
  if (Allocator.allocate)
    return std::make_shared<CallersHostMemory>(Allocator);
  return std::make_shared<OwnHostMemory>();
}

Block &Block::operator=(Block &&Other) noexcept {
  if (this != &Other) {
    reset();
    From = std::move(Other.From);
    Data = std::exchange(Other.Data, nullptr);
    Size = std::exchange(Other.Size, 0);
  }
  return *this;
}

void Block::reset() {
  if (Data)
    From->release(Data, Size);
  Data = nullptr;
  Size = 0;
  From.reset();
}

Result<Block> Block::make(const std::shared_ptr<Memory> &From, uint64_t Bytes,
                          uint64_t Alignment) {
  Block Out;
  uint64_t Size = Bytes ? Bytes : 1;
  Out.Data = From->allocate(Size, Alignment);
  if (!Out.Data) {
    bool Host = From->device().kind == KPC_DEVICE_HOST;
    return failure(Host ? ErrorCode::OutOfMemory : ErrorCode::DeviceOutOfMemory,
                   "cannot allocate %" PRIu64 " bytes on the %s", Size,
                   Host ? "host" : "device");
  }
  Out.From = From;
  Out.Size = Size;
  if (uintptr_t(Out.Data) % Alignment)
    return failure(ErrorCode::Misaligned,
                   "the allocator gave memory that is not aligned to %" PRIu64
                   " bytes",
                   Alignment);
  return Out;
}

} // namespace kpc::rt
