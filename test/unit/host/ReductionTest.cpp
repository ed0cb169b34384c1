//===- ReductionTest.cpp - Reductions on the host -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "KernelText.h"
#include "RunKernel.h"

#include <limits>
#include <numeric>

using namespace kpc;
using namespace kpc::testing;

namespace {

/// y[m] (Rows) or y[k] (columns): x[m, k] folded by `Op`, then halved.
std::string reduceText(int64_t M, int64_t K, bool Columns,
                       const std::string &Element, const std::string &Op,
                       const std::string &Neutral) {
  KernelText T("fold");
  Dims X{M, K}, Y{Columns ? K : M};
  T.input("x", X, Element);
  T.output("y", Y, Element);
  T.fill("%init", Neutral, Y, Element);
  std::string Ty = Element;
  T.generic(
      "%s",
      {{"%xt", X, Element, Columns ? "(y, r) -> (r, y)" : "(y, r) -> (y, r)"}},
      {"%init", Y, Element, "(y, r) -> (y)"}, "pr",
      "%p: " + Ty + ", %acc: " + Ty,
      "    %1 = " + Op + " %acc, %p : " + Ty + "\n    linalg.yield %1 : " + Ty +
          "\n");
  T.store("%s", "y", Y, Element);
  return T.str();
}

TEST(Reduction, sumsOfRows) {
  for (int64_t K : {0, 1, 5, 16, 31, 64, 100, 1000, 4097}) {
    SCOPED_TRACE(K);
    const int64_t M = 7;
    Kernel Kernel(reduceText(M, K, false, "f32", "arith.addf", "0.0"));
    ASSERT_TRUE(Kernel.ok());
    Buffer<float> X = randomFloats(M * K, 3), Y(M);
    std::vector<double> Reference(M);
    for (int64_t I = 0; I < M * K; ++I)
      Reference[I / K] += X[I];
    Kernel.run({X.word(), Y.word()},
               *shape::Expr::parse(Kernel.Launch.Work)->asConstant(), 2);
    for (int64_t I = 0; I < M; ++I)
      EXPECT_NEAR(Y[I], Reference[I], 1e-4);
    EXPECT_TRUE(Y.guardIntact());
  }
}

TEST(Reduction, sumsOfColumns) {
  for (int64_t K : {1, 5, 16, 31, 64, 300}) {
    SCOPED_TRACE(K);
    const int64_t M = 37;
    Kernel Kernel(reduceText(M, K, true, "f32", "arith.addf", "0.0"));
    ASSERT_TRUE(Kernel.ok());
    auto Work = *shape::Expr::parse(Kernel.Launch.Work)->asConstant();
    Buffer<float> X = randomFloats(M * K, 3), Y(K);
    std::vector<double> Reference(K);
    for (int64_t I = 0; I < M * K; ++I)
      Reference[I % K] += X[I];
    Kernel.run({X.word(), Y.word()}, Work, 2);
    for (int64_t I = 0; I < K; ++I)
      EXPECT_NEAR(Y[I], Reference[I], 1e-5);
    EXPECT_TRUE(Y.guardIntact());
  }
}

/// Added one by one, numbers of one sign end 5e-6 and more off.
TEST(Reduction, longSumsOfColumnsAreExact) {
  for (int64_t M : {65536, 65537, 70000})
    for (int64_t K : {1, 3, 8, 9}) {
      SCOPED_TRACE(::testing::Message() << M << " x " << K);
      Kernel Kernel(reduceText(M, K, true, "f32", "arith.addf", "0.0"));
      ASSERT_TRUE(Kernel.ok());
      auto Work = *shape::Expr::parse(Kernel.Launch.Work)->asConstant();
      Buffer<float> X = randomFloats(M * K, 3), Y(K), Again(K);
      std::vector<double> Reference(K);
      for (int64_t I = 0; I < M * K; ++I) {
        X[I] = std::abs(X[I]);
        Reference[I % K] += X[I];
      }
      Kernel.run({X.word(), Y.word()}, Work, 1);
      Kernel.run({X.word(), Again.word()}, Work, 2);
      for (int64_t I = 0; I < K; ++I) {
        EXPECT_NEAR(Y[I] / Reference[I], 1, 5e-7);
        EXPECT_EQ(Y[I], Again[I]);
      }
      EXPECT_TRUE(Y.guardIntact());
    }
}

TEST(Reduction, maximumKeepsNan) {
  for (int64_t K : {3, 64, 77}) {
    Kernel Kernel(
        reduceText(2, K, false, "f32", "arith.maximumf", "0xFF800000"));
    ASSERT_TRUE(Kernel.ok());
    Buffer<float> X = randomFloats(2 * K, 3), Y(2);
    X[K / 2] = std::numeric_limits<float>::quiet_NaN();
    Kernel.run({X.word(), Y.word()}, 2);
    EXPECT_TRUE(std::isnan(Y[0]));
    EXPECT_EQ(Y[1], *std::max_element(X.data() + K, X.data() + 2 * K));
  }
}

TEST(Reduction, integers) {
  const int64_t M = 5, K = 203;
  Kernel Sum(reduceText(M, K, false, "i64", "arith.addi", "0"));
  Kernel Least(reduceText(M, K, false, "i32", "arith.minsi", "2147483647"));
  Kernel Greatest(reduceText(M, K, true, "i8", "arith.maxui", "0"));
  ASSERT_TRUE(Sum.ok() && Least.ok() && Greatest.ok());
  std::mt19937 Random(5);
  Buffer<int64_t> X(M * K), Y(M);
  Buffer<int32_t> X32(M * K), Y32(M);
  Buffer<uint8_t> X8(M * K), Y8(K);
  for (int64_t I = 0; I < M * K; ++I) {
    X[I] = int64_t(Random()) * 12345 - 77;
    X32[I] = int32_t(Random());
    X8[I] = uint8_t(Random());
  }
  Sum.run({X.word(), Y.word()}, M);
  Least.run({X32.word(), Y32.word()}, M);
  Greatest.run({X8.word(), Y8.word()},
               *shape::Expr::parse(Greatest.Launch.Work)->asConstant());
  for (int64_t I = 0; I < M; ++I) {
    EXPECT_EQ(Y[I], std::accumulate(X.data() + I * K, X.data() + (I + 1) * K,
                                    int64_t(0)));
    EXPECT_EQ(Y32[I],
              *std::min_element(X32.data() + I * K, X32.data() + (I + 1) * K));
  }
  for (int64_t J = 0; J < K; ++J) {
    uint8_t Best = 0;
    for (int64_t I = 0; I < M; ++I)
      Best = std::max(Best, X8[I * K + J]);
    EXPECT_EQ(Y8[J], Best);
  }
}

TEST(Reduction, wholeTensorToScalar) {
  KernelText T("total");
  Dims X{6, 50};
  T.input("x", X, "f32");
  T.output("y", {}, "f32");
  T.fill("%init", "1.0", {}, "f32");
  T.generic("%s", {{"%xt", X, "f32", "(a, b) -> (a, b)"}},
            {"%init", {}, "f32", "(a, b) -> ()"}, "rr", "%p: f32, %acc: f32",
            "    %1 = arith.addf %acc, %p : f32\n"
            "    linalg.yield %1 : f32\n");
  T.store("%s", "y", {}, "f32");
  Kernel K(T.str());
  ASSERT_TRUE(K.ok());
  EXPECT_EQ(K.Launch.Work, "1");
  Buffer<float> Data = randomFloats(300, 9), Y(1);
  K.run({Data.word(), Y.word()}, 1);
  EXPECT_NEAR(Y[0], std::accumulate(Data.data(), Data.data() + 300, 1.0), 1e-4);
}

TEST(Reduction, greatestIndex) {
  // The first of equal elements, as the body says.
  const int64_t M = 3, K = 100;
  for (bool Columns : {false, true}) {
    KernelText T("argmax");
    Dims X{M, K}, Y{Columns ? K : M};
    T.input("x", X, "f32");
    T.output("y", Y, "i64");
    T.fill("%best", "0xFF800000", Y, "f32");
    T.fill("%first", "0", Y, "i64");
    std::string Map = Columns ? "(y, r) -> (r, y)" : "(y, r) -> (y, r)";
    std::string Size = KernelText::tensor(X, "f32");
    T.raw("  %s:2 = linalg.generic {indexing_maps = [affine_map<" + Map +
          ">, affine_map<(y, r) -> (y)>, affine_map<(y, r) -> (y)>], "
          "iterator_types = [\"parallel\", \"reduction\"]} ins(%xt : " +
          Size + ") outs(%best, %first : " + KernelText::tensor(Y, "f32") +
          ", " + KernelText::tensor(Y, "i64") +
          ") {\n"
          "  ^bb0(%p: f32, %b: f32, %i: i64):\n"
          "    %r = linalg.index 1 : index\n"
          "    %n = arith.index_cast %r : index to i64\n"
          "    %c = arith.cmpf ogt, %p, %b : f32\n"
          "    %1 = arith.select %c, %p, %b : f32\n"
          "    %2 = arith.select %c, %n, %i : i64\n"
          "    linalg.yield %1, %2 : f32, i64\n"
          "  } -> (" +
          KernelText::tensor(Y, "f32") + ", " + KernelText::tensor(Y, "i64") +
          ")\n");
    T.store("%s#1", "y", Y, "i64");
    Kernel Kernel(T.str());
    ASSERT_TRUE(Kernel.ok());
    Buffer<float> Data(M * K);
    std::mt19937 Random(1);
    for (int64_t I = 0; I < M * K; ++I)
      Data[I] = float(Random() % 10);
    Buffer<int64_t> Result(Y[0]);
    Kernel.run({Data.word(), Result.word()},
               *shape::Expr::parse(Kernel.Launch.Work)->asConstant());
    for (int64_t O = 0; O < Y[0]; ++O) {
      int64_t Best = 0;
      auto At = [&](int64_t R) {
        return Columns ? Data[R * K + O] : Data[O * K + R];
      };
      for (int64_t R = 1; R < (Columns ? M : K); ++R)
        if (At(R) > At(Best))
          Best = R;
      EXPECT_EQ(Result[O], Best) << Kernel.Launch.Schedule;
    }
  }
}

/// A window written as the graph's lowering writes it: reads inside a branch.
void checkWindow(int64_t H, int64_t C, int64_t Window, int64_t Stride,
                 int64_t Pad) {
  SCOPED_TRACE(::testing::Message() << H << " " << C << " " << Window);
  int64_t O = (H + 2 * Pad - Window) / Stride + 1;
  KernelText T("pool");
  Dims X{1, H, H, C}, Y{1, O, O, C}, W{Window, Window};
  T.input("x", X, "f32");
  T.output("y", Y, "f32");
  T.fill("%init", "0xFF800000", Y, "f32");
  T.empty("%we", W, "i1");
  std::string Place = "affine_map<(a, b) -> (a * " + std::to_string(Stride) +
                      " + b - " + std::to_string(Pad) + ")>";
  std::string Size = std::to_string(H);
  T.generic(
      "%s", {{"%we", W, "i1", "(n, h, w, c, a, b) -> (a, b)"}},
      {"%init", Y, "f32", "(n, h, w, c, a, b) -> (n, h, w, c)"}, "pppprr",
      "%k: i1, %acc: f32",
      "    %n = linalg.index 0 : index\n    %h = linalg.index 1 : index\n"
      "    %w = linalg.index 2 : index\n    %c = linalg.index 3 : index\n"
      "    %a = linalg.index 4 : index\n    %b = linalg.index 5 : index\n"
      "    %i = affine.apply " +
          Place +
          "(%h, %a)\n"
          "    %j = affine.apply " +
          Place +
          "(%w, %b)\n"
          "    %size = arith.constant " +
          Size +
          " : index\n"
          "    %1 = arith.cmpi ult, %i, %size : index\n"
          "    %2 = arith.cmpi ult, %j, %size : index\n"
          "    %3 = arith.andi %1, %2 : i1\n"
          "    %4 = scf.if %3 -> (f32) {\n"
          "      %e = tensor.extract %xt[%n, %i, %j, %c] : " +
          KernelText::tensor(X, "f32") +
          "\n"
          "      %m = arith.maximumf %acc, %e : f32\n"
          "      scf.yield %m : f32\n    } else {\n      scf.yield %acc : f32\n"
          "    }\n    linalg.yield %4 : f32\n");
  T.store("%s", "y", Y, "f32");
  Kernel K(T.str());
  ASSERT_TRUE(K.ok());
  Buffer<float> Data = randomFloats(H * H * C, 4), Result(O * O * C);
  K.run({Data.word(), Result.word()},
        *shape::Expr::parse(K.Launch.Work)->asConstant(), 3);
  for (int64_t At = 0, I = 0; I < O; ++I)
    for (int64_t J = 0; J < O; ++J)
      for (int64_t c = 0; c < C; ++c, ++At) {
        float Best = -std::numeric_limits<float>::infinity();
        for (int64_t A = 0; A < Window * Window; ++A) {
          int64_t h = I * Stride + A / Window - Pad;
          int64_t w = J * Stride + A % Window - Pad;
          if (h >= 0 && h < H && w >= 0 && w < H)
            Best = std::max(Best, Data[(h * H + w) * C + c]);
        }
        ASSERT_EQ(Result[At], Best) << K.Launch.Schedule;
      }
  EXPECT_TRUE(Result.guardIntact());
}

TEST(Reduction, windows) {
  checkWindow(14, 32, 3, 2, 1);
  checkWindow(9, 19, 2, 2, 0);
  checkWindow(8, 3, 3, 1, 1);
  checkWindow(11, 1, 3, 2, 0);
}

} // namespace
