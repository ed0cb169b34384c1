#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of few queries on the emulator.   decode.py KPC DRIVER TARGET FOLDER

As attention.py does. Where there are past keys and values, the one kernel stores the present ones, too.
"""

import dataclasses
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


def appended_cases():
    for name, *one in APPENDED:
        made = attention.case("decode", name, *one)
        yield dataclasses.replace(made, kernels=1)
    for at, sizes in enumerate(APPENDED_SIZES):
        made = attention.case("decode", f"append_dynamic_{at}", "fp16", "batch", 8, 2, "sequence", "sequence", 64, True, "", False, "past")
        yield dataclasses.replace(made, kernels=1, ranges={"batch": "1..64:opt=1", "sequence": "1..16:opt=1", "past": "0..8192:opt=1024"}, sizes=sizes)


def cases():
    return [attention.case("decode", *one, schedule=SCHEDULES.get(one[0], "")) for one in CASES] + list(appended_cases())


if __name__ == "__main__":
    sys.exit(emulated.main(*sys.argv[1:5], cases(), "attentions"))
