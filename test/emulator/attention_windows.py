#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention in a window of keys, on the emulator.   attention_windows.py KPC DRIVER TARGET FOLDER [NAME…]

Masks that compare places, in the ways that exporters write them: the attention's kernel computes them, and skips blocks of keys that they hide.
Windows are no multiples of blocks; some are one key, and some longer than the sequence.
"""

import dataclasses
import sys

import emulated
import numpy
from onnx import TensorProto, helper, numpy_helper


@dataclasses.dataclass
class Window:
    name: str
    queries: object = 270
    keys: object = 270
    width: int = 100       # keys that a query sees up to its own
    after: object = 0      # keys that it sees after its own; None: all
    kind: str = "fp16"
    batch: int = 1
    heads: int = 2
    groups: int = 1
    depth: int = 64
    form: str = "bool"     # or "add", with a finite number that hides
    also: str = ""         # "padding": a mask of keys in memory; "first": each batch has a first key
    causal: bool = False   # the triangle is an attribute
    cap: float = 0.0
    kernels: int = 1
    ranges: dict = dataclasses.field(default_factory=dict)
    sizes: dict = dataclasses.field(default_factory=dict)
    options: tuple = ()
    schedule: str = ""     # of the attention, of which masks in memory make a kernel with other nodes

    def rule(self):
        return f"{'.*_attention' if self.also else '.*'} = {self.schedule}" if self.schedule else ""


class Writer:
    """Nodes of a mask."""

    def __init__(self):
        self.nodes, self.weights = [], []

    def number(self, value, element=None):
        name = f"number_{len(self.weights)}"
        if element:
            self.weights.append(helper.make_tensor(name, element, [], [value]))
        else:
            self.weights.append(numpy_helper.from_array(numpy.array(value, numpy.int64), name))
        return name

    def __call__(self, kind, *inputs, **attributes):
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def size(self, tensor, axis):
        return self("Gather", self("Shape", tensor), self.number(axis))

    def places(self, count, axes):
        return self("Unsqueeze", self("Range", self.number(0), count, self.number(1)), self.number(axes))


def model(one):
    kind, write = emulated.ELEMENTS[one.kind], Writer()
    inputs = [helper.make_tensor_value_info(name, kind, [one.batch, heads, length, one.depth])
              for name, heads, length in (("q", one.heads, one.queries), ("k", one.groups, one.keys), ("v", one.groups, one.keys))]
    queries, keys = write.size("q", 2), write.size("k", 2)
    query = write("Add", write.places(queries, [1]), write("Sub", keys, queries))
    key = write.places(keys, [0])
    seen = write("Greater", key, write("Sub", query, write.number(one.width)))
    if one.after is not None and not one.causal:
        last = write("Add", query, write.number(one.after)) if one.after else query
        seen = write("And", seen, write("LessOrEqual", key, last))
    if one.also == "padding":
        inputs.append(helper.make_tensor_value_info("padding", TensorProto.BOOL, [one.batch, one.keys]))
        seen = write("And", seen, write("Unsqueeze", "padding", write.number([1, 2])))
    if one.also == "first":
        inputs.append(helper.make_tensor_value_info("first", TensorProto.INT64, [one.batch]))
        first = write("Unsqueeze", "first", write.number([1, 2, 3]))
        # In the middle of what comes in, whatever that is.
        first = write("Min", write("Max", first, write.number(3)), write.number(90))
        seen = write("And", seen, write("GreaterOrEqual", key, first))
    if one.form == "add":
        seen = write("Where", seen, write.number(0.0, kind), write.number(-65504.0, kind))
    write.nodes.append(helper.make_node("Attention", ["q", "k", "v", seen], ["y"], name="attention", softcap=one.cap, is_causal=int(one.causal)))
    outputs = [helper.make_tensor_value_info("y", kind, [one.batch, one.heads, one.queries, one.depth])]
    graph = helper.make_graph(write.nodes, "window", inputs, outputs, write.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)


def grouped(one, past, sink=False):
    """ONNX Runtime's GroupQueryAttention: each batch has as many keys as it says, so that windows lie elsewhere in each."""
    kind = emulated.ELEMENTS[one.kind]

    def tensor(name, *sizes):
        return helper.make_tensor_value_info(name, kind, sizes)

    heads, groups, depth = one.heads, one.groups, one.depth
    inputs = [tensor("q", one.batch, one.queries, heads * depth), tensor("k", one.batch, one.queries, groups * depth),
              tensor("v", one.batch, one.queries, groups * depth)]
    names, total = ["q", "k", "v", "", ""], one.queries + past
    if past:
        inputs += [tensor(name, one.batch, groups, past, depth) for name in ("past_key", "past_value")]
        names[3:] = ["past_key", "past_value"]
    lengths = numpy.arange(one.batch, dtype=numpy.int32) * -7 + total - 1
    weights = [numpy_helper.from_array(lengths, "lengths"), numpy_helper.from_array(numpy.array(total, numpy.int32), "total")]
    names += ["lengths", "total"]
    if sink:
        inputs.append(tensor("sink", heads))
        names += ["", "", "", "", "sink"]
    outputs = [tensor("y", one.batch, one.queries, heads * depth), tensor("present_key", one.batch, groups, total, depth),
               tensor("present_value", one.batch, groups, total, depth)]
    node = helper.make_node("GroupQueryAttention", names, [o.name for o in outputs], name="attention", num_heads=heads,
                            kv_num_heads=groups, local_window_size=one.width, domain="com.microsoft")
    graph = helper.make_graph([node], "grouped", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)], ir_version=10)


