//===- DecomposeSort.cpp - Sorts as runs and merges -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %v, %i = graph.sort %x axis 1 : <[8, 16384], f32>
///     →  %c = order-preserving 32-bit integers of %x
///        %p = %c << 32 | iota                      // no two are equal
///        %r = graph.sort_runs %p from 1 to 4096
///        %m = graph.sort_runs %r from 4096 to 8192
///        %s = graph.sort_runs %m from 8192 to 16384
///        %i = %s & 0xffffffff
///        %v = graph.gather_elements %x, %i
///
/// Numbers that hold their own index are all different, so any order of them
/// that is right is stable, and the same in every run.
///
/// The first k of long rows: a row is cut into groups, and only the k groups
/// with the least elements can hold some of the k least.
///
/// Keys of 64 bits are sorted by their low halves, then by their high ones.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/Passes.h"
#include "passes/graph/TensorMath.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_DECOMPOSESORT
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// Elements of a row that has an index for each.
constexpr int64_t LongestRow = int64_t(1) << 31;
/// Rows of up to so many elements are ranked: all pairs are compared.
constexpr int64_t ShortRow = 64;
/// Elements of a group, at least: a line of f32.
constexpr int64_t LeastGroup = 32;

struct Limits {
  int64_t LeastRun, MostRun;
};

/// Integers of 32 bits in the order that is asked for, of any elements of what
/// is sorted.
using CodesOf = llvm::function_ref<Value(Value X)>;

class Sorter {
public:
  Sorter(SortOp Op, const shape::Facts &Facts, Limits Limit)
      : Op(Op), Builder(Op), M(Builder, Op.getLoc()), Facts(Facts),
        Limit(Limit) {}

  void run();

private:
  /// Integers of 32 or 64 bits in the order that is asked for.
  Value codesOf(Value X);
  Value codesOfFloats(Value X);
  /// Whether the elements are what their codes say, bit for bit.
  bool areCodes();
  Value decoded(Value Packed);
  /// Indices of the first `Count` elements of each row of X.
  Value rank(Value X, const Expr &Count);
  Value orderByHalves(Value X, const Expr &Count);
  /// Codes and indices as one number each.
  Value packed(Value Codes, Value Indices);
  Value indicesIn(Value Packed) {
    return M.bitAnd(Packed, M.number(0xffffffff, Packed));
  }
  /// The first `Count` packed numbers of each row, in order.
  Value firstPacked(Value X, CodesOf Codes, const Expr &Count);
  std::optional<int64_t> groupSize(const Expr &Size, const Expr &Count) const;
  Value leastOfGroups(Value Codes, int64_t Group);
  Value ofGroups(Value X, CodesOf Codes, const Expr &Count, int64_t Group);
  /// `At` gives the packed numbers for places in rows of `Size`.
  using PackedAt = llvm::function_ref<Value(Value Places)>;
  Value sorted(ArrayRef<Expr> Rows, const Expr &Size, const Expr &Count,
               PackedAt At);

  static SmallVector<Expr> withLast(ArrayRef<Expr> Dims, const Expr &Last) {
    SmallVector<Expr> All(Dims.drop_back());
    All.push_back(Last);
    return All;
  }
  int64_t mostOf(const Expr &E) const { return Facts.range(E).Max; }

  SortOp Op;
  OpBuilder Builder;
  TensorMath M;
  const shape::Facts &Facts;
  Limits Limit;
};

Value Sorter::codesOfFloats(Value X) {
  MLIRContext *Context = Op.getContext();
  bool IsWide = typeOf(X).getElementType().isF64();
  if (!IsWide)
    X = M.cast(X, Float32Type::get(Context));
  Value Bits = M.bitcast(X, IntegerType::get(Context, IsWide ? 64 : 32));
  Value Most = M.number(IsWide ? INT64_MAX : INT32_MAX, Bits);
  Value Zero = M.number(0, Bits);
  // Of negative numbers, the greater ones have the lesser bits.
  Value Code = M.select(M.compare(Predicate::lt, Bits, Zero),
                        M.bitXor(Bits, Most), Bits);
  Code = M.select(M.compare(Predicate::eq, X, M.number(0, X)), Zero, Code);
  Value IsNan = IsNanOp::create(Builder, Op.getLoc(), X);
  return M.select(IsNan, Most, Code);
}

Value Sorter::codesOf(Value X) {
  MLIRContext *Context = Op.getContext();
  Type Element = typeOf(X).getElementType();
  Type I32 = IntegerType::get(Context, 32), I64 = IntegerType::get(Context, 64);
  Value Codes;
  if (isFloat(Element) || isNarrowFloat(Element)) {
    Codes = codesOfFloats(X);
  } else if (unsigned Bits = Element.getIntOrFloatBitWidth(); Bits < 32) {
    Codes = M.cast(X, I32);
  } else {
    Codes = M.bitcast(X, Bits == 32 ? I32 : I64);
    if (isUnsigned(Element))
      Codes =
          M.bitXor(Codes, M.number(Bits == 32 ? INT32_MIN : INT64_MIN, Codes));
  }
  return Op.getDescending() ? NotOp::create(Builder, Op.getLoc(), Codes)
                            : Codes;
}

