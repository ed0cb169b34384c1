#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of few rows, on the emulator.   gemv.py KPC DRIVER TARGET FOLDER

Models of test/device/gemv.py, of ragged sizes; `kpc verify` compares the emulated run with the model on the host. Ends with
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
import gemv  # noqa: E402

# rows, sum, columns, type, transposed, bias, most rows (0: the number is fixed).
CASES = [(1, 8, 1, "bf16", True, False, 0), (1, 264, 40, "fp16", False, False, 0), (3, 1032, 24, "bf16", True, True, 0),
         (16, 512, 48, "bf16", False, True, 0), (5, 200, 72, "fp16", True, True, 16), (37, 136, 40, "bf16", False, True, 64),
         (2, 1096, 2200, "bf16", True, False, 0), (17, 72, 4266, "fp16", False, False, 17)]
# Of those with so many columns that a block has several tiles.
SCHEDULES = {2200: "gemv 16x64 warps 8 slots 3 tiles 2", 4266: "gemv 32x64 warps 8 slots 3 tiles 2"}


def main():
    kpc, driver, target, folder = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ, KPC_CUDA_DRIVER=driver, KPC_EMULATE_TARGET=target)
    failed = 0
    for rows, total, columns, element, transposed, bias, most in CASES:
        source = folder / f"{rows}x{total}x{columns}_{element}.onnx"
        artifact = source.with_suffix(".kpc")
        onnx.save(gemv.model("rows" if most else rows, total, columns, element, transposed, bias), source)
        dims = ["--dim", f"rows=1..{most}:opt=4"] if most else []
        forced = []
        if columns in SCHEDULES:
            rule = source.with_suffix(".schedule")
            rule.write_text(f"(wt_)?y = {SCHEDULES[columns]}\n")
            forced = ["--schedule", rule]
        subprocess.run([kpc, "compile", source, "--arch", target, *dims, *forced, "--variants", "1", "-o", artifact, "--no-cache", "--quiet"], check=True)
        listed = subprocess.run([kpc, "inspect", artifact], check=True, capture_output=True, text=True).stdout
        done = subprocess.run([kpc, "verify", artifact, "--model", source, "-i", "random",
                               *(["--dim", f"rows={rows}"] if most else []), "--device", "cuda:0", "--no-cache"], env=environment)
        if done.returncode != 0 or "gemv" not in listed:
            print(f"WRONG: {source.name}")
            failed += 1
    print(f"{len(CASES)} products of few rows, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
