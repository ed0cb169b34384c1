//===- Convolution.cpp - Import of convolutions ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/Spatial.h"

using namespace kpc::graph;

namespace kpc::onnx {

/// Whether x and w have the ranks of a convolution; reports if not.
static bool convolutionRanks(NodeImport &N, Value X, Value W) {
  if (N.rank(X) >= 3 && N.rank(X) == N.rank(W))
    return true;
  N.fail(Code::ImportRank, "input has rank " + std::to_string(N.rank(X)) +
                               ", weights have rank " +
                               std::to_string(N.rank(W)) +
                               ", but both should have one rank of at least 3");
  return false;
}

/// The attribute `group`; reports and is 1 where it is none.
static int64_t groupAttribute(NodeImport &N) {
  int64_t Groups = N.intAttribute("group", 1);
  if (Groups >= 1)
    return Groups;
  N.fail(Code::ImportAttributeValue, "attribute 'group' is " +
                                         std::to_string(Groups) +
                                         ", but should be 1 or more");
  return 1;
}

static Value addBias(NodeImport &N, Value Y, size_t Input) {
  if (!N.hasInput(Input) || !Y)
    return Y;
  Value Bias = N.input(Input);
  if (Bias && N.rank(Bias) != 1)
    return N.fail(Code::ImportRank, "the bias has rank " +
                                        std::to_string(N.rank(Bias)) +
                                        ", but should be a vector");
  return N.add(Y, Bias);
}

static void importConv(NodeImport &N) {
  int64_t Groups = groupAttribute(N);
  N.expectInputs(2, 3);
  Value X = N.input(0), W = N.input(1);
  if (N.bad() || !convolutionRanks(N, X, W))
    return;
  // Where they cannot be equal, the convolution itself says so.
  N.unify(Expr(N.dims(X)[1]), N.dims(W)[1] * Groups);
  std::optional<Ints> Kernel = kernelShape(N, N.dims(W).drop_front(2));
  if (!Kernel)
    return;
  std::optional<Spatial> S =
      spatialAttributes(N, *Kernel, N.dims(X).drop_front(2));
  if (!S)
    return;
  Value Y = N.conv(channelsLast(N, X), kernelLayout(N, W), S->Stride,
                   S->Dilation, S->Low, S->High, Groups);
  N.result(0, channelsFirst(N, addBias(N, Y, 2)));
}

//===----------------------------------------------------------------------===//
// Transposed
//===----------------------------------------------------------------------===//

/// Pads by which the full result is cut, from pads, auto_pad or output_shape.
static bool transposedPads(NodeImport &N, Spatial &S, ArrayRef<Expr> Sizes,
                           ArrayRef<int64_t> Extra) {
  std::string Auto = N.stringAttribute("auto_pad", "NOTSET");
  std::optional<Ints> Shape = N.intsAttribute("output_shape");
  bool Same = Auto == "SAME_UPPER" || Auto == "SAME_LOWER";
  if (!Same && (!Shape || Shape->empty()))
    return true;
  // output_shape may name batch and channels as well.
  if (Shape && Shape->size() == S.count() + 2)
    Shape->erase(Shape->begin(), Shape->begin() + 2);
  if (Shape && !Shape->empty() && Shape->size() != S.count()) {
    N.fail(Code::ImportAttributeValue, "attribute 'output_shape' has " +
                                           std::to_string(Shape->size()) +
                                           " entries");
    return false;
  }
  for (size_t I = 0; I < S.count(); ++I) {
    std::optional<int64_t> Size = Sizes[I].asConstant();
    bool Given = Shape && !Shape->empty();
    if (!Size && Given) {
      N.unsupportedOn("output_shape", Sizes[I]);
      return false;
    }
    int64_t Reach = (S.Kernel[I] - 1) * S.Dilation[I] + 1;
    // Full size: stride*(n-1) + extra + reach; wanted: output_shape or
    // stride*n.
    int64_t Total =
        Given ? S.Stride[I] * (*Size - 1) + Extra[I] + Reach - (*Shape)[I]
              : Extra[I] + Reach - S.Stride[I];
    if (!Given)
      Total = std::max<int64_t>(Total, 0);
    if (std::abs(Total) > INT32_MAX) {
      N.fail(Code::ImportAttributeValue,
             "attribute 'output_shape' is " + std::to_string((*Shape)[I]));
      return false;
    }
    // A result larger than the full one is filled up at its end.
    S.Low[I] = Total < 0              ? 0
               : Auto == "SAME_UPPER" ? Total / 2
                                      : Total - Total / 2;
    S.High[I] = Total - S.Low[I];
  }
  return true;
}

/// [C, O/g, k…] to [k… reversed, C/g, O].
static Value transposedKernel(NodeImport &N, Value W, int64_t Groups) {
  Dims Sizes(N.dims(W));
  size_t Spatial = Sizes.size() - 2;
  Expr Inner = Sizes[0].floorDiv(Groups);
  if (Inner * Groups != Sizes[0])
    return N.fail(Code::ImportShape, Sizes[0].str() +
                                         " channels do not divide into " +
                                         std::to_string(Groups) + " groups");
  // [g, C/g, O/g, k…] to [k…, C/g, g, O/g]
  Dims Split = {Expr(Groups), Inner, Sizes[1]};
  Split.append(Sizes.begin() + 2, Sizes.end());
  Ints Perm;
  Dims Joined;
  for (size_t I = 0; I < Spatial; ++I) {
    Perm.push_back(static_cast<int64_t>(I) + 3);
    Joined.push_back(Sizes[I + 2]);
  }
  Perm.append({1, 0, 2});
  Joined.append({Inner, Sizes[1] * Groups});
  Value K = N.reshape(N.transpose(N.reshape(W, Split), Perm), Joined);
  for (size_t I = 0; I < Spatial; ++I)
    K = N.reverse(K, static_cast<int64_t>(I));
  return K;
}

static void importConvTranspose(NodeImport &N) {
  int64_t Groups = groupAttribute(N);
  N.expectInputs(2, 3);
  Value X = N.input(0), W = N.input(1);
  if (N.bad() || !convolutionRanks(N, X, W))
    return;
  ArrayRef<Expr> Sizes = N.dims(X).drop_front(2);
  std::optional<Ints> Kernel = kernelShape(N, N.dims(W).drop_front(2));
  std::optional<Ints> Given = N.intsAttribute("output_padding");
  if (!Kernel || N.bad())
    return;
  Ints Extra = Given && !Given->empty() ? *Given : Ints(Kernel->size(), 0);
  if (Extra.size() != Kernel->size() || Groups < 1 ||
      llvm::any_of(Extra, [](int64_t E) { return E < 0 || E > INT32_MAX; })) {
    N.fail(Code::ImportAttributeValue,
           "attribute 'output_padding' or 'group' does not fit");
    return;
  }
  // auto_pad means other pads here.
  std::optional<Spatial> S = spatialAttributes(N, *Kernel, Sizes);
  if (!S || !transposedPads(N, *S, Sizes, Extra))
    return;
  // Spread x by the stride, surround it by all but one of the taps, and
  // convolve with the taps reversed.
  Ints Low = {0}, High = {0}, Interior = {0};
  for (size_t I = 0; I < S->count(); ++I) {
    int64_t Reach = (S->Kernel[I] - 1) * S->Dilation[I];
    Low.push_back(Reach - S->Low[I]);
    High.push_back(Reach - S->High[I] + Extra[I]);
    Interior.push_back(S->Stride[I] - 1);
  }
  for (Ints *List : {&Low, &High, &Interior})
    List->push_back(0);
  Value Spread = N.pad(channelsLast(N, X), N.like(0, X), Low, High, Interior);
  Ints One(S->count(), 1), None(S->count(), 0);
  Value Y = N.conv(Spread, transposedKernel(N, W, Groups), One, S->Dilation,
                   None, None, Groups);
  N.result(0, channelsFirst(N, addBias(N, Y, 2)));
}

ArrayRef<Rule> convolutionRules() {
  static const Rule Rows[] = {
      {"", "Conv", 1, Newest, importConv, AutoPadLimits},
      {"", "ConvTranspose", 1, Newest, importConvTranspose,
       "output_shape needs sizes that are known when compiling"},
  };
  return Rows;
}

} // namespace kpc::onnx
