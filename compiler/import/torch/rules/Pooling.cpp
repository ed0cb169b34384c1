//===- Pooling.cpp - Import of pooling ------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Rules.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::torch {

namespace {
/// One entry a spatial dimension.
struct Windows {
  Ints Size, Stride, Dilation, Low, High;
  size_t count() const { return Size.size(); }
};
} // namespace

static Value turned(NodeImport &N, Value X, size_t Spatial, bool Last) {
  if (!X)
    return {};
  Ints Perm;
  auto Rank = N.rank(X);
  auto Count = static_cast<int64_t>(Spatial);
  int64_t Batch = Rank - Count - 1;
  for (int64_t I = 0; I < Batch; ++I)
    Perm.push_back(I);
  if (Last) {
    for (int64_t I = 0; I < Count; ++I)
      Perm.push_back(Batch + 1 + I);
    Perm.push_back(Batch);
  } else {
    Perm.push_back(Rank - 1);
    for (int64_t I = 0; I < Count; ++I)
      Perm.push_back(Batch + I);
  }
  return N.transpose(X, Perm);
}

/// A window over the spatial dimensions of x, channels last.
static Value pool(NodeImport &N, ReduceKind K, Value X, const Windows &S) {
  if (!X)
    return {};
  size_t Batch = N.dims(X).size() - S.count() - 1;
  auto Full = [&](const Ints &Inner, int64_t Outer) {
    Ints All(Batch, Outer);
    All.append(Inner.begin(), Inner.end());
    All.push_back(Outer);
    return All;
  };
  return N.window(K, X, Full(S.Size, 1), Full(S.Stride, 1), Full(S.Dilation, 1),
                  Full(S.Low, 0), Full(S.High, 0));
}

/// Reads the windows of `Count` dimensions. `Ceil` adds to what lies behind,
/// so that a window that begins inside is not left out.
static std::optional<Windows> windows(NodeImport &N, Value X, size_t Count) {
  Ints One(Count, 1), None(Count, 0);
  Windows S;
  S.Size = N.integers("kernel_size", One);
  S.Stride = N.integers("stride", S.Size);
  S.Dilation = N.integers("dilation", One);
  S.Low = S.High = N.integers("padding", None);
  for (Ints *L : {&S.Size, &S.Stride})
    if (L->size() == 1 && Count > 1)
      L->assign(Count, int64_t((*L)[0]));
  if (N.bad() || S.Size.size() != Count || S.Stride.size() != Count ||
      S.Dilation.size() != Count || S.Low.size() != Count ||
      N.dims(X).size() < Count + 1) {
    N.give();
    return std::nullopt;
  }
  if (!N.flag("ceil_mode", false))
    return S;
  for (size_t I = 0; I < Count; ++I) {
    std::optional<int64_t> Size =
        N.dims(X)[N.dims(X).size() - Count + I].asConstant();
    if (!Size && S.Stride[I] == 1)
      continue;
    if (!Size) {
      N.unsupported("ceil_mode on a size that is known only at run time");
      return std::nullopt;
    }
    int64_t Reach = (S.Size[I] - 1) * S.Dilation[I] + 1;
    int64_t Room = *Size + 2 * S.Low[I] - Reach;
    if (Room < 0 && Room + S.Stride[I] > 0) {
      // One window, of what there is: EfficientNet of transformers has one of
      // as many pixels as features.
      S.Size[I] = (*Size + 2 * S.Low[I] - 1) / S.Dilation[I] + 1;
      S.Stride[I] = *Size + 2 * S.Low[I];
      continue;
    }
    if (Room < 0 || S.Stride[I] == 1)
      continue;
    int64_t Number = (Room + S.Stride[I] - 1) / S.Stride[I] + 1;
    // The last one must not begin behind the input.
    if ((Number - 1) * S.Stride[I] >= *Size + S.Low[I])
      --Number;
    S.High[I] += std::max<int64_t>((Number - 1) * S.Stride[I] - Room, 0);
  }
  return S;
}

/// Each element's place among those of the last `Count` dimensions.
static Value placesOf(NodeImport &N, Value X, size_t Count) {
  size_t Rank = N.dims(X).size(), Batch = Rank - Count;
  Dims Sizes(N.dims(X));
  Value Place;
  Expr Below(1);
  for (size_t I = Rank; I-- > Batch;) {
    Value At = N.mul(N.iota(Sizes, static_cast<int64_t>(I), N.i64()),
                     N.sizeScalar(Below, N.i64()));
    Place = Place ? N.add(Place, At) : At;
    Below = Below * Sizes[I];
  }
  return Place;
}

