//===- HostBuilder.cpp - Choice of a host builder -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/host/HostBuilder.h"
#include "dialects/kernel/Kernel.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace kpc::kernels {

LogicalResult buildHostKernel(func::FuncOp Func, const HostMachine &Machine) {
  FailureOr<FusedKernel> Form = FusedKernel::read(Func);
  if (failed(Form))
    return failure();
  // The last builder takes every kernel.
  for (auto Build : {buildHostSortRuns, buildHostTile, buildHostReduction,
                     buildHostTranspose, buildHostMap}) {
    FailureOr<bool> Built = Build(*Form, Machine);
    if (failed(Built))
      return failure();
    if (*Built)
      return success();
  }
  return Func.emitOpError("fits no host builder");
}

namespace {
struct HostBuildKernel
    : PassWrapper<HostBuildKernel, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(HostBuildKernel)

  HostBuildKernel() = default;
  HostBuildKernel(const HostBuildKernel &Other) : PassWrapper(Other) {}

  StringRef getArgument() const override { return "kpc-host-build-kernel"; }
  StringRef getDescription() const override {
    return "Turns a kernel in its linalg form into host loops over work units";
  }
  void getDependentDialects(DialectRegistry &Registry) const override {
    Registry.insert<affine::AffineDialect, arith::ArithDialect,
                    kernel::KernelDialect, LLVM::LLVMDialect, math::MathDialect,
                    memref::MemRefDialect, scf::SCFDialect,
                    vector::VectorDialect>();
  }
  void runOnOperation() override {
    HostMachine Machine;
    Machine.VectorBits = VectorBits;
    Machine.VectorRegisters = VectorBits >= 512 ? 32 : 16;
    if (failed(buildHostKernel(getOperation(), Machine)))
      signalPassFailure();
  }

  Option<unsigned> VectorBits{*this, "vector-bits",
                              llvm::cl::desc("width of a vector register"),
                              llvm::cl::init(256)};
};
} // namespace

void registerHostBuildPass() { PassRegistration<HostBuildKernel>(); }

} // namespace kpc::kernels
