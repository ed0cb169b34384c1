//===- Variants.cpp - Few schedules for a range of sizes ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Schedules are taken one after another, each the one that saves most at the
/// samples which those before serve badly. Then a decision tree over the sizes
/// and products of two of them gives each sample one that serves it well.
///
//===----------------------------------------------------------------------===//

#include "passes/schedule/Variants.h"

#include <algorithm>
#include <map>
#include <memory>

using namespace kpc;
using namespace kpc::schedule;

namespace {

/// What a schedule may cost above the best, as a share of it or in
/// microseconds: costs are not known better.
constexpr double Tolerance = 0.05, Nothing = 0.2;
/// The loss where a schedule is not for the sizes at all.
constexpr double Never = 10;
/// Questions that are asked one after another, at most.
constexpr unsigned MostDepth = 8;

/// The product of some sizes, at each sample.
struct Feature {
  std::vector<unsigned> Sizes;
  std::vector<int64_t> Values;
};

struct Tree {
  size_t Schedule = 0; ///< of a leaf
  const Feature *Asked = nullptr;
  int64_t Most = 0; ///< `Below` is for values up to this
  std::unique_ptr<Tree> Below, Above;
  std::vector<size_t> Samples;
};

class VariantChoice {
public:
  VariantChoice(std::span<const SizedRanking> Samples, std::string_view Default)
      : Samples(Samples), Schedules{std::string(Default)} {
    for (const SizedRanking &Sample : Samples)
      if (std::string Best = bestOf(Sample);
          std::find(Schedules.begin(), Schedules.end(), Best) ==
          Schedules.end())
        Schedules.push_back(std::move(Best));
    for (const std::string &Schedule : Schedules) {
      std::vector<double> &List = Losses.emplace_back();
      for (const SizedRanking &Sample : Samples)
        List.push_back(lossOf(Schedule, Sample));
    }
    // At the optimum, the first sample, nothing is as good as the default where
    // that is the best there: not where another family takes sizes that are
    // known to be no greater.
    for (size_t S = 1; S < Losses.size(); ++S)
      if (bestOf(Samples.front()) == Default)
        Losses[S][0] = Never;
  }

  std::vector<Variant> run(size_t Most) {
    keep(Most);
    if (Kept.size() == 1)
      return {};
    addFeatures();
    std::vector<size_t> All(Samples.size());
    for (size_t I = 0; I < All.size(); ++I)
      All[I] = I;
    std::unique_ptr<Tree> Root = grow(All, 0);
    std::vector<Variant> Found(Kept.size());
    SizeBounds Path;
    collect(*Root, Path, Found);
    std::vector<Variant> Out;
    for (size_t I = 1; I < Kept.size(); ++I)
      if (!Found[I].Where.empty())
        Out.push_back(std::move(Found[I]));
    return Out;
  }

private:
  static std::string bestOf(const SizedRanking &Sample) {
    return Sample.Ranking.empty() ? "" : Sample.Ranking.front().name();
  }
  static double lossOf(const std::string &Schedule, const SizedRanking &Sample);
  void keep(size_t Most);
  void addFeatures();
  void addFeature(Feature New);
  size_t bestFor(std::span<const size_t> Some, double &Loss) const;
  std::unique_ptr<Tree> grow(const std::vector<size_t> &Some, unsigned Depth);
  bool split(Tree &Node, double Loss);
  void collect(const Tree &Node, SizeBounds &Path,
               std::vector<Variant> &Into) const;
  std::vector<int64_t> bestSizes(const std::string &Schedule,
                                 std::span<const size_t> Some) const;

