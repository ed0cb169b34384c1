//===- CodeProducts.cpp - GEMMs and convolutions of codes -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/CodeProducts.h"

#include "passes/graph/CodeHeads.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

/// Rows that TMA copies begin at multiples of 16 bytes: elements of FP8 along
/// K, and of 16 bits along N.
static constexpr int64_t RowElements = 16, ResultElements = 8;
/// Rows from which a GEMM is one of tensor cores that multiply both operands;
/// those of fewer read weights alone.
static constexpr int64_t FewRows = 16;

/// Rows and columns from which instructions of matrices are not mostly idle.
static constexpr int64_t FewestColumns = 8;

StringRef graph::refusalOfFp8(MatmulOp Op, const shape::Facts &Facts,
                              bool Wgmma) {
  ArrayRef<Expr> A = typeOf(Op.getA()).getDims(),
                 Y = typeOf(Op.getY()).getDims();
  const Expr &M = Y[Y.size() - 2], &N = Y.back(), &K = A.back();
  if (Facts.optimum(M).value_or(FewRows + 1) <= FewRows)
    return "it has few rows";
  if (Facts.optimum(N).value_or(FewestColumns) < FewestColumns)
    return "it has few columns";
  if (!Wgmma)
    return "";
  if (Facts.divisor(K) % RowElements || Facts.range(K).Min < 1)
    return "K is no multiple of 16";
  if (Facts.divisor(N) % ResultElements)
    return "N is no multiple of 8";
  return "";
}

/// Products whose sum fits in 32 bits: |code - zero point| is at most 255.
static constexpr int64_t MostProducts = INT32_MAX / (255 * 255);
static bool wraps(Operation *Op) {
  return isInteger(typeOf(Op->getResult(0)).getElementType());
}

StringRef graph::refusalOfFp8(ConvOp Op, const shape::Facts &Facts) {
  SymbolicTensorType Filter = typeOf(Op.getW()), Y = typeOf(Op.getY());
  int64_t Rank = Filter.getRank();
  Expr Places = 1;
  for (const Expr &Size : Y.getDims().drop_back())
    Places = Places * Size;
  std::optional<int64_t> Channels = Filter.getStaticDim(Rank - 2);
  if (Rank > 5)
    return "it has more than three spatial dimensions";
  if (!Channels)
    return "the number of channels is not constant";
  if (Op.getGroups() > 1 && *Channels == 1)
    return "each of its groups has one channel";
  if (Facts.optimum(Places).value_or(FewestColumns) < FewestColumns ||
      Facts.optimum(Y.getDims().back()).value_or(FewestColumns) < FewestColumns)
    return "the result has fewer than 8 places or outputs";
  return "";
}

StringRef graph::refusalOfFp8(AttentionOp Op, const shape::Facts &Facts) {
  // Steps of products have 32 bytes, rows that are copied 16.
  constexpr int64_t HeadUnit = 32, KeyUnit = 16, MostInHead = 256;
  std::optional<int64_t> Depth = typeOf(Op.getQ()).getStaticDim(3),
                         Width = typeOf(Op.getV()).getStaticDim(3);
  const Expr &Keys = typeOf(Op.getK()).getDims()[2];
  if (Op->hasAttr(CodesAttr))
    return "it reads codes already";
  if (hasFewQueries(typeOf(Op.getQ()).getDims()[2], Facts))
    return "it has few queries";
  if (Op.getBias() || Op.getMask())
    return "its scores have a bias or a mask";
  if (Op.getSoftcap())
    return "its scores have a softcap";
  if (!Depth || !Width || *Depth % HeadUnit || *Width % HeadUnit ||
      std::max(*Depth, *Width) > MostInHead)
    return "its heads are no multiple of 32 elements, or more than 256";
  if (Facts.divisor(Keys) % KeyUnit || Facts.range(Keys).Min < 1)
    return "its number of keys is no multiple of 16, or may be 0";
  // Of one or two blocks of keys ptxas unrolls the loop, and spills.
  constexpr int64_t WideHead = 128, FewKeys = 128;
  if (std::max(*Depth, *Width) > WideHead &&
      Facts.optimum(Keys).value_or(FewKeys + 1) <= FewKeys)
    return "its heads of more than 128 elements have few keys";
  return "";
}

