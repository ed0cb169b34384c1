//===- WeightCodes.cpp - Weights as codes of 4 bits -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/WeightCodes.h"
#include "mlir/IR/Remarks.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/QuantisationError.h"

#include <cmath>

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

static constexpr int64_t GreatestCode = 15;

//===----------------------------------------------------------------------===//
// Which GEMMs
//===----------------------------------------------------------------------===//

FailureOr<WeightPolicy> WeightPolicy::read(StringRef Base,
                                           ArrayRef<std::string> For,
                                           unsigned Group, func::FuncOp Func) {
  if (Group != 32 && Group != 64 && Group != 128)
    return Func.emitError() << "expected groups of 32, 64 or 128 elements of "
                               "K, which kernels take, got "
                            << Group;
  if (Base != "int4" && Base != "none")
    return Func.emitError() << "expected int4 or none, got '" << Base << "'";
  FailureOr<TypesByName> Types = TypesByName::read(For, Func);
  if (failed(Types))
    return failure();
  WeightPolicy Read;
  Read.Base = Base;
  Read.For = std::move(*Types);
  return Read;
}

bool WeightPolicy::wants(Operation *Product) const {
  return For.typeOf(Product, Base) == "int4";
}

FailureOr<SmallVector<MatmulOp>>
WeightPolicy::productsOf(func::FuncOp Func, StringRef Base,
                         ArrayRef<std::string> For, unsigned Group) {
  SmallVector<MatmulOp> Products;
  if (!isGraphFunction(Func))
    return Products;
  FailureOr<WeightPolicy> Policy = read(Base, For, Group, Func);
  if (failed(Policy))
    return failure();
  Func.walk([&](MatmulOp Op) {
    if (multipliesWeight(Op) && Policy->wants(Op))
      Products.push_back(Op);
  });
  return Products;
}

FailureOr<std::optional<ProductWeights>>
graph::finiteWeights(MatmulOp Product, const WeightReader &Read) {
  auto W = ProductWeights::of(Product, Read);
  if (!W) {
    bool IsMatrix = typeOf(Product.getB()).getRank() == 2;
    remark::missed(Product.getLoc(),
                   remark::RemarkOpts::name("refused").category("quantisation"))
        << "A weight does not become codes of 4 bits, because "
        << (IsMatrix ? "its numbers are not known when compiling."
                     : "it is no matrix but a batch of them.");
    return W;
  }
  for (auto [I, Number] : llvm::enumerate(W->Numbers))
    if (!std::isfinite(Number))
      return Product.emitError()
             << "expected finite numbers in a weight that becomes codes of 4 "
                "bits, got "
             << (std::isnan(Number) ? "NaN" : "an infinity") << " in row "
             << int64_t(I) / W->N << ", column " << int64_t(I) % W->N
             << "; repair the weight, or keep the node with --precision-for '"
             << nodeName(Product) << "=fp16'";
  return W;
}

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

namespace {
/// How one group spells numbers.
struct Spelling {
  float Scale = 1;
  uint8_t Zero = 0;

  /// Codes from `Low` to `High`, which have 0 between them.
  static Spelling of(float Low, float High) {
    Spelling By;
    if (High <= Low)
      return By;
    float Span = High - Low;
    By.Scale = std::isfinite(Span) ? Span / GreatestCode
                                   : High / GreatestCode - Low / GreatestCode;
    // Numbers so small that their step is none are zeros.
    if (By.Scale < 1e-30F)
      return {};
    By.Zero = uint8_t(
        std::clamp<float>(std::nearbyint(-Low / By.Scale), 0, GreatestCode));
    return By;
  }
  uint8_t nearest(float Number) const {
    return uint8_t(std::clamp<float>(std::nearbyint(Number / Scale) + Zero, 0,
                                     GreatestCode));
  }
  float value(uint8_t Code) const {
    return float(int(Code) - int(Zero)) * Scale;
  }
};
} // namespace

/// The spelling of numbers, each of which counts `Power` times.
static Spelling bestSpelling(ArrayRef<float> Numbers, ArrayRef<float> Power,
                             bool Clips) {
  // Parts of the range; below half of it nothing was ever gained.
  constexpr float Parts[] = {1,     0.95F, 0.9F,  0.85F, 0.8F,
                             0.75F, 0.7F,  0.65F, 0.6F,  0.55F};
  float Low = 0, High = 0;
  for (float V : Numbers) {
    Low = std::min(Low, V);
    High = std::max(High, V);
  }
  Spelling Best = Spelling::of(Low, High);
  if (!Clips)
    return Best;
  float Least = std::numeric_limits<float>::max();
  for (float Part : Parts) {
    Spelling By = Spelling::of(Low * Part, High * Part);
    float Sum = 0;
    for (auto [V, P] : llvm::zip_equal(Numbers, Power)) {
      float Error = By.value(By.nearest(V)) - V;
      Sum += P * Error * Error;
    }
    if (Sum >= Least)
      continue;
    Least = Sum;
    Best = By;
  }
  return Best;
}

