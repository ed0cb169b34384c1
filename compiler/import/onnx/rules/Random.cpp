//===- Random.cpp - Import of operators that draw random numbers ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The generator is Philox 2x32-10 (Salmon et al., "Parallel random numbers: as
/// easy as 1, 2, 3", 2011). An element's number is a function of its place and
/// the seed, so the order of computation does not matter, and no state is kept:
/// each run draws the same numbers.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/rules/Random.h"
#include "compiler/import/onnx/Rules.h"

#include "llvm/ADT/bit.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

uint32_t seedOf(NodeImport &N) {
  if (auto It = N.node().Attributes.find("seed");
      It != N.node().Attributes.end()) {
    // Dropout's seed is an integer, that of all others a float.
    if (It->second.Is == Attribute::Kind::Int)
      return static_cast<uint32_t>(N.intAttribute("seed", 0));
    return llvm::bit_cast<uint32_t>(
        static_cast<float>(N.floatAttribute("seed", 0)));
  }
  // FNV-1a: the same for a model wherever it is compiled.
  uint32_t Hash = 2166136261U;
  if (!N.node().Outputs.empty())
    for (unsigned char C : N.node().Outputs[0])
      Hash = (Hash ^ C) * 16777619U;
  return Hash;
}

namespace {
/// Two words of 32 random bits for each element, in i64.
struct Words {
  Value First, Second;
};
} // namespace

/// Each element's place in memory: of all its indices, so that what is drawn
/// has the sizes of its users and no reshape stands between them.
static Value placesOf(NodeImport &N, ArrayRef<Expr> Sizes) {
  Value Place;
  Expr Below(1);
  for (size_t I = Sizes.size(); I-- > 0;) {
    if (Sizes[I] != Expr(1)) {
      Value Index = N.iota(Dims(Sizes), int64_t(I), N.i64());
      if (Below != Expr(1))
        Index = N.mul(Index, N.sizeScalar(Below, N.i64()));
      Place = Place ? N.add(Index, Place) : Index;
    }
    Below = Below * Sizes[I];
  }
  if (Place || Sizes.empty())
    return Place;
  return N.iota(Dims(Sizes), 0, N.i64());
}

static Words philox(NodeImport &N, ArrayRef<Expr> Sizes, uint32_t Seed) {
  constexpr int64_t Multiplier = 0xD256D193, Weyl = 0x9E3779B9;
  constexpr int64_t Low32 = 0xFFFFFFFF;
  constexpr int Rounds = 10;
  auto Number = [&](int64_t V) { return N.scalarInt(V, N.i64()); };
  // One number without dims: the only one of a row.
  Value Place = placesOf(N, Sizes.empty() ? ArrayRef<Expr>(Expr(1)) : Sizes);
  Value A = N.binary<AndOp>(Place, Number(Low32));
  Value C = N.binary<ShrOp>(Place, Number(32));
  int64_t Key = Seed;
  for (int R = 0; R < Rounds; ++R) {
    // Below 2^64: the wrapping product has all its bits.
    Value Product = N.mul(A, Number(Multiplier));
    Value High = N.binary<ShrOp>(Product, Number(32));
    A = N.binary<XorOp>(N.binary<XorOp>(High, Number(Key)), C);
    C = N.binary<AndOp>(Product, Number(Low32));
    Key = (Key + Weyl) & Low32;
  }
  if (Sizes.empty())
    return {N.reshape(A, Sizes), N.reshape(C, Sizes)};
  return {A, C};
}

/// So many of a word's bits as a number of [0, 1) that `Element` holds.
static Value fraction(NodeImport &N, Value Word, int Bits, Type Element) {
  Value Kept = N.binary<ShrOp>(Word, N.scalarInt(32 - Bits, N.i64()));
  return N.mulScalar(N.cast(Kept, Element), std::ldexp(1.0, -Bits));
}

Value uniformNumbers(NodeImport &N, ArrayRef<Expr> Sizes, Type Element,
                     uint32_t Seed) {
  Words W = philox(N, Sizes, Seed);
  if (!W.First)
    return {};
  if (!Element.isF64()) {
    // What the type holds: a rounded fraction might be 1.
    int Bits = Element.isBF16() ? 8 : Element.isF16() ? 11 : 24;
    return N.cast(fraction(N, W.First, Bits, N.f32()), Element);
  }
  // 53 bits: 27 of one word above 26 of the other.
  Value Low = fraction(N, W.Second, 26, Element);
  Value High = fraction(N, W.First, 27, Element);
  return N.add(High, N.mulScalar(Low, std::ldexp(1.0, -27)));
}

/// Box and Muller: a radius and an angle are independent.
static Value normalNumbers(NodeImport &N, ArrayRef<Expr> Sizes, Type Element,
                           uint32_t Seed) {
  Words W = philox(N, Sizes, Seed);
  if (!W.First)
    return {};
  Type Wide = Element.isF64() ? Element : N.f32();
  int Bits = Element.isF64() ? 32 : 24;
  // (0, 1]: the logarithm of 0 is not finite.
  Value Part =
      N.addScalar(fraction(N, W.First, Bits, Wide), std::ldexp(1.0, -Bits));
  Value Radius = N.sqrt(N.mulScalar(N.log(Part), -2));
  Value Angle = N.mulScalar(fraction(N, W.Second, Bits, Wide), 2 * M_PI);
  return N.cast(N.mul(Radius, N.unary<CosOp>(Angle)), Element);
}

