# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A random ONNX graph while it is made: its values, their sizes and what an operator may ask of them.

A size is the tuple of its values in all ENVIRONMENTS: two sizes are the same expression of the model's dims where the tuples
are equal (the last environment is of large primes and is never run), and arithmetic on sizes is arithmetic on tuples.
"""

import dataclasses
import math
import random

import numpy as np
from onnx import TensorProto, helper, numpy_helper

ENVIRONMENTS = ({"n": 3, "m": 5}, {"n": 1, "m": 8}, {"n": 6, "m": 1}, {"n": 0, "m": 5}, {"n": 10007, "m": 20011})
TESTED = 3  # so many of them are run by all that have dynamic dims
EMPTY = ENVIRONMENTS[3]  # some run that one, too, if onnxruntime does
MOST_ELEMENTS = 60000
MOST_RANK = 5
OPSET = 21
FLOAT, INTEGER, BOOLEAN = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
LARGE = 30.0  # a value that may be larger is squashed before it is multiplied again


def fixed(size):
    return (int(size), ) * len(ENVIRONMENTS)


ONE = fixed(1)


def named(symbol):
    return tuple(sizes[symbol] for sizes in ENVIRONMENTS)


def is_fixed(dim):
    return len(set(dim)) == 1


def plus(a, b):
    return tuple(x + y for x, y in zip(a, b))


def times(*dims):
    return tuple(math.prod(parts) for parts in zip(*dims)) if dims else ONE


def least(dim):
    return min(dim[:TESTED])


def elements(dims):
    """The most that a tensor of these sizes has where it is run."""
    return max(times(*dims)[:TESTED])


def broadcast(a, b):
    """The sizes of both together; None where they do not go together."""
    rank = max(len(a), len(b))
    a, b = (ONE, ) * (rank - len(a)) + tuple(a), (ONE, ) * (rank - len(b)) + tuple(b)
    if any(x != y and ONE not in (x, y) for x, y in zip(a, b)):
        return None
    return tuple(y if x == ONE else x for x, y in zip(a, b))


@dataclasses.dataclass(frozen=True)
class Value:
    """`large`: about how large its elements get. `exact`: no rounding has happened, so comparing it is safe."""
    name: str
    dims: tuple
    kind: int = FLOAT
    large: float = 2.0
    exact: bool = False

    @property
    def rank(self):
        return len(self.dims)

    def like(self, **changes):
        return dataclasses.replace(self, **changes)


class Unfit(Exception):
    """Nothing in the graph suits this operator: take another."""


class Graph:
    def __init__(self, seed, dynamic):
        self.random, self.dynamic = random.Random(seed), dynamic
        self.wide = self.chance(0.3)  # rows as long as those of networks
        self.numbers = np.random.Generator(np.random.PCG64(seed))
        self.nodes, self.weights, self.inputs, self.values, self.used = [], [], [], [], set()

    # What an operator picks from.

    def width(self):
        """Of what a product makes."""
        return self.any_of([32, 40, 64, 96, 128] if self.wide else [1, 3, 4, 8, 12, 16, 24, 40])

    def chance(self, probability):
        return self.random.random() < probability

    def any_of(self, things):
        things = list(things)
        if not things:
            raise Unfit
        return self.random.choice(things)

    def pick(self, wanted=lambda value: True, kind=FLOAT):
        """A value that suits, rather a late one and rather one that nothing has read yet."""
        fit = [v for v in self.values if v.kind == kind and wanted(v)]
        if not fit:
            raise Unfit
        return self.random.choices(fit, [(1 + i) * (1 if v.name in self.used else 3) for i, v in enumerate(fit)])[0]

    def axis_of(self, value, wanted=lambda dim: True):
        return self.any_of(i for i, dim in enumerate(value.dims) if wanted(dim))

    def spelled(self, value, axis):
        """An axis, counted from either end."""
        return axis - value.rank if self.chance(0.4) else axis

    # What it adds.

    def fresh(self, stem):
        return f"{stem}{len(self.nodes) + len(self.weights) + len(self.inputs)}"

    def weight(self, array, stem="w"):
        name = self.fresh(stem)
        self.weights.append(numpy_helper.from_array(np.array(array, order="C"), name))
        dims = tuple(fixed(size) for size in np.shape(array))
        kind = {"f": FLOAT, "i": INTEGER, "b": BOOLEAN}[array.dtype.kind]
        return Value(name, dims, kind, float(np.abs(array).max(initial=0)) if kind == FLOAT else 0)

    def floats(self, *shape):
        """Weights of eighths: exact in every type."""
        return self.weight((self.numbers.integers(-8, 9, shape) / 8).astype(np.float32)).like(exact=True)

    def scalar(self, value):
        return self.weight(np.array(value, np.float32))

    def matrix(self, *shape, terms):
        """Weights that keep a sum of so many terms near what it sums."""
        spread = math.sqrt(3 / max(1, terms))
        return self.weight(self.numbers.uniform(-spread, spread, shape).astype(np.float32))

    def integers(self, *values, scalar=False):
        return self.weight(np.array(values[0] if scalar else values, np.int64), "i")

    def node(self, operator, inputs, **attributes):
        """One node with one output, whose name is returned."""
        return self.many(operator, inputs, 1, **attributes)[0]

    def many(self, operator, inputs, count, **attributes):
        names = [f"{self.fresh('v')}{'abcdefgh'[i] if count > 1 else ''}" for i in range(count)]
        given = [each.name if isinstance(each, Value) else each for each in inputs]
        self.used.update(given)
        self.nodes.append(helper.make_node(operator, given, names, name=f"{operator}_{len(self.nodes)}", **attributes))
        return names

    def keep(self, value):
        """A value that later operators may read."""
        if value.rank > MOST_RANK or elements(value.dims) > MOST_ELEMENTS:
            raise Unfit
        self.values.append(value)
        return value

    def input(self, dims, kind=FLOAT):
        value = Value(self.fresh("x"), tuple(dims), kind, exact=True)
        self.inputs.append(value)
        return self.keep(value)

    def attempt(self, operator):
        """Whether it could be added; nothing is left of what could not."""
        kept, used = [len(each) for each in (self.nodes, self.weights, self.inputs, self.values)], set(self.used)
        try:
            operator(self)
            return True
        except Unfit:
            for each, length in zip((self.nodes, self.weights, self.inputs, self.values), kept):
                del each[length:]
            self.used = used
            return False

    # Sizes as tensors: what Reshape and Expand read.

    def size_of(self, dim):
        """An int64 tensor [1] of this size, computed from a value that has it."""
        if is_fixed(dim):
            return self.integers(dim[0]).name
        value = self.any_of(v for v in self.values if dim in v.dims)
        shape, axis = self.node("Shape", [value]), value.dims.index(dim)
        if self.chance(0.5):
            return self.node("Slice", [shape, self.integers(axis), self.integers(axis + 1), self.integers(0)])
        scalar = self.node("Gather", [shape, self.integers(axis, scalar=True)], axis=0)
        return self.node("Unsqueeze", [scalar, self.integers(0)])

    def sizes(self, target, inferred=True):
        """`target`: for each size its factors. A constant where that will do, with a -1 if `inferred`, else computed."""
        whole = [times(*factors) for factors in target]
        open_sizes = [i for i, dim in enumerate(whole) if not is_fixed(dim)]
        if len(open_sizes) <= int(inferred) and self.chance(0.6):
            return self.integers(*[-1 if i in open_sizes else dim[0] for i, dim in enumerate(whole)]).name
        parts = []
        for factors in target:
            part = self.size_of(factors[0]) if factors else self.integers(1).name
            for factor in factors[1:]:
                part = self.node("Mul", [part, self.size_of(factor)])
            parts.append(part)
        return self.node("Concat", parts, axis=0) if len(parts) > 1 else parts[0]

    # The model.

    def model(self, outputs):
        names = {v.name: v for v in self.values}
        inputs = [helper.make_tensor_value_info(v.name, v.kind, [self.declared(dim) for dim in v.dims]) for v in self.inputs]
        results = [helper.make_tensor_value_info(name, names[name].kind, None) for name in outputs]
        graph = helper.make_graph(self.nodes, "random", inputs, results, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)

    def declared(self, dim):
        return next((symbol for symbol in ENVIRONMENTS[0] if named(symbol) == dim), dim[0])

    def outputs(self):
        """What nothing reads, and sometimes a value from the middle."""
        given = {v.name for v in self.inputs}
        made = [v.name for v in self.values if v.name not in given]
        loose = [name for name in made if name not in self.used]
        middle = [name for name in made if name in self.used and self.chance(0.08)]
        return loose + middle

    def feed(self, sizes):
        """Inputs of eighths."""
        index, arrays = ENVIRONMENTS.index(sizes), {}
        for value in self.inputs:
            shape = [dim[index] for dim in value.dims]
            whole = self.numbers.integers(-16, 17, shape)
            arrays[value.name] = {FLOAT: (whole / 8).astype(np.float32), INTEGER: whole.astype(np.int64),
                                  BOOLEAN: whole > 0}[value.kind]
        return arrays
