//===- CApiError.cpp - Errors, types and versions of the C interface ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/format/ElementType.h"
#include "runtime/src/CApi.h"
#include "runtime/src/Version.h"

using namespace kpc;
using namespace kpc::rt;

// Every code is the C interface's.
#define KPC_SAME(Name, C)                                                      \
  static_assert(int(ErrorCode::Name) == int(KPC_ERROR_##C))
KPC_SAME(Io, IO);
KPC_SAME(NotAnArtifact, NOT_AN_ARTIFACT);
KPC_SAME(Version, VERSION);
KPC_SAME(Damaged, DAMAGED);
KPC_SAME(Malformed, MALFORMED);
KPC_SAME(Signature, SIGNATURE);
KPC_SAME(NoTarget, NO_TARGET);
KPC_SAME(CpuLevel, CPU_LEVEL);
KPC_SAME(DriverMissing, DRIVER_MISSING);
KPC_SAME(DriverTooOld, DRIVER_TOO_OLD);
KPC_SAME(NoDevice, NO_DEVICE);
KPC_SAME(InvalidArgument, INVALID_ARGUMENT);
KPC_SAME(UnknownName, UNKNOWN_NAME);
KPC_SAME(Missing, MISSING);
KPC_SAME(WrongType, WRONG_TYPE);
KPC_SAME(WrongShape, WRONG_SHAPE);
KPC_SAME(OutOfRange, OUT_OF_RANGE);
KPC_SAME(WrongDevice, WRONG_DEVICE);
KPC_SAME(Misaligned, MISALIGNED);
KPC_SAME(TooSmall, TOO_SMALL);
KPC_SAME(OutOfMemory, OUT_OF_MEMORY);
KPC_SAME(DeviceOutOfMemory, DEVICE_OUT_OF_MEMORY);
KPC_SAME(System, SYSTEM);
KPC_SAME(Driver, DRIVER);
KPC_SAME(SessionLost, SESSION_LOST);
KPC_SAME(TimedOut, TIMED_OUT);
KPC_SAME(Operator, OPERATOR);
KPC_SAME(Internal, INTERNAL);
#undef KPC_SAME
static_assert(int(ElementType::F32) == KPC_F32 &&
              int(ElementType::Bool) == KPC_BOOL &&
              int(ElementType::I2) == KPC_I2);

// Stands for "out of memory" where there is none for an error object: only its
// address is used.
static const char OutOfMemoryTag = 0;

static const kpc_error *outOfMemoryError() {
  return reinterpret_cast<const kpc_error *>(&OutOfMemoryTag);
}

namespace kpc::rt {

kpc_status reportOutOfMemory(kpc_error **Out) noexcept {
  if (Out)
    *Out = const_cast<kpc_error *>(outOfMemoryError());
  return KPC_ERROR_OUT_OF_MEMORY;
}

kpc_status report(Error &E, kpc_error **Out) noexcept {
  kpc_status Code = kpc_status(E.Code);
  if (!Out)
    return Code;
  *Out = new (std::nothrow) kpc_error{std::move(E)};
  return *Out ? Code : reportOutOfMemory(Out);
}

kpc_status reportInternal(const char *What, kpc_error **Out) noexcept {
  try {
    Error E = failure(ErrorCode::Internal, "a fault of the runtime: %s", What);
    E.Hint = "please report it, with the artifact if you can";
    return report(E, Out);
  } catch (...) {
    return reportOutOfMemory(Out);
  }
}

} // namespace kpc::rt

// NOLINTBEGIN(readability-identifier-naming): the names of kpc/runtime.h
extern "C" {

const char *kpc_status_name(kpc_status status) {
  switch (status) {
#define KPC_NAME(Name)                                                         \
  case Name:                                                                   \
    return #Name
    KPC_NAME(KPC_OK);
    KPC_NAME(KPC_ERROR_IO);
    KPC_NAME(KPC_ERROR_NOT_AN_ARTIFACT);
    KPC_NAME(KPC_ERROR_VERSION);
    KPC_NAME(KPC_ERROR_DAMAGED);
    KPC_NAME(KPC_ERROR_MALFORMED);
    KPC_NAME(KPC_ERROR_SIGNATURE);
    KPC_NAME(KPC_ERROR_NO_TARGET);
    KPC_NAME(KPC_ERROR_CPU_LEVEL);
    KPC_NAME(KPC_ERROR_DRIVER_MISSING);
    KPC_NAME(KPC_ERROR_DRIVER_TOO_OLD);
    KPC_NAME(KPC_ERROR_NO_DEVICE);
    KPC_NAME(KPC_ERROR_INVALID_ARGUMENT);
    KPC_NAME(KPC_ERROR_UNKNOWN_NAME);
    KPC_NAME(KPC_ERROR_MISSING);
    KPC_NAME(KPC_ERROR_WRONG_TYPE);
    KPC_NAME(KPC_ERROR_WRONG_SHAPE);
    KPC_NAME(KPC_ERROR_OUT_OF_RANGE);
    KPC_NAME(KPC_ERROR_WRONG_DEVICE);
    KPC_NAME(KPC_ERROR_MISALIGNED);
    KPC_NAME(KPC_ERROR_TOO_SMALL);
    KPC_NAME(KPC_ERROR_OUT_OF_MEMORY);
    KPC_NAME(KPC_ERROR_DEVICE_OUT_OF_MEMORY);
    KPC_NAME(KPC_ERROR_SYSTEM);
    KPC_NAME(KPC_ERROR_DRIVER);
    KPC_NAME(KPC_ERROR_SESSION_LOST);
    KPC_NAME(KPC_ERROR_TIMED_OUT);
    KPC_NAME(KPC_ERROR_OPERATOR);
    KPC_NAME(KPC_ERROR_INTERNAL);
#undef KPC_NAME
  }
  return "unknown";
}

kpc_status kpc_error_status(const kpc_error *error) {
  if (!error)
    return KPC_OK;
  return error == outOfMemoryError() ? KPC_ERROR_OUT_OF_MEMORY
                                     : kpc_status(error->E.Code);
}

const char *kpc_error_message(const kpc_error *error) {
  if (!error)
    return "";
  return error == outOfMemoryError() ? "out of memory"
                                     : error->E.Message.c_str();
}

static const char *part(const kpc_error *error, std::string Error::*Which) {
  return !error || error == outOfMemoryError() ? "" : (error->E.*Which).c_str();
}

const char *kpc_error_node(const kpc_error *error) {
  return part(error, &Error::Node);
}
const char *kpc_error_kernel(const kpc_error *error) {
  return part(error, &Error::Kernel);
}
const char *kpc_error_hint(const kpc_error *error) {
  return part(error, &Error::Hint);
}

void kpc_error_free(kpc_error *error) {
  if (error != outOfMemoryError())
    delete error;
}

const char *kpc_runtime_version(void) { return KPC_VERSION; }

int32_t kpc_element_bits(int32_t type) {
  return type < 0 || type > int(ElementType::I2) ? 0
                                                 : bitWidth(ElementType(type));
}

const char *kpc_element_name(int32_t type) {
  return kpc_element_bits(type) ? elementTypeName(ElementType(type))
                                : "unknown";
}

int64_t kpc_tensor_bytes(const kpc_tensor *tensor) {
  if (!tensor || tensor->rank < 0 || (tensor->rank && !tensor->dims))
    return -1;
  int64_t Bits = kpc_element_bits(tensor->type);
  if (Bits == 0)
    return -1;
  for (int32_t I = 0; I < tensor->rank; ++I)
    if (tensor->dims[I] < 0 ||
        __builtin_mul_overflow(Bits, tensor->dims[I], &Bits))
      return -1;
  return Bits / 8 + (Bits % 8 != 0);
}

} // extern "C"
// NOLINTEND(readability-identifier-naming)
