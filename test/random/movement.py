# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adds one random operator of ONNX that moves elements and computes nothing: see operators.py."""

import numpy as np

from graph import FLOAT, INTEGER, ONE, Unfit, broadcast, fixed, is_fixed, least, plus, times
from operators import operator

END = 2**62


def anything(g, wanted=lambda v: True):
    """A value of any kind, mostly of floats."""
    kind = FLOAT if g.chance(0.85) else g.any_of({v.kind for v in g.values})
    return g.pick(wanted, kind)


@operator(6)
def transpose(g):
    x = anything(g, lambda v: v.rank > 1)
    perm = g.random.sample(range(x.rank), x.rank)
    g.keep(x.like(name=g.node("Transpose", [x], perm=perm), dims=tuple(x.dims[i] for i in perm)))


def factors_of(g, size):
    return g.any_of(k for k in range(1, size + 1) if size % k == 0)


@operator(6)
def reshape(g):
    """Two neighbours made one, or one made two."""
    x = anything(g, lambda v: v.rank > 0)
    axis = g.axis_of(x)
    if g.chance(0.5) and axis + 1 < x.rank:
        target = [[d] for d in x.dims[:axis]] + [list(x.dims[axis:axis + 2])] + [[d] for d in x.dims[axis + 2:]]
    elif is_fixed(x.dims[axis]):
        first = factors_of(g, x.dims[axis][0])
        target = [[d] for d in x.dims[:axis]] + [[fixed(first)], [fixed(x.dims[axis][0] // first)]] + [[d] for d in x.dims[axis + 1:]]
    else:
        raise Unfit
    for factors in target:
        if len(factors) == 2 and all(map(is_fixed, factors)):
            factors[:] = [times(*factors)]
    name = g.node("Reshape", [x, g.sizes(target)])
    g.keep(x.like(name=name, dims=tuple(times(*factors) for factors in target)))


@operator(1)
def flatten(g):
    x = anything(g)
    axis = g.random.randint(0, x.rank)
    g.keep(x.like(name=g.node("Flatten", [x], axis=axis), dims=(times(*x.dims[:axis]), times(*x.dims[axis:]))))


@operator(3)
def ones(g):
    if g.chance(0.5):
        x = anything(g, lambda v: v.rank < 4)
        axis = g.random.randint(0, x.rank)
        g.keep(x.like(name=g.node("Unsqueeze", [x, g.integers(axis)]), dims=x.dims[:axis] + (ONE, ) + x.dims[axis:]))
    else:
        x = anything(g, lambda v: ONE in v.dims)
        axis = x.dims.index(ONE)
        g.keep(x.like(name=g.node("Squeeze", [x, g.integers(g.spelled(x, axis))]), dims=x.dims[:axis] + x.dims[axis + 1:]))


@operator(4)
def concat(g):
    x = anything(g, lambda v: v.rank > 0)
    axis = g.axis_of(x)

    def beside(v):
        return v.rank == x.rank and all(i == axis or a == b for i, (a, b) in enumerate(zip(v.dims, x.dims)))

    others = [g.pick(beside, x.kind) for _ in range(g.any_of([1, 1, 2]))]
    if x.kind == FLOAT and g.chance(0.2) and all(is_fixed(d) for i, d in enumerate(x.dims) if i != axis):
        others.append(g.floats(*(2 if i == axis else d[0] for i, d in enumerate(x.dims))))
    parts = [x] + others
    g.random.shuffle(parts)
    along = parts[0].dims[axis]
    for part in parts[1:]:
        along = plus(along, part.dims[axis])
    name = g.node("Concat", parts, axis=g.spelled(x, axis))
    dims = x.dims[:axis] + (along, ) + x.dims[axis + 1:]
    g.keep(x.like(name=name, dims=dims, large=max(p.large for p in parts), exact=all(p.exact for p in parts)))


@operator(3)
def split(g):
    x = anything(g, lambda v: any(is_fixed(d) and d[0] > 1 for d in v.dims))
    axis = g.axis_of(x, lambda d: is_fixed(d) and d[0] > 1)
    size = x.dims[axis][0]
    first = g.random.randint(1, size - 1)
    parts = [first, size - first]
    names = g.many("Split", [x, g.integers(*parts)], 2, axis=g.spelled(x, axis))
    for name, part in zip(names, parts):
        g.keep(x.like(name=name, dims=x.dims[:axis] + (fixed(part), ) + x.dims[axis + 1:]))


@operator(5)
def slice_(g):
    x = anything(g, lambda v: v.rank > 0)
    axis = g.axis_of(x)
    dim = x.dims[axis]
    start = g.random.randint(0, least(dim) - 1)
    form = g.random.randrange(4)
    if form == 0:  # to the end
        bounds, size = (start, END, 1), plus(dim, fixed(-start))
    elif form == 1:  # to a number
        end = g.random.randint(start + 1, least(dim))
        bounds, size = (start, end, 1), fixed(end - start)
    elif form == 2 and is_fixed(dim):  # every second
        bounds, size = (start, END, 2), fixed((dim[0] - start + 1) // 2)
    elif form == 3:  # from behind
        bounds, size = (-1, -END, -1), dim
    else:
        raise Unfit
    low, high, step = bounds
    if form == 0 and start and g.chance(0.3) and is_fixed(dim):
        low = start - dim[0]
    inputs = [x, g.integers(low), g.integers(high), g.integers(g.spelled(x, axis))] + ([g.integers(step)] if step != 1 or g.chance(0.5) else [])
    g.keep(x.like(name=g.node("Slice", inputs), dims=x.dims[:axis] + (size, ) + x.dims[axis + 1:]))


@operator(3)
def gather(g):
    x = anything(g, lambda v: v.rank > 0)
    axis = g.axis_of(x)
    size = least(x.dims[axis])
    shape = g.any_of([(), (1, ), (3, ), (2, 2)])
    low = -size if is_fixed(x.dims[axis]) else 0
    indices = g.weight(g.numbers.integers(low, size, shape), "i")
    dims = x.dims[:axis] + tuple(fixed(s) for s in shape) + x.dims[axis + 1:]
    g.keep(x.like(name=g.node("Gather", [x, indices], axis=g.spelled(x, axis)), dims=dims))


@operator(2)
def gather_computed(g):
    """By indices that the graph computes, brought into range."""
    x = anything(g, lambda v: 0 < v.rank < 4 and is_fixed(v.dims[0]))
    indices = g.pick(lambda v: v.rank < 3, INTEGER)
    bounded = g.node("Mod", [indices, g.integers(x.dims[0][0], scalar=True)])
    g.keep(x.like(name=g.node("Gather", [x, bounded], axis=0), dims=indices.dims + x.dims[1:]))


@operator(2)
def expand(g):
    x = anything(g, lambda v: ONE in v.dims)
    like = g.pick(lambda v: (broadcast(x.dims, v.dims) or x.dims) != x.dims and v.rank >= x.rank)
    dims = broadcast(x.dims, like.dims)
    shape = g.node("Shape", [like]) if g.chance(0.5) else g.sizes([[d] for d in dims], inferred=False)
    g.keep(x.like(name=g.node("Expand", [x, shape]), dims=dims))


@operator(2)
def tile(g):
    x = anything(g, lambda v: v.rank > 0)
    repeats = [g.any_of([1, 1, 2]) for _ in x.dims]
    g.keep(x.like(name=g.node("Tile", [x, g.integers(*repeats)]), dims=tuple(tuple(r * s for s in d) for r, d in zip(repeats, x.dims))))


@operator(3)
def pad(g):
    x = g.pick(lambda v: v.rank > 0)
    mode = g.any_of(["constant", "constant", "edge", "reflect"])
    most = [2 if mode != "reflect" else min(2, least(d) - 1) for d in x.dims]
    pads = [[g.random.randint(0, m) if g.chance(0.5) else 0 for m in most] for _ in range(2)]
    dims = tuple(plus(d, fixed(a + b)) for d, a, b in zip(x.dims, *pads))
    value = [g.floats()] if mode == "constant" and g.chance(0.4) else []
    g.keep(x.like(name=g.node("Pad", [x, g.integers(*(pads[0] + pads[1]))] + value, mode=mode), dims=dims))


@operator(1)
def blocks(g):
    x = g.pick(lambda v: v.rank == 4)
    if g.chance(0.5):
        if not is_fixed(x.dims[1]) or x.dims[1][0] % 4:
            raise Unfit
        name = g.node("DepthToSpace", [x], blocksize=2, mode=g.any_of(["DCR", "CRD"]))
        dims = (x.dims[0], fixed(x.dims[1][0] // 4)) + tuple(tuple(2 * s for s in d) for d in x.dims[2:])
    else:
        if any(s % 2 for d in x.dims[2:] for s in d):
            raise Unfit
        name = g.node("SpaceToDepth", [x], blocksize=2)
        dims = (x.dims[0], tuple(4 * s for s in x.dims[1])) + tuple(tuple(s // 2 for s in d) for d in x.dims[2:])
    g.keep(x.like(name=name, dims=dims))


@operator(2)
def resize(g):
    x = g.pick(lambda v: v.rank == 4)
    mode = g.any_of(["nearest", "linear"])
    scales = [1.0, 1.0] + [g.any_of([1.0, 2.0, 3.0]) for _ in range(2)]
    where = g.any_of(["asymmetric", "half_pixel"] if mode == "linear" else ["asymmetric"])
    rounding = dict(nearest_mode="floor") if mode == "nearest" else {}
    name = g.node("Resize", [x, "", g.weight(np.array(scales, np.float32), "s")], mode=mode, coordinate_transformation_mode=where, **rounding)
    dims = tuple(tuple(int(f * s) for s in d) for f, d in zip(scales, x.dims))
    g.keep(x.like(name=name, dims=dims, exact=x.exact and mode == "nearest"))


@operator(1)
def triangle(g):
    x = g.pick(lambda v: v.rank > 1)
    g.keep(x.like(name=g.node("Trilu", [x, g.integers(g.random.randint(-1, 1), scalar=True)], upper=int(g.chance(0.5)))))


@operator(1)
def top(g):
    x = g.pick(lambda v: v.exact and v.rank > 0)
    axis = g.axis_of(x)
    count = g.random.randint(1, min(4, least(x.dims[axis])))
    values, indices = g.many("TopK", [x, g.integers(count)], 2, axis=g.spelled(x, axis), largest=int(g.chance(0.5)))
    dims = x.dims[:axis] + (fixed(count), ) + x.dims[axis + 1:]
    g.keep(x.like(name=values, dims=dims))
    if g.chance(0.5):
        g.keep(x.like(name=indices, dims=dims, kind=INTEGER))


@operator(1)
def sizes(g):
    x = g.pick(lambda v: v.rank > 0)
    g.keep(x.like(name=g.node("Shape", [x]), dims=(fixed(x.rank), ), kind=INTEGER, exact=True))
