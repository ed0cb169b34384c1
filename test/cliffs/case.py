# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A case: a small ONNX model of one operator, or of a few that belong together, and what is computed at least.

    Case("softmax.last", lambda g: g.out(g.op("Softmax", g.x(4096, 4096), axis=-1)), torch="torch.softmax(x0, -1)")

`g.x` makes inputs x0, x1, …, `g.w` weights w0, w1, … in the case's type; both take `kind`. The bytes of the roofline are those
of inputs, outputs and weights, `flops` the arithmetic of products. `torch` computes the same with PyTorch.
"""

import dataclasses
import math
import pathlib
import random
import struct
import sys
import typing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "hostile"))
import onnx_writer as onnx

# ONNX's number, bytes of an element, and how Python packs it.
KINDS = {"f32": (1, 4, "f"), "fp32": (1, 4, "f"), "fp16": (10, 2, "e"), "bf16": (16, 2, ""), "f64": (11, 8, "d"), "i8": (3, 1, "b"),
         "u8": (2, 1, "B"),
         "i16": (5, 2, "h"), "u16": (4, 2, "H"), "i32": (6, 4, "i"), "u32": (12, 4, "I"), "i64": (7, 8, "q"), "u64": (13, 8, "Q"),
         "bool": (9, 1, "?"),
         "i4": (22, 0.5, ""), "u4": (21, 0.5, "")}
ELEMENT = {kind: size for kind, (_, size, _) in KINDS.items()}
# Weights are parts of one file, which repeats one block. Two bytes of it are a number near 1 as f16, and harmless as any other type.
WEIGHT_FILE, WEIGHT_BYTES, WEIGHT_BLOCK = "weights.bin", 192 << 20, 1 << 20

FLOATS = ("f32", "fp16")


def weight_block():
    rng = random.Random(1)
    return b"".join(struct.pack("<H", rng.getrandbits(8) | rng.randrange(0x38,
                                                                         0x3C) << 8 | rng.getrandbits(1) << 15) for _ in range(WEIGHT_BLOCK // 2))


def write_weights(folder):
    block = weight_block()
    with open(folder / WEIGHT_FILE, "wb") as file:
        for _ in range(WEIGHT_BYTES // WEIGHT_BLOCK):
            file.write(block)


def packed(values, kind):
    """(dims, bytes) of a number or of lists of them."""
    dims, flat = [], [values]
    while isinstance(flat[0], (list, tuple)):
        dims.append(len(flat[0]))
        flat = [value for row in flat for value in row]
    number, size, form = KINDS[kind]
    if kind == "bf16":
        return dims, b"".join(struct.pack("<f", value)[2:] for value in flat)
    return dims, struct.pack(f"<{len(flat)}{form}", *flat)


@dataclasses.dataclass
class Case:
    name: str
    build: typing.Callable
    flops: float = 0
    types: tuple = FLOATS
    products: str = ""  # the type that products are of, where it is not the case's
    moved: typing.Callable = None  # of the bytes of inputs, outputs and weights: what has to be moved, where it is not all
    passes: float = 1  # over memory, that the best known algorithm takes
    dims: tuple = ()
    options: tuple = ()  # of kpc compile
    torch: str = ""
    serial: float = 0  # microseconds of what waits for one another, at best
    alone: bool = False  # in a model of its own: in one with others it would share values, which then go through memory
    quick: bool = False  # in the part that presubmit compiles


class Graph:
    def __init__(self, kind, prefix=""):
        self.kind, self.prefix = kind, prefix  # of all names, where several cases are one model
        self.nodes, self.inputs, self.outputs, self.weights, self.values = [], [], [], [], []
        self.highest = {}  # of inputs that are whole numbers
        self.weight_bytes = 0
        self.shapes = {}
        self.count = 0

    def name(self, stem):
        self.count += 1
        return f"{self.prefix}{stem}{self.count}"

    def x(self, *shape, kind="", high=0, name=""):
        """An input; dims that are text are dynamic. `high`: whole numbers below that."""
        name = self.prefix + (name or f"x{len(self.inputs)}")
        kind = kind or self.kind
        shape = tuple(self.prefix + size if isinstance(size, str) else size for size in shape)
        self.inputs.append(onnx.value_info(name, shape, KINDS[kind][0]))
        self.shapes[name] = (kind, shape)
        if high:
            self.highest[name] = high
        return name

    def w(self, *shape, kind=""):
        kind = kind or self.kind
        name = f"{self.prefix}w{len(self.weights)}"
        size = math.ceil(math.prod(shape) * ELEMENT[kind])
        if size > WEIGHT_BYTES:
            raise ValueError(f"the weight {name} takes more than {WEIGHT_BYTES} bytes")
        self.weights.append(onnx.tensor(name, shape, KINDS[kind][0], external={"location": WEIGHT_FILE, "offset": 0, "length": size}))
        self.weight_bytes += size
        self.shapes[name] = (kind, shape)
        return name

    def c(self, values, kind="i64"):
        """A small constant."""
        name = self.name("c")
        dims, data = packed(values, kind)
        self.values.append(onnx.tensor(name, dims, KINDS[kind][0], data))
        return name

    def op(self, operator, *inputs, outputs=1, domain="", **attributes):
        names = [self.name("v") for _ in range(outputs)]
        if "to" in attributes:
            attributes["to"] = KINDS[attributes["to"]][0]
        attributes = {key: list(value) if isinstance(value, tuple) else value for key, value in attributes.items()}
        self.nodes.append(onnx.node(operator, inputs, names, f"{self.prefix}{operator}_{len(self.nodes)}", domain, **attributes))
        return names[0] if outputs == 1 else names

    def out(self, *names):
        self.outputs += names
        return self


def model(graphs):
    """One model of graphs that have nothing to do with one another."""
    def all_of(field):
        return [part for graph in graphs for part in getattr(graph, field)]
    outputs = [onnx.block(1, name) for name in all_of("outputs")]
    graph = onnx.graph(all_of("nodes"), all_of("inputs"), outputs, [*all_of("weights"), *all_of("values")])
    return onnx.model(graph, ((23, ""), (1, "com.microsoft")), ir_version=10)


def body(nodes, inputs, outputs):
    """A graph of its own: (name, dims, kind) of each input and output."""
    def infos(ports):
        return [onnx.value_info(name, dims, KINDS[kind][0]) for name, dims, kind in ports]
    return onnx.Graph(onnx.graph([onnx.node(operator, read, [written]) for operator, read, written in nodes], infos(inputs), infos(outputs)))
