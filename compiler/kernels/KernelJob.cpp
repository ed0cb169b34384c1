//===- KernelJob.cpp - One kernel for one target, as a worker's job -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/kernels/KernelJob.h"
#include "compiler/kernels/KernelWire_generated.h"

#include <algorithm>
#include <memory>

using namespace kpc;

namespace {

/// With its size in front: a part of one is no table.
template <class Table>
std::string packed(const typename Table::NativeTableType &Native) {
  flatbuffers::FlatBufferBuilder B;
  B.FinishSizePrefixed(Table::Pack(B, &Native));
  return {reinterpret_cast<const char *>(B.GetBufferPointer()), B.GetSize()};
}

/// None where `Bytes` are no such table.
template <class Table>
std::unique_ptr<typename Table::NativeTableType>
unpacked(std::string_view Bytes) {
  // Scalars are read where they lie, which the buffer's alignment allows.
  std::vector<uint8_t> Aligned(Bytes.begin(), Bytes.end());
  flatbuffers::Verifier Verifier(Aligned.data(), Aligned.size());
  if (!Verifier.VerifySizePrefixedBuffer<Table>(nullptr))
    return nullptr;
  const Table *Root = flatbuffers::GetSizePrefixedRoot<Table>(Aligned.data());
  return std::unique_ptr<typename Table::NativeTableType>(Root->UnPack());
}

std::vector<std::string> textsOf(const std::vector<shape::Expr> &List) {
  std::vector<std::string> Texts;
  Texts.reserve(List.size());
  for (const shape::Expr &E : List)
    Texts.push_back(E.str());
  return Texts;
}

bool readExprs(const std::vector<std::string> &Texts,
               std::vector<shape::Expr> &Into) {
  Into.reserve(Texts.size());
  for (const std::string &Text : Texts) {
    std::optional<shape::Expr> E = shape::Expr::parse(Text);
    if (!E)
      return false;
    Into.push_back(*E);
  }
  return true;
}

/// A value of an enumeration whose last one is `Last`.
template <class Enum> bool readEnum(uint8_t Value, Enum Last, Enum &Into) {
  Into = Enum(Value);
  return Value <= uint8_t(Last);
}

std::unique_ptr<wire::TensorMapT>
toWire(const artifact::KernelTensorMap &Kernel) {
  const artifact::TensorMap &M = Kernel.Map;
  auto Wire = std::make_unique<wire::TensorMapT>();
  Wire->buffer = Kernel.Buffer;
  Wire->mode = uint8_t(M.Mode);
  Wire->element = uint8_t(M.Element);
  Wire->tf32 = M.Tf32;
  Wire->dims = textsOf(M.Dims);
  Wire->strides = textsOf(M.Strides);
  Wire->box = M.Box;
  Wire->traversal = M.Traversal;
  Wire->swizzle = uint8_t(M.Swizzle);
  Wire->promotion = uint8_t(M.Promotion);
  Wire->fill = uint8_t(M.Fill);
  Wire->lower = M.Lower;
  Wire->upper = M.Upper;
  Wire->channels = M.Channels;
  Wire->pixels = M.Pixels;
  return Wire;
}

std::optional<artifact::KernelTensorMap>
fromWire(const wire::TensorMapT &Wire) {
  artifact::KernelTensorMap Kernel;
  artifact::TensorMap &M = Kernel.Map;
  Kernel.Buffer = Wire.buffer;
  M.Tf32 = Wire.tf32;
  M.Box = Wire.box;
  M.Traversal = Wire.traversal;
  M.Lower = Wire.lower;
  M.Upper = Wire.upper;
  M.Channels = Wire.channels;
  M.Pixels = Wire.pixels;
  if (!readEnum(Wire.mode, artifact::TensorMapMode::Im2col, M.Mode) ||
      !readEnum(Wire.element, ElementType::I2, M.Element) ||
      !readEnum(Wire.swizzle, artifact::TensorMapSwizzle::Bytes128,
                M.Swizzle) ||
      !readEnum(Wire.promotion, artifact::TensorMapPromotion::Bytes256,
                M.Promotion) ||
      !readEnum(Wire.fill, artifact::TensorMapFill::Nans, M.Fill) ||
      !readExprs(Wire.dims, M.Dims) || !readExprs(Wire.strides, M.Strides))
    return std::nullopt;
  return Kernel;
}

} // namespace

