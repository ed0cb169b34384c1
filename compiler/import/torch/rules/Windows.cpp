//===- Windows.cpp - Import of windows of signals and of frequencies ------===//
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

/// The most elements of a table.
static constexpr int64_t MostElements = 1'000'000;

Type tableType(NodeImport &N) {
  Type T = N.has("dtype") ? N.type("dtype") : N.f32();
  return T && isFloat(T) ? T : Type();
}

enum class Window { Hann, Hamming, Blackman, Bartlett };

/// Windows of signals; a periodic one is the symmetric one of a step more.
template <Window W> static void window(NodeImport &N) {
  int64_t Length = N.integer("window_length", 0);
  bool Periodic = N.flag("periodic", true);
  double Alpha = N.real("alpha", W == Window::Hann ? 0.5 : 0.54),
         Beta = N.real("beta", W == Window::Hann ? 0.5 : 0.46);
  Type T = tableType(N);
  if (N.bad() || !T || Length < 0 || Length > MostElements)
    return N.give();
  double Span = double(Periodic ? Length : Length - 1);
  std::vector<double> Values;
  for (int64_t I = 0; I < Length; ++I) {
    double Turn = 2 * M_PI * double(I) / Span;
    double V = W == Window::Blackman
                   ? 0.42 - 0.5 * std::cos(Turn) + 0.08 * std::cos(2 * Turn)
               : W == Window::Bartlett ? 1 - std::fabs(2 * double(I) / Span - 1)
                                       : Alpha - Beta * std::cos(Turn);
    Values.push_back(Length == 1 ? 1 : V);
  }
  N.result(N.floatVector(Values, T));
}

/// Bessel's function of order 0.
static double besselOf(double X) {
  double Sum = 1, Term = 1;
  for (int K = 1; K < 500 && Term > Sum * 1e-17; ++K) {
    Term *= (X / 2 / K) * (X / 2 / K);
    Sum += Term;
  }
  return Sum;
}

static void kaiserWindow(NodeImport &N) {
  int64_t Length = N.integer("window_length", 0);
  bool Periodic = N.flag("periodic", true);
  double Beta = N.real("beta", 12);
  Type T = tableType(N);
  if (N.bad() || !T || Length < 0 || Length > MostElements)
    return N.give();
  double Half = double(Periodic ? Length : Length - 1) / 2;
  std::vector<double> Values;
  for (int64_t I = 0; I < Length; ++I) {
    double At = Length == 1 ? 0 : (double(I) - Half) / Half;
    Values.push_back(besselOf(Beta * std::sqrt(std::max(0.0, 1 - At * At))) /
                     besselOf(Beta));
  }
  N.result(N.floatVector(Values, T));
}

/// The frequencies of a transform's bins; of reals the first half.
template <bool OfReals> static void frequencies(NodeImport &N) {
  int64_t Length = N.integer("n", 0);
  double Step = N.real("d", 1);
  Type T = tableType(N);
  if (N.bad() || !T || Length < 1 || Length > MostElements)
    return N.give();
  int64_t Bins = OfReals ? Length / 2 + 1 : Length;
  std::vector<double> Values;
  for (int64_t I = 0; I < Bins; ++I) {
    int64_t Bin = OfReals || I < (Length + 1) / 2 ? I : I - Length;
    Values.push_back(double(Bin) / (double(Length) * Step));
  }
  N.result(N.floatVector(Values, T));
}

ArrayRef<Rule> windowRules() {
  static const Rule Rows[] = {
      {"bartlett_window.default", window<Window::Bartlett>},
      {"bartlett_window.periodic", window<Window::Bartlett>},
      {"blackman_window.default", window<Window::Blackman>},
      {"blackman_window.periodic", window<Window::Blackman>},
      {"hamming_window.default", window<Window::Hamming>},
      {"hamming_window.periodic", window<Window::Hamming>},
      {"hamming_window.periodic_alpha", window<Window::Hamming>},
      {"hamming_window.periodic_alpha_beta", window<Window::Hamming>},
      {"hann_window.default", window<Window::Hann>},
      {"hann_window.periodic", window<Window::Hann>},
      {"fft_fftfreq.default", frequencies<false>},
      {"fft_rfftfreq.default", frequencies<true>},
      {"kaiser_window.beta", kaiserWindow},
      {"kaiser_window.default", kaiserWindow},
      {"kaiser_window.periodic", kaiserWindow},
  };
  return Rows;
}

} // namespace kpc::torch
