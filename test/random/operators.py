# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adds one random operator of ONNX to a graph: elements, reductions and products. movement.py has what moves elements.

Every function takes a Graph and adds to it, or raises Unfit. Values stay small, and what has been rounded is never compared,
so that a right result is near the reference.
"""

import math

from graph import BOOLEAN, FLOAT, INTEGER, LARGE, ONE, Unfit, broadcast, fixed, is_fixed, least, plus

OPERATORS = []  # (function, weight)


def operator(weight):
    def enter(function):
        OPERATORS.append((function, weight))
        return function
    return enter


def small(value):
    return value.large <= LARGE


# Elements.

KEEPS = ("Relu", "Neg", "Abs", "Identity")  # exact in, exact out
BOUNDED = {"Tanh": 1, "Sigmoid": 1, "Erf": 1, "Softsign": 1, "HardSigmoid": 1, "Sin": 1, "Cos": 1, "Atan": 2}
GROWING = ("Elu", "Selu", "Softplus", "LeakyRelu", "HardSwish", "Gelu", "Mish", "Celu", "ThresholdedRelu")
OF_EXACT = ("Floor", "Ceil", "Round", "Sign")


@operator(10)
def unary(g):
    kind = g.random.randrange(4)
    if kind == 0:
        x = g.pick()
        g.keep(x.like(name=g.node(g.any_of(KEEPS), [x])))
    elif kind == 1:
        name = g.any_of(BOUNDED)
        x = g.pick(small)
        g.keep(x.like(name=g.node(name, [x]), large=BOUNDED[name], exact=False))
    elif kind == 2:
        name = g.any_of(GROWING)
        x = g.pick(lambda v: name != "ThresholdedRelu" or v.exact)
        attributes = {"approximate": g.any_of(["none", "tanh"])} if name == "Gelu" else {}
        g.keep(x.like(name=g.node(name, [x], **attributes), large=2 * x.large, exact=False))
    else:
        x = g.pick(lambda v: v.exact)
        g.keep(x.like(name=g.node(g.any_of(OF_EXACT), [x])))


@operator(2)
def positive(g):
    """What needs a positive argument, which a square makes."""
    x = g.pick(small)
    square = g.node("Mul", [x, x])
    above = g.node("Add", [square, g.scalar(g.random.uniform(0.5, 1.5))])
    name = g.any_of(["Sqrt", "Log", "Reciprocal", "Exp", "Pow"])
    if name == "Exp":
        above = g.node("Neg", [above])
    extra = [g.scalar(g.any_of([-0.5, 0.5, 0.75]))] if name == "Pow" else []
    g.keep(x.like(name=g.node(name, [above] + extra), large=max(4.0, x.large), exact=False))


@operator(2)
def clip(g):
    x = g.pick()
    low, high = g.floats(), g.scalar(g.any_of([1.5, 3.0, 6.0]))
    bounds = g.any_of([[low, high], [low, ""], ["", high]])
    g.keep(x.like(name=g.node("Clip", [x] + bounds), large=max(x.large, 6.0)))


def partner(g, x, wanted=lambda v: True):
    """Another value, or weights, that go together with x."""
    if g.chance(0.5):
        return g.pick(lambda v: v.name != x.name and broadcast(x.dims, v.dims) is not None and wanted(v))
    kept = [dim[0] if is_fixed(dim) and g.chance(0.7) else 1 for dim in x.dims]
    return g.floats(*kept[g.random.randrange(len(kept) + 1):])


@operator(14)
def binary(g):
    name = g.any_of(["Add", "Add", "Sub", "Mul", "Mul", "Max", "Min", "Div", "Mean", "Sum"])
    x = g.pick(small)
    y = partner(g, x, small)
    exact = x.exact and y.exact and name in ("Add", "Sub", "Max", "Min", "Sum")
    large = {"Mul": x.large * max(y.large, 1), "Div": 2 * x.large}.get(name, x.large + y.large)
    dims = broadcast(x.dims, y.dims)
    if name == "Div":
        y = g.node("Add", [g.node("Abs", [y]), g.scalar(g.random.uniform(0.5, 2))])
    pair = [x, y] if g.chance(0.5) or name in ("Div", "Sub") else [y, x]
    g.keep(x.like(name=g.node(name, pair), dims=dims, large=large, exact=exact))


@operator(4)
def compare(g):
    x = g.pick(lambda v: v.exact)
    y = partner(g, x, lambda v: v.exact)
    name = g.any_of(["Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"])
    g.keep(x.like(name=g.node(name, [x, y]), dims=broadcast(x.dims, y.dims), kind=BOOLEAN, exact=True))


@operator(1)
def logical(g):
    x = g.pick(kind=BOOLEAN)
    if g.chance(0.4):
        g.keep(x.like(name=g.node("Not", [x])))
        return
    y = g.pick(lambda v: broadcast(x.dims, v.dims) is not None, kind=BOOLEAN)
    g.keep(x.like(name=g.node(g.any_of(["And", "Or", "Xor"]), [x, y]), dims=broadcast(x.dims, y.dims)))


@operator(4)
def where(g):
    condition = g.pick(kind=BOOLEAN)
    x = g.pick(lambda v: broadcast(condition.dims, v.dims) is not None)
    y = partner(g, x)
    dims = broadcast(x.dims, y.dims)
    dims = broadcast(condition.dims, dims)
    if dims is None:
        raise Unfit
    g.keep(x.like(name=g.node("Where", [condition, x, y]), dims=dims, large=max(x.large, y.large), exact=x.exact and y.exact))


@operator(1)
def cast(g):
    if g.chance(0.5):
        x = g.pick(lambda v: v.exact)
        g.keep(x.like(name=g.node("Cast", [x], to=INTEGER), kind=INTEGER))
    else:
        x = g.pick(kind=g.any_of([INTEGER, BOOLEAN]))
        g.keep(x.like(name=g.node("Cast", [x], to=FLOAT), kind=FLOAT, exact=True, large=16.0))


@operator(1)
def whole(g):
    x = g.pick(kind=INTEGER)
    name = g.any_of(["Add", "Sub", "Mod", "Max", "Min", "Div"])
    y = g.integers(g.random.randint(2, 9), scalar=g.chance(0.5))
    dims = broadcast(x.dims, y.dims)
    g.keep(x.like(name=g.node(name, [x, y]), dims=dims))


# Reductions and norms.

MAGNITUDE = {"ReduceSum": 4, "ReduceL1": 4, "ReduceSumSquare": 20, "ReduceL2": 4}


@operator(5)
def reduce(g):
    name = g.any_of(["ReduceSum", "ReduceMean", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare",
                     "ReduceLogSumExp"])
    x = g.pick(lambda v: small(v) and v.rank > 0)
    first = g.random.randrange(x.rank)
    axes = list(range(first, g.random.randint(first + 1, x.rank))) if g.chance(0.7) else g.random.sample(range(x.rank), g.random.randint(1, x.rank))
    keep = g.chance(0.6)
    dims = [ONE if i in axes else dim for i, dim in enumerate(x.dims) if keep or i not in axes]
    written = [g.spelled(x, axis) for axis in axes]
    exact = x.exact and name in ("ReduceMax", "ReduceMin")
    result = g.node(name, [x, g.integers(*written)], keepdims=int(keep))
    g.keep(x.like(name=result, dims=tuple(dims), large=x.large * MAGNITUDE.get(name, 1), exact=exact))


@operator(1)
def arg(g):
    x = g.pick(lambda v: v.exact and v.rank > 0)
    axis, keep = g.axis_of(x), g.chance(0.5)
    dims = tuple(ONE if i == axis else dim for i, dim in enumerate(x.dims) if keep or i != axis)
    result = g.node(g.any_of(["ArgMax", "ArgMin"]), [x], axis=g.spelled(x, axis), keepdims=int(keep), select_last_index=int(g.chance(0.3)))
    g.keep(x.like(name=result, dims=dims, kind=INTEGER))


@operator(4)
def softmax(g):
    x = g.pick(lambda v: small(v) and v.rank > 0)
    name = g.any_of(["Softmax", "Softmax", "LogSoftmax"])
    axis = x.rank - 1 if g.chance(0.6) else g.axis_of(x)
    g.keep(x.like(name=g.node(name, [x], axis=g.spelled(x, axis)), large=1 if name == "Softmax" else 2 * x.large + 4, exact=False))


@operator(4)
def layer_norm(g):
    x = g.pick(lambda v: v.rank > 1 and is_fixed(v.dims[-1]) and v.dims[-1][0] > 1)
    count = 2 if x.rank > 2 and is_fixed(x.dims[-2]) and g.chance(0.2) else 1
    inner = [dim[0] for dim in x.dims[-count:]]
    scale, bias = g.floats(*inner), g.floats(*inner)
    spelling = g.random.randrange(3)
    if spelling == 0:
        result = g.node("LayerNormalization", [x, scale] + ([bias] if g.chance(0.6) else []), axis=-count, epsilon=1e-2)
    else:
        axes = g.integers(*range(-count, 0))
        centred = x if spelling == 2 else g.node("Sub", [x, g.node("ReduceMean", [x, axes])])
        square = g.node("Mul", [centred, centred]) if g.chance(0.5) else g.node("Pow", [centred, g.scalar(2)])
        spread = g.node("Sqrt", [g.node("Add", [g.node("ReduceMean", [square, axes]), g.scalar(0.01)])])
        result = g.node("Mul", [g.node("Div", [centred, spread]), scale])
        if spelling == 1:
            result = g.node("Add", [result, bias])
    g.keep(x.like(name=result, large=3.0, exact=False))


@operator(2)
def channel_norm(g):
    x = g.pick(lambda v: v.rank in (3, 4) and is_fixed(v.dims[1]) and v.rank - 2 <= 2)
    channels = x.dims[1][0]
    name = g.any_of(["BatchNormalization", "InstanceNormalization", "GroupNormalization"])
    scale, bias = g.floats(channels), g.floats(channels)
    if name == "BatchNormalization":
        spread = g.weight(g.numbers.uniform(0.5, 2, channels).astype("float32"))
        result = g.node(name, [x, scale, bias, g.floats(channels), spread])
    elif name == "InstanceNormalization":
        result = g.node(name, [x, scale, bias], epsilon=1e-2)
    else:
        groups = g.any_of(k for k in range(1, channels + 1) if channels % k == 0)
        result = g.node(name, [x, scale, bias], num_groups=groups, epsilon=1e-2)
    g.keep(x.like(name=result, large=2 * x.large if name == "BatchNormalization" else 4.0, exact=False))


@operator(1)
def running_sum(g):
    x = g.pick(lambda v: v.rank > 0 and v.large < 4)
    axis = g.axis_of(x)
    result = g.node("CumSum", [x, g.integers(axis, scalar=True)], exclusive=int(g.chance(0.3)), reverse=int(g.chance(0.3)))
    g.keep(x.like(name=result, large=10 * x.large, exact=False))


# Products.

@operator(6)
def product_with_weights(g):
    x = g.pick(lambda v: small(v) and v.rank > 0 and is_fixed(v.dims[-1]))
    terms, width = x.dims[-1][0], g.width()
    if x.rank == 2 and g.chance(0.4):
        turned = g.chance(0.5)
        weights = g.matrix(*((width, terms) if turned else (terms, width)), terms=terms)
        bias = [g.floats(width)] if g.chance(0.7) else []
        result = g.node("Gemm", [x, weights] + bias, transB=int(turned), alpha=g.any_of([1.0, 0.5]), beta=g.any_of([1.0, 2.0]))
    else:
        result = g.node("MatMul", [x, g.matrix(terms, width, terms=terms)])
        if g.chance(0.5):
            result = g.node("Add", [result, g.floats(width)])
    g.keep(x.like(name=result, dims=x.dims[:-1] + (fixed(width), ), large=2 * x.large, exact=False))


@operator(3)
def product_of_two(g):
    x = g.pick(lambda v: small(v) and v.rank > 1 and v.large < 4)
    turned = g.chance(0.6)
    y = g.pick(lambda v: v.rank > 1 and v.large < 4 and (v.dims[-1] if turned else v.dims[-2]) == x.dims[-1] and broadcast(x.dims[:-2], v.dims[:-2]) is not None)
    dims = broadcast(x.dims[:-2], y.dims[:-2]) + (x.dims[-2], y.dims[-2] if turned else y.dims[-1])
    right = y
    if turned:
        perm = list(range(y.rank - 2)) + [y.rank - 1, y.rank - 2]
        right = g.node("Transpose", [y], perm=perm)
    g.keep(x.like(name=g.node("MatMul", [x, right]), dims=dims, large=3 * x.large * y.large, exact=False))


@operator(3)
def attention(g):
    """As an exporter spells it: heads split off, scores, softmax, heads put together; over one of x's axes."""
    x = g.pick(lambda v: small(v) and v.rank == 3 and is_fixed(v.dims[-1]))
    batch, keys, width = x.dims
    heads, head = g.any_of([1, 2, 3]), g.any_of([32, 64] if g.wide else [4, 8, 16])
    together = width[0] == heads * head and g.chance(0.3)

    def split(turned):
        y = x.name if together else g.node("MatMul", [x, g.matrix(width[0], heads * head, terms=width[0])])
        shape = g.sizes([[batch], [keys], [fixed(heads)], [fixed(head)]])
        return g.node("Transpose", [g.node("Reshape", [y, shape])], perm=[0, 2, 3, 1] if turned else [0, 2, 1, 3])

    query, key, value = split(False), split(True), split(False)
    factor = g.scalar(1 / math.sqrt(head))
    if g.chance(0.3):
        query = g.node("Mul", [query, factor])
        scores = g.node("MatMul", [query, key])
    else:
        scores = g.node("Mul", [g.node("MatMul", [query, key]), factor])
    shape = (batch, fixed(heads), keys, keys)
    masks = [v for v in g.values if v.kind == FLOAT and v.large < 10 and broadcast(v.dims, shape) == shape]
    if masks and g.chance(0.5):
        scores = g.node("Add", [scores, g.any_of(masks)])
    mixed = g.node("MatMul", [g.node("Softmax", [scores], axis=-1), value])
    back = g.node("Transpose", [mixed], perm=[0, 2, 1, 3])
    result = g.node("Reshape", [back, g.sizes([[batch], [keys], [fixed(heads * head)]])])
    g.keep(x.like(name=result, dims=(batch, keys, fixed(heads * head)), large=2 * x.large, exact=False))


