# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The weights of neighbours.py's models, which time_neighbours.py gives its references too."""

import numpy

OUTER = 768


def weights(inner):
    """By name; the timer makes the same."""
    random = numpy.random.RandomState(inner)
    def normal(*shape, scale=1.0):
        return (random.standard_normal(shape) * scale).astype(numpy.float16)
    return {"v": normal(OUTER, inner, scale=OUTER ** -0.5), "b": normal(inner, scale=0.1), "scale": normal(inner),
            "shift": normal(inner, scale=0.1), "w": normal(inner, OUTER, scale=inner ** -0.5)}
