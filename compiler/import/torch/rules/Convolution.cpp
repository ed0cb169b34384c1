//===- Convolution.cpp - Import of convolutions ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Rules.h"

using namespace kpc::graph;

namespace kpc::torch {

/// [N, C, spatial…] to [N, spatial…, C].
static Value channelsLast(NodeImport &N, Value X) {
  if (!X)
    return {};
  Ints Perm = {0};
  for (int64_t I = 2; I < N.rank(X); ++I)
    Perm.push_back(I);
  Perm.push_back(1);
  return N.transpose(X, Perm);
}

static Value channelsFirst(NodeImport &N, Value X) {
  if (!X)
    return {};
  Ints Perm = {0, N.rank(X) - 1};
  for (int64_t I = 1; I < N.rank(X) - 1; ++I)
    Perm.push_back(I);
  return N.transpose(X, Perm);
}

/// [O, C/g, spatial…] to [spatial…, C/g, O].
static Value kernelLayout(NodeImport &N, Value W) {
  Ints Perm;
  for (int64_t I = 2; I < N.rank(W); ++I)
    Perm.push_back(I);
  Perm.append({1, 0});
  return N.transpose(W, Perm);
}

/// [C, O/g, k…] to [k…, C, O/g].
static Value transposedKernel(NodeImport &N, Value W) {
  Ints Perm;
  for (int64_t I = 2; I < N.rank(W); ++I)
    Perm.push_back(I);
  Perm.append({0, 1});
  return N.transpose(W, Perm);
}

static void convolve(NodeImport &N, bool Transposed) {
  Value X = N.tensor("input"), W = N.tensor("weight"),
        Bias = N.optionalTensor("bias");
  if (N.bad())
    return;
  // A sample alone has no batch.
  bool Alone = N.rank(X) == N.rank(W) - 1;
  if (Alone)
    X = N.unsqueeze(X, {0});
  if (N.rank(X) != N.rank(W) || N.rank(X) < 3)
    return (void)N.fail(Code::ImportRank,
                        "the input and the weights have other ranks");
  size_t Count = N.dims(X).size() - 2;
  Ints One(Count, 1), None(Count, 0);
  Ints Stride = N.integers("stride", One),
       Dilation = N.integers("dilation", One),
       Extra = N.integers("output_padding", None), Low = None, Taps;
  int64_t Groups = N.integer("groups", 1);
  for (size_t I = 0; I < Count; ++I)
    Taps.push_back(N.dims(W)[I + 2].asConstant().value_or(0));
  if (llvm::is_contained(Taps, 0) || Groups < 1 || Stride.size() != Count ||
      Dilation.size() != Count || Extra.size() != Count)
    return (void)N.fail(Code::ImportShape, "the kernel's sizes do not fit");
  const Argument *Pads = N.argument("padding");
  Ints High = None;
  if (Pads && Pads->Is == Argument::Kind::Text) {
    if (Pads->Text == "same")
      for (size_t I = 0; I < Count; ++I) {
        int64_t Total = Dilation[I] * (Taps[I] - 1);
        Low[I] = Total / 2;
        High[I] = Total - Low[I];
      }
  } else {
    Low = High = N.integers("padding", None);
  }
  if (N.bad() || Low.size() != Count)
    return N.give();
  Value Y;
  if (!Transposed) {
    Y = N.conv(channelsLast(N, X), kernelLayout(N, W), Stride, Dilation, Low,
               High, Groups);
  } else {
    // What output_padding adds is not cut.
    for (size_t I = 0; I < Count; ++I)
      High[I] -= Extra[I];
    Y = N.convTranspose(channelsLast(N, X), transposedKernel(N, W), Stride,
                        Dilation, Low, High, Groups);
  }
  if (Bias && Y)
    Y = N.add(Y, Bias);
  Y = channelsFirst(N, Y);
  if (Alone && Y)
    Y = N.reshape(Y, N.dims(Y).drop_front());
  N.result(Y);
}

static void conv(NodeImport &N) { convolve(N, false); }
static void convTranspose(NodeImport &N) { convolve(N, true); }
static void convolution(NodeImport &N) {
  convolve(N, N.flag("transposed", false));
}

ArrayRef<Rule> convolutionRules() {
  static const Rule Rows[] = {
      {"conv1d.default", conv},
      {"conv1d.padding", conv},
      {"conv2d.default", conv},
      {"conv2d.padding", conv},
      {"conv3d.default", conv},
      {"conv3d.padding", conv},
      {"conv_transpose1d.default", convTranspose},
      {"conv_transpose2d.input", convTranspose},
      {"conv_transpose3d.input", convTranspose},
      {"_convolution.default", convolution},
      {"_convolution_mode.default", conv},
      {"convolution.default", convolution},
  };
  return Rows;
}

} // namespace kpc::torch
