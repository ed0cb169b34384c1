#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`--precision int4`: weights that codes of 4 bits spell exactly give what fp16 gives, on the host and on emulated GPUs.

    python3 int4.py build/dev/bin/kpc DRIVER FOLDER

Of few rows a kernel reads the codes; of many the weight is dequantised in front. Exits 77 (a skip) where onnx is not installed.
"""

import os
import pathlib
import subprocess
import sys

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(77)

COLUMNS = 40
# Rows, K, a group, and whether Gemm has its weight as [N, K]. The last group is cut where K is no multiple.
CASES = [(3, 256, 128, False), (16, 200, 64, True), (2, 96, 32, False), (40, 200, 32, False), (3, 37, 32, True)]


def weight(draw, k, group):
    """Multiples of 1/8 whose groups have codes 0 and 15 in each column, so that the step is 1/8."""
    codes = draw.integers(0, 16, (k, COLUMNS))
    zeros = draw.integers(0, 16, (-(-k // group), COLUMNS))
    for first in range(0, k, group):
        codes[first], codes[first + 1] = 0, 15
    return ((codes - zeros.repeat(group, 0)[:k]) / 8).astype(np.float32)


def model(w, rows, turned):
    b = np.arange(COLUMNS, dtype=np.float32)
    node = helper.make_node("Gemm", ["x", "w", "b"], ["s"], "layer", transB=int(turned))
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, size]) for name, size in (("x", len(w)), ("y", COLUMNS))]
    graph = helper.make_graph([node, helper.make_node("Relu", ["s"], ["y"], "behind")], "int4", ports[:1], ports[1:],
                              [numpy_helper.from_array(np.ascontiguousarray(w.T) if turned else w, "w"), numpy_helper.from_array(b, "b")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def call(command, **variables):
    process = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=os.environ | variables, timeout=500)
    if process.returncode:
        sys.exit(f"FAILED: {' '.join(map(str, command))}\n{process.stdout}{process.stderr}")
    return process.stdout


def main():
    kpc, driver, folder = map(pathlib.Path, sys.argv[1:4])
    folder.mkdir(parents=True, exist_ok=True)
    draw, good = np.random.default_rng(1), True
    for rows, k, group, turned in CASES:
        w, x = weight(draw, k, group), draw.integers(-3, 4, (rows, k)).astype(np.float16)
        onnx.save(model(w, rows, turned), folder / "m.onnx")
        np.save(folder / "x.npy", x)
        wanted = np.maximum(x.astype(np.float64) @ w + np.arange(COLUMNS), 0)
        for target in ("host", "sm_80", *(["sm_90a"] if rows == 16 else [])):
            call([kpc, "compile", folder / "m.onnx", "--arch", target, "--precision", "int4", "--io-precision", "fp16", "--weight-group", str(group),
                  "-o", folder / "m.kpc", "-q", "--no-cache"])
            device = "host" if target == "host" else f"emulate:{target}"
            call([kpc, "run", folder / "m.kpc", "--input", f"x={folder / 'x.npy'}", "--device", device, "--output-dir", folder, "-q"],
                 KPC_CUDA_DRIVER=str(driver))
            error = np.abs(np.load(folder / "y.npy") - wanted).max() / np.abs(wanted).max()
            shown = call([kpc, "inspect", folder / "m.kpc"])
            reads = "gemv int4" in shown
            fits = error < 1e-3 and reads == (target != "host" and rows <= 16 and k % 8 == 0)
            print(f"{rows} rows, K {k}, groups of {group} on {target}: {error:.1e}{', codes are read' if reads else ''}{'' if fits else ' FAILED'}")
            good &= fits
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
