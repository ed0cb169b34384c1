#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sorts, top-k, argmax, scatters of many updates and of new rows of a cache beside PyTorch's: right, and how fast.

    python3 time_orders.py FOLDER --runtime libkpc_runtime.so [--json FILE] [--rounds 7] [--only REGEX]

FOLDER is what orders.py wrote. Values and indices must be those of a stable sort by PyTorch; sums may differ by what rounding
them once costs. `error` of orders is the share of elements that are wrong. `ratio` is PyTorch's time over kpc's.
"""

import math
import sys

import torch

from side_by_side import Kernel, compare_bursts, compare_cases, error

KINDS = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32, "fp64": torch.float64, "i8": torch.int8, "u8": torch.uint8,
         "i32": torch.int32, "i64": torch.int64}
LIMITS = {torch.float32: 1e-6, torch.float16: 5e-4}


def values(kind, *shape):
    """Ties in all types: 16 bits have few values, and 32 bits are drawn from fewer than there are elements."""
    if kind.is_floating_point:
        x = torch.randn(*shape, device="cuda")
        x = (x * 4096).round() / 4096 if kind in (torch.float32, torch.float64) and shape[0] % 2 else x
        return x.to(kind)
    limits = torch.iinfo(kind)
    return torch.randint(max(limits.min, -(1 << 40)), min(limits.max, 1 << 40), shape, device="cuda", dtype=torch.int64).to(kind)


def tensors(case):
    torch.manual_seed(0)
    kind = KINDS[case["type"]]
    if case["kind"] == "cache":
        batch, heads, length, depth = case["sizes"]
        given = {"past": values(kind, batch, heads, length, depth), "new": values(kind, batch, heads, 1, depth),
                 "at": torch.randint(0, length, (batch,), device="cuda")}
        return given, {"present": torch.zeros_like(given["past"])}
    rows, columns = case["rows"], case["columns"]
    x = values(kind, rows, columns)
    if case["kind"] == "top":
        taken = (rows, case["k"])
        return {"x": x}, {"y": torch.zeros(taken, device="cuda", dtype=kind), "i": torch.zeros(taken, device="cuda", dtype=torch.int64)}
    if case["kind"] == "argmax":
        return {"x": x}, {"i": torch.zeros(rows, device="cuda", dtype=torch.int64)}
    places = torch.randint(0, rows, (case["updates"], 1), device="cuda")
    return {"x": x, "i": places, "u": torch.randn(case["updates"], columns, device="cuda").to(kind)}, {"y": torch.zeros_like(x)}


def replaced(inputs, cache):
    """The peer of a cache: the new row of each batch alone is written."""
    batch, heads, _, depth = cache.shape
    places = inputs["at"].view(-1, 1, 1, 1).expand(batch, heads, 1, depth)
    return cache.scatter_(2, places, inputs["new"])


def wrong(case, inputs, first):
    """The share of elements that are wrong, or the error of sums."""
    if case["kind"] == "cache":
        return (first["present"] != replaced(inputs, inputs["past"].clone())).double().mean().item()
    if case["kind"] == "scatter":
        expected = inputs["x"].double().index_add(0, inputs["i"].reshape(-1), inputs["u"].double())
        return error(first["y"], expected)
    if case["kind"] == "argmax":
        # The first of several.
        x = inputs["x"]
        places = torch.arange(x.shape[1], device="cuda").expand_as(x)
        expected = torch.where(x == x.max(1, keepdim=True).values, places, x.shape[1]).min(1).values
        return (first["i"] != expected).double().mean().item()
    x = inputs["x"]
    y, i = torch.sort(x, dim=1, descending=True, stable=True)
    bad = (first["i"] != i[:, :case["k"]]) | (first["y"] != y[:, :case["k"]])
    return bad.double().mean().item()


def peer(case, inputs):
    if case["kind"] == "cache":
        cache = inputs["past"].clone()
        return lambda: replaced(inputs, cache)
    x = inputs["x"]
    if case["kind"] == "scatter":
        places = inputs["i"].reshape(-1)
        return lambda: x.index_add(0, places, inputs["u"])
    if case["kind"] == "argmax":
        return lambda: torch.argmax(x, 1)
    if case["k"] == case["columns"]:
        return lambda: torch.sort(x, dim=1, descending=True)
    return lambda: torch.topk(x, case["k"], 1)


def run_case(case, options):
    inputs, outputs = tensors(case)
    kernel = Kernel(case, options, inputs, outputs)
    row = dict(case, error=wrong(case, inputs, kernel.first), same=kernel.same)
    limit = 0
    if case["kind"] == "scatter":
        # A sum of n numbers, one after another, is off by about the root of n times half a unit in the last place.
        terms = case["updates"] / case["rows"]
        limit = max(LIMITS[KINDS[case["type"]]], math.sqrt(terms) * torch.finfo(KINDS[case["type"]]).eps / 2)
    row["right"] = row["same"] and row["error"] <= limit
    if case["purpose"] != "small" and row["right"] and options.rounds:
        call = kernel
        if case["kind"] == "cache":
            call = lambda: kernel.session.run(inputs, {"present": inputs["past"]})  # noqa: E731
        row.update(compare_bursts({"kpc": call, "torch": peer(case, inputs)}, options.rounds))
        if case["kind"] == "cache":  # the last call wrote over what it read
            row["error"] = wrong(case, inputs, {"present": inputs["past"]})
            row["right"] = row["error"] == 0
        row["ratio"] = row["torch"] / row["kpc"]
    kernel.close()
    return row


def describe(row):
    return f"kpc {row['kpc']:7.1f} us, torch {row['torch']:7.1f}: {row['ratio']:.3f}" if "ratio" in row else ""


if __name__ == "__main__":
    sys.exit(compare_cases(run_case, describe, __doc__))