bool Sorter::areCodes() {
  Type Element = typeOf(Op.getX()).getElementType();
  return isNumber(Element) && !isFloat(Element) &&
         Element.getIntOrFloatBitWidth() <= 32 && !isNarrowInteger(Element);
}

Value Sorter::decoded(Value Packed) {
  Type Element = typeOf(Op.getX()).getElementType();
  Value Codes =
      M.cast(M.dividedBy(Packed, int64_t(1) << 32), Builder.getI32Type());
  if (Op.getDescending())
    Codes = NotOp::create(Builder, Op.getLoc(), Codes);
  if (Element.getIntOrFloatBitWidth() < 32)
    return M.cast(Codes, Element);
  if (isUnsigned(Element))
    Codes = M.bitXor(Codes, M.number(INT32_MIN, Codes));
  return M.bitcast(Codes, Element);
}

Value Sorter::packed(Value Codes, Value Indices) {
  Value Wide = M.cast(Codes, typeOf(Indices).getElementType());
  return M.add(M.mul(Wide, M.number(int64_t(1) << 32, Wide)), Indices);
}

/// place[i] = how many elements are in front of i; y[c] = the i with place c.
Value Sorter::rank(Value X, const Expr &Count) {
  SmallVector<Expr> Dims(TensorMath::dims(X));
  int64_t Last = int64_t(Dims.size()) - 1;
  Expr Size = Dims.back();
  SmallVector<Expr> Square(Dims), Own(Dims), Other(Dims);
  Square.push_back(Size);
  Own.push_back(Expr(1));
  Other.insert(Other.end() - 1, Expr(1));
  Value Mine = M.spread(codesOf(M.reshape(X, Own)), Square),
        Theirs = M.spread(codesOf(M.reshape(X, Other)), Square);
  Type I32 = Builder.getI32Type(), I64 = Builder.getI64Type();
  Value Earlier = M.compare(Predicate::lt, M.iota(Square, Last + 1, I32),
                            M.iota(Square, Last, I32));
  Value InFront =
      M.bitOr(M.compare(Predicate::lt, Theirs, Mine),
              M.bitAnd(M.compare(Predicate::eq, Theirs, Mine), Earlier));
  Value Place = M.sum(M.cast(InFront, I32), Last + 1);
  SmallVector<Expr> Grid = withLast(Dims, Count);
  Grid.push_back(Size);
  Value Here = M.compare(Predicate::eq, M.spread(M.reshape(Place, Other), Grid),
                         M.iota(Grid, Last, I32));
  Value Index = M.iota(Grid, Last + 1, I64);
  return M.sum(M.select(Here, Index, M.number(0, Index)), Last + 1);
}

Value Sorter::sorted(ArrayRef<Expr> Rows, const Expr &Size, const Expr &Count,
                     PackedAt At) {
  int64_t Most = std::min(mostOf(Size), LongestRow);
  int64_t Run =
      std::clamp(int64_t(llvm::PowerOf2Ceil(std::max<int64_t>(Most, 2))),
                 Limit.LeastRun, Limit.MostRun);
  Expr Padded = Facts.simplify(Size.ceilDiv(Expr(Run)) * Expr(Run));
  SmallVector<Expr> Dims(Rows);
  Dims.push_back(Padded);
  int64_t Last = int64_t(Dims.size()) - 1;
  Value Places = M.iota(Dims, Last, Builder.getI64Type());
  Value X = At(Places);
  if (Padded != Size)
    X = M.select(M.compare(Predicate::lt, Places, M.size(Size, Places)), X,
                 M.number(INT64_MAX, X));
  X = SortRunsOp::create(Builder, Op.getLoc(), X, 1, Run);
  for (; Run < Most; Run *= 2)
    X = SortRunsOp::create(Builder, Op.getLoc(), X, Run, 2 * Run);
  return M.firstOfRows(X, Count);
}

/// How many elements each group has, where looking at groups first is worth
/// it; else none.
std::optional<int64_t> Sorter::groupSize(const Expr &Size,
                                         const Expr &Count) const {
  std::optional<int64_t> Typical = Facts.optimum(Size),
                         Wanted = Facts.optimum(Count);
  if (!Typical || !Wanted || *Typical <= Limit.MostRun || *Wanted < 1)
    return std::nullopt;
  // As many groups as candidates, about.
  int64_t Group = LeastGroup;
  while (Group * Group * *Wanted * 2 < *Typical)
    Group *= 2;
  // Both together are a part of what there is, and so many groups there are
  // at all sizes.
  if (*Wanted * Group * 2 > *Typical ||
      Facts.range(Size.ceilDiv(Expr(Group))).Min < mostOf(Count))
    return std::nullopt;
  return Group;
}

