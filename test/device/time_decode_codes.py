#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions of few queries of kpc on a cache of FP8 beside its own on one of 16 bits: right, and how fast.

    python3 time_decode_codes.py FOLDER --runtime libkpc_runtime.so [--json FILE] [--rounds 15] [--only REGEX]

FOLDER is what decode_codes.py wrote. The reference is fp32, of small ones fp64, on the numbers that the codes stand for; times are of
keys and values from memory, as time_decode.py has them. `ratio` is the time of 16 bits over that of FP8.
"""

import sys

import numpy
import torch

from decode_codes import scales
from side_by_side import Kernel, compare_cases, compare_cold, error
from time_attention import KINDS, LIMITS, SMALL, reference


def tensors(case):
    """What the kernel is given, and in its order of dims the numbers that this stands for."""
    torch.manual_seed(0)
    def heads(count, length):
        return torch.randn(case["batch"], count, length, case["depth"], device="cuda")
    given = {"q": heads(case["heads"], case["queries"]).to(KINDS[case["type"]])}
    numbers = {"q": given["q"]}
    for name, scale in zip("kv", scales(case)):
        by = torch.from_numpy(numpy.asarray(scale)).cuda().reshape(1, -1, 1, 1)
        given[name] = (heads(case["groups"], case["keys"]) / by).clamp(-448, 448).to(torch.float8_e4m3fn)
        numbers[name] = given[name].float() * by
    return given, numbers


def placed(case, x):
    return x.transpose(1, 2).contiguous() if case["layout"] == "bshd" else x


def run_case(case, options):
    if case["half"]:
        return dict(case, error=0.0, same=True, right=True, purpose="half")
    given, numbers = tensors(case)
    small = case["batch"] * case["heads"] * case["queries"] * case["keys"] <= SMALL
    expected = placed(case, reference(dict(case, mask=""), numbers, torch.float64 if small else torch.float32))
    out = torch.empty_like(expected, dtype=KINDS[case["type"]])
    kernel = Kernel(case, options, {name: placed(case, x) for name, x in given.items()}, {"y": out})
    row = dict(case, error=error(kernel.first["y"], expected), same=kernel.same)
    row["right"] = row["same"] and row["error"] <= LIMITS[case["type"]]
    if case["purpose"] != "small" and row["right"] and options.rounds:
        wide = {name: placed(case, x).to(KINDS[case["type"]]) for name, x in numbers.items()}
        half = Kernel(dict(case, name=case["name"] + ".half"), options, wide, {"y": out.clone()})
        times = compare_cold({"kpc": kernel, "half": half}, 2 * options.rounds)
        row.update({name: times[name, "cold"] for name in ("kpc", "half")})
        row["ratio"] = row["half"] / row["kpc"]
        row["rate"] = 2e-3 * case["batch"] * case["groups"] * case["keys"] * case["depth"] / row["kpc"]
        half.close()
    kernel.close()
    return row


def describe(row):
    return f"kpc {row['kpc']:.1f} us  half {row['half']:.1f} us  {row['ratio']:.3f}  {row['rate']:.0f} GB/s" if "ratio" in row else ""


if __name__ == "__main__":
    sys.exit(compare_cases(run_case, describe, __doc__, rounds=15))
