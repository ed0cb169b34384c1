#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions of kpc that append to caches beside PyTorch's concatenations and scaled_dot_product_attention: right, and how fast.

    python3 time_append_caches.py FOLDER --runtime libkpc_runtime.so [--json FILE] [--rounds 15] [--only REGEX]

FOLDER is what append_caches.py wrote. Present keys and values must have the bits of the past and new ones. `GB/s` counts what is
read of the past and what is written; side_by_side.py says how both sides are timed.
"""

import math
import sys

import torch
from torch.nn.functional import scaled_dot_product_attention

from side_by_side import Kernel, compare_cases, compare_cold, error
from time_attention import KINDS, LIMITS


def tensors(case):
    torch.manual_seed(0)

    def heads(count, length):
        return torch.randn(case["batch"], count, length, case["depth"], device="cuda").to(KINDS[case["type"]])

    rows, caches = case["sequence"], case["past"]
    sizes = {"q": (case["heads"], rows), "k": (case["groups"], rows), "v": (case["groups"], rows),
             "past_key": (case["groups"], caches), "past_value": (case["groups"], caches)}
    return {name: heads(*size) for name, size in sizes.items()}


def joined(inputs):
    return tuple(torch.cat((inputs[f"past_{what}"], inputs[what[0]]), 2) for what in ("key", "value"))


def mask(case):
    """A query sees the past and what is not behind it."""
    rows, past = case["sequence"], case["past"]
    return torch.ones(rows, past + rows, dtype=torch.bool, device="cuda").tril(past)


def reference(case, inputs):
    keys, values = (x.double().repeat_interleave(case["heads"] // case["groups"], 1) for x in joined(inputs))
    scores = inputs["q"].double() @ keys.transpose(-1, -2) / math.sqrt(case["depth"])
    return scores.masked_fill(~mask(case), -math.inf).softmax(-1) @ values


def run_case(case, options):
    inputs = tensors(case)
    present = joined(inputs)
    outputs = {"y": torch.empty_like(inputs["q"]), "present_key": torch.empty_like(present[0]),
               "present_value": torch.empty_like(present[1])}
    kernel = Kernel(case, options, inputs, outputs)
    row = dict(case, error=error(kernel.first["y"], reference(case, inputs)), same=kernel.same)
    copied = all(torch.equal(kernel.first[f"present_{what}"], rows) for what, rows in zip(("key", "value"), present))
    row["right"] = row["same"] and copied and row["error"] <= LIMITS[case["type"]]
    if case["purpose"] != "small" and row["right"] and options.rounds:
        hidden = mask(case) if case["sequence"] > 1 else None

        def theirs():
            keys, values = joined(inputs)
            return scaled_dot_product_attention(inputs["q"], keys, values, attn_mask=hidden, enable_gqa=case["heads"] != case["groups"])

        sides = {"kpc": kernel, "torch": theirs}
        times = compare_cold(sides, 2 * options.rounds)
        row.update({name: times[name, "cold"] for name in sides})
        row["rate"] = 8e-3 * case["batch"] * case["groups"] * case["past"] * case["depth"] / row["kpc"]
        row["ratio"] = row["torch"] / row["kpc"]
    kernel.close()
    return row


def describe(row):
    if "ratio" not in row:
        return ""
    return f"  kpc {row['kpc']:8.1f} us {row['rate']:.0f} GB/s, PyTorch {row['torch']:8.1f} us: {row['ratio']:.3f}"


if __name__ == "__main__":
    sys.exit(compare_cases(run_case, describe, __doc__, rounds=15))
