//===- Driver.h - The CUDA driver as one table of functions -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The driver's library is opened at run time (libcuda.so.1, or one with the
/// same entry points, such as an emulator or a test's fake), and every function
/// is asked of cuGetProcAddress. The declarations are the runtime's own, of the
/// driver API as of CUDA 11.4, so that no CUDA header is needed and one binary
/// serves machines with and without a GPU. Newer functions are optional: null
/// where the driver lacks them.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_CUDA_DRIVER_H
#define KPC_RUNTIME_SRC_CUDA_DRIVER_H

#include "runtime/src/Errors.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace kpc::rt::cuda {

/// The version of the driver API that the declarations below are of.
inline constexpr int ApiVersion = 11040;

using Outcome = int; ///< CUresult
using DeviceNumber = int;
using Context = struct ContextTag *;
using Module = struct ModuleTag *;
using Function = struct FunctionTag *;
using Stream = struct StreamTag *;
using Event = struct EventTag *;
using Graph = struct GraphTag *;
using GraphNode = struct GraphNodeTag *;
using GraphExec = struct GraphExecTag *;
using Pointer = uint64_t;   ///< CUdeviceptr
using Condition = uint64_t; ///< CUgraphConditionalHandle

// Values of CUresult that are treated specially.
inline constexpr Outcome Success = 0, InvalidValue = 1, OutOfMemory = 2,
                         Deinitialized = 4, NoDevice = 100, InvalidDevice = 101,
                         InvalidImage = 200, NoBinaryForGpu = 209,
                         InvalidPtx = 218, UnsupportedPtxVersion = 222,
                         NotFound = 500;

// Values of enumerations.
inline constexpr int AttributeMajor = 75, AttributeMinor = 76,
                     AttributeMultiprocessors = 16;
inline constexpr int FunctionMaxDynamicShared = 8;
inline constexpr int JitErrorLog = 5, JitErrorLogSize = 6;
inline constexpr unsigned StreamNonBlocking = 1, EventDefault = 0,
                          EventDisableTiming = 2;
inline constexpr unsigned MemoryTypeDevice = 2;

struct KernelNodeParams { // CUDA_KERNEL_NODE_PARAMS_v1
  Function Kernel;
  unsigned GridX, GridY, GridZ, BlockX, BlockY, BlockZ, SharedBytes;
  void **Params;
  void **Extra;
};

struct MemsetNodeParams { // CUDA_MEMSET_NODE_PARAMS_v1
  Pointer To;
  size_t Pitch;
  unsigned Value, ElementSize;
  size_t Width, Height;
};

struct Copy3D { // CUDA_MEMCPY3D_v2
  size_t FromX, FromY, FromZ, FromLod;
  unsigned FromType;
  const void *FromHost;
  Pointer From;
  void *FromArray, *Reserved0;
  size_t FromPitch, FromHeight;
  size_t ToX, ToY, ToZ, ToLod;
  unsigned ToType;
  void *ToHost;
  Pointer To;
  void *ToArray, *Reserved1;
  size_t ToPitch, ToHeight;
  size_t Width, Height, Depth;
};

