#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes scores.onnx: a GEMM, the custom operator RowSoftcap between two others, and what it says of each row.

    python3 make_model.py FOLDER

Batch and sequence are dynamic. Weights are random numbers from a seed. Standard library alone.
"""

import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "test" / "hostile"))
import onnx_writer as onnx  # noqa: E402

WIDTH = 64
SHAPE = ["batch", "sequence", WIDTH]


def write(folder):
    """Writes the model into a folder; its weight, row by row."""
    numbers = random.Random(1)
    weight = [numbers.gauss(0, 1) for _ in range(WIDTH * WIDTH)]
    nodes = [
        onnx.node("MatMul", ["x", "weight"], ["product"], name="product"),
        onnx.node("RowSoftcap", ["product"], ["capped", "largest"], name="softcap", domain="example.ops", cap=5.0),
        onnx.node("Add", ["capped", "x"], ["y"], name="sum"),
    ]
    graph = onnx.graph(nodes, [onnx.value_info("x", SHAPE)],
                       [onnx.value_info("y", SHAPE), onnx.value_info("largest", SHAPE[:2])],
                       [onnx.floats("weight", [WIDTH, WIDTH], weight)])
    (folder / "scores.onnx").write_bytes(onnx.model(graph, [(17, ""), (1, "example.ops")]))
    return weight


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]))
