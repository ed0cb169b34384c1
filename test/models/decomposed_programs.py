# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of written_programs.py: what run_decompositions() leaves, triangular factors, functions of matrices, other names
of operators, and views that are written to; beside numpy.
"""
import math

import numpy as np

from program_writer import Program
from written_operators import drawn, program

CASES = {}
SHORT = ("decomposed", "written_diagonals", "eigenvalues_of_any_matrix", "eigenvectors_of_any_matrix",
         "strides_of_what_is_turned", "copies_of_views", "strides_that_lead_outside", "diagonals_of_other_sizes")  # what each run of the tests has time for
EXACT = {"triangular_factors": (1e-4, 1e-5), "exponentials": (1e-5, 1e-6), "double_exponentials": (1e-12, 1e-14),
         "ranks": (1e-4, 1e-5), "many_names": (1e-5, 1e-6)}


def case(function):
    CASES[function.__name__] = function
    return function


def lu(a, pivots=True):
    """As LAPACK's getrf: both factors, and the exchanges from 1."""
    a = a.astype(np.float64).copy()
    rows, columns = a.shape
    exchanges = []
    for k in range(min(rows, columns)):
        best = k + int(np.argmax(np.abs(a[k:, k]))) if pivots else k
        a[[k, best]] = a[[best, k]]
        exchanges.append(best + 1)
        if a[k, k] != 0:
            a[k + 1:, k] /= a[k, k]
            a[k + 1:, k + 1:] -= np.outer(a[k + 1:, k], a[k, k + 1:])
    return a, np.array(exchanges, np.int32)


def unpacked(both, exchanges):
    rows, columns = both.shape
    least = min(rows, columns)
    order = np.arange(rows)
    for k, other in enumerate(exchanges - 1):
        order[[k, other]] = order[[other, k]]
    p = np.zeros((rows, rows))
    p[order, np.arange(rows)] = 1
    return p, np.tril(both[:, :least], -1) + np.eye(rows, least), np.triu(both[:least])


@case
def triangular_factors():
    batch, tall, wide = drawn(1, 2, 5, 5), drawn(2, 6, 4), drawn(3, 3, 5)
    singular = np.array([[1, 2, 3], [2, 4, 6], [1, 1, 1]], np.float32)
    right, rows, vectors = drawn(4, 2, 5, 3), drawn(5, 2, 3, 5), drawn(6, 5, 2)
    f4 = lambda x: np.asarray(x, np.float32)
    nodes = []
    for name, x in (("tall", tall), ("wide", wide), ("singular", singular)):
        both, exchanges = lu(x)
        p, l, u = unpacked(both, exchanges)
        assert np.allclose(p @ l @ u, x, atol=1e-5)
        nodes += [("linalg_lu_factor.default", {"A": name}, [f4(both), exchanges]),
                  ("linalg_lu_factor_ex.default", {"A": name}, [f4(both), exchanges, np.int32(3 if name == "singular" else 0)]),
                  ("linalg_lu.default", {"A": name}, [f4(p), f4(l), f4(u)]),
                  ("lu_unpack.default", {"LU_data": f4(both), "LU_pivots": exchanges}, [f4(p), f4(l), f4(u)])]
    nodes.append(("linalg_lu_factor.default", {"A": "wide", "pivot": False},
                  [f4(lu(wide, False)[0]), lu(wide, False)[1]]))
    factors = [lu(x) for x in batch]
    both, exchanges = f4([f[0] for f in factors]), np.array([f[1] for f in factors])
    nodes.append(("_lu_with_info.default", {"self": "batch"}, [both, exchanges, np.zeros(2, np.int32)]))
    solve = np.linalg.solve
    turned = batch.swapaxes(1, 2)
    for left, adjoint, name, wanted in (
            (True, False, "right", solve(batch, right)), (True, True, "right", solve(turned, right)),
            (False, False, "rows", solve(turned, rows.swapaxes(1, 2)).swapaxes(1, 2)),
            (False, True, "rows", solve(batch, rows.swapaxes(1, 2)).swapaxes(1, 2))):
        nodes.append(("linalg_lu_solve.default", {"LU": both, "pivots": exchanges, "B": name, "left": left, "adjoint": adjoint},
                      f4(wanted)))
    nodes.append(("lu_solve.default", {"self": "vectors", "LU_data": both, "LU_pivots": exchanges}, f4(solve(batch, vectors))))
    # Elements beside the triangle do not count; diagonals that are not small keep the errors so.
    heavy = batch + 4 * np.eye(5, dtype=np.float32)
    for upper, left, unit in ((True, True, False), (False, True, True), (True, False, False), (False, False, False)):
        t = np.triu(heavy) if upper else np.tril(heavy)
        t = np.where(np.eye(5, dtype=bool), 1, t) if unit else t
        wanted = solve(t, right) if left else solve(t.swapaxes(1, 2), rows.swapaxes(1, 2)).swapaxes(1, 2)
        nodes.append(("linalg_solve_triangular.default", {"self": "heavy", "B": "right" if left else "rows", "upper": upper,
                                                          "left": left, "unitriangular": unit}, f4(wanted)))
    nodes.append(("triangular_solve.default", {"self": "vectors", "A": "heavy", "upper": False, "transpose": True},
                  [f4(solve(np.tril(heavy).swapaxes(1, 2), vectors)), heavy]))
    low = np.tril(heavy)
    whole = (low @ low.swapaxes(1, 2)).astype(np.float64)
    nodes += [("cholesky_solve.default", {"self": "right", "input2": "heavy"}, f4(solve(whole, right))),
              ("cholesky_solve.default", {"self": "right", "input2": f4(heavy.swapaxes(1, 2)), "upper": True}, f4(solve(whole, right))),
              ("cholesky_inverse.default", {"self": "heavy"}, f4(np.linalg.inv(whole)))]
    return program({"batch": batch, "tall": tall, "wide": wide, "singular": singular, "right": right, "rows": rows,
                    "vectors": vectors, "heavy": heavy}, nodes)


