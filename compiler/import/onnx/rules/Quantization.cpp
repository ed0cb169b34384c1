//===- Quantization.cpp - Import of quantised operators -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/rules/Quantization.h"
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/Spatial.h"

using namespace kpc::graph;

namespace kpc::onnx {

/// The range of an 8- or 16-bit type.
static std::optional<std::pair<double, double>> rangeOf(Type T) {
  unsigned Bits = T.getIntOrFloatBitWidth();
  if (isFloat(T) || Bits < 8 || Bits > 16)
    return std::nullopt;
  double Span = static_cast<double>(1 << Bits);
  if (isUnsigned(T))
    return std::pair(0.0, Span - 1);
  return std::pair(-Span / 2, Span / 2 - 1);
}

/// A scale or zero point as it broadcasts: a scalar, or along `Axis` of a
/// tensor of rank `Rank`.
Value alongAxis(NodeImport &N, Value V, int64_t Axis, int64_t Rank) {
  if (!V || N.rank(V) == 0)
    return V;
  if (N.dims(V) == ArrayRef<Expr>{Expr(1)})
    return N.reshape(V, {});
  if (N.rank(V) != 1)
    return N.fail(Code::ImportRank,
                  "scales or zero points of rank " + std::to_string(N.rank(V)));
  Axis = N.frontAxis(Axis, Rank);
  if (N.bad())
    return {};
  Dims Sizes(static_cast<size_t>(Rank), Expr(1));
  Sizes[static_cast<size_t>(Axis)] = N.dims(V)[0];
  return N.reshape(V, Sizes);
}

/// round(x) + zero, clamped to the type; x is float.
Value saturate(NodeImport &N, Value X, Value Zero, Type To) {
  std::optional<std::pair<double, double>> Range = rangeOf(To);
  if (!Range)
    return N.fail(Code::ImportElementType,
                  "quantises to " + typeText(To) +
                      ", but kpc quantises to 8 and 16 bits");
  Value Y = N.unary<RoundOp>(X);
  if (Zero && Y)
    Y = N.add(Y, N.cast(Zero, N.element(Y)));
  Y = N.min(N.max(Y, N.like(Range->first, Y)), N.like(Range->second, Y));
  return N.cast(Y, To);
}

/// Scales or zero points for x: one, one along an axis, or one for each block
/// of `Block` elements along it.
static Value perElement(NodeImport &N, Value V, Value X, int64_t Axis,
                        int64_t Block) {
  if (!V || Block == 0)
    return alongAxis(N, V, Axis, N.rank(X));
  Axis = N.frontAxis(Axis, N.rank(X));
  if (N.bad())
    return {};
  auto At = static_cast<size_t>(Axis);
  Dims Sizes(N.dims(V));
  Expr Whole = N.dims(X)[At];
  if (Block < 0 || Sizes.size() != N.dims(X).size() ||
      Sizes[At] != Whole.ceilDiv(Block))
    return N.fail(Code::ImportShape, "blocks of " + std::to_string(Block) +
                                         " with scales of " + dimsText(Sizes) +
                                         " do not fit " + dimsText(N.dims(X)));
  // [a, n, b] to [a, n, 1, b] to [a, n, block, b] to [a, n*block, b]
  Expr Blocks = Sizes[At];
  Value Y = N.unsqueeze(V, {Axis + 1});
  Sizes.insert(Sizes.begin() + Axis + 1, Expr(Block));
  Y = N.broadcast(Y, Sizes);
  Sizes.erase(Sizes.begin() + Axis + 1);
  Sizes[At] = Blocks * Block;
  // The last block may be cut.
  return N.sliceAxis(N.reshape(Y, Sizes), Axis, 0, Whole);
}

static int64_t blockSize(NodeImport &N) {
  N.ignoreAttribute("saturate");
  N.ignoreAttribute("precision");
  return N.intAttribute("block_size", 0);
}

static void importQuantize(NodeImport &N) {
  int64_t Axis = N.intAttribute("axis", 1);
  int64_t To = N.intAttribute("output_dtype", 0);
  N.expectInputs(2, 3);
  Value X = N.input(0), Scale = N.input(1), Zero = N.optionalInput(2);
  int64_t Block = blockSize(N);
  if (N.bad())
    return;
  mlir::OpBuilder &B = N.builder();
  Type Element = Zero ? N.element(Zero)
                      : mlir::IntegerType::get(B.getContext(), 8,
                                               mlir::IntegerType::Unsigned);
  if (!Zero && To != 0)
    Element =
        elementType(To) ? graphType(B.getContext(), *elementType(To)) : Type();
  if (!Element) {
    N.fail(Code::ImportElementType,
           "attribute 'output_dtype' is " +
               elementTypeName(static_cast<ElementType>(To)));
    return;
  }
  // Whole numbers of 32 bits are quantised as well.
  X = N.cast(X, N.f32());
  Scale = perElement(N, N.cast(Scale, N.f32()), X, Axis, Block);
  Zero = perElement(N, Zero, X, Axis, Block);
  if (!N.bad())
    N.result(0, saturate(N, N.div(X, Scale), Zero, Element));
}

static void importDequantize(NodeImport &N) {
  int64_t Axis = N.intAttribute("axis", 1);
  int64_t To = N.intAttribute("output_dtype", 0);
  N.expectInputs(2, 3);
  Value X = N.input(0), Scale = N.input(1), Zero = N.optionalInput(2);
  int64_t Block = blockSize(N);
  if (N.bad())
    return;
  // The difference needs more bits than x has; int32 has no zero point.
  Value Wide = N.cast(X, N.i32());
  if (Zero)
    Wide = N.sub(Wide, alongAxis(N, N.cast(Zero, N.i32()), Axis, N.rank(X)));
  Type Stored = N.element(Scale);
  if (To != 0)
    Stored = elementType(To)
                 ? graphType(N.builder().getContext(), *elementType(To))
                 : Type();
  if (!Stored || !graph::isFloat(Stored)) {
    N.fail(Code::ImportElementType,
           "dequantises to " + elementTypeName(static_cast<ElementType>(To)) +
               ", which is not a float type");
    return;
  }
  Scale = perElement(N, N.cast(Scale, N.f32()), X, Axis, Block);
  N.result(0, N.cast(N.mul(N.cast(Wide, N.f32()), Scale), Stored));
}

Quantised quantiseDynamically(NodeImport &N, Value X) {
  Ints Axes = llvm::to_vector(llvm::seq<int64_t>(0, N.rank(X)));
  Value Zero = N.like(0, X);
  Value Low = N.min(N.reduce(ReduceKind::min, X, Axes), Zero);
  Value High = N.max(N.reduce(ReduceKind::max, X, Axes), Zero);
  Value Scale = N.div(N.sub(High, Low), N.like(255, X));
  // All zeros: any scale does.
  Scale = N.select(N.compare(Predicate::eq, Scale, Zero), N.like(1, X), Scale);
  Type U8 = mlir::IntegerType::get(N.builder().getContext(), 8,
                                   mlir::IntegerType::Unsigned);
  Value Point = saturate(N, N.div(N.neg(Low), Scale), {}, U8);
  return {saturate(N, N.div(X, Scale), Point, U8), Scale, Point};
}

static void importDynamicQuantize(NodeImport &N) {
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (N.bad())
    return;
  Quantised Q = quantiseDynamically(N, X);
  N.result(0, Q.Values);
  N.result(1, Q.Scale);
  N.result(2, Q.Zero);
}

//===----------------------------------------------------------------------===//
// Products of 8-bit tensors in 32-bit integers
//===----------------------------------------------------------------------===//

/// x - zero in i32. A vector of zero points stands for rows (`Axis` -2) or
/// columns (-1) of a matrix, or for channels.
Value centred(NodeImport &N, Value X, Value Zero, int64_t Axis) {
  X = N.cast(X, N.i32());
  if (!Zero || !X)
    return X;
  return N.sub(X, alongAxis(N, N.cast(Zero, N.i32()), Axis, N.rank(X)));
}

static void importMatMulInteger(NodeImport &N) {
  N.expectInputs(2, 4);
  Value A = N.input(0), C = N.input(1), ZeroA = N.optionalInput(2),
        ZeroC = N.optionalInput(3);
  if (!N.bad())
    N.result(0, N.matmul(centred(N, A, ZeroA, -2), centred(N, C, ZeroC, -1)));
}

/// The 32-bit sum, scaled and quantised again.
Value requantise(NodeImport &N, Value Sum, Value Factor, Value ScaleY,
                 Value ZeroY) {
  if (!ZeroY)
    return {};
  Value Y = N.div(N.mul(N.cast(Sum, N.f32()), Factor), N.cast(ScaleY, N.f32()));
  return saturate(N, Y, ZeroY, N.element(ZeroY));
}

static void importQLinearMatMul(NodeImport &N) {
  N.expectInputs(8, 8);
  Value V[8];
  for (size_t I = 0; I < 8; ++I)
    V[I] = N.input(I);
  if (N.bad())
    return;
  Value Sum = N.matmul(centred(N, V[0], V[2], -2), centred(N, V[3], V[5], -1));
  if (!Sum)
    return N.result(0, Sum);
  Value Factor = N.mul(alongAxis(N, N.cast(V[1], N.f32()), -2, N.rank(Sum)),
                       alongAxis(N, N.cast(V[4], N.f32()), -1, N.rank(Sum)));
  Value ScaleY = alongAxis(N, V[6], -2, N.rank(Sum));
  Value ZeroY = alongAxis(N, V[7], -2, N.rank(Sum));
  if (!N.bad())
    N.result(0, requantise(N, Sum, Factor, ScaleY, ZeroY));
}

/// A convolution in i32, channels last.
static Value integerConv(NodeImport &N, Value X, Value ZeroX, Value W,
                         Value ZeroW) {
  int64_t Groups = N.intAttribute("group", 1);
  if (N.bad())
    return {};
  if (N.rank(X) < 3 || N.rank(W) != N.rank(X))
    return N.fail(Code::ImportRank, "input and weights have the ranks " +
                                        std::to_string(N.rank(X)) + " and " +
                                        std::to_string(N.rank(W)));
  std::optional<Ints> Kernel = kernelShape(N, N.dims(W).drop_front(2));
  std::optional<Spatial> S;
  if (Kernel)
    S = spatialAttributes(N, *Kernel, N.dims(X).drop_front(2));
  if (!S)
    return {};
  // Pads are zeros after the zero point is taken off, as ONNX defines them.
  return N.conv(channelsLast(N, centred(N, X, ZeroX, 1)),
                kernelLayout(N, centred(N, W, ZeroW, 0)), S->Stride,
                S->Dilation, S->Low, S->High, Groups);
}

static void importConvInteger(NodeImport &N) {
  N.expectInputs(2, 4);
  Value X = N.input(0), W = N.input(1), ZeroX = N.optionalInput(2),
        ZeroW = N.optionalInput(3);
  if (!N.bad())
    N.result(0, channelsFirst(N, integerConv(N, X, ZeroX, W, ZeroW)));
}

static void importQLinearConv(NodeImport &N) {
  N.expectInputs(8, 9);
  Value V[8];
  for (size_t I = 0; I < 8; ++I)
    V[I] = N.input(I);
  Value Bias = N.optionalInput(8);
  if (N.bad())
    return;
  Value Sum = integerConv(N, V[0], V[2], V[3], V[5]);
  if (Bias)
    Sum = N.add(Sum, Bias);
  if (!Sum)
    return N.result(0, Sum);
  // One scale, or one a channel; channels are last here.
  Value Factor = N.mul(N.cast(V[1], N.f32()),
                       alongAxis(N, N.cast(V[4], N.f32()), -1, N.rank(Sum)));
  if (!N.bad())
    N.result(0, channelsFirst(N, requantise(N, Sum, Factor, V[6], V[7])));
}

ArrayRef<Rule> quantizationRules() {
  static const Rule Rows[] = {
      {"", "QuantizeLinear", 10, Newest, importQuantize, "to 8 and 16 bits"},
      {"", "DequantizeLinear", 10, Newest, importDequantize,
       "from 8, 16 and 32 bits"},
      {"", "DynamicQuantizeLinear", 11, Newest, importDynamicQuantize},
      {"", "MatMulInteger", 10, Newest, importMatMulInteger},
      {"", "QLinearMatMul", 10, Newest, importQLinearMatMul},
      {"", "ConvInteger", 10, Newest, importConvInteger, AutoPadLimits},
      {"", "QLinearConv", 10, Newest, importQLinearConv, AutoPadLimits},
  };
  return Rows;
}

} // namespace kpc::onnx
