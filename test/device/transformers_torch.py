#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A transformer on a GPU beside PyTorch: how far from its fp32, and how fast beside its fp16.

    python3 test/models/export_transformers.py --output-dir DIR --only bert --variants dynamo --full
    python3 test/models/weights.py DIR/bert-full.dynamo.onnx --output-dir W
    kpc compile W/bert-full.dynamo.onnx --arch sm_90a --precision fp16 --dim batch=1..32:opt=8 \\
        --dim sequence=1..512:opt=128 -o W/bert.kpc                      # anywhere
    python3 test/device/transformers_torch.py --model bert --onnx W/bert-full.dynamo.onnx --full --artifact W/bert.kpc \\
        --library libkpc_runtime.so --sizes batch=1,sequence=128 --sizes batch=8,sequence=512 [--compile] [--json FILE]

PyTorch's module gets the file's weights (its metadata says which parameter each is). Of each size: the RMS errors of kpc
and of PyTorch's own 16 bits against PyTorch in fp32 without tf32, whether two runs give the same bytes, and medians of
five rounds of ten calls, the sides in turn, with idle gaps between; then the time of each kernel. --compile adds
torch.compile(mode="reduce-overhead"), --beside other artifacts (one for each size, say). Ends with 1 where kpc's error is above 5e-3 (bf16: 2e-2) or above 1.5 times PyTorch's.
"""

import argparse
import json
import pathlib
import statistics
import sys
import time

import numpy as np
import onnx
import torch
from onnx import numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "models"))

import export_transformers
from kpc_session import Session

TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}
MOST_ERROR = {"fp16": 5e-3, "bf16": 2e-2}
MOST_RATIO = 1.5
IDS = 1000  # as test/models/inputs.py
ROUNDS, CALLS = 5, 10


def parameters(path):
    """name of a parameter -> its values in the file"""
    model = onnx.load(str(path))
    values = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    found = {}
    for entry in model.metadata_props:
        if entry.key.startswith("parameter:"):
            value = values[entry.key.removeprefix("parameter:")]
            found[entry.value.removesuffix(".T")] = value.T if entry.value.endswith(".T") else value
    return found


def module_with(values, name, full, dtype):
    make, wrapper, _, _ = export_transformers.MODELS[name]
    module = export_transformers.wrappers()[wrapper](make(full).eval()).eval()
    for parameter, value in module.named_parameters():
        value.copy_(torch.from_numpy(np.array(values[parameter])))
    return module.to("cuda", dtype)


def listed(outputs):
    return outputs if isinstance(outputs, (tuple, list)) else (outputs,)


def error(got, want):
    return float(torch.sqrt(torch.mean((got.float() - want) ** 2) / torch.mean(want ** 2)))


def burst(run):
    """Microseconds a call."""
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    start.record()
    for _ in range(CALLS):
        run()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e3 / CALLS


def medians(sides):
    for run in sides.values():
        for _ in range(CALLS):
            run()
    times = {name: [] for name in sides}
    for _ in range(ROUNDS):
        for name, run in sides.items():
            time.sleep(0.02)
            times[name].append(burst(run))
    return {name: round(statistics.median(values), 1) for name, values in times.items()}


def kernels(run, calls=3):
    """(microseconds a call, launches a call, name), slowest first."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(calls):
            run()
        torch.cuda.synchronize()
    rows = [(row.device_time_total / calls, row.count / calls, row.key) for row in profile.key_averages()]
    return sorted((row for row in rows if row[0] > 0), reverse=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", choices=export_transformers.MODELS, required=True)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--onnx", type=pathlib.Path, required=True, help="with its weights beside it")
    parser.add_argument("--artifact", required=True)
    parser.add_argument("--precision", choices=TYPES, default="fp16", help="that of the artifact")
    parser.add_argument("--library", default="libkpc_runtime.so")
    parser.add_argument("--sizes", action="append", required=True)
    parser.add_argument("--beside", action="append", default=[], metavar="NAME=ARTIFACT",
                        help="another artifact of the model, timed in turn with the first")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    torch.set_grad_enabled(False)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    values, dtype = parameters(options.onnx), TYPES[options.precision]
    wide = module_with(values, options.model, options.full, torch.float32)
    narrow = module_with(values, options.model, options.full, dtype)
    fast = torch.compile(narrow, mode="reduce-overhead", dynamic=False) if options.compile else None
    ins, outs = export_transformers.signature(options.model, wide.model)
    session, found, good = Session(options.library, options.artifact), [], True
    others = {name: Session(options.library, path) for name, path in (text.split("=", 1) for text in options.beside)}
    for text in options.sizes:
        sizes = {name: int(size) for name, size in (part.split("=") for part in text.split(","))}
        torch.manual_seed(3)
        feed = {name: value.cuda() for name, value in export_transformers.example(ins, sizes, IDS).items()}
        theirs = [value.to(dtype) if value.is_floating_point() else value for value in feed.values()]
        want, own = listed(wide(*feed.values())), listed(narrow(*theirs))
        got = {name: torch.empty_like(value) for name, value in zip(outs, want)}
        session.run(feed, got)
        first = {name: value.clone() for name, value in got.items()}
        session.run(feed, got)
        torch.cuda.synchronize()
        for (name, value), reference, other in zip(got.items(), want, own):
            mine, peer, same = error(value, reference), error(other, reference), torch.equal(value, first[name])
            good &= same and mine <= min(MOST_ERROR[options.precision], MOST_RATIO * peer)
            print(f"{text} {name}: RMS error {mine:.2e}, PyTorch's {peer:.2e}, the same twice: {same}", flush=True)
            found.append(dict(sizes=sizes, output=name, error=mine, torch=peer, same=same))
        sides = {"kpc": lambda: session.run(feed, got), "eager": lambda: narrow(*theirs)}
        sides |= {name: lambda other=other: other.run(feed, got) for name, other in others.items()}
        if fast is not None:
            sides["compile"] = lambda: fast(*theirs)
        times = medians(sides)
        print(f"{text}: us a call {times}", flush=True)
        listing = kernels(sides["kpc"])
        for spent, count, name in listing:
            print(f"  {spent:9.1f} us {count:5.1f}x {name[:100]}")
        found.append(dict(sizes=sizes, times=times, kernels=listing))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
