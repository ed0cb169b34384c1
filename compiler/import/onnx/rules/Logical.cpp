//===- Logical.cpp - Import of comparisons and choices --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"

using namespace kpc::graph;

namespace kpc::onnx {

template <Predicate P> static void importCompare(NodeImport &N) {
  auto [A, C] = N.operands();
  if (!N.bad())
    N.result(0, N.compare(P, A, C));
}

static void importWhere(NodeImport &N) {
  N.expectInputs(3, 3);
  Value If = N.input(0), A = N.input(1), C = N.input(2);
  if (!N.bad())
    N.result(0, N.select(If, A, C));
}

ArrayRef<Rule> logicalRules() {
  static const Rule Rows[] = {
      {"", "Equal", 1, Newest, importCompare<Predicate::eq>},
      {"", "Less", 1, Newest, importCompare<Predicate::lt>},
      {"", "LessOrEqual", 12, Newest, importCompare<Predicate::le>},
      {"", "Greater", 1, Newest, importCompare<Predicate::gt>},
      {"", "GreaterOrEqual", 12, Newest, importCompare<Predicate::ge>},
      {"", "Where", 9, Newest, importWhere},
  };
  return Rows;
}

} // namespace kpc::onnx
