#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What stands behind GEMMs of FP8 with constant scales, in their kernels.   fp8_layers.py KPC DRIVER FOLDER

Attention that writes codes, a gate of two GEMMs, and RoPE (a kernel of its own), of ragged sizes on an emulated sm_90a: as near to fp32 as on the host, which
rounds to codes as GPUs do; the same bits twice; and no kernel that only quantises, but for the caller's tensor. Exits 77 (a skip) where
numpy or onnx is not installed.
"""

import dataclasses
import pathlib
import sys

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(77)

from commands import call, error


@dataclasses.dataclass
class Model:
    """An ONNX model of one input x: [1, rows, width]."""

    width: int
    nodes: list = dataclasses.field(default_factory=list)
    made: dict = dataclasses.field(default_factory=dict)

    def add(self, op, *inputs, **attributes):
        name = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, values):
        name = f"c{len(self.made)}"
        self.made[name] = values
        return name

    def linear(self, x, rows, columns):
        draw = np.random.default_rng(len(self.made))
        return self.add("MatMul", x, self.constant((draw.standard_normal((rows, columns)) / np.sqrt(rows)).astype(np.float32)))

    def norm(self, x):
        return self.add("LayerNormalization", x, self.constant(np.ones(self.width, np.float32)))

    def write(self, path, y):
        self.nodes[[node.output[0] for node in self.nodes].index(y)].output[0] = "y"
        value = helper.make_tensor_value_info
        made = [numpy_helper.from_array(values, name) for name, values in self.made.items()]
        graph = helper.make_graph(self.nodes, path.stem, [value("x", TensorProto.FLOAT, [1, "rows", self.width])],
                                  [value("y", TensorProto.FLOAT, None)], made)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10), path)


def attention(path, heads, depth, layers=1):
    """Heads, attention and a product of what it gives. The scales of codes are what layers differ in."""
    model = Model(heads * depth)
    x = "x"
    for _ in range(layers):
        n = model.norm(x)
        q, k, v = (model.linear(n, model.width, model.width) for _ in range(3))
        mixed = model.add("Attention", q, k, v, q_num_heads=heads, kv_num_heads=heads)
        x = model.add("Add", model.linear(mixed, model.width, model.width), x)
    model.write(path, x)


def gate(path, width, inner):
    """SwiGLU."""
    model = Model(width)
    n = model.norm("x")
    g, u = model.linear(n, width, inner), model.linear(n, width, inner)
    both = model.add("Mul", model.add("Mul", g, model.add("Sigmoid", g)), u)
    model.write(path, model.add("Add", model.linear(both, inner, width), "x"))


def rope(path, heads, depth, positions):
    """Queries and keys are turned by their positions, values are not."""
    model = Model(heads * depth)
    n = model.norm("x")
    angles = np.outer(np.arange(positions), 1 / 100 ** (np.arange(depth // 2) / (depth // 2)))[None]
    cos, sin = (model.constant(f(angles).astype(np.float32)) for f in (np.cos, np.sin))
    q, k = (model.add("RotaryEmbedding", model.linear(n, model.width, model.width), cos, sin, num_heads=heads) for _ in range(2))
    v = model.linear(n, model.width, model.width)
    mixed = model.add("Attention", q, k, v, q_num_heads=heads, kv_num_heads=heads)
    model.write(path, model.add("Add", model.linear(mixed, model.width, model.width), "x"))


class Runner:
    def __init__(self, kpc, driver, folder):
        self.kpc, self.driver, self.folder = kpc, driver, folder

    def run(self, model, rows, target, *options):
        artifact = self.folder / f"{model.stem}.{target}.kpc"
        call([self.kpc, "compile", model, "--arch", target, "--dim", f"rows={rows}", *options, "-o", artifact, "-q", "--no-cache"])
        where = "host" if target == "host" else f"emulate:{target}"
        found = []
        for _ in range(2):
            call([self.kpc, "run", artifact, "--input", f"x={self.folder / model.stem}.npy", "--device", where, "--output-dir", self.folder, "-q"],
                 KPC_CUDA_DRIVER=str(self.driver))
            found.append(np.load(self.folder / "y.npy").astype(np.float64))
        return *found, call([self.kpc, "inspect", artifact])

    def check(self, model, rows, width, shows):
        draw = np.random.default_rng(rows)
        np.save(self.folder / f"{model.stem}.npy", draw.standard_normal((1, rows, width)).astype(np.float32))
        samples = self.folder / f"{model.stem}.npz"
        np.savez(samples, x=draw.standard_normal((4, 1, rows, width)).astype(np.float32))
        calibration = self.folder / f"{model.stem}.calibration"
        call([self.kpc, "calibrate", model, "--data", samples, "-o", calibration, "-q", "--no-cache"])
        asked = ("--precision", "fp8", "--precision-for", ".*=fp8", "--calibration", calibration)
        wanted, _, _ = self.run(model, rows, "host", "--precision", "fp32")
        host, _, _ = self.run(model, rows, "host", *asked)
        found, again, shown = self.run(model, rows, "sm_90a", *asked)
        print(f"{model.stem}: RMS error {error(found, wanted):.2e}, on the host {error(host, wanted):.2e}")
        good = error(found, wanted) < 1.2 * error(host, wanted) < 0.06
        if not np.array_equal(found, again):
            print("two runs differ")
            good = False
        lines = shown[shown.index("kernels of"):].split("\nremarks:")[0].splitlines()[2:]
        for family, types in shows:
            if not any(family in line and types in line for line in lines):
                print(f"no kernel is {family} of {types}:\n" + "\n".join(lines))
                good = False
        if any(" map x" in line and "-> i8" in line for line in lines):
            print("a kernel only makes codes:\n" + "\n".join(lines))
            good = False
        return good


def main():
    kpc, driver, folder = map(pathlib.Path, sys.argv[1:4])
    folder.mkdir(parents=True, exist_ok=True)
    runner, good = Runner(kpc, driver, folder), []
    for name, write, rows, width, shows in (
            ("attention_2x64", lambda p: attention(p, 2, 64), 77, 128, [("attention ", "f16 -> i8")]),
            ("attention_3x32", lambda p: attention(p, 3, 32), 40, 96, [("attention ", "f16 -> i8")]),
            ("layers_2x64", lambda p: attention(p, 2, 64, layers=3), 77, 128, [("attention ", "f16,f32 -> i8")]),
            ("attention_1x192", lambda p: attention(p, 1, 192), 70, 192, [("attention ", "f16 -> i8")]),
            ("gate", lambda p: gate(p, 96, 208), 77, 96, [("gemm ", "fp8 -> i8")]),
            ("rope_2x64", lambda p: rope(p, 2, 64, 77), 77, 128, [("gemm ", "fp8 -> f16"), ("attention ", "f16 -> i8")])):
        path = folder / f"{name}.onnx"
        write(path)
        good.append(runner.check(path, rows, width, shows))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
