#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles programs of torch.export that program_writer.py writes and compares what they compute with numpy.

  written_programs.py --kpc KPC --out FOLDER [--operators] [NAME …]

They have what the programs that PyTorch saved (program.py) have not: loops that data ends, scans, sizes that data decides,
complex numbers, quantised weights, guards, and the operators of written_operators.py. Each case gives a program, its
inputs and its outputs; a program of dynamic sizes is compiled once and run for each. A case that is refused says with
which words.
"""
import argparse
import itertools
import pathlib
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    sys.exit(77)

import matrix_programs
import operator_programs
import recurrent_programs
import written_operators
from program_writer import Graph, Number, Program, Ref, Type

CASES = operator_programs.CASES | recurrent_programs.CASES


def case(function):
    CASES[function.__name__] = function
    return function


EVERYWHERE = operator_programs.EVERYWHERE | recurrent_programs.EVERYWHERE
EXACT = written_operators.EXACT | recurrent_programs.EXACT | matrix_programs.EXACT


def everywhere(function):
    """A case that runs on the emulator as well, from the same artifact."""
    EVERYWHERE.add(function.__name__)
    return case(function)


def drawn(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def graph_of(shapes, build):
    """A subgraph of inputs of types and shapes; `build` gives its outputs."""
    g = Graph()
    for value in build(g, *[g.input(shape, type) for type, shape in shapes]):
        g.output(value)
    return g


def scalar(g, target, a, b, type="i8"):
    return g.node(target, {"self": a, "other": b}, [(type, ())])[0]


#===--- loops -----------------------------------------------------------------===#


@case
def while_counter():
    """Fifty times, a constant says: a loop."""
    p = Program()
    x = p.input("x", (3, 4))
    zero = p.weight("zero", np.array(0))
    shapes = [("i8", ()), ("f4", (3, 4))]
    goes = graph_of(shapes, lambda g, i, y: [scalar(g, "aten.lt.Scalar", i, 50, "?")])
    body = graph_of(shapes, lambda g, i, y: [scalar(g, "aten.add.Scalar", i, 1),
                                             g.node("aten.mul.Tensor", {"self": y, "other": 1.01}, [("f4", (3, 4))])[0]])
    for value in p.node("higher_order.while_loop", [goes, body, [zero, x], []], shapes):
        p.output(value)
    x = drawn(1, 3, 4)
    return p, [({"x": x}, [np.array(50), x * np.float32(1.01) ** 50])]


@case
def while_over_a_size():
    """As often as the input has rows, two steps at a time."""
    p = Program({"s0": (2, 64)})
    x = p.input("x", ("s0", 4))
    zero = p.weight("zero", np.array(0))
    rows = p.number("aten.sym_size.int", {"self": x, "dim": 0}, "s0")
    bound = p.node("aten.scalar_tensor.default", {"s": rows, "dtype": Type("i8")}, [("i8", ())])[0]
    shapes = [("i8", ()), ("f4", ("s0", 4))]
    goes = graph_of(shapes + [("i8", ())], lambda g, i, y, n: [scalar(g, "aten.lt.Tensor", i, n, "?")])
    body = graph_of(shapes + [("i8", ())],
                    lambda g, i, y, n: [scalar(g, "aten.add.Scalar", i, 2),
                                        g.node("aten.add.Tensor", {"self": y, "other": 1}, [("f4", ("s0", 4))])[0]])
    p.output(p.node("higher_order.while_loop", [goes, body, [zero, x], [bound]], shapes)[1])
    runs = []
    for n in (2, 5, 40):
        x = drawn(n, n, 4)
        runs.append(({"x": x}, [x + np.float32((n + 1) // 2)]))
    return p, runs


@everywhere
def while_data_ends():
    """Doubles until one element is above 10, at most 20 times."""
    p = Program()
    x = p.input("x", (5,))
    zero = p.weight("zero", np.array(0))
    shapes = [("i8", ()), ("f4", (5,))]

    def goes(g, i, y):
        most = g.node("aten.max.default", {"self": y}, [("f4", ())])[0]
        return [scalar(g, "aten.logical_and.default", scalar(g, "aten.lt.Scalar", i, 20, "?"),
                       scalar(g, "aten.le.Scalar", most, 10, "?"), "?")]
    body = graph_of(shapes, lambda g, i, y: [scalar(g, "aten.add.Scalar", i, 1),
                                             g.node("aten.mul.Tensor", {"self": y, "other": 2}, [("f4", (5,))])[0]])
    for value in p.node("higher_order.while_loop", [graph_of(shapes, goes), body, [zero, x], []], shapes):
        p.output(value)
    runs = []
    for x in (drawn(3, 5), np.full(5, 11, np.float32), np.full(5, -1, np.float32)):
        i, y = 0, x
        while i < 20 and y.max() <= 10:
            i, y = i + 1, y * 2
        runs.append(({"x": x}, [np.array(i), y]))
    return p, runs


def greatest_below(g, y, limit):
    return scalar(g, "aten.lt.Scalar", g.node("aten.max.default", {"self": y}, [("f4", ())])[0], limit, "?")


@everywhere
def while_data_alone():
    """Nothing but data ends it, from no iteration on."""
    p = Program()
    x = p.input("x", (5,))
    goes = graph_of([("f4", (5,))], lambda g, y: [greatest_below(g, y, 10)])
    body = graph_of([("f4", (5,))], lambda g, y: [g.node("aten.mul.Tensor", {"self": y, "other": 2}, [("f4", (5,))])[0]])
    p.output(p.node("higher_order.while_loop", [goes, body, [x], []], [("f4", (5,))])[0])
    runs = []
    for x in (np.abs(drawn(3, 5)), np.full(5, 11, np.float32), np.full(5, 9, np.float32), np.full(5, 1e-8, np.float32)):
        y = x
        while y.max() < 10:
            y = y * 2
        runs.append(({"x": x}, [y]))
    return p, runs


@everywhere
def while_of_types():
    """State of f16, i64 and bool, of a dynamic size; the condition is a sum of f16."""
    p = Program({"s0": (1, 64)})
    x, flag = p.input("x", ("s0", 3), "f2"), p.input("flag", (), "?")
    zero = p.weight("zero", np.array(5))
    shapes = [("f2", ("s0", 3)), ("i8", ()), ("?", ())]
    goes = graph_of(shapes, lambda g, h, i, b: [scalar(
        g, "aten.lt.Scalar", g.node("aten.sum.default", {"self": h}, [("f2", ())])[0], 60, "?")])
    body = graph_of(shapes, lambda g, h, i, b: [
        g.node("aten.add.Tensor", {"self": h, "other": 0.5}, shapes[:1])[0], scalar(g, "aten.add.Scalar", i, 3),
        g.node("aten.logical_not.default", {"self": b}, shapes[2:])[0]])
    for value in p.node("higher_order.while_loop", [goes, body, [x, zero, flag], []], shapes):
        p.output(value)
    runs = []
    for rows, start in ((1, 0), (4, -1), (7, 30)):
        x = h = np.full((rows, 3), start, np.float16)
        i, b = 5, True
        while h.astype(np.float32).sum() < 60:
            h, i, b = h + np.float16(0.5), i + 3, not b
        runs.append(({"x": x, "flag": np.array(True)}, [h, np.array(i), np.array(b)]))
    return p, runs


@everywhere
def while_in_while():
    """Each iteration iterates, and takes one side of a branch on a bool that it carries."""
    p = Program()
    x, flag = p.input("x", (4, 4)), p.input("flag", (), "?")
    one = [("f4", (4, 4))]
    shapes = one + [("?", ())]
    inner = graph_of(one, lambda g, u: [g.node("aten.gt.Scalar", {
        "self": g.node("aten.max.default", {"self": u}, [("f4", ())])[0], "other": 1}, [("?", ())])[0]])
    halve = graph_of(one, lambda g, u: g.node("aten.mul.Tensor", {"self": u, "other": 0.5}, one))
    sides = [graph_of(one, lambda g, u: g.node("aten.mm.default", {"self": u, "mat2": u}, one)),
             graph_of(one, lambda g, u: g.node("aten.cumsum.default", {"self": u, "dim": 0}, one))]

    def step(g, y, b):
        low = g.node("higher_order.while_loop", [inner, halve, [y], []], one)[0]
        z = g.node("higher_order.cond", [b, *sides, [low]], one)[0]
        return [g.node("aten.add.Tensor", {"self": z, "other": 1.5}, one)[0],
                g.node("aten.logical_not.default", {"self": b}, shapes[1:])[0]]
    goes = graph_of(shapes, lambda g, y, b: [greatest_below(g, y, 4)])
    for value in p.node("higher_order.while_loop", [goes, graph_of(shapes, step), [x, flag], []], shapes):
        p.output(value)
    runs = []
    for seed in (1, 2):
        x = y = np.abs(drawn(seed, 4, 4)) * np.float32(0.3)
        b = seed == 1
        while y.max() < 4:
            while y.max() > 1:
                y = y * np.float32(0.5)
            y, b = (y @ y if b else np.cumsum(y, 0)) + np.float32(1.5), not b
        runs.append(({"x": x, "flag": np.array(seed == 1)}, [y, np.array(b)]))
    return p, runs


@case
def while_that_grows():
    p = Program()
    x = p.input("x", (2, 3))
    goes = graph_of([("f4", (2, 3))], lambda g, y: [greatest_below(g, y, 10)])
    body = graph_of([("f4", (2, 3))], lambda g, y: g.node("aten.cat.default", {"tensors": [y, y]}, [("f4", (4, 3))]))
    p.output(p.node("higher_order.while_loop", [goes, body, [x], []], [("f4", (2, 3))])[0])
    return p, "let it write into a tensor of the greatest size"


@case
def scan():
    """A recurrence h = tanh(h w + x[t]), all of its states collected."""
    p = Program({"s0": (1, 200)})
    x, h = p.input("x", ("s0", 2, 4)), p.input("h", (2, 4))
    w = p.weight("w", drawn(7, 4, 4) * 0.3)
    shapes = [("f4", (2, 4)), ("f4", (2, 4)), ("f4", (4, 4))]

    def step(g, h, x, w):
        product = g.node("aten.mm.default", {"self": h, "mat2": w}, [("f4", (2, 4))])[0]
        total = g.node("aten.add.Tensor", {"self": product, "other": x}, [("f4", (2, 4))])[0]
        h = g.node("aten.tanh.default", {"self": total}, [("f4", (2, 4))])[0]
        return [h, g.node("aten.mul.Tensor", {"self": h, "other": 2}, [("f4", (2, 4))])[0]]
    for value in p.node("higher_order.scan", [graph_of(shapes, step), [h], [x], [w]],
                        [("f4", (2, 4)), ("f4", ("s0", 2, 4))]):
        p.output(value)
    runs = []
    for n in (1, 3, 70):
        x, h0, weight = drawn(n, n, 2, 4), drawn(2, 2, 4), drawn(7, 4, 4) * np.float32(0.3)
        h, all_states = h0, []
        for t in range(n):
            h = np.tanh(h @ weight + x[t])
            all_states.append(h * 2)
        runs.append(({"x": x, "h": h0}, [h, np.stack(all_states)]))
    return p, runs


@case
def scan_few():
    """The same of three steps: unrolled."""
    p = Program()
    x, h = p.input("x", (3, 4)), p.input("h", (4,))

    def step(g, h, x):
        h = g.node("aten.add.Tensor", {"self": h, "other": x}, [("f4", (4,))])[0]
        return [h, h]
    for value in p.node("higher_order.scan", [graph_of([("f4", (4,))] * 2, step), [h], [x], []],
                        [("f4", (4,)), ("f4", (3, 4))]):
        p.output(value)
    x, h = drawn(1, 3, 4), drawn(2, 4)
    return p, [({"x": x, "h": h}, [h + x.sum(0), h + np.cumsum(x, 0)])]


@case
def map_rows():
    p = Program({"s0": (1, 100)})
    x, y = p.input("x", ("s0", 4)), p.input("y", (4,))

    def row(g, x, y):
        return [g.node("aten.mul.Tensor", {"self": x, "other": y}, [("f4", (4,))])[0],
                g.node("aten.sum.default", {"self": x}, [("f4", ())])[0]]
    for value in p.node("higher_order.map_impl", [graph_of([("f4", (4,))] * 2, row), [x], [y]],
                        [("f4", ("s0", 4)), ("f4", ("s0",))]):
        p.output(value)
    return p, [({"x": x, "y": drawn(9, 4)}, [x * drawn(9, 4), x.sum(1)]) for x in (drawn(1, 2, 4), drawn(2, 33, 4))]


@case
def associative_scan():
    p = Program({"s0": (1, 100)})
    x = p.input("x", ("s0", 3))
    product = graph_of([("f4", (3,))] * 2, lambda g, a, b: g.node("aten.mul.Tensor", {"self": a, "other": b},
                                                                  [("f4", (3,))]))
    p.output(p.node("higher_order.associative_scan", [product, [x], []], [("f4", ("s0", 3))])[0])
    return p, [({"x": x}, [np.cumprod(x, 0)]) for x in (drawn(1, 1, 3), drawn(2, 2, 3), drawn(3, 40, 3))]


#===--- branches --------------------------------------------------------------===#


@case
def cond_of_much_work():
    """A branch that is taken, not both."""
    p = Program()
    x = p.input("x", (8, 16))
    w = p.weight("w", drawn(5, 16, 16))
    total = p.node("aten.sum.default", {"self": x}, [("f4", ())])[0]
    positive = p.node("aten.gt.Scalar", {"self": total, "other": 0}, [("?", ())])[0]
    shapes = [("f4", (8, 16)), ("f4", (16, 16))]

    def then(g, x, w):
        for _ in range(2):
            x = g.node("aten.mm.default", {"self": x, "mat2": w}, [("f4", (8, 16))])[0]
        return [x]
    other = graph_of(shapes, lambda g, x, w: g.node("aten.mm.default", {"self": x, "mat2": w}, [("f4", (8, 16))]))
    p.output(p.node("higher_order.cond", [positive, graph_of(shapes, then), other, [x, w]], [("f4", (8, 16))])[0])
    w = drawn(5, 16, 16)
    x = np.abs(drawn(1, 8, 16))
    return p, [({"x": x}, [x @ w @ w]), ({"x": -x}, [-x @ w])]


@case
def cond_on_a_size():
    """Rows decide which side is taken when it runs."""
    p = Program({"s0": (1, 64)})
    x = p.input("x", ("s0", 4))
    p.conditions["many"] = "StrictGreaterThan(Symbol('s0', positive=True, integer=True), Integer(8))"
    shapes = [("f4", ("s0", 4))]
    sides = [graph_of(shapes, lambda g, x, n=name: g.node(f"aten.{n}.default", {"self": x}, shapes)) for name in ("neg", "exp")]
    p.add("higher_order.cond", [], [])
    node = p.nodes[-1]
    from program_writer import argument
    node["inputs"] = [{"name": "", "arg": a, "kind": 1} for a in (
        {"as_sym_bool": {"as_name": "many"}}, argument(sides[0]), argument(sides[1]), argument([x]))]
    p.tensors["y"] = p.tensors["x"]
    node["outputs"] = [{"as_tensor": {"name": "y"}}]
    p.output(Ref("y"))
    small, large = drawn(1, 8, 4), drawn(1, 9, 4)
    return p, [({"x": small}, [np.exp(small)]), ({"x": large}, [-large])]


#===--- sizes that data decides -----------------------------------------------===#


@case
def mask_as_index():
    p = Program({"u0": (0, 64)})
    x = p.input("x", (6, 3))
    mask = p.input("mask", (6,), "?")
    kept = p.node("aten.index.Tensor", {"self": x, "indices": [mask]}, [("f4", ("u0", 3))])[0]
    p.output(p.node("aten.mul.Tensor", {"self": kept, "other": 2}, [("f4", ("u0", 3))])[0])
    x = drawn(1, 6, 3)
    return p, [({"x": x, "mask": np.array(m, bool)}, [x[np.array(m, bool)] * 2])
               for m in ([1, 0, 1, 1, 0, 0], [0] * 6, [1] * 6)]


@case
def masked_select():
    p = Program({"u0": (0, 64)})
    x = p.input("x", (4, 5))
    mask = p.node("aten.gt.Scalar", {"self": x, "other": 0}, [("?", (4, 5))])[0]
    p.output(p.node("aten.masked_select.default", {"self": x, "mask": mask}, [("f4", ("u0",))])[0])
    x = drawn(4, 4, 5)
    return p, [({"x": x}, [x[x > 0]])]


@case
def nonzero_of_a_dynamic_size():
    p = Program({"s0": (1, 50), "u0": (0, 1000)})
    x = p.input("x", ("s0", 3))
    flags = p.node("aten.gt.Scalar", {"self": x, "other": 0}, [("?", ("s0", 3))])[0]
    p.output(p.node("aten.nonzero.default", {"self": flags}, [("i8", ("u0", 2))])[0])
    return p, [({"x": x}, [np.argwhere(x > 0)]) for x in (drawn(1, 4, 3), drawn(2, 50, 3))]


@case
def item_as_a_size():
    p = Program({"u0": (0, 10)})
    x = p.input("x", (10,))
    n = p.input("n", (), "i8")
    count = p.number("aten.item.default", {"self": n}, "u0")
    p.output(p.node("aten.slice.Tensor", {"self": x, "dim": 0, "start": 0, "end": count}, [("f4", ("u0",))])[0])
    x = drawn(1, 10)
    return p, [({"x": x, "n": np.array(k)}, [x[:k]]) for k in (3, 10, 0)]


#===--- torchvision -----------------------------------------------------------===#


def overlap(a, b):
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    shared = np.prod(np.maximum(high - low, 0))
    return shared / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - shared)


def kept_boxes(boxes, scores, threshold):
    kept = []
    for i in np.argsort(-scores, kind="stable"):
        if all(overlap(boxes[i], boxes[k]) <= threshold for k in kept):
            kept.append(i)
    return np.array(kept, np.int64)


@case
def nms():
    p = Program({"s0": (1, 100), "u0": (0, 100)})
    boxes, scores = p.input("boxes", ("s0", 4)), p.input("scores", ("s0",))
    kept = p.node("torchvision.nms.default", {"dets": boxes, "scores": scores, "iou_threshold": 0.3}, [("i8", ("u0",))])[0]
    p.output(kept)
    p.output(p.node("aten.index.Tensor", {"self": boxes, "indices": [kept]}, [("f4", ("u0", 4))])[0])
    runs = []
    for n in (1, 7, 40):
        g = np.random.default_rng(n)
        corner = g.uniform(0, 10, (n, 2))
        b = np.concatenate([corner, corner + g.uniform(1, 5, (n, 2))], 1).astype(np.float32)
        s = g.uniform(0, 1, n).astype(np.float32)
        kept = kept_boxes(b, s, 0.3)
        runs.append(({"boxes": b, "scores": s}, [kept, b[kept]]))
    return p, runs


def roi_align(x, rois, scale, out, samples, aligned):
    _, c, h, w = x.shape
    result = np.zeros((len(rois), c, *out))

    def at(image, y, x):
        if y < -1 or y > h or x < -1 or x > w:
            return np.zeros(c)
        y, x = min(max(y, 0), h - 1), min(max(x, 0), w - 1)
        y0, x0 = int(y), int(x)
        y1, x1 = min(y0 + 1, h - 1), min(x0 + 1, w - 1)
        dy, dx = y - y0, x - x0
        return (image[:, y0, x0] * (1 - dy) * (1 - dx) + image[:, y0, x1] * (1 - dy) * dx
                + image[:, y1, x0] * dy * (1 - dx) + image[:, y1, x1] * dy * dx)
    for r, (n, x1, y1, x2, y2) in enumerate(rois.astype(np.float64)):
        offset = 0.5 if aligned else 0
        left, top = x1 * scale - offset, y1 * scale - offset
        wide, high = (x2 - x1) * scale, (y2 - y1) * scale
        if not aligned:
            wide, high = max(wide, 1), max(high, 1)
        for i in range(out[0]):
            for j in range(out[1]):
                result[r, :, i, j] = np.mean([
                    at(x[int(n)], top + (i + (a + 0.5) / samples) * high / out[0],
                       left + (j + (b + 0.5) / samples) * wide / out[1])
                    for a in range(samples) for b in range(samples)], axis=0)
    return result.astype(np.float32)


@case
def roi_align_of_dynamic_regions():
    p = Program({"s0": (1, 30)})
    x, rois = p.input("x", (2, 3, 8, 10)), p.input("rois", ("s0", 5))
    for aligned in (True, False):
        p.output(p.node("torchvision.roi_align.default",
                        {"input": x, "rois": rois, "spatial_scale": 0.5, "pooled_height": 3, "pooled_width": 2,
                         "sampling_ratio": 2, "aligned": aligned}, [("f4", ("s0", 3, 3, 2))])[0])
    g = np.random.default_rng(3)
    corner = g.uniform(-2, 12, (6, 2))
    rois = np.concatenate([g.integers(0, 2, (6, 1)), corner, corner + g.uniform(1, 8, (6, 2))], 1).astype(np.float32)
    x = drawn(1, 2, 3, 8, 10)
    return p, [({"x": x, "rois": rois}, [roi_align(x, rois, 0.5, (3, 2), 2, a) for a in (True, False)])]


#===--- complex numbers -------------------------------------------------------===#


@case
def complex_rotary():
    """As Llama's own code has it: polar in the program, products of complex numbers, back to reals."""
    p = Program({"s0": (1, 32)})
    x = p.input("x", (2, "s0", 3, 8))
    angles = p.input("angles", ("s0", 4))
    sizes = (2, "s0", 3, 4)
    length = p.number("aten.sym_size.int", {"self": x, "dim": 1}, "s0")
    pairs = p.node("aten.view.default", {"self": x, "size": [2, length, 3, -1, 2]}, [("f4", sizes + (2,))])[0]
    xc = p.node("aten.view_as_complex.default", {"self": pairs}, [("c8", sizes)])[0]
    one = p.node("aten.ones_like.default", {"self": angles}, [("f4", ("s0", 4))])[0]
    turn = p.node("aten.polar.default", {"abs": one, "angle": angles}, [("c8", ("s0", 4))])[0]
    turn = p.node("aten.view.default", {"self": turn, "size": [1, length, 1, 4]}, [("c8", (1, "s0", 1, 4))])[0]
    yc = p.node("aten.mul.Tensor", {"self": xc, "other": turn}, [("c8", sizes)])[0]
    y = p.node("aten.view_as_real.default", {"self": yc}, [("f4", sizes + (2,))])[0]
    p.output(p.node("aten.view.default", {"self": y, "size": [2, length, 3, 8]}, [("f4", (2, "s0", 3, 8))])[0])
    runs = []
    for n in (1, 5):
        x, a = drawn(n, 2, n, 3, 8), drawn(9, n, 4)
        c = x.reshape(2, n, 3, 4, 2)
        c = (c[..., 0] + 1j * c[..., 1]) * np.exp(1j * a)[None, :, None, :]
        runs.append(({"x": x, "angles": a}, [np.stack([c.real, c.imag], -1).reshape(x.shape).astype(np.float32)]))
    return p, runs


