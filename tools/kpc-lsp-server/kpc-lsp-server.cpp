//===- kpc-lsp-server.cpp - Language server for kpc's IR -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An editor that speaks the language server protocol shows diagnostics, what
// an op is, and where a value comes from, in files of `kpc compile --emit
// graph|linalg|plan`.
//
//===----------------------------------------------------------------------===//

#include "dialects/RegisterDialects.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry Registry;
  kpc::registerDialects(Registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, Registry));
}
