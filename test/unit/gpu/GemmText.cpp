//===- GemmText.cpp - Kernels of GEMMs as text ----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "GemmText.h"

namespace kpc::testing {

KernelText textOf(const Product &P) {
  std::string N = std::to_string(P.Columns), Depth = std::to_string(P.Sum),
              T = P.Type;
  std::vector<std::string> B;
  std::string Index;
  if (P.Batch) {
    B = {std::to_string(P.Batch)};
    Index = "b,";
  }
  auto Dims = [&](const std::string &One, const std::string &Two) {
    std::vector<std::string> All = B;
    All.insert(All.end(), {One, Two});
    return All;
  };
  auto Map = [&](const char *To) {
    return "(" + Index + "m,n,k)->(" + Index + To + ")";
  };
  KernelText K(P.Name);
  K.input("x", T, Dims("m", Depth));
  K.input("w", T, P.Transposed ? Dims(N, Depth) : Dims(Depth, N));
  if (P.Finished)
    K.input("c", T, {N});
  K.output("y", T, Dims("m", N));
  K.fact("m", "min = 1, optimum = " + std::to_string(P.Rows));
  std::string Parallel = P.Batch ? "ppp" : "pp";
  K.generic("s", {Map("m,k"), Map(P.Transposed ? "n,k" : "k,n"), Map("m,n")},
            Parallel + "r", {"x", "w"},
            "%e = arith.extf %x : " + T + " to f32\n%f = arith.extf %w : " + T +
                " to f32\n%p = arith.mulf %e, %f : f32\n"
                "%r = arith.addf %s, %p : f32",
            "%r", "0.0", "f32", Dims("m", N));
  std::string Same = P.Batch ? "(a,b,c)->(a,b,c)" : "(a,b)->(a,b)";
  if (!P.Finished) {
    K.generic("y", {Same, Same}, Parallel, {"s"},
              "%r = arith.truncf %s : f32 to " + T, "%r");
    return K;
  }
  K.generic("y", {Same, P.Batch ? "(a,b,c)->(c)" : "(a,b)->(b)", Same},
            Parallel, {"s", "c"},
            "%e = arith.extf %c : " + T +
                " to f32\n"
                "%t = arith.addf %s, %e : f32\n"
                "%z = arith.constant 0.0 : f32\n"
                "%u = arith.maximumf %t, %z : f32\n"
                "%r = arith.truncf %u : f32 to " +
                T,
            "%r");
  return K;
}

KernelText gateOf(const Product &P) {
  std::string N = std::to_string(P.Columns), Depth = std::to_string(P.Sum),
              T = P.Type;
  std::vector<std::string> Right =
      P.Transposed ? std::vector{N, Depth} : std::vector{Depth, N};
  KernelText K(P.Name);
  K.input("x", T, {"m", Depth}).input("w", T, Right).input("v", T, Right);
  K.output("y", T, {"m", N});
  K.fact("m", "min = 1, optimum = " + std::to_string(P.Rows));
  for (const char *Side : {"w", "v"}) {
    std::string Sum = std::string(Side) + "s";
    K.generic(Sum,
              {"(m,n,k)->(m,k)",
               P.Transposed ? "(m,n,k)->(n,k)" : "(m,n,k)->(k,n)",
               "(m,n,k)->(m,n)"},
              "ppr", {"x", Side},
              "%e = arith.extf %x : " + T + " to f32\n%f = arith.extf %" +
                  Side + " : " + T +
                  " to f32\n%p = arith.mulf %e, %f : f32\n"
                  "%r = arith.addf %" +
                  Sum + ", %p : f32",
              "%r", "0.0", "f32", {"m", N});
  }
  std::string Same = "(a,b)->(a,b)";
  K.generic("y", {Same, Same, Same}, "pp", {"ws", "vs"},
            "%one = arith.constant 1.0 : f32\n"
            "%n = arith.negf %ws : f32\n"
            "%e = math.exp %n : f32\n"
            "%d = arith.addf %one, %e : f32\n"
            "%q = arith.divf %ws, %d : f32\n"
            "%p = arith.mulf %q, %vs : f32\n"
            "%r = arith.truncf %p : f32 to " +
                T,
            "%r");
  return K;
}

KernelText turnedOf(const RotatedHeads &H) {
  std::string Count = std::to_string(H.Count), Half = std::to_string(H.Half),
              Depth = std::to_string(H.Sum);
  std::string Outer = H.Neighbours ? Half : "2",
              Inner = H.Neighbours ? "2" : Half;
  std::vector<std::string> All = {"m", Count, Outer, Inner};
  KernelText K(H.Name);
  K.input("x", "f16", {"m", Depth})
      .input("w", "f16", {Depth, Count, Outer, Inner});
  K.input("c", "f32", {"m", Outer, Inner})
      .input("s", "f32", {"m", Outer, Inner});
  K.output("y", "f16", All);
  K.fact("m", "min = 1, max = 65536, optimum = " + std::to_string(H.Rows));
  K.generic("p",
            {"(m,h,t,p,k)->(m,k)", "(m,h,t,p,k)->(k,h,t,p)",
             "(m,h,t,p,k)->(m,h,t,p)"},
            "ppppr", {"x", "w"},
            "%e = arith.extf %x : f16 to f32\n%f = arith.extf %w : f16 to f32\n"
            "%o = arith.mulf %e, %f : f32\n%r = arith.addf %p, %o : f32",
            "%r", "0.0", "f32", All);
  std::string Same = "(a,b,c,d)->(a,b,c,d)", OfRow = "(a,b,c,d)->(a,c,d)";
  K.generic("e", {Same}, "pppp", {},
            "%a = linalg.index 0 : index\n%b = linalg.index 1 : index\n"
            "%c = linalg.index 2 : index\n%d = linalg.index 3 : index\n"
            "%one = arith.constant 1 : index\n%minus = arith.constant -1 : "
            "index\n%back = arith.muli " +
                std::string(H.Neighbours ? "%d" : "%c") +
                ", %minus : index\n%other = arith.addi %one, %back : index\n"
                "%r = tensor.extract %p_t[%a, %b, " +
                (H.Neighbours ? "%c, %other" : "%other, %d") + "] : tensor<?x" +
                Count + "x" + Outer + "x" + Inner + "xf32>",
            "%r", "", "f32", All);
  K.generic("y", {Same, Same, OfRow, OfRow, Same}, "pppp", {"p", "e", "c", "s"},
            "%l = arith.mulf %p, %c : f32\n%t = arith.mulf %e, %s : f32\n"
            "%a = arith.addf %l, %t : f32\n%r = arith.truncf %a : f32 to f16",
            "%r");
  return K;
}

} // namespace kpc::testing
