#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GEMMs of FP8, and GEMMs and convolutions whose results are quantised, on the emulator.   fp8.py KPC DRIVER TARGET FOLDER

Models of test/device/fp8.py, of ragged sizes, on targets that multiply FP8: by wgmma on sm_90a, by mma.sync what that does not fit,
and on others; by tcgen05 on sm_100a, which multiplies 16 bits where codes do not fit; on all targets kernels that end in QuantizeLinear
(emulated.py).
"""

import sys

import emulated
import numpy as np
from onnx import TensorProto, helper, numpy_helper

models = emulated.device_models("fp8")

# rows × columns × K, scales, type, x, w, schedule, most rows: of a number that is not known; 0: it is.
GEMMS = [((130, 72, 208), "tensor", "bf16", "e4m3", "e4m3", "", 0), ((70, 200, 528), "rows", "fp16", "e5m2", "e4m3", "", 0),
         ((64, 64, 16), "rows", "fp16", "e4m3", "e5m2", "", 0), ((129, 136, 144), "rows", "bf16", "e5m2", "e5m2", "", 0),
         ((33, 64, 1040), "tensor", "fp16", "e4m3", "e4m3", "gemm 64x64x128 stages 4 group_m 2 split_k 4", 0),
         ((300, 264, 272), "rows", "fp16", "e4m3", "e4m3", "gemm 128x128x128 stages 3 group_m 2 cluster 1x2", 0),
         ((300, 136, 272), "rows", "bf16", "e4m3", "e4m3", "gemm 128x192x128 stages 3 group_m 2 cluster 2x1", 0),
         ((400, 72, 144), "tensor", "bf16", "e4m3", "e4m3", "gemm 192x64x128 stages 3 group_m 1", 0),
         ((45, 80, 96), "tensor", "bf16", "e4m3", "e4m3", "", 128)]
# One stage and more, columns that end in a block of scales, tiles of columns in two blocks, shares of K, and rows that are not known.
BLOCKS = [((17, 128, 128), "blocks", "bf16", "e4m3", "e4m3", "", 0), ((129, 256, 208), "blocks", "fp16", "e4m3", "e5m2", "", 0),
          ((130, 520, 400), "blocks", "bf16", "e5m2", "e4m3", "gemm 128x192x128 stages 3 group_m 2", 0),
          ((33, 200, 1040), "blocks", "fp16", "e4m3", "e4m3", "gemm 64x64x128 stages 4 group_m 2 split_k 4", 0),
          ((300, 264, 272), "blocks", "bf16", "e4m3", "e4m3", "gemm 128x128x128 stages 3 group_m 2 cluster 1x2", 0),
          ((45, 392, 384), "blocks", "bf16", "e4m3", "e4m3", "gemm 64x192x128 stages 2 group_m 1", 128)]
# The same with scales of each column, which a kernel turns.
LINES = [((17, 128, 128), "lines", "bf16", "e4m3", "e4m3", "", 0), ((129, 256, 208), "lines", "fp16", "e4m3", "e5m2", "", 0),
         ((33, 200, 1040), "lines", "fp16", "e4m3", "e4m3", "gemm 64x64x128 stages 4 group_m 2 split_k 4", 0),
         ((300, 264, 272), "lines", "bf16", "e4m3", "e4m3", "gemm 128x128x128 stages 3 group_m 2 cluster 1x2", 0),
         ((45, 392, 384), "lines", "bf16", "e5m2", "e4m3", "gemm 64x128x128 stages 2 group_m 1", 128)]
# By tcgen05: one block and a pair, more steps along K than stages, and more tiles than one.
TENSOR_MEMORY = [*GEMMS[:4], GEMMS[-1],
                 ((33, 64, 1040), "tensor", "fp16", "e4m3", "e4m3", "gemm 128x64x128 stages 2 group_m 2", 0),
                 ((300, 264, 272), "rows", "fp16", "e5m2", "e4m3", "gemm 128x128x128 stages 3 group_m 2", 0),
                 ((264, 392, 144), "tensor", "bf16", "e4m3", "e4m3", "gemm 128x192x128 stages 2 group_m 1", 0),
                 ((600, 264, 400), "rows", "bf16", "e4m3", "e5m2", "gemm 256x128x128 stages 3 group_m 2 pair", 0),
                 ((520, 520, 272), "tensor", "fp16", "e4m3", "e4m3", "gemm 256x256x128 stages 2 group_m 1 pair", 0)]
# By mma.sync: rows of memory begin anywhere, and K has any remainder.
ANYWHERE = [((66, 67, 77), "rows", "fp16", "e4m3", "e5m2", "", 0), ((40, 72, 76), "tensor", "bf16", "e5m2", "e4m3", "", 0)]
BY_SYNC = [((130, 72, 208), "tensor", "bf16", "e4m3", "e4m3", "", 0), ((129, 136, 144), "rows", "bf16", "e5m2", "e5m2", "", 0),
           ((64, 64, 16), "rows", "fp16", "e4m3", "e5m2", "", 0), ((45, 80, 96), "tensor", "fp16", "e4m3", "e4m3", "", 128),
           ((33, 64, 1040), "rows", "fp16", "e4m3", "e4m3", "mmasync 64x64x128 warpgroup 64x32 stages 3 group_m 2", 0)]
QUANTISED = {"u8": (TensorProto.UINT8, 128), "i8": (TensorProto.INT8, 3), "e4m3": (TensorProto.FLOAT8E4M3FN, 0)}


def gemm(shape, scales, kind, x, w, schedule, most, shows="gemm ", kernels=1):
    made = models.case("small", shape, scales, kind, x, w)
    if most:
        made["rows"] = "rows"
    name = made["name"] + (".forced" if schedule else "") + (".dynamic" if most else "")
    return emulated.Case(name, models.model(made), {"rows": f"0..{most}:opt=64"} if most else {}, {"rows": shape[0]} if most else {},
                         f"product_y = {schedule}" if schedule else "", shows=schedule or shows, kernels=kernels)


def constant_blocks(columns, total):
    """FP8 in blocks of 128 in a model of 16 bits, whose weight and its scales are constants: multiplied as FP8, not as a weight of codes."""
    random, blocks = np.random.default_rng(2), total // 128
    codes = random.integers(0, 256, (columns, total)).astype(np.uint8) & 0xbf  # finite, and of both signs
    made = [helper.make_tensor("w", TensorProto.FLOAT8E4M3FN, codes.shape, codes.tobytes(), raw=True),
            numpy_helper.from_array(random.uniform(0.01, 0.02, (columns, blocks)).astype(np.float16), "sw")]
    nodes = [helper.make_node("DequantizeLinear", ["x", "sx"], ["xd"], axis=1, block_size=128),
             helper.make_node("DequantizeLinear", ["w", "sw"], ["wd"], axis=1, block_size=128),
             helper.make_node("Transpose", ["wd"], ["wt"], perm=[1, 0]), helper.make_node("MatMul", ["xd", "wt"], ["y"], name="product")]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "blocks", [value("x", TensorProto.FLOAT8E4M3FN, ["rows", total]), value("sx", TensorProto.FLOAT16, ["rows", blocks])],
                              [value("y", TensorProto.FLOAT16, ["rows", columns])], made)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return emulated.Case(f"constant_blocks_{columns}x{total}", model, {"rows": "1..512:opt=128"}, {"rows": 70}, shows="fp8 -> f16", lacks="codes ")


def constant(name, shape):
    values = np.random.default_rng(1).integers(-1, 2, shape)
    return numpy_helper.from_array(values.astype(np.float32), name)


def quantised(first, x, y, weights, kind):
    """y = a node of whole numbers, whose sums are exact, an activation and QuantizeLinear."""
    element, zero = QUANTISED[kind]
    nodes = [helper.make_node("Cast", ["x"], ["wide"], to=TensorProto.FLOAT), first, helper.make_node("Relu", ["first"], ["active"]),
             helper.make_node("QuantizeLinear", ["active", "scale", "zero"], ["y"])]
    made = [weights, numpy_helper.from_array(np.float32(16), "scale"), helper.make_tensor("zero", element, [], [zero])]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "quantised", [value("x", TensorProto.INT8, x)], [value("y", element, y)], made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def quantised_gemm(rows, columns, total, kind, shows):
    made = quantised(helper.make_node("MatMul", ["wide", "w"], ["first"]), [rows, total], [rows, columns], constant("w", (total, columns)), kind)
    return emulated.Case(f"gemm_{rows}x{columns}x{total}_{kind}", made, options=("--precision", "fp16"), shows=shows)


def quantised_convolution(batch, channels, size, outputs, kind, shows):
    node = helper.make_node("Conv", ["wide", "w"], ["first"], pads=[1, 1, 1, 1])
    made = quantised(node, [batch, channels, size, size], [batch, outputs, size, size], constant("w", (outputs, channels, 3, 3)), kind)
    return emulated.Case(f"conv_{channels}x{outputs}_{kind}", made, options=("--precision", "fp16"), shows=shows)


def perceptron(rows, width, inner):
    """A norm, a GELU and a residual between two GEMMs that --precision fp8 quantises: four kernels."""
    value, node = helper.make_tensor_value_info, helper.make_node
    def weight(name, *shape):
        return numpy_helper.from_array((np.random.default_rng(len(shape)).standard_normal(shape) * 0.05).astype(np.float32), name)
    nodes = [node("LayerNormalization", ["x", "g"], ["n"]), node("MatMul", ["n", "up"], ["u"]), node("Add", ["u", "b"], ["v"]),
             node("Gelu", ["v"], ["a"]), node("MatMul", ["a", "down"], ["d"]), node("Add", ["d", "x"], ["y"])]
    made = [weight("g", width), weight("up", width, inner), weight("b", inner), weight("down", inner, width)]
    graph = helper.make_graph(nodes, "perceptron", [value("x", TensorProto.FLOAT, ["rows", width])], [value("y", TensorProto.FLOAT, ["rows", width])], made)
    return emulated.Case("perceptron", helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), {"rows": "1..128:opt=64"},
                         {"rows": rows}, options=("--precision", "fp8", "--precision-for", ".*=fp8"), shows="fp8 -> f16", kernels=4)


def cases(target):
    copied = target in ("sm_90a", "sm_100a")
    if target == "sm_90a":
        yield from (gemm(*one) for one in [*GEMMS, *BLOCKS])
        yield from (gemm(*one, kernels=2) for one in LINES)
        yield constant_blocks(136, 384)
        yield from (gemm(*one, "mmasync ", 0) for one in ANYWHERE)
        yield perceptron(37, 96, 384)
    elif target == "sm_100a":
        yield from (gemm(*one) for one in TENSOR_MEMORY)
        # Codes become 16 bits in front: copies of them, too.
        yield from (gemm(*one, "gemm ", 0) for one in ANYWHERE)
        yield perceptron(37, 96, 384)
    elif target != "sm_80":
        yield from (gemm(*one, "mmasync ", 0) for one in ANYWHERE)
        yield from (gemm(*one, "mmasync ") for one in BY_SYNC)
        yield perceptron(37, 92, 388)
    yield quantised_gemm(130, 80, 64, "u8", "gemm " if copied else "mmasync ")
    yield quantised_gemm(77, 64, 48, "e4m3", "gemm " if copied else "mmasync ")
    # Rows of the result begin at multiples of 4 bytes, and anywhere.
    yield quantised_gemm(77, 100, 40, "i8", "mmasync ")
    yield quantised_gemm(70, 131, 64, "u8", "mmasync ")
    yield quantised_convolution(2, 32, 9, 64, "u8", "conv " if copied else "conv_mmasync ")


if __name__ == "__main__":
    sys.exit(emulated.main(*sys.argv[1:5], list(cases(sys.argv[3])), "GEMMs of FP8 and quantised results"))
