#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models with inner tensors of sizes beside round ones, beside the round ones and PyTorch: right, and how fast.

    python3 time_neighbours.py FOLDER --runtime libkpc_runtime.so [--json FILE] [--rounds 7] [--only REGEX]

FOLDER is what neighbours.py wrote. The reference is f32; side_by_side.py says how all sides are timed. `ratio` is the round
model's time over the neighbour's, both kpc's, in turn.
"""

import math
import sys

import torch
import torch.nn.functional as F

from neighbour_weights import OUTER, weights
from side_by_side import Kernel, compare_bursts, compare_cases, error

LIMIT = 2e-3  # RMS: three roundings to 16 bits in a row


def reference(case, x, kind):
    w = {name: torch.from_numpy(array).cuda().to(kind) for name, array in weights(case["inner"]).items()}

    def compute():
        h = torch.relu(torch.addmm(w["b"], given, w["v"]))
        if case["norm"]:
            h = F.layer_norm(h, h.shape[-1:], w["scale"], w["shift"])
        return torch.addmm(given, h, w["w"])

    given = x.to(kind)
    return compute


def run_case(case, options):
    torch.manual_seed(0)
    x = torch.randn(case["rows"], OUTER, device="cuda").half()
    def out():
        return {"y": torch.full((case["rows"], OUTER), math.nan, device="cuda", dtype=torch.float16)}
    kernel = Kernel(case, options, {"x": x}, out())
    row = dict(case, error=error(kernel.first["y"], reference(case, x, torch.float32)()), same=kernel.same)
    row["right"] = row["same"] and row["error"] <= LIMIT
    if case["purpose"] == "neighbour" and row["right"] and options.rounds:
        rounded = Kernel({"name": case["round"]}, options, {"x": x}, out())
        times = compare_bursts({"kpc": kernel, "round": rounded, "torch": reference(case, x, torch.float16)}, options.rounds)
        row.update({name: times[name] for name in ("kpc", "torch")}, round_us=times["round"],
                   ratio=times["round"] / times["kpc"])
        rounded.close()
    kernel.close()
    return row


def describe(row):
    if "ratio" not in row:
        return ""
    return f"kpc {row['kpc']:7.1f} us, round {row['round_us']:7.1f}: {row['ratio']:.3f}  PyTorch {row['torch']:7.1f}"


if __name__ == "__main__":
    sys.exit(compare_cases(run_case, describe, __doc__))
