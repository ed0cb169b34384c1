#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of few queries on the emulator.   decode.py KPC DRIVER TARGET FOLDER

As attention.py does. Where there are past keys and values, the one kernel stores the present ones, too.
"""

import dataclasses
import pathlib
import re
import subprocess
import sys

import attention
import emulated

#        name        type   batch heads groups queries keys depth causal mask flat past
CASES = [("one_key", "fp16", 1, 1, 1, 1, 1, 64, False, "", False, 0),
         ("groups", "fp16", 2, 8, 2, 1, 300, 128, False, "", False, 0),
         ("past", "bf16", 1, 4, 2, 5, 7, 128, True, "", False, 140),
         ("causal", "fp16", 1, 1, 1, 7, 5, 64, True, "", False, 0),
         ("odd_depth", "fp16", 1, 2, 1, 3, 90, 72, True, "", False, 0),
         ("narrow", "fp16", 1, 3, 3, 8, 40, 8, False, "", False, 0),
         ("wide_heads", "fp16", 1, 4, 1, 1, 513, 256, False, "", False, 0),
         # Two tiles of rows, the second not full.
         ("many_rows", "bf16", 1, 12, 2, 3, 70, 64, False, "", False, 0),
         ("sixteen_rows", "fp16", 1, 16, 1, 1, 700, 96, False, "", True, 0),
         ("mask", "fp16", 2, 4, 2, 2, 130, 32, True, "bool", True, 0),
         # 16 rows at a time, blocks that see no key, more steps than stages.
         ("two_rows", "fp16", 1, 12, 1, 1, 300, 96, False, "", False, 0),
         ("wide_steps", "bf16", 1, 20, 1, 1, 333, 128, False, "", False, 0),
         ("bias", "bf16", 1, 2, 2, 8, 70, 64, False, "float", True, 0),
         ("capped", "fp16", 1, 8, 2, 1, 300, 128, False, "", False, 0, 0, 1.0),
         ("capped_mask", "bf16", 2, 4, 2, 3, 130, 64, True, "bool", True, 0, 0, 0.5),
         ("capped_bias", "fp16", 1, 2, 1, 5, 70, 64, False, "float", False, 0, 0, 2.0),
         ("hidden", "bf16", 1, 2, 2, 4, 70, 64, False, "hidden", True, 0)]
SCHEDULES = {"two_rows": "decode 16 rows x 16 keys x 8 warps stages 2 cluster 1",
             "wide_steps": "decode 16 rows x 32 keys x 4 warps stages 2 cluster 1"}
# Few heads and many keys: blocks of the grid share them, and the last one adds up. Sizes are no multiples of what blocks take at a time.
SPLIT = [("split", "fp16", 1, 4, 1, 1, 32768, 128, False, "", False, 0),
         ("split_mask", "bf16", 1, 12, 1, 1, 40001, 128, False, "bool", False, 0),
         ("split_rows", "fp16", 1, 24, 2, 1, 65001, 64, False, "", True, 0),
         ("split_causal", "fp16", 1, 2, 1, 4, 33000, 128, True, "", False, 0),
         ("split_append", "bf16", 1, 4, 1, 1, 1, 128, True, "", False, 70000)]
SPLIT_SCHEDULES = {"split_mask": "decode 16 rows x 16 keys x 4 warps stages 2 cluster 1 split 64",
                   "split_rows": "decode 8 rows x 32 keys x 4 warps stages 3 cluster 1 split 8",
                   "split_causal": "decode 8 rows x 16 keys x 8 warps stages 2 cluster 1 split 16"}
# Caches that the kernel appends to: past keys behind which a step, a warp's ring and a block's keys end, heads that do not fill their lines,
# several tiles of rows (36), values of another size.
APPENDED = [("append_1", "fp16", 1, 8, 2, 1, 1, 64, True, "", False, 1),
            ("append_5", "bf16", 3, 8, 2, 1, 1, 64, True, "", False, 5),
            ("append_130", "fp16", 3, 4, 4, 3, 3, 128, True, "", False, 130),
            ("append_rows", "fp16", 1, 12, 1, 3, 3, 64, True, "", False, 130),
            ("append_odd", "bf16", 1, 2, 1, 3, 3, 72, True, "", False, 15),
            ("append_narrow", "fp16", 2, 3, 3, 1, 1, 8, False, "", False, 16),
            ("append_wide", "fp16", 1, 4, 1, 1, 1, 256, False, "", False, 70),
            ("append_values", "fp16", 1, 4, 2, 1, 1, 64, True, "", False, 300, 40)]
APPENDED_SIZES = [{"batch": 1, "sequence": 1, "past": 1}, {"batch": 3, "sequence": 3, "past": 130}, {"batch": 2, "sequence": 16, "past": 5},
                  {"batch": 1, "sequence": 3, "past": 0}]


def split_cases():
    for name, *one in SPLIT:
        made = attention.case("decode", name, *one, schedule=SPLIT_SCHEDULES.get(name, ""))
        yield dataclasses.replace(made, kernels=1, shows=" split ")


def appended_cases():
    for name, *one in APPENDED:
        made = attention.case("decode", name, *one)
        yield dataclasses.replace(made, kernels=1)
    for at, sizes in enumerate(APPENDED_SIZES):
        made = attention.case("decode", f"append_dynamic_{at}", "fp16", "batch", 8, 2, "sequence", "sequence", 64, True, "", False, "past")
        yield dataclasses.replace(made, kernels=1, ranges={"batch": "1..64:opt=1", "sequence": "1..16:opt=1", "past": "0..8192:opt=1024"}, sizes=sizes)


def cases():
    return [attention.case("decode", *one, schedule=SCHEDULES.get(one[0], "")) for one in CASES] + list(split_cases()) + list(appended_cases())


# What is changed in the text of split keys, and what the emulator must find.
MUTANTS = {"no release, no acquire": (r"atom\.acq_rel\.gpu", "atom.relaxed.gpu", "global-race"),
           "no acquire": (r"atom\.acq_rel\.gpu", "atom.release.gpu", "global-race"),
           "no release": (r"atom\.acq_rel\.gpu", "atom.acquire.gpu", "global-race")}


def mutants(kpc, driver, target, folder):
    """How many are not found."""
    runner = emulated.Emulated(kpc, driver, target, pathlib.Path(folder) / "mutants")
    case = next(iter(split_cases()))
    source, artifact = runner.compile(case, "--line-info")
    texts = runner.folder / "texts"
    texts.mkdir(exist_ok=True)
    subprocess.run([kpc, "compile", source, "--arch", target, "--emit", "ptx", "--variants", "1", "--no-cache", "--quiet", "--line-info",
                    "-o", runner.folder / "whole.ptx"], check=True)
    text, missed = (runner.folder / "whole.ptx").read_text(), 0
    for what, (pattern, instead, finding) in MUTANTS.items():
        changed, count = re.subn(pattern, instead, text)
        name = re.search(r"\.visible \.entry (\w+)", changed).group(1)
        (texts / f"{name}.ptx").write_text(changed)
        done = subprocess.run([kpc, "run", artifact, "-i", "random", "--device", "cuda:0"], capture_output=True, text=True,
                              env=dict(runner.environment, KPC_EMULATE_PTX=str(texts)), check=False)
        if not count or finding not in done.stdout + done.stderr:
            missed += 1
            print(f"MISSED: {what}: {count} places, expected {finding}, got {(done.stdout + done.stderr)[-400:]}")
    return missed


if __name__ == "__main__":
    wrong = emulated.main(*sys.argv[1:5], cases(), "attentions")
    # What is portable has a text for each of two chips; sm_80 is one of them.
    missed = 0 if sys.argv[3] == "portable" else mutants(*sys.argv[1:5])
    print(f"{len(MUTANTS)} mutants, {missed} missed")
    sys.exit(1 if wrong or missed else 0)
