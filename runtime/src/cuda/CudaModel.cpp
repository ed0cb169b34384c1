//===- CudaModel.cpp - What a device keeps of a model ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/cuda/CudaModel.h"
#include "runtime/src/Device.h"
#include "runtime/src/cuda/EncodeTensorMap.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace kpc::rt::cuda {

// Weights start at multiples of this on the device: TMA and the widest loads
// need no more.
static constexpr uint64_t WeightAlignment = 256;
// More dynamic shared memory than this must be allowed first.
static constexpr uint32_t DefaultShared = 48 * 1024;

Result<std::shared_ptr<DeviceContext>>
DeviceContext::open(std::shared_ptr<const Driver> D, int Ordinal) {
  auto Out = std::make_shared<DeviceContext>();
  const Driver &Table = *D;
  int Count = 0;
  if (Status S = Table.check(Table->DeviceGetCount(&Count), "count devices");
      !S)
    return S;
  if (Ordinal < 0 || Ordinal >= Count)
    return failure(ErrorCode::NoDevice,
                   "there is no CUDA device %d (the driver finds %d)", Ordinal,
                   Count);
  char Name[256] = {};
  for (auto [Code, Doing] :
       {std::pair{Table->DeviceGet(&Out->Device, Ordinal), "open the device"},
        {Table->DeviceGetName(Name, sizeof Name - 1, Out->Device),
         "ask the device's name"},
        {Table->DeviceGetAttribute(&Out->Major, AttributeMajor, Out->Device),
         "ask the device's capability"},
        {Table->DeviceGetAttribute(&Out->Minor, AttributeMinor, Out->Device),
         "ask the device's capability"},
        {Table->DeviceGetAttribute(&Out->Multiprocessors,
                                   AttributeMultiprocessors, Out->Device),
         "count the device's multiprocessors"}})
    if (Status S = Table.check(Code, Doing); !S)
      return S;
  Out->Name = Name;
  Out->Ordinal = Ordinal;
  Context Handle = nullptr;
  if (Status S =
          Table.check(Table->DevicePrimaryCtxRetain(&Handle, Out->Device),
                      "open the device's context");
      !S)
    return S;
  Out->Handle = Handle;
  Out->TheDriver = std::move(D);
  return Out;
}

DeviceContext::~DeviceContext() {
  if (Handle)
    (void)(*TheDriver)->DevicePrimaryCtxRelease(Device);
}

namespace {

class OwnDeviceMemory : public Memory {
public:
  explicit OwnDeviceMemory(std::shared_ptr<DeviceContext> C)
      : C(std::move(C)) {}
  void *allocate(uint64_t Bytes, uint64_t) override {
    Current Guard(*C);
    Pointer Out = 0;
    if (C->driver()->MemAlloc(&Out, Bytes) != Success)
      return nullptr;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's are numbers
    return reinterpret_cast<void *>(uintptr_t(Out));
  }
  void release(void *Block, uint64_t) override {
    Current Guard(*C);
    (void)C->driver()->MemFree(Pointer(uintptr_t(Block)));
  }
  kpc_device device() const override { return {KPC_DEVICE_CUDA, C->ordinal()}; }

private:
  std::shared_ptr<DeviceContext> C;
};

class CallersDeviceMemory : public Memory {
public:
  CallersDeviceMemory(std::shared_ptr<DeviceContext> C, const kpc_allocator &A)
      : C(std::move(C)), Allocator(A) {}
  void *allocate(uint64_t Bytes, uint64_t Alignment) override {
    Current Guard(*C);
    return Allocator.allocate(Allocator.user, Bytes, Alignment, device());
  }
  void release(void *Block, uint64_t Bytes) override {
    Current Guard(*C);
    Allocator.release(Allocator.user, Block, Bytes, device());
  }
  kpc_device device() const override { return {KPC_DEVICE_CUDA, C->ordinal()}; }

private:
  std::shared_ptr<DeviceContext> C;
  kpc_allocator Allocator;
};

} // namespace