def exponential(x):
    """By 40 terms of a matrix of which no sum of a column is above 1/16, squared."""
    x = x.astype(np.float64)
    times = max(0, int(np.ceil(np.log2(max(np.abs(x).sum(0).max(), 1e-30) * 16))))
    term = total = np.eye(len(x))
    for k in range(1, 40):
        term = term @ (x / 2**times) / k
        total = total + term
    for _ in range(times):
        total = total @ total
    return total


def exponentials_of(kind):
    x = drawn(1, 3, 5, 5).astype(kind)
    x[1] *= 4  # one that is squared more often than the others
    x[2] *= 0.01
    zero, one = np.zeros((4, 4), kind), np.array([[-300.0]], kind)
    turn = np.array([[0, -1], [1, 0]], kind) * 30
    return program({"x": x, "zero": zero, "one": one, "turn": turn}, [
        ("linalg_matrix_exp.default", {"self": "x"}, np.array([exponential(m) for m in x]).astype(kind)),
        ("matrix_exp.default", {"self": "zero"}, np.eye(4, dtype=kind)),
        ("matrix_exp.default", {"self": "one"}, np.exp(one))] + (
            [("matrix_exp.default", {"self": "turn"}, exponential(turn).astype(kind))] if kind == np.float64 else []))


@case
def exponentials():
    return exponentials_of(np.float32)


@case
def double_exponentials():
    return exponentials_of(np.float64)


