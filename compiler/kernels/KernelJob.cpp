//===- KernelJob.cpp - One kernel for one target, as a worker's job -*- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/kernels/KernelJob.h"
#include "compiler/workers/Wire.h"

#include <charconv>

using namespace kpc;

namespace {

/// Strings, each with its length in front.
class FieldWriter {
public:
  FieldWriter &add(std::string_view Field) {
    Bytes += frame(Field);
    return *this;
  }
  FieldWriter &add(int64_t Number) { return add(std::to_string(Number)); }
  std::string take() { return std::move(Bytes); }

private:
  std::string Bytes;
};

class FieldReader {
public:
  explicit FieldReader(std::string_view Bytes) : Bytes(Bytes) {}

  std::string text() {
    std::optional<uint64_t> Length = frameLength(Bytes);
    if (!Length || *Length > Bytes.size() - WireHeader) {
      Good = false;
      return {};
    }
    std::string Field(Bytes.substr(WireHeader, *Length));
    Bytes.remove_prefix(WireHeader + *Length);
    return Field;
  }
  int64_t number() {
    std::string Field = text();
    int64_t Value = 0;
    auto [End, Error] =
        std::from_chars(Field.data(), Field.data() + Field.size(), Value);
    Good &= Error == std::errc() && End == Field.data() + Field.size();
    return Value;
  }
  bool finished() const { return Good && Bytes.empty(); }

private:
  std::string_view Bytes;
  bool Good = true;
};

} // namespace

std::string KernelJob::encode() const {
  return FieldWriter()
      .add(Symbol)
      .add(Target)
      .add(Text)
      .add(Listing)
      .add(Ptxas)
      .add(Nvdisasm)
      .take();
}

std::optional<KernelJob> KernelJob::decode(std::string_view Bytes) {
  FieldReader R(Bytes);
  KernelJob Job;
  Job.Symbol = R.text();
  Job.Target = R.text();
  Job.Text = R.text();
  Job.Listing = R.text();
  Job.Ptxas = R.text();
  Job.Nvdisasm = R.text();
  return R.finished() ? std::optional(Job) : std::nullopt;
}

std::string CompiledKernel::encode() const {
  FieldWriter W;
  W.add(Code).add(Ptx).add(Listing).add(Schedule).add(Work).add(Grain);
  for (const std::string &G : Grid)
    W.add(G);
  for (int64_t B : Block)
    W.add(B);
  return W.add(Shared).add(Registers).add(SpillBytes).add(LeastDriver).take();
}

std::optional<CompiledKernel> CompiledKernel::decode(std::string_view Bytes) {
  FieldReader R(Bytes);
  CompiledKernel K;
  K.Code = R.text();
  K.Ptx = R.text();
  K.Listing = R.text();
  K.Schedule = R.text();
  K.Work = R.text();
  K.Grain = R.number();
  for (std::string &G : K.Grid)
    G = R.text();
  for (int64_t &B : K.Block)
    B = R.number();
  K.Shared = R.text();
  K.Registers = R.number();
  K.SpillBytes = R.number();
  K.LeastDriver = R.number();
  return R.finished() ? std::optional(K) : std::nullopt;
}
