//===- Errors.h - The format's errors, as the runtime uses them -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Names of runtime/format/Error.h in the runtime's namespace.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_ERRORS_H
#define KPC_RUNTIME_SRC_ERRORS_H

#include "runtime/format/Error.h"

namespace kpc::rt {

using format::Error;
using format::ErrorCode;
using format::failure;
using format::formatted;
using format::Result;
using format::Status;
using format::success;

} // namespace kpc::rt

#endif // KPC_RUNTIME_SRC_ERRORS_H
