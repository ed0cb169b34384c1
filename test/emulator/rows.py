#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax and norms that keep rows in registers, on the emulator.   rows.py KPC DRIVER TARGET FOLDER

Models of test/device/rows.py, of ragged sizes (emulated.py).
"""

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


def image_case(spelling, element, known, sizes):
    channels, groups = 24, 24 if spelling in ("instance", "batch") else 4
    images, height, width = known or ("images", "height", "width")
    dynamic = {} if known else dict(zip((images, height, width), sizes))
    ranges = {name: f"1..256:opt={size}" for name, size in dynamic.items()}
    text = "x".join(str(size) for size in sizes)
    return emulated.Case(f"{spelling}_{text}_{element}{'' if known else '_free'}",
                         models.group_norms.model(spelling, [images, channels, height, width], groups, models.TYPES[element]), ranges, dynamic,
                         shows="rows ", kernels=1)


if __name__ == "__main__":
    sys.exit(emulated.main(*sys.argv[1:5], [case(*one) for one in CASES] + [image_case(*one) for one in IMAGES],
                           "kernels of rows"))
