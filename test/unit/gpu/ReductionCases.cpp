//===- ReductionCases.cpp - Row and column reductions ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cases.h"

namespace kpc::testing {

static const char *const Id1 = "(a)->(a)";
static const char *const Id2 = "(a,b)->(a,b)";
static const char *const Rows = "(a,b)->(a)";
static const double Sum = 1e-6; // of sums in another order

static std::vector<Case> rowCases() {
  std::vector<Case> Cases;
  {
    KernelText K("row_sum_short");
    K.input("x", "f32", {"n", "100"}).output("y", "f32", {"n"});
    K.generic("y", {Id2, Rows}, "pr", {"x"}, "%r = arith.addf %y, %x : f32",
              "%r", "0.0");
    Cases.push_back({K, {{1}, {7}, {8}, {33}}, "row-reduction warp x2", Sum});
  }
  {
    KernelText K("row_max_long");
    K.input("x", "f32", {"n", "c"}).output("y", "f32", {"n"});
    K.fact("c", "optimum = 4096");
    K.generic("y", {Id2, Rows}, "pr", {"x"}, "%r = arith.maximumf %y, %x : f32",
              "%r", "0xFF800000");
    Cases.push_back({K,
                     {{1, 1}, {3, 0}, {2, 4096}, {3, 5000}, {5, 255}},
                     "row-reduction block x1"});
  }
  {
    // A mean: what follows the sum, and an initial value that is not 0.
    KernelText K("row_mean_vector");
    K.input("x", "f16", {"n", "4096"}).input("b", "f32", {"n"});
    K.output("y", "f16", {"n"});
    K.generic("s", {Id2, Rows}, "pr", {"x"},
              "%e = arith.extf %x : f16 to f32\n"
              "%r = arith.addf %s, %e : f32",
              "%r", "0.5", "f32", {"n"});
    K.generic("y", {Id1, Id1, Id1}, "p", {"s", "b"},
              "%c = arith.constant 2.44140625e-04 : f32\n"
              "%m = arith.mulf %s, %c : f32\n"
              "%q = arith.addf %m, %b : f32\n"
              "%r = arith.truncf %q : f32 to f16",
              "%r");
    Cases.push_back({K, {{1}, {5}}, "row-reduction block x8", 1e-3});
  }
  {
    // Sum and sum of squares together, over two dims, of two leading dims.
    KernelText K("two_sums");
    K.input("x", "f32", {"n", "3", "6", "20"}).output("y", "f32", {"n", "3"});
    K.generic("y", {"(a,b,c,d)->(a,b,c,d)", "(a,b,c,d)->(a,b)"}, "pprr", {"x"},
              "%q = arith.mulf %x, %x : f32\n%r = arith.addf %y, %q : f32",
              "%r", "0.0");
    Cases.push_back({K, {{1}, {4}}, "row-reduction warp x2", Sum});
  }
  {
    // Everything to one number, of bools and of 64-bit integers.
    KernelText K("all");
    K.input("x", "i1", {"n"}).output("y", "i1", {});
    K.generic("y", {Id1, "(a)->()"}, "r", {"x"}, "%r = arith.andi %y, %x : i1",
              "%r", "true");
    Cases.push_back({K, {{0}, {1}, {3000}}, "row-reduction"});
  }
  {
    KernelText K("sum_of_longs");
    K.input("x", "i64", {"n"}).output("y", "i64", {});
    K.fact("n", "optimum = 3000");
    K.generic("y", {Id1, "(a)->()"}, "r", {"x"}, "%r = arith.addi %y, %x : i64",
              "%r", "0");
    Cases.push_back({K, {{0}, {1}, {3001}}, "row-reduction block x1"});
  }
  {
    // Row by row of a broadcast producer: the producer is pulled in.
    KernelText K("squared_distance");
    K.input("x", "f32", {"n", "128"}).input("m", "f32", {"n"});
    K.output("y", "f32", {"n"});
    K.generic("d", {Id2, Rows, Id2}, "pp", {"x", "m"},
              "%s = arith.subf %x, %m : f32\n%r = arith.mulf %s, %s : f32",
              "%r", "", "f32", {"n", "128"});
    K.generic("y", {Id2, Rows}, "pr", {"d"}, "%r = arith.addf %y, %d : f32",
              "%r", "0.0");
    Cases.push_back({K, {{1}, {20}}, "row-reduction warp x4", Sum});
  }
  return Cases;
}

/// Rows that stay in registers.
static std::vector<Case> keptRowCases() {
  std::vector<Case> Cases;
  {
    // One reduction, and the rows again.
    KernelText K("rows_centred");
    K.input("x", "f32", {"n", "100"}).output("y", "f32", {"n", "100"});
    K.generic("s", {Id2, Rows}, "pr", {"x"}, "%r = arith.addf %s, %x : f32",
              "%r", "0.0", "f32", {"n"});
    K.generic("y", {Id2, Rows, Id2}, "pp", {"x", "s"},
              "%c = arith.constant 0.01 : f32\n"
              "%m = arith.mulf %s, %c : f32\n"
              "%r = arith.subf %x, %m : f32",
              "%r");
    Cases.push_back({K, {{1}, {7}, {130}}, "rows", Sum});
  }
  {
    // Rows begin anywhere: vectors with single elements around them.
    KernelText K("rows_odd");
    K.input("x", "f16", {"n", "301"}).input("b", "f16", {"301"});
    K.output("y", "f16", {"n", "301"}).fact("n", "optimum = 4096");
    K.generic("s", {Id2, Rows}, "pr", {"x"},
              "%e = arith.extf %x : f16 to f32\n%r = arith.addf %s, %e : f32",
              "%r", "0.0", "f32", {"n"});
    K.generic("y", {Id2, Rows, "(a,b)->(b)", Id2}, "pp", {"x", "s", "b"},
              "%c = arith.constant 0.01 : f32\n"
              "%m = arith.mulf %s, %c : f32\n"
              "%e = arith.extf %x : f16 to f32\n"
              "%f = arith.extf %b : f16 to f32\n"
              "%d = arith.subf %e, %m : f32\n"
              "%p = arith.mulf %d, %f : f32\n"
              "%r = arith.truncf %p : f32 to f16",
              "%r");
    Cases.push_back({K, {{1}, {9}, {130}}, "rows", 1e-3});
  }
  {
    // The same, longer than the registers hold.
    KernelText K("rows_odd_long");
    K.input("x", "f16", {"n", "25001"}).output("y", "f16", {"n", "25001"});
    K.generic("s", {Id2, Rows}, "pr", {"x"},
              "%e = arith.extf %x : f16 to f32\n"
              "%r = arith.maximumf %s, %e : f32",
              "%r", "0xFF800000", "f32", {"n"});
    K.generic("y", {Id2, Rows, Id2}, "pp", {"x", "s"},
              "%e = arith.extf %x : f16 to f32\n"
              "%d = arith.subf %e, %s : f32\n"
              "%r = arith.truncf %d : f32 to f16",
              "%r");
    Cases.push_back({K, {{2}}, "rows of any length"});
  }
  {
    // Two reductions, one of them an output; any length.
    KernelText K("rows_of_any_length");
    K.input("x", "f32", {"n", "c"});
    K.output("t", "f32", {"n"}).output("y", "f32", {"n", "c"});
    K.fact("c", "optimum = 600");
    K.generic("s", {Id2, Rows}, "pr", {"x"}, "%r = arith.maximumf %s, %x : f32",
              "%r", "0xFF800000", "f32", {"n"});
    K.generic("d", {Id2, Rows, Id2}, "pp", {"x", "s"},
              "%r = arith.subf %x, %s : f32", "%r", "", "f32", {"n", "c"});
    K.generic("t", {Id2, Rows}, "pr", {"d"},
              "%q = arith.mulf %d, %d : f32\n%r = arith.addf %t, %q : f32",
              "%r", "0.0");
    K.generic("y", {Id2, Rows, Id2}, "pp", {"d", "t"},
              "%r = arith.mulf %d, %t : f32", "%r");
    Cases.push_back(
        {K,
         {{1, 1}, {3, 0}, {2, 600}, {3, 601}, {5, 255}, {2, 5000}, {1, 5001}},
         "rows",
         2 * Sum}); // 5,001 squares, which the host adds one by one
  }
  return Cases;
}

static std::vector<Case> columnCases() {
  std::vector<Case> Cases;
  {
    KernelText K("column_sum");
    K.input("x", "f32", {"n", "c"}).output("y", "f32", {"c"});
    K.generic("y", {"(a,b)->(b,a)", Rows}, "pr", {"x"},
              "%r = arith.addf %y, %x : f32", "%r", "0.0");
    Cases.push_back(
        {K, {{1, 1}, {0, 5}, {100, 33}, {1000, 70}}, "column-reduction", Sum});
  }
  {
    // A global average pool, NHWC.
    KernelText K("global_average");
    K.input("x", "f16", {"n", "7", "7", "40"}).output("y", "f16", {"n", "40"});
    K.generic("s", {"(a,b,c,d)->(a,c,d,b)", "(a,b,c,d)->(a,b)"}, "pprr", {"x"},
              "%e = arith.extf %x : f16 to f32\n"
              "%r = arith.addf %s, %e : f32",
              "%r", "0.0", "f32", {"n", "40"});
    K.generic("y", {Id2, Id2}, "pp", {"s"},
              "%c = arith.constant 0.02040816326530612 : f32\n"
              "%m = arith.mulf %s, %c : f32\n"
              "%r = arith.truncf %m : f32 to f16",
              "%r");
    Cases.push_back({K, {{1}, {3}}, "column-reduction", 1e-3});
  }
  {
    KernelText K("column_max_double");
    K.input("x", "f64", {"64", "n"}).output("y", "f64", {"n"});
    K.generic("y", {"(a,b)->(b,a)", Rows}, "pr", {"x"},
              "%r = arith.maximumf %y, %x : f64", "%r", "0xFFF0000000000000");
    Cases.push_back({K, {{1}, {31}, {65}}, "column-reduction"});
  }
  {
    // A matrix-vector product: the matrix is walked by lines.
    KernelText K("vector_times_matrix");
    K.input("x", "f32", {"300"}).input("w", "f32", {"300", "50"});
    K.output("y", "f32", {"50"});
    K.generic("y", {"(a,b)->(b)", "(a,b)->(b,a)", Rows}, "pr", {"x", "w"},
              "%m = arith.mulf %x, %w : f32\n%r = arith.addf %y, %m : f32",
              "%r", "0.0");
    Cases.push_back({K, {{}}, "column-reduction 32 groups", Sum});
  }
  return Cases;
}

std::vector<Case> reductionCases() {
  std::vector<Case> All = rowCases();
  for (const std::vector<Case> &More : {keptRowCases(), columnCases()})
    All.insert(All.end(), More.begin(), More.end());
  return All;
}

} // namespace kpc::testing
