//===- Features.cpp - Import of features of signals and of tokens ---------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

//===----------------------------------------------------------------------===//
// MelWeightMatrix
//===----------------------------------------------------------------------===//

/// 2595 * log10(1 + f / 700), in f64: a bin's number is rounded down.
static Value melOf(NodeImport &N, Value Frequency) {
  Value Ratio = N.addScalar(N.mulScalar(Frequency, 1.0 / 700), 1);
  return N.mulScalar(N.log(Ratio), 2595 / std::log(10.0));
}

/// The two sizes: bins of the spectrum and of the scale.
static std::optional<Dims> melSizes(NodeImport &N) {
  std::optional<Dims> Declared = N.declaredSizes(0);
  if ((!N.contents(0) || !N.contents(1)) && Declared && Declared->size() == 2)
    return Declared;
  std::optional<std::vector<int64_t>> Bins = N.knownInts(0, "num_mel_bins");
  std::optional<std::vector<int64_t>> Length = N.knownInts(1, "dft_length");
  if (!Bins || !Length)
    return std::nullopt;
  if (Bins->size() == 1 && Length->size() == 1 && Bins->front() >= 0 &&
      Length->front() >= 1)
    return Dims{Expr(Length->front() / 2 + 1), Expr(Bins->front())};
  N.fail(Code::ImportShape,
         "num_mel_bins and dft_length should be positive numbers");
  return std::nullopt;
}

static void importMelWeights(NodeImport &N) {
  int64_t To = N.intAttribute("output_datatype", 1);
  N.expectInputs(5, 5);
  Type F = N.builder().getF64Type();
  Value V[5];
  for (size_t I = 0; I < 5; ++I) {
    V[I] = N.input(I);
    if (V[I])
      V[I] = N.cast(N.reshape(V[I], {}), F);
  }
  Type Element = elementType(To)
                     ? graphType(N.builder().getContext(), *elementType(To))
                     : Type();
  if (!Element)
    N.fail(Code::ImportElementType,
           "attribute 'output_datatype' is " +
               elementTypeName(static_cast<ElementType>(To)));
  std::optional<Dims> Sizes = N.bad() ? std::nullopt : melSizes(N);
  if (!Sizes)
    return;
  Expr Spectrum = (*Sizes)[0], Bins = (*Sizes)[1];
  Value Low = melOf(N, V[3]), High = melOf(N, V[4]);
  Value Count = N.sizeScalar(Bins + 2, F);
  Value Step = N.div(N.sub(High, Low), Count);
  Value Mel = N.add(N.mul(N.iota({Bins + 2}, 0, F), Step), Low);
  Value Frequency = N.mulScalar(
      N.addScalar(N.exp(N.mulScalar(Mel, std::log(10.0) / 2595)), -1), 700);
  Value Places =
      N.unary<FloorOp>(N.div(N.mul(Frequency, N.addScalar(V[1], 1)), V[2]));
  auto Corner = [&](int64_t I) { return N.sliceAxis(Places, 0, I, Bins); };
  Value Left = Corner(0), Centre = Corner(1), Right = Corner(2);
  Value At = N.iota({Spectrum, Expr(1)}, 0, F);
  Value Zero = N.scalar(0, F), One = N.scalar(1, F);
  Value Rise = N.sub(Centre, Left), Fall = N.sub(Right, Centre);
  auto Both = [&](Value A, Value C) { return N.binary<AndOp>(A, C); };
  Value Rises = Both(N.compare(Predicate::ge, At, Left),
                     N.compare(Predicate::le, At, Centre));
  Value Falls = Both(N.compare(Predicate::ge, At, Centre),
                     N.compare(Predicate::lt, At, Right));
  // Where a triangle has no left side, its peak alone is 1.
  Value Up = N.select(N.compare(Predicate::eq, Rise, Zero), One,
                      N.div(N.sub(At, Left), N.max(Rise, One)));
  Value Down = N.div(N.sub(Right, At), N.max(Fall, One));
  Value Y = N.select(Falls, Down, N.select(Rises, Up, Zero));
  N.result(0, N.cast(Y, Element));
}

