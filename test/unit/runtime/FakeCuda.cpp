//===- FakeCuda.cpp - A CUDA driver for tests, without a GPU --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A library with the driver's entry points. Device memory is host memory,
// kernels are functions (FakeKernels.h), streams do their work at once, graphs
// are in FakeCudaGraph.cpp. Any call can be made to fail, and whatever is not
// released is counted.

#include "test/unit/runtime/FakeCudaState.h"
#include "test/unit/runtime/FakeKernels.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

using namespace kpc::rt::cuda;
using namespace kpc::rt::cuda::fake;
using namespace kpc::test;

namespace kpc::rt::cuda::fake {

FakeState &state() {
  static FakeState S;
  return S;
}

void count(const char *Name, long Times) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  state().Counts[Name] += Times;
}

Outcome enter(const char *Name, long Born) {
  FakeState &S = state();
  std::lock_guard<std::mutex> Guard(S.Lock);
  ++S.Counts[Name];
  bool Fails = ++S.Calls == S.FailAt;
  if (S.FailName == Name) {
    Fails = true;
    S.FailName.clear();
  }
  Outcome Answer = Fails ? S.FailWith : Success;
  if (Born < 0 || Answer == Success) // releasing works, whatever it answers
    S.Live += Born;
  return Answer;
}

} // namespace kpc::rt::cuda::fake

