#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GEMMs of few rows that read an RMSNorm's rows and add up their squares, on the emulator.   norms.py KPC DRIVER TARGET FOLDER

A GEMM, then the norm of a residual, then one GEMM, or two and a gate, of ragged sizes. `kpc verify` compares the run with the model on the
host. Rows beyond 16 are multiplied 16 at a time, or by another family, which reads the sums of a kernel of their own.
Weights that kpc makes codes of are such that codes spell them, times the norm's weight, exactly.
"""

import sys

import emulated

try:
    import numpy
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    print("SKIPPED: onnx is not installed")
    sys.exit(77)

#        name     rows, sum, columns, precision, gate, range of rows, schedule of the last GEMM, the model's type (f32)
CASES = [("one", 1, 512, 64, "fp16", False, "1..16:opt=1", ""),
         ("eight", 7, 200, 72, "bf16", False, "1..8:opt=1", ""),
         ("sixteen", 16, 264, 40, "fp16", False, "1..16:opt=4", ""),
         ("some", 37, 136, 40, "bf16", False, "1..64:opt=4", ""),
         ("gate", 3, 264, 136, "fp16", True, "1..16:opt=1", ""),
         ("gate_of_16", 16, 136, 72, "bf16", True, "1..16:opt=4", ""),
         ("tiles", 9, 264, 2200, "fp16", False, "1..16:opt=1", "gemv 16x64 warps 8 stages 3 tiles 2"),
         ("gate_tiles", 9, 264, 1072, "fp16", True, "1..16:opt=1", "gemv 16x64 warps 8 stages 3 tiles 2"),
         # A model of 16 bits, which casts the rows to f32 and the norm back.
         ("narrow", 1, 512, 64, "fp16", False, "1..16:opt=1", "", TensorProto.FLOAT16),
         ("narrow_gate", 9, 264, 136, "bf16", True, "1..16:opt=4", "", TensorProto.BFLOAT16),
         # One kernel for all sizes, of a family that reads the sums.
         ("any", 150, 264, 136, "fp16", True, "1..4096:opt=1", "gemm 128x128x64 stages 3 group_m 2"),
         # Weights of codes.
         ("int4", 1, 512, 64, "fp16", False, "1..16:opt=1", "", TensorProto.FLOAT, "int4"),
         ("int4_eight", 7, 200, 72, "bf16", False, "1..8:opt=1", "", TensorProto.FLOAT, "int4"),
         ("int4_gate_of_16", 16, 136, 72, "bf16", True, "1..16:opt=4", "", TensorProto.FLOAT, "int4"),
         ("int4_some", 37, 136, 40, "fp16", False, "1..64:opt=4", "", TensorProto.FLOAT, "int4"),
         ("int4_tiles", 9, 1160, 2200, "fp16", False, "1..16:opt=1", "gemv int4 16x128 warps 8 stages 3 tiles 2", TensorProto.FLOAT, "int4"),
         ("int4_narrow_gate", 9, 264, 136, "bf16", True, "1..16:opt=4", "", TensorProto.BFLOAT16, "int4"),
         ("int8", 3, 264, 72, "fp16", False, "1..16:opt=1", "", TensorProto.FLOAT, "int8"),
         ("int8_gate", 12, 392, 136, "bf16", True, "1..16:opt=1", "", TensorProto.FLOAT, "int8"),
         ("fp8_gate", 5, 264, 136, "fp16", True, "1..16:opt=1", "", TensorProto.FLOAT, "fp8"),
         ("int4_any", 150, 264, 136, "fp16", False, "1..4096:opt=1", "codes int4 64x128x128 stages 3 group_m 2", TensorProto.FLOAT, "int4"),
         ("int4_any_tall", 300, 136, 40, "fp16", False, "1..4096:opt=1", "codes int4 256x64x128 stages 3 group_m 1", TensorProto.FLOAT, "int4"),
         ("int4_any_split", 150, 520, 136, "fp16", False, "1..4096:opt=1", "codes int4 64x128x128 stages 4 group_m 2 split_k 2", TensorProto.FLOAT, "int4"),
         ("int4_any_gate", 150, 264, 136, "bf16", True, "1..4096:opt=1", "codes int4 64x128x128 stages 3 group_m 2", TensorProto.FLOAT, "int4")]


def spelled(random, codes, total, columns):
    """A weight that codes and their scales spell exactly: of each group of 128, or each column, the greatest code is there."""
    if codes == "int4":
        numbers = random.integers(0, 16, (total, columns)).astype(numpy.float32)
        zeros = random.integers(0, 16, (-(-total // 128), columns)).repeat(128, 0)[:total]
        numbers[::128], numbers[1::128] = 0, 15
        return (numbers - zeros) / 64
    if codes == "int8":
        numbers = random.integers(-127, 128, (total, columns)).astype(numpy.float32)
        numbers[0] = 127
        return numbers / 1024
    numbers = (8 + random.integers(0, 8, (total, columns))) * 2.0**random.integers(-5, 5, (total, columns)) * random.choice([-1, 1], (total, columns))
    numbers[0] = 448
    return numbers / 4096


def model(total, columns, gate, element, codes=""):
    random = numpy.random.default_rng(1)
    weights, nodes = [], []

    def constant(name, value, kind=element):
        value = numpy.asarray(value, numpy.float32)
        weights.append(helper.make_tensor(name, kind, value.shape, value.flatten()))
        return name

    def weight(name, *shape):
        return constant(name, random.standard_normal(shape) / shape[0]**0.5)

    # The norm's is multiplied into others, which are to stay what codes spell.
    gains = random.choice([0.5, 1, 2], total) if codes else random.uniform(0.5, 1.5, total)

    def weight_after_norm(name):
        if not codes:
            return weight(name, total, columns)
        return constant(name, spelled(random, codes, total, columns) / gains[:, None])

    def node(kind, inputs, output, **more):
        nodes.append(helper.make_node(kind, inputs, [output], name=output, **more))
        return output

    product = node("MatMul", ["x", weight("first_w", total, total)], "first")
    residual = node("Add", [product, "x"], "residual")
    narrow = element != TensorProto.FLOAT
    wide = node("Cast", [residual], "wide", to=TensorProto.FLOAT) if narrow else residual
    squares = node("Mul", [wide, wide], "squares")
    weights.append(numpy_helper.from_array(numpy.array([-1]), "last"))
    mean = node("ReduceMean", [squares, "last"], "mean", keepdims=1)
    root = node("Sqrt", [node("Add", [mean, constant("epsilon", 1e-5, TensorProto.FLOAT)], "above")], "root")
    factor = node("Reciprocal", [root], "factor")
    unit = node("Mul", [wide, factor], "unit")
    if narrow:
        unit = node("Cast", [unit], "narrow", to=element)
    normed = node("Mul", [constant("norm_w", gains), unit], "normed")
    result = node("MatMul", [normed, weight_after_norm("gate_w")], "gate")
    if gate:
        silu = node("Mul", [result, node("Sigmoid", [result], "active")], "silu")
        result = node("Mul", [silu, node("MatMul", [normed, weight_after_norm("up_w")], "up")], "gated")
    # What comes after keeps the result narrow.
    node("MatMul", [result, weight("down_w", columns, 64)], "y")
    graph = helper.make_graph(nodes, "norms", [helper.make_tensor_value_info("x", element, ["rows", total])],
                              [helper.make_tensor_value_info("y", element, ["rows", 64])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def case(name, rows, total, columns, precision, gate, sizes, schedule, element=TensorProto.FLOAT, codes=""):
    options = ("--precision", precision, "--io-precision", precision, *(("--precision-for", f"gate|up={codes}") if codes else ()))
    return emulated.Case(name, model(total, columns, gate, element, codes), {"rows": sizes}, {"rows": rows}, f".*_gated? = {schedule}" if schedule else "",
                         options, shows=schedule or f"gemv {codes}", lacks="rows ")


def cases(target):
    # Other chips have no wgmma, and other room for stages.
    return [case(*one) for one in CASES if target == "sm_90a" or not one[7]]


if __name__ == "__main__":
    sys.exit(emulated.main(*sys.argv[1:5], cases(sys.argv[3]), "norms before GEMMs of few rows", every=1))
