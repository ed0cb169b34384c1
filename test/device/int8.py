#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GEMMs and convolutions of 8-bit integers for time_int8.py: writes models of each, and compiles them.

    python3 int8.py --kpc build/release/bin/kpc --out FOLDER [--arch sm_90a] [--only REGEX]

A GEMM is y = dequantise(x) · dequantise(w) in fp16: codes are inputs, x of [rows, K] with one scale, w of [columns, K] with one for
each row. A convolution is channels last: quantise(relu(conv(dequantise(x), dequantise(w)) + b)), w and b constants. Beside
each, NAME.half is the same of fp16 numbers. Writes NAME.kpc and a line in cases.json for both. Needs onnx.
"""

import numpy
from onnx import TensorProto, helper, numpy_helper

from case_files import write_cases
from resnet_layers import RESNET

# rows × columns × K.
SPEED = [(8192, 8192, 8192), (4096, 4096, 4096), (4096, 14336, 4096), (4096, 4096, 14336), (2048, 2048, 2048), (16384, 3072, 1024),
         (512, 4096, 4096), (128, 14336, 4096)]
OTHER = [(4096, 3072, 768), (4096, 768, 3072), (256, 1024, 4096), (3000, 5000, 7008)]
SMALL = [(17, 64, 32), (129, 136, 208), (300, 520, 1008), (70, 200, 5008), (66, 67, 77)]
# As resnet_layers.py.
SMALL_CONVOLUTIONS = [(2, 9, 32, 24, 3, 1), (3, 10, 3, 16, 7, 2), (1, 13, 48, 40, 3, 2)]
SCALE_X, SCALE_Y = 0.02, 0.03


def gemm(case):
    rows, columns, total = case["rows"], case["columns"], case["sum"]
    value, node = helper.make_tensor_value_info, helper.make_node
    half = TensorProto.FLOAT16
    if case["half"]:
        inputs = [value("x", half, [rows, total]), value("w", half, [columns, total])]
        nodes = [node("Transpose", ["w"], ["wt"], perm=[1, 0]), node("MatMul", ["x", "wt"], ["y"])]
    else:
        inputs = [value("x", TensorProto.INT8, [rows, total]), value("w", TensorProto.INT8, [columns, total]),
                  value("sx", TensorProto.FLOAT, []), value("sw", TensorProto.FLOAT, [columns])]
        nodes = [node("DequantizeLinear", ["x", "sx"], ["xd"]), node("DequantizeLinear", ["w", "sw"], ["wd"], axis=0),
                 node("Transpose", ["wd"], ["wt"], perm=[1, 0]), node("MatMul", ["xd", "wt"], ["product"]),
                 node("Cast", ["product"], ["y"], to=half)]
    graph = helper.make_graph(nodes, "int8", inputs, [value("y", half, [rows, columns])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def filters(case):
    """Codes, scales and a bias."""
    random = numpy.random.default_rng(case["outputs"])
    taps = case["taps"]
    fan = case["channels"] * taps * taps
    codes = random.integers(-127, 128, (case["outputs"], case["channels"], taps, taps)).astype(numpy.int8)
    scales = (random.uniform(0.5, 1.5, case["outputs"]) / 73 / numpy.sqrt(fan)).astype(numpy.float32)
    return codes, scales, random.standard_normal(case["outputs"]).astype(numpy.float32)


def conv(case):
    batch, size, step, pad = case["batch"], case["size"], case["step"], case["taps"] // 2
    out = (size + 2 * pad - case["taps"]) // step + 1
    value, node, array = helper.make_tensor_value_info, helper.make_node, numpy_helper.from_array
    codes, scales, bias = filters(case)
    element = TensorProto.FLOAT16 if case["half"] else TensorProto.UINT8
    attributes = {"pads": [pad] * 4, "strides": [step] * 2}
    nodes = [node("Transpose", ["x"], ["planes"], perm=[0, 3, 1, 2])]
    if case["half"]:
        made = [array((codes * scales[:, None, None, None]).astype(numpy.float16), "w"), array(bias.astype(numpy.float16), "b")]
        nodes += [node("Conv", ["planes", "w", "b"], ["sum"], **attributes), node("Relu", ["sum"], ["last"])]
    else:
        made = [array(codes, "w"), array(scales, "sw"), array(numpy.float32(SCALE_X), "sx"), array(numpy.float32(SCALE_Y), "sy"),
                array(numpy.uint8(0), "zero"), array(bias, "b")]
        nodes += [node("DequantizeLinear", ["planes", "sx", "zero"], ["xd"]), node("DequantizeLinear", ["w", "sw"], ["wd"], axis=0),
                  node("Conv", ["xd", "wd", "b"], ["sum"], **attributes), node("Relu", ["sum"], ["active"]),
                  node("QuantizeLinear", ["active", "sy", "zero"], ["last"])]
    nodes.append(node("Transpose", ["last"], ["y"], perm=[0, 2, 3, 1]))
    graph = helper.make_graph(nodes, "int8", [value("x", element, [batch, size, size, case["channels"]])],
                              [value("y", element, [batch, out, out, case["outputs"]])], made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def both(made, build):
    for half in (False, True):
        one = dict(made, half=half, name=made["name"] + (".half" if half else ""))
        yield dict(one, model=lambda one=one: build(one))


def cases():
    for purpose, shapes in (("speed", SPEED), ("other", OTHER), ("small", SMALL)):
        for rows, columns, total in shapes:
            yield from both({"name": f"{rows}x{columns}x{total}", "purpose": purpose, "form": "gemm", "rows": rows, "columns": columns,
                             "sum": total}, gemm)
    for purpose, shapes in (("resnet", RESNET), ("small", SMALL_CONVOLUTIONS)):
        for batch, size, channels, outputs, taps, step in shapes:
            name = f"{batch}x{size}x{channels}.{taps}x{outputs}" + (f".s{step}" if step > 1 else "")
            yield from both({"name": name, "purpose": purpose, "form": "conv", "batch": batch, "size": size, "channels": channels,
                             "outputs": outputs, "taps": taps, "step": step}, conv)


if __name__ == "__main__":
    write_cases(cases(), __doc__)
