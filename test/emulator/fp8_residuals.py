#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Residuals of FP8 convolutions are read as codes.   fp8_residuals.py KPC DRIVER FOLDER

Two bottleneck blocks on an emulated sm_90a: nearly as near to fp32 as with residuals of 16 bits; the same bits twice; and no kernel that only makes
codes. With --no-residuals-of-codes there are some. Exits 77 (a skip) where numpy or onnx is not installed.
"""

import pathlib
import re
import sys

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(77)

from fp8_layers import call, error


def write(path, width, inner):
    """A first convolution, then blocks of 1x1, 3x3, 1x1 with a bias, a residual and a ReLU."""
    draw, nodes, made = np.random.default_rng(1), [], []

    def add(op, *inputs, **attributes):
        nodes.append(helper.make_node(op, list(inputs), [f"{op.lower()}_{len(nodes)}"], name=f"{op.lower()}_{len(nodes)}", **attributes))
        return nodes[-1].output[0]

    def conv(x, channels, outputs, taps):
        w = draw.standard_normal((outputs, channels, taps, taps)) / np.sqrt(channels * taps * taps)
        for name, values in (("w", w), ("b", draw.standard_normal(outputs) / 8)):
            made.append(numpy_helper.from_array(values.astype(np.float32), f"{name}{len(nodes)}"))
        return add("Conv", x, f"w{len(nodes)}", f"b{len(nodes)}", pads=[taps // 2] * 4)

    x = add("Relu", conv("x", width, width, 1))
    for _ in range(2):
        y = add("Relu", conv(x, width, inner, 1))
        y = add("Relu", conv(y, inner, inner, 3))
        x = add("Relu", add("Add", conv(y, inner, width, 1), x))
    x = conv(x, width, width, 1)
    nodes[-1].output[0] = "y"
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, path.stem, [value("x", TensorProto.FLOAT, [1, width, 9, 11])], [value("y", TensorProto.FLOAT, None)], made)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)


def main():
    kpc, driver, folder = map(pathlib.Path, sys.argv[1:4])
    folder.mkdir(parents=True, exist_ok=True)
    model = folder / "residuals.onnx"
    write(model, 256, 128)
    draw = np.random.default_rng(2)
    np.save(folder / "x.npy", draw.standard_normal((1, 256, 9, 11)).astype(np.float32))
    np.savez(folder / "samples.npz", x=draw.standard_normal((4, 1, 256, 9, 11)).astype(np.float32))
    calibration = folder / "calibration"
    call([kpc, "calibrate", model, "--data", folder / "samples.npz", "-o", calibration, "-q", "--no-cache"])

    def run(target, *options):
        artifact = folder / f"{target}.kpc"
        call([kpc, "compile", model, "--arch", target, *options, "-o", artifact, "-q", "--no-cache"])
        where = "host" if target == "host" else f"emulate:{target}"
        call([kpc, "run", artifact, "--input", f"x={folder / 'x.npy'}", "--device", where, "--output-dir", folder, "-q"], KPC_CUDA_DRIVER=str(driver))
        return np.load(folder / "y.npy").astype(np.float64), call([kpc, "inspect", artifact])

    def only_codes(shown):
        lines = shown[shown.index("kernels of"):].split("\nremarks:")[0].splitlines()[2:]
        # A kernel that several layers share reads its scale, of f32.
        return [line for line in lines if " map x" in line and re.search(r" f16(,f32)? -> i8", line)]

    asked = ("--precision", "fp8", "--precision-for", ".*=fp8", "--calibration", calibration)
    wanted, _ = run("host", "--precision", "fp32")
    found, shown = run("sm_90a", *asked)
    again, _ = run("sm_90a", *asked)
    wide, before = run("sm_90a", *asked, "--no-residuals-of-codes")
    print(f"RMS error {error(found, wanted):.2e}, with residuals of 16 bits {error(wide, wanted):.2e}")
    print(f"kernels that only make codes: {len(only_codes(shown))}, with residuals of 16 bits {len(only_codes(before))}")
    good = error(found, wanted) < 1.5 * error(wide, wanted) < 0.12
    good &= np.array_equal(found, again) and not only_codes(shown) and len(only_codes(before)) > 0
    if not good:
        print("FAILED\n" + shown)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
