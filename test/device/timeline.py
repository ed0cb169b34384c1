#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""When each kernel of a run begins and ends on a GPU, also of those that begin before the one in front has ended.

    python3 timeline.py MODEL.kpc --runtime libkpc_runtime.so [--dim NAME=VALUE]... [--runs 10] [--json FILE]

Times are CUPTI's, through PyTorch's profiler, of runs that are queued one after another; inputs are zeros. A line has microseconds from the
run's first kernel, medians of the runs: the begin, the distance from the end of the kernel before (negative: they overlap) and the duration,
then grid, block and symbol. A kernel that begins early waits for a part of its duration. So read where kernels end.
"""

import argparse
import json
import pathlib
import statistics
import tempfile

import torch

import runtime_library
from runtime_library import cuda, named_tensor

MOST_BYTES = 8  # of an element


def tensors(ports, kept):
    made = []
    for name, element, shape in ports:
        count = 1
        for size in shape:
            count *= size
        kept.append(torch.zeros(max(count, 1) * MOST_BYTES, dtype=torch.uint8, device="cuda"))
        made.append(named_tensor(name, kept[-1].data_ptr(), shape, element, cuda(0)))
    return made


def traced(session, inputs, outputs, stream, runs):
    """The kernels of `runs` runs, in the order in which they begin."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(runs):
            session.run(inputs, outputs, stream.cuda_stream)
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trace.json"
        profile.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    return sorted((event for event in events if event.get("cat") == "kernel"), key=lambda event: event["ts"])


def rows(kernels, runs):
    """Of each kernel of a run; the first two runs only warm up. Kernels whose order changes are left out."""
    count = len(kernels) // runs
    parts = [kernels[i * count:(i + 1) * count] for i in range(2, runs)]
    for number in range(count):
        here = [part[number] for part in parts]
        if any(event["name"] != here[0]["name"] for event in here):
            continue
        def median(value):
            return round(statistics.median(value(part) for part in parts), 2)
        yield {"begin": median(lambda part: part[number]["ts"] - part[0]["ts"]),
               "after": median(lambda part: part[number]["ts"] - part[number - 1]["ts"] - part[number - 1]["dur"]) if number else 0,
               "takes": median(lambda part: part[number]["dur"]), "grid": here[0]["args"].get("grid"), "block": here[0]["args"].get("block"),
               "kernel": here[0]["name"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("artifact", type=pathlib.Path)
    parser.add_argument("--runtime", required=True)
    parser.add_argument("--dim", action="append", default=[])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    dims = {word.split("=")[0]: int(word.split("=")[1]) for word in options.dim}
    torch.zeros(1, device="cuda")
    session, stream, kept = runtime_library.Session(options.runtime, options.artifact, cuda(0)), torch.cuda.Stream(), []
    inputs = tensors(session.inputs(dims), kept)
    outputs = tensors([(*port, shape) for port, shape in zip(session.outputs(), session.output_shapes(dims))], kept)
    for _ in range(20):
        session.run(inputs, outputs, stream.cuda_stream)
    torch.cuda.synchronize()
    runs = max(3, options.runs)
    table = list(rows(traced(session, inputs, outputs, stream, runs), runs))
    for row in table:
        print(f"{row['begin']:10.2f} {row['after']:8.2f} {row['takes']:8.2f}  {str(row['grid']):16} {str(row['block']):14} {row['kernel']}")
    if options.json:
        options.json.write_text(json.dumps(table, indent=1))
    session.close()


if __name__ == "__main__":
    main()
