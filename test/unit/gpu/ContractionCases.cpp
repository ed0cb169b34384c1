//===- ContractionCases.cpp - Matrix products and convolutions ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cases.h"

namespace kpc::testing {

static const double Sum = 2e-6; // of sums in another order, fused
static const char *const MulAdd =
    "%mul = arith.mulf %x, %w : f32\n%r = arith.addf %y, %mul : f32";
static const char *const C2 = "(m,n,k)->(m,n)";

static KernelText product(const char *Name, std::vector<std::string> Sizes,
                          bool TransposeX, bool TransposeW) {
  KernelText K(Name);
  std::string M = Sizes[0], N = Sizes[1], Depth = Sizes[2];
  using Dims = std::vector<std::string>;
  K.input("x", "f32", TransposeX ? Dims{Depth, M} : Dims{M, Depth});
  K.input("w", "f32", TransposeW ? Dims{N, Depth} : Dims{Depth, N});
  K.output("y", "f32", {M, N});
  K.generic("y",
            {TransposeX ? "(m,n,k)->(k,m)" : "(m,n,k)->(m,k)",
             TransposeW ? "(m,n,k)->(n,k)" : "(m,n,k)->(k,n)", C2},
            "ppr", {"x", "w"}, MulAdd, "%r", "0.0");
  return K;
}

static std::vector<Case> productCases() {
  std::vector<Case> Cases;
  std::vector<std::vector<int64_t>> Ragged = {{1, 1, 1},    {64, 64, 16},
                                              {33, 65, 17}, {70, 40, 100},
                                              {5, 200, 0},  {5, 0, 9}};
  Cases.push_back({product("matmul_dynamic", {"m", "n", "k"}, false, false),
                   Ragged, "contraction", Sum});
  Cases.push_back({product("matmul_xt", {"m", "n", "k"}, true, false), Ragged,
                   "contraction", Sum});
  Cases.push_back({product("matmul_wt", {"m", "n", "k"}, false, true), Ragged,
                   "contraction", Sum});
  Cases.push_back({product("matmul_known", {"m", "48", "64"}, false, false),
                   {{1}, {64}, {100}},
                   "contraction",
                   Sum});
  Cases.push_back(
      {product("matmul_large_tile", {"m", "1024", "40"}, false, false)
           .fact("m", "optimum = 4096"),
       {{3}, {130}},
       "contraction 128x128x8",
       Sum});
  Cases.push_back({product("matmul_wide_tile", {"m", "64", "24"}, true, true)
                       .fact("m", "optimum = 100000"),
                   {{3}, {200}},
                   "contraction 128x64x8",
                   Sum});
  Cases.push_back({product("matmul_narrow_tile", {"m", "24", "32"}, false, true)
                       .fact("m", "optimum = 100000"),
                   {{3}, {200}},
                   "contraction 64x32x16",
                   Sum});
  {
    // Half storage, single accumulation, bias and ReLU behind it.
    KernelText K("linear_half");
    K.input("x", "f16", {"m", "72"}).input("w", "f16", {"72", "40"});
    K.input("b", "f16", {"40"}).output("y", "f16", {"m", "40"});
    K.generic("s", {"(m,n,k)->(m,k)", "(m,n,k)->(k,n)", C2}, "ppr", {"x", "w"},
              "%e = arith.extf %x : f16 to f32\n"
              "%f = arith.extf %w : f16 to f32\n"
              "%p = arith.mulf %e, %f : f32\n"
              "%r = arith.addf %s, %p : f32",
              "%r", "0.0", "f32", {"m", "40"});
    K.generic("y", {"(a,b)->(a,b)", "(a,b)->(b)", "(a,b)->(a,b)"}, "pp",
              {"s", "b"},
              "%e = arith.extf %b : f16 to f32\n"
              "%t = arith.addf %s, %e : f32\n"
              "%z = arith.constant 0.0 : f32\n"
              "%u = arith.maximumf %t, %z : f32\n"
              "%r = arith.truncf %u : f32 to f16",
              "%r");
    Cases.push_back({K, {{1}, {75}}, "gemm", 1e-3});
  }
  {
    // Batches, and sums of integers.
    KernelText K("batched_integers");
    K.input("x", "i32", {"b", "20", "30"}).input("w", "i32", {"b", "30", "12"});
    K.output("y", "i32", {"b", "20", "12"});
    K.generic(
        "y", {"(b,m,n,k)->(b,m,k)", "(b,m,n,k)->(b,k,n)", "(b,m,n,k)->(b,m,n)"},
        "pppr", {"x", "w"},
        "%mul = arith.muli %x, %w : i32\n%r = arith.addi %y, %mul : i32", "%r",
        "0");
    Cases.push_back({K, {{1}, {3}}, "contraction"});
  }
  {
    // Rows in a batch, weights shared; an initial value of its own.
    KernelText K("shared_weights");
    K.input("x", "f64", {"b", "9", "16"}).input("w", "f64", {"16", "32"});
    K.output("y", "f64", {"b", "9", "32"});
    K.generic("y",
              {"(b,m,n,k)->(b,m,k)", "(b,m,n,k)->(k,n)", "(b,m,n,k)->(b,m,n)"},
              "pppr", {"x", "w"},
              "%mul = arith.mulf %x, %w : f64\n%r = arith.addf %y, %mul : f64",
              "%r", "0.75");
    Cases.push_back({K, {{1}, {10}}, "contraction", 1e-12});
  }
  return Cases;
}

struct Conv {
  const char *Name;
  int Size, In, Out, Taps, Stride, Pad;
};

/// A convolution with padding, bias and ReLU, as the graph writes it.
static KernelText convolution(const Conv &P) {
  auto S = [](int V) { return std::to_string(V); };
  int To = (P.Size + 2 * P.Pad - P.Taps) / P.Stride + 1;
  KernelText K(P.Name);
  K.input("x", "f32", {"n", S(P.Size), S(P.Size), S(P.In)});
  K.input("w", "f32", {S(P.Taps), S(P.Taps), S(P.In), S(P.Out)});
  K.input("b", "f32", {S(P.Out)});
  K.output("y", "f32", {"n", S(To), S(To), S(P.Out)});
  if (P.Pad)
    K.pad("p", "x", P.Pad, "0.0");
  K.conv("s", P.Pad ? "p" : "x", "w", P.Stride, {"n", S(To), S(To), S(P.Out)});
  K.generic("y",
            {"(a,b,c,d)->(a,b,c,d)", "(a,b,c,d)->(d)", "(a,b,c,d)->(a,b,c,d)"},
            "pppp", {"s", "b"},
            "%t = arith.addf %s, %b : f32\n"
            "%z = arith.constant 0.0 : f32\n"
            "%r = arith.maximumf %t, %z : f32",
            "%r");
  return K;
}

static std::vector<Case> convolutionCases() {
  std::vector<Case> Cases;
  for (Conv P : {Conv{"conv_3x3", 8, 16, 24, 3, 1, 1},
                 Conv{"conv_1x1", 7, 32, 16, 1, 1, 0},
                 Conv{"conv_1x1_s2", 9, 16, 32, 1, 2, 0},
                 Conv{"conv_stem_7x7_s2", 20, 3, 32, 7, 2, 3},
                 Conv{"conv_5x5_ragged", 7, 5, 9, 5, 1, 2}})
    Cases.push_back({convolution(P), {{1}, {3}}, "contraction", Sum});
  return Cases;
}

std::vector<Benchmark> contractionBenchmarks() {
  std::vector<Benchmark> All;
  for (int64_t Side : {1024, 4096}) {
    std::string S = std::to_string(Side);
    All.push_back({product(("matmul_" + S).c_str(), {"m", S, S}, false, false)
                       .fact("m", "optimum = " + S),
                   {Side},
                   2.0 * Side * Side * Side,
                   "x @ w"});
  }
  struct Layer {
    Conv Shape;
    int64_t Batch;
  };
  for (auto [P, Batch] : {Layer{{"stem_b32", 224, 3, 64, 7, 2, 3}, 32},
                          Layer{{"layer1_3x3_b32", 56, 64, 64, 3, 1, 1}, 32},
                          Layer{{"layer1_1x1_b32", 56, 64, 256, 1, 1, 0}, 32},
                          Layer{{"layer3_3x3_b32", 14, 256, 256, 3, 1, 1}, 32},
                          Layer{{"layer3_3x3_b1", 14, 256, 256, 3, 1, 1}, 1},
                          Layer{{"layer4_3x3_b1", 7, 512, 512, 3, 1, 1}, 1}}) {
    int64_t To = (P.Size + 2 * P.Pad - P.Taps) / P.Stride + 1;
    std::string Peer =
        "torch.relu(torch.nn.functional.conv2d(x.permute(0,3,1,2), "
        "w.permute(3,2,0,1), b, stride=" +
        std::to_string(P.Stride) + ", padding=" + std::to_string(P.Pad) +
        ")).permute(0,2,3,1)";
    All.push_back(
        {convolution(P).fact("n", "optimum = " + std::to_string(Batch)),
         {Batch},
         2.0 * Batch * To * To * P.Out * P.In * P.Taps * P.Taps,
         Peer});
  }
  return All;
}

std::vector<Case> contractionCases() {
  std::vector<Case> All = productCases();
  for (Case &C : convolutionCases())
    All.push_back(std::move(C));
  return All;
}

} // namespace kpc::testing