@case
def ranks():
    """Tolerances in tensors, one for each matrix."""
    u, _ = np.linalg.qr(drawn(1, 4, 4).astype(np.float64))
    values = np.array([[8, 4, 1, 0.1], [2, 1, 0.5, 1e-9]])
    x = (u * values[:, None] @ u.T).astype(np.float32)
    s = np.abs(values)
    at, share = np.array([3, 0.2], np.float32), np.array(0.2, np.float32)

    def rank(bound):
        return (s > np.broadcast_to(bound, (2,))[:, None]).sum(1)

    def inverse(bound):
        return np.array([(u * np.where(v > b, 1 / v, 0)) @ u.T for v, b in zip(values, np.broadcast_to(bound, (2,)))]).astype(np.float32)

    most = s.max(1)
    nodes = [("linalg_matrix_rank.atol_rtol_tensor", {"input": "x", "atol": at}, rank(at)),
             ("linalg_matrix_rank.atol_rtol_tensor", {"input": "x", "rtol": share}, rank(share * most)),
             ("linalg_matrix_rank.atol_rtol_tensor", {"input": "x", "atol": at, "rtol": share}, rank(np.maximum(at, share * most))),
             ("linalg_matrix_rank.atol_rtol_tensor", {"input": "x"}, rank(most * 4 * 2.0**-23)),
             ("linalg_matrix_rank.tol_tensor", {"input": "x", "tol": at}, rank(at)),
             ("linalg_pinv.atol_rtol_tensor", {"self": "x", "rtol": share}, inverse(share * most)),
             ("linalg_pinv.atol_rtol_tensor", {"self": "x", "atol": at}, inverse(at)),
             ("linalg_pinv.rcond_tensor", {"self": "x", "rcond": np.array([0.2, 0.4], np.float32)}, inverse(np.array([0.2, 0.4]) * most)),
             ("pinverse.default", {"self": "x", "rcond": 0.2}, inverse(0.2 * most)),
             ("linalg_cond.default", {"self": "well"}, np.array([4], np.float32)),
             ("linalg_cond.default", {"self": "well", "p": -2}, np.array([0.25], np.float32))]
    well = (u * np.array([[8, 4, 3, 2]]) @ u.T).astype(np.float32)[None]
    return program({"x": x, "well": well}, nodes)


class Unread:
    """A result that nothing reads."""

    def __init__(self, type, shape):
        self.type, self.shape = type, shape


def with_unread(inputs, nodes):
    """As `program`, of nodes some of whose results nothing reads."""
    p = Program()
    code = lambda a: a.dtype.str.lstrip("<|").replace("b1", "?")
    refs = {name: p.input(name, array.shape, code(array)) for name, array in inputs.items()}
    wanted = []
    for target, arguments, results in nodes:
        given = {n: refs.get(v, v) if isinstance(v, str) else v for n, v in arguments.items()}
        values = p.node("aten." + target, given, [(r.type if isinstance(r, Unread) else code(r), r.shape) for r in results])
        for value, result in zip(values, results):
            if not isinstance(result, Unread):
                p.output(value)
                wanted.append(result)
    return p, [(inputs, wanted)]


