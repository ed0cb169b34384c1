#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gates: two products of one input in one kernel, on the emulator.   gates.py KPC DRIVER FOLDER [TARGET]

SwiGLU, GEGLU and plain ones of ragged sizes, each one kernel; `kpc verify` compares the emulated run with the model on the
host. Ends with 77 where onnx is not installed.
"""

import dataclasses
import subprocess
import sys

import emulated

try:
    import numpy
    from onnx import TensorProto, helper, numpy_helper, save
except ImportError:
    print("SKIPPED: onnx is not installed")
    sys.exit(77)


@dataclasses.dataclass
class Gate:
    name: str
    precision: str
    function: str
    rows: int
    total: int
    columns: int
    bias: bool = False
    transposed: bool = False  # B
    schedule: str = ""
    sizes: str = "1..4096:opt=256"  # of rows, for the compiler
    builder: str = "gemm"


def few(*arguments, sizes="1..16:opt=4", **more):
    return Gate(*arguments, sizes=sizes, builder="gemv", **more)


CASES = [Gate("swiglu", "fp16", "Sigmoid", 129, 200, 136),
         Gate("geglu", "bf16", "Gelu", 70, 72, 64, bias=True),
         Gate("transposed", "fp16", "Sigmoid", 130, 96, 200, bias=True, transposed=True),
         Gate("wide", "fp16", "Sigmoid", 300, 136, 264, schedule="gemm 128x256x64 stages 3 group_m 2"),
         Gate("below", "bf16", "Sigmoid", 200, 136, 136, bias=True, schedule="gemm 64x128x64 stages 3 group_m 2 cluster 2x1"),
         Gate("turned_below", "fp16", "Gelu", 200, 136, 136, transposed=True, schedule="gemm 64x256x64 stages 3 group_m 1 cluster 2x1"),
         Gate("beside", "fp16", "Sigmoid", 136, 72, 264, schedule="gemm 64x128x64 stages 3 group_m 2 cluster 1x2"),
         Gate("turns", "fp16", "Sigmoid", 300, 136, 264, schedule="gemm 128x128x64 stages 3 group_m 2 pingpong"),
         Gate("flat_turns", "bf16", "Gelu", 130, 72, 136, bias=True, transposed=True, schedule="gemm 64x256x64 stages 2 group_m 2 pingpong"),
         # Typically one row, but perhaps many: no other builder has two products.
         Gate("one_of_many", "fp16", "Sigmoid", 130, 72, 136, sizes="1..4096:opt=1"),
         few("one_row", "fp16", "Sigmoid", 1, 200, 136),
         few("always_one_row", "bf16", "Sigmoid", 1, 200, 136, sizes="1..1"),
         few("five_rows", "bf16", "Gelu", 5, 72, 24, bias=True, transposed=True),
         few("at_most_eight", "fp16", "Sigmoid", 7, 136, 40, sizes="1..8:opt=2"),
         few("sixteen_by_sixteen", "bf16", "Gelu", 37, 136, 72, bias=True, sizes="1..40:opt=4"),
         few("stages", "fp16", "Gelu", 16, 136, 200, bias=True, schedule="gemv 32x64 warps 8 stages 3 tiles 1"),
         few("tiles", "fp16", "Sigmoid", 16, 72, 1072, schedule="gemv 16x64 warps 8 stages 3 tiles 2"),
         few("wide_tiles", "bf16", "Sigmoid", 16, 136, 136, transposed=True, schedule="gemv 64x32 warps 8 stages 3 tiles 1")]

# Each way to cut them on mma.sync; the columns of a schedule are those of both products.
CUTS = ["128x128x32 warpgroup 128x64", "128x256x32 warpgroup 128x128", "256x128x64 warpgroup 128x128", "128x128x64 warpgroup 128x128",
        "128x64x32 warpgroup 128x64", "64x128x64 warpgroup 64x64", "64x64x32 warpgroup 64x64", "64x64x64 warpgroup 64x32", "64x32x32 warpgroup 64x32"]


def sync(*arguments, **more):
    return Gate(*arguments, builder="mmasync", **more)


SYNC = [sync("swiglu", "fp16", "Sigmoid", 129, 200, 136),
        sync("geglu", "bf16", "Gelu", 70, 72, 64, bias=True),
        sync("transposed", "fp16", "Sigmoid", 130, 96, 200, bias=True, transposed=True),
        sync("one_of_many", "fp16", "Sigmoid", 130, 72, 136, sizes="1..4096:opt=1")]
SYNC += [sync(f"forced_{number}", "bf16" if number % 2 else "fp16", "Gelu" if number % 3 == 2 else "Sigmoid", 270, 136 if number % 3 else 72, 200 + 8 * number,
              bias=number % 2 == 0, transposed=number % 4 == 1, schedule=f"mmasync {cut} stages {2 + number % 2} group_m {1 + number % 4}")
         for number, cut in enumerate(CUTS)]


# By tcgen05: in a pair each block has columns of both products.
BLACKWELL = [Gate("swiglu", "fp16", "Sigmoid", 129, 200, 136, schedule="gemm 128x128x64 stages 4 group_m 1"),
             Gate("geglu", "bf16", "Gelu", 70, 72, 64, bias=True, schedule="gemm 128x128x64 stages 3 group_m 2"),
             Gate("transposed", "fp16", "Sigmoid", 130, 96, 200, bias=True, transposed=True, schedule="gemm 128x256x64 stages 2 group_m 1"),
             Gate("wide", "bf16", "Sigmoid", 270, 136, 200, transposed=True, schedule="gemm 128x256x64 stages 3 group_m 1"),
             Gate("pair", "fp16", "Sigmoid", 600, 200, 264, bias=True, schedule="gemm 256x256x64 stages 2 group_m 2 pair"),
             Gate("turned_pair", "bf16", "Gelu", 300, 72, 136, transposed=True, schedule="gemm 256x256x64 stages 3 group_m 1 pair"),
             Gate("many_rows", "fp16", "Sigmoid", 300, 520, 264, sizes="1..4096:opt=2048")]


def cases(target):
    if target == "sm_90a":
        return CASES
    if target == "sm_100a":
        return BLACKWELL + [case for case in CASES if case.builder == "gemv" and not case.schedule]
    # Other chips have other schedules of few rows; for every chip nothing is forced.
    return [case for case in SYNC if not case.schedule or target != "portable"] + [case for case in CASES if case.builder == "gemv" and not case.schedule]


def model(gate):
    random = numpy.random.default_rng(1)
    weights, nodes = [], []

    def weight(name, *shape):
        weights.append(numpy_helper.from_array(random.standard_normal(shape).astype(numpy.float32) / gate.total**0.5, name))
        return name

    def linear(name):
        shape = (gate.columns, gate.total) if gate.transposed else (gate.total, gate.columns)
        inputs = ["x", weight(f"{name}_w", *shape)] + ([weight(f"{name}_b", gate.columns)] if gate.bias else [])
        nodes.append(helper.make_node("Gemm", inputs, [name], name=name, transB=int(gate.transposed)))
        return name

    first, second = linear("gate"), linear("up")
    nodes.append(helper.make_node(gate.function, [first], ["active"]))
    if gate.function == "Sigmoid":
        nodes.append(helper.make_node("Mul", [first, "active"], ["silu"]))
    nodes.append(helper.make_node("Mul", [nodes[-1].output[0], second], ["gated"]))
    # What comes behind keeps the result narrow.
    nodes.append(helper.make_node("MatMul", ["gated", weight("down", gate.columns, 64)], ["y"], name="down"))
    graph = helper.make_graph(nodes, "gate", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", gate.total])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 64])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def case(name, gate):
    options = ("--precision", gate.precision, "--io-precision", gate.precision)
    return emulated.Case(name, model(gate), {"rows": gate.sizes}, {"rows": gate.rows},
                         f"gate.* = {gate.schedule}" if gate.schedule else "", options, gate.schedule)


def main():
    kpc, driver, folder, *rest = sys.argv[1:]
    target = rest[0] if rest else "sm_90a"
    run = emulated.Emulated(kpc, driver, target, folder)
    failed = 0
    chosen = emulated.sampled(cases(target), lambda gate: (gate.builder, bool(gate.schedule)))
    for gate in chosen:
        failed += not run.is_right(case(gate.name, gate))
        shown = subprocess.run([kpc, "inspect", run.folder / f"{gate.name}.kpc"], check=True, capture_output=True, text=True).stdout
        kernels = emulated.kernels(shown)
        # The gate, and the product behind it; the caller's x is copied in front.
        if (target != "portable" and len(kernels) > 3) or not any(f" {gate.builder} " in line and line.split()[0].startswith("gate") for line in kernels):
            print(f"{gate.name} is not a gate by {gate.builder} and a product:\n{shown}")
            failed += 1
    print(f"{len(chosen)} gates, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
