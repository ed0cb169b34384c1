//===- Kernel.h - The kernel dialect ----------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What kernels hold beside linalg; see Kernel.td, KernelAttrs.td and
/// docs/dialects/kernel.md.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_KERNEL_KERNEL_H
#define KPC_DIALECTS_KERNEL_KERNEL_H

#include "dialects/shape/Facts.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <map>
#include <mutex>

#include "dialects/kernel/KernelEnums.h.inc"

namespace kpc::kernel {

/// What the indexing maps of a convolution follow from.
struct ConvMapsKey {
  mlir::DenseI64ArrayAttr Strides, Dilations;
  unsigned Rank = 0; ///< of x, w and y
  /// Of a group; 0 where there is one.
  int64_t Channels = 0, Outputs = 0;

  /// An order for a map: attributes stand where they were made.
  bool operator<(const ConvMapsKey &Other) const {
    auto Fields = [](const ConvMapsKey &K) {
      return std::make_tuple(K.Strides.getAsOpaquePointer(),
                             K.Dilations.getAsOpaquePointer(), K.Rank,
                             K.Channels, K.Outputs);
    };
    return Fields(*this) < Fields(Other);
  }
};
/// What a tensor map's loads bring into L2 where it does not say, in bytes.
inline constexpr uint32_t DefaultL2 = 128;

/// Writes `acc + a * b`, the body of GEMMs and convolutions.
void buildMultiplyAdd(mlir::ImplicitLocOpBuilder &B, mlir::Block &Body,
                      llvm::ArrayRef<mlir::NamedAttribute> Attributes,
                      llvm::function_ref<mlir::InFlightDiagnostic()> EmitError);
} // namespace kpc::kernel

#define GET_ATTRDEF_CLASSES
#include "dialects/kernel/KernelAttributes.h.inc"

#include "dialects/kernel/KernelDialect.h.inc"
#define GET_OP_CLASSES
#include "dialects/kernel/Kernel.h.inc"

namespace kpc::kernel {

/// What `kernel.size` says of an argument; nothing where it is not there.
shape::SymbolFacts argumentFacts(mlir::FunctionOpInterface Kernel,
                                 unsigned Argument);
void setArgumentFacts(mlir::FunctionOpInterface Kernel, unsigned Argument,
                      const shape::SymbolFacts &Known);

/// Expressions as attributes hold them: their texts.
mlir::ArrayAttr textsOf(mlir::MLIRContext *Context,
                        llvm::ArrayRef<shape::Expr> Exprs);

/// The attributes of a kernel; null where they are not there.
BuffersAttr buffersOf(mlir::Operation *Kernel);
/// The argument that holds the sums of squares of the rows of argument `Of`, if
/// there is one (`kernel.row_squares`).
mlir::BlockArgument rowSquaresOf(mlir::FunctionOpInterface Kernel, unsigned Of);
LaunchAttr launchOf(mlir::Operation *Kernel);
WorkAttr workOf(mlir::Operation *Kernel);
ScheduleAttr scheduleOf(mlir::Operation *Kernel);
ScheduleAttr forcedScheduleOf(mlir::Operation *Kernel);
/// Each a TensorMapAttr.
mlir::ArrayAttr tensorMapsOf(mlir::Operation *Kernel);

} // namespace kpc::kernel

#endif // KPC_DIALECTS_KERNEL_KERNEL_H
