# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far a result may be from its reference: RMS error over RMS, largest error over RMS."""

import dataclasses

import numpy as np


@dataclasses.dataclass
class Tolerance:
    rms: float
    largest: float


FP32 = Tolerance(rms=1e-4, largest=1e-3)
FP16 = Tolerance(rms=5e-3, largest=5e-2)
BF16 = Tolerance(rms=4e-2, largest=4e-1)  # 8 times that of fp16, which has 3 bits more
OF_PRECISION = {"fp32": FP32, "fp16": FP16, "bf16": BF16}


@dataclasses.dataclass
class Difference:
    rms: float
    largest: float

    def within(self, tolerance):
        """False also where a result is not a number."""
        return self.rms <= tolerance.rms and self.largest <= tolerance.largest

    def __str__(self):
        return f"RMS error {self.rms:.2e}, largest {self.largest:.2e}"


def difference(result, reference):
    result, reference = np.asarray(result, np.float64), np.asarray(reference, np.float64)
    scale = np.sqrt(np.mean(reference**2)) or 1.0
    error = result - reference
    return Difference(float(np.sqrt(np.mean(error**2)) / scale), float(np.max(np.abs(error)) / scale))
