//===- CarriedState.cpp - Import of operators with state between calls ----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call returns what the next one continues from: a cache with an update
// written into it, the last elements that a causal convolution still sees.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"

using namespace kpc::graph;

namespace kpc::onnx {

/// y[t] is update[t - start] where there is one, else the cache's.
static void importTensorScatter(NodeImport &N) {
  int64_t Axis = N.intAttribute("axis", -2);
  std::string Mode = N.stringAttribute("mode", "linear");
  N.expectInputs(2, 3);
  Value Cache = N.input(0), Update = N.input(1), Start = N.optionalInput(2);
  if (N.bad())
    return;
  auto Rank = static_cast<size_t>(N.rank(Cache));
  Axis = N.frontAxis(Axis, N.rank(Cache));
  if (Axis == 0 || N.rank(Update) != N.rank(Cache))
    N.fail(Code::ImportRank, "cache and update should have one rank, and the "
                             "axis should not be the batch's");
  if (Mode != "linear" && Mode != "circular")
    N.fail(Code::ImportAttributeValue,
           "attribute 'mode' is '" + printable(Mode) + "'");
  if (N.bad())
    return;
  for (int64_t I = 0; I < N.rank(Cache); ++I)
    if (I != Axis)
      N.unifyDims(Cache, I, Update, I);
  if (Start && N.rank(Start) == 1)
    N.unifyDims(Cache, 0, Start, 0);
  Dims Sizes(N.dims(Cache)), PerBatch(Rank, Expr(1)), Along(Rank, Expr(1));
  auto At = static_cast<size_t>(Axis);
  PerBatch[0] = Sizes[0];
  Along[At] = Sizes[At];
  Value Place = N.iota(Along, Axis, N.i64());
  if (Start)
    Place = N.sub(Place, N.reshape(N.cast(Start, N.i64()), PerBatch));
  if (Mode == "circular")
    Place = N.binary<ModOp>(Place, N.sizeScalar(Sizes[At], N.i64()));
  Value Zero = N.scalarInt(0, N.i64());
  Value Count = N.sizeScalar(N.dims(Update)[At], N.i64());
  Value Fresh = N.binary<AndOp>(N.compare(Predicate::ge, Place, Zero),
                                N.compare(Predicate::lt, Place, Count));
  Value Indices = N.broadcast(N.max(Place, Zero), Sizes);
  Value New = N.gatherElements(Update, Indices, Axis);
  N.result(0, N.select(Fresh, New, Cache));
}

static void importCausalConv(NodeImport &N) {
  std::string Activation = N.stringAttribute("activation", "none");
  N.expectInputs(2, 4);
  Value X = N.input(0), W = N.input(1), Bias = N.optionalInput(2),
        Past = N.optionalInput(3);
  if (N.bad())
    return;
  if (N.rank(X) != 3 || N.rank(W) != 3 || (Past && N.rank(Past) != 3)) {
    N.fail(Code::ImportRank, "input, weight and past state should have rank 3");
    return;
  }
  std::optional<int64_t> Channels = N.dims(X)[1].asConstant(),
                         Taps = N.dims(W)[2].asConstant();
  if (!Channels || *Channels < 1 || !Taps || *Taps < 1) {
    N.unsupported("the channels and the kernel's size must be numbers");
    return;
  }
  if (Activation != "none" && Activation != "silu" && Activation != "swish") {
    N.fail(Code::ImportAttributeValue,
           "attribute 'activation' is '" + printable(Activation) + "'");
    return;
  }
  Value Whole =
      Past ? N.concat({Past, X}, 2)
           : N.pad(X, N.like(0, X), {0, 0, *Taps - 1}, {0, 0, 0}, {0, 0, 0});
  if (!Whole)
    return;
  Value Y = N.conv(N.transpose(Whole, {0, 2, 1}), N.transpose(W, {2, 1, 0}),
                   {1}, {1}, {0}, {0}, *Channels);
  if (Bias)
    Y = N.add(Y, Bias);
  if (Activation != "none")
    Y = N.mul(Y, N.unary<SigmoidOp>(Y));
  N.result(0, N.transpose(Y, {0, 2, 1}));
  Expr Length = N.dims(Whole)[2];
  if (N.wants(1))
    N.result(1, N.sliceAxis(Whole, 2, Length - (*Taps - 1), Expr(*Taps - 1)));
}

ArrayRef<Rule> carriedStateRules() {
  static const Rule Rows[] = {
      {"", "TensorScatter", 24, Newest, importTensorScatter},
      {"", "CausalConvWithState", 27, Newest, importCausalConv,
       "the numbers of channels and taps must be known when compiling"},
  };
  return Rows;
}

} // namespace kpc::onnx
