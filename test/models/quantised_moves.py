#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops between DequantizeLinear and QuantizeLinear: kpc moves codes, and gives the codes that arithmetic in floats gives.

    python3 quantised_moves.py --kpc build/dev/bin/kpc --work-dir DIR [--target sm_80 --driver FILE] [--only PATTERN]

Each case has codes as inputs and outputs, all of them are in the inputs, and onnxruntime computes it without optimisations. The
results are equal; of sums and products, some may be one code off. Remarks have the nodes that work on codes. With `--target`,
kernels run on the emulated GPU. Exits 77 (a skip) where a package is not installed.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

SKIPPED = 77

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(SKIPPED)

SIZES = (2, 8, 9, 6)
ON_CODES, ALONE = "It works on codes", "and is left out"


class Graph:
    """Nodes on codes of one scale and zero point."""

    def __init__(self, code, scale, zero, number=np.float32):
        self.code, self.nodes, self.constants = np.dtype(code), [], []
        self.scale, self.zero = self.constant(number(scale)), self.constant(self.code.type(zero))
        self.number, self.pair = number, (scale, zero)

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, kind, *inputs, name=None, results=1, **attributes):
        name = name or f"n{len(self.nodes)}"
        outputs = [name] if results == 1 else [f"{name}_{i}" for i in range(results)]
        self.nodes.append(helper.make_node(kind, list(inputs), outputs, name=name, **attributes))
        return outputs[0] if results == 1 else outputs

    def numbers(self, codes, scale=None, zero=None):
        return self.node("DequantizeLinear", codes, scale or self.scale, zero or self.zero)

    def codes(self, numbers, name=None):
        return self.node("QuantizeLinear", numbers, self.scale, self.zero, name=name)

    def model(self, inputs, outputs):
        kind = helper.np_dtype_to_tensor_dtype(self.code)
        value = helper.make_tensor_value_info
        graph = helper.make_graph(self.nodes, "moves", [value(name, kind, SIZES) for name in inputs],
                                  [value(name, kind, None) for name in outputs], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)

    def axes(self, *values):
        return self.constant(np.array(values, np.int64))


def one(kind, *constants, **attributes):
    """A node of one value, as `x` in the middle of a pair."""
    def build(g, x, _):
        return g.node(kind, x, *(g.constant(c) if c is not None else "" for c in constants), name="middle", **attributes)
    return build


def whole(*values):
    return np.array(values, np.int64)


def split(g, x, _):
    return g.node("Concat", *reversed(g.node("Split", x, name="middle", results=2, axis=1, num_outputs=2)), axis=2)


def zero_padded(g, x, _):
    return g.node("Pad", x, g.axes(0, 0, 1, 2, 0, 0, 3, 0), name="middle_pad" if x == "middle" else "middle")


def clipped(g, x, _):
    scale, zero = g.pair
    bounds = [g.constant(g.number(np.float32(step) * np.float32(g.number(scale)))) for step in (-5, 60)]
    return g.node("Clip", x, *bounds, name="middle")


def chosen(g, x, y):
    mask = g.constant(np.arange(SIZES[2] * SIZES[3]).reshape(SIZES[2:]) % 3 == 0)
    return g.node("Where", mask, x, y, name="middle")


def chained(g, x, y):
    x = g.codes(g.node("MaxPool", x, kernel_shape=[2, 2], name="middle"))
    y = g.codes(g.node("MaxPool", y, kernel_shape=[2, 2]))
    x = g.codes(g.node("Concat", g.numbers(x), g.numbers(y), axis=1))
    x = g.codes(g.node("Transpose", g.numbers(x), perm=[0, 2, 3, 1]))
    return g.node("Reshape", g.numbers(x), g.axes(2, -1))


def of_another_scale(g, x, y):
    return g.node("Concat", x, g.numbers("y", g.constant(g.number(g.pair[0] * 2))), axis=1, name="middle")


