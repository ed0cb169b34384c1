#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions on tensor cores, on the emulator.   convolutions.py KPC DRIVER FOLDER

The small ones of test/device/convolutions.py; `kpc verify` compares the emulated run with the model on the host. Clusters of
blocks, which the emulator does not know, are taken out of the schedules. Ends with 77 where onnx is not installed.
"""

import os
import pathlib
import re
import subprocess
import sys

try:
    from onnx import save
except ImportError:
    print("SKIPPED: onnx is not installed")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "device"))
from convolutions import SMALL, model  # noqa: E402

MOST_PLACES = 20_000  # of all images: more take long here


def compile_case(kpc, case, source, artifact):
    command = [kpc, "compile", source, "--arch", "sm_90a", "--dim", f"batch=1..256:opt={case.batch}", "--variants", "1", "-o", artifact,
               "--no-cache", "--quiet"]
    subprocess.run(command, check=True)
    shown = subprocess.run([kpc, "inspect", artifact], check=True, capture_output=True, text=True).stdout
    alone = re.search(r"(conv \S+ slots \d+ group \d+) (split|cluster)", shown)
    if alone:
        rules = artifact.with_suffix(".schedule")
        rules.write_text(f"sum.* = {alone[1]}\n")
        subprocess.run([*command, "--schedule", rules], check=True)


def main():
    kpc, driver, folder = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ, KPC_CUDA_DRIVER=driver, KPC_EMULATE_TARGET="sm_90a")
    failed = count = 0
    for case in SMALL:
        places = case.batch
        for size in case.out_size:
            places *= size
        if places > MOST_PLACES:
            continue
        count += 1
        source, artifact = folder / f"{case.name}.onnx", folder / f"{case.name}.kpc"
        save(model(case), source)
        compile_case(kpc, case, source, artifact)
        done = subprocess.run([kpc, "verify", artifact, "--model", source, "-i", "random", "--dim", f"batch={case.batch}",
                               "--device", "cuda:0", "--no-cache"], env=environment)
        failed += done.returncode != 0
    print(f"{count} convolutions, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
