#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that the graph of includes has no circle and no arrow up.

    python3 includes.py [--root DIR]

FLOORS lists folders, and a few files of their own, from the bottom to the top. A file belongs to the longest entry that
its path begins with. It may include files of its entry and of those below. No file includes itself by way of others.
A folder that no entry names is an error: say where it stands.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys

FLOORS = [
    # What runs in a customer's process, and the format of artifacts.
    "runtime/format", "runtime/include", "runtime/src",
    # The emulator of GPUs knows nothing of the compiler.
    "emulator/numbers", "emulator/ptx", "emulator/program", "emulator/execute", "emulator/instructions", "emulator",
    "emulator/driver",
    # Levels of the program.
    "dialects/shape", "dialects/layout", "dialects/graph", "dialects/plan", "dialects/kernel", "dialects/tile", "dialects",
    # What is known of chips, and how messages are made.
    "compiler/target", "compiler/diagnostics",
    # From a graph to kernels, and from kernels to code.
    "passes/schedule", "passes/kernels/form", "passes/graph", "passes/kernels/math", "passes/kernels/host",
    "passes/kernels/gpu", "passes/tile",
    "codegen/artifact", "compiler/workers", "codegen/host", "codegen/nvptx", "passes",
    # The compiler: what it is told and tells, models, kernels, artifacts, the whole.
    "compiler/Remarks", "compiler/CompileOptions", "compiler/CompileReport", "compiler/ScheduleFile", "compiler/Version",
    "compiler/BuildId", "compiler/Listing", "compiler/DiagnosticBridge",
    "compiler/import", "compiler/weights", "compiler/cache", "compiler/kernels", "compiler/artifact", "compiler/ModelDigest", "compiler/TextModel",
    "compiler/fold", "compiler",
    "python", "tools",
]
SOURCES = (".h", ".cpp", ".td")
# Where includes without a path from the root are looked for.
ROOTS = ("", "runtime/include/", "runtime/src/")


def tracked(root):
    listed = subprocess.run(["git", "-C", root, "ls-files"], check=True, capture_output=True, text=True).stdout
    return [name for name in listed.splitlines() if name.endswith(SOURCES) and not name.startswith(("cmake/", "test/", "examples/"))]


def includes(root, files):
    """For each file those of the tree that it includes."""
    known, graph = set(files), {}
    for name in files:
        path = root / name
        if not path.exists():
            continue
        wanted = re.findall(r'^\s*#?\s*include\s+["<]([^">]+)[">]', path.read_text(), re.MULTILINE)
        beside = name.rpartition("/")[0] + "/"
        places = ((place + one for place in (*ROOTS, beside)) for one in wanted)
        graph[name] = sorted({found for found in (next((p for p in some if p in known), None) for some in places) if found})
    return graph


def floor_of(name):
    fits = [entry for entry in FLOORS if name.startswith((entry + "/", entry + "."))]
    return FLOORS.index(max(fits, key=len)) if fits else None


def circles(graph):
    """A list of files for each circle, which begins and ends with the same one."""
    state, found = collections.Counter(), []
    for start in graph:
        if state[start]:
            continue
        path, work = [start], [iter(graph[start])]
        state[start] = 1
        while work:
            below = next(work[-1], None)
            if below is None:
                state[path.pop()] = 2
                work.pop()
            elif state[below] == 1:
                found.append(path[path.index(below):] + [below])
            elif not state[below]:
                state[below] = 1
                path.append(below)
                work.append(iter(graph.get(below, ())))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2], type=pathlib.Path)
    options = parser.parse_args()
    graph = includes(options.root, tracked(options.root))
    wrong = ["expected no circle, got " + " -> ".join(circle) for circle in circles(graph)]
    for name, below in sorted(graph.items()):
        if floor_of(name) is None:
            wrong.append(f"{name}: expected a folder of FLOORS in test/style/includes.py; add it where it stands")
            continue
        for one in below:
            if floor_of(one) is not None and floor_of(one) > floor_of(name):
                wrong.append(f"{name}: expected includes of its floor and those below, got {one}, which is above; "
                             "move what both need down")
    print("\n".join(wrong) if wrong else f"{len(graph)} files include nothing from above them")
    sys.exit(1 if wrong or not graph else 0)


if __name__ == "__main__":
    main()