namespace {

struct FakeEvent {
  std::chrono::steady_clock::time_point At;
};

Outcome Init(unsigned) { return enter("Init"); }
Outcome DriverGetVersion(int *Out) {
  ENTER(DriverGetVersion);
  *Out = state().Version;
  return Success;
}
Outcome GetErrorName(Outcome Code, const char **Out) {
  *Out = Code == OutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE";
  return Success;
}
Outcome GetErrorString(Outcome, const char **Out) {
  *Out = "a failure that the test asked for";
  return Success;
}
Outcome DeviceGetCount(int *Out) {
  ENTER(DeviceGetCount);
  *Out = state().Devices;
  return Success;
}
Outcome DeviceGet(DeviceNumber *Out, int Ordinal) {
  ENTER(DeviceGet);
  *Out = Ordinal;
  return Success;
}
Outcome DeviceGetName(char *Out, int Size, DeviceNumber) {
  ENTER(DeviceGetName);
  std::strncpy(Out, "Fake GPU", size_t(Size));
  return Success;
}
Outcome DeviceGetAttribute(int *Out, int Which, DeviceNumber) {
  ENTER(DeviceGetAttribute);
  *Out = Which == AttributeMajor             ? state().Major
         : Which == AttributeMultiprocessors ? state().Multiprocessors
                                             : state().Minor;
  return Success;
}
Outcome DevicePrimaryCtxRetain(Context *Out, DeviceNumber) {
  ENTER(DevicePrimaryCtxRetain, 1);
  *Out = reinterpret_cast<Context>(&state());
  return Success;
}
Outcome DevicePrimaryCtxRelease(DeviceNumber) {
  return enter("DevicePrimaryCtxRelease", -1);
}
Outcome CtxPushCurrent(Context) { return enter("CtxPushCurrent"); }
Outcome CtxPopCurrent(Context *) { return enter("CtxPopCurrent"); }

Outcome ModuleLoadDataEx(Module *Out, const void *Image, unsigned Count,
                         int *Options, void **Values) {
  ENTER(ModuleLoadDataEx);
  const char *Text = static_cast<const char *>(Image);
  bool IsOwn = std::strstr(Text, "cudaGraphSetConditional") != nullptr;
  if (std::strncmp(Text, "FAKE", 4) != 0 && !IsOwn) {
    for (unsigned I = 0; I < Count; ++I)
      if (Options[I] == JitErrorLog)
        std::strcpy(static_cast<char *>(Values[I]), "line 1: not for a fake");
    return InvalidPtx;
  }
  std::lock_guard<std::mutex> Guard(state().Lock);
  ++state().Live;
  if (!IsOwn)
    state().LastImage = Text;
  *Out = reinterpret_cast<Module>(new std::string(Text));
  return Success;
}
Outcome ModuleUnload(Module M) {
  Outcome Answer = enter("ModuleUnload", -1);
  delete reinterpret_cast<std::string *>(M);
  return Answer;
}
Outcome ModuleGetFunction(Function *Out, Module, const char *Name) {
  ENTER(ModuleGetFunction);
  for (const Kernel &K : Kernels)
    if (std::strcmp(K.Name, Name) == 0) {
      *Out = reinterpret_cast<Function>(const_cast<Kernel *>(&K));
      return Success;
    }
  return NotFound;
}
Outcome FuncSetAttribute(Function, int Which, int Value) {
  ENTER(FuncSetAttribute);
  if (Which == FunctionMaxDynamicShared)
    state().Shared = Value;
  return Success;
}
Outcome MemAlloc(Pointer *Out, size_t Size) {
  if (Size > size_t(1) << 32)
    return OutOfMemory;
  ENTER(MemAlloc, 1);
  *Out = reinterpret_cast<Pointer>(
      std::aligned_alloc(256, (Size + 255) / 256 * 256));
  return Success;
}
Outcome MemFree(Pointer P) {
  Outcome Answer = enter("MemFree", -1);
  std::free(reinterpret_cast<void *>(P));
  return Answer;
}
Outcome MemcpyHtoD(Pointer To, const void *From, size_t Size) {
  ENTER(MemcpyHtoD);
  std::memcpy(reinterpret_cast<void *>(To), From, Size);
  return Success;
}
Outcome MemcpyAsync(Pointer To, Pointer From, size_t Size, Stream) {
  ENTER(MemcpyAsync);
  std::memcpy(reinterpret_cast<void *>(To), reinterpret_cast<void *>(From),
              Size);
  return Success;
}
template <class T> Outcome fill(Pointer To, T Value, size_t Count) {
  ENTER(Memset);
  std::fill_n(reinterpret_cast<T *>(To), Count, Value);
  return Success;
}
Outcome MemsetD8Async(Pointer To, unsigned char V, size_t N, Stream) {
  return fill(To, V, N);
}
Outcome MemsetD16Async(Pointer To, unsigned short V, size_t N, Stream) {
  return fill(To, V, N);
}
Outcome MemsetD32Async(Pointer To, unsigned V, size_t N, Stream) {
  return fill(To, V, N);
}
Outcome StreamCreate(Stream *Out, unsigned) {
  ENTER(StreamCreate, 1);
  *Out = reinterpret_cast<Stream>(new int);
  return Success;
}
Outcome StreamDestroy(Stream S) {
  Outcome Answer = enter("StreamDestroy", -1);
  delete reinterpret_cast<int *>(S);
  return Answer;
}
Outcome StreamSynchronize(Stream) { return enter("StreamSynchronize"); }
Outcome StreamWaitEvent(Stream, Event, unsigned) {
  return enter("StreamWaitEvent");
}
Outcome EventCreate(Event *Out, unsigned) {
  ENTER(EventCreate, 1);
  *Out = reinterpret_cast<Event>(new FakeEvent);
  return Success;
}
Outcome EventDestroy(Event E) {
  Outcome Answer = enter("EventDestroy", -1);
  delete reinterpret_cast<FakeEvent *>(E);
  return Answer;
}
Outcome EventRecord(Event E, Stream) {
  ENTER(EventRecord);
  reinterpret_cast<FakeEvent *>(E)->At = std::chrono::steady_clock::now();
  return Success;
}
Outcome EventSynchronize(Event) { return enter("EventSynchronize"); }
Outcome EventElapsedTime(float *Out, Event A, Event B) {
  ENTER(EventElapsedTime);
  *Out = std::chrono::duration<float, std::milli>(
             reinterpret_cast<FakeEvent *>(B)->At -
             reinterpret_cast<FakeEvent *>(A)->At)
             .count();
  return Success;
}

Outcome keep(bool Encoded, const FakeTensorMap &Map) {
  if (!Encoded)
    return InvalidValue;
  std::lock_guard<std::mutex> Guard(state().Lock);
  state().Encoded.push_back(Map);
  return Success;
}

Outcome TensorMapEncodeTiled(void *To, int DataType, uint32_t Rank,
                             void *Address, const uint64_t *Dims,
                             const uint64_t *Strides, const uint32_t *Box,
                             const uint32_t *Traversal, int Interleave,
                             int Swizzle, int Promotion, int Fill) {
  ENTER(TensorMapEncodeTiled);
  FakeTensorMap Map{};
  return keep(setBox(Map, Rank, Box) &&
                  encode(Map, To,
                         {DataType, Rank, uint64_t(Address), Dims, Strides,
                          Traversal, Interleave, Swizzle, Promotion, Fill}),
              Map);
}

Outcome TensorMapEncodeIm2col(void *To, int DataType, uint32_t Rank,
                              void *Address, const uint64_t *Dims,
                              const uint64_t *Strides, const int *Lower,
                              const int *Upper, uint32_t Channels,
                              uint32_t Pixels, const uint32_t *Traversal,
                              int Interleave, int Swizzle, int Promotion,
                              int Fill) {
  ENTER(TensorMapEncodeIm2col);
  FakeTensorMap Map{};
  return keep(setPixels(Map, Rank, Lower, Upper, Channels, Pixels) &&
                  encode(Map, To,
                         {DataType, Rank, uint64_t(Address), Dims, Strides,
                          Traversal, Interleave, Swizzle, Promotion, Fill}),
              Map);
}

Outcome LaunchKernel(Function F, unsigned, unsigned, unsigned, unsigned,
                     unsigned, unsigned, unsigned, Stream, void **Params,
                     void **) {
  ENTER(LaunchKernel);
  if (state().Inert)
    return Success;
  reinterpret_cast<const Kernel *>(F)->Body(Params);
  return Success;
}

Outcome LaunchCooperativeKernel(Function F, unsigned X, unsigned Y, unsigned Z,
                                unsigned BlockX, unsigned BlockY,
                                unsigned BlockZ, unsigned Shared, Stream S,
                                void **Params) {
  return LaunchKernel(F, X, Y, Z, BlockX, BlockY, BlockZ, Shared, S, Params,
                      nullptr);
}

Outcome GraphKernelNodeSetAttribute(GraphNode, int, const NodeAttribute *) {
  return Success;
}

} // namespace

