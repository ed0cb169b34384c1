//===- RowSpace.cpp - What a kernel that works row by row may hold --------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/RowSpace.h"

#include <numeric>
#include <set>

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

static bool isOne(const Expr &E) { return E == Expr(1); }

bool graph::movesOnesOnly(ReshapeOp Op) {
  auto Others = [](SymbolicTensorType Ty) {
    return llvm::to_vector(llvm::make_filter_range(
        Ty.getDims(), [](const Expr &E) { return !isOne(E); }));
  };
  return Others(typeOf(Op.getX())) == Others(typeOf(Op.getY()));
}

std::optional<int64_t> graph::saidSize(const Expr &Size,
                                       const shape::Facts &Facts) {
  std::set<std::string, std::less<>> Names;
  Size.collectSymbols(Names);
  for (const std::string &Name : Names) {
    auto Known = Facts.symbols().find(Name);
    if (Known == Facts.symbols().end() || !Known->second.Optimum)
      return std::nullopt;
  }
  return Facts.optimum(Size);
}

std::optional<RowSpace> RowSpace::reducedBy(Operation *Op) {
  auto Reduce = dyn_cast<ReduceOp>(Op);
  if (!Reduce || Reduce.getAxes().empty())
    return std::nullopt;
  SymbolicTensorType Ty = typeOf(Reduce.getX());
  if (!graph::isNumber(Ty.getElementType()))
    return std::nullopt;
  RowSpace S;
  S.Dims.assign(Ty.getDims().begin(), Ty.getDims().end());
  S.IsRow.resize(S.Dims.size());
  for (int64_t Axis : Reduce.getAxes())
    S.IsRow.set(Axis);
  return S;
}

Expr RowSpace::rowSize() const {
  Expr Size = 1;
  for (unsigned Dim : IsRow.set_bits())
    Size = Size * Dims[Dim];
  return Size;
}

size_t RowSpace::pieceRank() const {
  size_t Rank = 0;
  while (Rank < Dims.size() && IsRow.test(Dims.size() - 1 - Rank))
    ++Rank;
  return Rank;
}

Expr RowSpace::pieceSize() const {
  Expr Size = 1;
  for (const Expr &E : ArrayRef(Dims).take_back(pieceRank()))
    Size = Size * E;
  return Size;
}

bool RowSpace::fitsKernel(int64_t LongestPiece,
                          const shape::Facts &Facts) const {
  // Longer columns are split (split-reductions); of fewer, most of a line of
  // threads has nothing to do.
  constexpr int64_t LongestColumn = 2047, FewestColumns = 16;
  Expr Columns = 1;
  for (size_t Dim = Dims.size(); Dim-- > 0 && !IsRow.test(Dim);)
    Columns = Columns * Dims[Dim];
  if (hasColumns())
    return Columns.asConstant().value_or(FewestColumns) >= FewestColumns &&
           saidSize(rowSize(), Facts).value_or(Facts.range(rowSize()).Max) <=
               LongestColumn;
  return Facts.optimum(rowSize()).value_or(0) <=
         longestRow(LongestPiece, Facts);
}

int64_t RowSpace::longestRow(int64_t OfOnePiece,
                             const shape::Facts &Facts) const {
  constexpr int64_t WholeVector = 8; // elements of 16 bits
  if (isOnePiece())
    return OfOnePiece;
  // A row is read once for each of its reductions, in vectors of a piece.
  int64_t Piece = Facts.optimum(pieceSize()).value_or(WholeVector);
  if (Piece >= LongPiece)
    return OfOnePiece / 2;
  return OfOnePiece / 2 * std::gcd(std::max<int64_t>(Piece, 1), WholeVector) /
         WholeVector;
}

bool RowSpace::isWhole(SymbolicTensorType Ty) const {
  return Ty.getDims() == ArrayRef(Dims);
}

bool RowSpace::isPerRow(SymbolicTensorType Ty) const {
  SmallVector<Expr> Outer, Sizes;
  for (auto [Dim, Size] : llvm::enumerate(Dims))
    if (!IsRow.test(Dim) && !isOne(Size))
      Outer.push_back(Size);
  llvm::copy_if(Ty.getDims(), std::back_inserter(Sizes),
                [](const Expr &Size) { return !isOne(Size); });
  return Sizes == Outer;
}

/// Whether a value of one element a row has ones in place of the row.
bool RowSpace::isAligned(SymbolicTensorType Ty) const {
  return Ty.getRank() == int64_t(Dims.size()) &&
         llvm::all_of(llvm::enumerate(Ty.getDims()), [&](const auto &Size) {
           return IsRow.test(Size.index()) ? isOne(Size.value())
                                           : Size.value() == Dims[Size.index()];
         });
}

bool RowSpace::keepsRows(Operation *Op) const {
  if (Op->getNumResults() != 1)
    return false;
  if (auto Reduce = dyn_cast<ReduceOp>(Op))
    return reducedBy(Reduce) == *this;
  SymbolicTensorType To = typeOf(Op->getResult(0));
  if (Op->hasTrait<ElementwiseTrait>())
    return isWhole(To) || isPerRow(To);
  SymbolicTensorType From = Op->getNumOperands() == 1
                                ? typeOf(Op->getOperand(0))
                                : SymbolicTensorType();
  if (auto Reshape = dyn_cast<ReshapeOp>(Op))
    return isPerRow(From) && isPerRow(To);
  // Dimensions of one side by side, so that each row gets its own element.
  if (isa<BroadcastOp>(Op))
    return isWhole(To) ? isAligned(From) || (IsRow.all() && isPerRow(From))
                       : isPerRow(From) && isPerRow(To);
  return false;
}