static constexpr int64_t MostTaps = 1024;

/// The places of maxima: tap by tap, each a strided slice of the padded input.
static Value maxPlaces(NodeImport &N, Value X, const Windows &S) {
  size_t Rank = N.dims(X).size(), Count = S.count(), Batch = Rank - Count;
  Dims Sizes(N.dims(X));
  Value Place = placesOf(N, X, Count);
  Ints Low(Batch, 0), High(Batch, 0), None(Rank, 0), Stride(Batch, 1);
  Low.append(S.Low);
  High.append(S.High);
  Stride.append(S.Stride);
  Value Padded = N.pad(X, N.like(-INFINITY, X), Low, High, None);
  Value Places = N.pad(Place, N.scalarInt(0, N.i64()), Low, High, None);
  if (!Padded || !Places)
    return {};
  Dims Out(ArrayRef<Expr>(Sizes).take_front(Batch));
  int64_t Taps = 1;
  for (size_t I = 0; I < Count; ++I) {
    int64_t Reach = (S.Size[I] - 1) * S.Dilation[I] + 1;
    Out.push_back((N.dims(Padded)[Batch + I] - Reach).floorDiv(S.Stride[I]) +
                  1);
    Taps *= S.Size[I];
    if (Taps > MostTaps)
      return N.unsupported("indices of windows of more than 1024 elements");
  }
  Value Best, BestPlace;
  for (int64_t T = 0; T < Taps; ++T) {
    Dims Start(Rank, Expr(0));
    int64_t Rest = T;
    for (size_t I = Count; I-- > 0; Rest /= S.Size[I])
      Start[Batch + I] = Expr(Rest % S.Size[I] * S.Dilation[I]);
    Value V = N.slice(Padded, Start, Stride, Out);
    Value P = N.slice(Places, Start, Stride, Out);
    Value Better = Best ? N.compare(Predicate::gt, V, Best) : Value();
    BestPlace = Best ? N.select(Better, P, BestPlace) : P;
    Best = Best ? N.select(Better, V, Best) : V;
  }
  return BestPlace;
}

template <size_t Count> static void maxPool(NodeImport &N) {
  Value X = N.tensor("self");
  std::optional<Windows> S = X ? windows(N, X, Count) : std::nullopt;
  if (!S)
    return N.give();
  N.result(0, turned(N, pool(N, ReduceKind::max, turned(N, X, Count, true), *S),
                     Count, false));
  if (N.resultCount() > 1)
    N.result(1, maxPlaces(N, X, *S));
}

template <size_t Count> static void averagePool(NodeImport &N) {
  Value X = N.tensor("self");
  std::optional<Windows> S = X ? windows(N, X, Count) : std::nullopt;
  if (!S)
    return N.give();
  bool WithPads = N.flag("count_include_pad", true);
  Ints Declared = N.integers("padding", Ints(Count, 0));
  Type Stored = N.element(X);
  Value Y = N.cast(turned(N, X, Count, true), N.wide(X));
  Value Sum = pool(N, ReduceKind::sum, Y, *S);
  if (!Sum)
    return N.give();
  bool NoPads = llvm::all_of(Declared, [](int64_t P) { return P == 0; });
  Value Number;
  if (N.has("divisor_override")) {
    Number = N.like(N.real("divisor_override", 1), Sum);
  } else if (S->High == Declared && (WithPads || NoPads)) {
    int64_t Taps = 1;
    for (int64_t K : S->Size)
      Taps *= K;
    Number = N.like(static_cast<double>(Taps), Sum);
  } else {
    // The declared pads count as elements where they shall; what ceil_mode
    // added does not.
    Dims Sizes(N.dims(Y).size(), Expr(1));
    Windows Counted = *S;
    for (size_t I = 0; I < Count; ++I) {
      size_t At = Sizes.size() - 1 - Count + I;
      Sizes[At] = N.dims(Y)[At];
      if (WithPads) {
        Sizes[At] = Sizes[At] + 2 * Declared[I];
        Counted.High[I] -= Declared[I];
        Counted.Low[I] = 0;
      }
    }
    Number = pool(N, ReduceKind::sum, N.full(1, Sizes, N.element(Y)), Counted);
  }
  N.result(turned(N, N.cast(N.div(Sum, Number), Stored), Count, false));
}

//===----------------------------------------------------------------------===//
// Adaptive
//===----------------------------------------------------------------------===//

