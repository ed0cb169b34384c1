//===- WindowCases.cpp - Pooling and small reductions ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cases.h"

namespace kpc::testing {

static const char *const Out = "(n,h,w,c,i,j)->(n,h,w,c)";

static std::vector<Case> poolCases() {
  std::vector<Case> Cases;
  {
    KernelText K("max_pool_3x3_s2");
    K.input("x", "f32", {"n", "13", "13", "8"});
    K.input("k", "f32", {"3", "3"}); // read by nobody: the window's shape
    K.output("y", "f32", {"n", "7", "7", "8"});
    K.pad("p", "x", 1, "0xFF800000");
    K.generic("y",
              {"(n,h,w,c,i,j)->(n,h*2+i,w*2+j,c)", "(n,h,w,c,i,j)->(i,j)", Out},
              "pppprr", {"p", "k"}, "%r = arith.maximumf %y, %p : f32", "%r",
              "0xFF800000");
    Cases.push_back({K, {{1}, {3}}, "window 1 x 1 x 1"});
  }
  {
    KernelText K("average_pool_2x2");
    K.input("x", "f16", {"n", "8", "8", "16"});
    K.input("k", "f32", {"2", "2"});
    K.output("y", "f16", {"n", "4", "4", "16"});
    K.generic("s",
              {"(n,h,w,c,i,j)->(n,h*2+i,w*2+j,c)", "(n,h,w,c,i,j)->(i,j)", Out},
              "pppprr", {"x", "k"},
              "%e = arith.extf %x : f16 to f32\n"
              "%r = arith.addf %s, %e : f32",
              "%r", "0.0", "f32", {"n", "4", "4", "16"});
    K.generic("y", {"(a,b,c,d)->(a,b,c,d)", "(a,b,c,d)->(a,b,c,d)"}, "pppp",
              {"s"},
              "%q = arith.constant 0.25 : f32\n"
              "%m = arith.mulf %s, %q : f32\n"
              "%r = arith.truncf %m : f32 to f16",
              "%r");
    Cases.push_back({K, {{1}, {5}}, "window 1 x 1 x 1"});
  }
  {
    KernelText K("depthwise_3x3");
    K.input("x", "f32", {"n", "14", "14", "12"});
    K.input("w", "f32", {"3", "3", "1", "12"}).input("b", "f32", {"12"});
    K.output("y", "f32", {"n", "14", "14", "12"});
    K.pad("p", "x", 1, "0.0");
    K.conv("s", "p", "w", 1, {"n", "14", "14", "12"}, /*Groups=*/12);
    K.generic(
        "y", {"(a,b,c,d)->(a,b,c,d)", "(a,b,c,d)->(d)", "(a,b,c,d)->(a,b,c,d)"},
        "pppp", {"s", "b"}, "%r = arith.addf %s, %b : f32", "%r");
    Cases.push_back({K, {{1}, {2}}, "window 1 x 1 x 2", 1e-6});
  }
  return Cases;
}

static std::vector<Case> smallCases() {
  std::vector<Case> Cases;
  {
    KernelText K("row_sum_tiny");
    K.input("x", "f32", {"n", "3"}).output("y", "f32", {"n"});
    K.generic("y", {"(a,b)->(a,b)", "(a,b)->(a)"}, "pr", {"x"},
              "%r = arith.addf %y, %x : f32", "%r", "0.0");
    Cases.push_back({K, {{0}, {1}, {1000}}, "window x"});
  }
  {
    // Not joinable: the accumulator is used twice.
    KernelText K("horner");
    K.input("x", "f32", {"n", "40"}).output("y", "f32", {"n"});
    K.generic("y", {"(a,b)->(a,b)", "(a,b)->(a)"}, "pr", {"x"},
              "%q = arith.mulf %y, %y : f32\n"
              "%h = arith.constant 0.25 : f32\n"
              "%t = arith.mulf %q, %h : f32\n"
              "%r = arith.addf %t, %x : f32",
              "%r", "0.0");
    Cases.push_back({K, {{1}, {300}}, "window x"});
  }
  return Cases;
}

std::vector<Case> windowCases() {
  std::vector<Case> All = poolCases();
  for (Case &C : smallCases())
    All.push_back(std::move(C));
  return All;
}

} // namespace kpc::testing
