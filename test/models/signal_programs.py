# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions, grids, spectra and a projected LSTM of PyTorch's programs: cases of written_programs.py, beside numpy."""
import math

import numpy as np

from program_writer import Program
from written_operators import drawn, program

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


@case
def pooled_regions():
    x = drawn(1, 2, 3, 12, 10)
    rois = np.array([[0, 2, 3, 15, 21], [1, 0, 0, 30, 30], [1, 7, 5, 7, 5], [0, 18, 20, 25, 29]], np.float32)
    out = np.zeros((4, 3, 3, 2), np.float32)
    for r, (image, *box) in enumerate(rois):
        left, top, right, bottom = [int(math.floor(c * 0.5 + 0.5)) for c in box]
        height, width = max(bottom - top + 1, 1) / 3, max(right - left + 1, 1) / 2
        for i in range(3):
            for j in range(2):
                rows = slice(min(max(math.floor(i * height) + top, 0), 12), min(max(math.ceil((i + 1) * height) + top, 0), 12))
                columns = slice(min(max(math.floor(j * width) + left, 0), 10), min(max(math.ceil((j + 1) * width) + left, 0), 10))
                cell = x[int(image), :, rows, columns]
                out[r, :, i, j] = cell.max((1, 2)) if cell.size else 0
    return program({"x": x, "rois": rois}, [("torchvision.roi_pool.default", {
        "input": "x", "rois": "rois", "spatial_scale": 0.5, "pooled_height": 3, "pooled_width": 2}, out)])


#===--- sampling ----------------------------------------------------------------===#