@case
def complex_table():
    """Turns of all places are a complex buffer, of which the program takes the first ones."""
    p = Program({"s0": (1, 16)})
    x = p.input("x", ("s0", 8))
    table = np.exp(1j * np.outer(np.arange(16), 1 / 10 ** np.arange(4))).astype(np.complex64)
    turns = p.weight("freqs_cis", table)
    length = p.number("aten.sym_size.int", {"self": x, "dim": 0}, "s0")
    part = p.node("aten.slice.Tensor", {"self": turns, "dim": 0, "start": 0, "end": length}, [("c8", ("s0", 4))])[0]
    part = p.node("aten.unsqueeze.default", {"self": part, "dim": -1}, [("c8", ("s0", 4, 1))])[0]
    part = p.node("aten.squeeze.dim", {"self": part, "dim": -1}, [("c8", ("s0", 4))])[0]
    pairs = p.node("aten.view.default", {"self": x, "size": [length, -1, 2]}, [("f4", ("s0", 4, 2))])[0]
    xc = p.node("aten.view_as_complex.default", {"self": pairs}, [("c8", ("s0", 4))])[0]
    yc = p.node("aten.mul.Tensor", {"self": xc, "other": part}, [("c8", ("s0", 4))])[0]
    y = p.node("aten.view_as_real.default", {"self": yc}, [("f4", ("s0", 4, 2))])[0]
    p.output(p.node("aten.view.default", {"self": y, "size": [length, 8]}, [("f4", ("s0", 8))])[0])
    runs = []
    for n in (1, 16):
        x = drawn(n, n, 8)
        c = (x[:, 0::2] + 1j * x[:, 1::2]) * table[:n]
        runs.append(({"x": x}, [np.stack([c.real, c.imag], -1).reshape(x.shape).astype(np.float32)]))
    return p, runs