  std::span<const SizedRanking> Samples;
  std::vector<std::string> Schedules;      ///< the default first
  std::vector<std::vector<double>> Losses; ///< by schedule and sample
  std::vector<size_t> Kept = {0};
  std::vector<Feature> Features;
};

double VariantChoice::lossOf(const std::string &Schedule,
                             const SizedRanking &Sample) {
  if (Sample.Ranking.empty())
    return Schedule.empty() ? 0 : Never;
  double Best = Sample.Ranking.front().Microseconds;
  for (const RankedSchedule &One : Sample.Ranking)
    if (One.name() == Schedule) {
      double More = One.Microseconds - Best;
      return More <= Nothing || More <= Tolerance * Best
                 ? 0
                 : std::min(More / Best, Never);
    }
  return Never;
}

/// Fills `Kept`. What the optimum is served best by comes first.
void VariantChoice::keep(size_t Most) {
  std::vector<double> Left = Losses[0];
  if (Most > 0 && Left[0] > 0) {
    size_t Best = size_t(
        std::find(Schedules.begin(), Schedules.end(), bestOf(Samples.front())) -
        Schedules.begin());
    Kept.push_back(Best);
    for (size_t I = 0; I < Left.size(); ++I)
      Left[I] = std::min(Left[I], Losses[Best][I]);
  }
  while (Kept.size() <= Most) {
    size_t Next = 0;
    double MostSaved = 0;
    for (size_t S = 0; S < Schedules.size(); ++S) {
      double Saved = 0;
      for (size_t I = 0; I < Left.size(); ++I)
        Saved += std::max(Left[I] - Losses[S][I], 0.0);
      if (Saved > MostSaved) {
        Next = S;
        MostSaved = Saved;
      }
    }
    if (!Next)
      return;
    Kept.push_back(Next);
    for (size_t I = 0; I < Left.size(); ++I)
      Left[I] = std::min(Left[I], Losses[Next][I]);
  }
}

/// `New`, unless the samples have the same order by another.
void VariantChoice::addFeature(Feature New) {
  auto InOrder = [](const std::vector<int64_t> &Values) {
    std::vector<int64_t> Sorted = Values;
    std::sort(Sorted.begin(), Sorted.end());
    Sorted.erase(std::unique(Sorted.begin(), Sorted.end()), Sorted.end());
    std::vector<size_t> Places;
    Places.reserve(Values.size());
    for (int64_t Value : Values)
      Places.push_back(
          size_t(std::lower_bound(Sorted.begin(), Sorted.end(), Value) -
                 Sorted.begin()));
    return Places;
  };
  auto Order = InOrder(New.Values);
  if (std::all_of(Order.begin(), Order.end(), [](size_t P) { return !P; }) ||
      std::any_of(Features.begin(), Features.end(), [&](const Feature &Known) {
        return InOrder(Known.Values) == Order;
      }))
    return;
  Features.push_back(std::move(New));
}

void VariantChoice::addFeatures() {
  for (unsigned I = 0; I < Samples.front().Sizes.size(); ++I) {
    Feature One{{I}, {}};
    for (const SizedRanking &Sample : Samples)
      One.Values.push_back(Sample.Sizes[I]);
    addFeature(std::move(One));
  }
  size_t Singles = Features.size();
  for (size_t I = 0; I < Singles; ++I)
    for (size_t J = 0; J < I; ++J) {
      Feature Both{{Features[J].Sizes[0], Features[I].Sizes[0]}, {}};
      bool Fits = true;
      for (size_t S = 0; S < Samples.size(); ++S) {
        int64_t Value;
        Fits &= !__builtin_mul_overflow(Features[I].Values[S],
                                        Features[J].Values[S], &Value);
        Both.Values.push_back(Value);
      }
      if (Fits)
        addFeature(std::move(Both));
    }
}

/// The kept schedule that loses least at some samples, and what it loses.
size_t VariantChoice::bestFor(std::span<const size_t> Some,
                              double &Loss) const {
  size_t Best = 0;
  Loss = std::numeric_limits<double>::infinity();
  for (size_t K = 0; K < Kept.size(); ++K) {
    double All = 0;
    for (size_t I : Some)
      All += Losses[Kept[K]][I];
    if (All < Loss) {
      Loss = All;
      Best = K;
    }
  }
  return Best;
}

/// Asks the question of `Node` that leaves the least loss; false: none helps.
bool VariantChoice::split(Tree &Node, double Loss) {
  double Least = Loss;
  for (const Feature &F : Features) {
    std::vector<size_t> Sorted = Node.Samples;
    std::stable_sort(Sorted.begin(), Sorted.end(), [&](size_t A, size_t B) {
      return F.Values[A] < F.Values[B];
    });
    for (size_t Cut = 1; Cut < Sorted.size(); ++Cut) {
      if (F.Values[Sorted[Cut - 1]] == F.Values[Sorted[Cut]])
        continue;
      double Below, Above;
      bestFor(std::span(Sorted).first(Cut), Below);
      bestFor(std::span(Sorted).subspan(Cut), Above);
      if (Below + Above >= Least * 0.999)
        continue;
      Least = Below + Above;
      Node.Asked = &F;
      Node.Most = F.Values[Sorted[Cut - 1]];
    }
  }
  return Node.Asked;
}

std::unique_ptr<Tree> VariantChoice::grow(const std::vector<size_t> &Some,
                                          unsigned Depth) {
  auto Node = std::make_unique<Tree>();
  Node->Samples = Some;
  double Loss;
  Node->Schedule = bestFor(Some, Loss);
  if (Loss == 0 || Depth == MostDepth || !split(*Node, Loss))
    return Node;
  std::vector<size_t> Below, Above;
  for (size_t I : Some)
    (Node->Asked->Values[I] <= Node->Most ? Below : Above).push_back(I);
  Node->Below = grow(Below, Depth + 1);
  Node->Above = grow(Above, Depth + 1);
  if (Node->Below->Asked || Node->Above->Asked ||
      Node->Below->Schedule != Node->Above->Schedule)
    return Node;
  Node->Asked = nullptr;
  Node->Schedule = Node->Below->Schedule;
  return Node;
}

/// Where `Schedule` is the best, of some samples: the first one (the optimum),
/// else the last.
std::vector<int64_t>
VariantChoice::bestSizes(const std::string &Schedule,
                         std::span<const size_t> Some) const {
  size_t Found = Some.front();
  bool IsBest = false;
  for (size_t I : Some) {
    if (bestOf(Samples[I]) != Schedule)
      continue;
    Found = I;
    IsBest = true;
    if (I == 0)
      break;
  }
  if (IsBest)
    return Samples[Found].Sizes;
  for (size_t I = 0; I < Samples.size(); ++I)
    if (bestOf(Samples[I]) == Schedule)
      return Samples[I].Sizes;
  return Samples[Found].Sizes;
}

/// `Path` and `Value <= Most` or `Value >= Least` of `Asked`.
SizeBounds narrowed(SizeBounds Path, const Feature &Asked, int64_t Least,
                    int64_t Most) {
  for (SizeBound &Known : Path)
    if (Known.Sizes == Asked.Sizes) {
      Known.Least = std::max(Known.Least, Least);
      Known.Most = std::min(Known.Most, Most);
      return Path;
    }
  Path.push_back({Asked.Sizes, Least, Most});
  return Path;
}

void VariantChoice::collect(const Tree &Node, SizeBounds &Path,
                            std::vector<Variant> &Into) const {
  if (!Node.Asked) {
    Variant &V = Into[Node.Schedule];
    V.Schedule = Schedules[Kept[Node.Schedule]];
    if (V.Where.empty())
      V.Sizes = bestSizes(V.Schedule, Node.Samples);
    V.Where.push_back(Path);
    return;
  }
  SizeBounds Below = narrowed(Path, *Node.Asked, 0, Node.Most);
  SizeBounds Above =
      narrowed(Path, *Node.Asked, Node.Most + 1, SizeBound::Unbounded);
  collect(*Node.Below, Below, Into);
  collect(*Node.Above, Above, Into);
}

} // namespace

std::vector<Variant>
schedule::chooseVariants(std::span<const SizedRanking> Samples,
                         std::string_view Default, size_t Most) {
  if (Samples.size() < 2)
    return {};
  return VariantChoice(Samples, Default).run(Most);
}
