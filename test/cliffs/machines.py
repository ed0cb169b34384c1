# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the products can do that stand for targets, by their data sheets: the ones of compiler/target/GpuTargets.cpp."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Machine:
    name: str
    multiprocessors: int
    gigahertz: float  # what it runs at under load
    gbps: float
    cache: int  # the second one, bytes
    rates: dict  # 10^12 operations a second, dense; a multiply-add is two
    threads: int  # of a multiprocessor
    blocks: int
    shared: int  # bytes of a multiprocessor
    lanes: int = 128  # multiply-adds of a multiprocessor in a cycle
    f64_lanes: float = 2

    def rate(self, kind):
        """Of matrix products: what the chip can do at best for operands and sums of this kind."""
        return {"f32": lambda: self.rates["tf32"], "fp32": lambda: max(self.rates["f32"], self.rates["tf32"] / 3),
                "fp16": lambda: self.rates["fp16"], "bf16": lambda: self.rates["fp16"], "f64": lambda: self.rates["f64"],
                "int8": lambda: self.rates["int8"]}.get(kind, lambda: self.rates["f32"])()


MiB = 1 << 20
A100 = Machine("A100", 108, 1.41, 2039, 40 * MiB, {"f32": 19.5, "tf32": 156, "fp16": 312, "int8": 624, "f64": 19.5}, 2048, 32, 164 << 10, 64, 32)
A10 = Machine("A10", 72, 1.6, 600, 6 * MiB, {"f32": 31.2, "tf32": 62.5, "fp16": 125, "int8": 250, "f64": 0.49}, 1536, 16, 100 << 10)
H200 = Machine("H200", 132, 1.7, 4800, 60 * MiB, {"f32": 67, "tf32": 494, "fp16": 989, "int8": 1979, "f64": 67}, 2048, 32, 228 << 10, f64_lanes=64)
B200 = Machine("B200", 148, 1.85, 8000, 126 * MiB, {"f32": 75, "tf32": 1125, "fp16": 2250, "int8": 4500, "f64": 37}, 2048, 32, 228 << 10, f64_lanes=64)
RTX5090 = Machine("RTX 5090", 170, 2.4, 1792, 96 * MiB, {"f32": 104.8, "tf32": 104.8, "fp16": 209.5, "int8": 838, "f64": 1.64}, 1536, 24, 100 << 10)
L40S = Machine("L40S", 142, 2.2, 864, 96 * MiB, {"f32": 91.6, "tf32": 183, "fp16": 362, "int8": 733, "f64": 1.43}, 1536, 24, 100 << 10)
# FP64 and integers are what a B300 has less of than a B200. No figure of a Thor's or a GB10's tf32 is published: half of fp16.
B300 = Machine("B300", 148, 1.85, 8000, 126 * MiB, {"f32": 75, "tf32": 1125, "fp16": 2250, "int8": 150, "f64": 1.2}, 2048, 32, 228 << 10)
THOR = Machine("Jetson T5000", 20, 1.57, 273, 32 * MiB, {"f32": 8, "tf32": 129, "fp16": 258, "int8": 517, "f64": 0.12}, 1536, 24, 228 << 10)
GB10 = Machine("GB10", 48, 2.4, 273, 24 * MiB, {"f32": 31, "tf32": 31, "fp16": 62, "int8": 250, "f64": 0.48}, 1536, 24, 100 << 10)

# By the name that an artifact gives its targets.
MACHINES = {"sm_80": A100, "sm_86": A10, "sm_89": L40S, "sm_90a": H200, "sm_100a": B200, "sm_103a": B300, "sm_110a": THOR, "sm_120a": RTX5090,
            "sm_121a": GB10, "compute_80": A10, "compute_90": H200}
