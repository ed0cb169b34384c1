//===- Experimental.cpp - Import of operators that ONNX had once ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Operators of the first opset that ONNX has dropped since. onnxruntime runs
/// them, and files of that time (CoreML's and Caffe2's converters) have them.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"

using namespace kpc::graph;

namespace kpc::onnx {

static void importAffine(NodeImport &N) {
  double Alpha = N.floatAttribute("alpha", 1),
         Beta = N.floatAttribute("beta", 0);
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (!N.bad())
    N.result(0, N.addScalar(N.mulScalar(X, Alpha), Beta));
}

static void importScaledTanh(NodeImport &N) {
  double Alpha = N.floatAttribute("alpha", 1),
         Beta = N.floatAttribute("beta", 1);
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (!N.bad())
    N.result(0, N.mulScalar(N.unary<TanhOp>(N.mulScalar(X, Beta)), Alpha));
}

static void importParametricSoftplus(NodeImport &N) {
  double Alpha = N.floatAttribute("alpha", 1),
         Beta = N.floatAttribute("beta", 1);
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (N.bad())
    return;
  // max(x, 0) + log(1 + exp(-|x|)) does not overflow.
  Value Scaled = N.mulScalar(X, Beta);
  Value Tail = N.exp(N.neg(N.unary<AbsOp>(Scaled)));
  Value Sum =
      N.add(N.max(Scaled, N.like(0, Scaled)), N.log(N.addScalar(Tail, 1)));
  N.result(0, N.mulScalar(Sum, Alpha));
}

static void importScale(NodeImport &N) {
  double Factor = N.floatAttribute("scale", 1);
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (!N.bad())
    N.result(0, N.mulScalar(X, Factor));
}

static void importImageScaler(NodeImport &N) {
  double Factor = N.floatAttribute("scale", 1);
  std::vector<double> Bias =
      N.floatsAttribute("bias").value_or(std::vector<double>());
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (N.bad())
    return;
  if (N.rank(X) != 4 ||
      !N.unify(N.dims(X)[1], Expr(static_cast<int64_t>(Bias.size())))) {
    N.fail(Code::ImportShape,
           "the input should have rank 4, and a bias for each channel");
    return;
  }
  Value Shift = N.unsqueeze(N.floatVector(Bias, N.element(X)), {1, 2});
  N.result(0, N.add(N.mulScalar(X, Factor), Shift));
}

static void importCrop(NodeImport &N) {
  Ints Border = N.intsAttribute("border").value_or(Ints());
  Ints Wanted = N.intsAttribute("scale").value_or(Ints());
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (N.bad())
    return;
  if (N.rank(X) != 4 || Border.size() != 4 ||
      (!Wanted.empty() && Wanted.size() != 2) ||
      llvm::any_of(Border, [](int64_t B) { return B < 0 || B > INT32_MAX; })) {
    N.fail(Code::ImportAttributeValue,
           "the input should have rank 4, 'border' four entries, and 'scale' "
           "two");
    return;
  }
  // Left, top, right, bottom; 'scale' says height and width instead.
  for (size_t I = 0; I < 2 && X; ++I) {
    Expr Low(Border[I == 0 ? 1 : 0]), High(Border[I == 0 ? 3 : 2]);
    Expr Size =
        Wanted.empty() ? N.dims(X)[I + 2] - Low - High : Expr(Wanted[I]);
    X = N.sliceAxis(X, static_cast<int64_t>(I) + 2, Low, Size);
  }
  N.result(0, X);
}

ArrayRef<Rule> experimentalRules() {
  static const Rule Rows[] = {
      {"", "Affine", 1, Newest, importAffine},
      {"", "Crop", 1, Newest, importCrop},
      {"", "ImageScaler", 1, Newest, importImageScaler},
      {"", "ParametricSoftplus", 1, Newest, importParametricSoftplus},
      {"", "Scale", 1, Newest, importScale},
      {"", "ScaledTanh", 1, Newest, importScaledTanh},
  };
  return Rows;
}

} // namespace kpc::onnx
