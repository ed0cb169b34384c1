# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of operators that those that PyTorch saved have not: norms by the batch, patches, places, pads and resizes by
computed sizes, products by groups of rows. written_programs.py runs them; a case is as there.
"""
import numpy as np

from program_cases import case, drawn, everywhere
from program_writer import Program, Ref, Type, meta

#===--- statistics, patches, places, pads -------------------------------------===#


def normed(x, axes, eps):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


@everywhere
def standardised_weights():
    """A convolution whose filters are normalised by their own statistics, as nfnet and BiT have it."""
    p = Program({"s0": (1, 8)})
    x = p.input("x", ("s0", 4, 5, 5))
    w, gain = drawn(1, 6, 4, 3, 3), drawn(2, 6)
    flat = p.node("aten.view.default", {"self": p.weight("w", w), "size": [1, 6, -1]}, [("f4", (1, 6, 36))])[0]
    flat = p.node("aten.batch_norm.default",
                  {"input": flat, "weight": p.weight("gain", gain), "bias": None, "running_mean": None,
                   "running_var": None, "training": True, "momentum": 0.0, "eps": 1e-5, "cudnn_enabled": True},
                  [("f4", (1, 6, 36))])[0]
    filters = p.node("aten.view.default", {"self": flat, "size": [6, 4, 3, 3]}, [("f4", (6, 4, 3, 3))])[0]
    p.output(p.node("aten.conv2d.default", {"input": x, "weight": filters}, [("f4", ("s0", 6, 3, 3))])[0])
    filters = (normed(w.reshape(6, 36), 1, 1e-5) * gain[:, None]).reshape(w.shape)
    x = drawn(3, 2, 4, 5, 5)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    return p, [({"x": x}, [np.einsum("nchwij,ocij->nohw", windows, filters).astype(np.float32)])]


@case
def batch_statistics():
    """Decomposed forms, with what they save, and an instance norm."""
    p = Program({"s0": (1, 8)})
    x = p.input("x", ("s0", 3, 4, 6))
    scale, bias = drawn(1, 3), drawn(2, 3)
    named = {"input": x, "weight": p.weight("scale", scale), "bias": p.weight("bias", bias)}
    for value in p.node("aten._native_batch_norm_legit.no_stats",
                        {**named, "training": True, "momentum": 0.1, "eps": 1e-3},
                        [("f4", ("s0", 3, 4, 6)), ("f4", (3,)), ("f4", (3,))]):
        p.output(value)
    p.output(p.node("aten.instance_norm.default",
                    {**named, "running_mean": None, "running_var": None, "use_input_stats": True, "momentum": 0.1,
                     "eps": 1e-3, "cudnn_enabled": True}, [("f4", ("s0", 3, 4, 6))])[0])
    scale, bias = scale[:, None, None], bias[:, None, None]
    runs = []
    for n in (1, 5):
        x = drawn(n, n, 3, 4, 6) + 2
        runs.append(({"x": x}, [normed(x, (0, 2, 3), 1e-3) * scale + bias, x.mean((0, 2, 3)),
                                1 / np.sqrt(x.var((0, 2, 3)) + 1e-3), normed(x, (2, 3), 1e-3) * scale + bias]))
    return p, runs


@case
def distances_and_angles():
    p = Program({"s0": (1, 40)})
    x, y = p.input("x", ("s0", 5, 6)), p.input("y", (1, 5, 6))
    p.output(p.node("aten.cosine_similarity.default", {"x1": x, "x2": y}, [("f4", ("s0", 6))])[0])
    for order in (2.0, 1.0, 3.0, float("inf")):
        p.output(p.node("aten.pairwise_distance.default", {"x1": x, "x2": y, "p": order, "eps": 1e-6, "keepdim": order == 2},
                        [("f4", ("s0", 5, 1) if order == 2 else ("s0", 5))])[0])
    x, y = drawn(1, 3, 5, 6), drawn(2, 1, 5, 6)
    far = np.abs(x - y + np.float32(1e-6))
    return p, [({"x": x, "y": y}, [
        (x * y).sum(1) / (np.sqrt((x * x).sum(1)) * np.sqrt((y * y).sum(1))), np.sqrt((far**2).sum(-1, keepdims=True)),
        far.sum(-1), (far**3).sum(-1) ** np.float32(1 / 3), far.max(-1)])]


@case
def matrices():
    """Determinants written out and by elimination, inverses, systems of equations and powers; some rows must change places."""
    p = Program({"s0": (1, 8)})
    x, y, b = p.input("x", ("s0", 3, 3)), p.input("y", (2, 6, 6)), p.input("b", (2, 6, 4))
    each, both = [("f4", ("s0",))], [("f4", (2,))]

    def node(target, arguments, results):
        return p.node(f"aten.{target}.default", arguments, results)

    for value in (*node("det", {"self": x}, each), *node("linalg_det", {"A": y}, both), *node("linalg_slogdet", {"A": y}, both * 2),
                  *node("logdet", {"self": x}, each), *node("linalg_inv", {"A": x}, [("f4", ("s0", 3, 3))]),
                  *node("linalg_inv_ex", {"A": y, "check_errors": False}, [("f4", (2, 6, 6)), ("i4", (2,))]),
                  *node("linalg_solve", {"A": y, "B": b}, [("f4", (2, 6, 4))]),
                  *node("linalg_solve", {"A": y, "B": p.node("aten.select.int", {"self": b, "dim": 2, "index": 1}, [("f4", (2, 6))])[0]},
                        [("f4", (2, 6))]),
                  *node("linalg_solve", {"A": y, "B": p.node("aten.transpose.int", {"self": b, "dim0": 1, "dim1": 2}, [("f4", (2, 4, 6))])[0],
                                         "left": False}, [("f4", (2, 4, 6))]),
                  *node("linalg_matrix_power", {"self": y, "n": 5}, [("f4", (2, 6, 6))]),
                  *node("matrix_power", {"self": x, "n": -2}, [("f4", ("s0", 3, 3))]),
                  *node("matrix_power", {"self": x, "n": 0}, [("f4", ("s0", 3, 3))])):
        p.output(value)
    runs = []
    for n in (1, 5):
        x, y, b = drawn(n, n, 3, 3), drawn(n + 1, 2, 6, 6), drawn(n + 2, 2, 6, 4)
        y[0, 0, 0] = 0
        wide = y.astype(np.float64)
        sign, log = np.linalg.slogdet(wide)
        with np.errstate(invalid="ignore"):
            of_x = np.log(np.linalg.det(x.astype(np.float64)))
        back = np.swapaxes(np.linalg.solve(np.swapaxes(wide, 1, 2), b.astype(np.float64)), 1, 2)
        inverse = np.linalg.inv(x.astype(np.float64))
        wanted = [np.linalg.det(x), np.linalg.det(wide), sign, log, of_x, inverse, np.linalg.inv(wide), np.zeros(2, np.int32),
                  np.linalg.solve(wide, b.astype(np.float64)), np.linalg.solve(wide, b.astype(np.float64))[:, :, 1], back,
                  np.linalg.matrix_power(wide, 5), inverse @ inverse, np.broadcast_to(np.eye(3), (n, 3, 3))]
        runs.append(({"x": x, "y": y, "b": b}, [v if v.dtype == np.int32 else np.asarray(v, np.float32) for v in wanted]))
    return p, runs


@everywhere
def norms_and_triangles():
    p = Program({"s0": (1, 8)})
    x, y = p.input("x", ("s0", 3, 4)), p.input("y", (2, 3, 3))

    def node(target, shape, type="f4", **arguments):
        p.output(p.node(f"aten.{target}", arguments, [(type, shape)])[0])

    node("linalg_norm.default", (), self=x, ord=None)
    node("linalg_norm.default", ("s0", 4), self=x, ord=3.0, dim=[1])
    node("linalg_norm.ord_str", ("s0", 1, 1), self=x, ord="fro", dim=[1, 2], keepdim=True)
    node("linalg_matrix_norm.str_ord", ("s0",), self=x, ord="fro")
    node("frobenius_norm.dim", ("s0", 3), self=x, dim=[2], keepdim=False)
    node("linalg_cholesky.default", (2, 3, 3), self=y)
    node("linalg_cholesky.default", (2, 3, 3), self=y, upper=True)
    node("addr.default", (3, 3), self=p.weight("w", drawn(7, 3, 3)), vec1=p.weight("a", drawn(8, 3)), vec2=p.weight("b", drawn(9, 3)), beta=0.5, alpha=2)
    node("addbmm.default", (3, 3), self=p.weight("v", drawn(7, 3, 3)), batch1=y, batch2=y)
    node("isin.Tensor_Tensor", (2, 3, 3), "?", elements=y, test_elements=p.weight("of", np.array([1, 2, 5], np.float32)))
    node("isin.Tensor_Tensor", (2, 3, 3), "?", elements=y, test_elements=p.weight("of2", np.array([[1, 2]], np.float32)), invert=True)
    runs = []
    for n in (1, 5):
        x, y = drawn(n, n, 3, 4), drawn(n + 1, 2, 3, 3)
        y = (y @ y.swapaxes(1, 2) + np.eye(3) * 2).astype(np.float32)
        y[0, 0, 0], y[1, 2, 2] = 5, 9
        low = np.linalg.cholesky(y)
        square = x * x
        wanted = [np.sqrt(square.sum()), (np.abs(x) ** 3).sum(1) ** (1 / 3), np.sqrt(square.sum((1, 2), keepdims=True)), np.sqrt(square.sum((1, 2))),
                  np.sqrt(square.sum(2)), low, low.swapaxes(1, 2), 0.5 * drawn(7, 3, 3) + 2 * np.outer(drawn(8, 3), drawn(9, 3)),
                  drawn(7, 3, 3) + (y @ y).sum(0)]
        runs.append(({"x": x, "y": y}, [np.asarray(v, np.float32) for v in wanted] + [np.isin(y, [1, 2, 5]), ~np.isin(y, [1, 2])]))
    return p, runs


@everywhere
def distances_of_all():
    p = Program({"s0": (1, 40)})
    x, y = p.input("x", ("s0", 5, 6)), p.input("y", (7, 6))
    orders = (2.0, 1.0, 0.0, 3.0, float("inf"))
    for order in orders:
        p.output(p.node("aten.cdist.default", {"x1": x, "x2": y, "p": order}, [("f4", ("s0", 5, 7))])[0])
    runs = []
    for n in (1, 3):
        x, y = drawn(n, n, 5, 6), drawn(n + 1, 7, 6)
        far = np.abs(x[:, :, None] - y)
        runs.append(({"x": x, "y": y}, [np.sqrt((far**2).sum(-1)), far.sum(-1), (far != 0).sum(-1).astype(np.float32),
                                        (far**3).sum(-1) ** np.float32(1 / 3), far.max(-1)]))
    return p, runs


@case
def losses_of_margins_and_counts():
    p = Program({"s0": (2, 40)})
    x, count, classes = p.input("x", ("s0", 5)), p.input("count", ("s0", 5)), p.input("classes", ("s0",), "i8")
    near, far = p.input("near", ("s0", 5)), p.input("far", ("s0", 5))
    weight = drawn(9, 5) ** 2
    none, mean, total = 0, 1, 2

    def loss(operator, results, **arguments):
        p.output(p.node(f"aten.{operator}.default", arguments, [("f4", results)])[0])

    loss("poisson_nll_loss", (), input=x, target=count, log_input=True, full=False, eps=1e-8, reduction=mean)
    loss("poisson_nll_loss", ("s0", 5), input=count, target=count, log_input=False, full=True, eps=1e-8, reduction=none)
    loss("triplet_margin_loss", (), anchor=x, positive=near, negative=far, margin=0.5, p=2.0, eps=1e-6, swap=True, reduction=mean)
    loss("triplet_margin_loss", ("s0",), anchor=x, positive=near, negative=far, margin=1.0, p=1.0, eps=1e-6, swap=False, reduction=none)
    loss("multi_margin_loss", (), self=x, target=classes, p=1, margin=1.0, weight=None, reduction=mean)
    loss("multi_margin_loss", ("s0",), self=x, target=classes, p=2, margin=0.5, weight=p.weight("weight", weight), reduction=none)
    runs = []
    for n in (2, 6):
        x, near, far = drawn(n, n, 5), drawn(n + 1, n, 5), drawn(n + 2, n, 5)
        count = np.random.default_rng(n).integers(1, 6, (n, 5)).astype(np.float32)
        classes = np.random.default_rng(n).integers(0, 5, n)
        stirling = np.where(count > 1, count * np.log(count) - count + 0.5 * np.log(2 * np.pi * count), 0)

        def apart(a, b, order):
            return (np.abs(a - b + np.float32(1e-6)) ** order).sum(-1) ** (1 / order)

        own = np.take_along_axis(x, classes[:, None], 1)

        def margins(margin, order):
            over = np.maximum(margin - own + x, 0) ** order
            over[np.arange(n), classes] = 0
            return over

        wanted = [(np.exp(x) - count * x).mean(), count - count * np.log(count + 1e-8) + stirling,
                  np.maximum(apart(x, near, 2) - np.minimum(apart(x, far, 2), apart(near, far, 2)) + 0.5, 0).mean(),
                  np.maximum(apart(x, near, 1) - apart(x, far, 1) + 1, 0), margins(1, 1).mean(1).mean(),
                  (margins(0.5, 2) * weight[classes][:, None]).mean(1)]
        runs.append(({"x": x, "count": count, "classes": classes, "near": near, "far": far}, [np.asarray(v, np.float32) for v in wanted]))
    return p, runs


@case
def windows_of_all_there_is():
    """Windows longer than the padded input, where one is wanted all the same."""
    p = Program()
    x = p.input("x", (2, 3, 7, 5))
    named = {"self": x, "kernel_size": [40, 9], "stride": [40, 9], "ceil_mode": True}
    p.output(p.node("aten.avg_pool2d.default", named, [("f4", (2, 3, 1, 1))])[0])
    p.output(p.node("aten.avg_pool2d.default", {**named, "padding": [2, 1], "count_include_pad": True}, [("f4", (2, 3, 1, 1))])[0])
    p.output(p.node("aten.avg_pool2d.default", {**named, "padding": [2, 1], "count_include_pad": False}, [("f4", (2, 3, 1, 1))])[0])
    p.output(p.node("aten.max_pool2d.default", {**named, "kernel_size": [4, 9], "stride": [20, 9], "dilation": [4, 1]},
                    [("f4", (2, 3, 1, 1))])[0])
    x = drawn(1, 2, 3, 7, 5)
    mean = x.mean((2, 3), keepdims=True)
    return p, [({"x": x}, [mean, mean * np.float32(35 / 77), mean, x[:, :, ::4].max((2, 3), keepdims=True)])]


@case
def running_statistics():
    p = Program()
    x = p.input("x", (2, 3, 4))
    zeros = p.weight("mean", np.zeros(3, np.float32))
    p.output(p.node("aten.batch_norm.default",
                    {"input": x, "weight": None, "bias": None, "running_mean": zeros, "running_var": zeros,
                     "training": True, "momentum": 0.1, "eps": 1e-5, "cudnn_enabled": True}, [("f4", (2, 3, 4))])[0])
    return p, "updates running statistics"


def blocks(x, size, dilation, pad, stride):
    """[n, c, block…, places…]"""
    x = np.pad(x, ((0, 0), (0, 0), (pad[0],) * 2, (pad[1],) * 2))
    reach = [d * (k - 1) + 1 for k, d in zip(size, dilation)]
    windows = np.lib.stride_tricks.sliding_window_view(x, reach, (2, 3))
    windows = windows[:, :, ::stride[0], ::stride[1], ::dilation[0], ::dilation[1]]
    return windows.transpose(0, 1, 4, 5, 2, 3)


def summed(columns, image, size, dilation, pad, stride):
    result = np.zeros((*columns.shape[:2], image[0] + 2 * pad[0], image[1] + 2 * pad[1]), np.float32)
    for i in range(size[0]):
        for j in range(size[1]):
            rows, cols = columns.shape[4:]
            result[:, :, i * dilation[0]:i * dilation[0] + rows * stride[0]:stride[0],
                   j * dilation[1]:j * dilation[1] + cols * stride[1]:stride[1]] += columns[:, :, i, j]
    return result[:, :, pad[0]:pad[0] + image[0], pad[1]:pad[1] + image[1]]


@everywhere
def patches():
    """Unfold and fold: overlapping, dilated and padded windows, and windows side by side."""
    p = Program({"s0": (1, 8)})
    x = p.input("x", ("s0", 3, 8, 6))
    runs, wanted = [], []
    for size, dilation, pad, stride in (((3, 2), (1, 2), (1, 0), (2, 1)), ((2, 3), (1, 1), (0, 0), (2, 3))):
        named = {"kernel_size": list(size), "dilation": list(dilation), "padding": list(pad), "stride": list(stride)}
        shape = blocks(np.zeros((1, 3, 8, 6)), size, dilation, pad, stride).shape
        columns = (3 * size[0] * size[1], shape[4] * shape[5])
        y = p.node("aten.im2col.default", {"self": x, **named}, [("f4", ("s0", *columns))])[0]
        p.output(y)
        p.output(p.node("aten.col2im.default", {"self": y, "output_size": [8, 6], **named}, [("f4", ("s0", 3, 8, 6))])[0])
        wanted.append((size, dilation, pad, stride))
    for n in (1, 3):
        x, outputs = drawn(n, n, 3, 8, 6), []
        for geometry in wanted:
            y = blocks(x, *geometry)
            outputs += [y.reshape(n, y[0, :, :, :, 0, 0].size, -1), summed(y, (8, 6), *geometry)]
        runs.append(({"x": x}, outputs))
    return p, runs


@case
def patches_of_a_dynamic_width():
    p = Program({"s1": (4, 64)})
    x = p.input("x", (2, 6, "s1"))
    named = {"kernel_size": [2, 3], "dilation": [1, 1], "padding": [1, 1], "stride": [1, 1]}
    width = p.number("aten.sym_size.int", {"self": x, "dim": 2}, "s1")
    y = p.node("aten.im2col.default", {"self": x, **named},
               [("f4", (12, "Mul(Integer(7), Symbol('s1', positive=True, integer=True))"))])[0]
    p.output(y)
    p.output(p.node("aten.col2im.default", {"self": y, "output_size": [6, width], **named}, [("f4", (2, 6, "s1"))])[0])
    runs = []
    for n in (4, 9):
        x = drawn(n, 2, 6, n)
        y = blocks(x[None], (2, 3), (1, 1), (1, 1), (1, 1))
        runs.append(({"x": x}, [y.reshape(12, -1), summed(y, (6, n), (2, 3), (1, 1), (1, 1), (1, 1))[0]]))
    return p, runs


@everywhere
def places():
    """Maxima of windows that differ with their places, and back; places of what is true; writes to places."""
    p = Program()
    x = p.input("x", (2, 3, 7, 5))
    y, at = p.node("aten.adaptive_max_pool2d.default", {"self": x, "output_size": [3, 2]},
                   [("f4", (2, 3, 3, 2)), ("i8", (2, 3, 3, 2))])
    p.output(y)
    p.output(at)
    p.output(p.node("aten.max_unpool2d.default", {"self": y, "indices": at, "output_size": [7, 5]},
                    [("f4", (2, 3, 7, 5))])[0])
    index, source = p.weight("index", np.array([[3, -1], [0, 3]])), p.weight("source", drawn(2, 2, 2))
    p.output(p.node("aten.put.default", {"self": x, "index": index, "source": source, "accumulate": True},
                    [("f4", (2, 3, 7, 5))])[0])
    p.output(p.node("aten.msort.default", {"self": x}, [("f4", (2, 3, 7, 5))])[0])
    x = drawn(1, 2, 3, 7, 5)
    y, at, back = np.zeros((2, 3, 3, 2), np.float32), np.zeros((2, 3, 3, 2), np.int64), np.zeros_like(x)
    for n, c, i, j in np.ndindex(y.shape):
        top, bottom, left, right = i * 7 // 3, -(-(i + 1) * 7 // 3), j * 5 // 2, -(-(j + 1) * 5 // 2)
        window = x[n, c, top:bottom, left:right]
        r, s = np.unravel_index(window.argmax(), window.shape)
        y[n, c, i, j], at[n, c, i, j] = window.max(), (top + r) * 5 + left + s
        back[n, c, top + r, left + s] = window.max()
    put = x.ravel().copy()
    np.add.at(put, np.array([3, -1, 0, 3]), drawn(2, 2, 2).ravel())
    return p, [({"x": x}, [y, at, back, put.reshape(x.shape), np.sort(x, 0)])]


@case
def where_true():
    p = Program({"s0": (1, 40), "u0": (0, 1000)})
    x = p.input("x", ("s0", 5))
    flags = p.node("aten.gt.Scalar", {"self": x, "other": 0.5}, [("?", ("s0", 5))])[0]
    names = [p.fresh("aten.where.default") for _ in range(2)]
    for name in names:
        p.tensors[name] = meta("i8", ("u0",))
    p.add("aten.where.default", {"condition": flags}, [{"as_tensors": [{"name": name} for name in names]}])
    for name in names:
        p.output(Ref(name))
    p.output(p.node("aten.index.Tensor", {"self": x, "indices": [Ref(name) for name in names]}, [("f4", ("u0",))])[0])
    runs = []
    for n in (1, 40):
        x = drawn(n, n, 5)
        runs.append(({"x": x}, [*np.where(x > 0.5), x[x > 0.5]]))
    runs.append(({"x": np.zeros((3, 5), np.float32)}, [np.zeros(0, np.int64)] * 2 + [np.zeros(0, np.float32)]))
    return p, runs


@case
def signs_and_shapes():
    p = Program({"s0": (1, 40)})
    x, y = p.input("x", ("s0", 4)), p.input("y", ("s0", 4))
    h = p.input("h", ("s0", 4), "f2")
    p.output(p.node("aten.copysign.Tensor", {"self": x, "other": y}, [("f4", ("s0", 4))])[0])
    p.output(p.node("aten.copysign.Scalar", {"self": h, "other": -2.0}, [("f2", ("s0", 4))])[0])
    p.output(p.node("aten._shape_as_tensor.default", {"self": x}, [("i8", (2,))])[0])
    rows = p.number("aten.sym_size.int", {"self": x, "dim": 0}, "s0")
    one = p.node("aten.unsqueeze.default", {"self": x, "dim": 1}, [("f4", ("s0", 1, 4))])[0]
    p.output(p.node("aten.broadcast_to.default", {"self": one, "size": [2, rows, 3, 4]}, [("f4", (2, "s0", 3, 4))])[0])
    x, y = drawn(1, 3, 4), drawn(2, 3, 4)
    y[0, :2] = 0.0, -0.0
    h = x.astype(np.float16)
    return p, [({"x": x, "y": y, "h": h}, [np.copysign(x, y), -np.abs(h), np.array([3, 4]),
                                           np.broadcast_to(x[:, None], (2, 3, 3, 4))])]


REST = "Mod(Mul(Integer(-1), Symbol('s0', positive=True, integer=True)), Integer(4))"
WHOLE = f"Add(Symbol('s0', positive=True, integer=True), {REST})"


@everywhere
def pads_to_windows():
    """Rows to a whole number of windows, as Swin pads; with what else takes such a size."""
    p = Program({"s0": (2, 64)})
    x = p.input("x", (2, "s0", 3))
    rows = p.number("aten.sym_size.int", {"self": x, "dim": 1}, "s0")
    less = p.number("_operator.neg", {"a": rows}, "Mul(Integer(-1), Symbol('s0', positive=True, integer=True))")
    rest = p.number("_operator.mod", {"a": less, "b": 4}, REST)
    whole = p.number("_operator.add", {"a": rows, "b": rest}, WHOLE)
    kept = {"self": x, "mode": "constant", "value": 7.0}
    p.output(p.node("aten.pad.default", {**kept, "pad": [0, 0, 0, rest]}, [("f4", (2, WHOLE, 3))])[0])
    p.output(p.node("aten.constant_pad_nd.default", {"self": x, "pad": [1, 0, rest, 0]}, [("f4", (2, WHOLE, 4))])[0])
    p.output(p.node("aten.pad.default", {"self": x, "pad": [0, 0, 0, rest], "mode": "replicate"},
                    [("f4", (2, WHOLE, 3))])[0])
    p.output(p.node("aten.arange.default", {"end": whole, "dtype": Type("i8")}, [("i8", (WHOLE,))])[0])
    one = p.node("aten.slice.Tensor", {"self": x, "dim": 1, "start": 0, "end": 1}, [("f4", (2, 1, 3))])[0]
    p.output(p.node("aten.expand.default", {"self": one, "size": [2, whole, 3]}, [("f4", (2, WHOLE, 3))])[0])
    last = p.number("_operator.neg", {"a": rest}, f"Mul(Integer(-1), {REST})")
    p.output(p.node("aten.slice.Tensor", {"self": x, "dim": 1, "start": last, "end": 2**63 - 1}, [("f4", (2, REST, 3))])[0])
    p.output(p.node("aten.narrow.default", {"self": x, "dim": 1, "start": 0, "length": rest}, [("f4", (2, REST, 3))])[0])
    runs = []
    for n in (3, 8, 13):
        x, more = drawn(n, 2, n, 3), -n % 4
        runs.append(({"x": x}, [np.pad(x, ((0, 0), (0, more), (0, 0)), constant_values=7),
                                np.pad(x, ((0, 0), (more, 0), (1, 0))), np.pad(x, ((0, 0), (0, more), (0, 0)), "edge"),
                                np.arange(n + more), np.repeat(x[:, :1], n + more, 1), x[:, n - more:], x[:, :more]]))
    return p, runs


@case
def pads_that_cut():
    """To a length that another input has, be it more or less."""
    p = Program({"s0": (1, 64), "s1": (1, 64)})
    x, y = p.input("x", ("s0", 3)), p.input("y", ("s1",))
    rows = p.number("aten.sym_size.int", {"self": x, "dim": 0}, "s0")
    wanted = p.number("aten.sym_size.int", {"self": y, "dim": 0}, "s1")
    more = p.number("_operator.sub", {"a": wanted, "b": rows},
                    "Add(Mul(Integer(-1), Symbol('s0', positive=True, integer=True)), "
                    "Symbol('s1', positive=True, integer=True))")
    p.output(p.node("aten.constant_pad_nd.default", {"self": x, "pad": [0, 0, 0, more]}, [("f4", ("s1", 3))])[0])
    p.output(p.node("aten.neg.default", {"self": y}, [("f4", ("s1",))])[0])
    runs = []
    for n, m in ((5, 9), (9, 5), (4, 4), (7, 1)):
        x, y = drawn(n, n, 3), drawn(m, m)
        runs.append(({"x": x, "y": y}, [np.concatenate([x, np.zeros((m, 3), np.float32)])[:m], -y]))
    return p, runs


def taps(out, size, kernel, reach, antialias):
    """The weights of a resize along an axis: [out, size]."""
    w, by = np.zeros((out, size)), size / out
    stretch = max(by, 1) if antialias else 1
    for i in range(out):
        centre = by * (i + 0.5) - 0.5
        if kernel == "linear" and not antialias:
            centre = max(centre, 0)
        for j in range(int(np.floor(centre - reach * stretch)), int(np.ceil(centre + reach * stretch)) + 1):
            t, a = abs(j - centre) / stretch, -0.5 if antialias else -0.75
            if kernel == "linear":
                v = max(1 - t, 0)
            else:
                v = ((a + 2) * t - (a + 3)) * t * t + 1 if t <= 1 else ((a * t - 5 * a) * t + 8 * a) * t - 4 * a if t < 2 else 0
            if 0 <= j < size or not antialias:
                w[i, min(max(j, 0), size - 1)] += v
        w[i] /= w[i].sum()
    return w


@everywhere
def resizes():
    """To sizes that the run knows; and known ones with antialias, smaller and larger."""
    p = Program({"s0": (2, 64), "s1": (2, 64)})
    x, y, z = p.input("x", (1, 2, "s0", 7)), p.input("y", ("s1",)), p.input("z", (1, 2, 9, 4))
    h = p.number("aten.sym_size.int", {"self": y, "dim": 0}, "s1")
    forms = [("bilinear", "linear", 1), ("bicubic", "cubic", 2)]
    for name, _, _ in forms:
        p.output(p.node(f"aten.upsample_{name}2d.vec", {"input": x, "output_size": [h, 5], "align_corners": False},
                        [("f4", (1, 2, "s1", 5))])[0])
        p.output(p.node(f"aten._upsample_{name}2d_aa.vec", {"input": z, "output_size": [4, 6], "align_corners": False},
                        [("f4", (1, 2, 4, 6))])[0])
    p.output(p.node("aten.upsample_nearest2d.vec", {"input": x, "output_size": [h, 7]}, [("f4", (1, 2, "s1", 7))])[0])
    p.output(p.node("aten.neg.default", {"self": y}, [("f4", ("s1",))])[0])
    runs = []
    for n, m in ((3, 8), (8, 3), (5, 5)):
        x, y, z, outputs = drawn(n, 1, 2, n, 7), drawn(m, m), drawn(2, 1, 2, 9, 4), []
        for _, kernel, reach in forms:
            outputs.append(np.einsum("ih,nchw,jw->ncij", taps(m, n, kernel, reach, False), x,
                                     taps(5, 7, kernel, reach, False)))
            outputs.append(np.einsum("ih,nchw,jw->ncij", taps(4, 9, kernel, reach, True), z,
                                     taps(6, 4, kernel, reach, True)))
        outputs.append(x[:, :, [i * n // m for i in range(m)]])
        runs.append(({"x": x, "y": y, "z": z}, [*(v.astype(np.float32) for v in outputs), -y]))
    return p, runs


#===--- experts ---------------------------------------------------------------===#


def grouped(x, w, ends):
    y, start = np.zeros((len(x), w.shape[2]), np.float32), 0
    for matrix, end in zip(w, ends):
        y[start:end] = x[start:end] @ matrix
        start = end
    return y


@everywhere
def grouped_products():
    """Rows of a group by its own matrix: of as many rows as the run has, of few, and of batches."""
    p = Program({"s0": (1, 64)})
    x, ends = p.input("x", ("s0", 8)), p.input("ends", (4,), "i4")
    few, last = p.input("few", (2, 8)), p.input("last", (16,), "i4")
    w, many = p.weight("w", drawn(1, 4, 8, 6)), p.weight("many", drawn(2, 16, 8, 6))
    p.output(p.node("aten._grouped_mm.default", {"self": x, "mat2": w, "offs": ends}, [("f4", ("s0", 6))])[0])
    p.output(p.node("transformers.grouped_mm_fallback.default", {"input": few, "weight": many, "offs": last},
                    [("f4", (2, 6))])[0])
    p.output(p.node("aten._grouped_mm.default", {"self": p.weight("rows", drawn(3, 4, 3, 8)), "mat2": w},
                    [("f4", (4, 3, 6))])[0])
    runs = []
    for n, to in ((5, [0, 2, 2, 5]), (40, [10, 11, 30, 38])):
        x, few, last = drawn(n, n, 8), drawn(9, 2, 8), np.array([0] * 5 + [1] * 8 + [2] * 3, np.int32)
        if n == 40:
            last = np.minimum(last, 1)
        runs.append(({"x": x, "ends": np.array(to, np.int32), "few": few, "last": last},
                     [grouped(x, drawn(1, 4, 8, 6), to), grouped(few, drawn(2, 16, 8, 6), last),
                      drawn(3, 4, 3, 8) @ drawn(1, 4, 8, 6)]))
    return p, runs


@case
def sorted_experts():
    """As transformers has it: rows sorted by expert, two products by groups, and back in the order of the tokens."""
    p = Program({"s0": (1, 32)})
    x, ids, shares = p.input("x", ("s0", 8)), p.input("ids", ("s0", 2), "i8"), p.input("shares", ("s0", 2))
    up, down = p.weight("up", drawn(1, 4, 12, 8)), p.weight("down", drawn(2, 4, 8, 6))
    tokens = p.number("aten.sym_size.int", {"self": x, "dim": 0}, "s0")
    rows = "Mul(Integer(2), Symbol('s0', positive=True, integer=True))"

    def node(target, arguments, type, shape):
        return p.node("aten." + target, arguments, [(type, shape)])[0]

    places = node("arange.default", {"end": tokens, "dtype": Type("i8")}, "i8", ("s0",))
    places = node("unsqueeze.default", {"self": places, "dim": 1}, "i8", ("s0", 1))
    places = node("expand.default", {"self": places, "size": [-1, 2]}, "i8", ("s0", 2))
    places = node("reshape.default", {"self": places, "shape": [-1]}, "i8", (rows,))
    experts = node("reshape.default", {"self": ids, "shape": [-1]}, "i8", (rows,))
    weights = node("reshape.default", {"self": shares, "shape": [-1]}, "f4", (rows,))
    order = node("argsort.default", {"self": experts}, "i8", (rows,))
    back = node("argsort.default", {"self": order}, "i8", (rows,))
    sorted_ids = node("index.Tensor", {"self": experts, "indices": [order]}, "i8", (rows,))
    picked = node("index.Tensor", {"self": x, "indices": [places]}, "f4", (rows, 8))
    picked = node("index.Tensor", {"self": picked, "indices": [order]}, "f4", (rows, 8))
    weights = node("index.Tensor", {"self": weights, "indices": [order]}, "f4", (rows,))
    own = node("one_hot.default", {"self": sorted_ids, "num_classes": 4}, "i8", (rows, 4))
    counts = node("sum.dim_IntList", {"self": own, "dim": [0], "dtype": Type("f4")}, "f4", (4,))
    ends = node("cumsum.default", {"self": counts, "dim": 0, "dtype": Type("i4")}, "i4", (4,))
    turned = node("transpose.int", {"self": up, "dim0": -2, "dim1": -1}, "f4", (4, 8, 12))
    y = p.node("transformers.grouped_mm_fallback.default", {"input": picked, "weight": turned, "offs": ends},
               [("f4", (rows, 12))])[0]
    gate, value = p.node("aten.split.Tensor", {"self": y, "split_size": 8, "dim": -1}, [("f4", (rows, 8)), ("f4", (rows, 4))])
    del value
    y = node("silu.default", {"self": gate}, "f4", (rows, 8))
    y = p.node("aten._grouped_mm.default", {"self": y, "mat2": down, "offs": ends}, [("f4", (rows, 6))])[0]
    y = node("mul.Tensor", {"self": y, "other": node("unsqueeze.default", {"self": weights, "dim": -1}, "f4", (rows, 1))},
             "f4", (rows, 6))
    y = node("index.Tensor", {"self": y, "indices": [back]}, "f4", (rows, 6))
    y = node("view.default", {"self": y, "size": [tokens, 2, 6]}, "f4", ("s0", 2, 6))
    p.output(node("sum.dim_IntList", {"self": y, "dim": [1]}, "f4", ("s0", 6)))
    runs = []
    for n in (1, 7, 32):
        x, ids = drawn(n, n, 8), np.random.default_rng(n).integers(0, 4, (n, 2))
        shares = np.abs(drawn(n + 1, n, 2))
        y = np.einsum("nk,neok->neo", x, drawn(1, 4, 12, 8)[ids])[:, :, :8]
        y = np.einsum("nek,neko->neo", y / (1 + np.exp(-y)), drawn(2, 4, 8, 6)[ids])
        runs.append(({"x": x, "ids": ids, "shares": shares}, [(y * shares[:, :, None]).sum(1).astype(np.float32)]))
    return p, runs


@case
def grouped_columns():
    p = Program()
    x, w, ends = p.input("x", (4, 8)), p.input("w", (8, 6)), p.input("ends", (2,), "i4")
    p.output(p.node("aten._grouped_mm.default", {"self": x, "mat2": w, "offs": ends}, [("f4", (2, 4, 6))])[0])
    return p, "grouped products of [4, 8] and [8, 6]"
