#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products on mma.sync, on the emulator.   mma_sync.py KPC DRIVER TARGET FOLDER [NAME…]

Models of one product each, of tiny and ragged sizes and of rows that begin anywhere; `kpc verify` compares the emulated run with
the model on the host. Each schedule is forced once. Ends with 77 where onnx is not installed.
"""

import os
import pathlib
import subprocess
import sys

try:
    from onnx import TensorProto, helper, save
except ImportError:
    print("SKIPPED: onnx is not installed")
    sys.exit(77)

TYPES = {"bf16": TensorProto.BFLOAT16, "fp16": TensorProto.FLOAT16, "fp32": TensorProto.FLOAT}
#        name            type  batch rows  sum columns  bias   B transposed, A transposed
CASES = [("one_tile", "bf16", 0, 64, 64, 64, False, False, False),
         ("one_row", "bf16", 0, 1, 64, 64, False, False, False),
         ("tiny", "fp16", 0, 17, 3, 9, False, False, False),
         ("ragged", "bf16", 0, 129, 200, 136, False, False, False),
         ("halves", "fp16", 0, 70, 72, 40, True, False, False),
         ("transposed", "bf16", 0, 129, 96, 136, True, True, False),
         ("turned", "bf16", 0, 136, 104, 72, True, False, True),
         ("both", "fp16", 0, 200, 72, 136, False, True, True),
         # Pieces of 2, 4 and 8 bytes: of what the caller gives, too small to be copied first.
         ("odd_rows", "fp16", 0, 65, 139, 31, True, False, False),
         ("odd_transposed", "bf16", 0, 40, 77, 50, True, True, False),
         ("by_four", "fp16", 0, 50, 66, 34, False, False, False),
         ("by_eight", "bf16", 0, 50, 68, 36, False, True, False),
         ("batched", "bf16", 3, 70, 72, 24, True, False, False),
         ("batched_transposed", "fp16", 2, 33, 40, 65, False, True, False)]
CASES += [("wide", "fp16", 0, 129, 72, 130, True, False, False), ("wide_odd", "bf16", 2, 40, 31, 33, True, False, False)]
WIDE = {"wide", "wide_odd"}
TF32 = [("tf32", "fp32", 0, 129, 72, 136, True, False, False),
        ("tf32_transposed", "fp32", 0, 70, 100, 72, False, True, False),
        ("tf32_turned", "fp32", 0, 72, 40, 129, False, False, True),
        ("tf32_odd", "fp32", 0, 33, 31, 35, True, True, False),
        ("tf32_batched", "fp32", 2, 65, 36, 68, True, True, False)]
CASES += TF32
CUTS = ["128x128x32 by 128x64", "128x256x32 by 128x128", "256x128x64 by 128x128", "128x128x64 by 128x128", "128x64x32 by 128x64",
        "64x128x64 by 64x64", "64x64x32 by 64x64", "64x64x64 by 64x32"]
FORCED = {f"forced_{number}": f"mmasync {cut} slots {2 + number % 2} order {1 + number}" for number, cut in enumerate(CUTS)}
CASES += [(name, "fp16" if number % 2 else "bf16", 0, 270, 72 if number % 3 else 136, 264, True, number % 4 == 1, number % 4 == 2)
          for number, name in enumerate(FORCED)]


def model(kind, batch, total, columns, bias, transposed, turned, wide=False):
    def shape(*dims):
        return [*([batch] if batch else []), *dims]

    inputs = [helper.make_tensor_value_info("x", kind, shape(total, "rows") if turned else shape("rows", total)),
              helper.make_tensor_value_info("w", kind, shape(columns, total) if transposed else shape(total, columns))]
    nodes, left, right = [], "x", "w"
    swap = [0, 2, 1] if batch else [1, 0]
    if transposed:
        nodes.append(helper.make_node("Transpose", ["w"], ["wt"], perm=swap))
        right = "wt"
    if turned:
        nodes.append(helper.make_node("Transpose", ["x"], ["xt"], perm=swap))
        left = "xt"
    nodes.append(helper.make_node("MatMul", [left, right], ["product"]))
    if bias:
        inputs.append(helper.make_tensor_value_info("b", kind, [columns]))
        nodes.append(helper.make_node("Add", ["product", "b"], ["sum"]))
        nodes.append(helper.make_node("Relu", ["sum"], ["active"]))
    if wide:
        kind = TensorProto.FLOAT
        nodes.append(helper.make_node("Cast", [nodes[-1].output[0]], ["cast"], to=kind))
    nodes[-1].output[0] = "y"
    graph = helper.make_graph(nodes, "product", inputs,
                              [helper.make_tensor_value_info("y", kind, shape("rows", columns))])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def main():
    kpc, driver, target, folder, *names = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ, KPC_CUDA_DRIVER=driver, KPC_EMULATE_TARGET=target)
    failed, done = 0, 0
    for name, element, batch, rows, total, columns, bias, transposed, turned in CASES:
        if names and name not in names:
            continue
        source, artifact = folder / f"{name}.onnx", folder / f"{name}.kpc"
        save(model(TYPES[element], batch, total, columns, bias, transposed, turned, name in WIDE), source)
        forced = []
        if name in FORCED:
            rules = folder / f"{name}.schedule"
            rules.write_text(f".* = {FORCED[name]}\n")
            forced = ["--schedule", rules]
        if element == "fp32":
            forced = ["--precision", "tf32"]
        subprocess.run([kpc, "compile", source, *forced, "--arch", target, "--dim", "rows=1..4096:opt=256", "--variants", "1",
                        "-o", artifact, "--no-cache", "--quiet"], check=True)
        result = subprocess.run([kpc, "verify", artifact, "--model", source, "-i", "random", "--dim", f"rows={rows}",
                                 "--device", "cuda:0", "--no-cache"], env=environment)
        failed += result.returncode != 0
        done += 1
    print(f"{done} products, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
