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
    // Enough short rows for several of a warp; the last warp's are not whole.
    KernelText K("row_sums_of_many");
    K.input("x", "f32", {"n", "36"}).output("y", "f32", {"n"});
    K.fact("n", "optimum = 1048576");
    K.generic("y", {Id2, Rows}, "pr", {"x"}, "%r = arith.addf %y, %x : f32",
              "%r", "0.0");
    Cases.push_back(
        {K, {{0}, {1}, {3}, {33}, {100}}, "row-reduction 8 threads x4", Sum});
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

/// x minus a hundredth of its row's sum, which is over `Row` of x's dimensions.
static KernelText centred(const std::string &Name,
                          const std::vector<std::string> &Sizes,
                          const std::vector<std::string> &Outer,
                          const std::string &Read, const std::string &Sums,
                          const std::string &Iterators,
                          const std::string &Broadcast) {
  KernelText K(Name);
  K.input("x", "f16", Sizes).output("y", "f16", Sizes);
  std::string Loops = Sums.substr(0, Sums.find(')') + 1),
              Id = Loops + "->" + Loops;
  K.generic("s", {Read, Sums}, Iterators, {"x"},
            "%e = arith.extf %x : f16 to f32\n%r = arith.addf %s, %e : f32",
            "%r", "0.0", "f32", Outer);
  K.generic("y", {Id, Broadcast, Id}, std::string(Iterators.size(), 'p'),
            {"x", "s"},
            "%hundredth = arith.constant 0.01 : f32\n"
            "%m = arith.mulf %s, %hundredth : f32\n"
            "%e = arith.extf %x : f16 to f32\n"
            "%d = arith.subf %e, %m : f32\n"
            "%r = arith.truncf %d : f32 to f16",
            "%r");
  return K;
}

/// Rows whose dimensions are not the last ones, or not those alone.
static std::vector<Case> partedRowCases() {
  std::vector<Case> Cases;
  KernelText Groups = centred("rows_of_groups", {"n", "p", "3", "10"},
                              {"n", "3"}, "(a,b,c,d)->(a,c,b,d)",
                              "(a,b,c,d)->(a,b)", "pprr", "(a,b,c,d)->(a,c)");
  Groups.fact("p", "optimum = 64");
  Cases.push_back({Groups, {{1, 1}, {2, 7}, {1, 200}}, "rows", 1e-3});
  Cases.push_back({centred("columns_kept", {"n", "21", "4", "24"},
                           {"n", "4", "24"}, "(a,b,c,d)->(a,d,b,c)",
                           "(a,b,c,d)->(a,b,c)", "pppr", "(a,b,c,d)->(a,c,d)"),
                   {{1}, {3}},
                   "columns",
                   1e-3});
  KernelText Any =
      centred("columns_of_any_length", {"n", "c", "w"}, {"n", "w"},
              "(a,b,c)->(a,c,b)", "(a,b,c)->(a,b)", "ppr", "(a,b,c)->(a,c)");
  Any.fact("c", "optimum = 64").fact("w", "optimum = 100");
  Cases.push_back({Any,
                   {{1, 5, 1}, {2, 40, 33}, {1, 0, 7}, {1, 301, 65}},
                   "columns",
                   1e-3});
  return Cases;
}

static std::vector<Case> columnCases() {
  std::vector<Case> Cases;
  {
    // Channels of groups are columns side by side.
    KernelText K("channels_of_groups");
    K.input("x", "f32", {"n", "p", "3", "10"});
    K.output("y", "f32", {"n", "3", "10"}).fact("p", "optimum = 400");
    K.generic("y", {"(a,b,c,d)->(a,d,b,c)", "(a,b,c,d)->(a,b,c)"}, "pppr",
              {"x"}, "%r = arith.addf %y, %x : f32", "%r", "0.0");
    Cases.push_back({K, {{1, 1}, {2, 70}, {1, 333}}, "column-reduction", Sum});
  }
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
  for (const std::vector<Case> &More :
       {keptRowCases(), partedRowCases(), columnCases()})
    All.insert(All.end(), More.begin(), More.end());
  return All;
}

} // namespace kpc::testing
