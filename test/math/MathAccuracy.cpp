//===- MathAccuracy.cpp - The math expansion against the C library --------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs every function of functions.def, compiled as a kernel is, and compares
/// f32 with the C library's double, f64 with its long double.
///
///   math_accuracy [--full | --stride N] [--markdown] [--only name]
///                 [--table docs/math-accuracy.md]
///
/// --full takes all 2^32 inputs of the unary f32 functions; otherwise every
/// 257th, special values and their neighbours. Exit 1 where a bound is broken,
/// or where the table given promises less error than there is.
///
//===----------------------------------------------------------------------===//

#include "test/math/Reference.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using namespace kpc::mathtest;

static constexpr size_t Block = 4096;

extern "C" {
#define MATH_UNARY(Name, Op, Reference, Bound32, Bound64)                      \
  void Name##_f32(const float *, float *);                                     \
  void Name##_f64(const double *, double *);
#define MATH_BINARY(Name, Op, Reference, Bound32, Bound64)                     \
  void Name##_f32(const float *, const float *, float *);                      \
  void Name##_f64(const double *, const double *, double *);
#define MATH_EXACT(Name, Ops, From, To, Reference)                             \
  void Name(const void *, void *);
#define MATH_EXACT2(Name, Op, Type, Reference)                                 \
  void Name(const void *, const void *, void *);
#include "test/math/functions.def"
}

namespace {

uint64_t Stride = 257;
std::string Only;
bool Markdown = false;
bool Failed = false;
std::string Table;

struct Worst {
  double Ulp = 0;
  std::string At;
  uint64_t Count = 0;

