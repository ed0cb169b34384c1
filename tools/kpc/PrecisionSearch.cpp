//===- PrecisionSearch.cpp - The fastest types within a budget ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/PrecisionSearch.h"

#include <algorithm>

namespace kpc::cli {

static double gainAt(const Layer &L, size_t Place) {
  return Place ? L.Types[Place - 1].Gain : 0;
}
/// Infinite costs have no differences.
static double costAt(const Layer &L, size_t Place) {
  constexpr double Most = 1e300;
  return Place ? std::min(greatest(L.Types[Place - 1].Alone), Most) : 0;
}

namespace {
/// A layer's next step back, and the accuracy it brings for each microsecond.
struct Step {
  size_t Layer = 0, To = 0;
  double Worth = -1;
};
} // namespace

/// The best step of one layer, if it has any left.
static void tryLayer(const std::vector<Layer> &Layers, const Allocation &At,
                     size_t I, Step &Best) {
  const Layer &L = Layers[I];
  double Gain = gainAt(L, At[I]), Cost = costAt(L, At[I]);
  for (size_t To = 0; To <= L.Types.size(); ++To) {
    double Less = Cost - costAt(L, To), Lost = Gain - gainAt(L, To);
    // To nothing every layer may go, whatever was measured of it.
    if (To == At[I] || (To && (Less <= 0 || Lost < 0 || gainAt(L, To) <= 0)))
      continue;
    double Worth = std::max(Less, 0.0) / std::max(Lost, 1e-9);
    if (Worth > Best.Worth)
      Best = {I, To, Worth};
  }
}

std::vector<Allocation> waysBack(const std::vector<Layer> &Layers) {
  Allocation At(Layers.size());
  for (size_t I = 0; I < Layers.size(); ++I)
    for (size_t Place = 1; Place <= Layers[I].Types.size(); ++Place)
      if (double Gain = gainAt(Layers[I], Place),
          Now = gainAt(Layers[I], At[I]);
          Gain > Now || (At[I] && Gain == Now &&
                         costAt(Layers[I], Place) < costAt(Layers[I], At[I])))
        At[I] = Place;
  std::vector<Allocation> All = {At};
  while (std::any_of(At.begin(), At.end(), [](size_t P) { return P != 0; })) {
    Step Best;
    for (size_t I = 0; I < Layers.size(); ++I)
      if (At[I])
        tryLayer(Layers, At, I, Best);
    At[Best.Layer] = Best.To;
    All.push_back(At);
  }
  return All;
}

Allocation filled(const std::vector<Layer> &Layers, Allocation At,
                  const Costs &Base, double Limit) {
  for (;;) {
    Allocation Best = At;
    for (size_t I = 0; I < Layers.size(); ++I)
      for (size_t Place = 1; Place <= Layers[I].Types.size(); ++Place) {
        Allocation Next = At;
        Next[I] = Place;
        if (gainOf(Layers, Next) > gainOf(Layers, Best) &&
            greatest(predicted(Layers, Next, Base)) <= Limit)
          Best = std::move(Next);
      }
    if (Best == At)
      return At;
    At = std::move(Best);
  }
}

Allocation allOf(const std::vector<Layer> &Layers, const std::string &Type) {
  Allocation At(Layers.size());
  for (size_t I = 0; I < Layers.size(); ++I)
    for (size_t Place = 1; Place <= Layers[I].Types.size(); ++Place)
      if (Layers[I].Types[Place - 1].Type == Type)
        At[I] = Place;
  return At;
}

Costs predicted(const std::vector<Layer> &Layers, const Allocation &At,
                const Costs &Base) {
  Costs All = Base;
  for (size_t I = 0; I < Layers.size(); ++I)
    if (At[I])
      All = sum(All, Layers[I].Types[At[I] - 1].Alone);
  return All;
}

double gainOf(const std::vector<Layer> &Layers, const Allocation &At) {
  double Gain = 0;
  for (size_t I = 0; I < Layers.size(); ++I)
    Gain += gainAt(Layers[I], At[I]);
  return Gain;
}

std::optional<size_t>
firstThatMeets(size_t From, size_t Count, size_t Guess,
               const std::function<std::optional<bool>(size_t)> &Meets,
               bool &Failed) {
  if (From >= Count)
    return std::nullopt;
  // It holds at High, if that is asked, and not below Low.
  size_t Low = From, High = Count;
  size_t Next = std::clamp(Guess, From, Count - 1);
  while (Low < High) {
    std::optional<bool> Good = Meets(Next);
    if (!Good) {
      Failed = true;
      return std::nullopt;
    }
    (*Good ? High : Low) = *Good ? Next : Next + 1;
    Next = Low + (High - Low) / 2;
    if (Next >= Count)
      break;
  }
  return High < Count ? std::optional(High) : std::nullopt;
}

} // namespace kpc::cli
