# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers that share scales in blocks, from the formats' texts; knows neither kpc nor ml_dtypes.

OCP Microscaling Formats (MX) 1.0 for E8M0, E4M3 and E2M1; NVIDIA's description of NVFP4: blocks of 16, scales of E4M3, a scale for
all. Of the rules that the MX text leaves open, scales are the least powers of two with which nothing saturates.
"""

import numpy as np


def decoded_e4m3(codes):
    """Sign, 4 bits of exponent with the bias 7, 3 of mantissa; no infinity, NaN is all ones."""
    codes = codes.astype(int)
    exponent, mantissa = codes >> 3 & 15, codes & 7
    value = np.where(exponent == 0, mantissa * 2.0**-9, (8 + mantissa) * 2.0 ** (exponent - 10.0))
    return np.where(codes & 127 == 127, np.nan, np.where(codes & 128, -value, value))


def decoded_e2m1(codes):
    value = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])[codes & 7]
    return np.where(codes & 8, -value, value)


def decoded_e8m0(codes):
    return 2.0 ** (codes.astype(float) - 127)


def nearest(x, magnitudes, sign):
    """The codes of the nearest magnitudes, the even one of two equally near; beyond the last one the last."""
    size = np.minimum(np.abs(x), magnitudes[-1])
    above = np.clip(np.searchsorted(magnitudes, size), 1, len(magnitudes) - 1)
    low, high = magnitudes[above - 1], magnitudes[above]
    up = (size - low > high - size) | ((size - low == high - size) & (above % 2 == 0))
    return np.where(up, above, above - 1) | np.where(np.signbit(x), sign, 0)


E4M3_SIZES, E2M1_SIZES = decoded_e4m3(np.arange(127)), decoded_e2m1(np.arange(8))


def encoded_e4m3(x):
    return nearest(x, E4M3_SIZES, 128)


def encoded_e2m1(x):
    return nearest(x, E2M1_SIZES, 8)


class Format:
    def __init__(self, name, block, element, scale, greatest):
        self.name, self.block, self.element, self.scale, self.greatest = name, block, element, scale, greatest
        self.encode, self.decode = (encoded_e4m3, decoded_e4m3) if element == "e4m3" else (encoded_e2m1, decoded_e2m1)

    def quantise(self, x, second=None):
        """Codes and scales of rows, and the numbers that they stand for (without the second scale)."""
        blocks = x.astype(np.float64).reshape(x.shape[0], -1, self.block)
        most = np.abs(blocks).max(axis=2)
        if self.scale == "e8m0":
            power = np.ceil(np.log2(np.maximum(most, 1e-30)) - np.log2(self.greatest) - 1e-12)
            scales, factor = (power + 127).astype(int), 2.0**power
            total = factor
        else:
            scales = encoded_e4m3(np.clip(most / self.greatest / second, 2.0**-9, 448))
            factor = decoded_e4m3(scales)
            total = factor * second
        codes = self.encode(blocks / total[:, :, None])
        return codes.reshape(x.shape), scales, (self.decode(codes) * factor[:, :, None]).reshape(x.shape)


FORMATS = {"mxfp8": Format("mxfp8", 32, "e4m3", "e8m0", 448), "mxfp4": Format("mxfp4", 32, "e2m1", "e8m0", 6),
           "nvfp4": Format("nvfp4", 16, "e2m1", "e4m3", 6)}
