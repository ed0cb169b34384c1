#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GEMMs of MXFP8, MXFP4 and NVFP4 by tcgen05 on the emulator, against numpy.   block_scales.py KPC TARGET FOLDER

Models of test/models/blocks.py, whose reference (block_formats.py) is written from the formats' texts, of sizes that do not fill tiles:
rows, columns and K end within a tile, a panel of scales and a word of them. More steps along K than stages, more tiles than one, and
numbers of rows that are not known. KPC_TEST_ALL: all of them.
"""

import os
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "models"))
try:
    import numpy as np
    from onnx import save
    import blocks
    import emulated
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

# rows, columns, K, a schedule that is forced, whether the compiler knows the rows.
SIZES = [(130, 136, 544, "", True), (37, 48, 96, "", True), (70, 72, 160, "", False),
         # More steps than stages: stages and their columns of tensor memory come again.
         (33, 40, 1632, "gemm 128x128x128 stages 2 group_m 1", True), (300, 264, 1184, "gemm 128x128x128 stages 3 group_m 2", False),
         (129, 520, 1056, "gemm 128x256x128 stages 2 group_m 1", True), (128, 256, 512, "gemm 128x256x128 stages 2 group_m 1", True),
         (300, 264, 1312, "gemm 128x256x128 stages 2 group_m 2", False)]

def ended(model):
    """Ends in a node that the product's kernel alone has, so that rules for schedules find it."""
    for node in model.graph.node:
        node.name = "product" if node.op_type == "MatMul" else ""
    model.graph.node[-1].op_type, model.graph.node[-1].name = "Neg", "end"
    return model


def case(name, rows, columns, total, schedule):
    """For mutants.py."""
    f = blocks.FORMATS[name]
    model = ended(blocks.by_precision(f, rows, columns, total).model)
    return emulated.Case(name, model, schedule=f"product_end = {schedule}", options=("--precision", name), shows=schedule)


ERROR = 2e-3  # of what is multiplied: powers of two, and one factor of each row for NVFP4


def cases():
    for f in blocks.FORMATS.values():
        for rows, columns, total, schedule, known in SIZES:
            yield f, rows, columns, total, schedule, known


def chosen():
    everything = list(cases())
    if os.environ.get("KPC_TEST_ALL"):
        return everything
    return [one for number, one in enumerate(everything) if number % 3 == 0]


class Runs:
    def __init__(self, kpc, target, folder):
        self.kpc, self.target, self.folder = kpc, target, pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def is_right(self, f, rows, columns, total, schedule, known):
        case = blocks.by_precision(f, rows, columns, total, known=known)
        name = f"{f.name}_{rows}x{columns}x{total}"
        source, artifact, rules = self.folder / f"{name}.onnx", self.folder / f"{name}.kpc", []
        ended(case.model)
        save(case.model, source)
        if schedule:
            (self.folder / f"{name}.schedule").write_text(f"product_end = {schedule}\n")
            rules = ["--schedule", self.folder / f"{name}.schedule"]
        subprocess.run([self.kpc, "compile", source, "--arch", self.target, *case.options, *rules, "--variants", "1", "-o", artifact,
                        "--no-cache", "--quiet"], check=True)
        shown = subprocess.run([self.kpc, "inspect", artifact], check=True, capture_output=True, text=True).stdout
        lines = [line for line in shown.splitlines() if f"{f.name} -> f32" in line and (schedule or "gemm ") in line]
        if not lines:
            print(f"{name}: no kernel multiplies codes with their scales by '{schedule or 'gemm'}':\n{shown}")
            return False
        np.save(self.folder / f"{name}.npy", case.fed["x"])
        subprocess.run([self.kpc, "run", artifact, "--device", f"emulate:{self.target}", "-q", "--output-dir", self.folder / name, "--input",
                        f"x={self.folder / name}.npy"], check=True)
        y = np.load(self.folder / name / "y.npy").astype(np.float64)
        error = np.sqrt(np.mean((y + case.wanted) ** 2) / np.mean(case.wanted**2))
        print(f"{name:24} {schedule or 'the best schedule':44} rms error {error:.1e}")
        return bool(np.isfinite(y).all()) and error <= ERROR


def main():
    runs, all_cases = Runs(*sys.argv[1:4]), chosen()
    failed = sum(not runs.is_right(*one) for one in all_cases)
    print(f"{len(all_cases)} GEMMs with block scales, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
