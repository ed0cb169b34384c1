//===- Quantization.cpp - Import of quantised operators -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/rules/Quantization.h"
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/Convert.h"
#include "compiler/import/onnx/rules/Spatial.h"

#include <cstring>

using namespace kpc::graph;

namespace kpc::onnx {

/// The range of an integer of 2 to 16 bits.
static std::optional<std::pair<double, double>> rangeOf(Type T) {
  unsigned Bits = T.getIntOrFloatBitWidth();
  if (!mlir::isa<mlir::IntegerType>(T) || Bits < 2 || Bits > 16)
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

/// The bytes of a tensor that is data; none of what is computed.
static std::optional<ArrayRef<uint8_t>> dataOf(NodeImport &N, Value V) {
  if (auto Weight = V.getDefiningOp<WeightOp>()) {
    const kpc::Weight *Data = N.importer().weights().find(Weight.getSource());
    if (Data)
      return ArrayRef<uint8_t>(Data->Bytes.data(), Data->Bytes.size());
  }
  if (auto Constant = V.getDefiningOp<ConstantOp>())
    if (auto Elements =
            mlir::dyn_cast<mlir::DenseElementsAttr>(Constant.getValue())) {
      ArrayRef<char> Raw = Elements.getRawData();
      return ArrayRef(reinterpret_cast<const uint8_t *>(Raw.data()),
                      Raw.size());
    }
  if (auto Same = V.getDefiningOp<ReshapeOp>())
    return dataOf(N, Same.getX());
  return std::nullopt;
}

/// What is wrong with one of some little-endian floats as a scale: "scale 3 is
/// NaN or infinite"; empty if nothing is.
static std::string faultOfScales(ArrayRef<uint8_t> Bytes,
                                 mlir::FloatType Element) {
  size_t Size = Element.getWidth() / 8;
  for (size_t I = 0; I + Size <= Bytes.size(); I += Size) {
    uint64_t Bits = 0;
    std::memcpy(&Bits, Bytes.data() + I, Size);
    llvm::APFloat Scale(Element.getFloatSemantics(),
                        llvm::APInt(Element.getWidth(), Bits));
    if (Scale.isZero() || !Scale.isFinite())
      return "scale " + std::to_string(I / Size) +
             (Scale.isZero() ? " is zero" : " is NaN or infinite");
  }
  return {};
}

Value checkedScale(NodeImport &N, Value Scale, const std::string &Of) {
  auto Element = Scale ? mlir::dyn_cast<mlir::FloatType>(N.element(Scale))
                       : mlir::FloatType();
  std::optional<ArrayRef<uint8_t>> Data =
      Element ? dataOf(N, Scale) : std::nullopt;
  std::string Fault = Data ? faultOfScales(*Data, Element) : std::string();
  if (Fault.empty())
    return Scale;
  return N.fail(Code::ImportUnsupported, Fault,
                "quantise the " + Of +
                    " again; the scale of a block of zeros may be any other "
                    "number, 1 for instance");
}

Value dequantise(NodeImport &N, Value W, Value Scales, Value Zeros,
                 ArrayRef<int64_t> Blocks, Type To) {
  if (!W || !Scales)
    return {};
  if (!checkedScale(N, Scales, "weight"))
    return {};
  SmallVector<Value> Operands = {W, Scales};
  if (Zeros)
    Operands.push_back(Zeros);
  return N.buildSized(DequantiseOp::getOperationName(), Operands,
                      {N.listAttr("blocks", Blocks)}, N.dims(W), To);
}

/// Of a weight that is data, integers of 8 bits or less or floats of 8 and 4
/// bits: the scales and zero points as graph.dequantise takes them, with a size
/// for each dimension. Null where they do not fit.
static Value dequantisedWeight(NodeImport &N, Value X, Value Scale, Value Zero,
                               int64_t Axis, int64_t Block, Type To) {
  auto Rank = static_cast<size_t>(N.rank(X));
  Dims Sizes(N.dims(X));
  Ints Blocks(Rank, 1);
  Axis = N.frontAxis(Axis, N.rank(X));
  if (N.bad())
    return {};
  auto At = static_cast<size_t>(Axis);
  if (Block > 0) {
    Blocks[At] = Block;
    Sizes[At] = Sizes[At].ceilDiv(Block);
  } else {
    for (size_t D = 0; D < Rank; ++D) {
      bool PerElement = D == At && N.rank(Scale) == 1 &&
                        N.dims(Scale) != ArrayRef<Expr>{Expr(1)};
      if (PerElement)
        continue;
      Blocks[D] = std::max<int64_t>(Sizes[D].asConstant().value_or(1), 1);
      Sizes[D] = Sizes[D].ceilDiv(Blocks[D]);
    }
  }
  auto Fits = [&](Value V) {
    Expr Count(1), Wanted(1);
    for (const Expr &E : N.dims(V))
      Count = Count * E;
    for (const Expr &E : Sizes)
      Wanted = Wanted * E;
    return Count == Wanted &&
           (Block == 0 || N.dims(V) == ArrayRef<Expr>(Sizes));
  };
  for (Value V : {Scale, Zero})
    if (V && !Fits(V))
      return N.fail(Code::ImportShape,
                    std::string(V == Scale ? "scales" : "zero points") +
                        " of " + dimsText(N.dims(V)) + " do not fit " +
                        dimsText(N.dims(X)) + "; expected " +
                        (Block > 0 ? dimsText(Sizes)
                                   : "one, or one for each of axis " +
                                         std::to_string(Axis)));
  return dequantise(N, X, N.reshape(Scale, Sizes),
                    Zero ? N.reshape(Zero, Sizes) : Zero, Blocks, To);
}

/// Whether dequantisedWeight() takes a tensor. Integers are those of weights
/// that are data. Floats, whatever makes them, are taken in blocks alone: other
/// scales are factors of whole sums, for which products spelled out are looked
/// through.
static bool isQuantisedWeight(NodeImport &N, Value X, Value Scale, Value Zero,
                              int64_t Block) {
  if (graph::isNarrowFloat(N.element(X)) && (Zero || Block == 0))
    return false;
  auto IsCode = [&](Value V) {
    Type Ty = N.element(V);
    return (isNarrowInteger(Ty) || graph::isNarrowFloat(Ty) ||
            (graph::isInteger(Ty) && !isBool(Ty))) &&
           Ty.getIntOrFloatBitWidth() <= 8;
  };
  bool IsData = mlir::isa_and_present<WeightOp, ConstantOp>(X.getDefiningOp());
  return (IsData || graph::isNarrowFloat(N.element(X))) && N.rank(X) >= 2 &&
         IsCode(X) && graph::isScale(N.element(Scale)) &&
         (!Zero || IsCode(Zero));
}

/// round(x) + zero, clamped to the type; x is float.
Value saturate(NodeImport &N, Value X, Value Zero, Type To) {
  std::optional<std::pair<double, double>> Range = rangeOf(To);
  if (!Range)
    return N.fail(Code::ImportElementType,
                  "quantises to " + typeText(To) +
                      ", expected an integer of 2, 4, 8 or 16 bits, or a float "
                      "of 4 or 8 bits");
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

/// The type that an attribute names by ONNX's number; `Default` where it has
/// none. Fails for a number that names nothing that kpc has.
static Type typeAttribute(NodeImport &N, const std::string &Name,
                          Type Default) {
  int64_t Number = N.intAttribute(Name, 0);
  if (Number == 0)
    return Default;
  std::optional<ElementType> Known = elementType(Number);
  Type Ty = Known ? graphType(N.builder().getContext(), *Known) : Type();
  if (!Ty)
    N.fail(Code::ImportElementType,
           "attribute '" + Name + "' is " +
               elementTypeName(static_cast<ElementType>(Number)));
  return Ty;
}

/// The quotient in f32, rounded as one in `Precision` is: a quotient of f32
/// rounds to 16 bits as the exact one does.
static Value quotient(NodeImport &N, Value X, Value Scale, Type Precision) {
  if (Precision.isF64())
    return N.div(N.cast(X, Precision), N.cast(Scale, Precision));
  auto In = [&](Value V) { return N.cast(N.cast(V, Precision), N.f32()); };
  return In(N.div(In(X), In(Scale)));
}

/// Whether zero points are data, and zero: those of FP8 are nothing else.
static bool isZero(NodeImport &N, Value Zero) {
  std::optional<ArrayRef<uint8_t>> Data = dataOf(N, Zero);
  uint8_t Magnitude = graph::isFp8(N.element(Zero)) ? 0x7f : 0xff;
  return Data && llvm::all_of(*Data, [&](uint8_t Byte) {
           return (Byte & Magnitude) == 0;
         });
}

void importQuantizeTo(NodeImport &N, Type Default, ScaleView View) {
  int64_t Axis = N.intAttribute("axis", 1);
  N.expectInputs(2, 3);
  Value X = N.input(0), Scale = checkedScale(N, N.input(1)),
        Zero = N.optionalInput(2);
  int64_t Block = N.intAttribute("block_size", 0);
  Rounding How;
  How.Saturates = N.intAttribute("saturate", 1) != 0;
  if (View && !N.bad())
    Scale = View(N, Scale);
  if (N.bad())
    return;
  Type Element =
      typeAttribute(N, "output_dtype", Zero ? N.element(Zero) : Default);
  // Whole numbers of 32 bits and powers of two are divided in f32.
  Type Precision = typeAttribute(N, "precision",
                                 N.isFloat(Scale) ? N.element(Scale) : N.f32());
  if (N.bad())
    return;
  if (Zero && Element == N.element(Zero) && N.dims(Zero) == N.dims(Scale) &&
      isZero(N, Zero))
    Zero = {};
  if (Zero && Element != N.element(Zero)) {
    N.fail(Code::ImportElementType,
           "attribute 'output_dtype' is " + typeText(Element) +
               ", but the zero points are " + typeText(N.element(Zero)));
    return;
  }
  if (!graph::isFloat(Precision)) {
    N.fail(Code::ImportElementType, "attribute 'precision' is " +
                                        typeText(Precision) +
                                        ", expected a float type");
    return;
  }
  Scale = perElement(N, N.isFloat(Scale) ? Scale : N.cast(Scale, N.f32()), X,
                     Axis, Block);
  Zero = perElement(N, Zero, X, Axis, Block);
  if (N.bad())
    return;
  Value Y = quotient(N, X, Scale, Precision);
  if (N.bad())
    return;
  if (!graph::isNarrowFloat(Element)) {
    N.result(0, saturate(N, Y, Zero, Element));
    return;
  }
  if (Zero)
    Y = N.add(Y, N.cast(Zero, N.element(Y)));
  N.result(0, convert(N, Y, Element, How));
}

static void importQuantize(NodeImport &N) {
  importQuantizeTo(N, mlir::IntegerType::get(N.builder().getContext(), 8,
                                             mlir::IntegerType::Unsigned));
}

void importDequantizeFrom(NodeImport &N, ScaleView View, Type Default) {
  int64_t Axis = N.intAttribute("axis", 1);
  N.expectInputs(2, 3);
  Value X = N.input(0), Scale = checkedScale(N, N.input(1)),
        Zero = N.optionalInput(2);
  int64_t Block = N.intAttribute("block_size", 0);
  if (View && !N.bad())
    Scale = View(N, Scale);
  if (N.bad())
    return;
  Type Stored =
      typeAttribute(N, "output_dtype", Default ? Default : N.element(Scale));
  if (N.bad())
    return;
  if (!graph::isFloat(Stored)) {
    N.fail(Code::ImportElementType,
           "dequantises to " + typeText(Stored) +
               ", which is not a float type; give the node 'output_dtype'");
    return;
  }
  if (Zero && N.element(Zero) == N.element(X) &&
      N.dims(Zero) == N.dims(Scale) && isZero(N, Zero))
    Zero = {};
  if (Block >= 0 && isQuantisedWeight(N, X, Scale, Zero, Block)) {
    N.result(0, dequantisedWeight(N, X, Scale, Zero, Axis, Block, Stored));
    return;
  }
  // Whole blocks are a dimension of their own, along which scales and zero
  // points are broadcast: nothing of x's size but x is made.
  Dims Sizes(N.dims(X));
  if (Block > 0)
    Axis = N.frontAxis(Axis, N.rank(X));
  if (N.bad())
    return;
  auto At = static_cast<size_t>(Axis);
  bool Whole = Block > 0 && N.rank(Scale) == N.rank(X) &&
               N.dims(Scale)[At] * Block == Sizes[At] &&
               (!Zero || N.dims(Zero) == N.dims(Scale));
  if (Whole) {
    Dims Split(Sizes);
    Split[At] = N.dims(Scale)[At];
    Split.insert(Split.begin() + Axis + 1, Expr(Block));
    X = N.reshape(X, Split);
    Scale = N.unsqueeze(Scale, {Axis + 1});
    Zero = Zero ? N.unsqueeze(Zero, {Axis + 1}) : Zero;
    if (N.bad())
      return;
  }
  auto Fitted = [&](Value V) {
    return Whole ? V : perElement(N, V, X, Axis, Block);
  };
  // The difference needs more bits than x has; int32 has no zero point.
  Type Wide = graph::isNarrowFloat(N.element(X)) ? N.f32() : N.i32();
  Value Y = N.cast(X, Wide);
  if (Zero)
    Y = N.sub(Y, Fitted(N.cast(Zero, Wide)));
  Scale = Fitted(N.cast(Scale, N.f32()));
  Y = N.cast(N.mul(N.cast(Y, N.f32()), Scale), Stored);
  N.result(0, Whole ? N.reshape(Y, Sizes) : Y);
}

static void importDequantize(NodeImport &N) {
  importDequantizeFrom(N, nullptr, {});
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
  if (!Zero || !X || (N.rank(Zero) == 0 && isZero(N, Zero)))
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
  for (size_t I : {1, 4, 6})
    (void)checkedScale(N, V[I]);
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
  Value Rows = underWindows(N, channelsLast(N, centred(N, X, ZeroX, 1)), *S);
  return N.conv(Rows, kernelLayout(N, centred(N, W, ZeroW, 0)), S->Stride,
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
  for (size_t I : {1, 4, 6})
    (void)checkedScale(N, V[I]);
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
      {"", "QuantizeLinear", 10, Newest, importQuantize,
       "to integers of 2 to 16 bits, floats of 4 and 8 bits; no float6"},
      {"", "DequantizeLinear", 10, Newest, importDequantize,
       "from integers of 2 to 32 bits, floats of 4 and 8 bits; no float6"},
      {"", "DynamicQuantizeLinear", 11, Newest, importDynamicQuantize},
      {"", "MatMulInteger", 10, Newest, importMatMulInteger},
      {"", "QLinearMatMul", 10, Newest, importQLinearMatMul},
      {"", "ConvInteger", 10, Newest, importConvInteger},
      {"", "QLinearConv", 10, Newest, importQLinearConv},
  };
  return Rows;
}

} // namespace kpc::onnx
