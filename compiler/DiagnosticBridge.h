//===- DiagnosticBridge.h - MLIR's diagnostics as kpc's -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_DIAGNOSTICBRIDGE_H
#define KPC_COMPILER_DIAGNOSTICBRIDGE_H

#include "compiler/Remarks.h"
#include "compiler/diagnostics/Diagnostics.h"
#include "mlir/IR/Diagnostics.h"

namespace kpc {

/// The model's node that a location names.
ModelPlace placeOf(mlir::Location Loc);

/// While it lives, errors of MLIR's are reported to `Diags` under `As`.
class DiagnosticBridge {
public:
  DiagnosticBridge(mlir::MLIRContext &Context, Diagnostics &Diags, Code As);
  /// What errors from now on are reported as.
  void setCode(Code As) { TheCode = As; }

private:
  Code TheCode;
  mlir::ScopedDiagnosticHandler Handler;
};

/// Collects MLIR's optimization remarks of the context into `Remarks`.
void collectRemarks(mlir::MLIRContext &Context, std::vector<Remark> &Remarks);

} // namespace kpc

#endif // KPC_COMPILER_DIAGNOSTICBRIDGE_H
