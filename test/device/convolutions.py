#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions for time_convolutions.py: writes a model of each, and compiles it.

    python3 convolutions.py --kpc build/release/bin/kpc --out FOLDER [--arch sm_90a] [--only REGEX]

Each is y = act(conv(x, w) + b + r), channels last in memory, in one type; the batch is dynamic, its optimum the case's.
Writes NAME.kpc and a line in cases.json. Needs onnx.
"""

import dataclasses
import functools

import numpy

from case_files import write_cases


@dataclasses.dataclass
class Case:
    size: tuple  # of x, spatial
    channels: int
    outputs: int
    filter: tuple = (3, 3)
    stride: int = 1
    pad: tuple = ()  # zeros before, then behind; empty: as many as keep the size at stride 1
    dilation: int = 1
    groups: int = 1
    residual: bool = False
    act: str = "Relu"
    batch: int = 32
    type: str = "fp16"  # tf32: fp32 in memory, as without --precision
    input: str = ""  # type of x, where it is another
    transposed: bool = False
    more: int = 0  # places behind the result's last, of a transposed one

    def __post_init__(self):
        if not self.pad:
            reach = [(taps - 1) * self.dilation for taps in self.filter]
            self.pad = tuple(r // 2 for r in reach) + tuple(r - r // 2 for r in reach)

    @property
    def out_size(self):
        count = len(self.size)
        if self.transposed:
            return [(self.size[i] - 1) * self.stride + self.dilation * (self.filter[i] - 1) + 1 - self.pad[i] - self.pad[count + i] + self.more
                    for i in range(count)]
        return [(self.size[i] + self.pad[i] + self.pad[count + i] - self.dilation * (self.filter[i] - 1) - 1) // self.stride + 1
                for i in range(count)]

    @property
    def name(self):
        def by(sizes):
            return "x".join(map(str, sizes))
        return (f"{self.batch}x{by(self.size)}x{self.channels}.{by(self.filter)}x{self.outputs}"
                + (f".s{self.stride}" if self.stride > 1 else "") + (f".d{self.dilation}" if self.dilation > 1 else "")
                + (f".g{self.groups}" if self.groups > 1 else "") + (".residual" if self.residual else "")
                + (".transposed" if self.transposed else "") + (".unpadded" if self.transposed and not any(self.pad) else "") + (f".more{self.more}" if self.more else "") + ("" if self.act else ".linear") + ("" if self.type == "fp16" else f".{self.type}"))


def bottlenecks():
    """ResNet-50's convolutions behind the first: each once."""
    inputs, size = 64, 56
    for width in (64, 128, 256, 512):
        stride = 1 if width == 64 else 2
        out = size // stride
        yield Case((size, size), inputs, width, (1, 1))
        yield Case((size, size), width, width, stride=stride)
        yield Case((out, out), width, 4 * width, (1, 1), residual=True)
        yield Case((size, size), inputs, 4 * width, (1, 1), stride=stride, act="")
        yield Case((out, out), 4 * width, width, (1, 1))
        if stride > 1:
            yield Case((out, out), width, width)
        inputs, size = 4 * width, out


SPEED = [Case((224, 224), 3, 64, (7, 7), stride=2, input="fp32"), *bottlenecks()]
OTHER = [Case((35, 35), 96, 160, batch=16), Case((33, 33), 256, 256, dilation=2, batch=8), Case((14, 14), 512, 512, batch=1),
         Case((27, 27), 48, 96, (5, 5)), Case((31, 45), 200, 264, stride=2, batch=8, residual=True)]
# MobileNetV3's: image, channels, filter, step.
LAYERS = [(112, 16, 3, 1), (112, 64, 3, 2), (56, 72, 3, 1), (56, 72, 5, 2), (28, 120, 5, 1), (28, 240, 3, 2), (14, 200, 3, 1),
          (14, 480, 3, 1), (14, 672, 3, 1), (14, 672, 5, 2), (14, 672, 5, 1), (7, 960, 5, 1)]


