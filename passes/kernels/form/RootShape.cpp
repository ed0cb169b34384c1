//===- RootShape.cpp - The loops of a root op -----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/RootShape.h"

#include "dialects/kernel/Kernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace kpc::kernels {

shape::Facts factsOf(func::FuncOp Func) {
  shape::Facts Facts;
  for (unsigned I = 0; I < Func.getNumArguments(); ++I) {
    if (!Func.getArgument(I).getType().isIndex())
      continue;
    Facts.declare("arg" + std::to_string(I), kernel::argumentFacts(Func, I));
  }
  return Facts;
}

namespace {

/// `V` as a function of the loops of the generic around it, of one of them and
/// constants; null where it is no such.
AffineExpr indexExpr(Value V, ArrayRef<AffineExpr> Loops) {
  int64_t Plus = 0, Times = 1;
  auto TakeConstant = [&](Operation *Op, int64_t &Into) {
    std::optional<int64_t> Left = constantOf(Op->getOperand(0)),
                           Right = constantOf(Op->getOperand(1));
    if (!Left && !Right)
      return;
    Into = Right ? *Right : *Left;
    V = Op->getOperand(Right ? 0 : 1);
  };
  if (auto Sum = V.getDefiningOp<arith::AddIOp>())
    TakeConstant(Sum, Plus);
  if (auto Product = V.getDefiningOp<arith::MulIOp>())
    TakeConstant(Product, Times);
  auto Index = V.getDefiningOp<linalg::IndexOp>();
  AffineExpr Loop = Index ? Loops[Index.getDim()] : AffineExpr();
  return Loop ? Loop * Times + Plus : AffineExpr();
}

/// The places at which the root generic's results are read for an element of
/// an output, as functions of its indices.
class RootReads {
public:
  RootReads(Operation *Root, unsigned Rank) : Root(Root), Rank(Rank) {}

  /// Adds those of element `At` of `Tensor`, null where that is no function of
  /// the output's that is followed; false where such an element reads one.
  bool visit(Value Tensor, AffineMap At);
  /// The dim in whose other half they are, where they are not at the element's
  /// own indices; false where some are at neither.
  bool rotateHalf(std::optional<unsigned> &Dim) const;

  SmallVector<AffineMap> Places;

private:
  bool visitInputs(linalg::LinalgOp Op, ArrayRef<AffineExpr> Loops, bool AtOwn);
  /// Null where an index is.
  AffineMap mapOf(ArrayRef<AffineExpr> Indices) const;

  Operation *Root;
  unsigned Rank;
  llvm::DenseSet<std::pair<Value, AffineMap>> Seen;
};

AffineMap RootReads::mapOf(ArrayRef<AffineExpr> Indices) const {
  SmallVector<AffineExpr> Simple;
  for (AffineExpr Index : Indices) {
    if (!Index)
      return {};
    Simple.push_back(simplifyAffineExpr(Index, Rank, 0));
  }
  return AffineMap::get(Rank, 0, Simple, Root->getContext());
}

bool RootReads::visit(Value Tensor, AffineMap At) {
  if (!Seen.insert({Tensor, At}).second)
    return true;
  Operation *Def = Tensor.getDefiningOp();
  if (Def == Root) {
    if (At)
      Places.push_back(At);
    return bool(At);
  }
  if (auto Cast = dyn_cast_if_present<tensor::CastOp>(Def))
    return visit(Cast.getSource(), At);
  linalg::LinalgOp Op = loopsBehind(Tensor);
  if (!Op)
    return true;
  SmallVector<AffineExpr> Loops(Op.getNumLoops());
  AffineMap Result = Op.getIndexingMapMatchingResult(cast<OpResult>(Tensor));
  if (At)
    for (auto [Loop, Index] :
         llvm::zip_equal(Result.getResults(), At.getResults()))
      if (auto Dim = dyn_cast<AffineDimExpr>(Loop))
        Loops[Dim.getPosition()] = Index;
  return visitInputs(Op, Loops, At && At.isIdentity());
}

bool RootReads::visitInputs(linalg::LinalgOp Op, ArrayRef<AffineExpr> Loops,
                            bool AtOwn) {
  for (OpOperand &Operand : Op->getOpOperands()) {
    if (!Op.payloadUsesValueFromOperand(&Operand))
      continue;
    AffineMap Map = Op.getMatchingIndexingMap(&Operand);
    SmallVector<AffineExpr> Indices;
    for (AffineExpr Index : Map.getResults())
      if (auto Dim = dyn_cast<AffineDimExpr>(Index))
        Indices.push_back(Loops[Dim.getPosition()]);
      else
        Indices.push_back(isa<AffineConstantExpr>(Index) ? Index
                                                         : AffineExpr());
    if (!visit(Operand.get(), mapOf(Indices)))
      return false;
  }
  // One step of this kind on the way: what is at the element's own indices then
  // is read by these very values.
  bool Fine = true;
  Op.getBlock()->walk([&](tensor::ExtractOp Extract) {
    auto Indices = llvm::map_to_vector(Extract.getIndices(), [&](Value Index) {
      return AtOwn ? indexExpr(Index, Loops) : AffineExpr();
    });
    Fine = Fine && visit(Extract.getTensor(), mapOf(Indices));
  });
  return Fine;
}

bool RootReads::rotateHalf(std::optional<unsigned> &Dim) const {
  for (AffineMap Place : Places)
    for (auto [I, Index] : llvm::enumerate(Place.getResults())) {
      AffineExpr Own = getAffineDimExpr(I, Place.getContext());
      if (Index == Own)
        continue;
      auto Both = dyn_cast<AffineConstantExpr>(
          simplifyAffineExpr(Index + Own, Rank, 0));
      if (!Both || Both.getValue() != 1 || Dim.value_or(I) != I)
        return false;
      Dim = I;
    }
  return true;
}

} // namespace