def multiplied(g, x, kind, *shape):
    """By a weight of codes, without a quantisation before it."""
    codes = np.random.default_rng(7).integers(-30, 31, shape).astype(np.int8)
    w = g.node("DequantizeLinear", g.constant(codes), g.constant(g.number(0.01)), g.constant(np.int8(0)))
    return g.node(kind, x, w)


def of_clipped_pad(g, x, y):
    return multiplied(g, zero_padded(g, clipped(g, x, y), y), "Conv", 16, 8, 3, 3)


def of_concat(g, x, y):
    x = g.node("Concat", g.node("MaxPool", x, kernel_shape=[2, 2]), g.node("MaxPool", g.node("Relu", y), kernel_shape=[2, 2]), axis=1, name="middle")
    return multiplied(g, x, "Conv", 16, 16, 3, 3)


def of_slice(g, x, _):
    x = g.node("Slice", x, g.axes(1), g.axes(8), g.axes(2), name="middle")
    return multiplied(g, g.node("Reshape", x, g.axes(-1, 48)), "MatMul", 48, 24)


# What stands between the two.
CASES = {
    "nothing": lambda g, x, y: x,
    "max_pool": one("MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    "max_pool_ceil": one("MaxPool", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
    "global_max_pool": one("GlobalMaxPool"),
    "average_pool": one("AveragePool", kernel_shape=[2, 2]),
    "reshape": one("Reshape", whole(2, 4, -1)),
    "flatten": one("Flatten"),
    "transpose": one("Transpose", perm=[0, 2, 3, 1]),
    "slice": one("Slice", whole(1, 5), whole(7, 0), whole(1, 3), whole(2, -1)),
    "squeeze": lambda g, x, y: g.node("Squeeze", g.node("Slice", x, g.axes(1), g.axes(2), g.axes(0), name="middle"), g.axes(0)),
    "unsqueeze": one("Unsqueeze", whole(1)),
    "concat": lambda g, x, y: g.node("Concat", x, y, axis=1, name="middle"),
    "concat_of_scales": of_another_scale,
    "split": split,
    "gather": one("Gather", whole(5, 0, 5), axis=2),
    "expand": one("Expand", whole(3, 1, 1, 1, 1)),
    "tile": one("Tile", whole(1, 2, 1, 2)),
    "pad": zero_padded,
    "pad_reflect": one("Pad", whole(0, 0, 1, 2, 0, 0, 3, 0), mode="reflect"),
    "resize": one("Resize", None, np.array([1, 1, 2, 2], np.float32), mode="nearest"),
    "resize_linear": one("Resize", None, np.array([1, 1, 2, 2], np.float32), mode="linear"),
    "depth_to_space": one("DepthToSpace", blocksize=2),
    "relu": one("Relu"),
    "leaky_relu": one("LeakyRelu", alpha=0.3),
    "clip": clipped,
    "maximum": lambda g, x, y: g.node("Max", x, y, name="middle"),
    "minimum": lambda g, x, y: g.node("Min", x, y, name="middle"),
    "sum": lambda g, x, y: g.node("Add", x, y, name="middle"),
    "reduce_max": one("ReduceMax", whole(2)),
    "reduce_min": one("ReduceMin", whole(1, 3), keepdims=0),
    "where": chosen,
    "chain": chained,
    "conv_of_pad": of_clipped_pad,
    "conv_of_concat": of_concat,
    "gemm_of_slice": of_slice,
}
# Type, scale, zero point, and the type of scales.
KINDS = {
    "ui8": (np.uint8, 0.0235, 117, np.float32),
    "i8": (np.int8, 0.3, -128, np.float32),
    "i8_half": (np.int8, 0.0371, 5, np.float16),
    "ui16": (np.uint16, 1.7e-4, 30000, np.float32),
}
# Cases that onnxruntime has no kernels of f16 for.
OF_F32 = ("resize", "resize_linear", "leaky_relu")
# Cases that compute numbers, on which nothing moves: what lies between two codes may become either.
ARITHMETIC = ("average_pool", "resize_linear", "leaky_relu", "sum")
# Those that multiply codes, and quantise sums.
MULTIPLIED = ("conv_of_pad", "conv_of_concat", "gemm_of_slice")
# Those whose operator is computed in f32, with casts, where numbers are of f16.
WIDENED = ("reduce_max", "reduce_min")


def call(command, **more):
    process = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600, **more)
    if process.returncode:
        raise RuntimeError(f"exit code {process.returncode}: {(process.stdout + process.stderr).strip()[-800:]}")
    return process.stdout + process.stderr


