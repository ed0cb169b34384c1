//===- DecomposeSort.cpp - Sorts as runs and merges ----------------------===//
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
/// Rows that would need many merges are sorted by their digits instead, the
/// lowest first; of equal digits elements keep their order:
///        %p = (%c - the least code) << 32 | iota
///        %h = graph.digit_counts %p shift 32 bits 8 parts 128
///        %q = graph.order_by_digit %p, %h shift 32
///        …                                          // shift 40, 48, 56
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
/// Rows of up to so many elements of 64 bits are ranked: all pairs are
/// compared.
constexpr int64_t ShortRow = 64;
/// Elements of a group, at least: a line of f32; fewer in short rows, which
/// registers sort.
constexpr int64_t LeastGroup = 32, ShortGroup = 8;

/// Bits of a digit, and elements of the part of a row that a block orders at
/// once.
constexpr int64_t DigitBits = 8, DigitTile = 4096;

struct Limits {
  int64_t LeastRun, MostRun;
  bool Radix;
};

/// The codes of a sort: `Least` and 2^Bits - 1 above it.
struct CodeRange {
  int64_t Bits, Least;
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
  CodeRange rangeOfCodes();
  /// Whether codes have 64 bits.
  bool isWide();
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
  Value firstPacked(Value X, CodesOf Codes, CodeRange Range, const Expr &Count);
  /// Packed numbers of rows of X, whose indices ascend, by passes over digits.
  Value sortedByDigits(Value X, CodesOf Codes, CodeRange Range);
  bool isSortedByDigits(const Expr &Size, CodeRange Range) const;
  /// The parts of a row that blocks order side by side.
  int64_t partsOf(ArrayRef<Expr> Dims) const;
  int64_t runFor(int64_t Most) const {
    return std::clamp(int64_t(llvm::PowerOf2Ceil(std::max<int64_t>(Most, 2))),
                      Limit.LeastRun, Limit.MostRun);
  }
  std::optional<int64_t> groupSize(ArrayRef<Expr> Dims,
                                   const Expr &Count) const;
  /// Whether the elements of a group lie apart: threads of the host would jump.
  bool isApart(const Expr &Size, int64_t Group) const {
    return Limit.Radix && Facts.divisor(Size) % Group == 0;
  }
  Value leastOfGroups(Value X, CodesOf Codes, int64_t Group);
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
  Type Element = typeOf(X).getElementType();
  if (isNarrowFloat(Element))
    X = M.cast(X, Float32Type::get(Context));
  unsigned Width = typeOf(X).getElementType().getIntOrFloatBitWidth();
  Value Bits = M.bitcast(X, IntegerType::get(Context, Width));
  Value Most = M.number(llvm::maxIntN(Width), Bits);
  Value Zero = M.number(0, Bits);
  // Of negative numbers, the greater ones have the lesser bits.
  Value Code = M.select(M.compare(Predicate::lt, Bits, Zero),
                        M.bitXor(Bits, Most), Bits);
  Code = M.select(M.compare(Predicate::eq, X, M.number(0, X)), Zero, Code);
  Value IsNan = IsNanOp::create(Builder, Op.getLoc(), X);
  Code = M.select(IsNan, Most, Code);
  return Width < 32 ? M.cast(Code, IntegerType::get(Context, 32)) : Code;
}

Value Sorter::codesOf(Value X) {
  MLIRContext *Context = Op.getContext();
  Type Element = typeOf(X).getElementType();
  Type I32 = IntegerType::get(Context, 32), I64 = IntegerType::get(Context, 64);
  Value Codes;
  if (isFloat(Element) || isNarrowFloat(Element)) {
    Codes = codesOfFloats(X);
  } else if (unsigned Bits = Element.getIntOrFloatBitWidth();
             Bits < 32 || !isWide()) {
    Codes = Bits == 32 ? M.bitcast(X, I32) : M.cast(X, I32);
    if (Bits == 32 && isUnsigned(Element) && !Op.getBits())
      Codes = M.bitXor(Codes, M.number(INT32_MIN, Codes));
  } else {
    Codes = M.bitcast(X, I64);
    if (isUnsigned(Element))
      Codes = M.bitXor(Codes, M.number(INT64_MIN, Codes));
  }
  return Op.getDescending() ? NotOp::create(Builder, Op.getLoc(), Codes)
                            : Codes;
}

bool Sorter::isWide() {
  return typeOf(Op.getX()).getElementType().getIntOrFloatBitWidth() == 64 &&
         Op.getBits().value_or(64) > 31;
}