std::optional<RootShape> RootShape::read(const FusedKernel &Form) {
  std::optional<RootShape> Shape = readWithRotateHalf(Form);
  if (Shape && Shape->RotateHalf)
    return std::nullopt;
  return Shape;
}

std::optional<RootShape>
RootShape::readWithRotateHalf(const FusedKernel &Form) {
  RootShape Shape;
  Shape.Root = Form.Root;
  if (!Shape.Root || Form.SeveralRoots)
    return std::nullopt;
  Shape.Root.getParallelDims(Shape.Parallel);
  Shape.Root.getReductionDims(Shape.Reduction);
  for (unsigned Loop = 0; Loop < Shape.Root.getNumLoops(); ++Loop) {
    OpFoldResult Size = loopSize(Shape.Root, Loop);
    if (!sizeExpr(Size))
      return std::nullopt;
    Shape.LoopSizes.push_back(Size);
  }
  // Results are the parallel loops in order.
  for (OpResult Result : Shape.Root->getResults()) {
    AffineMap Map = Shape.Root.getIndexingMapMatchingResult(Result);
    if (Map.getNumResults() != Shape.Parallel.size())
      return std::nullopt;
    for (auto [Expr, Loop] : llvm::zip_equal(Map.getResults(), Shape.Parallel))
      if (Expr != getAffineDimExpr(Loop, Map.getContext()))
        return std::nullopt;
  }
  Shape.Access.Opaque.assign(Shape.Parallel.size(), false);
  for (const KernelOutput &Out : Form.Outputs) {
    auto Type = cast<RankedTensorType>(Out.Tensor.getType());
    if (size_t(Type.getRank()) != Shape.Parallel.size())
      return std::nullopt;
    for (auto [Dim, Loop] : llvm::enumerate(Shape.Parallel))
      if (sizeExpr(tensorSize(Out.Tensor, Dim)) !=
          sizeExpr(Shape.LoopSizes[Loop]))
        return std::nullopt;
    unsigned Rank = Shape.Parallel.size();
    RootReads Reads(Shape.Root, Rank);
    if (!Reads.visit(Out.Tensor, AffineMap::getMultiDimIdentityMap(
                                     Rank, Shape.Root.getContext())) ||
        !Reads.rotateHalf(Shape.RotateHalf))
      return std::nullopt;
    AccessMaps One = accessesOf(Out.Tensor);
    for (auto [Mine, Theirs] : llvm::zip_equal(Shape.Access.Opaque, One.Opaque))
      Mine |= Theirs;
    llvm::append_range(Shape.Access.Accesses, One.Accesses);
    addIdentityAccess(Shape.Access, Out.Memref);
  }
  if (Shape.RotateHalf &&
      constantOf(Shape.LoopSizes[Shape.Parallel[*Shape.RotateHalf]]) != 2)
    return std::nullopt;
  return Shape;
}

} // namespace kpc::kernels