extern "C" {

int cuGetProcAddress_v2(const char *Name, void **Out, int Version, uint64_t,
                        int *) {
#define KPC_FIND(Entry, ...)                                                   \
  if (std::strcmp(Name, "cu" #Entry) == 0) {                                   \
    DriverTable::Entry##Function Found = Entry;                                \
    *Out = reinterpret_cast<void *>(Found);                                    \
    return Success;                                                            \
  }
  KPC_CUDA_FUNCTIONS(KPC_FIND)
#undef KPC_FIND
#define KPC_FIND(Entry, Since, ...)                                            \
  if (std::strcmp(Name, "cu" #Entry) == 0 && Version >= Since &&               \
      state().Version >= Since) {                                              \
    DriverTable::Entry##Function Found = Entry;                                \
    *Out = reinterpret_cast<void *>(Found);                                    \
    return Success;                                                            \
  }
  KPC_CUDA_OPTIONAL_FUNCTIONS(KPC_FIND)
#undef KPC_FIND
  return NotFound;
}

unsigned kpc_driver_images(void) { return state().Images; }

// What tests set and ask.
void fake_reset(void) {
  FakeState &S = state();
  S.Calls = 0;
  S.FailAt = -1;
  S.Version = 12040;
  S.Major = 9;
  S.Minor = 0;
  S.Devices = 1;
  S.Images = TakesCubin | TakesPtx;
  S.Counts.clear();
  S.LastImage.clear();
  S.Multiprocessors = 132;
  S.Shared = 0;
  S.Inert = false;
  S.FailName.clear();
  S.Encoded.clear();
}
void fake_fail(long Call, int Code) {
  state().Calls = 0;
  state().FailAt = Call;
  state().FailWith = Code;
}
void fake_fail_named(const char *Name, int Code) {
  state().FailName = Name;
  state().FailWith = Code;
}
void fake_inert(void) { state().Inert = true; }
long fake_calls(void) { return state().Calls; }
long fake_live(void) { return state().Live; }
long fake_count(const char *Name) { return state().Counts[Name]; }
void fake_device(int Major, int Minor, unsigned Images, int Version) {
  state().Major = Major;
  state().Minor = Minor;
  state().Images = Images;
  state().Version = Version;
}
void fake_seed(unsigned Seed) { state().Seed = Seed; }
void fake_multiprocessors(int Count) { state().Multiprocessors = Count; }
int fake_shared(void) { return state().Shared; }
const FakeTensorMap *fake_encoded(size_t *Count) {
  *Count = state().Encoded.size();
  return state().Encoded.data();
}
const char *fake_last_image(void) { return state().LastImage.c_str(); }

} // extern "C"
