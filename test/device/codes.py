#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of few and of many rows with weights of 4 and 8 bits, FP8 among them, for time_codes.py: writes a model of each, and compiles it.

    python3 codes.py --kpc build/release/bin/kpc --out FOLDER [--arch sm_90a] [--only REGEX]

Each is y = x · dequantise(w) (+ bias) in one type of 16 bits, as MatMulNBits, or as DequantizeLinear in front of MatMul (`axis` 0)
or Gemm with transB (`axis` 1). Of each shape there is the product in bf16 as well, whose weights are an input. Gates are two products of one x. Chains are GEMMs
one after another, as a model has them, with more weights than a second cache holds. Writes NAME.kpc and a line in cases.json. Needs
onnx, numpy.
"""

import gemv
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from case_files import write_cases
from code_values import weights

TYPES = {"bf16": TensorProto.BFLOAT16, "fp16": TensorProto.FLOAT16, "fp32": TensorProto.FLOAT}
SHAPES = [(4096, 4096), (4096, 14336), (14336, 4096)]
GATES = [(2048, 8192), (4096, 14336)]
# More rows than the kernel of few rows is for.
MANY = (32, 64, 128, 256, 512, 1024, 4096)
# Of a chain: K and N of its GEMMs in turn, how often, and the weights in bf16, which serve again once they fill a second cache thrice.
CHAINS = {"square": ([(4096, 4096)], 16, 6), "wide": ([(4096, 14336), (14336, 4096)], 3, 2)}


def packed(codes, bits):
    """Rows of codes as bytes, the first in the low bits, each row filled up to whole bytes."""
    per = 8 // bits
    rows = codes.reshape(codes.shape[0], -1).astype(np.uint8)
    rows = np.pad(rows, ((0, 0), (0, -rows.shape[1] % per))).reshape(rows.shape[0], -1, per)
    return sum(rows[:, :, i] << (i * bits) for i in range(per)).astype(np.uint8)


def constant(name, kind, array):
    if kind == TensorProto.BFLOAT16:
        return helper.make_tensor(name, kind, array.shape, array.astype(np.float32).flatten())
    return numpy_helper.from_array(array.astype(helper.tensor_dtype_to_np_dtype(kind)), name)


def of_few_bits(name, kind, codes):
    return helper.make_tensor(name, kind, codes.shape, codes.flatten().tolist())


def matmul_nbits(total, columns, bits, block, kind, codes, scales, points):
    blocks = -(-total // block)
    whole = np.pad(codes, ((0, 0), (0, blocks * block - total)))
    made = [numpy_helper.from_array(packed(whole, bits).reshape(columns, blocks, block * bits // 8), "w"), constant("s", kind, scales.flatten())]
    if points is not None:
        made.append(numpy_helper.from_array(packed(points, bits).flatten(), "z"))
    node = helper.make_node("MatMulNBits", ["x", "w", "s"] + (["z"] if points is not None else []), ["product"], name="product",
                            domain="com.microsoft", K=total, N=columns, bits=bits, block_size=block)
    return [node], made


def dequantise_linear(axis, columns, bits, block, signed, kind, codes, scales, points):
    names = {(4, False): TensorProto.UINT4, (4, True): TensorProto.INT4, (8, False): TensorProto.UINT8, (8, True): TensorProto.INT8}
    stored = names[bits, signed]
    shift = 1 << (bits - 1) if signed else 0
    def oriented(a):
        return np.ascontiguousarray(a.T if axis == 0 else a)
    made = [of_few_bits("w", stored, oriented(codes).astype(np.int64) - shift), constant("s", kind, oriented(scales))]
    if points is not None:
        made.append(of_few_bits("z", stored, oriented(points).astype(np.int64) - shift))
    nodes = [helper.make_node("DequantizeLinear", ["w", "s"] + (["z"] if points is not None else []), ["wide"], name="wide", axis=axis,
                              block_size=block)]
    nodes.append(helper.make_node("MatMul", ["x", "wide"], ["product"], name="product") if axis == 0 else
                 helper.make_node("Gemm", ["x", "wide"], ["product"], name="product", transB=1))
    return nodes, made


def dequantise_fp8(axis, number, block, kind, codes, scales):
    """Of blocks along K, of columns, or of the whole weight."""
    stored = TensorProto.FLOAT8E4M3FN if number == "e4m3" else TensorProto.FLOAT8E5M2
    def oriented(a):
        return np.ascontiguousarray(a.T if axis == 0 else a)
    turned = oriented(codes)
    made = [helper.make_tensor("w", stored, turned.shape, turned.tobytes(), raw=True),
            constant("s", kind, oriented(scales) if block > 0 else scales.reshape(-1 if block == 0 else ()))]
    attributes = {"axis": axis, "block_size": block} if block > 0 else {"axis": 1 - axis}
    nodes = [helper.make_node("DequantizeLinear", ["w", "s"], ["wide"], name="wide", **attributes)]
    nodes.append(helper.make_node("MatMul", ["x", "wide"], ["product"], name="product") if axis == 0 else
                 helper.make_node("Gemm", ["x", "wide"], ["product"], name="product", transB=1))
    return nodes, made


def model(rows, total, columns, element, bits=4, block=128, zeros=False, bias=False, spelling="nbits", signed=False, number=""):
    kind = TYPES[element]
    made = weights(total, columns, bits, block, zeros, kind=number)
    if number:
        nodes, constants = dequantise_fp8(int(spelling[-1]), number, block, kind, *made[:2])
    elif spelling == "nbits":
        nodes, constants = matmul_nbits(total, columns, bits, block, kind, *made)
    else:
        nodes, constants = dequantise_linear(int(spelling[-1]), columns, bits, block, signed, kind, *made)
    if bias:
        constants.append(constant("b", kind, np.linspace(-1, 1, columns)))
        nodes += [helper.make_node("Add", ["product", "b"], ["sum"], name="sum"), helper.make_node("Relu", ["sum"], ["active"], name="active")]
    nodes[-1].output[0] = "y"
    graph = helper.make_graph(nodes, "codes", [helper.make_tensor_value_info("x", kind, [rows, total])],
                              [helper.make_tensor_value_info("y", kind, [rows, columns])], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)], ir_version=10)


def gate_model(rows, total, columns, element, function="Sigmoid", bits=4, block=128, zeros=False, bias=False, spelling="nbits", signed=False,
               number="", apart=False):
    """A gated MLP's first half, SwiGLU or GEGLU, whose two weights are codes: y = function(x · gate) · (x · up).

    `apart`: x · gate is a result, too, so that there are two kernels.
    """
    kind = TYPES[element]
    nodes, made = [], []
    for seed, side in enumerate(("gate", "up")):
        data = weights(total, columns, bits, block, zeros, seed=seed, kind=number)
        own, constants = (dequantise_fp8(int(spelling[-1]), number, block, kind, *data[:2]) if number else
                          matmul_nbits(total, columns, bits, block, kind, *data) if spelling == "nbits" else
                          dequantise_linear(int(spelling[-1]), columns, bits, block, signed, kind, *data))
        if bias:
            constants.append(constant("b", kind, np.linspace(-1, 1, columns)))
            own.append(helper.make_node("Add", ["product", "b"], ["sum"], name="sum"))
        own[-1].output[0] = "side"
        for one in constants:
            one.name = f"{side}_{one.name}"
        for node in own:
            node.input[:] = ["x" if name == "x" else f"{side}_{name}" for name in node.input]
            node.output[0] = f"{side}_{node.output[0]}"
            node.name = f"{side}_{node.name}"
        nodes, made = nodes + own, made + constants
    nodes.append(helper.make_node(function, ["gate_side"], ["active"], name="active"))
    if function == "Sigmoid":
        nodes.append(helper.make_node("Mul", ["gate_side", "active"], ["silu"], name="silu"))
    nodes.append(helper.make_node("Mul", [nodes[-1].output[0], "up_side"], ["y"], name="gated"))
    names = ["y", "gate_side"] if apart else ["y"]
    graph = helper.make_graph(nodes, "gate", [helper.make_tensor_value_info("x", kind, [rows, total])],
                              [helper.make_tensor_value_info(name, kind, [rows, columns]) for name in names], made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)], ir_version=10)


def case(rows, shape, element, bits, block):
    total, columns = shape
    name = f"{rows}x{total}x{columns}.{element}.int{bits}.{block}"
    return {"name": name, "purpose": "many" if rows in MANY else "speed", "rows": rows, "sum": total, "columns": columns, "type": element, "bits": bits, "block": block,
            "dims": [], "model": lambda: model(rows, total, columns, element, bits, block)}


def fp8_case(rows, shape, element, number, block):
    total, columns = shape
    name = f"{rows}x{total}x{columns}.{element}.{number}.{block}"
    return {"name": name, "purpose": "many" if rows in MANY else "speed", "rows": rows, "sum": total, "columns": columns, "type": element, "bits": 8, "block": block,
            "number": number, "dims": [], "model": lambda: model(rows, total, columns, element, 8, block, spelling="axis0", number=number)}


def gate_cases(rows, shape, bits, number=""):
    """One kernel, and two for its peer."""
    total, columns = shape
    own = {"bits": bits, "number": number, "spelling": "axis0" if number else "nbits"}
    name = f"gate.{rows}x{total}x{columns}.bf16.{number or f'int{bits}'}"
    for apart in (False, True):
        yield {"name": name + (".apart" if apart else ""), "purpose": "peer" if apart else "gate", "rows": rows, "sum": total, "columns": columns,
               "type": "bf16", "bits": bits, "block": 128, "number": number, "dims": [],
               "model": lambda apart=apart: gate_model(rows, total, columns, "bf16", apart=apart, **own)}


def chain(rows, kind, bits, block=128, number=""):
    """GEMMs of codes one after another, in bf16."""
    shapes, times, _ = CHAINS[kind]
    nodes, made, last = [], [], "x"
    for layer, (total, columns) in enumerate(shapes * times):
        data = weights(total, columns, bits, block, False, seed=layer, kind=number)
        own, constants = (dequantise_fp8(0, number, block, TYPES["bf16"], *data[:2]) if number else
                          matmul_nbits(total, columns, bits, block, TYPES["bf16"], *data))
        for constant_ in constants:
            constant_.name += str(layer)
        for node in own:
            node.input[:] = [last if name == "x" else f"{name}{layer}" for name in node.input]
            node.name = node.output[0] = f"{node.output[0]}{layer}"
        last = own[-1].output[0]
        nodes, made = nodes + own, made + constants
    return chain_model(nodes, rows, shapes, made)


def chain_of_bf16(rows, kind):
    """The same with weights of 16 bits, K x N, which are inputs."""
    shapes, times, _ = CHAINS[kind]
    layers = chain_inputs(kind)
    nodes, last = [], "x"
    for number in range(len(shapes) * times):
        nodes.append(helper.make_node("MatMul", [last, f"w{number % len(layers)}"], [f"y{number}"], name=f"y{number}"))
        last = f"y{number}"
    return chain_model(nodes, rows, shapes, [], [helper.make_tensor_value_info(f"w{i}", TYPES["bf16"], [total, columns])
                                                 for i, (total, columns) in enumerate(layers)])


def chain_inputs(kind):
    shapes, times, count = CHAINS[kind]
    return (shapes * times)[:count]


def chain_model(nodes, rows, shapes, constants, inputs=()):
    nodes[-1].output[0] = "y"
    graph = helper.make_graph(nodes, "chain", [helper.make_tensor_value_info("x", TYPES["bf16"], [rows, shapes[0][0]]), *inputs],
                              [helper.make_tensor_value_info("y", TYPES["bf16"], [rows, shapes[-1][1]])], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)], ir_version=10)


def chain_case(rows, kind, bits, number=""):
    shapes, times, _ = CHAINS[kind]
    return {"name": f"{kind}.{rows}.{number or f'int{bits}'}", "number": number, "purpose": "chain", "rows": rows, "kind": kind, "type": "bf16", "bits": bits, "block": 128,
            "shapes": shapes, "products": len(shapes) * times, "inputs": chain_inputs(kind), "dims": [], "model": lambda: chain(rows, kind, bits, number=number)}


def cases():
    for shape in GATES:
        for rows in (1, 4, 16):
            yield from gate_cases(rows, shape, 4)
            yield from gate_cases(rows, shape, 8)
            yield from gate_cases(rows, shape, 8, "e4m3")
        for rows in (128, 1024):
            yield from gate_cases(rows, shape, 4)
    for kind in CHAINS:
        for rows in (1, 4, 16):
            for bits in (4, 8):
                yield chain_case(rows, kind, bits)
            yield chain_case(rows, kind, 8, "e4m3")
            yield {"name": f"{kind}.{rows}.bf16", "purpose": "peer", "dims": [], "model": lambda rows=rows, kind=kind: chain_of_bf16(rows, kind)}
    for shape in SHAPES:
        for rows in (1, 4, 8, 16):
            yield case(rows, shape, "bf16", 4, 128)
            yield case(rows, shape, "bf16", 8, 128)
            yield fp8_case(rows, shape, "bf16", "e4m3", 128)
            yield gemv.case("peer", (rows, *shape), "bf16", True, False)
        for rows in MANY:
            yield case(rows, shape, "bf16", 4, 128)
            if rows in (128, 1024):
                yield case(rows, shape, "bf16", 8, 128)
                yield fp8_case(rows, shape, "bf16", "e4m3", 128)
                yield case(rows, shape, "fp16", 4, 32)
            yield gemv.case("peer", (rows, *shape), "bf16", True, False)
        yield case(1, shape, "fp16", 4, 32)
        for rows in (1, 16):
            yield fp8_case(rows, shape, "bf16", "e4m3", 0)
            yield fp8_case(rows, shape, "fp16", "e4m3", 0)
            yield fp8_case(rows, shape, "fp16", "e5m2", -1)


if __name__ == "__main__":
    write_cases(cases(), __doc__)
