#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions of few queries for time_decode.py: writes a model of each, and compiles it.

    python3 decode.py --kpc build/release/bin/kpc --out FOLDER [--arch sm_90a] [--only REGEX]

The models are attention.py's, with all keys and values as inputs.
"""

import attention
from case_files import write_cases


def cases():
    def case(purpose, batch, keys, depth=128, *, queries=1, heads=32, groups=8, **more):
        return attention.case(purpose, batch, heads, queries, depth, keys=keys, groups=groups, **more)

    # What a server asks for each token.
    for batch, keys in ((16, 4096), (64, 4096), (1, 32768)):
        yield case("speed", batch, keys)
    # Other sizes of heads, groups, batches, caches.
    yield case("other", 1, 4096)
    yield case("other", 8, 2048, 64, groups=32, kind="bf16")
    yield case("other", 4, 8191, heads=64)
    yield case("other", 32, 1500, queries=4)
    yield case("other", 2, 16384, 256, heads=16, groups=2)
    yield case("other", 16, 4096, mask="bool")
    # Few heads and many keys, which blocks of the grid share.
    for keys, heads, groups in ((32768, 4, 1), (131072, 8, 1), (65536, 8, 2), (32768, 16, 4), (131072, 32, 8)):
        yield case("split", 1, keys, heads=heads, groups=groups)
    yield case("other", 8, 4096, layout="bshd")
    # Ragged and tiny ones: right, not timed.
    for depth in (8, 32, 72, 96, 128, 192, 256):
        for queries, keys in ((1, 1), (2, 333), (8, 130)):
            yield case("small", 2, keys, depth, queries=queries, heads=6, groups=2)
    for mask in ("bool", "float"):
        yield case("small", 3, 777, 64, queries=3, heads=8, groups=4, mask=mask, kind="bf16")
    yield case("small", 2, 500, queries=7, causal=True)
    yield case("small", 5, 1000, heads=40, groups=1)
    yield case("small", 1, 40001, heads=12, groups=1, mask="bool")
    yield case("small", 1, 65001, 64, queries=2, heads=4, groups=1, kind="bf16")
    yield case("small", 3, 700, 64, dynamic=True)
    yield case("small", 2, 99, queries=2, heads=8, dynamic=True, layout="bshd")


if __name__ == "__main__":
    write_cases(cases(), __doc__)
