#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with weights of few bits on the host, against onnxruntime; artifacts hold the codes, and bad scales are refused.

    python3 few_bits.py KPC FOLDER
"""

import pathlib
import subprocess
import sys

import numpy as np

try:
    import onnx
    import onnxruntime
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "device"))
from codes import model  # noqa: E402  (the path above)

# rows, sum, columns, bits, block, zero points, bias, spelling, signed.
CASES = [(1, 256, 40, 4, 128, False, False, "nbits", False), (3, 456, 37, 4, 64, True, True, "nbits", False),
         (7, 100, 24, 4, 16, True, False, "nbits", False), (20, 300, 24, 4, 256, False, False, "nbits", False),
         (5, 456, 37, 8, 64, True, False, "nbits", False), (4, 392, 48, 8, 32, False, True, "nbits", False),
         (3, 256, 40, 4, 64, True, False, "axis0", True), (9, 384, 33, 4, 128, False, True, "axis1", True),
         (2, 256, 40, 8, 128, True, False, "axis0", True), (1, 256, 48, 8, 64, False, False, "axis1", False)]
# What is done to a model, and what kpc says.
def with_initializer(made, name, change):
    for tensor in made.graph.initializer:
        if tensor.name == name:
            array = change(onnx.numpy_helper.to_array(tensor).copy())
            tensor.CopyFrom(onnx.numpy_helper.from_array(array, name))
    return made


def filled(place, value):
    def change(array):
        array.flat[place] = value
        return array
    return change


def with_group_index(made):
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(255, np.int32), "g"))
    made.graph.node[0].input.extend(["", "g"])
    return made


def bad_models():
    def nbits():
        return model(2, 256, 16, "fp32", 4, 64)
    def linear():
        return model(2, 256, 16, "fp32", 4, 64, False, False, "axis0", True)
    yield "zero", with_initializer(nbits(), "s", filled(5, 0)), ["'product' (com.microsoft.MatMulNBits", "scale 5 is zero", "quantise the weight again"]
    yield "nan", with_initializer(nbits(), "s", filled(7, np.nan)), ["'product' (com.microsoft.MatMulNBits", "scale 7 is NaN or infinite"]
    yield "linear-infinite", with_initializer(linear(), "s", filled(3, np.inf)), ["'wide' (DequantizeLinear", "scale 3 is NaN or infinite"]
    yield "scales", with_initializer(nbits(), "s", lambda s: s[:60]), ["'product' (com.microsoft.MatMulNBits", "scales of [60], expected [16, 4]"]
    yield "linear-scales", with_initializer(linear(), "s", lambda s: s[:3]), ["'wide' (DequantizeLinear", "scales of [3, 16] do not fit [256, 16]"]
    yield "codes", with_initializer(nbits(), "w", lambda w: w[:, :3]), ["B of [16, 3, 32], expected [16, 128]"]
    yield "g_idx", with_group_index(nbits()), ["'product' (com.microsoft.MatMulNBits", "'g_idx' is i32[255]", "for each of 256 rows"]


def run(kpc, *words):
    return subprocess.run([str(word) for word in (kpc, *words)], capture_output=True, text=True, timeout=300)


def problem(kpc, folder, number, one):
    rows, total, columns, bits, block, zeros, bias, spelling, signed = one
    made = model(rows, total, columns, "fp32", bits, block, zeros, bias, spelling, signed)
    at = folder / str(number)
    at.mkdir(parents=True, exist_ok=True)
    onnx.save(made, at / "m.onnx")
    x = np.random.default_rng(number).standard_normal((rows, total)).astype(np.float32)
    np.save(at / "x.npy", x)
    for words in (["compile", at / "m.onnx", "--arch", "host", "--precision", "fp32", "-o", at / "m.kpc", "--quiet"],
                  ["run", at / "m.kpc", "--input", f"x={at / 'x.npy'}", "--output-dir", at, "--device", "host"]):
        done = run(kpc, *words)
        if done.returncode != 0:
            return (done.stdout + done.stderr)[-600:]
    # Optimised, onnxruntime multiplies in int8.
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(made.SerializeToString(), options, ["CPUExecutionProvider"])
    want, got = session.run(None, {"x": x})[0], np.load(at / "y.npy")
    error = np.sqrt(np.mean((got - want) ** 2) / np.mean(want ** 2))
    if not error < 1e-5:
        return f"RMS error {error:.3g}"
    return None


def packed_problem(kpc, folder):
    """The artifact of a larger weight has no room for its values."""
    for spelling, bits in (("nbits", 4), ("axis0", 4), ("axis1", 8)):
        onnx.save(model(2, 1024, 1024, "fp32", bits, 64, True, False, spelling, False), folder / "large.onnx")
        done = run(kpc, "compile", folder / "large.onnx", "--arch", "host", "-o", folder / "large.kpc", "--quiet")
        size, most = (folder / "large.kpc").stat().st_size if done.returncode == 0 else 0, 1024 * 1024 * bits // 8 + 300_000
        if not 0 < size < most:
            yield f"{spelling}: {size} bytes, expected less than {most}: {done.stderr[-300:]}"


def main(kpc, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    problems = [f"{one}: {text}" for number, one in enumerate(CASES) if (text := problem(kpc, folder, number, one))]
    problems += packed_problem(kpc, folder)
    for name, made, texts in bad_models():
        onnx.save(made, folder / f"{name}.onnx")
        done = run(kpc, "check", folder / f"{name}.onnx")
        missing = [text for text in texts if text not in done.stdout + done.stderr]
        if done.returncode != 1 or missing:
            problems.append(f"{name}: exit {done.returncode}, without {missing}: {(done.stdout + done.stderr)[-400:]}")
    print("\n".join(problems))
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
