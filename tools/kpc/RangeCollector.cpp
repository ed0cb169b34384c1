//===- RangeCollector.cpp - Ranges of values, sample by sample ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/RangeCollector.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace kpc::cli {

std::vector<std::string> rangeMethodNames() {
  return {"max", "percentile", "entropy", "mse"};
}

std::string rangeMethodName(RangeMethod Method) {
  return rangeMethodNames()[static_cast<size_t>(Method)];
}

std::optional<RangeMethod> rangeMethodByName(std::string_view Name) {
  std::vector<std::string> Names = rangeMethodNames();
  auto It = std::find(Names.begin(), Names.end(), Name);
  return It == Names.end()
             ? std::nullopt
             : std::optional(static_cast<RangeMethod>(It - Names.begin()));
}

//===----------------------------------------------------------------------===//
// Collecting
//===----------------------------------------------------------------------===//

void RangeCollector::widenTo(double Magnitude) {
  if (Width == 0)
    Width = std::exp2(std::ceil(std::log2(Magnitude)));
  while (Magnitude > Width) {
    for (size_t I = 0; I < Bins / 2; ++I)
      Histogram[I] = Histogram[2 * I] + Histogram[2 * I + 1];
    std::fill(Histogram.begin() + Bins / 2, Histogram.end(), 0);
    Width *= 2;
  }
}

bool RangeCollector::add(std::span<const float> Values, size_t Channels) {
  if (Values.empty())
    return true;
  float Low = Values[0], High = Values[0];
  bool Finite = true;
  for (float V : Values) {
    Finite = Finite && std::isfinite(V);
    Low = std::min(Low, V);
    High = std::max(High, V);
  }
  if (!Finite)
    return false;
  Least = Count ? std::min<double>(Least, Low) : Low;
  Greatest = Count ? std::max<double>(Greatest, High) : High;
  Count += Values.size();
  if (double Most = std::max(std::abs(Low), std::abs(High)); Most > 0) {
    widenTo(Most);
    auto Scale = static_cast<float>(Bins / Width);
    for (float V : Values)
      ++Histogram[std::min(Bins - 1, static_cast<size_t>(std::abs(V) * Scale))];
  } else {
    Histogram[0] += Values.size();
  }
  if (Channels == 0 || (!Largest.empty() && Largest.size() != Channels))
    HasChannels = false;
  if (!HasChannels)
    return true;
  Largest.resize(Channels);
  Sum.resize(Channels);
  Squares.resize(Channels);
  for (size_t Row = 0; Row + Channels <= Values.size(); Row += Channels, ++Rows)
    for (size_t C = 0; C < Channels; ++C) {
      float V = Values[Row + C];
      Largest[C] = std::max(Largest[C], std::abs(V));
      Sum[C] += V;
      Squares[C] += static_cast<double>(V) * V;
    }
  return true;
}

double RangeCollector::magnitude() const { return std::max(-Least, Greatest); }

std::vector<float> RangeCollector::channelLargest() const {
  return HasChannels ? Largest : std::vector<float>();
}

std::vector<float> RangeCollector::channelMean() const {
  std::vector<float> Out;
  for (size_t C = 0; HasChannels && C < Sum.size(); ++C)
    Out.push_back(static_cast<float>(Sum[C] / static_cast<double>(Rows)));
  return Out;
}

std::vector<float> RangeCollector::channelRms() const {
  std::vector<float> Out;
  for (size_t C = 0; HasChannels && C < Squares.size(); ++C)
    Out.push_back(
        static_cast<float>(std::sqrt(Squares[C] / static_cast<double>(Rows))));
  return Out;
}

//===----------------------------------------------------------------------===//
// Choosing a range
//===----------------------------------------------------------------------===//

double RangeCollector::range(RangeMethod Method, double Percent) const {
  if (Width == 0)
    return 0;
  double Chosen = magnitude();
  switch (Method) {
  case RangeMethod::Max:
    break;
  case RangeMethod::Percentile:
    Chosen = percentile(Percent);
    break;
  case RangeMethod::Entropy:
    Chosen = leastDivergence();
    break;
  case RangeMethod::Mse:
    Chosen = leastSquares();
    break;
  }
  return std::min(Chosen, magnitude());
}

double RangeCollector::percentile(double Percent) const {
  double Wanted = Percent / 100 * static_cast<double>(Count), Seen = 0;
  for (size_t I = 0; I < Bins; ++I) {
    Seen += static_cast<double>(Histogram[I]);
    if (Seen >= Wanted)
      return binWidth() * static_cast<double>(I + 1);
  }
  return magnitude();
}

/// Magnitudes are told apart in steps, and those beyond the range lose what is
/// beyond it.
double RangeCollector::leastSquares() const {
  double Best = magnitude(), Least = std::numeric_limits<double>::infinity();
  for (size_t End = Bins / 32; End <= Bins; End += Bins / 256) {
    double Range = std::min(binWidth() * static_cast<double>(End), magnitude());
    double Step = Range / static_cast<double>(levels()), Error = 0;
    for (size_t I = 0; I < Bins; ++I) {
      double Middle = binWidth() * (static_cast<double>(I) + 0.5);
      double Lost = Middle > Range
                        ? (Middle - Range) * (Middle - Range)
                        : std::min(Step * Step / 12, Middle * Middle);
      Error += static_cast<double>(Histogram[I]) * Lost;
    }
    if (Error <= Least) {
      Least = Error;
      Best = Range;
    }
  }
  return Best;
}

/// The range whose codes have a distribution that differs least from that of
/// the values, by the Kullback-Leibler divergence. Values beyond count as the
/// greatest. Zeros have a code of their own and are left out.
double RangeCollector::leastDivergence() const {
  auto Levels = static_cast<size_t>(levels() + 1);
  double Best = magnitude(), Least = std::numeric_limits<double>::infinity();
  for (size_t End = Levels; End <= Bins; End += Bins / 256) {
    std::vector<double> P(Histogram.begin(),
                          Histogram.begin() + static_cast<std::ptrdiff_t>(End));
    P[0] = 0;
    P[End - 1] += static_cast<double>(
        std::accumulate(Histogram.begin() + static_cast<std::ptrdiff_t>(End),
                        Histogram.end(), uint64_t(0)));
    double All = std::accumulate(P.begin(), P.end(), 0.0), Divergence = 0;
    if (All == 0)
      continue;
    double Kept = 0;
    std::vector<double> Q(End);
    for (size_t L = 0; L < Levels; ++L) {
      size_t From = L * End / Levels, To = (L + 1) * End / Levels;
      double Sum = 0, Filled = 0;
      for (size_t I = From; I < To; ++I) {
        // The code does not know of values beyond the range.
        Sum += I == 0 ? 0 : static_cast<double>(Histogram[I]);
        Filled += P[I] > 0;
      }
      for (size_t I = From; I < To && Filled > 0; ++I)
        if (P[I] > 0)
          Q[I] = Sum / Filled;
      Kept += Sum;
    }
    for (size_t I = 0; I < End; ++I)
      if (P[I] > 0)
        Divergence +=
            P[I] / All *
            std::log(P[I] / All / std::max(Q[I] / std::max(Kept, 1.0), 1e-12));
    if (Divergence <= Least) {
      Least = Divergence;
      Best = binWidth() * static_cast<double>(End);
    }
  }
  return Best;
}

} // namespace kpc::cli