@case
def decomposed():
    """Names in which PyTorch's decompositions leave norms and attention."""
    x, scale, bias = drawn(1, 2, 6, 5, 3), drawn(2, 6), drawn(3, 6)
    groups = x.reshape(2, 3, -1).astype(np.float64)
    mean, var = groups.mean(-1, keepdims=True), groups.var(-1, keepdims=True)
    normal = ((groups - mean) / np.sqrt(var + 1e-5)).reshape(x.shape) * scale[:, None, None] + bias[:, None, None]
    each = [mean[..., 0], 1 / np.sqrt(var[..., 0] + 1e-5)]
    rows, weight = drawn(4, 4, 8), drawn(5, 8)
    root = 1 / np.sqrt((rows.astype(np.float64)**2).mean(-1, keepdims=True) + 1e-6)
    v, g = drawn(6, 4, 3), np.abs(drawn(7, 4, 1))
    length = np.sqrt((v.astype(np.float64)**2).sum(1, keepdims=True))
    q, k, w = drawn(8, 2, 3, 4, 8), drawn(9, 2, 3, 6, 8), drawn(10, 2, 3, 6, 8)
    mask = drawn(11, 2, 1, 4, 6)

    def softmax(s):
        e = np.exp(s - s.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def attended(added=0, scale=8**-0.5):
        scores = q.astype(np.float64) @ k.swapaxes(-1, -2).astype(np.float64) * scale + added
        return (softmax(scores) @ w).astype(np.float32)

    hidden = np.where(drawn(12, 3, 7) > 0, -np.inf, drawn(13, 3, 7)).astype(np.float32)
    hidden[1] = -np.inf
    safe = np.zeros((3, 7), np.float32)
    safe[[0, 2]] = softmax(hidden[[0, 2]].astype(np.float64))
    f4 = lambda a: np.asarray(a, np.float32)
    qkv = {"query": "q", "key": "k", "value": "w"}
    rest = [Unread("f4", (2, 3, 4))]
    inputs = {"x": x, "scale": scale, "bias": bias, "rows": rows, "weight": weight, "v": v, "g": g, "q": q, "k": k, "w": w,
              "mask": mask, "hidden": hidden, "a": np.arange(-6, 6, dtype=np.int8).reshape(3, 4), "c": np.arange(8, dtype=np.int8).reshape(4, 2)}
    return with_unread(inputs, [
        ("native_group_norm.default", {"input": "x", "weight": "scale", "bias": "bias", "N": 2, "C": 6, "HxW": 15, "group": 3, "eps": 1e-5},
         [f4(normal), *map(f4, each)]),
        ("_fused_rms_norm.default", {"input": "rows", "normalized_shape": [8], "weight": "weight", "eps": 1e-6}, [f4(rows * root * weight), f4(root)]),
        ("_weight_norm_interface.default", {"v": "v", "g": "g", "dim": 0}, [f4(v * g / length), f4(length)]),
        ("_safe_softmax.default", {"self": "hidden", "dim": 1}, [safe]),
        ("_scaled_dot_product_flash_attention_for_cpu.default", dict(qkv, attn_mask="mask"), [attended(mask), *rest]),
        ("_scaled_dot_product_flash_attention_for_cpu.default", dict(qkv, dropout_p=0.0, is_causal=False, scale=0.5), [attended(0, 0.5), *rest]),
        ("_scaled_dot_product_efficient_attention.default", dict(qkv, attn_bias="mask", compute_log_sumexp=False),
         [attended(mask), *rest, Unread("i8", ()), Unread("i8", ())]),
        ("_scaled_dot_product_attention_math.default", qkv, [attended(), Unread("f4", (2, 3, 4, 6))]),
        ("_int_mm.default", {"self": "a", "mat2": "c"}, [inputs["a"].astype(np.int32) @ inputs["c"].astype(np.int32)]),
    ])


@case
def many_names():
    """Operators by their other names and forms."""
    x, y = drawn(1, 3, 4), np.abs(drawn(2, 3, 4)) + 0.1
    holes = x.copy()
    holes[0, 1], holes[1, 2], holes[2, 0] = np.nan, np.inf, -np.inf
    other = np.where(np.isnan(holes), 1, np.nan).astype(np.float32)
    whole, some = np.array([3, -1, 0, 7, 3]), np.array([3, 7])
    big = np.abs(x) + 1.5
    nodes = [
        ("arccosh.default", {"self": "big"}, np.arccosh(big)), ("arcsinh.default", {"self": "x"}, np.arcsinh(x)),
        ("arctanh.default", {"self": np.tanh(x)}, np.arctanh(np.tanh(x))), ("fix.default", {"self": "x"}, np.fix(x)),
        ("special_expm1.default", {"self": "x"}, np.expm1(x)), ("special_log1p.default", {"self": "y"}, np.log1p(y)),
        ("special_exp2.default", {"self": "x"}, np.exp2(x)), ("special_round.default", {"self": "x", "decimals": 1}, np.round(x, 1)),
        ("special_logsumexp.default", {"self": "x", "dim": [1]}, np.log(np.exp(x).sum(1))),
        ("special_softmax.default", {"self": "x", "dim": 1}, np.exp(x) / np.exp(x).sum(1, keepdims=True)),
        ("special_ndtr.default", {"self": "x"}, np.vectorize(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)))(x).astype(np.float32)),
        ("special_xlogy.self_scalar", {"self": 2.0, "other": "y"}, 2 * np.log(y)), ("xlogy.Scalar_Other", {"self": "x", "other": 3.0}, x * np.float32(math.log(3))),
        ("greater.Scalar", {"self": "x", "other": 0.5}, x > 0.5), ("less_equal.Scalar", {"self": "x", "other": 0.5}, x <= 0.5),
        ("not_equal.Scalar", {"self": "whole", "other": 3}, whole != 3), ("subtract.Scalar", {"self": "x", "other": 2}, x - 2),
        ("multiply.Scalar", {"self": "x", "other": 2}, x * 2), ("divide.Scalar", {"self": "x", "other": 4}, x / 4),
        ("divide.Tensor_mode", {"self": "x", "other": "y", "rounding_mode": "floor"}, np.floor(x / y)),
        ("isposinf.default", {"self": "holes"}, np.isposinf(holes)), ("isneginf.default", {"self": "holes"}, np.isneginf(holes)),
        ("isreal.default", {"self": "x"}, np.ones((3, 4), bool)),
        ("fmax.default", {"self": "holes", "other": "other"}, np.fmax(holes, other)), ("fmin.default", {"self": "holes", "other": "x"}, np.fmin(holes, x)),
        ("isin.Tensor_Scalar", {"elements": "whole", "test_element": 3}, whole == 3),
        ("isin.Scalar_Tensor", {"element": 7, "test_elements": "whole"}, np.bool_(True)),
        ("isin.Tensor_Tensor", {"elements": "whole", "test_elements": some, "invert": True}, ~np.isin(whole, some)),
        ("searchsorted.Scalar", {"sorted_sequence": np.array([1, 3, 5, 7], np.float32), "self": 3, "right": True}, np.int64(2)),
        ("bucketize.Scalar", {"self": 4, "boundaries": np.array([1, 3, 5, 7], np.float32)}, np.int64(2)),
        ("linalg_vecdot.default", {"x": "x", "y": "y", "dim": 0}, (x * y).sum(0)), ("linalg_matmul.default", {"self": "x", "other": y.T.copy()}, x @ y.T),
        ("vander.default", {"x": x[0], "N": 3}, np.vander(x[0], 3)), ("linalg_vander.default", {"x": "x"}, x[..., None] ** np.arange(4, dtype=np.float32)),
        ("vander.default", {"x": "whole", "increasing": True}, np.vander(whole, increasing=True)),
        ("dist.default", {"self": "x", "other": "y", "p": 3}, np.float32((np.abs(x - y)**3).sum()**(1 / 3))),
        ("pdist.default", {"self": "x"}, np.array([np.linalg.norm(x[i] - x[j]) for i in range(3) for j in range(i + 1, 3)], np.float32)),
        ("renorm.default", {"self": "x", "p": 2, "dim": 0, "maxnorm": 1.0}, x * np.minimum(1, 1 / (np.linalg.norm(x, axis=1, keepdims=True) + 1e-7)).astype(np.float32)),
        ("ger.default", {"self": x[0], "vec2": y[1]}, np.outer(x[0], y[1])), ("diagflat.default", {"self": x[:2, :2].copy(), "offset": 1}, np.diagflat(x[:2, :2], 1)),
        ("atleast_3d.default", {"self": "x"}, np.atleast_3d(x)), ("atleast_2d.default", {"self": x[0]}, np.atleast_2d(x[0])),
        ("fft_fftshift.default", {"self": "x"}, np.fft.fftshift(x)), ("fft_ifftshift.default", {"self": "x", "dim": [0]}, np.fft.ifftshift(x, (0,))),
        ("fft_fftfreq.default", {"n": 7, "d": 0.5}, np.fft.fftfreq(7, 0.5).astype(np.float32)), ("fft_rfftfreq.default", {"n": 8}, np.fft.rfftfreq(8).astype(np.float32)),
        ("kaiser_window.beta", {"window_length": 9, "periodic": False, "beta": 5.0}, np.kaiser(9, 5).astype(np.float32)),
        ("kaiser_window.default", {"window_length": 8}, np.kaiser(9, 12)[:8].astype(np.float32)),
        ("unsafe_split_with_sizes.default", {"self": "x", "split_sizes": [1, 3], "dim": 1}, [x[:, :1], x[:, 1:]]),
        ("permute_copy.default", {"self": "x", "dims": [1, 0]}, x.T), ("unsqueeze_copy.default", {"self": "x", "dim": 1}, x[:, None]),
        ("expand_copy.default", {"self": x[:1].copy(), "size": [3, 4]}, np.broadcast_to(x[:1], (3, 4))), ("select_copy.int", {"self": "x", "dim": 1, "index": -1}, x[:, -1]),
    ]
    single = lambda r: np.float32(r) if np.asarray(r).dtype == np.float64 else r
    nodes = [(target, arguments, single(results) if not isinstance(results, list) else [single(r) for r in results])
             for target, arguments, results in nodes]
    return program({"x": x, "y": y, "big": big, "holes": holes, "other": other, "whole": whole}, nodes)


