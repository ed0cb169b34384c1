# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of torchvision's operators, complex numbers, quantised forms and guards: cases of written_programs.py."""
import numpy as np

from program_cases import case, drawn
from program_writer import Program, Type


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


def rounded_through(x, scale, zero, low, high):
    """Codes and back, and where a code was not clamped."""
    whole = np.round(x / scale) + zero
    return ((np.clip(whole, low, high) - zero) * scale).astype(np.float32), (whole >= low) & (whole <= high)


@case
def fake_quantised():
    """What training for quantisation leaves: numbers, tensors or channels of scales, and masks for gradients."""
    x, w = 3 * drawn(1, 4, 6), drawn(2, 6, 3)
    scales, zeros = np.array([0.01, 0.03, 0.02], np.float32), np.array([3, 0, -5], np.int32)
    p = Program({"s0": (1, 9)})
    ref = p.input("x", ("s0", 6))
    narrow = {"quant_min": -20, "quant_max": 20}
    wanted = [*rounded_through(x, np.float32(0.05), 3, -20, 20), rounded_through(x, np.float32(0.02), 128, 0, 255)[0],
              rounded_through(x, np.float32(0.001), 0, -32768, 32767)[0]]
    for value in p.node("aten.fake_quantize_per_tensor_affine_cachemask.default", {"self": ref, "scale": 0.05, "zero_point": 3, **narrow},
                        [("f4", ("s0", 6)), ("?", ("s0", 6))]):
        p.output(value)
    p.output(p.node("aten.fake_quantize_per_tensor_affine.tensor_qparams",
                    {"self": ref, "scale": p.weight("s", np.array([0.02], np.float32)), "zero_point": p.weight("z", np.array([128], np.int32)),
                     "quant_min": 0, "quant_max": 255}, [("f4", ("s0", 6))])[0])
    y = p.node("aten.fake_quantize_per_tensor_affine.default", {"self": ref, "scale": 0.001, "zero_point": 0, "quant_min": -32768, "quant_max": 32767},
               [("f4", ("s0", 6))])[0]
    p.output(y)
    arguments = {"scale": p.weight("scales", scales), "zero_point": p.weight("zeros", zeros), "axis": 1, "quant_min": -128, "quant_max": 127}
    weight = p.node("aten.fake_quantize_per_channel_affine.default", {"self": p.weight("w", w), **arguments}, [("f4", (6, 3))])[0]
    p.output(p.node("aten.mm.default", {"self": y, "mat2": weight}, [("f4", ("s0", 3))])[0])
    wanted.append(wanted[-1] @ rounded_through(w, scales, zeros, -128, 127)[0])
    for value, result in zip(p.node("aten.fake_quantize_per_channel_affine_cachemask.default", {"self": p.weight("w2", 3 * w), **arguments},
                                    [("f4", (6, 3)), ("?", (6, 3))]), rounded_through(3 * w, scales, zeros, -128, 127)):
        p.output(value)
        wanted.append(result)
    return p, [({"x": x}, wanted)]


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