//===----------------------------------------------------------------------===//
// TfIdfVectorizer
//===----------------------------------------------------------------------===//

namespace {
/// The n-grams of one length.
struct Grams {
  int64_t Length = 0;
  std::vector<int64_t> Tokens; ///< [count, Length]
  size_t count() const { return Tokens.size() / size_t(Length); }
};
} // namespace

/// How often each n-gram stands in the rows of `X`, [batch, tokens]; `Skip`
/// tokens lie between two of its tokens.
static Value occurrences(NodeImport &N, Value X, const Grams &G, int64_t Skip) {
  int64_t Tokens = *N.dims(X)[1].asConstant();
  int64_t Places = Tokens - (G.Length - 1) * (Skip + 1);
  auto Count = static_cast<int64_t>(G.count());
  if (Places < 1)
    return {};
  Value Found;
  for (int64_t I = 0; I < G.Length; ++I) {
    std::vector<int64_t> Column;
    Column.reserve(static_cast<size_t>(Count));
    for (int64_t J = 0; J < Count; ++J)
      Column.push_back(G.Tokens[static_cast<size_t>(J * G.Length + I)]);
    Value Wanted = N.intVector(Column, N.i64());
    Value Have = N.sliceAxis(X, 1, I * (Skip + 1), Places);
    Value Same = N.compare(Predicate::eq, N.unsqueeze(Have, {2}), Wanted);
    Found = Found ? N.binary<AndOp>(Found, Same) : Same;
  }
  return N.reduce(ReduceKind::sum, N.cast(Found, N.f32()), {1});
}

/// The pool as n-grams by length; empty after a report.
static std::vector<Grams> readPool(NodeImport &N) {
  Ints Starts = N.intsAttribute("ngram_counts").value_or(Ints());
  Ints Pool = N.intsAttribute("pool_int64s").value_or(Ints());
  std::vector<Grams> Result;
  bool Fits = !Starts.empty() && Starts.front() == 0;
  for (size_t I = 0; Fits && I < Starts.size(); ++I) {
    auto Whole = static_cast<int64_t>(Pool.size());
    int64_t End = I + 1 < Starts.size() ? Starts[I + 1] : Whole;
    Grams G{static_cast<int64_t>(I) + 1, {}};
    Fits = Starts[I] >= 0 && Starts[I] <= End && End <= Whole &&
           (End - Starts[I]) % G.Length == 0;
    if (Fits)
      G.Tokens.assign(Pool.begin() + Starts[I], Pool.begin() + End);
    Result.push_back(G);
  }
  if (Fits)
    return Result;
  N.fail(Code::ImportAttributeValue,
         "attributes 'ngram_counts' and 'pool_int64s' do not fit each other");
  return {};
}

