#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ended_loops.py compiled: right on a GPU, and the time of loops and branches that data decides.

    python3 time_ended_loops.py FOLDER --runtime libkpc_runtime.so [--rounds 7]

Each runs in two sessions: of one, conditions are nodes of a graph where they can be; the other has a time limit, for
which all conditions are read back. Of the long ones both are timed in turn: calls until the device is done, medians.
"""

import argparse
import pathlib
import statistics
import sys
import time

import numpy as np
import torch

import runtime_library
from kpc_session import Session
from time_recurrent import tensors, wrong

MOST_ERROR = 5e-5  # RMS, of the reference's
NODES, READ_BACK = "nodes", "read back"


def microseconds(session, inputs, outputs):
    torch.cuda.synchronize()
    begin = time.perf_counter_ns()
    session.run(inputs, outputs)
    torch.cuda.synchronize()
    return (time.perf_counter_ns() - begin) / 1e3


def check(sessions, name, inputs, references):
    """How many are wrong, three runs each: the second and third have other addresses, and the same."""
    failed = 0
    for way, session in sessions.items():
        outputs = None
        for number in range(3):
            if number < 2:
                outputs = {key: torch.zeros_like(reference) for key, reference in references.items()}
            session.run(inputs, outputs)
            torch.cuda.synchronize()
            if problem := wrong(outputs, references, MOST_ERROR):
                failed += 1
                print(f"WRONG: {name}, {way}: {problem}", flush=True)
    return failed


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--runtime", required=True)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    failed = 0
    for artifact in sorted(options.folder.glob("*.kpc")):
        sessions = {NODES: Session(options.runtime, str(artifact)),
                    READ_BACK: Session(options.runtime, str(artifact), most_microseconds=10 ** 9)}
        for arrays in sorted(options.folder.glob(f"{artifact.stem}.[0-9]*.npz")):
            arrays = np.load(arrays)
            inputs, references = tensors(arrays, "in_"), tensors(arrays, "out_")
            try:
                failed += check(sessions, artifact.stem, inputs, references)
            except runtime_library.Failed as error:
                failed += 1
                print(f"FAILED: {artifact.stem}: {error}", flush=True)
                continue
            if not artifact.stem.startswith("long_"):
                continue
            outputs = {key: torch.zeros_like(reference) for key, reference in references.items()}
            times = {way: [] for way in sessions}
            for _ in range(options.rounds):
                for way, session in sessions.items():
                    times[way] += [microseconds(session, inputs, outputs) for _ in range(5)][1:]
            nodes, back = (statistics.median(times[way]) for way in (NODES, READ_BACK))
            of = int(arrays["in_limit"]) if "in_limit" in arrays else int(arrays["in_c"].size)
            print(f"{artifact.stem}, {of}: nodes {nodes:.1f} us, read back {back:.1f} us, ratio {back / nodes:.2f}; "
                  f"each {nodes / of:.2f} and {back / of:.2f} us", flush=True)
        for session in sessions.values():
            session.close()
    print(f"{failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
