//===- Quantization.cpp - Import of quantised forms -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The operators that pt2e (quantized_decomposed) and torchao leave in a
/// program. They become what ONNX's QuantizeLinear and DequantizeLinear do, so
/// that the same kernels are found: a weight stays codes (graph.dequantise).
///
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Rules.h"

using namespace kpc::graph;

namespace kpc::torch {

/// Scales or zero points, and how many elements of each dimension share one.
namespace {
struct Blocked {
  Value Scale, Zero;
  Ints Blocks;
};
} // namespace

/// All of the elements of a constant are zero.
static bool isZeros(Value V) {
  auto Constant = V.getDefiningOp<ConstantOp>();
  auto Elements =
      Constant ? mlir::dyn_cast<mlir::DenseElementsAttr>(Constant.getValue())
               : mlir::DenseElementsAttr();
  return Elements && llvm::all_of(Elements.getRawData(),
                                  [](char Byte) { return Byte == 0; });
}

static bool isCode(Type T) {
  return graph::isInteger(T) && !isBool(T) && T.getIntOrFloatBitWidth() <= 8;
}

/// A number or a tensor; null if it is left out or known to be zero.
static Value zeroPoint(NodeImport &N, std::string_view Name) {
  if (!N.has(Name))
    return {};
  if (N.isNumber(Name))
    return N.integer(Name, 0) == 0 ? Value()
                                   : N.scalarInt(N.integer(Name, 0), N.i32());
  Value Zero = N.tensor(Name);
  return Zero && isZeros(Zero) ? Value() : Zero;
}

static Value scale(NodeImport &N, std::string_view Name) {
  if (N.isNumber(Name))
    return N.scalar(N.real(Name, 1), N.f32());
  return N.tensor(Name);
}

/// Parameters as [blocks…], one for each block of x. Null scales after a
/// report.
static Blocked fitted(NodeImport &N, Value X, Value Scale, Value Zero,
                      Ints Blocks) {
  if (!X || !Scale)
    return {};
  Dims Sizes(N.dims(X));
  Expr Wanted(1);
  for (size_t I = 0; I < Sizes.size(); ++I) {
    Sizes[I] = Sizes[I].ceilDiv(Blocks[I]);
    Wanted = Wanted * Sizes[I];
  }
  for (Value V : {Scale, Zero})
    if (V && !N.unify(graph::typeOf(V).getNumElements(), Wanted)) {
      N.fail(Code::ImportShape, "scales or zero points of " +
                                    dimsText(N.dims(V)) + " do not fit " +
                                    dimsText(N.dims(X)) + "; expected " +
                                    dimsText(Sizes));
      return {};
    }
  return {N.reshape(Scale, Sizes), Zero ? N.reshape(Zero, Sizes) : Zero,
          Blocks};
}

/// As parameters broadcast to x: blocks of more than one element and less than
/// a dimension are repeated.
static Value perElement(NodeImport &N, Value V, const Blocked &B, Value X) {
  for (size_t I = 0; V && I < B.Blocks.size(); ++I) {
    Expr Whole = N.dims(X)[I];
    if (B.Blocks[I] == 1 || N.dims(V)[I] == Expr(1))
      continue;
    auto At = static_cast<int64_t>(I);
    Dims Sizes(N.dims(V));
    Value Y = N.unsqueeze(V, {At + 1});
    Sizes.insert(Sizes.begin() + At + 1, Expr(B.Blocks[I]));
    Y = N.broadcast(Y, Sizes);
    Sizes.erase(Sizes.begin() + At + 1);
    Sizes[I] = N.dims(V)[I] * B.Blocks[I];
    V = N.sliceAxis(N.reshape(Y, Sizes), At, 0, Whole);
  }
  return V;
}

/// round(x / scale) + zero, clamped.
static Value quantised(NodeImport &N, Value X, const Blocked &B, double Low,
                       double High, Type To) {
  if (!X || !B.Scale)
    return {};
  X = N.cast(X, N.f32());
  Value Y =
      N.unary<RoundOp>(N.div(X, perElement(N, N.cast(B.Scale, N.f32()), B, X)));
  if (B.Zero)
    Y = N.add(Y, perElement(N, N.cast(B.Zero, N.f32()), B, X));
  return N.cast(N.min(N.max(Y, N.like(Low, Y)), N.like(High, Y)), To);
}

/// (x - zero) * scale. A weight stays what it is, for GEMMs that read codes.
static Value dequantised(NodeImport &N, Value X, const Blocked &B, Type To) {
  if (!X || !B.Scale || !To)
    return {};
  bool IsWeight =
      mlir::isa_and_present<WeightOp, ConstantOp>(X.getDefiningOp());
  if (IsWeight && N.rank(X) >= 2 && isCode(N.element(X)) &&
      N.isFloat(B.Scale)) {
    SmallVector<Value> Operands = {X, B.Scale};
    if (B.Zero)
      Operands.push_back(N.cast(B.Zero, N.element(X)));
    return N.buildSized(DequantiseOp::getOperationName(), Operands,
                        {N.listAttr("blocks", B.Blocks)}, N.dims(X), To);
  }
  Value Y = N.cast(X, N.i32());
  if (B.Zero)
    Y = N.sub(Y, perElement(N, N.cast(B.Zero, N.i32()), B, X));
  Value Scale = perElement(N, N.cast(B.Scale, N.f32()), B, X);
  return N.cast(N.mul(N.cast(Y, N.f32()), Scale), To);
}

/// One element a block along `Axis`, all of the others; `Axis` -1: one block.
static Ints wholeBut(NodeImport &N, Value X, int64_t Axis) {
  Ints Blocks;
  for (int64_t I = 0; X && I < N.rank(X); ++I)
    Blocks.push_back(
        I == Axis
            ? 1
            : std::max<int64_t>(
                  N.dims(X)[static_cast<size_t>(I)].asConstant().value_or(1),
                  1));
  return Blocks;
}

/// Parameters of the whole tensor: scalars, whatever x's sizes are.
static Blocked ofTensor(NodeImport &N, Value X, std::string_view ScaleName) {
  Value Scale = scale(N, ScaleName), Zero = zeroPoint(N, "zero_point");
  if (!X || !Scale || N.bad())
    return {};
  Dims Ones(N.dims(X).size(), Expr(1));
  Ints Blocks = wholeBut(N, X, -1);
  return {N.reshape(Scale, Ones), Zero ? N.reshape(Zero, Ones) : Zero, Blocks};
}

static Blocked ofChannel(NodeImport &N, Value X, std::string_view ScaleName,
                         std::string_view ZeroName) {
  if (!X)
    return {};
  int64_t Axis = N.axis(N.integer("axis", 0), N.rank(X));
  Value Scale = N.tensor(ScaleName), Zero = zeroPoint(N, ZeroName);
  Ints Blocks = wholeBut(N, X, Axis);
  if (!Scale || N.bad())
    return {};
  // Sizes that only the run knows share a parameter as well as known ones.
  Dims Sizes(N.dims(X).size(), Expr(1));
  Sizes[static_cast<size_t>(Axis)] = N.dims(X)[static_cast<size_t>(Axis)];
  return {N.reshape(Scale, Sizes), Zero ? N.reshape(Zero, Sizes) : Zero,
          Blocks};
}

/// Parameters of rows along the last axis: [..., 1].
static Blocked ofToken(NodeImport &N, Value X) {
  if (!X || N.rank(X) == 0)
    return {};
  Value Scale = N.tensor("scales"), Zero = zeroPoint(N, "zero_points");
  if (!Scale)
    return {};
  Dims Sizes(N.dims(X));
  Sizes.back() = Expr(1);
  Ints Blocks(Sizes.size(), 1);
  Blocks.back() = N.dims(X).back().asConstant().value_or(1);
  return {N.reshape(Scale, Sizes), Zero ? N.reshape(Zero, Sizes) : Zero,
          Blocks};
}

static Type outType(NodeImport &N, std::string_view Name) {
  Type T = N.has(Name) ? N.type(Name) : N.f32();
  return T;
}

static void quantise(NodeImport &N, Value X, const Blocked &B) {
  Type To = N.type("dtype");
  if (!To || !B.Scale)
    return N.give();
  if (!graph::isInteger(To))
    return (void)N.unsupported("quantises to " + typeText(To) +
                               "; kpc does so to integers");
  N.result(quantised(N, X, B, static_cast<double>(N.integer("quant_min", -128)),
                     static_cast<double>(N.integer("quant_max", 127)), To));
}

static void quantisePerTensor(NodeImport &N) {
  Value X = N.tensor("input");
  quantise(N, X, ofTensor(N, X, "scale"));
}
static void quantisePerChannel(NodeImport &N) {
  Value X = N.tensor("input");
  quantise(N, X, ofChannel(N, X, "scales", "zero_points"));
}
static void quantisePerToken(NodeImport &N) {
  Value X = N.tensor("input");
  quantise(N, X, ofToken(N, X));
}
static void dequantisePerTensor(NodeImport &N) {
  Value X = N.tensor("input");
  N.result(dequantised(N, X, ofTensor(N, X, "scale"), outType(N, "out_dtype")));
}
static void dequantisePerChannel(NodeImport &N) {
  Value X = N.tensor("input");
  N.result(dequantised(N, X, ofChannel(N, X, "scales", "zero_points"),
                       outType(N, "out_dtype")));
}
static void dequantisePerToken(NodeImport &N) {
  Value X = N.tensor("input");
  N.result(dequantised(N, X, ofToken(N, X), outType(N, "output_dtype")));
}
static void dequantisePerGroup(NodeImport &N) {
  Value X = N.tensor("w_int8");
  int64_t Group = N.integer("group_size", 1);
  Value Scale = N.tensor("scales"), Zero = zeroPoint(N, "zero_points");
  if (!X || !Scale || N.rank(X) != 2 || Group < 1)
    return (void)N.unsupported("groups of a tensor that is no matrix");
  Blocked B = fitted(N, X, Scale, Zero, {1, Group});
  N.result(dequantised(N, X, B, outType(N, "output_dtype")));
}

/// Scale and zero point of a tensor, so that its least and greatest elements
/// are the least and greatest codes.
static void chooseParameters(NodeImport &N) {
  Value X = N.cast(N.tensor("input"), N.f32());
  if (!X)
    return;
  double Low = static_cast<double>(N.integer("quant_min", -128)),
         High = static_cast<double>(N.integer("quant_max", 127));
  Ints Axes = llvm::to_vector<6>(llvm::seq<int64_t>(0, N.rank(X)));
  Value None = N.like(0, X);
  Value Least = N.min(N.reduce(ReduceKind::min, X, Axes), None);
  Value Most = N.max(N.reduce(ReduceKind::max, X, Axes), None);
  Value Scale = N.mulScalar(N.sub(Most, Least), 1.0 / (High - Low));
  Scale = N.max(Scale, N.like(N.real("eps", 1.1920928955078125e-07), Scale));
  Value Zero = N.sub(N.like(Low, X), N.unary<RoundOp>(N.div(Least, Scale)));
  Zero = N.min(N.max(Zero, N.like(Low, X)), N.like(High, X));
  Type ScaleType = N.declaredType(0), ZeroType = N.declaredType(1);
  std::optional<Dims> ScaleSizes = N.declaredSizes(0),
                      ZeroSizes = N.declaredSizes(1);
  if (!ScaleType || !ZeroType || !ScaleSizes || !ZeroSizes)
    return N.give();
  N.result(0, N.reshape(N.cast(Scale, ScaleType), *ScaleSizes));
  N.result(1, N.reshape(N.cast(Zero, ZeroType), *ZeroSizes));
}

//===----------------------------------------------------------------------===//
// Quantised and back: what training for quantisation leaves
//===----------------------------------------------------------------------===//

static void fakeQuantise(NodeImport &N, Value X, const Blocked &B) {
  if (!X || !B.Scale)
    return N.give();
  int64_t Low = N.integer("quant_min", -128),
          High = N.integer("quant_max", 127);
  if (Low > High)
    return (void)N.unsupported("quant_min is " + std::to_string(Low) +
                               ", above quant_max, " + std::to_string(High));
  mlir::MLIRContext *Context = N.i32().getContext();
  Type To = Low >= 0 && High <= 255      ? graphType(Context, ScalarType::Byte)
            : Low >= -128 && High <= 127 ? graphType(Context, ScalarType::Char)
                                         : N.i32();
  Value Codes = quantised(N, X, B, static_cast<double>(Low),
                          static_cast<double>(High), To);
  N.result(dequantised(N, Codes, B, N.element(X)));
  if (N.resultCount() < 2)
    return;
  // Where codes were not clamped, a gradient would pass.
  Value Whole = N.unary<RoundOp>(
      N.div(N.cast(X, N.f32()), perElement(N, N.cast(B.Scale, N.f32()), B, X)));
  if (B.Zero)
    Whole = N.add(Whole, perElement(N, N.cast(B.Zero, N.f32()), B, X));
  auto Bound = [&](int64_t V) { return N.like(static_cast<double>(V), Whole); };
  N.result(1, N.bitAnd(N.compare(Predicate::ge, Whole, Bound(Low)),
                       N.compare(Predicate::le, Whole, Bound(High))));
}

static void fakeQuantisePerTensor(NodeImport &N) {
  Value X = N.tensor("self");
  fakeQuantise(N, X, ofTensor(N, X, "scale"));
}
static void fakeQuantisePerChannel(NodeImport &N) {
  Value X = N.tensor("self");
  fakeQuantise(N, X, ofChannel(N, X, "scale", "zero_point"));
}

//===----------------------------------------------------------------------===//
// torchao
//===----------------------------------------------------------------------===//

/// Blocks of any sizes, each with parameters of its own.
static Blocked ofBlocks(NodeImport &N, Value X) {
  Ints Blocks = N.integers("block_size", {});
  Value Scale = scale(N, "scale"), Zero = zeroPoint(N, "zero_point");
  if (!X || !Scale || N.bad())
    return {};
  if (static_cast<int64_t>(Blocks.size()) != N.rank(X) ||
      llvm::any_of(Blocks, [](int64_t B) { return B < 1; })) {
    N.fail(Code::ImportShape, "block_size does not fit " + dimsText(N.dims(X)));
    return {};
  }
  if (std::string Domain = N.text("zero_point_domain", "INT");
      Domain != "INT" && Domain != "NONE") {
    N.unsupported("zero points are " + printable(Domain) +
                  "; kpc takes integers");
    return {};
  }
  return fitted(N, X, Scale, Zero, Blocks);
}

static void quantiseAffine(NodeImport &N) {
  Value X = N.tensor("input");
  Blocked B = ofBlocks(N, X);
  Type To = N.type("output_dtype");
  if (!B.Scale || !To)
    return N.give();
  if (!graph::isInteger(To))
    return (void)N.unsupported("quantises to " + typeText(To) +
                               "; kpc does so to integers");
  unsigned Bits = To.getIntOrFloatBitWidth();
  double Span = static_cast<double>(uint64_t(1) << std::min(Bits, 32U));
  bool Unsigned = To.isUnsignedInteger();
  double Low = N.real("quant_min", Unsigned ? 0 : -Span / 2),
         High = N.real("quant_max", Unsigned ? Span - 1 : Span / 2 - 1);
  N.result(quantised(N, X, B, Low, High, To));
}

static void dequantiseAffine(NodeImport &N) {
  Value X = N.tensor("input");
  N.result(dequantised(N, X, ofBlocks(N, X), outType(N, "output_dtype")));
}

ArrayRef<Rule> quantizationRules() {
  static constexpr std::string_view Integers = "integers; no floats of 8 bits";
  static const Rule Rows[] = {
      {"fake_quantize_per_channel_affine.default", fakeQuantisePerChannel},
      {"fake_quantize_per_channel_affine_cachemask.default",
       fakeQuantisePerChannel},
      {"fake_quantize_per_tensor_affine.default", fakeQuantisePerTensor},
      {"fake_quantize_per_tensor_affine.tensor_qparams", fakeQuantisePerTensor},
      {"fake_quantize_per_tensor_affine_cachemask.default",
       fakeQuantisePerTensor},
      {"quantized_decomposed.choose_qparams.tensor", chooseParameters},
      {"quantized_decomposed.dequantize_per_channel.default",
       dequantisePerChannel, InPlace::No, Integers},
      {"quantized_decomposed.dequantize_per_channel_group.default",
       dequantisePerGroup, InPlace::No, Integers},
      {"quantized_decomposed.dequantize_per_tensor.default",
       dequantisePerTensor, InPlace::No, Integers},
      {"quantized_decomposed.dequantize_per_tensor.tensor", dequantisePerTensor,
       InPlace::No, Integers},
      {"quantized_decomposed.dequantize_per_tensor.tensor2",
       dequantisePerTensor, InPlace::No, Integers},
      {"quantized_decomposed.dequantize_per_token.default", dequantisePerToken,
       InPlace::No, Integers},
      {"quantized_decomposed.quantize_per_channel.default", quantisePerChannel,
       InPlace::No, Integers},
      {"quantized_decomposed.quantize_per_tensor.default", quantisePerTensor,
       InPlace::No, Integers},
      {"quantized_decomposed.quantize_per_tensor.tensor", quantisePerTensor,
       InPlace::No, Integers},
      {"quantized_decomposed.quantize_per_tensor.tensor2", quantisePerTensor,
       InPlace::No, Integers},
      {"quantized_decomposed.quantize_per_token.default", quantisePerToken,
       InPlace::No, Integers},
      {"torchao.dequantize_affine.default", dequantiseAffine, InPlace::No,
       Integers},
      {"torchao.quantize_affine.default", quantiseAffine, InPlace::No,
       Integers},
  };
  return Rows;
}

} // namespace kpc::torch
