#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of few queries on the emulator.   decode.py KPC DRIVER TARGET FOLDER

As attention.py does.
"""

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


def cases():
    return [attention.case("decode", *one, schedule=SCHEDULES.get(one[0], "")) for one in CASES]


if __name__ == "__main__":
    sys.exit(emulated.main(*sys.argv[1:5], cases(), "attentions"))
