# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Factorizations, long transforms, losses of sequences and regions: cases of written_programs.py, beside numpy.

What has a sign or an order of its own, as singular vectors have, is multiplied together again.
"""
import math

import numpy as np

from operator_references import aligned_region, classified, deformed, hurwitz, modified_bessel
from program_writer import Program
from written_operators import drawn, program

CASES = {}
EXACT = {"orders": (2e-6, 1e-9), "long_spectra": (1e-5, 1e-5), "factors": (1e-4, 1e-5), "double_factors": (1e-9, 1e-10),
         "far_powers": (1e-4, 1e-5), "graded_values": (0, 1e-13), "steep_zeta": (1e-6, 1e-12)}


def case(function):
    CASES[function.__name__] = function
    return function


def symmetric(x):
    return x + x.swapaxes(-1, -2)


def factors_of(kind):
    p = Program()
    code = np.dtype(kind).str.lstrip("<")
    wanted, inputs = [], {}

    def given(name, array):
        inputs[name] = array.astype(kind)
        return p.input(name, array.shape, code)

    def node(target, arguments, *shapes):
        return p.node("aten." + target, arguments, [(code, shape) for shape in shapes])

    def output(value, array):
        p.output(value)
        wanted.append(np.asarray(array).astype(kind))

    def product(a, b, rows, columns, batch=()):
        return node("matmul.default", {"self": a, "other": b}, (*batch, rows, columns))[0]

    tall, wide, many = drawn(1, 7, 4), drawn(2, 3, 6), drawn(3, 2, 5, 5)
    a, b, c = given("a", tall), given("b", wide), given("c", many)
    # QR has LAPACK's signs, as numpy has.
    for value, array, shape in ((a, tall, (7, 4)), (b, wide, (3, 6))):
        q, r = np.linalg.qr(array.astype(np.float64))
        for got, expected in zip(node("linalg_qr.default", {"A": value}, q.shape, r.shape), (q, r)):
            output(got, expected)
    q, r = np.linalg.qr(tall.astype(np.float64), "complete")
    for got, expected in zip(node("linalg_qr.default", {"A": a, "mode": "complete"}, q.shape, r.shape), (q, r)):
        output(got, expected)
    # Singular values, and the matrix again.
    for value, array, full in ((a, tall, False), (b, wide, False), (a, tall, True), (b, wide, True)):
        rows, columns = array.shape
        least = min(rows, columns)
        u, s, v = node("linalg_svd.default", {"A": value, "full_matrices": full}, (rows, rows if full else least), (least,),
                       (columns if full else least, columns))
        output(s, np.linalg.svd(array.astype(np.float64), compute_uv=False))
        if full:
            turned = node("t.default", {"self": u}, (rows, rows))[0]
            output(product(turned, u, rows, rows), np.eye(rows))
            turned = node("t.default", {"self": v}, (columns, columns))[0]
            output(product(turned, v, columns, columns), np.eye(columns))
        else:
            output(product(node("mul.Tensor", {"self": u, "other": s}, (rows, least))[0], v, rows, columns), array)
    u, s, v = node("svd.default", {"self": c}, (2, 5, 5), (2, 5), (2, 5, 5))
    scaled = node("mul.Tensor", {"self": u, "other": node("unsqueeze.default", {"self": s, "dim": 1}, (2, 1, 5))[0]}, (2, 5, 5))[0]
    output(product(scaled, node("transpose.int", {"self": v, "dim0": 1, "dim1": 2}, (2, 5, 5))[0], 5, 5, (2,)), many)
    output(node("linalg_svdvals.default", {"A": c}, (2, 5))[0], np.linalg.svd(many.astype(np.float64), compute_uv=False))
    # Only the lower triangle counts.
    values, vectors = node("linalg_eigh.default", {"self": c}, (2, 5), (2, 5, 5))
    output(values, np.linalg.eigvalsh(many.astype(np.float64)))
    scaled = node("mul.Tensor", {"self": vectors, "other": node("unsqueeze.default", {"self": values, "dim": 1}, (2, 1, 5))[0]}, (2, 5, 5))[0]
    lower = np.tril(many) + np.tril(many, -1).swapaxes(-1, -2)
    output(product(scaled, node("transpose.int", {"self": vectors, "dim0": 1, "dim1": 2}, (2, 5, 5))[0], 5, 5, (2,)), lower)
    output(node("linalg_eigvalsh.default", {"self": c, "UPLO": "U"}, (2, 5))[0], np.linalg.eigvalsh(many.astype(np.float64), "U"))
    large = symmetric(drawn(4, 24, 24))
    output(node("linalg_eigvalsh.default", {"self": given("d", large)}, (24,))[0], np.linalg.eigvalsh(large.astype(np.float64)))
    # Least squares: more equations than unknowns, and fewer.
    right, few = drawn(5, 7, 2), drawn(6, 3, 2)
    solution, residuals, rank, none = p.node("aten.linalg_lstsq.default", {"self": a, "b": given("e", right)},
                                             [(code, (4, 2)), (code, (2,)), ("i8", ()), (code, (0,))])
    expected = np.linalg.lstsq(tall.astype(np.float64), right.astype(np.float64), rcond=None)
    output(solution, expected[0])
    output(residuals, expected[1])
    solution, *_ = p.node("aten.linalg_lstsq.default", {"self": b, "b": given("f", few)},
                          [(code, (6, 2)), (code, (0,)), ("i8", ()), (code, (0,))])
    output(solution, np.linalg.lstsq(wide.astype(np.float64), few.astype(np.float64), rcond=None)[0])
    for value, array in ((a, tall), (b, wide)):
        output(node("linalg_pinv.atol_rtol_float", {"self": value}, array.shape[::-1])[0], np.linalg.pinv(array.astype(np.float64)))
    # Norms.
    for order in (2, -2, 1, -1, math.inf, -math.inf):
        output(node("linalg_matrix_norm.default", {"self": c, "ord": order}, (2,))[0], np.linalg.norm(many.astype(np.float64), order, (1, 2)))
    output(node("linalg_matrix_norm.str_ord", {"self": c, "ord": "nuc", "dim": [2, 0], "keepdim": True}, (1, 5, 1))[0],
           np.linalg.norm(many.astype(np.float64), "nuc", (2, 0), keepdims=True))
    output(node("nuclear_norm.default", {"self": a}, ())[0], np.linalg.norm(tall.astype(np.float64), "nuc"))
    output(node("linalg_norm.default", {"self": b, "ord": 2}, ())[0], np.linalg.norm(wide.astype(np.float64), 2))
    return p, [(inputs, wanted)]


@case
def factors():
    return factors_of(np.float32)


@case
def double_factors():
    return factors_of(np.float64)


@case
def orders():
    """Functions of a whole order, and of two numbers."""
    x = np.concatenate([np.linspace(-18, 30, 41), [0, 1e-4, -0.5, 80]]).astype(np.float32)
    y = np.concatenate([np.geomspace(1e-3, 90, 37), [1, 2, 30]]).astype(np.float32)
    s = np.linspace(1.01, 25, 40).astype(np.float32)
    near = np.array([-0.3, -2.7, 0.2, 3], np.float32)
    nodes = [("special_i1.default", {"self": "x"}, np.array([modified_bessel(float(v), 1) for v in x], np.float32)),
             ("special_i1e.default", {"self": "x"}, np.array([modified_bessel(float(v), 1) * math.exp(-abs(float(v))) for v in x], np.float32)),
             ("special_zeta.default", {"self": "s", "other": "y"}, np.array([hurwitz(float(a), float(b)) for a, b in zip(s, y)]).astype(np.float32)),
             ("special_zeta.other_scalar", {"self": "s", "other": 1.0}, np.array([hurwitz(float(a), 1.0) for a in s], np.float32)),
             ("polygamma.default", {"n": 1, "self": "near"}, np.array(
                 [math.pi ** 2 / math.sin(math.pi * float(v)) ** 2 - hurwitz(2, 1 - float(v)) if v < 0.5 else hurwitz(2, float(v)) for v in near], np.float32))]
    nodes += [("polygamma.default", {"n": n, "self": "y"}, np.array(
        [(-1) ** (n + 1) * math.factorial(n) * hurwitz(n + 1, float(v)) for v in y]).astype(np.float32)) for n in (1, 2, 5)]
    return program({"x": x, "y": y, "s": s, "near": near}, nodes)


@case
def classification_in_time():
    """The sum over alignments, with targets in rows and one behind the other, of other lengths, and one that does not fit."""
    chances = drawn(1, 9, 3, 5)
    chances = (chances - np.log(np.exp(chances).sum(-1, keepdims=True))).astype(np.float32)
    targets = np.array([[1, 2, 2, 4], [3, 3, 3, 3], [4, 1, 0, 0]])
    times, labels = [9, 5, 7], [4, 4, 2]
    flat = np.concatenate([row[:n] for row, n in zip(targets, labels)])
    losses = np.array([classified(chances[:t, i], row[:n]) for i, (t, row, n) in enumerate(zip(times, targets, labels))])
    assert np.isinf(losses[1]) and np.isfinite(losses[[0, 2]]).all()
    finite = np.where(np.isinf(losses), 0, losses)
    lists = {"log_probs": "chances", "input_lengths": times, "target_lengths": labels}
    rows = dict(lists, targets="targets")
    vectors = dict(lists, targets="flat", input_lengths="times", target_lengths="labels")
    scores, right = drawn(2, 4, 6), np.array([[3, 0, -1, 1, 2, 2], [5, -1, 5, 5, 5, 5], [-1] * 6, [0, 1, 2, 3, 4, 5]])
    margins, named = np.zeros(4), np.zeros((4, 6), np.float32)
    for i, row in enumerate(right):
        own = row[:list(row).index(-1)] if -1 in row else row
        named[i, own] = 1
        margins[i] = sum(max(0, 1 - (float(scores[i, a]) - float(scores[i, b]))) for a in own for b in range(6) if b not in own) / 6
    inputs = {"chances": chances, "targets": targets, "flat": flat, "times": np.array(times), "labels": np.array(labels), "scores": scores,
              "right": right}
    return program(inputs, [
        ("ctc_loss.IntList", dict(rows, reduction=0), losses.astype(np.float32)),
        ("ctc_loss.IntList", dict(rows, reduction=2, zero_infinity=True), np.float32(finite.sum())),
        ("ctc_loss.Tensor", dict(vectors, reduction=1, zero_infinity=True), np.float32((finite / labels).mean())),
        ("_ctc_loss.default", dict(rows, zero_infinity=True), [finite.astype(np.float32)]),
        ("multilabel_margin_loss.default", {"self": "scores", "target": "right"}, np.float32(margins.mean())),
        ("multilabel_margin_loss_forward.default", {"self": "scores", "target": "right", "reduction": 0}, [margins.astype(np.float32), named])])


@case
def regions_by_size():
    """As many samples as an output has elements; deformed windows."""
    x = drawn(1, 2, 3, 12, 10)
    boxes = np.array([[0, 0.5, 1, 9, 11], [1, 2, 3, 4.5, 4], [0, -3, -2, 14, 20], [1, 5, 5, 5, 5]], np.float32)
    weights, offset, mask, bias = drawn(2, 4, 2, 3, 2), drawn(3, 2, 24, 6, 5) * 2, np.abs(drawn(4, 2, 12, 6, 5)), drawn(5, 4)
    image = drawn(6, 2, 4, 9, 6)
    common = {"input": "image", "weight": "weights", "offset": "offset", "mask": "mask", "bias": "bias", "stride_h": 2, "stride_w": 1,
              "pad_h": 2, "pad_w": 1, "dilation_h": 1, "dilation_w": 3, "groups": 2, "offset_groups": 2}
    inputs = {"x": x, "boxes": boxes, "image": image, "weights": weights, "offset": offset, "mask": mask, "bias": bias}
    nodes = [("torchvision.roi_align.default", {"input": "x", "rois": "boxes", "spatial_scale": 0.75, "pooled_height": 3, "pooled_width": 2,
                                                "sampling_ratio": ratio, "aligned": half},
              np.array([aligned_region(x[int(b[0])], b[1:] * 0.75, (3, 2), half) for b in boxes], np.float32))
             for ratio, half in ((0, True), (-1, False))]
    nodes += [("torchvision.deform_conv2d.default", dict(common, use_mask=used),
               deformed(image, weights, offset, mask if used else np.ones_like(mask), bias, (2, 1), (2, 1), (1, 3), 2, 2).astype(np.float32))
              for used in (True, False)]
    return program(inputs, nodes)


@case
def long_spectra():
    """Lengths that are taken apart, and a prime. Each is divided by its root, so that elements are about 1."""
    p = Program()
    inputs, wanted = {}, []
    for length in (1000, 2310, 4099, 6144):
        x = drawn(length, 2, length)
        inputs[f"x{length}"] = x
        ref, bins = p.input(f"x{length}", x.shape), length // 2 + 1
        half = p.node("aten.fft_rfft.default", {"self": ref, "norm": "ortho"}, [("c8", (2, bins))])[0]
        expected = np.fft.rfft(x.astype(np.float64), norm="ortho")
        p.output(p.node("aten.view_as_real.default", {"self": half}, [("f4", (2, bins, 2))])[0])
        wanted.append(np.stack([expected.real, expected.imag], -1).astype(np.float32))
        whole = p.node("aten.fft_fft.default", {"self": half, "norm": "ortho"}, [("c8", (2, bins))])[0]
        expected = np.fft.fft(expected, norm="ortho")
        p.output(p.node("aten.view_as_real.default", {"self": whole}, [("f4", (2, bins, 2))])[0])
        wanted.append(np.stack([expected.real, expected.imag], -1).astype(np.float32))
        p.output(p.node("aten.fft_irfft.default", {"self": half, "n": length, "norm": "ortho"}, [("f4", (2, length))])[0])
        wanted.append(x)
    return p, [(inputs, wanted)]


@case
def norms_in_order():
    """The first of two axes has the rows, wherever it is."""
    x = drawn(1, 2, 3, 4)
    wide = x.astype(np.float64)
    return program({"x": x}, [
        ("linalg_matrix_norm.default", {"self": "x", "ord": order, "dim": list(axes), "keepdim": keep},
         np.linalg.norm(wide, order, axes, keepdims=keep).astype(np.float32))
        for order in (1, -1, 2, math.inf, -math.inf) for axes, keep in (((2, 0), False), ((-1, -2), True), ((0, 1), False))])


@case
def far_powers():
    """Numbers whose squares are no f32: the results are divided by the power again."""
    a, right = drawn(1, 6, 4), drawn(2, 6, 2)
    inputs, wanted = {}, []
    p = Program()

    def given(name, array):
        inputs[name] = array.astype(np.float32)
        return p.input(name, array.shape)

    def output(value, shape, factor, expected):
        p.output(p.node("aten.mul.Scalar", {"self": value, "other": factor}, [("f4", shape)])[0])
        wanted.append(expected.astype(np.float32))

    q, r = np.linalg.qr(a.astype(np.float64))
    symmetrical = (a[:4] + a[:4].T).astype(np.float64)
    for power in (1e22, 1e-25, 3e-36, 3e36):
        big = given(f"a{power}", a * np.float32(power))
        got = p.node("aten.linalg_qr.default", {"A": big}, [("f4", q.shape), ("f4", r.shape)])
        output(got[0], q.shape, 1.0, q)
        output(got[1], r.shape, 1 / power, r)
        output(p.node("aten.linalg_svdvals.default", {"A": big}, [("f4", (4,))])[0], (4,), 1 / power, np.linalg.svd(a.astype(np.float64), compute_uv=False))
        square = given(f"s{power}", symmetrical * power)
        output(p.node("aten.linalg_eigvalsh.default", {"self": square}, [("f4", (4,))])[0], (4,), 1 / power, np.linalg.eigvalsh(symmetrical))
    scales = np.array([1e20, 1, 1e-20, 1])
    shapes = [("f4", (4, 2)), ("f4", (2,)), ("i8", ()), ("f4", (0,))]
    solution = p.node("aten.linalg_lstsq.default", {"self": given("columns", a * scales), "b": given("right", right)}, shapes)[0]
    factors = p.weight("scales", scales[:, None].astype(np.float32))
    p.output(p.node("aten.mul.Tensor", {"self": solution, "other": factors}, [("f4", (4, 2))])[0])
    wanted.append(np.linalg.lstsq(a.astype(np.float64), right.astype(np.float64), rcond=None)[0].astype(np.float32))
    zero = given("zero", np.zeros((5, 3)))
    p.output(p.node("aten.linalg_svdvals.default", {"A": zero}, [("f4", (3,))])[0])
    wanted.append(np.zeros(3, np.float32))
    return p, [(inputs, wanted)]


@case
def graded_values():
    """Singular values of 15 powers of ten in f64: errors beside the greatest, and the matrix again."""
    p = Program()
    u, v = np.linalg.qr(drawn(1, 70, 48).astype(np.float64))[0], np.linalg.qr(drawn(2, 48, 48).astype(np.float64))[0]
    x = u * np.logspace(0, -15, 48) @ v.T
    a = p.input("a", x.shape, "f8")
    left, s, right = p.node("aten.linalg_svd.default", {"A": a, "full_matrices": False}, [("f8", (70, 48)), ("f8", (48,)), ("f8", (48, 48))])
    p.output(s)
    scaled = p.node("aten.mul.Tensor", {"self": left, "other": s}, [("f8", (70, 48))])[0]
    p.output(p.node("aten.matmul.default", {"self": scaled, "other": right}, [("f8", (70, 48))])[0])
    turned = p.node("aten.t.default", {"self": left}, [("f8", (48, 70))])[0]
    p.output(p.node("aten.matmul.default", {"self": turned, "other": left}, [("f8", (48, 48))])[0])
    return p, [({"a": x}, [np.linalg.svd(x, compute_uv=False), x, np.eye(48)])]


@case
def values_alone():
    """svd without vectors gives zeros of the whole sizes."""
    x = drawn(1, 2, 5, 3)
    values = np.linalg.svd(x.astype(np.float64), compute_uv=False).astype(np.float32)
    return program({"x": x}, [("svd.default", {"self": "x", "compute_uv": False},
                               [np.zeros((2, 5, 5), np.float32), values, np.zeros((2, 3, 3), np.float32)])])


@case
def steep_zeta():
    s, q = np.array([1e15, 1e14, 2000, 900, 1e9]), np.array([1, 2, 1.5, 1, 1 + 1e-9])
    return program({"s": s, "q": q}, [("special_zeta.default", {"self": "s", "other": "q"}, np.array([1, 0, 0, 1, math.exp(-1)]))])


def refused(name, target, arguments, inputs, shape, message):
    def build():
        p = Program()
        refs = {key: p.input(key, array.shape, "i8" if array.dtype == np.int64 else "f4") for key, array in inputs.items()}
        p.output(p.node(target, {key: refs[value] if isinstance(value, str) else value for key, value in arguments.items()}, [("f4", shape)])[0])
        return p, message
    CASES[f"refused_{name}"] = build


def refused_windows():
    inputs = {"x": drawn(1, 1, 2, 5, 6), "w": drawn(2, 3, 2, 2, 2), "o": drawn(3, 1, 8, 4, 5), "m": drawn(4, 1, 4, 4, 5), "b": drawn(5, 3)}
    common = {"input": "x", "weight": "w", "offset": "o", "mask": "m", "bias": "b", "stride_h": 1, "stride_w": 1, "pad_h": 0, "pad_w": 0,
              "dilation_h": 1, "dilation_w": 1, "groups": 1, "offset_groups": 1, "use_mask": True}
    for name, changed, others, message in (
            ("stride", {"stride_h": 0}, {}, "stride_h is 0, expected 1 or more"),
            ("dilation", {"dilation_w": -1}, {}, "dilation_w is -1, expected 1 or more"),
            ("pad", {"pad_w": -1}, {}, "pad_w is -1, expected 0 or more"),
            ("groups", {"groups": 0}, {}, "number of groups is 0, expected 1 or more"),
            ("places", {}, {"o": drawn(3, 1, 8, 3, 5)}, "offset is [1, 8, 3, 5], expected [1, 8, 4, 5]"),
            ("mask", {}, {"m": drawn(4, 1, 3, 4, 5)}, "mask is [1, 3, 4, 5], expected [1, 4, 4, 5]"),
            ("bias", {}, {"b": drawn(5, 2)}, "bias is [2], expected [3]")):
        refused(f"window_{name}", "torchvision.deform_conv2d.default", common | changed, inputs | others, (1, 3, 4, 5), message)
    refused("no_rows", "torchvision.roi_align.default",
            {"input": "x", "rois": "r", "spatial_scale": 1.0, "pooled_height": 0, "pooled_width": 2, "sampling_ratio": 1, "aligned": False},
            {"x": drawn(1, 1, 2, 5, 6), "r": drawn(2, 1, 5)}, (1, 2, 0, 2), "pooled_height is 0, expected 1 or more")


def refused_times():
    inputs = {"x": drawn(1, 6, 2, 4), "t": np.array([[1, 2], [3, 3]])}
    common = {"log_probs": "x", "targets": "t", "input_lengths": [6, 6], "target_lengths": [2, 2], "blank": 0, "reduction": 1, "zero_infinity": False}
    for name, changed, message in (
            ("blank", {"blank": 4}, "blank is 4, expected a class of 0 to below 4"), ("reduction", {"reduction": 3}, "reduction is 3, expected 0, 1 or 2"),
            ("count", {"input_lengths": [6]}, "input_lengths has 1 numbers, expected 2"),
            ("time", {"input_lengths": [6, 7]}, "input_lengths has 7, expected 0 to 6"),
            ("label", {"target_lengths": [2, 3]}, "target_lengths has 3, expected 0 to 2")):
        refused(f"times_{name}", "aten.ctc_loss.IntList", common | changed, inputs, (), message)


refused_windows()
refused_times()