static void importTfIdf(NodeImport &N) {
  std::string Mode = N.stringAttribute("mode", "");
  int64_t Least = N.requiredInt("min_gram_length");
  int64_t Most = N.requiredInt("max_gram_length");
  int64_t Skips = N.requiredInt("max_skip_count");
  Ints Columns = N.intsAttribute("ngram_indexes").value_or(Ints());
  std::optional<std::vector<double>> Given = N.floatsAttribute("weights");
  N.expectInputs(1, 1);
  if (N.hasAttribute("pool_strings")) {
    N.fail(Code::ImportUnsupported,
           "counts strings, which kpc cannot compute with",
           "cut the model in front of its text operators, and give the rest "
           "the counts as an input; pool_int64s, of numbers, compiles");
    return;
  }
  std::vector<Grams> Pool = readPool(N);
  Value X = N.input(0);
  if (N.bad())
    return;
  bool Flat = N.rank(X) == 1;
  if (Flat)
    X = N.unsqueeze(X, {0});
  size_t Total = 0;
  for (const Grams &G : Pool)
    Total += G.count();
  if (N.rank(X) != 2 || Columns.size() != Total || Total == 0 ||
      (Given && Given->size() != Total) ||
      llvm::any_of(Columns, [](int64_t C) { return C < 0 || C > 1 << 24; })) {
    N.fail(Code::ImportShape, "the input should have rank 1 or 2, and "
                              "ngram_indexes and weights one for each n-gram");
    return;
  }
  if (!N.dims(X)[1].asConstant()) {
    N.unsupportedOn("counts n-grams", N.dims(X)[1]);
    return;
  }
  if (Mode != "TF" && Mode != "IDF" && Mode != "TFIDF") {
    N.fail(Code::ImportAttributeValue,
           "attribute 'mode' is '" + printable(Mode) + "'");
    return;
  }
  X = N.cast(X, N.i64());
  SmallVector<Value> Counts;
  for (const Grams &G : Pool) {
    if (G.Tokens.empty())
      continue;
    Value Sum = N.full(0, {N.dims(X)[0], Expr(int64_t(G.count()))}, N.f32());
    bool Counted = G.Length >= Least && G.Length <= Most;
    for (int64_t S = 0; Counted && S <= (G.Length == 1 ? 0 : Skips); ++S)
      if (Value Found = occurrences(N, X, G, S))
        Sum = N.add(Sum, Found);
      else
        break;
    Counts.push_back(Sum);
  }
  Value Y = N.concat(Counts, 1);
  if (Mode == "IDF" && Y)
    Y = N.min(Y, N.like(1, Y));
  if (Mode != "TF" && Given)
    Y = N.mul(Y, N.floatVector(*Given, N.f32()));
  // Each column of the result is an n-gram, or zeros.
  int64_t Width = *llvm::max_element(Columns) + 1;
  std::vector<int64_t> From(static_cast<size_t>(Width),
                            static_cast<int64_t>(Total));
  for (size_t I = 0; I < Total; ++I)
    From[static_cast<size_t>(Columns[I])] = static_cast<int64_t>(I);
  Y = N.concat({Y, N.full(0, {N.dims(X)[0], Expr(1)}, N.f32())}, 1);
  Y = N.gather(Y, N.data(Tensor::ofIntegers("columns", {Width}, From)), 1);
  N.result(0, Flat && Y ? N.reshape(Y, {Expr(Width)}) : Y);
}

//===----------------------------------------------------------------------===//
// What only a host could do
//===----------------------------------------------------------------------===//

template <bool Images> static void refuse(NodeImport &N) {
  if (Images)
    N.fail(Code::ImportUnsupported,
           "decodes a compressed image, and kpc has no decoders",
           "decode the image in front of the model, and give the model pixels");
  else
    N.fail(Code::ImportUnsupported,
           "works on strings, which kpc cannot compute with",
           "start the model after its text operators "
           "(onnx.utils.extract_model), and give it their result");
}

ArrayRef<Rule> featureRules() {
  static const Rule Rows[] = {
      {"", "MelWeightMatrix", 17, Newest, importMelWeights,
       "the sizes must be known when compiling, or declared"},
      {"", "TfIdfVectorizer", 9, Newest, importTfIdf,
       "numbers only; the number of tokens must be known when compiling"},
  };
  return Rows;
}

std::optional<RuleFunction> refusalOf(std::string_view Domain,
                                      std::string_view Op) {
  if (Domain == "com.microsoft" && Op == "Tokenizer")
    return refuse<false>;
  if (!Domain.empty())
    return std::nullopt;
  if (Op == "ImageDecoder")
    return refuse<true>;
  if (llvm::is_contained(
          {"StringConcat", "StringNormalizer", "StringSplit", "RegexFullMatch"},
          Op))
    return refuse<false>;
  return std::nullopt;
}

} // namespace kpc::onnx