CodeRange Sorter::rangeOfCodes() {
  Type Element = typeOf(Op.getX()).getElementType();
  int64_t Bits = isNarrowFloat(Element) || isWide()
                     ? 32
                     : int64_t(Element.getIntOrFloatBitWidth());
  bool IsUnsigned = isUnsigned(Element) || Element.isInteger(1);
  if (Op.getBits() && !isWide()) {
    Bits = int64_t(*Op.getBits());
    IsUnsigned = true;
  }
  if (!IsUnsigned || Bits == 32)
    return {Bits, -(int64_t(1) << (Bits - 1))};
  // Not x is -1 - x.
  return {Bits, Op.getDescending() ? -(int64_t(1) << Bits) : 0};
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
  if (isUnsigned(Element) && !Op.getBits())
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
  const Expr &Size = Dims.back();
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
  int64_t Run = runFor(Most);
  bool IsOneRun = Most <= Run && Facts.range(Size).Min >= 1;
  Expr Padded = IsOneRun ? Expr(Run)
                         : Facts.simplify(Size.ceilDiv(Expr(Run)) * Expr(Run));
  SmallVector<Expr> Dims(Rows);
  Dims.push_back(Padded);
  int64_t Last = int64_t(Dims.size()) - 1;
  Value Places = M.iota(Dims, Last, Builder.getI64Type());
  Value X = At(Places);
  if (Padded != Size)
    X = M.select(M.compare(Predicate::lt, Places, M.size(Size, Places)), X,
                 M.number(INT64_MAX, X));
  if (IsOneRun) {
    DimsAttr First =
        Count == Padded ? DimsAttr() : DimsAttr::get(Op.getContext(), {Count});
    return SortRunsOp::create(Builder, Op.getLoc(), X, 1, Run, First);
  }
  X = SortRunsOp::create(Builder, Op.getLoc(), X, 1, Run, /*first=*/DimsAttr());
  for (; Run < Most; Run *= 2)
    X = SortRunsOp::create(Builder, Op.getLoc(), X, Run, 2 * Run,
                           /*first=*/DimsAttr());
  return M.firstOfRows(X, Count);
}

/// A merge reads and writes all; a pass of digits reads it once more.
bool Sorter::isSortedByDigits(const Expr &Size, CodeRange Range) const {
  if (!Limit.Radix)
    return false;
  int64_t Most = std::min(mostOf(Size), LongestRow), Merges = 0;
  for (int64_t Run = runFor(Most); Run < Most; Run *= 2)
    ++Merges;
  return 3 * llvm::divideCeil(Range.Bits, DigitBits) <= uint64_t(2 * Merges);
}

int64_t Sorter::partsOf(ArrayRef<Expr> Dims) const {
  // A block reads the counts of all parts of its row, which takes as long as
  // ordering once there are several hundreds.
  constexpr int64_t Few = 128, Many = 256, Long = int64_t(1) << 22;
  // Blocks of all rows: a multiprocessor has room for several.
  constexpr int64_t Blocks = 512;
  int64_t Size = Facts.optimum(Dims.back()).value_or(Long), Rows = 1;
  for (const Expr &E : Dims.drop_back())
    Rows = std::min(Rows * std::max<int64_t>(Facts.optimum(E).value_or(1), 1),
                    Blocks);
  int64_t Parts = std::min(int64_t(llvm::bit_floor(uint64_t(Blocks / Rows))),
                           Size >= Long ? Many : Few);
  while (Parts > 1 && Parts / 2 * DigitTile >= Size)
    Parts /= 2;
  return Parts;
}

Value Sorter::sortedByDigits(Value X, CodesOf Codes, CodeRange Range) {
  ArrayRef<Expr> Dims = TensorMath::dims(X);
  Value Packed = packed(
      Codes(X), M.iota(Dims, int64_t(Dims.size()) - 1, Builder.getI64Type()));
  // Codes from 0 on, all bits of which digits are.
  auto Offset = int64_t(uint64_t(Range.Least) << 32);
  if (Offset)
    Packed = M.add(Packed,
                   M.number(int64_t(uint64_t(0) - uint64_t(Offset)), Packed));
  auto Passes = int64_t(llvm::divideCeil(Range.Bits, DigitBits));
  auto Bits = int64_t(llvm::divideCeil(Range.Bits, Passes));
  int64_t Parts = partsOf(Dims);
  for (int64_t Low = 0; Low < Range.Bits; Low += Bits) {
    Value Counts =
        DigitCountsOp::create(Builder, Op.getLoc(), Packed, 32 + Low,
                              std::min(Bits, Range.Bits - Low), Parts);
    Packed =
        OrderByDigitOp::create(Builder, Op.getLoc(), Packed, Counts, 32 + Low);
  }
  return Offset ? M.add(Packed, M.number(Offset, Packed)) : Packed;
}

