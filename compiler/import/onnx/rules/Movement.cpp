//===- Movement.cpp - Import of joining and cutting -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/DataBounds.h"

#include <climits>
#include <numeric>

using namespace kpc::graph;

namespace kpc::onnx {

static void importConcat(NodeImport &N) {
  int64_t Axis =
      N.opset() < 4 ? N.intAttribute("axis", 1) : N.requiredInt("axis");
  SmallVector<Value> Xs;
  N.expectInputs(1, 1 << 20);
  for (size_t I = 0; I < N.inputCount() && !N.bad(); ++I)
    Xs.push_back(N.input(I));
  if (N.bad())
    return;
  Axis = N.frontAxis(Axis, N.rank(Xs[0]));
  Value Joined = N.bad() ? Value() : N.concat(Xs, Axis);
  if (!Joined)
    return;
  // A roll joins two slices to the size that they were cut from.
  const shape::Facts &Facts = N.importer().facts();
  Expr Size = N.dims(Joined)[static_cast<size_t>(Axis)];
  Expr Simple = Facts.simplify(Size);
  if (Simple != Size && !shape::partsThatMakeEqual(Facts, Size, Simple).empty())
    N.unify(Size, Simple);
  N.result(0, Joined);
}

//===----------------------------------------------------------------------===//
// Split
//===----------------------------------------------------------------------===//

static void failUneven(NodeImport &N, const Expr &Size, int64_t Count) {
  const shape::Facts &Facts = N.importer().facts();
  std::string Into = "divide into " + std::to_string(Count) + " parts";
  if (Facts.isEqual(Size.mod(Count), 0) == false) {
    N.fail(Code::ImportShape, "a size of " + Size.str() + " does not " + Into);
    return;
  }
  std::string Hint;
  if (std::optional<std::string> Name = Size.asSymbol()) {
    int64_t Divisor = std::lcm(Facts.divisor(Size), Count);
    Hint = "if it always does, say so: `--dim " + printable(*Name) +
           "=MIN..MAX:div=" + std::to_string(Divisor) + "`";
  }
  N.fail(Code::ImportShape,
         "a size of " + Size.str() + " is not known to " + Into, Hint);
}

/// Equal parts; since opset 18 the last may be smaller. `Size` may become one
/// that the parts fit.
static std::optional<std::vector<Expr>> equalParts(NodeImport &N, Expr &Size,
                                                   int64_t Count) {
  const shape::Facts &Facts = N.importer().facts();
  bool Even = Facts.divisor(Size) % Count == 0;
  if (!Even && N.opset() < 18) {
    // Names in the size become what is divided; runs check it.
    if (Size.isConstant() || !N.unify(Size, Size.floorDiv(Count) * Count)) {
      failUneven(N, Size, Count);
      return std::nullopt;
    }
    Size = Facts.simplify(N.current(Size));
    Even = true;
  }
  Expr Part = Facts.simplify(Size.ceilDiv(Count));
  std::vector<Expr> Sizes(static_cast<size_t>(Count), Part);
  if (Even)
    return Sizes;
  if (!N.importer().require(
          Part * (Count - 1), false, Size,
          "splits a size into " + std::to_string(Count) + " parts", N)) {
    failUneven(N, Size, Count);
    return std::nullopt;
  }
  Sizes.back() = Size - Part * (Count - 1);
  return Sizes;
}

/// Sizes of the parts, from wherever the model says them.
static std::optional<std::vector<Expr>> splitSizes(NodeImport &N, Expr &Size,
                                                   int64_t Axis) {
  size_t Parts = N.node().Outputs.size();
  std::optional<std::vector<Expr>> Sizes;
  if (N.hasInput(1) && !N.contents(1)) {
    Sizes.emplace();
    for (size_t I = 0; I < Parts && Sizes; ++I) {
      std::optional<Dims> Declared = N.declaredSizes(I);
      if (Declared && Declared->size() > static_cast<size_t>(Axis))
        Sizes->push_back((*Declared)[static_cast<size_t>(Axis)]);
      else
        Sizes.reset();
    }
  }
  if (Sizes)
    return Sizes;
  if (N.hasInput(1))
    return N.knownSizes(1, "split");
  if (Parts == 0)
    return std::vector<Expr>();
  return equalParts(N, Size, static_cast<int64_t>(Parts));
}

static void importSplit(NodeImport &N) {
  int64_t Axis = N.intAttribute("axis", 0);
  int64_t Wanted = N.intAttribute(
      "num_outputs", static_cast<int64_t>(N.node().Outputs.size()));
  Value X = N.input(0);
  if (N.bad())
    return;
  Axis = N.frontAxis(Axis, N.rank(X));
  if (N.bad())
    return;
  Expr Size = N.dims(X)[static_cast<size_t>(Axis)];
  std::optional<std::vector<Expr>> Sizes = splitSizes(N, Size, Axis);
  if (!Sizes)
    return;
  if (Sizes->size() != N.node().Outputs.size() ||
      Wanted != static_cast<int64_t>(Sizes->size())) {
    N.fail(Code::ImportArity,
           "splits into " + std::to_string(Sizes->size()) + " parts, but has " +
               std::to_string(N.node().Outputs.size()) + " outputs");
    return;
  }
  Expr Start(0);
  for (size_t I = 0; I < Sizes->size(); ++I) {
    if (N.wants(I))
      N.result(I, N.sliceAxis(X, Axis, Start, (*Sizes)[I]));
    Start = Start + (*Sizes)[I];
  }
  if (N.importer().facts().isEqual(Start, Size) != true &&
      !N.unify(Start, Size) &&
      !N.importer().require(Start, true, Size, "splits an axis into these", N))
    N.fail(Code::ImportShape, "parts of together " + Start.str() +
                                  " do not make a size of " + Size.str());
}

//===----------------------------------------------------------------------===//
// Slice
//===----------------------------------------------------------------------===//

namespace {
struct Cut {
  Expr Start, Count;
};
} // namespace

/// Exporters write a number like this for "to the end": INT64_MAX, INT32_MAX or
/// 10^9. No size that is not known is as large.
static constexpr int64_t BeyondSizes = int64_t(1) << 29;

/// A bound counted from the front; a negative one counts from the end.
static Expr frontBound(NodeImport &N, const Expr &Bound, const Expr &Size) {
  const shape::Facts &Facts = N.importer().facts();
  std::optional<int64_t> C = Bound.asConstant();
  if (C && (Size.isConstant() ? *C >= INT32_MAX : *C >= BeyondSizes))
    return Size;
  if (C && *C <= -BeyondSizes && !Size.isConstant())
    return Expr(0);
  if (C && *C < 0)
    return Facts.simplify(
        Expr::max(Size + std::max<int64_t>(*C, -INT32_MAX), 0));
  // A size may be subtracted: what is below 0 then counts from the end.
  if (!C && Facts.range(Bound).Min < 0) {
    Expr Below = Expr::min(Expr::max(Expr(0) - Bound, 0), 1);
    Expr Front = Facts.simplify(Bound + Facts.simplify(Below) * Size);
    return Facts.simplify(Expr::max(Expr::min(Front, Size), 0));
  }
  Expr Least = Facts.simplify(Expr::min(Bound, Size));
  // Tables of positions are cut to the sequence's length: a longer sequence
  // than the table is a fault of the caller, and refused when it is bound.
  std::optional<std::string> Symbol = Bound.asSymbol();
  if (Symbol && Size.isConstant() && Least != Bound &&
      N.importer().limit(*Symbol, *Size.asConstant(), N))
    return Bound;
  return Least;
}

/// Whether nothing is taken of any size, by the numbers alone. Bounds of one
/// sign are counted from one end.
static bool isAlwaysEmpty(std::optional<int64_t> Start,
                          std::optional<int64_t> End, bool Backwards) {
  // Forwards nothing lies after the end or before the start; backwards
  // the bounds change places.
  std::optional<int64_t> Low = Backwards ? End : Start,
                         High = Backwards ? Start : End;
  if ((Low && *Low >= BeyondSizes) || (High && *High <= -BeyondSizes))
    return true;
  // Backwards a start in front of the first element is the first one.
  return Low && High && (*Low < 0) == (*High < 0) && *High <= *Low &&
         (!Backwards || *Low >= 0);
}

/// Python's rules for start:end:step on a size that may be symbolic.
static std::optional<Cut> cut(NodeImport &N, const Expr &Start, const Expr &End,
                              int64_t Step, const Expr &Size) {
  const shape::Facts &Facts = N.importer().facts();
  if (Step == 0 || Step == INT64_MIN) {
    N.fail(Code::ImportShape, "a step of " + std::to_string(Step));
    return std::nullopt;
  }
  if (!Size.isConstant() &&
      isAlwaysEmpty(Start.asConstant(), End.asConstant(), Step < 0))
    return Cut{Expr(0), Expr(0)};
  if (Step > 0) {
    Expr From = frontBound(N, Start, Size), To = frontBound(N, End, Size);
    Expr Span = Facts.simplify(Expr::max(To - From, 0));
    return Cut{From, Facts.simplify(Span.ceilDiv(Step))};
  }
  // Backwards; what is no number cannot be clamped here.
  std::optional<int64_t> S = Start.asConstant(), E = End.asConstant();
  std::optional<int64_t> Whole = Size.asConstant();
  if (Whole && S && E) {
    int64_t From = *S < 0 ? *S + *Whole : *S;
    int64_t To = *E < 0 ? std::max(*E, -*Whole - 1) + *Whole : *E;
    // A start in front of the first element is the first one, by ONNX's text;
    // numpy gives nothing.
    From = std::min(std::max<int64_t>(From, 0), *Whole - 1);
    To = std::clamp<int64_t>(To, -1, *Whole - 1);
    int64_t Count = From > To ? (From - To - Step - 1) / -Step : 0;
    return Cut{Expr(std::max<int64_t>(From, 0)), Expr(Count)};
  }
  bool FromEnd = S && (*S == -1 || *S >= BeyondSizes);
  bool ToStart = E && *E <= -BeyondSizes;
  if (FromEnd && ToStart)
    return Cut{Size - 1, Facts.simplify(Size.ceilDiv(-Step))};
  if (S && E) {
    auto Bound = [&](int64_t At) {
      Expr Clamped = At <= -BeyondSizes  ? Expr(-1)
                     : At < 0            ? Expr::max(Size + At, -1)
                     : At >= BeyondSizes ? Size - 1
                                         : Expr::min(Size - 1, At);
      return Facts.simplify(Clamped);
    };
    Expr From = Facts.simplify(Expr::min(Expr::max(Bound(*S), 0), Size - 1)),
         To = Bound(*E);
    Expr Span = Facts.simplify(Expr::max(From - To, 0));
    return Cut{Facts.simplify(Expr::max(From, 0)),
               Facts.simplify(Span.ceilDiv(-Step))};
  }
  N.unsupported("slices backwards from " + Start.str() + " to " + End.str() +
                " of a size of " + Size.str());
  return std::nullopt;
}

/// Start and step of one axis, from inputs of the model.
static std::pair<Value, Value> runTimeCut(NodeImport &N, Value X, int64_t Axis,
                                          Value Starts, Value Axes,
                                          Value Steps) {
  Type Index = N.i64();
  Value Zero = N.scalarInt(0, Index), One = N.scalarInt(1, Index);
  // The entry that names this axis; where none does, all of it is taken.
  Value Front =
      N.select(N.compare(Predicate::lt, Axes, Zero),
               N.addScalar(Axes, static_cast<double>(N.rank(X))), Axes);
  Value Here = N.compare(Predicate::eq, Front, N.scalarInt(Axis, Index));
  auto Sum = [&](Value V) { return N.reduce(ReduceKind::sum, V, {0}); };
  Value Named = Sum(N.cast(Here, Index));
  Value Step = N.add(Sum(N.select(Here, Steps, Zero)), N.sub(One, Named));
  Value Start = Sum(N.select(Here, Starts, Zero));
  Value Size = N.sizeScalar(N.dims(X)[static_cast<size_t>(Axis)], Index);
  Start = N.select(N.compare(Predicate::lt, Start, Zero), N.add(Start, Size),
                   Start);
  Value Top =
      N.select(N.compare(Predicate::lt, Step, Zero), N.sub(Size, One), Size);
  return {N.min(N.max(Start, Zero), Top), Step};
}

/// Bounds known only at run time: the counts are the declared sizes, and
/// indices are computed.
static bool sliceAtRunTime(NodeImport &N, Value X) {
  std::optional<Dims> Declared = N.declaredSizes(0);
  bool Known = true;
  for (size_t I = 1; I < N.inputCount(); ++I)
    Known &= !N.hasInput(I) || N.contents(I);
  if (Known || !Declared || Declared->size() != N.dims(X).size())
    return false;
  Value Starts = N.cast(N.input(1), N.i64());
  Value Axes = N.cast(N.optionalInput(3), N.i64());
  Value Steps = N.cast(N.optionalInput(4), N.i64());
  if (N.bad() || N.rank(Starts) != 1)
    return false;
  if (!Axes)
    Axes = N.iota(N.dims(Starts), 0, N.i64());
  if (!Steps)
    Steps = N.full(1, N.dims(Starts), N.i64());
  for (int64_t Axis = 0; Axis < static_cast<int64_t>(Declared->size());
       ++Axis) {
    auto [Start, Step] = runTimeCut(N, X, Axis, Starts, Axes, Steps);
    Value Count = N.iota({(*Declared)[static_cast<size_t>(Axis)]}, 0, N.i64());
    X = N.gather(X, N.add(N.mul(Count, Step), Start), Axis);
    if (!X)
      return true;
  }
  N.result(0, X);
  return true;
}

/// The bounds of input `I`. Those that data decides may count from the end, and
/// may lie outside: what is read is the place from the front.
static std::optional<std::vector<Expr>>
boundsOf(NodeImport &N, size_t I, std::string_view What, Value X) {
  std::optional<std::vector<Expr>> Read = N.readSizes(I);
  std::optional<int64_t> Count;
  Value Given = Read || !N.hasInput(I) ? Value() : N.input(I);
  if (Given && N.rank(Given) == 1)
    Count = N.dims(Given)[0].asConstant();
  std::optional<std::vector<int64_t>> Axes, Steps;
  if (N.hasInput(3) && N.contents(3))
    Axes = N.contents(3)->integers();
  if (N.hasInput(4) && N.contents(4))
    Steps = N.contents(4)->integers();
  bool Forwards =
      !N.hasInput(4) ||
      (Steps && llvm::all_of(*Steps, [](int64_t S) { return S > 0; }));
  // Those that are places anyway keep one name for all who use them.
  if (Given && isNeverNegative(Given))
    return N.knownSizes(I, What);
  if (Read || !Count || *Count > N.rank(X) || (N.hasInput(3) && !Axes) ||
      (Axes && static_cast<int64_t>(Axes->size()) != *Count) || !Forwards ||
      N.importer().isInBody())
    return N.knownSizes(I, What);
  std::vector<Expr> Bounds;
  for (int64_t J = 0; J < *Count && !N.bad(); ++J) {
    int64_t Axis =
        N.frontAxis(Axes ? (*Axes)[static_cast<size_t>(J)] : J, N.rank(X));
    Expr Size = N.dims(X)[static_cast<size_t>(Axis)];
    Value Bound = N.cast(elementAt(N, Given, J), N.i64());
    Value Zero = N.scalarInt(0, N.i64()), Whole = N.sizeScalar(Size, N.i64());
    Bound = N.select(N.compare(Predicate::lt, Bound, Zero), N.add(Bound, Whole),
                     Bound);
    std::optional<Expr> Place = N.decideSize(N.min(N.max(Bound, Zero), Whole),
                                             Size, static_cast<size_t>(Axis));
    if (!Place)
      return std::nullopt;
    Bounds.push_back(*Place);
  }
  return Bounds;
}

static void importSlice(NodeImport &N) {
  N.expectInputs(3, 5);
  Value X = N.input(0);
  if (N.bad() || sliceAtRunTime(N, X))
    return;
  std::optional<std::vector<Expr>> Starts = boundsOf(N, 1, "starts", X);
  std::optional<std::vector<Expr>> Ends = boundsOf(N, 2, "ends", X);
  if (!Starts || !Ends)
    return;
  std::vector<int64_t> Axes, Steps(Starts->size(), 1);
  for (size_t I = 0; I < Starts->size(); ++I)
    Axes.push_back(static_cast<int64_t>(I));
  if (N.hasInput(3))
    Axes = N.knownInts(3, "axes").value_or(Axes);
  if (N.hasInput(4))
    Steps = N.knownInts(4, "steps").value_or(Steps);
  if (N.bad())
    return;
  if (Ends->size() != Starts->size() || Axes.size() != Starts->size() ||
      Steps.size() != Starts->size()) {
    N.fail(Code::ImportShape, "starts, ends, axes and steps differ in length");
    return;
  }
  Dims From(N.dims(X).size(), Expr(0)), Sizes(N.dims(X));
  Ints Strides(N.dims(X).size(), 1);
  N.frontAxes(Axes, N.rank(X));
  for (size_t I = 0; I < Axes.size() && !N.bad(); ++I) {
    auto At = static_cast<size_t>(N.frontAxis(Axes[I], N.rank(X)));
    std::optional<Cut> C =
        cut(N, (*Starts)[I], (*Ends)[I], Steps[I], Sizes[At]);
    if (!C)
      return;
    From[At] = C->Start;
    Sizes[At] = C->Count;
    Strides[At] = Steps[I];
  }
  if (!N.bad())
    N.result(0, N.slice(X, From, Strides, Sizes));
}

ArrayRef<Rule> movementRules() {
  static const Rule Rows[] = {
      {"", "Concat", 1, Newest, importConcat},
      {"", "Split", 1, Newest, importSplit,
       "in loops and branches the sizes must follow from constants, sizes and "
       "elements of small inputs"},
      {"", "Slice", 1, Newest, importSlice,
       "in loops and branches, and with negative steps, bounds must follow "
       "from constants, sizes and elements of small inputs, or the result's "
       "sizes be declared"},
      {"", "Pad", 1, Newest, importPad,
       "in loops and branches the pads must follow from constants, sizes and "
       "elements of small inputs, or the result's sizes be declared"},
      {"com.microsoft", "Pad", 1, 1, importPad},
  };
  return Rows;
}

} // namespace kpc::onnx
