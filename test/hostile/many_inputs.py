#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Valid models in which one node joins very many values: they compile in time, without a stack overflow, and are right.

    python3 many_inputs.py --kpc build/dev/bin/kpc --work-dir DIR [--inputs 10000]

Standard library only.
"""

import argparse
import pathlib
import struct
import sys

from long_chain import run
from onnx_writer import floats, graph, model, node, value_info
from run_hostile import npy


VALUES = 7


def which(i):
    """In no order that repeats."""
    return (i * 2654435761 >> 7) % VALUES


def joined(count):
    """x + one of a few numbers, along an axis that is not the outermost."""
    steps = [node("Add", ["x", f"c{i}"], [f"v{i}"], f"add_{i}") for i in range(VALUES)]
    steps.append(node("Concat", [f"v{which(i)}" for i in range(count)], ["y"], "join", axis=1))
    return model(graph(steps, [value_info("x", [2, 1])], [value_info("y", [2, count])],
                       [floats(f"c{i}", [], [float(i)]) for i in range(VALUES)]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kpc", type=pathlib.Path, required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--limit", type=float, default=300, help="seconds that kpc may take")
    options = parser.parse_args()

    folder, count = options.work_dir, options.inputs
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "joined.onnx").write_bytes(joined(count))
    (folder / "x.npy").write_bytes(npy("<f4", "(2, 1)", struct.pack("<2f", 0.5, -1.0)))
    compiled = run([options.kpc, "compile", folder / "joined.onnx", "--arch", "host", "-o", folder / "joined.kpc",
                    "--no-cache", "--quiet"], options.limit)
    run([options.kpc, "run", folder / "joined.kpc", "--input", f"x={folder / 'x.npy'}", "--output-dir", folder], options.limit)
    data = (folder / "y.npy").read_bytes()
    got = struct.unpack(f"<{2 * count}f", data[-8 * count:])
    want = tuple(x + which(i) for x in (0.5, -1.0) for i in range(count))
    if got != want:
        place = next(i for i in range(2 * count) if got[i] != want[i])
        print(f"FAILED: element {place} is {got[place]}, expected {want[place]}")
        return 1
    print(f"{count} inputs: compiled in {compiled:.1f} s, right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