  template <typename... T> void note(double Distance, T... Args) {
    ++Count;
    if (!(Distance > Ulp))
      return;
    Ulp = Distance;
    At.clear();
    char Text[64];
    ((snprintf(Text, sizeof(Text), "%s%a", At.empty() ? "" : ", ",
               double(Args)),
      At += Text),
     ...);
  }
};

/// Whether the table has a row for this function with the error found.
bool promised(const char *Name, const char *Type, double Ulp, double Bound) {
  if (Table.empty() || !*Type)
    return true;
  std::string Start = std::string("| ") + Name + " | " + Type + " | ";
  size_t Row = Table.find("\n" + Start);
  double Promise = 0, TableBound = 0;
  if (Row == std::string::npos ||
      sscanf(Table.c_str() + Row + 1 + Start.size(), "%lf | %lf", &Promise,
             &TableBound) != 2)
    return false;
  return Ulp < Promise + 0.001 && TableBound == Bound;
}

void report(const char *Name, const char *Type, const Worst &W, double Bound) {
  bool Bad = W.Ulp > Bound || !promised(Name, Type, W.Ulp, Bound);
  Failed |= Bad;
  if (Markdown)
    printf("| %s | %s | %.3f | %g | %llu |\n", Name, Type, W.Ulp, Bound,
           (unsigned long long)W.Count);
  else
    printf("%-10s %-4s max %8.3f ulp (bound %g) at %s, %llu inputs%s\n", Name,
           Type, W.Ulp, Bound, W.At.c_str(), (unsigned long long)W.Count,
           Bad ? "  FAILED" : "");
  fflush(stdout);
}

/// Where functions change their formula or their domain ends.
const double Landmarks[] = {0,         0x1p-149,
                            0x1p-126,  0x1p-1074,
                            0x1p-1022, 0x1p-24,
                            0x1p-12,   0.25,
                            0.3466,    0.41421,
                            0.5,       0.625,
                            0.70711,   0.75,
                            1,         1.41421,
                            1.5708,    2,
                            2.5,       3,
                            3.1416,    3.92,
                            4,         6,
                            9.01,      10,
                            18,        22,
                            26.6,      28,
                            40,        88.72,
                            88.7228,   89,
                            103.97,    104,
                            127,       128,
                            149,       150,
                            151,       709.78,
                            745.13,    1024,
                            1074,      0x1p+22,
                            0x1p+23,   0x1p+24,
                            0x1p+25,   0x1p+30,
                            0x1p+52,   0x1p+53,
                            0x1p+60,   0x1p+63,
                            0x1p+100,  0x1.fffffep+127,
                            0x1p+500,  0x1.fffffffffffffp+1023,
                            INFINITY,  NAN};

template <typename Float> std::vector<Float> landmarks(int Near) {
  using U = std::conditional_t<sizeof(Float) == 4, uint32_t, uint64_t>;
  std::vector<Float> All;
  for (double L : Landmarks)
    for (int I = -Near; I <= Near; ++I) {
      Float V = bitCast<Float>(U(bitCast<U>(Float(L)) + U(I)));
      All.push_back(V);
      All.push_back(-V);
    }
  return All;
}

/// Half with any bits, half of the sizes that functions differ on.
template <typename Float> Float randomFloat(Bits &B) {
  using U = std::conditional_t<sizeof(Float) == 4, uint32_t, uint64_t>;
  uint64_t R = B.next();
  if (R & 1)
    return bitCast<Float>(U(B.next()));
  Float M = Float(1) + Float(B.next() >> 11) * Float(0x1p-53);
  Float V = std::ldexp(M, int((R >> 8) % 24) - 13);
  return R & 2 ? -V : V;
}

/// Calls Use on every block of inputs; the last is filled up with zeros.
template <typename Float, typename MakeFn, typename UseFn>
void inBlocks(uint64_t Count, MakeFn Make, UseFn Use) {
  std::vector<Float> In(Block);
  for (uint64_t Done = 0; Done < Count; Done += Block) {
    size_t N = std::min<uint64_t>(Block, Count - Done);
    for (size_t I = 0; I != Block; ++I)
      In[I] = I < N ? Make(Done + I) : Float(0);
    Use(In, N);
  }
}

template <typename Float, typename Wide, typename Fn>
Worst measureUnary(void (*Kernel)(const Float *, Float *), Fn Reference) {
  Worst W;
  std::vector<Float> Out(Block);
  auto Compare = [&](const std::vector<Float> &In, size_t N) {
    Kernel(In.data(), Out.data());
    for (size_t I = 0; I != N; ++I)
      W.note(distanceInUlp(Out[I], Wide(Reference(Wide(In[I])))), In[I]);
  };
  auto Special = landmarks<Float>(40);
  inBlocks<Float>(
      Special.size(), [&](uint64_t I) { return Special[I]; }, Compare);
  Bits Random(7);
  if (sizeof(Float) == 4)
    inBlocks<Float>(
        ((uint64_t(1) << 32) + Stride - 1) / Stride,
        [&](uint64_t I) {
          return bitCast<Float>(
              std::conditional_t<sizeof(Float) == 4, uint32_t, uint64_t>(
                  I * Stride));
        },
        Compare);
  else
    inBlocks<Float>(
        Stride == 257 ? 400'000 : 20'000'000,
        [&](uint64_t) { return randomFloat<Float>(Random); }, Compare);
  return W;
}

template <typename Float, typename Wide, typename Fn>
Worst measureBinary(void (*Kernel)(const Float *, const Float *, Float *),
                    Fn Reference) {
  Worst W;
  std::vector<Float> X(Block), Out(Block);
  Bits Random(9);
  auto Special = landmarks<Float>(1);
  uint64_t Pairs = Special.size() * Special.size();
  uint64_t Count = Pairs + (Stride == 257 ? 1'000'000 : 30'000'000);
  uint64_t Next = 0;
  inBlocks<Float>(
      Count,
      [&](uint64_t I) {
        bool Random2 = I >= Pairs;
        X[Next++ % Block] =
            Random2 ? randomFloat<Float>(Random) : Special[I % Special.size()];
        return Random2 ? randomFloat<Float>(Random)
                       : Special[I / Special.size()];
      },
      [&](const std::vector<Float> &Y, size_t N) {
        Next = 0;
        Kernel(X.data(), Y.data(), Out.data());
        for (size_t I = 0; I != N; ++I)
          W.note(distanceInUlp(Out[I], Wide(Reference(Wide(X[I]), Wide(Y[I])))),
                 X[I], Y[I]);
      });
  return W;
}

//===----------------------------------------------------------------------===//
// Conversions and integer functions: every bit must agree
//===----------------------------------------------------------------------===//

template <typename T> T randomOf(Bits &B) {
  if constexpr (std::is_floating_point_v<T>) {
    // Numbers near the ties of the 16-bit formats among them.
    T V = randomFloat<T>(B);
    if constexpr (sizeof(T) == 8)
      if (B.next() % 2)
        V = bitCast<double>(bitCast<uint64_t>(V) & ~((uint64_t(1) << 40) - 1)) *
            (1 + T(int(B.next() % 3) - 1) * 0x1p-52);
    return V;
  } else if constexpr (std::is_integral_v<T>) {
    T V = T(T(B.next()) >> (B.next() % (8 * sizeof(T))));
    return B.next() % 2 ? V : T(V & T(~T(0) << (B.next() % 30)));
  } else {
    return T{uint16_t(B.next())};
  }
}

template <typename T> long double toWide(T V) {
  if constexpr (std::is_integral_v<T>)
    return V;
  else
    return valueOf(V);
}

template <typename T> bool same(T Got, long double Want) {
  long double G = valueOf(Got);
  if (std::isnan(Want))
    return std::isnan(G);
  return G == Want && std::signbit(G) == std::signbit(Want);
}

template <typename From, typename To, typename Fn>
void measureExact(const char *Name, void (*Kernel)(const void *, void *),
                  Fn Reference) {
  Worst W;
  std::vector<From> In(Block);
  std::vector<To> Out(Block);
  Bits Random(3);
  for (unsigned Round = 0; Round != 500; ++Round) {
    for (From &V : In)
      V = randomOf<From>(Random);
    Kernel(In.data(), Out.data());
    for (size_t I = 0; I != Block; ++I) {
      long double X = toWide(In[I]);
      W.note(same(Out[I], (long double)Reference(X)) ? 0 : INFINITY, X);
    }
  }
  report(Name, "", W, 0);
}

template <typename T, typename Fn>
void measureExact2(const char *Name,
                   void (*Kernel)(const void *, const void *, void *),
                   Fn Reference) {
  Worst W;
  std::vector<T> X(Block), Y(Block), Out(Block);
  Bits Random(5);
  for (unsigned Round = 0; Round != 200; ++Round) {
    for (size_t I = 0; I != Block; ++I) {
      X[I] = randomOf<T>(Random);
      Y[I] = randomOf<T>(Random);
    }
    Kernel(X.data(), Y.data(), Out.data());
    for (size_t I = 0; I != Block; ++I) {
      bool Same;
      if constexpr (std::is_integral_v<T>)
        Same = Out[I] == Reference(X[I], Y[I]);
      else
        Same = same(Out[I], Reference(valueOf(X[I]), valueOf(Y[I])));
      W.note(Same ? 0 : INFINITY, toWide(X[I]), toWide(Y[I]));
    }
  }
  report(Name, "", W, 0);
}

template <unsigned N> struct TypeName {
  char Text[N];
  constexpr TypeName(const char (&T)[N]) { std::copy_n(T, N, Text); }
};
template <TypeName Name> auto typeNamed() {
  constexpr std::string_view T = Name.Text;
  if constexpr (T == "f32")
    return float();
  else if constexpr (T == "f64")
    return double();
  else if constexpr (T == "f16")
    return F16();
  else if constexpr (T == "bf16")
    return BF16();
  else if constexpr (T == "i32")
    return int32_t();
  else if constexpr (T == "i64")
    return int64_t();
  else
    return uint64_t();
}

bool wanted(const char *Name) { return Only.empty() || Only == Name; }

void measureAll() {
#define MATH_UNARY(Name, Op, Reference, Bound32, Bound64)                      \
  if (wanted(#Name)) {                                                         \
    auto F = [](auto X) { return Reference; };                                 \
    report(#Name, "f32", measureUnary<float, double>(Name##_f32, F), Bound32); \
    report(#Name, "f64", measureUnary<double, long double>(Name##_f64, F),     \
           Bound64);                                                           \
  }
#define MATH_BINARY(Name, Op, Reference, Bound32, Bound64)                     \
  if (wanted(#Name)) {                                                         \
    auto F = [](auto X, auto Y) { return Reference; };                         \
    report(#Name, "f32", measureBinary<float, double>(Name##_f32, F),          \
           Bound32);                                                           \
    report(#Name, "f64", measureBinary<double, long double>(Name##_f64, F),    \
           Bound64);                                                           \
  }
#define MATH_EXACT(Name, Ops, From, To, Reference)                             \
  if (wanted(#Name))                                                           \
    measureExact<decltype(typeNamed<From>()), decltype(typeNamed<To>())>(      \
        #Name, Name, [](long double X) { return Reference; });
#define MATH_EXACT2(Name, Op, Type, Reference)                                 \
  if (wanted(#Name))                                                           \
    measureExact2<decltype(typeNamed<Type>())>(                                \
        #Name, Name, [](auto X, auto Y) { return Reference; });
#include "test/math/functions.def"
}

} // namespace

int main(int argc, char **argv) {
  for (int I = 1; I != argc; ++I) {
    std::string Arg = argv[I];
    if (Arg == "--full")
      Stride = 1;
    else if (Arg == "--stride" && I + 1 != argc)
      Stride = std::max(1ull, strtoull(argv[++I], nullptr, 10));
    else if (Arg == "--only" && I + 1 != argc)
      Only = argv[++I];
    else if (Arg == "--table" && I + 1 != argc) {
      std::stringstream Text;
      Text << std::ifstream(argv[++I]).rdbuf();
      Table = "\n" + Text.str();
    } else if (Arg == "--markdown")
      Markdown = true;
    else
      return fprintf(stderr, "math_accuracy [--full | --stride N] "
                             "[--markdown] [--only name] [--table file]\n"),
             2;
  }
  measureAll();
  return Failed;
}