// Each function that is used: its name after "cu", and its type.
#define KPC_CUDA_FUNCTIONS(X)                                                  \
  X(Init, Outcome (*)(unsigned))                                               \
  X(DriverGetVersion, Outcome (*)(int *))                                      \
  X(GetErrorName, Outcome (*)(Outcome, const char **))                         \
  X(GetErrorString, Outcome (*)(Outcome, const char **))                       \
  X(DeviceGetCount, Outcome (*)(int *))                                        \
  X(DeviceGet, Outcome (*)(DeviceNumber *, int))                               \
  X(DeviceGetName, Outcome (*)(char *, int, DeviceNumber))                     \
  X(DeviceGetAttribute, Outcome (*)(int *, int, DeviceNumber))                 \
  X(DevicePrimaryCtxRetain, Outcome (*)(Context *, DeviceNumber))              \
  X(DevicePrimaryCtxRelease, Outcome (*)(DeviceNumber))                        \
  X(CtxPushCurrent, Outcome (*)(Context))                                      \
  X(CtxPopCurrent, Outcome (*)(Context *))                                     \
  X(ModuleLoadDataEx,                                                          \
    Outcome (*)(Module *, const void *, unsigned, int *, void **))             \
  X(ModuleUnload, Outcome (*)(Module))                                         \
  X(ModuleGetFunction, Outcome (*)(Function *, Module, const char *))          \
  X(FuncSetAttribute, Outcome (*)(Function, int, int))                         \
  X(MemAlloc, Outcome (*)(Pointer *, size_t))                                  \
  X(MemFree, Outcome (*)(Pointer))                                             \
  X(MemcpyHtoD, Outcome (*)(Pointer, const void *, size_t))                    \
  X(MemcpyAsync, Outcome (*)(Pointer, Pointer, size_t, Stream))                \
  X(MemsetD8Async, Outcome (*)(Pointer, unsigned char, size_t, Stream))        \
  X(MemsetD16Async, Outcome (*)(Pointer, unsigned short, size_t, Stream))      \
  X(MemsetD32Async, Outcome (*)(Pointer, unsigned, size_t, Stream))            \
  X(StreamCreate, Outcome (*)(Stream *, unsigned))                             \
  X(StreamDestroy, Outcome (*)(Stream))                                        \
  X(StreamSynchronize, Outcome (*)(Stream))                                    \
  X(StreamWaitEvent, Outcome (*)(Stream, Event, unsigned))                     \
  X(EventCreate, Outcome (*)(Event *, unsigned))                               \
  X(EventDestroy, Outcome (*)(Event))                                          \
  X(EventRecord, Outcome (*)(Event, Stream))                                   \
  X(EventSynchronize, Outcome (*)(Event))                                      \
  X(EventElapsedTime, Outcome (*)(float *, Event, Event))                      \
  X(LaunchKernel,                                                              \
    Outcome (*)(Function, unsigned, unsigned, unsigned, unsigned, unsigned,    \
                unsigned, unsigned, Stream, void **, void **))                 \
  X(GraphCreate, Outcome (*)(Graph *, unsigned))                               \
  X(GraphDestroy, Outcome (*)(Graph))                                          \
  X(GraphAddKernelNode, Outcome (*)(GraphNode *, Graph, const GraphNode *,     \
                                    size_t, const KernelNodeParams *))         \
  X(GraphAddMemcpyNode, Outcome (*)(GraphNode *, Graph, const GraphNode *,     \
                                    size_t, const Copy3D *, Context))          \
  X(GraphAddMemsetNode,                                                        \
    Outcome (*)(GraphNode *, Graph, const GraphNode *, size_t,                 \
                const MemsetNodeParams *, Context))                            \
  X(GraphInstantiateWithFlags,                                                 \
    Outcome (*)(GraphExec *, Graph, unsigned long long))                       \
  X(GraphExecDestroy, Outcome (*)(GraphExec))                                  \
  X(GraphExecKernelNodeSetParams,                                              \
    Outcome (*)(GraphExec, GraphNode, const KernelNodeParams *))               \
  X(GraphExecMemcpyNodeSetParams,                                              \
    Outcome (*)(GraphExec, GraphNode, const Copy3D *, Context))                \
  X(GraphExecMemsetNodeSetParams,                                              \
    Outcome (*)(GraphExec, GraphNode, const MemsetNodeParams *, Context))      \
  X(GraphLaunch, Outcome (*)(GraphExec, Stream))

/// Of an edge: by default the later node waits for all of the earlier one. The
/// programmatic port lets it begin when each block of the earlier kernel has
/// allowed it or has ended.
struct GraphEdge { // CUgraphEdgeData
  unsigned char FromPort = 0, ToPort = 0, Type = 0, Reserved[5] = {};
};
inline constexpr unsigned char PortProgrammatic = 1, EdgeProgrammatic = 1;

/// CUlaunchAttributeValue: 64 bytes, of which a switch is the first four.
struct NodeAttribute {
  int Switch = 0;
  char Rest[60] = {};
};
/// CU_LAUNCH_ATTRIBUTE_COOPERATIVE: all blocks of the grid run at once.
inline constexpr int CooperativeAttribute = 2;

/// CUgraphNodeParams of a conditional node: a union of 29 words with CUDA_-
/// CONDITIONAL_NODE_PARAMS in front.
struct ConditionalNodeParams {
  int Type = 13; ///< CU_GRAPH_NODE_TYPE_CONDITIONAL
  int Reserved0[3] = {};
  Condition Handle = 0;
  int Kind = 0; ///< 0 if, 1 while
  unsigned Size = 1;
  Graph *Bodies = nullptr; ///< made by the driver, which owns them
  Context On = nullptr;
  uint64_t Reserved1[25] = {}, Reserved2 = 0;
};
static_assert(sizeof(ConditionalNodeParams) == 256);

