//===- FakeCuda.h - Controls of the fake CUDA driver ------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The functions of FakeCuda.cpp that tests call, found in the library that the
/// runtime opens as well.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TEST_UNIT_RUNTIME_FAKECUDA_H
#define KPC_TEST_UNIT_RUNTIME_FAKECUDA_H

#include "test/unit/runtime/FakeTensorMap.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <vector>

namespace kpc::test {

inline constexpr int OutOfDeviceMemory = 2;

class FakeCuda {
public:
  FakeCuda() : Library(dlopen(KPC_FAKE_CUDA, RTLD_NOW)) {
    EXPECT_NE(Library, nullptr) << dlerror();
  }
  FakeCuda(const FakeCuda &) = delete;
  FakeCuda &operator=(const FakeCuda &) = delete;
  ~FakeCuda() { dlclose(Library); }

  void reset() { call<void()>("fake_reset")(); }
  /// Makes the n-th call from now answer `Code`.
  void fail(long Call, int Code) {
    call<void(long, int)>("fake_fail")(Call, Code);
  }
  /// Makes the next call of a function ("MemAlloc") answer `Code`.
  void fail(const char *Name, int Code) {
    call<void(const char *, int)>("fake_fail_named")(Name, Code);
  }
  /// Kernels do nothing from now on, and their parameters are not looked at.
  void makeInert() { call<void()>("fake_inert")(); }
  long calls() { return call<long()>("fake_calls")(); }
  /// Contexts, memory, modules, streams, events, graphs not yet released.
  long live() { return call<long()>("fake_live")(); }
  long count(const char *Name) {
    return call<long(const char *)>("fake_count")(Name);
  }
  void device(int Major, int Minor, unsigned Images, int Version) {
    call<void(int, int, unsigned, int)>("fake_device")(Major, Minor, Images,
                                                       Version);
  }
  void seed(unsigned Seed) { call<void(unsigned)>("fake_seed")(Seed); }
  void multiprocessors(int Count) {
    call<void(int)>("fake_multiprocessors")(Count);
  }
  /// The dynamic shared memory that a kernel was allowed last.
  int shared() { return call<int()>("fake_shared")(); }
  /// The tensor maps encoded since the last reset, in order.
  std::vector<FakeTensorMap> encoded() {
    size_t Count = 0;
    const auto *First =
        call<const FakeTensorMap *(size_t *)>("fake_encoded")(&Count);
    return {First, First + Count};
  }
  const char *lastImage() { return call<const char *()>("fake_last_image")(); }

private:
  template <class Type> Type *call(const char *Name) {
    return reinterpret_cast<Type *>(dlsym(Library, Name));
  }
  void *Library;
};

} // namespace kpc::test

#endif // KPC_TEST_UNIT_RUNTIME_FAKECUDA_H
