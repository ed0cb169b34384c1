#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The digits model on the emulator.   digits.py KPC DRIVER MODEL FOLDER

Compiles it for GPU targets, and lets `kpc verify` compare emulated runs with the model on the host.
"""

import os
import pathlib
import subprocess
import sys

TARGETS = ("sm_80", "sm_90a")


def main():
    kpc, driver, model, folder = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for target in TARGETS:
        artifact = folder / f"digits.{target}.kpc"
        subprocess.run([kpc, "compile", model, "--arch", target, "-o", artifact, "--no-cache", "--quiet"], check=True)
        environment = dict(os.environ, KPC_CUDA_DRIVER=driver, KPC_EMULATE_TARGET=target)
        for batch in ("1", "5"):
            subprocess.run([kpc, "verify", artifact, "--model", model, "-i", "random", "--dim", f"batch={batch}",
                            "--device", "cuda:0", "--no-cache"], check=True, env=environment)
    return 0


if __name__ == "__main__":
    sys.exit(main())
