#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products of kpc beside cuBLAS (PyTorch's matmul): right, and how fast.

    python3 time_products.py FOLDER --runtime libkpc_runtime.so [--json FILE] [--rounds 7] [--only REGEX]

FOLDER is what products.py wrote. The reference is fp32, of fp32 without TF32 fp64; side_by_side.py says how both sides are timed.
"""

import math
import sys

import torch

from side_by_side import Kernel, compare_bursts, compare_cases, error

# RMS; rounding of the result alone gives 1.7e-4 and 1.3e-3, of the factors to tf32 3e-4. What is not rounded may have
# twice the error that cuBLAS has without TF32.
LIMITS = {"fp16": 2e-3, "bf16": 1.2e-2, "tf32": 2e-3}
EXACT_FACTOR = 2


def tensors(case):
    kind = {"bf16": torch.bfloat16, "fp16": torch.float16, "tf32": torch.float32, "fp32": torch.float32}[case["type"]]
    torch.manual_seed(0)
    def make(*shape, scale=1.0):
        return (torch.randn(*shape, device="cuda") * scale).to(kind)
    total = case["sum"]
    inputs = {"x": make(total, case["rows"]) if case.get("turned") else make(case["rows"], total)}
    shape = (case["columns"], total) if case["transposed"] else (total, case["columns"])
    inputs["w"] = make(*shape, scale=1 / math.sqrt(total))
    if case["bias"]:
        inputs["b"] = make(case["columns"])
    return inputs, torch.full((case["rows"], case["columns"]), math.nan, device="cuda", dtype=kind)


def reference(case, inputs, kind, exact=False):
    w = inputs["w"].T if case["transposed"] else inputs["w"]
    x = inputs["x"].T if case.get("turned") else inputs["x"]
    x, w = x.to(kind), w.to(kind)
    torch.backends.cuda.matmul.allow_tf32 = case["type"] == "tf32" and not exact
    y = torch.addmm(inputs["b"].to(kind), x, w) if case["bias"] else x @ w
    return torch.relu(y) if case["act"] == "Relu" else y


def run_case(case, options):
    inputs, out = tensors(case)
    kernel = Kernel(case, options, inputs, {"y": out})
    expected = reference(case, inputs, torch.float64 if case["type"] == "fp32" else torch.float32, exact=True)
    row = dict(case, error=error(kernel.first["y"], expected), same=kernel.same)
    row["peer_error"] = error(reference(case, inputs, out.dtype), expected)
    row["right"] = row["same"] and row["error"] <= LIMITS.get(case["type"], EXACT_FACTOR * row["peer_error"])
    if case["purpose"] != "small" and row["right"] and options.rounds:
        sides = {"kpc": kernel, "cublas": lambda: reference(case, inputs, out.dtype)}
        row.update(compare_bursts(sides, options.rounds))
        row["ratio"] = row["cublas"] / row["kpc"]
        row["tflops"] = 2e-6 * case["rows"] * case["columns"] * case["sum"] / row["kpc"]
    kernel.close()
    return row


def describe(row):
    text = f"({row['peer_error']:.2e})"
    if "ratio" in row:
        text += f"  kpc {row['kpc']:8.1f} us, cuBLAS {row['cublas']:8.1f} us: {row['ratio']:.3f}  {row['tflops']:.0f} TFLOP/s"
    return text


if __name__ == "__main__":
    sys.exit(compare_cases(run_case, describe, __doc__))
