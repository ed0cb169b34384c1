//===- CudaMemory.h - Device memory and a stream for bench ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a program that embeds the runtime would bring itself: tensors on the
/// device, a stream, events. The driver is loaded by name, as the runtime does
/// it ($KPC_CUDA_DRIVER, else libcuda.so.1), and its primary context is used.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_CUDAMEMORY_H
#define KPC_TOOLS_KPC_CUDAMEMORY_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace kpc::cli {

/// Belongs to the thread that made it.
class CudaMemory {
public:
  /// Null, and why in `Error`.
  static std::unique_ptr<CudaMemory> open(int Ordinal, std::string &Error);
  ~CudaMemory();
  CudaMemory(const CudaMemory &) = delete;
  CudaMemory &operator=(const CudaMemory &) = delete;

  /// Device memory with a copy of `From` (null: not initialised); null where
  /// there is none. Lives as long as this object.
  void *allocate(size_t Bytes, const void *From);
  void *stream() const { return Stream; }
  /// Times what is put on the stream between the two, on the device.
  bool startTimer();
  bool stopTimer(double &Milliseconds);
  bool synchronize();

private:
  CudaMemory() = default;
  bool load(std::string &Error);
  bool start(int Ordinal, std::string &Error);

  struct Functions;
  std::unique_ptr<Functions> Driver;
  void *Stream = nullptr;
  void *Events[2] = {nullptr, nullptr};
  int Device = 0;
  bool HasContext = false;
  std::vector<uint64_t> Blocks;
};

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_CUDAMEMORY_H