def depthwise():
    for kind, batch in (("fp16", 32), ("fp16", 1), ("bf16", 32), ("fp32", 32)):
        for number, (size, channels, taps, step) in enumerate(LAYERS):
            if batch == 1 or kind == "fp16" or number % 3 == 2:
                yield Case((size, size), channels, channels, (taps, taps), step, groups=channels, batch=batch, type=kind)


# ConvNeXt's: image, channels.
WIDE_WINDOWS = [(56, 96), (28, 192), (14, 384), (7, 768)]
# RegNet's and ResNeXt's: image, channels, groups, step.
GROUPS = [(112, 224, 4, 2), (56, 224, 4, 1), (28, 448, 8, 1), (14, 896, 16, 1), (28, 104, 13, 1), (28, 144, 9, 1), (28, 120, 5, 1),
          (56, 128, 32, 1), (28, 256, 32, 1), (14, 512, 32, 1), (7, 1024, 32, 1)]
DEPTHWISE = [*depthwise(), *(Case((size, size), channels, channels, (7, 7), groups=channels, batch=batch, act="")
                             for batch in (32, 1) for size, channels in WIDE_WINDOWS)]
# Few outputs: pictures, masks, thin layers.
FEW = [Case((256, 256), channels, outputs, taps, batch=8, type=kind) for kind in ("fp16", "fp32") for channels, outputs, taps in (
    (8, 8, (3, 3)), (64, 3, (3, 3)), (32, 2, (7, 7)), (16, 16, (3, 3)), (32, 32, (3, 3)), (24, 48, (3, 3)))]
# Few channels on large images, which tiles of the image in shared memory are for, and sizes where they are not chosen.
IMAGES = [Case((size, size), channels, outputs, (taps, taps), batch=batch) for size, channels, outputs, taps, batch in (
    (256, 64, 32, 3, 8), (112, 24, 24, 3, 16), (224, 16, 16, 3, 16), (224, 3, 16, 7, 16), (128, 32, 64, 3, 8), (128, 64, 64, 3, 8),
    (256, 32, 32, 3, 1), (256, 48, 48, 3, 4), (256, 40, 32, 5, 4), (256, 32, 3, 3, 8), (256, 8, 32, 3, 8), (64, 96, 96, 3, 16), (512, 8, 16, 5, 2),
    (128, 80, 64, 3, 4), (128, 72, 64, 3, 4), (56, 40, 80, 5, 32), (28, 200, 200, 3, 32), (14, 336, 112, 3, 64), (56, 144, 48, 3, 16))]
IMAGES += [Case((250, 333), 32, 32, batch=4), Case((512, 512), 16, 32, stride=2, batch=4), Case((256, 256), 32, 16, dilation=2, batch=8),
           Case((200, 200), 32, 32, (1, 7), batch=8), Case((200, 200), 32, 32, (7, 1), batch=8), Case((256, 256), 32, 32, batch=4, residual=True, type="bf16"),
           Case((224, 224), 3, 32, stride=2, batch=32, act="HardSwish"), Case((300, 300), 64, 32, stride=2, batch=8), Case((130, 126), 16, 64, batch=16)]
# Depthwise ones that are walked line by line: of sounds and sequences, of large windows, of videos.
WINDOWS = [Case(size, channels, channels, taps, groups=channels, batch=batch, act="", **more) for size, channels, taps, batch, more in (
    ((1000,), 512, (31,), 16, {}), ((2048,), 4096, (4,), 4, {"pad": (3, 0)}), ((4096,), 768, (128,), 4, {"pad": (127, 0)}),
    ((56, 56), 256, (9, 9), 32, {}), ((56, 56), 128, (13, 13), 32, {}), ((56, 56), 128, (31, 31), 8, {}), ((14, 14), 512, (13, 13), 32, {}),
    ((16, 56, 56), 64, (3, 3, 3), 8, {}), ((16, 28, 28), 192, (3, 3, 3), 8, {"stride": 2}), ((8, 28, 28), 192, (5, 1, 1), 8, {}))]
