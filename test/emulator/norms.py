#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Norms that few-row GEMMs compute, on the emulator.   norms.py KPC DRIVER TARGET FOLDER

Models of gemv.py, codes.py, gates.py and rotary.py with a norm in front of x, of ragged sizes: RMSNorm as exporters spell it, and
LayerNormalization. With few rows there must be no kernel of rows, and the GEMM must show `gemv rows`. With more rows than that
pays for, variants read what a kernel in front wrote: these cases run at both sides of the bound. `kpc verify` compares the
emulated run with the model on the host. Ends with 77 where onnx is not installed.
"""

import dataclasses
import json
import re
import subprocess
import sys

import emulated

try:
    import numpy
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    print("SKIPPED: onnx is not installed")
    sys.exit(77)

import codes
import gates
import rotary

products = emulated.device_models("gemv")
EPSILON = 1e-5


def constant(name, kind, array):
    """`kind` is the model's type of x."""
    if kind == TensorProto.BFLOAT16:
        return helper.make_tensor(name, kind, numpy.shape(array), numpy.asarray(array, numpy.float32).flatten())
    return numpy_helper.from_array(numpy.asarray(array, helper.tensor_dtype_to_np_dtype(kind)), name)


def rms(kind, total):
    """x / sqrt(mean(x²) + ε) · g"""
    weights = [constant("norm_two", kind, 2), constant("norm_epsilon", kind, EPSILON), constant("norm_g", kind, numpy.linspace(0.5, 2, total)),
               numpy_helper.from_array(numpy.array([-1]), "norm_last")]
    nodes = [helper.make_node("Pow", ["x", "norm_two"], ["norm_square"]),
             helper.make_node("ReduceMean", ["norm_square", "norm_last"], ["norm_mean"], keepdims=1),
             helper.make_node("Add", ["norm_mean", "norm_epsilon"], ["norm_sum"]), helper.make_node("Sqrt", ["norm_sum"], ["norm_root"]),
             helper.make_node("Div", ["x", "norm_root"], ["norm_unit"]), helper.make_node("Mul", ["norm_unit", "norm_g"], ["normed"])]
    return nodes, weights


def layer(kind, total):
    weights = [constant("norm_g", kind, numpy.linspace(0.5, 2, total)), constant("norm_b", kind, numpy.linspace(-1, 1, total))]
    return [helper.make_node("LayerNormalization", ["x", "norm_g", "norm_b"], ["normed"], epsilon=EPSILON)], weights


def with_norm(model, norm):
    graph = model.graph
    x = graph.input[0]
    nodes, weights = norm(x.type.tensor_type.elem_type, x.type.tensor_type.shape.dim[-1].dim_value)
    for number, node in enumerate(nodes):
        node.name = f"norm_{number}"
    for node in graph.node:
        node.input[:] = ["normed" if name == "x" else name for name in node.input]
    old = list(graph.node)
    del graph.node[:]
    graph.node.extend(nodes + old)
    graph.initializer.extend(weights)
    return model


def plain(rows, total, columns, element, transposed, bias, norm, sizes="", schedule=""):
    made = with_norm(products.model("rows" if sizes else rows, total, columns, element, transposed, bias), norm)
    return emulated.Case(f"{norm.__name__}_{rows}x{total}x{columns}_{element}", made, {"rows": sizes} if sizes else {}, {"rows": rows} if sizes else {},
                         f"norm.* = {schedule}" if schedule else "", shows="gemv rows", kernels=1)


def of_codes(norm, *arguments):
    made = codes.case(*arguments)
    return dataclasses.replace(made, name=f"{norm.__name__}_codes_{made.name}", model=with_norm(made.model, norm), shows="gemv rows int")


def of_gate(norm, *arguments, **more):
    made = gates.case("gate", gates.few(*arguments, **more))
    return dataclasses.replace(made, name=f"{norm.__name__}_{arguments[0]}", model=with_norm(made.model, norm), shows="gemv rows", lacks="rows 1 x")