StringRef graph::refusalOfInt8(ConvOp Op, const shape::Facts &Facts) {
  // But for the sums, what kernels ask for is the same.
  if (StringRef Why = refusalOfFp8(Op, Facts); !Why.empty())
    return Why;
  Expr Products = 1;
  for (const Expr &Size : typeOf(Op.getW()).getDims().drop_back())
    Products = Products * Size;
  if (!wraps(Op) && Facts.range(Products).Max > MostProducts)
    return "its sums may not fit in 32 bits";
  return "";
}

StringRef graph::refusalOfInt8(MatmulOp Op, const shape::Facts &Facts) {
  ArrayRef<Expr> A = typeOf(Op.getA()).getDims(),
                 Y = typeOf(Op.getY()).getDims();
  if (Facts.optimum(Y[Y.size() - 2]).value_or(FewRows + 1) <= FewRows)
    return "it has few rows";
  if (Facts.optimum(Y.back()).value_or(FewestColumns) < FewestColumns)
    return "it has few columns";
  if (!wraps(Op) && Facts.range(A.back()).Max > MostProducts)
    return "its sums may not fit in 32 bits";
  return "";
}

/// What kernels ask for whatever the number of rows; 8 elements are one access.
static StringRef refusalOfAnyTiles(MatmulOp Op) {
  constexpr int64_t AccessElements = 8;
  SymbolicTensorType A = typeOf(Op.getA());
  if (A.getRank() != 2 || typeOf(Op.getB()).getRank() != 2)
    return "it is a batch of GEMMs";
  std::optional<int64_t> Depth = A.getStaticDim(1);
  if (!Depth || *Depth % AccessElements || *Depth < AccessElements)
    return "K is no multiple of 8";
  return "";
}

bool graph::hasManyRows(MatmulOp Op, const shape::Facts &Facts) {
  // With more rows weights are read too often.
  constexpr int64_t MostRows = 64;
  ArrayRef<Expr> A = typeOf(Op.getA()).getDims();
  const Expr &Rows = A[A.size() - 2];
  return Facts.range(Rows).Max > MostRows ||
         Facts.optimum(Rows).value_or(MostRows) > FewRows;
}

StringRef graph::refusalOfTiles(MatmulOp Op, const shape::Facts &Facts) {
  if (typeOf(Op.getA()).getRank() == 2 && hasManyRows(Op, Facts))
    return "it has more rows than 16";
  return refusalOfAnyTiles(Op);
}

StringRef graph::refusalOfTilesOfManyRows(MatmulOp Op) {
  std::optional<int64_t> Columns = typeOf(Op.getB()).getStaticDim(1);
  if (StringRef Why = refusalOfAnyTiles(Op); !Why.empty())
    return Why;
  // TMA copies the result's rows.
  if (!Columns || *Columns % ResultElements)
    return "it may have more rows than 16, and N is no multiple of 8";
  return "";
}

Value graph::spread(OpBuilder &B, Location Loc, Value Scale,
                    SymbolicTensorType To, int64_t Dim) {
  if (typeOf(Scale).getElementType() != To.getElementType())
    Scale = CastOp::create(B, Loc, Scale, To.getElementType());
  if (typeOf(Scale).getRank() == 1) {
    SmallVector<Expr> Sizes(To.getRank(), Expr(1));
    Sizes[Dim] = To.getDims()[Dim];
    Scale = B.createOrFold<ReshapeOp>(Loc, To.withDims(Sizes), Scale);
  }
  return BroadcastOp::create(B, Loc, To, Scale);
}

Value graph::scaled(OpBuilder &B, Value Product, Value ScaleOfA,
                    Value ScaleOfB) {
  SymbolicTensorType To = typeOf(Product);
  Location Loc = Product.getLoc();
  Value Scale;
  for (auto [One, Dim] : {std::pair(ScaleOfA, To.getRank() - 2),
                          std::pair(ScaleOfB, To.getRank() - 1)}) {
    if (!One)
      continue;
    Value More = spread(B, Loc, One, To, Dim);
    Scale = Scale ? Value(MulOp::create(B, Loc, Scale, More)) : More;
  }
  return Scale ? Value(MulOp::create(B, Loc, Product, Scale)) : Product;
}

