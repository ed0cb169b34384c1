//===- LinearIndex.cpp - Integers as functions of their place ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/LinearIndex.h"
#include "mlir/IR/Matchers.h"
#include "passes/graph/RowSpace.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace {

/// Steps back that are followed: exporters write a dozen for a triangle, and
/// about sixty to ask whether positions go on one by one.
constexpr unsigned MostSteps = 256;

using Found = std::optional<LinearIndex>;

LinearIndex constantIndex(int64_t Rank, const Expr &Offset) {
  return {SmallVector<int64_t>(Rank, 0), Offset};
}

/// The same function seen through an op that moves dimensions.
Found throughBroadcast(const LinearIndex &In, BroadcastOp Op) {
  ArrayRef<Expr> From = typeOf(Op.getX()).getDims();
  LinearIndex Out = constantIndex(typeOf(Op.getY()).getRank(), In.Offset);
  size_t New = Out.Factors.size() - From.size();
  for (auto [I, Size] : llvm::enumerate(From))
    Out.Factors[New + I] = Size == Expr(1) ? 0 : In.Factors[I];
  return Out;
}

Found throughReshape(const LinearIndex &In, ReshapeOp Op) {
  if (!movesOnesOnly(Op))
    return std::nullopt;
  LinearIndex Out = constantIndex(typeOf(Op.getY()).getRank(), In.Offset);
  SmallVector<int64_t> Kept;
  for (auto [Size, Factor] :
       llvm::zip_equal(typeOf(Op.getX()).getDims(), In.Factors))
    if (Size != Expr(1))
      Kept.push_back(Factor);
  auto Next = Kept.begin();
  for (auto [I, Size] : llvm::enumerate(typeOf(Op.getY()).getDims()))
    if (Size != Expr(1))
      Out.Factors[I] = *Next++;
  return Out;
}

LinearIndex throughTranspose(const LinearIndex &In, TransposeOp Op) {
  LinearIndex Out = constantIndex(In.Factors.size(), In.Offset);
  for (auto [I, P] : llvm::enumerate(Op.getPerm()))
    Out.Factors[I] = In.Factors[P];
  return Out;
}

LinearIndex throughSlice(const LinearIndex &In, SliceOp Op) {
  LinearIndex Out = In;
  for (auto [I, Start, Step] :
       llvm::enumerate(Op.getStart().getDims(), Op.getStep())) {
    Out.Offset = Out.Offset + Start * In.Factors[I];
    Out.Factors[I] = In.Factors[I] * Step;
  }
  return Out;
}

LinearIndex sum(const LinearIndex &A, const LinearIndex &B, int64_t Sign) {
  LinearIndex Out = A;
  Out.Offset = A.Offset + B.Offset * Sign;
  for (auto [To, Factor] : llvm::zip_equal(Out.Factors, B.Factors))
    To += Sign * Factor;
  return Out;
}

Found product(const LinearIndex &A, const LinearIndex &B) {
  auto IsPlain = [](const LinearIndex &L) {
    return llvm::all_of(L.Factors, [](int64_t F) { return F == 0; });
  };
  const LinearIndex &Plain = IsPlain(B) ? B : A, &Other = IsPlain(B) ? A : B;
  std::optional<int64_t> Factor = Plain.Offset.asConstant();
  if (!IsPlain(Plain) || !Factor)
    return std::nullopt;
  LinearIndex Out = Other;
  Out.Offset = Other.Offset * *Factor;
  for (int64_t &F : Out.Factors)
    if (llvm::MulOverflow(F, *Factor, F))
      return std::nullopt;
  return Out;
}

/// The elements, if they are of the order of sizes: sums of such do not
/// overflow.
std::optional<SmallVector<int64_t>> smallIntegers(DenseElementsAttr Elements) {
  Type Element = Elements.getElementType();
  if (!isa<IntegerType>(Element) || Element.isInteger(1) || Elements.empty())
    return std::nullopt;
  bool Unsigned = Element.isUnsignedInteger();
  auto Number = [&](const APInt &Int) {
    return Unsigned && Int.getActiveBits() < 64 ? int64_t(Int.getZExtValue())
                                                : Int.getSExtValue();
  };
  SmallVector<int64_t> Values;
  if (Elements.isSplat())
    Values = {Number(Elements.getSplatValue<APInt>())};
  else
    Values = llvm::map_to_vector(Elements.getValues<APInt>(), Number);
  if (!llvm::all_of(Values, [](int64_t V) { return llvm::isInt<48>(V); }))
    return std::nullopt;
  return Values;
}

