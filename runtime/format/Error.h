//===- Error.h - What the runtime and the format report ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A stable code, a message, where it happened and what to do; and Result, a
/// value or such an error:
///
///   Result<int> half(int X) {
///     if (X % 2)
///       return failure(ErrorCode::InvalidArgument, "%d is odd", X);
///     return X / 2;
///   }
///   Status quarter(int X, int &Out) {
///     Result<int> H = half(X);
///     if (!H)
///       return H.takeError();
///     ...
///     return success();
///   }
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_FORMAT_ERROR_H
#define KPC_RUNTIME_FORMAT_ERROR_H

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace kpc::format {

/// The numbers are those of kpc_status in kpc/runtime.h and never change.
enum class ErrorCode : int32_t {
  Success = 0,
  // The artifact.
  Io = 100,
  NotAnArtifact = 101,
  Version = 102,
  Damaged = 103,
  Malformed = 104,
  Signature = 105,
  // What it runs on.
  NoTarget = 200,
  CpuLevel = 201,
  DriverMissing = 202,
  DriverTooOld = 203,
  NoDevice = 204,
  // What the caller gave.
  InvalidArgument = 300,
  UnknownName = 301,
  Missing = 302,
  WrongType = 303,
  WrongShape = 304,
  OutOfRange = 305,
  WrongDevice = 306,
  Misaligned = 307,
  TooSmall = 308,
  // What ran out.
  OutOfMemory = 400,
  DeviceOutOfMemory = 401,
  System = 402,
  // Execution.
  Driver = 500,
  SessionLost = 501,
  TimedOut = 502,
  Operator = 503,
  Internal = 900,
};

struct Error {
  ErrorCode Code = ErrorCode::Internal;
  std::string Message;
  std::string Node;   ///< source nodes of the kernel, if one is at fault
  std::string Kernel; ///< its display name
  std::string Hint;   ///< what to do
};

/// Success, or an Error.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error E) : TheError(std::make_unique<Error>(std::move(E))) {}
  bool ok() const { return !TheError; }
  explicit operator bool() const { return ok(); }
  Error &error() { return *TheError; }
  Status takeError() { return std::move(*this); }

private:
  std::unique_ptr<Error> TheError;
};

inline Status success() { return Status(); }

template <class T> class [[nodiscard]] Result {
public:
  Result(T Value) : Value(std::move(Value)) {}
  Result(Status Failed) : Failed(std::move(Failed)) {}
  Result(Error E) : Failed(std::move(E)) {}
  bool ok() const { return Failed.ok(); }
  explicit operator bool() const { return ok(); }
  T &operator*() { return Value; }
  T *operator->() { return &Value; }
  Error &error() { return Failed.error(); }
  Status takeError() { return std::move(Failed); }

private:
  T Value{};
  Status Failed;
};

/// printf-formatted text.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char *Format, ...);

/// An error with a printf-formatted message.
[[gnu::format(printf, 2, 3)]] Error failure(ErrorCode Code, const char *Format,
                                            ...);

} // namespace kpc::format

#endif // KPC_RUNTIME_FORMAT_ERROR_H
