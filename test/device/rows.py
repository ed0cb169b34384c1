#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax, norms and GELU for time_rows.py: writes a model of each, and compiles it.

    python3 rows.py --kpc build/release/bin/kpc --out FOLDER [--arch sm_90a] [--only REGEX]

x has a dynamic number of rows, whose optimum is the case's; in cases with `free` the length of a row is dynamic too. Writes
NAME.kpc and a line in cases.json. Needs onnx.
"""

from onnx import TensorProto, helper

import group_norms
from case_files import write_cases

TYPES = {"bf16": TensorProto.BFLOAT16, "fp16": TensorProto.FLOAT16, "fp32": TensorProto.FLOAT}

# kind, rows, columns, type. Tensors of 64 MiB and more; then other sizes that models have, and neighbours of round ones.
SPEED = [("softmax", 8192, 4096, "fp16"), ("softmax", 32768, 1024, "bf16"), ("softmax", 16384, 1024, "fp32"),
         ("norm_residual", 8192, 4096, "bf16"), ("norm_residual", 32768, 1024, "fp16"), ("norm_residual", 16384, 1024, "fp32"),
         ("gelu_erf", 8192, 4096, "fp16"), ("gelu_erf", 8192, 4096, "fp32"), ("gelu_tanh", 8192, 4096, "bf16"),
         ("gelu_tanh", 8192, 4096, "fp32"), ("gelu_chain", 8192, 4096, "bf16")]
OTHER = [("softmax", 65536, 512, "fp16"), ("softmax", 8192, 8192, "bf16"), ("softmax", 33000, 1000, "fp16"),
         ("softmax", 2048, 50257, "fp16"), ("softmax", 8192, 4097, "fp16"), ("softmax", 8191, 4099, "fp32"),
         ("softmax", 524288, 64, "fp16"), ("log_softmax", 4096, 32000, "fp16"), ("masked", 196608, 256, "fp16"),
         ("norm_residual", 43690, 768, "bf16"), ("norm_residual", 8192, 5120, "bf16"), ("norm_residual", 4096, 12288, "bf16"),
         ("norm_residual", 43690, 769, "bf16"), ("rms_residual", 16384, 2048, "bf16"), ("rms_residual", 8192, 4096, "bf16"),
         ("norm", 8192, 4096, "fp16")]
SMALL = [("softmax", rows, columns, kind) for rows, columns, kind in
         [(1, 1, "fp32"), (3, 2, "fp16"), (5, 7, "fp32"), (33, 31, "bf16"), (129, 33, "fp16"), (7, 127, "fp16"), (65, 129, "fp32"),
          (9, 1001, "bf16"), (17, 1024, "fp16"), (3, 4099, "fp16"), (2, 17000, "fp32"), (2, 40000, "fp16"), (1, 70001, "bf16")]]
SMALL += [(kind, rows, columns, element) for kind in ("norm_residual", "rms_residual", "norm", "log_softmax", "masked")
          for rows, columns, element in [(1, 1, "fp32"), (31, 13, "fp16"), (129, 96, "bf16"), (5, 1023, "fp16"), (66, 768, "fp32"),
                                         (3, 20000, "bf16")]]
SMALL += [(kind, rows, columns, element) for kind in ("gelu_erf", "gelu_tanh", "gelu_chain")
          for rows, columns, element in [(1, 1, "fp32"), (3, 37, "bf16"), (129, 1000, "fp16"), (64, 64, "fp32")]]
FREE = [("softmax", rows, columns, kind) for rows, columns, kind in
        [(5, 1, "fp32"), (65, 77, "fp16"), (33, 1024, "bf16"), (12, 2056, "fp32"), (3, 3001, "fp16"), (2, 24000, "bf16")]]
FREE += [("norm_residual", 9, 640, "fp16"), ("norm_residual", 9, 641, "fp16"), ("masked", 40, 200, "bf16")]
# Norms of images with SiLU behind: spelling of group_norms.py, images, channels, height, width, groups, type.
IMAGES = [("reshaped", 2, 320, 64, 64, 32, "fp16"), ("reshaped", 8, 320, 64, 64, 32, "fp16"), ("reshaped", 8, 1280, 16, 16, 32, "bf16"),
          ("reshaped", 64, 256, 56, 56, 32, "fp32"), ("instance", 16, 64, 256, 256, 64, "fp16")]
# The same where channels are the last in memory, as between convolutions; the last two are read by several kernels.
LAST = [("reshaped", 2, 320, 64, 64, 32, "fp16"), ("reshaped", 8, 320, 64, 64, 32, "fp16"), ("reshaped", 8, 640, 32, 32, 32, "fp16"),
        ("reshaped", 8, 1280, 16, 16, 32, "bf16"), ("reshaped", 8, 1280, 8, 8, 32, "fp16"), ("reshaped", 64, 256, 56, 56, 32, "fp32"),
        ("instance", 16, 64, 256, 256, 64, "fp16"), ("reshaped", 2, 128, 512, 512, 32, "fp16")]
SMALL_IMAGES = [(spelling, 3, 24, height, width, 24 if spelling in ("instance", "batch") else 4, kind)
                for spelling in group_norms.SPELLINGS for height, width, kind in ((7, 5, "fp32"), (8, 12, "fp16"), (64, 66, "bf16"))]


def nodes_of(kind, one):
    """The nodes from x (r, scale, shift, mask) to y (and s, the sum that is stored too)."""
    make = helper.make_node
    if kind == "softmax":
        return [make("Softmax", ["x"], ["y"], axis=-1)], ["x"], ["y"]
    if kind == "log_softmax":
        return [make("LogSoftmax", ["x"], ["y"], axis=-1)], ["x"], ["y"]
    if kind == "masked":
        return [make("Mul", ["x", "half"], ["scaled"]), make("Where", ["mask", "scaled", "low"], ["kept"]),
                make("Softmax", ["kept"], ["y"], axis=-1)], ["x", "mask"], ["y"]
    if kind == "norm":
        return [make("LayerNormalization", ["x", "scale", "shift"], ["y"])], ["x", "scale", "shift"], ["y"]
    if kind == "norm_residual":
        return [make("Add", ["x", "r"], ["s"]), make("LayerNormalization", ["s", "scale", "shift"], ["y"])], \
            ["x", "r", "scale", "shift"], ["y", "s"]
    if kind == "rms_residual":
        return [make("Add", ["x", "r"], ["s"]), make("RMSNormalization", ["s", "scale"], ["y"])], ["x", "r", "scale"], ["y", "s"]
    if kind == "gelu_erf":
        return [make("Gelu", ["x"], ["y"])], ["x"], ["y"]
    if kind == "gelu_tanh":
        return [make("Gelu", ["x"], ["y"], approximate="tanh")], ["x"], ["y"]
    if kind == "gelu_chain":
        return [make("Add", ["x", "shift"], ["moved"]), make("Gelu", ["moved"], ["gate"]), make("Mul", ["gate", "scale"], ["y"])], \
            ["x", "shift", "scale"], ["y"]
    raise ValueError(kind)


def model(kind, columns, element):
    one = TYPES[element]
    nodes, inputs, outputs = nodes_of(kind, one)
    def shape(name):
        return [columns] if name in ("scale", "shift") else ["rows", columns]
    def info(name):
        return helper.make_tensor_value_info(name, TensorProto.BOOL if name == "mask" else one, shape(name))
    constants = [helper.make_tensor(name, one, [], [value]) for name, value in (("half", 0.5), ("low", -3e4))]
    graph = helper.make_graph(nodes, kind, [info(n) for n in inputs], [info(n) for n in outputs], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


# Over the channels of images that are channels first: kind, images, channels, height, width, type.
COLUMNS = [("softmax", 32, 21, 320, 320, "fp16"), ("softmax", 64, 512, 32, 64, "fp16"), ("softmax", 16, 1000, 64, 64, "fp32"),
           ("norm", 32, 96, 112, 112, "fp16"), ("norm", 32, 96, 112, 112, "fp32"), ("norm", 8, 384, 28, 28, "bf16")]
SMALL_COLUMNS = [(kind, 3, channels, height, width, element) for kind in ("softmax", "norm")
                 for channels, height, width, element in ((5, 6, 7, "fp32"), (24, 8, 12, "fp16"), (131, 5, 13, "bf16"), (300, 16, 16, "fp16"))]


def columns_model(kind, sizes, element):
    """Of channels first: softmax, or a layer norm as ConvNeXt writes it."""
    one, make = TYPES[element], helper.make_node
    if kind == "softmax":
        nodes, vectors = [make("Softmax", ["x"], ["y"], axis=1)], []
    else:
        nodes = [make("Transpose", ["x"], ["last"], perm=[0, 2, 3, 1]), make("LayerNormalization", ["last", "scale", "shift"], ["normal"]),
                 make("Transpose", ["normal"], ["y"], perm=[0, 3, 1, 2])]
        vectors = ["scale", "shift"]
    inputs = [helper.make_tensor_value_info("x", one, sizes), *(helper.make_tensor_value_info(name, one, [sizes[1]]) for name in vectors)]
    graph = helper.make_graph(nodes, kind, inputs, [helper.make_tensor_value_info("y", one, sizes)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def columns_case(purpose, kind, images, channels, height, width, element):
    """The number of images is dynamic."""
    return {"name": f"{kind}.{images}x{channels}x{height}x{width}.{element}.channels", "purpose": purpose, "kind": kind, "channels": True,
            "sizes": [images, channels, height, width], "type": element, "dims": [f"images=1..4096:opt={images}"],
            "model": lambda: columns_model(kind, ["images", channels, height, width], element)}


def case(purpose, kind, rows, columns, element, free=False):
    dims = ["rows=1..1048576:opt=" + str(rows)] + (["columns=1..65536:opt=512"] if free else [])
    return {"name": f"{kind}.{rows}x{columns}.{element}" + (".free" if free else ""), "purpose": purpose, "kind": kind, "rows": rows,
            "columns": columns, "type": element, "free": free, "dims": dims,
            "model": lambda: model(kind, "columns" if free else columns, element)}


def image_case(purpose, spelling, images, channels, height, width, groups, element, last=False):
    """The number of images is dynamic. `last`: channels are the last in memory."""
    kind = "instance_norm" if groups == channels else "group_norm"
    name = f"{kind}.{images}x{channels}x{height}x{width}.{groups}.{element}" + ("" if purpose == "other" else f".{spelling}")
    name += ".last" if last else ""
    return {"name": name, "purpose": purpose, "kind": kind, "sizes": [images, channels, height, width], "groups": groups, "type": element, "last": last,
            "by_group": spelling == "operator_18", "dims": [f"images=1..4096:opt={images}"],
            "model": lambda: group_norms.model(spelling, ["images", channels, height, width], groups, TYPES[element], last)}


def cases():
    for purpose, listed in (("speed", SPEED), ("other", OTHER), ("small", SMALL)):
        for one in listed:
            yield case(purpose, *one)
    for one in FREE:
        yield case("small", *one, free=True)
    for one in IMAGES:
        yield image_case("other", *one)
    for one in COLUMNS:
        yield columns_case("other", *one)
    for one in SMALL_COLUMNS:
        yield columns_case("small", *one)
    for one in LAST:
        yield image_case("other", *one, last=True)
    for one in SMALL_IMAGES:
        yield image_case("small", *one)
        yield image_case("small", *one, last=True)


if __name__ == "__main__":
    write_cases(cases(), __doc__)
