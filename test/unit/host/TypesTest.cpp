//===- TypesTest.cpp - Element types and index maps on the host -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "KernelText.h"
#include "RunKernel.h"

#include "llvm/ADT/APFloat.h"

#include <limits>

using namespace kpc;
using namespace kpc::testing;

namespace {

const char *Levels[] = {"x86-64-v2", "x86-64-v3", "native"};

/// y[n] = Code(x[n]).
std::string mapText(const std::string &From, const std::string &To,
                    const std::string &Code) {
  KernelText T("convert");
  T.input("x", {-1}, From);
  T.output("y", {-1}, To);
  T.empty("%e", {-1}, To);
  T.generic("%r", {{"%xt", {-1}, From, "(a) -> (a)"}},
            {"%e", {-1}, To, "(a) -> (a)"}, "p", "%p: " + From + ", %o: " + To,
            Code + "    linalg.yield %1 : " + To + "\n");
  T.store("%r", "y", {-1}, To);
  return T.str();
}

llvm::APFloat halfOf(const llvm::fltSemantics &Semantics, uint16_t Bits) {
  return llvm::APFloat(Semantics, llvm::APInt(16, Bits));
}

TEST(Types, everyHalfAndBack) {
  for (bool Brain : {false, true}) {
    const llvm::fltSemantics &Semantics =
        Brain ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf();
    std::string Ty = Brain ? "bf16" : "f16";
    for (const char *Level : Levels) {
      SCOPED_TRACE(Ty + " " + Level);
      Kernel Widen(
          mapText(Ty, "f32", "    %1 = arith.extf %p : " + Ty + " to f32\n"),
          Level);
      Kernel Narrow(
          mapText("f32", Ty, "    %1 = arith.truncf %p : f32 to " + Ty + "\n"),
          Level);
      ASSERT_TRUE(Widen.ok() && Narrow.ok());
      const int64_t N = 65536;
      Buffer<uint16_t> Halves(N);
      Buffer<float> Wide(N);
      for (int64_t I = 0; I < N; ++I)
        Halves[I] = uint16_t(I);
      Widen.run({Halves.word(), Wide.word(), N}, N, 2);
      for (int64_t I = 0; I < N; ++I) {
        llvm::APFloat Expected = halfOf(Semantics, uint16_t(I));
        bool Lossy;
        Expected.convert(llvm::APFloat::IEEEsingle(),
                         llvm::APFloat::rmNearestTiesToEven, &Lossy);
        if (Expected.isNaN())
          ASSERT_TRUE(std::isnan(Wide[I])) << I;
        else
          ASSERT_EQ(Wide[I], Expected.convertToFloat()) << I;
      }
      // Around and between all halves, so that every rounding occurs.
      std::vector<float> Values;
      for (int64_t I = 0; I < N; I += 7) {
        float V = Wide[I], Next = Wide[(I + 1) % N];
        for (float X : {V, std::nextafterf(V, 1e30f), (V + Next) / 2,
                        std::nextafterf((V + Next) / 2, 1e30f)})
          Values.push_back(X);
      }
      for (float X : {1e30f, -1e30f, 65519.9f, 65520.0f, 1e-8f, 3e-8f, -1e-40f})
        Values.push_back(X);
      Buffer<float> In(Values.size());
      Buffer<uint16_t> Out(Values.size());
      std::copy(Values.begin(), Values.end(), In.data());
      Narrow.run({In.word(), Out.word(), Values.size()},
                 int64_t(Values.size()));
      for (size_t I = 0; I < Values.size(); ++I) {
        llvm::APFloat Expected(Values[I]);
        bool Lossy;
        Expected.convert(Semantics, llvm::APFloat::rmNearestTiesToEven, &Lossy);
        if (Expected.isNaN())
          ASSERT_TRUE(halfOf(Semantics, Out[I]).isNaN()) << Values[I];
        else
          ASSERT_EQ(Out[I], Expected.bitcastToAPInt().getZExtValue())
              << Values[I];
      }
    }
  }
}

TEST(Types, bools) {
  // y = x == x[0]…: a comparison makes bools, a select reads them.
  Kernel Make(mapText("f32", "i1",
                      "    %c = arith.constant 0.0 : f32\n"
                      "    %1 = arith.cmpf ogt, %p, %c : f32\n"));
  Kernel Use(mapText("i1", "i64",
                     "    %c = arith.constant 7 : i64\n"
                     "    %d = arith.constant -3 : i64\n"
                     "    %1 = arith.select %p, %c, %d : i64\n"));
  ASSERT_TRUE(Make.ok() && Use.ok());
  const int64_t N = 1000;
  Buffer<float> X = randomFloats(N, 5);
  Buffer<uint8_t> B(N);
  Buffer<int64_t> Y(N);
  Make.run({X.word(), B.word(), N}, N, 3);
  for (int64_t I = 0; I < N; ++I)
    ASSERT_EQ(B[I], X[I] > 0 ? 1 : 0);
  B[3] = 255; // any byte but 0 is true
  Use.run({B.word(), Y.word(), N}, N, 3);
  for (int64_t I = 0; I < N; ++I)
    ASSERT_EQ(Y[I], B[I] ? 7 : -3);
  EXPECT_TRUE(B.guardIntact());
}

TEST(Types, mathNeedsNoLibrary) {
  for (const char *Level : Levels)
    for (const char *Function : {"exp", "log", "tanh", "erf", "sqrt", "sin"}) {
      SCOPED_TRACE(std::string(Level) + " " + Function);
      Kernel K(
          mapText("f32", "f32",
                  std::string("    %1 = math.") + Function + " %p : f32\n"),
          Level);
      ASSERT_TRUE(K.ok());
      const int64_t N = 333;
      Buffer<float> X = randomFloats(N, 6), Y(N);
      for (int64_t I = 0; I < N; ++I)
        X[I] = X[I] * 3 + 3.1f;
      K.run({X.word(), Y.word(), N}, N);
      std::string Name = Function;
      for (int64_t I = 0; I < N; ++I) {
        double V = X[I];
        double R = Name == "exp"    ? std::exp(V)
                   : Name == "log"  ? std::log(V)
                   : Name == "tanh" ? std::tanh(V)
                   : Name == "erf"  ? std::erf(V)
                   : Name == "sqrt" ? std::sqrt(V)
                                    : std::sin(V);
        ASSERT_NEAR(Y[I], R, 4e-7 * std::max(1.0, std::fabs(R))) << V;
      }
    }
}

TEST(Types, transposedAndBroadcast) {
  // y[a, b, c] = x[c, a] - s + i64→f32 of the index b.
  KernelText T("mix");
  Dims Y{3, 5, 7};
  T.input("x", {7, 3}, "f32");
  T.input("s", {}, "f32");
  T.output("y", Y, "f32");
  T.empty("%e", Y, "f32");
  T.generic("%r",
            {{"%xt", {7, 3}, "f32", "(a, b, c) -> (c, a)"},
             {"%st", {}, "f32", "(a, b, c) -> ()"}},
            {"%e", Y, "f32", "(a, b, c) -> (a, b, c)"}, "ppp",
            "%p: f32, %q: f32, %o: f32",
            "    %i = linalg.index 1 : index\n"
            "    %j = arith.index_cast %i : index to i64\n"
            "    %k = arith.sitofp %j : i64 to f32\n"
            "    %d = arith.subf %p, %q : f32\n"
            "    %1 = arith.addf %d, %k : f32\n"
            "    linalg.yield %1 : f32\n");
  T.store("%r", "y", Y, "f32");
  Kernel K(T.str());
  ASSERT_TRUE(K.ok());
  Buffer<float> X = randomFloats(21, 1), S = randomFloats(1, 2), Out(105);
  K.run({X.word(), S.word(), Out.word()}, 15, 4);
  for (int64_t A = 0; A < 3; ++A)
    for (int64_t B = 0; B < 5; ++B)
      for (int64_t C = 0; C < 7; ++C)
        ASSERT_EQ(Out[(A * 5 + B) * 7 + C], X[C * 3 + A] - S[0] + float(B));
}

template <typename T>
void checkTranspose(int64_t A, int64_t M, int64_t N,
                    const std::string &Element) {
  // y[a, m, n] = x[a, n, m] + z[m, n], twice x where it is an integer.
  SCOPED_TRACE(::testing::Message() << A << " " << M << " " << N << Element);
  std::string F = Element[0] == 'f' ? "f" : "i";
  KernelText Text("swap");
  Dims X{A, N, M}, Y{A, M, N};
  Text.input("x", X, Element);
  Text.input("z", {M, N}, Element);
  Text.output("y", Y, Element);
  Text.empty("%e", Y, Element);
  Text.generic("%r",
               {{"%xt", X, Element, "(a, m, n) -> (a, n, m)"},
                {"%zt", {M, N}, Element, "(a, m, n) -> (m, n)"}},
               {"%e", Y, Element, "(a, m, n) -> (a, m, n)"}, "ppp",
               "%p: " + Element + ", %q: " + Element + ", %o: " + Element,
               "    %1 = arith.add" + F + " %p, %q : " + Element +
                   "\n    linalg.yield %1 : " + Element + "\n");
  Text.store("%r", "y", Y, Element);
  Kernel K(Text.str());
  ASSERT_TRUE(K.ok());
  Buffer<T> In(A * M * N), Add(M * N), Out(A * M * N);
  for (int64_t I = 0; I < A * M * N; ++I)
    In[I] = T(I % 113);
  for (int64_t I = 0; I < M * N; ++I)
    Add[I] = T(I % 7);
  auto Work = shape::Expr::parse(K.Launch.Work);
  K.run({In.word(), Add.word(), Out.word()}, *Work->asConstant(), 3);
  for (int64_t a = 0; a < A; ++a)
    for (int64_t m = 0; m < M; ++m)
      for (int64_t n = 0; n < N; ++n)
        ASSERT_EQ(Out[(a * M + m) * N + n],
                  In[(a * N + n) * M + m] + Add[m * N + n])
            << K.Launch.Schedule;
  EXPECT_TRUE(Out.guardIntact());
}

TEST(Types, transposes) {
  checkTranspose<float>(1, 64, 128, "f32");
  checkTranspose<float>(2, 33, 70, "f32");
  checkTranspose<float>(3, 9, 200, "f32");
  checkTranspose<float>(3, 5, 3, "f32");
  checkTranspose<int64_t>(1, 40, 17, "i64");
  checkTranspose<int8_t>(2, 31, 129, "i8");
  checkTranspose<double>(2, 16, 16, "f64");
}

TEST(Types, severalOutputs) {
  // Two outputs of different shapes: units are those of one, then the other.
  KernelText T("two");
  T.input("x", {-1, 4}, "f32");
  T.output("y", {-1, 4}, "f32");
  T.output("z", {4}, "f32");
  T.empty("%e", {-1, 4}, "f32");
  T.empty("%f", {4}, "f32");
  T.generic("%r", {{"%xt", {-1, 4}, "f32", "(a, b) -> (a, b)"}},
            {"%e", {-1, 4}, "f32", "(a, b) -> (a, b)"}, "pp",
            "%p: f32, %o: f32",
            "    %1 = arith.negf %p : f32\n    linalg.yield %1 : f32\n");
  T.generic("%s", {{"%xt", {-1, 4}, "f32", "(a) -> (0, a)"}},
            {"%f", {4}, "f32", "(a) -> (a)"}, "p", "%p: f32, %o: f32",
            "    %1 = arith.addf %p, %p : f32\n    linalg.yield %1 : f32\n");
  T.store("%r", "y", {-1, 4}, "f32");
  T.store("%s", "z", {4}, "f32");
  Kernel K(T.str());
  ASSERT_TRUE(K.ok());
  EXPECT_EQ(K.Launch.Work, "arg3*4 + 4");
  const int64_t N = 9;
  Buffer<float> X = randomFloats(N * 4, 1), Y(N * 4), Z(4);
  K.run({X.word(), Y.word(), Z.word(), N}, N * 4 + 4, 5);
  for (int64_t I = 0; I < N * 4; ++I)
    ASSERT_EQ(Y[I], -X[I]);
  for (int64_t I = 0; I < 4; ++I)
    ASSERT_EQ(Z[I], 2 * X[I]);
}

TEST(Types, diamondsStaySmall) {
  // Each step uses the last one twice: shared, not doubled.
  KernelText T("chain");
  T.input("x", {-1}, "f32");
  T.output("y", {-1}, "f32");
  T.empty("%e", {-1}, "f32");
  std::string Last = "%xt";
  for (int Step = 0; Step < 40; ++Step) {
    std::string Next = "%v" + std::to_string(Step);
    T.generic(
        Next,
        {{Last, {-1}, "f32", "(a) -> (a)"}, {Last, {-1}, "f32", "(a) -> (a)"}},
        {"%e", {-1}, "f32", "(a) -> (a)"}, "p", "%p: f32, %q: f32, %o: f32",
        "    %h = arith.constant 0.5 : f32\n"
        "    %s = arith.addf %p, %q : f32\n"
        "    %1 = arith.mulf %s, %h : f32\n"
        "    linalg.yield %1 : f32\n");
    Last = Next;
  }
  T.store(Last, "y", {-1}, "f32");
  Kernel K(T.str());
  ASSERT_TRUE(K.ok());
  const int64_t N = 20;
  Buffer<float> X = randomFloats(N, 1), Y(N);
  K.run({X.word(), Y.word(), N}, N);
  for (int64_t I = 0; I < N; ++I)
    ASSERT_EQ(Y[I], X[I]);
}

} // namespace
