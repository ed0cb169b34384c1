//===- TransposeCases.cpp - Copies between layouts ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cases.h"

namespace kpc::testing {

static const char *const Copy = "%r = arith.addf %x, %x : f32";

std::vector<Case> transposeCases() {
  std::vector<Case> Cases;
  {
    KernelText K("transpose_matrix");
    K.input("x", "f32", {"m", "n"}).output("y", "f32", {"n", "m"});
    K.generic("y", {"(a,b)->(b,a)", "(a,b)->(a,b)"}, "pp", {"x"}, Copy, "%r");
    Cases.push_back(
        {K, {{1, 1}, {0, 4}, {32, 32}, {33, 31}, {5, 100}}, "transpose"});
  }
  {
    // NCHW to NHWC in half precision, with a bias on the way out.
    KernelText K("nchw_to_nhwc");
    K.input("x", "f16", {"n", "20", "6", "7"}).input("b", "f16", {"20"});
    K.output("y", "f16", {"n", "6", "7", "20"});
    K.generic(
        "y", {"(n,h,w,c)->(n,c,h,w)", "(n,h,w,c)->(c)", "(n,h,w,c)->(n,h,w,c)"},
        "pppp", {"x", "b"},
        "%e = arith.extf %x : f16 to f32\n"
        "%f = arith.extf %b : f16 to f32\n"
        "%s = arith.addf %e, %f : f32\n"
        "%r = arith.truncf %s : f32 to f16",
        "%r");
    Cases.push_back({K, {{1}, {3}}, "transpose"});
  }
  {
    KernelText K("nhwc_to_nchw");
    K.input("x", "f32", {"n", "9", "5", "40"});
    K.output("y", "f32", {"n", "40", "9", "5"});
    K.generic("y", {"(n,c,h,w)->(n,h,w,c)", "(n,c,h,w)->(n,c,h,w)"}, "pppp",
              {"x"}, Copy, "%r");
    Cases.push_back({K, {{1}, {2}}, "transpose"});
  }
  {
    // A residual in the output's layout.
    KernelText K("transpose_add");
    K.input("x", "f32", {"64", "n"}).input("z", "f32", {"n", "64"});
    K.output("y", "f32", {"n", "64"});
    K.generic("y", {"(a,b)->(b,a)", "(a,b)->(a,b)", "(a,b)->(a,b)"}, "pp",
              {"x", "z"}, "%r = arith.subf %x, %z : f32", "%r");
    Cases.push_back({K, {{1}, {50}}, "transpose"});
  }
  {
    KernelText K("swap_long_rows");
    K.input("x", "i64", {"3", "n", "64"}).output("y", "i64", {"n", "3", "64"});
    K.generic("y", {"(a,b,c)->(b,a,c)", "(a,b,c)->(a,b,c)"}, "ppp", {"x"},
              "%r = arith.addi %x, %x : i64", "%r");
    Cases.push_back({K, {{1}, {33}}, "map"}); // lines stay lines
  }
  return Cases;
}

} // namespace kpc::testing