std::shared_ptr<Memory> deviceMemory(std::shared_ptr<DeviceContext> C,
                                     const kpc_allocator &Allocator) {
  if (Allocator.allocate)
    return std::make_shared<CallersDeviceMemory>(std::move(C), Allocator);
  return std::make_shared<OwnDeviceMemory>(std::move(C));
}

Image chooseImage(const format::Target &T, const format::Module &M, int Major,
                  int Minor, unsigned Images) {
  int TheMajor = T.capability_major(), TheMinor = T.capability_minor();
  bool Same = Major == TheMajor && Minor == TheMinor;
  bool LaterMinor = Major == TheMajor && Minor >= TheMinor;
  bool Later = Major > TheMajor || LaterMinor;
  // Rule → does the cubin run here, does the PTX compile here.
  bool CubinFits = false, PtxFits = false;
  switch (T.capability_rule()) {
  case format::CapabilityRule::Exactly:
    CubinFits = PtxFits = Same;
    break;
  case format::CapabilityRule::SameMajor:
    CubinFits = PtxFits = LaterMinor;
    break;
  case format::CapabilityRule::AtLeast:
    CubinFits = LaterMinor;
    PtxFits = Later;
    break;
  }
  if (CubinFits && (Images & TakesCubin) && M.image() && M.image()->length())
    return Image::Cubin;
  if (PtxFits && (Images & TakesPtx) && M.ptx() && M.ptx()->length())
    return Image::Ptx;
  return Image::None;
}

// "a" code first, then code for the same major, then what fits everywhere;
// among equals the newest.
static int rankOf(const format::Target &T) {
  return (2 - int(T.capability_rule())) * 10000 + T.capability_major() * 100 +
         T.capability_minor();
}

Result<const format::Target *> chooseTarget(const rt::Model &M,
                                            const DeviceContext &C,
                                            const std::string &Name) {
  const format::Target *Best = nullptr, *NeedsDriver = nullptr;
  bool LacksPtx = false;
  for (const TargetInfo &Info : M.targets()) {
    const format::Target &T = *Info.Table;
    if (T.kind() != format::TargetKind::Cuda ||
        (!Name.empty() && T.name()->string_view() != Name))
      continue;
    bool Fits = true;
    for (const format::Module *Mod : format::each(T.modules()))
      Fits &= chooseImage(T, *Mod, C.major(), C.minor(), C.driver().images()) !=
              Image::None;
    if (!Fits) {
      for (const format::Module *Mod : format::each(T.modules()))
        LacksPtx |= chooseImage(T, *Mod, C.major(), C.minor(), TakesCubin) !=
                    Image::None;
      continue;
    }
    if (T.least_driver() > uint32_t(C.driver().version())) {
      if (!NeedsDriver || T.least_driver() < NeedsDriver->least_driver())
        NeedsDriver = &T;
    } else if (!Best || rankOf(T) > rankOf(*Best)) {
      Best = &T;
    }
  }
  if (Best)
    return Best;
  if (NeedsDriver) {
    Error E = failure(
        ErrorCode::DriverTooOld,
        "the artifact's code for this device (%s) needs a driver for CUDA "
        "%u.%u, the one installed supports %d.%d",
        format::printable(NeedsDriver->name()).c_str(),
        NeedsDriver->least_driver() / 1000,
        NeedsDriver->least_driver() % 1000 / 10, C.driver().version() / 1000,
        C.driver().version() % 1000 / 10);
    E.Hint = "update NVIDIA's driver";
    return E;
  }
  if (LacksPtx) {
    Error E = failure(ErrorCode::NoTarget,
                      "the artifact has machine code alone, and %s takes PTX",
                      C.name().c_str());
    E.Hint = "compile without --strip";
    return E;
  }
  Error E =
      failure(ErrorCode::NoTarget,
              "the artifact has no code for %s, of compute "
              "capability %d.%d; it holds %s",
              C.name().c_str(), C.major(), C.minor(), targetList(M).c_str());
  // From Hopper on kpc's targets are the chips' own instruction sets.
  E.Hint = formatted("compile with --arch sm_%d%d%s, or with --arch portable",
                     C.major(), C.minor(), C.major() >= 9 ? "a" : "");
  return E;
}