@case
def complex_exp():
    p = Program()
    x = p.input("x", (3, 2))
    c = p.node("aten.view_as_complex.default", {"self": x}, [("c8", (3,))])[0]
    c = p.node("aten.exp.default", {"self": c}, [("c8", (3,))])[0]
    p.output(p.node("aten.view_as_real.default", {"self": c}, [("f4", (3, 2))])[0])
    return p, "computes with complex numbers"


#===--- quantised forms -------------------------------------------------------===#


def codes(x, scale, zero, low, high):
    return np.clip(np.round(x / scale) + zero, low, high)


@case
def pt2e_linear():
    """What pt2e leaves of a linear layer: activations and weights of 8 bits, both brought back."""
    p = Program({"s0": (1, 64)})
    x = p.input("x", ("s0", 32))
    g = np.random.default_rng(1)
    w, scales = g.integers(-127, 128, (16, 32)).astype(np.int8), g.uniform(0.01, 0.02, 16).astype(np.float32)
    weight, wscales, zeros = p.weight("w", w), p.weight("s", scales), p.weight("z", np.zeros(16, np.int64))
    low, high = {"quant_min": -128, "quant_max": 127}, {"dtype": Type("i1")}
    q = p.node("quantized_decomposed.quantize_per_tensor.default",
               {"input": x, "scale": 0.05, "zero_point": 3, **low, **high}, [("i1", ("s0", 32))])[0]
    d = p.node("quantized_decomposed.dequantize_per_tensor.default",
               {"input": q, "scale": 0.05, "zero_point": 3, **low, **high}, [("f4", ("s0", 32))])[0]
    v = p.node("quantized_decomposed.dequantize_per_channel.default",
               {"input": weight, "scales": wscales, "zero_points": zeros, "axis": 0, "quant_min": -127, "quant_max": 127,
                "dtype": Type("i1")}, [("f4", (16, 32))])[0]
    p.output(p.node("aten.linear.default", {"input": d, "weight": v}, [("f4", ("s0", 16))])[0])
    runs = []
    for n in (1, 20):
        x = drawn(n, n, 32)
        back = (codes(x, np.float32(0.05), 3, -128, 127) - 3) * np.float32(0.05)
        runs.append(({"x": x}, [(back @ (w * scales[:, None]).T).astype(np.float32)]))
    return p, runs