//===----------------------------------------------------------------------===//
// The operators
//===----------------------------------------------------------------------===//

/// The type that 'dtype' names; null after a report.
static Type drawnType(NodeImport &N, Type Default, bool Floats) {
  if (!N.hasAttribute("dtype"))
    return Default;
  int64_t Code = N.intAttribute("dtype", 1);
  Type Element = elementType(Code)
                     ? graphType(N.builder().getContext(), *elementType(Code))
                     : Type();
  if (Element && (!Floats || graph::isFloat(Element)))
    return Element;
  N.fail(Code::ImportElementType,
         "draws " + elementTypeName(static_cast<ElementType>(Code)) +
             ", but kpc draws f16, bf16, f32 and f64 here");
  return {};
}

/// Sizes of what a node draws: the attribute's, or those of its input.
static std::optional<Dims> drawnSizes(NodeImport &N, bool Like) {
  N.expectInputs(Like ? 1 : 0, Like ? 1 : 0);
  if (Like) {
    Value X = N.input(0);
    return X ? std::optional(Dims(N.dims(X))) : std::nullopt;
  }
  std::optional<Ints> Shape = N.intsAttribute("shape");
  if (Shape && llvm::all_of(*Shape, [](int64_t S) { return S >= 0; }))
    return Dims(Shape->begin(), Shape->end());
  N.fail(Code::ImportAttributeMissing,
         "attribute 'shape' is missing, or has a negative size");
  return std::nullopt;
}

template <bool Normal, bool Like> static void importRandom(NodeImport &N) {
  double A = Normal ? N.floatAttribute("mean", 0) : N.floatAttribute("low", 0);
  double C =
      Normal ? N.floatAttribute("scale", 1) : N.floatAttribute("high", 1);
  uint32_t Seed = seedOf(N);
  std::optional<Dims> Sizes = drawnSizes(N, Like);
  if (N.bad())
    return;
  Type Element = drawnType(N, Like ? N.element(N.input(0)) : N.f32(), true);
  if (!Element)
    return;
  if (!graph::isFloat(Element)) {
    N.fail(Code::ImportElementType, "the input's type is " + typeText(Element) +
                                        "; say with 'dtype' what to draw");
    return;
  }
  Value Drawn = Normal ? normalNumbers(N, *Sizes, Element, Seed)
                       : uniformNumbers(N, *Sizes, Element, Seed);
  double Factor = Normal ? C : C - A;
  N.result(0, N.addScalar(N.mulScalar(Drawn, Factor), A));
}

static void importBernoulli(NodeImport &N) {
  uint32_t Seed = seedOf(N);
  N.expectInputs(1, 1);
  Value P = N.input(0);
  if (N.bad())
    return;
  Type Element = drawnType(N, N.element(P), false);
  if (!Element)
    return;
  P = N.cast(P, N.f32());
  Value Drawn = uniformNumbers(N, N.dims(P), N.f32(), Seed);
  N.result(0, N.cast(N.compare(Predicate::lt, Drawn, P), Element));
}

static void importMultinomial(NodeImport &N) {
  uint32_t Seed = seedOf(N);
  int64_t Samples = N.intAttribute("sample_size", 1);
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (N.bad())
    return;
  if (N.rank(X) != 2 || Samples < 1) {
    N.fail(Code::ImportRank,
           "needs logarithms of rank 2 and a positive sample_size");
    return;
  }
  Type Element = drawnType(N, N.i32(), false);
  if (!Element)
    return;
  // How many classes the drawn share of the sum lies behind.
  Value P = N.softmax(N.cast(X, N.f32()), {1}, /*Logarithm=*/false);
  Value Below = N.unsqueeze(N.cumsum(P, 1, false, false), {1});
  Dims Sizes = {N.dims(X)[0], Expr(Samples)};
  Value Drawn = N.unsqueeze(uniformNumbers(N, Sizes, N.f32(), Seed), {2});
  Value Passed = N.cast(N.compare(Predicate::le, Below, Drawn), N.i64());
  Value Class = N.reduce(ReduceKind::sum, Passed, {2});
  // The shares' sum may be rounded to less than 1.
  Value Last = N.sizeScalar(N.dims(X)[1] - 1, N.i64());
  N.result(0, N.cast(N.min(Class, Last), Element));
}

ArrayRef<Rule> randomRules() {
  static constexpr std::string_view EachRun =
      "each run draws the same numbers, with and without a seed";
  static const Rule Rows[] = {
      {"", "RandomUniform", 1, Newest, importRandom<false, false>, EachRun},
      {"", "RandomUniformLike", 1, Newest, importRandom<false, true>, EachRun},
      {"", "RandomNormal", 1, Newest, importRandom<true, false>, EachRun},
      {"", "RandomNormalLike", 1, Newest, importRandom<true, true>, EachRun},
      {"", "Bernoulli", 15, Newest, importBernoulli, EachRun},
      {"", "Multinomial", 7, Newest, importMultinomial, EachRun},
  };
  return Rows;
}

} // namespace kpc::onnx