/// A constant whose elements rise by one number: a range that was folded.
Found fromElements(Value V) {
  DenseElementsAttr Elements;
  if (!matchPattern(V, m_Constant(&Elements)))
    return std::nullopt;
  std::optional<SmallVector<int64_t>> Known = smallIntegers(Elements);
  if (!Known)
    return std::nullopt;
  ArrayRef<int64_t> Values = *Known;
  if (Values.size() == 1)
    return constantIndex(typeOf(V).getRank(), Values[0]);
  int64_t Rank = typeOf(V).getRank(), Axis = -1;
  for (int64_t I = 0; I < Rank; ++I)
    if (typeOf(V).getDims()[I] != Expr(1)) {
      if (Axis >= 0)
        return std::nullopt;
      Axis = I;
    }
  int64_t Step = Values[1] - Values[0];
  for (size_t I = 2; I < Values.size(); ++I)
    if (Values[I] - Values[I - 1] != Step)
      return std::nullopt;
  LinearIndex Out = constantIndex(Rank, Values[0]);
  Out.Factors[Axis] = Step;
  return Out;
}

Found walk(Value V, unsigned &Budget);
std::optional<bool> decidedWithin(Value V, unsigned &Budget);

/// Pieces that go on where the one before ended are one function. A piece of
/// one element has no say in how fast the elements rise.
Found throughConcat(ConcatOp Op, unsigned &Budget) {
  size_t Axis = Op.getAxis();
  auto SizeOf = [&](Value Piece) { return typeOf(Piece).getDims()[Axis]; };
  SmallVector<LinearIndex> Pieces;
  std::optional<SmallVector<int64_t>> Factors;
  for (Value X : Op.getXs()) {
    Found Piece = walk(X, Budget);
    if (!Piece)
      return std::nullopt;
    if (!Factors && SizeOf(X) != Expr(1))
      Factors = Piece->Factors;
    Pieces.push_back(*Piece);
  }
  if (!Factors)
    return std::nullopt;
  LinearIndex Whole{*Factors, Pieces.front().Offset};
  int64_t Step = Whole.Factors[Axis];
  Expr Begin = 0;
  for (auto [X, Piece] : llvm::zip_equal(Op.getXs(), Pieces)) {
    if (SizeOf(X) == Expr(1))
      Piece.Factors[Axis] = Step;
    if (Piece.Factors != Whole.Factors ||
        Piece.Offset != Whole.Offset + Begin * Step)
      return std::nullopt;
    Begin = Begin + SizeOf(X);
  }
  return Whole;
}

/// What takes elements from anywhere of a value that is one number.
Found fromAnywhere(Operation *Def, Value V, const LinearIndex &Data) {
  std::optional<int64_t> Number = Data.asConstant();
  bool Keeps =
      isa<GatherOp, GatherNdOp>(Def) || (isa<CumSumOp>(Def) && Number == 0);
  if (!Number || !Keeps)
    return std::nullopt;
  return constantIndex(typeOf(V).getRank(), *Number);
}

/// Whether indices stay what they are in this type: f32 has them up to 2^24.
/// Those of 16 bits are let through for models that were written in them.
bool holdsSizes(Type Element) {
  return isFloat(Element) || Element.getIntOrFloatBitWidth() >= 32;
}

