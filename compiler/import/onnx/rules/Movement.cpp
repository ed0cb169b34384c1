//===- Movement.cpp - Import of joining, cutting and padding --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"

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
  if (!N.bad())
    N.result(0, N.concat(Xs, Axis));
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
      !N.unify(Start, Size))
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
  return Low && High && (*Low < 0) == (*High < 0) && *High <= *Low;
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
  // Backwards; only what numbers say can be clamped here.
  std::optional<int64_t> S = Start.asConstant(), E = End.asConstant();
  std::optional<int64_t> Whole = Size.asConstant();
  if (Whole && S && E) {
    int64_t From = *S < 0 ? *S + *Whole : *S;
    int64_t To = *E < 0 ? std::max(*E, -*Whole - 1) + *Whole : *E;
    From = std::clamp<int64_t>(From, -1, *Whole - 1);
    To = std::clamp<int64_t>(To, -1, *Whole - 1);
    int64_t Count = From > To ? (From - To - Step - 1) / -Step : 0;
    return Cut{Expr(std::max<int64_t>(From, 0)), Expr(Count)};
  }
  bool FromEnd = S && (*S == -1 || *S >= BeyondSizes);
  bool ToStart = E && *E <= -BeyondSizes;
  if (FromEnd && ToStart)
    return Cut{Size - 1, Facts.simplify(Size.ceilDiv(-Step))};
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

