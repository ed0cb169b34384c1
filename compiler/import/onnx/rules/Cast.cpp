//===- Cast.cpp - Import of conversions -----------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"

namespace kpc::onnx {

static void importCast(NodeImport &N) {
  N.expectInputs(1, 1);
  int64_t To = N.requiredInt("to");
  // Matters for the 8-bit floats alone, which do not get past here.
  N.ignoreAttribute("saturate");
  N.ignoreAttribute("round_mode");
  Value X = N.input(0);
  if (N.bad())
    return;
  std::optional<ElementType> Type = elementType(To);
  mlir::Type Element =
      Type ? graphType(N.builder().getContext(), *Type) : mlir::Type();
  if (!Element)
    N.fail(Code::ImportElementType,
           "casts to " + elementTypeName(static_cast<ElementType>(To)) +
               ", which kpc cannot compute with");
  else
    N.result(0, N.cast(X, Element));
}

static void importCastLike(NodeImport &N) {
  N.expectInputs(2, 2);
  N.ignoreAttribute("saturate");
  N.ignoreAttribute("round_mode");
  Value X = N.input(0), Like = N.input(1);
  if (!N.bad())
    N.result(0, N.cast(X, N.element(Like)));
}

ArrayRef<Rule> castRules() {
  static const Rule Rows[] = {
      {"", "Cast", 1, Newest, importCast,
       "no strings, complex numbers, 8-bit and narrower types but int8 and "
       "uint8"},
      {"", "CastLike", 15, Newest, importCastLike},
  };
  return Rows;
}

} // namespace kpc::onnx