@case
def pt2e_dynamic():
    """Parameters of each run's own activations."""
    p = Program()
    x = p.input("x", (4, 8))
    limits = {"quant_min": -128, "quant_max": 127}
    scale, zero = p.node("quantized_decomposed.choose_qparams.tensor",
                         {"input": x, **limits, "eps": 1e-5, "dtype": Type("i1")}, [("f8", (1,)), ("i8", (1,))])
    named = {"scale": scale, "zero_point": zero, **limits, "dtype": Type("i1")}
    q = p.node("quantized_decomposed.quantize_per_tensor.tensor", {"input": x, **named}, [("i1", (4, 8))])[0]
    p.output(p.node("quantized_decomposed.dequantize_per_tensor.tensor", {"input": q, **named}, [("f4", (4, 8))])[0])
    x = drawn(6, 4, 8)
    low, high = min(x.min(), 0), max(x.max(), 0)
    scale = np.float32((high - low) / 255)
    zero = np.clip(-128 - np.round(low / scale), -128, 127)
    return p, [({"x": x}, [((codes(x, scale, zero, -128, 127) - zero) * scale).astype(np.float32)])]


@case
def torchao_groups():
    """Weights of 8 bits in groups of 16 along K, with zero points."""
    p = Program({"s0": (1, 8)})
    x = p.input("x", ("s0", 64))
    g = np.random.default_rng(1)
    w = g.integers(-8, 8, (32, 64)).astype(np.int8)
    scales = g.uniform(0.01, 0.02, (32, 4)).astype(np.float32)
    zeros = g.integers(-3, 4, (32, 4)).astype(np.int8)
    v = p.node("torchao.dequantize_affine.default",
               {"input": p.weight("w", w), "block_size": [1, 16], "scale": p.weight("s", scales),
                "zero_point": p.weight("z", zeros), "input_dtype": Type("i1"), "quant_min": -8, "quant_max": 7,
                "output_dtype": Type("f4")}, [("f4", (32, 64))])[0]
    p.output(p.node("aten.linear.default", {"input": x, "weight": v}, [("f4", ("s0", 32))])[0])
    whole = (w - np.repeat(zeros, 16, 1).astype(np.float32)) * np.repeat(scales, 16, 1)
    x = drawn(1, 3, 64)
    return p, [({"x": x}, [(x @ whole.T).astype(np.float32)])]


