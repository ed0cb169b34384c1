//===- TileMma.cpp - Verifiers of products and fragments ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/tile/Tile.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace kpc::tile;

#define GET_OP_CLASSES
#include "dialects/tile/Tile.cpp.inc"

/// What is pending is one thing: each op takes it over from the one before.
static LogicalResult verifyUsedOnce(Operation *Op, Value Pending) {
  if (Pending.hasOneUse())
    return success();
  return Op->emitOpError()
         << "expected exactly one use of the pending fragment, got "
         << std::distance(Pending.use_begin(), Pending.use_end());
}

TileFactor kpc::tile::leftFactor(Type Ty, bool Transposed) {
  if (auto Packed = dyn_cast<PackedType>(Ty))
    return {Packed.getRows(), Packed.getColumns(), Packed.getElement(),
            /*Swizzled=*/true, /*SumContiguous=*/true};
  if (auto Memory = dyn_cast<TensorMemoryType>(Ty))
    return {Memory.getRows(), Memory.getColumns(), Memory.getElement(),
            /*Swizzled=*/true, /*SumContiguous=*/true};
  auto A = cast<SharedType>(Ty);
  int64_t M = A.getRows(), K = A.getColumns();
  if (Transposed)
    std::swap(M, K);
  return {M, K, A.getElement(), A.getSwizzle() != 0, !Transposed};
}

TileFactor kpc::tile::rightFactor(SharedType B, bool Transposed) {
  return leftFactor(B, !Transposed);
}

static bool isFp8(Type Ty) { return isa<Float8E4M3FNType, Float8E5M2Type>(Ty); }

Type kpc::tile::accumulatorOf(Type Factor) {
  return Factor.isInteger() ? Type(IntegerType::get(Factor.getContext(), 32))
                            : Type(Float32Type::get(Factor.getContext()));
}

LogicalResult kpc::tile::verifyFactors(Operation *Op, const TileFactor &A,
                                       const TileFactor &B) {
  Type Element = A.Element;
  bool IsOne = Element == B.Element &&
               (Element.isF16() || Element.isBF16() || Element.isF32());
  bool AreIntegers = Element.isInteger(8) && B.Element.isInteger(8);
  if (!IsOne && !AreIntegers && !(isFp8(Element) && isFp8(B.Element)))
    return Op->emitOpError()
           << "expected two operands of f16, of bf16, of f32 (as tf32), of "
              "FP8 or of integers of 8 bits, got "
           << Element << " and " << B.Element;
  if (!A.Swizzled || !B.Swizzled)
    return Op->emitOpError("expected swizzled tiles");
  if (A.Sum != B.Sum)
    return Op->emitOpError() << "expected one K in both operands, got " << A.Sum
                             << " in a and " << B.Sum << " in b";
  int64_t Step = 256 / int64_t(Element.getIntOrFloatBitWidth());
  if (A.Sum % Step)
    return Op->emitOpError() << "expected a K that is a multiple of " << Step
                             << ", got " << A.Sum;
  return success();
}

LogicalResult kpc::tile::verifyWgmmaLayout(Operation *Op) {
  for (TypeRange Types :
       {TypeRange(Op->getOperandTypes()), TypeRange(Op->getResultTypes())})
    for (Type Ty : Types)
      if (FragmentType Fragment = fragmentOf(Ty);
          Fragment && Fragment.isTmemLayout())
        return Op->emitOpError(
            "expected fragments in the layout of wgmma, got tmem_32x32b");
  return success();
}

