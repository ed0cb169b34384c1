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
/// of 4096 elements. `device` prints GPU kernels of one element per thread.
///
//===----------------------------------------------------------------------===//

#include <cstdio>
#include <cstring>
#include <string>

static bool Device = false;

/// MLIR's integers have no sign.
static std::string typeName(std::string Ty) { return Ty == "u64" ? "i64" : Ty; }

/// On the device a thread does one element; on the host a loop does a block.
static void writeIndex() {
  if (!Device) {
    printf("  %%c0 = arith.constant 0 : index\n"
           "  %%c1 = arith.constant 1 : index\n"
           "  %%n = arith.constant 4096 : index\n"
           "  scf.for %%i = %%c0 to %%n step %%c1 {\n");
    return;
  }
  printf("  %%t = nvvm.read.ptx.sreg.tid.x : i32\n"
         "  %%g = nvvm.read.ptx.sreg.ctaid.x : i32\n"
         "  %%d = nvvm.read.ptx.sreg.ntid.x : i32\n"
         "  %%gd = arith.muli %%g, %%d : i32\n"
         "  %%gt = arith.addi %%gd, %%t : i32\n"
         "  %%i = arith.index_cast %%gt : i32 to index\n");
}

static void writeFunction(std::string Name, std::string From, std::string To,
                          bool Binary, std::string Body) {
  std::string Size = Device ? "memref<16777216x" : "memref<4096x";
  std::string In = Size + typeName(From) + ">";
  std::string Out = Size + typeName(To) + ">";
  printf("func.func @%s(%%x: %s {llvm.noalias}, ", Name.c_str(), In.c_str());
  if (Binary)
    printf("%%y: %s {llvm.noalias}, ", In.c_str());
  printf("%%z: %s {llvm.noalias}) {\n", Out.c_str());
  writeIndex();
  printf("    %%a = memref.load %%x[%%i] : %s\n", In.c_str());
  if (Binary)
    printf("    %%b = memref.load %%y[%%i] : %s\n", In.c_str());
  printf("    %s\n    memref.store %%r, %%z[%%i] : %s\n", Body.c_str(),
         Out.c_str());
  printf("%s  return\n}\n", Device ? "" : "  }\n");
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
