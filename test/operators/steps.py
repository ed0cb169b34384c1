#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""QuantizeLinear by scales that are known, on both sides of each step, beside numpy: the same codes on every number.

    python3 steps.py --kpc FILE --work-dir FOLDER [--arch host] [--device host]

Kernels multiply by a reciprocal where they can show that no step moves (passes/kernels/math/ExpandMathQuantise.cpp, of FP8
ExpandMathFp8.cpp). Each model quantises one input by one scale. The input has the eight floats on each side of each step, and numbers
that are none.
"""

import argparse
import pathlib
import subprocess
import sys

import numpy as np

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

EXTREMES = np.array([0, -0.0, 1e-45, -1e-45, 1e-38, 3e38, -3e38, np.inf, -np.inf, np.nan], np.float32)
TYPES = {np.uint8: TensorProto.UINT8, np.int8: TensorProto.INT8, "e4m3": TensorProto.FLOAT8E4M3FN, "e5m2": TensorProto.FLOAT8E5M2}
# Bits of the mantissa, the least normal number's exponent, and the greatest number.
FP8 = {"e4m3": (3, -6, 448), "e5m2": (2, -14, 57344)}


def rounded(x, element):
    """To the nearest number of FP8 and within the greatest ones; x in f64."""
    bits, least, most = FP8[element]
    with np.errstate(all="ignore"):
        exponent = np.maximum(np.frexp(x)[1] - 1, least)
        unit = np.ldexp(1.0, exponent - bits)
        return np.clip(np.where(np.isinf(x), x, np.rint(x / unit) * unit), -most, most)


def steps_of_fp8(element):
    bits, least, most = FP8[element]
    normal = [(1 + fraction / 2**bits) * 2.0**exponent for exponent in range(least, 17) for fraction in range(2**bits)]
    numbers = np.array([fraction * 2.0**(least - bits) for fraction in range(2**bits)] + normal)
    numbers = numbers[numbers <= most * 1.2]
    middle = (numbers[1:] + numbers[:-1]) / 2
    return np.concatenate([-middle[::-1], middle])


def scales():
    random = np.random.default_rng(7)
    plain = [0.03, 0.02, 0.1, 1 / 3, 1, 0.25, 2**-20, 127.5, 1.9999999, 1e-6, 3e-30, 1e-44]
    return np.array(plain + list(np.exp(random.uniform(-12, 5, 8))), np.float32)


def steps_of_integer(zero, element):
    info = np.iinfo(element)
    return np.arange(int(info.min) - zero - 2, int(info.max) - zero + 3) + 0.5


def neighbours(scale, zero, element):
    steps = (steps_of_fp8(element) if element in FP8 else steps_of_integer(zero, element)).astype(np.float64) * float(scale)
    middle = steps.astype(np.float32)
    found = [EXTREMES]
    below = above = middle
    for _ in range(8):
        found += [below, above]
        below, above = np.nextafter(below, np.float32(-np.inf)), np.nextafter(above, np.float32(np.inf))
    return np.concatenate(found)


def expected(x, scale, zero, element, relu):
    with np.errstate(all="ignore"):
        x = np.where(x < 0, np.float32(0), x) if relu else x
        if element in FP8:
            return rounded((x / scale).astype(np.float64), element).astype(np.float32)
        info = np.iinfo(element)
        code = np.rint(x / scale).astype(np.float32) + np.float32(zero)
        code = np.clip(code, info.min, info.max)
    return np.where(np.isnan(code), 0, code).astype(element)


def model(counts, cases):
    nodes, outputs, constants = [], [], []
    for number, (scale, zero, element, relu) in enumerate(cases):
        source = f"x{number}"
        point = helper.make_tensor(f"z{number}", TYPES[element], [], b"\0", raw=True) if element in FP8 else numpy_helper.from_array(element(zero), f"z{number}")
        constants += [numpy_helper.from_array(scale, f"s{number}"), point]
        if relu:
            nodes.append(helper.make_node("Relu", [source], [f"r{number}"]))
            source = f"r{number}"
        code = f"code{number}" if element in FP8 else f"y{number}"
        nodes.append(helper.make_node("QuantizeLinear", [source, f"s{number}", f"z{number}"], [code]))
        if element in FP8:
            nodes.append(helper.make_node("Cast", [code], [f"y{number}"], to=TensorProto.FLOAT))
        outputs.append(helper.make_tensor_value_info(f"y{number}", TensorProto.FLOAT if element in FP8 else TYPES[element], [counts[number]]))
    inputs = [helper.make_tensor_value_info(f"x{number}", TensorProto.FLOAT, [counts[number]]) for number in range(len(cases))]
    graph = helper.make_graph(nodes, "steps", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--arch", default="host")
    parser.add_argument("--device", default="host")
    options = parser.parse_args()
    work = options.work_dir
    work.mkdir(parents=True, exist_ok=True)
    cases = [(scale, zero, element, relu) for scale in scales() for zero, element, relu in
             ((0, np.uint8, True), (0, np.int8, False), (128, np.uint8, True), (-7, np.int8, False), (0, "e4m3", False), (0, "e5m2", True))]
    given = [neighbours(scale, zero, element) for scale, zero, element, _ in cases]
    onnx.save(model([x.size for x in given], cases), work / "steps.onnx")
    np.savez(work / "inputs.npz", **{f"x{number}": x for number, x in enumerate(given)})
    for words in (["compile", work / "steps.onnx", "--arch", options.arch, "-O0", "-o", work / "steps.kpc"],
                  ["run", work / "steps.kpc", "--device", options.device, "--input", work / "inputs.npz", "-o", work]):
        done = subprocess.run([options.kpc, *words, "-q"], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
    wrong = 0
    for number, (x, case) in enumerate(zip(given, cases)):
        got, wanted = np.load(work / f"y{number}.npy"), expected(x, *case)
        differs = (got != wanted) & ~(np.isnan(got) & np.isnan(wanted)) if case[2] in FP8 else got != wanted
        for place in np.flatnonzero(differs)[:3]:
            name = case[2] if case[2] in FP8 else case[2].__name__
            print(f"scale {case[0]!r}, zero point {case[1]}, {name}: {x[place]!r} gives {got[place]}, expected {wanted[place]}")
        wrong += int(differs.sum())
    print(f"{sum(x.size for x in given)} numbers by {len(cases)} scales and zero points: {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
