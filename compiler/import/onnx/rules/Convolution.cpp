//===- Convolution.cpp - Import of convolutions ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/WeightStore.h"
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/Spatial.h"

#include <cstring>

using namespace kpc::graph;

namespace kpc::onnx {

/// Whether x and w have the ranks of a convolution; reports if not.
static bool convolutionRanks(NodeImport &N, Value X, Value W) {
  if (N.rank(X) >= 3 && N.rank(X) == N.rank(W))
    return true;
  N.fail(Code::ImportRank, "input has rank " + std::to_string(N.rank(X)) +
                               ", weights have rank " +
                               std::to_string(N.rank(W)) +
                               ", but both should have one rank of at least 3");
  return false;
}

/// The attribute `group`; reports and is 1 where it is none.
static int64_t groupAttribute(NodeImport &N) {
  int64_t Groups = N.intAttribute("group", 1);
  if (Groups >= 1)
    return Groups;
  N.fail(Code::ImportAttributeValue, "attribute 'group' is " +
                                         std::to_string(Groups) +
                                         ", but should be 1 or more");
  return 1;
}

static Value addBias(NodeImport &N, Value Y, size_t Input) {
  if (!N.hasInput(Input) || !Y)
    return Y;
  Value Bias = N.input(Input);
  if (Bias && N.rank(Bias) != 1)
    return N.fail(Code::ImportRank, "the bias has rank " +
                                        std::to_string(N.rank(Bias)) +
                                        ", but should be a vector");
  return N.add(Y, Bias);
}

static void importConv(NodeImport &N) {
  int64_t Groups = groupAttribute(N);
  N.expectInputs(2, 3);
  Value X = N.input(0), W = N.input(1);
  if (N.bad() || !convolutionRanks(N, X, W))
    return;
  // Where they cannot be equal, the convolution itself says so.
  N.unify(Expr(N.dims(X)[1]), N.dims(W)[1] * Groups);
  std::optional<Ints> Kernel = kernelShape(N, N.dims(W).drop_front(2));
  if (!Kernel)
    return;
  std::optional<Spatial> S =
      spatialAttributes(N, *Kernel, N.dims(X).drop_front(2));
  if (!S)
    return;
  Value Rows = underWindows(N, channelsLast(N, X), *S);
  Value Y = N.conv(Rows, kernelLayout(N, W), S->Stride, S->Dilation, S->Low,
                   S->High, Groups);
  N.result(0, channelsFirst(N, addBias(N, Y, 2)));
}

//===----------------------------------------------------------------------===//
// Transposed
//===----------------------------------------------------------------------===//

namespace {
/// A part of the full result along one axis.
struct Part {
  size_t Axis; ///< of the result, channels last
  Expr Start, Size;
  bool MayLack; ///< elements at its end
};
} // namespace

/// The part of an axis that output_shape asks for where the size in front is
/// not known. A result larger than the full one is filled up at its end.
static Part wantedPart(NodeImport &N, const Spatial &S, size_t I,
                       const Expr &Size, int64_t Extra, int64_t Wanted,
                       bool AtEnd) {
  const shape::Facts &Facts = N.importer().facts();
  int64_t Reach = (S.Kernel[I] - 1) * S.Dilation[I] + 1;
  Expr Full = (Size - 1) * S.Stride[I] + Extra + Reach;
  Expr Total = Facts.simplify(Expr::max(Full - Wanted, 0));
  Expr Less = Total.floorDiv(2);
  return Part{I + 1, Facts.simplify(AtEnd ? Less : Total - Less), Expr(Wanted),
              !Facts.isLessOrEqual(Expr(Wanted), Full).value_or(false)};
}

/// Pads by which the full result is cut, from pads, auto_pad or output_shape.
/// What they cannot say is cut afterwards.
static bool transposedPads(NodeImport &N, Spatial &S, ArrayRef<Expr> Sizes,
                           ArrayRef<int64_t> Extra, std::vector<Part> &Parts) {
  std::string Auto = N.stringAttribute("auto_pad", "NOTSET");
  std::optional<Ints> Shape = N.intsAttribute("output_shape");
  bool Same = Auto == "SAME_UPPER" || Auto == "SAME_LOWER";
  if (!Same && (!Shape || Shape->empty()))
    return true;
  // output_shape may name batch and channels as well.
  if (Shape && Shape->size() == S.count() + 2)
    Shape->erase(Shape->begin(), Shape->begin() + 2);
  if (Shape && !Shape->empty() && Shape->size() != S.count()) {
    N.fail(Code::ImportAttributeValue, "attribute 'output_shape' has " +
                                           std::to_string(Shape->size()) +
                                           " entries");
    return false;
  }
  for (size_t I = 0; I < S.count(); ++I) {
    std::optional<int64_t> Size = Sizes[I].asConstant();
    bool Given = Shape && !Shape->empty();
    if (!Size && Given) {
      if ((*Shape)[I] < 0 || (*Shape)[I] > INT32_MAX) {
        N.fail(Code::ImportAttributeValue,
               "attribute 'output_shape' is " + std::to_string((*Shape)[I]));
        return false;
      }
      Parts.push_back(wantedPart(N, S, I, Sizes[I], Extra[I], (*Shape)[I],
                                 Auto == "SAME_UPPER"));
      S.Low[I] = S.High[I] = 0;
      continue;
    }
    int64_t Reach = (S.Kernel[I] - 1) * S.Dilation[I] + 1;
    // Full size: stride*(n-1) + extra + reach; wanted: output_shape or
    // stride*n.
    int64_t Total =
        Given ? S.Stride[I] * (*Size - 1) + Extra[I] + Reach - (*Shape)[I]
              : Extra[I] + Reach - S.Stride[I];
    if (!Given)
      Total = std::max<int64_t>(Total, 0);
    if (std::abs(Total) > INT32_MAX) {
      N.fail(Code::ImportAttributeValue,
             "attribute 'output_shape' is " + std::to_string((*Shape)[I]));
      return false;
    }
    // A result larger than the full one is filled up at its end.
    S.Low[I] = Total < 0              ? 0
               : Auto == "SAME_UPPER" ? Total / 2
                                      : Total - Total / 2;
    S.High[I] = Total - S.Low[I];
  }
  return true;
}

/// [C, O/g, k…] to [k…, C, O/g].
static Value transposedKernel(NodeImport &N, Value W) {
  Ints Perm = llvm::to_vector(llvm::seq<int64_t>(2, N.rank(W)));
  Perm.append({0, 1});
  return N.transpose(W, Perm);
}

/// Whether little-endian floats hold an exponent of all ones.
static bool allFinite(llvm::ArrayRef<uint8_t> Bytes, Type Element) {
  auto Float = mlir::dyn_cast<mlir::FloatType>(Element);
  if (!Float)
    return true;
  size_t Size = Float.getWidth() / 8;
  // Behind the sign comes the exponent; the mantissa has one bit less than the
  // precision.
  unsigned Mantissa = Float.getFPMantissaWidth() - 1;
  uint64_t Exponent = (uint64_t(1) << (Float.getWidth() - 1 - Mantissa)) - 1;
  for (size_t I = 0; I + Size <= Bytes.size(); I += Size) {
    uint64_t Bits = 0;
    std::memcpy(&Bits, Bytes.data() + I, Size);
    if ((Bits >> Mantissa & Exponent) == Exponent)
      return false;
  }
  return true;
}

/// Whether weights are made of data without infinities and NaN. A value that
/// only the run knows is not; neither is one whose making is long.
static bool isFinite(NodeImport &N, Value W, int Depth = 8) {
  mlir::Operation *Def = W.getDefiningOp();
  if (!Def || Depth == 0)
    return false;
  if (auto Weight = mlir::dyn_cast<WeightOp>(Def)) {
    const kpc::Weight *Data = N.importer().weights().find(Weight.getSource());
    return Data && allFinite(Data->Bytes, N.element(W));
  }
  if (auto Constant = mlir::dyn_cast<ConstantOp>(Def)) {
    auto Elements =
        mlir::dyn_cast<mlir::DenseElementsAttr>(Constant.getValue());
    return Elements &&
           (!mlir::isa<mlir::FloatType>(Elements.getElementType()) ||
            llvm::all_of(Elements.getValues<llvm::APFloat>(),
                         [](const llvm::APFloat &V) { return V.isFinite(); }));
  }
  return mlir::isa<CastOp, ReshapeOp, TransposeOp, BroadcastOp, AddOp, SubOp,
                   MulOp>(Def) &&
         llvm::all_of(Def->getOperands(),
                      [&](Value Part) { return isFinite(N, Part, Depth - 1); });
}

namespace {
/// A transposed convolution as a product of each element with each tap, whose
/// results are gathered where they overlap. It multiplies nothing that is not
/// there, which matters where a weight may be infinite: 0 * inf is NaN.
class TransposedProduct {
public:
  TransposedProduct(NodeImport &N, const Spatial &S, ArrayRef<int64_t> Extra,
                    int64_t Groups)
      : N(N), S(S), Extra(Extra), Groups(Groups) {}