@case
def shares():
    """Quantiles by tensors, and as many places as are asked for."""
    x = drawn(1, 3, 7)
    q = np.array([0, 0.3, 0.5, 1], np.float32)
    nodes = [("quantile.default", {"self": "x", "q": "q", "dim": 1}, np.quantile(x, q, axis=1).astype(np.float32)),
             ("quantile.default", {"self": "x", "q": "q", "dim": 0, "keepdim": True}, np.quantile(x, q, axis=0, keepdims=True).astype(np.float32)),
             ("quantile.default", {"self": "x", "q": "q"}, np.quantile(x, q).astype(np.float32)),
             ("quantile.default", {"self": "x", "q": np.array(0.25, np.float32), "dim": -1, "interpolation": "midpoint"}, np.quantile(x, 0.25, axis=1, method="midpoint").astype(np.float32)),
             ("quantile.default", {"self": "x", "q": "q", "dim": 1, "interpolation": "lower"}, np.quantile(x, q, axis=1, method="lower").astype(np.float32)),
             ("quantile.default", {"self": "x", "q": "q", "dim": 1, "interpolation": "higher"}, np.quantile(x, q, axis=1, method="higher").astype(np.float32))]
    holes = x.copy()
    holes[1, 2] = np.nan
    wanted = np.quantile(x, q, axis=1).astype(np.float32)
    wanted[:, 1] = np.nan
    nodes.append(("quantile.default", {"self": "holes", "q": "q", "dim": 1}, wanted))
    flags = np.where(np.abs(x) > 0.4, x, 0).astype(np.float32)
    places = np.argwhere(flags)
    few, many = places[:3], np.concatenate([places, np.full((25 - len(places), 2), -7)])
    nodes += [("nonzero_static.default", {"self": "flags", "size": 3}, few),
              ("nonzero_static.default", {"self": "flags", "size": 25, "fill_value": -7}, many)]
    # Places are products of the elements' type: 0.1 and 0.7 of ten steps are whole in f32 and not in f64.
    steps = np.arange(11, dtype=np.float32)
    for how, share, single, double in (("higher", 0.1, 1, 2), ("lower", 0.7, 7, 6), ("midpoint", 0.1, 1, 1), ("nearest", 0.26, 3, 3)):
        nodes.append(("quantile.scalar", {"self": "steps", "q": share, "interpolation": how}, np.float32(single)))
        nodes.append(("quantile.default", {"self": "steps", "q": np.array(share, np.float32), "interpolation": how}, np.float32(single)))
        wanted = np.quantile(np.arange(11.0), share, method=how)
        nodes.append(("quantile.default", {"self": "doubles", "q": np.array(share), "interpolation": how}, wanted))
        nodes.append(("quantile.scalar", {"self": "doubles", "q": share, "interpolation": how}, wanted))
    return program({"x": x, "q": q, "holes": holes, "flags": flags, "steps": steps, "doubles": np.arange(11.0)}, nodes)


