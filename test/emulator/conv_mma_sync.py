#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions by mma.sync, on the emulator.   conv_mma_sync.py KPC DRIVER TARGET FOLDER

The small ones of test/device/convolutions.py, with and without groups (emulated.py), and schedules by force.
"""

import dataclasses
import math
import sys

import emulated

models = emulated.device_models("convolutions")

MOST_PLACES = 2_000  # of all images: more take long here

GROUPED = models.Case((9, 7), 64, 64, groups=16, batch=2, residual=True)
WIDE = models.Case((9, 7), 40, 72, batch=3)
# A line of the first operand ends within 16 bytes, where its memory does.
ONE_CHANNEL = models.Case((33, ), 1, 16, (1, ), batch=1, type="fp32")
FORCED = [(GROUPED, "64x64x64 warpgroup 64x64 stages 3 group_m 2"), (GROUPED, "128x64x32 warpgroup 128x64 stages 4 group_m 1 groups 2"),
          (GROUPED, "64x64x32 warpgroup 64x32 stages 2 group_m 7 groups 8"), (GROUPED, "64x64x64 warpgroup 64x64 stages 4 group_m 3 groups 16"),
          (WIDE, "128x128x64 warpgroup 128x64 stages 3 group_m 2"), (WIDE, "64x128x32 warpgroup 64x64 stages 5 group_m 1"),
          (WIDE, "256x64x32 warpgroup 128x64 stages 2 group_m 8")]


def case(shape, number=0, schedule="", options=("--precision", "tf32")):
    is_depthwise = shape.groups == shape.channels == shape.outputs
    is_gemm = shape.groups == 1 and (math.prod(shape.filter) == shape.stride == 1 or math.prod(shape.out_size) == 1)
    text = f"conv_mmasync {schedule}"
    return emulated.Case(f"{number}.{shape.name}", models.model(shape), {"batch": f"1..256:opt={shape.batch}"}, {"batch": shape.batch},
                         f".* = {text}" if schedule else "", options if shape.type == "fp32" else (),
                         shows="" if is_depthwise or is_gemm or shape.groups == shape.channels or shape.transposed else text)


def dynamic(shape):
    """Heights and widths are known when a shape is bound."""
    model = models.model(shape)
    for value in (model.graph.input[0], model.graph.output[0]):
        for i, dim in enumerate(value.type.tensor_type.shape.dim[1:-1]):
            dim.dim_param = f"size{i}" if value.name == "x" else f"out{i}"
    sizes = {"batch": shape.batch, **{f"size{i}": size for i, size in enumerate(shape.size)}}
    ranges = {name: f"{max(1, size // 3)}..{size * 3}:opt={size + 1}" for name, size in sizes.items()}
    return emulated.Case(shape.name + ".dynamic", model, ranges, sizes, shows="" if shape.transposed else "conv_mmasync ")


def cases(target):
    small = [shape for shape in [*models.SMALL, *models.SMALL_TRANSPOSED] if shape.batch * math.prod(shape.out_size) <= MOST_PLACES]
    if target == "sm_90a":  # there wgmma has those without groups
        small = [shape for shape in small if shape.groups > 1 or shape.transposed]
    tf32 = [dataclasses.replace(shape, type="fp32", channels=shape.channels // 8 * 8) for shape in (GROUPED, WIDE)]
    # What is for every chip has no room for the schedules that are forced on one.
    forced = enumerate(FORCED if target != "portable" else [], 1)
    return [*map(case, small), case(ONE_CHANNEL), *(case(shape, number, schedule) for number, (shape, schedule) in forced),
            *(case(shape, 99) for shape in tf32 if target != "sm_90a"),
            *(case(shape, 98, options=("--precision", "fp32")) for shape in tf32 if target not in ("sm_120a", "sm_121a", "sm_110a")),
            *(dynamic(shape) for shape in small if (1 < shape.groups < shape.channels and not shape.residual) or (shape.transposed and shape.type == "fp16"))]


if __name__ == "__main__":
    kpc, driver, target, folder = sys.argv[1:]
    sys.exit(emulated.main(kpc, driver, target, folder, cases(target), "convolutions"))