  /// From x, channels last, and w as ONNX has it.
  Value write(Value X, Value W);

private:
  Value products(Value X, Value W);
  Value places(ArrayRef<Expr> From, ArrayRef<Expr> To);
  Value alongAxis(Value V, size_t Axis);

  NodeImport &N;
  const Spatial &S;
  ArrayRef<int64_t> Extra;
  int64_t Groups;
};
} // namespace

/// [batch, elements * taps, channels]
Value TransposedProduct::products(Value X, Value W) {
  Dims From(N.dims(X)), Weights(N.dims(W));
  Expr Elements(1), Taps(1), Inner = From.back().floorDiv(Groups),
                             Own = Weights[1];
  for (size_t I = 0; I < S.count(); ++I) {
    Elements = Elements * From[I + 1];
    Taps = Taps * Weights[I + 2];
  }
  Value Left = N.transpose(
      N.reshape(X, {From[0], Elements, Expr(Groups), Inner}), {0, 2, 1, 3});
  Value Right = N.reshape(W, {Expr(Groups), Inner, Own * Taps});
  Value Y = N.matmul(Left, Right); // [batch, groups, elements, own * taps]
  Y = N.reshape(Y, {From[0], Expr(Groups), Elements, Own, Taps});
  return N.reshape(N.transpose(Y, {0, 2, 4, 1, 3}),
                   {From[0], Elements * Taps, Own * Groups});
}

/// [to, taps] as one of [to…, taps…].
Value TransposedProduct::alongAxis(Value V, size_t Axis) {
  if (!V)
    return {};
  Dims Sizes(2 * S.count(), Expr(1));
  Sizes[Axis] = N.dims(V)[0];
  Sizes[S.count() + Axis] = N.dims(V)[1];
  return N.reshape(V, Sizes);
}

/// For each result and tap the product that belongs there, counted from 1; 0
/// where there is none. [to…, taps…]
Value TransposedProduct::places(ArrayRef<Expr> From, ArrayRef<Expr> To) {
  Type Index = N.i64();
  Value Element, Tap, Inside;
  for (size_t I = 0; I < S.count(); ++I) {
    Dims Grid = {To[I], Expr(S.Kernel[I])};
    Value Offset =
        N.mul(N.iota(Grid, 1, Index), N.scalarInt(S.Dilation[I], Index));
    Value At = N.sub(
        N.add(N.iota(Grid, 0, Index), N.scalarInt(S.Low[I], Index)), Offset);
    Value Stride = N.scalarInt(S.Stride[I], Index),
          Zero = N.scalarInt(0, Index);
    Value Own = N.div(At, Stride);
    // The quotient of what is in front of the first element does not count.
    Value Here = N.binary<AndOp>(
        N.compare(Predicate::ge, At, Zero),
        N.binary<AndOp>(
            N.compare(Predicate::eq, N.mul(Own, Stride), At),
            N.compare(Predicate::lt, Own, N.sizeScalar(From[I], Index))));
    Here = alongAxis(Here, I);
    Own = alongAxis(Own, I);
    Value OwnTap = alongAxis(N.iota(Grid, 1, Index), I);
    if (I == 0) {
      Element = Own;
      Tap = OwnTap;
      Inside = Here;
      continue;
    }
    Element = N.add(N.mul(Element, N.sizeScalar(From[I], Index)), Own);
    Tap = N.add(N.mul(Tap, N.scalarInt(S.Kernel[I], Index)), OwnTap);
    Inside = N.binary<AndOp>(Inside, Here);
  }
  int64_t Taps = 1;
  for (int64_t K : S.Kernel)
    Taps *= K;
  Value Place = N.add(N.mul(Element, N.scalarInt(Taps, Index)), Tap);
  return N.select(Inside, N.addScalar(Place, 1), N.scalarInt(0, Index));
}

Value TransposedProduct::write(Value X, Value W) {
  if (!X)
    return {};
  Type Stored = N.element(X);
  ArrayRef<Expr> From = N.dims(X).slice(1, S.count());
  Dims To;
  for (size_t I = 0; I < S.count(); ++I) {
    int64_t More = (S.Kernel[I] - 1) * S.Dilation[I] + 1 - S.Stride[I] -
                   S.Low[I] - S.High[I] + Extra[I];
    Expr Size = From[I] * S.Stride[I] + More;
    To.push_back(More < 0 && !Size.asConstant() ? Expr::max(Size, 0) : Size);
    if (To.back().asConstant().value_or(0) < 0)
      return N.fail(Code::ImportShape,
                    "padding makes a size of " + To.back().str());
  }
  // What overlaps is summed; 16 bits would round each part.
  bool Narrow = Stored.isF16() || Stored.isBF16();
  if (Narrow) {
    X = N.cast(X, N.f32());
    W = N.cast(W, N.f32());
    if (!X || !W)
      return {};
  }
  Value Products = products(X, W);
  Products = N.pad(Products, N.like(0, X), {0, 1, 0}, {0, 0, 0}, {0, 0, 0});
  Value Parts = N.gather(Products, places(From, To), 1);
  Ints Taps = llvm::to_vector(
      llvm::seq<int64_t>(1 + static_cast<int64_t>(S.count()),
                         1 + 2 * static_cast<int64_t>(S.count())));
  Value Y = N.reduce(ReduceKind::sum, Parts, Taps);
  return Narrow ? N.cast(Y, Stored) : Y;
}

static void importConvTranspose(NodeImport &N) {
  int64_t Groups = groupAttribute(N);
  N.expectInputs(2, 3);
  Value X = N.input(0), W = N.input(1);
  if (N.bad() || !convolutionRanks(N, X, W))
    return;
  ArrayRef<Expr> Sizes = N.dims(X).drop_front(2);
  std::optional<Ints> Kernel = kernelShape(N, N.dims(W).drop_front(2));
  std::optional<Ints> Given = N.intsAttribute("output_padding");
  if (!Kernel || N.bad())
    return;
  Ints Extra = Given && !Given->empty() ? *Given : Ints(Kernel->size(), 0);
  if (Extra.size() != Kernel->size() || Groups < 1 ||
      llvm::any_of(Extra, [](int64_t E) { return E < 0 || E > INT32_MAX; })) {
    N.fail(Code::ImportAttributeValue,
           "attribute 'output_padding' or 'group' does not fit");
    return;
  }
  // auto_pad means other pads here.
  std::optional<Spatial> S = spatialAttributes(N, *Kernel, Sizes);
  std::vector<Part> Parts;
  if (!S || !transposedPads(N, *S, Sizes, Extra, Parts))
    return;
  auto Give = [&](Value Y) {
    for (const Part &P : Parts) {
      if (!Y)
        break;
      Ints None(static_cast<size_t>(N.rank(Y)), 0), High(None);
      High[P.Axis] = *P.Size.asConstant();
      if (P.MayLack)
        Y = N.pad(Y, N.like(0, Y), None, High, None);
      Y = Y ? N.sliceAxis(Y, int64_t(P.Axis), P.Start, P.Size) : Y;
    }
    N.result(0, channelsFirst(N, addBias(N, Y, 2)));
  };
  // Where they cannot be equal, the convolution itself says so.
  N.unify(Expr(N.dims(X)[1]), N.dims(W)[0]);
  bool Fits = N.dims(W)[0] == N.dims(X)[1] &&
              N.dims(W)[0].floorDiv(Groups) * Groups == N.dims(W)[0];
  if (Fits && !isFinite(N, W)) {
    TransposedProduct P(N, *S, Extra, Groups);
    return Give(P.write(channelsLast(N, X), W));
  }
  // What output_padding adds is not cut.
  for (size_t I = 0; I < S->count(); ++I)
    S->High[I] -= Extra[I];
  Give(N.convTranspose(channelsLast(N, X), transposedKernel(N, W), S->Stride,
                       S->Dilation, S->Low, S->High, Groups));
}

ArrayRef<Rule> convolutionRules() {
  static const Rule Rows[] = {
      {"", "Conv", 1, Newest, importConv},
      {"", "ConvTranspose", 1, Newest, importConvTranspose},
  };
  return Rows;
}

} // namespace kpc::onnx
