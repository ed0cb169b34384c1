//===- QuantisationError.cpp - The error that codes are expected to make --===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/QuantisationError.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

/// A number of E4M3 nearest to `X`, whose magnitude is at most 448.
static float roundedToFp8(float X) {
  constexpr int MantissaBits = 3, LeastExponent = -6;
  if (X == 0)
    return 0;
  int Exponent = std::max(std::ilogb(X), LeastExponent);
  float Step = std::ldexp(1.0F, Exponent - MantissaBits);
  return std::nearbyint(X / Step) * Step;
}

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

std::vector<float> graph::roundedWeights(const ProductWeights &W,
                                         CodeType Type) {
  bool Int8 = Type == CodeType::Int8;
  float Greatest = Int8 ? GreatestInt8 : GreatestFp8;
  std::vector<float> Most(W.N, 1e-30F), Rounded(W.Numbers.size());
  for (int64_t K = 0; K < W.K; ++K)
    for (int64_t N = 0; N < W.N; ++N)
      Most[N] = std::max(Most[N], std::abs(W.row(K)[N]));
  for (int64_t K = 0; K < W.K; ++K)
    for (int64_t N = 0; N < W.N; ++N) {
      float Code = W.row(K)[N] * (Greatest / Most[N]);
      Code = Int8 ? std::nearbyint(Code) : roundedToFp8(Code);
      Rounded[K * W.N + N] = Code * (Most[N] / Greatest);
    }
  return Rounded;
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

ExpectedError graph::expectedError(const OperandStatistics &Of,
                                   const ProductWeights &W,
                                   ArrayRef<float> Rounded, CodeType Type) {
  ConstantScale By = ConstantScale::of(Of, Type, W.TakesZero);
  std::vector<double> Noise(W.Channels), Variance(W.Channels);
  for (int64_t C = 0; C < W.Channels; ++C) {
    double Power = double(Of.Rms[C]) * Of.Rms[C];
    Noise[C] = roundingPower(Of.Rms[C], By.Step, Type);
    Variance[C] = std::max(0.0, Power - double(Of.Mean[C]) * Of.Mean[C]);
  }
  ExpectedError Sum;
  std::vector<double> Means(W.N), Errors(W.N);
  for (int64_t K = 0; K < W.K; ++K) {
    int64_t C = W.channelOf(K);
    for (int64_t N = 0; N < W.N; ++N) {
      double Number = W.row(K)[N], Error = Number - Rounded[K * W.N + N];
      Sum.Operand += Noise[C] * Number * Number;
      Sum.Weight += Variance[C] * Error * Error;
      Sum.Signal += Variance[C] * Number * Number;
      Means[N] += Of.Mean[C] * Number;
      Errors[N] += Of.Mean[C] * Error;
    }
  }
  for (int64_t N = 0; N < W.N; ++N) {
    Sum.Signal += Means[N] * Means[N];
    Sum.Mean += Errors[N] * Errors[N];
  }
  return Sum;
}

std::vector<float> graph::meanError(const OperandStatistics &Of,
                                    const ProductWeights &W,
                                    ArrayRef<float> Rounded) {
  std::vector<double> Sums(W.N);
  for (int64_t K = 0; K < W.K; ++K)
    for (int64_t N = 0; N < W.N; ++N)
      Sums[N] += double(Of.Mean[W.channelOf(K)]) *
                 (double(W.row(K)[N]) - Rounded[K * W.N + N]);
  return std::vector<float>(Sums.begin(), Sums.end());
}

std::string graph::decibelText(double Decibels) {
  std::string Text;
  llvm::raw_string_ostream(Text) << llvm::format("%.1f dB", Decibels);
  return Text;
}