// Functions that not every driver has: the version of CUDA that brought them
// (in this form: an older driver's may be null or another) is between name and
// type. A tensor map is 128 bytes, aligned to 64.
#define KPC_CUDA_OPTIONAL_FUNCTIONS(X)                                         \
  X(GraphAddDependencies, 12030,                                               \
    Outcome (*)(Graph, const GraphNode *From, const GraphNode *To,             \
                const GraphEdge *, size_t))                                    \
  X(GraphAddNode, 12030,                                                       \
    Outcome (*)(GraphNode *, Graph, const GraphNode *, const GraphEdge *,      \
                size_t, ConditionalNodeParams *))                              \
  X(GraphConditionalHandleCreate, 12030,                                       \
    Outcome (*)(Condition *, Graph, Context, unsigned Default,                 \
                unsigned Flags))                                               \
  X(GraphKernelNodeSetAttribute, 11040,                                        \
    Outcome (*)(GraphNode, int Which, const NodeAttribute *))                  \
  X(LaunchCooperativeKernel, 11040,                                            \
    Outcome (*)(Function, unsigned, unsigned, unsigned, unsigned, unsigned,    \
                unsigned, unsigned, Stream, void **))                          \
  X(TensorMapEncodeTiled, 12000,                                               \
    Outcome (*)(void *Map, int DataType, uint32_t Rank, void *Address,         \
                const uint64_t *Dims, const uint64_t *Strides,                 \
                const uint32_t *Box, const uint32_t *Traversal,                \
                int Interleave, int Swizzle, int Promotion, int Fill))         \
  X(TensorMapEncodeIm2col, 12000,                                              \
    Outcome (*)(void *Map, int DataType, uint32_t Rank, void *Address,         \
                const uint64_t *Dims, const uint64_t *Strides,                 \
                const int *Lower, const int *Upper, uint32_t Channels,         \
                uint32_t Pixels, const uint32_t *Traversal, int Interleave,    \
                int Swizzle, int Promotion, int Fill))

struct DriverTable {
#define KPC_MEMBER(Name, ...)                                                  \
  using Name##Function = __VA_ARGS__;                                          \
  Name##Function Name = nullptr;
  KPC_CUDA_FUNCTIONS(KPC_MEMBER)
#undef KPC_MEMBER
#define KPC_MEMBER(Name, Since, ...)                                           \
  using Name##Function = __VA_ARGS__;                                          \
  Name##Function Name = nullptr;
  KPC_CUDA_OPTIONAL_FUNCTIONS(KPC_MEMBER)
#undef KPC_MEMBER
};

/// Kinds of code that a device takes.
enum ImageKinds : unsigned { TakesCubin = 1, TakesPtx = 2 };

/// A driver's library, open and initialised.
class Driver {
public:
  /// `Path` empty: $KPC_CUDA_DRIVER, else libcuda.so.1.
  static Result<std::shared_ptr<const Driver>> open(const std::string &Path);
  Driver() = default;
  Driver(const Driver &) = delete;
  Driver &operator=(const Driver &) = delete;
  ~Driver();

  const DriverTable *operator->() const { return &Table; }
  int version() const { return Version; }
  /// From the library's `unsigned kpc_driver_images(void)`, if it has one:
  /// bits of ImageKinds. NVIDIA's has none and takes both.
  unsigned images() const { return Images; }
  const std::string &path() const { return Path; }

  /// "CUDA_ERROR_X: description".
  std::string describe(Outcome Code) const;
  /// Success, or the error that `Doing` ("upload weights") ended in.
  Status check(Outcome Code, const char *Doing) const;

private:
  Status missing(const char *Why) const;
  Status lacks(const char *Function) const;

  DriverTable Table;
  std::string Path;
  void *Library = nullptr;
  int Version = 0;
  unsigned Images = TakesCubin | TakesPtx;
  bool IsByVariable = false; ///< or by default, not by an option
};

/// Whether a code means that the context, and every session on it, is of no use
/// any more.
bool isSticky(Outcome Code);

} // namespace kpc::rt::cuda

#endif // KPC_RUNTIME_SRC_CUDA_DRIVER_H
