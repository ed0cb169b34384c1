# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cases of written_programs.py, which modules of programs add to.

A case gives a program, its inputs and its outputs, or the words with which it is refused.
"""
import numpy as np

CASES, EVERYWHERE = {}, set()


def case(function):
    CASES[function.__name__] = function
    return function


def everywhere(function):
    """A case that runs on the emulator as well, from the same artifact."""
    EVERYWHERE.add(function.__name__)
    return case(function)


def drawn(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
