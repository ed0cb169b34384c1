//===- kpc-opt.cpp - Runs passes on a file of IR -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/host/HostLowering.h"
#include "dialects/RegisterDialects.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "passes/RegisterPasses.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry Registry;
  kpc::registerDialects(Registry);
  kpc::registerPasses();
  kpc::codegen::registerHostLoweringPass();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "kpc optimizer driver\n", Registry));
}
