//===- write-kernels.cpp - Loops over each math op, as MLIR ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Prints one function per entry of functions.def: it applies the op to each
/// of 4096 elements. `device` prints functions of one element, which the GPU's
/// back end is to select.
///
//===----------------------------------------------------------------------===//

#include <cstdio>
#include <cstring>
#include <string>

static bool Device = false;

/// MLIR's integers have no sign.
static std::string typeName(std::string Ty) { return Ty == "u64" ? "i64" : Ty; }

static void writeFunction(std::string Name, std::string From, std::string To,
                          bool Binary, std::string Body) {
  std::string Size = Device ? "1x" : "4096x";
  From = typeName(From);
  std::string In = "memref<" + Size + From + ">",
              Out = "memref<" + Size + To + ">";
  printf("func.func @%s(%%x: %s {llvm.noalias}, ", Name.c_str(), In.c_str());
  if (Binary)
    printf("%%y: %s {llvm.noalias}, ", In.c_str());
  printf("%%z: %s {llvm.noalias}) {\n", Out.c_str());
  printf(
      "  %%c0 = arith.constant 0 : index\n  %%c1 = arith.constant 1 : index\n"
      "  %%n = arith.constant %s : index\n"
      "  scf.for %%i = %%c0 to %%n step %%c1 {\n",
      Device ? "1" : "4096");
  printf("    %%a = memref.load %%x[%%i] : %s\n", In.c_str());
  if (Binary)
    printf("    %%b = memref.load %%y[%%i] : %s\n", In.c_str());
  printf("    %s\n    memref.store %%r, %%z[%%i] : %s\n  }\n  return\n}\n",
         Body.c_str(), Out.c_str());
}

static void writeOp(std::string Name, std::string Op, std::string Ty,
                    bool Binary) {
  writeFunction(Name, Ty, Ty, Binary,
                "%r = " + Op + (Binary ? " %a, %b : " : " %a : ") + Ty);
}

int main(int argc, char **argv) {
  Device = argc > 1 && !strcmp(argv[1], "device");
#define MATH_UNARY(Name, Op, Reference, Bound32, Bound64)                      \
  writeOp(#Name "_f32", Op, "f32", false);                                     \
  writeOp(#Name "_f64", Op, "f64", false);
#define MATH_BINARY(Name, Op, Reference, Bound32, Bound64)                     \
  writeOp(#Name "_f32", Op, "f32", true);                                      \
  writeOp(#Name "_f64", Op, "f64", true);
#define MATH_EXACT(Name, Ops, From, To, Reference)                             \
  writeFunction(#Name, From, To, false, Ops);
#define MATH_EXACT2(Name, Op, Type, Reference) writeOp(#Name, Op, Type, true);
#include "test/math/functions.def"
  return 0;
}
