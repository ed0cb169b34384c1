//===- Graph.h - The graph dialect -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Types, attributes and ops of `graph`; see Graph.td and
/// docs/dialects/graph.md.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_GRAPH_GRAPH_H
#define KPC_DIALECTS_GRAPH_GRAPH_H

#include "dialects/shape/Expr.h"
#include "dialects/shape/Facts.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace kpc::graph {

namespace detail {
struct SymbolicTensorTypeStorage;
struct DimsAttrStorage;
} // namespace detail

/// Marks ops whose result element depends on the operands' elements at the
/// same index alone.
template <typename ConcreteOp>
// NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility): as MLIR's traits are
class ElementwiseTrait
    : public mlir::OpTrait::TraitBase<ConcreteOp, ElementwiseTrait> {};

bool isFloat(mlir::Type Element);
/// An integer of any width and sign, bool included.
bool isInteger(mlir::Type Element);
bool isBool(mlir::Type Element);
/// A float or an integer that is not bool.
bool isNumber(mlir::Type Element);
bool isUnsigned(mlir::Type Element);
/// A float of 8 or 4 bits: values are converted, moved and stored, not computed
/// with.
bool isNarrowFloat(mlir::Type Element);
/// FP8 as tensor cores multiply it: f8E4M3FN or f8E5M2.
bool isFp8(mlir::Type Element);
/// An integer of 8 bits: products of two are added up in 32 bits.
bool isInt8(mlir::Type Element);
/// Codes that tensor cores multiply: FP8, or integers of 8 bits.
bool isCode(mlir::Type Element);
/// Scales of blocks: floats of 8 bits or more.
bool isScale(mlir::Type Element);
/// What graph.matmul multiplies: numbers, or FP8.
bool isFactor(mlir::Type Element);
/// An integer of 4 or 2 bits, likewise.
bool isNarrowInteger(mlir::Type Element);
/// Whether elements take less than a byte where they are packed.
bool isSubByte(mlir::Type Element);
/// What a kernel finds in memory: integers without a sign, narrow types as
/// bytes.
mlir::Type storedType(mlir::Type Element);
/// Bytes that one element takes in memory; a bool takes one.
int64_t elementBytes(mlir::Type Element);

} // namespace kpc::graph

#include "dialects/graph/GraphDialect.h.inc"
#include "dialects/graph/GraphEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/graph/GraphTypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/graph/GraphAttributes.h.inc"
#define GET_OP_CLASSES
#include "dialects/graph/Graph.h.inc"

namespace kpc::graph {

/// The graph type of a value.
inline SymbolicTensorType typeOf(mlir::Value V) {
  return llvm::cast<SymbolicTensorType>(V.getType());
}

/// What the module says of its symbols (the attribute `graph.symbols`).
shape::Facts symbolFacts(mlir::ModuleOp Module);
void setSymbolFacts(mlir::ModuleOp Module, const shape::Facts &Facts);

/// Dims of the model's inputs that are no symbols of the module, by the model's
/// names: what they were found to be, or fixed to (the attribute
/// `graph.taken_dims`).
using TakenDims = std::map<std::string, shape::Expr, std::less<>>;
TakenDims takenDims(mlir::ModuleOp Module);
void setTakenDims(mlir::ModuleOp Module, const TakenDims &Dims);

/// Whether one of the sizes names the symbol.
bool names(llvm::ArrayRef<shape::Expr> Dims, llvm::StringRef Symbol);

/// The value of a constant scalar or of a constant that repeats one value,
/// as a double; none for anything else.
std::optional<double> splatValue(mlir::Value V);

/// Of a function: a dictionary of the modules that nodes are of, by the nodes'
/// names, where exporters tell them as metadata. For people alone.
inline constexpr llvm::StringLiteral ScopesName = "graph.scopes";

} // namespace kpc::graph

#endif // KPC_DIALECTS_GRAPH_GRAPH_H
