//===- Benchmarks.cpp - Sizes worth timing on a GPU -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cases.h"

namespace kpc::testing {

std::vector<Benchmark> contractionBenchmarks();

static const char *const Id2 = "(a,b)->(a,b)";

std::vector<Benchmark> benchmarks() {
  std::vector<Benchmark> All;
  const std::string Relu = "%z = arith.constant 0.0 : f32\n"
                           "%r = arith.maximumf %x, %z : f32";
  {
    KernelText K("relu_64m");
    K.input("x", "f32", {"n"}).output("y", "f32", {"n"});
    K.generic("y", {"(a)->(a)", "(a)->(a)"}, "p", {"x"}, Relu, "%r");
    All.push_back({K, {64 << 20}, 0, "torch.relu(x)"});
  }
  {
    KernelText K("bias_rows_half");
    K.input("x", "f16", {"n", "1024"}).input("b", "f16", {"1024"});
    K.output("y", "f16", {"n", "1024"});
    K.generic("y", {Id2, "(a,b)->(b)", Id2}, "pp", {"x", "b"},
              "%e = arith.extf %x : f16 to f32\n%f = arith.extf %b : f16 to "
              "f32\n%s = arith.addf %e, %f : f32\n%r = arith.truncf %s : f32 "
              "to f16",
              "%r");
    All.push_back({K, {65536}, 0, "x + b"});
  }
  {
    KernelText K("transpose_8192");
    K.input("x", "f32", {"n", "8192"}).output("y", "f32", {"8192", "n"});
    K.generic("y", {"(a,b)->(b,a)", Id2}, "pp", {"x"}, Relu, "%r");
    All.push_back({K, {8192}, 0, "torch.relu(x).t().contiguous()"});
  }
  {
    KernelText K("nhwc_to_nchw_b32");
    K.input("x", "f32", {"n", "56", "56", "256"});
    K.output("y", "f32", {"n", "256", "56", "56"});
    K.generic("y", {"(n,c,h,w)->(n,h,w,c)", "(n,c,h,w)->(n,c,h,w)"}, "pppp",
              {"x"}, Relu, "%r");
    All.push_back({K, {32}, 0, "torch.relu(x).permute(0,3,1,2).contiguous()"});
  }
  for (auto [Name, Columns] :
       {std::pair("row_sum_768", "768"), std::pair("row_sum_16384", "16384")}) {
    KernelText K(Name);
    K.input("x", "f32", {"n", Columns}).output("y", "f32", {"n"});
    K.generic("y", {Id2, "(a,b)->(a)"}, "pr", {"x"},
              "%r = arith.addf %y, %x : f32", "%r", "0.0");
    All.push_back(
        {K, {(int64_t(64) << 20) / std::stoll(Columns)}, 0, "x.sum(1)"});
  }
  {
    KernelText K("column_sum_4096");
    K.input("x", "f32", {"n", "4096"}).output("y", "f32", {"4096"});
    K.generic("y", {"(a,b)->(b,a)", "(a,b)->(a)"}, "pr", {"x"},
              "%r = arith.addf %y, %x : f32", "%r", "0.0");
    All.push_back({K, {16384}, 0, "x.sum(0)"});
  }
  {
    KernelText K("global_average_b32");
    K.input("x", "f32", {"n", "49", "2048"}).output("y", "f32", {"n", "2048"});
    K.generic("y", {"(a,b,c)->(a,c,b)", "(a,b,c)->(a,b)"}, "ppr", {"x"},
              "%r = arith.addf %y, %x : f32", "%r", "0.0");
    All.push_back({K, {32}, 0, "x.sum(1)"});
  }
  {
    KernelText K("max_pool_b32");
    K.input("x", "f32", {"n", "113", "113", "64"});
    K.input("k", "f32", {"3", "3"});
    K.output("y", "f32", {"n", "56", "56", "64"});
    K.generic("y",
              {"(n,h,w,c,i,j)->(n,h*2+i,w*2+j,c)", "(n,h,w,c,i,j)->(i,j)",
               "(n,h,w,c,i,j)->(n,h,w,c)"},
              "pppprr", {"x", "k"}, "%r = arith.maximumf %y, %x : f32", "%r",
              "0xFF800000");
    All.push_back({K,
                   {32},
                   0,
                   "torch.nn.functional.max_pool2d(x.permute(0,3,1,2), 3, "
                   "2).permute(0,2,3,1)"});
  }
  for (Benchmark &B : contractionBenchmarks())
    All.push_back(std::move(B));
  return All;
}

} // namespace kpc::testing
