//===- PrecisionPatterns.h - The nodes that keep their type -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_PRECISIONPATTERNS_H
#define KPC_COMPILER_PRECISIONPATTERNS_H

#include "compiler/CompileOptions.h"
#include "compiler/Remarks.h"
#include "compiler/diagnostics/Diagnostics.h"
#include "mlir/IR/BuiltinOps.h"

namespace kpc {

/// Whether each pattern of --precision-for is found in the name of a node of
/// the graph. Patterns that are not found are errors, because a wrong pattern
/// would change numbers without a message.
bool checkPrecisionPatterns(mlir::ModuleOp Module,
                            const CompileOptions &Options, Diagnostics &Diags);
/// Warns of patterns that nevertheless keep nothing, as set-precision remarks.
void warnOfIdlePatterns(const std::vector<Remark> &Remarks, Diagnostics &Diags);

} // namespace kpc

#endif // KPC_COMPILER_PRECISIONPATTERNS_H
