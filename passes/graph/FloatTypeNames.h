//===- FloatTypeNames.h - Float types in passes' options --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_FLOATTYPENAMES_H
#define KPC_PASSES_GRAPH_FLOATTYPENAMES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringSwitch.h"

namespace kpc::graph {

/// The type that `Name` names; null for an empty name, and an error at `Op`
/// for any other.
inline mlir::FailureOr<mlir::Type> floatTypeNamed(llvm::StringRef Name,
                                                  mlir::Operation *Op) {
  if (Name.empty())
    return mlir::Type();
  mlir::Builder B(Op->getContext());
  auto Type = llvm::StringSwitch<mlir::Type>(Name)
                  .Case("f16", B.getF16Type())
                  .Case("bf16", B.getBF16Type())
                  .Case("f32", B.getF32Type())
                  .Default(mlir::Type());
  if (!Type)
    return Op->emitError() << "'" << Name << "' is none of f32, f16, bf16";
  return Type;
}

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_FLOATTYPENAMES_H
