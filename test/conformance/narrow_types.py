#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types of 8, 4 and 2 bits beyond ONNX's own node tests: every f16 to each of them and back, packed inputs, outputs and
weights of odd sizes, quantisation per tensor, axis and block. Bit for bit as ONNX's reference.

    python3 narrow_types.py --kpc FILE --work-dir FOLDER [--arch host] [--device host] [--only REGEX]

Needs onnx, numpy and ml_dtypes.
"""

import argparse
import pathlib
import re
import subprocess
import sys

try:
    import ml_dtypes
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    from onnx.reference import ReferenceEvaluator
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

E4M3FN, E4M3FNUZ = TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E4M3FNUZ
E5M2, E5M2FNUZ, E8M0 = TensorProto.FLOAT8E5M2, TensorProto.FLOAT8E5M2FNUZ, TensorProto.FLOAT8E8M0
E2M1, U4, I4 = TensorProto.FLOAT4E2M1, TensorProto.UINT4, TensorProto.INT4
U2, I2 = TensorProto.UINT2, TensorProto.INT2
F32, F16, I8, I32, I64 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT8, TensorProto.INT32, TensorProto.INT64
U8 = TensorProto.UINT8
FLOATS8 = (E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ)
INTEGERS = (U4, I4, U2, I2)
NAMES = {number: name.lower() for name, number in TensorProto.DataType.items()}
OPSET, IR = 25, 13


def dtype(element):
    return helper.tensor_dtype_to_np_dtype(element)


def bits_of(array):
    return array.view({1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[array.dtype.itemsize])


def codes(element, *shape):
    """Codes of the type in turn, all where the tensor is long enough."""
    count, width = int(np.prod(shape)), dtype(element).itemsize
    span = {U4: 16, I4: 16, E2M1: 16, U2: 4, I2: 4}.get(element, 256)
    raw = (np.arange(count) * 7 % span).astype(np.uint8)
    if element in (I4, I2):
        raw = np.where(raw >= span // 2, raw.astype(int) - span, raw).astype(np.int8)
    assert width == 1
    return raw.view(dtype(element)).reshape(shape)


class Case:
    """Nodes between inputs and outputs; the outputs are those of ONNX's reference."""

    def __init__(self, name, inputs, nodes, outputs, weights=(), symbols=()):
        self.name, self.inputs, self.nodes, self.outputs = name, inputs, nodes, outputs
        self.weights, self.symbols = weights, dict(symbols)

    def model(self):
        values = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype),
                                                self.symbols.get(name, array.shape)) for name, array in self.inputs.items()]
        results = [helper.make_tensor_value_info(name, element, None) for name, element in self.outputs.items()]
        weights = [numpy_helper.from_array(array, name) for name, array in dict(self.weights).items()]
        graph = helper.make_graph(self.nodes, "graph", values, results, weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs.split(), [output], name=output, **attributes)