@case
def torchao_quantize():
    p = Program()
    x = p.input("x", (4, 32))
    scales = p.weight("s", np.full((4, 2), 0.1, np.float32))
    named = {"block_size": [1, 16], "scale": scales, "zero_point": None}
    q = p.node("torchao.quantize_affine.default", {"input": x, **named, "output_dtype": Type("i1")}, [("i1", (4, 32))])[0]
    p.output(p.node("torchao.dequantize_affine.default", {"input": q, **named, "input_dtype": Type("i1")},
                    [("f4", (4, 32))])[0])
    x = drawn(1, 4, 32)
    return p, [({"x": x}, [(codes(x, np.float32(0.1), 0, -128, 127) * np.float32(0.1)).astype(np.float32)])]


#===--- guards ----------------------------------------------------------------===#


@case
def guard():
    """Two dims that PyTorch took to be the same: a run of others is refused."""
    p = Program({"s0": (1, 64), "s1": (1, 128)}, ["L['x'].size()[0] * 2 == L['y'].size()[0]", "L['x'].size()[0] != 1"])
    x, y = p.input("x", ("s0",)), p.input("y", ("s1",))
    p.output(p.node("aten.neg.default", {"self": x}, [("f4", ("s0",))])[0])
    p.output(p.node("aten.exp.default", {"self": y}, [("f4", ("s1",))])[0])
    x, y = drawn(1, 3), drawn(2, 6)
    return p, [({"x": x, "y": y}, [-x, np.exp(y)]), ({"x": x, "y": drawn(3, 7)}, "exported for sizes with")]


