//===- EncodeTensorMap.cpp - Tensor maps as the device takes them ---------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/cuda/EncodeTensorMap.h"
#include "runtime/src/Device.h"

#include <cinttypes>

namespace kpc::rt::cuda {

// Of the tensor's address, where its elements are not interleaved.
static constexpr uint64_t AddressAlignment = 16;

// The schema's numbers of these enumerations are the driver's.
static_assert(int(format::TensorMapSwizzle::Bytes128) == 3 &&
              int(format::TensorMapPromotion::Bytes256) == 3 &&
              int(format::TensorMapFill::Nans) == 1);

// CUtensorMapDataType. 8-bit types, 16-bit integers are copied as they are.
static int dataType(const format::TensorMap &Map) {
  switch (ElementType(Map.element())) {
  case ElementType::U16:
  case ElementType::I16:
    return 1;
  case ElementType::U32:
    return 2;
  case ElementType::I32:
    return 3;
  case ElementType::U64:
    return 4;
  case ElementType::I64:
    return 5;
  case ElementType::F16:
    return 6;
  case ElementType::F32:
    return Map.tf32() ? 11 : 7;
  case ElementType::F64:
    return 8;
  case ElementType::BF16:
    return 9;
  default:
    return 0; // UINT8
  }
}

static std::string describe(const BoundTensorMap &Map, uint64_t Address) {
  std::string Text = formatted("address 0x%" PRIx64 ", dims", Address);
  for (uint32_t I = 0; I < Map.rank(); ++I)
    Text += formatted(" %" PRIu64, Map.Dims[I]);
  Text += ", strides";
  for (uint32_t I = 1; I < Map.rank(); ++I)
    Text += formatted(" %" PRIu64, Map.Strides[I - 1]);
  return Text;
}

Status encodeTensorMap(const Driver &D, BoundTensorMap &Map, uint64_t Address) {
  if (Map.Address == Address)
    return success();
  if (Address % AddressAlignment)
    return tensorMapError(*Map.Kernel, Map.Param, ErrorCode::Misaligned,
                          formatted("its address 0x%" PRIx64
                                    " is not a multiple of 16",
                                    Address));
  Map.Address = 0;
  const format::TensorMap &T = *Map.Table;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's are numbers
  void *At = reinterpret_cast<void *>(uintptr_t(Address));
  constexpr int NoInterleave = 0;
  Outcome Code = T.mode() == format::TensorMapMode::Tiled
                     ? D->TensorMapEncodeTiled(
                           Map.Descriptor.data(), dataType(T), Map.rank(), At,
                           Map.Dims.data(), Map.Strides.data(), Map.Box.data(),
                           Map.Traversal.data(), NoInterleave, int(T.swizzle()),
                           int(T.promotion()), int(T.fill()))
                     : D->TensorMapEncodeIm2col(
                           Map.Descriptor.data(), dataType(T), Map.rank(), At,
                           Map.Dims.data(), Map.Strides.data(),
                           Map.Lower.data(), Map.Upper.data(), T.channels(),
                           T.pixels(), Map.Traversal.data(), NoInterleave,
                           int(T.swizzle()), int(T.promotion()), int(T.fill()));
  if (Code == Success) {
    Map.Address = Address;
    return success();
  }
  Status S = D.check(Code, "encode it");
  Error E =
      tensorMapError(*Map.Kernel, Map.Param, S.error().Code,
                     S.error().Message + " (" + describe(Map, Address) + ")");
  E.Hint = S.error().Hint;
  return E;
}

static Status checkEncoders(const Driver &D, const format::Target &T,
                            const format::Launch &L) {
  for (const format::Param *P : format::each(L.params())) {
    if (P->kind() != format::ParamKind::TensorMap)
      continue;
    bool Tiled = P->tensor_map()->mode() == format::TensorMapMode::Tiled;
    if (Tiled ? D->TensorMapEncodeTiled != nullptr
              : D->TensorMapEncodeIm2col != nullptr)
      continue;
    const format::Kernel *K = T.kernels()->Get(L.kernel());
    Error E = failure(ErrorCode::DriverTooOld,
                      "kernel '%s' needs tensor maps, and the driver has no "
                      "cuTensorMapEncode%s (CUDA 12.0 or newer)",
                      displayName(*K).c_str(), Tiled ? "Tiled" : "Im2col");
    E.Kernel = displayName(*K);
    E.Node = sourceNodes(*K);
    E.Hint = "update NVIDIA's driver";
    return E;
  }
  return success();
}

Status checkEncoders(const Driver &D, const format::Target &T) {
  for (const format::Step *Step : format::each(T.steps())) {
    const format::Launch *L = Step->action_as_Launch();
    if (!L)
      continue;
    if (Status S = checkEncoders(D, T, *L); !S)
      return S;
    for (const format::Alternative *A : format::each(L->alternatives()))
      if (Status S = checkEncoders(D, T, *A->launch()); !S)
        return S;
  }
  return success();
}

} // namespace kpc::rt::cuda