@case
def copies_of_views():
    """What has "_copy" in its name shares no memory: writes to it leave the whole as it was, and the other way."""
    p = Program()
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    given, wanted = p.input("x", (3, 4)), []
    for target, arguments, copy in (
            ("alias_copy.default", {}, x), ("detach_copy.default", {}, x), ("view_copy.default", {"size": [4, 3]}, x.reshape(4, 3)),
            ("diagonal_copy.default", {}, np.diagonal(x)), ("expand_copy.default", {"size": [2, 3, 4]}, np.stack([x, x])),
            ("narrow_copy.default", {"dim": 0, "start": 1, "length": 2}, x[1:]), ("permute_copy.default", {"dims": [1, 0]}, x.T),
            ("select_copy.int", {"dim": 1, "index": 2}, x[:, 2]), ("slice_copy.Tensor", {"dim": 1, "start": 1, "end": 3}, x[:, 1:3]),
            ("t_copy.default", {}, x.T), ("transpose_copy.int", {"dim0": 0, "dim1": 1}, x.T), ("squeeze_copy.default", {}, x),
            ("unsqueeze_copy.default", {"dim": 0}, x[None]),
            ("unfold_copy.default", {"dimension": 1, "size": 2, "step": 2}, x.reshape(3, 2, 2)),
            ("unbind_copy.int", {}, list(x)), ("split_copy.Tensor", {"split_size": 1}, [x[:1], x[1:2], x[2:]]),
            ("split_with_sizes_copy.default", {"split_sizes": [1, 2]}, [x[:1], x[1:]])):
        whole = p.node("aten.clone.default", {"self": given}, [("f4", (3, 4))])[0]
        copies = copy if isinstance(copy, list) else [copy]
        made = p.node("aten." + target, {"self": whole, **arguments}, [("f4", c.shape) for c in copies])
        p.node("aten.add_.Scalar", {"self": made[0], "other": 100.0}, [("f4", copies[0].shape)])
        p.node("aten.mul_.Scalar", {"self": whole, "other": -1.0}, [("f4", (3, 4))])
        for value, array in ((whole, -x), (made[0], copies[0] + 100), *zip(made[1:], copies[1:])):
            p.output(p.node("aten.mul.Scalar", {"self": value, "other": 1.0}, [("f4", array.shape)])[0])
            wanted.append(array)
    whole = p.node("aten.clone.default", {"self": given}, [("f4", (3, 4))])[0]
    negative = p.node("aten._neg_view.default", {"self": whole}, [("f4", (3, 4))])[0]
    p.node("aten.add_.Scalar", {"self": negative, "other": 3.0}, [("f4", (3, 4))])
    for value, array in ((whole, x - 3), (negative, 3 - x)):
        p.output(p.node("aten.mul.Scalar", {"self": value, "other": 1.0}, [("f4", (3, 4))])[0])
        wanted.append(array)
    return p, [({"x": x}, wanted)]


