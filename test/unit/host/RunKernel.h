//===- RunKernel.h - Compiles a kernel and runs it in a test ----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TEST_UNIT_HOST_RUNKERNEL_H
#define KPC_TEST_UNIT_HOST_RUNKERNEL_H

#include "codegen/host/HostCodegen.h"
#include "codegen/host/HostImage.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace kpc::testing {

/// A 64-byte aligned buffer with guard bytes behind it.
template <typename T> class Buffer {
public:
  explicit Buffer(size_t Count) : Count(Count) {
    size_t Bytes = (Count * sizeof(T) + Guard + 63) / 64 * 64;
    Data.reset(static_cast<char *>(std::aligned_alloc(64, Bytes)));
    memset(Data.get(), 0x5A, Bytes);
  }
  T *data() { return reinterpret_cast<T *>(Data.get()); }
  const T *data() const { return reinterpret_cast<const T *>(Data.get()); }
  T &operator[](size_t I) { return data()[I]; }
  const T &operator[](size_t I) const { return data()[I]; }
  size_t size() const { return Count; }
  uint64_t word() const { return reinterpret_cast<uint64_t>(Data.get()); }
  bool guardIntact() const {
    for (size_t I = 0; I < Guard; ++I)
      if (Data.get()[Count * sizeof(T) + I] != 0x5A)
        return false;
    return true;
  }

private:
  static constexpr size_t Guard = 64;
  struct Free {
    void operator()(char *P) const { std::free(P); }
  };
  size_t Count;
  std::unique_ptr<char, Free> Data;
};

/// Values in [-1, 1) from a fixed seed.
inline Buffer<float> randomFloats(size_t Count, unsigned Seed) {
  Buffer<float> Result(Count);
  std::mt19937 Random(Seed);
  for (size_t I = 0; I < Count; ++I)
    Result[I] = float(Random() >> 8) / float(1 << 23) - 1.0f;
  return Result;
}

/// One compiled kernel.
class Kernel {
public:
  /// `native` unless the test names a level that this machine has.
  explicit Kernel(const std::string &Text, const char *Target = "native",
                  bool Print = getenv("KPC_TEST_PRINT") != nullptr) {
    auto Options = codegen::HostTargetOptions::fromName(Target);
    if (!Options) {
      ADD_FAILURE() << llvm::toString(Options.takeError());
      return;
    }
    std::string Loops, Assembly;
    codegen::HostListings Listings;
    if (Print) {
      Listings.Loops = &Loops;
      Listings.Assembly = &Assembly;
    }
    auto Compiled = codegen::buildAndCompileHostKernel(llvm::StringRef(Text),
                                                       *Options, Listings);
    if (Print)
      llvm::errs() << Loops << "\n" << Assembly << "\n";
    if (!Compiled) {
      ADD_FAILURE() << llvm::toString(Compiled.takeError()) << "\n" << Text;
      return;
    }
    Launch = Compiled->Launches.front();
    auto Linked = codegen::linkHostImage({Compiled->Object});
    if (!Linked) {
      ADD_FAILURE() << llvm::toString(Linked.takeError());
      return;
    }
    auto Mapped = codegen::HostImage::map(*Linked);
    if (!Mapped) {
      ADD_FAILURE() << llvm::toString(Mapped.takeError());
      return;
    }
    Image.emplace(std::move(*Mapped));
  }

  /// Runs `Work` units in `Pieces` calls, the last piece first: units must not
  /// depend on one another.
  void run(std::vector<uint64_t> Params, int64_t Work, int64_t Pieces = 1) {
    if (!Image)
      return;
    for (int64_t Piece = Pieces; Piece-- > 0;)
      llvm::cantFail(Image->call(Launch.Symbol, Params, Work * Piece / Pieces,
                                 Work * (Piece + 1) / Pieces));
  }

  bool ok() const { return Image.has_value(); }

  codegen::HostLaunch Launch;
  std::optional<codegen::HostImage> Image;
};

/// Root mean square of the difference over that of the reference.
template <typename A, typename R>
double relativeError(const A &Actual, const R &Reference) {
  double Difference = 0, Norm = 0;
  for (size_t I = 0; I < Reference.size(); ++I) {
    double D = double(Actual[I]) - double(Reference[I]);
    Difference += D * D;
    Norm += double(Reference[I]) * double(Reference[I]);
  }
  if (Norm == 0)
    return std::sqrt(Difference);
  return std::sqrt(Difference / Norm);
}

} // namespace kpc::testing

#endif // KPC_TEST_UNIT_HOST_RUNKERNEL_H
