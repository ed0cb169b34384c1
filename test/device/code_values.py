# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The weights of codes.py: who times them makes them again."""

import numpy as np


def weights(total, columns, bits, block, zeros, seed=3):
    """Codes [columns, total], scales and zero points [columns, blocks]; codes repeat, so that artifacts of any size are small files."""
    rng = np.random.default_rng(seed)
    blocks = -(-total // block)
    period = rng.integers(0, 1 << bits, 32771, dtype=np.uint8)
    codes = np.resize(period, (columns, total))
    scales = (rng.integers(1, 64, (columns, blocks)) / 64 / np.sqrt(total) / (1 << (bits - 2))).astype(np.float32)
    points = rng.integers(0, 1 << bits, (columns, blocks), dtype=np.uint8) if zeros else None
    return codes, scales, points