LogicalResult MmaOp::verify() {
  if (failed(verifyWgmmaLayout(*this)))
    return failure();
  TileFactor A = leftFactor(getA().getType(), getATransposed());
  TileFactor B = rightFactor(getB().getType(), getBTransposed());
  FragmentType D = getD().getType().getFragment();
  if (getATransposed() && isa<PackedType>(getA().getType()))
    return emitOpError("expected a packed operand without 'transposed'");
  if (isa<PackedType>(getA().getType()) &&
      A.Element.getIntOrFloatBitWidth() > 16)
    return emitOpError() << "expected a packed operand of 16 bits or FP8, got "
                         << A.Element;
  if (isa<PackedType>(getA().getType()) && A.Outer != 64)
    return emitOpError() << "expected a packed operand of 64 rows, got "
                         << A.Outer;
  if (failed(verifyFactors(*this, A, B)))
    return failure();
  if (D.getElement() != accumulatorOf(A.Element))
    return emitOpError() << "expected accumulators of "
                         << accumulatorOf(A.Element) << ", got "
                         << D.getElement();
  if (A.Element.getIntOrFloatBitWidth() != 16 &&
      !(A.SumContiguous && B.SumContiguous))
    return emitOpError() << "on " << A.Element
                         << " expected both operands contiguous along K";
  int64_t M = A.Outer, N = B.Outer;
  if (A.Element.isInteger() && N > 32 && N % 16)
    return emitOpError() << "of integers expected an N of 8 up to 32, or a "
                            "multiple of 16, got "
                         << N;
  if (M % 64 || N % 8 || N > 256)
    return emitOpError() << "expected an M that is a multiple of 64 and an N "
                            "of 8 up to 256, got "
                         << M << " and " << N;
  if (D.getRows() != M || D.getColumns() != N)
    return emitOpError() << "expected a result of " << M << " rows and " << N
                         << " columns, got " << D.getRows() << " and "
                         << D.getColumns();
  if (getC() && fragmentOf(getC().getType()) != D)
    return emitOpError("expected accumulators of the result's type");
  return verifyUsedOnce(*this, getD());
}

LogicalResult WgmmaWaitOp::verify() {
  if (failed(verifyWgmmaLayout(*this)))
    return failure();
  if (int32_t(getInFlight()) < 0)
    return emitOpError() << "expected 0 or more products in flight, got "
                         << int32_t(getInFlight());
  return verifyUsedOnce(*this, getStill());
}

LogicalResult AwaitOp::verify() {
  if (getPending().getType().getFragment() != getFragment().getType())
    return emitOpError("expected the type of the pending fragment as result");
  auto Keep = int32_t(getInFlight());
  if (Keep < 0)
    return emitOpError() << "expected 0 or more products in flight, got "
                         << int32_t(getInFlight());
  if (Keep && getFragment().getType().isTmemLayout())
    return emitOpError() << "expected no reads of tensor memory in flight, got "
                         << Keep;
  if (!Keep)
    return success();
  // What is kept is newer than what is awaited.
  auto Awaited = getPending().getDefiningOp<MmaOp>();
  int32_t Newer = 0;
  if (Awaited && Awaited->getBlock() == (*this)->getBlock())
    for (Operation *Op = Awaited->getNextNode(); Op && Op != *this;
         Op = Op->getNextNode())
      Newer += isa<MmaOp>(Op);
  if (Newer >= Keep)
    return success();
  return emitOpError() << "expected " << Keep
                       << " products that were begun in this block after the "
                          "one it awaits, got "
                       << Newer;
}

LogicalResult ExtractColumnsOp::verify() {
  FragmentType From = getFragment().getType(), To = getPart().getType();
  if (From.getRows() != To.getRows() || From.getElement() != To.getElement())
    return emitOpError(
        "expected a part with the fragment's rows and element type");
  if (From.getLayout() != To.getLayout())
    return emitOpError("expected a result in the fragment's layout");
  auto First = int64_t(getFirst());
  if (First < 0 || First % 8 || First > From.getColumns() - To.getColumns())
    return emitOpError(
        "expected columns of the fragment, from a multiple of 8 on");
  auto Run = int64_t(getRotateHalf());
  bool StaysInThread = Run == 1 || (Run >= 0 && Run % 8 == 0);
  if (!StaysInThread || (Run && From.getColumns() % (2 * Run)))
    return emitOpError() << "expected a rotate_half that is 1 or a multiple of "
                            "8, and half of "
                            "a divisor of the fragment's columns, got "
                         << Run;
  return success();
}

int64_t ExtractColumnsOp::columnOf(int64_t C) {
  int64_t Column = int64_t(getFirst()) + C, Run = int64_t(getRotateHalf());
  if (!Run)
    return Column;
  return Column / Run % 2 ? Column - Run : Column + Run;
}

LogicalResult PairedRowsOp::verify() {
  if (failed(verifyWgmmaLayout(*this)))
    return failure();
  if (getRows() != 1 && getRows() != 8)
    return emitOpError() << "expected 1 or 8 rows, got " << getRows();
  return success();
}

