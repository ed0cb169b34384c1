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
  /// The length of a list; each of its items takes a header at least.
  size_t count() {
    int64_t Items = number();
    Good &= Items >= 0 && uint64_t(Items) <= Bytes.size() / WireHeader;
    return Good ? size_t(Items) : 0;
  }
  shape::Expr expr() {
    std::optional<shape::Expr> E = shape::Expr::parse(text());
    Good &= E.has_value();
    return E.value_or(shape::Expr());
  }
  /// A value of an enumeration, or another number up to `Most`.
  int64_t atMost(int64_t Most) {
    int64_t Value = number();
    Good &= Value >= 0 && Value <= Most;
    return Value;
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

void encodeExprs(FieldWriter &W, const std::vector<shape::Expr> &List) {
  W.add(int64_t(List.size()));
  for (const shape::Expr &E : List)
    W.add(E.str());
}

template <class Int>
void encodeNumbers(FieldWriter &W, const std::vector<Int> &List) {
  W.add(int64_t(List.size()));
  for (Int Value : List)
    W.add(int64_t(Value));
}

void encode(FieldWriter &W, const artifact::KernelTensorMap &Kernel) {
  const artifact::TensorMap &M = Kernel.Map;
  W.add(int64_t(Kernel.Buffer)).add(int64_t(M.Mode)).add(int64_t(M.Element));
  W.add(int64_t(M.Tf32));
  encodeExprs(W, M.Dims);
  encodeExprs(W, M.Strides);
  encodeNumbers(W, M.Box);
  encodeNumbers(W, M.Traversal);
  W.add(int64_t(M.Swizzle)).add(int64_t(M.Promotion)).add(int64_t(M.Fill));
  encodeNumbers(W, M.Lower);
  encodeNumbers(W, M.Upper);
  W.add(int64_t(M.Channels)).add(int64_t(M.Pixels));
}

void decodeExprs(FieldReader &R, std::vector<shape::Expr> &List) {
  for (size_t N = R.count(); N; --N)
    List.push_back(R.expr());
}

template <class Int>
void decodeNumbers(FieldReader &R, std::vector<Int> &List) {
  for (size_t N = R.count(); N; --N)
    List.push_back(Int(R.number()));
}

artifact::KernelTensorMap decodeTensorMap(FieldReader &R) {
  artifact::KernelTensorMap Kernel;
  artifact::TensorMap &M = Kernel.Map;
  Kernel.Buffer = uint32_t(R.atMost(UINT32_MAX));
  M.Mode = artifact::TensorMapMode(R.atMost(1));
  M.Element = ElementType(R.atMost(int64_t(ElementType::I2)));
  M.Tf32 = R.atMost(1);
  decodeExprs(R, M.Dims);
  decodeExprs(R, M.Strides);
  decodeNumbers(R, M.Box);
  decodeNumbers(R, M.Traversal);
  M.Swizzle = artifact::TensorMapSwizzle(R.atMost(3));
  M.Promotion = artifact::TensorMapPromotion(R.atMost(3));
  M.Fill = artifact::TensorMapFill(R.atMost(1));
  decodeNumbers(R, M.Lower);
  decodeNumbers(R, M.Upper);
  M.Channels = uint32_t(R.atMost(UINT32_MAX));
  M.Pixels = uint32_t(R.atMost(UINT32_MAX));
  return Kernel;
}

} // namespace

std::string KernelJob::encode() const {
  return FieldWriter()
      .add(Symbol)
      .add(Target)
      .add(Text)
      .add(Listing)
      .add(int64_t(LineInfo))
      .add(Schedule)
      .add(int64_t(TriesNext))
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
  Job.LineInfo = R.atMost(1);
  Job.Schedule = R.text();
  Job.TriesNext = R.atMost(1);
  Job.Ptxas = R.text();
  Job.Nvdisasm = R.text();
  return R.finished() ? std::optional(Job) : std::nullopt;
}

std::string CompiledKernel::encode() const {
  FieldWriter W;
  W.add(Code).add(Ptx).add(Listing).add(Schedule);
  W.add(int64_t(ScheduleCosts.size()));
  for (const std::string &Cost : ScheduleCosts)
    W.add(Cost);
  W.add(Slowed).add(int64_t(PassedOver.size()));
  for (const std::string &One : PassedOver)
    W.add(One);
  W.add(Work).add(Grain);
  for (const std::string &G : Grid)
    W.add(G);
  for (int64_t B : Block)
    W.add(B);
  W.add(Shared).add(Registers).add(SpillBytes).add(LeastDriver);
  W.add(int64_t(TensorMaps.size()));
  for (const artifact::KernelTensorMap &Map : TensorMaps)
    ::encode(W, Map);
  return W.take();
}

std::optional<CompiledKernel> CompiledKernel::decode(std::string_view Bytes) {
  FieldReader R(Bytes);
  CompiledKernel K;
  K.Code = R.text();
  K.Ptx = R.text();
  K.Listing = R.text();
  K.Schedule = R.text();
  for (size_t N = R.count(); N; --N)
    K.ScheduleCosts.push_back(R.text());
  K.Slowed = R.text();
  for (size_t N = R.count(); N; --N)
    K.PassedOver.push_back(R.text());
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
  for (size_t N = R.count(); N; --N)
    K.TensorMaps.push_back(decodeTensorMap(R));
  return R.finished() ? std::optional(K) : std::nullopt;
}
