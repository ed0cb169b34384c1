#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions on tensor cores, on the emulator.   convolutions.py KPC DRIVER FOLDER [TARGET]

The small ones of test/device/convolutions.py (emulated.py).
"""

import math
import sys

import emulated
import numpy
from onnx import TensorProto, helper, numpy_helper

models = emulated.device_models("convolutions")

MOST_PLACES = 20_000  # of all images: more take long here
NARROW = 32  # fewer outputs are for tiles of mma.sync
TF32 = next(number for number, shape in enumerate(models.SMALL) if shape.type == "tf32" and shape.groups == 1)
# By tcgen05, alone and as pairs: slices of each width, whole and ragged tiles, one to three spatial dimensions; by their places in SMALL.
BLACKWELL = [(0, "conv 128x64x64 stages 2 group_m 1"), (0, "conv 256x128x64 stages 2 group_m 1 pair"), (1, "conv 128x128x64 stages 3 group_m 2"),
             (2, "conv 128x64x32 stages 4 group_m 1"), (2, "conv 256x256x16 stages 3 group_m 1 pair"), (3, "conv 128x64x16 stages 5 group_m 1"),
             (5, "conv 256x128x64 stages 3 group_m 2 pair"), (6, "conv 256x128x32 stages 2 group_m 1 pair"), (7, "conv 128x192x32 stages 3 group_m 1"),
             (7, "conv 256x256x32 stages 2 group_m 1 pair"), (10, "conv 128x256x64 stages 3 group_m 2"), (10, "conv 256x256x64 stages 2 group_m 4 pair"),
             (12, "conv 128x128x32 stages 3 group_m 2"), (12, "conv 256x128x16 stages 4 group_m 1 pair"), (13, "conv 256x128x16 stages 2 group_m 2 pair"),
             # In tf32, of which a line holds half as many.
             (TF32, "conv 128x64x32 stages 3 group_m 1"), (TF32, "conv 256x128x16 stages 2 group_m 1 pair"), (TF32, "conv 128x64x8 stages 5 group_m 2")]

# Phases of transposed convolutions, whose tiles leave out the taps that they lack: tiles of one phase and of several, clusters, steps of four
# whose phases have one tap or two, three dimensions, tf32.
PHASES = [models.Case((5, 7), 16, 64, (3, 3), 2, (1,) * 4, batch=2, transposed=True, more=1),
          models.Case((5, 7), 32, 72, (5, 5), 2, (2,) * 4, batch=3, transposed=True, more=1, type="tf32"),
          models.Case((23,), 16, 64, (5,), 4, (0, 0), batch=2, transposed=True),
          models.Case((3, 4, 5), 24, 32, (3, 3, 3), 2, (1,) * 6, batch=1, transposed=True, more=1)]
PHASES_BY = {"sm_90a": [(0, "conv 64x64x16 stages 4 group_m 1"), (0, "conv 128x192x16 stages 3 group_m 2"), (0, "conv 64x64x16 stages 4 group_m 1 cluster 2"),
                        (0, "conv 64x64x16 stages 4 group_m 1 split_k 2"), (1, "conv 64x64x32 stages 3 group_m 1"), (1, "conv 64x128x16 stages 5 group_m 2"),
                        (2, "conv 64x64x16 stages 4 group_m 1"), (2, "conv 64x128x16 stages 2 group_m 1"), (3, "conv 64x64x32 stages 3 group_m 1")],
             "sm_100a": [(0, "conv 128x64x16 stages 4 group_m 1"), (0, "conv 256x128x16 stages 3 group_m 1 pair"), (1, "conv 128x64x32 stages 3 group_m 1"),
                         (1, "conv 256x128x16 stages 3 group_m 1 pair"), (2, "conv 128x64x16 stages 4 group_m 1"), (3, "conv 128x64x32 stages 3 group_m 1")]}


def case(shape, schedule=""):
    name = f"{shape.name}.{schedule.replace(' ', '_')}" if schedule else shape.name
    kernel = "sum" if shape.transposed else "sum_.*"
    return emulated.Case(name, models.model(shape), {"batch": f"1..256:opt={shape.batch}"}, {"batch": shape.batch},
                         f"{kernel} = {schedule}" if schedule else "", shows=schedule)


def dynamic(shape):
    """Heights and widths are known when a shape is bound; the kernel is tuned for others, and still on Tensor Cores."""
    model = models.model(shape)
    for value in (model.graph.input[0], model.graph.output[0]):
        for i, dim in enumerate(value.type.tensor_type.shape.dim[1:-1]):
            dim.dim_param = f"size{i}" if value.name == "x" else f"out{i}"
    sizes = {"batch": shape.batch, **{f"size{i}": size for i, size in enumerate(shape.size)}}
    ranges = {name: f"{max(1, size // 3)}..{size * 3}:opt={size + 1}" for name, size in sizes.items()}
    return emulated.Case(shape.name + ".dynamic", model, ranges, sizes, shows="conv ")


def normed(opset):
    """GroupNormalization and SiLU between two convolutions: one kernel, whether groups have the scales or channels."""
    random = numpy.random.default_rng(opset)
    sizes = {"w": (64, 32, 3, 3), "scale": (8 if opset < 21 else 64,), "bias": (8 if opset < 21 else 64,), "v": (32, 64, 3, 3)}
    weights = [numpy_helper.from_array((random.standard_normal(size) / math.prod(size[1:])**0.5).astype(numpy.float32), name) for name, size in sizes.items()]
    nodes = [helper.make_node("Conv", ["x", "w"], ["first"], pads=[1] * 4),
             helper.make_node("GroupNormalization", ["first", "scale", "bias"], ["norm"], num_groups=8), helper.make_node("Sigmoid", ["norm"], ["gate"]),
             helper.make_node("Mul", ["norm", "gate"], ["silu"]), helper.make_node("Conv", ["silu", "v"], ["y"], pads=[1] * 4)]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "normed", [value("x", TensorProto.FLOAT, [2, 32, 9, 11])], [value("y", TensorProto.FLOAT, [2, 32, 9, 11])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    # Transposes of what comes in and goes out, two convolutions, the norm.
    return emulated.Case(f"group_norm.{opset}", model, options=("--precision", "fp16"), shows="rows ", kernels=5)


def cases(target):
    small = [shape for shape in models.SMALL if shape.batch * math.prod(shape.out_size) <= MOST_PLACES]
    forced = [case(models.SMALL[number], schedule) for number, schedule in BLACKWELL if target == "sm_100a"]
    phases = [case(PHASES[number], schedule) for number, schedule in PHASES_BY.get(target, ())]
    return [*map(case, small), *forced, *phases, normed(18), normed(21),
            *(dynamic(shape) for shape in small if shape.groups == 1 and shape.outputs >= NARROW and not shape.residual)]


def main():
    kpc, driver, folder, target = sys.argv[1:4] + (sys.argv[4:] or ["sm_90a"])
    return emulated.main(kpc, driver, target, folder, cases(target), "convolutions")


if __name__ == "__main__":
    sys.exit(main())
