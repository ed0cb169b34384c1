//===- TargetNames.h - Targets that passes take by name ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The `targets` option of passes that ask what kernels a target has.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_TARGETNAMES_H
#define KPC_PASSES_GRAPH_TARGETNAMES_H

#include "compiler/target/Target.h"
#include "mlir/IR/Operation.h"

namespace kpc::graph {

/// The targets of those names, in their order. Fails after an error on `Op`,
/// with the names that are near, where one means nothing.
inline mlir::FailureOr<llvm::SmallVector<const target::Target *>>
targetsNamed(llvm::ArrayRef<std::string> Names, mlir::Operation *Op) {
  llvm::SmallVector<const target::Target *> All;
  for (const std::string &Name : Names) {
    target::Lookup Found = target::lookup(Name);
    if (!Found)
      return Op->emitError(Found.Error);
    llvm::append_range(All, Found.Targets);
  }
  return All;
}

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_TARGETNAMES_H
