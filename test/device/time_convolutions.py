#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions of kpc beside cuDNN (PyTorch, channels last, benchmark mode): right, and how fast.

    python3 time_convolutions.py FOLDER --runtime libkpc_runtime.so [--json FILE] [--rounds 7] [--only REGEX]

FOLDER is what convolutions.py wrote. The reference is fp32; side_by_side.py says how both sides are timed. cuDNN's side is the
convolution with its bias, then the residual and the activation in place, several runs of it in a CUDA graph, so that it does not
wait for Python. Cases of tf32 allow it there too, those of fp32 do not.
"""

import math
import sys

import torch
import torch.nn.functional as F

from convolutions import Case, filter_values, has_constant_filter
from side_by_side import Kernel, compare_bursts, compare_cases, error

IN_GRAPH = 10
LIMITS = {"fp16": 2e-3, "bf16": 1.2e-2, "fp32": 1e-6, "tf32": 2e-3}  # RMS; rounding of the result alone gives 1.7e-4 and 1.3e-3
KINDS = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32, "tf32": torch.float32}
ACTS = {"": lambda y: y, "Relu": torch.relu_, "HardSwish": lambda y: F.hardswish(y, inplace=True)}
CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


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
    if has_constant_filter(case):
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
        if case.transposed:
            y = self.transposed(x)
            return ACTS[case.act](y)
        if self.uneven:
            count = len(case.size)
            x = F.pad(x, [v for i in reversed(range(count)) for v in (case.pad[i], case.pad[count + i])])
        y = CONV[len(case.size)](x, self.w, self.b, case.stride, 0 if self.uneven else self.pad, case.dilation, case.groups)
        if self.r is not None:
            y += self.r
        return ACTS[case.act](y)

    def transposed(self, x):
        """Uneven pads cut the result; so do fewer places behind the last than the stride allows."""
        case, count = self.case, len(self.case.size)
        if not self.uneven and case.more < case.stride:
            return TRANSPOSED[count](x, self.w, self.b, case.stride, self.pad, case.more, case.groups, case.dilation)
        y = TRANSPOSED[count](x, self.w, self.b, case.stride, 0, case.more, case.groups, case.dilation)
        for i in range(count):
            y = y.narrow(2 + i, case.pad[i], case.out_size[i])
        return y

    def fused(self):
        """cuDNN's own joined kernels, where there is one."""
        case = self.case
        if case.transposed or self.uneven or len(case.size) != 2 or case.act != "Relu":
            return None
        last = ([case.stride] * 2, list(self.pad), [case.dilation] * 2, case.groups)
        x = self.x.to(self.kind)
        if self.r is None:
            return lambda: torch.cudnn_convolution_relu(x, self.w, self.b, *last)
        return lambda: torch.cudnn_convolution_add_relu(x, self.w, self.r, 1.0, self.b, *last)


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


def planes_last(t):
    return t.permute(0, *range(2, t.dim()), 1)


def run_case(listed, options):
    case = Case(**{key: tuple(value) if isinstance(value, list) else value for key, value in listed.items()
                   if key not in ("name", "purpose", "out_size", "optimum")})
    inputs, filters, out = tensors(case)
    kernel = Kernel(listed, options, inputs, {"y": out})
    torch.backends.cudnn.enabled = False  # its fp32 kernels of 3-D convolutions are slow to be chosen
    wide = {name: t.float() for name, t in inputs.items()}
    expected = planes_last(Peer(case, wide, filters, torch.float32)())
    torch.backends.cudnn.enabled = True
    torch.backends.cudnn.allow_tf32 = case.type == "tf32"
    row = dict(listed, error=error(kernel.first["y"], expected), same=kernel.same)
    row["right"] = row["same"] and row["error"] <= LIMITS[case.type]
    if listed["purpose"] != "small" and row["right"] and options.rounds:
        peer = Peer(case, inputs, filters, out.dtype)
        sides = {"kpc": kernel, "cudnn": graphed(peer)}
        if peer.fused():
            sides["fused"] = graphed(peer.fused())
        row.update(compare_bursts(sides, options.rounds, {"cudnn": IN_GRAPH, "fused": IN_GRAPH}))
        row["ratio"] = row["cudnn"] / row["kpc"]
        work = math.prod(case.size if case.transposed else case.out_size) * case.batch * case.outputs * case.channels // case.groups * math.prod(case.filter)
        row["tflops"] = 2e-6 * work / row["kpc"]
    kernel.close()
    return row


def describe(row):
    text = ""
    if "ratio" in row:
        text = f"kpc {row['kpc']:7.1f} us, cuDNN {row['cudnn']:7.1f} us: {row['ratio']:.3f}  {row['tflops']:.0f} TFLOP/s"
    return text + (f"  joined {row['fused']:7.1f} us" if "fused" in row else "")


if __name__ == "__main__":
    sys.exit(compare_cases(run_case, describe, __doc__))