GROUPED = [Case((size, size), channels, channels, stride=step, groups=groups, batch=batch)
           for batch in (32, 1) for size, channels, groups, step in GROUPS]
# What a model has without --precision. Few channels and those in groups of one stay what they are in fp32.
TF32 = [dataclasses.replace(case, type="tf32", input="")
        for case in (*SPEED, *OTHER, *GROUPED[:11:2], *GROUPED[11::2],
                     Case((16, 28, 28), 64, 64, (3, 3, 3), batch=2), Case((4096,), 256, 256, (5,), batch=8), Case((1500,), 512, 512, stride=2, filter=(3,)))]
# Transposed: image, channels, outputs, taps, step, pads on each side, places behind the last, batch.
TRANSPOSED = [Case((size,) * rank, channels, outputs, (taps,) * rank, step, (pad,) * 2 * rank, batch=batch, type=kind, transposed=True, more=more)
              for kind in ("fp16", "fp32", "tf32") for rank, size, channels, outputs, taps, step, pad, more, batch in (
                  (2, 64, 256, 128, 2, 2, 0, 0, 8), (2, 64, 256, 128, 4, 2, 1, 0, 8), (2, 128, 64, 64, 4, 2, 1, 0, 4), (2, 128, 128, 3, 4, 2, 1, 0, 4),
                  (2, 64, 256, 128, 3, 2, 1, 1, 8), (2, 128, 64, 64, 3, 2, 1, 1, 4), (2, 64, 128, 64, 5, 2, 2, 1, 8), (2, 56, 64, 64, 5, 3, 0, 0, 16),
                  (3, 28, 64, 64, 3, 2, 1, 1, 2), (3, 28, 64, 64, 2, 2, 0, 0, 2), (1, 4096, 256, 256, 4, 2, 1, 0, 16), (1, 2048, 256, 128, 16, 8, 4, 0, 16))]
SMALL_TRANSPOSED = [Case((5, 7), 16, 24, taps, step, pad, groups=groups, batch=2, type=kind, transposed=True, more=more)
                    for kind in ("fp16", "fp32") for taps, step, pad, groups, more in (
                        ((3, 3), 2, (1, 1, 1, 1), 1, 1), ((3, 3), 2, (1, 1, 1, 1), 1, 0), ((3, 3), 2, (0, 0, 0, 0), 1, 0), ((4, 4), 2, (1, 1, 1, 1), 1, 0),
                        ((5, 5), 2, (2, 2, 2, 2), 1, 1), ((5, 5), 3, (0, 1, 1, 0), 1, 0), ((2, 3), 2, (0, 1, 0, 1), 1, 1), ((2, 2), 3, (0, 0, 0, 0), 1, 1),
                        ((3, 3), 2, (1, 1, 1, 1), 2, 1), ((4, 4), 2, (1, 1, 1, 1), 2, 0), ((3, 4), 1, (1, 2, 1, 1), 1, 0), ((7, 6), 4, (3, 1, 2, 1), 4, 2))]
SMALL_TRANSPOSED += [Case((11,), 16, 8, (3,), 2, (1, 1), batch=2, transposed=True, more=1), Case((4, 3, 5), 16, 8, (3, 3, 3), 2, (1,) * 6, batch=1, transposed=True, more=1),
                     Case((6, 5), 16, 16, (4, 4), 2, (1, 1, 1, 1), groups=16, batch=2, transposed=True)]
