#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Long reductions, argmax, running sums, large windows and GEMMs in parts, on the emulator.   reductions.py KPC DRIVER TARGET FOLDER

Sizes are ragged and prime where they are not round. `kpc verify` compares with the model on the host, which walks in order.
argmax has ties, infinities and NaN: what is equal, and what wins, decides the index.
"""

import sys

import emulated
import numpy
from onnx import TensorProto, helper, numpy_helper

OPSET = helper.make_opsetid("", 18)
ELEMENTS = emulated.ELEMENTS | {"int32": TensorProto.INT32}


def model(op, kind, sizes, axes, result, out, before=(), **attributes):
    """`before`: a chain of ops of one operand in front of `op`."""
    nodes, value = [], "x"
    for name, more in before:
        nodes.append(helper.make_node(name, [value], [f"{name}_{len(nodes)}"], **more))
        value = nodes[-1].output[0]
    constants = [] if axes is None else [numpy_helper.from_array(numpy.array(axes, numpy.int64), "axes")]
    nodes.append(helper.make_node(op, [value, "axes"] if constants else [value], ["y"], **attributes))
    graph = helper.make_graph(nodes, "reduction", [helper.make_tensor_value_info("x", ELEMENTS[kind], sizes)],
                              [helper.make_tensor_value_info("y", result, out)], constants)
    return helper.make_model(graph, opset_imports=[OPSET], ir_version=9)


def named(op, kind, sizes, *more):
    return "_".join([op, kind, "x".join(map(str, sizes)), *map(str, more)])


def reduce(op, kind, sizes, axes, kernels=0, run=None, ranges=None, **more):
    out = [size for axis, size in enumerate(sizes) if axis not in axes]
    return emulated.Case(named(op, kind, sizes, *axes, *(run or {}).values()), model(op, kind, sizes, axes, ELEMENTS[kind], out, keepdims=0, **more),
                         ranges or {}, run or {}, kernels=kernels)


# Every element is -1, 0 or 1, infinite, or not a number: the second root of a number below zero.
TIES = (("Round", {}),)
NANS = (("Round", {}), ("Sqrt", {}))
INFINITE = (("Round", {}), ("Log", {}))


def arg(op, kind, sizes, axis, before=(), run=None, last=0):
    out = [size for at, size in enumerate(sizes) if at != axis]
    return emulated.Case(named(op, kind, sizes, axis, last, *(name for name, _ in before), *(run or {}).values()),
                         model(op, kind, sizes, None, TensorProto.INT64, out, before, axis=axis, keepdims=0, select_last_index=last), {}, run or {})


def scan(kind, sizes, axis, exclusive, reverse, run=None):
    return emulated.Case(named("CumSum", kind, sizes, axis, exclusive, reverse, *(run or {}).values()),
                         model("CumSum", kind, sizes, axis, ELEMENTS[kind], sizes, exclusive=exclusive, reverse=reverse), {}, run or {})


CASES = [reduce("ReduceSum", "fp32", [1 << 17], [0], kernels=2), reduce("ReduceSum", "fp16", [100003], [0], kernels=2),
         reduce("ReduceMean", "bf16", [3, 40000], [1]), reduce("ReduceMax", "int32", [5, 32771], [1]),
         reduce("ReduceProd", "fp32", [2, 16385], [1]), reduce("ReduceL2", "fp32", [131, 17, 23], [0, 1, 2]),
         reduce("ReduceSum", "fp32", [4099, 37], [0], kernels=2), reduce("ReduceMin", "fp16", [4096, 64], [0], kernels=2),
         reduce("ReduceSumSquare", "fp32", [7, 5, 61, 59], [0, 2, 3]), reduce("ReduceLogSumExp", "fp32", [1, 140001], [1]),
         reduce("ReduceSum", "fp16", [4, 8, 64, 64], [0, 1, 2, 3], kernels=2), reduce("ReduceMax", "fp32", [63, 4, 32, 32], [0, 1, 2, 3], kernels=2),
         reduce("ReduceSum", "fp32", ["n"], [0], run={"n": 20011}), reduce("ReduceSum", "fp32", ["n"], [0], run={"n": 1}),
         reduce("ReduceMean", "fp16", ["n", "m"], [0, 1], run={"n": 211, "m": 97}),
         reduce("ReduceMax", "fp32", ["n", 24], [0], run={"n": 3001}),
         reduce("ReduceSum", "fp32", ["n"], [0], run={"n": 50021}, ranges={"n": "1..1000000:opt=65536"}),
         emulated.Case("softmax_1x140000", model("Softmax", "fp32", [1, 140000], None, TensorProto.FLOAT, [1, 140000], axis=1))]
CASES += [arg("ArgMax", "fp32", [3, 1009], 1), arg("ArgMin", "fp16", [2, 20011], 1), arg("ArgMax", "bf16", [2, 32768], 1, TIES, last=1),
          arg("ArgMax", "fp32", [4, 517], 1, NANS), arg("ArgMin", "fp32", [4, 517], 1, NANS, last=1), arg("ArgMax", "fp32", [2, 18001], 1, NANS),
          arg("ArgMin", "fp32", [4, 130], 1, INFINITE), arg("ArgMax", "int32", [3, 700], 1), arg("ArgMax", "int32", [67, 3, 5], 0, last=1),
          arg("ArgMin", "fp32", [3001, 9], 0, TIES), arg("ArgMax", "fp32", ["b", "n"], 1, TIES, run={"b": 3, "n": 257}),
          arg("ArgMax", "fp16", [1, "n"], 1, run={"n": 1}), arg("ArgMax", "fp32", [1, "n"], 1, NANS, run={"n": 33001})]
CASES += [scan(kind, sizes, axis, exclusive, reverse)
          for kind, sizes, axis in (("fp32", [2, 1031], 1), ("int32", [97, 6], 0), ("fp16", [3, 2048], 1))
          for exclusive in (0, 1) for reverse in (0, 1)]
CASES += [scan("fp32", [40009], 0, 0, 0), scan("int32", ["n"], 0, 0, 1, run={"n": 3001}), scan("int32", ["n"], 0, 1, 0, run={"n": 1}),
          scan("int32", [2, "n", 3], 1, 1, 1, run={"n": 67})]
# Fewer columns than a warp has lanes.
MORE = [reduce("ReduceSum", "fp32", [40001, 4], [0]), reduce("ReduceMax", "fp16", [3001, 3], [0]), reduce("ReduceProd", "int32", [2, 701, 7], [1]),
        reduce("ReduceLogSumExp", "fp32", [3000, 17], [0]), reduce("ReduceMean", "bf16", ["n", 5], [0], run={"n": 1009}),
        reduce("ReduceMin", "fp32", ["n", "m"], [0], run={"n": 500, "m": 37}, ranges={"m": "1..64:opt=6"}), arg("ArgMax", "fp32", [3001, 2], 0, TIES)]
# A block walks a row of several tiles; columns in blocks; rows of a thread each.
MORE += [scan("fp32", [130, 2056], 1, exclusive, reverse) for exclusive, reverse in ((0, 0), (1, 1))]
MORE += [scan("int32", [1201, 3], 0, exclusive, reverse) for exclusive, reverse in ((0, 1), (1, 0))]
MORE += [scan("fp16", [2, 16392], 1, 0, 1), scan("fp32", [70, 9], 1, 1, 0), scan("int32", [1, "n"], 1, 0, 0, run={"n": 20011})]


def whole(op, kind, sizes, run=None, ranges=None, kernels=1, **more):
    return emulated.Case(named(op, kind, sizes, *more.values(), *(run or {}).values()), model(op, kind, sizes, None, ELEMENTS[kind], sizes, **more),
                        ranges or {}, run or {}, shows="columns", kernels=kernels)


# Columns that are read again: in registers, and of a length that is not known.
MORE += [whole("Softmax", "fp32", [2, 21, 64, 33], axis=1), whole("LogSoftmax", "fp16", [1, 131, 4100], axis=1), whole("Softmax", "fp32", [7, 4133], axis=0),
         whole("Softmax", "fp32", [1, "c", 4100], run={"c": 7}, ranges={"c": "1..64:opt=16"}, axis=1),
         reduce("ReduceLogSumExp", "fp32", [2, 40, 2080], [1])]


# Results with dims of one element.
MORE += [emulated.Case(named(op, "fp32", sizes), model(op, "fp32", sizes, None, TensorProto.FLOAT, [*sizes[:2], *(1 for _ in sizes[2:])]))
         for op, sizes in (("GlobalAveragePool", [2, 5, 33, 35]), ("GlobalMaxPool", [1, 3, 7, 11, 5]), ("GlobalAveragePool", [3, 4, 3, 3]))]


def pool(op, kind, sizes, taps, **more):
    out = sizes
    pads = [size // 2 for size in taps] + [(size - 1) // 2 for size in taps]
    return emulated.Case(named(op, kind, sizes, *taps, *more.values()), model(op, kind, sizes, None, ELEMENTS[kind], out, kernel_shape=taps, pads=pads, **more))


MORE += [pool("MaxPool", "fp32", [1, 8, 17, 15], [13, 13]), pool("MaxPool", "fp16", [2, 3, 9, 20], [8, 9]), pool("MaxPool", "fp32", [1, 5, 6, 7, 8], [3, 5, 7]),
         pool("AveragePool", "fp16", [1, 16, 14, 13], [9, 9], count_include_pad=1), pool("AveragePool", "fp32", [1, 4, 14, 13], [9, 9], count_include_pad=0)]


def gemm(kind, rows, total, columns, turned=False, bias=False):
    """Two kernels: parts of the sum, and what adds them up."""
    given = {"a": [rows, total], "b": [columns, total] if turned else [total, columns], "c": [columns]}
    nodes = [helper.make_node("Gemm", ["a", "b", "c"] if bias else ["a", "b"], ["s"], transB=int(turned)), helper.make_node("Relu", ["s"], ["y"])]
    inputs = [helper.make_tensor_value_info(name, ELEMENTS[kind], sizes) for name, sizes in given.items() if bias or name != "c"]
    graph = helper.make_graph(nodes, "gemm", inputs, [helper.make_tensor_value_info("y", ELEMENTS[kind], [rows, columns])])
    return emulated.Case(named("Gemm", kind, [rows, total, columns], int(turned)), helper.make_model(graph, opset_imports=[OPSET], ir_version=9),
                        options=emulated.PRECISIONS.get(kind, ()))


MORE += [gemm("fp16", 24, 32768, 16), gemm("bf16", 9, 32768, 24, turned=True, bias=True), gemm("fp32", 16, 24576, 24, bias=True),
         gemm("exact", 16, 16384, 16, turned=True)]


def matmul(kind, left, right, out, shows, kernels=0, run=None, ranges=None):
    graph = helper.make_graph([helper.make_node("MatMul", ["a", "b"], ["s"]), helper.make_node("Neg", ["s"], ["y"])], "gemm",
                              [helper.make_tensor_value_info(name, ELEMENTS[kind], sizes) for name, sizes in (("a", left), ("b", right))],
                              [helper.make_tensor_value_info("y", ELEMENTS[kind], out)])
    return emulated.Case(named("MatMul", kind, left, *right, *(run or {}).values()), helper.make_model(graph, opset_imports=[OPSET], ir_version=9),
                         ranges or {}, run or {}, shows=shows, kernels=kernels)


# Dots of long rows, and products of a column and a row.
MORE += [matmul("fp32", [1, 32771], [32771, 1], [1, 1], "row-reduction", kernels=2), matmul("fp16", [3, 1, 16411], [16411, 1], [3, 1, 1], "row-reduction"),
         matmul("int32", [1, 40000], [40000, 1], [1, 1], "row-reduction"),
         matmul("fp32", [1, "k"], ["k", 1], [1, 1], "row-reduction", run={"k": 9001}, ranges={"k": "1..100000:opt=50000"}),
         matmul("fp32", [130, 1], [1, 67], [130, 67], "map", kernels=1), matmul("fp16", [3, 33, 1], [3, 1, 129], [3, 33, 129], "map", kernels=1),
         matmul("int32", [2, 17, 1], [1, 31], [2, 17, 31], "map", kernels=1)]


def main():
    """Presubmit, which runs sm_90a, has some of them."""
    target = sys.argv[3]
    return emulated.main(*sys.argv[1:5], CASES + (MORE[::4] if target == "sm_90a" else MORE), "reductions")


if __name__ == "__main__":
    sys.exit(main())