LogicalResult LoadColumnsOp::verify() {
  if (failed(verifyWgmmaLayout(*this)))
    return failure();
  SharedType From = getTile().getType();
  FragmentType To = getFragment().getType();
  if (From.getRows() != 1 || !From.isPlain())
    return emitOpError("expected a tile of one plain row");
  bool Known = llvm::is_contained({16u, 32u}, From.getElementBits());
  if (!Known || From.getElement() != To.getElement())
    return emitOpError(
        "expected elements of 16 or 32 bits, and of one type, in both");
  if (getTwice() && From.getElementBits() != 32)
    return emitOpError("with 'twice' expected elements of 32 bits");
  int64_t Columns = From.getColumns() / (getTwice() ? 2 : 1);
  if (To.getColumns() % 8 || To.getColumns() > Columns)
    return emitOpError() << "expected a multiple of 8 columns, at most the "
                            "tile's "
                         << Columns << ", got " << To.getColumns();
  return success();
}

LogicalResult MapOp::verify() {
  FragmentType From = getFragment().getType(), To = getResult().getType();
  if (From.getShape() != To.getShape())
    return emitOpError("expected a result of the fragment's shape");
  if (From.getLayout() != To.getLayout())
    return emitOpError("expected a result in the fragment's layout");
  if (getAt().size() != 2 || getWithin().empty() || getWithin().size() > 2)
    return emitOpError("expected two coordinates, a bound of the rows and "
                       "perhaps one of the columns");
  Block &Body = getBody().front();
  auto Index = IndexType::get(getContext());
  SmallVector<Type> Arguments = {From.getElement(), Index, Index};
  for (Value Other : getPaired()) {
    auto Ty = cast<FragmentType>(Other.getType());
    if (Ty.getShape() != From.getShape() || Ty.getLayout() != From.getLayout())
      return emitOpError("expected paired fragments of one shape and layout");
    Arguments.push_back(Ty.getElement());
  }
  if (!llvm::equal(Body.getArgumentTypes(), Arguments))
    return emitOpError("expected a block with the element, its row and its "
                       "column, and the paired elements");
  auto Yield = dyn_cast<YieldOp>(Body.getTerminator());
  if (!Yield || !Yield.getValue() ||
      Yield.getValue().getType() != To.getElement())
    return emitOpError() << "expected to yield " << To.getElement();
  return success();
}

/// A tile of the same elements as a fragment, at whose places threads find
/// them; with `Transposed` columns are rows, and the tile may have those of
/// `Groups` fragments.
static LogicalResult verifyTileOf(Operation *Op, SharedType Tile,
                                  FragmentType Fragment,
                                  bool Transposed = false, int64_t Groups = 1) {
  SmallVector<int64_t> Shape(Fragment.getShape());
  if (Transposed)
    std::swap(Shape[0], Shape[1]);
  Shape[1] *= Groups;
  if (ArrayRef(Shape) != Tile.getShape() ||
      Fragment.getElement() != Tile.getElement())
    return Op->emitOpError(
        "expected a tile of the fragment's shape and element type");
  bool Known = llvm::is_contained({8, 16, 32}, Tile.getElementBits());
  if (!Known || !Tile.getSwizzle() || Tile.getColumns() % 16)
    return Op->emitOpError("expected elements of 8, 16 or 32 bits, a multiple "
                           "of 16 columns and a swizzled tile");
  return success();
}

LogicalResult LoadSharedOp::verify() {
  if (failed(verifyWgmmaLayout(*this)))
    return failure();
  return verifyTileOf(*this, getTile().getType(), getFragment().getType());
}

LogicalResult StoreSharedOp::verify() {
  FragmentType From = getFragment().getType();
  int64_t Groups = 1, Columns = getTile().getType().getColumns();
  if (getGroup()) {
    auto Apart = int64_t(getApart().value_or(0));
    if (!getTransposed() || Apart < 8 || Apart % 8 || Columns % 64 ||
        Columns % (2 * Apart))
      return emitOpError("with 'of' expected 'transposed', rows a multiple of "
                         "8 apart, and a multiple of 64 columns that are "
                         "whole runs of twice as many");
    Groups = Columns / 64;
  }
  if (failed(verifyTileOf(*this, getTile().getType(), From, getTransposed(),
                          Groups)))
    return failure();
  if (From.isTmemLayout() && (getPairs() || getTransposed()))
    return emitOpError("of tmem_32x32b expected no 'in pairs' and no "
                       "'transposed'");
  if (getTransposed() && (getPairs() || From.getRows() != 64 ||
                          getTile().getType().getRows() % 16))
    return emitOpError("with 'transposed' expected 64 rows and a multiple of "
                       "16 columns, and no 'in pairs'");
  return success();
}
