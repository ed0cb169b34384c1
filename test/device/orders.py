#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sorts, top-k, argmax, scatters of many updates and of new rows of a cache for time_orders.py: writes a model of each, and compiles it.

    python3 orders.py --kpc build/release/bin/kpc --out FOLDER [--arch sm_90a] [--only REGEX]

Sizes are those of the case; in cases with `free` both are dims with a range. Writes NAME.kpc and a line in cases.json. Needs onnx.
"""

from onnx import TensorProto, helper

from case_files import write_cases

TYPES = {"bf16": TensorProto.BFLOAT16, "fp16": TensorProto.FLOAT16, "fp32": TensorProto.FLOAT, "fp64": TensorProto.DOUBLE,
         "i8": TensorProto.INT8, "u8": TensorProto.UINT8, "i32": TensorProto.INT32, "i64": TensorProto.INT64}

# rows, columns, k (0: a whole sort), type. `speed` are the sizes that issues name, `other` are neighbours.
SPEED = [(128, 131072, 64, "fp32"), (1, 1 << 20, 0, "fp32")]
OTHER = [(128, 131072, 64, "fp16"), (32, 128256, 50, "fp16"), (4096, 1024, 10, "fp16"), (65536, 64, 8, "fp16"), (65536, 8, 2, "fp32"),
         (1 << 20, 16, 2, "fp32"), (8, 1 << 20, 100, "fp32"), (1, 1 << 20, 0, "fp16"), (1, 1 << 20, 0, "i32"), (1, 1 << 20, 0, "i64"),
         (1, 1 << 24, 0, "fp32"), (64, 65536, 0, "fp32"), (64, 65536, 0, "fp16"), (4096, 4096, 0, "fp32"), (65536, 256, 0, "fp32"),
         (1 << 20, 16, 0, "fp32"), (1, 100003, 0, "fp32")]
SMALL = [(3, 1, 1, "fp32"), (5, 2, 1, "fp16"), (7, 3, 2, "fp32"), (100, 16, 16, "bf16"), (33, 31, 5, "fp16"), (65, 64, 0, "fp32"),
         (3, 65, 0, "fp32"), (257, 128, 0, "i32"), (9, 129, 7, "u8"), (2, 4096, 0, "fp32"), (2, 4097, 0, "fp32"), (1, 70001, 0, "fp16"),
         (3, 70001, 0, "bf16"), (1, 70001, 0, "u8"), (2, 70001, 0, "i8"), (1, 300001, 0, "i32"),
         (2, 300001, 0, "fp32"), (1, 300001, 0, "i64"), (1, 300001, 0, "fp64"), (3, 300001, 5000, "fp32")]
FREE = [(2, 300001, 0, "fp32"), (3, 70001, 0, "fp16"), (2, 5000, 0, "fp32"), (1, 7, 0, "fp32")]
# updates, rows, columns, type.
SCATTERS = {"speed": [(1000000, 100000, 64, "fp32")],
            "other": [(1000000, 100000, 64, "fp16"), (1000000, 1000000, 1, "fp32"), (1 << 22, 1024, 1, "fp32"), (1000000, 1000, 64, "fp32")],
            "small": [(70001, 300, 5, "fp32"), (300001, 7, 3, "fp32"), (200003, 100000, 4, "fp16")]}
ARGMAX = {"speed": [(32, 128256, "fp32")], "other": [(32, 128256, "fp16"), (1, 128256, "fp32"), (4096, 1000, "fp16")], "small": [(3, 1001, "fp32")]}


# batch, heads, rows, depth of a cache, of which one row is written in the memory that it has.
CACHES = [(1, 8, 4096, 128, "fp16"), (8, 8, 4096, 128, "fp16")]


def graph(nodes, inputs, outputs, constants=(), opset=18, ir=9):
    def infos(listed):
        return [helper.make_tensor_value_info(name, element, shape) for name, element, shape in listed]
    made = helper.make_graph(nodes, "orders", infos(inputs), infos(outputs), list(constants))
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir)


def top(purpose, rows, columns, k, element, free=False):
    """A whole sort is the first of all: descending for either."""
    def model():
        sizes = ["rows", "columns"] if free else [rows, columns]
        node = helper.make_node("TopK", ["x", "k"], ["y", "i"])
        nodes = [node]
        constants = [helper.make_tensor("k", TensorProto.INT64, [1], [k or columns])]
        if free:
            nodes = [helper.make_node("Shape", ["x"], ["k"], start=1), node]
            constants = []
        taken = [sizes[0], sizes[1] if free or not k else k]
        return graph(nodes, [("x", TYPES[element], sizes)], [("y", TYPES[element], taken), ("i", TensorProto.INT64, taken)], constants)
    name = f"{'topk' if k else 'sort'}.{rows}x{columns}{f'.{k}' if k else ''}.{element}{'.free' if free else ''}"
    return {"name": name, "purpose": purpose, "kind": "top", "rows": rows, "columns": columns, "k": k or columns, "type": element, "model": model,
            "dims": ["rows=1..1024:opt=8", "columns=1..1048576:opt=65536"] if free else []}


def scatter(purpose, updates, rows, columns, element):
    def model():
        one = TYPES[element]
        node = helper.make_node("ScatterND", ["x", "i", "u"], ["y"], reduction="add")
        return graph([node], [("x", one, [rows, columns]), ("i", TensorProto.INT64, [updates, 1]), ("u", one, [updates, columns])],
                     [("y", one, [rows, columns])])
    return {"name": f"scatter.{updates}.{rows}x{columns}.{element}", "purpose": purpose, "kind": "scatter", "updates": updates, "rows": rows,
            "columns": columns, "type": element, "model": model}


def argmax(purpose, rows, columns, element):
    def model():
        return graph([helper.make_node("ArgMax", ["x"], ["i"], axis=1, keepdims=0)], [("x", TYPES[element], [rows, columns])],
                     [("i", TensorProto.INT64, [rows])])
    return {"name": f"argmax.{rows}x{columns}.{element}", "purpose": purpose, "kind": "argmax", "rows": rows, "columns": columns, "type": element,
            "model": model}


def cache(purpose, batch, heads, rows, depth, element):
    def model():
        one, sizes = TYPES[element], [batch, heads, rows, depth]
        node = helper.make_node("TensorScatter", ["past", "new", "at"], ["present"], axis=-2)
        return graph([node], [("past", one, sizes), ("new", one, [batch, heads, 1, depth]), ("at", TensorProto.INT64, [batch])],
                     [("present", one, sizes)], opset=24, ir=11)
    return {"name": f"cache.{batch}x{heads}x{rows}x{depth}.{element}", "purpose": purpose, "kind": "cache", "sizes": [batch, heads, rows, depth],
            "type": element, "model": model, "options": ("--precision", "fp16", "--io-precision", "fp16")}


def cases():
    yield from (cache("other", *one) for one in CACHES)
    for purpose, listed in (("speed", SPEED), ("other", OTHER), ("small", SMALL)):
        yield from (top(purpose, *one) for one in listed)
    yield from (top("small", *one, free=True) for one in FREE)
    for purpose in SCATTERS:
        yield from (scatter(purpose, *one) for one in SCATTERS[purpose])
        yield from (argmax(purpose, *one) for one in ARGMAX[purpose])


if __name__ == "__main__":
    write_cases(cases(), __doc__)
