# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of aten, each beside a formula of numpy: cases of written_programs.py.

A case is a program of one input or two and any number of nodes; each node's result is an output. `EXACT` says how far
results may lie off: special functions are computed in f64, so f32 is rounded and nothing more.
"""
import math

import numpy as np

from program_writer import Program, Type

CASES = {}
SHORT = ("windows", "counting", "unused_questions", "unknown_operator")  # what each run of the tests has time for
EXACT = {"special": (1e-6, 1e-12), "gamma": (1e-6, 1e-9), "bessel": (1e-6, 0), "next_numbers": (0, 0)}


def case(function):
    CASES[function.__name__] = function
    return function


def drawn(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def code(array):
    return array.dtype.str.lstrip("<|").replace("b1", "?")


def program(inputs, nodes, ranges=None, symbolic=None):
    """`nodes`: a target, arguments in which names of inputs stand for them, and what each result is in numpy."""
    p = Program(ranges)
    refs = {name: p.input(name, (symbolic or {}).get(name, array.shape), code(array)) for name, array in inputs.items()}
    wanted = []
    for target, arguments, results in nodes:
        results = results if isinstance(results, (list, tuple)) else [results]
        results = [np.asarray(r) for r in results]

        def given(value):
            if isinstance(value, str) and value in refs:
                return refs[value]
            if isinstance(value, list) and value and all(isinstance(v, str) and v in refs for v in value):
                return [refs[v] for v in value]
            return p.weight(f"w{len(p.weights)}", value) if isinstance(value, np.ndarray) else value

        values = p.node(target if target.startswith("torchvision.") else "aten." + target, {n: given(v) for n, v in arguments.items()}, [(code(r), r.shape) for r in results])
        for value, result in zip(values, results):
            p.output(value)
            wanted.append(result)
    return p, [(inputs, wanted)]


def each(function, x):
    return np.array([function(float(v)) for v in x.ravel()]).reshape(x.shape).astype(x.dtype)


#===--- special functions -------------------------------------------------------===#


def scaled_erfc(v):
    """By halves of a continued fraction where erfc has no digits left."""
    if v < 5:
        return math.exp(v * v) * math.erfc(v)
    below = v
    for k in range(60, 0, -1):
        below = v + 0.5 * k / below
    return 1 / (math.sqrt(math.pi) * below)


def log_normal(v):
    if v < -5:
        return math.log(0.5 * scaled_erfc(-v / math.sqrt(2))) - v * v / 2
    return math.log1p(-0.5 * math.erfc(v / math.sqrt(2)))


@case
def special():
    x = np.concatenate([np.linspace(-5, 8, 53), [0, 1, -1, 0.5, 3, -3, 20]]).astype(np.float32)
    u = np.concatenate([np.linspace(-0.999, 0.999, 41), [0.99999, -0.9999999, 1e-6, 0, 1, -1]]).astype(np.float32)
    y = np.abs(x) + np.float32(0.1)

    def inverse(v):
        if abs(v) == 1:
            return math.copysign(math.inf, v)
        low, high = 0.0, 6.0
        for _ in range(200):
            middle = (low + high) / 2
            below = math.erf(middle) < abs(v) if abs(v) < 0.9 else math.erfc(middle) > 1 - abs(v)
            low, high = (middle, high) if below else (low, middle)
        return math.copysign(low, v)

    return program({"x": x, "u": u, "y": y}, [
        ("special_erfcx.default", {"self": "x"}, each(scaled_erfc, x)),
        ("erfc.default", {"self": "x"}, each(math.erfc, x)),
        ("special_log_ndtr.default", {"self": "x"}, each(log_normal, x)),
        ("erfinv.default", {"self": "u"}, each(inverse, u)),
        ("special_entr.default", {"self": "y"}, (-y.astype(float) * np.log(y.astype(float))).astype(np.float32)),
        ("special_xlog1py.default", {"self": "x", "other": "y"}, (x * np.log1p(y.astype(float))).astype(np.float32)),
        ("deg2rad.default", {"self": "x"}, np.deg2rad(x)),
        ("rad2deg.default", {"self": "x"}, np.rad2deg(x)),
        ("float_power.Tensor_Scalar", {"self": "y", "exponent": 1.5}, y.astype(np.float64) ** 1.5),
        ("copysign.Tensor", {"self": "y", "other": "x"}, np.copysign(y, x)),
        ("heaviside.default", {"self": "x", "values": "y"}, np.heaviside(x, y)),
        ("rrelu.default", {"self": "x", "training": False},
         np.where(x < 0, x * np.float32((1 / 8 + 1 / 3) / 2), x).astype(np.float32))])


@case
def products_and_parts():
    """What is made of few others: diagonals, chains, areas, nearness, groups."""
    x, y, sq = drawn(1, 4, 5), drawn(2, 3, 5), drawn(3, 5, 5)
    whole = np.arange(1, 13)
    filled = x.copy()
    filled[range(4), range(4)] = 3
    places = np.array([[0, 1, 0, 2, 1]] * 3)
    means, seen = x.copy().astype(np.float64), np.zeros((4, 5))
    for j in range(5):
        for i in range(3):
            seen[places[i, j], j] += 1
            means[places[i, j], j] = y[i, j] + (means[places[i, j], j] if seen[places[i, j], j] > 1 else 0)
    low = np.outer(x[0], y[0]).astype(np.float32)
    return program({"x": x, "y": y, "sq": sq, "whole": whole, "places": places, "low": low}, [
        ("inner.default", {"self": "x", "other": "y"}, np.inner(x, y)),
        ("linalg_multi_dot.default", {"tensors": ["x", "sq", "sq"]}, x @ sq @ sq),
        ("chain_matmul.default", {"matrices": ["y", "sq"]}, y @ sq),
        ("cov.default", {"self": "x", "correction": 0}, np.cov(x, bias=True).astype(np.float32)),
        ("corrcoef.default", {"self": "x"}, np.corrcoef(x).astype(np.float32)),
        ("diag.default", {"self": "x", "diagonal": -1}, np.diag(x, -1)),
        ("diag.default", {"self": "x", "diagonal": 2}, np.diag(x, 2)),
        ("trapezoid.dx", {"y": "x", "dx": 0.5, "dim": 0}, ((x[1:] + x[:-1]) / 4).sum(0)),
        ("trapezoid.x", {"y": "sq", "x": "sq", "dim": 1},
         ((sq[:, 1:] + sq[:, :-1]) / 2 * np.diff(sq, axis=1)).sum(1)),
        ("isclose.default", {"self": "whole", "other": "whole"}, np.ones(12, bool)),
        ("isclose.default", {"self": "x", "other": "x", "rtol": 0.0, "atol": -1.0}, np.ones((4, 5), bool)),
        ("remainder.Scalar_Tensor", {"self": 10, "other": "whole"}, 10 % whole),
        ("norm.ScalarOpt_dim_dtype", {"self": "x", "p": 1, "dim": [1], "keepdim": True, "dtype": Type("f8")},
         np.abs(x).astype(np.float64).sum(1, keepdims=True)),
        ("fill_diagonal.default", {"self": "x", "fill_value": 3}, filled),
        ("scatter_reduce.two", {"self": "x", "dim": 0, "index": "places", "src": "y", "reduce": "mean", "include_self": False},
         (means / np.maximum(seen, 1)).astype(np.float32)),
        ("linalg_matrix_rank.atol_rtol_float", {"self": "low"}, np.array(1)),
        ("linalg_matrix_rank.default", {"self": "x", "tol": 1e-3}, np.array(4)),
        ("view.dtype", {"self": "x", "dtype": Type("i4")}, x.view(np.int32)),
        ("native_dropout.default", {"input": "x", "p": 0.5, "train": False}, (x, np.ones(x.shape, bool)))])


@case
def next_numbers():
    x = np.array([0, 0, -0.0, 1, -1, 1e-40, 3.5, 3.5, -2, np.inf, np.nan, 1], np.float32)
    y = np.array([1, -1, 5, 2, 0, -1, 3.5, -9, -3, 1, 1, np.nan], np.float32)
    return program({"x": x, "y": y}, [("nextafter.default", {"self": "x", "other": "y"}, np.nextafter(x, y))])


@case
def sine():
    x = np.concatenate([np.linspace(-3, 3, 31), [0, 0.5]]).astype(np.float32)
    return program({"x": x}, [("sinc.default", {"self": "x"}, np.sinc(x))])


@case
def gamma():
    x = np.concatenate([np.linspace(-4.7, 12, 67), [1, 2, 1.0001, 1.9999, 1.46163, 100, 0.01]]).astype(np.float32)

    def digamma(v):
        if v < 0.5:
            return digamma(1 - v) - math.pi / math.tan(math.pi * v)
        total = 0.0
        while v < 30:
            total, v = total - 1 / v, v + 1
        return total + math.log(v) - 1 / (2 * v) - 1 / (12 * v**2) + 1 / (120 * v**4) - 1 / (252 * v**6)

    return program({"x": x}, [("lgamma.default", {"self": "x"}, each(math.lgamma, x)),
                              ("digamma.default", {"self": "x"}, each(digamma, x))])


@case
def bessel():
    x = np.concatenate([np.linspace(-20, 20, 41), [14.9, 15.1, 0, 60]]).astype(np.float32)
    return program({"x": x}, [
        ("i0.default", {"self": "x"}, np.i0(x.astype(np.float64)).astype(np.float32)),
        ("special_i0e.default", {"self": "x"},
         (np.i0(x.astype(np.float64)) * np.exp(-np.abs(x.astype(np.float64)))).astype(np.float32))])


@case
def divisors():
    g = np.random.default_rng(1)
    a, b = g.integers(-60, 60, (4, 9)), g.integers(-60, 60, (9,))
    a[0, 0] = b[0] = 0
    return program({"a": a, "b": b}, [("gcd.default", {"self": "a", "other": "b"}, np.gcd(a, b)),
                                      ("lcm.default", {"self": "a", "other": "b"}, np.lcm(a, b))])


#===--- losses ------------------------------------------------------------------===#


@case
def losses():
    x, t = drawn(1, 4, 5), drawn(2, 4, 5)
    p, q = 1 / (1 + np.exp(-x)), 1 / (1 + np.exp(-t))
    d = np.abs(x - t)
    signs = np.sign(t)
    log_p = x - np.log(np.exp(x).sum(1, keepdims=True))
    share = np.exp(t) / np.exp(t).sum(1, keepdims=True)
    both = np.maximum(x, 0) - x * q + np.log1p(np.exp(-np.abs(x)))
    weight = np.abs(drawn(3, 5))
    nodes = []
    for how, reduce in ((0, lambda v: v), (1, lambda v: v.mean(dtype=np.float32)), (2, lambda v: v.sum(dtype=np.float32))):
        put = {"self": "x", "target": "t", "reduction": how}
        nodes += [("mse_loss.default", put, reduce(d * d)), ("l1_loss.default", put, reduce(d)),
                  ("smooth_l1_loss.default", put | {"beta": 0.7},
                   reduce(np.where(d < 0.7, 0.5 * d * d / np.float32(0.7), d - np.float32(0.35)))),
                  ("huber_loss.default", put | {"delta": 0.7},
                   reduce(np.where(d < 0.7, 0.5 * d * d, np.float32(0.7) * (d - np.float32(0.35))))),
                  ("binary_cross_entropy.default", {"self": "p", "target": "q", "reduction": how},
                   reduce(-(q * np.log(p) + (1 - q) * np.log(1 - p)))),
                  ("binary_cross_entropy_with_logits.default", put | {"target": "q", "weight": weight}, reduce(both * weight)),
                  ("kl_div.default", {"self": "log_p", "target": "share", "reduction": how},
                   reduce(share * (np.log(share) - log_p))),
                  ("hinge_embedding_loss.default", put | {"target": "signs", "margin": 1.0},
                   reduce(np.where(signs == 1, x, np.maximum(1 - x, 0)))),
                  ("soft_margin_loss.default", put | {"target": "signs"}, reduce(np.log1p(np.exp(-signs * x))))]
    return program({"x": x, "t": t, "p": p, "q": q, "signs": signs, "log_p": log_p, "share": share}, nodes)


@case
def class_losses():
    x = drawn(1, 4, 6, 3)
    t = np.random.default_rng(2).integers(0, 6, (4, 3))
    t[1, 2] = -100
    w = np.abs(drawn(3, 6))
    log = x - np.log(np.exp(x).sum(1, keepdims=True))
    there = t >= 0
    scale = np.where(there, w[np.maximum(t, 0)], 0)
    picked = -np.take_along_axis(log, np.maximum(t, 0)[:, None], 1)[:, 0] * scale
    a, b, y = drawn(4, 5, 8), drawn(5, 5, 8), np.array([1, -1, 1, -1, 1], np.float32)
    cosine = (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1))
    smooth = -np.where(there, log.mean(1), 0)
    plain = -np.where(there, np.take_along_axis(log, np.maximum(t, 0)[:, None], 1)[:, 0], 0)
    return program({"x": x, "t": t, "log": log, "a": a, "b": b, "y": y}, [
        ("nll_loss_nd.default", {"self": "log", "target": "t", "weight": w, "reduction": 1}, np.float32(picked.sum() / scale.sum())),
        ("nll_loss_nd.default", {"self": "log", "target": "t", "weight": w, "reduction": 0}, picked.astype(np.float32)),
        ("nll_loss2d_forward.default", {"self": "log", "target": "t", "weight": w, "reduction": 2, "ignore_index": -100},
         [np.float32(picked.sum()), np.float32(scale.sum())]),
        ("cross_entropy_loss.default", {"self": "x", "target": "t", "weight": w}, np.float32(picked.sum() / scale.sum())),
        ("cross_entropy_loss.default", {"self": "x", "target": "t", "label_smoothing": 0.1},
         np.float32((0.9 * plain.sum() + 0.1 * smooth.sum()) / there.sum())),
        ("cosine_embedding_loss.default", {"input1": "a", "input2": "b", "target": "y", "margin": 0.1},
         np.float32(np.where(y == 1, 1 - cosine, np.maximum(cosine - 0.1, 0)).mean())),
        ("margin_ranking_loss.default", {"input1": "a", "input2": "b", "target": np.ones((5, 8), np.float32), "margin": 0.2},
         np.float32(np.maximum(b - a + np.float32(0.2), 0).mean()))])


#===--- running values, orders, counts ------------------------------------------===#


def last(values, axis):
    """Greatest elements so far, and the places of the last ones that are equal."""
    best, where = np.maximum.accumulate(values, axis), np.zeros(values.shape, np.int64)
    for index in np.ndindex(values.shape):
        front = list(index)
        front[axis] = slice(0, index[axis] + 1)
        where[index] = np.flatnonzero(values[tuple(front)] == best[index])[-1]
    return best, where


@case
def running():
    x = np.round(drawn(1, 3, 7, 2), 1)
    gaps = x.copy()
    gaps[0, 1] = np.nan
    high, low = last(x, 1), last(-x, 1)
    return program({"x": x, "gaps": gaps}, [
        ("cummax.default", {"self": "x", "dim": 1}, list(high)),
        ("cummin.default", {"self": "x", "dim": 1}, [-low[0], low[1]]),
        ("cumprod.default", {"self": "x", "dim": -2}, np.cumprod(x, 1)),
        ("logcumsumexp.default", {"self": "x", "dim": 1}, np.logaddexp.accumulate(x, 1)),
        ("nansum.default", {"self": "gaps", "dim": [1]}, np.nansum(gaps, 1)),
        ("nanmean.default", {"self": "gaps", "dim": [1], "keepdim": True}, np.nanmean(gaps, 1, keepdims=True)),
        ("aminmax.default", {"self": "x", "dim": 1}, [x.min(1), x.max(1)]),
        ("aminmax.default", {"self": "x"}, [x.min(), x.max()]),
        ("kthvalue.default", {"self": "x", "k": 3, "dim": 0}, [np.sort(x, 0)[2], np.argsort(x, 0, kind="stable")[2]]),
        ("quantile.scalar", {"self": "x", "q": 0.3, "dim": 1}, np.quantile(x, 0.3, 1).astype(np.float32)),
        ("msort.default", {"self": "x"}, np.sort(x, 0))])


@case
def running_far():
    """Eleven doublings: kernels that hold all of them would compute each element 2048 times."""
    x = np.round(drawn(1, 2, 1300), 1)
    near = (1 + x / 50).astype(np.float32)
    high = last(x, 1)
    return program({"x": x, "near": near}, [
        ("cummax.default", {"self": "x", "dim": 1}, list(high)),
        ("cumprod.default", {"self": "near", "dim": 1}, np.cumprod(near, 1, np.float64).astype(np.float32)),
        ("logcumsumexp.default", {"self": "x", "dim": -1}, np.logaddexp.accumulate(x.astype(np.float64), 1).astype(np.float32))])


@case
def searching():
    edges, rows = np.sort(drawn(1, 9)), np.sort(drawn(2, 3, 6), 1)
    x = np.concatenate([drawn(3, 3, 4), rows[:, :1]], 1)
    inside = [np.searchsorted(r, v) for r, v in zip(rows, x)]
    return program({"edges": edges, "rows": rows, "x": x}, [
        ("bucketize.Tensor", {"self": "x", "boundaries": "edges"}, np.searchsorted(edges, x)),
        ("bucketize.Tensor", {"self": "edges", "boundaries": "edges", "right": True, "out_int32": True},
         np.searchsorted(edges, edges, "right").astype(np.int32)),
        ("searchsorted.Tensor", {"sorted_sequence": "rows", "self": "x"}, np.stack(inside)),
        ("histc.default", {"self": "x", "bins": 5, "min": -1.0, "max": 1.0}, np.histogram(x, 5, (-1, 1))[0].astype(np.float32)),
        ("histc.default", {"self": "x", "bins": 4}, np.histogram(x, 4)[0].astype(np.float32))])


@case
def counting():
    """Sizes that data decides."""
    p = Program({"u0": (0, 64), "u1": (0, 64), "u2": (0, 64)})
    x = p.input("x", (12,), "i8")
    p.output(p.node("aten.bincount.default", {"self": x, "minlength": 4}, [("i8", ("u0",))])[0])
    for v in p.node("aten._unique2.default", {"self": x, "sorted": True, "return_inverse": True, "return_counts": True},
                    [("i8", ("u1",)), ("i8", (12,)), ("i8", ("u1",))]):
        p.output(v)
    for v in p.node("aten.unique_consecutive.default", {"self": x, "return_inverse": False, "return_counts": True},
                    [("i8", ("u2",)), ("i8", (0,)), ("i8", ("u2",))])[::2]:
        p.output(v)
    runs = []
    for x in (np.array([3, 3, 1, 9, 9, 9, 0, 1, 1, 3, 3, 20]), np.zeros(12, np.int64)):
        starts = np.flatnonzero(np.r_[True, x[1:] != x[:-1]])
        runs.append(({"x": x}, [np.bincount(x, minlength=4), *np.unique(x, return_inverse=True, return_counts=True), x[starts],
                                np.diff(np.r_[starts, 12])]))
    return p, runs


#===--- compositions and tables -------------------------------------------------===#


@case
def composition():
    a, b, v, w = drawn(1, 3, 4), drawn(2, 2, 5), drawn(3, 4), drawn(4, 4)
    k = drawn(5, 3, 4, 5)
    block = np.zeros((5, 9), np.float32)
    block[:3, :4], block[3:, 4:] = a, b
    diagonals = np.stack([np.diag(r, 1) for r in a])
    h = np.hanning(9)[:8].astype(np.float32)
    grid = np.stack(np.meshgrid(v, w, indexing="ij"), -1).reshape(-1, 2)
    return program({"a": a, "b": b, "v": v, "w": w, "k": k}, [
        ("block_diag.default", {"tensors": ["a", "b"]}, block),
        ("cartesian_prod.default", {"tensors": ["v", "w"]}, grid),
        ("column_stack.default", {"tensors": ["v", "w"]}, np.column_stack([v, w])),
        ("hstack.default", {"tensors": ["v", "w"]}, np.hstack([v, w])),
        ("vstack.default", {"tensors": ["v", "w"]}, np.vstack([v, w])),
        ("dstack.default", {"tensors": ["a", "a"]}, np.dstack([a, a])),
        *[("rot90.default", {"self": "k", "k": n, "dims": [0, 2]}, np.rot90(k, n, (0, 2))) for n in (1, 2, 3, -1)],
        ("fliplr.default", {"self": "a"}, np.fliplr(a)),
        ("diag_embed.default", {"self": "a", "offset": 1}, diagonals),
        ("take.default", {"self": "a", "index": np.array([0, 7, -1])}, a.ravel()[[0, 7, -1]]),
        ("trace.default", {"self": "a"}, np.trace(a)),
        ("vdot.default", {"self": "v", "other": "w"}, np.vdot(v, w)),
        ("kron.default", {"self": "a", "other": "b"}, np.kron(a, b)),
        ("tensordot.default", {"self": "k", "other": "a", "dims_self": [1, 0], "dims_other": [1, 0]},
         np.tensordot(k, a, ([1, 0], [1, 0]))),
        ("bilinear.default", {"input1": "a", "input2": np.ascontiguousarray(a[:, :3]), "weight": drawn(6, 2, 4, 3), "bias": drawn(7, 2)},
         np.einsum("ri,oij,rj->ro", a, drawn(6, 2, 4, 3), a[:, :3]) + drawn(7, 2)),
        ("linalg_cross.default", {"self": np.ascontiguousarray(a[:, :3]), "other": np.ascontiguousarray(a[:, 1:])}, np.cross(a[:, :3], a[:, 1:])),
        ("tril_indices.default", {"row": 4, "col": 5}, np.stack(np.tril_indices(4, 0, 5))),
        ("triu_indices.default", {"row": 3, "col": 4, "offset": 1}, np.stack(np.triu_indices(3, 1, 4))),
        ("logspace.default", {"start": 0, "end": 2, "steps": 5}, np.logspace(0, 2, 5).astype(np.float32)),
        ("hann_window.default", {"window_length": 8}, h),
        ("hamming_window.periodic", {"window_length": 8, "periodic": False}, np.hamming(8).astype(np.float32)),
        ("blackman_window.periodic", {"window_length": 8, "periodic": False}, np.blackman(8).astype(np.float32))])


@case
def windows():
    """Windows of a dynamic axis."""
    p = Program({"s0": (4, 64)})
    x = p.input("x", (2, "s0"))
    windows = "(Symbol('s0', positive=True, integer=True) - 4)//2 + 1"
    y = p.node("aten.unfold.default", {"self": x, "dimension": 1, "size": 4, "step": 2}, [("f4", (2, windows, 4))])[0]
    p.output(y)
    runs = []
    for n in (4, 9, 20):
        x = drawn(n, 2, n)
        runs.append(({"x": x}, [np.lib.stride_tricks.sliding_window_view(x, 4, 1)[:, ::2]]))
    return p, runs


@case
def bags():
    w, i = drawn(1, 10, 4), np.array([1, 2, 4, 5, 4, 3, 2, 9])
    offsets = np.array([0, 3, 3, 6])
    parts = [i[0:3], i[3:3], i[3:6], i[6:8]]
    each = drawn(2, 8)
    shares = [each[0:3], each[3:3], each[3:6], each[6:8]]

    def of(function, skip=None):
        return np.stack([function(w[[k for k in part if k != skip]]) if len([k for k in part if k != skip]) else np.zeros(4)
                         for part in parts]).astype(np.float32)

    put = {"weight": w, "indices": "i", "offsets": "offsets", "scale_grad_by_freq": False}
    nodes = [("embedding_bag.padding_idx", put | {"mode": mode, "sparse": False, "include_last_offset": False, "padding_idx": skip},
              of(function, skip)) for mode, function in ((0, lambda r: r.sum(0)), (1, lambda r: r.mean(0)), (2, lambda r: r.max(0)))
             for skip in (None, 4)]
    nodes.append(("embedding_bag.default", put | {"mode": 0, "per_sample_weights": "each"},
                  np.stack([(w[part] * s[:, None]).sum(0) for part, s in zip(parts, shares)])))
    return program({"i": i, "offsets": offsets, "each": each}, nodes)


@case
def unused_questions():
    """What takes no tensors and whose result nothing uses is left out."""
    p = Program()
    x = p.input("x", (3,))
    p.add("torchvision._cuda_version.default", {}, [{"as_none": True}])
    p.add("aten.can_cast.default", {"from_": Type("f4"), "to": Type("i4")}, [])
    p.output(p.node("aten.neg.default", {"self": x}, [("f4", (3,))])[0])
    return p, [({"x": drawn(1, 3)}, [-drawn(1, 3)])]


@case
def unknown_operator():
    p = Program()
    x = p.input("x", (3,))
    p.output(p.node("torchvision.ps_roi_align.default", {"input": x}, [("f4", (3,))])[0])
    return p, "kpc has no import rule for this operator"


#===--- what is refused, with the way out ------------------------------------------===#


def refused(name, words, target, arguments, results, shape=(3, 4)):
    def build():
        p = Program()
        x = p.input("x", shape)
        for v in p.node("aten." + target, {n: x if isinstance(v, str) and v == "x" else v for n, v in arguments.items()}, results):
            p.output(v)
        return p, words

    CASES[name] = build


refused("rrelu_training", "after model.eval()", "rrelu.default", {"self": "x", "training": True}, [("f4", (3, 4))])
refused("unique_rows", "make one number of each row", "unique_dim.default", {"self": "x", "dim": 0}, [("f4", (3, 4))])
refused("long_transform", "known lengths from 1 to 1048576", "fft_rfft.default", {"self": "x"}, [("c8", (1, 1 << 20 | 1))], (1, 1 << 21))
refused("many_bins", "1 to 65536", "histc.default", {"self": "x", "bins": 70000}, [("f4", (70000,))])
refused("long_mode", "up to 4096", "mode.default", {"self": "x"}, [("f4", (3,)), ("i8", (3,))], (3, 5000))