SMALL = [Case((8, 8), 64, 64, batch=1), Case((7, 9), 72, 40, residual=True, batch=3), Case((9, 11), 24, 136, stride=2, residual=True, batch=2),
         Case((13, 10), 16, 64, (3, 5), dilation=2, residual=True, batch=2), Case((10, 10), 128, 64, stride=2, pad=(0, 0, 1, 1), batch=2),
         Case((9, 7), 64, 72, (1, 1), stride=2, batch=3), Case((50,), 64, 64, (5,), batch=2), Case((5, 6, 7), 32, 64, (3, 3, 3), batch=2),
         Case((3, 3), 8, 8, batch=1), Case((1, 1), 64, 64, batch=5), Case((17, 17), 64, 200, batch=7, type="bf16", residual=True),
         Case((150, 150), 64, 64, batch=9), Case((30, 30), 3, 64, (7, 7), stride=2, batch=3), Case((31, 29), 3, 16, stride=2, batch=2, act="HardSwish"),
         Case((9, 9), 40, 40, groups=40, batch=2), Case((10, 7), 72, 72, (5, 5), stride=2, groups=72, batch=3),
         Case((11, 5), 24, 24, (5, 3), groups=24, batch=2, type="bf16", residual=True, act="HardSwish"),
         Case((9, 8), 12, 12, dilation=2, groups=12, batch=2, type="fp32"), Case((6, 7), 7, 7, groups=7, batch=2),
         Case((13, 9), 36, 36, stride=2, pad=(0, 0, 1, 1), groups=36, batch=2),
         Case((9, 7), 128, 128, groups=32, batch=2), Case((11, 6), 112, 112, stride=2, groups=2, batch=3, residual=True),
         Case((7, 7), 96, 48, groups=4, batch=2, act="HardSwish"), Case((8, 9), 60, 120, (5, 3), groups=5, batch=2),
         Case((6, 5), 18, 54, dilation=2, groups=6, batch=3), Case((31,), 64, 32, (5,), groups=8, batch=2),
         Case((4, 5, 6), 32, 32, (3, 3, 3), groups=2, batch=1, type="bf16"), Case((10, 10), 64, 192, (1, 1), groups=4, batch=2),
         Case((9, 9), 24, 48, groups=24, batch=2), Case((50,), 24, 24, (31,), groups=24, batch=2), Case((13, 11), 32, 3, batch=2), Case((13, 11), 32, 1, batch=2), Case((12, 13), 32, 40, batch=2, input="fp32"), Case((9, 14), 24, 12, batch=2),
         Case((12, 9), 16, 24, batch=2, type="bf16"), Case((7, 15), 16, 20, (5, 5), groups=2, batch=1), Case((37,), 7, 7, (4,), pad=(3, 0), groups=7, batch=2),
         Case((140,), 16, 16, (128,), pad=(127, 0), groups=16, batch=2), Case((80,), 8, 8, (67,), groups=8, batch=1, type="bf16"),
         Case((14, 15), 40, 40, (9, 9), groups=40, batch=2), Case((17, 19), 24, 24, (11, 13), stride=2, groups=24, batch=2, residual=True),
         Case((20, 20), 8, 8, (31, 31), groups=8, batch=1, type="fp32"), Case((5, 6, 9), 24, 24, (3, 3, 3), groups=24, batch=2),
         Case((7, 6, 9), 20, 20, (3, 3, 3), stride=2, groups=20, batch=2), Case((7, 12, 13), 16, 16, (3, 5, 5), dilation=2, groups=16, batch=1),
         Case((5, 6, 9), 16, 16, (1, 3, 3), groups=16, batch=2), Case((5, 6, 9), 16, 16, (3, 1, 1), groups=16, batch=2),
         Case((7, 9), 72, 40, residual=True, batch=3, type="tf32"), Case((9, 7), 128, 128, groups=32, batch=2, type="tf32")]


