#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights of FP8 that few rows are multiplied with: each code alone, and `--precision fp8` and `int8`, on the host and on emulated GPUs.

    python3 fp8_weights.py build/dev/bin/kpc DRIVER FOLDER

Rows of an identity give each weight as it is, so results are exact. Codes that are NaN or infinite have kernels of their own. Weights that
codes spell exactly give what fp16 gives. Exits 77 (a skip) where onnx is not installed.
"""

import os
import pathlib
import sys

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(77)

from fp8_layers import call

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "device"))
from code_values import FP8, numbers  # noqa: E402  (the path above)

STORED = {"e4m3": TensorProto.FLOAT8E4M3FN, "e5m2": TensorProto.FLOAT8E5M2}
TYPES = {"fp16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
# Before a change, one with instructions that convert codes and one without.
TARGETS = ("sm_80", "sm_89", "sm_90a", "sm_120a", "portable") if "KPC_TEST_ALL" in os.environ else ("sm_80", "sm_90a")
SIDE, DEPTH = 16, 32
# Rows, K, columns, whether Gemm has its weight as [N, K], and the most rows of a number that is not known.
LAYERS = [(3, 256, 40, False, 0), (16, 200, 40, True, 0), (5, 136, 24, True, 16), (40, 256, 40, False, 0), (3, 37, 24, True, 0)]


def run(kpc, driver, folder, target, x, *options):
    """The result, and what `kpc inspect` says of the artifact."""
    artifact = folder / f"{target}.kpc"
    call([kpc, "compile", folder / "m.onnx", "--arch", target, *options, "-o", artifact, "-q", "--no-cache"])
    np.save(folder / "x.npy", x)
    device = "host" if target == "host" else "emulate:sm_80" if target == "portable" else f"emulate:{target}"
    call([kpc, "run", artifact, "--input", f"x={folder / 'x.npy'}", "--device", device, "--output-dir", folder, "-q"], KPC_CUDA_DRIVER=str(driver))
    return np.load(folder / "y.npy").astype(np.float64), call([kpc, "inspect", artifact])


def codes_model(codes, number, element):
    """x in f32 as an identity, multiplied in 16 bits; the result in f32."""
    w = helper.make_tensor("w", STORED[number], codes.shape, codes.tobytes(), raw=True)
    half = helper.make_tensor("s", TYPES[element], [], [0.5])
    cast = [helper.make_node("Cast", ["x"], ["narrow"], to=TYPES[element]), helper.make_node("Cast", ["z"], ["y"], to=TensorProto.FLOAT)]
    nodes = [cast[0], helper.make_node("DequantizeLinear", ["w", "s"], ["wide"]), helper.make_node("MatMul", ["narrow", "wide"], ["z"]), cast[1]]
    graph = helper.make_graph(nodes, "codes", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [SIDE, DEPTH])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [SIDE, SIDE])], [w, half])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def check_codes(kpc, driver, folder, target, number, element, finite):
    codes = np.zeros((DEPTH, SIDE), np.uint8)
    codes[:SIDE] = np.arange(256).reshape(SIDE, SIDE)
    wanted = numbers(codes, number)[:SIDE] / 2
    beyond = (codes[:SIDE] & 0x7f) >= FP8[number][2]
    if finite:
        codes[:SIDE][beyond] = 0
        wanted[beyond] = 0
    else:
        # Other rows multiply them by 0; infinities of both signs share a column.
        wanted[:, beyond.any(0)] = np.nan
    onnx.save(codes_model(codes, number, element), folder / "m.onnx")
    y, shown = run(kpc, driver, folder, target, np.eye(SIDE, DEPTH, dtype=np.float32))
    good = np.array_equal(y, wanted, equal_nan=True) and ("gemv fp8" in shown) == (finite and target != "host")
    print(f"codes of {number} for {element} on {target}{'' if finite else ', not all finite'}{'' if good else ': WRONG'}", flush=True)
    return good


def layer_model(draw, rows, k, columns, turned, kind):
    """Weights are codes times a power of two, and the greatest in each column is 448 of these, or 127."""
    greatest = draw.integers(0, k, columns), np.arange(columns)
    if kind == "fp8":
        codes = draw.integers(0, 256, (k, columns), dtype=np.uint8)
        codes[(codes & 0x7f) == 0x7f] = 0
        codes[greatest] = 0x7e
        codes = numbers(codes, "e4m3")
    else:
        codes = draw.integers(-127, 128, (k, columns)).astype(np.float64)
        codes[greatest] = 127
    w = (codes * 2.0 ** draw.integers(-12, -8, columns)).astype(np.float32)
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT16 if name == "x" else TensorProto.FLOAT, [rows, size])
             for name, size in (("x", k), ("y", columns))]
    nodes = [helper.make_node("Cast", ["x"], ["wide"], to=TensorProto.FLOAT), helper.make_node("Gemm", ["wide", "w"], ["s"], "layer", transB=int(turned)),
             helper.make_node("Relu", ["s"], ["y"], "after")]
    graph = helper.make_graph(nodes, "layer", ports[:1], ports[1:], [numpy_helper.from_array(np.ascontiguousarray(w.T) if turned else w, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), w.astype(np.float64)


def check_layer(kpc, driver, folder, target, kind, rows, k, columns, turned, most):
    draw = np.random.default_rng(rows)
    model, w = layer_model(draw, "rows" if most else rows, k, columns, turned, kind)
    onnx.save(model, folder / "m.onnx")
    x = draw.integers(-3, 4, (rows, k)).astype(np.float16)
    sizes = ("--dim", f"rows=1..{most}:opt=4") if most else ()
    y, shown = run(kpc, driver, folder, target, x, "--precision", "fp16", "--precision-for", f"layer={kind}", *sizes)
    wanted = np.maximum(x.astype(np.float64) @ w, 0)
    off = np.abs(y - wanted).max() / np.abs(wanted).max()
    reads = f"gemv {kind}" in shown
    # What many rows are multiplied with loses bits of its own.
    good = (off < 1e-3 or rows > 16) and off < 0.1 and reads == (target != "host" and rows <= 16 and k % 8 == 0)
    print(f"{rows} rows, K {k}, {kind} on {target}: {off:.1e}{', codes are read' if reads else ''}{'' if good else ': WRONG'}", flush=True)
    return good


def main():
    kpc, driver, folder = map(pathlib.Path, sys.argv[1:4])
    folder.mkdir(parents=True, exist_ok=True)
    good = []
    for target in ("host", *TARGETS):
        for number in FP8:
            for element in TYPES:
                good.append(check_codes(kpc, driver, folder, target, number, element, True))
            good.append(check_codes(kpc, driver, folder, target, number, "fp16", False))
        for layer in LAYERS if target in ("host", "sm_80", "sm_90a") or "KPC_TEST_ALL" in os.environ else LAYERS[:1]:
            good.append(check_layer(kpc, driver, folder, target, "fp8", *layer))
        for layer in LAYERS[:3]:
            good.append(check_layer(kpc, driver, folder, target, "int8", *layer))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
