#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions of few queries of kpc beside cuDNN (PyTorch's scaled_dot_product_attention): right, and how fast.

    python3 time_decode.py FOLDER --runtime libkpc_runtime.so [--json FILE] [--rounds 15] [--only REGEX]

FOLDER is what decode.py wrote. The reference is time_attention.py's; side_by_side.py says how both sides are timed, with keys and
values from memory (cold, as other layers come between two attentions of a model) and right behind itself (warm).
"""

import functools
import sys

from side_by_side import compare_cases, compare_cold
from time_attention import describe, run_case


def measure_cold(case, sides, rounds):
    """Microseconds of each side, and the rate in GB/s at which kpc reads the cache."""
    times = compare_cold(sides, 2 * rounds)
    row = {name: times[name, "cold"] for name in sides}
    row["warm"] = {name: times[name, "warm"] for name in sides}
    return dict(row, rate=4e-3 * case["batch"] * case["groups"] * case["keys"] * case["depth"] / row["kpc"])


if __name__ == "__main__":
    sys.exit(compare_cases(functools.partial(run_case, measure=measure_cold), functools.partial(describe, unit="GB/s"), __doc__,
                           rounds=15))
