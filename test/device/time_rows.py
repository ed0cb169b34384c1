#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax, norms and GELU of kpc beside a copy of the same bytes, and beside PyTorch's: right, and how fast.

    python3 time_rows.py FOLDER --runtime libkpc_runtime.so [--json FILE] [--rounds 7] [--only REGEX]

FOLDER is what rows.py wrote. The reference is f64; side_by_side.py says how the three sides are timed. `ratio` is the
copy's time over kpc's: the share of what memory gives.
"""

import math
import sys

import torch
import torch.nn.functional as F

from side_by_side import Kernel, compare_bursts, compare_cases

KINDS = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
LIMITS = {torch.float32: 2e-6, torch.float16: 4e-4, torch.bfloat16: 3e-3}  # RMS; rounding the result alone: 2e-4 and 1.7e-3


def image_tensors(case, make):
    sizes = case["sizes"]
    if "channels" in case:
        inputs = {"x": make(*sizes, scale=2.0)}
        if case["kind"] == "norm":
            inputs.update(scale=make(sizes[1], scale=0.2) + 1, shift=make(sizes[1]))
        return inputs, {"y": torch.full_like(inputs["x"], 7.0)}
    vector = case["groups"] if case["by_group"] else sizes[1]
    if case["last"]:
        sizes = [sizes[0], *sizes[2:], sizes[1]]
    inputs = {"x": make(*sizes, scale=2.0), "scale": make(vector, scale=0.2) + 1, "shift": make(vector)}
    return inputs, {"y": torch.full_like(inputs["x"], 7.0)}


def tensors(case):
    kind = KINDS[case["type"]]
    torch.manual_seed(0)
    def make(*shape, scale=1.0):
        return (torch.randn(*shape, device="cuda") * scale).to(kind)
    if "sizes" in case:
        return image_tensors(case, make)
    rows, columns = case["rows"], case["columns"]
    inputs = {"x": make(rows, columns, scale=2.0)}
    if case["kind"].endswith("residual"):
        inputs["r"] = make(rows, columns)
    if case["kind"] in ("norm", "norm_residual", "rms_residual", "gelu_chain"):
        inputs["scale"] = make(columns, scale=0.2) + 1
    if case["kind"] in ("norm", "norm_residual", "gelu_chain"):
        inputs["shift"] = make(columns)
    if case["kind"] == "masked":
        inputs["mask"] = torch.rand(rows, columns, device="cuda") < 0.8
    if case["kind"] == "softmax" and case["purpose"] == "small" and rows > 1:
        # Rows with infinities and NaN, as ONNX has them.
        inputs["x"][0, 0] = -math.inf
        if columns > 2:
            inputs["x"][1, :] = -math.inf
            inputs["x"][2 % rows, 1] = math.nan
    outputs = {name: torch.full((rows, columns), 7.0, device="cuda", dtype=kind)
               for name in (("y", "s") if case["kind"].endswith("residual") else ("y",))}
    return inputs, outputs


def compute(case, given):
    """All outputs, in the type of the inputs."""
    x, kind = given["x"], case["kind"]
    if "channels" in case:
        if kind == "softmax":
            return {"y": torch.softmax(x, 1)}
        y = F.layer_norm(x.permute(0, 2, 3, 1), (x.shape[1],), given["scale"], given["shift"], 1e-5)
        return {"y": y.permute(0, 3, 1, 2)}
    if "sizes" in case:
        if case["last"]:
            x = x.permute(0, 3, 1, 2)
        times = x.shape[1] // given["scale"].shape[0]
        scale, shift = (given[name].repeat_interleave(times) if times > 1 else given[name] for name in ("scale", "shift"))
        y = F.silu(F.group_norm(x, case["groups"], scale, shift, 1e-5))
        return {"y": y.permute(0, 2, 3, 1) if case["last"] else y}
    columns = case["columns"]
    if kind == "softmax":
        return {"y": torch.softmax(x, -1)}
    if kind == "log_softmax":
        return {"y": torch.log_softmax(x, -1)}
    if kind == "masked":
        return {"y": torch.softmax(torch.where(given["mask"], x * 0.5, torch.tensor(-3e4, device="cuda", dtype=x.dtype)), -1)}
    if kind == "norm":
        return {"y": F.layer_norm(x, (columns,), given["scale"], given["shift"], 1e-5)}
    if kind == "norm_residual":
        s = x + given["r"]
        return {"y": F.layer_norm(s, (columns,), given["scale"], given["shift"], 1e-5), "s": s}
    if kind == "rms_residual":
        s = x + given["r"]
        return {"y": F.rms_norm(s, (columns,), given["scale"], 1e-5), "s": s}
    if kind == "gelu_erf":
        return {"y": F.gelu(x)}
    if kind == "gelu_tanh":
        return {"y": F.gelu(x, approximate="tanh")}
    if kind == "gelu_chain":
        return {"y": F.gelu(x + given["shift"]) * given["scale"]}
    raise ValueError(kind)


def compare(outputs, expected):
    """The greatest relative RMS error; infinite where NaN or infinities are in other places."""
    worst = 0.0
    for name, out in outputs.items():
        want, have = expected[name], out.double()
        finite = torch.isfinite(want)
        if not torch.equal(finite, torch.isfinite(have)) or not torch.equal(torch.isnan(want), torch.isnan(have)):
            return math.inf
        if finite.any() and want[finite].abs().max() > 0:
            worst = max(worst, ((have[finite] - want[finite]).square().mean() / want[finite].square().mean()).sqrt().item())
    return worst


def in_double(case, inputs):
    """In parts, as f64 takes memory."""
    if "sizes" in case:
        return compute(case, {name: t.double() for name, t in inputs.items()})
    expected, step = {}, max(1, (1 << 26) // case["columns"])
    for begin in range(0, case["rows"], step):
        part = {name: (t[begin:begin + step] if t.dim() == 2 else t) for name, t in inputs.items()}
        part = {name: (t.double() if t.is_floating_point() else t) for name, t in part.items()}
        for name, t in compute(case, part).items():
            expected.setdefault(name, []).append(t)
    return {name: torch.cat(parts) for name, parts in expected.items()}


def run_case(case, options):
    inputs, outputs = tensors(case)
    kernel = Kernel(case, options, inputs, outputs)
    expected = in_double(case, inputs)
    row = dict(case, error=compare(kernel.first, expected), same=kernel.same)
    row["peer_error"] = compare(compute(case, inputs), expected)
    del expected
    # Models of images round the norm before it is scaled.
    row["right"] = row["same"] and row["error"] <= LIMITS[outputs["y"].dtype] * (2 if "sizes" in case else 1)
    if case["purpose"] != "small" and row["right"] and options.rounds:
        total = sum(t.numel() * t.element_size() for t in (*inputs.values(), *outputs.values()) if t.dim() > 1)
        source, target = (torch.empty(total // 2, dtype=torch.uint8, device="cuda") for _ in range(2))
        sides = {"kpc": kernel, "copy": lambda: target.copy_(source), "torch": lambda: compute(case, inputs)}
        row.update(compare_bursts(sides, options.rounds))
        row["ratio"] = row["copy"] / row["kpc"]
        row["gbps"] = total / row["kpc"] * 1e-3
    kernel.close()
    return row


def describe(row):
    text = f"({row['peer_error']:.2e})"
    if "ratio" in row:
        text += f"  kpc {row['kpc']:7.1f} us, copy {row['copy']:7.1f}: {row['ratio']:.3f}; torch {row['torch']:7.1f}: "
        text += f"{row['torch'] / row['kpc']:.2f}x  {row['gbps']:.0f} GB/s"
    return text


if __name__ == "__main__":
    sys.exit(compare_cases(run_case, describe, __doc__))
