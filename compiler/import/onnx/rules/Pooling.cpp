//===- Pooling.cpp - Import of pooling ------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/Spatial.h"

#include <algorithm>
#include <limits>

using namespace kpc::graph;

namespace kpc::onnx {

static bool poolRank(NodeImport &N, Value X) {
  if (N.rank(X) >= 3)
    return true;
  N.fail(Code::ImportRank, "input 0 has rank " + std::to_string(N.rank(X)) +
                               ", but should have 3 or more");
  return false;
}

/// Attributes that all poolings share.
static std::optional<Spatial> poolAttributes(NodeImport &N, Value X,
                                             bool ChannelsLast = false) {
  bool Ceil = N.flagAttribute("ceil_mode");
  std::optional<Ints> Kernel = N.intsAttribute("kernel_shape");
  if (!Kernel)
    N.fail(Code::ImportAttributeMissing, "attribute 'kernel_shape' is missing");
  if (N.bad() || !poolRank(N, X))
    return std::nullopt;
  ArrayRef<Expr> Sizes = ChannelsLast ? N.dims(X).drop_front(1).drop_back(1)
                                      : N.dims(X).drop_front(2);
  return spatialAttributes(N, *Kernel, Sizes, Ceil);
}

/// The least number of x's type.
static Value leastOf(NodeImport &N, Value X) {
  if (!X || isFloat(N.element(X)))
    return N.like(-std::numeric_limits<double>::infinity(), X);
  unsigned Bits = N.element(X).getIntOrFloatBitWidth();
  return N.scalarInt(isUnsigned(N.element(X)) ? 0 : int64_t(-1) << (Bits - 1),
                     N.element(X));
}

/// A window over the spatial dimensions of x, channels last.
static Value pool(NodeImport &N, ReduceKind K, Value X, Spatial S) {
  X = K == ReduceKind::max ? underWindows(N, X, leastOf(N, X), S)
                           : underWindows(N, X, S);
  auto Full = [](const Ints &Inner, int64_t Outer) {
    Ints All = {Outer};
    All.append(Inner.begin(), Inner.end());
    All.push_back(Outer);
    return All;
  };
  return N.window(K, X, Full(S.Kernel, 1), Full(S.Stride, 1),
                  Full(S.Dilation, 1), Full(S.Low, 0), Full(S.High, 0));
}

/// Maxima and their places: the taps of the window one after another, each a
/// strided slice of the padded input.
static void maxWithIndices(NodeImport &N, Value X, const Spatial &S,
                           bool ColumnMajor) {
  size_t Rank = N.dims(X).size();
  Dims Sizes(N.dims(X));
  // Places count through the whole input, its spatial part row by row or
  // column by column.
  Value Place = N.scalarInt(0, N.i64());
  Expr Below(1);
  auto Count = [&](size_t Axis) {
    Value I = N.iota(Sizes, static_cast<int64_t>(Axis), N.i64());
    Place = N.add(N.mul(I, N.sizeScalar(Below, N.i64())), Place);
    Below = Below * Sizes[Axis];
  };
  for (size_t I = 2; I < Rank; ++I)
    Count(ColumnMajor ? I : Rank + 1 - I);
  Count(1);
  Count(0);
  Ints Low = {0, 0}, High = {0, 0}, None(Rank, 0), Stride = {1, 1};
  Low.append(S.Low);
  High.append(S.High);
  Stride.append(S.Stride);
  Value Padded = N.pad(X, leastOf(N, X), Low, High, None);
  Value Places = N.pad(Place, N.scalarInt(0, N.i64()), Low, High, None);
  if (!Padded || !Places)
    return N.result(0, Value());
  Dims Out = {Sizes[0], Sizes[1]};
  int64_t Taps = 1;
  for (size_t I = 0; I < S.count(); ++I) {
    int64_t Reach = (S.Kernel[I] - 1) * S.Dilation[I] + 1;
    const Expr &Size = N.dims(Padded)[I + 2];
    if (Size.asConstant().value_or(Reach) < Reach) {
      N.fail(Code::ImportShape, "a window of " + std::to_string(Reach) +
                                    " does not fit the padded size of " +
                                    Size.str());
      return;
    }
    Out.push_back((Size - Reach).floorDiv(S.Stride[I]) + 1);
    Taps *= S.Kernel[I];
    if (Taps > 1024) {
      N.unsupported("the indices of maxima in windows of more than 1024 "
                    "elements");
      return;
    }
  }
  Value Best, BestPlace;
  for (int64_t T = 0; T < Taps; ++T) {
    Dims Start(Rank, Expr(0));
    int64_t Rest = T;
    for (size_t I = S.count(); I-- > 0; Rest /= S.Kernel[I])
      Start[I + 2] = Expr(Rest % S.Kernel[I] * S.Dilation[I]);
    Value V = N.slice(Padded, Start, Stride, Out);
    Value P = N.slice(Places, Start, Stride, Out);
    if (!V || !P)
      return N.result(0, Value());
    if (T == 0) {
      Best = V;
      BestPlace = P;
      continue;
    }
    Value Better = N.compare(Predicate::gt, V, Best);
    // As without places: the first NaN is the greatest.
    if (N.isFloat(V))
      Better = N.binary<OrOp>(
          Better, N.binary<AndOp>(N.compare(Predicate::ne, V, V),
                                  N.compare(Predicate::eq, Best, Best)));
    Best = N.select(Better, V, Best);
    BestPlace = N.select(Better, P, BestPlace);
  }
  N.result(0, Best);
  N.result(1, BestPlace);
}

/// Puts values where MaxPool found them, zeros elsewhere.
static void importMaxUnpool(NodeImport &N) {
  std::optional<Ints> Kernel = N.intsAttribute("kernel_shape");
  N.expectInputs(2, 3);
  Value X = N.input(0), Places = N.input(1);
  if (!Kernel)
    N.fail(Code::ImportAttributeMissing, "attribute 'kernel_shape' is missing");
  if (N.bad() || !poolRank(N, X))
    return;
  for (int64_t I = 0; I < N.rank(X) && N.rank(Places) == N.rank(X); ++I)
    N.unifyDims(X, I, Places, I);
  std::optional<Spatial> S =
      spatialAttributes(N, *Kernel, N.dims(X).drop_front(2));
  if (!S || refuseSkipped(N, *S, N.dims(X).drop_front(2)))
    return;
  Dims Sizes = {N.dims(X)[0], N.dims(X)[1]};
  for (size_t I = 0; I < S->count(); ++I)
    Sizes.push_back((N.dims(X)[I + 2] - 1) * S->Stride[I] +
                    (S->Kernel[I] - S->Low[I] - S->High[I]));
  // The places count in the sizes above; output_shape adds zeros behind.
  std::optional<Dims> Whole;
  if (N.hasInput(2)) {
    Whole = N.declaredSizes(0);
    if (!Whole || N.contents(2))
      if (std::optional<std::vector<Expr>> Given =
              N.knownSizes(2, "output_shape"))
        Whole.emplace(Given->begin(), Given->end());
    if (N.bad())
      return;
  }
  Expr Count(1), Total(1);
  for (const Expr &E : N.dims(X))
    Count = Count * E;
  for (const Expr &E : Sizes)
    Total = Total * E;
  Value Y =
      N.scatterElements(ScatterKind::none, N.full(0, {Total}, N.element(X)),
                        N.reshape(Places, {Count}), N.reshape(X, {Count}), 0);
  Y = N.reshape(Y, Sizes);
  if (Whole && Y) {
    Ints Low(Sizes.size(), 0), High(Sizes.size(), 0);
    for (size_t I = 0; I < Sizes.size(); ++I) {
      std::optional<int64_t> More;
      if (Whole->size() == Sizes.size())
        More = ((*Whole)[I] - Sizes[I]).asConstant();
      if (!More || *More < 0) {
        N.fail(Code::ImportShape, "output_shape " + dimsText(*Whole) +
                                      " does not hold " + dimsText(Sizes));
        return;
      }
      High[I] = *More;
    }
    Y = N.pad(Y, N.like(0, Y), Low, High, Low);
  }
  N.result(0, Y);
}

static void importMaxPool(NodeImport &N) {
  bool ColumnMajor = N.flagAttribute("storage_order");
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (N.bad())
    return;
  std::optional<Spatial> S = poolAttributes(N, X);
  if (!S)
    return;
  if (N.wants(1)) {
    if (!refuseSkipped(N, *S, N.dims(X).drop_front(2)))
      maxWithIndices(N, X, *S, ColumnMajor);
    return;
  }
  N.result(0,
           channelsFirst(N, pool(N, ReduceKind::max, channelsLast(N, X), *S)));
}

/// Whether a window can lie in padding alone, if only between its taps.
static bool maySeeNothing(const Spatial &S) {
  for (size_t I = 0; I < S.count(); ++I) {
    int64_t Pads = std::max(S.Low[I], S.High[I]);
    if (Pads > 0 && (S.Dilation[I] > 1 || Pads >= S.Kernel[I]))
      return true;
  }
  return false;
}

/// How many elements each window sees, with sizes that broadcast to x's; 1 for
/// one that sees none, whose sum is 0.
static Value windowCounts(NodeImport &N, Value X, Spatial S, bool WithPads,
                          const Spatial &Declared) {
  Dims Sizes(N.dims(X));
  Sizes.front() = Expr(1);
  Sizes.back() = Expr(1);
  if (WithPads)
    for (size_t I = 0; I < S.count(); ++I) {
      // The declared pads count as elements; what ceil_mode added does not.
      Sizes[I + 1] = Sizes[I + 1] + Declared.Low[I] + Declared.High[I];
      S.High[I] -= Declared.High[I];
      S.Low[I] = 0;
    }
  Value Counts = pool(N, ReduceKind::sum, N.full(1, Sizes, N.element(X)), S);
  return maySeeNothing(S) && Counts ? N.binary<MaxOp>(Counts, N.like(1, Counts))
                                    : Counts;
}

Value averagePool(NodeImport &N, Value X, bool ChannelsLast) {
  bool WithPads = N.flagAttribute("count_include_pad");
  std::optional<Spatial> S = poolAttributes(N, X, ChannelsLast);
  if (!S)
    return {};
  ArrayRef<Expr> Inner = ChannelsLast ? N.dims(X).drop_front(1).drop_back(1)
                                      : N.dims(X).drop_front(2);
  std::optional<Spatial> Declared = spatialAttributes(N, S->Kernel, Inner);
  if (!Declared)
    return {};
  Type Stored = N.element(X);
  if (!ChannelsLast)
    X = channelsLast(N, X);
  if (Stored.isF16() || Stored.isBF16())
    X = N.cast(X, N.f32());
  Value Sum = pool(N, ReduceKind::sum, X, *S);
  auto None = [](const Ints &L) {
    return llvm::all_of(L, [](int64_t V) { return V == 0; });
  };
  bool Whole = S->High == Declared->High &&
               (WithPads || (None(S->Low) && None(S->High)));
  int64_t Taps = 1;
  for (int64_t K : S->Kernel)
    Taps *= K;
  if (!X)
    return {};
  Value Count = Whole ? N.like(static_cast<double>(Taps), X)
                      : windowCounts(N, X, *S, WithPads, *Declared);
  Value Y = N.cast(N.div(Sum, Count), Stored);
  return ChannelsLast ? Y : channelsFirst(N, Y);
}

static void importAveragePool(NodeImport &N) {
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (!N.bad())
    N.result(0, averagePool(N, X, /*ChannelsLast=*/false));
}

/// Of 8-bit codes, whose order is that of what they stand for.
static void importNhwcMaxPool(NodeImport &N) {
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (N.bad())
    return;
  std::optional<Spatial> S = poolAttributes(N, X, /*ChannelsLast=*/true);
  if (S)
    N.result(0, pool(N, ReduceKind::max, X, *S));
}

/// x to the p, for the even or odd p that are whole.
static Value power(NodeImport &N, Value X, int64_t P) {
  X = N.unary<AbsOp>(X);
  if (P == 1)
    return X;
  return P == 2 ? N.mul(X, X)
                : N.binary<PowOp>(X, N.like(static_cast<double>(P), X));
}

static Value root(NodeImport &N, Value X, int64_t P) {
  if (P == 1)
    return X;
  return P == 2 ? N.sqrt(X)
                : N.binary<PowOp>(X, N.like(1.0 / static_cast<double>(P), X));
}

static void importLpPool(NodeImport &N) {
  int64_t P = N.opset() < 2 ? static_cast<int64_t>(N.floatAttribute("p", 2))
                            : N.intAttribute("p", 2);
  Value X = N.input(0);
  if (N.bad())
    return;
  std::optional<Spatial> S = poolAttributes(N, X);
  if (!S)
    return;
  Value Sum = pool(N, ReduceKind::sum, power(N, channelsLast(N, X), P), *S);
  N.result(0, channelsFirst(N, root(N, Sum, P)));
}

enum class Global { Max, Average, Lp };

template <Global G> static void importGlobalPool(NodeImport &N) {
  int64_t P = 2;
  if (G == Global::Lp)
    P = N.opset() < 2 ? static_cast<int64_t>(N.floatAttribute("p", 2))
                      : N.intAttribute("p", 2);
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (N.bad() || !poolRank(N, X))
    return;
  Ints Axes = llvm::to_vector(llvm::seq<int64_t>(2, N.rank(X)));
  if (G == Global::Max)
    return N.result(0, N.reduce(ReduceKind::max, X, Axes, true));
  if (G == Global::Average)
    return N.result(0, N.mean(X, Axes, true));
  Value Sum = N.reduce(ReduceKind::sum, power(N, X, P), Axes, true);
  N.result(0, root(N, Sum, P));
}

static constexpr std::string_view PadsOfKnownSizes =
    "ceil_mode with pads that a whole stride fits in needs sizes that are "
    "known "
    "when compiling";

ArrayRef<Rule> poolingRules() {
  static const Rule Rows[] = {
      {"", "MaxPool", 1, Newest, importMaxPool,
       "ceil_mode with pads that a whole stride fits in needs sizes that are "
       "known when compiling, and so does auto_pad with indices of maxima; "
       "these, windows of at most 1024 elements"},
      {"com.microsoft", "NhwcMaxPool", 1, 1, importNhwcMaxPool,
       PadsOfKnownSizes},
      {"", "MaxUnpool", 9, Newest, importMaxUnpool,
       "output_shape must be known when compiling"},
      {"", "AveragePool", 1, Newest, importAveragePool, PadsOfKnownSizes},
      {"", "LpPool", 1, Newest, importLpPool, PadsOfKnownSizes},
      {"", "GlobalMaxPool", 1, Newest, importGlobalPool<Global::Max>},
      {"", "GlobalAveragePool", 1, Newest, importGlobalPool<Global::Average>},
      {"", "GlobalLpPool", 1, Newest, importGlobalPool<Global::Lp>},
  };
  return Rows;
}

} // namespace kpc::onnx
