//===- MapCases.cpp - Elementwise kernels ---------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Cases.h"

namespace kpc::testing {

static const char *const Relu = "%z = arith.constant 0.0 : f32\n"
                                "%r = arith.maximumf %x, %z : f32";
static const char *const Id1 = "(a)->(a)";
static const char *const Id2 = "(a,b)->(a,b)";
static const char *const Id3 = "(a,b,c)->(a,b,c)";

static KernelText unary(const char *Name, const char *In, const char *Out,
                        std::vector<std::string> Dims, const char *Body) {
  KernelText K(Name);
  std::string From, Kinds;
  for (size_t I = 0; I < Dims.size(); ++I) {
    From += (I ? "," : "") + std::string(1, char('a' + I));
    Kinds += 'p';
  }
  std::string Map = "(" + From + ")->(" + From + ")";
  K.input("x", In, Dims).output("y", Out, Dims);
  K.generic("y", {Map, Map}, Kinds, {"x"}, Body, "%r");
  return K;
}

static std::vector<Case> flatCases() {
  std::vector<Case> Cases;
  Cases.push_back({unary("relu_dynamic", "f32", "f32", {"n"}, Relu),
                   {{0}, {1}, {3}, {4}, {5}, {1023}, {4096}, {4099}},
                   "map x4"});
  Cases.push_back({unary("relu_known", "f32", "f32", {"1000"}, Relu),
                   {{}},
                   "map x1"}); // too few elements for wide groups
  Cases.push_back({unary("relu_planes", "f32", "f32", {"n", "3", "5"}, Relu),
                   {{1}, {2}, {77}},
                   "map x4"});
  Cases.push_back({unary("half_to_float", "f16", "f32", {"n"},
                         "%r = arith.extf %x : f16 to f32"),
                   {{1}, {9}, {4097}},
                   "map x4"});
  Cases.push_back({unary("halves", "f16", "f16", {"n"},
                         "%e = arith.extf %x : f16 to f32\n"
                         "%s = arith.mulf %e, %e : f32\n"
                         "%r = arith.truncf %s : f32 to f16"),
                   {{1}, {9}, {4097}},
                   "map x8"});
  Cases.push_back({unary("bfloats", "bf16", "bf16", {"n"},
                         "%e = arith.extf %x : bf16 to f32\n"
                         "%s = arith.addf %e, %e : f32\n"
                         "%r = arith.truncf %s : f32 to bf16"),
                   {{8}, {4097}},
                   "map x8"});
  Cases.push_back({unary("bytes_to_long", "i8", "i64", {"n"},
                         "%r = arith.extsi %x : i8 to i64"),
                   {{5}, {1030}},
                   "map x2"});
  Cases.push_back({unary("positive", "f32", "i1", {"n"},
                         "%z = arith.constant 0.0 : f32\n"
                         "%r = arith.cmpf ogt, %x, %z : f32"),
                   {{1}, {31}, {1031}},
                   "map x8"});
  Cases.push_back({unary("not", "i1", "i1", {"n"},
                         "%t = arith.constant true\n"
                         "%r = arith.xori %x, %t : i1"),
                   {{1}, {1031}},
                   "map x8"});
  Cases.push_back({unary("scalar", "f32", "f32", {}, Relu), {{}}, "map x1"});
  Cases.push_back(
      {unary("double", "f64", "f64", {"n"}, "%r = arith.addf %x, %x : f64"),
       {{7}, {300}},
       "map x2"});
  return Cases;
}

static std::vector<Case> rowCases() {
  std::vector<Case> Cases;
  {
    // Rows are whole groups.
    KernelText K("bias_rows");
    K.input("x", "f32", {"n", "64"}).input("b", "f32", {"64"});
    K.output("y", "f32", {"n", "64"});
    K.generic("y", {Id2, "(a,b)->(b)", Id2}, "pp", {"x", "b"},
              "%r = arith.addf %x, %b : f32", "%r");
    Cases.push_back({K, {{0}, {1}, {33}}, "map x4"});
  }
  {
    // Rows of 5: no groups.
    KernelText K("bias_ragged");
    K.input("x", "f32", {"n", "4", "5"}).input("b", "f32", {"5"});
    K.output("y", "f32", {"n", "4", "5"});
    K.generic("y", {Id3, "(a,b,c)->(c)", Id3}, "ppp", {"x", "b"},
              "%r = arith.addf %x, %b : f32", "%r");
    Cases.push_back({K, {{1}, {19}}, "map x1"});
  }
  {
    // A bias per plane, of NCHW: broadcast along the row.
    KernelText K("bias_planes");
    K.input("x", "f32", {"n", "7", "36"}).input("b", "f32", {"7"});
    K.output("y", "f32", {"n", "7", "36"});
    K.generic("y", {Id3, "(a,b,c)->(b)", Id3}, "ppp", {"x", "b"},
              "%r = arith.addf %x, %b : f32", "%r");
    Cases.push_back({K, {{1}, {11}}, "map x4"});
  }
  {
    // Dynamic rows that are known to be multiples of 8.
    KernelText K("bias_divisor");
    K.input("x", "f16", {"n", "c"}).input("b", "f16", {"c"});
    K.output("y", "f16", {"n", "c"}).fact("c", "divisor = 8");
    K.generic("y", {Id2, "(a,b)->(b)", Id2}, "pp", {"x", "b"},
              "%e = arith.extf %x : f16 to f32\n"
              "%f = arith.extf %b : f16 to f32\n"
              "%s = arith.addf %e, %f : f32\n"
              "%r = arith.truncf %s : f32 to f16",
              "%r");
    Cases.push_back({K, {{1, 8}, {3, 40}, {5, 264}}, "map x8"});
  }
  {
    KernelText K("bias_unknown");
    K.input("x", "f32", {"n", "c"}).input("b", "f32", {"c"});
    K.output("y", "f32", {"n", "c"});
    K.generic("y", {Id2, "(a,b)->(b)", Id2}, "pp", {"x", "b"},
              "%r = arith.addf %x, %b : f32", "%r");
    Cases.push_back({K, {{1, 1}, {3, 7}, {5, 264}}, "map x1"});
  }
  {
    // Rows begin anywhere: elements a warp apart.
    KernelText K("bias_odd");
    K.input("x", "f16", {"n", "1001"}).input("b", "f16", {"1001"});
    K.output("y", "f16", {"n", "1001"}).fact("n", "optimum = 4096");
    K.generic("y", {Id2, "(a,b)->(b)", Id2}, "pp", {"x", "b"},
              "%e = arith.extf %x : f16 to f32\n"
              "%f = arith.extf %b : f16 to f32\n"
              "%s = arith.addf %e, %f : f32\n"
              "%r = arith.truncf %s : f32 to f16",
              "%r");
    Cases.push_back({K, {{1}, {3}, {0}}, "map x8 spread"});
  }
  {
    // Whole warps of elements: nothing is left out.
    KernelText K("planes_of_halves");
    K.input("x", "f16", {"n", "768", "3"})
        .output("y", "f16", {"n", "3", "768"});
    K.fact("n", "optimum = 4096");
    K.generic("y", {"(a,b,c)->(a,c,b)", Id3}, "ppp", {"x"},
              "%r = arith.addf %x, %x : f16", "%r");
    Cases.push_back({K, {{1}, {5}}, "map"});
  }
  return Cases;
}

static std::vector<Case> indexedCases() {
  std::vector<Case> Cases;
  {
    KernelText K("gather_rows");
    K.input("t", "f32", {"v", "16"}).input("i", "i64", {"n"});
    K.output("y", "f32", {"n", "16"});
    // Indices may be anything: kept in range as the graph does it.
    K.generic("y", {"(a,b)->(a)", Id2}, "pp", {"i"},
              "%c0 = arith.constant 0 : index\n"
              "%c1 = arith.constant 1 : index\n"
              "%j = arith.index_cast %i : i64 to index\n"
              "%k = arith.remui %j, %v : index\n"
              "%b = linalg.index 1 : index\n"
              "%r = tensor.extract %t_t[%k, %b] : tensor<?x16xf32>",
              "%r");
    Cases.push_back({K, {{3, 1}, {10, 70}}, "map x4"});
  }
  {
    KernelText K("pad_rows");
    K.input("x", "f32", {"n", "12"}).output("y", "f32", {"n", "16"});
    K.generic("y", {Id2}, "pp", {},
              "%z = arith.constant 0.0 : f32\n"
              "%c2 = arith.constant 2 : index\n"
              "%c12 = arith.constant 12 : index\n"
              "%a = linalg.index 0 : index\n"
              "%b = linalg.index 1 : index\n"
              "%s = arith.subi %b, %c2 : index\n"
              "%in = arith.cmpi ult, %s, %c12 : index\n"
              "%r = scf.if %in -> f32 {\n"
              "%e = tensor.extract %x_t[%a, %s] : tensor<?x12xf32>\n"
              "scf.yield %e : f32 } else { scf.yield %z : f32 }",
              "%r");
    Cases.push_back({K, {{1}, {37}}, "map x4"});
  }
  {
    KernelText K("iota");
    K.output("y", "i32", {"n", "6"});
    K.generic("y", {Id2}, "pp", {},
              "%c6 = arith.constant 6 : index\n"
              "%a = linalg.index 0 : index\n"
              "%b = linalg.index 1 : index\n"
              "%m = arith.muli %a, %c6 : index\n"
              "%s = arith.addi %m, %b : index\n"
              "%r = arith.index_cast %s : index to i32",
              "%r");
    Cases.push_back({K, {{1}, {50}}, "map x2"});
  }
  {
    // Every second element backwards: no vector loads.
    KernelText K("strided_read");
    K.input("x", "f32", {"64"}).output("y", "f32", {"n", "32"});
    K.generic("y", {"(a,b)->(b*-2+63)", Id2}, "pp", {"x"},
              "%r = arith.addf %x, %x : f32", "%r");
    Cases.push_back({K, {{1}, {9}}, "map x4"});
  }
  {
    // The diagonal: neighbours are in other rows.
    KernelText K("diagonal");
    K.input("x", "f32", {"32", "32"}).output("y", "f32", {"n", "32"});
    K.generic("y", {"(a,b)->(b,b)", Id2}, "pp", {"x"},
              "%r = arith.addf %x, %x : f32", "%r");
    Cases.push_back({K, {{1}, {9}}, "map x4"});
  }
  return Cases;
}

static std::vector<Case> severalOutputs() {
  std::vector<Case> Cases;
  {
    KernelText K("two_outputs");
    K.input("x", "f32", {"n"}).output("y", "f32", {"n"});
    K.output("w", "f16", {"n"});
    K.generic("y", {Id1, Id1}, "p", {"x"}, Relu, "%r");
    K.generic("w", {Id1, Id1}, "p", {"y"}, "%r = arith.truncf %y : f32 to f16",
              "%r");
    Cases.push_back({K, {{1}, {1025}}, "map x4"});
  }
  {
    KernelText K("two_shapes");
    K.input("x", "f32", {"n", "8"}).output("y", "f32", {"n", "8"});
    K.output("w", "f32", {"n"});
    K.generic("y", {Id2, Id2}, "pp", {"x"}, Relu, "%r");
    K.generic("w", {"(a)->(a,0)", Id1}, "p", {"x"}, Relu, "%r");
    Cases.push_back({K, {{0}, {1}, {601}}, "map sections"});
  }
  {
    // A sum whose terms are also wanted.
    KernelText K("square_and_sum");
    K.input("x", "f32", {"n", "8"}).output("y", "f32", {"n", "8"});
    K.output("w", "f32", {"n"});
    K.generic("y", {Id2, Id2}, "pp", {"x"}, "%r = arith.mulf %x, %x : f32",
              "%r");
    K.generic("w", {Id2, "(a,b)->(a)"}, "pr", {"y"},
              "%r = arith.addf %w, %y : f32", "%r", "0.0");
    Cases.push_back({K, {{1}, {601}}, "rows", 1e-6}); // added in another order
  }
  return Cases;
}

std::vector<Case> mapCases() {
  std::vector<Case> All;
  for (auto Make : {flatCases, rowCases, indexedCases, severalOutputs})
    for (Case &C : Make())
      All.push_back(std::move(C));
  return All;
}

std::vector<Case> allCases() {
  std::vector<Case> All;
  for (auto Make : {mapCases, transposeCases, reductionCases, windowCases,
                    contractionCases})
    for (Case &C : Make())
      All.push_back(std::move(C));
  return All;
}

} // namespace kpc::testing
