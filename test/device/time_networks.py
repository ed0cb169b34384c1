#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole networks of kpc beside PyTorch: how far from fp32, how fast, with how much memory.

    python3 time_networks.py FOLDER --runtime libkpc_runtime.so [--json FILE] [--rounds 5] [--only REGEX]

FOLDER is what networks.py wrote. PyTorch's module gets the file's weights. Of each case is noted, over all outputs:
`error` and `torch_error`, the RMS errors of kpc and of PyTorch in the same 16 bits against PyTorch in fp32 without tf32;
`same`, whether two runs give the same bytes; `right`: both as they must be.

Of timed cases: microseconds a call of kpc, of PyTorch's modules as they are (`eager`) and behind
torch.compile(mode="reduce-overhead") (`compile`), medians of rounds of 10 calls, the sides in turn with idle gaps; `ratio`,
the better of PyTorch's over kpc's; `kernels`, what kpc's GPU time goes into. Then their memory, by network_memory.py, and
kpc's over that of PyTorch's faster side.

Each network has a process of its own, so that compiles of PyTorch go side by side; they take their times one by one,
once all have compiled.
"""

import json
import multiprocessing
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import traceback

import torch

import network_memory
import network_sides
import side_by_side
from kpc_session import Session
from network_sides import TYPES, Network, listed, medians

MOST_ERROR = {"fp16": 5e-3, "bf16": 2e-2}
MOST_RATIO = 1.5  # of kpc's error to PyTorch's


def kernels(call, calls=3):
    """(microseconds a call, launches a call, name), slowest first."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
    rows = [(row.device_time_total / calls, row.count / calls, row.key) for row in profile.key_averages()]
    return sorted((row for row in rows if row[0] > 0), reverse=True)


class Case:
    """PyTorch's part of a case: its results, and with --rounds its compiled module; then kpc's."""

    def __init__(self, case, network, modules, rounds):
        self.case, self.row = case, dict(case, right=False)
        dtype = TYPES[case["precision"]]
        self.given, theirs = network.feed(case["sizes"], dtype)
        if case["narrow_io"]:
            wide, self.given = self.given, dict(zip(self.given, theirs))
        module = modules[case["precision"]]
        self.want = [value.clone() for value in listed(network.wide(*(wide if case["narrow_io"] else self.given).values()))]
        own = listed(module(*theirs))
        self.row["torch_error"] = max(side_by_side.error(mine, want) for mine, want in zip(own, self.want))
        self.out = {name: torch.empty_like(value, dtype=dtype if case["narrow_io"] else None) for name, value in zip(network.outputs, self.want)}
        self.sides = {}
        if case["timed"] and rounds:
            self.sides["eager"] = lambda: module(*theirs)
            start = time.monotonic()
            fast = network_sides.compiled(module)
            self.sides["compile"] = lambda: fast(*theirs)
            for _ in range(3):
                self.sides["compile"]()
            torch.cuda.synchronize()
            self.row["compile_seconds"] = time.monotonic() - start

    def measure(self, options):
        """kpc's part; nothing else uses the GPU meanwhile."""
        row = self.row
        session = Session(options.runtime, str(options.folder / self.case["artifact"]))
        row["error"], row["same"] = network_sides.results(session, self.given, self.out, self.want)
        row["right"] = row["same"] and row["error"] <= min(MOST_ERROR[row["precision"]], MOST_RATIO * row["torch_error"])
        if self.sides:
            run = lambda: session.run(self.given, self.out)
            times = medians({"kpc": run, **self.sides}, options.rounds)
            faster = min(("eager", "compile"), key=times.get)
            row.update(times, faster=faster, ratio=times[faster] / times["kpc"], kernels=kernels(run))
        session.close()
        return row


def network_process(path, cases, options, pipe):
    """Says 'ready' when PyTorch has done its part, then, when told to, gives rows and None."""
    torch.set_grad_enabled(False)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    made, lost = [], []
    try:
        network = Network(path)
        modules = {precision: network.narrow(TYPES[precision]) for precision in {case["precision"] for case in cases}}
        for case in cases:
            made.append(Case(case, network, modules, options.rounds))
    except Exception:
        lost = [dict(case, right=False, problem=traceback.format_exc()[-600:]) for case in cases[len(made):]]
    pipe.send("ready")
    pipe.recv()
    for one in made:
        try:
            pipe.send(one.measure(options))
        except Exception as problem:
            pipe.send(dict(one.row, problem=f"{type(problem).__name__}: {problem}"))
    for row in lost:
        pipe.send(row)
    pipe.send(None)


def describe(row):
    text = f"PyTorch's {row['torch_error']:.2e}"
    if "ratio" in row:
        text += (f"; kpc {row['kpc']:.1f} us, eager {row['eager']:.1f}, compile {row['compile']:.1f}: {row['ratio']:.2f}; "
                 f"compiled in {row['compile_seconds']:.0f} s")
    return text


def add_memory(rows, options):
    """In a process of its own, from which others come that have not loaded PyTorch."""
    timed = [row for row in rows if "faster" in row]
    if not timed:
        return
    script = pathlib.Path(__file__).resolve().parent / "network_memory.py"
    with tempfile.TemporaryDirectory() as folder:
        found = pathlib.Path(folder) / "memory.json"
        subprocess.run([sys.executable, script, options.folder, "--runtime", options.runtime, "--only", options.only, "--json", found])
        memory = json.loads(found.read_text()) if found.exists() else {}
    for row in timed:
        more = memory.get(row["name"], {"problem": "its memory was not measured"})
        row.update(more)
        if "problem" in more:
            row["right"] = False
        else:
            row.update(network_memory.ratios(row, row["faster"]))


def main():
    options = side_by_side.parse_arguments(__doc__, rounds=5)
    by_file = {}
    for case in json.loads((options.folder / "cases.json").read_text()):
        if re.search(options.only, f"{case['purpose']} {case['name']}"):
            by_file.setdefault(case["stem"], []).append(case)
    context, processes, rows = multiprocessing.get_context("spawn"), [], []
    for stem, cases in by_file.items():
        mine, theirs = context.Pipe()
        process = context.Process(target=network_process, args=(options.folder / f"{stem}.onnx", cases, options, theirs))
        process.start()
        theirs.close()
        processes.append((cases, process, mine))

    def received(cases, pipe):
        try:
            return pipe.recv()
        except EOFError:
            return [dict(case, right=False, problem="its process ended") for case in cases]

    waiting = [(cases, process, pipe, received(cases, pipe)) for cases, process, pipe in processes]
    for cases, process, pipe, said in waiting:
        found = said if isinstance(said, list) else []
        if not found:
            pipe.send("go")
            while (row := received(cases[len(found):], pipe)) is not None:
                found += row if isinstance(row, list) else [row]
                if isinstance(row, list):
                    break
        for row in found:
            print(side_by_side.line(row, describe), flush=True)
        rows += found
        process.join(20)
        if process.is_alive():
            process.kill()
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1))
    add_memory(rows, options)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    for purpose, count, mean, least in side_by_side.geometric_means(rows):
        print(f"{purpose}: geometric mean of {count}: {mean:.3f}, least {least:.3f}")
    return 0 if rows and all(row["right"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
