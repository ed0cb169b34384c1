#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions of kpc beside cuDNN (PyTorch, channels last, benchmark mode): right, and how fast.

    python3 time_convolutions.py FOLDER --runtime libkpc_runtime.so [--json FILE] [--rounds 7] [--only REGEX]

FOLDER is what convolutions.py wrote. Every result is compared with fp32 on the same GPU, twice (bit for bit); then both
sides are timed in turn, in bursts with idle gaps between, the order reversed each round: medians and their ratio. cuDNN's
side is the convolution with its bias, then the residual and the activation in place, several runs of it in a CUDA graph,
so that it does not wait for Python.
"""

import argparse
import json
import math
import pathlib
import re
import statistics
import sys
import time

import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from convolutions import Case, filter_values  # noqa: E402
from kpc_session import Session  # noqa: E402

BURST_SECONDS, IDLE_SECONDS, IN_GRAPH = 0.008, 0.008, 10
AHEAD_CYCLES = 30_000  # for each call: about 15 us in which the host gets ahead, so that no short kernel waits for Python
LIMITS = {torch.float16: 2e-3, torch.bfloat16: 1.2e-2, torch.float32: 1e-6}  # RMS; rounding of the result alone gives 1.7e-4 and 1.3e-3
KINDS = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
ACTS = {"": lambda y: y, "Relu": torch.relu_, "HardSwish": lambda y: F.hardswish(y, inplace=True)}
CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}


def planes(t):
    """The same memory, channels in second place."""
    return t.permute(0, t.dim() - 1, *range(1, t.dim() - 1))


def tensors(case):
    kind = KINDS[case.type]
    torch.manual_seed(0)
    def make(*shape, to=kind, scale=1.0):
        return (torch.randn(*shape, device="cuda") * scale).to(to)
    inputs = {"x": make(case.batch, *case.size, case.channels, to=KINDS[case.input or case.type]), "b": make(case.outputs)}
    shape = (*case.filter, case.channels // case.groups, case.outputs)
    if case.channels < 8 or case.groups > 1:
        given, filters = {}, torch.from_numpy(filter_values(case)).to("cuda", kind)
    else:
        given = {"w": make(*shape, scale=1 / math.sqrt(math.prod(shape[:-1])))}
        filters = given["w"].permute(len(shape) - 1, len(shape) - 2, *range(len(shape) - 2))
    if case.residual:
        inputs["r"] = make(case.batch, *case.out_size, case.outputs)
    inputs.update(given)
    out = torch.full((case.batch, *case.out_size, case.outputs), math.nan, device="cuda", dtype=kind)
    return inputs, filters, out


class Peer:
    """The convolution in `kind`, as one writes it in PyTorch."""

    def __init__(self, case, inputs, filters, kind):
        self.case, self.kind, count = case, kind, len(case.size)
        self.x = planes(inputs["x"])
        self.b = inputs["b"].to(kind)
        self.w = filters.to(kind)
        if count == 2:
            self.w = self.w.contiguous(memory_format=torch.channels_last)
        self.r = planes(inputs["r"]).to(kind) if case.residual else None
        self.pad = case.pad[:count]
        self.uneven = tuple(case.pad[:count]) != tuple(case.pad[count:])

    def __call__(self):
        x, case = self.x.to(self.kind), self.case
        if self.uneven:
            count = len(case.size)
            x = F.pad(x, [v for i in reversed(range(count)) for v in (case.pad[i], case.pad[count + i])])
        y = CONV[len(case.size)](x, self.w, self.b, case.stride, 0 if self.uneven else self.pad, case.dilation, case.groups)
        if self.r is not None:
            y += self.r
        return ACTS[case.act](y)

    def fused(self):
        """cuDNN's own joined kernels, where there is one."""
        case = self.case
        if self.uneven or len(case.size) != 2 or case.act != "Relu":
            return None
        last = ([case.stride] * 2, list(self.pad), [case.dilation] * 2, case.groups)
        x = self.x.to(self.kind)
        if self.r is None:
            return lambda: torch.cudnn_convolution_relu(x, self.w, self.b, *last)
        return lambda: torch.cudnn_convolution_add_relu(x, self.w, self.r, 1.0, self.b, *last)


