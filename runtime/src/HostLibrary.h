//===- HostLibrary.h - Host code of custom operators ------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_HOSTLIBRARY_H
#define KPC_RUNTIME_SRC_HOSTLIBRARY_H

#include "kpc/operator.h"
#include "runtime/format/Container.h"
#include "runtime/format/ValidateTarget.h"
#include "runtime/src/Errors.h"

#include <memory>
#include <span>
#include <vector>

namespace kpc::rt {

/// A shared object that the system's loader has loaded.
class HostLibrary {
public:
  /// Without `Image` the loader looks for the name.
  static Result<std::shared_ptr<const HostLibrary>>
  load(const char *Name, std::span<const uint8_t> Image,
       const format::DigestBytes &Digest);

  HostLibrary() = default;
  HostLibrary(const HostLibrary &) = delete;
  HostLibrary &operator=(const HostLibrary &) = delete;
  ~HostLibrary();

  Status find(const char *Symbol, kpc_operator_function &Into) const;

private:
  std::string Name;
  void *Handle = nullptr;
};

/// Calls a function with a launch's parameters.
Status callOperator(kpc_operator_function Function, const format::Kernel &K,
                    const uint64_t *Params);

} // namespace kpc::rt

#endif // KPC_RUNTIME_SRC_HOSTLIBRARY_H
