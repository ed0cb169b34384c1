//===- Cast.cpp - Import of conversions and copies ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Importer.h"
#include "compiler/import/torch/Rules.h"

using namespace kpc::graph;

namespace kpc::torch {

/// What shares memory with `self` as it is.
static void same(NodeImport &N) {
  N.view(
      0, "self", [](Emitter &, Value X) { return X; },
      [](Emitter &, Value, Value Part) { return Part; });
}

static void copy(NodeImport &N) { N.result(N.tensor("self")); }

/// A conversion shares memory where it changes nothing, unless `copy` is set.
static void convert(NodeImport &N) {
  Value X = N.tensor("self");
  Type T = N.declaredType();
  if (!X || !T)
    return N.give();
  if (N.element(X) == T && !N.flag("copy", false))
    return same(N);
  N.result(N.cast(X, T));
}

/// Drops out nothing: a compiled model infers.
static void dropout(NodeImport &N) {
  std::string_view Name = N.has("input") ? "input" : "self";
  if (N.flag("train", false) && N.real("p", 0.5) != 0) {
    N.unsupported("the program trains: export it after model.eval()");
    return;
  }
  N.view(
      0, Name, [](Emitter &, Value X) { return X; },
      [](Emitter &, Value, Value Part) { return Part; });
}

/// The same with a mask of what is kept: all.
static void dropoutWithMask(NodeImport &N) {
  Value X = N.tensor("input");
  if (!X)
    return;
  if (N.flag("train", true) && N.real("p", 0.5) != 0) {
    N.unsupported("the program trains: export it after model.eval()");
    return;
  }
  N.result(0, X);
  N.result(1, N.full(1, N.dims(X), N.i1()));
}

/// The bits of elements as those of another type.
static void reinterpret(NodeImport &N) {
  Value X = N.tensor("self");
  Type T = N.type("dtype");
  if (!X || !T)
    return N.give();
  auto Bits = [](Type Of) { return Of.getIntOrFloatBitWidth(); };
  if (Bits(T) != Bits(N.element(X)) || isBool(T) || isBool(N.element(X)))
    return (void)N.unsupported("elements of " + typeText(N.element(X)) +
                               " seen as " + typeText(T) +
                               "; kpc takes types of one width");
  Type Own = N.element(X);
  N.view(
      0, "self", [T](Emitter &E, Value Whole) { return E.bitcast(Whole, T); },
      [Own](Emitter &E, Value, Value Part) { return E.bitcast(Part, Own); });
}

/// What is written takes self's sizes and type; the importer does both.
static void copyFrom(NodeImport &N) {
  Value X = N.tensor("self"), From = N.tensor("src");
  if (X && From)
    N.result(N.broadcast(N.cast(From, N.element(X)), N.dims(X)));
}

/// Checks that the exporter made, which hold for every run.
static void nothing(NodeImport &) {}

/// What torch._check says of sizes.
static void assertScalar(NodeImport &N) {
  const Argument *A = N.argument("self");
  if (!A || A->Values.empty() || A->Values[0].empty())
    return;
  if (std::optional<Relation> R = N.importer().condition(A->Values[0]))
    N.importer().require(*R, "the program checks its sizes: " +
                                 printable(N.text("assert_msg", "")));
}

ArrayRef<Rule> castRules() {
  constexpr InPlace Too = InPlace::Yes;
  static const Rule Rows[] = {
      {"_assert_async.msg", nothing},
      {"_assert_scalar.default", assertScalar},
      {"_assert_tensor_metadata.default", nothing},
      {"_to_copy.default", convert},
      {"alias.default", same},
      {"clone.default", copy},
      {"contiguous.default", copy},
      {"copy.default", copyFrom, Too},
      {"detach.default", same, Too},
      {"dropout.default", dropout, Too},
      {"feature_dropout.default", dropout, Too},
      {"alpha_dropout.default", dropout, Too},
      {"native_dropout.default", dropoutWithMask},
      {"lift.default", same},
      {"lift_fresh.default", same},
      {"lift_fresh_copy.default", copy},
      {"positive.default", same},
      {"resolve_conj.default", same},
      {"resolve_neg.default", same},
      {"sym_constrain_range.default", nothing},
      {"sym_constrain_range_for_size.default", nothing},
      {"to.device", convert},
      {"to.dtype", convert},
      {"to.dtype_layout", convert},
      {"to.other", convert},
      {"to.prim_Device", convert},
      {"type_as.default", convert},
      {"view.dtype", reinterpret, InPlace::No, "types of one width"},
      {"_convert_element_type.default", convert},
      {"prims.convert_element_type.default", convert},
  };
  return Rows;
}

} // namespace kpc::torch
