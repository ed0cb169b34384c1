# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The weights of codes.py: who times them makes them again."""

import numpy as np


# Of FP8, by the name of the type: bits of the mantissa, the exponent's bias, the first code without a sign that is no finite number, and about
# the root of the mean square of all that are.
FP8 = {"e4m3": (3, 7, 0x7f, 128), "e5m2": (2, 15, 0x7c, 16384)}


def numbers(codes, kind):
    """What finite codes of FP8 stand for, in f64."""
    mantissa, bias, _, _ = FP8[kind]
    exponent, fraction = (codes & 0x7f) >> mantissa, codes & ((1 << mantissa) - 1)
    magnitude = np.where(exponent > 0, fraction + (1 << mantissa), fraction) * 2.0 ** (np.maximum(exponent, 1).astype(np.float64) - bias - mantissa)
    return np.where(codes & 0x80, -magnitude, magnitude)


def weights(total, columns, bits, block, zeros, seed=3, kind=""):
    """Codes [columns, total], scales and zero points [columns, blocks]; codes repeat, so that artifacts of any size are small files.

    `kind`: of FP8, where a block of 0 is a column, and one of -1 is the whole weight.
    """
    rng = np.random.default_rng(seed)
    blocks = -(-total // block) if block > 0 else 1
    period = rng.integers(0, 1 << bits, 32771, dtype=np.uint8)
    usual = 1 << (bits - 2)
    if kind:
        usual = FP8[kind][3]
        period[(period & 0x7f) >= FP8[kind][2]] = 0
    codes = np.resize(period, (columns, total))
    scales = (rng.integers(1, 64, (columns if block >= 0 else 1, blocks)) / 64 / np.sqrt(total) / usual).astype(np.float32)
    points = rng.integers(0, 1 << bits, (columns, blocks), dtype=np.uint8) if zeros else None
    return codes, scales, points
