#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of few rows for time_gemv.py: writes a model of each, and compiles it.

    python3 gemv.py --kpc build/release/bin/kpc --out FOLDER [--arch sm_90a] [--only REGEX]

Each is y = x · w (+ bias, relu) in one type; w is stored sum × columns, or columns × sum (`transposed`). Where `most` is given, the
number of rows is dynamic, from 1 to it, and the case's is its optimum. Writes NAME.kpc and a line in cases.json. Needs onnx.
"""

from onnx import TensorProto, helper

from case_files import write_cases

TYPES = {"bf16": TensorProto.BFLOAT16, "fp16": TensorProto.FLOAT16}

# rows, sum, columns.
SPEED = [(1, 4096, 4096), (16, 4096, 4096), (1, 4096, 14336), (16, 4096, 14336), (1, 14336, 4096), (16, 14336, 4096)]
OTHER = [(1, 768, 3072), (4, 4096, 11008), (8, 8192, 8192), (1, 2048, 50264), (2, 5120, 13824), (16, 1024, 4096)]
SMALL = [(1, 8, 1), (1, 64, 24), (3, 264, 40), (16, 1000, 48), (7, 4104, 100), (9, 40, 2000)]


def model(rows, total, columns, element, transposed, bias):
    kind = TYPES[element]
    inputs = [helper.make_tensor_value_info("x", kind, [rows, total]),
              helper.make_tensor_value_info("w", kind, [columns, total] if transposed else [total, columns])]
    nodes, right = [], "w"
    if transposed:
        nodes.append(helper.make_node("Transpose", ["w"], ["wt"], perm=[1, 0]))
        right = "wt"
    nodes.append(helper.make_node("MatMul", ["x", right], ["product"]))
    if bias:
        inputs.append(helper.make_tensor_value_info("b", kind, [columns]))
        nodes += [helper.make_node("Add", ["product", "b"], ["sum"]), helper.make_node("Relu", ["sum"], ["active"])]
    nodes[-1].output[0] = "y"
    graph = helper.make_graph(nodes, "gemv", inputs, [helper.make_tensor_value_info("y", kind, [rows, columns])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def case(purpose, shape, element, transposed, bias, most=0):
    """`most`: rows of a dynamic number, 0 where it is fixed."""
    rows, total, columns = shape
    name = f"{rows}x{total}x{columns}.{element}" + (".transposed" if transposed else "") + (".bias" if bias else "")
    name += f".to{most}" if most else ""
    return {"name": name, "purpose": purpose, "rows": rows, "sum": total, "columns": columns, "type": element,
            "transposed": transposed, "bias": bias, "dims": [f"rows=1..{most}:opt={min(rows, 16)}"] if most else [],
            "model": lambda: model("rows" if most else rows, total, columns, element, transposed, bias)}


def cases():
    for transposed in (False, True):
        for shape in SPEED:
            yield case("speed", shape, "bf16", transposed, False)
        for shape in OTHER:
            yield case("other", shape, "bf16", transposed, False)
        for shape in SMALL:
            yield case("small", shape, "bf16", transposed, False)
            yield case("small", shape, "fp16", transposed, True)
        yield case("other", (1, 4096, 4096), "fp16", transposed, True, 16)
        yield case("small", (5, 520, 72), "bf16", transposed, True, 16)
        yield case("small", (37, 520, 72), "bf16", transposed, True, 64)


if __name__ == "__main__":
    write_cases(cases(), __doc__)
