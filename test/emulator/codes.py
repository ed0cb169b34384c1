#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of few rows with weights of 4 and 8 bits and of FP8, on the emulator.   codes.py KPC DRIVER TARGET FOLDER

Models of test/device/codes.py, of ragged sizes (emulated.py).
"""

import sys

import emulated

models = emulated.device_models("codes")

# rows, sum, columns, type, bits, block, zero points, bias, spelling, signed, most rows.
CASES = [(1, 256, 40, "fp16", 4, 128, False, False, "nbits", False, 0),
         # The last block and the last tile are cut; zero points; a bias and a function behind.
         (3, 456, 37, "bf16", 4, 64, True, True, "nbits", False, 0),
         # Four blocks in a stage; rows in both halves of the fragment.
         (16, 520, 72, "fp16", 4, 32, True, False, "nbits", False, 0),
         # One scale a column: a block is longer than K.
         (2, 264, 24, "bf16", 4, 512, False, False, "nbits", False, 0),
         (5, 456, 37, "bf16", 8, 64, True, False, "nbits", False, 0), (4, 392, 48, "fp16", 8, 32, True, True, "nbits", False, 0),
         (1, 1096, 16, "bf16", 8, 256, False, False, "nbits", False, 0),
         # DequantizeLinear, whose codes may have a sign, in front of MatMul and of Gemm.
         (3, 256, 40, "bf16", 4, 64, True, False, "axis0", True, 0), (9, 384, 33, "fp16", 4, 128, False, True, "axis1", True, 0),
         (2, 256, 40, "fp16", 8, 128, True, False, "axis0", True, 0), (1, 256, 48, "bf16", 8, 64, False, False, "axis1", False, 0),
         # Numbers of rows that are not known, more than 16 among them.
         (5, 200, 72, "fp16", 4, 64, True, True, "nbits", False, 16), (37, 136, 40, "bf16", 4, 64, False, True, "nbits", False, 64),
         (0, 136, 40, "fp16", 4, 64, False, False, "nbits", False, 16),
         # A block has several tiles.
         (2, 1096, 2200, "bf16", 4, 128, True, False, "nbits", False, 0),
         # An odd number of slices, of up to 8 rows and of more; whole tiles and stages, and stages that are not.
         (8, 512, 144, "bf16", 4, 128, True, False, "nbits", False, 0), (12, 448, 120, "bf16", 8, 64, True, False, "nbits", False, 0),
         (7, 512, 256, "fp16", 4, 64, False, False, "nbits", False, 0), (6, 1024, 192, "bf16", 8, 128, True, False, "nbits", False, 0)]
SCHEDULES = {2200: "gemv int4 16x128 warps 8 stages 3 tiles 2", 144: "gemv int4 24x128 warps 8 stages 3 tiles 1",
             120: "gemv int8 40x64 warps 8 stages 2 tiles 1", 256: "gemv int4 96x128 warps 8 stages 2 tiles 1",
             192: "gemv int8 64x64 warps 8 stages 3 tiles 1"}
# Of FP8: rows, sum, columns, type, block (0: a column, -1: the whole weight), bias, spelling, type of the codes, most rows.
FLOATS = [(1, 256, 40, "fp16", 128, False, "axis0", "e4m3", 0), (3, 456, 37, "bf16", 64, True, "axis1", "e4m3", 0),
          (16, 520, 72, "bf16", 0, False, "axis1", "e4m3", 0), (9, 384, 33, "fp16", 32, True, "axis0", "e4m3", 0),
          (2, 264, 24, "fp16", -1, False, "axis0", "e5m2", 0), (5, 456, 37, "bf16", 128, False, "axis1", "e5m2", 0),
          (12, 448, 120, "fp16", 0, False, "axis1", "e5m2", 0), (5, 200, 72, "bf16", 0, True, "axis0", "e4m3", 16),
          (37, 136, 40, "fp16", 64, False, "axis0", "e4m3", 64), (8, 512, 144, "bf16", -1, False, "axis1", "e4m3", 0),
          (2, 1096, 2200, "fp16", 128, False, "axis0", "e4m3", 0), (6, 1024, 192, "bf16", 128, False, "axis1", "e5m2", 0)]
# No kernel reads these codes: dequantised in front.
OTHERS = [(2, 96, 24, "fp16", 4, 16, True, False, "nbits", False, 0), (40, 256, 48, "bf16", 4, 64, True, False, "nbits", False, 0)]


def float_case(rows, total, columns, element, block, bias, spelling, number, most):
    made = models.model("rows" if most else rows, total, columns, element, 8, block, False, bias, spelling, number=number)
    rule = f"product = {SCHEDULES[columns]}".replace("int4", "fp8").replace("int8", "fp8").replace("x128", "x64") if columns in SCHEDULES else ""
    return emulated.Case(f"{rows}x{total}x{columns}_{element}_{number}_{block}_{spelling}", made,
                         {"rows": f"{min(rows, 1)}..{most}:opt=4"} if most else {}, {"rows": rows} if most else {}, rule,
                         shows="gemv fp8", kernels=1)


def case(rows, total, columns, element, bits, block, zeros, bias, spelling, signed, most, shows="gemv int"):
    """`most`: of a number of rows that is not known; 0: it is."""
    made = models.model("rows" if most else rows, total, columns, element, bits, block, zeros, bias, spelling, signed)
    rule = f"product = {SCHEDULES[columns]}" if columns in SCHEDULES else ""
    name = f"{rows}x{total}x{columns}_{element}_{bits}_{block}_{spelling}"
    return emulated.Case(name, made, {"rows": f"{min(rows, 1)}..{most}:opt=4"} if most else {}, {"rows": rows} if most else {}, rule,
                         shows=shows, kernels=1 if shows else 0)


if __name__ == "__main__":
    sys.exit(emulated.main(*sys.argv[1:5], [case(*one) for one in CASES] + [case(*one, shows="") for one in OTHERS] +
                           [float_case(*one) for one in FLOATS],
                           "products of few rows with codes"))
