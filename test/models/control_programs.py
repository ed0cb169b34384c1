# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of loops, scans, branches and sizes that data decides: cases of written_programs.py."""
import numpy as np

from program_cases import case, drawn, everywhere
from program_writer import Graph, Program, Ref, Type


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
def first_and_last_of_what_data_decides():
    """The size of each slice is a symbol of its own, of which PyTorch says nothing."""
    p = Program({"u0": (0, 20), "u1": (0, None), "u2": (0, None)})
    x = p.input("x", (4, 5))
    mask = p.node("aten.gt.Scalar", {"self": x, "other": 0}, [("?", (4, 5))])[0]
    y = p.node("aten.masked_select.default", {"self": x, "mask": mask}, [("f4", ("u0",))])[0]
    p.output(p.node("aten.slice.Tensor", {"self": y, "dim": 0, "start": 0, "end": 6}, [("f4", ("u1",))])[0])
    z = p.node("aten.slice.Tensor", {"self": y, "dim": 0, "start": 0, "end": -1}, [("f4", ("u2",))])[0]
    p.output(p.node("aten.mul.Scalar", {"self": z, "other": 2.0}, [("f4", ("u2",))])[0])
    return p, [({"x": x}, [x[x > 0][:6], x[x > 0][:-1] * 2]) for x in (drawn(4, 4, 5), -abs(drawn(1, 4, 5)), drawn(2, 4, 5) - 1.5)]


@case
def item_as_a_size():
    p = Program({"u0": (0, 10)})
    x = p.input("x", (10,))
    n = p.input("n", (), "i8")
    count = p.number("aten.item.default", {"self": n}, "u0")
    p.output(p.node("aten.slice.Tensor", {"self": x, "dim": 0, "start": 0, "end": count}, [("f4", ("u0",))])[0])
    x = drawn(1, 10)
    return p, [({"x": x, "n": np.array(k)}, [x[:k]]) for k in (3, 10, 0)]
