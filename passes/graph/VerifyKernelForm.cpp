//===- VerifyKernelForm.cpp - The border between graph and kernels -*- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Changes nothing. A kernel that holds an op or a type from above the border
/// is an error that names the pass which should have lowered it.
///
//===----------------------------------------------------------------------===//

#include "dialects/kernel/Kernel.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace kpc::graph {
#define GEN_PASS_DEF_VERIFYKERNELFORM
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

bool isOfGraph(Type Ty) { return isa<GraphDialect>(Ty.getDialect()); }

LogicalResult verifyOp(Operation *Op) {
  bool Allowed =
      isa<func::FuncOp, func::ReturnOp>(Op) ||
      isa_and_present<affine::AffineDialect, arith::ArithDialect,
                      bufferization::BufferizationDialect,
                      kernel::KernelDialect, linalg::LinalgDialect,
                      math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                      tensor::TensorDialect, ub::UBDialect>(Op->getDialect());
  if (!Allowed)
    return Op->emitError() << "'" << Op->getName()
                           << "' is left in a kernel; lower-regions lowers it";
  if (llvm::any_of(Op->getOperandTypes(), isOfGraph) ||
      llvm::any_of(Op->getResultTypes(), isOfGraph))
    return Op->emitError("a symbolic type is left in a kernel; lower-regions "
                         "gives each symbol an index argument");
  return success();
}

struct VerifyKernelFormPass
    : graph::impl::VerifyKernelFormBase<VerifyKernelFormPass> {
  void runOnOperation() override {
    for (auto Kernel : getOperation().getOps<func::FuncOp>()) {
      auto Result = Kernel.walk([](Operation *Op) {
        return failed(verifyOp(Op)) ? WalkResult::interrupt()
                                    : WalkResult::advance();
      });
      if (Result.wasInterrupted())
        return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};

} // namespace
