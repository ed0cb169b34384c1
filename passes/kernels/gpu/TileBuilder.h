//===- TileBuilder.h - What builders of tile kernels write with -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The base of the classes that write one kernel for tensor cores. It adds
/// 32-bit numbers to GpuWriter's indices, and the regions of the tile dialect.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_TILEBUILDER_H
#define KPC_PASSES_KERNELS_GPU_TILEBUILDER_H

#include "passes/kernels/gpu/GpuThreads.h"

#include "dialects/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace kpc::kernels {

class TileBuilder {
protected:
  using Value = mlir::Value;
  using ValueRange = mlir::ValueRange;
  using Values = llvm::SmallVector<Value>;

  explicit TileBuilder(FusedKernel &Form) : Form(Form), W(Form) {}

  // Numbers.
  Value i32(int64_t V) {
    return mlir::arith::ConstantIntOp::create(W.B, W.Loc, V, 32);
  }
  Value f32(double V) {
    return mlir::arith::ConstantOp::create(W.B, W.Loc,
                                           W.B.getF32FloatAttr(float(V)));
  }
  Value toI32(Value V) {
    return W.B.createOrFold<mlir::arith::IndexCastOp>(W.Loc, W.B.getI32Type(),
                                                      V);
  }
  Value toIndex(Value V) {
    return W.B.createOrFold<mlir::arith::IndexCastOp>(W.Loc, W.B.getIndexType(),
                                                      V);
  }
  template <typename Op> Value compute(Value X, Value Y) {
    return W.B.createOrFold<Op>(W.Loc, X, Y);
  }

  // Regions of the tile dialect.
  /// What the warpgroups from `First` to `End` do, with `Registers` a thread;
  /// 0: those of the launch.
  void role(llvm::StringRef Name, int64_t First, int64_t End, int64_t Registers,
            llvm::function_ref<void(Value Group)> Body);
  /// What one thread of the scope does.
  void elect(tile::Scope Scope, llvm::function_ref<void()> Body);
  /// A scalar function of each place of fragments and columns. It sees the
  /// column's number last, an i32, where the result is a fragment.
  Value apply(mlir::Type To, ValueRange Operands,
              llvm::function_ref<Value(ValueRange)> Body);
  /// A place in a pipe, or in a warp's ring, at its start; and the next one.
  Value cursor(Value Ring = {});
  Value next(Value Pipe, Value Cursor);

  FusedKernel &Form;
  GpuWriter W;
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_TILEBUILDER_H
