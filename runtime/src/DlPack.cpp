//===- DlPack.cpp - DLPack tensors ----------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kpc/dlpack.h"
#include "runtime/src/CApi.h"

using namespace kpc;
using namespace kpc::rt;

namespace {

struct TypeRow {
  kpc_element_type Type;
  uint8_t Code, Bits;
};

// What DLPack calls the element types; the sub-byte types of DLPack that kpc
// packs are not padded.
constexpr TypeRow Types[] = {
    {KPC_F32, kDLFloat, 32},
    {KPC_F64, kDLFloat, 64},
    {KPC_F16, kDLFloat, 16},
    {KPC_BF16, kDLBfloat, 16},
    {KPC_U8, kDLUInt, 8},
    {KPC_U16, kDLUInt, 16},
    {KPC_U32, kDLUInt, 32},
    {KPC_U64, kDLUInt, 64},
    {KPC_I8, kDLInt, 8},
    {KPC_I16, kDLInt, 16},
    {KPC_I32, kDLInt, 32},
    {KPC_I64, kDLInt, 64},
    {KPC_BOOL, kDLBool, 8},
    {KPC_C64, kDLComplex, 64},
    {KPC_C128, kDLComplex, 128},
    {KPC_F8E4M3FN, kDLFloat8_e4m3fn, 8},
    {KPC_F8E4M3FNUZ, kDLFloat8_e4m3fnuz, 8},
    {KPC_F8E5M2, kDLFloat8_e5m2, 8},
    {KPC_F8E5M2FNUZ, kDLFloat8_e5m2fnuz, 8},
    {KPC_F8E8M0, kDLFloat8_e8m0fnu, 8},
    {KPC_F4E2M1, kDLFloat4_e2m1fn, 4},
    {KPC_U4, kDLUInt, 4},
    {KPC_I4, kDLInt, 4},
    {KPC_U2, kDLUInt, 2},
    {KPC_I2, kDLInt, 2},
};

bool isContiguous(const DLTensor &T) {
  // Strides of what is empty reach nothing.
  if (!T.strides || std::find(T.shape, T.shape + T.ndim, 0) != T.shape + T.ndim)
    return true;
  int64_t Expected = 1;
  for (int32_t I = T.ndim; I-- > 0;) {
    if (T.shape[I] != 1 && T.strides[I] != Expected)
      return false;
    if (__builtin_mul_overflow(Expected, T.shape[I], &Expected))
      return false;
  }
  return true;
}

Status fromDlPack(const DLManagedTensorVersioned &From, kpc_tensor &Out) {
  if (From.version.major != DLPACK_MAJOR_VERSION)
    return failure(ErrorCode::InvalidArgument,
                   "the tensor is of DLPack %u.%u, expected %d.x",
                   From.version.major, From.version.minor,
                   DLPACK_MAJOR_VERSION);
  const DLTensor &T = From.dl_tensor;
  const TypeRow *Row = nullptr;
  for (const TypeRow &Candidate : Types)
    if (Candidate.Code == T.dtype.code && Candidate.Bits == T.dtype.bits)
      Row = &Candidate;
  bool Padded = (From.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) &&
                T.dtype.bits < 8;
  if (!Row || T.dtype.lanes != 1 || Padded)
    return failure(ErrorCode::WrongType,
                   "no element type has DLPack's code %d, %d bits, %d lanes%s",
                   T.dtype.code, T.dtype.bits, T.dtype.lanes,
                   Padded ? ", padded" : "");
  if (T.ndim < 0 || T.ndim > int32_t(format::MaxRank) || (T.ndim && !T.shape))
    return failure(ErrorCode::WrongShape, "the tensor has rank %d", T.ndim);
  if (!isContiguous(T)) {
    Error E = failure(ErrorCode::WrongShape,
                      "the tensor is not contiguous in row-major order");
    E.Hint = "give a contiguous copy";
    return E;
  }
  int32_t Kind = int32_t(T.device.device_type);
  if (Kind != kDLCPU && Kind != kDLCUDA && Kind != kDLCUDAHost &&
      Kind != kDLCUDAManaged)
    return failure(ErrorCode::WrongDevice,
                   "the tensor is on a device of DLPack's kind %d", Kind);
  Out.data = T.data ? static_cast<char *>(T.data) + T.byte_offset : nullptr;
  Out.dims = T.shape;
  Out.rank = T.ndim;
  Out.type = Row->Type;
  Out.device = {Kind == kDLCUDA ? KPC_DEVICE_CUDA : KPC_DEVICE_HOST,
                Kind == kDLCUDA ? T.device.device_id : 0};
  return success();
}

/// An exported output: the tensor and what keeps its memory.
struct Exported {
  // NOLINTNEXTLINE(bugprone-invalid-enum-default-initialization): set later
  DLManagedTensorVersioned Managed{};
  std::shared_ptr<OutputSet> Set;
};

void deleteExported(DLManagedTensorVersioned *Self) {
  delete static_cast<Exported *>(Self->manager_ctx);
}

} // namespace

// NOLINTBEGIN(readability-identifier-naming): the names of kpc/runtime.h
extern "C" {

kpc_status kpc_tensor_from_dlpack(const DLManagedTensorVersioned *managed,
                                  kpc_tensor *tensor, kpc_error **error) {
  return guarded(error, [&]() -> Status {
    if (!managed || !tensor)
      return nullArgument(managed ? "tensor" : "managed");
    return fromDlPack(*managed, *tensor);
  });
}

kpc_status kpc_outputs_to_dlpack(const kpc_outputs *outputs, int32_t index,
                                 DLManagedTensorVersioned **managed,
                                 kpc_error **error) {
  return guarded(error, [&]() -> Status {
    if (!outputs || !managed)
      return nullArgument(outputs ? "managed" : "outputs");
    if (index < 0 || index >= kpc_outputs_count(outputs))
      return failure(ErrorCode::OutOfRange, "there are %d outputs",
                     kpc_outputs_count(outputs));
    OutputSet::One &One = outputs->Set->All[size_t(index)];
    const kpc_tensor &T = One.Tensor.tensor;
    const TypeRow *Row = nullptr;
    for (const TypeRow &Candidate : Types)
      if (Candidate.Type == T.type)
        Row = &Candidate;
    if (!Row)
      return failure(ErrorCode::WrongType, "DLPack has no type for %s",
                     kpc_element_name(T.type));
    auto Out = std::make_unique<Exported>();
    Out->Set = outputs->Set;
    DLManagedTensorVersioned &M = Out->Managed;
    M.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    M.manager_ctx = Out.get();
    M.deleter = deleteExported;
    M.dl_tensor.data = T.data;
    M.dl_tensor.device = {DLDeviceType(T.device.kind), T.device.ordinal};
    M.dl_tensor.ndim = T.rank;
    M.dl_tensor.dtype = {Row->Code, Row->Bits, 1};
    M.dl_tensor.shape = One.Dims.data();
    *managed = &Out.release()->Managed;
    return success();
  });
}

} // extern "C"
// NOLINTEND(readability-identifier-naming)
