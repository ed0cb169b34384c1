#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fused attention on the emulator.   attention.py KPC DRIVER TARGET FOLDER [NAME…]

Models of one attention each, of ragged sizes (emulated.py); each must become one kernel.
"""

import dataclasses
import sys

import emulated
import numpy
from onnx import TensorProto, helper

#        name          type   batch heads groups queries keys depth causal mask flat past
CASES = [("ragged", "fp16", 1, 2, 2, 129, 200, 64, False, "", False, 0),
         ("causal", "bf16", 1, 2, 1, 150, 150, 128, True, "", False, 0),
         ("odd_depth", "fp16", 1, 1, 1, 70, 90, 72, True, "", False, 0),
         ("wide_heads", "fp16", 1, 1, 1, 64, 100, 256, False, "", False, 0),
         ("mask", "fp16", 2, 2, 1, 65, 130, 32, True, "bool", True, 0),
         ("bias", "bf16", 1, 2, 2, 65, 70, 64, False, "float", True, 0),
         # Queries that see no key, by the least number there is: the mean of the values.
         ("hidden", "bf16", 1, 2, 2, 65, 70, 64, False, "hidden", True, 0),
         # More tiles than multiprocessors: each block takes several.
         ("many_tiles", "fp16", 2, 70, 70, 130, 65, 32, False, "", False, 0),
         ("many_causal", "fp16", 2, 70, 70, 65, 65, 32, True, "", False, 0),
         # Masks and biases of keys alone, as encoders have them, ragged, with several tiles to a block, and where all are hidden.
         ("key_mask", "fp16", 2, 2, 1, 65, 130, 32, False, "bool keys", True, 0),
         ("key_mask_causal", "bf16", 2, 2, 2, 200, 200, 64, True, "bool keys", False, 0),
         ("key_bias", "fp16", 2, 3, 3, 270, 333, 64, False, "float keys", False, 0),
         ("key_bias_tiles", "fp16", 40, 4, 4, 65, 96, 32, False, "float keys", False, 0),
         ("key_bias_causal", "bf16", 1, 2, 1, 130, 200, 128, True, "float keys", True, 0),
         ("key_hidden", "bf16", 1, 2, 2, 65, 70, 64, False, "hidden keys", True, 0),
         ("key_none", "bf16", 2, 2, 2, 65, 128, 64, False, "none keys", True, 0),
         # A query sees no key of the block that its tile begins with.
         ("causal_past", "fp16", 1, 2, 1, 128, 128, 128, True, "", False, 70)]
# Heads of values of another size, which comes last.
OTHER_WIDTHS = [("narrow_values", "fp16", 1, 2, 1, 70, 90, 64, True, "", False, 0, 24),
                ("wide_values", "bf16", 1, 2, 2, 65, 130, 40, False, "", True, 0, 136)]
# Scores that a tanh bends, which comes last; then heads that are filled up to 8 elements, in front of the one kernel.
CAPPED = [("capped", "fp16", 1, 2, 2, 129, 200, 64, False, "", False, 0, 0, 2.0),
          ("capped_causal", "bf16", 1, 2, 1, 150, 150, 128, True, "", False, 0, 0, 0.5),
          ("capped_mask", "fp16", 2, 2, 1, 65, 130, 32, True, "bool", True, 0, 0, 1.0),
          ("capped_bias", "bf16", 1, 2, 2, 65, 70, 64, False, "float", True, 0, 24, 1.5),
          ("capped_hidden", "bf16", 1, 2, 2, 65, 70, 64, False, "hidden", True, 0, 0, 2.0)]
RAGGED_HEADS = [("head65", "fp16", 1, 2, 1, 70, 90, 65, True, "", False, 0),
                ("head3", "bf16", 1, 2, 2, 65, 130, 3, False, "bool", True, 0),
                ("values49", "fp16", 1, 2, 2, 33, 70, 36, False, "float", False, 0, 49, 3.0),
                ("values17", "bf16", 2, 2, 1, 129, 65, 64, False, "", True, 0, 17)]
# On mma.sync: heads of f32, rounded to tf32 and not.
F32_CASES = [(f"{name}_{element}", element, *sizes) for element in ("fp32", "exact") for name, *sizes in (
    ("ragged", 1, 2, 2, 129, 200, 64, False, "", False, 0), ("causal", 1, 2, 1, 150, 150, 128, True, "", False, 0),
    ("odd_depth", 1, 1, 1, 70, 90, 72, True, "", False, 0), ("mask", 2, 2, 1, 65, 130, 32, True, "bool", True, 0),
    ("bias", 1, 2, 2, 65, 70, 40, False, "float", True, 0), ("wide_values", 1, 2, 2, 65, 130, 24, False, "", True, 0, 136),
    ("capped", 1, 2, 1, 129, 90, 64, True, "", False, 0, 0, 1.0), ("head21", 1, 2, 2, 65, 70, 21, False, "float", True, 0, 0, 2.0))]
# On mma.sync: each way to cut them, by force, with masks, biases and triangles in turn.
CUTS = ["128x64 warpgroup 128 stages 1 queries shared", "128x64 warpgroup 128 stages 2 queries registers", "256x64 warpgroup 128 stages 2 queries shared",
        "128x128 warpgroup 64 stages 1 queries registers", "64x32 warpgroup 64 stages 3 queries shared", "64x64 warpgroup 64 stages 4 queries registers",
        "128x32 warpgroup 64 stages 2 queries shared", "64x128 warpgroup 64 stages 2 queries shared", "256x32 warpgroup 128 stages 1 queries registers"]
MASKS = [(True, ""), (False, "bool"), (True, "float"), (False, "")]
FORCED = {f"forced_{number}": f"attention_mmasync {cut}" for number, cut in enumerate(CUTS)}
FORCED_CASES = [(name, "bf16" if number % 2 else "fp16", 1, 2, 1 + number % 2, 270, 333, (64, 48, 32)[number % 3], *MASKS[number % 4], number % 5 == 0, 0)
                for number, name in enumerate(FORCED)]
# By tcgen05: what heads of up to 256 elements have of the above, then each way to cut them. Two tiles of more than 128 have no room.
TENSOR_MEMORY, TENSOR_MEMORY_WIDE = "attention_tcgen05 256x128 stages 2 fma 2", "attention_tcgen05 128x64 stages 2 fma 2"
SYNC = "attention_mmasync 64x32 warpgroup 64 stages 2 queries shared"
TENSOR_MEMORY_CUTS = ["128x128 stages 2 fma 0", "256x64 stages 2 fma 3", "128x64 stages 3 fma 1", "256x128 stages 2 fma 4"]
# Keys of 192 elements and values of 128, as multi-head latent attention has, and all of 160.
LATENT = [("latent", "bf16", 1, 2, 2, 270, 333, 192, True, "", False, 0, 128), ("head160", "fp16", 1, 2, 1, 130, 200, 160, False, "float", True, 0)]
TENSOR_MEMORY_CASES = [(f"cut_{at}", "bf16" if at % 2 else "fp16", 1, 2, 1 + at % 2, 270, 333, (64, 128)[at % 2], *MASKS[at], at % 2 == 0, 0,
                        (0, 64, 0, 0)[at]) for at in range(len(TENSOR_MEMORY_CUTS))]
# Past keys and tokens in any number: which keys a tile of queries sees is computed, with extremes that are not below zero.
RANGES = {"sequence": "1..200:opt=128", "past": "0..256:opt=32"}
SIZES = [{"sequence": 5}, {"sequence": 130, "past": 70}, {"sequence": 64, "past": 0}]


def model(element, batch, heads, groups, depth, causal, mask, is_flat, past, queries, keys, width=0, cap=0.0):
    kind, width = emulated.ELEMENTS[element], width or depth

    def tensor(name, count, length, size=depth):
        shape = [batch, length, count * size] if is_flat else [batch, count, length, size]
        return helper.make_tensor_value_info(name, kind, shape)

    inputs = [tensor("q", heads, queries), tensor("k", groups, keys), tensor("v", groups, keys, width)]
    weights = []
    mask, _, alike = mask.partition(" ")
    rows = 1 if alike else queries
    least = numpy.float32(-3.3895314e38)  # of bf16
    if mask in ("hidden", "none") and alike:
        hides = numpy.where(numpy.arange(keys) % 3 == 0 if mask == "hidden" else numpy.full(keys, True), least, 0)
        weights.append(helper.make_tensor("m", kind, [1, 1, 1, keys], hides.flatten().tolist()))
    elif mask == "hidden":
        hides = numpy.where(numpy.arange(queries)[:, None] % 3 == 0, least, 0) * numpy.ones(keys)
        weights.append(helper.make_tensor("m", kind, [1, 1, queries, keys], hides.flatten().tolist()))
    elif mask:
        inputs.append(helper.make_tensor_value_info("m", TensorProto.BOOL if mask == "bool" else kind,
                                                    [batch if alike else 1, 1, rows, keys]))
    names, outputs = [i.name for i in inputs] + [w.name for w in weights], [tensor("y", heads, queries, width)]
    if past:
        present = "present" if isinstance(past, str) else past + keys
        inputs += [tensor("past_key", groups, past), tensor("past_value", groups, past, width)]
        outputs += [tensor("present_key", groups, present), tensor("present_value", groups, present, width)]
        names += ["", "past_key", "past_value"]
    attributes = dict(q_num_heads=heads, kv_num_heads=groups) if is_flat else {}
    node = helper.make_node("Attention", names, [o.name for o in outputs], name="attention", is_causal=int(causal), softcap=cap,
                            **attributes)
    graph = helper.make_graph([node], "attention", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)


def case(family, name, element, batch, heads, groups, queries, keys, depth, causal, mask, is_flat, past, width=0, cap=0.0, schedule=""):
    made = model(element, batch, heads, groups, depth, causal, mask, is_flat, past, queries, keys, width, cap)
    return emulated.Case(name, made, options=emulated.PRECISIONS.get(element, ()), schedule=f".* = {schedule}" if schedule else "", shows=f"  {family}" + ("" if family.endswith("_") else " "))


def dynamic_cases(family):
    for at, sizes in enumerate(SIZES):
        one = case(family, f"dynamic_past_{at}", "fp16", 1, 2, 1, "sequence", "sequence", 64, True, "", False, "past")
        yield dataclasses.replace(one, ranges=RANGES, sizes=sizes)


def is_whole(one):
    """Whether heads fill the tiles that tcgen05 has for them."""
    return all(size in (0, 64, 128) for size in (one[7], *one[12:13]))


def by_tensor_memory():
    """By force: for so small sizes the cost models may have mma.sync. Where past keys are joined, that is a kernel too, and nothing is forced."""
    for one in CASES + OTHER_WIDTHS + CAPPED + LATENT:
        rule = TENSOR_MEMORY if max(one[7], *one[12:13], 0) <= 128 else TENSOR_MEMORY_WIDE
        yield case("attention_tcgen05", f"tensor_{one[0]}", *one[1:], schedule="" if one[11] else rule)
    yield case("attention_tcgen05", "tensor_two_tiles", *LATENT[0][1:], schedule="attention_tcgen05 256x64 stages 2 fma 1")
    for one, cut in zip(TENSOR_MEMORY_CASES, TENSOR_MEMORY_CUTS):
        yield case("attention_tcgen05", *one, schedule=f"attention_tcgen05 {cut}")
    for one in dynamic_cases("attention_tcgen05"):
        yield dataclasses.replace(one, name=f"tensor_{one.name}")


def cases(target):
    has_tensor_memory = target in ("sm_100a", "sm_103a", "sm_110a")
    family = "attention" if target == "sm_90a" else "attention_mmasync"
    # Where there is tensor memory, the cost models choose between it and mma.sync.
    yield from (case(family, *one, schedule=SYNC if has_tensor_memory else "") for one in CASES + OTHER_WIDTHS + CAPPED
                if not (has_tensor_memory and is_whole(one)))
    yield from (case("attention_" if has_tensor_memory else family, *one) for one in RAGGED_HEADS)
    yield from by_tensor_memory() if has_tensor_memory else dynamic_cases(family)
    if target != "sm_90a":
        yield from (case(family, *one, schedule=FORCED[one[0]]) for one in FORCED_CASES)
        # tf32 is no faster than fp32 on sm_120a: split factors are loops there.
        yield from (case(family, *one) for one in F32_CASES if one[1] != "exact" or target != "sm_120a")


def main():
    kpc, driver, target, folder, *names = sys.argv[1:]
    chosen = [one for one in cases(target) if not names or one.name in names]
    return emulated.main(kpc, driver, target, folder, chosen, "attentions", every=1 if names else 3)


if __name__ == "__main__":
    sys.exit(main())