/// The least packed number of each group of neighbours.
Value Sorter::leastOfGroups(Value Codes, int64_t Group) {
  ArrayRef<Expr> Dims = TensorMath::dims(Codes);
  size_t Rank = Dims.size();
  Value All =
      packed(Codes, M.iota(Dims, int64_t(Rank) - 1, Builder.getI64Type()));
  SmallVector<int64_t> Windows(Rank, 1), Ones(Rank, 1), Low(Rank, 0),
      High(Rank, 0);
  Windows.back() = Group;
  if (Facts.divisor(Dims.back()) % Group != 0)
    High.back() = Group - 1;
  return WindowOp::create(Builder, Op.getLoc(), ReduceKind::min, All, Windows,
                          Windows, Ones, Low, High);
}

Value Sorter::ofGroups(Value X, CodesOf Codes, const Expr &Count,
                       int64_t Group) {
  SmallVector<Expr> Rows(TensorMath::dims(X).drop_back());
  Expr Size = TensorMath::dims(X).back();
  int64_t Last = int64_t(Rows.size());
  Value Least = leastOfGroups(Codes(X), Group);
  Expr Groups = TensorMath::dims(Least).back();
  Value Best = sorted(Rows, Groups, Count, [&](Value Places) -> Value {
    if (TensorMath::dims(Places) == TensorMath::dims(Least))
      return Least;
    return M.gatherElements(Least, Places, Last);
  });
  // A candidate's index: that of its group's first element, and its place.
  return sorted(Rows, Count * Expr(Group), Count, [&](Value Places) {
    Value OfGroup =
        M.gatherElements(indicesIn(Best), M.dividedBy(Places, Group), Last);
    Value First = M.bitAnd(OfGroup, M.number(~(Group - 1), OfGroup));
    Value Index = M.add(First, M.restOf(Places, Group));
    Value Candidate = packed(Codes(M.gatherElements(X, Index, Last)), Index);
    return M.select(M.compare(Predicate::lt, Index, M.size(Size, Index)),
                    Candidate, M.number(INT64_MAX, Candidate));
  });
}

Value Sorter::firstPacked(Value X, CodesOf Codes, const Expr &Count) {
  ArrayRef<Expr> Dims = TensorMath::dims(X);
  int64_t Last = int64_t(Dims.size()) - 1;
  if (std::optional<int64_t> Group = groupSize(Dims.back(), Count))
    return ofGroups(X, Codes, Count, *Group);
  return sorted(Dims.drop_back(), Dims.back(), Count, [&](Value Places) {
    bool IsWhole = TensorMath::dims(Places) == TensorMath::dims(X);
    return packed(Codes(IsWhole ? X : M.gatherElements(X, Places, Last)),
                  Places);
  });
}

Value Sorter::orderByHalves(Value X, const Expr &Count) {
  Type I32 = Builder.getI32Type();
  int64_t Last = typeOf(X).getRank() - 1;
  auto LowOf = [&](Value X) {
    Value Low = M.cast(codesOf(X), I32);
    return M.bitXor(Low, M.number(INT32_MIN, Low));
  };
  auto HighOf = [&](Value X) {
    return M.cast(M.dividedBy(codesOf(X), int64_t(1) << 32), I32);
  };
  Expr All = TensorMath::dims(X).back();
  Value First = indicesIn(firstPacked(X, LowOf, All));
  Value ByLow = M.gatherElements(X, First, Last);
  Value Then = indicesIn(firstPacked(ByLow, HighOf, Count));
  return M.gatherElements(First, Then, Last);
}

void Sorter::run() {
  int64_t Axis = Op.getAxis();
  Expr Count = TensorMath::dims(Op.getY())[Axis];
  Value X = M.swappedWithLast(Op.getX(), Axis), Index, Elements;
  Type Element = typeOf(X).getElementType();
  bool IsWide = Element.getIntOrFloatBitWidth() == 64;
  if (mostOf(TensorMath::dims(X).back()) <= ShortRow) {
    Index = rank(X, Count);
  } else if (IsWide) {
    Index = orderByHalves(X, Count);
  } else {
    Value Packed = firstPacked(X, [&](Value X) { return codesOf(X); }, Count);
    Index = indicesIn(Packed);
    if (areCodes())
      Elements = M.swappedWithLast(decoded(Packed), Axis);
  }
  Index = M.swappedWithLast(Index, Axis);
  if (!Op.getY().use_empty())
    Op.getY().replaceAllUsesWith(
        Elements ? Elements : M.gatherElements(Op.getX(), Index, Axis));
  Op.getIndices().replaceAllUsesWith(Index);
  Op.erase();
}

struct DecomposeSortPass : graph::impl::DecomposeSortBase<DecomposeSortPass> {
  using DecomposeSortBase::DecomposeSortBase;

  void runOnOperation() override {
    shape::Facts Facts = symbolFacts(getOperation());
    SmallVector<SortOp> Sorts;
    getOperation().walk([&](SortOp Op) { Sorts.push_back(Op); });
    for (SortOp Op : Sorts)
      Sorter(Op, Facts, {LeastRun, MostRun}).run();
  }
};

} // namespace
