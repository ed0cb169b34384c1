# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes models node by node, with weights from a seed, in the ways that exporters do."""

import dataclasses
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, FLOAT16, INT64, INT32, BOOL, UINT8, STRING = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT64, TensorProto.INT32,
                                                     TensorProto.BOOL, TensorProto.UINT8, TensorProto.STRING)
MICROSOFT, ML = "com.microsoft", "ai.onnx.ml"


class Values:
    """Numbers from a seed, the same everywhere."""

    def __init__(self, name):
        self.generator = np.random.Generator(np.random.PCG64(zlib.crc32(name.encode())))

    def normal(self, *shape, size=1.0):
        uniform = self.generator.random(shape) + self.generator.random(shape) + self.generator.random(shape)
        return ((uniform - 1.5) * 2 * size).astype(np.float32)

    def positive(self, *shape, least=0.5, most=1.5):
        return (least + (most - least) * self.generator.random(shape)).astype(np.float32)

    def whole(self, below, *shape, kind=np.int64, least=0):
        return (least + np.floor(self.generator.random(shape) * (below - least))).astype(kind)


def ints(*values):
    return np.array(values, np.int64)


def floats(*values):
    return np.array(values, np.float32)


class Writer:
    """A graph that grows. Operands are names of values, arrays (which become initializers) or None (left out).

    `constants` writes arrays as Constant nodes, as PyTorch's and Paddle's exporters do.
    """

    def __init__(self, name, opset=17, constants=False, producer="", named=True):
        self.name, self.opset, self.constants, self.named = name, opset, constants, named
        self.values = Values(name)
        self.nodes, self.inputs, self.outputs, self.weights, self.infos = [], [], [], [], []
        self.count = 0
        self.domains = {}
        self.prefix = ""
        self.producer = producer

    def fresh(self, hint):
        self.count += 1
        return f"{self.prefix}{hint}_{self.count}"

    def input(self, name, *dims, kind=FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, kind, dims))
        return name

    def output(self, value, name, *dims, kind=FLOAT, shape=True):
        self.nodes.append(helper.make_node("Identity", [value], [name], name=self.fresh("Identity")))
        self.outputs.append(helper.make_tensor_value_info(name, kind, dims if shape else None))

    def info(self, value, *dims, kind=FLOAT):
        self.infos.append(helper.make_tensor_value_info(value, kind, dims))

    def operand(self, x):
        if x is None or isinstance(x, str):
            return x or ""
        array = np.asarray(x)
        if self.constants and array.size <= 64:
            name = self.fresh("Constant")
            self.nodes.append(helper.make_node("Constant", [], [name], name=name, value=numpy_helper.from_array(array)))
            return name
        return self.weight(array)

    def weight(self, array, name=None):
        name = name or self.fresh("weight")
        self.weights.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def w(self, *shape, size=None):
        """A matrix or filter scaled by its fan-in."""
        fan = np.prod(shape[:-1]) if len(shape) == 2 else np.prod(shape[1:])
        return self.weight(self.values.normal(*shape, size=size if size is not None else 1 / np.sqrt(max(fan, 1))))

    def bias(self, count):
        return self.weight(self.values.normal(count, size=0.1))

    def gain(self, count):
        return self.weight(self.values.positive(count))

    def __call__(self, op, *operands, outputs=1, domain="", **attributes):
        """The name of the result, or a tuple; `outputs` is a count or names, "" for one left out."""
        names = [self.operand(x) for x in operands]
        results = outputs if isinstance(outputs, (list, tuple)) else [self.fresh(f"{op}_out") for _ in range(outputs)]
        attributes = {key: value for key, value in attributes.items() if value is not None}
        name = self.fresh(op) if self.named else ""
        self.nodes.append(helper.make_node(op, names, list(results), name=name, domain=domain, **attributes))
        if domain:
            self.domains.setdefault(domain, 1 if domain == MICROSOFT else 3)
        return results[0] if len(results) == 1 else tuple(results)

    def ms(self, op, *operands, **options):
        return self(op, *operands, domain=MICROSOFT, **options)

    def ml(self, op, *operands, **options):
        return self(op, *operands, domain=ML, **options)

    def linear(self, x, columns_in, columns_out, bias=True):
        product = self("MatMul", x, self.w(columns_in, columns_out))
        return self("Add", self.bias(columns_out), product) if bias else product

    def size(self, x, axis):
        """One size of a value as PyTorch's first exporter writes it."""
        return self("Gather", self("Shape", x), np.array(axis, np.int64), axis=0)

    def together(self, *parts):
        """A shape out of numbers and scalars."""
        whole = [self("Unsqueeze", p, ints(0)) if isinstance(p, str) else self.operand(ints(p)) for p in parts]
        return self("Concat", *whole, axis=0)

    def subgraph(self, name, inputs, outputs, fill):
        """A body: `fill` writes its nodes and gives the names of its results."""
        kept, self.nodes = self.nodes, []
        results = fill()
        body = helper.make_graph(self.nodes, name, inputs, [
            helper.make_tensor_value_info(result, kind, dims) for result, (kind, dims) in zip(results, outputs)])
        self.nodes = kept
        return body

    def model(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.weights, value_info=self.infos)
        opsets = [helper.make_opsetid("", self.opset)] + [helper.make_opsetid(d, v) for d, v in self.domains.items()]
        made = helper.make_model(graph, opset_imports=opsets, ir_version=8 if self.opset < 21 else 10)
        made.producer_name = self.producer
        return made


@dataclasses.dataclass
class Case:
    """A model, what it is run on, and how kpc is called."""
    make: object  # gives the model and a list of runs, each a dictionary of arrays
    arguments: tuple = ()  # of kpc compile
    quick: bool = False  # in presubmit
    rms: float = 1e-4
    largest: float = 1e-3
    steps: float = 0  # for quantised results: how many elements may be off
    portable: bool = True
    reference: object = None  # gives the model that onnxruntime runs, where it has no kernels for this one


def tensor(name, kind, *dims):
    return helper.make_tensor_value_info(name, kind, dims)


def check(model):
    onnx.checker.check_model(model)