Found walkOp(Operation *Def, Value V, unsigned &Budget) {
  if (auto Iota = dyn_cast<IotaOp>(Def)) {
    LinearIndex Out = constantIndex(typeOf(V).getRank(), 0);
    Out.Factors[Iota.getAxis()] = 1;
    return Out;
  }
  if (auto Sizes = dyn_cast<SizesOp>(Def)) {
    ArrayRef<Expr> Values = Sizes.getValues().getDims();
    return Values.size() == 1 ? Found(constantIndex(1, Values[0])) : Found();
  }
  if (Def->getNumOperands() == 0)
    return std::nullopt;
  if (auto Op = dyn_cast<ConcatOp>(Def))
    return throughConcat(Op, Budget);
  if (auto Op = dyn_cast<SelectOp>(Def)) {
    // Indices of which negative ones count from the end, and none is.
    std::optional<bool> First = decidedWithin(Op.getCondition(), Budget);
    return First ? walk(*First ? Op.getA() : Op.getB(), Budget) : Found();
  }
  Value First = Def->getOperand(0);
  if (isa<CastOp>(Def) && isBool(typeOf(First).getElementType())) {
    std::optional<bool> All = decidedWithin(First, Budget);
    return All ? Found(constantIndex(typeOf(V).getRank(), *All)) : Found();
  }
  Found A = walk(First, Budget);
  if (!A)
    return std::nullopt;
  if (auto Op = dyn_cast<BroadcastOp>(Def))
    return throughBroadcast(*A, Op);
  if (auto Op = dyn_cast<ReshapeOp>(Def))
    return throughReshape(*A, Op);
  if (auto Op = dyn_cast<TransposeOp>(Def))
    return throughTranspose(*A, Op);
  if (auto Op = dyn_cast<SliceOp>(Def))
    return throughSlice(*A, Op);
  if (isa<CastOp>(Def))
    return holdsSizes(typeOf(V).getElementType()) ? A : Found();
  if (!isa<AddOp, SubOp, MulOp>(Def))
    return fromAnywhere(Def, V, *A);
  Found B = walk(Def->getOperand(1), Budget);
  if (!B)
    return std::nullopt;
  if (isa<MulOp>(Def))
    return product(*A, *B);
  return sum(*A, *B, isa<SubOp>(Def) ? -1 : 1);
}

Found walk(Value V, unsigned &Budget) {
  Operation *Def = V.getDefiningOp();
  if (!Def || Budget == 0 || isa<RegionOp>(Def))
    return std::nullopt;
  --Budget;
  if (isa<ConstantOp>(Def))
    return fromElements(V);
  return walkOp(Def, V, Budget);
}

/// `Negated` asks where the bool does not hold.
Found condition(Value V, bool Negated, unsigned &Budget) {
  Operation *Def = V.getDefiningOp();
  if (!Def || Budget == 0)
    return std::nullopt;
  --Budget;
  if (auto Compare = dyn_cast<CompareOp>(Def)) {
    Predicate P = Compare.getPredicate();
    if (P == Predicate::eq || P == Predicate::ne)
      return std::nullopt;
    Found A = walk(Compare.getA(), Budget), B = walk(Compare.getB(), Budget);
    if (!A || !B)
      return std::nullopt;
    // a > b is a - b - 1 >= 0, and not a > b is b - a >= 0.
    bool Greater = P == Predicate::gt || P == Predicate::ge;
    bool Strict = (P == Predicate::gt || P == Predicate::lt) != Negated;
    LinearIndex Out = Greater != Negated ? sum(*A, *B, -1) : sum(*B, *A, -1);
    if (Strict)
      Out.Offset = Out.Offset - 1;
    return Out;
  }
  if (auto Not = dyn_cast<NotOp>(Def))
    return condition(Not.getX(), !Negated, Budget);
  if (!isa<BroadcastOp, ReshapeOp, TransposeOp, SliceOp>(Def))
    return std::nullopt;
  Found In = condition(Def->getOperand(0), Negated, Budget);
  if (!In)
    return std::nullopt;
  if (auto Op = dyn_cast<BroadcastOp>(Def))
    return throughBroadcast(*In, Op);
  if (auto Op = dyn_cast<ReshapeOp>(Def))
    return throughReshape(*In, Op);
  if (auto Op = dyn_cast<SliceOp>(Def))
    return throughSlice(*In, Op);
  return throughTranspose(*In, cast<TransposeOp>(Def));
}

/// What two sides that are `Apart` by this have to say, if it is the same at
/// every place of a value of these sizes: an index is between 0 and its size
/// less 1. Where no place is, both may be said.
std::optional<bool> holdsEverywhere(Predicate P, const LinearIndex &Apart,
                                    ArrayRef<Expr> Sizes) {
  Expr Least = Apart.Offset, Most = Apart.Offset;
  for (auto [Factor, Size] : llvm::zip_equal(Apart.Factors, Sizes)) {
    Expr &Moved = Factor < 0 ? Least : Most;
    if (Factor != 0)
      Moved = Moved + (Size - Expr(1)) * Factor;
  }
  std::optional<int64_t> Low = Least.asConstant(), High = Most.asConstant();
  bool AtLeast0 = Low && *Low >= 0, AtMost0 = High && *High <= 0;
  bool Above0 = Low && *Low > 0, Below0 = High && *High < 0;
  auto Either = [](bool Yes, bool No) {
    return Yes || No ? std::optional(Yes) : std::nullopt;
  };
  switch (P) {
  case Predicate::eq:
    return Either(AtLeast0 && AtMost0, Above0 || Below0);
  case Predicate::ne:
    return Either(Above0 || Below0, AtLeast0 && AtMost0);
  case Predicate::lt:
    return Either(Below0, AtLeast0);
  case Predicate::le:
    return Either(AtMost0, Above0);
  case Predicate::gt:
    return Either(Above0, AtMost0);
  case Predicate::ge:
    return Either(AtLeast0, Below0);
  }
  return std::nullopt;
}

