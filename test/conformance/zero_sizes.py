#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors without elements, their sizes known when compiling, through operators of every kind; a window without any.

    python3 zero_sizes.py --kpc FILE --work-dir FOLDER [--arch host] [--device host]

ONNX's formulas give the result's sizes; where it has elements, they are what a sum, product or average of nothing is.
Needs onnx and numpy.
"""

import argparse
import math
import pathlib
import subprocess
import sys

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
KINDS = {FLOAT: np.float32, INT64: np.int64, BOOL: np.bool_}


def floats(name, *shape):
    return helper.make_tensor(name, FLOAT, shape, np.ones(math.prod(shape), np.float32).tobytes(), raw=True)


def integers(name, values, scalar=False):
    return helper.make_tensor(name, INT64, [] if scalar else [len(values)], values)


class Case:
    """y = op(inputs…, weights…): sizes of the inputs and of y, and the elements of y where it has any."""

    def __init__(self, op, sizes, result, *weights, name="", value=None, kinds=(), kind=FLOAT, opset=21, **attributes):
        self.op, self.name, self.sizes, self.result, self.weights = op, name or op, sizes, result, weights
        self.value, self.kind, self.opset, self.attributes = value, kind, opset, attributes
        self.kinds = kinds or (FLOAT,) * len(sizes)

    def model(self):
        names = [f"x{i}" for i in range(len(self.sizes))]
        node = helper.make_node(self.op, names + [w.name for w in self.weights], ["y"], name="node", **self.attributes)
        inputs = [helper.make_tensor_value_info(*each) for each in zip(names, self.kinds, self.sizes)]
        output = helper.make_tensor_value_info("y", self.kind, self.result)
        graph = helper.make_graph([node], "graph", inputs, [output], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=9)


PAIR = {"kernel_shape": [2, 2]}
CASES = [
    Case("MaxPool", [[0, 3, 8, 8]], [0, 3, 7, 7], **PAIR),
    Case("MaxPool", [[2, 0, 8, 8]], [2, 0, 7, 7], name="MaxPool.channels", **PAIR),
    Case("MaxPool", [[2, 3, 0, 8]], [2, 3, 0, 4], name="MaxPool.rows", strides=[2, 2], **PAIR),
    Case("AveragePool", [[0, 3, 8, 8]], [0, 3, 7, 7], **PAIR),
    Case("AveragePool", [[0, 3, 8, 8]], [0, 3, 4, 4], name="AveragePool.padded", kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2]),
    Case("AveragePool", [[2, 3, 1, 8]], [2, 3, 1, 7], name="AveragePool.paddingAlone", value=0, pads=[1, 0, 1, 0], dilations=[2, 1], **PAIR),
    Case("LpPool", [[0, 3, 8, 8]], [0, 3, 7, 7], **PAIR),
    Case("GlobalAveragePool", [[0, 3, 8, 8]], [0, 3, 1, 1]),
    Case("GlobalMaxPool", [[0, 3, 8, 8]], [0, 3, 1, 1]),
    Case("Conv", [[0, 3, 8, 8]], [0, 4, 6, 6], floats("w", 4, 3, 3, 3)),
    Case("Conv", [[2, 0, 8, 8]], [2, 4, 6, 6], floats("w", 4, 0, 3, 3), name="Conv.channels", value=0),
    Case("ConvTranspose", [[0, 3, 8, 8]], [0, 4, 10, 10], floats("w", 3, 4, 3, 3)),
    Case("MatMul", [[0, 4], [4, 5]], [0, 5]),
    Case("MatMul", [[3, 0], [0, 5]], [3, 5], name="MatMul.sum", value=0),
    Case("Gemm", [[3, 0], [0, 5]], [3, 5], floats("c", 5), value=1),
    Case("Attention", [[0, 2, 4, 8]] * 3, [0, 2, 4, 8], opset=23),
    Case("Attention", [[1, 2, 0, 8], [1, 2, 4, 8], [1, 2, 4, 8]], [1, 2, 0, 8], name="Attention.queries", opset=23),
    Case("Softmax", [[0, 5]], [0, 5]), Case("Softmax", [[5, 0]], [5, 0], name="Softmax.row"),
    Case("ReduceSum", [[3, 0]], [3, 1], integers("axes", [1]), value=0),
    Case("ReduceProd", [[3, 0]], [3, 1], integers("axes", [1]), value=1),
    Case("ReduceMean", [[0, 3]], [0, 1], integers("axes", [1])), Case("ReduceMax", [[0, 3]], [0, 1], integers("axes", [1])),
    Case("ArgMax", [[0, 3]], [0, 1], axis=1, kind=INT64),
    Case("LRN", [[0, 4, 5, 5]], [0, 4, 5, 5], size=3),
    Case("BatchNormalization", [[0, 3, 4, 4]], [0, 3, 4, 4], *(floats(n, 3) for n in "sbmv")),
    Case("InstanceNormalization", [[0, 3, 4, 4]], [0, 3, 4, 4], floats("s", 3), floats("b", 3)),
    Case("LayerNormalization", [[0, 3]], [0, 3], floats("s", 3), floats("b", 3)),
    Case("Relu", [[0]], [0]), Case("Gelu", [[0, 3]], [0, 3]),
    Case("Where", [[0, 3], [3], [1]], [0, 3], kinds=(BOOL, FLOAT, FLOAT)),
    Case("Transpose", [[0, 3, 2]], [2, 3, 0], perm=[2, 1, 0]), Case("Flatten", [[0, 3, 4]], [0, 12]),
    Case("Concat", [[0, 4], [2, 4]], [2, 4], axis=0, value=1), Case("DepthToSpace", [[0, 4, 2, 2]], [0, 1, 4, 4], blocksize=2),
    Case("CumSum", [[0, 3]], [0, 3], integers("axis", [0], scalar=True)),
    Case("Pad", [[0, 3]], [2, 3], integers("pads", [1, 0, 1, 0]), value=0),
    Case("Tile", [[0, 3]], [0, 6], integers("repeats", [1, 2])), Case("Expand", [[0, 1]], [0, 4], integers("shape", [0, 4])),
    Case("Slice", [[4, 3]], [0, 3], integers("starts", [2]), integers("ends", [2])),
    Case("Gather", [[4, 3], [0]], [0, 3], kinds=(FLOAT, INT64)),
    Case("Resize", [[0, 3, 4, 4]], [0, 3, 8, 8], floats("roi", 0), helper.make_tensor("scales", FLOAT, [4], [1, 1, 2, 2])),
]


def run_case(case, options):
    """What is wrong with it; empty if it is right."""
    folder = options.work_dir / case.name
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(case.model(), folder / "model.onnx")
    arguments = []
    for i, (size, kind) in enumerate(zip(case.sizes, case.kinds)):
        np.save(folder / f"x{i}.npy", np.ones(size, KINDS[kind]))
        arguments += ["--input", f"x{i}={folder}/x{i}.npy"]
    for command in (["compile", folder / "model.onnx", "--arch", options.arch, "-O0", "-o", folder / "model.kpc", "--no-cache"],
                    ["run", folder / "model.kpc", *arguments, "--output-dir", folder, "--device", options.device]):
        done = subprocess.run([options.kpc, *command, "--quiet"], capture_output=True, text=True)
        if done.returncode:
            return f"kpc {command[0]}: exit code {done.returncode}: {done.stderr.strip()}"
    found = np.load(folder / "y.npy")
    if list(found.shape) != case.result:
        return f"its sizes are {found.shape}"
    return "" if found.size == 0 or (found == case.value).all() else f"it holds {found.ravel()[:4]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--arch", default="host")
    parser.add_argument("--device", default="host")
    options = parser.parse_args()
    wrong = {case.name: why for case in CASES if (why := run_case(case, options))}
    for name, why in wrong.items():
        print(f"{name}: {why}")
    print(f"{len(CASES)} models, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