def model(case):
    from onnx import TensorProto, helper  # not where they are timed
    kinds = {"bf16": TensorProto.BFLOAT16, "fp16": TensorProto.FLOAT16, "fp32": TensorProto.FLOAT, "tf32": TensorProto.FLOAT}
    kind, count = kinds[case.type], len(case.size)
    first, last = [0, count + 1, *range(1, count + 1)], [0, *range(2, count + 2), 1]
    x_kind = TensorProto.FLOAT if case.input == "fp32" else kind
    inputs = [helper.make_tensor_value_info("x", x_kind, ["batch", *case.size, case.channels])]
    nodes, weights, x = [], [], "x"
    if case.input:
        nodes.append(helper.make_node("Cast", ["x"], ["narrow"], to=kind))
        x = "narrow"
    nodes.append(helper.make_node("Transpose", [x], ["planes"], perm=first))
    shape = filter_shape(case)
    if has_constant_filter(case):
        # What is prepared when compiling: few bytes.
        values = filter_values(case).astype(numpy.float32)
        weights.append(helper.make_tensor("w", TensorProto.FLOAT, shape, values.tobytes(), raw=True))
        nodes.append(helper.make_node("Cast", ["w"], ["filter"], to=kind))
    else:
        inputs.append(helper.make_tensor_value_info("w", kind, [*case.filter, *shape[1::-1]]))
        nodes.append(helper.make_node("Transpose", ["w"], ["filter"], perm=[count + 1, count, *range(count)]))
    inputs.append(helper.make_tensor_value_info("b", kind, [case.outputs]))
    transposed = {"output_padding": [case.more] * count} if case.transposed else {}
    nodes.append(helper.make_node("ConvTranspose" if case.transposed else "Conv", ["planes", "filter", "b"], ["sum"], kernel_shape=case.filter,
                                  strides=[case.stride] * count, pads=case.pad, dilations=[case.dilation] * count, group=case.groups, **transposed))
    value = "sum"
    out = ["batch", *case.out_size, case.outputs]
    if case.residual:
        inputs.append(helper.make_tensor_value_info("r", kind, out))
        nodes.append(helper.make_node("Transpose", ["r"], ["residual"], perm=first))
        nodes.append(helper.make_node("Add", ["sum", "residual"], ["joined"]))
        value = "joined"
    if case.act:
        nodes.append(helper.make_node(case.act, [value], ["active"]))
        value = "active"
    nodes.append(helper.make_node("Transpose", [value], ["y"], perm=last))
    graph = helper.make_graph(nodes, "convolution", inputs, [helper.make_tensor_value_info("y", kind, out)], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def has_constant_filter(case):
    """Prepared when compiling, as models have it: also of tf32, whose MMA reads a filter's channels side by side."""
    return case.channels < 8 or case.groups > 1 or case.transposed or case.type == "tf32"


def filter_shape(case):
    if case.transposed:
        return (case.channels, case.outputs // case.groups, *case.filter)
    return (case.outputs, case.channels // case.groups, *case.filter)


def filter_values(case):
    """Outputs, channels of a group, taps, or as ONNX has those of a transposed one: the same for who compiles and who compares."""
    shape = filter_shape(case)
    return numpy.random.default_rng(7).standard_normal(shape) / numpy.sqrt(numpy.prod(shape[1:]))


def cases():
    for purpose, shapes in (("speed", SPEED), ("other", OTHER), ("depthwise", DEPTHWISE), ("grouped", GROUPED), ("windows", WINDOWS), ("few", FEW), ("images", IMAGES), ("tf32", TF32), ("transposed", TRANSPOSED),
                            ("small", [*SMALL, *SMALL_TRANSPOSED])):
        for case in shapes:
            yield {"name": case.name, "purpose": purpose, **dataclasses.asdict(case), "out_size": case.out_size,
                   "dims": [f"batch=1..256:opt={case.batch}"], "options": ("--precision", "fp32") if case.type == "fp32" else (), "model": functools.partial(model, case)}


if __name__ == "__main__":
    write_cases(cases(), __doc__)
