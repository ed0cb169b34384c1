#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions of few queries of kpc beside cuDNN (PyTorch's scaled_dot_product_attention): right, and how fast.

    python3 time_decode.py FOLDER --runtime libkpc_runtime.so [--json FILE] [--rounds 15] [--only REGEX]

FOLDER is what decode.py wrote. As time_attention.py does, but each call is timed by events of its own behind a write of more than
the second cache holds, as other layers come between two attentions of a model; `warm` is right behind itself.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import time_attention  # noqa: E402
import time_gemv  # noqa: E402


def compare_cold(case, sides, rounds):
    times = time_gemv.compare_times(sides, 2 * rounds)
    row = {name: times[name, "cold"] for name in sides}
    row["warm"] = {name: times[name, "warm"] for name in sides}
    total = 4 * case["batch"] * case["groups"] * case["keys"] * case["depth"]
    return dict(row, rate=total / row["kpc"] * 1e-3)


if __name__ == "__main__":
    sys.exit(time_attention.main(compare_cold, "GB/s", __doc__))