def check(case, name, kind, options):
    build = CASES[case]
    g = Graph(*kind)
    result = g.codes(build(g, g.numbers("x"), g.numbers("y")), name="last")
    model = g.model([i for i in "xy" if any(i in node.input for node in g.nodes)], [result])
    folder = options.work_dir / name
    folder.mkdir(parents=True, exist_ok=True)
    path, artifact = folder / "model.onnx", folder / "model.kpc"
    onnx.save(model, path)
    random, limits = np.random.default_rng(5), np.iinfo(g.code)
    feeds = {i.name: random.integers(limits.min, limits.max + 1, SIZES).astype(g.code) for i in model.graph.input}
    every = np.linspace(limits.min, limits.max, 256).astype(g.code)
    feeds["x"].reshape(-1)[:256] = random.permutation(every)
    plain = onnxruntime.SessionOptions()
    plain.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    plain.log_severity_level = 3
    want = onnxruntime.InferenceSession(str(path), plain, providers=["CPUExecutionProvider"]).run(None, feeds)[0]
    said = call([options.kpc, "compile", path, "--arch", options.target, "--remarks=recognition", "--precision", "fp32", "-o", artifact, "--no-cache"])
    environment, device = os.environ, "host"
    if options.driver:
        environment, device = dict(os.environ, KPC_CUDA_DRIVER=str(options.driver), KPC_EMULATE_TARGET=options.target), "cuda:0"
    inputs = []
    for key, value in feeds.items():
        np.save(folder / f"{key}.npy", value)
        inputs += ["--input", f"{key}={folder / f'{key}.npy'}"]
    call([options.kpc, "run", artifact, "--device", device, "--quiet", "--output-dir", folder / "out", *inputs], env=environment)
    got = np.load(next((folder / "out").glob("*.npy")))
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape}, onnxruntime {want.dtype}{want.shape}"
    most = 1 if case in (*ARITHMETIC, *MULTIPLIED) else 0
    if np.abs(got.astype(np.int64) - want).max() > most:
        return f"{np.count_nonzero(got != want)} of {got.size} codes differ: {got[got != want][:4]} for {want[got != want][:4]}"
    alone = re.search(f"'last'.*{ALONE}", said)
    moved = bool((alone or case in MULTIPLIED) and (case == "nothing" or re.search(f"'middle'.*{ON_CODES}", said)))
    if moved != (case not in ARITHMETIC) and not (kind[3] == np.float16 and case in WIDENED):
        return f"works on {'codes' if moved else 'floats'}: {said.strip()[-400:]}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--target", default="host")
    parser.add_argument("--driver", type=pathlib.Path, help="the emulator's")
    parser.add_argument("--only", default="", help="a regular expression for names")
    options = parser.parse_args()

    failed = 0
    for kind, parts in KINDS.items():
        for case in CASES:
            name = f"{case}-{kind}"
            if not re.search(options.only, name) or (parts[3] == np.float16 and case in OF_F32):
                continue
            try:
                found = check(case, name, parts, options)
            except Exception as error:  # noqa: BLE001  (onnxruntime has types of its own)
                found = str(error)
            failed += bool(found)
            print(f"{name}: {found or 'right'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
