#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of groups of rows by matrices of their own beside PyTorch's: right, and how fast.

    python3 time_grouped.py FOLDER --runtime libkpc_runtime.so [--json FILE] [--rounds 7] [--only REGEX]

FOLDER is what grouped.py wrote. The reference is fp32, group by group. The peer is torch._grouped_mm, or, where PyTorch has no kernel
of it for the type, a product for each group. Groups differ in size: rows pick theirs at random, but the last group, which has none.
"""

import math
import sys

import torch

from side_by_side import Kernel, compare_bursts, compare_cases, error

KINDS = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
LIMITS = {"fp16": 2e-3, "bf16": 1.2e-2, "fp32": 2e-3}


def tensors(case):
    torch.manual_seed(0)
    kind, groups = KINDS[case["type"]], case["groups"]
    x = torch.randn(case["rows"], case["sum"], device="cuda").to(kind)
    w = (torch.randn(groups, case["sum"], case["columns"], device="cuda", dtype=kind) / math.sqrt(case["sum"])).to(kind)
    own = torch.randint(0, max(groups - 1, 1), (case["rows"],), device="cuda")
    ends = torch.bincount(own, minlength=groups).cumsum(0).to(torch.int32)
    return {"x": x, "w": w, "offs": ends}, torch.empty(case["rows"], case["columns"], device="cuda", dtype=kind)


def by_group(x, w, ends):
    y, first = torch.zeros(len(x), w.shape[2], device="cuda", dtype=x.dtype), 0
    for matrix, end in zip(w, ends):
        y[first:end] = x[first:end] @ matrix
        first = end
    return y


def peer(inputs):
    x, w, offs = inputs["x"], inputs["w"], inputs["offs"]
    try:
        torch._grouped_mm(x, w, offs)
        return "_grouped_mm", lambda: torch._grouped_mm(x, w, offs)
    except (AttributeError, RuntimeError):
        ends = offs.tolist()
        return "a product a group", lambda: by_group(x, w, ends)


def run_case(case, options):
    inputs, out = tensors(case)
    kernel = Kernel(case, options, inputs, {"output": out})
    expected = by_group(inputs["x"].float(), inputs["w"].float(), inputs["offs"].tolist())
    row = dict(case, error=error(kernel.first["output"], expected), same=kernel.same)
    row["right"] = row["same"] and row["error"] <= LIMITS[case["type"]]
    if case["purpose"] != "small" and row["right"] and options.rounds:
        row["peer"], call = peer(inputs)
        row.update(compare_bursts({"kpc": kernel, "torch": call}, options.rounds))
        row["ratio"] = row["torch"] / row["kpc"]
        row["tflops"] = 2e-6 * case["rows"] * case["columns"] * case["sum"] / row["kpc"]
    kernel.close()
    return row


def describe(row):
    return f"kpc {row['kpc']:8.1f} us, {row['peer']} {row['torch']:8.1f}: {row['ratio']:.3f}, {row['tflops']:.0f} TFLOP/s" if "ratio" in row else ""


if __name__ == "__main__":
    sys.exit(compare_cases(run_case, describe, __doc__))