Result<std::shared_ptr<DeviceModel>>
CudaModel::load(const rt::Model &M, const format::Target &T,
                std::shared_ptr<DeviceContext> C) {
  auto Out = std::make_shared<CudaModel>();
  Out->TheContext = std::move(C);
  Current Guard(*Out->TheContext);
  if (Status S = Guard.status(); !S)
    return S;
  if (Status S = checkEncoders(Out->TheContext->driver(), T); !S)
    return S;
  if (Status S = Out->loadModules(M, T); !S)
    return S;
  if (Status S = Out->uploadWeights(M, T); !S)
    return S;
  return std::shared_ptr<DeviceModel>(std::move(Out));
}

CudaModel::~CudaModel() {
  if (!TheContext)
    return;
  Current Guard(*TheContext);
  for (Module M : Modules)
    (void)TheContext->driver()->ModuleUnload(M);
}

Status CudaModel::loadModule(const rt::Model &M, const format::Target &T,
                             const format::Module &Table,
                             const std::string &Kernels) {
  const Driver &D = TheContext->driver();
  bool IsPtx = chooseImage(T, Table, TheContext->major(), TheContext->minor(),
                           D.images()) == Image::Ptx;
  // A copy: PTX must end with a zero, and the driver may read ahead.
  const format::Range *Where = IsPtx ? Table.ptx() : Table.image();
  if (!Where)
    return failure(ErrorCode::Internal, "a module without code was chosen");
  std::span<const uint8_t> Code = M.code(*Where);
  std::vector<char> Text(Code.size() + 16);
  std::memcpy(Text.data(), Code.data(), Code.size());
  char Log[2048] = {};
  int Options[] = {JitErrorLog, JitErrorLogSize};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): as the driver wants it
  void *Values[] = {Log, reinterpret_cast<void *>(sizeof Log - 1)};
  Modules.reserve(Modules.size() + 1);
  Module Loaded = nullptr;
  Outcome Loading =
      D->ModuleLoadDataEx(&Loaded, Text.data(), IsPtx ? 2 : 0, Options, Values);
  if (Loading == Success) {
    Modules.push_back(Loaded);
    return success();
  }
  Status S = D.check(Loading, IsPtx ? "compile PTX for the device"
                                    : "load code on the device");
  S.error().Kernel = Kernels;
  if (*Log)
    S.error().Message += std::string("; the driver says: ") + Log;
  if (Loading == UnsupportedPtxVersion)
    S.error().Hint = "the PTX is newer than the driver: update NVIDIA's driver";
  return S;
}

Status CudaModel::loadModules(const rt::Model &M, const format::Target &T) {
  const Driver &D = TheContext->driver();
  uint32_t Index = 0;
  for (const format::Module *Table : format::each(T.modules())) {
    std::string Kernels;
    for (const format::Kernel *K : format::each(T.kernels()))
      if (K->module_() == Index && Kernels.size() < 200)
        Kernels += (Kernels.empty() ? "" : ", ") + displayName(*K);
    if (Status S = loadModule(M, T, *Table, Kernels); !S)
      return S;
    ++Index;
  }
  for (const format::Kernel *K : format::each(T.kernels())) {
    Function F = nullptr;
    Status S = D.check(
        D->ModuleGetFunction(&F, Modules[K->module_()], K->symbol()->c_str()),
        "find a kernel in its module");
    if (!S) {
      S.error().Kernel = displayName(*K);
      S.error().Node = sourceNodes(*K);
      return S;
    }
    Functions.push_back(F);
  }
  SharedAllowed.assign(Functions.size(), DefaultShared);
  return success();
}

