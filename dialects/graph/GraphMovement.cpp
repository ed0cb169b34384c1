//===- GraphMovement.cpp - Types, verifiers and folds of ops that move elements
//-*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/InferTypes.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

static LogicalResult checkAxis(std::optional<Location> Loc, int64_t Axis,
                               int64_t Rank) {
  if (Axis >= 0 && Axis < Rank)
    return success();
  return emitOptionalError(Loc, "axis ", Axis, " is outside [0, ", Rank, ")");
}

/// Whether a size is at most another: equal, or both numbers.
static bool fitsIn(const Expr &Size, const Expr &Limit) {
  std::optional<int64_t> A = Size.asConstant(), B = Limit.asConstant();
  return Size == Limit || (A && B && *A <= *B);
}

/// One value repeated, with the result's sizes; null for anything else.
static OpFoldResult splatOf(Attribute X, SymbolicTensorType Ty) {
  auto Elements = dyn_cast_if_present<DenseElementsAttr>(X);
  if (!Elements || !Elements.isSplat() || !Ty.hasStaticShape())
    return {};
  SmallVector<int64_t> Sizes;
  for (const Expr &E : Ty.getDims())
    Sizes.push_back(*E.asConstant());
  return Elements.resizeSplat(
      RankedTensorType::get(Sizes, Ty.getElementType()));
}

//===----------------------------------------------------------------------===//
// broadcast, reshape
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  SymbolicTensorType From = typeOf(getX()), To = typeOf(getY());
  if (From.getElementType() != To.getElementType())
    return emitOpError() << "changes the element type from "
                         << From.getElementType() << " to "
                         << To.getElementType();
  int64_t New = To.getRank() - From.getRank();
  if (New < 0)
    return emitOpError() << "lowers the rank from " << From.getRank() << " to "
                         << To.getRank();
  for (auto [I, Size] : llvm::enumerate(From.getDims()))
    if (Size != Expr(1) && Size != To.getDims()[New + I])
      return emitOpError() << "size " << Size.str() << " does not become "
                           << To.getDims()[New + I].str() << " in dimension "
                           << I;
  return success();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor Op) {
  if (getX().getType() == getY().getType())
    return getX();
  return splatOf(Op.getX(), typeOf(getY()));
}

LogicalResult ReshapeOp::verify() {
  SymbolicTensorType From = typeOf(getX()), To = typeOf(getY());
  if (From.getElementType() != To.getElementType())
    return emitOpError() << "changes the element type from "
                         << From.getElementType() << " to "
                         << To.getElementType();
  if (From.getNumElements() != To.getNumElements())
    return emitOpError() << "changes the number of elements from "
                         << From.getNumElements().str() << " to "
                         << To.getNumElements().str();
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor Op) {
  if (getX().getType() == getY().getType())
    return getX();
  if (auto Inner = getX().getDefiningOp<ReshapeOp>()) {
    getXMutable().assign(Inner.getX());
    return getY();
  }
  SymbolicTensorType Ty = typeOf(getY());
  auto Elements = dyn_cast_if_present<DenseElementsAttr>(Op.getX());
  if (!Elements || !Ty.hasStaticShape())
    return {};
  SmallVector<int64_t> Sizes;
  for (const Expr &E : Ty.getDims())
    Sizes.push_back(*E.asConstant());
  return Elements.reshape(RankedTensorType::get(Sizes, Ty.getElementType()));
}

//===----------------------------------------------------------------------===//
// transpose, slice
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> Loc,
                                            Adaptor Op,
                                            SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  SymbolicTensorType From = typeOf(Op.getX());
  llvm::SmallBitVector Seen(From.getRank());
  SmallVector<Expr> Dims;
  for (int64_t P : Op.getPerm()) {
    if (P < 0 || P >= From.getRank() || Seen.test(P))
      return emitOptionalError(Loc, "perm is not a permutation of ",
                               From.getRank(), " dimensions");
    Seen.set(P);
    Dims.push_back(From.getDims()[P]);
  }
  if (!Seen.all())
    return emitOptionalError(Loc, "perm is not a permutation of ",
                             From.getRank(), " dimensions");
  return appendTensor(Loc, Dims, From.getElementType(), Types);
}

