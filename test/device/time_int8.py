#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GEMMs and convolutions of 8-bit integers of kpc: right, and how fast beside fp16 and torch._int_mm.

    python3 time_int8.py FOLDER --runtime libkpc_runtime.so [--json FILE] [--rounds 7] [--only REGEX]

FOLDER is what int8.py wrote. The reference is f64; side_by_side.py says how sides are timed. `ratio` of a GEMM is the time of
torch._int_mm and of what dequantises its sums (three ops of PyTorch) over kpc's, of a convolution that of kpc's fp16; `mm` is
torch._int_mm alone, `half` kpc's fp16.
"""

import math
import sys

import numpy
import torch

from int8 import SCALE_X, SCALE_Y, filters
from side_by_side import Kernel, compare_bursts, compare_cases, error

LIMIT = 4e-4  # RMS: rounding of the result to fp16
MOST_OFF = 1e-3  # results between two steps


def half_of(case, inputs, out):
    """kpc's own of fp16 numbers."""
    return dict(case, name=case["name"] + ".half"), {name: (t.half() * 0.01) for name, t in inputs.items() if name in ("x", "w")}, \
        {"y": torch.empty_like(out, dtype=torch.float16)}


def run_gemm(case, options):
    torch.manual_seed(0)
    def codes(*shape):
        return torch.randint(-127, 128, shape, device="cuda", dtype=torch.int8)
    inputs = {"x": codes(case["rows"], case["sum"]), "w": codes(case["columns"], case["sum"]), "sx": torch.tensor(SCALE_X, device="cuda"),
              "sw": torch.rand(case["columns"], device="cuda") * 1e-3 + 1e-3}
    out = torch.full((case["rows"], case["columns"]), math.nan, device="cuda", dtype=torch.float16)
    kernel = Kernel(case, options, inputs, {"y": out})
    expected = (inputs["x"].double() @ inputs["w"].double().T) * inputs["sx"].double() * inputs["sw"].double()
    row = dict(case, error=error(kernel.first["y"], expected), same=kernel.same)
    row["right"] = row["same"] and row["error"] <= LIMIT
    return row, kernel, inputs, out


def peers_of_gemm(inputs):
    def sums():
        return torch._int_mm(inputs["x"], inputs["w"].T)
    return {"mm": sums, "peer": lambda: (sums().float() * (inputs["sx"] * inputs["sw"])).half()}


def run_conv(case, options):
    torch.manual_seed(0)
    x = torch.randint(0, 256, (case["batch"], case["size"], case["size"], case["channels"]), device="cuda", dtype=torch.uint8)
    codes, scales, bias = (torch.from_numpy(numpy.asarray(one)).cuda() for one in filters(case))
    sums = torch.nn.functional.conv2d(x.permute(0, 3, 1, 2).double(), codes.double(), None, case["step"], case["taps"] // 2)
    real = sums * SCALE_X * scales.double()[:, None, None] + bias.double()[:, None, None]
    expected = (real.clamp(min=0) / SCALE_Y).round().clamp(max=255).permute(0, 2, 3, 1).contiguous()
    out = torch.zeros(expected.shape, device="cuda", dtype=torch.uint8)
    kernel = Kernel(case, options, {"x": x}, {"y": out})
    off = (kernel.first["y"].double() - expected).abs()
    row = dict(case, error=error(kernel.first["y"], expected), same=kernel.same)
    row["right"] = row["same"] and off.max().item() <= 1 and (off > 0).double().mean().item() <= MOST_OFF
    return row, kernel, {"x": x}, out


def run_case(case, options):
    if case["half"]:
        return dict(case, error=0.0, same=True, right=True, purpose="half")
    is_gemm = case["form"] == "gemm"
    row, kernel, inputs, out = (run_gemm if is_gemm else run_conv)(case, options)
    if case["purpose"] != "small" and options.rounds:
        named, given, made = half_of(case, inputs, out)
        half = Kernel(named, options, given, made)
        sides = {"kpc": kernel, "half": half, **(peers_of_gemm(inputs) if is_gemm else {})}
        row.update(compare_bursts(sides, options.rounds))
        row["ratio"] = row["peer" if is_gemm else "half"] / row["kpc"]
        half.close()
    kernel.close()
    return row


def describe(row):
    words = [f"{name} {row[name]:.1f} us" for name in ("kpc", "peer", "mm", "half") if name in row]
    return "  ".join(words + ([f"{row['ratio']:.3f}"] if "ratio" in row else []))


if __name__ == "__main__":
    sys.exit(compare_cases(run_case, describe, __doc__))
