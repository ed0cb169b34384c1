#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codes by constant scales: a layer of a transformer and the digit reader are calibrated, and run on emulated GPUs.

    python3 calibrated.py build/dev/bin/kpc DRIVER FOLDER

The result is as near to fp32 as the host's, which rounds to codes as GPUs do, and kernels of products write codes for the
next one. Exits 77 (a skip) where numpy is not installed.
"""

import pathlib
import sys

try:
    import numpy as np
except ImportError as error:
    print(f"SKIPPED: the Python package '{error.name}' is not installed")
    sys.exit(77)

from commands import call, error

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
SIZES = ("--dim", "batch=1..4:opt=1", "--dim", "sequence=1..64:opt=32")


class Case:
    def __init__(self, kpc, driver, folder, model, name, inputs, output, arguments):
        self.kpc, self.driver, self.folder, self.model = kpc, driver, folder, model
        self.output, self.arguments = output, arguments
        self.given = []
        samples = folder / f"{model.stem}.npz"
        np.savez(samples, **{name: inputs[1:]})
        np.save(folder / f"{model.stem}.npy", inputs[0])
        self.given = ["--input", f"{name}={folder / model.stem}.npy"]
        self.calibration = folder / f"{model.stem}.calibration"
        call([kpc, "calibrate", model, "--data", samples, "-o", self.calibration, "-q", "--no-cache"])

    def run(self, target, *precision):
        artifact = self.folder / "a.kpc"
        call([self.kpc, "compile", self.model, "--arch", target, *precision, *self.arguments, "-o", artifact, "-q", "--no-cache"])
        where = ["--device", "host"] if target == "host" else ["--device", f"emulate:{target}"]
        call([self.kpc, "run", artifact, *self.given, *where, "--output-dir", self.folder, "-q"], KPC_CUDA_DRIVER=str(self.driver))
        return np.load(self.folder / f"{self.output}.npy").astype(np.float64), call([self.kpc, "inspect", artifact])

    def check(self, target, precision, chained):
        """`chained`: what a product that writes codes has for its type."""
        wanted, _ = self.run("host", "--precision", "fp32")
        # Of all layers, small ones too, where FP8 is not asked whether it pays.
        asked = ("--precision", precision, "--precision-for", f".*={precision}", "--calibration", self.calibration)
        host, _ = self.run("host", *asked)
        found, kernels = self.run(target, *asked)
        print(f"{self.model.stem} on {target} in {precision}: RMS error {error(found, wanted):.2e}, on the host {error(host, wanted):.2e}")
        good = error(found, wanted) < 1.3 * error(host, wanted) and error(host, wanted) < (0.05 if precision == "fp8" else 0.02)
        if chained not in kernels:
            print(f"no kernel is of {chained}:\n{kernels}")
            good = False
        return good


def main():
    kpc, driver, folder = map(pathlib.Path, sys.argv[1:4])
    folder.mkdir(parents=True, exist_ok=True)
    call([sys.executable, EXAMPLES / "layer/make_layer.py", folder])
    draw = np.random.default_rng(1)
    # One channel is ten times as great as the others.
    tokens = (draw.standard_normal((9, 1, 32, 128)) * (1 + 10 * (np.arange(128) == 5))).astype(np.float32)
    layer = Case(kpc, driver, folder, folder / "layer.onnx", "x", tokens, "y", SIZES)
    images = np.load(EXAMPLES / "digits/images.npy")[:160].reshape(5, 32, 1, 8, 8)
    digits = Case(kpc, driver, folder, EXAMPLES / "digits/digits.onnx", "image", images, "scores", ("--dim", "batch=1..64:opt=32"))
    good = [layer.check("sm_90a", "fp8", "fp8 -> i8"), layer.check("sm_90a", "int8", "int8 -> i8"),
            layer.check("sm_80", "int8", "int8 -> i8"), digits.check("sm_80", "int8", "int8 -> i8"),
            digits.check("sm_90a", "int8", "int8 -> i8"), digits.check("sm_90a", "fp8", "fp8 -> i8")]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
