# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A Llama of two layers that computes a token with a cache, in each spelling of its attention that exporters write.

Each spelling differs in its caches (buffers, or past and present), its projections (three, or one) and its RoPE.
"""

import dataclasses
import math

import numpy as np
from onnx import TensorProto, helper, numpy_helper

MICROSOFT = "com.microsoft"
MOST_NUMBERS = 1000003  # a prime, so that no row is another again


@dataclasses.dataclass(frozen=True)
class Spelling:
    """How a model says it."""

    name: str
    attention: str = "GroupQueryAttention"  # or MultiHeadAttention, Attention, TensorScatter, written
    packed: bool = False  # one GEMM of queries, keys and values
    rotary: str = "inside"  # RoPE: an attribute of the attention, a node, interleaved, or none
    shared: bool = True  # past and present are one buffer
    bits: bool = False  # projections are MatMulNBits
    element: str = "f16"  # the model's own type
    norms: str = "fused"  # SkipSimplifiedLayerNormalization, RMSNormalization, or written out
    window: int = -1
    softcap: float = 0.0
    sink: bool = False  # the softmax has one more score, a number of each head
    smooth: bool = False  # the same, and it is 0
    spelled: bool = False  # weights are what kpc's codes of 4 bits spell exactly, times the norm's weight


@dataclasses.dataclass(frozen=True)
class Sizes:
    layers: int = 2
    hidden: int = 256
    heads: int = 8
    groups: int = 2
    depth: int = 32
    wide: int = 384  # of the gated MLP
    words: int = 64
    longest: int = 96  # rows of a buffer, and of the tables of angles


class Writer:
    def __init__(self, spelling, sizes, seed=1):
        self.s, self.z = spelling, sizes
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights, self.inputs, self.outputs, self.count = [], [], [], [], 0
        self.gains = None  # of the last norm
        self.kind = {"f16": np.float16, "f32": np.float32}[spelling.element]
        self.element = {"f16": TensorProto.FLOAT16, "f32": TensorProto.FLOAT}[spelling.element]

    def constant(self, array):
        self.count += 1
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), f"w{self.count}"))
        return f"w{self.count}"

    def node(self, kind, *inputs, outputs=1, domain="", **attributes):
        names = outputs if isinstance(outputs, list) else [f"{kind}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, [x or "" for x in inputs], names, name=f"{kind}_{len(self.nodes)}", domain=domain, **attributes))
        return names[0]

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def numbers(self, *shape, size=1.0):
        """Many are some again and again: a large model is written in seconds."""
        count = int(np.prod(shape))
        some = self.random.standard_normal(min(count, MOST_NUMBERS), np.float32) * size
        return np.resize(some.astype(self.kind), shape)

    def weight(self, rows, columns, normed):
        if not self.s.spelled:
            return self.numbers(rows, columns, size=rows**-0.5)
        group = 128
        codes = self.random.integers(0, 16, (rows, columns))
        codes[::group], codes[1::group] = 0, 15  # all of a group's range
        zeros = self.random.integers(4, 12, (-(-rows // group), columns)).repeat(group, 0)[:rows]
        weight = (codes - zeros) * 2.0**-round(math.log2(rows) / 2 + 2)
        return (weight / self.gains[:, None] if normed else weight).astype(self.kind)

    def gemm(self, x, rows, columns, normed=True):
        if not self.s.bits:
            return self.node("MatMul", x, self.constant(self.weight(rows, columns, normed)))
        block = 32
        codes = self.random.integers(0, 256, (columns, rows // block, block // 2), np.uint8)
        scales = (self.random.uniform(0.1, 0.3, columns * rows // block) * rows**-0.5).astype(self.kind)
        return self.node("MatMulNBits", x, self.constant(codes), self.constant(scales), domain=MICROSOFT, K=rows, N=columns, bits=4,
                         block_size=block)

    def gain(self):
        if self.s.spelled:
            # The norm of the embedding is a kernel, so its weight is in none of the codes.
            self.gains = np.ones(self.z.hidden) if self.gains is None else self.random.choice([0.5, 1, 2], self.z.hidden)
        else:
            self.gains = self.random.uniform(0.5, 1.5, self.z.hidden)
        return self.constant(self.gains.astype(self.kind))

    def norm(self, x, more=None):
        """The norm of x, or of x + more, and what was normed."""
        if self.s.norms == "fused":
            if more is None:
                return self.node("SimplifiedLayerNormalization", x, self.gain(), axis=-1, epsilon=1e-5, stash_type=1), x
            names = [f"normed_{len(self.nodes)}", "", "", f"sum_{len(self.nodes)}"]
            self.node("SkipSimplifiedLayerNormalization", x, more, self.gain(), outputs=names, domain=MICROSOFT, epsilon=1e-5)
            return names[0], names[3]
        if more is not None:
            x = self.node("Add", x, more)
        if self.s.norms == "op":
            return self.node("RMSNormalization", x, self.gain(), axis=-1, epsilon=1e-5), x
        wide = self.node("Cast", x, to=TensorProto.FLOAT)
        mean = self.node("ReduceMean", self.node("Mul", wide, wide), self.ints(-1), keepdims=1)
        root = self.node("Sqrt", self.node("Add", mean, self.constant(np.array(1e-5, np.float32))))
        unit = self.node("Mul", wide, self.node("Reciprocal", root))
        return self.node("Mul", self.gain(), self.node("Cast", unit, to=self.element)), x

    def turned(self, x, heads, tables):
        """RoPE by a node."""
        if self.s.rotary != "node":
            return x
        domain = MICROSOFT if self.s.attention in ("GroupQueryAttention", "MultiHeadAttention") else ""
        order = ["positions", *tables] if domain else [*tables, "positions"]
        return self.node("RotaryEmbedding", x, *order, domain=domain, num_heads=heads)

    def heads_first(self, x, heads):
        x = self.node("Reshape", x, self.ints(0, 0, heads, self.z.depth))
        return self.node("Transpose", x, perm=[0, 2, 1, 3])

    def flat(self, x):
        return self.node("Reshape", self.node("Transpose", x, perm=[0, 2, 1, 3]), self.ints(0, 0, self.z.hidden))

    def attend(self, layer, h, tables):
        z, s = self.z, self.s
        wide, narrow = z.heads * z.depth, z.groups * z.depth
        past = [f"past.{layer}.{what}" for what in ("key", "value")]
        present = [f"present.{layer}.{what}" for what in ("key", "value")]
        if s.packed:
            q = self.gemm(h, z.hidden, wide + 2 * narrow)
            k = v = None
            if s.attention != "GroupQueryAttention" or s.rotary == "node":
                names = [f"{what}_{layer}" for what in "qkv"]
                self.node("Split", q, self.ints(wide, narrow, narrow), outputs=names, axis=-1)
                q, k, v = names
        else:
            q, k, v = self.gemm(h, z.hidden, wide), self.gemm(h, z.hidden, narrow), self.gemm(h, z.hidden, narrow)
        if k:
            q, k = self.turned(q, z.heads, tables), self.turned(k, z.groups, tables)
        if s.attention == "GroupQueryAttention":
            sink = self.constant(self.numbers(z.heads)) if s.sink else None
            inside = s.rotary in ("inside", "interleaved")
            more = dict(num_heads=z.heads, kv_num_heads=z.groups, scale=z.depth**-0.5, do_rotary=int(inside), softcap=s.softcap,
                        rotary_interleaved=int(s.rotary == "interleaved"), local_window_size=s.window, smooth_softmax=int(s.smooth))
            return self.node("GroupQueryAttention", q, k, v, *past, "seqlens_k", "total_sequence_length",
                             *(tables if inside else (None, None)), *((None, None, sink) if sink else ()), outputs=[f"attended_{layer}", *present],
                             domain=MICROSOFT, **more)
        if s.attention == "MultiHeadAttention":
            return self.node("MultiHeadAttention", q, k, v, None, None, None, *past, outputs=[f"attended_{layer}", *present],
                             domain=MICROSOFT, num_heads=z.heads, unidirectional=1)
        if s.attention == "Attention":
            return self.node("Attention", q, k, v, None, *past, outputs=[f"attended_{layer}", *present], q_num_heads=z.heads,
                             kv_num_heads=z.groups, is_causal=1, softcap=s.softcap)
        q, k, v = (self.heads_first(x, n) for x, n in ((q, z.heads), (k, z.groups), (v, z.groups)))
        if s.attention == "TensorScatter":
            for x, old, new in zip((k, v), past, present):
                self.node("TensorScatter", old, x, "write_at", outputs=[new], axis=2)
            return self.flat(self.node("Attention", q, *present, None, None, None, "valid", is_causal=1, softcap=s.softcap))
        for x, old, new in zip((k, v), past, present):
            self.node("Concat", old, x, outputs=[new], axis=2)
        many = []
        for x in present:
            x = self.node("Unsqueeze", x, self.ints(2))
            batch = self.node("Shape", x, start=0, end=1)
            rows = self.node("Shape", x, start=3, end=4)
            each = z.heads // z.groups
            x = self.node("Expand", x, self.node("Concat", batch, self.ints(z.groups, each), rows, self.ints(z.depth), axis=0))
            many.append(self.node("Reshape", x, self.ints(0, z.heads, -1, z.depth)))
        scores = self.node("MatMul", q, self.node("Transpose", many[0], perm=[0, 1, 3, 2]))
        scores = self.node("Mul", scores, self.constant(np.array(z.depth**-0.5, self.kind)))
        weights = self.node("Softmax", scores, axis=-1)
        return self.flat(self.node("MatMul", weights, many[1]))

    def model(self):
        z, s = self.z, self.s

        def given(name, kind, *dims):
            self.inputs.append(helper.make_tensor_value_info(name, kind, dims))

        given("input_ids", TensorProto.INT64, "batch", "sequence")
        rows = "rows" if s.shared else "past"
        for layer in range(z.layers):
            for what in ("key", "value"):
                given(f"past.{layer}.{what}", self.element, "batch", z.groups, rows, z.depth)
        if s.attention == "GroupQueryAttention":
            given("seqlens_k", TensorProto.INT32, "batch")
            given("total_sequence_length", TensorProto.INT32)
        if s.attention == "TensorScatter":
            given("write_at", TensorProto.INT64, "batch")
            given("valid", TensorProto.INT64, "batch")
        tables = ()
        if s.rotary != "none":
            angles = np.arange(z.longest)[:, None] * 10000.0 ** (-np.arange(0, z.depth, 2) / z.depth)[None]
            tables = tuple(self.constant(f(angles).astype(self.kind)) for f in (np.cos, np.sin))
        if s.rotary == "node":
            given("positions", TensorProto.INT64, "batch", "sequence")
        x = self.node("Gather", self.constant(self.numbers(z.words, z.hidden)), "input_ids")
        h, x = self.norm(x)
        for layer in range(z.layers):
            made = self.gemm(self.attend(layer, h, tables), z.hidden, z.hidden, normed=False)
            h, x = self.norm(x, made)
            gate, up = self.gemm(h, z.hidden, z.wide), self.gemm(h, z.hidden, z.wide)
            gated = self.node("Mul", self.node("Mul", gate, self.node("Sigmoid", gate)), up)
            h, x = self.norm(x, self.gemm(gated, z.wide, z.hidden, normed=False))
        self.node("MatMul", h, self.constant(self.weight(z.hidden, z.words, normed=True)), outputs=["logits"])
        self.outputs.append(helper.make_tensor_value_info("logits", self.element, ["batch", "sequence", z.words]))
        total = rows if s.shared else "total"
        for layer in range(z.layers):
            for what in ("key", "value"):
                self.outputs.append(helper.make_tensor_value_info(f"present.{layer}.{what}", self.element, ["batch", z.groups, total, z.depth]))
        graph = helper.make_graph(self.nodes, s.name, self.inputs, self.outputs, self.weights)
        opset = 24 if s.attention == "TensorScatter" else 23
        return helper.make_model(graph, ir_version=11 if opset == 24 else 10, producer_name="test",
                                 opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)])


def model(spelling, sizes=Sizes()):
    return Writer(spelling, sizes).model()


SPELLINGS = [
    Spelling("gqa"),
    Spelling("gqa_f32", element="f32"),
    Spelling("gqa_grows", shared=False),
    Spelling("gqa_packed", packed=True),
    Spelling("gqa_plain", rotary="none"),
    Spelling("gqa_node", rotary="node"),
    Spelling("gqa_pairs", rotary="interleaved"),
    Spelling("gqa_bits", bits=True),
    Spelling("gqa_bits_packed", bits=True, packed=True),
    Spelling("gqa_bits_f32", bits=True, element="f32"),
    Spelling("gqa_window", window=16),
    Spelling("gqa_softcap", softcap=30.0),
    Spelling("gqa_sink", sink=True),
    Spelling("gqa_sink_window", sink=True, window=16, softcap=20.0),
    Spelling("gqa_smooth", smooth=True, shared=False),
    Spelling("gqa_written", norms="written"),
    Spelling("scatter", attention="TensorScatter", rotary="node", norms="op"),
    Spelling("scatter_f32", attention="TensorScatter", rotary="node", norms="op", element="f32"),
    Spelling("attention", attention="Attention", rotary="node", norms="op", shared=False),
    Spelling("attention_f32", attention="Attention", rotary="node", norms="op", shared=False, element="f32"),
    Spelling("mha", attention="MultiHeadAttention", rotary="node", shared=False),
    Spelling("written", attention="written", rotary="node", norms="written", shared=False),
    Spelling("written_f32", attention="written", rotary="node", norms="written", shared=False, element="f32"),
]
