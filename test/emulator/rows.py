#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax and norms that keep rows in registers, on the emulator.   rows.py KPC DRIVER TARGET FOLDER

Models of test/device/rows.py, of ragged sizes; `kpc verify` compares the emulated run with the model on the host. Ends with
77 where onnx is not installed.
"""

import os
import pathlib
import subprocess
import sys

try:
    import onnx
except ImportError:
    print("SKIPPED: onnx is not installed")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "device"))
import rows  # noqa: E402

# kind, rows, columns, type, whether the length of rows is dynamic.
CASES = [("softmax", 5, 7, "fp32", False), ("softmax", 3, 96, "fp16", False), ("softmax", 2, 1001, "bf16", False),
         ("softmax", 2, 5000, "fp32", False), ("softmax", 3, 17003, "fp16", False),
         ("norm_residual", 3, 769, "bf16", False), ("norm_residual", 9, 40, "bf16", False), ("norm_residual", 3, 768, "fp16", False),
         ("rms_residual", 3, 257, "fp32", False), ("log_softmax", 4, 33, "fp32", False), ("masked", 6, 24, "fp32", False),
         ("softmax", 3, 72, "fp16", True), ("softmax", 3, 77, "fp16", True), ("softmax", 1, 4100, "bf16", True),
         ("norm_residual", 4, 200, "fp32", True), ("gelu_erf", 3, 37, "fp16", False), ("gelu_tanh", 3, 64, "bf16", False)]


def main():
    kpc, driver, target, folder = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ, KPC_CUDA_DRIVER=driver, KPC_EMULATE_TARGET=target)
    failed = 0
    for kind, count, columns, element, free in CASES:
        source = folder / f"{kind}_{columns}_{element}{'_free' if free else ''}.onnx"
        artifact = source.with_suffix(".kpc")
        onnx.save(rows.model(kind, "columns" if free else columns, element), source)
        dims = ["--dim", f"rows=1..4096:opt={count}"] + (["--dim", "columns=1..8192:opt=512"] if free else [])
        subprocess.run([kpc, "compile", source, "--arch", target, *dims, "-o", artifact, "--no-cache", "--quiet"], check=True)
        sizes = ["--dim", f"rows={count}"] + (["--dim", f"columns={columns}"] if free else [])
        done = subprocess.run([kpc, "verify", artifact, "--model", source, "-i", "random", *sizes, "--device", "cuda:0",
                               "--no-cache"], env=environment)
        if done.returncode != 0:
            print(f"WRONG: {source.name}")
            failed += 1
    print(f"{len(CASES)} kernels of rows, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
