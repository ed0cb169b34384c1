#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of few and of many rows with weights of 4 and 8 bits, FP8 among them, beside kpc's own in bf16 and PyTorch's with 4 bits: right, and how fast.

    python3 time_codes.py FOLDER --runtime libkpc_runtime.so [--json FILE] [--rounds 15] [--only REGEX]

FOLDER is what codes.py wrote. The reference is f64; side_by_side.py says how all sides are timed. `ratio` is that of own bf16, cold, and of gates that of two kernels.
PyTorch's (`_weight_int4pack_mm`) is timed with weights of its own: those values are not compared. GEMMs of chains are timed in
one graph, where each reads weights from memory and lines of the second cache are clean, as in a model: microseconds of one of them.
"""

import math
import sys

import numpy as np
import torch

from code_values import numbers, weights
from side_by_side import Kernel, compare_bursts, compare_cases, compare_cold, error

KINDS = {"bf16": torch.bfloat16, "fp16": torch.float16}
LIMITS = {torch.float16: 4e-4, torch.bfloat16: 3e-3}
CHAIN_LIMIT = 1e-2  # of up to 16 GEMMs, each of which is rounded to bf16 on both sides


def expected(case, x, seed=3):
    """In f64, with the scales as the model has them."""
    number = case.get("number", "")
    made, scales, _ = weights(case["sum"], case["columns"], case["bits"], case["block"], False, seed, number)
    wide = torch.from_numpy(made).cuda()
    if number:
        wide = torch.from_numpy(numbers(np.arange(256), number)).cuda()[wide.long()]
    else:
        wide = wide.double() - (1 << (case["bits"] - 1))
    spread = torch.from_numpy(scales).cuda().to(KINDS[case["type"]]).double()
    if case["block"] > 0:
        spread = spread.repeat_interleave(case["block"], 1)[:, :case["sum"]]
    return x.double() @ (wide * spread).T


def bf16_kernel(case, options, x):
    peer = dict(case, name=f"{case['rows']}x{case['sum']}x{case['columns']}.bf16.transposed")
    w = (torch.randn(case["columns"], case["sum"], device="cuda") / math.sqrt(case["sum"])).bfloat16()
    out = torch.empty(case["rows"], case["columns"], device="cuda", dtype=torch.bfloat16)
    return Kernel(peer, options, {"x": x.bfloat16(), "w": w}, {"y": out})


def tinygemm(case, x):
    """None where it has no such form."""
    if case["bits"] != 4 or case["block"] not in (32, 64, 128, 256):
        return None
    raw = torch.randint(0, 256, (case["columns"], case["sum"] // 2), device="cuda", dtype=torch.uint8)
    weight = torch._convert_weight_to_int4pack(raw, 8)
    scales = torch.rand(case["sum"] // case["block"], case["columns"], 2, device="cuda").bfloat16()
    narrow = x.bfloat16()
    return lambda: torch._weight_int4pack_mm(narrow, weight, case["block"], scales)


def chain_result(case, x):
    """In f64, with each GEMM's result in bf16."""
    shapes = case["shapes"]
    for number in range(case["products"]):
        total, columns = shapes[number % len(shapes)]
        x = expected(dict(case, sum=total, columns=columns), x, number).bfloat16()
    return x.double()


def run_chain(case, options):
    torch.manual_seed(0)
    first, last = case["shapes"][0][0], case["shapes"][-1][1]
    x = torch.randn(case["rows"], first, device="cuda").bfloat16()
    out = torch.empty(case["rows"], last, device="cuda", dtype=torch.bfloat16)
    kernel = Kernel(case, options, {"x": x}, {"y": out})
    row = dict(case, error=error(kernel.first["y"], chain_result(case, x)), same=kernel.same)
    row["right"] = row["same"] and row["error"] <= CHAIN_LIMIT
    if options.rounds:
        inputs = {f"w{i}": (torch.randn(total, columns, device="cuda") / math.sqrt(total)).bfloat16()
                  for i, (total, columns) in enumerate(case["inputs"])}
        own = Kernel(dict(case, name=f"{case['kind']}.{case['rows']}.bf16"), options, {"x": x, **inputs}, {"y": torch.empty_like(out)})
        runs = case["products"]
        row["chain"] = compare_bursts({"kpc": kernel, "bf16": own}, max(options.rounds // 2, 1), {"kpc": runs, "bf16": runs})
        row["ratio"] = row["chain"]["bf16"] / row["chain"]["kpc"]
        own.close()
    kernel.close()
    return row


def run_gate(case, options):
    """`ratio` is that of two kernels, cold."""
    torch.manual_seed(0)
    x = torch.randn(case["rows"], case["sum"], device="cuda").bfloat16()
    gate, up = (expected(case, x, seed) for seed in (0, 1))
    out = torch.empty(case["rows"], case["columns"], device="cuda", dtype=torch.bfloat16)
    kernel = Kernel(case, options, {"x": x}, {"y": out})
    row = dict(case, error=error(kernel.first["y"], torch.nn.functional.silu(gate) * up), same=kernel.same)
    row["right"] = row["same"] and row["error"] <= LIMITS[torch.bfloat16]
    if options.rounds:
        two = Kernel(dict(case, name=case["name"] + ".apart"), options, {"x": x}, {"y": torch.empty_like(out), "gate_side": torch.empty_like(out)})
        times = compare_cold({"kpc": kernel, "two kernels": two}, options.rounds)
        for state in ("cold", "warm"):
            row[state] = {side: times[side, state] for side in ("kpc", "two kernels")}
        row["ratio"] = row["cold"]["two kernels"] / row["cold"]["kpc"]
        two.close()
    kernel.close()
    return row


def run_case(case, options):
    if case["purpose"] == "peer":
        return dict(case, error=0, same=True, right=True)
    if case["purpose"] == "gate":
        return run_gate(case, options)
    if case["purpose"] == "chain":
        return run_chain(case, options)
    kind = KINDS[case["type"]]
    torch.manual_seed(0)
    x = torch.randn(case["rows"], case["sum"], device="cuda").to(kind)
    out = torch.full((case["rows"], case["columns"]), math.nan, device="cuda", dtype=kind)
    kernel = Kernel(case, options, {"x": x}, {"y": out})
    row = dict(case, error=error(kernel.first["y"], expected(case, x)), same=kernel.same)
    row["right"] = row["same"] and row["error"] <= LIMITS[kind]
    if options.rounds:
        own = bf16_kernel(case, options, x)
        sides = {"kpc": kernel, "bf16": own}
        if peer := tinygemm(case, x):
            sides["tinygemm"] = peer
        times = compare_cold(sides, options.rounds)
        for state in ("cold", "warm"):
            row[state] = {side: times[side, state] for side in sides}
        row["ratio"] = row["cold"]["bf16"] / row["cold"]["kpc"]
        own.close()
    kernel.close()
    return row


def describe(row):
    words = [f"{state}: " + ", ".join(f"{side} {us:.2f}" for side, us in row[state].items()) for state in ("cold", "warm", "chain") if state in row]
    peer = "two kernels" if row["purpose"] == "gate" else "own bf16"
    return "  ".join(words + ([f"{row['ratio']:.2f}x of {peer}"] if words else []))


if __name__ == "__main__":
    sys.exit(compare_cases(run_case, describe, __doc__, rounds=15))
