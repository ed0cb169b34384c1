#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products for time_products.py: writes a model of each, and compiles it.

    python3 products.py --kpc build/release/bin/kpc --out FOLDER [--arch sm_90a] [--only REGEX]

Each product is y = act(x · w + bias) in one type; x has a dynamic number of rows, whose optimum is the case's. Writes
NAME.kpc and a line in cases.json. Needs onnx.
"""

from onnx import TensorProto, helper

from case_files import write_cases

# A turned x has as many columns, which must fit copies: a multiple of 8 of them.
ROWS = {False: "1..65536", True: "8..65536:div=8"}
TYPES = {"bf16": TensorProto.BFLOAT16, "fp16": TensorProto.FLOAT16, "tf32": TensorProto.FLOAT, "fp32": TensorProto.FLOAT}

# rows × columns × sum. The first are what models and benchmarks ask most often; the second are their neighbours and
# ragged ones.
SPEED = [(8192, 8192, 8192), (4096, 4096, 4096), (2048, 2048, 2048), (4096, 14336, 4096), (4096, 4096, 14336),
         (4096, 3072, 768), (4096, 768, 3072)]
OTHER = [(1024, 1024, 1024), (512, 768, 768), (512, 768, 3072), (128, 4096, 4096), (3000, 3000, 3000),
         (64, 4096, 4096), (256, 1024, 4096), (2048, 4096, 1024), (6144, 1536, 6144), (1536, 8960, 1536),
         (4097, 4096, 4096), (4096, 4095, 4096), (4096, 4096, 4095), (4099, 4099, 4099), (4096, 4104, 4088)]
EXACT = [(4096, 4096, 4096), (2048, 2048, 2048), (8192, 1024, 1024), (4096, 3072, 768), (1000, 1000, 1000), (512, 768, 3072)]
# Of the long ones each block computes many tiles, with one product between two results.
SMALL = [(8, 64, 64), (17, 72, 40), (65536, 64, 64), (40000, 192, 64), (30000, 320, 64), (129, 136, 200), (300, 520, 1000), (1000, 1000, 1000), (64, 64, 8),
         (200, 333, 517), (129, 131, 4099), (70, 200, 5000), (640, 3001, 3001)]


def model(rows, columns, total, element, bias, act, transposed, turned=False):
    kind = TYPES[element]
    inputs = [helper.make_tensor_value_info("x", kind, [total, "rows"] if turned else ["rows", total]),
              helper.make_tensor_value_info("w", kind, [columns, total] if transposed else [total, columns])]
    nodes, last = [], "x"
    if transposed:
        nodes.append(helper.make_node("Transpose", ["w"], ["wt"], perm=[1, 0]))
    if turned:
        nodes.append(helper.make_node("Transpose", ["x"], ["xt"], perm=[1, 0]))
    nodes.append(helper.make_node("MatMul", ["xt" if turned else "x", "wt" if transposed else "w"], ["product"]))
    last = "product"
    if bias:
        inputs.append(helper.make_tensor_value_info("b", kind, [columns]))
        nodes.append(helper.make_node("Add", [last, "b"], ["sum"]))
        last = "sum"
    if act:
        nodes.append(helper.make_node(act, [last], ["active"]))
        last = "active"
    nodes[-1].output[0] = "y"
    graph = helper.make_graph(nodes, "product", inputs, [helper.make_tensor_value_info("y", kind, ["rows", columns])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def case(purpose, shape, element="bf16", bias=False, act="", transposed=False, turned=False):
    rows, columns, total = shape
    name = f"{rows}x{columns}x{total}.{element}" + (".bias" if bias else "") + (f".{act.lower()}" if act else "")
    name += (".transposed" if transposed else "") + (".turned" if turned else "")
    return {"name": name, "purpose": purpose, "rows": rows, "columns": columns, "sum": total, "type": element, "bias": bias,
            "act": act, "transposed": transposed, "turned": turned, "dims": [f"rows={ROWS[turned]}:opt={rows}"],
            "options": ["--precision", element] if element in ("tf32", "fp32") else [],
            "model": lambda: model(rows, columns, total, element, bias, act, transposed, turned)}


def cases():
    for purpose, shapes in (("speed", SPEED), ("other", OTHER), ("small", SMALL)):
        for shape in shapes:
            yield case(purpose, shape)
    for purpose, shape in (("small", (129, 136, 200)), ("other", (4096, 4096, 4096))):
        yield case(purpose, shape, "fp16", bias=True, act="Relu")
        yield case(purpose, shape, bias=True, transposed=True)
        whole = (-(-shape[0] // 8) * 8, *shape[1:])
        yield case(purpose, whole, turned=True)
        yield case(purpose, whole, "fp16", transposed=True, turned=True)
        # By wgmma where the sum is contiguous in both, else by mma.sync.
        yield case(purpose, shape, "tf32", bias=True, transposed=True)
        yield case(purpose, shape, "tf32")
    # Factors that are not rounded: of square and long sizes, in each order of the operands.
    for shape in EXACT:
        yield case("exact", shape, "fp32")
        yield case("exact", shape, "fp32", bias=True, transposed=True)
    for shape in ((129, 136, 200), (200, 333, 517), (70, 200, 5000), (8, 64, 64)):
        yield case("small", shape, "fp32", transposed=shape[0] == 200)
    yield case("small", (136, 136, 200), "fp32", turned=True)


if __name__ == "__main__":
    write_cases(cases(), __doc__)
