#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gates of few rows whose two weights are codes of 4 and 8 bits or FP8, on the emulator.   code_gates.py KPC DRIVER TARGET FOLDER

Each is one kernel of both GEMMs. Models of test/device/codes.py, of ragged sizes (emulated.py).
"""

import dataclasses
import sys

import emulated
import gates

models = emulated.device_models("codes")


@dataclasses.dataclass
class Gate:
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
    function: str = "Sigmoid"
    most: int = 0  # of a number of rows that is not known; 0: it is
    schedule: str = ""


CASES = [Gate(1, 256, 40, "fp16", 4, 128),
         # Blocks and tiles are cut; zero points; biases.
         Gate(3, 456, 37, "bf16", 4, 64, zeros=True, bias=True, function="Gelu"),
         # Four blocks in a stage; rows in both halves of the fragment.
         Gate(16, 520, 72, "fp16", 4, 32, zeros=True),
         # One scale a column.
         Gate(2, 264, 24, "bf16", 4, 512),
         Gate(5, 456, 37, "bf16", 8, 64, zeros=True), Gate(4, 392, 48, "fp16", 8, 32, zeros=True, bias=True), Gate(1, 1096, 16, "bf16", 8, 256),
         Gate(9, 384, 33, "fp16", 4, 128, bias=True, spelling="axis1", signed=True), Gate(2, 256, 40, "fp16", 8, 128, zeros=True, spelling="axis0", signed=True),
         Gate(1, 256, 48, "bf16", 8, 64, spelling="axis1", function="Gelu"),
         # Numbers of rows that are not known, more than 16 among them.
         Gate(5, 200, 72, "fp16", 4, 64, zeros=True, bias=True, most=16), Gate(37, 136, 40, "bf16", 4, 64, bias=True, most=64),
         Gate(0, 136, 40, "fp16", 8, 64, most=16),
         # Several tiles of a block, and many slices.
         Gate(2, 1096, 1528, "bf16", 4, 128, zeros=True, schedule="gemv int4 16x128 warps 8 stages 3 tiles 2"),
         Gate(12, 448, 120, "bf16", 8, 64, zeros=True, schedule="gemv int8 48x64 warps 8 stages 2 tiles 1"),
         Gate(7, 512, 256, "fp16", 4, 64, schedule="gemv int4 96x128 warps 8 stages 2 tiles 1"),
         # FP8.
         Gate(1, 256, 40, "fp16", 8, 128, "e4m3", spelling="axis0"), Gate(3, 456, 37, "bf16", 8, 64, "e4m3", bias=True, spelling="axis1", function="Gelu"),
         Gate(16, 520, 72, "bf16", 8, 0, "e4m3", spelling="axis1"), Gate(9, 384, 33, "fp16", 8, 32, "e4m3", bias=True, spelling="axis0"),
         Gate(2, 264, 24, "fp16", 8, -1, "e5m2", spelling="axis0"), Gate(12, 448, 120, "bf16", 8, 0, "e5m2", spelling="axis1"),
         Gate(5, 200, 72, "bf16", 8, 0, "e4m3", bias=True, spelling="axis0", most=16), Gate(37, 136, 40, "fp16", 8, 64, "e4m3", spelling="axis0", most=64),
         Gate(2, 1096, 1528, "fp16", 8, 128, "e4m3", spelling="axis0", schedule="gemv fp8 16x64 warps 8 stages 3 tiles 2"),
         Gate(6, 1024, 192, "bf16", 8, 128, "e5m2", spelling="axis1", schedule="gemv fp8 64x64 warps 8 stages 3 tiles 1")]


def case(gate, target):
    made = models.gate_model("rows" if gate.most else gate.rows, gate.total, gate.columns, gate.element, gate.function, gate.bits, gate.block,
                             gate.zeros, gate.bias, gate.spelling, gate.signed, gate.number)
    kind = gate.number or f"int{gate.bits}"
    # Chips of less shared memory have no room for these schedules.
    rule = f"gate.* = {gate.schedule}" if gate.schedule and target in ("sm_80", "sm_90a", "sm_100a") else ""
    name = f"{gate.rows}x{gate.total}x{gate.columns}_{gate.element}_{kind}_{gate.block}_{gate.spelling}"
    return emulated.Case(name, made, {"rows": f"{min(gate.rows, 1)}..{gate.most}:opt=4"} if gate.most else {},
                         {"rows": gate.rows} if gate.most else {}, rule,
                         shows="gemv fp8" if gate.number else f"gemv {kind}", kernels=1)


# Of models in f32, whose weights kpc quantises: precision of the others, function, bias, transposed, rows, most rows.
MADE = [("fp16", "Sigmoid", False, False, 3, 16), ("bf16", "Gelu", True, True, 16, 16), ("fp16", "Sigmoid", True, False, 50, 64)]


def made_case(precision, function, bias, transposed, rows, most):
    """The scales of both weights are stored alike; the product behind the gate has 16 bits."""
    model = gates.model(gates.Gate("made", precision, function, rows, 256, 136, bias, transposed))
    return emulated.Case(f"made_{precision}_{rows}", model, {"rows": f"1..{most}:opt=4"}, {"rows": rows}, "",
                         ("--precision", precision, "--io-precision", precision, "--precision-for", "gate|up=fp8"), shows="gemv fp8 16x64", kernels=2)


if __name__ == "__main__":
    sys.exit(emulated.main(*sys.argv[1:5], [case(gate, sys.argv[3]) for gate in CASES] + [made_case(*one) for one in MADE],
                           "gates of few rows with codes"))
