//===- TensorMap.cpp - A tensor map with its sizes known ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/TensorMap.h"
#include "runtime/format/ElementType.h"
#include "runtime/src/Device.h"

#include <cinttypes>

namespace kpc::rt {

// Elements of a dim: coordinates are signed words, and a tile may begin before
// the end and reach 256 elements beyond it. (The driver takes up to 2^32.)
static constexpr int64_t LargestDim = (int64_t(1) << 31) - 256;
// The driver's unit and bound of a stride.
static constexpr int64_t StrideUnit = 16, StrideLimit = int64_t(1) << 40;

Error tensorMapError(const format::Kernel &Kernel, uint32_t Param,
                     ErrorCode Code, const std::string &What) {
  Error E = failure(Code, "tensor map (parameter %u) of kernel '%s': %s", Param,
                    displayName(Kernel).c_str(), What.c_str());
  E.Kernel = displayName(Kernel);
  E.Node = sourceNodes(Kernel);
  return E;
}

namespace {

class TensorMapBinder {
public:
  TensorMapBinder(BoundTensorMap &Out, const Evaluation &Values)
      : Out(Out), Values(Values) {}

  Status run(uint64_t Length) {
    for (uint32_t I = 0; I < Out.rank(); ++I)
      if (Status S = dim(I); !S)
        return S;
    for (uint32_t I = 1; I < Out.rank(); ++I)
      if (Status S = stride(I); !S)
        return S;
    return extent(Length);
  }

private:
  Error wrong(const std::string &What) {
    return tensorMapError(*Out.Kernel, Out.Param, ErrorCode::OutOfRange, What);
  }

  Status dim(uint32_t I) {
    std::optional<int64_t> Dim = Values[Out.Table->dims()->Get(I)];
    if (!Dim)
      return wrong(formatted("dim %u has no value for these dims", I));
    if (*Dim < 1 || *Dim > LargestDim)
      return wrong(formatted("dim %u is %" PRId64 ", but must be 1 to %" PRId64,
                             I, *Dim, LargestDim));
    Out.Dims[I] = uint64_t(*Dim);
    return success();
  }

  Status stride(uint32_t I) {
    std::optional<int64_t> Stride = Values[Out.Table->strides()->Get(I - 1)];
    if (!Stride)
      return wrong(
          formatted("the stride of dim %u has no value for these dims", I));
    if (*Stride < 0 || *Stride % StrideUnit || *Stride >= StrideLimit)
      return wrong(formatted("the stride of dim %u is %" PRId64
                             " bytes, but must be a multiple of 16 below 2^40",
                             I, *Stride));
    Out.Strides[I - 1] = uint64_t(*Stride);
    return success();
  }

  // From the first byte to the last that a copy can read or write.
  Status extent(uint64_t Length) {
    auto Element = ElementType(Out.Table->element());
    uint64_t Bytes = Out.Dims[0] * (uint64_t(bitWidth(Element)) / 8);
    bool Fits = true;
    for (uint32_t I = 1; I < Out.rank(); ++I) {
      uint64_t Span = 0;
      Fits =
          Fits &&
          !__builtin_mul_overflow(Out.Dims[I] - 1, Out.Strides[I - 1], &Span) &&
          !__builtin_add_overflow(Bytes, Span, &Bytes);
    }
    if (Fits && Bytes <= Length)
      return success();
    return wrong(formatted(
        "it reaches beyond the %" PRIu64 " bytes that it is of", Length));
  }

  BoundTensorMap &Out;
  const Evaluation &Values;
};

template <class From, class To> void copyList(const From *List, To &Out) {
  size_t I = 0;
  for (auto Value : format::scalars(List))
    Out[I++] = Value;
}

} // namespace

Result<BoundTensorMap> bindTensorMap(const format::TensorMap &Table,
                                     const format::Kernel &Kernel,
                                     uint32_t Param, const Evaluation &Values,
                                     uint64_t Length) {
  BoundTensorMap Out;
  Out.Table = &Table;
  Out.Kernel = &Kernel;
  Out.Param = Param;
  Out.Traversal.fill(1);
  copyList(Table.box(), Out.Box);
  copyList(Table.traversal(), Out.Traversal);
  copyList(Table.lower(), Out.Lower);
  copyList(Table.upper(), Out.Upper);
  if (Status S = TensorMapBinder(Out, Values).run(Length); !S)
    return S;
  return Out;
}

} // namespace kpc::rt