OpFoldResult TransposeOp::fold(FoldAdaptor Op) {
  if (OpFoldResult Splat = splatOf(Op.getX(), typeOf(getY())))
    return Splat;
  if (llvm::equal(getPerm(), llvm::seq<int64_t>(0, getPerm().size())))
    return getX();
  auto Inner = getX().getDefiningOp<TransposeOp>();
  if (!Inner)
    return {};
  SmallVector<int64_t> Perm;
  for (int64_t P : getPerm())
    Perm.push_back(Inner.getPerm()[P]);
  if (llvm::equal(Perm, llvm::seq<int64_t>(0, Perm.size())))
    return Inner.getX();
  getXMutable().assign(Inner.getX());
  setPerm(Perm);
  return getY();
}

/// Whether numbers alone show that a slice reads what is not there.
static bool reachesOutside(const Expr &Size, const Expr &Start, int64_t Step,
                           const Expr &Count) {
  if (Count == Expr(0))
    return false;
  Expr Last = Start + (Count - 1) * Step;
  auto Outside = [&](const Expr &Index) {
    std::optional<int64_t> After = (Size - 1 - Index).asConstant();
    return Index.overflowed() || Index.asConstant().value_or(0) < 0 ||
           After.value_or(0) < 0;
  };
  return Outside(Start) || Outside(Last);
}

LogicalResult SliceOp::verify() {
  SymbolicTensorType From = typeOf(getX()), To = typeOf(getY());
  if (From.getElementType() != To.getElementType())
    return emitOpError("changes the element type");
  size_t Rank = From.getRank();
  if (To.getDims().size() != Rank || getStart().getDims().size() != Rank ||
      getStep().size() != Rank)
    return emitOpError() << "needs " << Rank << " starts, steps and sizes";
  if (llvm::is_contained(getStep(), 0))
    return emitOpError("has a step of 0");
  for (size_t I = 0; I < Rank; ++I)
    if (reachesOutside(From.getDims()[I], getStart().getDims()[I], getStep()[I],
                       To.getDims()[I]))
      return emitOpError() << "reaches outside x in dimension " << I
                           << ": start " << getStart().getDims()[I].str()
                           << ", step " << getStep()[I] << ", size "
                           << To.getDims()[I].str() << " of "
                           << From.getDims()[I].str();
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor Op) {
  if (OpFoldResult Splat = splatOf(Op.getX(), typeOf(getY())))
    return Splat;
  bool Whole = getX().getType() == getY().getType() &&
               llvm::all_of(getStep(), [](int64_t S) { return S == 1; }) &&
               llvm::all_of(getStart().getDims(),
                            [](const Expr &E) { return E == Expr(0); });
  return Whole ? getX() : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// concat, pad
//===----------------------------------------------------------------------===//

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> Loc,
                                         Adaptor Op,
                                         SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  if (Op.getXs().empty())
    return emitOptionalError(Loc, "joins nothing");
  SymbolicTensorType First = typeOf(Op.getXs().front());
  int64_t Axis = Op.getAxis();
  if (failed(checkAxis(Loc, Axis, First.getRank())))
    return failure();
  SmallVector<Expr> Dims(First.getDims());
  Dims[Axis] = Expr(0);
  for (Value X : Op.getXs()) {
    SymbolicTensorType Ty = typeOf(X);
    if (Ty.getRank() != First.getRank() ||
        Ty.getElementType() != First.getElementType())
      return emitOptionalError(Loc, "joins ", First, " and ", Ty);
    for (int64_t I = 0; I < Ty.getRank(); ++I)
      if (I != Axis && Ty.getDims()[I] != First.getDims()[I])
        return emitOptionalError(Loc, "sizes ", First.getDims()[I].str(),
                                 " and ", Ty.getDims()[I].str(),
                                 " differ in dimension ", I);
    Dims[Axis] = Dims[Axis] + Ty.getDims()[Axis];
  }
  return appendTensor(Loc, Dims, First.getElementType(), Types);
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getXs().size() == 1 ? OpFoldResult(getXs().front()) : OpFoldResult();
}