@case
def named_dims():
    """Names in an extra file of the archive: they are in what a run says."""
    p = Program({"s0": (1, 64), "s1": (2, 8)}, dims={"x": ["rows", None], "y": {"0": "columns"}})
    x, y = p.input("x", ("s0", 4)), p.input("y", ("s1",))
    p.output(p.node("aten.neg.default", {"self": x}, [("f4", ("s0", 4))])[0])
    p.output(p.node("aten.exp.default", {"self": y}, [("f4", ("s1",))])[0])
    x, y = drawn(1, 3, 4), drawn(2, 6)
    return p, [({"x": x, "y": y}, [-x, np.exp(y)]), ({"x": x, "y": drawn(3, 9)}, "columns"),
               ({"x": drawn(1, 65, 4), "y": y}, "rows")]


@case
def assertion():
    p = Program({"s0": (1, 64)})
    x = p.input("x", ("s0",))
    p.conditions["few"] = "LessThan(Symbol('s0', positive=True, integer=True), Integer(10))"
    p.add("aten._assert_scalar.default", {"self": None, "assert_msg": "at most ten rows"}, [])
    p.nodes[-1]["inputs"][0]["arg"] = {"as_sym_bool": {"as_name": "few"}}
    p.output(p.node("aten.neg.default", {"self": x}, [("f4", ("s0",))])[0])
    return p, [({"x": drawn(1, 10)}, [-drawn(1, 10)]), ({"x": drawn(1, 11)}, "at most ten rows")]


