#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block scales: MXFP8, MXFP4, NVFP4 in each spelling, and by --precision, against arithmetic written from the formats' texts.

    python3 blocks.py --kpc FILE --work-dir FOLDER [--arch host] [--device host] [--only REGEX]

The reference is block_formats.py. Needs onnx and numpy.
"""

import argparse
import pathlib
import re
import subprocess
import sys

import numpy as np
from block_formats import FORMATS, decoded_e4m3, encoded_e4m3

try:
    from onnx import TensorProto, helper, save
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

F32, F16, U8, I4 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.UINT8, TensorProto.INT4
E4M3, E8M0, E2M1 = TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E8M0, TensorProto.FLOAT4E2M1
CODES = {"e4m3": E4M3, "e2m1": E2M1}


# Targets whose tensor cores multiply codes with their scales: by mma.sync, and by tcgen05, which TMA feeds.
SCALED, TENSOR_MEMORY = ("sm_120a", "sm_121a"), ("sm_100a", "sm_103a", "sm_110a")


class Model:
    def __init__(self, opset=25):
        self.nodes, self.constants, self.inputs, self.fed, self.opset = [], [], [], {}, opset

    def node(self, kind, inputs, domain="", outputs=1, **attributes):
        names = [f"{kind}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def raw(self, element, codes):
        """A constant of codes, packed as ONNX packs them."""
        flat = codes.astype(np.uint8).reshape(-1)
        if element in (E2M1, I4):
            flat = np.append(flat, np.zeros(len(flat) % 2, np.uint8))
            flat = (flat[0::2] & 15) | (flat[1::2] & 15) << 4
        name = f"c{len(self.constants)}"
        self.constants.append(helper.make_tensor(name, element, codes.shape, flat.astype(np.uint8).tobytes(), raw=True))
        return name

    def number(self, values, element=F32):
        values = np.asarray(values)
        name = f"c{len(self.constants)}"
        self.constants.append(helper.make_tensor(name, element, values.shape, values.astype(np.float32).reshape(-1)))
        return name

    def input(self, name, values):
        self.inputs.append(helper.make_tensor_value_info(name, F32, values.shape))
        self.fed[name] = values.astype(np.float32)
        return name

    def finish(self, result, shape):
        self.nodes.append(helper.make_node("Identity", [result], ["y"]))
        graph = helper.make_graph(self.nodes, "blocks", self.inputs, [helper.make_tensor_value_info("y", F32, shape)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset), helper.make_opsetid("trt", 1)], ir_version=13)


class Case:
    def __init__(self, name, model, fed, wanted, options=(), error=1e-6):
        self.name, self.model, self.fed, self.wanted, self.options, self.error = name, model, fed, wanted, options, error

    def is_scaled(self, target):
        """Whether the target multiplies codes; TMA stores rows of the result that begin at multiples of 16 bytes."""
        return "--precision" in self.options and (target in SCALED or (target in TENSOR_MEMORY and self.wanted.shape[-1] % 8 == 0))


def outliers(seed, *shape):
    """Random numbers of sizes that differ from block to block, some rows zero."""
    random = np.random.default_rng(seed)
    x = random.standard_normal(shape) * 2.0 ** random.integers(-6, 6, (shape[0], 1)) * 2.0 ** random.integers(-2, 3, (1, shape[1]))
    x[shape[0] // 2] = 0
    return x.astype(np.float32)


def second_of(x):
    return np.abs(x.astype(np.float64)).max() / (448 * 6)


def dequantised(m, f, x, turned=False, trt=False):
    """The node that gives what codes of x [rows, K] stand for, and those numbers; `turned`: codes lie as [K, rows]."""
    second = np.float32(second_of(x)).astype(np.float64) if f.name == "nvfp4" else None
    codes, scales, numbers = f.quantise(x, second)
    if turned:
        codes, scales = codes.T, scales.T
    axis = 0 if turned else 1
    given = m.raw(CODES[f.element], codes)
    if f.name == "nvfp4":
        scale = m.node("DequantizeLinear", [m.raw(E4M3, scales), m.number(second)])
        return m.node("DequantizeLinear", [given, scale], "trt" if trt else "", axis=axis, block_size=16), numbers * second
    if trt:
        return m.node("TRT_MXFP8DequantizeLinear", [given, m.raw(U8, scales)], "trt", axis=axis, block_size=32, output_dtype=F32), numbers
    return m.node("DequantizeLinear", [given, m.raw(E8M0, scales)], axis=axis, block_size=f.block, output_dtype=F32), numbers


def weights(f, rows, columns, total, gemm):
    """Weights are codes, [K, columns] of a MatMul or [columns, K] of a Gemm."""
    m = Model()
    x, w = outliers(rows, rows, total) / 16, outliers(columns, columns, total)
    b, numbers = dequantised(m, f, w, turned=not gemm)
    y = m.node("Gemm", [m.input("x", x), b], transB=1) if gemm else m.node("MatMul", [m.input("x", x), b])
    return Case(f"{f.name}_weights{'_gemm' if gemm else ''}", m.finish(y, [rows, columns]), m.fed, x.astype(float) @ numbers.T)


def dynamic(f, rows, columns, total):
    """NVIDIA's Model Optimizer: the input is quantised in each run, weights are codes."""
    m = Model()
    x, w = outliers(rows, rows, total), outliers(columns, columns, total)
    given = m.input("x", x)
    if f.name == "mxfp8":
        codes, scales = m.node("TRT_MXFP8DynamicQuantize", [given], "trt", 2, axis=-1, block_size=32, output_dtype=E4M3)
        a = m.node("TRT_MXFP8DequantizeLinear", [codes, scales], "trt", axis=-1, block_size=32, output_dtype=F32)
        numbers = f.quantise(x)[2]
    else:
        second = np.float32(second_of(x))
        scale = m.number(second)
        codes, scales = m.node("TRT_FP4DynamicQuantize", [given, scale], "trt", 2, axis=-1, block_size=16, scale_type=E4M3)
        a = m.node("DequantizeLinear", [codes, m.node("DequantizeLinear", [scales, scale], "trt")], "trt", axis=-1, block_size=16)
        numbers = f.quantise(x, float(second))[2] * float(second)
    b, others = dequantised(m, f, w, trt=True)
    y = m.node("MatMul", [a, m.node("Transpose", [b], perm=[1, 0])])
    return Case(f"{f.name}_dynamic", m.finish(y, [rows, columns]), m.fed, numbers @ others.T, error=2e-3 if f.name == "nvfp4" else 1e-6)


