#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GEMMs of many rows with weights of 4 and 8 bits and of FP8, on the emulator.   many_row_codes.py KPC DRIVER TARGET FOLDER

Models of test/device/codes.py, of ragged sizes (emulated.py). Each is one kernel, on wgmma.
"""

import dataclasses
import sys

import emulated

models = emulated.device_models("codes")


@dataclasses.dataclass
class Product:
    rows: int
    total: int
    columns: int
    element: str
    bits: int
    block: int  # of FP8, 0: a column, -1: the whole weight
    number: str = ""
    zeros: bool = False
    bias: bool = False
    spelling: str = "nbits"
    signed: bool = False
    most: int = 0  # of a number of rows that is not known; 0: it is
    schedule: str = ""
    gate: str = ""  # the function of a gate; none: it is one GEMM
    options: tuple = ()


CASES = [Product(80, 256, 64, "fp16", 4, 128),
         # The last block, the last tile and K are cut; zero points; a bias and a function after it. Several tiles of a block.
         Product(130, 456, 72, "bf16", 4, 64, zeros=True, bias=True, schedule="64x128x128 stages 4 group_m 1"),
         # Four blocks in a step; one warpgroup; tiles of a block go on along columns.
         Product(300, 520, 200, "fp16", 4, 32, zeros=True, schedule="32x64x128 stages 3 group_m 2"),
         # One scale a column: it multiplies sums. A block of two steps.
         Product(70, 264, 24, "bf16", 4, 512), Product(66, 600, 40, "fp16", 4, 256, zeros=True, bias=True),
         # Rows that are not known, down to none.
         Product(1, 136, 40, "fp16", 4, 64, zeros=True, bias=True, most=100), Product(0, 136, 40, "bf16", 4, 64, most=100),
         Product(150, 136, 40, "bf16", 4, 64, most=4096),
         # Blocks of a cluster share K, of whole steps and not.
         Product(77, 1160, 136, "bf16", 4, 128, bias=True, spelling="axis0", signed=True, most=100, schedule="64x128x128 stages 4 group_m 2 split_k 2"),
         Product(77, 2184, 136, "fp16", 4, 256, zeros=True, spelling="axis1", signed=True, most=4096, schedule="128x128x128 stages 4 group_m 2 split_k 4"),
         # The largest tile, three warpgroups, and rows that are no power of two.
         Product(600, 392, 264, "bf16", 4, 128, schedule="256x128x128 stages 3 group_m 2"),
         Product(250, 392, 264, "fp16", 4, 128, schedule="96x192x128 stages 3 group_m 2"),
         # 8 bits: two tiles of codes in a step, the last of which may be missing.
         Product(120, 456, 40, "bf16", 8, 64, zeros=True), Product(130, 392, 48, "fp16", 8, 32, zeros=True, bias=True),
         Product(100, 1096, 16, "bf16", 8, 256), Product(90, 384, 32, "fp16", 8, 512, zeros=True, bias=True),
         Product(100, 256, 40, "fp16", 8, 128, zeros=True, spelling="axis0", signed=True), Product(70, 328, 48, "bf16", 8, 64, spelling="axis1"),
         # FP8.
         Product(80, 256, 40, "fp16", 8, 128, "e4m3", spelling="axis0"), Product(90, 456, 40, "bf16", 8, 64, "e4m3", bias=True, spelling="axis1"),
         Product(66, 520, 72, "bf16", 8, 0, "e4m3", spelling="axis1"), Product(70, 264, 24, "fp16", 8, -1, "e5m2", spelling="axis0"),
         Product(75, 456, 40, "bf16", 8, 128, "e5m2", spelling="axis1"), Product(65, 384, 32, "fp16", 8, 32, "e4m3", bias=True, spelling="axis0", most=100),
         # A model in f32, whose scales are narrowed with all else.
         Product(70, 256, 48, "fp32", 4, 64, zeros=True, bias=True, options=("--precision", "fp16", "--io-precision", "fp16")),
         Product(90, 256, 48, "fp32", 8, 128, options=("--precision", "bf16", "--io-precision", "bf16")),
         # Gates, which are one kernel.
         Product(80, 256, 40, "fp16", 4, 128, gate="Sigmoid"), Product(130, 456, 72, "bf16", 4, 64, zeros=True, bias=True, gate="Gelu"),
         Product(70, 264, 24, "bf16", 4, 512, gate="Sigmoid", most=100), Product(90, 392, 136, "fp16", 8, 32, zeros=True, gate="Sigmoid"),
         Product(100, 456, 40, "bf16", 8, 64, "e4m3", bias=True, spelling="axis1", gate="Gelu")]
# No kernel reads these codes: dequantised by a kernel of their own.
OTHERS = [Product(80, 256, 36, "fp16", 4, 128), Product(80, 384, 40, "fp16", 4, 192)]


def case(of, shows=True):
    own = (of.bits, of.block, of.zeros, of.bias, of.spelling, of.signed, of.number)
    rows = "rows" if of.most else of.rows
    made = (models.gate_model(rows, of.total, of.columns, of.element, of.gate, *own) if of.gate else
            models.model(rows, of.total, of.columns, of.element, *own))
    kind = f"codes {'fp' if of.number else 'int'}{of.bits}"
    rule = f".* = {kind} {of.schedule}" if of.schedule else ""
    name = f"{of.rows}x{of.total}x{of.columns}_{of.element}_{of.number or of.bits}_{of.block}_{of.spelling}{of.gate}"
    return emulated.Case(name, made, {"rows": f"{min(of.rows, 1)}..{of.most}:opt=4"} if of.most else {}, {"rows": of.rows} if of.most else {}, rule,
                         of.options, shows=kind if shows else "", kernels=1 if shows else 0)


def kind(one):
    return one.shows, bool(one.schedule), bool(one.ranges)


if __name__ == "__main__":
    cases = [case(one) for one in CASES] + [case(one, shows=False) for one in OTHERS]
    sys.exit(emulated.main(*sys.argv[1:5], cases, "products of many rows with codes"))