def attribute(one, lengths):
    """ONNX's Attention with sizes of a window as attributes (opset 25), and how many keys of each batch count (24)."""
    kind = emulated.ELEMENTS[one.kind]

    def tensor(name, heads, length):
        return helper.make_tensor_value_info(name, kind, [one.batch, heads, length, one.depth])

    inputs = [tensor("q", one.heads, one.queries), tensor("k", one.groups, one.keys), tensor("v", one.groups, one.keys)]
    names, weights = ["q", "k", "v"], []
    if lengths:
        names += ["", "", "", "lengths"]
        weights.append(numpy_helper.from_array(numpy.array(lengths, numpy.int64), "lengths"))
    sizes = {"left_window_size": one.width - 1} if one.width else {}
    if one.after:
        sizes["right_window_size"] = one.after
    node = helper.make_node("Attention", names, ["y"], name="attention", is_causal=int(one.causal), **sizes)
    graph = helper.make_graph([node], "attribute", inputs, [tensor("y", one.heads, one.queries)], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=11)


CASES = [Window("one_key", width=1), Window("few", width=3, kind="bf16", depth=128), Window("block", width=64), Window("odd", width=131, depth=40),
         Window("longer", width=1000, groups=2), Window("past", queries=129, keys=333, width=77, depth=128),
         Window("added", form="add", width=70, groups=2), Window("attribute", causal=True, width=90),
         Window("around", width=41, after=40, kind="bf16"), Window("around_past", queries=150, keys=300, width=30, after=9),
         Window("after_all", width=65, after=None), Window("capped", width=50, cap=2.0, depth=128),
         Window("padding", also="padding", width=99, batch=2, kernels=0), Window("added_padding", form="add", also="padding", width=99, batch=2, kernels=0),
         Window("around_padding", also="padding", width=41, after=30, batch=2, kernels=0), Window("first", also="first", width=120, batch=3, kernels=0),
         # Several tiles to a block.
         Window("many_tiles", width=37, heads=70, groups=70, queries=130, keys=130, batch=2, depth=32)]
RANGES = {"sequence": "1..400:opt=300", "past": "1..400:opt=64"}
DYNAMIC = [Window(f"dynamic_{at}", queries="sequence", keys="sequence", width=60, ranges={"sequence": RANGES["sequence"]}, sizes={"sequence": size},
                  kernels=0) for at, size in enumerate((1, 59, 61, 333))]
# The queries, keys before theirs, and whether each head has a sink: a key before all others that every query sees.
GROUPED = [(Window("grouped", queries=150, width=33, batch=2, kernels=0), 0, False),
           (Window("grouped_past", queries=70, width=45, batch=3, kernels=0), 130, False),
           (Window("sink", queries=300, width=40, kernels=0, heads=4, groups=2), 0, True),
           (Window("sink_past", queries=70, width=33, batch=2, kernels=0, depth=128), 300, True),
           (Window("sink_long", queries=130, width=500, kernels=0), 0, True)]
# Lengths of batches hide keys, too: blocks after them are skipped.
ATTRIBUTES = [(Window("sizes", queries=200, keys=300, width=41, after=10, batch=2), ()),
              (Window("sizes_lengths", queries=200, keys=300, width=41, causal=True, batch=2), (250, 300)),
              (Window("lengths", queries=200, keys=300, width=0, batch=2, depth=128), (250, 70)),
              (Window("lengths_causal", queries=150, keys=400, width=0, causal=True, batch=3), (400, 290, 151))]
F32 = [Window("f32", kind="fp32", width=45, options=emulated.PRECISIONS["fp32"]),
       Window("exact", kind="exact", width=70, after=9, options=emulated.PRECISIONS["exact"])]
SYNC_CUTS = ["128x64 warpgroup 128 stages 1 queries shared", "256x64 warpgroup 128 stages 2 queries shared", "64x32 warpgroup 64 stages 3 queries shared",
             "128x32 warpgroup 64 stages 2 queries shared", "64x128 warpgroup 64 stages 2 queries shared"]


def case(family, one, made=None):
    return emulated.Case(one.name, made or model(one), ranges=one.ranges, sizes=one.sizes, options=one.options, shows=f"  {family} ",
                         kernels=one.kernels, schedule=one.rule())


def cases(target):
    family = "attention" if target == "sm_90a" else "attention_mmasync"
    has_tensor_memory = target in ("sm_100a", "sm_103a", "sm_110a")
    if has_tensor_memory:
        family = "attention_tcgen05"
    for one in CASES:
        if not has_tensor_memory:
            yield case(family, one)
        elif one.depth in (64, 128):
            yield case(family, dataclasses.replace(one, schedule="attention_tcgen05 256x128 stages 2 fma 2"))
    for one in DYNAMIC:
        yield case("attention" if has_tensor_memory else family, one)
    for one, *more in GROUPED:
        yield case(family if not has_tensor_memory else "attention", one, grouped(one, *more))
    for one, lengths in ATTRIBUTES:
        yield case(family if not has_tensor_memory else "attention", one, attribute(one, lengths))
    if target != "sm_90a" and not has_tensor_memory:
        yield from (case(family, one) for one in F32 if one.kind != "exact" or target != "sm_120a")
        for at, cut in enumerate(SYNC_CUTS):
            yield case(family, Window(f"forced_{at}", width=(45, 130, 7)[at % 3], after=(0, 20)[at % 2], schedule=f"attention_mmasync {cut}"))


def main():
    kpc, driver, target, folder, *names = sys.argv[1:]
    chosen = [one for one in cases(target) if not names or one.name in names]
    return emulated.main(kpc, driver, target, folder, chosen, "windows", every=1)


if __name__ == "__main__":
    sys.exit(main())
