#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax and norms that keep rows in registers, on the emulator.   rows.py KPC DRIVER TARGET FOLDER

Models of test/device/rows.py, of ragged sizes (emulated.py).
"""

import dataclasses
import sys

import emulated

models = emulated.device_models("rows")

CASES = [("softmax", 5, 7, "fp32", False), ("softmax", 3, 96, "fp16", False), ("softmax", 2, 1001, "bf16", False),
         ("softmax", 2, 5000, "fp32", False), ("softmax", 3, 17003, "fp16", False),
         ("norm_residual", 3, 769, "bf16", False), ("norm_residual", 9, 40, "bf16", False), ("norm_residual", 3, 768, "fp16", False),
         ("rms_residual", 3, 257, "fp32", False), ("log_softmax", 4, 33, "fp32", False), ("masked", 6, 24, "fp32", False),
         ("softmax", 3, 72, "fp16", True), ("softmax", 3, 77, "fp16", True), ("softmax", 1, 4100, "bf16", True),
         ("norm_residual", 4, 200, "fp32", True), ("gelu_erf", 3, 37, "fp16", False), ("gelu_tanh", 3, 64, "bf16", False)]


def case(kind, count, columns, element, free):
    """`free`: the number of columns is not known."""
    ranges = {"rows": f"1..4096:opt={count}"} | ({"columns": "1..8192:opt=512"} if free else {})
    return emulated.Case(f"{kind}_{columns}_{element}{'_free' if free else ''}", models.model(kind, "columns" if free else columns, element),
                         ranges, {"rows": count} | ({"columns": columns} if free else {}))


# Norms of images: spelling, element type, sizes that are known (else all but the channels are dynamic) and those of the run.
IMAGES = [(spelling, element, None, (images, height, width)) for spelling in models.group_norms.SPELLINGS
          for element, images, height, width in (("fp16", 2, 8, 12), ("fp32", 3, 7, 5))]
IMAGES += [("reshaped", "bf16", (2, 16, 24), (2, 16, 24)), ("operator", "fp16", (1, 7, 9), (1, 7, 9)), ("instance", "fp16", (3, 17, 13), (3, 17, 13)),
           ("reshaped", "fp16", None, (1, 40, 72))]


# Channels last in memory. Each channel by itself is columns of memory, which are kernels of their own.
LAST = [(spelling, element, known, sizes) for spelling in ("reshaped", "operator", "operator_18")
        for element, known, sizes in (("fp16", None, (2, 8, 12)), ("fp32", (3, 7, 5), (3, 7, 5)))]
LAST += [("reshaped", "bf16", (2, 16, 24), (2, 16, 24))]
# Four groups of 17,280 elements: a kernel of rows where the blocks of a cluster share each, else sums of parts.
FEW_GROUPS = ("reshaped", "fp16", (1, 40, 72), (1, 40, 72))


def last_case(spelling, element, known, sizes, between=False):
    """No kernel only transposes, and SiLU is part of the norm's. Beside it there are one for both convolutions, and one for both casts of
    scale and shift where they are of 16 bits."""
    made = image_case(spelling, element, known, sizes, last=True, between=between)
    options = ("--precision", "tf32") if element == "fp32" else ()
    count = 1 + between + (spelling != "reshaped" and element != "fp32")
    return dataclasses.replace(made, name=f"{made.name}_last{'_between' if between else ''}", options=options, kernels=count, lacks=" transpose ")


def instance_case(element, known, sizes):
    """Columns of memory, over all pixels."""
    made = last_case("instance", element, known, sizes)
    return dataclasses.replace(made, shows="columns ")


# Groups that are too long for a kernel of rows: sums of parts, of these, and what is normalised, each of which reads x in 16 bits.
# Spelling, channels last, sizes that are known and those of the run, kernels. The blocks of a cluster keep rows four times as long.
LONG = [("reshaped", True, (1, 97, 89), (1, 97, 89), 5), ("reshaped", True, None, (1, 97, 89), 6), ("reshaped", False, (1, 149, 151), (1, 149, 151), 6)]
LONGER = [("reshaped", True, (1, 111, 113), (1, 111, 113), 5), ("reshaped", True, None, (1, 111, 113), 6),
          ("reshaped", False, (1, 299, 297), (1, 299, 297), 6)]
LONG_COLUMNS = ("instance", True, (1, 53, 47), (1, 53, 47), 6)


def long_case(spelling, last, known, sizes, kernels):
    made = image_case(spelling, "fp16", known, sizes, last=last)
    return dataclasses.replace(made, name=f"{made.name}_long{'_last' if last else ''}", shows="reduction", lacks=" transpose ", kernels=kernels)


def cluster_cases():
    """Rows that the blocks of a cluster share: in registers, walked, and of lengths that only the run knows, of which some fit one access."""
    made = [image_case(spelling, "fp16", known, sizes, last=last) for spelling, last, known, sizes, _ in LONG]
    made = [dataclasses.replace(one, name=f"{one.name}_cluster{'_last' if long[1] else ''}", shows=" cluster ") for one, long in zip(made, LONG)]
    made += [dataclasses.replace(case("softmax", 1, columns, element, False), shows=" cluster ") for columns, element in
             ((100003, "fp32"), (65536, "bf16"), (400001, "fp16"))]
    free = dataclasses.replace(case("softmax", 2, 70001, "fp16", True), shows=" cluster ", ranges={"rows": "1..8:opt=2", "columns": "1..400000:opt=65536"})
    return made + [dataclasses.replace(free, name=f"{free.name}_{columns}", sizes={"rows": 2, "columns": columns})
                   for columns in (1, 9, 4099, 70001, 262145)]


def columns_case(kind, channels, height, width, element, known):
    sizes = {"images": 2, "height": height, "width": width}
    names = [2, channels, height, width] if known else ["images", channels, "height", "width"]
    return emulated.Case(f"{kind}_{channels}x{height}x{width}_{element}{'' if known else '_free'}", models.columns_model(kind, names, element),
                         {} if known else {name: f"1..256:opt={size}" for name, size in sizes.items()}, {} if known else sizes,
                         shows="columns ", lacks=" transpose ", kernels=1 + (kind == "norm" and element != "fp32"))


def image_case(spelling, element, known, sizes, **more):
    channels, groups = 24, 24 if spelling in ("instance", "batch") else 4
    images, height, width = known or ("images", "height", "width")
    dynamic = {} if known else dict(zip((images, height, width), sizes))
    ranges = {name: f"1..256:opt={size}" for name, size in dynamic.items()}
    text = "x".join(str(size) for size in sizes)
    return emulated.Case(f"{spelling}_{text}_{element}{'' if known else '_free'}",
                         models.group_norms.model(spelling, [images, channels, height, width], groups, models.TYPES[element], **more),
                         ranges, dynamic, shows="rows ", kernels=1)


if __name__ == "__main__":
    last = [last_case(*one) for one in LAST] + [last_case(*one, between=True) for one in LAST[:3]]
    last += [instance_case("fp16", (2, 8, 12), (2, 8, 12)), instance_case("fp32", (2, 5, 7), (2, 5, 7))]
    last += [columns_case(kind, *one, known) for kind in ("softmax", "norm") for known in (True, False)
             for one in ((5, 6, 7, "fp32"), (24, 8, 12, "fp16"), (131, 5, 13, "bf16"))]
    clusters = sys.argv[3] not in ("portable", "sm_80", "sm_86", "sm_89")
    last += [last_case(*FEW_GROUPS) if clusters else long_case("reshaped", True, *FEW_GROUPS[2:], 5)]
    last += [long_case(*one) for one in [*(LONGER if clusters else LONG), LONG_COLUMNS]]
    last += cluster_cases() if clusters else []
    sys.exit(emulated.main(*sys.argv[1:5], [case(*one) for one in CASES] + [image_case(*one) for one in IMAGES] + last,
                           "kernels of rows"))
