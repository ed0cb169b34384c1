#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GEMMs of FP8 for time_fp8.py: writes a model of each, and compiles it.

    python3 fp8.py --kpc build/release/bin/kpc --out FOLDER [--arch sm_90a] [--only REGEX]

Each is y = dequantise(x) · dequantise(w), of codes that are inputs: x of [rows, K], w of [columns, K]. Scales are one for each
operand (`tensor`), or one for each row of x and of w (`rows`). Writes NAME.kpc and a line in cases.json. Needs onnx.
"""

from onnx import TensorProto, helper

from case_files import write_cases

TYPES = {"bf16": TensorProto.BFLOAT16, "fp16": TensorProto.FLOAT16, "fp32": TensorProto.FLOAT}
CODES = {"e4m3": TensorProto.FLOAT8E4M3FN, "e5m2": TensorProto.FLOAT8E5M2}

# rows × columns × K: what is asked most often, then its neighbours.
SPEED = [(8192, 8192, 8192), (4096, 4096, 4096), (4096, 14336, 4096), (4096, 4096, 14336), (2048, 2048, 2048), (16384, 3072, 1024),
         (512, 4096, 4096), (128, 14336, 4096)]
OTHER = [(1024, 1024, 1024), (4096, 3072, 768), (4096, 768, 3072), (256, 1024, 4096), (64, 4096, 4096), (3000, 5000, 7008), (6144, 1536, 6144)]
SMALL = [(17, 64, 32), (129, 136, 208), (300, 520, 1008), (64, 64, 16), (1000, 1000, 4112), (70, 200, 5008)]


def model(case):
    rows, columns, total = case["rows"], case["columns"], case["sum"]
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
    made = {"name": f"{rows}x{columns}x{total}.{x}.{w}.{scales}.{kind}", "purpose": purpose, "rows": rows, "columns": columns, "sum": total,
            "scales": scales, "type": kind, "x": x, "w": w}
    return dict(made, model=lambda: model(made))


def cases():
    for scales in ("tensor", "rows"):
        for purpose, shapes in (("speed", SPEED), ("other", OTHER), ("small", SMALL)):
            for shape in shapes:
                yield case(purpose, shape, scales)
    for shape in SMALL:
        yield case("small", shape, "rows", "fp32", x="e5m2")
        yield case("small", shape, "tensor", "fp16", w="e5m2")


if __name__ == "__main__":
    write_cases(cases(), __doc__)