/// What was stored in front of a kernel, where `V` is what one reads.
static Value throughKernels(Value V) {
  while (true) {
    if (auto Argument = dyn_cast<BlockArgument>(V)) {
      auto Region = dyn_cast<RegionOp>(Argument.getOwner()->getParentOp());
      if (!Region)
        return V;
      V = Region.getInputs()[Argument.getArgNumber()];
    } else if (auto Region = V.getDefiningOp<RegionOp>()) {
      Operation *Yield = Region.getBody().front().getTerminator();
      V = Yield->getOperand(cast<OpResult>(V).getResultNumber());
    } else if (auto View = V.getDefiningOp<ReshapeOp>()) {
      V = View.getX();
    } else {
      return V;
    }
  }
}

/// Ops each of whose result's elements is one of an operand's, or zero.
static bool movesElements(Operation *Op) {
  return isa<TransposeOp, ReshapeOp, SliceOp, ConcatOp, PadOp, BroadcastOp,
             GatherOp>(Op);
}

/// Whether each element of `V` is a code, perhaps in a wider type and with a
/// zero point taken off.
static bool holdsCodes(Value V, unsigned Steps) {
  V = throughKernels(V);
  if (isCode(typeOf(V).getElementType()))
    return true;
  Operation *Op = V.getDefiningOp();
  if (!Op || !Steps)
    return false;
  if (isa<DequantiseBlocksOp>(Op))
    return true;
  bool TakesOffZero = isa<SubOp>(Op) && splatValue(Op->getOperand(1));
  return (isa<CastOp>(Op) || TakesOffZero || movesElements(Op)) &&
         holdsCodes(Op->getOperand(0), Steps - 1);
}

/// Whether `V` is computed from codes by a contraction. What multiplies no
/// codes multiplies what they are cast to, whose sums are as great.
static bool isProductOfCodes(Value V) {
  constexpr unsigned MostSteps = 6;
  Operation *Op = V.getDefiningOp();
  return isa_and_present<MatmulOp, ConvOp>(Op) &&
         holdsCodes(Op->getOperand(0), MostSteps);
}

static constexpr unsigned MostRawSteps = 8;

/// Looks at most `Steps` ops back: two zero points, a bias and a cast stand
/// between.
static Operation *rawProductOf(Value V, unsigned Steps) {
  V = throughKernels(V);
  Operation *Op = V.getDefiningOp();
  if (isProductOfCodes(V))
    return Op;
  if (!Steps || !Op)
    return nullptr;
  if (movesElements(Op))
    return rawProductOf(Op->getOperand(0), Steps - 1);
  if (!isa<AddOp, SubOp, CastOp>(Op) ||
      isFloat(typeOf(Op->getOperand(0)).getElementType()))
    return nullptr;
  // A bias may stand on either side.
  for (Value From : Op->getOperands())
    if (Operation *Product = rawProductOf(From, Steps - 1))
      return Product;
  return nullptr;
}

bool graph::isRawProduct(Value V) { return ::rawProductOf(V, MostRawSteps); }

Operation *graph::rawProductFinishedBy(Operation *Op) {
  if (isa<MulOp, AddOp, SubOp, CastOp>(Op))
    for (Value V : Op->getOperands())
      if (Operation *Product = ::rawProductOf(V, MostRawSteps))
        return Product;
  return nullptr;
}

bool graph::finishesRawProduct(Operation *Op) {
  return rawProductFinishedBy(Op);
}

bool graph::isOfCodes(Value V) {
  while (isa_and_present<TransposeOp, ReshapeOp, CastOp>(V.getDefiningOp()))
    V = V.getDefiningOp()->getOperand(0);
  return isa_and_present<DequantiseOp, DequantiseTilesOp, DequantiseBlocksOp>(
      V.getDefiningOp());
}

Value graph::scalar(OpBuilder &B, Location Loc, double Value) {
  Type F32 = B.getF32Type();
  return ConstantOp::create(
      B, Loc,
      DenseElementsAttr::get(RankedTensorType::get({}, F32),
                             B.getFloatAttr(F32, Value)));
}
