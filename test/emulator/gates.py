#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gates: two products of one input in one kernel, on the emulator.   gates.py KPC DRIVER FOLDER

SwiGLU, GEGLU and plain ones of ragged sizes, each one kernel; `kpc verify` compares the emulated run with the model on the
host. Ends with 77 where onnx is not installed.
"""

import os
import pathlib
import subprocess
import sys

import emulated

try:
    import numpy
    from onnx import TensorProto, helper, numpy_helper, save
except ImportError:
    print("SKIPPED: onnx is not installed")
    sys.exit(77)

FEW = (1, 5, 16)  # rows, in an artifact for no more

#        name          precision gate   rows  sum  columns bias  B transposed  schedule
CASES = [("one_row", "fp16", "Sigmoid", 1, 200, 136, False, False, None),
         ("five_rows", "bf16", "Gelu", 5, 72, 24, True, True, None),
         ("few_slots", "fp16", "Gelu", 16, 136, 200, True, False, "gemv 32x64 warps 8 slots 3 tiles 1"),
         ("few_tiles", "fp16", "Sigmoid", 16, 72, 1072, False, False, "gemv 16x64 warps 8 slots 3 tiles 2"),
         ("few_wide", "bf16", "Sigmoid", 16, 136, 136, False, True, "gemv 64x32 warps 8 slots 3 tiles 1"),
         ("swiglu", "fp16", "Sigmoid", 129, 200, 136, False, False, None),
         ("geglu", "bf16", "Gelu", 70, 72, 64, True, False, None),
         ("transposed", "fp16", "Sigmoid", 130, 96, 200, True, True, None),
         ("wide", "fp16", "Sigmoid", 300, 136, 264, False, False, "gemm 128x256x64 slots 3 group 2"),
         ("below", "bf16", "Sigmoid", 200, 136, 136, True, False, "gemm 64x128x64 slots 3 group 2 cluster 2x1"),
         ("turned_below", "fp16", "Gelu", 200, 136, 136, False, True, "gemm 64x256x64 slots 3 group 1 cluster 2x1"),
         ("beside", "fp16", "Sigmoid", 136, 72, 264, False, False, "gemm 64x128x64 slots 3 group 2 cluster 1x2")]


def model(gate, total, columns, bias, transposed):
    random = numpy.random.default_rng(1)
    weights, nodes = [], []

    def weight(name, *shape):
        weights.append(numpy_helper.from_array(random.standard_normal(shape).astype(numpy.float32) / total**0.5, name))
        return name

    def linear(name):
        shape = (columns, total) if transposed else (total, columns)
        inputs = ["x", weight(f"{name}_w", *shape)] + ([weight(f"{name}_b", columns)] if bias else [])
        nodes.append(helper.make_node("Gemm", inputs, [name], name=name, transB=int(transposed)))
        return name

    first, second = linear("gate"), linear("up")
    nodes.append(helper.make_node(gate, [first], ["active"]))
    if gate == "Sigmoid":
        nodes.append(helper.make_node("Mul", [first, "active"], ["silu"]))
    nodes.append(helper.make_node("Mul", [nodes[-1].output[0], second], ["y"]))
    # What comes behind keeps the result narrow.
    nodes[-1].output[0] = "gated"
    nodes.append(helper.make_node("MatMul", ["gated", weight("down", columns, 64)], ["y"], name="down"))
    graph = helper.make_graph(nodes, "gate", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", total])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 64])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def main():
    kpc, driver, folder = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ, KPC_CUDA_DRIVER=driver, KPC_EMULATE_TARGET="sm_90a")
    failed = 0
    for name, precision, gate, rows, total, columns, bias, transposed, schedule in CASES:
        source, artifact = folder / f"{name}.onnx", folder / f"{name}.kpc"
        save(model(gate, total, columns, bias, transposed), source)
        forced = []
        if schedule:
            rules = folder / f"{name}.schedule"
            rules.write_text(f"gate.* = {schedule}\n")
            forced = ["--schedule", rules]
        sizes = "1..16:opt=4" if rows in FEW else "1..4096:opt=256"
        subprocess.run([kpc, "compile", source, *forced, "--arch", "sm_90a", "--precision", precision,
                        "--io-precision", precision, "--dim", f"rows={sizes}", "--variants", "1", "-o", artifact,
                        "--no-cache", "--quiet"], check=True)
        shown = subprocess.run([kpc, "inspect", artifact], check=True, capture_output=True, text=True).stdout
        kernels = emulated.kernels(shown)
        # The gate, and the product behind it; the caller's x is copied in front.
        builder = " gemv " if rows in FEW else " gemm "
        products = [line for line in kernels if builder in line]
        if len(products) != 2 or len(kernels) > 3 or (schedule and schedule not in shown):
            print(f"{name} is not a gate and a product:\n{shown}")
            failed += 1
        done = subprocess.run([kpc, "verify", artifact, "--model", source, "-i", "random", "--dim", f"rows={rows}",
                               "--device", "cuda:0", "--no-cache"], env=environment)
        failed += done.returncode != 0
    print(f"{len(CASES)} gates, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
