//===- MathDevice.cpp - The math expansion on a GPU and on the host -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs the unary functions of functions.def on the first CUDA device and on
/// the host, and counts results whose bits differ (any two NaN agree). Where
/// none does, what math_accuracy says of the host is true of the device.
///
///   math_device kernels.ptx [--full]
///
/// --full takes all 2^32 numbers of f32; otherwise, and for f64, 2^24 numbers.
/// Exit 77 where there is no device.
///
//===----------------------------------------------------------------------===//

#include "test/math/Reference.h"

#include <atomic>
#include <cstdio>
#include <dlfcn.h>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using namespace kpc::mathtest;

static constexpr size_t Block = 4096, Chunk = size_t(1) << 24;

extern "C" {
#define MATH_UNARY(Name, Op, Reference, Bound32, Bound64)                      \
  void Name##_f32(const float *, float *);                                     \
  void Name##_f64(const double *, double *);
#include "test/math/functions.def"
}

namespace {

/// The few entries of the CUDA driver that this takes; see cuda.h for them.
struct Driver {
  int (*Init)(unsigned);
  int (*DeviceGet)(int *, int);
  int (*Retain)(void **, int);
  int (*SetCurrent)(void *);
  int (*LoadData)(void **, const void *);
  int (*GetFunction)(void **, void *, const char *);
  int (*Alloc)(uint64_t *, size_t);
  int (*CopyIn)(uint64_t, const void *, size_t);
  int (*CopyOut)(void *, uint64_t, size_t);
  int (*Launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned,
                unsigned, unsigned, void *, void **, void **);

  bool open() {
    void *Lib = dlopen("libcuda.so.1", RTLD_NOW);
    if (!Lib)
      return false;
    bool Found = true;
    auto Load = [&](auto &Fn, const char *Name) {
      Fn = reinterpret_cast<std::decay_t<decltype(Fn)>>(dlsym(Lib, Name));
      Found &= Fn != nullptr;
    };
    Load(Init, "cuInit");
    Load(DeviceGet, "cuDeviceGet");
    Load(Retain, "cuDevicePrimaryCtxRetain");
    Load(SetCurrent, "cuCtxSetCurrent");
    Load(LoadData, "cuModuleLoadData");
    Load(GetFunction, "cuModuleGetFunction");
    Load(Alloc, "cuMemAlloc_v2");
    Load(CopyIn, "cuMemcpyHtoD_v2");
    Load(CopyOut, "cuMemcpyDtoH_v2");
    Load(Launch, "cuLaunchKernel");
    int Device;
    void *Context;
    return Found && !Init(0) && !DeviceGet(&Device, 0) &&
           !Retain(&Context, Device) && !SetCurrent(Context);
  }
};

Driver Cuda;
void *Module;
uint64_t Input, Output;
bool Full = false, Failed = false;

template <typename Float>
uint64_t countDifferent(const std::vector<Float> &In,
                        const std::vector<Float> &Got,
                        void (*Host)(const Float *, Float *)) {
  std::atomic<size_t> Next = 0;
  std::atomic<uint64_t> Different = 0;
  auto Work = [&] {
    std::vector<Float> Want(Block);
    for (size_t B; (B = Next++) < Chunk / Block;) {
      Host(&In[B * Block], Want.data());
      uint64_t Here = 0;
      for (size_t I = 0; I != Block; ++I) {
        Float G = Got[B * Block + I], W = Want[I];
        Here += std::memcmp(&G, &W, sizeof(Float)) &&
                !(std::isnan(G) && std::isnan(W));
      }
      Different += Here;
    }
  };
  std::vector<std::thread> Threads;
  for (unsigned I = 0; I != std::max(1u, std::thread::hardware_concurrency());
       ++I)
    Threads.emplace_back(Work);
  for (std::thread &T : Threads)
    T.join();
  return Different;
}

template <typename Float>
void compare(const char *Name, void (*Host)(const Float *, Float *)) {
  constexpr bool Single = sizeof(Float) == 4;
  void *Function;
  if (Cuda.GetFunction(&Function, Module, Name)) {
    printf("%-14s not in the module\n", Name);
    Failed = true;
    return;
  }
  std::vector<Float> In(Chunk), Got(Chunk);
  Bits Random(1);
  uint64_t Different = 0, Chunks = Full && Single ? 256 : 1;
  for (uint64_t C = 0; C != Chunks; ++C) {
    for (size_t I = 0; I != Chunk; ++I)
      if constexpr (Single)
        In[I] = bitCast<float>(uint32_t(Full ? C * Chunk + I : I * 256 + 77));
      else
        In[I] =
            std::ldexp(bitCast<double>((Random.next() >> 12) | 0x3FFull << 52),
                       int(Random.next() % 64) - 40) *
            (Random.next() % 2 ? 1 : -1);
    void *Args[] = {&Input, &Output};
    int Code = Cuda.CopyIn(Input, In.data(), Chunk * sizeof(Float));
    Code |= Cuda.Launch(Function, Chunk / 256, 1, 1, 256, 1, 1, 0, nullptr,
                        Args, nullptr);
    Code |= Cuda.CopyOut(Got.data(), Output, Chunk * sizeof(Float));
    if (Code) {
      printf("%-14s CUDA error %d\n", Name, Code);
      Failed = true;
      return;
    }
    Different += countDifferent(In, Got, Host);
  }
  Failed |= Different != 0;
  printf("%-14s %llu of %llu differ\n", Name, (unsigned long long)Different,
         (unsigned long long)(Chunks * Chunk));
  fflush(stdout);
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "math_device kernels.ptx [--full]\n");
    return 2;
  }
  Full = argc > 2 && std::string(argv[2]) == "--full";
  if (!Cuda.open()) {
    printf("SKIPPED: no CUDA device\n");
    return 77;
  }
  std::stringstream Text;
  Text << std::ifstream(argv[1]).rdbuf();
  std::string Ptx = Text.str();
  if (int Code = Cuda.LoadData(&Module, Ptx.c_str())) {
    printf("the module does not load: CUDA error %d\n", Code);
    return 1;
  }
  if (Cuda.Alloc(&Input, Chunk * 8) || Cuda.Alloc(&Output, Chunk * 8))
    return 1;
#define MATH_UNARY(Name, Op, Reference, Bound32, Bound64)                      \
  compare<float>(#Name "_f32", Name##_f32);                                    \
  compare<double>(#Name "_f64", Name##_f64);
#include "test/math/functions.def"
  return Failed;
}
