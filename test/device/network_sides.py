# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's side of a network of networks.py, and how the sides' times are taken: what time_networks.py, time_variants.py
and network_memory.py have in common."""

import copy
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "models"))

import torch

import compare_torch
import export_transformers
import side_by_side

TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}
IDS = 1000  # as test/models/inputs.py
CALLS, IDLE_SECONDS = 10, 0.02


class Network:
    """A PyTorch module with the weights of a file, and what goes in and comes out."""

    def __init__(self, path, device="cuda"):
        self.name = path.name.split(".")[0].removesuffix("-full")
        self.device = device
        self.image = self.name in compare_torch.export.MODELS
        if self.image:
            module = compare_torch.torch_module(path)
            self.inputs = {"input": ("batch", *compare_torch.export.MODELS[self.name][1])}
            self.outputs = ["output"]
        else:
            module = export_transformers.module_with_weights(path)
            self.inputs, outputs = export_transformers.signature(self.name, module.model)
            self.outputs = list(outputs)
        self.wide = module.to(device)

    def narrow(self, dtype):
        module = copy.deepcopy(self.wide).to(dtype)
        for (name, buffer), kept in zip(module.named_buffers(), self.wide.buffers()):
            if name.endswith("inv_freq"):  # a rotary embedding's frequencies stay fp32, as `transformers` loads them
                buffer.data = kept.data
        return module.to(memory_format=torch.channels_last) if self.image else module

    def feed(self, sizes, dtype):
        """What kpc takes, and PyTorch in fp32; and what PyTorch takes in 16 bits."""
        torch.manual_seed(3)
        made = {name: value.to(self.device) for name, value in export_transformers.example(self.inputs, sizes, IDS).items()}
        theirs = [value.to(dtype) if value.is_floating_point() else value for value in made.values()]
        return made, [value.to(memory_format=torch.channels_last) if self.image else value for value in theirs]


def listed(outputs):
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


def compiled(module):
    """Behind torch.compile: three calls compile, record and replay it."""
    return torch.compile(module, mode="reduce-overhead", dynamic=False)


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


def results(session, given, out, want):
    """(largest RMS error of two runs' outputs, whether both gave the same bytes)"""
    found = []
    for _ in range(2):
        for value in out.values():
            value.fill_(7)
        session.run(given, out)
        torch.cuda.synchronize()
        found.append({name: value.clone() for name, value in out.items()})
    same = all(torch.equal(value.reshape(-1).view(torch.uint8), found[0][name].reshape(-1).view(torch.uint8)) for name, value in found[1].items())
    return max(side_by_side.error(value, wide) for value, wide in zip(found[1].values(), want)), same
