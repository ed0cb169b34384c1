#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of the tile dialect that no builder writes, on the emulator.   tile_kernels.py KPC BENCH_KERNEL PTXAS FOLDER

kernels/product.tile.mlir: a product of more rows than one instruction has, of a matrix and of one whose rows are all the same
memory (a stride of 0).
"""

import pathlib
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    print("SKIPPED: numpy is not installed")
    sys.exit(77)

ROWS, COLUMNS, SUM = 128, 64, 64


def narrow(values):
    """bf16 as its bits; the values have no more."""
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def widen(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def main():
    kpc, bench_kernel, ptxas, folder = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    text = (pathlib.Path(__file__).parent / "kernels" / "product.tile.mlir").read_text()
    # Small whole numbers: sums are exact, results too.
    random = np.random.default_rng(3)
    w = random.integers(-2, 3, (COLUMNS, SUM))
    failed = 0
    for stride, rows in ((SUM * 2, ROWS), (0, 1)):
        x = random.integers(-2, 3, (rows, SUM))
        source = folder / f"stride{stride}.tile.mlir"
        artifact = source.with_suffix(".kpc")
        source.write_text(text.replace("STRIDE", str(stride)))
        subprocess.run([bench_kernel, source, "--emit-bundle", artifact, "--ptxas", ptxas], check=True)
        for name, values in (("arg0", x), ("arg1", w)):
            np.save(folder / f"{name}.npy", narrow(values.ravel()))
        subprocess.run([kpc, "run", artifact, "--input", f"arg0={folder}/arg0.npy", "--input", f"arg1={folder}/arg1.npy",
                        "--output-dir", folder, "--device", "emulate:sm_90a", "--quiet"], check=True)
        found = widen(np.load(folder / "arg2.npy")).reshape(ROWS, COLUMNS)
        expected = np.broadcast_to(x, (ROWS, SUM)) @ w.T
        wrong = int((found != expected).sum())
        print(f"stride {stride}: {wrong} of {found.size} elements are wrong")
        failed += wrong > 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
