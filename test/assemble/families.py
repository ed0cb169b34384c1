#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles cases of test/device for one GPU target: no kernel may spill registers to memory. Needs no GPU.

    python3 families.py --kpc build/dev/bin/kpc --family attention --only 'bool|float' --work-dir DIR [--arch sm_90a]

Prints a line `ASSEMBLED target N`, as assemble.py does. Exits 77 (a skip) where ptxas or onnx is not to be found.
"""

import argparse
import importlib
import json
import pathlib
import re
import subprocess
import sys

from assemble import SKIPPED, find_ptxas, run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "device"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--family", required=True, help="test/device/FAMILY.py")
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose 'purpose name' matches")
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--arch", default="sm_90a")
    options = parser.parse_args()
    if not find_ptxas():
        print("SKIPPED: ptxas is not installed (CUDA_HOME and PATH were searched)")
        return SKIPPED
    try:
        family = importlib.import_module(options.family)
    except ImportError as missing:
        print(f"SKIPPED: {missing}")
        return SKIPPED
    names = [case["name"] for case in family.cases() if re.search(options.only, f"{case['purpose']} {case['name']}")]
    script = pathlib.Path(family.__file__)
    subprocess.run([sys.executable, script, "--kpc", options.kpc, "--out", options.work_dir, "--arch", options.arch, "--only",
                    options.only, "--jobs", "2"], check=True)
    kernels, problems = 0, []
    for name in names:
        contents = json.loads(run([options.kpc, "inspect", options.work_dir / f"{name}.kpc", "--json"]))
        for kernel in contents["targets"][0]["kernels"]:
            kernels += 1
            if kernel.get("spill_bytes"):
                problems.append(f"{name}: kernel '{kernel['symbol']}' spills {kernel['spill_bytes']} bytes")
    print(f"ASSEMBLED {options.arch} {kernels}")
    print("\n".join(problems))
    return 1 if problems or not kernels else 0


if __name__ == "__main__":
    sys.exit(main())
