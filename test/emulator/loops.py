#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops whose state stays on the chip, on the emulator.   loops.py KPC DRIVER TARGET FOLDER [NAME…]

Each is compared with the loops that the host runs. Then the launches of some larger models are counted.
"""

import pathlib
import re
import subprocess
import sys

import emulated
import loop_models as models


def cases():
    Case = emulated.Case
    exact = ("--precision", "fp32")
    rules = [Case(rule, models.attention(rule, 2, 7, 4, 2, 32, 24), shows="loop ", options=exact) for rule in ("linear", "gated", "delta", "gated_delta")]
    free = models.attention("gated_delta", "batch", "steps", 4, 4, 16, 20)
    made = [Case("mamba", models.mamba(2, 70, 24, 16), shows="loop "),
            Case("mamba_reverse", models.mamba(1, 66, 37, 5, reverse=True), shows="loop "),
            Case("mamba_free", models.mamba("batch", "steps", 40, 16), ranges={"batch": "1..8:opt=2", "steps": "1..512:opt=64"},
                 sizes={"batch": 3, "steps": 33}, shows="loop "),
            Case("mamba_half", models.mamba(2, 70, 24, 16), options=("--precision", "fp16"), shows="loop "),
            *rules,
            Case("free", free, ranges={"batch": "1..8:opt=2", "steps": "1..512:opt=64"}, sizes={"batch": 1, "steps": 1}, shows="loop ", options=exact),
            Case("attention_half", models.attention("gated_delta", 2, 7, 4, 2, 32, 24), shows="loop ", options=("--precision", "fp16")),
            Case("attention_bf16", models.attention("delta", 1, 9, 2, 2, 24, 40), shows="loop ", options=("--precision", "bf16")),
            Case("turned_half", models.turned(6, 70, 12), shows="loop ", options=("--precision", "fp16")),
            Case("no_steps", models.mamba("batch", "steps", 8, 4), ranges={"batch": "0..8:opt=2", "steps": "0..512:opt=64"},
                 sizes={"batch": 2, "steps": 0}, shows="loop "),
            Case("no_batch", models.mamba("batch", "steps", 8, 4), ranges={"batch": "0..8:opt=2", "steps": "0..512:opt=64"},
                 sizes={"batch": 0, "steps": 3}, shows="loop "),
            Case("shifts", models.shifts(5, 70, 33), shows="loop "),
            Case("turned", models.turned(6, 70, 12), shows="loop ", options=exact),
            Case("picked", models.picked(3, 70, 19), shows="loop "),
            # Sums and searches of whole blocks.
            Case("picked_long", models.picked(3, 20, 1000), shows="loop "),
            Case("shifts_long", models.shifts(2, 20, 3000), shows="loop "),
            Case("boxes_many", models.boxes(1, 2, 700), shows="loop "),
            Case("whole_numbers", models.whole_numbers(3, 40, 9), shows="loop "),
            Case("flags", models.flags(3, 40, 70), shows="loop "),
            Case("queue", models.queue(3, 40, 9), shows="loop "),
            Case("normed", models.normed(3, 40, 24), shows="loop ", options=exact),
            Case("replaced", models.replaced(4, 30, 9), shows="loop "),
            Case("diagonal", models.diagonal(3, 30, 7), shows="loop "),
            Case("columns", models.columns(3, 30, 9), shows="loop ", options=exact),
            Case("nested", models.nested(5), shows="loop "),
            Case("counted", models.counted(50), shows="loop "),
            Case("delta_net", models.delta_net(2, 20, 2, 4, 16, 24), shows="loop ", options=exact),
            Case("det", models.single("Det", [("x", [7, 19, 19])], [("y", [7])]), shows="loop "),
            Case("inverse", models.single("Inverse", [("x", [5, 21, 21])], [("y", [5, 21, 21])], domain="com.microsoft"), shows="loop "),
            Case("boxes", models.boxes(2, 3, 60), shows="loop ")]
    return made


# The most launches of a run.
LAUNCHES = {"mamba": (models.mamba(1, 1024, 1536, 16), 2), "linear": (models.attention("linear", 1, 1024, 16, 16, 128, 128), 2),
            "gated_delta": (models.attention("gated_delta", 1, 1024, 16, 16, 128, 128), 5), "delta_net": (models.delta_net(1, 512, 8, 16, 64, 64), 8),
            "det": (models.single("Det", [("x", [64, 32, 32])], [("y", [64])]), 1),
            "inverse": (models.single("Inverse", [("x", [16, 48, 48])], [("y", [16, 48, 48])], domain="com.microsoft"), 3),
            "boxes": (models.boxes(1, 80, 1000), 16)}


def many_launches(kpc, driver, target, folder):
    """How many models launch more kernels than are said here; nothing runs."""
    runner, wrong = emulated.Emulated(kpc, driver, target, pathlib.Path(folder) / "launches"), 0
    for name, (model, most) in LAUNCHES.items():
        artifact = runner.compile(emulated.Case(name, model))[1]
        shown = subprocess.run([kpc, "inspect", artifact], check=True, capture_output=True, text=True).stdout
        lines = [re.split(r" {2,}", line.strip()) for line in emulated.kernels(shown)]
        found = sum(int(line[3]) for line in lines if len(line) > 3 and line[3].isdigit())
        # A kernel of a step counts once there.
        if not 0 < found <= most or "loops and branches of" in shown:
            wrong += 1
            print(f"WRONG: {name} has {found} launches or steps, expected at most {most} launches:\n{shown}")
    return wrong


def main():
    chosen, names = cases(), sys.argv[5:]
    if names:
        chosen = [case for case in chosen if case.name in names]
    wrong = emulated.main(*sys.argv[1:5], chosen, "loops", every=1)
    many = 0
    if not names and sys.argv[3] != "portable":
        many = many_launches(*sys.argv[1:5])
        print(f"{len(LAUNCHES)} models, {many} with too many launches")
    return 1 if wrong or many else 0


if __name__ == "__main__":
    sys.exit(main())
