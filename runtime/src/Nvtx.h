//===- Nvtx.h - Ranges that NVIDIA's profilers show -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// NVTX without its headers and without a library of its own. A profiler that
/// wants to hear of ranges names its library in the environment variable
/// NVTX_INJECTION64_PATH (Nsight Systems and Nsight Compute do). That library
/// is opened, and asks for a table of slots, which it fills with its functions.
/// Without a profiler there is nothing to tell.
///
///   NvtxRange Whole(Tool, "run"); // until the end of the block
///
/// Ranges stand in the domain "kpc", so that they can be told from others'.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_NVTX_H
#define KPC_RUNTIME_SRC_NVTX_H

namespace kpc::rt {

/// A profiler that listens to this process.
class Nvtx {
public:
  /// Null if there is none. A profiler attaches once to a process, so this is
  /// the one thing that sessions share.
  static const Nvtx *attached();

  void push(const char *Name) const;
  void pop() const;

private:
  Nvtx() = default;
  bool attach();

  void *Domain = nullptr;
  int (*Push)(void *Domain, const void *Attributes) = nullptr;
  int (*Pop)(void *Domain) = nullptr;
};

/// From here to the end of the block; nothing for a null `Tool`.
class NvtxRange {
public:
  NvtxRange(const Nvtx *Tool, const char *Name) : Tool(Tool) {
    if (Tool)
      Tool->push(Name);
  }
  NvtxRange(const NvtxRange &) = delete;
  NvtxRange &operator=(const NvtxRange &) = delete;
  ~NvtxRange() {
    if (Tool)
      Tool->pop();
  }

private:
  const Nvtx *Tool;
};

} // namespace kpc::rt

#endif // KPC_RUNTIME_SRC_NVTX_H
