//===- LeadingDimensions.cpp - Padded leading dimensions ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/LeadingDimensions.h"
#include "passes/graph/GraphFunction.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

/// Shorter rows stay as they are: padding would cost more than a tenth of the
/// memory, and so few columns are no tensor core's work.
static constexpr int64_t ShortestRow = 64;
/// From so many columns on, rows are brought to whole lines.
static constexpr int64_t LongRow = 512;

/// Its memory is nobody's but the regions' that write and read it: views see
/// plain memory, and so does the caller.
static bool isOwn(Value V) {
  Operation *Def = V.getDefiningOp();
  return isa_and_present<RegionOp, WeightOp>(Def) && !holdsCustom(Def) &&
         llvm::all_of(V.getUsers(), [](Operation *User) {
           return isa<RegionOp>(User) && !holdsCustom(User);
         });
}

LeadingDimensions::LeadingDimensions(func::FuncOp Main,
                                     const shape::Facts &Facts)
    : Facts(Facts) {
  Main.walk([&](RegionOp Region) { look(Region); });
}

SymbolicTensorType LeadingDimensions::typeOf(Value V) const {
  if (SymbolicTensorType Ty = Padded.lookup(V))
    return Ty;
  return graph::typeOf(V);
}

Expr graph::paddedRow(const Expr &Row, unsigned Bits, int64_t Bytes) {
  Expr Elements(Bytes * 8 / Bits);
  return Row.ceilDiv(Elements) * Elements;
}

static constexpr unsigned Bits = 16; // of what tensor cores multiply

/// Its rows are long enough to be padded at all.
static bool hasRows(Value V, const shape::Facts &Facts) {
  SymbolicTensorType Ty = graph::typeOf(V);
  return Ty.getRank() >= 2 &&
         Ty.getElementType().getIntOrFloatBitWidth() == Bits &&
         Facts.range(Ty.getDims().back()).Min >= ShortestRow;
}

static bool isMultiple(const Expr &Row, int64_t Bytes,
                       const shape::Facts &Facts) {
  return Facts.divisor(Row) % (Bytes * 8 / Bits) == 0;
}

bool graph::wantsPadding(Value V, const shape::Facts &Facts) {
  return hasRows(V, Facts) &&
         !isMultiple(graph::typeOf(V).getDims().back(), RowBytes, Facts);
}

SmallVector<unsigned> graph::gemmInputs(RegionOp Region) {
  SmallVector<unsigned> Inputs;
  for (auto Product : Region.getBody().front().getOps<MatmulOp>())
    for (Value Operand : Product->getOperands()) {
      while (isa_and_present<CastOp, TransposeOp>(Operand.getDefiningOp()))
        Operand = Operand.getDefiningOp()->getOperand(0);
      if (auto Argument = dyn_cast<BlockArgument>(Operand))
        Inputs.push_back(Argument.getArgNumber());
    }
  return Inputs;
}

void LeadingDimensions::pad(Value V) {
  if (!isOwn(V) || !hasRows(V, Facts))
    return;
  SymbolicTensorType Ty = graph::typeOf(V);
  SmallVector<Expr> Dims(Ty.getDims());
  Expr &Row = Dims.back();
  bool Long = Facts.range(Row).Min >= LongRow;
  int64_t Bytes = Long ? LineBytes : RowBytes;
  if (isMultiple(Row, Bytes, Facts))
    return;
  Row = paddedRow(Row, Bits, Bytes);
  Padded[V] = Ty.withDims(Dims);
}

/// Operands of a product, and what the region of one gives.
void LeadingDimensions::look(RegionOp Region) {
  if (Region.getBody().front().getOps<MatmulOp>().empty())
    return;
  for (unsigned Input : gemmInputs(Region))
    pad(Region.getInputs()[Input]);
  for (Value Output : Region.getOutputs())
    pad(Output);
}