/// How many elements each group has, where looking at groups first is worth
/// it; else none.
std::optional<int64_t> Sorter::groupSize(ArrayRef<Expr> Dims,
                                         const Expr &Count) const {
  const Expr &Size = Dims.back();
  std::optional<int64_t> Typical = Facts.optimum(Size),
                         Wanted = Facts.optimum(Count);
  if (!Typical || !Wanted || *Wanted < 1)
    return std::nullopt;
  int64_t Group = LeastGroup;
  if (*Typical <= Limit.MostRun) {
    // A run is one kernel, groups are three: rows must be worth two launches.
    constexpr int64_t ManyElements = int64_t(1) << 20;
    Group = ShortGroup;
    int64_t Elements = *Typical;
    for (const Expr &E : Dims.drop_back())
      Elements = std::min(
          Elements * std::max<int64_t>(Facts.optimum(E).value_or(1), 1),
          ManyElements);
    if (!Limit.Radix || Elements < ManyElements ||
        *Wanted * Group * 4 > *Typical || Facts.divisor(Size) % Group != 0)
      return std::nullopt;
  }
  // As many groups as candidates, about.
  while (Group * Group * *Wanted * 2 < *Typical)
    Group *= 2;
  // Both together are a part of what there is, and so many groups there are
  // at all sizes.
  if (*Wanted * Group * 2 > *Typical ||
      Facts.range(Size.ceilDiv(Expr(Group))).Min < mostOf(Count))
    return std::nullopt;
  return Group;
}

/// The least packed number of each group: of neighbours; or where `Size` is a
/// multiple of the group, of elements that lie as far apart as there are
/// groups, so that threads side by side read neighbours.
Value Sorter::leastOfGroups(Value X, CodesOf Codes, int64_t Group) {
  Type I64 = Builder.getI64Type();
  ArrayRef<Expr> Dims = TensorMath::dims(X);
  auto Last = int64_t(Dims.size()) - 1;
  if (isApart(Dims.back(), Group)) {
    SmallVector<Expr> Apart(Dims.drop_back());
    Apart.append({Expr(Group), Dims.back().floorDiv(Expr(Group))});
    // Of what is in memory, where a reshape is a view.
    SmallVector<Type> Casts;
    Value Elements = X;
    while (auto Cast = Elements.getDefiningOp<CastOp>()) {
      Casts.push_back(typeOf(Elements).getElementType());
      Elements = Cast.getX();
    }
    Elements = M.reshape(Elements, Apart);
    for (Type To : llvm::reverse(Casts))
      Elements = M.cast(Elements, To);
    Value Row = M.iota(Apart, Last, I64);
    Value Places = M.add(M.mul(Row, M.size(Apart.back(), Row)),
                         M.iota(Apart, Last + 1, I64));
    Value All = packed(Codes(Elements), Places);
    return ReduceOp::create(Builder, Op.getLoc(), ReduceKind::min, All,
                            ArrayRef{Last});
  }
  Value All = packed(Codes(X), M.iota(Dims, Last, I64));
  size_t Rank = Dims.size();
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
  Value Least = leastOfGroups(X, Codes, Group);
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
    Value Place = M.restOf(Places, Group), First;
    if (isApart(Size, Group)) {
      First = M.binary<ModOp>(OfGroup, M.size(Groups, OfGroup));
      Place = M.mul(Place, M.size(Groups, Place));
    } else {
      First = M.bitAnd(OfGroup, M.number(~(Group - 1), OfGroup));
    }
    Value Index = M.add(First, Place);
    Value Candidate = packed(Codes(M.gatherElements(X, Index, Last)), Index);
    return M.select(M.compare(Predicate::lt, Index, M.size(Size, Index)),
                    Candidate, M.number(INT64_MAX, Candidate));
  });
}

Value Sorter::firstPacked(Value X, CodesOf Codes, CodeRange Range,
                          const Expr &Count) {
  ArrayRef<Expr> Dims = TensorMath::dims(X);
  int64_t Last = int64_t(Dims.size()) - 1;
  if (std::optional<int64_t> Group = groupSize(Dims, Count))
    return ofGroups(X, Codes, Count, *Group);
  if (isSortedByDigits(Dims.back(), Range))
    return M.firstOfRows(sortedByDigits(X, Codes, Range), Count);
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
  CodeRange Half = {32, INT32_MIN};
  Value First = indicesIn(firstPacked(X, LowOf, Half, All));
  Value ByLow = M.gatherElements(X, First, Last);
  Value Then = indicesIn(firstPacked(ByLow, HighOf, Half, Count));
  return M.gatherElements(First, Then, Last);
}

void Sorter::run() {
  int64_t Axis = Op.getAxis();
  Expr Count = TensorMath::dims(Op.getY())[Axis];
  Value X = M.swappedWithLast(Op.getX(), Axis), Index, Elements;
  bool IsWide = isWide();
  if (mostOf(TensorMath::dims(X).back()) <=
      (IsWide ? ShortRow : std::min(ShortRow, Limit.LeastRun))) {
    Index = rank(X, Count);
  } else if (IsWide) {
    Index = orderByHalves(X, Count);
  } else {
    Value Packed = firstPacked(
        X, [&](Value X) { return codesOf(X); }, rangeOfCodes(), Count);
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
      Sorter(Op, Facts, {LeastRun, MostRun, Radix}).run();
  }
};

} // namespace
