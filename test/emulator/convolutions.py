#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions on tensor cores, on the emulator.   convolutions.py KPC DRIVER FOLDER

The small ones of test/device/convolutions.py (emulated.py).
"""

import math
import sys

import emulated

models = emulated.device_models("convolutions")

MOST_PLACES = 20_000  # of all images: more take long here


def case(shape, schedule=""):
    return emulated.Case(shape.name, models.model(shape), {"batch": f"1..256:opt={shape.batch}"}, {"batch": shape.batch},
                         f".* = {schedule}" if schedule else "")


def cases():
    return [case(shape) for shape in models.SMALL if shape.batch * math.prod(shape.out_size) <= MOST_PLACES]


if __name__ == "__main__":
    kpc, driver, folder = sys.argv[1:]
    sys.exit(emulated.main(kpc, driver, "sm_90a", folder, cases(), "convolutions"))