def window(size, kernel, stride, dilation, pads):
    """The size of a convolution's or pool's result along one axis; None where it is not a sum of the model's dims."""
    reach = dilation * (kernel - 1) + 1 - sum(pads)
    if least(size) < reach or (stride > 1 and not is_fixed(size)):
        return None
    return tuple((each - reach) // stride + 1 for each in size)


def windows(g, x, largest=3):
    count = x.rank - 2
    kernel = [g.random.randint(1, largest) for _ in range(count)]
    strides = [g.any_of([1, 1, 2]) for _ in range(count)]
    dilations = [g.any_of([1, 1, 2]) for _ in range(count)]
    pads = [[g.random.randint(0, k // 2) for k in kernel] for _ in range(2)]
    dims = [window(*each) for each in zip(x.dims[2:], kernel, strides, dilations, zip(*pads))]
    if None in dims:
        raise Unfit
    return tuple(dims), dict(kernel_shape=kernel, strides=strides, dilations=dilations, pads=pads[0] + pads[1])


@operator(4)
def convolution(g):
    x = g.pick(lambda v: small(v) and v.rank in (3, 4) and is_fixed(v.dims[1]) and v.dims[1][0] <= 48)
    inner, attributes = windows(g, x)
    channels = x.dims[1][0]
    groups = channels if g.chance(0.2) else g.any_of(k for k in range(1, channels + 1) if channels % k == 0) if g.chance(0.2) else 1
    filters = groups * g.any_of([1, 2, 4, 8] if groups < 8 else [1, 2])
    terms = channels // groups * math.prod(attributes["kernel_shape"])
    weights = g.matrix(filters, channels // groups, *attributes["kernel_shape"], terms=terms)
    bias = [g.floats(filters)] if g.chance(0.6) else []
    result = g.node("Conv", [x, weights] + bias, group=groups, **attributes)
    g.keep(x.like(name=result, dims=(x.dims[0], fixed(filters)) + inner, large=2 * x.large, exact=False))


@operator(1)
def turned_convolution(g):
    x = g.pick(lambda v: small(v) and v.rank in (3, 4) and is_fixed(v.dims[1]) and v.dims[1][0] <= 24)
    kernel = [g.random.randint(1, 3) for _ in range(x.rank - 2)]
    strides = [g.any_of([1, 2]) for _ in kernel]
    filters, channels = g.any_of([1, 3, 4, 8]), x.dims[1][0]
    weights = g.matrix(channels, filters, *kernel, terms=channels)
    inner = tuple(plus(tuple(stride * (size - 1) for size in dim), fixed(k)) for dim, k, stride in zip(x.dims[2:], kernel, strides))
    if any(least(dim) < 1 for dim in inner):
        raise Unfit
    result = g.node("ConvTranspose", [x, weights], kernel_shape=kernel, strides=strides)
    g.keep(x.like(name=result, dims=(x.dims[0], fixed(filters)) + inner, large=2 * x.large, exact=False))


def has_window_of_pads(x, attributes):
    """Taps two apart can stand on both sides of one element."""
    pads = attributes["pads"]
    return any(dilation > 1 and low + high and (not is_fixed(dim) or dim[0] == 1)
               for dim, dilation, low, high in zip(x.dims[2:], attributes["dilations"], pads, pads[len(pads) // 2:]))


@operator(3)
def pool(g):
    """Windows of pads alone have a greatest element on which onnxruntime departs (docs/missing.md)."""
    x = g.pick(lambda v: v.rank in (3, 4))
    if g.chance(0.3):
        name = g.any_of(["GlobalAveragePool", "GlobalMaxPool"])
        dims = x.dims[:2] + (ONE, ) * (x.rank - 2)
        g.keep(x.like(name=g.node(name, [x]), dims=dims, exact=x.exact and name == "GlobalMaxPool"))
        return
    inner, attributes = windows(g, x)
    name = g.any_of(["MaxPool", "AveragePool"])
    if name == "AveragePool":
        attributes["count_include_pad"] = int(g.chance(0.5))
    elif has_window_of_pads(x, attributes):
        raise Unfit
    g.keep(x.like(name=g.node(name, [x], **attributes), dims=x.dims[:2] + inner, exact=x.exact and name == "MaxPool"))


@operator(1)
def einsum(g):
    x = g.pick(lambda v: small(v) and v.rank == 3 and v.large < 4)
    form = g.random.randrange(3)
    if form == 0 and is_fixed(x.dims[2]):
        result, dims = g.node("Einsum", [x, g.matrix(x.dims[2][0], 6, terms=x.dims[2][0])], equation="abc,cd->adb"), (x.dims[0], fixed(6), x.dims[1])
    elif form == 1:
        result, dims = g.node("Einsum", [x, x], equation="abc,adc->abd"), (x.dims[0], x.dims[1], x.dims[1])
    else:
        result, dims = g.node("Einsum", [x], equation="abc->cb"), (x.dims[2], x.dims[1])
    g.keep(x.like(name=result, dims=dims, large=8 * x.large, exact=False))
