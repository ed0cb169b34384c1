#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One artifact for many sizes beside one without variants, and beside others that are each tuned for one size.

    python3 time_variants.py FOLDER --runtime libkpc_runtime.so [--json FILE] [--rounds 5] [--only REGEX]

FOLDER is what variants.py wrote. Of each size is noted: `error` of the artifact with variants against PyTorch in fp32, `same` and `right`
as time_networks.py has them; microseconds a call of it (`kpc`), of the one without variants (`single`), of those tuned for one
size (`tuned`, by that size), and at some sizes of torch.compile (`compile`): all of them in turn in one process, medians of
rounds of 10 calls. `ratio`: the time of the artifact that is tuned for this size over kpc's; `binding`: microseconds
that binding the size took.
"""

import sys
import time

import torch

import network_sides
import side_by_side
from kpc_session import Session
from network_sides import TYPES, Network, listed
from time_networks import MOST_ERROR, MOST_RATIO

PRECISION = "fp16"
sessions, loaded = {}, {}


def session_of(file, options):
    if file not in sessions:
        sessions[file] = Session(options.runtime, str(options.folder / file))
    return sessions[file]


def network_of(case, options):
    """(PyTorch in fp32, its module in 16 bits)"""
    if case["stem"] not in loaded:
        network = Network(options.folder / f"{case['stem']}.onnx")
        loaded[case["stem"]] = network, network.narrow(TYPES[PRECISION])
    return loaded[case["stem"]]


@torch.no_grad()
def run_case(case, options):
    network, module = network_of(case, options)
    given, theirs = network.feed(case["sizes"], TYPES[PRECISION])
    want = [value.clone() for value in listed(network.wide(*given.values()))]
    out = {name: torch.empty_like(value) for name, value in zip(network.outputs, want)}
    row = dict(case, torch_error=max(side_by_side.error(mine, wide) for mine, wide in zip(listed(module(*theirs)), want)))
    own = session_of(case["artifact"], options)
    start = time.perf_counter()
    own.output_shapes(case["sizes"])
    row["binding"] = (time.perf_counter() - start) * 1e6
    row["error"], row["same"] = network_sides.results(own, given, out, want)
    row["right"] = row["same"] and row["error"] <= min(MOST_ERROR[PRECISION], MOST_RATIO * row["torch_error"])
    if not options.rounds:
        return row
    files = {"kpc": case["artifact"], "single": case["single"], **case["tuned"]}
    sides = {name: lambda s=session_of(file, options): s.run(given, out) for name, file in files.items()}
    if case["by_torch"]:
        fast = network_sides.compiled(module)
        sides["compile"] = lambda: fast(*theirs)
        for _ in range(3):
            sides["compile"]()
    times = network_sides.medians(sides, options.rounds)
    row.update({name: times[name] for name in ("kpc", "single", "compile") if name in times})
    row["tuned"] = {label: times[label] for label in case["tuned"]}
    row["tuned_text"] = ", ".join(f"{label} {times[label]:.0f}" for label in case["tuned"])
    if case["label"] in times:
        row["ratio"] = times[case["label"]] / times["kpc"]
    return row


def describe(row):
    if "kpc" not in row:
        return ""
    text = f"kpc {row['kpc']:.1f} us, --variants 1 {row['single']:.1f}; tuned for {row['tuned_text']}"
    if "compile" in row:
        text += f"; torch.compile {row['compile']:.1f}"
    return text + f"; bound in {row['binding']:.0f} us"


if __name__ == "__main__":
    sys.exit(side_by_side.compare_cases(run_case, describe, __doc__, rounds=5))
