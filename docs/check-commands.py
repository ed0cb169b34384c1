#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the commands of README.md and of the pages in docs that have some, in order, and compares what they print with what the page shows.

    python3 check-commands.py BUILD/bin

Every line that the page shows must be printed, in that order; numbers, units and spaces may differ, lines may be left
out, and `...` or `…` stands for any. A command may be about a file that no page makes: those are made here.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

PAGES = ("README.md", "docs/guide.md", "docs/when-it-does-not-compile.md", "docs/cli.md", "docs/from-onnx-to-kernels.md", "docs/emulator.md",
         "docs/from-pytorch.md", "docs/custom-operators.md")
ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^ *```console\n(.*?)^ *```", re.M | re.S)
NUMBER = re.compile(r"-?\d+(\.\d+)?(e[-+]?\d+)?")
HOST_SCHEDULE = re.compile(r"\btile rows=\S+ vectors=\S+ lanes=\S+ block=\S+( region)? (direct|panel)\b")  # of a CPU's vectors
UNIT = re.compile(r"\b(bytes|[KMG]iB|ms|us|ns|s)\b")
# What these print is a fault of the input, which the page shows on purpose; or a time, which may be too long.
FAILS = {"kpc check unknown.onnx": (1,), "kpc check spectrum.onnx": (1,), "kpc check album.onnx": (1,),
         "kpc check unrolled.onnx --limit unrolled=3": (1,)}
MAY_BE_SLOW = "--fail-above"


def alike(line):
    """A line without what differs from machine to machine and day to day."""
    line = re.sub(r"host \(.*\)", "host (CPU)", line)
    line = re.sub(r"\b0x([0-9a-f]+|…)", "ADDRESS", line)
    line = HOST_SCHEDULE.sub("tile SCHEDULE", line)
    line = UNIT.sub("U", NUMBER.sub("N", line.replace("host:x86-64-v2", "HOST").replace(
        "host:x86-64-v3", "HOST").replace("host:x86-64-v4", "HOST")))
    return " ".join(line.split())


def commands(page):
    """Pairs of a command line and the lines it is said to print."""
    found = []
    for block in BLOCK.findall(page):
        for line in textwrap.dedent(block).splitlines():
            if line.startswith("$ "):
                found.append((re.sub(r"\s+#.*", "", line[2:]), []))
            elif line.strip() not in ("...", "…"):
                found[-1][1].append(line)
    return found


def missing_lines(expected, printed):
    printed = iter([alike(line) for line in printed])
    return [line for line in expected if alike(line) not in printed]


def prepare(folder):
    for name in ("digits.onnx", "images.npy"):
        shutil.copy(ROOT / "examples/digits" / name, folder)
    models = folder / "models"
    subprocess.run([sys.executable, ROOT / "test/cli/Inputs/make_models.py", models], check=True)
    for name in ("unknown.onnx", "relu.onnx", "x.npy", "spectrum.onnx", "settled.onnx", "album.onnx", "contradiction.onnx",
                 "unrolled.onnx", "forty.onnx"):
        shutil.copy(models / name, folder)
    shutil.copy(models / "relu.onnx", folder / "model.onnx")
    for name in ("mlp.pt2", "model.pt2"):
        shutil.copy(ROOT / "test/models/programs/m_mlp.pt2", folder / name)
    sys.path.insert(0, str(ROOT / "test/models"))
    import script_writer

    forward = "  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n    return torch.mean(torch.relu(x), [2, 3])\n"
    script_writer.save(folder / "model.pt", script_writer.Module("__torch__.M", {"training": False}),
                       {"__torch__.py": "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n" + forward})
    # h.kpc, as the page says in words.
    subprocess.run(["kpc", "compile", "digits.onnx", "--arch", "host", "--precision", "fp16", "-o", "h.kpc", "-q"],
                   cwd=folder, check=True)


def main():
    os.environ["PATH"] = os.path.abspath(sys.argv[1]) + os.pathsep + os.environ["PATH"]
    os.environ["KPC_SOURCE"] = str(ROOT)
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
        prepare(pathlib.Path(folder))
        all_commands = [pair for page in PAGES for pair in commands((ROOT / page).read_text())]
        for command, expected in all_commands:
            done = subprocess.run(command, shell=True, cwd=folder, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            if "error[KPC-T0004]" in done.stdout:  # NVIDIA's, and not everywhere
                print(f"left out, as there is no ptxas: {command}")
                continue
            missing = missing_lines(expected, done.stdout.splitlines())
            allowed = (0, 3) if MAY_BE_SLOW in command else FAILS.get(command, (0,))
            if missing or done.returncode not in allowed:
                faults += 1
                print(f"$ {command}\n{done.stdout}exit code {done.returncode}")
                for line in missing:
                    print(f"not printed: {line}")
                    break  # the lines behind it were not found for its sake
    print(f"{len(all_commands)} commands, {faults} not as {', '.join(PAGES)} say")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
