#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes layer.onnx, one layer of a transformer, node by node as PyTorch's exporter spells it, and prints its nodes.

    python3 make_layer.py FOLDER

Two heads of 64, 128 columns, 512 in between; batch and sequence are dynamic. docs/from-onnx-to-kernels.md follows it
through the compiler. Weights are random numbers from a seed that keep the variance. Standard library alone.
"""

import math
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "test" / "hostile"))
import onnx_writer as onnx  # noqa: E402

HEADS, DEPTH, INNER = 2, 64, 512
WIDTH = HEADS * DEPTH
SHAPE = ["batch", "sequence", WIDTH]


class Layer:
    def __init__(self):
        self.nodes, self.weights, self.random = [], [], random.Random(1)

    def add(self, op, inputs, name, **attributes):
        self.nodes.append(onnx.node(op, inputs, [name], name=name, **attributes))
        print(f"{name} = {op}({', '.join([*inputs, *(f'{key}={value}' for key, value in attributes.items())])})")
        return name

    def numbers(self, name, shape, spread, mean=0.0):
        values = [self.random.gauss(mean, spread) for _ in range(math.prod(shape))]
        self.weights.append(onnx.floats(name, shape, values))
        return name

    def linear(self, x, name, rows, columns):
        weight = self.numbers(f"{name}.weight", [rows, columns], 1 / math.sqrt(rows))
        product = self.add("MatMul", [x, weight], f"{name}.product")
        return self.add("Add", [product, self.numbers(f"{name}.bias", [columns], 0.2)], name)

    def heads(self, x, name):
        split = self.add("Reshape", [self.linear(x, name, WIDTH, WIDTH), "split"], f"{name}.split")
        return self.add("Transpose", [split], f"{name}.heads", perm=[0, 2, 1, 3])

    def attention(self, x):
        query, key, value = (self.heads(x, name) for name in ("query", "key", "value"))
        turned = self.add("Transpose", [key], "key.turned", perm=[0, 1, 3, 2])
        scores = self.add("Div", [self.add("MatMul", [query, turned], "products"), "root"], "scores")
        weights = self.add("Softmax", [scores], "weights", axis=-1)
        mixed = self.add("Transpose", [self.add("MatMul", [weights, value], "mix")], "mix.turned", perm=[0, 2, 1, 3])
        return self.linear(self.add("Reshape", [mixed, "join"], "mix.joined"), "output", WIDTH, WIDTH)

    def norm(self, x, name):
        scale = self.numbers(f"{name}.scale", [WIDTH], 0.1, 1.0)
        return self.add("LayerNormalization", [x, scale, self.numbers(f"{name}.shift", [WIDTH], 0.2)], name)

    def model(self):
        attended = self.add("Add", [self.attention(self.norm("x", "norm1")), "x"], "attended")
        inner = self.add("Gelu", [self.linear(self.norm(attended, "norm2"), "up", WIDTH, INNER)], "gelu")
        self.add("Add", [self.linear(inner, "down", INNER, WIDTH), attended], "y")
        constants = [onnx.int64s("split", [0, 0, HEADS, DEPTH]), onnx.int64s("join", [0, 0, WIDTH]),
                     onnx.floats("root", [], [math.sqrt(DEPTH)])]
        return onnx.model(onnx.graph(self.nodes, [onnx.value_info("x", SHAPE)], [onnx.value_info("y", SHAPE)],
                                     constants + self.weights), opsets=((20, ""),))


if __name__ == "__main__":
    (pathlib.Path(sys.argv[1]) / "layer.onnx").write_bytes(Layer().model())
