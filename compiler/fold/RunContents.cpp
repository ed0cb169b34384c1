//===- RunContents.cpp - Runs an artifact's contents in this process -*- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/fold/RunContents.h"
#include "codegen/host/HostImage.h"

#include <cstring>
#include <memory>

using namespace kpc;
using llvm::createStringError;

namespace {

/// Memory at the alignment that kernels are promised.
class Memory {
public:
  explicit Memory(size_t Bytes)
      : Size(Bytes), Start(static_cast<uint8_t *>(
                               std::aligned_alloc(64, (Bytes + 127) / 64 * 64)),
                           std::free) {}
  uint8_t *data() const { return Start.get(); }
  size_t size() const { return Size; }

private:
  size_t Size;
  std::unique_ptr<uint8_t, decltype(&std::free)> Start;
};

class Runner {
public:
  Runner(const artifact::Contents &Contents)
      : Contents(Contents), Target(Contents.Targets.front()) {}

  llvm::Error run();
  std::vector<std::vector<uint8_t>> outputs() const;

private:
  llvm::Error allocate();
  llvm::Error loadWeight(const artifact::Weight &W, Memory &Into);
  llvm::Error launch(const artifact::Launch &L,
                     const codegen::HostImage &Image);
  int64_t number(const shape::Expr &E) const {
    return E.evaluate({}).value_or(0);
  }

  const artifact::Contents &Contents;
  const artifact::Target &Target;
  std::vector<Memory> Buffers;
};

llvm::Error Runner::loadWeight(const artifact::Weight &W, Memory &Into) {
  if (W.Length > Into.size())
    return createStringError("weight '" + W.Name +
                             "' is longer than its buffer");
  auto Error = W.Read(0, Into.data(), W.Length);
  return Error ? createStringError(*Error) : llvm::Error::success();
}

llvm::Error Runner::allocate() {
  for (const artifact::Buffer &B : Target.Buffers) {
    Buffers.emplace_back(number(B.Size));
    if (!Buffers.back().data())
      return createStringError("not enough memory for '" + B.Name + "'");
    if (B.Kind == artifact::BufferKind::Weight)
      if (llvm::Error E = loadWeight(Contents.Weights[B.Index], Buffers.back()))
        return E;
  }
  return llvm::Error::success();
}

llvm::Error Runner::launch(const artifact::Launch &L,
                           const codegen::HostImage &Image) {
  std::vector<uint64_t> Params;
  for (const artifact::Param &P : L.Params)
    Params.push_back(P.Kind == artifact::ParamKind::Buffer
                         ? reinterpret_cast<uint64_t>(Buffers[P.Buffer].data())
                         : number(P.Size));
  return Image.call(Target.Kernels[L.Kernel].Symbol, Params, 0, number(L.Work));
}

llvm::Error Runner::run() {
  if (llvm::Error E = allocate())
    return E;
  codegen::LinkedImage Linked;
  if (!Target.Modules.empty())
    Linked.Bytes = Target.Modules.front().Image;
  for (const artifact::Kernel &K : Target.Kernels)
    Linked.Symbols[K.Symbol] = K.Entry;
  std::optional<codegen::HostImage> Image;
  if (!Linked.Bytes.empty()) {
    auto Mapped = codegen::HostImage::map(Linked);
    if (!Mapped)
      return Mapped.takeError();
    Image.emplace(std::move(*Mapped));
  }
  for (const artifact::Step &Step : Target.Steps) {
    if (auto *L = std::get_if<artifact::Launch>(&Step)) {
      if (llvm::Error E = launch(*L, *Image))
        return E;
    } else if (auto *C = std::get_if<artifact::Copy>(&Step)) {
      std::memcpy(Buffers[C->Destination].data(), Buffers[C->Source].data(),
                  number(C->Size));
    }
  }
  return llvm::Error::success();
}

std::vector<std::vector<uint8_t>> Runner::outputs() const {
  std::vector<std::vector<uint8_t>> Result(Contents.Outputs.size());
  for (size_t I = 0; I < Buffers.size(); ++I)
    if (Target.Buffers[I].Kind == artifact::BufferKind::Output)
      Result[Target.Buffers[I].Index].assign(
          Buffers[I].data(), Buffers[I].data() + Buffers[I].size());
  return Result;
}

} // namespace

llvm::Expected<std::vector<std::vector<uint8_t>>>
kpc::runContents(const artifact::Contents &Contents) {
  Runner R(Contents);
  if (llvm::Error E = R.run())
    return E;
  return R.outputs();
}
