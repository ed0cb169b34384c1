//===- CodeOperand.cpp - Operands as codes, scales and zero points --------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/CodeOperand.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

#include <cmath>

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace {

bool isWideFloat(Type Ty) { return isFloat(Ty) && !isNarrowFloat(Ty); }

/// Reads one operand from its end to its codes, and writes what stands in
/// their place in front of its owner.
class Reader {
public:
  Reader(OpOperand &Of, int64_t Kept)
      : B(Of.getOwner()), Loc(Of.getOwner()->getLoc()), Kept(Kept) {}

  std::optional<CodeOperand> read(Value Operand);

private:
  Value behind(Value V);
  bool readFloat(Value V);
  bool readCentred(Value V);
  bool readDequantised(DequantiseOp Op);
  bool takeCodes(Value V);
  std::optional<Value> take(Value V);
  std::optional<Value> takeSizes(Value V, ArrayRef<Expr> Whole);
  std::optional<Value> takeZero(Value V, Type Codes);
  std::optional<Value> asZero(Value Taken, Type Codes);
  Value constant(Attribute Element, Type Ty);

  OpBuilder B;
  Location Loc;
  /// The dim of what is read that may have scales of its own; -1: none.
  int64_t Kept;
  /// What stands between codes and operand, the last first.
  SmallVector<Operation *> Moves;
  CodeOperand Found;
};

/// Through casts between wide floats, transposes and reshapes.
Value Reader::behind(Value V) {
  while (Operation *Def = V.getDefiningOp()) {
    if (auto Cast = dyn_cast<CastOp>(Def)) {
      if (!isWideFloat(typeOf(Cast.getX()).getElementType()) ||
          !isWideFloat(typeOf(Cast.getY()).getElementType()))
        break;
    } else if (auto Turn = dyn_cast<TransposeOp>(Def)) {
      if (Kept >= 0)
        Kept = Turn.getPerm()[Kept];
      Moves.push_back(Def);
    } else if (isa<ReshapeOp>(Def)) {
      Kept = -1;
      Moves.push_back(Def);
    } else {
      break;
    }
    V = Def->getOperand(0);
  }
  return V;
}

Value Reader::constant(Attribute Element, Type Ty) {
  return ConstantOp::create(
      B, Loc, DenseElementsAttr::get(RankedTensorType::get({}, Ty), Element));
}

/// The one value of a constant, through broadcasts and reshapes.
Attribute splatOf(Value V) {
  while (Operation *Def = V.getDefiningOp()) {
    if (!isa<BroadcastOp, ReshapeOp>(Def))
      break;
    V = Def->getOperand(0);
  }
  auto Constant = V.getDefiningOp<ConstantOp>();
  auto Elements = Constant ? dyn_cast<DenseElementsAttr>(Constant.getValue())
                           : DenseElementsAttr();
  return Elements && Elements.isSplat() ? Elements.getSplatValue<Attribute>()
                                        : Attribute();
}

/// The same of integers, through casts of those of 8 bits.
std::optional<int64_t> integerOf(Value V) {
  while (Operation *Def = V.getDefiningOp()) {
    auto Cast = dyn_cast<CastOp>(Def);
    if (!isa<BroadcastOp, ReshapeOp>(Def) &&
        !(Cast && isInt8(typeOf(Cast.getX()).getElementType())))
      break;
    V = Def->getOperand(0);
  }
  auto One = dyn_cast_or_null<IntegerAttr>(splatOf(V));
  if (!One)
    return std::nullopt;
  return isUnsigned(typeOf(V).getElementType())
             ? int64_t(One.getValue().getZExtValue())
             : One.getValue().getSExtValue();
}

/// `V`, of sizes that broadcast to `Whole`, as a scalar or a vector along the
/// kept dim.
std::optional<Value> Reader::takeSizes(Value V, ArrayRef<Expr> Whole) {
  SymbolicTensorType Own = typeOf(V);
  int64_t Missing = int64_t(Whole.size()) - Own.getRank();
  SmallVector<Expr> Sizes;
  for (auto [I, Size] : llvm::enumerate(Own.getDims())) {
    if (Size == Expr(1))
      continue;
    if (int64_t(I) + Missing != Kept || Size != Whole[Kept])
      return std::nullopt;
    Sizes.push_back(Size);
  }
  return B.createOrFold<ReshapeOp>(Loc, Own.withDims(Sizes), V);
}

std::optional<Value> Reader::take(Value V) {
  SymbolicTensorType Ty = typeOf(V);
  if (Attribute One = splatOf(V))
    return constant(One, Ty.getElementType());
  if (V.getDefiningOp<ConstantOp>())
    return std::nullopt;
  if (auto Broadcast = V.getDefiningOp<BroadcastOp>())
    V = Broadcast.getX();
  return takeSizes(V, Ty.getDims());
}

/// A zero point in i32; null where it is 0. None where the type of the codes
/// may not hold it: it is the code that surrounds an image, and differences are
/// to be of 9 bits.
std::optional<Value> Reader::takeZero(Value V, Type Codes) {
  std::optional<Value> Taken = take(V);
  return Taken ? asZero(*Taken, Codes) : std::nullopt;
}

std::optional<Value> Reader::asZero(Value Taken, Type Codes) {
  Type I32 = B.getI32Type();
  std::optional<int64_t> Known = integerOf(Taken);
  if (auto One = dyn_cast_or_null<FloatAttr>(splatOf(Taken))) {
    double Number = One.getValueAsDouble();
    if (std::abs(Number) > 255 || Number != std::floor(Number))
      return std::nullopt;
    Known = int64_t(Number);
  }
  if (Known) {
    int64_t Least = isUnsigned(Codes) ? 0 : -128;
    if (*Known < Least || *Known > Least + 255)
      return std::nullopt;
    return *Known ? constant(B.getI32IntegerAttr(int32_t(*Known)), I32)
                  : Value();
  }
  if (auto Cast = Taken.getDefiningOp<CastOp>())
    Taken = Cast.getX();
  if (typeOf(Taken).getElementType() != Codes)
    return std::nullopt;
  return CastOp::create(B, Loc, Taken, I32).getResult();
}

/// What a cast widens from codes.
bool Reader::takeCodes(Value V) {
  auto Cast = behind(V).getDefiningOp<CastOp>();
  if (!Cast || !isCode(typeOf(Cast.getX()).getElementType()))
    return false;
  Found.Codes = Cast.getX();
  return true;
}

/// Codes, less a zero point if they are integers, in i32 or in a float.
bool Reader::readCentred(Value V) {
  V = behind(V);
  if (takeCodes(V))
    return true;
  if (auto Cast = V.getDefiningOp<CastOp>())
    return isFloat(typeOf(V).getElementType()) &&
           typeOf(Cast.getX()).getElementType().isSignlessInteger(32) &&
           readCentred(Cast.getX());
  auto Less = V.getDefiningOp<SubOp>();
  if (!Less)
    return false;
  if (!takeCodes(Less.getA()))
    return false;
  Type Codes = typeOf(Found.Codes).getElementType();
  if (!isInt8(Codes))
    return false;
  std::optional<Value> Zero = takeZero(Less.getB(), Codes);
  if (!Zero)
    return false;
  Found.Zero = *Zero;
  return true;
}

bool Reader::readDequantised(DequantiseOp Op) {
  SymbolicTensorType Ty = typeOf(Op.getW());
  if (!isInt8(Ty.getElementType()))
    return false;
  std::optional<Value> Scale = takeSizes(Op.getScales(), Ty.getDims());
  if (!Scale)
    return false;
  Found.Scale = *Scale;
  Found.Codes = Op.getW();
  if (!Op.getZeros())
    return true;
  std::optional<Value> Zero = takeSizes(Op.getZeros(), Ty.getDims());
  if (Zero)
    Zero = asZero(*Zero, Ty.getElementType());
  if (!Zero)
    return false;
  Found.Zero = *Zero;
  return true;
}

bool Reader::readFloat(Value V) {
  V = behind(V);
  if (auto Op = V.getDefiningOp<DequantiseOp>())
    return readDequantised(Op);
  if (readCentred(V))
    return true;
  auto Product = V.getDefiningOp<MulOp>();
  if (!Product)
    return false;
  for (auto [Factor, Scale] : {std::pair(Product.getA(), Product.getB()),
                               std::pair(Product.getB(), Product.getA())}) {
    Reader Other(*this);
    if (std::optional<Value> Taken = Other.take(Scale);
        Taken && Other.readCentred(Factor)) {
      Moves = Other.Moves;
      Found = Other.Found;
      Found.Scale = *Taken;
      return true;
    }
  }
  return false;
}

std::optional<CodeOperand> Reader::read(Value Operand) {
  bool IsFloat = isFloat(typeOf(Operand).getElementType());
  if (IsFloat ? !readFloat(Operand) : !readCentred(Operand))
    return std::nullopt;
  for (Operation *Move : llvm::reverse(Moves)) {
    if (auto Turn = dyn_cast<TransposeOp>(Move))
      Found.Codes = TransposeOp::create(B, Loc, Found.Codes, Turn.getPerm());
    else
      Found.Codes = B.createOrFold<ReshapeOp>(
          Loc,
          typeOf(Move->getResult(0))
              .withElementType(typeOf(Found.Codes).getElementType()),
          Found.Codes);
  }
  return Found;
}

} // namespace

std::optional<CodeOperand> CodeOperand::read(OpOperand &Of, int64_t Kept) {
  return Reader(Of, Kept).read(Of.get());
}

void CodeOperand::moveZero(OpBuilder &B, Location Loc) {
  std::optional<int64_t> Known =
      Zero ? integerOf(Zero) : std::optional<int64_t>();
  bool Unsigned = isUnsigned(typeOf(Codes).getElementType());
  int64_t Middle = Unsigned ? 128 : -128;
  if (Known != Middle)
    return;
  Type I32 = B.getI32Type(),
       To = IntegerType::get(B.getContext(), 8,
                             Unsigned ? IntegerType::Signless
                                      : IntegerType::Unsigned);
  Value Wide = CastOp::create(B, Loc, Codes, I32);
  Value All = BroadcastOp::create(B, Loc, typeOf(Wide), Zero);
  Codes = CastOp::create(B, Loc, SubOp::create(B, Loc, Wide, All), To);
  Zero = {};
}
