//===- TileTest.cpp - Contractions and windows on the host ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "KernelText.h"
#include "RunKernel.h"

using namespace kpc;
using namespace kpc::testing;

namespace {

int64_t unitsOf(const Kernel &K, int64_t Size, int SizeArg) {
  auto Work = shape::Expr::parse(K.Launch.Work);
  return Work->evaluate({{"arg" + std::to_string(SizeArg), Size}}).value_or(-1);
}

void checkConv(Conv C, int64_t N, const char *Target = "native") {
  Kernel K(C.text(), Target);
  ASSERT_TRUE(K.ok());
  SCOPED_TRACE(K.Launch.Schedule);
  int64_t OH = C.oh(), OW = C.ow();
  Buffer<float> X = randomFloats(N * C.H * C.W * C.C, 1);
  auto Read = [&](float V) { return C.ReluBefore ? std::max(V, 0.0f) : V; };
  Buffer<float> W =
      randomFloats(C.KH * C.KW * C.C * (C.Depthwise ? 1 : C.O), 2);
  Buffer<float> B = randomFloats(C.O, 3), Y(N * OH * OW * C.O);
  std::vector<double> Reference(Y.size());
  for (int64_t n = 0, At = 0; n < N; ++n)
    for (int64_t oh = 0; oh < OH; ++oh)
      for (int64_t ow = 0; ow < OW; ++ow)
        for (int64_t o = 0; o < C.O; ++o, ++At) {
          double Sum = 0;
          for (int64_t kh = 0; kh < C.KH; ++kh)
            for (int64_t kw = 0; kw < C.KW; ++kw) {
              int64_t h = oh * C.Stride + kh * C.Dilation - C.Pad;
              int64_t w = ow * C.Stride + kw * C.Dilation - C.Pad;
              if (h < 0 || h >= C.H || w < 0 || w >= C.W)
                continue;
              const float *Pixel = &X[((n * C.H + h) * C.W + w) * C.C];
              int64_t Tap = kh * C.KW + kw;
              if (C.Depthwise)
                Sum += double(Read(Pixel[o])) * W[Tap * C.C + o];
              else
                for (int64_t c = 0; c < C.C; ++c)
                  Sum += double(Read(Pixel[c])) * W[(Tap * C.C + c) * C.O + o];
            }
          Reference[At] = C.BiasRelu ? std::max(Sum + B[o], 0.0) : Sum;
        }
  K.run({X.word(), W.word(), B.word(), Y.word(), uint64_t(N)}, unitsOf(K, N, 4),
        3);
  EXPECT_LT(relativeError(Y, Reference), 1e-5);
  EXPECT_TRUE(Y.guardIntact());
}

TEST(Tile, convShapes) {
  for (const Conv &C : std::vector<Conv>{
           {1, 8, 8, 3, 16, 3, 3, 1, 1},
           {2, 14, 14, 32, 64, 1, 1, 1, 0},
           {1, 7, 7, 64, 96, 3, 3, 1, 1},
           {1, 23, 23, 3, 64, 7, 7, 2, 3},
           {2, 15, 15, 24, 40, 1, 1, 2, 0},
           {1, 13, 17, 5, 7, 3, 2, 1, 1},
           {1, 16, 16, 8, 33, 3, 3, 2, 1, 2},
           {3, 1, 1, 70, 10, 1, 1, 1, 0},
           {1, 40, 40, 16, 16, 5, 5, 1, 2},
           {1, 9, 9, 4, 3, 3, 3, 1, 0},
       }) {
    SCOPED_TRACE(::testing::Message()
                 << C.H << "x" << C.W << "x" << C.C << " -> " << C.O);
    checkConv(C, C.N);
  }
}

TEST(Tile, convDynamicBatch) {
  for (int64_t N : {1, 3, 5}) {
    checkConv({-1, 7, 7, 32, 64, 3, 3, 1, 1}, N);
    checkConv({-1, 7, 7, 32, 48, 1, 1, 1, 0}, N);
  }
}

// Rows and columns of a pixel-wise convolution are walked as one loop; what is
// computed before it goes into a region, which must hold all of them.
TEST(Tile, computedBeforePixelwise) {
  for (const Conv &C : std::vector<Conv>{
           {1, 4, 4, 16, 16}, {2, 14, 14, 24, 40}, {-1, 7, 9, 8, 33}}) {
    Conv Before = C;
    Before.ReluBefore = true;
    checkConv(Before, C.N > 0 ? C.N : 3);
  }
}

TEST(Tile, depthwise) {
  Conv C{2, 14, 14, 72, 72, 3, 3, 1, 1};
  C.Depthwise = true;
  checkConv(C, 2);
  C.Stride = 2;
  checkConv(C, 2);
  C.C = C.O = 19;
  checkConv(C, 2);
  C.Pad = 0;
  checkConv(C, 2);
}

TEST(Tile, levels) {
  for (const char *Level : {"x86-64-v2", "x86-64-v3"}) {
    checkConv({1, 13, 13, 24, 44, 3, 3, 1, 1}, 1, Level);
    checkConv({1, 14, 14, 24, 64, 1, 1, 1, 0}, 1, Level);
  }
}

template <typename In, typename Out>
void checkMatmul(Matmul S, int64_t M, double Tolerance = 1e-5) {
  Kernel K(S.text());
  ASSERT_TRUE(K.ok());
  SCOPED_TRACE(K.Launch.Schedule);
  std::mt19937 Random(7);
  auto Fill = [&](int64_t Count) {
    Buffer<In> Result(Count);
    for (int64_t I = 0; I < Count; ++I)
      Result[I] = std::is_integral_v<In>
                      ? In(int64_t(Random() % 200) - 100)
                      : In(float(Random() >> 8) / float(1 << 23) - 1.0f);
    return Result;
  };
  Buffer<In> A = Fill(S.Batch * M * S.K),
             B = Fill((S.SharedB ? 1 : S.Batch) * S.K * S.N);
  Buffer<Out> C(S.Batch * M * S.N);
  std::vector<double> Reference(C.size());
  for (int64_t b = 0; b < S.Batch; ++b)
    for (int64_t m = 0; m < M; ++m)
      for (int64_t n = 0; n < S.N; ++n) {
        double Sum = 0;
        for (int64_t k = 0; k < S.K; ++k)
          Sum += double(A[(b * M + m) * S.K + k]) *
                 double(B[(S.SharedB ? 0 : b * S.K * S.N) +
                          (S.TransposedB ? n * S.K + k : k * S.N + n)]);
        Reference[(b * M + m) * S.N + n] = Sum;
      }
  K.run({A.word(), B.word(), C.word(), uint64_t(M)}, unitsOf(K, M, 3), 2);
  EXPECT_LE(relativeError(C, Reference), Tolerance);
  EXPECT_TRUE(C.guardIntact());
}

TEST(Tile, matmulShapes) {
  for (auto [Batch, M, N, K] :
       std::vector<std::array<int64_t, 4>>{{1, 1, 1000, 512},
                                           {1, 64, 64, 64},
                                           {3, 17, 33, 65},
                                           {1, 100, 200, 3000},
                                           {2, 5, 3, 7},
                                           {1, 300, 70, 20},
                                           {1, 1, 1, 1},
                                           {2, 40, 40, 0},
                                           {1, 0, 16, 16}})
    for (bool Shared : {true, false})
      for (bool Transposed : {true, false}) {
        SCOPED_TRACE(::testing::Message()
                     << Batch << " " << M << "x" << N << "x" << K << " "
                     << Shared << Transposed);
        checkMatmul<float, float>({Batch, M, N, K, Shared, Transposed}, M);
      }
}

TEST(Tile, matmulDynamicRows) {
  for (int64_t M : {1, 7, 14, 50, 261})
    checkMatmul<float, float>({1, -1, 96, 80}, M);
}

TEST(Tile, matmulTypes) {
  checkMatmul<double, double>({1, 30, 45, 77, true, false, "f64", "f64"}, 30,
                              1e-14);
  checkMatmul<int32_t, int32_t>({1, 30, 45, 77, true, false, "i32", "i32"}, 30,
                                0);
  checkMatmul<int8_t, int32_t>({1, 30, 45, 77, true, false, "i8", "i32"}, 30,
                               0);
  checkMatmul<int64_t, int64_t>({2, 9, 20, 31, false, true, "i64", "i64"}, 9,
                                0);
}

} // namespace