#===----------------------------------------------------------------------------===#


def call(command):
    ran = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    return ran.returncode, ran.stdout + ran.stderr


def check(name, options):
    """None, or what is wrong."""
    program, runs = CASES[name]()
    folder = options.out / name
    folder.mkdir(parents=True, exist_ok=True)
    program.save(folder / "model.pt2")
    code, said = call([options.kpc, "compile", folder / "model.pt2", "--arch", "host,sm_80" if name in EVERYWHERE else "host", "-o", folder / "model.kpc"])
    if isinstance(runs, str):
        return None if code == 1 and runs in said else f"should be refused with '{runs}': {said}"
    if code:
        return f"does not compile: {said}"
    shows = recurrent_programs.SHOWS.get(name, "")
    if shows not in call([options.kpc, "inspect", folder / "model.kpc"])[1]:
        return f"has no kernel '{shows}'"
    devices = ["host", "emulate:sm_80"] if name in EVERYWHERE else ["host"]
    for device, (inputs, outputs) in itertools.product(devices, runs):
        command = [options.kpc, "run", folder / "model.kpc", "--output-dir", folder, "-q", "--device", device]
        for key, value in inputs.items():
            np.save(folder / f"in_{key}.npy", value)
            command += ["--input", f"{key}={folder / f'in_{key}.npy'}"]
        code, said = call(command)
        if isinstance(outputs, str):
            if code == 0 or outputs not in said:
                return f"a run should be refused with '{outputs}': {said}"
            continue
        if code:
            return f"does not run: {said}"
        for place, wanted in enumerate(outputs):
            file = "output.npy" if len(program.outputs) == 1 else f"output_{place}.npy"
            got = np.load(folder / file)
            if got.shape != wanted.shape:
                return f"{device}: output {place} has the shape {got.shape}, not {wanted.shape}"
            relative, absolute = EXACT.get(name, (2e-4, 2e-5))
            if wanted.size and not np.allclose(got, wanted, relative, absolute, equal_nan=True):
                off = np.abs(got.astype(np.float64) - wanted)
                at = np.unravel_index(np.nanargmax(off - relative * np.abs(wanted)), off.shape)
                return f"{device}: output {place} is {got[at]} at {at}, not {wanted[at]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kpc", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--operators", action="store_true", help="all of written_operators.py, not its short ones alone")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    own = list(CASES)
    more = written_operators.CASES | recurrent_programs.MORE | matrix_programs.CASES
    CASES.update(more)
    default = list(more) if options.operators else own + list(written_operators.SHORT)
    faults = 0
    for name in options.names or default:
        fault = check(name, options)
        print(f"{'FAILED' if fault else 'ok':8}{name}{': ' + fault if fault else ''}", flush=True)
        faults += fault is not None
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
