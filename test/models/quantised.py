#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks that onnxruntime's quantiser made: kpc gives what onnxruntime gives, step for step.

    python3 quantised.py --kpc build/dev/bin/kpc --work-dir DIR [--target sm_80 --driver FILE] [--only PATTERN]

A perceptron and two convolutional networks with seeded weights, quantised statically as Q/DQ pairs and as QLinear operators, and
dynamically. Results are multiples of the last scale. A sum that lies between two steps may be rounded to either, so a few of them
may be one step off. With `--target`, kernels run on the emulated GPU, and none of the products may be loops. Exits 77 (a skip)
where a package is not installed.
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
    from onnxruntime import quantization
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(SKIPPED)

ROWS, IMAGES = 40, 18
# Of results one step off, and of dynamic ones the error over the greatest result.
MOST_OFF, MOST_ERROR = 0.02, 1e-5


class Network:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants = [], []

    def weight(self, *shape, fan):
        name = f"w{len(self.constants)}"
        values = self.random.standard_normal(shape) / np.sqrt(fan)
        self.constants.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def node(self, kind, *inputs, **attributes):
        name = f"{kind}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def conv(self, x, inputs, outputs, size, groups=1, **attributes):
        w = self.weight(outputs, inputs // groups, size, size, fan=inputs // groups * size * size)
        return self.node("Conv", x, w, self.weight(outputs, fan=4), group=groups, **attributes)

    def gemm(self, x, inputs, outputs):
        return self.node("Gemm", x, self.weight(outputs, inputs, fan=inputs), self.weight(outputs, fan=4), transB=1)

    def model(self, name, dims, result):
        value = helper.make_tensor_value_info
        graph = helper.make_graph(self.nodes, name, [value("x", TensorProto.FLOAT, dims)], [value(result, TensorProto.FLOAT, None)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def perceptron():
    n = Network(1)
    y = n.node("Relu", n.gemm("x", 48, 96))
    y = n.node("MatMul", y, n.weight(96, 64, fan=96))
    y = n.node("Tanh", n.node("Add", y, n.weight(64, fan=4)))
    return n.model("perceptron", ["rows", 48], n.gemm(y, 64, 24))


def convolutions():
    """A first layer of three channels, a residual, groups, channels that each have a filter, a pooling."""
    n = Network(2)
    y = n.node("Relu", n.conv("x", 3, 16, 3, pads=[1, 1, 1, 1], strides=[2, 2]))
    z = n.node("Relu", n.conv(y, 16, 16, 3, pads=[1, 1, 1, 1]))
    y = n.node("Relu", n.node("Add", n.conv(z, 16, 16, 1), y))
    y = n.node("LeakyRelu", n.conv(y, 16, 32, 3, strides=[2, 2], pads=[1, 1, 1, 1]), alpha=0.3)
    y = n.conv(y, 32, 32, 3, groups=2, pads=[1, 1, 1, 1])
    y = n.node("Relu", n.conv(y, 32, 32, 3, groups=32, pads=[1, 1, 1, 1]))
    y = n.node("Flatten", n.node("GlobalAveragePool", y))
    return n.model("convolutions", ["images", 3, 17, 17], n.gemm(y, 32, 24))


def moves():
    """Poolings, concats and the like between convolutions and products: they work on codes."""
    n = Network(6)
    y = n.node("Relu", n.conv("x", 3, 16, 3, pads=[1, 1, 1, 1]))
    y = n.node("MaxPool", y, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    z = n.node("Relu", n.conv(y, 16, 16, 1))
    y = n.node("Relu", n.conv(n.node("Concat", y, n.node("MaxPool", z, kernel_shape=[3, 3], pads=[1, 1, 1, 1]), axis=1), 32, 32, 3))
    y = n.node("Transpose", n.node("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2]), perm=[0, 2, 3, 1])
    y = n.node("Relu", n.node("MatMul", y, n.weight(32, 16, fan=32)))
    n.constants.append(numpy_helper.from_array(np.array([0, 9 * 16], np.int64), "sizes"))
    return n.model("moves", ["images", 3, 17, 17], n.gemm(n.node("Reshape", y, "sizes"), 9 * 16, 24))


class Samples(quantization.CalibrationDataReader):
    def __init__(self, dims):
        random = np.random.default_rng(3)
        self.left = [{"x": random.standard_normal(dims).astype(np.float32)} for _ in range(4)]

    def get_next(self):
        return self.left.pop() if self.left else None


FORMS = {  # name: activations, weights, options of the quantiser
    "qdq": ("QUInt8", "QInt8", {"per_channel": True, "quant_format": quantization.QuantFormat.QDQ}),
    "qdq_signed": ("QInt8", "QInt8", {"quant_format": quantization.QuantFormat.QDQ}),
    "operators": ("QUInt8", "QUInt8", {"quant_format": quantization.QuantFormat.QOperator}),
    "dynamic": (None, "QInt8", {"per_channel": True}),
}


def quantise(model, dims, form, folder):
    """The quantised model's file. Weights have 7 bits: sums of pairs of 8 saturate on processors without VNNI."""
    source, made = folder / "float.onnx", folder / "model.onnx"
    onnx.save(model, source)
    activations, weights, options = FORMS[form]
    kinds = {"weight_type": getattr(quantization.QuantType, weights), "reduce_range": True, **options}
    if activations is None:
        quantization.quantize_dynamic(source, made, **kinds)
    else:
        quantization.quantize_static(source, made, Samples(dims), activation_type=getattr(quantization.QuantType, activations), **kinds)
    return made


def call(command, **more):
    process = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600, **more)
    if process.returncode:
        raise RuntimeError(f"exit code {process.returncode}: {(process.stdout + process.stderr).strip()[-800:]}")
    return process.stdout


def problem(got, want, form):
    if got.shape != want.shape:
        return f"shape {got.shape}, onnxruntime {want.shape}"
    off = np.abs(got.astype(np.float64) - want)
    if form == "dynamic":
        error = off.max() / np.abs(want).max()
        return "" if error <= MOST_ERROR else f"error {error:.2g} of the greatest result"
    levels = np.unique(want)
    step = np.diff(levels).min()
    steps = np.rint(off / step)
    share = np.count_nonzero(steps) / steps.size
    return "" if steps.max() <= 1 and share <= MOST_OFF else f"up to {steps.max():.0f} steps off, {share:.1%} of the results"


def check(name, model, dims, form, options):
    folder = options.work_dir / f"{name}-{form}"
    folder.mkdir(parents=True, exist_ok=True)
    path, artifact = quantise(model, dims, form, folder), folder / "model.kpc"
    x = np.random.default_rng(4).standard_normal(dims).astype(np.float32)
    np.save(folder / "x.npy", x)
    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), quiet, providers=["CPUExecutionProvider"])
    want = session.run(None, {"x": x})[0]
    symbol = "rows" if name == "perceptron" else "images"
    call([options.kpc, "compile", path, "--arch", options.target, "--dim", f"{symbol}=1..64:opt={dims[0]}", "--precision", "fp32", "--variants", "1",
          "-o", artifact, "--no-cache", "--quiet"])
    environment, device = os.environ, "host"
    if options.driver:
        environment, device = dict(os.environ, KPC_CUDA_DRIVER=str(options.driver), KPC_EMULATE_TARGET=options.target), "cuda:0"
    call([options.kpc, "run", artifact, "--device", device, "--quiet", "--output-dir", folder / "out", "--input", f"x={folder / 'x.npy'}"], env=environment)
    found = problem(np.load(next((folder / "out").glob("*.npy"))), want, form)
    if not found and options.driver:
        loops = [line for line in call([options.kpc, "inspect", artifact]).splitlines() if "contraction " in line]
        found = f"{len(loops)} products are loops: {loops[0].strip()}" if loops else ""
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--target", default="host")
    parser.add_argument("--driver", type=pathlib.Path, help="the emulator's")
    parser.add_argument("--only", default="", help="a regular expression for names")
    options = parser.parse_args()

    failed = 0
    for name, model, dims in (("perceptron", perceptron(), (ROWS, 48)), ("convolutions", convolutions(), (IMAGES, 3, 17, 17)),
                              ("moves", moves(), (IMAGES, 3, 17, 17))):
        for form in FORMS:
            if not re.search(options.only, f"{name}-{form}"):
                continue
            try:
                found = check(name, model, dims, form, options)
            except (RuntimeError, StopIteration, subprocess.TimeoutExpired) as error:
                found = str(error)
            failed += bool(found)
            print(f"{name}-{form}: {found or 'right'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
