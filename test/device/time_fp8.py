#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GEMMs of FP8 of kpc beside cuBLASLt (torch._scaled_mm), and convolutions beside kpc's own of fp16: right, and how fast.

    python3 time_fp8.py FOLDER --runtime libkpc_runtime.so [--json FILE] [--rounds 7] [--only REGEX]

FOLDER is what fp8.py wrote. The reference is f64; side_by_side.py says how both sides are timed. `exact` is cuBLASLt without fast
accumulation, to which `ratio` belongs; `fast` with it. Of a convolution `ratio` belongs to `half`, kpc's own of fp16.
"""

import math
import sys

import numpy
import torch

from fp8 import BLOCK, SCALE_X, SCALE_Y, filters
from side_by_side import Kernel, compare_bursts, compare_cases, error

CODES = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
KINDS = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
# RMS: rounding of the result, and of sums of 128 products in about 14 bits.
LIMITS = {torch.float16: 8e-4, torch.bfloat16: 3e-3, torch.float32: 8e-4}

# Codes of E4M3. A sum whose error is the RMS one above crosses a step in 1.5 % of N(0, 1) behind a ReLU and a scale of 0.02, for one
# code mostly. Near zero steps are shorter than that error (2^-9 of the scale beside 8e-4 of the sums): there it may be as great as an
# error of a normal distribution, of which one in 10^9 is six times the RMS one.
MOST_OFF, GREATEST_ERROR = 2e-2, 6 * LIMITS[torch.float32]


def beside(got, wanted, sums):
    """The share of codes that differ, and whether all are a step away at most, or as far as the error of their sums."""
    got, wanted = got.double(), wanted.double()
    step = torch.exp2(torch.maximum(got.abs(), wanted.abs()).clamp(min=2.0**-6).log2().floor() - 3)
    reach = GREATEST_ERROR * sums.square().mean().sqrt()
    return (got != wanted).double().mean().item(), bool(((got - wanted).abs() <= step + reach).all())


def rows_of_scale(case):
    return BLOCK if case["scales"] == "blocks" else 1


def by_blocks(t, rows, of=BLOCK):
    """What has an element for each block, of `rows` rows and 128 columns, as one for each element."""
    return t.repeat_interleave(rows, 0).repeat_interleave(of, 1)


def tensors_of_blocks(case, x, w):
    def quantised(t, kind, rows):
        more = torch.nn.functional.pad(t, (0, -t.shape[1] % BLOCK, 0, -t.shape[0] % rows))
        most = more.reshape(more.shape[0] // rows, rows, -1, BLOCK).abs().amax((1, 3))
        scale = (most / torch.finfo(kind).max).float()
        return (t / by_blocks(scale, rows)[:t.shape[0], :t.shape[1]]).to(kind), scale
    (x, sx), (w, sw) = quantised(x, CODES[case["x"]], 1), quantised(w, CODES[case["w"]], rows_of_scale(case))
    return {"x": x, "w": w, "sx": sx, "swr" if case["scales"] == "lines" else "sw": sw}


def tensors(case):
    torch.manual_seed(0)
    rows, columns, total = case["rows"], case["columns"], case["sum"]
    x, w = torch.randn(rows, total, device="cuda"), torch.randn(columns, total, device="cuda") / math.sqrt(total)
    if case["scales"] in ("blocks", "lines"):
        return tensors_of_blocks(case, x, w)
    def quantised(t, kind):
        most = torch.finfo(kind).max
        scale = (t.abs().amax(1, keepdim=True) if case["scales"] == "rows" else t.abs().amax()) / most
        return (t / scale).to(kind), scale.float()
    (x, sx), (w, sw) = quantised(x, CODES[case["x"]]), quantised(w, CODES[case["w"]])
    return {"x": x, "w": w, "sx": sx.reshape(-1) if case["scales"] == "rows" else sx, "sw": sw.reshape(-1) if case["scales"] == "rows" else sw}


def exact_product(case, inputs):
    if case["scales"] in ("blocks", "lines"):
        (rows, total), columns = inputs["x"].shape, inputs["w"].shape[0]
        of_w = inputs["sw" if case["scales"] == "blocks" else "swr"].double()
        return (inputs["x"].double() * by_blocks(inputs["sx"].double(), 1)[:rows, :total]) @ (
            inputs["w"].double() * by_blocks(of_w, rows_of_scale(case))[:columns, :total]).T
    wide = inputs["x"].double() @ inputs["w"].double().T
    rows = case["scales"] == "rows"
    return wide * (inputs["sx"].double().reshape(-1, 1) if rows else inputs["sx"].double()) * inputs["sw"].double()


def scaled_mm(case, inputs, kind, fast):
    sx, sw = inputs["sx"], inputs["swr" if case["scales"] == "lines" else "sw"]
    if case["scales"] == "rows":
        sx, sw = sx.reshape(-1, 1), sw.reshape(1, -1)
    if case["scales"] == "blocks":
        # As cuBLAS wants them: of x contiguous along M, of w along K, with rows of a multiple of four.
        padded = torch.nn.functional.pad(sw, (0, -sw.shape[1] % 4))
        sx, sw = sx.T.contiguous().T, padded[:, :sw.shape[1]].T
    if case["scales"] == "lines":
        sx, sw = sx.T.contiguous().T, sw.T.contiguous()
    return lambda: torch._scaled_mm(inputs["x"], inputs["w"].T, sx, sw, out_dtype=kind, use_fast_accum=fast)


def run_conv(case, options):
    torch.manual_seed(0)
    kind = CODES[case["x"]]
    x = (torch.randn(case["batch"], *case["size"], case["channels"], device="cuda").clamp(min=0) / SCALE_X).clamp(max=torch.finfo(kind).max).to(kind)
    _, values, scales, bias = (torch.from_numpy(numpy.asarray(one)).double().cuda() for one in filters(case))
    planes = x.double().movedim(-1, 1)
    product = (torch.nn.functional.conv1d, torch.nn.functional.conv2d, torch.nn.functional.conv3d)[len(case["size"]) - 1]
    sums = product(planes, values, None, case["step"], case["pad"], case["dilation"], case["groups"])
    by = (slice(None), *[None] * len(case["size"]))
    expected = (sums * SCALE_X * scales[by] + bias[by]).clamp(min=0).movedim(1, -1).contiguous()
    ends = case["result"] == "e4m3"
    out = torch.zeros(expected.shape, device="cuda", dtype=CODES["e4m3"] if ends else torch.float16)
    kernel = Kernel(case, options, {"x": x}, {"y": out})
    row = dict(case, same=kernel.same)
    if ends:
        wanted = (expected / SCALE_Y).clamp(max=448).float().to(CODES["e4m3"])
        row["off"], near = beside(kernel.first["y"], wanted, sums * SCALE_X * scales[by] / SCALE_Y)
        row["error"] = error(kernel.first["y"].double(), wanted.double())
        row["right"] = row["same"] and near and row["off"] <= MOST_OFF
    else:
        row["error"] = error(kernel.first["y"], expected)
        row["right"] = row["same"] and row["error"] <= LIMITS[torch.float16]
    if case["purpose"] != "small" and options.rounds:
        half = Kernel(dict(case, name=case["name"] + ".half"), options, {"x": (x.float() * SCALE_X).half()}, {"y": torch.zeros_like(out, dtype=torch.float16)})
        row.update(compare_bursts({"kpc": kernel, "half": half}, options.rounds))
        row["ratio"] = row["half"] / row["kpc"]
        half.close()
    kernel.close()
    return row


def run_case(case, options):
    if case["form"] == "conv":
        return dict(case, error=0.0, same=True, right=True, purpose="half") if case["half"] else run_conv(case, options)
    kind = KINDS[case["type"]]
    inputs = tensors(case)
    out = torch.full((case["rows"], case["columns"]), math.nan, device="cuda", dtype=kind)
    kernel = Kernel(case, options, inputs, {"y": out})
    expected = exact_product(case, inputs)
    row = dict(case, error=error(kernel.first["y"], expected), same=kernel.same)
    row["right"] = row["same"] and row["error"] <= LIMITS[kind]
    if case["purpose"] != "small" and options.rounds:
        sides = {"kpc": kernel, "exact": scaled_mm(case, inputs, kind, False), "fast": scaled_mm(case, inputs, kind, True)}
        for name in ("exact", "fast"):
            try:
                row[name + "_error"] = error(sides[name](), expected)
            except RuntimeError as refused:
                print(f"{case['name']}: PyTorch refuses '{name}': {str(refused)[:90]}", file=sys.stderr)
                del sides[name]
        row.update(compare_bursts(sides, options.rounds))
        if "exact" in sides or "fast" in sides:
            row["ratio"] = row.get("exact", row.get("fast")) / row["kpc"]
        row["tflops"] = 2e-6 * case["rows"] * case["columns"] * case["sum"] / row["kpc"]
    kernel.close()
    return row


def describe(row):
    words = [f"{name} {row[name]:.1f} us" + (f" ({row[name + '_error']:.1e})" if name + "_error" in row else "") for name in ("kpc", "exact", "fast", "half") if name in row]
    return "  ".join(words + ([f"{row['ratio']:.3f}"] if "ratio" in row else []) + ([f"{row['tflops']:.0f} TFLOP/s"] if "tflops" in row else []))


if __name__ == "__main__":
    sys.exit(compare_cases(run_case, describe, __doc__))
