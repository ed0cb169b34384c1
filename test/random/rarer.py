# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adds one random operator of ONNX that networks rarely have: see operators.py."""

from graph import BOOLEAN, FLOAT, INTEGER, LARGE, ONE, Unfit, fixed, is_fixed, least
from operators import operator, small

# Of an argument between -1 and 1, away from the ends where they are steep.
INVERSE = {"Asin": 2, "Acos": 4, "Atanh": 2, "Sinh": 2, "Cosh": 2, "Tan": 2, "Asinh": 1, "Shrink": 1}
BITS = ("BitwiseAnd", "BitwiseOr", "BitwiseXor")


@operator(2)
def inverse(g):
    """Trigonometric and hyperbolic functions, of what a sine makes."""
    x = g.pick(small)
    within = g.node("Mul", [g.node("Sin", [x]), g.scalar(0.75)])
    name = g.any_of([*INVERSE, "Acosh"])
    if name == "Acosh":
        within = g.node("Add", [within, g.scalar(2.5)])
    if name == "Shrink":  # a step: of what is exact
        x = g.pick(lambda v: v.exact)
        g.keep(x.like(name=g.node(name, [x], lambd=0.4, bias=0.25), exact=True))
        return
    g.keep(x.like(name=g.node(name, [within]), large=INVERSE.get(name, 3), exact=False))


@operator(1)
def slopes(g):
    x = g.pick(lambda v: small(v) and v.rank > 1 and is_fixed(v.dims[1]))
    slope = g.floats(x.dims[1][0], *[1] * (x.rank - 2))
    g.keep(x.like(name=g.node("PRelu", [x, slope]), exact=False, large=2 * x.large))


@operator(1)
def bits(g):
    x = g.pick(kind=INTEGER)
    if g.chance(0.3):
        g.keep(x.like(name=g.node("BitwiseNot", [x])))
    else:
        g.keep(x.like(name=g.node(g.any_of(BITS), [x, g.integers(g.random.randint(-9, 9), scalar=True)])))


@operator(1)
def tests(g):
    x = g.pick(small)
    g.keep(x.like(name=g.node(g.any_of(["IsNaN", "IsInf"]), [x]), kind=BOOLEAN, exact=True))


@operator(1)
def like(g):
    x, other = g.pick(lambda v: v.exact), g.pick(kind=g.any_of([INTEGER, FLOAT]))
    g.keep(x.like(name=g.node("CastLike", [x, other]), kind=other.kind))


@operator(1)
def picked(g):
    """Elements by places of their own, put elsewhere."""
    x = g.pick(lambda v: v.rank > 0 and all(map(is_fixed, v.dims)))
    axis = g.axis_of(x)
    shape = [d[0] for d in x.dims]
    shape[axis] = g.random.randint(1, 4)
    places = g.weight(g.numbers.integers(-x.dims[axis][0], x.dims[axis][0], shape), "i")
    dims = tuple(fixed(s) for s in shape)
    g.keep(x.like(name=g.node("GatherElements", [x, places], axis=g.spelled(x, axis)), dims=dims))
    if g.chance(0.5) and x.exact:
        how = g.any_of(["max", "min", "add"])
        g.keep(x.like(name=g.node("ScatterElements", [x, places, g.floats(*shape)], axis=g.spelled(x, axis), reduction=how),
                      large=x.large + 4 if how == "add" else max(x.large, 1)))


@operator(1)
def hot(g):
    x = g.pick(lambda v: 0 < v.rank < 4, INTEGER)
    depth = g.random.randint(2, 9)
    name = g.node("OneHot", [x, g.integers(depth, scalar=True), g.weight(g.numbers.integers(-8, 9, 2).astype("float32") / 8)], axis=-1)
    g.keep(x.like(name=name, dims=x.dims + (fixed(depth), ), kind=FLOAT, exact=True, large=1.0))


@operator(1)
def rare_norm(g):
    x = g.pick(lambda v: small(v) and v.rank in (3, 4))
    shifted = g.node("Add", [g.node("Abs", [x]), g.scalar(0.5)])
    name = g.any_of(["LpNormalization", "LRN", "GlobalLpPool"])
    if name == "LpNormalization":
        g.keep(x.like(name=g.node(name, [shifted], axis=g.axis_of(x), p=g.any_of([1, 2])), large=1.0, exact=False))
    elif name == "LRN":
        if x.rank != 4:  # onnxruntime takes no others
            raise Unfit
        g.keep(x.like(name=g.node(name, [x], size=g.any_of([1, 3, 5])), exact=False))
    else:
        if any(not is_fixed(d) or least(d) > 64 for d in x.dims[2:]) or x.large > LARGE / 4:
            raise Unfit
        g.keep(x.like(name=g.node(name, [x], p=g.any_of([1, 2])), dims=x.dims[:2] + (ONE, ) * (x.rank - 2), large=8 * x.large, exact=False))
