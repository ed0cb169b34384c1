//===- MicrosoftQuantized.cpp - Import of com.microsoft's QLinear forms ---===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/Quantization.h"
#include "compiler/import/onnx/rules/Spatial.h"

using namespace kpc::graph;

namespace kpc::onnx {

static constexpr std::string_view Microsoft = "com.microsoft";

/// A quantised tensor, its scale and its zero point, from input `I` on.
static Value dequantised(NodeImport &N, size_t I) {
  Value X = N.input(I), Scale = checkedScale(N, N.input(I + 1)),
        Zero = N.optionalInput(I + 2);
  if (N.bad())
    return {};
  Value Y = N.cast(centred(N, X, Zero, -1), N.f32());
  return N.mul(Y, alongAxis(N, N.cast(Scale, N.f32()), -1, N.rank(X)));
}

/// Quantises to the scale and zero point from input `I` on; without a zero
/// point to the type of `Like`.
static Value requantised(NodeImport &N, Value Y, size_t I, Value Like) {
  Value Scale = checkedScale(N, N.input(I)), Zero = N.optionalInput(I + 1);
  if (N.bad() || !Y)
    return {};
  Scale = alongAxis(N, N.cast(Scale, N.f32()), -1, N.rank(Y));
  if (Zero)
    Zero = alongAxis(N, Zero, -1, N.rank(Y));
  return saturate(N, N.div(Y, Scale), Zero, N.element(Zero ? Zero : Like));
}

template <typename Op> static void importBinary(NodeImport &N) {
  N.expectInputs(7, 8);
  Value A = dequantised(N, 0), C = dequantised(N, 3);
  if (!N.bad())
    N.result(0, requantised(N, N.binary<Op>(A, C), 6, N.input(0)));
}

static Value sigmoid(NodeImport &N, Value X) { return N.unary<SigmoidOp>(X); }

static Value leakyRelu(NodeImport &N, Value X) {
  double Alpha = N.floatAttribute("alpha", 0.01F);
  return N.select(N.compare(Predicate::lt, X, N.like(0, X)),
                  N.mulScalar(X, Alpha), X);
}

static Value softmax(NodeImport &N, Value X) {
  int64_t Opset = N.requiredInt("opset");
  int64_t Axis = N.frontAxis(N.intAttribute("axis", -1), N.rank(X));
  if (N.bad())
    return {};
  Ints Axes = {Axis};
  // Before opset 13 all axes from one on were one.
  for (int64_t I = Axis + 1; Opset < 13 && I < N.rank(X); ++I)
    Axes.push_back(I);
  return N.softmax(X, Axes, /*Logarithm=*/false);
}

static Value globalMean(NodeImport &N, Value X) {
  bool Last = N.flagAttribute("channels_last");
  int64_t Rank = N.rank(X);
  if (Rank < 3)
    return N.fail(Code::ImportRank, "the input has rank " +
                                        std::to_string(Rank) +
                                        ", but should have 3 or more");
  Ints Axes = Last ? llvm::to_vector(llvm::seq<int64_t>(1, Rank - 1))
                   : llvm::to_vector(llvm::seq<int64_t>(2, Rank));
  return N.mean(X, Axes, true);
}

static Value windowMean(NodeImport &N, Value X) {
  bool Last = N.flagAttribute("channels_last");
  return averagePool(N, X, Last);
}

static Value reducedMean(NodeImport &N, Value X) {
  std::optional<Ints> Given = N.intsAttribute("axes");
  bool Keep = N.flagAttribute("keepdims", true);
  Ints Axes = llvm::to_vector(llvm::seq<int64_t>(0, N.rank(X)));
  if (Given && !Given->empty())
    Axes = N.frontAxes(*Given, N.rank(X));
  return N.bad() ? Value() : N.mean(X, Axes, Keep);
}

template <Value (*Function)(NodeImport &, Value)>
static void importUnary(NodeImport &N) {
  N.expectInputs(4, 5);
  Value X = dequantised(N, 0);
  if (!N.bad())
    N.result(0, requantised(N, Function(N, X), 3, N.input(0)));
}

static void importConcat(NodeImport &N) {
  int64_t Axis = N.requiredInt("axis");
  if (N.inputCount() < 5 || (N.inputCount() - 2) % 3 != 0 || !N.hasInput(1)) {
    N.fail(Code::ImportArity, "has " + std::to_string(N.inputCount()) +
                                  " inputs, but takes a scale, a zero point, "
                                  "and three for each tensor");
    return;
  }
  SmallVector<Value> Parts;
  for (size_t I = 2; I < N.inputCount() && !N.bad(); I += 3)
    Parts.push_back(dequantised(N, I));
  if (N.bad() || llvm::is_contained(Parts, Value()))
    return;
  Axis = N.frontAxis(Axis, N.rank(Parts[0]));
  if (!N.bad())
    N.result(0, requantised(N, N.concat(Parts, Axis), 0, {}));
}

static void importWhere(NodeImport &N) {
  N.expectInputs(9, 9);
  Value Condition = N.input(0), A = dequantised(N, 1), C = dequantised(N, 4);
  if (!N.bad())
    N.result(0, requantised(N, N.select(Condition, A, C), 7, N.input(1)));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The 32-bit product as floats, with a bias of floats from input `Bias` on.
static Value scaledProduct(NodeImport &N, Value Sum, Value ScaleA, Value ScaleC,
                           Value Bias) {
  if (!Sum)
    return {};
  int64_t Rank = N.rank(Sum);
  Value Factor = N.mul(alongAxis(N, N.cast(ScaleA, N.f32()), -1, Rank),
                       alongAxis(N, N.cast(ScaleC, N.f32()), -1, Rank));
  Value Y = N.mul(N.cast(Sum, N.f32()), Factor);
  return Bias ? N.add(Y, N.cast(Bias, N.f32())) : Y;
}

static void importMatMulIntegerToFloat(NodeImport &N) {
  N.expectInputs(4, 7);
  Value A = N.input(0), C = N.input(1), ScaleA = N.input(2),
        ScaleC = N.input(3), ZeroA = N.optionalInput(4),
        ZeroC = N.optionalInput(5), Bias = N.optionalInput(6);
  if (N.bad())
    return;
  Value Sum = N.matmul(centred(N, A, ZeroA, -2), centred(N, C, ZeroC, -1));
  Value Y = scaledProduct(N, Sum, ScaleA, ScaleC, Bias);
  N.result(0, N.cast(Y, N.element(ScaleA)));
}

static void importDynamicQuantizeMatMul(NodeImport &N) {
  N.expectInputs(3, 5);
  Value A = N.input(0), C = N.input(1), ScaleC = N.input(2),
        ZeroC = N.optionalInput(3), Bias = N.optionalInput(4);
  if (N.bad())
    return;
  Quantised Q = quantiseDynamically(N, A);
  Value Sum =
      N.matmul(centred(N, Q.Values, Q.Zero, -2), centred(N, C, ZeroC, -1));
  N.result(0, scaledProduct(N, Sum, Q.Scale, ScaleC, Bias));
}

static void importMatMulInteger16(NodeImport &N) {
  N.expectInputs(2, 2);
  Value A = N.input(0), C = N.input(1);
  if (!N.bad())
    N.result(0, N.matmul(N.cast(A, N.i32()), N.cast(C, N.i32())));
}

static void importQGemm(NodeImport &N) {
  double Alpha = N.floatAttribute("alpha", 1);
  bool TransA = N.flagAttribute("transA"), TransB = N.flagAttribute("transB");
  N.expectInputs(6, 9);
  Value A = N.input(0), ScaleA = N.input(1), ZeroA = N.input(2), C = N.input(3),
        ScaleC = N.input(4), ZeroC = N.input(5), Bias = N.optionalInput(6),
        ScaleY = N.optionalInput(7), ZeroY = N.optionalInput(8);
  if (N.bad())
    return;
  if (N.rank(A) != 2 || N.rank(C) != 2) {
    N.fail(Code::ImportRank, "A and B should be matrices");
    return;
  }
  if (TransA)
    A = N.transpose(A, {1, 0});
  if (TransB)
    C = N.transpose(C, {1, 0});
  Value Sum = N.matmul(centred(N, A, ZeroA, -1), centred(N, C, ZeroC, -1));
  // The bias is in units of the product's.
  if (Bias)
    Sum = N.add(Sum, Bias);
  Value Y = scaledProduct(N, Sum, ScaleA, ScaleC, {});
  if (Alpha != 1 && Y)
    Y = N.mulScalar(Y, Alpha);
  if (ScaleY && Y)
    Y = saturate(N, N.div(Y, N.cast(N.reshape(ScaleY, {}), N.f32())),
                 ZeroY ? N.reshape(ZeroY, {}) : ZeroY,
                 N.element(ZeroY ? ZeroY : A));
  N.result(0, Y);
}

static void importMulInteger(NodeImport &N) {
  N.expectInputs(3, 4);
  Value A = N.input(0), ZeroA = N.optionalInput(1), C = N.input(2),
        ZeroC = N.optionalInput(3);
  if (!N.bad())
    N.result(0, N.mul(centred(N, A, ZeroA, -1), centred(N, C, ZeroC, -1)));
}

static void importReduceSumInteger(NodeImport &N) {
  std::optional<Ints> Given = N.intsAttribute("axes");
  bool Keep = N.flagAttribute("keepdims", true);
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (N.bad())
    return;
  Ints Axes = llvm::to_vector(llvm::seq<int64_t>(0, N.rank(X)));
  if (Given)
    Axes = N.frontAxes(*Given, N.rank(X));
  Type Sum = isUnsigned(N.element(X))
                 ? Type(mlir::IntegerType::get(N.builder().getContext(), 32,
                                               mlir::IntegerType::Unsigned))
                 : N.i32();
  if (!N.bad())
    N.result(0, N.reduce(ReduceKind::sum, N.cast(X, Sum), Axes, Keep));
}

/// As the operator of ONNX that it became.
template <const char *Op> static void importAsOnnx(NodeImport &N) {
  findRule("", Op, Newest)->Import(N);
}
static constexpr char Quantize[] = "QuantizeLinear",
                      Dequantize[] = "DequantizeLinear",
                      QConv[] = "QLinearConv";

ArrayRef<Rule> microsoftQuantizedRules() {
  static const Rule Rows[] = {
      {Microsoft, "QLinearAdd", 1, 1, importBinary<AddOp>},
      {Microsoft, "QLinearMul", 1, 1, importBinary<MulOp>},
      {Microsoft, "QLinearSigmoid", 1, 1, importUnary<sigmoid>},
      {Microsoft, "QLinearLeakyRelu", 1, 1, importUnary<leakyRelu>},
      {Microsoft, "QLinearSoftmax", 1, 1, importUnary<softmax>},
      {Microsoft, "QLinearAveragePool", 1, 1, importUnary<windowMean>},
      {Microsoft, "QLinearGlobalAveragePool", 1, 1, importUnary<globalMean>},
      {Microsoft, "QLinearReduceMean", 1, 1, importUnary<reducedMean>},
      {Microsoft, "QLinearConcat", 1, 1, importConcat},
      {Microsoft, "QLinearWhere", 1, 1, importWhere},
      {Microsoft, "MatMulIntegerToFloat", 1, 1, importMatMulIntegerToFloat},
      {Microsoft, "DynamicQuantizeMatMul", 1, 1, importDynamicQuantizeMatMul},
      {Microsoft, "MatMulInteger16", 1, 1, importMatMulInteger16},
      {Microsoft, "QGemm", 1, 1, importQGemm},
      {Microsoft, "MulInteger", 1, 1, importMulInteger},
      {Microsoft, "ReduceSumInteger", 1, 1, importReduceSumInteger},
      {Microsoft, "QuantizeLinear", 1, 1, importAsOnnx<Quantize>,
       "to 8 and 16 bits"},
      {Microsoft, "DequantizeLinear", 1, 1, importAsOnnx<Dequantize>,
       "from 8, 16 and 32 bits"},
      {Microsoft, "QLinearConv", 1, 1, importAsOnnx<QConv>, "channels first"},
  };
  return Rows;
}

} // namespace kpc::onnx
