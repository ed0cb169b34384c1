#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions of tiles of images, on the emulator.   conv_halo.py KPC DRIVER TARGET FOLDER

Channels of one and of several steps of mma.sync, taps and borders of all kinds, tiles that end outside the image, several
tiles of outputs, more tiles than blocks; by force, since images here are small (emulated.py).
"""

import sys

import conv_mma_sync
import emulated
from onnx import TensorProto, helper

models = conv_mma_sync.models
Case = models.Case

# A convolution, its schedules.
FORCED = [
    (Case((7, 9), 8, 8, batch=3), ["16x16x16 warpgroups 2 stages 2", "4x16x16 warpgroups 4 stages 1"]),
    (Case((33, 31), 16, 24, batch=2, residual=True), ["16x16x32 warpgroups 2 stages 2", "8x16x16 warpgroups 3 stages 1"]),
    (Case((33, 31), 32, 32, batch=2), ["16x16x32 warpgroups 1 stages 2", "8x32x32 warpgroups 2 stages 1", "8x16x32 warpgroups 3 stages 1",
                                       "8x32x16 warpgroups 1 stages 2"]),
    (Case((20, 17), 24, 40, (5, 5), batch=1, type="bf16", act="HardSwish"), ["8x16x64 warpgroups 1 stages 1", "8x16x32 warpgroups 1 stages 2"]),
    (Case((9, 35), 40, 12, (1, 3), batch=2, residual=True), ["8x32x16 warpgroups 1 stages 2", "4x16x16 warpgroups 4 stages 2"]),
    (Case((12, 19), 64, 72, batch=1), ["4x16x32 warpgroups 3 stages 1", "8x16x32 warpgroups 2 stages 1"]),
    (Case((18, 23), 8, 16, (7, 7), batch=2, pad=(3, 1, 2, 4)), ["16x16x16 warpgroups 1 stages 2", "8x16x16 warpgroups 4 stages 1"]),
    (Case((19, 18), 24, 16, dilation=2, batch=1, pad=(0, 2, 3, 1)), ["8x16x16 warpgroups 1 stages 2", "16x16x16 warpgroups 2 stages 1"]),
    (Case((21, 37), 16, 20, stride=2, batch=2, pad=(0, 1, 1, 1)), ["8x16x32 warpgroups 2 stages 1", "4x16x16 warpgroups 1 stages 2"]),
    (Case((16, 33), 8, 8, (3, 1), batch=2, act=""), ["8x32x16 warpgroups 1 stages 2"]),
    (Case((17, 20), 32, 3, batch=2), ["8x16x16 warpgroups 1 stages 2"]),
    (Case((35, 40), 4, 24, (7, 7), stride=2, batch=2, pad=(0, 0, 0, 0)), ["8x16x32 warpgroups 2 stages 2", "16x16x16 warpgroups 1 stages 1"]),
]
# Taps of a line are taken for channels: 4 · 7 and 4 · 3 of them, 4 · 11 at a step of 16, and 2 · 7. 3 channels are filled up.
FOLDED = [
    (Case((37, 46), 3, 64, (7, 7), stride=2, batch=2, pad=(3, 3, 3, 3)), ["8x16x64 warpgroups 2 stages 2", "16x16x32 warpgroups 4 stages 1"]),
    (Case((33, 40), 3, 24, stride=2, batch=3, pad=(1, 1, 1, 1), act="HardSwish"), ["16x16x32 warpgroups 2 stages 2", "8x32x16 warpgroups 3 stages 1"]),
    (Case((30, 41), 4, 16, (5, 5), stride=2, batch=2, residual=True), ["4x16x16 warpgroups 4 stages 2"]),
    (Case((47, 67), 3, 32, (11, 11), stride=4, batch=1, pad=(2, 2, 2, 2), type="bf16"), ["8x16x32 warpgroups 1 stages 1"]),
    (Case((35, 70), 2, 16, (7, 7), stride=4, batch=2), ["8x16x16 warpgroups 2 stages 2"]),
]
# So many products that they are loops: over columns of taps, and over steps of a line. The filters need more than 99 KiB.
LARGE = [
    (Case((9, 18), 32, 64, (5, 5), batch=1), ["8x16x64 warpgroups 2 stages 1"]),
    (Case((9, 18), 24, 64, (7, 5), batch=1), ["8x16x64 warpgroups 2 stages 1"]),
    (Case((9, 18), 24, 64, (5, 5), dilation=2, batch=1), ["4x16x64 warpgroups 2 stages 1"]),
]


def case(shape, number, schedule):
    text = f"conv_halo {schedule}"
    # The kernel of the sum alone fills up the input.
    kernel = "sum_.*" if shape.channels < 8 else ".*"
    return emulated.Case(f"{number}.{shape.name}", models.model(shape), {"batch": f"1..256:opt={shape.batch}"}, {"batch": shape.batch}, f"{kernel} = {text}", (), shows=text)


def single(shape, schedule):
    """Results of 32 bits, of which a line of the stage has to hold 16."""
    one = case(shape, 0, schedule)
    graph = one.model.graph
    graph.node[-1].output[0] = "narrow"
    graph.node.append(helper.make_node("Cast", ["narrow"], ["y"], to=TensorProto.FLOAT))
    graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    one.name += ".single"
    return one


def cases(target):
    shapes = [*FORCED, *FOLDED, *(LARGE if target != "sm_120a" else [])]
    if target == "portable":  # which takes no rules: what is chosen there
        large = [Case((33, 31), 32, 32, batch=9), Case((64, 40), 8, 16, (7, 7), batch=2), Case((65, 80), 3, 32, stride=2, batch=6, pad=(1, 1, 1, 1))]
        return [emulated.Case(shape.name, models.model(shape), {"batch": "1..256:opt=64"}, {"batch": shape.batch}, shows="conv_halo ") for shape in large]
    forced = [case(shape, number, schedule) for shape, schedules in shapes for number, schedule in enumerate(schedules)]
    dynamic = []
    for shape, schedules in (shapes[2], shapes[6]):
        one = conv_mma_sync.dynamic(shape)
        one.schedule, one.shows = f".* = conv_halo {schedules[0]}", "conv_halo "
        dynamic.append(one)
    return forced + dynamic + [single(Case((13, 35), 8, 8, batch=2), "4x16x16 warpgroups 2 stages 1")]


if __name__ == "__main__":
    kpc, driver, target, folder = sys.argv[1:]
    sys.exit(emulated.main(kpc, driver, target, folder, cases(target), "convolutions of tiles of images"))
