#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a test model for every GPU target: each kernel must go through NVIDIA's assembler. Needs no GPU.

    python3 assemble.py --kpc build/dev/bin/kpc --model graphs/mlp.dynamo.onnx --work-dir DIR [--precision fp16]

Prints a line `ASSEMBLED target N` per target, which test/check/summary.py adds up, and fails where a target has a
kernel without machine code or one that spills registers to memory. PTX for `portable` is assembled here, for each
architecture that it is to run on. Exits 77 (a skip) where ptxas is not to be found.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

SKIPPED = 77
TARGETS = ["sm_80", "sm_90a", "sm_100a", "sm_120a"]
PORTABLE = {"compute_80": ["sm_80", "sm_89", "sm_120"], "compute_90": ["sm_90", "sm_100"]}


def find_ptxas():
    home = os.environ.get("CUDA_HOME")
    if home and pathlib.Path(home, "bin", "ptxas").exists():
        return str(pathlib.Path(home, "bin", "ptxas"))
    return shutil.which("ptxas")


def run(command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if result.returncode != 0:
        print("$ " + " ".join(str(part) for part in command))
        print(result.stdout + result.stderr)
        raise SystemExit(f"FAILED: exit code {result.returncode}")
    return result.stdout


def assemble_portable(ptxas, options, path, more):
    """The text that only a driver would otherwise see."""
    folder = options.work_dir / "ptx"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    run([options.kpc, "compile", path, "--arch", "portable", "--emit", "ptx", "-o", folder, "--quiet"] + more)
    counts = {}
    for virtual in PORTABLE:
        (file,) = folder.glob(f"*.{virtual}.ptx")
        modules = file.read_text().split("\n.version ")[1:]  # one after the other, a kernel each
        for module in modules:
            (folder / "module.ptx").write_text(".version " + module)
            for real in PORTABLE[virtual]:
                run([ptxas, f"-arch={real}", "-o", folder / "module.cubin", folder / "module.ptx"])
        counts[virtual] = len(modules)
    return counts


def show_machine_code(ptxas, options, path, more):
    """`--emit sass` by the disassembler that lies with the assembler; how many kernels it shows, none without one."""
    nvdisasm = pathlib.Path(ptxas).resolve().parent / "nvdisasm"
    if not nvdisasm.exists() and not shutil.which("nvdisasm"):
        print("nvdisasm is not installed: --emit sass is not tried")
        return None
    text = run([options.kpc, "compile", path, "--arch", "sm_90a", "--emit", "sass", "-o", "-", "--quiet"] + more)
    return sum(".section\t.text." in line or ".section .text." in line for line in text.splitlines())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--precision", default="")
    options = parser.parse_args()
    ptxas = find_ptxas()
    if not ptxas:
        print("SKIPPED: ptxas is not installed (CUDA_HOME and PATH were searched)")
        return SKIPPED

    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "models"))
    try:
        import compare
    except SystemExit as skip:  # a Python package that gives the model its weights is missing
        return skip.code
    options.work_dir.mkdir(parents=True, exist_ok=True)
    path = compare.place_model(options.model, options.work_dir)
    artifact = path.with_suffix(".kpc")
    more = ["--jobs", "0"] + (["--precision", options.precision] if options.precision else [])
    run([options.kpc, "compile", path, "--arch", ",".join(TARGETS), "-o", artifact, "--quiet", "--cache-dir",
         options.work_dir / "cache"] + more)
    contents = json.loads(run([options.kpc, "inspect", artifact, "--json"]))
    problems = []
    assembled = {target["name"]: target for target in contents["targets"]}
    for name in TARGETS:
        kernels = assembled.get(name, {"kernels": [], "code_bytes": 0})
        if not kernels["kernels"] or not kernels["code_bytes"]:
            problems.append(f"{name}: nothing was assembled")
        problems += [f"{name}: kernel '{k['symbol']}' spills {k['spill_bytes']} bytes" for k in kernels["kernels"]
                     if k.get("spill_bytes")]
        print(f"ASSEMBLED {name} {len(kernels['kernels'])}")
    for name, count in assemble_portable(ptxas, options, path, more + ["--no-cache"]).items():
        print(f"ASSEMBLED {name} {count}")
    shown = show_machine_code(ptxas, options, path, more + ["--no-cache"])
    if shown is not None and shown != len(assembled["sm_90a"]["kernels"]):
        problems.append(f"sm_90a: --emit sass shows {shown} of {len(assembled['sm_90a']['kernels'])} kernels")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
