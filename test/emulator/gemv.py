#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of few rows, on the emulator.   gemv.py KPC DRIVER TARGET FOLDER

Models of test/device/gemv.py, of ragged sizes (emulated.py).
"""

import sys

import emulated

models = emulated.device_models("gemv")

CASES = [(1, 8, 1, "bf16", True, False, 0), (1, 264, 40, "fp16", False, False, 0), (3, 1032, 24, "bf16", True, True, 0),
         (16, 512, 48, "bf16", False, True, 0), (5, 200, 72, "fp16", True, True, 16), (37, 136, 40, "bf16", False, True, 64),
         (2, 1096, 2200, "bf16", True, False, 0), (17, 72, 4266, "fp16", False, False, 17),
         # Weights along N with whole tiles and stages, and with stages that are cut.
         (2, 512, 64, "bf16", False, False, 0), (2, 448, 64, "bf16", False, False, 0),
         # A block has more tiles than are counted one by one.
         (1, 64, 20000, "bf16", True, False, 0),
         # No row at all.
         (0, 136, 40, "fp16", False, True, 16)]
# Of those with so many columns that a block has several tiles.
SCHEDULES = {2200: "gemv 16x64 warps 8 stages 3 tiles 2", 4266: "gemv 32x64 warps 8 stages 3 tiles 2"}
# The same for one chip, whose number of multiprocessors it depends on.
OF_CHIPS = {20000: "sm_90a = gemv 8x64 warps 8 stages 3 tiles 10"}


def case(rows, total, columns, element, transposed, bias, most):
    """`most`: of a number of rows that is not known; 0: it is."""
    made = models.model("rows" if most else rows, total, columns, element, transposed, bias)
    rule = f"(wt_)?y = {SCHEDULES[columns]}" if columns in SCHEDULES else ""
    if columns in OF_CHIPS:
        rule = f"(wt_)?y on {OF_CHIPS[columns]}"
    return emulated.Case(f"{rows}x{total}x{columns}_{element}", made, {"rows": f"{min(rows, 1)}..{most}:opt=4"} if most else {},
                         {"rows": rows} if most else {}, rule, shows="gemv")


if __name__ == "__main__":
    sys.exit(emulated.main(*sys.argv[1:5], [case(*one) for one in CASES], "products of few rows"))
