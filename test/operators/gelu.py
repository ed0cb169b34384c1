#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GELU where 16 or 8 bits of it are stored, on every number of f16, beside an exact one.

    python3 gelu.py --kpc FILE --work-dir FOLDER [--arch sm_90a] [--device emulate:sm_90a]

Kernels take shorter forms the fewer bits are stored (passes/kernels/math/ExpandMathGelu.cpp). A significand of p bits allows an error of
2^-(p+5) of the result, 1/16 of half its last place, and of x 2^-31. So a result lies between the roundings of what is so much less and more.
"""

import argparse
import math
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

from steps import FP8, rounded

# Bits of the significand with the first one.
TYPES = {"f16": (11, TensorProto.FLOAT16), "bf16": (8, TensorProto.BFLOAT16), "e4m3": (4, TensorProto.FLOAT8E4M3FN),
         "e5m2": (3, TensorProto.FLOAT8E5M2)}
CASES = [(form, element, scale) for form in ("none", "tanh") for element, scales in
         (("f16", (1,)), ("bf16", (1,)), ("e4m3", (0.03, 0.0007, 1)), ("e5m2", (0.0004,))) for scale in scales]
# The greatest share of numbers that may become another neighbour than the nearest one.
MOST_MOVED = 1 / 16


def inputs():
    x = np.arange(65536, dtype=np.uint16).view(np.float16)
    return x[np.isfinite(x)].astype(np.float32)


def exact(x, form):
    x = x.astype(np.float64)
    if form == "none":
        return x / 2 * np.array([math.erfc(-v * math.sqrt(0.5)) for v in x])
    u = 2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return x / (1 + np.exp(np.minimum(-u, 700)))


def nearest(y, element):
    if element in FP8:
        return rounded(y, element)
    if element == "f16":
        with np.errstate(over="ignore"):
            return y.astype(np.float16).astype(np.float64)
    unit = np.ldexp(1.0, np.maximum(np.frexp(y)[1] - 8, -133))
    return np.rint(y / unit) * unit


def numbers(path, element):
    """What is stored, in f64; of types that numpy has not, by their bits."""
    codes = np.load(path)
    if element == "f16":
        return codes.astype(np.float64)
    if element == "bf16":
        return (codes.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    codes, (bits, least, _) = codes.view(np.uint8).astype(np.int64), FP8[element]
    exponent, fraction = codes >> bits & (127 >> bits), codes & (1 << bits) - 1
    value = np.where(exponent == 0, fraction * 2.0**(least - bits), (1 + fraction * 2.0**-bits) * 2.0**(exponent - 1 + least))
    return np.where(codes & 128, -value, value)


def model(count):
    nodes, outputs, constants = [], [], []
    for number, (form, element, scale) in enumerate(CASES):
        nodes.append(helper.make_node("Gelu", [f"x{number}"], [f"g{number}"], approximate=form))
        if element in FP8:
            constants += [numpy_helper.from_array(np.float32(scale), f"s{number}"), helper.make_tensor(f"z{number}", TYPES[element][1], [], b"\0", raw=True)]
            nodes.append(helper.make_node("QuantizeLinear", [f"g{number}", f"s{number}", f"z{number}"], [f"y{number}"]))
        else:
            nodes.append(helper.make_node("Cast", [f"g{number}"], [f"y{number}"], to=TYPES[element][1]))
        outputs.append(helper.make_tensor_value_info(f"y{number}", TYPES[element][1], [count]))
    given = [helper.make_tensor_value_info(f"x{number}", TensorProto.FLOAT, [count]) for number in range(len(CASES))]
    graph = helper.make_graph(nodes, "gelu", given, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def is_right(number, case, x, work):
    form, element, scale = case
    exactly, got = exact(x, form), numbers(work / f"y{number}.npy", element)
    may = np.abs(exactly) * 2.0**-(TYPES[element][0] + 5) + np.abs(x) * 2.0**-31
    low, wanted, high = (nearest(y / np.float64(np.float32(scale)), element) for y in (exactly - may, exactly, exactly + may))
    wrong = ~((low <= got) & (got <= high))
    for place in np.flatnonzero(wrong)[:3]:
        print(f"{form}, {element} by {scale}: {x[place]!r} gives {got[place]}, expected {low[place]} to {high[place]}")
    # Only of those that the type tells apart: the rest is 0, the greatest, or x.
    near = (np.abs(x) < 8) & (wanted != 0)
    moved = np.mean((got != wanted)[near])
    print(f"{form}, {element} by {scale}: {wrong.sum()} of {x.size} wrong, {moved:.2%} moved to the other neighbour")
    return not wrong.any() and moved < MOST_MOVED


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--device", default="emulate:sm_90a")
    options = parser.parse_args()
    work, x = options.work_dir, inputs()
    work.mkdir(parents=True, exist_ok=True)
    onnx.save(model(x.size), work / "gelu.onnx")
    np.savez(work / "inputs.npz", **{f"x{number}": x for number in range(len(CASES))})
    for words in (["compile", work / "gelu.onnx", "--arch", options.arch, "-O0", "-o", work / "gelu.kpc"],
                  ["run", work / "gelu.kpc", "--device", options.device, "--input", work / "inputs.npz", "-o", work]):
        done = subprocess.run([options.kpc, *words, "-q"], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
    return 0 if all([is_right(number, case, x, work) for number, case in enumerate(CASES)]) else 1


if __name__ == "__main__":
    sys.exit(main())