/// Windows that differ: each result of an axis from its own slice.
static Value adaptAxis(NodeImport &N, ReduceKind K, Value X, int64_t Axis,
                       int64_t In, int64_t Out) {
  SmallVector<Value> Parts;
  for (int64_t I = 0; I < Out && X; ++I) {
    int64_t From = I * In / Out, To = ((I + 1) * In + Out - 1) / Out;
    Value Part = N.sliceAxis(X, Axis, From, To - From);
    Parts.push_back(K == ReduceKind::sum ? N.mean(Part, {Axis}, true)
                                         : N.reduce(K, Part, {Axis}, true));
  }
  return N.concat(Parts, Axis);
}

/// The places of maxima of windows that differ. Each tap reads one place of all
/// windows; the smaller ones repeat their last element, which never wins.
static Value adaptedPlaces(NodeImport &N, Value X, ArrayRef<Expr> Wanted) {
  size_t Count = Wanted.size(), First = N.dims(X).size() - Count;
  SmallVector<std::vector<std::vector<int64_t>>> Reads(Count);
  int64_t Taps = 1;
  for (size_t I = 0; I < Count; ++I) {
    int64_t In = *N.dims(X)[First + I].asConstant(),
            Out = *Wanted[I].asConstant(), Widest = 1;
    auto From = [&](int64_t J) { return J * In / Out; };
    auto To = [&](int64_t J) { return ((J + 1) * In + Out - 1) / Out; };
    for (int64_t J = 0; J < Out; ++J)
      Widest = std::max(Widest, To(J) - From(J));
    for (int64_t T = 0; T < Widest; ++T) {
      Reads[I].emplace_back();
      for (int64_t J = 0; J < Out; ++J)
        Reads[I].back().push_back(std::min(From(J) + T, To(J) - 1));
    }
    Taps *= Widest;
    if (Taps > MostTaps)
      return N.unsupported("indices of windows of more than 1024 elements");
  }
  Value Place = placesOf(N, X, Count), Best, BestPlace;
  for (int64_t T = 0; T < Taps; ++T) {
    Value V = X, P = Place;
    int64_t Rest = T;
    for (size_t I = Count; I-- > 0;) {
      auto Widest = static_cast<int64_t>(Reads[I].size());
      Value Read =
          N.intVector(Reads[I][static_cast<size_t>(Rest % Widest)], N.i64());
      auto Axis = static_cast<int64_t>(First + I);
      V = N.gather(V, Read, Axis);
      P = N.gather(P, Read, Axis);
      Rest /= Widest;
    }
    Value Better = Best ? N.compare(Predicate::gt, V, Best) : Value();
    BestPlace = Best ? N.select(Better, P, BestPlace) : P;
    Best = Best ? N.select(Better, V, Best) : V;
  }
  return BestPlace;
}

template <size_t Count, ReduceKind K> static void adaptive(NodeImport &N) {
  Value X = N.tensor("self");
  std::optional<Dims> Wanted = N.declaredSizes();
  if (!X || !Wanted || N.dims(X).size() < Count + 1)
    return N.give();
  size_t First = N.dims(X).size() - Count;
  Type Stored = N.element(X);
  if (K == ReduceKind::sum)
    X = N.cast(X, N.wide(X));
  Ints Whole;
  Windows S;
  bool Even = true;
  for (size_t I = 0; I < Count; ++I) {
    std::optional<int64_t> In = N.dims(X)[First + I].asConstant(),
                           Out = (*Wanted)[First + I].asConstant();
    if (Out == 1)
      Whole.push_back(static_cast<int64_t>(First + I));
    Even &= In && Out && *Out > 0 && *In % *Out == 0;
    S.Size.push_back(Even ? *In / *Out : 0);
  }
  Value Y;
  if (Whole.size() == Count) {
    Y = K == ReduceKind::sum ? N.mean(X, Whole, true)
                             : N.reduce(K, X, Whole, true);
  } else if (Even) {
    S.Stride = S.Size;
    S.Dilation = Ints(Count, 1);
    S.Low = S.High = Ints(Count, 0);
    int64_t Taps = 1;
    for (int64_t T : S.Size)
      Taps *= T;
    Y = Taps == 1
            ? X
            : turned(N, pool(N, K, turned(N, X, Count, true), S), Count, false);
    if (K == ReduceKind::sum && Y && Taps != 1)
      Y = N.div(Y, N.like(static_cast<double>(Taps), Y));
  } else {
    Y = X;
    for (size_t I = 0; I < Count; ++I) {
      std::optional<int64_t> In = N.dims(X)[First + I].asConstant(),
                             Out = (*Wanted)[First + I].asConstant();
      if (!In || !Out || *Out > 256 || *In == 0) {
        N.unsupported("windows of a size that is known only at run time");
        return;
      }
      if (*In != *Out)
        Y = adaptAxis(N, K, Y, static_cast<int64_t>(First + I), *In, *Out);
    }
  }
  N.result(0, N.cast(Y, Stored));
  if (N.resultCount() > 1 && !N.bad()) {
    if (!Even) {
      for (size_t I = First; I < Wanted->size(); ++I)
        if (!N.dims(X)[I].asConstant() || !(*Wanted)[I].asConstant())
          return (void)N.unsupported(
              "indices in windows of a size that is known only at run time");
      return N.result(
          1, adaptedPlaces(N, X, ArrayRef<Expr>(*Wanted).drop_front(First)));
    }
    S.Stride = S.Size;
    S.Dilation = Ints(Count, 1);
    S.Low = S.High = Ints(Count, 0);
    N.result(1, maxPlaces(N, X, S));
  }
}

