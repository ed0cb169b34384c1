#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of few rows of kpc beside cuBLAS (PyTorch's matmul): right, and how fast.

    python3 time_gemv.py FOLDER --runtime libkpc_runtime.so [--json FILE] [--rounds 15] [--only REGEX]

FOLDER is what gemv.py wrote. The reference is f64; side_by_side.py says how both sides are timed, with weights from memory
(cold) and from the second cache (warm).
"""

import math
import sys

import torch

from side_by_side import Kernel, compare_cases, compare_cold, error

KINDS = {"bf16": torch.bfloat16, "fp16": torch.float16}
LIMITS = {torch.float16: 4e-4, torch.bfloat16: 3e-3}  # RMS; rounding of the result alone gives 2e-4 and 1.7e-3


def tensors(case):
    kind = KINDS[case["type"]]
    torch.manual_seed(0)
    def make(*shape, scale=1.0):
        return (torch.randn(*shape, device="cuda") * scale).to(kind)
    total = case["sum"]
    shape = (case["columns"], total) if case["transposed"] else (total, case["columns"])
    inputs = {"x": make(case["rows"], total), "w": make(*shape, scale=1 / math.sqrt(total))}
    if case["bias"]:
        inputs["b"] = make(case["columns"])
    return inputs, torch.full((case["rows"], case["columns"]), math.nan, device="cuda", dtype=kind)


def reference(case, inputs, kind):
    given = {name: t.to(kind) for name, t in inputs.items()}
    y = given["x"] @ (given["w"].T if case["transposed"] else given["w"])
    return torch.relu(y + given["b"]) if case["bias"] else y


def run_case(case, options):
    inputs, out = tensors(case)
    kernel = Kernel(case, options, inputs, {"y": out})
    row = dict(case, error=error(kernel.first["y"], reference(case, inputs, torch.float64)), same=kernel.same)
    row["right"] = row["same"] and row["error"] <= LIMITS[out.dtype]
    if case["purpose"] != "small" and row["right"] and options.rounds:
        w = inputs["w"].T if case["transposed"] else inputs["w"]

        def cublas():
            y = inputs["x"] @ w
            return torch.relu(y + inputs["b"]) if case["bias"] else y

        times = compare_cold({"kpc": kernel, "cublas": cublas}, options.rounds)
        for kind in ("cold", "warm"):
            row[kind] = {"kpc": times["kpc", kind], "cublas": times["cublas", kind],
                         "ratio": times["cublas", kind] / times["kpc", kind]}
        row["ratio"] = row["cold"]["ratio"]
        row["gbps"] = inputs["w"].numel() * 2e-3 / times["kpc", "cold"]
    kernel.close()
    return row


def describe(row):
    words = [f"{kind}: kpc {row[kind]['kpc']:6.1f} us, cuBLAS {row[kind]['cublas']:6.1f}: {row[kind]['ratio']:.2f}x"
             for kind in ("cold", "warm") if kind in row]
    return "  ".join(words + ([f"{row['gbps']:.0f} GB/s"] if words else []))


if __name__ == "__main__":
    sys.exit(compare_cases(run_case, describe, __doc__, rounds=15))
