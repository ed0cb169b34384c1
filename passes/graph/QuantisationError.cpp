//===- QuantisationError.cpp - The error that codes are expected to make --===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/QuantisationError.h"
#include "passes/graph/ColumnTiles.h"
#include "passes/graph/RoundToCodes.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <cmath>

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

double graph::decibels(double Signal, double Noise) {
  constexpr double Most = 200; // more than sums of f64 tell apart
  return Noise > 0 && Signal > 0
             ? std::min(Most, 10 * std::log10(Signal / Noise))
             : Most;
}

double ExpectedError::decibels() const {
  return graph::decibels(Signal, noise());
}

bool graph::hasMoments(const OperandStatistics &Of, const ProductWeights &W) {
  auto Channels = size_t(W.Channels);
  return Of.Largest.size() == Channels && Of.Mean.size() == Channels &&
         Of.Rms.size() == Channels;
}

/// The power of what rounding adds to numbers of a root mean square. Where
/// steps are wider than the numbers, these are lost.
static double roundingPower(double Rms, double Step, CodeType Type) {
  // Of a step, uniform: its square over 12. The steps of FP8 are 1/8 of the
  // power of two below a number, whose mantissa is taken to be log-uniform:
  // 1/64/12 times the mean of 1/m^2 from 1 to 2, and 2^-9 below its least.
  constexpr double OfFp8 = 1.0 / 64 / 12 * 0.541, LeastStep = 0x1p-9;
  double Power = Rms * Rms;
  if (Type == CodeType::Fp8)
    Step *= LeastStep;
  double OfStep = std::min(Step * Step / 12, Power);
  return Type == CodeType::Fp8 ? std::max(Power * OfFp8, OfStep) : OfStep;
}

//===----------------------------------------------------------------------===//
// Columns of a weight
//===----------------------------------------------------------------------===//

namespace {
/// So many columns are rounded at a time: what is summed of each stays in the
/// first cache, and a weight of 1024 columns keeps eight threads busy.
constexpr int64_t TileColumns = 128;

/// Numbers of one row, and what their codes stand for.
struct RowTile {
  std::array<float, TileColumns> Numbers, Rounded;
};
using ColumnSums = std::array<double, TileColumns>;

/// Rounds the columns from `First`, and shows each row of them to `Show`, which
/// takes (row of the weight, RowTile).
template <typename Fn>
void roundColumns(const ProductWeights &W, ArrayRef<float> Factors,
                  CodeType Type, int64_t First, int64_t Count, Fn &&Show) {
  bool Int8 = Type == CodeType::Int8;
  float Greatest = Int8 ? GreatestInt8 : GreatestFp8;
  RowTile Row;
  auto Load = [&](int64_t K) {
    const float *From = W.row(K) + First;
    float Factor = Factors.empty() ? 1 : Factors[W.channelOf(K)];
    for (int64_t N = 0; N < Count; ++N)
      Row.Numbers[N] = From[N] * Factor;
  };
  std::array<float, TileColumns> Most, ToCode, Step;
  Most.fill(1e-30F);
  for (int64_t K = 0; K < W.K; ++K) {
    Load(K);
    for (int64_t N = 0; N < Count; ++N)
      Most[N] = std::max(Most[N], std::abs(Row.Numbers[N]));
  }
  for (int64_t N = 0; N < Count; ++N) {
    ToCode[N] = Greatest / Most[N];
    Step[N] = Most[N] / Greatest;
  }
  for (int64_t K = 0; K < W.K; ++K) {
    Load(K);
    if (Int8)
      for (int64_t N = 0; N < Count; ++N)
        Row.Rounded[N] = roundedToEven(Row.Numbers[N] * ToCode[N]) * Step[N];
    else
      for (int64_t N = 0; N < Count; ++N)
        Row.Rounded[N] = roundedToE4m3(Row.Numbers[N] * ToCode[N]) * Step[N];
    Show(K, Row);
  }
}
} // namespace

ExpectedError graph::expectedError(const OperandStatistics &Of,
                                   const ProductWeights &W,
                                   ArrayRef<float> Factors, CodeType Type) {
  ConstantScale By = ConstantScale::of(Of, Type, W.TakesZero);
  std::vector<double> Noise(W.Channels), Variance(W.Channels);
  for (int64_t C = 0; C < W.Channels; ++C) {
    double Power = double(Of.Rms[C]) * Of.Rms[C];
    Noise[C] = roundingPower(Of.Rms[C], By.Step, Type);
    Variance[C] = std::max(0.0, Power - double(Of.Mean[C]) * Of.Mean[C]);
  }
  std::vector<ExpectedError> OfTile(llvm::divideCeil(W.N, TileColumns));
  forColumnTiles<TileColumns>(
      W.N, [&](size_t Tile, int64_t First, int64_t Count) {
        ColumnSums Operand{}, Weight{}, Signal{}, Means{}, Errors{};
        roundColumns(W, Factors, Type, First, Count,
                     [&](int64_t K, const RowTile &Row) {
                       int64_t C = W.channelOf(K);
                       double N2 = Noise[C], V = Variance[C], M = Of.Mean[C];
                       for (int64_t N = 0; N < Count; ++N) {
                         double Number = Row.Numbers[N];
                         double Error = Number - Row.Rounded[N];
                         Operand[N] += N2 * Number * Number;
                         Weight[N] += V * Error * Error;
                         Signal[N] += V * Number * Number;
                         Means[N] += M * Number;
                         Errors[N] += M * Error;
                       }
                     });
        ExpectedError &Sum = OfTile[Tile];
        for (int64_t N = 0; N < Count; ++N) {
          Sum.Operand += Operand[N];
          Sum.Weight += Weight[N];
          Sum.Signal += Signal[N] + Means[N] * Means[N];
          Sum.Mean += Errors[N] * Errors[N];
        }
      });
  ExpectedError Sum;
  for (const ExpectedError &Part : OfTile) {
    Sum.Operand += Part.Operand;
    Sum.Weight += Part.Weight;
    Sum.Signal += Part.Signal;
    Sum.Mean += Part.Mean;
  }
  return Sum;
}

std::vector<float> graph::meanError(const OperandStatistics &Of,
                                    const ProductWeights &W, CodeType Type) {
  std::vector<float> Means(W.N);
  forColumnTiles<TileColumns>(W.N, [&](size_t, int64_t First, int64_t Count) {
    ColumnSums Sums{};
    roundColumns(W, {}, Type, First, Count, [&](int64_t K, const RowTile &Row) {
      double Mean = Of.Mean[W.channelOf(K)];
      for (int64_t N = 0; N < Count; ++N)
        Sums[N] += Mean * (double(Row.Numbers[N]) - Row.Rounded[N]);
    });
    std::copy_n(Sums.begin(), Count, Means.begin() + First);
  });
  return Means;
}

std::string graph::decibelText(double Decibels) {
  std::string Text;
  llvm::raw_string_ostream(Text) << llvm::format("%.1f dB", Decibels);
  return Text;
}