LogicalResult PadOp::inferReturnTypes(MLIRContext *,
                                      std::optional<Location> Loc, Adaptor Op,
                                      SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  SymbolicTensorType From = typeOf(Op.getX()), Filler = typeOf(Op.getFiller());
  size_t Rank = From.getRank();
  if (Filler.getRank() != 0 || Filler.getElementType() != From.getElementType())
    return emitOptionalError(Loc, "filler ", Filler, " is not a scalar of ",
                             From.getElementType());
  if (Op.getLow().size() != Rank || Op.getHigh().size() != Rank ||
      Op.getInterior().size() != Rank)
    return emitOptionalError(Loc, "needs ", Rank,
                             " entries in low, high, interior");
  SmallVector<Expr> Dims;
  for (auto [Size, Low, High, Interior] : llvm::zip_equal(
           From.getDims(), Op.getLow(), Op.getHigh(), Op.getInterior())) {
    if (Interior < 0)
      return emitOptionalError(Loc, "interior padding ", Interior,
                               " is negative");
    Expr Spread =
        Interior == 0
            ? Size
            : Expr::max(Size * (Expr(Interior) + 1) - Interior, Expr(0));
    Dims.push_back(Spread + Low + High);
  }
  return appendTensor(Loc, Dims, From.getElementType(), Types);
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  auto Zero = [](ArrayRef<int64_t> L) {
    return llvm::all_of(L, [](int64_t V) { return V == 0; });
  };
  return Zero(getLow()) && Zero(getHigh()) && Zero(getInterior())
             ? OpFoldResult(getX())
             : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// gather, scatter, iota
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> Loc,
                                         Adaptor Op,
                                         SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  SymbolicTensorType From = typeOf(Op.getX());
  int64_t Axis = Op.getAxis();
  if (failed(checkAxis(Loc, Axis, From.getRank())))
    return failure();
  SmallVector<Expr> Dims(From.getDims().take_front(Axis));
  llvm::append_range(Dims, typeOf(Op.getIndices()).getDims());
  llvm::append_range(Dims, From.getDims().drop_front(Axis + 1));
  return appendTensor(Loc, Dims, From.getElementType(), Types);
}

LogicalResult GatherElementsOp::inferReturnTypes(MLIRContext *,
                                                 std::optional<Location> Loc,
                                                 Adaptor Op,
                                                 SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  SymbolicTensorType From = typeOf(Op.getX()),
                     Indices = typeOf(Op.getIndices());
  int64_t Axis = Op.getAxis();
  if (failed(checkAxis(Loc, Axis, From.getRank())))
    return failure();
  if (Indices.getRank() != From.getRank())
    return emitOptionalError(Loc, "indices of rank ", Indices.getRank(),
                             " for x of rank ", From.getRank());
  for (int64_t I = 0; I < From.getRank(); ++I)
    if (I != Axis && !fitsIn(Indices.getDims()[I], From.getDims()[I]))
      return emitOptionalError(Loc, "indices have size ",
                               Indices.getDims()[I].str(), " in dimension ", I,
                               ", x has ", From.getDims()[I].str());
  return appendTensor(Loc, Indices.getDims(), From.getElementType(), Types);
}

/// Checks the shape of ONNX's *ND index vectors; returns their length.
static FailureOr<int64_t> indexVectorLength(std::optional<Location> Loc,
                                            SymbolicTensorType X,
                                            SymbolicTensorType Indices,
                                            int64_t BatchDims) {
  if (Indices.getRank() == 0 || BatchDims < 0 ||
      BatchDims >= Indices.getRank() || BatchDims > X.getRank())
    return emitOptionalError(Loc, "batch_dims ", BatchDims,
                             " does not fit the ranks of x and indices");
  std::optional<int64_t> Length = Indices.getStaticDim(Indices.getRank() - 1);
  if (!Length || *Length > X.getRank() - BatchDims)
    return emitOptionalError(Loc, "the index vectors' length ",
                             Indices.getDims().back().str(),
                             " is not a number of dimensions of x");
  return *Length;
}