std::string KernelJob::encode() const {
  wire::KernelJobT Wire;
  Wire.symbol = Symbol;
  Wire.target = Target;
  Wire.text = Text;
  Wire.listing = Listing;
  Wire.line_info = LineInfo;
  Wire.host_optimization = HostOptimization;
  Wire.schedule = Schedule;
  Wire.most_microseconds = MostMicroseconds;
  Wire.ptxas = Ptxas;
  Wire.nvdisasm = Nvdisasm;
  Wire.nvrtc = Nvrtc;
  Wire.cxx = Cxx;
  return packed<wire::KernelJob>(Wire);
}

std::optional<KernelJob> KernelJob::decode(std::string_view Bytes) {
  auto Wire = unpacked<wire::KernelJob>(Bytes);
  if (!Wire)
    return std::nullopt;
  KernelJob Job;
  Job.Symbol = std::move(Wire->symbol);
  Job.Target = std::move(Wire->target);
  Job.Text = std::move(Wire->text);
  Job.Listing = std::move(Wire->listing);
  Job.LineInfo = Wire->line_info;
  Job.HostOptimization = Wire->host_optimization;
  Job.Schedule = std::move(Wire->schedule);
  Job.MostMicroseconds = Wire->most_microseconds;
  Job.Ptxas = std::move(Wire->ptxas);
  Job.Nvdisasm = std::move(Wire->nvdisasm);
  Job.Nvrtc = std::move(Wire->nvrtc);
  Job.Cxx = std::move(Wire->cxx);
  return Job;
}

std::string CompiledKernel::encode() const {
  wire::CompiledKernelT Wire;
  Wire.code = Code;
  Wire.ptx = Ptx;
  Wire.function = Function;
  Wire.arguments = Arguments;
  Wire.listing = Listing;
  Wire.schedule = Schedule;
  Wire.schedule_costs = ScheduleCosts;
  Wire.slowed = Slowed;
  Wire.passed_over = PassedOver;
  Wire.work = Work;
  Wire.grain = Grain;
  Wire.grid.assign(Grid.begin(), Grid.end());
  Wire.no_early_start = NoEarlyStart;
  Wire.cooperative = Cooperative;
  Wire.unread = Unread;
  Wire.block.assign(Block.begin(), Block.end());
  Wire.shared = Shared;
  Wire.registers = Registers;
  Wire.spill_bytes = SpillBytes;
  Wire.least_driver = LeastDriver;
  Wire.tensor_maps.reserve(TensorMaps.size());
  for (const artifact::KernelTensorMap &Map : TensorMaps)
    Wire.tensor_maps.push_back(toWire(Map));
  return packed<wire::CompiledKernel>(Wire);
}

std::optional<CompiledKernel> CompiledKernel::decode(std::string_view Bytes) {
  auto Wire = unpacked<wire::CompiledKernel>(Bytes);
  if (!Wire || Wire->grid.size() != 3 || Wire->block.size() != 3)
    return std::nullopt;
  CompiledKernel K;
  K.Code = std::move(Wire->code);
  K.Ptx = std::move(Wire->ptx);
  K.Function = std::move(Wire->function);
  K.Arguments = Wire->arguments;
  K.Listing = std::move(Wire->listing);
  K.Schedule = std::move(Wire->schedule);
  K.ScheduleCosts = std::move(Wire->schedule_costs);
  K.Slowed = std::move(Wire->slowed);
  K.PassedOver = std::move(Wire->passed_over);
  K.Work = std::move(Wire->work);
  K.Grain = Wire->grain;
  std::move(Wire->grid.begin(), Wire->grid.end(), K.Grid.begin());
  K.NoEarlyStart = Wire->no_early_start;
  K.Cooperative = Wire->cooperative;
  K.Unread = std::move(Wire->unread);
  std::copy(Wire->block.begin(), Wire->block.end(), K.Block.begin());
  K.Shared = std::move(Wire->shared);
  K.Registers = Wire->registers;
  K.SpillBytes = Wire->spill_bytes;
  K.LeastDriver = Wire->least_driver;
  K.TensorMaps.reserve(Wire->tensor_maps.size());
  for (const std::unique_ptr<wire::TensorMapT> &Map : Wire->tensor_maps) {
    std::optional<artifact::KernelTensorMap> One;
    if (Map)
      One = fromWire(*Map);
    if (!One)
      return std::nullopt;
    K.TensorMaps.push_back(std::move(*One));
  }
  return K;
}