@case
def written_diagonals():
    """Diagonals of sizes that are known and that are not, which later nodes write to; strides over one memory."""
    p = Program({"s0": (2, 32)})
    runs, code = [], "f4"
    x = p.input("x", ("s0", "s0"))
    known = p.input("known", (2, 3, 4))
    flat = p.input("flat", (12,))
    for offset, length in ((0, "s0"), (1, "s0 - 1")):
        whole = p.node("aten.clone.default", {"self": x}, [(code, ("s0", "s0"))])[0]
        line = p.node("aten.diagonal.default", {"self": whole, "offset": offset}, [(code, (length,))])[0]
        p.output(p.node("aten.mul.Scalar", {"self": line, "other": 2.0}, [(code, (length,))])[0])
        p.node("aten.add_.Scalar", {"self": line, "other": 5.0}, [(code, (length,))])
        p.output(p.node("aten.mul.Scalar", {"self": whole, "other": 1.0}, [(code, ("s0", "s0"))])[0])
    whole = p.node("aten.clone.default", {"self": known}, [(code, (2, 3, 4))])[0]
    line = p.node("aten.diagonal.default", {"self": whole, "offset": -1, "dim1": 2, "dim2": 1}, [(code, (2, 3))])[0]
    p.node("aten.fill_.Scalar", {"self": line, "value": 9.0}, [(code, (2, 3))])
    p.output(p.node("aten.mul.Scalar", {"self": whole, "other": 1.0}, [(code, (2, 3, 4))])[0])
    p.output(p.node("aten.diagonal_scatter.default", {"self": known, "src": p.weight("w", np.array([[1, 2, 3], [4, 5, 6]], np.float32)), "dim1": 1, "dim2": 2},
                    [(code, (2, 3, 4))])[0])
    p.output(p.node("aten.linalg_diagonal.default", {"A": known, "offset": 1}, [(code, (2, 3))])[0])
    p.output(p.node("aten.as_strided.default", {"self": flat, "size": [5, 4], "stride": [2, 1], "storage_offset": 0}, [(code, (5, 4))])[0])
    rng = np.random.default_rng(5)
    for n in (2, 5, 32):
        a, b, c = rng.standard_normal((n, n)).astype(np.float32), rng.standard_normal((2, 3, 4)).astype(np.float32), rng.standard_normal(12).astype(np.float32)
        wanted = []
        for offset in (0, 1):
            changed = a + 5 * np.eye(n, k=offset, dtype=np.float32)
            wanted += [2 * np.diagonal(a, offset), changed]
        filled = b.copy()
        for i in range(3):
            filled[:, i, i + 1] = 9
        scattered = b.copy()
        scattered[:, np.arange(3), np.arange(3)] = [[1, 2, 3], [4, 5, 6]]
        wanted += [filled, scattered, np.diagonal(b, 1, -2, -1), np.stack([c[2 * i:2 * i + 4] for i in range(5)])]
        runs.append(({"x": a, "known": b, "flat": c}, wanted))
    return p, runs


