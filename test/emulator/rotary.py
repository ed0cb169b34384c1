#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rotary embeddings at the end of their product, on the emulator.   rotary.py KPC DRIVER FOLDER [TARGET]

Queries, keys and values of one input, of which the first two are turned, or queries alone; spelled as exporters do, or
by ONNX's operator. What turns must be part of a product; `kpc verify` compares the emulated run with the model on the
host. Ends with 77 where onnx is not installed.
"""

import dataclasses
import subprocess
import sys

import emulated

try:
    import numpy
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    print("SKIPPED: onnx is not installed")
    sys.exit(77)

HIDDEN, POSITIONS = 72, 64


@dataclasses.dataclass
class Layer:
    name: str
    depth: int          # of a head
    heads: int
    groups: int = 0     # heads of keys and of values; 0: queries alone
    precision: str = "fp16"
    bias: bool = False
    each_row: bool = False  # angles for each row, not for each position
    operator: bool = False  # RotaryEmbedding
    schedule: str = ""
    few: bool = False   # rows: 1 to 16, or always one
    one: bool = False
    interleaved: bool = False  # pairs lie side by side, by the operator
    bits: int = 0       # of codes of the weights; 0: they are numbers
    block: int = 32     # elements of K that share a scale
    hidden: int = HIDDEN


CASES = [Layer("together", 64, 4, 2),
         Layer("each_row", 128, 2, 2, "bf16", bias=True, each_row=True),
         Layer("short", 16, 6, 2, bias=True),
         Layer("operator", 64, 2, 2, "bf16", operator=True),
         Layer("alone", 64, 3),
         Layer("interleaved", 64, 2, 2, operator=True, interleaved=True),
         Layer("interleaved_128", 128, 3, precision="bf16", bias=True, operator=True, interleaved=True,
               schedule="gemm 128x128x64 stages 3 group_m 1"),
         Layer("three_quarters", 96, 4, bias=True),
         Layer("long", 128, 2, precision="bf16"),
         # Heads that the last tile has only some of.
         Layer("part", 32, 9, schedule="gemm 64x128x64 stages 3 group_m 1"),
         Layer("wide", 64, 6, 2, schedule="gemm 128x256x64 stages 3 group_m 1"),
         Layer("split", 64, 4, 2, schedule="gemm 64x128x64 stages 4 group_m 1 split_k 2"),
         Layer("below", 64, 2, 2, schedule="gemm 64x128x64 stages 3 group_m 2 cluster 2x1"),
         Layer("beside", 128, 3, schedule="gemm 64x128x64 stages 3 group_m 2 cluster 1x2"),
         Layer("turns", 64, 6, 2, schedule="gemm 128x128x64 stages 3 group_m 1 pingpong"),
         Layer("flat_turns", 128, 3, bias=True, schedule="gemm 64x256x64 stages 2 group_m 2 pingpong"),
         Layer("few", 64, 4, 2, few=True),
         Layer("few_each_row", 128, 2, 2, "bf16", bias=True, each_row=True, few=True),
         Layer("few_short", 16, 6, 2, bias=True, few=True),
         Layer("few_operator", 96, 2, 2, "bf16", operator=True, few=True),
         Layer("few_interleaved", 64, 2, 2, operator=True, interleaved=True, few=True),
         Layer("few_pairs", 64, 36, operator=True, interleaved=True, few=True, schedule="gemv 16x64 warps 8 stages 3 tiles 2"),
         Layer("always_one", 64, 4, 2, few=True, one=True),
         Layer("few_tiles", 64, 36, schedule="gemv 16x64 warps 8 stages 3 tiles 2", few=True)]

# Weights of codes. Of many rows a warp has columns of both halves of a head, which two warpgroups store together where it is long.
CODES = [Layer("codes", 64, 4, 2, bits=4),
         Layer("codes_128", 128, 2, 2, "bf16", bias=True, each_row=True, bits=4, schedule="codes int4 64x128x128 stages 4 group_m 1"),
         Layer("codes_four", 128, 3, bits=4, schedule="codes int4 32x256x128 stages 3 group_m 2"),
         Layer("codes_three_quarters", 96, 4, bias=True, bits=4), Layer("codes_three_eighths", 48, 4, 4, "bf16", bits=4),
         Layer("codes_short", 16, 6, 2, bias=True, bits=4, block=128, schedule="codes int4 96x64x128 stages 4 group_m 1"),
         Layer("codes_part", 32, 9, precision="bf16", bits=4, schedule="codes int4 64x128x128 stages 3 group_m 1"),
         Layer("codes_pairs", 64, 2, 2, operator=True, interleaved=True, bits=4),
         Layer("codes_pairs_three", 64, 5, precision="bf16", bias=True, operator=True, interleaved=True, bits=4,
               schedule="codes int4 32x192x128 stages 3 group_m 1"),
         Layer("codes_split", 64, 4, 2, bits=4, block=128, hidden=584, schedule="codes int4 64x128x128 stages 4 group_m 2 split_k 2"),
         Layer("codes_split_128", 128, 2, 2, bits=4, block=64, hidden=584, schedule="codes int4 64x128x128 stages 4 group_m 2 split_k 4"),
         Layer("codes_bytes", 64, 4, 2, "bf16", operator=True, bits=8, block=128),
         Layer("few_codes", 64, 4, 2, few=True, bits=4),
         Layer("few_codes_each_row", 128, 2, 2, "bf16", bias=True, each_row=True, few=True, bits=4, block=128),
         Layer("few_codes_short", 16, 6, 2, bias=True, few=True, bits=4),
         Layer("few_codes_operator", 96, 2, 2, "bf16", operator=True, few=True, bits=8),
         Layer("few_codes_pairs", 64, 2, 2, operator=True, interleaved=True, few=True, bits=4),
         Layer("few_codes_tiles", 64, 36, schedule="gemv int4 16x128 warps 8 stages 3 tiles 2", few=True, bits=4),
         Layer("one_of_codes", 64, 4, 2, few=True, one=True, bits=4)]

# On mma.sync: a warpgroup's columns are whole heads.
SYNC = [Layer("together", 64, 4, 2),
        Layer("each_row", 128, 2, 2, "bf16", bias=True, each_row=True),
        Layer("short", 16, 6, 2, bias=True),
        Layer("operator", 64, 2, 2, "bf16", operator=True),
        Layer("long", 128, 3, precision="bf16"),
        Layer("interleaved", 64, 2, 2, operator=True, interleaved=True),
        Layer("interleaved_32", 32, 5, precision="bf16", bias=True, operator=True, interleaved=True,
              schedule="mmasync 128x128x32 warpgroup 128x64 stages 3 group_m 1"),
        Layer("part", 32, 9, schedule="mmasync 64x64x64 warpgroup 64x64 stages 3 group_m 1"),
        Layer("wide", 64, 6, 2, schedule="mmasync 128x128x32 warpgroup 128x64 stages 3 group_m 1"),
        Layer("full", 128, 3, bias=True, schedule="mmasync 128x128x32 warpgroup 128x128 stages 3 group_m 1"),
        Layer("tall", 128, 3, precision="bf16", each_row=True, schedule="mmasync 256x128x32 warpgroup 128x128 stages 2 group_m 1"),
        Layer("wide_heads", 128, 2, 2, schedule="mmasync 128x128x64 warpgroup 64x128 stages 2 group_m 2"),
        Layer("narrow", 16, 9, precision="bf16", bias=True, schedule="mmasync 64x64x32 warpgroup 64x32 stages 2 group_m 1")]


# By tcgen05: parts of 32 columns; the other half of a longer head is another part.
BLACKWELL = [Layer("together", 64, 4, 2, schedule="gemm 128x64x64 stages 3 group_m 1"),
             Layer("each_row", 128, 2, 2, "bf16", bias=True, each_row=True, schedule="gemm 128x128x64 stages 3 group_m 2"),
             Layer("short", 16, 6, 2, bias=True, schedule="gemm 128x64x64 stages 4 group_m 1"),
             Layer("operator", 64, 2, 2, "bf16", operator=True, schedule="gemm 128x128x64 stages 2 group_m 1"),
             Layer("interleaved", 64, 2, 2, operator=True, interleaved=True, schedule="gemm 128x64x64 stages 3 group_m 1"),
             Layer("interleaved_128", 128, 3, precision="bf16", bias=True, operator=True, interleaved=True,
                   schedule="gemm 128x256x64 stages 3 group_m 1"),
             Layer("part", 32, 9, schedule="gemm 128x64x64 stages 3 group_m 1"),
             Layer("wide", 64, 6, 2, bias=True, schedule="gemm 128x192x64 stages 3 group_m 1"),
             Layer("long", 128, 3, precision="bf16", each_row=True, schedule="gemm 128x256x64 stages 2 group_m 1"),
             Layer("pair", 128, 3, 3, bias=True, schedule="gemm 256x256x64 stages 3 group_m 1 pair"),
             Layer("narrow_pair", 64, 5, schedule="gemm 256x128x64 stages 2 group_m 2 pair")]


def layers(target):
    codes = [layer for layer in CODES if layer.few and (not layer.schedule or target == "sm_90a")]
    if target == "sm_90a":
        return CASES + CODES
    if target == "sm_100a":
        return BLACKWELL + codes + [layer for layer in CASES if layer.few and not layer.schedule and layer.depth not in (16, 96)]
    # Other chips have other schedules of few rows, and costs keep short heads of them apart; for every chip nothing is forced.
    return [layer for layer in SYNC if not layer.schedule or target != "portable"] + codes + [
        layer for layer in CASES if layer.few and not layer.schedule and layer.depth not in (16, 96)]


class Graph:
    def __init__(self, layer):
        self.bits, self.block = layer.bits, layer.block
        self.nodes, self.weights, self.random = [], [], numpy.random.default_rng(1)

    def node(self, kind, inputs, name="", **attributes):
        name = name or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def constant(self, value):
        self.weights.append(numpy_helper.from_array(numpy.asarray(value), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def linear(self, x, rows, columns, bias=False):
        if self.bits:
            blocks = -(-rows // self.block)
            codes = self.random.integers(0, 256, (columns, blocks, self.block * self.bits // 8), numpy.uint8)
            scales = (self.random.uniform(1, 3, columns * blocks) / 2**self.bits / rows**0.5).astype(numpy.float32)
            y = self.node("MatMulNBits", [x, self.constant(codes), self.constant(scales)], domain="com.microsoft", K=rows, N=columns,
                          bits=self.bits, block_size=self.block)
        else:
            y = self.node("MatMul", [x, self.constant(self.random.standard_normal((rows, columns)).astype(numpy.float32) / rows**0.5)])
        return self.node("Add", [y, self.constant(self.random.standard_normal(columns).astype(numpy.float32) / 4)]) if bias else y

    def part(self, x, axis, first, end):
        return self.node("Slice", [x] + [self.constant(numpy.array([value])) for value in (first, end, axis)])

    def turned(self, x, depth, name, cos, sin):
        """x·cos + (its halves, the second negated and first)·sin"""
        swapped = self.node("Concat", [self.node("Neg", [self.part(x, 3, depth // 2, depth)]), self.part(x, 3, 0, depth // 2)], axis=3)
        return self.node("Add", [self.node("Mul", [x, cos]), self.node("Mul", [swapped, sin])], f"turned_{name}")


def model(layer):
    g, depth = Graph(layer), layer.depth
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "sequence", layer.hidden])]

    def table(name, shape, kind=TensorProto.FLOAT):
        inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    if layer.operator:
        angles = numpy.outer(numpy.arange(POSITIONS), 100.0**(-2 * numpy.arange(depth // 2) / depth)).astype(numpy.float32)
        tables = [g.constant(numpy.cos(angles)), g.constant(numpy.sin(angles)), table("positions", ["batch", "sequence"], TensorProto.INT64)]
    else:
        first = "batch" if layer.each_row else 1
        tables = [g.node("Unsqueeze", [table(name, [first, "sequence", depth]), g.constant(numpy.array([1]))]) for name in ("cos", "sin")]

    def heads(count, name):
        """`name`: of what is turned; none: it is not."""
        y = g.linear("x", layer.hidden, count * depth, layer.bias)
        if name and layer.operator:
            y = g.node("RotaryEmbedding", [y, *tables], f"turned_{name}", num_heads=count, interleaved=int(layer.interleaved))
        y = g.node("Reshape", [y, g.constant(numpy.array([0, 0, count, depth]))])
        y = g.node("Transpose", [y], perm=[0, 2, 1, 3])
        return g.turned(y, depth, name, *tables) if name and not layer.operator else y

    y = heads(layer.heads, "q")
    if layer.groups:
        k, v = heads(layer.groups, "k"), heads(layer.groups, "")
        shape = g.constant(numpy.array([0, layer.heads, -1, depth]))
        k, v = (g.node("Reshape", [g.node("Expand", [g.node("Unsqueeze", [one, g.constant(numpy.array([2]))]),
                                                    g.constant(numpy.array([1, 1, layer.heads // layer.groups, 1, 1]))]), shape])
                if layer.groups != layer.heads else one for one in (k, v))
        scores = g.node("MatMul", [y, g.node("Transpose", [k], perm=[0, 1, 3, 2])])
        scores = g.node("Mul", [scores, g.constant(numpy.float32(depth**-0.5))])
        y = g.node("MatMul", [g.node("Softmax", [scores], axis=-1), v])
    y = g.node("Transpose", [y], perm=[0, 2, 1, 3])
    y = g.node("Reshape", [y, g.constant(numpy.array([0, 0, layer.heads * depth]))])
    y = g.linear(y, layer.heads * depth, 64)
    graph = helper.make_graph(g.nodes, "rotary", inputs, [helper.make_tensor_value_info(y, TensorProto.FLOAT, ["batch", "sequence", 64])],
                              g.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)], ir_version=10)


def case(layer):
    sizes, run_at = {"batch": "1..4:opt=2", "sequence": f"1..{POSITIONS}:opt=48"}, {"batch": 3, "sequence": 37}
    if layer.few:
        sizes, run_at = {"batch": "1..2:opt=1", "sequence": "1..8:opt=1"}, {"batch": 2, "sequence": 5}
    if layer.one:
        sizes, run_at = {"batch": "1", "sequence": "1"}, {"batch": 1, "sequence": 1}
    return emulated.Case(layer.name, model(layer), sizes, run_at, f"matmul.*turned.* = {layer.schedule}" if layer.schedule else "",
                         ("--precision", layer.precision, "--io-precision", layer.precision), layer.schedule)


def main():
    kpc, driver, folder, *rest = sys.argv[1:]
    target = rest[0] if rest else "sm_90a"
    run = emulated.Emulated(kpc, driver, target, folder)
    failed = 0
    cases = emulated.sampled(layers(target), lambda layer: (layer.few, layer.one, bool(layer.schedule), layer.interleaved, layer.bits))
    for layer in cases:
        failed += not run.is_right(case(layer))
        shown = subprocess.run([kpc, "inspect", run.folder / f"{layer.name}.kpc"], check=True, capture_output=True, text=True).stdout
        builder = " gemv " if layer.few else " codes " if layer.bits else " gemm " if target in ("sm_90a", "sm_100a") else " mmasync "
        if not any(builder in line and "turned" in line.split()[0] for line in emulated.kernels(shown)):
            print(f"{layer.name}: no product turns its heads:\n{shown}")
            failed += 1
    print(f"{len(cases)} rotary embeddings, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