GroupCodes GroupCodes::rangesOf(const ProductWeights &W, int64_t Group,
                                ArrayRef<float> Power, bool Clips) {
  GroupCodes To{W.K, W.N, Group, {}, {}, {}};
  int64_t Count = To.groups();
  To.Scales.resize(W.N * Count);
  To.Zeros.resize(W.N * Count);
  To.Codes.resize(W.N * W.K);
  std::vector<float> Numbers, Same(Group, 1);
  for (int64_t N = 0; N < W.N; ++N)
    for (int64_t G = 0; G < Count; ++G) {
      int64_t First = G * Group, End = std::min(First + Group, W.K);
      Numbers.clear();
      for (int64_t K = First; K < End; ++K)
        Numbers.push_back(W.row(K)[N]);
      ArrayRef<float> Counts = ArrayRef<float>(Same).take_front(Numbers.size());
      if (!Power.empty())
        Counts = Power.slice(First, Numbers.size());
      Spelling By = bestSpelling(Numbers, Counts, Clips);
      To.Scales[N * Count + G] = By.Scale;
      To.Zeros[N * Count + G] = By.Zero;
    }
  return To;
}

uint8_t GroupCodes::nearest(int64_t Row, int64_t Column, float Number) const {
  int64_t Place = Column * groups() + Row / Group;
  return Spelling{Scales[Place], Zeros[Place]}.nearest(Number);
}

float GroupCodes::value(int64_t Row, int64_t Column) const {
  int64_t Place = Column * groups() + Row / Group;
  return Spelling{Scales[Place], Zeros[Place]}.value(Codes[Column * K + Row]);
}

void GroupCodes::round(const ProductWeights &W) {
  for (int64_t Row = 0; Row < K; ++Row)
    for (int64_t Column = 0; Column < N; ++Column)
      Codes[Column * K + Row] = nearest(Row, Column, W.row(Row)[Column]);
}

double graph::decibelsOf(const ProductWeights &W, const GroupCodes &Codes,
                         ArrayRef<float> Power) {
  double Signal = 0, Noise = 0;
  for (int64_t K = 0; K < W.K; ++K) {
    double Own = 0, Error = 0;
    for (int64_t N = 0; N < W.N; ++N) {
      double Number = W.row(K)[N], Lost = Number - Codes.value(K, N);
      Own += Number * Number;
      Error += Lost * Lost;
    }
    double P = Power.empty() ? 1 : Power[K];
    Signal += P * Own;
    Noise += P * Error;
  }
  return decibels(Signal, Noise);
}

std::vector<float> graph::powerOf(Operation *Product, const ProductWeights &W) {
  std::optional<OperandStatistics> Of = statisticsOf(Product);
  std::vector<float> Power;
  if (Of && int64_t(Of->Rms.size()) == W.K)
    for (float Rms : Of->Rms)
      Power.push_back(Rms * Rms);
  return Power;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static Value weightOf(OpBuilder &B, Location Loc, SymbolicTensorType Ty,
                      std::vector<uint8_t> Bytes, const WeightWriter &Write) {
  if (Write)
    return WeightOp::create(B, Loc, Ty, Write(Ty, std::move(Bytes)),
                            B.getArrayAttr({}));
  SmallVector<int64_t> Sizes;
  for (const Expr &E : Ty.getDims())
    Sizes.push_back(*E.asConstant());
  ArrayRef<char> Raw(reinterpret_cast<const char *>(Bytes.data()),
                     Bytes.size());
  return ConstantOp::create(
      B, Loc,
      DenseElementsAttr::getFromRawBuffer(
          RankedTensorType::get(Sizes, Ty.getElementType()), Raw));
}

void graph::readCodes(MatmulOp Product, const GroupCodes &Codes,
                      const WeightWriter &Write) {
  OpBuilder B(Product);
  Location Loc = Product.getLoc();
  auto Unsigned = [&](unsigned Bits) {
    return IntegerType::get(B.getContext(), Bits, IntegerType::Unsigned);
  };
  int64_t Count = int64_t(Codes.Codes.size()), Groups = Codes.groups();
  std::vector<uint8_t> Packed(llvm::divideCeil(Count, 2));
  for (int64_t I = 0; I < Count; ++I)
    Packed[I / 2] |= uint8_t(Codes.Codes[I] << (I % 2 * 4));
  const auto *First = reinterpret_cast<const uint8_t *>(Codes.Scales.data());
  std::vector<uint8_t> Scales(First,
                              First + Codes.Scales.size() * sizeof(float));
  auto Type = [](ArrayRef<Expr> Dims, mlir::Type Element) {
    return SymbolicTensorType::get(Dims, Element);
  };
  SymbolicTensorType Line = Type({Expr(int64_t(Packed.size()))}, Unsigned(8));
  Value Bytes = weightOf(B, Loc, Line, std::move(Packed), Write);
  Value C = UnpackOp::create(
      B, Loc, Type({Expr(Codes.N), Expr(Codes.K)}, Unsigned(4)), Bytes);
  Expr Lines[] = {Expr(Codes.N), Expr(Groups)};
  Value S =
      weightOf(B, Loc, Type(Lines, B.getF32Type()), std::move(Scales), Write);
  Value Z = weightOf(B, Loc, Type(Lines, Unsigned(8)), Codes.Zeros, Write);
  SymbolicTensorType Was = typeOf(Product.getB());
  Value W =
      DequantiseOp::create(B, Loc, Was.withDims({Expr(Codes.N), Expr(Codes.K)}),
                           C, S, Z, ArrayRef<int64_t>{1, Codes.Group});
  Product.getBMutable().assign(
      TransposeOp::create(B, Loc, W, ArrayRef<int64_t>{1, 0}));
}
