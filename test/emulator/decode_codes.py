#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of few queries on a cache of FP8, on the emulator.   decode_codes.py KPC DRIVER TARGET FOLDER

Models of test/device/decode_codes.py (emulated.py). Where the target multiplies FP8, one kernel reads the codes; elsewhere they are
dequantised in front. So they are where heads are no multiple of 16 elements.
"""

import dataclasses
import sys

import emulated

models = emulated.device_models("decode_codes")

#        batch keys depth, and what else is said of them.
CASES = [(1, 1, 64, {"heads": 1, "groups": 1}), (2, 300, 128, {"heads": 8, "groups": 2}), (1, 147, 128, {"heads": 4, "groups": 1, "queries": 5, "kind": "bf16"}),
         (1, 9, 64, {"heads": 2, "groups": 1, "queries": 7, "causal": True}), (1, 90, 48, {"heads": 2, "groups": 1, "queries": 3}),
         (1, 40, 16, {"heads": 3, "groups": 3, "queries": 8, "kind": "bf16"}), (1, 513, 256, {"heads": 4, "groups": 1}),
         (1, 70, 208, {"heads": 12, "groups": 2, "queries": 3, "kind": "bf16"}), (1, 333, 96, {"heads": 16, "groups": 1, "layout": "bshd"}),
         (2, 70, 64, {"heads": 4, "groups": 2, "kind": "bf16", "layout": "bshd"})]
HEADS = [(2, 130, 64, {"heads": 8, "groups": 4, "scales": "heads"}), (1, 77, 128, {"heads": 2, "groups": 2, "scales": "heads", "kind": "bf16", "queries": 2})]
RAGGED = [(1, 90, 72, {"heads": 2, "groups": 1})]


def dynamic(shape, kernels):
    """Sizes of the cache are known when a shape is bound."""
    one, sizes = case(shape, kernels), {"batch": shape[0], "keys": shape[1]}
    for value in one.model.graph.input:
        dims = value.type.tensor_type.shape.dim
        dims[0].dim_param = "batch"
        if value.name in "kv":
            dims[2].dim_param = "keys"
    one.model.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    return dataclasses.replace(one, name=f"{one.name}.dynamic", ranges={"batch": "1..8:opt=4", "keys": "1..4096:opt=1000"}, sizes=sizes)


def case(shape, kernels=0):
    batch, keys, depth, more = shape
    made = models.case("small", batch, keys, depth, **more)
    return emulated.Case(made["name"], made["model"](), shows="  decode ", kernels=kernels)


def cases(target):
    one = 1 if target not in ("sm_80", "portable") else 0
    yield from (case(shape, one) for shape in CASES)
    yield from (dynamic(shape, one) for shape in CASES[1:3])
    yield from map(case, HEADS + RAGGED)


if __name__ == "__main__":
    sys.exit(emulated.main(*sys.argv[1:5], list(cases(sys.argv[3])), "attentions on a cache of FP8"))