def plain_trt(rows, total):
    """FP8 and INT4 of the domain trt: a pair around a tensor, and weights of 4 bits in blocks."""
    m = Model()
    x = np.random.default_rng(rows).standard_normal((rows, total)).astype(np.float32)
    scale = m.number(0.5)
    a = m.node("TRT_FP8DequantizeLinear", [m.node("TRT_FP8QuantizeLinear", [m.input("x", x), scale], "trt"), scale], "trt")
    codes = np.random.default_rng(1).integers(-8, 8, (total, 24))
    scales = np.random.default_rng(2).uniform(0.5, 1, (total // 16, 24)).astype(np.float32)
    b = m.node("TRT_INT4DequantizeLinear", [m.raw(I4, codes), m.number(scales)], "trt", axis=0, block_size=16)
    numbers = decoded_e4m3(encoded_e4m3(x / 0.5)) * 0.5
    return Case("trt_plain", m.finish(m.node("MatMul", [a, b]), [rows, 24]), m.fed,
                numbers @ (codes * np.repeat(scales.astype(float), 16, axis=0)))


def by_precision(f, rows, columns, total, batch=None, known=True):
    """--precision: kpc makes the codes of weights and of each input, whose rows it may not know."""
    m = Model(21)
    x, w = outliers(rows, rows, total), outliers(columns, columns, total)

    def numbers(v):
        if f.name != "nvfp4":
            return f.quantise(v)[2]
        second = np.maximum(np.abs(v.astype(np.float64)).max(axis=1, keepdims=True), 1e-30) / (448 * 6)
        return f.quantise(v, second)[2] * second

    y = m.node("MatMul", [m.input("x", x.reshape(batch, -1, total) if batch else x), m.number(w.T)])
    shape = [batch, rows // batch, columns] if batch else [rows, columns]
    model = m.finish(y, shape)
    if not known:
        for value in (model.graph.input[0], model.graph.output[0]):
            value.type.tensor_type.shape.dim[0].dim_param = "rows"
    kind = "_batch" if batch else "" if known else "_unknown"
    return Case(f"{f.name}_precision{kind}_{total}", model, m.fed, (numbers(x) @ numbers(w).T).reshape(shape),
                ("--precision", f.name, *(() if known else ("--dim", "rows=17..300"))), error=2e-3)


def cases():
    for f in FORMATS.values():
        yield weights(f, 33, 40, 96, gemm=False)
        yield weights(f, 70, 72, 160, gemm=True)
        yield by_precision(f, 37, 48, 96)
        yield by_precision(f, 70, 72, 160, known=False)
        yield by_precision(f, 42, 24, 64, batch=3)
        # Several tiles, and more steps along K than stages.
        yield by_precision(f, 131, 150, 1184)
    yield dynamic(FORMATS["mxfp8"], 35, 40, 96)
    yield dynamic(FORMATS["nvfp4"], 35, 40, 96)
    yield plain_trt(33, 48)


def is_right(case, options):
    folder = options.work_dir / case.name
    folder.mkdir(parents=True, exist_ok=True)
    save(case.model, folder / "model.onnx")
    given = []
    for name, values in case.fed.items():
        np.save(folder / f"{name}.npy", values)
        given += ["--input", f"{name}={folder / name}.npy"]
    subprocess.run([options.kpc, "compile", folder / "model.onnx", "--arch", options.arch, *case.options, "-o", folder / "model.kpc", "--quiet"],
                   check=True)
    if case.is_scaled(options.arch):
        shown = subprocess.run([options.kpc, "inspect", folder / "model.kpc"], check=True, capture_output=True, text=True).stdout
        if f"{case.options[1]} -> f32" not in shown:
            print(f"{case.name}: no kernel multiplies codes with their scales:\n{shown}")
            return False
    subprocess.run([options.kpc, "run", folder / "model.kpc", "--device", options.device, "-q", "--output-dir", folder / "out", *given], check=True)
    y = np.load(folder / "out" / "y.npy").astype(np.float64)
    error = np.sqrt(np.mean((y - case.wanted) ** 2) / np.mean(case.wanted**2))
    # GPUs multiply fp32 as tf32.
    allowed = max(case.error, 1e-6 if options.arch.startswith("host") else 1e-3)
    print(f"{case.name:24} rms error {error:.2e}, {allowed:.0e} is allowed")
    return bool(np.isfinite(y).all()) and error <= allowed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kpc", required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--arch", default="host")
    parser.add_argument("--device", default="host")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    wrong = [case.name for case in cases() if re.search(options.only, case.name) and not is_right(case, options)]
    print(f"wrong: {', '.join(wrong)}" if wrong else "all are right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
