#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computes passes/kernels/math/MathCoefficients.inc: minimax polynomials (Remez' exchange on a fine grid, 60 digits).

  math-coefficients.py > MathCoefficients.inc

Each polynomial p approximates f on [a, b] with the least largest |f - p| / |w|. Coefficients for f32 are rounded
one after another from the lowest; after each the rest is fitted again, so that rounding costs nothing that later
coefficients can make up for.
"""
import struct
import sys
from mpmath import mp, mpf, matrix, lu_solve, cos, pi

mp.dps = 60
ln2 = mp.log(2)


def round_to(value, kind):
    if kind == "f64":
        return mpf(float(value))
    lo = struct.unpack("<f", struct.pack("<f", float(value)))[0]
    return mpf(lo)


def remez(f, w, a, b, degree, first):
    """Minimises max |f - sum_{i=first..degree} c_i x^i| / |w|."""
    count = degree - first + 1
    points = 60 * (count + 2)
    grid = [(a + b) / 2 - (b - a) / 2 * cos(pi * (2 * i + 1) / (2 * points)) for i in range(points)]
    values = [f(x) for x in grid]
    weights = [w(x) for x in grid]
    chosen = [int(points * (2 * i + 1) / (2 * (count + 1))) for i in range(count + 1)]
    best = None
    for _ in range(12):
        m = matrix(count + 1, count + 1)
        rhs = matrix(count + 1, 1)
        for row, index in enumerate(chosen):
            x = grid[index]
            for col in range(count):
                m[row, col] = x ** (first + col) / weights[index]
            m[row, count] = (-1) ** row
            rhs[row] = values[index] / weights[index]
        solution = lu_solve(m, rhs)
        coefficients = [solution[i] for i in range(count)]
        errors = []
        for x, v, wt in zip(grid, values, weights):
            p = mpf(0)
            for c in reversed(coefficients):
                p = p * x + c
            errors.append((v - p * x ** first) / wt)
        worst = max(abs(e) for e in errors)
        if best is None or worst < best[0]:
            best = (worst, coefficients)
        # One extremum for each run of equal sign; then the alternating window with the largest errors.
        runs = []
        for i, e in enumerate(errors):
            if runs and (errors[runs[-1]] > 0) == (e > 0):
                if abs(e) > abs(errors[runs[-1]]):
                    runs[-1] = i
            else:
                runs.append(i)
        while len(runs) > count + 1:
            runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
        if len(runs) < count + 1 or runs == chosen:
            break
        chosen = runs
    return best


def fit(name, kind, f, w, a, b, degree, note):
    fixed = []
    for first in range(degree + 1):
        def rest(x):
            return f(x) - sum(c * x ** i for i, c in enumerate(fixed))
        error, coefficients = remez(rest, w, mpf(a), mpf(b), degree, first)
        if kind == "f64":
            fixed = [round_to(c, kind) for c in coefficients]
            break
        fixed.append(round_to(coefficients[0], kind))
    print(f"// {note}; error 2^{float(mp.log(error, 2)):.1f}.")
    print(f"static constexpr double {name}[] = {{")
    for c in fixed:
        print(f"    {float(c).hex()},")
    print("};\n")
    sys.stdout.flush()


def near(f, series):
    """f, but its series where 0/0 looms."""
    return lambda x: series(x) if abs(x) < mpf(10) ** -12 else f(x)


root = mp.sqrt
half = ln2 / 2 * (1 + mpf(2) ** -10)
low, high = root(mpf(1) / 2) - 1 - mpf(2) ** -20, root(2) - 1 + mpf(2) ** -20

exp_rest = near(lambda r: (mp.exp(r) - 1 - r) / r**2, lambda r: mpf(1) / 2 + r / 6)
expm1_w = near(lambda r: mp.expm1(r) / r**2, lambda r: 1 / (r + mpf(10) ** -30))
exp2_rest = near(lambda r: (mpf(2) ** r - 1) / r, lambda r: ln2)
log_rest = near(lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, lambda f: mpf(1) / 3 - f / 4)
log_w = near(lambda f: mp.log1p(f) / f**3, lambda f: 1 / (f * f + mpf(10) ** -30))


def odd(f, first, scale=1):
    """(f(x) - x*scale) / x^3 as a function of z = x^2; `first` is its value at 0."""
    def g(z):
        if z < mpf(10) ** -20:
            return mpf(first)
        x = root(z)
        return (f(x) - scale * x) / x**3
    return g


def odd_weight(f):
    return lambda z: f(root(z)) / root(z) ** 3 if z > mpf(10) ** -20 else mpf(10) ** 20


def main():
    print("//===- MathCoefficients.inc - Minimax polynomials; made by math-coefficients.py ===//")
    print("//\n// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.")
    print("// See LICENSE for license information.\n// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n//")
    print("//===----------------------------------------------------------------------===//\n")
    print("// clang-format off\n")
    # f32 arithmetic
    fit("ExpF32", "f32", exp_rest, lambda r: mp.exp(r) / (r * r + mpf(10) ** -6), -half, half, 4, "(exp(r) - 1 - r) / r^2, |r| <= ln(2)/2")
    fit("ExpM1F32", "f32", exp_rest, expm1_w, -half, half, 5, "(exp(r) - 1 - r) / r^2, relative to expm1")
    fit("Exp2F32", "f32", exp2_rest, lambda r: mpf(2) ** r / (abs(r) + mpf(10) ** -3), mpf(-0.501), mpf(0.501), 6, "(2^r - 1) / r, |r| <= 1/2")
    fit("LogF32", "f32", log_rest, log_w, low, high, 8, "(log(1+f) - f + f^2/2) / f^3, 1+f in [sqrt(1/2), sqrt(2)]")
    fit("TanhF32", "f32", odd(mp.tanh, mpf(-1) / 3), odd_weight(mp.tanh), 0, mpf("0.4"), 5, "(tanh(x) - x) / x^3 of x^2, |x| <= 0.632")
    fit("ErfF32", "f32", lambda z: mp.erf(root(z)) / root(z) - 1 if z > mpf(10) ** -20 else 2 / root(pi) - 1,
        lambda z: mp.erf(root(z)) / root(z) if z > mpf(10) ** -20 else 2 / root(pi), 0, mpf(1), 6, "erf(x) / x - 1 of x^2, |x| <= 1")
    fit("LogErfcF32", "f32", lambda x: mp.log(mp.erfc(x)), lambda x: mp.erf(x) / mp.erfc(x), mpf("0.98"), mpf(4), 6, "log(erfc(x)) as 1 - exp of it needs, 1 <= x <= 4")
    # GELU is max(x, 0) - a 2^p(a) of a = |x|; p needs no more than what is stored shows, and what is below 2^-31 as a factor of x shows nowhere.
    share = lambda a: mp.erfc(a / root(2)) / 2
    by_tanh = lambda a: 1 / (1 + mp.exp(2 * root(2 / pi) * (a + mpf("0.044715") * a**3)))
    for name, f, end, bits, degree in (("GeluOf11Bits", share, "6.2", 11, 6), ("GeluOf8Bits", share, "6.2", 8, 5),
                                       ("GeluOf4Bits", share, "6.2", 4, 4), ("TanhGeluOf4Bits", by_tanh, "5.2", 4, 4)):
        log2 = lambda a, f=f: mp.log(f(a), 2)
        weight = lambda a, f=f, bits=bits: 1 + mpf(2) ** (bits + 5 - 31) / f(a)
        fit(name, "f32", log2, weight, 0, mpf(end), degree, f"log2 of {'Phi' if f is share else 'the gate by tanh'} at -a, for {bits} bits, 0 <= a <= {end}")
    # f32 arithmetic in pairs, for all that is rarer
    pio4 = pi / 4 * (1 + mpf(2) ** -10)
    cos_rest = lambda z: (mp.cos(root(z)) - 1 + z / 2) / z**2 if z > mpf(10) ** -12 else mpf(1) / 24
    tan8 = (root(2) - 1) * (1 + mpf(2) ** -10)
    log_s = lambda z: (2 * mp.atanh(root(z)) - 2 * root(z)) / root(z) ** 3 if z > mpf(10) ** -16 else mpf(2) / 3
    smax = (high / (2 + high)) ** 2 * (1 + mpf(2) ** -10)
    log_tail = lambda z: (log_s(z) - mpf(2) / 3) / z if z > mpf(10) ** -12 else mpf(2) / 5
    fit("SinF32", "f32", odd(mp.sin, mpf(-1) / 6), odd_weight(mp.sin), 0, pio4**2, 3, "(sin(r) - r) / r^3 of r^2, |r| <= pi/4")
    fit("CosF32", "f32", cos_rest, lambda z: 1 / (z * z + mpf(10) ** -4), 0, pio4**2, 2, "(cos(r) - 1 + r^2/2) / r^4 of r^2")
    fit("AsinF32", "f32", odd(mp.asin, mpf(1) / 6), odd_weight(mp.asin), 0, mpf("0.2501"), 5, "(asin(x) - x) / x^3 of x^2, |x| <= 1/2")
    fit("AtanF32", "f32", odd(mp.atan, mpf(-1) / 3), odd_weight(mp.atan), 0, tan8**2, 4, "(atan(x) - x) / x^3 of x^2, |x| <= tan(pi/8)")
    fit("SinhF32", "f32", odd(mp.sinh, mpf(1) / 6), odd_weight(mp.sinh), 0, mpf("1.001"), 3, "(sinh(x) - x) / x^3 of x^2, |x| <= 1")
    fit("LogTailF32", "f32", log_tail, lambda z: 1 / (z + mpf(10) ** -8), 0, smax, 2, "((log((1+s)/(1-s)) - 2s) / s^3 - 2/3) / s^2 of s^2")
    # f64 arithmetic, for results in f32
    fit("ExpShort", "f64", exp_rest, lambda r: mp.exp(r) / (r * r + mpf(10) ** -6), -half, half, 6, "(exp(r) - 1 - r) / r^2, |r| <= ln(2)/2")
    # f64 arithmetic, for results in f64
    fit("ExpF64", "f64", exp_rest, lambda r: mp.exp(r) / (r * r + mpf(10) ** -6), -half, half, 9, "(exp(r) - 1 - r) / r^2, |r| <= ln(2)/2")
    fit("ExpM1F64", "f64", exp_rest, expm1_w, -half, half, 11, "(exp(r) - 1 - r) / r^2, relative to expm1")
    fit("LogF64", "f64", log_s, lambda z: 1 / (z + mpf(10) ** -8), 0, smax, 6, "(log((1+s)/(1-s)) - 2s) / s^3 of s^2")
    fit("LogShort", "f64", log_s, lambda z: 1 / (z + mpf(10) ** -8), 0, smax, 3, "the same, for results in f32")
    fit("SinF64", "f64", odd(mp.sin, mpf(-1) / 6), odd_weight(mp.sin), 0, pio4**2, 5, "(sin(r) - r) / r^3 of r^2, |r| <= pi/4")
    fit("CosF64", "f64", cos_rest, lambda z: 1 / (z * z + mpf(10) ** -4), 0, pio4**2, 5, "(cos(r) - 1 + r^2/2) / r^4 of r^2")
    fit("AsinF64", "f64", odd(mp.asin, mpf(1) / 6), odd_weight(mp.asin), 0, mpf("0.2501"), 12, "(asin(x) - x) / x^3 of x^2, |x| <= 1/2")
    fit("AtanF64", "f64", odd(mp.atan, mpf(-1) / 3), odd_weight(mp.atan), 0, tan8**2, 11, "(atan(x) - x) / x^3 of x^2, |x| <= tan(pi/8)")
    fit("ErfF64", "f64", lambda z: mp.erf(root(z)) / root(z) - 1 if z > mpf(10) ** -20 else 2 / root(pi) - 1,
        lambda z: mp.erf(root(z)) / root(z) if z > mpf(10) ** -20 else 2 / root(pi), 0, mpf(1), 12, "erf(x) / x - 1 of x^2, |x| <= 1")

    def scaled_erfc(t):
        x = 4 * (1 + t) / (1 - t)
        erfcx = mp.exp(x * x) * mp.erfc(x) if x < 40 else (1 - 1 / (2 * x * x) + 3 / (4 * x**4) - 15 / (8 * x**6) + 105 / (16 * x**8)) / (x * root(pi))
        return erfcx * (1 + 2 * x)

    fit("ErfcF64", "f64", scaled_erfc, scaled_erfc, (mpf("0.98") - 4) / (mpf("0.98") + 4), (mpf(28) - 4) / 32, 22, "exp(x^2) erfc(x) (1+2x) of (x-4)/(x+4), 1 <= x <= 28")

    # 64 zero bits, then 2/pi behind the binary point: for Payne and Hanek's reduction.
    with mp.workprec(1400):
        bits = int(mp.floor(2 / pi * mpf(2) ** 1280))
    print("// 64 zero bits, then the bits of 2/pi behind the binary point.")
    print("static constexpr uint64_t TwoOverPi[] = {\n    0,")
    for word in range(20):
        print(f"    0x{bits >> (64 * (19 - word)) & (1 << 64) - 1:016X}ull,")
    print("};\n")
    print("// Parts of constants, highest first; each is the rest rounded to f64.")
    for name, value in (("PiOver2", pi / 2), ("Ln2", ln2), ("InvLn2", 1 / ln2)):
        parts, rest = [], value
        for _ in range(3):
            parts.append(float(rest))
            rest -= mpf(parts[-1])
        print(f"static constexpr double {name}[] = {{{', '.join(p.hex() for p in parts)}}};")
    print("\n// The same, each rounded to f32.")
    for name, value in (("PiOver2F32", pi / 2), ("PiOver4F32", pi / 4), ("Ln2F32", ln2), ("TwoThirdsF32", mpf(2) / 3)):
        parts, rest = [], value
        for _ in range(3):
            parts.append(float(round_to(rest, "f32")))
            rest -= mpf(parts[-1])
        print(f"static constexpr double {name}[] = {{{', '.join(p.hex() for p in parts)}}};")


main()
