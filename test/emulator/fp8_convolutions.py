#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions of FP8 on the emulator.   fp8_convolutions.py KPC DRIVER TARGET FOLDER

The small ones of test/device/fp8.py, and others of ragged sizes (emulated.py): by wgmma on sm_90a and by tcgen05 on sm_100a what im2col copies fit,
by mma.sync groups, what does not fit and other chips. On targets that do not multiply FP8 codes are dequantised.
"""

import sys

import emulated
import numpy as np
from onnx import TensorProto, helper, numpy_helper

models = emulated.device_models("fp8")

FIRST, ODD_OUTPUTS, GROUPS, PIXELS = 6, 10, 11, 12  # of SMALL_CONVOLUTIONS: few outputs, what wgmma's copies do not take, and what is a GEMM
# More steps than stages, tiles at the end of an image, parts of the sum and shared filters.
FORCED = [(8, "conv 64x64x128 stages 2 group_m 1 split_k 2"), (8, "conv 64x128x64 stages 3 group_m 2 cluster 2"),
          (8, "conv 128x192x64 stages 3 group_m 1"), (0, "conv 192x64x32 stages 4 group_m 1"), (9, "conv 128x64x32 stages 2 group_m 1")]

BLACKWELL = [(8, "conv 128x64x128 stages 2 group_m 1"), (8, "conv 256x256x64 stages 3 group_m 1 pair"), (2, "conv 256x128x128 stages 2 group_m 2 pair"),
             (0, "conv 128x64x32 stages 4 group_m 1"), (9, "conv 128x128x64 stages 2 group_m 1"), (5, "conv 256x128x32 stages 3 group_m 1 pair"),
             (3, "conv 128x64x32 stages 2 group_m 1")]


def case(number, shows, schedule="", sizes=None):
    """`sizes`: of the image, which is known when a shape is bound."""
    size, channels, outputs, taps, step, more = models.SMALL_CONVOLUTIONS[number]
    made = models.conv_case("small", 3, sizes or size, channels, outputs, taps, step, **more)
    model = made["model"]()
    name = made["name"] + schedule.replace(" ", "_") + (".dynamic" if sizes else "")
    ranges, values = {}, {}
    if sizes:
        values = {"batch": 3, **{f"size{i}": one for i, one in enumerate(sizes)}}
        ranges = {name: f"1..{one * 3}:opt={one + 2}" for name, one in values.items()}
        for value in (model.graph.input[0], model.graph.output[0]):
            dims = value.type.tensor_type.shape.dim
            dims[0].dim_param = "batch"
            for i in range(len(sizes)):
                dims[i + 1].dim_param = f"size{i}" if value.name == "x" else f"out{i}"
    return emulated.Case(name, model, ranges, values, f"product_active_last = {schedule}" if schedule else "", shows=shows)


def tensorrt(shows, quantised_weight):
    """What ModelOpt writes: FP8 nodes of its own domain around a convolution of floats. The filter is quantised in the model or before."""
    random = np.random.default_rng(7)
    node, value, array = helper.make_node, helper.make_tensor_value_info, numpy_helper.from_array
    weight = (random.standard_normal((40, 32, 3, 3)) * 0.1).astype(np.float32)
    made = [array(np.float32(0.02), "sx"), array(np.float32(0.001), "sw"), array(random.standard_normal(40).astype(np.float32), "b")]
    def fp8(kind, source, scale, to):
        return node(f"TRT_FP8{kind}Linear", [source, scale], [to], domain="trt")
    nodes = [fp8("Quantize", "x", "sx", "xq"), fp8("Dequantize", "xq", "sx", "xd")]
    if quantised_weight:
        codes = random.integers(0, 0x60, weight.shape, dtype=np.uint8)
        made.append(helper.make_tensor("wq", TensorProto.FLOAT8E4M3FN, weight.shape, codes.tobytes(), raw=True))
    else:
        made.append(array(weight, "w"))
        nodes.append(fp8("Quantize", "w", "sw", "wq"))
    nodes += [fp8("Dequantize", "wq", "sw", "wd"), node("Conv", ["xd", "wd", "b"], ["sum"], pads=[1, 1, 1, 1]), node("Relu", ["sum"], ["y"])]
    graph = helper.make_graph(nodes, "modelopt", [value("x", TensorProto.FLOAT, [2, 32, 9, 7])], [value("y", TensorProto.FLOAT, [2, 40, 9, 7])], made)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19), helper.make_opsetid("trt", 1)], ir_version=9)
    return emulated.Case(f"modelopt_{'codes' if quantised_weight else 'floats'}", model, options=("--precision", "fp16"), shows=shows)


def cases(target):
    copied, multiplies = target in ("sm_90a", "sm_100a"), target not in ("sm_80", "portable")
    kernel = "conv " if copied else "conv_mmasync "
    for number in range(len(models.SMALL_CONVOLUTIONS)):
        if number == PIXELS:
            yield case(number, "gemm " if copied else "mmasync ")
        else:
            yield case(number, "conv_mmasync " if number in (FIRST, ODD_OUTPUTS, GROUPS) else kernel)
    forced = {"sm_90a": FORCED, "sm_100a": BLACKWELL}
    yield from (case(number, kernel, schedule) for number, schedule in forced.get(target, ()))
    yield from (case(number, kernel, sizes=sizes) for number, sizes in ((0, (8, 11)), (1, (12, 7)), (8, (9, 10))))
    # Codes are one type in, whatever chip multiplies them.
    yield tensorrt("fp8" if multiplies else kernel, False)
    yield tensorrt("fp8" if multiplies else kernel, True)


if __name__ == "__main__":
    sys.exit(emulated.main(*sys.argv[1:5], list(cases(sys.argv[3])), "convolutions of FP8"))
