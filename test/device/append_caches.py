#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions that append to caches for time_append_caches.py: writes a model of each, and compiles it.

    python3 append_caches.py --kpc build/release/bin/kpc --out FOLDER [--arch sm_90a] [--only REGEX]

Each model is one node Attention (opset 23) with past keys and values as inputs and present ones as outputs, in f16 or bf16.
"""

from onnx import helper

from attention import TYPES
from case_files import write_cases


def case(purpose, batch, past, depth=64, *, sequence=1, heads=32, groups=8, kind="fp16"):
    one = {"name": f"b{batch}h{heads}g{groups}s{sequence}p{past}d{depth}.{kind}", "purpose": purpose, "batch": batch, "past": past,
           "sequence": sequence, "heads": heads, "groups": groups, "depth": depth, "type": kind}
    dims = [f"batch=1..64:opt={batch}", f"sequence=1..16:opt={sequence}", f"past=0..8192:opt={past}"]
    return dict(one, dims=dims, model=lambda: model(one))


def model(one):
    def heads(name, count, length):
        return helper.make_tensor_value_info(name, TYPES[one["type"]], ["batch", count, length, one["depth"]])

    def caches(name, length):
        return [heads(f"{name}_{what}", one["groups"], length) for what in ("key", "value")]

    rows = [heads("q", one["heads"], "sequence"), heads("k", one["groups"], "sequence"), heads("v", one["groups"], "sequence")]
    inputs, outputs = rows + caches("past", "past"), [heads("y", one["heads"], "sequence"), *caches("present", "present")]
    names = ["q", "k", "v", "", "past_key", "past_value"]
    node = helper.make_node("Attention", names, [o.name for o in outputs], name="attention", is_causal=1)
    graph = helper.make_graph([node], "append_caches", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)


def cases():
    # A layer of the Llama of docs/performance.md, and of one with heads of 128.
    for depth in (64, 128):
        for batch in (1, 16):
            for past in (1024, 4096):
                yield case("speed", batch, past, depth)
    # One head a group (GPT-2), few groups, several queries.
    yield case("other", 8, 1000, heads=12, groups=12)
    yield case("other", 4, 8000, 128, heads=28, groups=4, kind="bf16")
    yield case("other", 4, 2000, 128, sequence=4)
    # Ragged and tiny ones: right, not timed.
    for past in (0, 1, 15, 16, 130):
        for sequence in (1, 3, 16):
            yield case("small", 3, past, 72 if past == 15 else 64, sequence=sequence, heads=8, groups=2)


if __name__ == "__main__":
    write_cases(cases(), __doc__)
