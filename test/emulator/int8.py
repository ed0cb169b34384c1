#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GEMMs and convolutions of 8-bit integers on the emulator, bit for bit.   int8.py KPC DRIVER TARGET FOLDER

Every spelling of a quantised product, with zero points and scales of all kinds, of ragged sizes (emulated.py). What is compared are
codes or sums of 32 bits, which are the host's bit for bit; floats as emulated.py compares them.
"""

import sys

import emulated
import numpy as np
from onnx import TensorProto, helper, numpy_helper

TYPES = {"u8": (TensorProto.UINT8, np.uint8), "i8": (TensorProto.INT8, np.int8)}


class Model:
    """Nodes and constants of one model, whose inputs are codes."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants, self.inputs = [], [], []

    def node(self, kind, inputs, domain="", **attributes):
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, domain=domain, **attributes))
        return name

    def constant(self, values, dtype):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def codes(self, shape, kind):
        limits = np.iinfo(TYPES[kind][1])
        return self.constant(self.random.integers(limits.min, limits.max, shape, endpoint=True), TYPES[kind][1])

    def scales(self, count=None):
        """One scale, or so many."""
        return self.constant(self.random.uniform(0.002, 0.02, () if count is None else count), np.float32)

    def powers(self, count=None):
        """Scales with which the host's sums of floats are exact, up to 258 products."""
        return self.constant(0.5 ** self.random.integers(6, 9, () if count is None else count), np.float32)

    def bias(self, count):
        return self.constant(self.random.integers(-16, 17, count) / 8, np.float32)

    def input(self, shape, kind):
        name = f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, TYPES[kind][0] if kind in TYPES else kind, shape))
        return name

    def finish(self, result, shape, element):
        self.nodes[-1].output[0] = "y"
        assert self.nodes[-1].name == result
        graph = helper.make_graph(self.nodes, "int8", self.inputs, [helper.make_tensor_value_info("y", element, shape)], self.constants)
        opsets = [helper.make_opsetid("", 19), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def matmul_integer(rows, columns, total, x, w, zero_x=None, zero_w=None, batch=None):
    """MatMulInteger; a zero point of w may be one for each column."""
    m = Model(rows)
    inputs = [m.input([*([batch] if batch else []), rows, total], x), m.codes((total, columns), w)]
    if zero_x is not None or zero_w is not None:
        inputs.append(m.constant(zero_x or 0, TYPES[x][1]))
    if zero_w == "columns":
        inputs.append(m.codes(columns, w))
    elif zero_w is not None:
        inputs.append(m.constant(zero_w, TYPES[w][1]))
    y = m.node("MatMulInteger", inputs)
    return m.finish(y, [*([batch] if batch else []), rows, columns], TensorProto.INT32)


def qlinear(rows, columns, total, x, w, zero_x, zero_w, per_column=False):
    m = Model(columns)
    inputs = [m.input([rows, total], x), m.scales(), m.constant(zero_x, TYPES[x][1]), m.codes((total, columns), w),
              m.scales(columns if per_column else None), m.constant(np.full(columns, zero_w) if per_column else zero_w, TYPES[w][1]),
              m.constant(0.5, np.float32), m.constant(zero_x, TYPES[x][1])]
    return m.finish(m.node("QLinearMatMul", inputs), [rows, columns], TYPES[x][0])


def qdq(rows, columns, total, x, w, zero_x, zero_w, per_column=False, gemm=False, batch=None, both=False, floats=False):
    """DequantizeLinear of both, MatMul or Gemm with a bias, ReLU, QuantizeLinear unless `floats`. `both`: w is an input as well."""
    m = Model(total)
    lead = [batch] if batch else []
    a = m.input([*lead, rows, total], x)
    a = m.node("DequantizeLinear", [a, m.powers(), m.constant(zero_x, TYPES[x][1])])
    shape = (columns, total) if gemm else (total, columns)
    codes = m.input([*lead, *shape], w) if both else m.codes(shape, w)
    b = m.node("DequantizeLinear", [codes, m.powers(columns if per_column else None),
                                    m.constant(np.full(columns, zero_w) if per_column else zero_w, TYPES[w][1])],
               axis=0 if gemm else 1)
    bias = m.bias(columns)
    if gemm:
        y = m.node("Gemm", [a, b, bias], transB=1)
    else:
        y = m.node("Add", [m.node("MatMul", [a, b]), bias])
    y = m.node("Relu", [y])
    if floats:
        return m.finish(y, [*lead, rows, columns], TensorProto.FLOAT)
    y = m.node("QuantizeLinear", [y, m.constant(0.25, np.float32), m.constant(zero_x, TYPES[x][1])])
    return m.finish(y, [*lead, rows, columns], TYPES[x][0])


def dynamic(rows, columns, total, microsoft=False):
    """x is quantised in each run."""
    m = Model(rows + total)
    a = m.input([rows, total], TensorProto.FLOAT)
    w, scale, zero = m.codes((total, columns), "i8"), m.scales(columns), m.constant(np.zeros(columns), np.int8)
    if microsoft:
        y = m.node("DynamicQuantizeMatMul", [a, w, scale, zero, m.constant(m.random.standard_normal(columns), np.float32)], "com.microsoft")
        return m.finish(y, [rows, columns], TensorProto.FLOAT)
    m.nodes.append(helper.make_node("DynamicQuantizeLinear", [a], ["q", "qs", "qz"]))
    y = m.node("Cast", [m.node("MatMulInteger", ["q", w, "qz", zero])], to=TensorProto.FLOAT)
    y = m.node("Mul", [y, m.node("Mul", ["qs", scale])])
    # Mul of the scales stands in front in the list.
    return m.finish(y, [rows, columns], TensorProto.FLOAT)


def qgemm(rows, columns, total):
    m = Model(rows * 3)
    inputs = [m.input([rows, total], "u8"), m.scales(), m.constant(121, np.uint8), m.codes((columns, total), "i8"), m.scales(columns),
              m.constant(np.zeros(columns), np.int8), m.constant(m.random.integers(-9999, 9999, columns), np.int32), m.constant(0.5, np.float32),
              m.constant(7, np.uint8)]
    return m.finish(m.node("QGemm", inputs, "com.microsoft", transB=1), [rows, columns], TensorProto.UINT8)


def perceptron(rows, width, inner):
    """A norm, a GELU and a residual between two GEMMs of floats that --precision int8 quantises."""
    m = Model(1)
    x = m.input(["rows", width], TensorProto.FLOAT)
    def weight(*shape):
        return m.constant(m.random.standard_normal(shape) * 0.05, np.float32)
    y = m.node("LayerNormalization", [x, m.constant(np.ones(width), np.float32)])
    y = m.node("Add", [m.node("MatMul", [y, weight(width, inner)]), weight(inner)])
    y = m.node("Mul", [y, m.node("Sigmoid", [y])])
    return m.finish(m.node("Add", [m.node("MatMul", [y, weight(inner, width)]), x]), ["rows", width], TensorProto.FLOAT)


def convolution(form, shape, outputs, taps, x, w, zero_x, zero_w=0, step=1, pads=1, groups=1):
    """`form`: "qlinear", "integer", or "qdq" with a bias and ReLU. A filter has one scale for each output."""
    batch, channels, *size = shape
    m = Model(outputs + taps)
    filters = m.codes((outputs, channels // groups, *[taps] * len(size)), w)
    out = [batch, outputs, *((one + 2 * pads - taps) // step + 1 for one in size)]
    more = {"pads": [pads] * 2 * len(size), "strides": [step] * len(size), "group": groups}
    image, zero = m.input(list(shape), x), m.constant(zero_x, TYPES[x][1])
    if form == "integer":
        return m.finish(m.node("ConvInteger", [image, filters, zero, m.constant(zero_w, TYPES[w][1])], **more), out, TensorProto.INT32)
    kind = m.powers if form == "qdq" else m.scales
    scale, scales, zeros = kind(), kind(outputs), m.constant(np.full(outputs, zero_w), TYPES[w][1])
    if form == "qlinear":
        y = m.node("QLinearConv", [image, scale, zero, filters, scales, zeros, m.constant(0.5, np.float32), zero,
                                   m.constant(m.random.integers(-999, 999, outputs), np.int32)], **more)
        return m.finish(y, out, TYPES[x][0])
    y = m.node("Conv", [m.node("DequantizeLinear", [image, scale, zero]), m.node("DequantizeLinear", [filters, scales, zeros], axis=0),
                        m.bias(outputs)], **more)
    return m.finish(m.node("QuantizeLinear", [m.node("Relu", [y]), m.constant(0.5, np.float32), zero]), out, TYPES[x][0])


def cases(target):
    def case(name, model, shows="", **more):
        return emulated.Case(name, model, shows=shows or ("gemm " if target == "sm_90a" else "mmasync "), **more)
    loops = "mmasync "
    yield case("integer_u8_i8", matmul_integer(130, 80, 208, "u8", "i8", 121))
    yield case("integer_i8_u8", matmul_integer(70, 72, 528, "i8", "u8", None, 131))
    yield case("integer_plain", matmul_integer(33, 64, 64, "i8", "i8"))
    yield case("integer_columns", matmul_integer(45, 96, 112, "u8", "u8", 3, "columns"))
    yield case("integer_batch", matmul_integer(19, 40, 96, "i8", "i8", -7, batch=3))
    yield case("integer_anywhere", matmul_integer(66, 67, 77, "u8", "i8", 128), loops)
    yield case("integer_fours", matmul_integer(66, 68, 76, "u8", "i8"), loops)
    yield case("qlinear", qlinear(129, 144, 144, "u8", "u8", 128, 128))
    yield case("qlinear_columns", qlinear(77, 64, 272, "i8", "i8", -3, 0, per_column=True))
    yield case("qdq", qdq(130, 80, 208, "u8", "i8", 114, 0, per_column=True))
    yield case("qdq_gemm", qdq(61, 208, 64, "i8", "i8", -128, 0, gemm=True, per_column=True))
    # In 16 bits the bias and scales are rounded.
    yield case("qdq_fp16", qdq(61, 200, 64, "i8", "i8", -128, 0, gemm=True, per_column=True, floats=True), options=("--precision", "fp16"))
    yield case("qdq_batch", qdq(21, 64, 96, "i8", "i8", 5, 0, batch=2, floats=True), options=("--precision", "bf16"))
    yield case("qdq_both", qdq(40, 64, 96, "i8", "i8", 5, -9, batch=2, both=True))
    yield case("dynamic", dynamic(37, 64, 96))
    yield case("dynamic_microsoft", dynamic(37, 64, 96, microsoft=True))
    yield case("qgemm", qgemm(50, 112, 160))
    yield case("perceptron", perceptron(37, 92, 380), "int8 -> f16", ranges={"rows": "1..128:opt=64"}, sizes={"rows": 37},
               options=("--precision", "int8"), kernels=4)
    filters = "conv " if target == "sm_90a" else "conv_mmasync "
    yield case("conv", convolution("qdq", (2, 32, 9, 7), 32, 3, "u8", "i8", 0), filters)
    yield case("conv_moved", convolution("qlinear", (1, 48, 8, 9), 48, 3, "i8", "i8", -128, step=2), filters)
    yield case("conv_surrounded", convolution("qlinear", (2, 16, 9, 9), 32, 3, "u8", "u8", 114, 128), filters)
    yield case("conv_plain", convolution("integer", (1, 20, 10, 6), 17, 3, "u8", "i8", 9, pads=0), "conv_mmasync ")
    yield case("conv_first", convolution("qdq", (2, 3, 20, 20), 16, 7, "u8", "i8", 121, step=2, pads=3), "conv_mmasync ")
    yield case("conv_pixels", convolution("qdq", (1, 64, 8, 8), 64, 1, "u8", "i8", 3, pads=0))
    yield case("conv_groups", convolution("qdq", (2, 48, 7, 9), 64, 3, "i8", "i8", -128, groups=4), "conv_mmasync ")
    yield case("conv_asymmetric", convolution("qlinear", (2, 16, 9, 11), 32, 3, "u8", "u8", 114, 7, step=2), filters)
    yield case("conv_line", convolution("integer", (2, 24, 33), 16, 5, "i8", "i8", 0, pads=2), "conv")


if __name__ == "__main__":
    sys.exit(emulated.main(*sys.argv[1:5], list(cases(sys.argv[3])), "products of 8-bit integers"))
