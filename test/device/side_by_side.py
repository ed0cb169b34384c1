# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kpc and a peer in turn on one GPU: what time_products.py, time_attention.py and the others have in common.

    python3 time_FAMILY.py FOLDER --runtime libkpc_runtime.so [--json FILE] [--rounds N] [--only REGEX]

FOLDER is what FAMILY.py wrote. Of each case is noted what its result differs by from a reference of more bits on the same
GPU (`error`), whether a second run gives the same bits (`same`), and `right`: both as they must be; then microseconds of
each side, and the `ratio` of the peer's to kpc's.
"""

import argparse
import json
import pathlib
import re
import statistics
import time

import torch

from kpc_session import Session

BURST_SECONDS, IDLE_SECONDS = 0.008, 0.008
FLUSH_BYTES = 256 << 20  # more than a second cache holds
AHEAD_CYCLES = 4_000_000  # about 2 ms in which the host gets ahead
CALL_CYCLES = 30_000  # the same for one call of a burst: about 15 us, so that no short kernel waits for Python


def error(out, expected):
    """RMS of the difference over that of the reference."""
    wide = expected.dtype
    return ((out.to(wide) - expected).square().mean() / expected.square().mean().clamp(min=1e-30)).sqrt().item()


def events():
    return torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)


def burst(call, count, runs=1):
    """Microseconds of one of `count` calls in a row, each of so many runs, behind an idle gap."""
    start, end = events()
    time.sleep(IDLE_SECONDS)
    call()
    torch.cuda._sleep(CALL_CYCLES * count)
    start.record()
    for _ in range(count):
        call()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / count / runs * 1e3


def in_turn(sides, number):
    return list(sides) if number % 2 == 0 else list(sides)[::-1]


def compare_bursts(sides, rounds, runs=None):
    """Medians of bursts with idle gaps between, the order reversed each round. `runs`: of one call, where it is several."""
    runs, count = runs or {}, {}
    for name, call in sides.items():
        burst(call, 3)
        count[name] = min(max(3, int(BURST_SECONDS * 1e6 / burst(call, 10))), 800)
    times = {name: [] for name in sides}
    for number in range(rounds):
        for name in in_turn(sides, number):
            times[name].append(burst(sides[name], count[name], runs.get(name, 1)))
    return {name: statistics.median(values) for name, values in times.items()}


def compare_cold(sides, rounds):
    """Medians by (name, 'cold') and (name, 'warm'). Each call is timed by events of its own behind a write of more than the
    second cache holds, and once more right behind itself; the GPU still works on what was queued before, so that no call
    waits for the host."""
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    marks = {(name, kind): [] for name in sides for kind in ("cold", "warm")}
    for call in sides.values():
        for _ in range(3):
            call()

    def timed(key, call):
        start, end = events()
        start.record()
        call()
        end.record()
        marks[key].append((start, end))

    for number in range(rounds):
        torch.cuda.synchronize()
        torch.cuda._sleep(AHEAD_CYCLES)
        for name in in_turn(sides, number):
            flush.fill_(number)
            timed((name, "cold"), sides[name])
            timed((name, "warm"), sides[name])
    torch.cuda.synchronize()
    return {key: statistics.median(s.elapsed_time(e) * 1e3 for s, e in pairs) for key, pairs in marks.items()}


class Kernel:
    """A case's artifact, run twice: the first results are kept, the second must have the same bits."""

    def __init__(self, case, options, inputs, outputs):
        self.session = Session(options.runtime, str(options.folder / f"{case['name']}.kpc"))
        self.inputs, self.outputs = inputs, outputs
        self.first = self.results()
        second = self.results()
        self.same = all(torch.equal(self.first[name].reshape(-1).view(torch.uint8), second[name].reshape(-1).view(torch.uint8)) for name in outputs)

    def results(self):
        for out in self.outputs.values():
            out.fill_(7 if not out.is_floating_point() else float("nan"))
        self()
        torch.cuda.synchronize()
        return {name: out.clone() for name, out in self.outputs.items()}

    def __call__(self):
        self.session.run(self.inputs, self.outputs)

    def close(self):
        self.session.close()


def parse_arguments(about, rounds):
    parser = argparse.ArgumentParser(description=about.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--runtime", required=True)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=rounds, help=f"default: {rounds}; 0: right or wrong, no times")
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose 'purpose name' matches")
    return parser.parse_args()


def line(row, describe):
    text = f"{row['name']:38} {'right' if row['right'] else 'WRONG'}"
    if "problem" in row:
        return f"{text} {row['problem']}"
    return f"{text} error {row['error']:.2e}{'' if row['same'] else ' not the same twice'}  {describe(row)}"


def geometric_means(rows, key=lambda row: row.get("ratio")):
    """(purpose, count, geometric mean, least) of what was timed."""
    found = {}
    for row in rows:
        if key(row):
            found.setdefault(row["purpose"], []).append(key(row))
    return [(purpose, len(values), statistics.geometric_mean(values), min(values)) for purpose, values in found.items()]


def compare_cases(run_case, describe, about, rounds=7, key=lambda row: row.get("ratio")):
    """Runs all cases of a folder; the exit code. `run_case(case, options)` gives the row, `describe(row)` its times in words."""
    options = parse_arguments(about, rounds)
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    rows = []
    for case in json.loads((options.folder / "cases.json").read_text()):
        if not re.search(options.only, f"{case['purpose']} {case['name']}"):
            continue
        try:
            row = run_case(case, options)
        except RuntimeError as problem:
            row = dict(case, right=False, problem=str(problem).splitlines()[0])
        rows.append(row)
        print(line(row, describe), flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1))
    for purpose, count, mean, least in geometric_means(rows, key):
        print(f"{purpose}: geometric mean of {count}: {mean:.3f}, least {least:.3f}")
    return 0 if rows and all(row["right"] for row in rows) else 1
