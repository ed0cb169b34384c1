#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows that each layer's attention is one kernel on every GPU.

    python3 attention_kernels.py --kpc build/dev/bin/kpc --work-dir DIR --arch sm_80,sm_90a,portable MODEL.onnx=LAYERS…

Each model is compiled in fp16 for all targets; what `kpc inspect` says of a target must name one attention kernel for each
layer. Weights are made up (weights.py).
"""

import argparse
import pathlib
import re
import subprocess
import sys

import onnx

import weights

FAMILIES = {"attention", "attention_tcgen05", "attention_mmasync", "decode"}
DIMS = {"batch": "1..8:opt=2", "sequence": "1..64:opt=32"}


def counted(kpc, model, archs, folder):
    """Launches of attention kernels by target."""
    source = weights.generate(model, folder)
    named = {dim.dim_param for value in onnx.load(source, load_external_data=False).graph.input for dim in value.type.tensor_type.shape.dim}
    dims = [word for name, size in DIMS.items() if name in named for word in ("--dim", f"{name}={size}")]
    artifact = folder / f"{model.stem}.kpc"
    subprocess.run([kpc, "compile", source, "--arch", archs, "--precision", "fp16", "--variants", "1", *dims, "-o", artifact,
                    "--quiet"], check=True)
    shown = subprocess.run([kpc, "inspect", artifact], check=True, capture_output=True, text=True).stdout
    parts = re.split(r"(?m)^kernels of ([^\s:]+).*$", shown)
    counts = {}
    for target, text in zip(parts[1::2], parts[2::2]):
        # A kernel's name, its family with the schedule, types, launches.
        rows = [re.split(r" {2,}", line.strip()) for line in text.splitlines()]
        counts[target] = sum(int(row[3]) for row in rows if len(row) > 3 and row[1].split(" ")[0] in FAMILIES)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--arch", required=True)
    parser.add_argument("models", nargs="+", metavar="MODEL.onnx=LAYERS")
    options = parser.parse_args()
    options.work_dir.mkdir(parents=True, exist_ok=True)
    wrong = 0
    for text in options.models:
        path, layers = text.rsplit("=", 1)
        counts = counted(options.kpc, pathlib.Path(path), options.arch, options.work_dir)
        print(f"{pathlib.Path(path).stem}: " + ", ".join(f"{target} {count}" for target, count in counts.items()))
        wrong += not counts or any(count != int(layers) for count in counts.values())
    print(f"{len(options.models)} models, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
