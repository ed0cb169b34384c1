#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the example for the host and every GPU, and compares both with numpy.

    python3 check.py KPC FOLDER
"""

import pathlib
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    print("SKIPPED: numpy is not installed")
    sys.exit(77)

import make_model

HERE = pathlib.Path(__file__).resolve().parent


def main():
    kpc, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    weight = make_model.write(folder)
    made = subprocess.run([kpc, "compile", folder / "scores.onnx", "--operator", HERE / "row_softcap.json", "--arch", "portable,host",
                           "--precision", "fp32", "--no-cache", "-q", "-o", folder / "scores.kpc"], stderr=subprocess.PIPE, text=True)
    if "KPC-T0010" in made.stderr:
        print("SKIPPED: NVRTC is needed")
        sys.exit(77)
    print(made.stderr, end="")
    made.check_returncode()
    x = np.random.default_rng(2).standard_normal((2, 3, make_model.WIDTH)).astype(np.float32)
    np.save(folder / "x.npy", x)
    capped = 5 * np.tanh(x @ np.array(weight, np.float32).reshape(make_model.WIDTH, -1) / 5)
    for device in ("host", "emulate:sm_80"):
        subprocess.run([kpc, "run", folder / "scores.kpc", "--input", f"x={folder / 'x.npy'}", "--device", device,
                        "--allow-custom-code", "-q", "-o", folder], check=True)
        for name, right in {"y": capped + x, "largest": np.abs(capped).max(axis=-1)}.items():
            error = np.abs(np.load(folder / f"{name}.npy") - right).max()
            print(f"{device}: {name} departs by {error:.2g}")
            if not error < 1e-4:
                sys.exit(1)


if __name__ == "__main__":
    main()
