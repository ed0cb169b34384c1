#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention as exporters spell it, in f32 with --precision, on the emulator.   heads.py KPC DRIVER TARGET FOLDER

One layer: queries, keys and values from products (three, or one that is split), a padding mask, the sum with the input.
It must become four kernels (the mask, two products, one attention), and `kpc verify` compares the emulated run with the model on the host.
Ends with 77 where onnx is not installed.
"""

import os
import pathlib
import subprocess
import sys

import emulated

try:
    import numpy
    from onnx import TensorProto, helper, numpy_helper, save
except ImportError:
    print("SKIPPED: onnx is not installed")
    sys.exit(77)

HIDDEN, DEPTH = 64, 16
#        name     precision heads groups one product, causal
CASES = [("three", "fp16", 4, 4, False, False),
         ("groups", "bf16", 4, 2, False, True),
         ("one", "fp16", 4, 4, True, True)]


class Graph:
    def __init__(self):
        self.nodes, self.weights, self.random = [], [], numpy.random.default_rng(1)

    def node(self, kind, inputs, outputs=1, **attributes):
        names = [f"{kind.lower()}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, name=names[0], **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value):
        self.weights.append(numpy_helper.from_array(numpy.asarray(value), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def matrix(self, rows, columns):
        return self.constant(self.random.standard_normal((rows, columns)).astype(numpy.float32) / rows**0.5)

    def linear(self, x, columns, rows=HIDDEN):
        y = self.node("MatMul", [x, self.matrix(rows, columns)])
        return self.node("Add", [y, self.constant(self.random.standard_normal(columns).astype(numpy.float32) / 4)])

    def heads(self, x, count):
        shape = self.constant(numpy.array([0, 0, count, DEPTH]))
        return self.node("Transpose", [self.node("Reshape", [x, shape])], perm=[0, 2, 1, 3])


def model(heads, groups, is_one, causal):
    g = Graph()
    widths = [heads * DEPTH, groups * DEPTH, groups * DEPTH]
    if is_one:
        parts = g.node("Split", [g.linear("x", sum(widths)), g.constant(numpy.array(widths))], 3, axis=2)
    else:
        parts = [g.linear("x", width) for width in widths]
    q, k, v = (g.heads(part, width // DEPTH) for part, width in zip(parts, widths))
    if groups != heads:
        for name in ("k", "v"):
            one = g.node("Unsqueeze", [k if name == "k" else v, g.constant(numpy.array([2]))])
            many = g.node("Expand", [one, g.constant(numpy.array([1, 1, heads // groups, 1, 1]))])
            again = g.node("Reshape", [many, g.constant(numpy.array([0, heads, -1, DEPTH]))])
            k, v = (again, v) if name == "k" else (k, again)
    scores = g.node("MatMul", [q, g.node("Transpose", [k], perm=[0, 1, 3, 2])])
    scores = g.node("Div", [scores, g.constant(numpy.float32(DEPTH**0.5))])
    seen = g.node("Unsqueeze", ["seen", g.constant(numpy.array([1, 2]))])
    if causal:
        size = g.node("Shape", ["x"], start=1, end=2)
        size = g.node("Squeeze", [size])
        place = g.node("Range", [g.constant(numpy.int64(0)), size, g.constant(numpy.int64(1))])
        query = g.node("Unsqueeze", [place, g.constant(numpy.array([1]))])
        seen = g.node("And", [seen, g.node("GreaterOrEqual", [query, place])])
    hidden = g.constant(numpy.float32(numpy.finfo(numpy.float32).min))
    scores = g.node("Add", [scores, g.node("Where", [seen, g.constant(numpy.float32(0)), hidden])])
    y = g.node("MatMul", [g.node("Softmax", [scores], axis=-1), v])
    y = g.node("Transpose", [y], perm=[0, 2, 1, 3])
    y = g.linear(g.node("Reshape", [y, g.constant(numpy.array([0, 0, heads * DEPTH]))]), HIDDEN, heads * DEPTH)
    g.nodes.append(helper.make_node("Add", [y, "x"], ["y"], name="sum"))
    shape = ["batch", "sequence", HIDDEN]
    graph = helper.make_graph(
        g.nodes, "heads", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape),
                           helper.make_tensor_value_info("seen", TensorProto.BOOL, ["batch", "sequence"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)], g.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def main():
    kpc, driver, target, folder = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ, KPC_CUDA_DRIVER=driver, KPC_EMULATE_TARGET=target)
    family = " attention " if target == "sm_90a" else " attention_mmasync "
    sizes = numpy.random.default_rng(2)
    failed = 0
    for name, precision, heads, groups, is_one, causal in CASES:
        source, artifact = folder / f"{name}.onnx", folder / f"{name}.kpc"
        save(model(heads, groups, is_one, causal), source)
        dims = ["--dim", "batch=1..4:opt=2", "--dim", "sequence=1..256:opt=128"]
        subprocess.run([kpc, "compile", source, "--arch", target, "--precision", precision, "--variants", "1", "-o", artifact,
                        "--no-cache", "--quiet"] + dims, check=True)
        shown = subprocess.run([kpc, "inspect", artifact], check=True, capture_output=True, text=True).stdout
        # The caller's x is f32: a kernel in front narrows it where 16 bits are multiplied.
        kernels = [line for line in emulated.kernels(shown) if line.split()[0] != "cast"]
        if sum(family in line for line in kernels) != 1 or len(kernels) != 4:
            print(f"{name} is not a mask, two products and one attention:\n{shown}")
            failed += 1
        x = sizes.standard_normal((2, 150, HIDDEN)).astype(numpy.float32)
        seen = numpy.ones((2, 150), bool)
        seen[1, 97:] = False
        numpy.save(folder / "x.npy", x)
        numpy.save(folder / "seen.npy", seen)
        done = subprocess.run([kpc, "verify", artifact, "--model", source, "-i", f"x={folder / 'x.npy'}",
                               "-i", f"seen={folder / 'seen.npy'}", "--device", "cuda:0", "--no-cache"], env=environment)
        failed += done.returncode != 0
    print(f"{len(CASES)} layers, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