def refused(words, target, arguments, results):
    p = Program()
    x = p.input("x", (4, 4))
    given = {n: p.weight(n, v) if isinstance(v, np.ndarray) else x if v == "x" else v for n, v in arguments.items()}
    values = p.node("aten." + target, given, results)
    p.output(values[0])
    return p, words


@case
def eigenvalues_of_any_matrix():
    return refused("take torch.linalg.eigh", "linalg_eigvals.default", {"A": "x"}, [("c8", (4,))])


@case
def eigenvectors_of_any_matrix():
    return refused("take torch.linalg.eigh", "linalg_eig.default", {"A": "x"}, [("c8", (4,)), ("c8", (4, 4))])


@case
def likelihoods_drawn():
    return refused("make the noise an input", "multinomial.default", {"self": "x", "num_samples": 2}, [("i8", (4, 2))])


@case
def strides_that_lead_outside():
    return refused("is at 16, expected it below 16", "as_strided.default",
                   {"self": "x", "size": [3, 4], "stride": [4, 1], "storage_offset": 5}, [("f4", (3, 4))])


@case
def strides_that_stay_inside():
    x = drawn(1, 4, 4)
    return program({"x": x}, [("as_strided.default", {"self": "x", "size": [3, 4], "stride": [4, 1], "storage_offset": 4}, x[1:])])


@case
def diagonals_of_other_sizes():
    return refused("is [2], expected the diagonal's [3]", "diagonal_scatter.default",
                   {"self": "x", "src": drawn(1, 2), "offset": 1}, [("f4", (4, 4))])


@case
def shares_of_no_kind():
    return refused("expected linear, lower, higher, midpoint or nearest", "quantile.scalar",
                   {"self": "x", "q": 0.5, "interpolation": "nonsense"}, [("f4", ())])


@case
def strides_of_what_is_turned():
    p = Program()
    x = p.input("x", (3, 4))
    turned = p.node("aten.t.default", {"self": x}, [("f4", (4, 3))])[0]
    p.tensors[turned]["strides"] = [{"as_int": 1}, {"as_int": 4}]
    p.output(p.node("aten.as_strided.default", {"self": turned, "size": [2, 2], "stride": [1, 2]}, [("f4", (2, 2))])[0])
    return p, "take .contiguous() of it in front"