Status CudaModel::uploadWeights(const rt::Model &M, const format::Target &T) {
  Weights.assign(format::count(M.table().weights()), 0);
  std::vector<uint32_t> Used;
  for (const format::Buffer *B : format::each(T.buffers()))
    if (B->kind() == format::BufferKind::Weight)
      Used.push_back(B->index());
  std::sort(Used.begin(), Used.end());
  Used.erase(std::unique(Used.begin(), Used.end()), Used.end());
  std::vector<uint64_t> Offsets;
  for (uint32_t Index : Used) {
    Offsets.push_back(WeightBytes);
    WeightBytes +=
        (M.weight(Index).size() + WeightAlignment - 1) & ~(WeightAlignment - 1);
  }
  if (WeightBytes == 0)
    return success();
  auto Made =
      Block::make(deviceMemory(TheContext, {}), WeightBytes, WeightAlignment);
  if (!Made) {
    Made.error().Message += " for the weights";
    return Made.takeError();
  }
  WeightBlock = std::move(*Made);
  const Driver &D = TheContext->driver();
  for (size_t I = 0; I < Used.size(); ++I) {
    std::span<const uint8_t> Bytes = M.weight(Used[I]);
    Pointer To = Pointer(uintptr_t(WeightBlock.data())) + Offsets[I];
    Weights[Used[I]] = To;
    if (!Bytes.empty())
      if (Status S = D.check(D->MemcpyHtoD(To, Bytes.data(), Bytes.size()),
                             "upload weights");
          !S)
        return S;
  }
  // A copy from pageable memory comes back when it is staged, and may still be
  // on its way in the null stream, for which sessions' streams do not wait
  // (CUDA Driver API, "API synchronization behavior").
  return D.check(D->StreamSynchronize(nullptr), "upload weights");
}

Result<bool> CudaModel::takesConditions(const Log &TheLog) {
  std::unique_lock<std::mutex> Guard(SharedLock);
  const Driver &D = TheContext->driver();
  if (TakesConditions != Conditions::Unknown)
    return TakesConditions == Conditions::Taken;
  if (!D->GraphAddNode || !D->GraphConditionalHandleCreate) {
    Guard.unlock();
    refuseConditions(TheLog, "it has none before CUDA 12.3");
    return false;
  }
  Modules.reserve(Modules.size() + 1);
  Module Loaded = nullptr;
  Outcome Code =
      D->ModuleLoadDataEx(&Loaded, ConditionPtx, 0, nullptr, nullptr);
  if (Code == Success) {
    Modules.push_back(Loaded);
    for (unsigned I = 0; Code == Success && I < std::size(Own); ++I)
      Code = D->ModuleGetFunction(&Own[I], Loaded, OwnKernelNames[I]);
  }
  Status Done = D.check(Code, "load the kernels that decide");
  if (Done) {
    TakesConditions = Conditions::Taken;
    return true;
  }
  if (Done.error().Code != ErrorCode::Driver)
    return Done.takeError();
  Guard.unlock();
  refuseConditions(TheLog, Done.error().Message);
  return false;
}

void CudaModel::refuseConditions(const Log &TheLog, const std::string &Why) {
  TheLog.warning("the driver takes no conditional nodes of graphs (" + Why +
                 "): what data decides waits for the device");
  std::lock_guard<std::mutex> Guard(SharedLock);
  TakesConditions = Conditions::Refused;
}

Status CudaModel::allowShared(uint32_t Kernel, uint32_t Bytes) {
  std::lock_guard<std::mutex> Guard(SharedLock);
  if (Bytes <= SharedAllowed[Kernel])
    return success();
  const Driver &D = TheContext->driver();
  Status S = D.check(D->FuncSetAttribute(Functions[Kernel],
                                         FunctionMaxDynamicShared, int(Bytes)),
                     "allow a kernel's shared memory");
  if (S)
    SharedAllowed[Kernel] = Bytes;
  return S;
}

} // namespace kpc::rt::cuda
