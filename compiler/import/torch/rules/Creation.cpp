//===- Creation.cpp - Import of tensors made from nothing -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Rules.h"

using namespace kpc::graph;

namespace kpc::torch {

/// A tensor of one value with the result's sizes.
static void fill(NodeImport &N, Value V) {
  std::optional<Dims> Sizes = N.declaredSizes();
  Type T = N.declaredType();
  if (!Sizes || !T || !V)
    return N.give();
  N.result(N.broadcast(N.cast(V, T), *Sizes));
}

template <int Number> static void constant(NodeImport &N) {
  Type T = N.declaredType();
  if (T)
    fill(N, N.scalarInt(Number, T));
}

static void full(NodeImport &N) {
  Type T = N.declaredType();
  if (T)
    fill(N, N.operand(N.has("fill_value") ? "fill_value" : "value", T));
}

static void scalarTensor(NodeImport &N) {
  Type T = N.declaredType();
  if (T)
    fill(N, N.operand("s", T));
}

/// start + i * step
static void range(NodeImport &N) {
  std::optional<Dims> Sizes = N.declaredSizes();
  Type T = N.declaredType();
  if (!Sizes || !T)
    return N.give();
  Value I = N.iota(*Sizes, 0, isFloat(T) ? T : N.i64());
  if (!I)
    return N.give();
  Type Own = N.element(I);
  if (N.has("step"))
    I = N.mul(I, N.operand("step", Own));
  if (N.has("start"))
    I = N.add(I, N.operand("start", Own));
  N.result(N.cast(I, T));
}

static void linspace(NodeImport &N) {
  std::optional<Dims> Sizes = N.declaredSizes();
  Type T = N.declaredType();
  std::optional<int64_t> Steps =
      Sizes && Sizes->size() == 1 ? (*Sizes)[0].asConstant() : std::nullopt;
  if (!Steps || !T || !isFloat(T))
    return N.give();
  double From = N.real("start", 0), To = N.real("end", 1);
  double Each = *Steps > 1 ? (To - From) / double(*Steps - 1) : 0;
  std::vector<double> Values;
  if (*Steps <= 64) {
    for (int64_t I = 0; I < *Steps; ++I)
      Values.push_back(I < *Steps / 2 ? From + Each * double(I)
                                      : To - Each * double(*Steps - 1 - I));
    return N.result(N.floatVector(Values, T));
  }
  Value I = N.iota(*Sizes, 0, T);
  N.result(N.addScalar(N.mulScalar(I, Each), From));
}

static void eye(NodeImport &N) {
  std::optional<Dims> Sizes = N.declaredSizes();
  Type T = N.declaredType();
  if (Sizes && T && Sizes->size() == 2)
    N.result(N.cast(N.compare(Predicate::eq, N.iota(*Sizes, 0, N.i64()),
                              N.iota(*Sizes, 1, N.i64())),
                    T));
}

/// Noise has no place in a compiled model but where nothing reads it.
static void noise(NodeImport &N) {
  N.unsupported("random numbers; a compiled model gives the same results in "
                "each run: make the noise an input of the model");
}

static void shapeAsTensor(NodeImport &N) {
  if (Value X = N.tensor("self"))
    N.result(N.Emitter::sizes(N.dims(X)));
}

ArrayRef<Rule> creationRules() {
  static constexpr std::string_view Nothing =
      "refused: make the random numbers an input of the model";
  static const Rule Rows[] = {
      {"_shape_as_tensor.default", shapeAsTensor},
      {"arange.default", range},
      {"arange.start", range},
      {"arange.start_step", range},
      {"empty.memory_format", constant<0>},
      {"empty_like.default", constant<0>},
      {"empty_permuted.default", constant<0>},
      {"empty_strided.default", constant<0>},
      {"eye.default", eye},
      {"eye.m", eye},
      {"fill.Scalar", full, InPlace::Yes},
      {"fill.Tensor", full, InPlace::Yes},
      {"full.default", full},
      {"full_like.default", full},
      {"linspace.default", linspace},
      {"new_empty.default", constant<0>},
      {"new_empty_strided.default", constant<0>},
      {"new_full.default", full},
      {"new_ones.default", constant<1>},
      {"new_zeros.default", constant<0>},
      {"ones.default", constant<1>},
      {"ones_like.default", constant<1>},
      {"bernoulli.default", noise, InPlace::No, Nothing},
      {"bernoulli.p", noise, InPlace::No, Nothing},
      {"exponential.default", noise, InPlace::Yes, Nothing},
      {"multinomial.default", noise, InPlace::No, Nothing},
      {"normal.Tensor_Tensor", noise, InPlace::No, Nothing},
      {"normal.Tensor_float", noise, InPlace::No, Nothing},
      {"normal.float_Tensor", noise, InPlace::No, Nothing},
      {"normal.float_float", noise, InPlace::No, Nothing},
      {"poisson.default", noise, InPlace::No, Nothing},
      {"rand.default", noise, InPlace::No, Nothing},
      {"rand_like.default", noise, InPlace::No, Nothing},
      {"randint.default", noise, InPlace::No, Nothing},
      {"randint.low", noise, InPlace::No, Nothing},
      {"randint_like.default", noise, InPlace::No, Nothing},
      {"randint_like.low_dtype", noise, InPlace::No, Nothing},
      {"randn.default", noise, InPlace::No, Nothing},
      {"randn_like.default", noise, InPlace::No, Nothing},
      {"randperm.default", noise, InPlace::No, Nothing},
      {"scalar_tensor.default", scalarTensor},
      {"uniform.default", noise, InPlace::Yes, Nothing},
      {"zero.default", constant<0>, InPlace::Yes},
      {"zeros.default", constant<0>},
      {"zeros_like.default", constant<0>},
  };
  return Rows;
}

} // namespace kpc::torch
