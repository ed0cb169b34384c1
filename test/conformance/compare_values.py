# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Is what kpc computed what the test expects? Same type, same shape, NaN where NaN is, near enough elsewhere."""

import dataclasses
import fnmatch
import math

import numpy as np

import onnx_files


@dataclasses.dataclass
class Rule:
    rtol: float = 1e-3
    atol: float = 1e-7
    random: bool = False
    refused: bool = False


class Rules:
    """A file of lines `PATTERN rtol=… atol=… # reason`, or with `random` or `refused`; the first match holds."""

    def __init__(self, path):
        self.lines = []
        with open(path) as file:
            for number, line in enumerate(file, 1):
                rule, _, reason = line.partition("#")
                words = rule.split()
                if not words:
                    continue
                if not reason.strip():
                    raise SystemExit(f"{path}:{number}: a looser tolerance needs a reason")
                given = dict(word.partition("=")[::2] for word in words[1:])
                self.lines.append((words[0], Rule(float(given.get("rtol", 1e-3)), float(given.get("atol", 1e-7)),
                                                  "random" in given, "refused" in given)))

    def of(self, test):
        for pattern, rule in self.lines:
            if fnmatch.fnmatchcase(test, pattern):
                return rule
        return Rule()


def stored_type(data_type):
    """How an .npy file spells an ONNX type; one that numpy lacks is stored as its bits."""
    return np.dtype(onnx_files.NUMPY_TYPES[data_type])


def mismatch(got, expected, rule):
    """None where `got` (an array from an .npy file) is right, else what is wrong."""
    if expected.items is not None or expected.kind != "tensor":
        return f"a {expected.kind} was expected"
    if expected.data_type not in onnx_files.NUMPY_TYPES:
        return "a type that cannot be compared"
    want, kept = expected.array, stored_type(expected.data_type)
    if got.dtype != kept:
        if not (got.dtype.kind == "V" and got.dtype.itemsize == kept.itemsize):
            return f"type {got.dtype}, expected {kept}"
        got = got.view(kept)
    if got.shape != want.shape:
        return f"shape {list(got.shape)}, expected {list(want.shape)}"
    if rule.random:
        return different_moments(as_numbers(got, expected), as_numbers(want, expected))
    if expected.data_type in onnx_files.ONLY_BITS or want.dtype.kind in "biu" and expected.data_type != 16:
        wrong = got != want
    else:
        got, want = as_numbers(got, expected), as_numbers(want, expected)
        with np.errstate(invalid="ignore"):
            wrong = ~np.isclose(got, want, rtol=rule.rtol, atol=rule.atol, equal_nan=True)
    if not wrong.any():
        return None
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {wrong.size} values wrong; at {list(place)} {got[place]}, expected {want[place]}"


def as_numbers(array, expected):
    if expected.data_type == onnx_files.BFLOAT16:
        return onnx_files.bfloat16_to_float(array)
    return array.astype(np.float64) if array.dtype.kind in "fbiu" else array


def different_moments(got, want):
    """Two draws from one distribution: mean and spread agree within five standard errors."""
    if not np.isfinite(got).all():
        return "not finite"
    error = 5 * math.sqrt(2 / max(1, want.size)) * max(float(want.std()), float(got.std()), 1e-3)
    if abs(float(got.mean()) - float(want.mean())) > error or abs(float(got.std()) - float(want.std())) > error:
        return f"mean {got.mean():.4g} and deviation {got.std():.4g}, expected {want.mean():.4g} and {want.std():.4g}"
    return None