def error(out, expected):
    return ((out.float() - expected).square().mean() / expected.square().mean()).sqrt().item()


def graphed(call):
    """Several runs as one launch."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(IN_GRAPH):
            call()
    graph.replay()
    torch.cuda.synchronize()
    return graph.replay


def burst(call, count, runs):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    time.sleep(IDLE_SECONDS)
    call()
    torch.cuda._sleep(AHEAD_CYCLES * count)
    start.record()
    for _ in range(count):
        call()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / count / runs * 1e3  # microseconds


def compare_times(sides, rounds):
    """`sides`: a call, and how many runs it makes."""
    count = {}
    for name, (call, runs) in sides.items():
        burst(call, 3, runs)
        count[name] = min(max(3, int(BURST_SECONDS * 1e6 / burst(call, 5, runs) / runs)), 400)
    times = {name: [] for name in sides}
    for number in range(rounds):
        order = list(sides) if number % 2 == 0 else list(sides)[::-1]
        for name in order:
            call, runs = sides[name]
            times[name].append(burst(call, count[name], runs))
    return {name: statistics.median(values) for name, values in times.items()}


def run_case(listed, options):
    case = Case(**{key: tuple(value) if isinstance(value, list) else value for key, value in listed.items()
                   if key not in ("name", "purpose", "out_size")})
    inputs, filters, out = tensors(case)
    session = Session(options.runtime, str(options.folder / f"{case.name}.kpc"))
    session.run(inputs, {"y": out})
    torch.cuda.synchronize()
    first = out.clone()
    torch.backends.cudnn.enabled = False  # its fp32 kernels of 3-D convolutions are slow to be chosen
    wide = {name: t.float() for name, t in inputs.items()}
    expected = planes_last(Peer(case, wide, filters, torch.float32)())
    torch.backends.cudnn.enabled = True
    row = dict(listed, error=error(out, expected))
    out.fill_(math.nan)
    session.run(inputs, {"y": out})
    torch.cuda.synchronize()
    row["same"] = torch.equal(first, out)
    row["right"] = row["same"] and row["error"] <= LIMITS[out.dtype]
    if listed["purpose"] != "small" and row["right"] and options.rounds:
        peer = Peer(case, inputs, filters, out.dtype)
        sides = {"kpc": (lambda: session.run(inputs, {"y": out}), 1), "cudnn": (graphed(peer), IN_GRAPH)}
        if peer.fused():
            sides["fused"] = (graphed(peer.fused()), IN_GRAPH)
        row.update(compare_times(sides, options.rounds))
        row["ratio"] = row["cudnn"] / row["kpc"]
        work = math.prod(case.out_size) * case.batch * case.outputs * case.channels // case.groups * math.prod(case.filter)
        row["tflops"] = 2e-6 * work / row["kpc"]
    session.close()
    return row


def planes_last(t):
    return t.permute(0, *range(2, t.dim()), 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--runtime", required=True)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    rows = []
    for case in json.loads((options.folder / "cases.json").read_text()):
        if not re.search(options.only, case["name"]):
            continue
        try:
            row = run_case(case, options)
        except RuntimeError as problem:
            row = dict(case, right=False, problem=str(problem))
        rows.append(row)
        text = f"{row['name']:38} {'right' if row['right'] else 'WRONG'}"
        text += f" {row.get('problem', '')}" if "error" not in row else f" error {row['error']:.2e}"
        if "ratio" in row:
            text += f"  kpc {row['kpc']:7.1f} us, cuDNN {row['cudnn']:7.1f} us: {row['ratio']:.3f}  {row['tflops']:.0f} TFLOP/s"
        if "fused" in row:
            text += f"  joined {row['fused']:7.1f} us"
        print(text, flush=True)
    for purpose in ("speed", "other", "depthwise"):
        ratios = [row["ratio"] for row in rows if row["purpose"] == purpose and "ratio" in row]
        if ratios:
            print(f"geometric mean of {len(ratios)} ({purpose}): {statistics.geometric_mean(ratios):.3f}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 0 if all(row["right"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