def sampled(x, grid, mode, padding, align):
    """Element by element: what torch.nn.functional.grid_sample says."""
    space = x.ndim - 2
    sizes = x.shape[2:]

    def confine(v, n):
        if padding == 2:
            low, span = (0, n - 1) if align else (-0.5, n)
            off = abs(v - low)
            turns, rest = int(off // span) if span else 0, off % span if span else 0
            v = low + (rest if turns % 2 == 0 else span - rest)
        return min(max(v, 0), n - 1) if padding else v

    def near(t):
        a, t = -0.75, abs(t)
        return ((a + 2) * t - (a + 3)) * t * t + 1 if t <= 1 else ((a * t - 5 * a) * t + 8 * a) * t - 4 * a if t < 2 else 0

    out = np.zeros((x.shape[0], x.shape[1], *grid.shape[1:-1]), np.float64)
    for place in np.ndindex(grid.shape[:-1]):
        image, where = x[place[0]].astype(np.float64), grid[place][::-1].astype(np.float64)
        at = [((w + 1) * (n - 1) if align else (w + 1) * n - 1) / 2 for w, n in zip(where, sizes)]
        if mode != 2:
            at = [confine(v, n) for v, n in zip(at, sizes)]
        taps = []
        for v in at:
            low = math.floor(v)
            taps.append([(round(v), 1)] if mode == 1 else [(low, 1 - v + low), (low + 1, v - low)] if mode == 0 else
                        [(low + k, near(v - low - k)) for k in (-1, 0, 1, 2)])
        for choice in np.ndindex(*[len(t) for t in taps]):
            weight, index = 1.0, []
            for t, c, n in zip(taps, choice, sizes):
                index.append(int(confine(t[c][0], n)) if mode == 2 else t[c][0])
                weight *= t[c][1]
            if all(0 <= k < n for k, n in zip(index, sizes)):
                out[(place[0], slice(None), *place[1:])] += weight * image[(slice(None), *index)]
    return out.astype(np.float32)


@case
def grids():
    x, volume = drawn(1, 2, 3, 5, 7), drawn(2, 1, 2, 4, 3, 5)
    g, cube = drawn(3, 2, 4, 3, 2) * np.float32(0.8), drawn(4, 1, 2, 3, 2, 3) * np.float32(0.8)
    nodes = [("grid_sampler.default", {"input": "x", "grid": "g", "interpolation_mode": mode, "padding_mode": pads, "align_corners": align},
              sampled(x, g, mode, pads, align)) for mode in (0, 1, 2) for pads in (0, 1, 2) for align in (False, True)]
    nodes += [("grid_sampler.default", {"input": "volume", "grid": "cube", "interpolation_mode": mode, "padding_mode": pads,
                                        "align_corners": True}, sampled(volume, cube, mode, pads, True))
              for mode in (0, 1) for pads in (0, 2)]
    return program({"x": x, "volume": volume, "g": g, "cube": cube}, nodes)


#===--- recurrence and spectra --------------------------------------------------===#


@case
def projected_lstm():
    x, h, c = drawn(1, 5, 2, 4), drawn(2, 1, 2, 3), drawn(3, 1, 2, 6)
    w, r, bias, other, project = drawn(4, 24, 4) / 2, drawn(5, 24, 3) / 2, drawn(6, 24), drawn(7, 24), drawn(8, 3, 6) / 2
    p = Program()
    refs = [p.input(n, v.shape) for n, v in (("x", x), ("h", h), ("c", c))]
    params = [p.weight(f"w{i}", v) for i, v in enumerate((w, r, bias, other, project))]
    for v in p.node("aten.lstm.input", {"input": refs[0], "hx": refs[1:], "params": params, "has_biases": True, "num_layers": 1,
                                        "dropout": 0.0, "train": False, "bidirectional": False, "batch_first": False},
                    [("f4", (5, 2, 3)), ("f4", (1, 2, 3)), ("f4", (1, 2, 6))]):
        p.output(v)

    def logistic(v):
        return 1 / (1 + np.exp(-v))

    state, memory, outs = h[0], c[0], []
    for step in x:
        i, f, g, o = np.split(step @ w.T + bias + state @ r.T + other, 4, 1)
        memory = logistic(f) * memory + logistic(i) * np.tanh(g)
        state = (logistic(o) * np.tanh(memory)) @ project.T
        outs.append(state)
    return p, [({"x": x, "h": h, "c": c}, [np.stack(outs), state[None], memory[None]])]


@case
def spectra():
    x = drawn(1, 3, 10)
    p = Program()
    ref = p.input("x", (3, 10))
    outs = []

    def parts(value, wanted):
        shape = wanted.shape
        p.output(p.node("aten.view_as_real.default", {"self": value}, [("f4", (*shape, 2))])[0])
        outs.append(np.stack([wanted.real, wanted.imag], -1).astype(np.float32))

    half = p.node("aten.fft_rfft.default", {"self": ref}, [("c8", (3, 6))])[0]
    parts(half, np.fft.rfft(x))
    parts(p.node("aten.fft_rfft.default", {"self": ref, "n": 7, "dim": -1, "norm": "ortho"}, [("c8", (3, 4))])[0], np.fft.rfft(x, 7, norm="ortho"))
    whole = p.node("aten.fft_fft.default", {"self": ref, "dim": 0}, [("c8", (3, 10))])[0]
    parts(whole, np.fft.fft(x, axis=0))
    parts(p.node("aten.fft_ifft.default", {"self": whole, "dim": 0}, [("c8", (3, 10))])[0], x.astype(np.complex64))
    plane = p.node("aten.fft_fft2.default", {"self": ref}, [("c8", (3, 10))])[0]
    parts(plane, np.fft.fft2(x))
    parts(p.node("aten.fft_fftn.default", {"self": ref}, [("c8", (3, 10))])[0], np.fft.fft2(x))
    parts(p.node("aten.fft_fftn.default", {"self": ref, "dim": [1]}, [("c8", (3, 10))])[0], np.fft.fft(x))
    parts(p.node("aten.fft_fftn.default", {"self": ref, "s": [8]}, [("c8", (3, 8))])[0], np.fft.fft(x, 8))
    parts(p.node("aten.fft_rfftn.default", {"self": ref, "dim": [0]}, [("c8", (2, 10))])[0], np.fft.rfft(x, axis=0))
    parts(p.node("aten._fft_c2c.default", {"self": plane, "dim": [0, 1], "normalization": 2, "forward": False}, [("c8", (3, 10))])[0],
          x.astype(np.complex64))
    parts(p.node("aten.mul.Tensor", {"self": half, "other": half}, [("c8", (3, 6))])[0], np.fft.rfft(x) ** 2)
    parts(p.node("aten.div.Tensor", {"self": half, "other": half}, [("c8", (3, 6))])[0], np.ones((3, 6), np.complex64))
    real = [("aten.abs.default", {"self": half}, np.abs(np.fft.rfft(x))), ("aten.angle.default", {"self": whole}, np.angle(np.fft.fft(x, axis=0))),
            ("aten.real.default", {"self": half}, np.fft.rfft(x).real), ("aten.imag.default", {"self": half}, np.fft.rfft(x).imag),
            ("aten.fft_irfft.default", {"self": half}, x), ("aten.fft_irfft.default", {"self": half, "n": 9}, np.fft.irfft(np.fft.rfft(x), 9)),
            ("aten.fft_irfft2.default", {"self": half, "s": [3, 10]}, np.fft.irfft2(np.fft.rfft(x), (3, 10))),
            ("aten._fft_c2r.default", {"self": half, "dim": [1], "normalization": 2, "last_dim_size": 10}, x)]
    for target, arguments, wanted in real:
        p.output(p.node(target, arguments, [("f4", wanted.shape)])[0])
        outs.append(wanted.astype(np.float32))
    return p, [({"x": x}, outs)]


@case
def short_time():
    x = drawn(1, 2, 40)
    w = np.hanning(9)[:8].astype(np.float32)
    frames = np.stack([np.fft.rfft(x[:, i:i + 8] * w) for i in range(0, 33, 4)], -1)
    p = Program()
    ref, window = p.input("x", (2, 40)), p.weight("w", w)
    y = p.node("aten.stft.default", {"self": ref, "n_fft": 8, "hop_length": 4, "win_length": 8, "window": window, "normalized": False,
                                     "onesided": True, "return_complex": True}, [("c8", (2, 5, 9))])[0]
    p.output(p.node("aten.view_as_real.default", {"self": y}, [("f4", (2, 5, 9, 2))])[0])
    centred = p.node("aten.stft.center", {"self": ref, "n_fft": 8, "hop_length": 4, "window": window, "center": True, "pad_mode": "reflect",
                                          "return_complex": True}, [("c8", (2, 5, 11))])[0]
    p.output(p.node("aten.istft.default", {"self": centred, "n_fft": 8, "hop_length": 4, "window": window}, [("f4", (2, 40))])[0])
    return p, [({"x": x}, [np.stack([frames.real, frames.imag], -1).astype(np.float32), x])]