std::optional<bool> decidedWithin(Value V, unsigned &Budget) {
  Operation *Def = V.getDefiningOp();
  if (!Def || Budget == 0)
    return std::nullopt;
  --Budget;
  if (isa<BroadcastOp, ReshapeOp, TransposeOp, SliceOp>(Def))
    return decidedWithin(Def->getOperand(0), Budget);
  if (auto Not = dyn_cast<NotOp>(Def)) {
    std::optional<bool> Inner = decidedWithin(Not.getX(), Budget);
    return Inner ? std::optional(!*Inner) : std::nullopt;
  }
  auto Compare = dyn_cast<CompareOp>(Def);
  Found A = Compare ? walk(Compare.getA(), Budget) : Found();
  Found B = A ? walk(Compare.getB(), Budget) : Found();
  return B ? holdsEverywhere(Compare.getPredicate(), sum(*A, *B, -1),
                             typeOf(Compare.getA()).getDims())
           : std::nullopt;
}

std::optional<double> scalarWithin(Value V, unsigned &Budget) {
  if (std::optional<double> Splat = splatValue(V))
    return Splat;
  Operation *Def = V.getDefiningOp();
  if (!Def || Budget == 0 || Def->getNumResults() != 1)
    return std::nullopt;
  --Budget;
  if (auto Sizes = dyn_cast<SizesOp>(Def)) {
    ArrayRef<Expr> Values = Sizes.getValues().getDims();
    std::optional<int64_t> Known =
        Values.size() == 1 ? Values[0].asConstant() : std::nullopt;
    return Known ? std::optional<double>(double(*Known)) : std::nullopt;
  }
  SmallVector<double> In;
  if (Def->getNumOperands() == 0 || isa<RegionOp>(Def))
    return std::nullopt;
  for (Value Operand : Def->getOperands()) {
    std::optional<double> Known = scalarWithin(Operand, Budget);
    if (!Known)
      return std::nullopt;
    In.push_back(*Known);
  }
  if (isa<BroadcastOp, ReshapeOp>(Def))
    return In[0];
  if (isa<CastOp>(Def))
    return isFloat(typeOf(V).getElementType()) ? std::optional(In[0])
                                               : std::nullopt;
  if (!isFloat(typeOf(V).getElementType()))
    return std::nullopt;
  if (isa<SqrtOp>(Def))
    return std::sqrt(In[0]);
  if (isa<RsqrtOp>(Def))
    return 1 / std::sqrt(In[0]);
  if (isa<ReciprocalOp>(Def))
    return 1 / In[0];
  if (isa<NegOp>(Def))
    return -In[0];
  if (isa<MulOp>(Def))
    return In[0] * In[1];
  if (isa<DivOp>(Def))
    return In[0] / In[1];
  if (isa<AddOp>(Def))
    return In[0] + In[1];
  if (isa<SubOp>(Def))
    return In[0] - In[1];
  if (isa<PowOp>(Def))
    return std::pow(In[0], In[1]);
  return std::nullopt;
}

} // namespace

Found LinearIndex::of(Value V) {
  unsigned Budget = MostSteps;
  return walk(V, Budget);
}

Found LinearIndex::whereNotNegative(Value V) {
  unsigned Budget = MostSteps;
  return condition(V, /*Negated=*/false, Budget);
}

std::optional<int64_t> LinearIndex::asConstant() const {
  if (llvm::any_of(Factors, [](int64_t F) { return F != 0; }))
    return std::nullopt;
  return Offset.asConstant();
}

std::optional<bool> kpc::graph::decided(Value V) {
  unsigned Budget = MostSteps;
  return decidedWithin(V, Budget);
}

std::optional<double> kpc::graph::constantScalar(Value V) {
  unsigned Budget = MostSteps;
  return scalarWithin(V, Budget);
}