def cast_cases():
    every = np.arange(65536, dtype=np.uint16).view(np.float16)
    nodes, outputs = [], {}
    for element in FLOATS8:
        for saturate in (0, 1):
            name = f"{NAMES[element]}_{saturate}"
            nodes.append(node("Cast", "x", name, to=element, saturate=saturate))
            outputs[name] = element
    nodes.append(node("Cast", "x", "e2m1", to=E2M1))
    outputs["e2m1"] = E2M1
    yield Case("cast.f16", {"x": every}, nodes, outputs)

    rng = np.random.default_rng(1)
    some = rng.integers(0, 1 << 32, 20000, np.uint32).view(np.float32)
    edges = [0, 0x00400000, 0x00400001, 0x003fffff, 0x00800000, 0x7f000000, 0x7f000001, 0x7f400000, 0x7f7fffff, 0x7f800000,
             0x7fc00000, 0x3f800000, 0x3fc00000, 0x3fbfffff, 0x3f800001, 1]
    some = np.concatenate([some, np.array(edges, np.uint32).view(np.float32)])
    nodes, outputs = [], {}
    for mode in ("up", "down", "nearest"):
        for saturate in (0, 1):
            name = f"{mode}_{saturate}"
            nodes.append(node("Cast", "x", name, to=E8M0, saturate=saturate, round_mode=mode))
            outputs[name] = E8M0
    for element in FLOATS8:
        nodes.append(node("Cast", "x", NAMES[element], to=element))
        outputs[NAMES[element]] = element
    yield Case("cast.f32", {"x": some}, nodes, outputs)

    inputs = {NAMES[element]: codes(element, 256) for element in (*FLOATS8, E8M0)}
    inputs |= {NAMES[element]: codes(element, 17) for element in (E2M1, *INTEGERS)}
    nodes, outputs = [], {}
    for name in inputs:
        for to in (F32, F16):
            nodes.append(node("Cast", name, f"{name}_to_{NAMES[to]}", to=to))
            outputs[f"{name}_to_{NAMES[to]}"] = to
    for name, to in (("float8e4m3fn", E5M2), ("float8e5m2", E4M3FN), ("float8e5m2", E4M3FNUZ), ("float4e2m1", E4M3FN),
                     ("int4", E4M3FN), ("int4", I8), ("uint2", U8), ("int4", I32), ("uint4", F32)):
        nodes.append(node("Cast", name, f"{name}_as_{NAMES[to]}", to=to))
        outputs[f"{name}_as_{NAMES[to]}"] = to
    yield Case("cast.back", inputs, nodes, outputs)


def movement_cases():
    for element in (I4, U2, E2M1, E4M3FN, E8M0):
        x, w = codes(element, 3, 5), codes(element, 7, 11)
        small = codes(element, 3)
        yield Case(f"move.{NAMES[element]}", {"x": x},
                   [node("Transpose", "x", "t", perm=[1, 0]), node("Reshape", "x shape", "r"), node("Identity", "w", "i"),
                    node("Transpose", "w", "wt", perm=[1, 0]), node("Identity", "small", "s"), node("Shape", "x", "size")],
                   {"t": element, "r": element, "i": element, "wt": element, "s": element, "size": I64},
                   {"w": w, "small": small, "shape": np.array([-1], np.int64)}, {"x": ["n", 5]})


def quantise_cases():
    rng = np.random.default_rng(2)
    x = (rng.standard_normal((6, 50)) * 3).astype(np.float32)
    for element in (U8, *INTEGERS):
        low, high = (ml_dtypes.iinfo(dtype(element)).min, ml_dtypes.iinfo(dtype(element)).max)
        zeros = rng.integers(low, high + 1, (6, 4)).astype(dtype(element))
        block, row, one = rng.uniform(0.3, 1, (6, 4)), rng.uniform(0.3, 1, 6), np.array(0.7)
        inputs = {"x": x, "block": block.astype(np.float32), "row": row.astype(np.float32), "one": one.astype(np.float32)}
        weights = {"zero_block": zeros, "zero_row": zeros[:, 0].copy(), "zero_one": zeros[0, 0].copy().reshape(())}
        nodes = [node("QuantizeLinear", "x block zero_block", "q_block", axis=1, block_size=13),
                 node("QuantizeLinear", "x row zero_row", "q_row", axis=0), node("QuantizeLinear", "x one zero_one", "q_one"),
                 node("QuantizeLinear", "x one", "q_plain", output_dtype=element)]
        nodes += [node("DequantizeLinear", "q_block block zero_block", "d_block", axis=1, block_size=13),
                  node("DequantizeLinear", "q_row row zero_row", "d_row", axis=0),
                  node("DequantizeLinear", "q_plain one", "d_plain"),
                  node("DequantizeLinear", "q_one one zero_one", "d_one", output_dtype=F16)]
        outputs = {n.output[0]: F32 if n.output[0][0] == "d" else element for n in nodes} | {"d_one": F16}
        yield Case(f"quantise.{NAMES[element]}", inputs, nodes, outputs, weights)
    for element in (*FLOATS8, E2M1):
        scale = rng.uniform(0.001, 0.9, (6, 4)).astype(np.float32)
        zero = np.zeros((6, 4), np.float32).astype(dtype(element))
        nodes = [node("QuantizeLinear", "x block", "q", axis=1, block_size=13, output_dtype=element),
                 node("QuantizeLinear", "x block zero", "q_zero", axis=1, block_size=13),
                 node("DequantizeLinear", "q block zero", "d", axis=1, block_size=13)]
        outputs = {"q": element, "q_zero": element, "d": F32}
        if element != E2M1:
            nodes.append(node("QuantizeLinear", "x block", "q_over", axis=1, block_size=13, output_dtype=element, saturate=0))
            outputs["q_over"] = element
        yield Case(f"quantise.{NAMES[element]}", {"x": x, "block": scale}, nodes, outputs, {"zero": zero})
    half = x.astype(np.float16)
    yield Case("quantise.precision", {"x": half, "one": np.array(0.3, np.float16)},
               [node("QuantizeLinear", "x one", "as_scale", output_dtype=I8),
                node("QuantizeLinear", "x one", "wide", output_dtype=I8, precision=F32)], {"as_scale": I8, "wide": I8})
    # MXFP4: powers of two as scales of blocks of 32; weights stay packed in the artifact.
    w, scale = codes(E2M1, 64, 96), codes(E8M0, 64, 3)
    scale = (np.arange(192) % 9 + 123).astype(np.uint8).view(dtype(E8M0)).reshape(64, 3)
    yield Case("weights.mxfp4", {"x": x[:1, :1]},
               [node("DequantizeLinear", "w scale", "y", axis=1, block_size=32, output_dtype=F32)], {"y": F32},
               {"w": w, "scale": scale})


