#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tile.mma_scaled on the emulator, against arithmetic written from the formats' texts.   scaled_products.py KPC BENCH_KERNEL PTXAS FOLDER

kernels/scaled.tile.mlir with each format, of ragged rows, columns and K: codes and scales from memory into shared memory, products with
block scales, results to memory. Then mistakes in the layout of scales, each of which must show.
"""

import pathlib
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    print("SKIPPED: numpy is not installed")
    sys.exit(77)

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "models"))
from block_formats import FORMATS  # noqa: E402

ROWS, COLUMNS = 100, 52
# K, bytes of a line of the tile, words of scales of a row.
SIZES = {"mxfp8": (224, 256, 2), "mxfp4": (224, 128, 2), "nvfp4": (208, 128, 4)}
# What of the text stands for what, one mistake each: words of a row, rows of a word, and whose scales they are.
MISTAKES = {"words": ("%at_a = arith.addi %word_a, %row : index", "%last = arith.subi %words, %c1 : index\n      %turned = arith.subi %last, %word : index\n"
                      "      %turned_a = arith.muli %turned, %scales_of_a : index\n      %at_a = arith.addi %turned_a, %row : index"),
            "rows": ("rows [%c0, %c0]", "rows [%c8, %c0]"), "columns": ("rows [%c0, %c0]", "rows [%c0, %c8]")}


def packed(codes):
    """Two codes in a byte, the first in the low bits."""
    return (codes[:, 0::2] & 15 | (codes[:, 1::2] & 15) << 4).astype(np.uint8)


def words(scales, count):
    """[words, rows, 4]: four neighbouring blocks of a row in one."""
    whole = np.full((scales.shape[0], 4 * count), 1, np.uint8)
    whole[:, :scales.shape[1]] = scales
    return whole.reshape(-1, count, 4).transpose(1, 0, 2).copy()


def made(f, rows, total, seed):
    random = np.random.default_rng(seed)
    x = random.standard_normal((rows, total)) * 2.0 ** random.integers(-3, 4, (rows, total // f.block)).repeat(f.block, axis=1)
    second = np.abs(x).max() / (448 * 6) if f.name == "nvfp4" else None
    codes, scales, numbers = f.quantise(x, second)
    return (codes.astype(np.uint8) if f.element == "e4m3" else packed(codes)), words(scales, SIZES[f.name][2]), numbers


class Runs:
    def __init__(self, kpc, bench_kernel, ptxas, folder):
        self.kpc, self.bench_kernel, self.ptxas, self.folder = kpc, bench_kernel, ptxas, pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.text = (pathlib.Path(__file__).parent / "kernels" / "scaled.tile.mlir").read_text()

    def run(self, name, text, inputs):
        source = self.folder / f"{name}.tile.mlir"
        source.write_text(text)
        elements = [word for i, values in enumerate([*inputs, np.zeros(ROWS * COLUMNS)]) for word in ("--elements", f"arg{i}={values.size}")]
        subprocess.run([self.bench_kernel, source, "--arch", "sm_120a", *elements, "--emit-bundle", source.with_suffix(".kpc"), "--ptxas", self.ptxas],
                       check=True)
        given = []
        for i, values in enumerate(inputs):
            np.save(self.folder / f"arg{i}.npy", values.ravel().view(np.int8))
            given += ["--input", f"arg{i}={self.folder}/arg{i}.npy"]
        subprocess.run([self.kpc, "run", source.with_suffix(".kpc"), *given, "--output-dir", self.folder, "--device", "emulate:sm_120a", "--quiet"],
                       check=True)
        return np.load(self.folder / "arg4.npy").reshape(ROWS, COLUMNS)

    def text_of(self, f):
        total, line, count = SIZES[f.name]
        given = total if f.element == "e4m3" else total // 2
        text = self.text
        for word, value in {"FORMAT": f.name, "ELEMENT": "f8E4M3FN" if f.element == "e4m3" else "ui8", "LINE": line, "WORDS": count, "GIVEN": given,
                            "ROWS": ROWS, "COLUMNS": COLUMNS, "CODES_A": ROWS * given, "CODES_B": COLUMNS * given, "SCALES_A": 4 * ROWS * count,
                            "SCALES_B": 4 * COLUMNS * count, "RESULTS": ROWS * COLUMNS}.items():
            text = text.replace(f"${word}$", str(value))
        return text


def main():
    runs, failed = Runs(*sys.argv[1:]), 0
    for f in FORMATS.values():
        total = SIZES[f.name][0]
        a, scales_a, left = made(f, ROWS, total, 1)
        b, scales_b, right = made(f, COLUMNS, total, 2)
        inputs, text, wanted = [a, scales_a, b, scales_b], runs.text_of(f), left @ right.T

        def error(found, wanted=wanted):
            return np.sqrt(np.mean((found.astype(np.float64) - wanted) ** 2) / np.mean(wanted**2))

        right_one = error(runs.run(f.name, text, inputs))
        print(f"{f.name}: rms error {right_one:.1e}")
        failed += not right_one < 1e-6
        for name, (this, instead) in MISTAKES.items():
            assert text.count(this) == 1
            wrong = error(runs.run(f"{f.name}_{name}", text.replace(this, instead), inputs))
            print(f"{f.name}, mistake in {name}: rms error {wrong:.1e}")
            failed += not wrong > 1e-2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
