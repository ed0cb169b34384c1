#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions of few queries on a cache of FP8 for time_decode_codes.py: writes a model of each, and compiles it.

    python3 decode_codes.py --kpc build/release/bin/kpc --out FOLDER [--arch sm_90a] [--only REGEX]

Keys and values are inputs of codes of E4M3, in front of a node Attention (opset 23) by DequantizeLinear with constant scales: one for
all of the keys and one for the values, or one for each of their heads (`scales` heads). NAME.half is the same of fp16 numbers.
Writes NAME.kpc and a line in cases.json. Needs onnx.
"""

import numpy
from onnx import TensorProto, helper, numpy_helper

from case_files import write_cases

TYPES = {"bf16": TensorProto.BFLOAT16, "fp16": TensorProto.FLOAT16}
SCALE_K, SCALE_V = 0.01, 0.02


def scales(case):
    """Of keys and of values: one, or one for each head."""
    each = numpy.arange(1, case["groups"] + 1) / case["groups"] if case["scales"] == "heads" else numpy.ones(())
    return (SCALE_K * each).astype(numpy.float32), (SCALE_V * each).astype(numpy.float32)


def model(case):
    kind, half, rows = TYPES[case["type"]], case["half"], case["layout"] == "bshd"
    value, node = helper.make_tensor_value_info, helper.make_node
    def heads(name, count, length, element):
        shape = [case["batch"], length, count, case["depth"]] if rows else [case["batch"], count, length, case["depth"]]
        return value(name, element, shape)
    inputs = [heads("q", case["heads"], case["queries"], kind)]
    inputs += [heads(name, case["groups"], case["keys"], kind if half else TensorProto.FLOAT8E4M3FN) for name in "kv"]
    nodes, made, names = [], [], {name: name for name in "qkv"}
    if rows:
        for name in "qkv":
            nodes.append(node("Transpose", [name], [f"{name}h"], perm=[0, 2, 1, 3]))
            names[name] = f"{name}h"
    if not half:
        for name, scale in zip("kv", scales(case)):
            made.append(numpy_helper.from_array(scale, f"s{name}"))
            nodes += [node("DequantizeLinear", [names[name], f"s{name}"], [f"{name}f"], **({"axis": 1} if scale.ndim else {})),
                      node("Cast", [f"{name}f"], [f"{name}d"], to=kind)]
            names[name] = f"{name}d"
    nodes.append(node("Attention", list(names.values()), ["h" if rows else "y"], name="attention", is_causal=int(case["causal"])))
    if rows:
        nodes.append(node("Transpose", ["h"], ["y"], perm=[0, 2, 1, 3]))
    graph = helper.make_graph(nodes, "cache", inputs, [heads("y", case["heads"], case["queries"], kind)], made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)


def case(purpose, batch, keys, depth=128, *, queries=1, heads=32, groups=8, kind="fp16", scales="tensor", causal=False, layout="bhsd", half=False):
    name = f"b{batch}h{heads}g{groups}s{queries}t{keys}d{depth}.{kind}.{scales}" + ".causal" * causal + ".bshd" * (layout == "bshd") + ".half" * half
    one = {"name": name, "purpose": purpose, "batch": batch, "heads": heads, "groups": groups, "queries": queries, "keys": keys, "depth": depth,
           "type": kind, "scales": scales, "causal": causal, "layout": layout, "half": half}
    return dict(one, model=lambda: model(one))


def cases():
    for half in (False, True):
        for batch, keys in ((16, 4096), (64, 4096)):
            yield case("speed", batch, keys, half=half)
        yield case("other", 1, 32768, half=half)
        yield case("other", 8, 2048, 64, groups=32, kind="bf16", half=half)
        yield case("other", 4, 8191, heads=64, half=half)
        yield case("other", 32, 1500, queries=4, half=half)
        yield case("other", 2, 16384, 256, heads=16, groups=2, half=half)
        yield case("other", 8, 4096, layout="bshd", half=half)
        yield case("other", 16, 4096, scales="heads", half=half)
    for depth in (16, 48, 64, 96, 128, 208, 256):
        for queries, keys in ((1, 1), (2, 333), (8, 130)):
            yield case("small", 2, keys, depth, queries=queries, heads=6, groups=2, kind="bf16" if depth % 64 else "fp16")
    yield case("small", 2, 500, queries=7, causal=True)
    yield case("small", 5, 1000, heads=40, groups=1, scales="heads")
    yield case("small", 3, 700, 64, heads=8, groups=4, scales="heads", kind="bf16", layout="bshd")


if __name__ == "__main__":
    write_cases(cases(), __doc__)
