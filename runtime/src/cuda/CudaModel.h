//===- CudaModel.h - What a device keeps of a model -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Context, loaded code and weights: made once for each model and device,
/// shared by its sessions.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_CUDA_CUDAMODEL_H
#define KPC_RUNTIME_SRC_CUDA_CUDAMODEL_H

#include "runtime/src/Log.h"
#include "runtime/src/Memory.h"
#include "runtime/src/Model.h"
#include "runtime/src/cuda/ConditionKernels.h"
#include "runtime/src/cuda/Driver.h"

namespace kpc::rt::cuda {

/// A device's primary context, retained.
class DeviceContext {
public:
  static Result<std::shared_ptr<DeviceContext>>
  open(std::shared_ptr<const Driver> D, int Ordinal);
  DeviceContext() = default;
  DeviceContext(const DeviceContext &) = delete;
  DeviceContext &operator=(const DeviceContext &) = delete;
  ~DeviceContext();

  const Driver &driver() const { return *TheDriver; }
  Context handle() const { return Handle; }
  int ordinal() const { return Ordinal; }
  int major() const { return Major; }
  int minor() const { return Minor; }
  int multiprocessors() const { return Multiprocessors; }
  const std::string &name() const { return Name; }

private:
  std::shared_ptr<const Driver> TheDriver;
  DeviceNumber Device = 0;
  Context Handle = nullptr;
  int Ordinal = 0, Major = 0, Minor = 0, Multiprocessors = 0;
  std::string Name;
};

/// Makes a context current while it lives.
class Current {
public:
  explicit Current(const DeviceContext &C) : C(C) {
    Pushed = C.driver()->CtxPushCurrent(C.handle()) == Success;
  }
  Current(const Current &) = delete;
  Current &operator=(const Current &) = delete;
  ~Current() {
    Context Ignored;
    if (Pushed)
      (void)C.driver()->CtxPopCurrent(&Ignored);
  }
  Status status() const {
    return Pushed ? success()
                  : Status(failure(ErrorCode::Driver,
                                   "cannot make the CUDA context current"));
  }

private:
  const DeviceContext &C;
  bool Pushed;
};

/// Device memory: the caller's allocator, or cuMemAlloc.
std::shared_ptr<Memory> deviceMemory(std::shared_ptr<DeviceContext> C,
                                     const kpc_allocator &Allocator);

/// Which image of a module a device loads.
enum class Image { None, Cubin, Ptx };
/// The one table of choice: the device's capability and the images it takes,
/// against the target's rule and what the module holds.
Image chooseImage(const format::Target &T, const format::Module &M, int Major,
                  int Minor, unsigned Images);

class CudaModel : public DeviceModel {
public:
  /// The best target for the device, with its code and weights on it.
  static Result<std::shared_ptr<DeviceModel>>
  load(const Model &M, const format::Target &T,
       std::shared_ptr<DeviceContext> C);
  ~CudaModel() override;

  const std::shared_ptr<DeviceContext> &context() const { return TheContext; }
  Function function(uint32_t Kernel) const { return Functions[Kernel]; }
  Function function(OwnKernel Which) const { return Own[unsigned(Which)]; }
  Pointer weight(uint32_t Index) const { return Weights[Index]; }
  uint64_t weightBytes() const { return WeightBytes; }
  /// Whether graphs may have conditional nodes here. An error where the device
  /// is lost or full.
  Result<bool> takesConditions(const Log &TheLog);
  /// From now on they may not: the driver refused one.
  void refuseConditions(const Log &TheLog, const std::string &Why);
  /// Lets a kernel use this much dynamic shared memory.
  Status allowShared(uint32_t Kernel, uint32_t Bytes);

private:
  Status loadModules(const Model &M, const format::Target &T);
  Status loadModule(const Model &M, const format::Target &T,
                    const format::Module &Table, const std::string &Kernels);
  Status uploadWeights(const Model &M, const format::Target &T);

  std::shared_ptr<DeviceContext> TheContext;
  std::vector<Module> Modules;
  std::vector<Function> Functions;
  std::vector<Pointer> Weights; ///< 0: this target does not use it
  Block WeightBlock;
  uint64_t WeightBytes = 0;
  enum class Conditions : uint8_t { Unknown, Taken, Refused };
  Conditions TakesConditions = Conditions::Unknown;
  Function Own[2] = {};  ///< by OwnKernel
  std::mutex SharedLock; ///< of what follows and the two before
  std::vector<uint32_t> SharedAllowed;
};

/// The target of a model that fits a device best.
Result<const format::Target *> chooseTarget(const rt::Model &M,
                                            const DeviceContext &C,
                                            const std::string &Name);

} // namespace kpc::rt::cuda

#endif // KPC_RUNTIME_SRC_CUDA_CUDAMODEL_H