//===----------------------------------------------------------------------===//
// Back
//===----------------------------------------------------------------------===//

/// Each element at its place of an image of zeros.
template <size_t Count> static void unpool(NodeImport &N) {
  Value X = N.tensor("self"), Places = N.tensor("indices");
  std::optional<Dims> Wanted = N.sizes("output_size");
  if (!X || !Places || !Wanted || N.bad())
    return N.give();
  if (Wanted->size() != Count || N.dims(X).size() < Count + 1) {
    N.fail(Code::ImportShape, "puts " + dimsText(N.dims(X)) +
                                  " into an image of " + dimsText(*Wanted));
    return;
  }
  Dims Rows(N.dims(X).drop_back(Count)), Whole = Rows, Flat = Rows;
  Expr Read(1), Written(1);
  for (size_t I = 0; I < Count; ++I) {
    Read = Read * N.dims(X)[Rows.size() + I];
    Written = Written * (*Wanted)[I];
    Whole.push_back((*Wanted)[I]);
  }
  Dims From = Rows;
  From.push_back(Read);
  Flat.push_back(Written);
  mlir::Builder &B = N.builder();
  Value Y =
      N.build(ScatterElementsOp::getOperationName(),
              {N.full(0, Flat, N.element(X)), N.reshape(Places, From),
               N.reshape(X, From)},
              {B.getNamedAttr("kind", ScatterKindAttr::get(B.getContext(),
                                                           ScatterKind::none)),
               N.intAttr("axis", static_cast<int64_t>(Rows.size()))});
  N.result(N.reshape(Y, Whole));
}

ArrayRef<Rule> poolingRules() {
  constexpr ReduceKind Mean = ReduceKind::sum, Max = ReduceKind::max;
  constexpr std::string_view Known = "ceil_mode needs sizes that are known";
  static const Rule Rows[] = {
      {"_adaptive_avg_pool2d.default", adaptive<2, Mean>},
      {"_adaptive_avg_pool3d.default", adaptive<3, Mean>},
      {"adaptive_avg_pool1d.default", adaptive<1, Mean>},
      {"adaptive_avg_pool2d.default", adaptive<2, Mean>},
      {"adaptive_avg_pool3d.default", adaptive<3, Mean>},
      {"adaptive_max_pool1d.default", adaptive<1, Max>},
      {"adaptive_max_pool2d.default", adaptive<2, Max>},
      {"adaptive_max_pool3d.default", adaptive<3, Max>},
      {"avg_pool1d.default", averagePool<1>, InPlace::No, Known},
      {"avg_pool2d.default", averagePool<2>, InPlace::No, Known},
      {"avg_pool3d.default", averagePool<3>, InPlace::No, Known},
      {"max_pool1d.default", maxPool<1>, InPlace::No, Known},
      {"max_pool1d_with_indices.default", maxPool<1>, InPlace::No, Known},
      {"max_pool2d.default", maxPool<2>, InPlace::No, Known},
      {"max_pool2d_with_indices.default", maxPool<2>, InPlace::No, Known},
      {"max_pool3d.default", maxPool<3>, InPlace::No, Known},
      {"max_pool3d_with_indices.default", maxPool<3>, InPlace::No, Known},
      {"max_unpool2d.default", unpool<2>},
      {"max_unpool3d.default", unpool<3>},
  };
  return Rows;
}

} // namespace kpc::torch
