#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products on mma.sync, on the emulator.   mma_sync.py KPC DRIVER TARGET FOLDER [NAME…]

Models of one product each, of tiny and ragged sizes and of rows that begin anywhere (emulated.py). Each schedule is forced once.
"""

import sys

import emulated
import products

#        name            type  batch rows  sum columns  bias   B transposed, A transposed
CASES = [("one_tile", "bf16", 0, 64, 64, 64, False, False, False),
         ("one_row", "bf16", 0, 1, 64, 64, False, False, False),
         ("tiny", "fp16", 0, 17, 3, 9, False, False, False),
         ("ragged", "bf16", 0, 129, 200, 136, False, False, False),
         ("halves", "fp16", 0, 70, 72, 40, True, False, False),
         ("transposed", "bf16", 0, 129, 96, 136, True, True, False),
         ("turned", "bf16", 0, 136, 104, 72, True, False, True),
         ("both", "fp16", 0, 200, 72, 136, False, True, True),
         # Pieces of 2, 4 and 8 bytes: of what the caller gives, too small to be copied first.
         ("odd_rows", "fp16", 0, 65, 139, 31, True, False, False),
         ("odd_transposed", "bf16", 0, 40, 77, 50, True, True, False),
         ("by_four", "fp16", 0, 50, 66, 34, False, False, False),
         ("by_eight", "bf16", 0, 50, 68, 36, False, True, False),
         ("batched", "bf16", 3, 70, 72, 24, True, False, False),
         ("batched_transposed", "fp16", 2, 33, 40, 65, False, True, False)]
CASES += [("wide", "fp16", 0, 129, 72, 130, True, False, False), ("wide_odd", "bf16", 2, 40, 31, 33, True, False, False)]
# Fewer columns than an instruction has.
CASES += [("narrow7", "fp16", 0, 150, 70, 7, False, False, False), ("narrow3", "bf16", 0, 129, 64, 3, True, True, False),
          ("narrow5", "fp16", 2, 33, 72, 5, False, False, False)]
WIDE = {"wide", "wide_odd"}
TF32 = [("tf32", "fp32", 0, 129, 72, 136, True, False, False),
        ("tf32_transposed", "fp32", 0, 70, 100, 72, False, True, False),
        ("tf32_turned", "fp32", 0, 72, 40, 129, False, False, True),
        ("tf32_odd", "fp32", 0, 33, 31, 35, True, True, False),
        ("tf32_batched", "fp32", 2, 65, 36, 68, True, True, False),
        ("tf32_narrow", "fp32", 0, 130, 200, 4, True, False, False),
        ("tf32_short", "fp32", 0, 130, 36, 2, False, True, False)]
CASES += TF32
EXACT = [("exact", "exact", 0, 129, 72, 136, True, False, False),
         ("exact_tiny", "exact", 0, 17, 3, 9, False, False, False),
         ("exact_transposed", "exact", 0, 70, 100, 72, False, True, False),
         ("exact_turned", "exact", 0, 72, 40, 129, True, False, True),
         ("exact_odd", "exact", 0, 33, 31, 35, True, True, False),
         ("exact_batched", "exact", 2, 65, 36, 68, True, True, False),
         ("exact_narrow", "exact", 0, 130, 36, 3, True, False, False)]
CUTS = ["128x128x32 warpgroup 128x64", "128x256x32 warpgroup 128x128", "256x128x64 warpgroup 128x128", "128x128x64 warpgroup 128x128", "128x64x32 warpgroup 128x64",
        "64x128x64 warpgroup 64x64", "64x64x32 warpgroup 64x64", "64x64x64 warpgroup 64x32", "256x128x64 warpgroup 256x64"]
FORCED = {f"forced_{number}": f"mmasync {cut} stages {2 + number % 2} group_m {1 + number}" for number, cut in enumerate(CUTS)}
CASES += [(name, "fp16" if number % 2 else "bf16", 0, 270, 72 if number % 3 else 136, 264, True, number % 4 == 1, number % 4 == 2)
          for number, name in enumerate(FORCED)]



def cases(target):
    # Where wgmma or tcgen05 multiply, these are theirs.
    family = "" if target in ("sm_90a", "sm_100a", "sm_103a", "sm_110a") else "mmasync "
    # tf32 is no faster than fp32 there, so that factors are not split.
    split = [] if target in ("sm_120a", "sm_121a", "sm_110a") else EXACT
    return [products.case(name, element, rows, total, columns, *rest, single=name in WIDE, batch=batch, schedule=FORCED.get(name, ""))
            for name, element, batch, rows, total, columns, *rest in CASES + split] + [*products.broadcast_cases(family), *products.picked_cases(family)]


def main():
    kpc, driver, target, folder, *names = sys.argv[1:]
    chosen = [case for case in cases(target) if not names or case.name in names]
    return emulated.main(kpc, driver, target, folder, chosen, "products", every=1 if names else 3)


if __name__ == "__main__":
    sys.exit(main())