static void importSlice(NodeImport &N) {
  N.expectInputs(3, 5);
  Value X = N.input(0);
  if (N.bad() || sliceAtRunTime(N, X))
    return;
  std::optional<std::vector<Expr>> Starts = N.knownSizes(1, "starts");
  std::optional<std::vector<Expr>> Ends = N.knownSizes(2, "ends");
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

//===----------------------------------------------------------------------===//
// Pad
//===----------------------------------------------------------------------===//

/// Where each element of a padded axis comes from.
static Value sourceIndex(NodeImport &N, const std::string &Mode,
                         const Expr &Size, const Expr &Padded, int64_t Low) {
  Value Zero = N.scalarInt(0, N.i64());
  Value Last = N.sizeScalar(Size - 1, N.i64());
  Value I =
      N.addScalar(N.iota({Padded}, 0, N.i64()), -static_cast<double>(Low));
  if (Mode == "edge")
    return N.min(N.max(I, Zero), Last);
  if (Mode == "wrap")
    return N.binary<ModOp>(I, N.sizeScalar(Size, N.i64()));
  // reflect: 2 1 | 0 1 2 | 1 0
  return N.sub(Last, N.unary<AbsOp>(N.sub(Last, N.unary<AbsOp>(I))));
}

static void padByIndex(NodeImport &N, Value X, const std::string &Mode,
                       ArrayRef<int64_t> Low, ArrayRef<int64_t> High) {
  for (size_t A = 0; A < Low.size() && X; ++A) {
    if (Low[A] == 0 && High[A] == 0)
      continue;
    Expr Size = N.dims(X)[A];
    int64_t Most = std::max(Low[A], High[A]);
    if (Mode == "reflect" && Size.isConstant() && Most >= *Size.asConstant()) {
      N.unsupported("reflects " + std::to_string(Most) +
                    " elements of a size of " + Size.str());
      return;
    }
    X = N.gather(X, sourceIndex(N, Mode, Size, Size + Low[A] + High[A], Low[A]),
                 static_cast<int64_t>(A));
  }
  N.result(0, X);
}

/// How much is put in front of an axis, from inputs of the model: the pad of
/// the entry that names the axis, if `Axes` is given.
static Value runTimeLow(NodeImport &N, Value Pads, Value Axes, int64_t Axis,
                        int64_t Rank) {
  if (!Axes)
    return N.reshape(N.sliceAxis(Pads, 0, Axis, 1), {});
  Value Zero = N.scalarInt(0, N.i64());
  Value Front = N.select(N.compare(Predicate::lt, Axes, Zero),
                         N.addScalar(Axes, static_cast<double>(Rank)), Axes);
  Value Here = N.compare(Predicate::eq, Front, N.scalarInt(Axis, N.i64()));
  Value Lows = N.sliceAxis(Pads, 0, 0, N.dims(Axes)[0]);
  return N.reduce(ReduceKind::sum, N.select(Here, Lows, Zero), {0});
}

/// The axes that pads are for, in order; none where they are not known.
static std::optional<std::vector<int64_t>> paddedAxes(NodeImport &N, Value X) {
  if (N.hasInput(3))
    return N.contents(3) ? N.contents(3)->integers() : std::nullopt;
  std::vector<int64_t> Axes;
  for (int64_t A = 0; A < N.rank(X); ++A)
    Axes.push_back(A);
  return Axes;
}

/// Pads that follow from the model's sizes and are never negative: what fills
/// them is joined to both ends.
static bool padBySizes(NodeImport &N, Value X, Value Filler) {
  const Contents *Known = N.contents(1);
  std::optional<std::vector<int64_t>> Axes = paddedAxes(N, X);
  if (!Known || Known->integers() || Known->isReal() || !Axes ||
      Known->Whole.size() != 2 * Axes->size())
    return false;
  const shape::Facts &Facts = N.importer().facts();
  std::vector<Expr> Pads = Known->Whole;
  for (Expr &E : Pads)
    E = Facts.simplify(E);
  if (llvm::any_of(Pads, [&](const Expr &E) { return Facts.range(E).Min < 0; }))
    return false;
  for (size_t I = 0; I < Axes->size() && X && !N.bad(); ++I) {
    int64_t Axis = N.frontAxis((*Axes)[I], N.rank(X));
    SmallVector<Value> Parts;
    auto Add = [&](const Expr &Count) {
      Dims Sizes(N.dims(X));
      Sizes[static_cast<size_t>(Axis)] = Count;
      if (Count != Expr(0))
        Parts.push_back(N.broadcast(Filler, Sizes));
    };
    Add(Pads[I]);
    Parts.push_back(X);
    Add(Pads[I + Axes->size()]);
    if (Parts.size() > 1)
      X = N.concat(Parts, Axis);
  }
  N.result(0, X);
  return true;
}

/// The sizes that pads make: those the model declares, or what follows from
/// elements of its inputs.
static std::optional<Dims> paddedSizes(NodeImport &N, Value X) {
  if (std::optional<Dims> Declared = N.declaredSizes(0);
      Declared && Declared->size() == N.dims(X).size())
    return Declared;
  std::optional<std::vector<Expr>> Pads = N.readSizes(1);
  if (!Pads)
    return std::nullopt;
  std::optional<std::vector<int64_t>> Axes = paddedAxes(N, X);
  if (!Axes || Pads->size() != 2 * Axes->size())
    return std::nullopt;
  const shape::Facts &Facts = N.importer().facts();
  Dims Sizes(N.dims(X));
  for (size_t I = 0; I < Axes->size() && !N.bad(); ++I) {
    Expr &Size = Sizes[static_cast<size_t>(N.frontAxis((*Axes)[I], N.rank(X)))];
    Size = Facts.simplify(Size + (*Pads)[I] + (*Pads)[I + Axes->size()]);
  }
  return Sizes;
}

/// Pads known only at run time: each element is looked up or filled.
static bool padAtRunTime(NodeImport &N, Value X, const std::string &Mode,
                         Value Filler) {
  const Contents *Known = N.contents(1);
  if ((Known && Known->integers() && (!N.hasInput(3) || N.contents(3))) ||
      (Mode != "constant" && Mode != "edge" && Mode != "reflect" &&
       Mode != "wrap"))
    return false;
  if (Mode == "constant" &&
      padBySizes(N, X,
                 Filler ? N.cast(N.reshape(Filler, {}), N.element(X))
                        : N.scalarInt(0, N.element(X))))
    return true;
  std::optional<Dims> Sizes = paddedSizes(N, X);
  Value Pads = N.cast(N.input(1), N.i64());
  Value Axes = N.cast(N.optionalInput(3), N.i64());
  if (N.bad())
    return true;
  if (!Sizes || N.rank(Pads) != 1 || (Axes && N.rank(Axes) != 1))
    return false;
  Filler = Filler ? N.cast(N.reshape(Filler, {}), N.element(X))
                  : N.scalarInt(0, N.element(X));
  Value Zero = N.scalarInt(0, N.i64()), Inside;
  for (size_t A = 0; A < Sizes->size() && !N.bad(); ++A) {
    auto Axis = static_cast<int64_t>(A);
    Value Low = runTimeLow(N, Pads, Axes, Axis, N.rank(X));
    Value Size = N.sizeScalar(N.dims(X)[A], N.i64());
    Value Last = N.addScalar(Size, -1);
    Value I = N.sub(N.iota({(*Sizes)[A]}, 0, N.i64()), Low);
    if (Mode == "reflect")
      I = N.sub(Last, N.unary<AbsOp>(N.sub(Last, N.unary<AbsOp>(I))));
    if (Mode == "wrap")
      I = N.binary<ModOp>(I, Size);
    Value Clamped = N.min(N.max(I, Zero), Last);
    X = N.gather(X, Clamped, Axis);
    Dims Along(Sizes->size(), Expr(1));
    Along[A] = (*Sizes)[A];
    Value Here = N.reshape(N.compare(Predicate::eq, I, Clamped), Along);
    Inside = Inside ? N.binary<AndOp>(Inside, Here) : Here;
  }
  if (X && Inside && Mode == "constant")
    X = N.select(Inside, X, Filler);
  N.result(0, X);
  return true;
}

static void importPad(NodeImport &N) {
  std::string Mode = N.stringAttribute("mode", "constant");
  Value X = N.input(0), Filler = N.optionalInput(2);
  if (N.bad() || padAtRunTime(N, X, Mode, Filler))
    return;
  std::optional<std::vector<int64_t>> Pads = N.knownInts(1, "pads");
  if (N.bad())
    return;
  auto Rank = static_cast<size_t>(N.rank(X));
  Ints Axes;
  for (size_t I = 0; I < Rank; ++I)
    Axes.push_back(static_cast<int64_t>(I));
  if (N.hasInput(3)) {
    std::optional<std::vector<int64_t>> Given = N.knownInts(3, "axes");
    if (!Given)
      return;
    Axes.clear();
    for (int64_t A : *Given)
      Axes.push_back(N.frontAxis(A, N.rank(X)));
  }
  if (N.bad())
    return;
  if (Pads->size() != Axes.size() * 2) {
    N.fail(Code::ImportShape, std::to_string(Pads->size()) +
                                  " pads, but should be two for each of " +
                                  std::to_string(Axes.size()) + " axes");
    return;
  }
  Ints Low(Rank, 0), High(Rank, 0), Interior(Rank, 0);
  for (size_t I = 0; I < Axes.size(); ++I) {
    Low[static_cast<size_t>(Axes[I])] = (*Pads)[I];
    High[static_cast<size_t>(Axes[I])] = (*Pads)[I + Axes.size()];
  }
  for (size_t I = 0; I < Rank; ++I)
    if (std::abs(Low[I] / 2) > INT32_MAX || std::abs(High[I] / 2) > INT32_MAX) {
      N.fail(Code::ImportBadDims, "pads of more than 2^32 elements");
      return;
    }
  if (Mode == "edge" || Mode == "reflect" || Mode == "wrap")
    return padByIndex(N, X, Mode, Low, High);
  if (Mode != "constant") {
    N.fail(Code::ImportAttributeValue, "attribute 'mode' is '" +
                                           printable(Mode) +
                                           "', but should be constant, "
                                           "reflect, edge or wrap");
    return;
  }
  Filler = Filler ? N.cast(N.reshape(Filler, {}), N.element(X))
                  : N.scalarInt(0, N.element(X));
  N.result(0, N.pad(X, Filler, Low, High, Interior));
}

ArrayRef<Rule> movementRules() {
  static const Rule Rows[] = {
      {"", "Concat", 1, Newest, importConcat},
      {"", "Split", 1, Newest, importSplit,
       "the sizes must follow from constants, sizes and elements of small "
       "inputs"},
      {"", "Slice", 1, Newest, importSlice,
       "bounds must follow from constants, sizes and elements of small inputs, "
       "or the result's sizes be declared"},
      {"", "Pad", 1, Newest, importPad,
       "the pads must follow from constants, sizes and elements of small "
       "inputs, or the result's sizes be declared"},
      {"com.microsoft", "Pad", 1, 1, importPad},
  };
  return Rows;
}

} // namespace kpc::onnx
