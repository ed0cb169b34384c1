#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of groups of rows by matrices of their own for time_grouped.py: writes a program of each, and compiles it.

    python3 grouped.py --kpc build/release/bin/kpc --out FOLDER [--arch sm_90a] [--only REGEX]

Each is y = torch._grouped_mm(x, w, offs): rows of x [rows, sum] that are sorted by group, w [groups, sum, columns], and where each
group ends. The number of rows is dynamic, but in cases with `fixed`. Writes NAME.kpc and a line in cases.json.
"""

import pathlib
import sys

from case_files import write_cases

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "models"))
from program_writer import Program  # noqa: E402

TYPES = {"bf16": "bf", "fp16": "f2", "fp32": "f4"}
# rows, groups, sum, columns. Mixtral's and Qwen3's experts: prompts, then a few tokens and one.
SPEED = [(8192, 8, 4096, 14336), (8192, 8, 14336, 4096), (32768, 128, 2048, 1536), (32768, 128, 768, 2048)]
FEW = [(128, 128, 2048, 1536), (16, 8, 4096, 14336), (8, 128, 2048, 1536), (2, 8, 4096, 14336)]
SMALL = [(70, 5, 72, 40), (129, 8, 136, 264), (3, 16, 64, 64), (40, 3, 31, 35)]


def program(rows, groups, total, columns, element, fixed):
    count = rows if fixed else "s0"
    p = Program(None if fixed else {"s0": (1, 65536)})
    x = p.input("x", (count, total), TYPES[element])
    w, offs = p.input("w", (groups, total, columns), TYPES[element]), p.input("offs", (groups,), "i4")
    p.output(p.node("aten._grouped_mm.default", {"self": x, "mat2": w, "offs": offs}, [(TYPES[element], (count, columns))])[0])
    return p


def case(purpose, shape, element="bf16", fixed=False):
    rows, groups, total, columns = shape
    return {"name": f"{rows}.{groups}x{total}x{columns}.{element}{'.fixed' if fixed else ''}", "purpose": purpose, "rows": rows, "groups": groups,
            "sum": total, "columns": columns, "type": element, "options": ["--precision", "tf32" if element == "fp32" else element, "--io-precision", element],
            "dims": [] if fixed else [f"x_0=1..65536:opt={rows}"], "model": lambda: program(rows, groups, total, columns, element, fixed)}


def cases():
    for purpose, shapes in (("speed", SPEED), ("few", FEW), ("small", SMALL)):
        for shape in shapes:
            yield case(purpose, shape)
            if purpose != "speed":
                yield case(purpose, shape, fixed=True)
    for shape in SMALL[:2]:
        yield case("small", shape, "fp32")


if __name__ == "__main__":
    write_cases(cases(), __doc__)