LogicalResult GatherNdOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location> Loc,
                                           Adaptor Op,
                                           SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  SymbolicTensorType From = typeOf(Op.getX()),
                     Indices = typeOf(Op.getIndices());
  int64_t Batch = Op.getBatchDims();
  FailureOr<int64_t> Length = indexVectorLength(Loc, From, Indices, Batch);
  if (failed(Length))
    return failure();
  for (int64_t I = 0; I < Batch; ++I)
    if (From.getDims()[I] != Indices.getDims()[I])
      return emitOptionalError(Loc, "batch sizes ", From.getDims()[I].str(),
                               " and ", Indices.getDims()[I].str(),
                               " differ in dimension ", I);
  SmallVector<Expr> Dims(Indices.getDims().drop_back());
  llvm::append_range(Dims, From.getDims().drop_front(Batch + *Length));
  return appendTensor(Loc, Dims, From.getElementType(), Types);
}

LogicalResult
ScatterElementsOp::inferReturnTypes(MLIRContext *, std::optional<Location> Loc,
                                    Adaptor Op, SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  SymbolicTensorType X = typeOf(Op.getX()), Indices = typeOf(Op.getIndices()),
                     Updates = typeOf(Op.getUpdates());
  if (failed(checkAxis(Loc, Op.getAxis(), X.getRank())))
    return failure();
  if (Indices.getRank() != X.getRank() ||
      Updates.getDims() != Indices.getDims() ||
      Updates.getElementType() != X.getElementType())
    return emitOptionalError(Loc, "x ", X, ", indices ", Indices, ", updates ",
                             Updates, " do not fit");
  Types.push_back(X);
  return success();
}

LogicalResult ScatterNdOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> Loc,
                                            Adaptor Op,
                                            SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  SymbolicTensorType X = typeOf(Op.getX()), Indices = typeOf(Op.getIndices()),
                     Updates = typeOf(Op.getUpdates());
  FailureOr<int64_t> Length = indexVectorLength(Loc, X, Indices, 0);
  if (failed(Length))
    return failure();
  SmallVector<Expr> Dims(Indices.getDims().drop_back());
  llvm::append_range(Dims, X.getDims().drop_front(*Length));
  if (Updates != X.withDims(Dims))
    return emitOptionalError(Loc, "updates ", Updates, " should be ",
                             X.withDims(Dims));
  Types.push_back(X);
  return success();
}

LogicalResult IotaOp::verify() {
  return checkAxis(getLoc(), getAxis(), typeOf(getY()).getRank());
}

//===----------------------------------------------------------------------===//
// pack, unpack
//===----------------------------------------------------------------------===//

SymbolicTensorType graph::packedType(SymbolicTensorType Ty) {
  int64_t PerByte = 8 / Ty.getElementType().getIntOrFloatBitWidth();
  auto Byte = IntegerType::get(Ty.getContext(), 8, IntegerType::Unsigned);
  return SymbolicTensorType::get(Ty.getNumElements().ceilDiv(PerByte), Byte);
}

LogicalResult PackOp::inferReturnTypes(MLIRContext *,
                                       std::optional<Location> Loc, Adaptor Op,
                                       SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  Type Element = typeOf(Op.getX()).getElementType();
  if (!isSubByte(Element))
    return emitOptionalError(Loc, "packs elements of ", Element,
                             "; expected elements of 2 or 4 bits");
  Types.push_back(packedType(typeOf(Op.getX())));
  return success();
}

LogicalResult UnpackOp::verify() {
  SymbolicTensorType To = typeOf(getY());
  if (!isSubByte(To.getElementType()))
    return emitOpError() << "unpacks elements of " << To.getElementType()
                         << "; expected elements of 2 or 4 bits";
  if (getX().getType() != packedType(To))
    return emitOpError() << "unpacks " << getX().getType() << "; expected "
                         << packedType(To);
  return success();
}
