#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A valid model that is one chain of 100,000 nodes: it compiles, without a stack overflow, and is right.

    python3 long_chain.py --kpc build/dev/bin/kpc --work-dir DIR [--nodes 100000]

Every second node adds a half and every other one changes the sign, so four nodes give back their input exactly and no
two neighbours are the same operation. Standard library only.
"""

import argparse
import pathlib
import struct
import subprocess
import sys
import time

from onnx_writer import floats, graph, model, node, value_info
from run_hostile import npy

VALUES = [0.0, 1.0, -2.5, 1024.0]


def chain(nodes):
    names = ["x"] + [f"v{i}" for i in range(1, nodes)] + ["y"]
    steps = [node("Add", [names[i], "half"], [names[i + 1]], f"add_{i}") if i % 2 == 0 else
             node("Neg", [names[i]], [names[i + 1]], f"neg_{i}") for i in range(nodes)]
    return model(graph(steps, [value_info("x", ["batch", 4])], [value_info("y", ["batch", 4])],
                       [floats("half", [], [0.5])]))


def run(command, limit):
    start = time.monotonic()
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=limit)
    if result.returncode != 0:
        print(result.stdout[-2000:] + result.stderr[-2000:])
        raise SystemExit(f"FAILED: {command[1]}: exit code {result.returncode}")
    return time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--limit", type=float, default=600, help="seconds that kpc may take")
    options = parser.parse_args()
    if options.nodes % 4:
        parser.error("--nodes must be a multiple of four")

    folder = options.work_dir
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "chain.onnx").write_bytes(chain(options.nodes))
    (folder / "x.npy").write_bytes(npy("<f4", "(1, 4)", struct.pack("<4f", *VALUES)))
    compiled = run([options.kpc, "compile", folder / "chain.onnx", "--arch", "host", "-o", folder / "chain.kpc",
                    "--no-cache", "--quiet"], options.limit)
    ran = run([options.kpc, "run", folder / "chain.kpc", "--input", f"x={folder / 'x.npy'}", "--output-dir", folder],
              options.limit)
    got = struct.unpack("<4f", (folder / "y.npy").read_bytes()[-16:])
    print(f"{options.nodes} nodes: compiled in {compiled:.1f} s, ran in {ran:.1f} s, gives {list(got)}")
    return 0 if list(got) == VALUES else 1


if __name__ == "__main__":
    sys.exit(main())
