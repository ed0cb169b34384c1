#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GEMMs and convolutions of FP8 for time_fp8.py: writes models of each, and compiles them.

    python3 fp8.py --kpc build/release/bin/kpc --out FOLDER [--arch sm_90a] [--only REGEX]

A GEMM is y = dequantise(x) · dequantise(w), of codes that are inputs: x of [rows, K], w of [columns, K]. Scales are one for each
operand (`tensor`), one for each row of x and of w (`rows`), or for 128 elements of K: of a row of x and of 128 rows of w (`blocks`), or
of a row of both (`lines`). A convolution is channels last: relu(conv(dequantise(x),
dequantise(w)) + b), quantised to E4M3 or in fp16, with constants w, of a scale for each output, and b; beside those of ResNet-50
NAME.half is the same of fp16 numbers. Writes NAME.kpc and a line in cases.json. Needs onnx.
"""

import numpy
from onnx import TensorProto, helper, numpy_helper

from case_files import write_cases
from resnet_layers import RESNET

TYPES = {"bf16": TensorProto.BFLOAT16, "fp16": TensorProto.FLOAT16, "fp32": TensorProto.FLOAT}
CODES = {"e4m3": TensorProto.FLOAT8E4M3FN, "e5m2": TensorProto.FLOAT8E5M2}

# rows × columns × K: what is asked most often, then its neighbours.
SPEED = [(8192, 8192, 8192), (4096, 4096, 4096), (4096, 14336, 4096), (4096, 4096, 14336), (2048, 2048, 2048), (16384, 3072, 1024),
         (512, 4096, 4096), (128, 14336, 4096)]
OTHER = [(1024, 1024, 1024), (4096, 3072, 768), (4096, 768, 3072), (256, 1024, 4096), (64, 4096, 4096), (3000, 5000, 7008), (6144, 1536, 6144)]
BLOCK = 128
SMALL_BLOCKS = [(17, 128, 128), (129, 256, 208), (300, 520, 1008), (70, 200, 5008), (1000, 1000, 4112)]
SMALL = [(17, 64, 32), (129, 136, 208), (300, 520, 1008), (64, 64, 16), (1000, 1000, 4112), (70, 200, 5008)]

# image, channels, outputs, taps, step, and what else is said of them.
SMALL_CONVOLUTIONS = [((9, 7), 32, 24, (3, 3), 1, {}), ((13, 10), 48, 40, (3, 3), 2, {"x": "e5m2"}), ((10, 10), 128, 72, (3, 3), 1, {"dilation": 2, "pad": 2}),
                      ((9, 11), 20, 24, (3, 5), 1, {"w": "e5m2", "pad": 0}), ((33,), 64, 16, (5,), 1, {"pad": 2}), ((5, 6, 7), 32, 64, (3, 3, 3), 1, {}),
                      ((20, 20), 3, 16, (7, 7), 2, {"pad": 3}), ((11, 8), 96, 64, (1, 1), 2, {"pad": 0}), ((15, 13), 200, 264, (3, 3), 2, {}),
                      ((9, 9), 64, 64, (3, 3), 1, {"result": "e4m3"}), ((10, 6), 40, 17, (3, 3), 1, {}), ((7, 9), 48, 64, (3, 3), 1, {"groups": 4}),
                      ((8, 8), 64, 48, (1, 1), 1, {"pad": 0, "result": "e4m3"})]
SCALE_X, SCALE_Y = 0.01, 0.02
# Bits of the mantissa, the exponent's bias, and the code of the greatest number.
FORMATS = {"e4m3": (3, 7, 0x7e), "e5m2": (2, 15, 0x7b)}


def numbers(kind):
    """What the codes without a sign stand for, in order."""
    bits, bias, most = FORMATS[kind]
    code = numpy.arange(most + 1)
    exponent, fraction = code >> bits, (code & ((1 << bits) - 1)) / (1 << bits)
    return numpy.where(exponent == 0, fraction * 2.0**(1 - bias), (1 + fraction) * 2.0**(exponent - bias))


def scales_of_blocks(columns, total):
    """Nodes that give each row of w its own scales, as ONNX dequantises blocks, from those of 128 rows."""
    panels, blocks = -(-columns // BLOCK), -(-total // BLOCK)
    numbers = lambda name, *values: numpy_helper.from_array(numpy.array(values, numpy.int64), name)
    made = [numbers("middle", 1), numbers("repeated", panels, BLOCK, blocks), numbers("lines", panels * BLOCK, blocks), numbers("zero", 0), numbers("end", columns)]
    nodes = [helper.make_node("Unsqueeze", ["sw", "middle"], ["one"]), helper.make_node("Expand", ["one", "repeated"], ["all"]),
             helper.make_node("Reshape", ["all", "lines"], ["each" if columns % BLOCK else "swr"])]
    if columns % BLOCK:
        nodes.append(helper.make_node("Slice", ["each", "zero", "end", "zero"], ["swr"]))
    return nodes, made


def model_of_blocks(case):
    rows, columns, total = case["rows"], case["columns"], case["sum"]
    value = helper.make_tensor_value_info
    of_lines = case["scales"] == "lines"
    panels, blocks = -(-columns // BLOCK), -(-total // BLOCK)
    inputs = [value("x", CODES[case["x"]], [rows, total]), value("w", CODES[case["w"]], [columns, total]),
              value("sx", TensorProto.FLOAT, [rows, blocks]), value("swr" if of_lines else "sw", TensorProto.FLOAT, [columns if of_lines else panels, blocks])]
    nodes, made = ([], []) if of_lines else scales_of_blocks(columns, total)
    nodes += [helper.make_node("DequantizeLinear", ["x", "sx"], ["xd"], axis=1, block_size=BLOCK),
              helper.make_node("DequantizeLinear", ["w", "swr"], ["wd"], axis=1, block_size=BLOCK),
              helper.make_node("Transpose", ["wd"], ["wt"], perm=[1, 0]), helper.make_node("MatMul", ["xd", "wt"], ["product"]),
              helper.make_node("Cast", ["product"], ["y"], to=TYPES[case["type"]])]
    graph = helper.make_graph(nodes, "fp8", inputs, [value("y", TYPES[case["type"]], [rows, columns])], made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def model(case):
    rows, columns, total = case["rows"], case["columns"], case["sum"]
    if case["scales"] in ("blocks", "lines"):
        return model_of_blocks(case)
    by_rows = case["scales"] == "rows"
    value = helper.make_tensor_value_info
    inputs = [value("x", CODES[case["x"]], [rows, total]), value("w", CODES[case["w"]], [columns, total]),
              value("sx", TensorProto.FLOAT, [rows] if by_rows else []), value("sw", TensorProto.FLOAT, [columns] if by_rows else [])]
    axis = {"axis": 0} if by_rows else {}
    nodes = [helper.make_node("DequantizeLinear", ["x", "sx"], ["xd"], **axis), helper.make_node("DequantizeLinear", ["w", "sw"], ["wd"], **axis),
             helper.make_node("Transpose", ["wd"], ["wt"], perm=[1, 0]), helper.make_node("MatMul", ["xd", "wt"], ["product"]),
             helper.make_node("Cast", ["product"], ["y"], to=TYPES[case["type"]])]
    graph = helper.make_graph(nodes, "fp8", inputs, [value("y", TYPES[case["type"]], [rows, columns])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def case(purpose, shape, scales="tensor", kind="bf16", x="e4m3", w="e4m3"):
    rows, columns, total = shape
    made = {"name": f"{rows}x{columns}x{total}.{x}.{w}.{scales}.{kind}", "purpose": purpose, "form": "gemm", "rows": rows, "columns": columns, "sum": total,
            "scales": scales, "type": kind, "x": x, "w": w}
    return dict(made, model=lambda: model(made))


def filters(case):
    """Codes, the numbers that they stand for, scales and a bias."""
    random = numpy.random.default_rng(case["outputs"])
    inputs = case["channels"] // case["groups"]
    drawn = random.standard_normal((case["outputs"], inputs, *case["taps"]))
    table = numbers(case["w"])
    most = abs(drawn).reshape(case["outputs"], -1).max(1) / table[-1]
    by = (slice(None), *[None] * (drawn.ndim - 1))
    places = numpy.searchsorted((table[1:] + table[:-1]) / 2, abs(drawn) / most[by])
    codes = (places + 128 * (drawn < 0)).astype(numpy.uint8)
    fan = inputs * numpy.prod(case["taps"])
    return codes, table[places] * numpy.sign(drawn), (most / numpy.sqrt(fan)).astype(numpy.float32), random.standard_normal(case["outputs"]).astype(numpy.float32)


def out_size(case):
    return [(size + 2 * case["pad"] - case["dilation"] * (taps - 1) - 1) // case["step"] + 1 for size, taps in zip(case["size"], case["taps"])]


def conv(case):
    value, node, array = helper.make_tensor_value_info, helper.make_node, numpy_helper.from_array
    codes, values, scales, bias = filters(case)
    half, last = case["half"], len(case["size"]) + 1
    ends = case["result"] == "e4m3" and not half
    attributes = {"pads": [case["pad"]] * 2 * len(case["size"]), "strides": [case["step"]] * len(case["size"]),
                  "dilations": [case["dilation"]] * len(case["size"]), "group": case["groups"]}
    nodes = [node("Transpose", ["x"], ["planes"], perm=[0, last, *range(1, last)])]
    if half:
        by = (slice(None), *[None] * last)
        made = [array((values * scales[by]).astype(numpy.float16), "w"), array(bias.astype(numpy.float16), "b")]
        nodes += [node("Conv", ["planes", "w", "b"], ["product"], **attributes), node("Relu", ["product"], ["last"])]
    else:
        made = [helper.make_tensor("w", CODES[case["w"]], codes.shape, codes.tobytes(), raw=True), array(scales, "sw"), array(numpy.float32(SCALE_X), "sx"),
                array(bias, "b")]
        nodes += [node("DequantizeLinear", ["planes", "sx"], ["xd"]), node("DequantizeLinear", ["w", "sw"], ["wd"], axis=0),
                  node("Conv", ["xd", "wd", "b"], ["product"], **attributes), node("Relu", ["product"], ["active"])]
        if ends:
            made += [array(numpy.float32(SCALE_Y), "sy"), helper.make_tensor("zero", CODES["e4m3"], [], b"\0", raw=True)]
            nodes.append(node("QuantizeLinear", ["active", "sy", "zero"], ["last"]))
        else:
            nodes.append(node("Cast", ["active"], ["last"], to=TensorProto.FLOAT16))
    nodes.append(node("Transpose", ["last"], ["y"], perm=[0, *range(2, last + 1), 1]))
    graph = helper.make_graph(nodes, "fp8", [value("x", TensorProto.FLOAT16 if half else CODES[case["x"]], [case["batch"], *case["size"], case["channels"]])],
                              [value("y", CODES["e4m3"] if ends else TensorProto.FLOAT16, [case["batch"], *out_size(case), case["outputs"]])], made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def conv_case(purpose, batch, size, channels, outputs, taps, step, half=False, **more):
    """`more`: pad, dilation, groups, x, w, result."""
    made = {"purpose": purpose, "form": "conv", "batch": batch, "size": size, "channels": channels, "outputs": outputs, "taps": taps, "step": step,
            "pad": taps[0] // 2, "dilation": 1, "groups": 1, "x": "e4m3", "w": "e4m3", "result": "fp16", "half": half} | more
    words = [f"{batch}x{'x'.join(map(str, size))}x{channels}.{'x'.join(map(str, taps))}x{outputs}.s{step}", made["x"], made["w"], made["result"]]
    words += [f"{name}{made[name]}" for name in ("dilation", "groups") if made[name] > 1] + ["half"] * half
    return dict(made, name=".".join(words), model=lambda: conv(made))


def cases():
    for scales in ("tensor", "rows"):
        for purpose, shapes in (("speed", SPEED), ("other", OTHER), ("small", SMALL)):
            for shape in shapes:
                yield case(purpose, shape, scales)
    for purpose, shapes in (("speed", SPEED), ("other", OTHER), ("small", SMALL_BLOCKS)):
        for shape in shapes:
            for scales in ("blocks", "lines"):
                yield case(purpose, shape, scales)
    yield case("small", SMALL_BLOCKS[1], "blocks", "fp32", x="e5m2")
    for shape in SMALL:
        yield case("small", shape, "rows", "fp32", x="e5m2")
        yield case("small", shape, "tensor", "fp16", w="e5m2")
    for batch, size, channels, outputs, taps, step in RESNET:
        for half in (False, True):
            yield conv_case("resnet", batch, (size, size), channels, outputs, (taps, taps), step, half, result="e4m3")
    for size, channels, outputs, taps, step, more in SMALL_CONVOLUTIONS:
        yield conv_case("small", 3, size, channels, outputs, taps, step, **more)


if __name__ == "__main__":
    write_cases(cases(), __doc__)
