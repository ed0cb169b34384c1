#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of angles, their inverses, hyperbolic functions and powers (passes/kernels/math): of f32 the host and a GPU give the same
bits, and of f16 each number is numpy's, rounded.

    python3 functions.py --kpc FILE --work-dir FOLDER [--arch sm_90a] [--device emulate:sm_90a]
"""

import argparse
import pathlib
import subprocess
import sys

import numpy as np

try:
    import onnx
    from onnx import TensorProto, helper
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

FUNCTIONS = {"Sin": np.sin, "Cos": np.cos, "Tan": np.tan, "Asin": np.arcsin, "Acos": np.arccos, "Atan": np.arctan, "Sinh": np.sinh, "Cosh": np.cosh,
             "Asinh": np.arcsinh, "Acosh": np.arccosh, "Atanh": np.arctanh, "Pow": np.power}
ULPS = 0.51  # of f16: a rounding, and what f32 and the processor's approximations add


def numbers(random):
    """Of f32: all exponents, what lies near multiples of pi/2 and at the ends of domains, and numbers that are none."""
    multiples = (np.arange(1, 400) * (np.pi / 2)).astype(np.float32)
    edges = np.array([0, 0.5, 1, 2, 2**17, 2**30, 89.4, 91, 1e-45, 1e-38, 3.4e38, 1e10, 6381956970095103 * 2.0**60, np.inf], np.float32)
    near = np.concatenate([np.nextafter(edges, np.float32(0)), edges, np.nextafter(edges, np.float32(np.inf)), multiples])
    bits = random.integers(0, 1 << 32, 3000, dtype=np.uint32).view(np.float32)
    usual = (random.standard_normal(3000) * np.exp(random.uniform(-8, 8, 3000))).astype(np.float32)
    x = np.concatenate([near, -near, bits, usual, np.array([np.nan], np.float32)])
    with np.errstate(all="ignore"):
        return x, np.concatenate([random.permutation(x)[:len(x) // 2], random.uniform(-8, 8, len(x) - len(x) // 2).astype(np.float32)])


def halves(random):
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    return x, random.choice(np.array([-2, -1, -0.5, 0, 0.25, 0.5, 1, 1.5, 2, 2.2, 3], np.float16), len(x))


def model(kind, count):
    nodes = [helper.make_node(name, ["x", "e"] if name == "Pow" else ["x"], [name.lower()]) for name in FUNCTIONS]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "functions", [value("x", kind, [count]), value("e", kind, [count])],
                              [value(name.lower(), kind, [count]) for name in FUNCTIONS])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def run(options, work, arch, device, more=()):
    work.mkdir(parents=True, exist_ok=True)
    for words in (["compile", work.parent / "functions.onnx", "--arch", arch, "-o", work / "functions.kpc", "--no-cache", *more],
                  ["run", work / "functions.kpc", "--device", device, "--input", work.parent / "inputs.npz", "-o", work]):
        done = subprocess.run([options.kpc, *words, "-q"], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
    return {name: np.load(work / f"{name.lower()}.npy") for name in FUNCTIONS}


def same(a, b):
    unsigned = np.uint32 if a.dtype == np.float32 else np.uint16
    return (a.view(unsigned) == b.view(unsigned)) | (np.isnan(a) & np.isnan(b))


def prepare(work, kind, x, e):
    work.mkdir(parents=True, exist_ok=True)
    onnx.save(model(kind, len(x)), work / "functions.onnx")
    np.savez(work / "inputs.npz", x=x, e=e)


def compare_bits(options, random):
    work = options.work_dir / "f32"
    x, e = numbers(random)
    prepare(work, TensorProto.FLOAT, x, e)
    host, gpu = run(options, work / "host", "host", "host"), run(options, work / "gpu", options.arch, options.device)
    wrong = 0
    for name in FUNCTIONS:
        differ = np.flatnonzero(~same(host[name], gpu[name]))
        for place in differ[:3]:
            print(f"{name} of {x[place]!r}, {e[place]!r}: {host[name][place]!r} on the host, {gpu[name][place]!r} on {options.device}")
        wrong += len(differ)
    print(f"{len(FUNCTIONS)} functions of {len(x)} numbers of f32: {wrong} differ")
    return wrong


def compare_halves(options, random):
    work = options.work_dir / "f16"
    x, e = halves(random)
    prepare(work, TensorProto.FLOAT16, x, e)
    got = run(options, work / "gpu", options.arch, options.device)
    wrong = 0
    for name, function in FUNCTIONS.items():
        with np.errstate(all="ignore"):
            exact = function(x.astype(np.float64), e.astype(np.float64)) if name == "Pow" else function(x.astype(np.float64))
            wanted = exact.astype(np.float16)
            # Places after the last of f16 there, of subnormal numbers the least.
            unit = np.ldexp(1.0, np.maximum(np.frexp(exact)[1] - 11, -24))
            far = np.abs(got[name].astype(np.float64) - exact) > ULPS * unit
            far = np.where(np.isfinite(exact) & np.isfinite(wanted) & np.isfinite(got[name]), far, ~same(got[name], wanted))
            # At the greatest number either rounding is one of f16.
            far &= ~(np.abs(np.abs(exact) - 65520) < 1)
        for place in np.flatnonzero(far)[:3]:
            print(f"{name} of {x[place]!r}, {e[place]!r}: {got[name][place]!r}, expected {exact[place]!r}")
        wrong += int(far.sum())
    print(f"{len(FUNCTIONS)} functions of all numbers of f16: {wrong} wrong")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--device", default="emulate:sm_90a")
    options = parser.parse_args()
    random = np.random.default_rng(3)
    return 1 if compare_bits(options, random) + compare_halves(options, random) else 0


if __name__ == "__main__":
    sys.exit(main())