def of_heads(norm, *arguments, **more):
    made = rotary.case(rotary.Layer(*arguments, few=True, **more))
    return dataclasses.replace(made, name=f"{norm.__name__}_{arguments[0]}", model=with_norm(made.model, norm), shows="gemv rows")


CASES = [plain(1, 264, 40, "fp16", False, False, rms), plain(1, 8, 24, "bf16", True, False, rms), plain(3, 1032, 24, "bf16", True, True, layer),
         plain(16, 512, 48, "bf16", False, True, rms), plain(5, 200, 72, "fp16", True, True, layer, "1..16:opt=4"),
         plain(16, 1096, 72, "fp16", False, False, layer, "1..16:opt=2"), plain(2, 4104, 40, "fp16", False, True, rms),
         plain(9, 72, 40, "fp16", False, False, rms, "0..16:opt=4"),
         of_codes(rms, 1, 256, 40, "fp16", 4, 128, False, False, "nbits", False, 0), of_codes(layer, 3, 456, 40, "bf16", 4, 64, True, True, "nbits", False, 0),
         of_codes(rms, 9, 456, 40, "bf16", 8, 64, True, False, "nbits", False, 0), of_codes(layer, 5, 200, 72, "fp16", 4, 64, True, True, "nbits", False, 16),
         of_gate(rms, "one_row", "fp16", "Sigmoid", 1, 200, 136), of_gate(layer, "sixteen_rows", "bf16", "Gelu", 16, 136, 72, bias=True),
         of_gate(rms, "five_rows", "bf16", "Gelu", 5, 72, 24, bias=True, transposed=True, sizes="1..8:opt=1"),
         of_heads(rms, "few", 64, 4, 2), of_heads(layer, "few_each_row", 128, 2, 2, "bf16", bias=True, each_row=True), of_heads(rms, "always_one", 64, 4, 2, one=True)]
# A block has several tiles; other chips have other schedules.
TILES = [plain(2, 136, 2200, "bf16", True, False, rms, schedule="gemv rows 16x64 warps 8 stages 3 tiles 2")]


def variants():
    """Those that may have more rows than the GEMM computes: name, model, the rows' dim and the options of compile."""
    yield "many_plain", with_norm(products.model("rows", 264, 136, "fp16", True, True), rms), ()
    options = ("--precision", "fp16", "--io-precision", "fp16")
    yield "many_gate", with_norm(gates.model(gates.few("many", "fp16", "Sigmoid", 1, 200, 136)), layer), options


def listed(run, artifact, rows):
    done = subprocess.run([run.kpc, "inspect", artifact, "--json", "--dim", f"rows={rows}"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["targets"][0]


def is_right_at_all(run, name, model, options):
    case = emulated.Case(name, model, {"rows": "1..256:opt=1"}, options=options)
    source, artifact = run.compile(case, "--variants", "4")
    right = True
    shown = listed(run, artifact, 1)
    bounds = {int(most) for kernel in shown["kernels"] for most in re.findall(r"rows <= (\d+)", kernel.get("where", ""))}
    for rows in sorted({1, 8, 9, 16, 17, 70} | bounds | {bound + 1 for bound in bounds}):
        done = subprocess.run([run.kpc, "verify", artifact, "--model", source, "-i", "random", "--dim", f"rows={rows}", "--device", "cuda:0", "--no-cache"],
                              env=run.environment, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"WRONG: {name} at {rows} rows\n{done.stdout}{done.stderr}")
            right = False
    return right


def main():
    kpc, driver, target, folder = sys.argv[1:]
    run = emulated.Emulated(kpc, driver, target, folder)
    chosen = emulated.sampled(CASES + (TILES if target == "sm_90a" else []))
    failed = sum(not run.is_right(case) for case in chosen)
    many = list(variants())
    if target != "portable":
        failed += sum(not is_right_at_all(run, *one) for one in many)
    print(f"{len(chosen)} norms, {len(many)} with variants, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
