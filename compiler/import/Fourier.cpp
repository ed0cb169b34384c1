//===- Fourier.cpp - Transforms of a known length -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Fourier.h"

#include <cmath>
#include <complex>

using namespace kpc::graph;

namespace kpc::frontend {

using Number = std::complex<double>;

/// A factor of a longer transform is at most as long.
static constexpr int64_t LongestProduct = 512;
/// Multiply-adds of a row up to which one product is no slower on Tensor Cores
/// than steps are, which move every number several times (estimated): 1024
/// reals, as those of speech are, or 512 complex numbers.
static constexpr int64_t MostProducts = int64_t(1) << 21;
/// One product is less than the three transforms of a convolution up to here.
static constexpr int64_t LongestPrime = 2048;

bool isTransformable(const Expr &Length) {
  int64_t L = Length.asConstant().value_or(0);
  return L >= 1 && L <= LongestTransform;
}

/// exp(±2 pi i Power / Length)
static Number root(int64_t Power, int64_t Length, bool Inverse) {
  double Angle = 2 * M_PI * double(Power % Length) / double(Length);
  return {std::cos(Angle), (Inverse ? 1 : -1) * std::sin(Angle)};
}

static Value table(Emitter &N, ArrayRef<int64_t> Shape, Type T,
                   ArrayRef<double> Values) {
  auto Ty = mlir::RankedTensorType::get(Shape, T);
  if (T.isF64())
    return N.constant(mlir::DenseElementsAttr::get(Ty, Values));
  std::vector<float> Single(Values.begin(), Values.end());
  return N.constant(mlir::DenseElementsAttr::get(Ty, ArrayRef(Single)));
}

/// `V` with other sizes in place of the last `Count`.
static Value lastAs(Emitter &N, Value V, size_t Count,
                    std::initializer_list<int64_t> Last) {
  if (!V)
    return V;
  Dims Sizes(Emitter::dims(V).drop_back(Count));
  Sizes.append(Last.begin(), Last.end());
  return N.reshape(V, Sizes);
}

/// [..., Rows(, 2)] by a matrix of complex numbers, as one of reals that has
/// four for each: [..., Columns, 2].
static Value product(Emitter &N, Value X, bool IsComplex, int64_t Rows,
                     int64_t Columns,
                     llvm::function_ref<Number(int64_t, int64_t)> At) {
  if (!X)
    return X;
  int64_t Parts = IsComplex ? 2 : 1;
  std::vector<double> Values(static_cast<size_t>(Rows * Parts * Columns * 2));
  for (int64_t J = 0; J < Rows; ++J)
    for (int64_t K = 0; K < Columns; ++K) {
      Number C = At(J, K);
      double *To = &Values[static_cast<size_t>((J * Parts * Columns + K) * 2)];
      To[0] = C.real();
      To[1] = C.imag();
      if (!IsComplex)
        continue;
      To[Columns * 2] = -C.imag();
      To[Columns * 2 + 1] = C.real();
    }
  Value M = table(N, {Rows * Parts, Columns * 2}, Emitter::element(X), Values);
  Value Flat = lastAs(N, X, IsComplex ? 2 : 1, {Rows * Parts});
  return lastAs(N, N.matmul(Flat, M), 1, {Columns, 2});
}

/// [..., Shape(, 2)] times complex numbers, one for each: [..., Shape, 2].
static Value times(Emitter &N, Value X, bool IsComplex, ArrayRef<int64_t> Shape,
                   ArrayRef<Number> Factors) {
  if (!X)
    return X;
  // (re, im) c + (im, re) (-s, s), or of reals re (c, s).
  std::vector<double> Cosines, Sines, Both;
  for (Number F : Factors) {
    Cosines.push_back(F.real());
    Sines.insert(Sines.end(), {-F.imag(), F.imag()});
    Both.insert(Both.end(), {F.real(), F.imag()});
  }
  Ints One(Shape), Two(Shape);
  One.push_back(1);
  Two.push_back(2);
  Type T = Emitter::element(X);
  int64_t Last = N.rank(X);
  if (!IsComplex)
    return N.mul(N.unsqueeze(X, {Last}), table(N, Two, T, Both));
  Value Turned = N.mul(N.reverse(X, Last - 1), table(N, Two, T, Sines));
  return N.add(N.mul(X, table(N, One, T, Cosines)), Turned);
}

/// The last two axes, in front of the pair if there is one, in turn.
static Value swapLast(Emitter &N, Value X, bool IsComplex) {
  if (!X)
    return X;
  Ints Perm = llvm::to_vector<6>(llvm::seq<int64_t>(0, N.rank(X)));
  size_t End = Perm.size() - (IsComplex ? 1 : 0);
  std::swap(Perm[End - 1], Perm[End - 2]);
  return N.transpose(X, Perm);
}

static Value firstBins(Emitter &N, Value X, int64_t Bins) {
  return X ? N.sliceAxis(X, N.rank(X) - 2, 0, Expr(Bins)) : X;
}

/// Zeros after the elements of an axis.
static Value longer(Emitter &N, Value X, int64_t Axis, int64_t Length) {
  if (!X)
    return X;
  Ints None(static_cast<size_t>(N.rank(X)), 0), High = None;
  auto At = static_cast<size_t>(Axis);
  High[At] = Length - *Emitter::dims(X)[At].asConstant();
  return N.pad(X, N.like(0, X), None, High, None);
}

//===----------------------------------------------------------------------===//
// How a length is taken apart
//===----------------------------------------------------------------------===//

/// Whether no prime factor is longer than a product.
static bool hasSmallFactors(int64_t Length) {
  for (int64_t F = 2; F <= LongestProduct; ++F)
    while (Length % F == 0)
      Length /= F;
  return Length == 1;
}

/// The factor of the first step: both about the same where two suffice, else
/// one that Tensor Cores like.
static int64_t firstFactor(int64_t Length) {
  constexpr int64_t Likely = 128;
  int64_t Best = 0, Largest = 0, Least = 0;
  for (int64_t F = 2; F <= LongestProduct; ++F) {
    if (Length % F != 0)
      continue;
    int64_t Rest = Length / F;
    if (Rest <= LongestProduct && (!Best || F + Rest < Best + Length / Best))
      Best = F;
    Largest = F <= Likely ? F : Largest;
    Least = Least ? Least : F;
  }
  return Best ? Best : Largest ? Largest : Least;
}

//===----------------------------------------------------------------------===//
// Convolution with a chirp (Bluestein)
//===----------------------------------------------------------------------===//

/// The transform of a power of two numbers, for tables.
static void transformNumbers(std::vector<Number> &X) {
  size_t Count = X.size();
  for (size_t I = 1, J = 0; I < Count; ++I) {
    size_t Bit = Count >> 1;
    for (; J & Bit; Bit >>= 1)
      J ^= Bit;
    J ^= Bit;
    if (I < J)
      std::swap(X[I], X[J]);
  }
  for (size_t Span = 2; Span <= Count; Span *= 2)
    for (size_t K = 0; K < Span / 2; ++K) {
      Number W = root(int64_t(K), int64_t(Span), /*Inverse=*/false);
      for (size_t I = K; I < Count; I += Span) {
        Number A = X[I], C = X[I + Span / 2] * W;
        X[I] = A + C;
        X[I + Span / 2] = A - C;
      }
    }
}

/// With j k = (j² + k² - (k - j)²) / 2 the sum over j is a convolution.
static Value chirped(Emitter &N, Value X, bool IsComplex, int64_t Length,
                     int64_t Bins, bool Inverse, double Scale) {
  int64_t Long = 1;
  while (Long < Length + Bins - 1)
    Long *= 2;
  // exp(∓pi i j² / Length)
  auto Chirp = [&](int64_t J) {
    return root(J * J % (2 * Length), 2 * Length, Inverse);
  };
  std::vector<Number> Before, After, Filter(static_cast<size_t>(Long));
  for (int64_t J = 0; J < Length; ++J)
    Before.push_back(Chirp(J));
  for (int64_t K = 0; K < Bins; ++K)
    After.push_back(Scale / double(Long) * Chirp(K));
  for (int64_t K = 0; K < Bins; ++K)
    Filter[static_cast<size_t>(K)] = std::conj(Chirp(K));
  for (int64_t J = 1; J < Length; ++J)
    Filter[static_cast<size_t>(Long - J)] = std::conj(Chirp(J));
  transformNumbers(Filter);
  Value Y = times(N, X, IsComplex, {Length}, Before);
  Y = longer(N, Y, Y ? N.rank(Y) - 2 : 0, Long);
  Y = fourier(N, Y, true, Long, /*Inverse=*/false, 1);
  Y = times(N, Y, true, {Long}, Filter);
  Y = fourier(N, Y, true, Bins, /*Inverse=*/true, 1);
  return times(N, Y, true, {Bins}, After);
}

//===----------------------------------------------------------------------===//
// Transforms
//===----------------------------------------------------------------------===//

/// Element j = j1 L2 + j2 and bin k = k1 + L1 k2 (Cooley and Tukey): transforms
/// over j1, a factor for each j2 and k1, and transforms over j2.
static Value inTwoSteps(Emitter &N, Value X, bool IsComplex, int64_t Length,
                        int64_t Bins, bool Inverse, double Scale) {
  int64_t First = firstFactor(Length), Second = Length / First;
  size_t Parts = IsComplex ? 2 : 1;
  Value Y = IsComplex ? lastAs(N, X, Parts, {First, Second, 2})
                      : lastAs(N, X, Parts, {First, Second});
  Y = swapLast(N, Y, IsComplex);
  Y = product(N, Y, IsComplex, First, First, [&](int64_t J, int64_t K) {
    return root(J * K, First, Inverse);
  });
  std::vector<Number> Factors;
  for (int64_t J = 0; J < Second; ++J)
    for (int64_t K = 0; K < First; ++K)
      Factors.push_back(root(J * K, Length, Inverse));
  Y = swapLast(N, times(N, Y, true, {Second, First}, Factors), true);
  int64_t Columns = (Bins + First - 1) / First;
  Y = swapLast(N, fourier(N, Y, true, Columns, Inverse, Scale), true);
  Y = lastAs(N, Y, 3, {Columns * First, 2});
  return Columns * First == Bins ? Y : firstBins(N, Y, Bins);
}

Value fourier(Emitter &N, Value X, bool IsComplex, int64_t Bins, bool Inverse,
              double Scale) {
  if (!X)
    return {};
  Type Stored = Emitter::element(X);
  if (!Stored.isF64())
    X = N.cast(X, N.f32());
  size_t Axis = Emitter::dims(X).size() - (IsComplex ? 2 : 1);
  int64_t Length = *Emitter::dims(X)[Axis].asConstant();
  bool Small = hasSmallFactors(Length);
  int64_t Products = Length * Bins * (IsComplex ? 4 : 2);
  Value Y;
  if (Products <= MostProducts || (!Small && Length <= LongestPrime))
    Y = product(N, X, IsComplex, Length, Bins, [&](int64_t J, int64_t K) {
      return Scale * root(J * K, Length, Inverse);
    });
  else if (Small)
    Y = inTwoSteps(N, X, IsComplex, Length, Bins, Inverse, Scale);
  else
    Y = chirped(N, X, IsComplex, Length, Bins, Inverse, Scale);
  return N.cast(Y, Stored);
}

Value realSignal(Emitter &N, Value X, int64_t Length, double Scale) {
  if (!X)
    return {};
  int64_t Bins = Length / 2 + 1, Axis = N.rank(X) - 2;
  Type Stored = Emitter::element(X);
  if (!Stored.isF64())
    X = N.cast(X, N.f32());
  if (Length * Length <= MostProducts) {
    // Real parts of products alone: [2 Bins, Length].
    std::vector<double> Values;
    for (int64_t K = 0; K < Bins; ++K)
      for (bool Imaginary : {false, true})
        for (int64_t J = 0; J < Length; ++J) {
          double Factor = (K == 0 || 2 * K == Length ? 1 : 2) * Scale;
          Number R = Factor * root(J * K, Length, /*Inverse=*/true);
          Values.push_back(Imaginary ? -R.imag() : R.real());
        }
    Value M = table(N, {Bins * 2, Length}, Emitter::element(X), Values);
    return N.cast(N.matmul(lastAs(N, X, 2, {Bins * 2}), M), Stored);
  }
  Value Mirror = N.reverse(N.sliceAxis(X, Axis, 1, Expr(Length - Bins)), Axis);
  Mirror = N.mul(Mirror, table(N, {2}, Emitter::element(X), {1, -1}));
  Value Y = fourier(N, N.concat({X, Mirror}, Axis), true, Length,
                    /*Inverse=*/true, Scale);
  if (!Y)
    return {};
  return N.cast(lastAs(N, N.sliceAxis(Y, Axis + 1, 0, 1), 2, {Length}), Stored);
}

} // namespace kpc::frontend
