#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a function for each scalar op and type that a kernel may hold: none of them may end in a library call."""

WIDTHS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
count = 0


def write(op, operands, result):
    global count
    count += 1
    arguments = ", ".join(f"%{name}: {ty}" for name, ty in zip("ab", operands))
    print(f"func.func @f{count}({arguments}) -> {result} {{ %r = {op} return %r : {result} }}")


def write_with_vector(op, operands, ty):
    vector = f"vector<4x{ty}>"
    write(f"{op} : {ty}", [ty] * operands, ty)
    write(f"{op} : {vector}", [vector] * operands, vector)


def conversions(ty):
    for integer in ("i1", "i8", "i16", "i32", "i64"):
        for op in ("sitofp", "uitofp"):
            write(f"arith.{op} %a : {integer} to {ty}", [integer], ty)
        for op in ("fptosi", "fptoui"):
            write(f"arith.{op} %a : {ty} to {integer}", [ty], integer)
    for other in WIDTHS:
        if WIDTHS[other] == WIDTHS[ty]:
            continue
        op = "extf" if WIDTHS[other] > WIDTHS[ty] else "truncf"
        write(f"arith.{op} %a : {ty} to {other}", [ty], other)
        write(f"arith.{op} %a : vector<8x{ty}> to vector<8x{other}>", [f"vector<8x{ty}>"], f"vector<8x{other}>")


def floats(ty):
    for op in "addf subf mulf divf remf maximumf minimumf maxnumf minnumf".split():
        write_with_vector(f"arith.{op} %a, %b", 2, ty)
    for op in "powf atan2 copysign".split():
        write_with_vector(f"math.{op} %a, %b", 2, ty)
    unary = ("exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc "
             "cbrt sqrt rsqrt floor ceil trunc round roundeven absf")
    for op in unary.split():
        write_with_vector(f"math.{op} %a", 1, ty)
    write_with_vector("arith.negf %a", 1, ty)
    write_with_vector("math.fma %a, %b, %b", 2, ty)
    for predicate in "olt une ueq ord".split():
        write(f"arith.cmpf {predicate}, %a, %b : {ty}", [ty, ty], "i1")
    for op in "isnan isinf isfinite isnormal".split():
        write(f"math.{op} %a : {ty}", [ty], "i1")
    write(f"math.fpowi %a, %b : {ty}, i32", [ty, "i32"], ty)
    write(f"math.clampf %a to [%b, %b] : {ty}", [ty, ty], ty)


def integers(ty):
    for op in "math.ipowi arith.divsi arith.divui arith.remsi arith.remui arith.maxsi arith.minui".split():
        write(f"{op} %a, %b : {ty}", [ty, ty], ty)
    for op in "absi ctlz cttz ctpop".split():
        write(f"math.{op} %a : {ty}", [ty], ty)


for ty in WIDTHS:
    conversions(ty)
    floats(ty)
for ty in ("i8", "i16", "i32", "i64"):
    integers(ty)
