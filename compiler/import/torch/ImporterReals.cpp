//===- ImporterReals.cpp - Real numbers that come of sizes ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `x / math.sqrt(x.shape[0])`: of such numbers an archive has nodes on sizes.
/// A run computes them in f64, as Python does.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Importer.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::torch {

Value Importer::real(const Argument &A, NodeImport &N) {
  if (isComputed(A))
    return value(A.Values[0], N);
  mlir::Type F64 = B.getF64Type();
  if (A.Is == Argument::Kind::Float && !A.Floats.empty())
    return N.scalar(A.Floats[0], F64);
  if (A.Is != Argument::Kind::Int || A.Values.empty())
    return N.unsupported("a number of this kind");
  std::optional<Expr> E = A.Values[0].empty() ? std::optional(Expr(A.Ints[0]))
                                              : number(A.Values[0]);
  return E ? N.cast(N.sizeScalar(*E, N.i64()), F64)
           : N.fail(Code::ImportNotConstant, "a number that data decides");
}

static Value ofOne(NodeImport &N, llvm::StringRef Name, Value X) {
  using Function = Value (*)(NodeImport &, Value);
  auto Of = llvm::StringSwitch<Function>(Name)
                .Cases({"sym_float", "float", "pos"},
                       [](NodeImport &, Value V) { return V; })
                .Case("neg", [](NodeImport &N, Value V) { return N.neg(V); })
                .Cases({"sqrt", "_sym_sqrt"},
                       [](NodeImport &N, Value V) {
                         return Value(N.unary<SqrtOp>(V));
                       })
                .Cases({"exp", "_sym_exp"},
                       [](NodeImport &N, Value V) {
                         return Value(N.unary<ExpOp>(V));
                       })
                .Cases({"log", "_sym_log"},
                       [](NodeImport &N, Value V) {
                         return Value(N.unary<LogOp>(V));
                       })
                .Default(nullptr);
  if (Of)
    return Of(N, X);
  if (Name == "log2" || Name == "_sym_log2")
    return N.div(N.unary<LogOp>(X), N.scalar(std::log(2.0), N.element(X)));
  return N.unsupported("the number " + Name.str() + " of sizes");
}

static Value ofTwo(NodeImport &N, llvm::StringRef Name, Value X, Value Y) {
  if (Name == "add")
    return N.add(X, Y);
  if (Name == "sub")
    return N.sub(X, Y);
  if (Name == "mul")
    return N.mul(X, Y);
  if (Name == "truediv")
    return N.div(X, Y);
  if (Name == "pow" || Name == "_sym_pow")
    return N.binary<PowOp>(X, Y);
  if (Name == "sym_max" || Name == "max")
    return N.binary<MaxOp>(X, Y);
  if (Name == "sym_min" || Name == "min")
    return N.binary<MinOp>(X, Y);
  return N.unsupported("the number " + Name.str() + " of sizes");
}

bool Importer::importReal(const Node &N) {
  if (N.Outputs.size() != 1 || !isComputed(N.Outputs[0]))
    return false;
  if (!Read.count(N.Outputs[0].Values[0]))
    return true;
  llvm::StringRef Name = llvm::StringRef(N.Target).rsplit('.').second;
  NodeImport At(*this, N, B,
                mlir::NameLoc::get(B.getStringAttr(place(N).Node)));
  SmallVector<Value> Of;
  for (const Argument &A : N.Inputs)
    Of.push_back(real(A, At));
  Value V;
  if (!At.bad() && Of.size() == 1)
    V = ofOne(At, Name, Of[0]);
  else if (!At.bad() && Of.size() == 2)
    V = ofTwo(At, Name, Of[0], Of[1]);
  else if (!At.bad())
    At.unsupported("the number " + Name.str() + " of sizes");
  if (V)
    define(N.Outputs[0].Values[0], V);
  else
    Lost.insert(N.Outputs[0].Values[0]);
  return true;
}

} // namespace kpc::torch