def stored(array):
    """The array of a .npy file as kpc writes it: the codes, one element a byte, signed ones with their sign."""
    signed = array.dtype in (dtype(I4), dtype(I2))
    return bits_of(np.ascontiguousarray(array.astype(np.int8) if signed else array))


def run_case(case, options):
    """What is wrong with it; empty if it is right."""
    folder = options.work_dir / case.name
    folder.mkdir(parents=True, exist_ok=True)
    model = case.model()
    onnx.save(model, folder / "model.onnx")
    arguments = []
    for i, (name, array) in enumerate(case.inputs.items()):
        # As ml_dtypes stores them, or as ONNX does.
        path = folder / (f"x{i}.npy" if i % 2 == 0 else f"x{i}.pb")
        if i % 2 == 0:
            np.save(path, array)
        else:
            path.write_bytes(numpy_helper.from_array(array, name).SerializeToString())
        arguments += ["--input", f"{name}={path}"]
    for command in (["compile", folder / "model.onnx", "--arch", options.arch, "-O0", "-o", folder / "model.kpc", "--no-cache"],
                    ["run", folder / "model.kpc", *arguments, "--output-dir", folder, "--device", options.device]):
        done = subprocess.run([options.kpc, *command, "--quiet"], capture_output=True, text=True)
        if done.returncode:
            return f"kpc {command[0]}: exit code {done.returncode}: {done.stderr.strip()}"
    with np.errstate(all="ignore"):
        wanted = ReferenceEvaluator(model).run(None, case.inputs)
    for name, want in zip(case.outputs, wanted):
        got, want = np.load(folder / f"{name}.npy"), np.asarray(want)
        if got.dtype.itemsize != want.dtype.itemsize or got.shape != want.shape:
            return f"{name} is {got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
        nan = np.isnan(want.astype(np.float32)) if case.outputs[name] in (F32, F16) else np.zeros(want.shape, bool)
        wrong = (bits_of(got) != stored(want)) & ~(nan & np.isnan(got.astype(np.float32)))
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            return f"{name}: {int(wrong.sum())} wrong; at {list(at)} {bits_of(got)[at]:#x}, expected {stored(want)[at]:#x}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--arch", default="host")
    parser.add_argument("--device", default="host")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    cases = [case for make in (cast_cases, movement_cases, quantise_cases) for case in make()]
    cases = [case for case in cases if re.search(options.only, case.name)]
    wrong = {case.name: why for case in cases if (why := run_case(case, options))}
    for name, why in wrong.items():
        print(f"{name}: {why}")
    print(f"{len(cases)} models, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
