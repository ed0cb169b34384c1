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
the better of PyTorch's over kpc's; `kernels`, what kpc's GPU time goes into. Memory in MiB: `held`, what less is free on
the device once kpc has run (weights, arena, graph, machine code) with its inputs and outputs; `counted`, the same by
kpc_session_memory; `eager_peak` and `compile_peak`, torch.cuda.max_memory_allocated of the first three runs, in which
`compile` is compiled, recorded and replayed; `memory_ratio`, kpc's `held` over the peak of PyTorch's faster side.

Each network has a process of its own, so that compiles of PyTorch go side by side; they take their times one by one,
once all have compiled.
"""

import copy
import gc
import json
import multiprocessing
import pathlib
import re
import statistics
import sys
import time
import traceback

MODELS = pathlib.Path(__file__).resolve().parent.parent / "models"
sys.path.insert(0, str(MODELS))

import torch

import compare_torch
import export_transformers
import side_by_side
from kpc_session import Session

TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}
MOST_ERROR = {"fp16": 5e-3, "bf16": 2e-2}
MOST_RATIO = 1.5  # of kpc's error to PyTorch's
IDS = 1000  # as test/models/inputs.py
CALLS, IDLE_SECONDS = 10, 0.02
MIB = 1 << 20


class Network:
    """A PyTorch module with the weights of a file, and what goes in and comes out."""

    def __init__(self, path):
        self.name = path.name.split(".")[0].removesuffix("-full")
        self.image = self.name in compare_torch.export.MODELS
        if self.image:
            module = compare_torch.torch_module(path)
            self.inputs = {"input": ("batch", *compare_torch.export.MODELS[self.name][1])}
            self.outputs = ["output"]
        else:
            module = export_transformers.module_with_weights(path)
            self.inputs, outputs = export_transformers.signature(self.name, module.model)
            self.outputs = list(outputs)
        self.wide = module.to("cuda")

    def narrow(self, dtype):
        module = copy.deepcopy(self.wide).to(dtype)
        for (name, buffer), kept in zip(module.named_buffers(), self.wide.buffers()):
            if name.endswith("inv_freq"):  # a rotary embedding's frequencies stay fp32, as `transformers` loads them
                buffer.data = kept.data
        return module.to(memory_format=torch.channels_last) if self.image else module

    def feed(self, sizes, dtype):
        """What kpc takes, and PyTorch in fp32; and what PyTorch takes in 16 bits."""
        torch.manual_seed(3)
        made = {name: value.cuda() for name, value in export_transformers.example(self.inputs, sizes, IDS).items()}
        theirs = [value.to(dtype) if value.is_floating_point() else value for value in made.values()]
        return made, [value.to(memory_format=torch.channels_last) if self.image else value for value in theirs]


def listed(outputs):
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


def burst(call):
    """Microseconds a call."""
    start, end = side_by_side.events()
    torch.cuda.synchronize()
    time.sleep(IDLE_SECONDS)
    start.record()
    for _ in range(CALLS):
        call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e3 / CALLS


def medians(sides, rounds):
    for call in sides.values():
        burst(call)
    times = {name: [] for name in sides}
    for number in range(rounds):
        for name in side_by_side.in_turn(sides, number):
            times[name].append(burst(sides[name]))
    return {name: statistics.median(values) for name, values in times.items()}


def kernels(call, calls=3):
    """(microseconds a call, launches a call, name), slowest first."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
    rows = [(row.device_time_total / calls, row.count / calls, row.key) for row in profile.key_averages()]
    return sorted((row for row in rows if row[0] > 0), reverse=True)


def peak(call, holds):
    """The most memory that PyTorch had while it ran, in MiB; `holds`, the bytes that it must have, were there before."""
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    for _ in range(3):  # torch.compile: once compiled, once recorded, once replayed
        call()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before + holds) / MIB


def bytes_of(tensors):
    return sum(value.numel() * value.element_size() for value in tensors)


class Case:
    """PyTorch's part of a case: its results, and with --rounds its compiled module; then kpc's."""

    def __init__(self, case, network, modules, rounds):
        self.case, self.row = case, dict(case, right=False)
        dtype = TYPES[case["precision"]]
        self.given, theirs = network.feed(case["sizes"], dtype)
        module = modules[case["precision"]]
        self.want = [value.clone() for value in listed(network.wide(*self.given.values()))]
        own = listed(module(*theirs))
        self.row["torch_error"] = max(side_by_side.error(mine, want) for mine, want in zip(own, self.want))
        self.out = {name: torch.empty_like(value) for name, value in zip(network.outputs, self.want)}
        self.sides = {}
        if case["timed"] and rounds:
            holds = bytes_of(module.parameters()) + bytes_of(module.buffers()) + bytes_of(theirs)
            del own
            self.sides["eager"] = lambda: module(*theirs)
            self.row["eager_peak"] = peak(self.sides["eager"], holds)
            start = time.monotonic()
            fast = torch.compile(module, mode="reduce-overhead", dynamic=False)
            self.sides["compile"] = lambda: fast(*theirs)
            self.row["compile_peak"] = peak(self.sides["compile"], holds)
            self.row["compile_seconds"] = time.monotonic() - start

    def measure(self, options):
        """kpc's part; nothing else uses the GPU meanwhile."""
        row = self.row
        torch.cuda.synchronize()
        free = torch.cuda.mem_get_info()[0]
        session = Session(options.runtime, str(options.folder / self.case["artifact"]))
        run = lambda: session.run(self.given, self.out)
        run()
        torch.cuda.synchronize()
        ports = bytes_of(self.given.values()) + bytes_of(self.out.values())
        memory = session.memory()
        row["held"] = (free - torch.cuda.mem_get_info()[0] + ports) / MIB
        row["counted"] = (memory["weight_bytes"] + memory["reserved_bytes"] + memory["staging_bytes"] + ports) / MIB
        first = {name: value.clone() for name, value in self.out.items()}
        for value in self.out.values():
            value.fill_(7)
        run()
        torch.cuda.synchronize()
        row["same"] = all(torch.equal(value, first[name]) for name, value in self.out.items())
        row["error"] = max(side_by_side.error(value, want) for value, want in zip(self.out.values(), self.want))
        row["right"] = row["same"] and row["error"] <= min(MOST_ERROR[row["precision"]], MOST_RATIO * row["torch_error"])
        if self.sides:
            times = medians({"kpc": run, **self.sides}, options.rounds)
            faster = min(("eager", "compile"), key=times.get)
            row.update(times, ratio=times[faster] / times["kpc"], memory_ratio=row["held"] / row[f"{faster}_peak"],
                       kernels=kernels(run))
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
    text = f"PyTorch's {row['torch_error']:.2e}, {row['held']:.0f} MiB held, {row['counted']:.0f} counted"
    if "ratio" in row:
        text += (f"; kpc {row['kpc']:.1f} us, eager {row['eager']:.1f}, compile {row['compile']:.1f}: {row['ratio']:.2f}; PyTorch's MiB "
                 f"{row['eager_peak']:.0f}, {row['compile_peak']:.0f}; compiled in {row['compile_seconds']:.0f} s")
    return text


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
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1))
    for purpose, count, mean, least in side_by_side.geometric_means(rows):
        print(f"{purpose}: geometric mean of {count}: {mean:.3f}, least {least:.3f}")
    return 0 if rows and all(row["right"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
