//===- RegisterDialects.h - Every dialect that kpc uses ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_REGISTERDIALECTS_H
#define KPC_DIALECTS_REGISTERDIALECTS_H

namespace mlir {
class DialectRegistry;
}

namespace kpc {

/// Registers kpc's dialects and the upstream ones it lowers through, by name:
/// registering all of MLIR would more than double the binary.
void registerDialects(mlir::DialectRegistry &Registry);

} // namespace kpc

#endif // KPC_DIALECTS_REGISTERDIALECTS_H
