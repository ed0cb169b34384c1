#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions for time_attention.py: writes a model of each, and compiles it.

    python3 attention.py --kpc build/release/bin/kpc --out FOLDER [--arch sm_90a] [--only REGEX]

Each model is one node Attention (opset 23) on heads [batch, heads, sequence, depth], or with layout bshd on
[batch, sequence, heads * depth]. In a window, nodes before it compare places, as exporters write them. Writes NAME.kpc and a line
in cases.json. Needs onnx.
"""

import numpy
from onnx import TensorProto, helper, numpy_helper

from case_files import write_cases

TYPES = {"bf16": TensorProto.BFLOAT16, "fp16": TensorProto.FLOAT16, "fp8": TensorProto.FLOAT16, "outliers": TensorProto.FLOAT16,
         "tf32": TensorProto.FLOAT, "fp32": TensorProto.FLOAT}


def case(purpose, batch, heads, queries, depth, *, keys=0, groups=0, kind="fp16", causal=False, mask="", layout="bhsd",
         dynamic=False, cap=0.0, window=0):
    keys, groups = keys or queries, groups or heads
    name = f"b{batch}h{heads}s{queries}d{depth}" + (f"t{keys}" if keys != queries else "")
    name += (f"g{groups}" if groups != heads else "") + (".causal" if causal else "") + (f".{mask}" if mask else "")
    name += f".cap{cap:g}" if cap else ""
    name += f".window{window}" if window else ""
    name += (f".{kind}" if kind != "fp16" else "") + (f".{layout}" if layout != "bhsd" else "") + (".dynamic" if dynamic else "")
    one = {"name": name, "purpose": purpose, "batch": batch, "heads": heads, "groups": groups, "queries": queries,
           "keys": keys, "depth": depth, "type": kind, "causal": causal, "mask": mask, "layout": layout,
           "dynamic": dynamic, "cap": cap, "window": window}
    dims = [f"{size}=1..8192:opt={one[size]}" for size in ("batch", "queries", "keys")] if dynamic else []
    # FP8 by name: whatever the cost model says.
    options = ("--precision", kind) if kind.endswith("32") else ("--precision", "fp16", "--precision-for", "attention=fp8") if kind == "fp8" else ()
    return dict(one, dims=dims, options=options, model=lambda: model(one))


def cases():
    # What models and benchmarks ask most often.
    for depth in (128, 64):
        for shape in ((4, 16, 4096), (2, 16, 8192), (16, 16, 1024), (4, 16, 1500)):
            for causal in (False, True):
                yield case("speed", *shape, depth, causal=causal)
    # Groups of heads, masks, other sizes of heads.
    for causal in (False, True):
        yield case("wide", 4, 32, 2048, 128, groups=8, causal=causal)
    for mask in ("bool", "float"):
        yield case("wide", 4, 16, 2048, 128, mask=mask)
        yield case("wide", 4, 16, 2048, 64, mask=mask)
    for depth in (96, 256):
        for causal in (False, True):
            yield case("wide", 4, 16, 2048, depth, causal=causal)
    # Neighbours.
    for causal in (False, True):
        yield case("other", 4, 32, 4096, 64, causal=causal)
        yield case("other", 4, 16, 4096, 128, causal=causal, kind="bf16")
        yield case("other", 8, 12, 512, 64, causal=causal)
        yield case("other", 32, 12, 197, 64, causal=causal)
    yield case("other", 8, 12, 384, 64, layout="bshd")
    # Encoders: masks that hide keys of a batch from all of its queries, and a bias of each head.
    for mask in ("", "floatkeys", "boolkeys", "heads", "bool"):
        yield case("encoder", 16, 16, 384, 64, mask=mask)
    for mask in ("", "floatkeys"):
        yield case("encoder", 16, 16, 384, 128, mask=mask)
        yield case("encoder", 32, 16, 128, 64, mask=mask)
        yield case("encoder", 16, 16, 512, 64, mask=mask)
        yield case("encoder", 4, 16, 2048, 64, mask=mask)
        yield case("encoder", 4, 16, 2048, 128, mask=mask)
    yield case("encoder", 32, 16, 197, 64)
    yield case("encoder", 16, 16, 384, 64, causal=True)
    yield case("encoder", 16, 16, 384, 64, causal=True, mask="floatkeys")
    # Heads of f32: rounded to tf32, and not.
    for kind in ("tf32", "fp32"):
        for depth in (64, 128):
            for causal in (False, True):
                yield case("f32", 4, 16, 2048, depth, kind=kind, causal=causal)
        yield case("f32", 8, 12, 512, 64, kind=kind)
        yield case("f32", 4, 16, 2048, 64, kind=kind, mask="float")
        for causal in (False, True):
            yield case("small", 1, 3, 191, 72, keys=193, causal=causal, kind=kind)
            yield case("small", 2, 4, 130, 64, keys=201, groups=2, mask="bool", causal=causal, kind=kind)
    # FP8 and fp16, with inputs that have outliers: time_attention.py compares them.
    for shape in ((4, 16, 4096, 128), (2, 16, 8192, 128), (8, 32, 4096, 128), (4, 16, 2048, 128), (4, 16, 1024, 128), (4, 32, 4096, 64),
                  (2, 32, 8192, 64), (2, 16, 4096, 256)):
        for causal in (False, True):
            for kind in ("outliers", "fp8"):
                yield case("fp8", *shape, kind=kind, causal=causal)
    for kind in ("outliers", "fp8"):
        yield case("fp8", 4, 32, 4096, 128, groups=8, kind=kind, causal=True)
    for queries, keys in ((129, 208), (70, 48), (333, 4096), (1000, 336)):
        for causal in (False, True):
            for depth in (32, 64, 96, 128, 256):
                if depth <= 128 or keys > 128:  # others stay in 16 bits
                    yield case("small", 2, 4, queries, depth, keys=keys, groups=2, kind="fp8", causal=causal)
    # A softcap, and heads that kernels in front fill up.
    for depth in (64, 128, 256):
        for causal in (False, True):
            yield case("softcap", 4, 16, 2048, depth, causal=causal, cap=50.0)
    yield case("softcap", 4, 16, 2048, 128, mask="bool", cap=30.0)
    yield case("softcap", 4, 16, 2048, 64, kind="tf32", cap=30.0)
    for queries, keys in ((1, 300), (3, 1000), (129, 200), (333, 277)):
        for causal in (False, True):
            yield case("small", 2, 4, queries, 64, keys=keys, groups=2, causal=causal, cap=0.5)
            yield case("small", 1, 2, queries, 128, keys=keys, mask="float", causal=causal, cap=2.0, kind="bf16")
    # Windows of keys: those of Mistral, Gemma and gpt-oss up to each query, and an encoder's around it.
    for window in (1024, 4096):
        yield case("window", 1, 32, 8192, 128, groups=8, causal=True, window=window)
    yield case("window", 1, 64, 8192, 64, groups=8, causal=True, window=128)
    yield case("window", 2, 8, 8192, 256, groups=4, causal=True, window=1024)
    yield case("window", 4, 12, 8192, 64, window=64)
    yield case("window", 4, 32, 4096, 128, groups=8, causal=True, window=1024, mask="boolkeys")
    for depth in (32, 64, 96, 128, 192, 256):
        for window in (1, 37, 100, 1000):
            yield case("small", 2, 4, 333, depth, groups=2, causal=True, window=window)
        yield case("small", 1, 2, 200, depth, keys=277, window=50, kind="bf16")
        yield case("small", 3, 2, 333, depth, causal=True, window=90, mask="boolkeys", dynamic=True)
        yield case("small", 3, 2, 333, depth, window=33, cap=2.0, dynamic=True)
    for kind in ("tf32", "fp32"):
        yield case("small", 2, 4, 300, 64, groups=2, causal=True, window=70, kind=kind)
        yield case("small", 1, 2, 333, 128, window=40, kind=kind, dynamic=True)
    for depth in (65, 100):
        yield case("heads", 4, 16, 2048, depth)
    for depth in (3, 65, 100):
        yield case("small", 2, 4, 130, depth, keys=201, groups=2, mask="bool", causal=True)
    # Ragged and tiny ones: right, not timed.
    for depth in (8, 32, 64, 72, 96, 128, 192, 256):
        for causal in (False, True):
            yield case("small", 2, 2, 129, depth, causal=causal)
    for queries, keys in ((1, 1), (1, 300), (17, 127), (191, 193), (300, 257), (577, 640), (1000, 333), (2000, 100)):
        for causal in (False, True):
            for depth in (64, 128):
                yield case("small", 1, 3, queries, depth, keys=keys, causal=causal)
    for mask in ("bool", "float", "boolkeys", "floatkeys", "heads"):
        for causal in (False, True):
            yield case("small", 2, 4, 130, 64, keys=201, groups=2, mask=mask, causal=causal)
    for kind in ("fp16", "bf16"):
        yield case("small", 2, 6, 333, 128, groups=3, causal=True, kind=kind, layout="bshd")
    yield case("small", 3, 4, 700, 64, causal=True, dynamic=True)
    yield case("small", 3, 4, 700, 128, groups=2, mask="bool", dynamic=True)
    for depth in (64, 96, 128, 192, 256):
        yield case("small", 1, 2, 333, depth, keys=277, mask="float", dynamic=True)
        yield case("small", 1, 2, 333, depth, keys=277, mask="bool", causal=True, dynamic=True)
        yield case("small", 3, 2, 333, depth, keys=277, mask="floatkeys", dynamic=True)
        yield case("small", 3, 2, 333, depth, keys=277, mask="boolkeys", causal=True, dynamic=True)


def window_nodes(one, nodes, weights, more):
    """The mask of a window of keys, and of `more`, if that is not empty."""
    def number(value):
        weights.append(numpy_helper.from_array(numpy.array(value, numpy.int64), f"number_{len(weights)}"))
        return weights[-1].name

    def op(kind, *inputs):
        nodes.append(helper.make_node(kind, inputs, [f"{kind}_{len(nodes)}"], name=f"{kind}_{len(nodes)}"))
        return nodes[-1].output[0]

    def places(tensor, axes):
        count = op("Gather", op("Shape", tensor), number(2))
        return op("Unsqueeze", op("Range", number(0), count, number(1)), number(axes))

    query, key = places("q", [1]), places("k", [0])
    seen = op("Greater", key, op("Sub", query, number(one["window"])))
    last = query if one["causal"] else op("Add", query, number(one["window"] - 1))
    seen = op("And", seen, op("LessOrEqual", key, last))
    return op("And", seen, more) if more else seen


def model(one):
    kind = TYPES[one["type"]]
    batch, queries, keys = one["batch"], one["queries"], one["keys"]
    if one["dynamic"]:
        batch, queries, keys = "batch", "queries", "keys"
    flat = one["layout"] == "bshd"

    def heads(name, count, length):
        shape = [batch, length, count * one["depth"]] if flat else [batch, count, length, one["depth"]]
        return helper.make_tensor_value_info(name, kind, shape)

    inputs = [heads("q", one["heads"], queries), heads("k", one["groups"], keys), heads("v", one["groups"], keys)]
    if one["mask"]:
        element = TensorProto.BOOL if one["mask"].startswith("bool") else kind
        inputs.append(helper.make_tensor_value_info("m", element, [batch, one["heads"] if one["mask"] == "heads" else 1,
                                                                   1 if one["mask"].endswith("keys") else queries, keys]))
    attributes = {"is_causal": int(one["causal"] and not one["window"]), "softcap": one["cap"]}
    if flat:
        attributes.update(q_num_heads=one["heads"], kv_num_heads=one["groups"])
    nodes, weights, names = [], [], [i.name for i in inputs]
    if one["window"]:
        names[3:] = [window_nodes(one, nodes, weights, "".join(names[3:]))]
    nodes.append(helper.make_node("Attention", names, ["y"], name="attention", **attributes))
    graph = helper.make_graph(nodes, "attention", inputs, [heads("y", one["heads"], queries)], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)


if __name__ == "__main__":
    write_cases(cases(), __doc__)
