#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions on tensor cores, on the emulator.   convolutions.py KPC DRIVER FOLDER

The small ones of test/device/convolutions.py (emulated.py).
"""

import math
import sys

import emulated

models = emulated.device_models("convolutions")

MOST_PLACES = 20_000  # of all images: more take long here
NARROW = 32  # fewer outputs are for tiles of mma.sync


def case(shape, schedule=""):
    return emulated.Case(shape.name, models.model(shape), {"batch": f"1..256:opt={shape.batch}"}, {"batch": shape.batch},
                         f".* = {schedule}" if schedule else "")


def dynamic(shape):
    """Heights and widths are known when a shape is bound; the kernel is tuned for others, and still on Tensor Cores."""
    model = models.model(shape)
    for value in (model.graph.input[0], model.graph.output[0]):
        for i, dim in enumerate(value.type.tensor_type.shape.dim[1:-1]):
            dim.dim_param = f"size{i}" if value.name == "x" else f"out{i}"
    sizes = {"batch": shape.batch, **{f"size{i}": size for i, size in enumerate(shape.size)}}
    ranges = {name: f"{max(1, size // 3)}..{size * 3}:opt={size + 1}" for name, size in sizes.items()}
    return emulated.Case(shape.name + ".dynamic", model, ranges, sizes, shows="conv ")


def cases():
    small = [shape for shape in models.SMALL if shape.batch * math.prod(shape.out_size) <= MOST_PLACES]
    return [*map(case, small),
            *(dynamic(shape) for shape in small if shape.groups == 1 and shape.outputs >= NARROW and not shape.residual)]


if __name__ == "__main__":
    kpc, driver, folder = sys.argv[1:]
    sys.exit(emulated.main(kpc, driver, "sm_90a", folder, cases(), "convolutions"))
