#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device memory of whole networks, kpc beside PyTorch, each side in a process that does nothing else.

    python3 network_memory.py FOLDER --runtime libkpc_runtime.so [--json FILE] [--only REGEX]

FOLDER is what networks.py wrote; the cases are those that are timed. time_networks.py does the same behind its times. Nothing else may
use the GPU meanwhile. In MiB:

- `NAME_device`: what less is free on the device while the process runs, at most, from before it has a CUDA context until it
  has run five times: everything, the context too. This process looks every millisecond. Of PyTorch it is at least what lies outside of its allocator
  at the end and torch.cuda.max_memory_reserved. NAME is `kpc`, `kpc16` (the artifact that takes and gives 16 bits, as PyTorch's module does),
  `eager` or `compile` (torch.compile(mode="reduce-overhead"), its cache warm if it was compiled before).
- `context` and `torch_context`: the same of a process that has a context and nothing else, by the driver alone and by PyTorch.
- `NAME_own`: `NAME_device` without the context of its kind.
- `NAME_allocated`: torch.cuda.max_memory_allocated: what tensors took at most in PyTorch's allocator, no machine code, no
  libraries' workspaces outside of it, nothing that it keeps in reserve.
- `counted`: kpc_session_memory, with inputs and outputs; `steps`: kpc's `own` after each step of its start.

PyTorch runs as it is by default: cuDNN does not try algorithms.
"""

import argparse
import ctypes
import json
import multiprocessing
import pathlib
import re
import sys
import threading
import time

import numpy as np

import runtime_library
from run_cases import Driver
from runtime_library import cuda, named_tensor

SIDES = ("kpc", "kpc16", "eager", "compile")
ELEMENT_BYTES = {1: 4, 7: 8, 9: 1, 10: 2, 16: 2}  # by ONNX's number
RUNS = 5
AHEAD = 6  # processes that get ready meanwhile
MIB = 1 << 20


class Device(Driver):
    def __init__(self):
        super().__init__("libcuda.so.1")

    def free_bytes(self):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value


def run_kpc(case, artifact, options, wait):
    """Through the driver and the runtime alone; tensors are zeros."""
    wait()
    device = Device()
    before, steps = device.free_bytes(), {}

    def note(what):
        steps[what] = (before - device.free_bytes()) / MIB

    session = runtime_library.Session(options.runtime, options.folder / artifact, cuda(0))
    note("code and weights")
    shapes = session.output_shapes(case["sizes"])
    note("workspace and graph")
    ports = session.inputs(case["sizes"])
    inputs = len(ports)
    ports += [(name, element, shape) for (name, element), shape in zip(session.outputs(), shapes)]
    tensors, bytes_of_ports = [], 0
    for name, element, shape in ports:
        size = ELEMENT_BYTES[element]
        for extent in shape:
            size *= extent
        pointer = device.allocate(size)
        device.upload(pointer, np.zeros(size, np.uint8))
        tensors.append(named_tensor(name, pointer, shape, element, cuda(0)))
        bytes_of_ports += size
    note("inputs and outputs")
    for _ in range(RUNS):
        session.run(tensors[:inputs], tensors[inputs:])
    device.call("cuCtxSynchronize")
    note("runs")
    memory = session.memory()
    counted = memory["weight_bytes"] + memory["reserved_bytes"] + memory["staging_bytes"] + bytes_of_ports
    return {"counted": counted / MIB, "weights": memory["weight_bytes"] / MIB, "workspace": memory["reserved_bytes"] / MIB,
            "ports": bytes_of_ports / MIB, "steps": steps}


def run_torch(case, is_compiled, options, wait):
    import torch
    import network_sides
    torch.set_grad_enabled(False)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    network = network_sides.Network(options.folder / f"{case['stem']}.onnx", "cpu")
    module = network.narrow(network_sides.TYPES[case["precision"]])
    _, given = network.feed(case["sizes"], network_sides.TYPES[case["precision"]])
    del network
    wait()
    module, given = module.cuda(), [value.cuda() for value in given]
    call = network_sides.compiled(module) if is_compiled else module
    for _ in range(RUNS):
        call(*given)
    torch.cuda.synchronize()
    return {"allocated": torch.cuda.max_memory_allocated() / MIB, "reserved": torch.cuda.max_memory_reserved() / MIB,
            "kept": torch.cuda.memory_reserved() / MIB}


def run_torch_context(wait):
    import torch
    wait()
    torch.cuda.synchronize()
    return {}


def run_side(side, case, options, pipe):
    def wait():
        pipe.send("ready")
        pipe.recv()

    try:
        if side == "context":
            wait()
            kept = Device()  # noqa: F841: until the watcher has seen it
            found = {}
        elif side == "torch_context":
            found = run_torch_context(wait)
        elif side in ("eager", "compile"):
            found = run_torch(case, side == "compile", options, wait)
        else:
            found = run_kpc(case, case["artifact" if side == "kpc" else "narrow_artifact"], options, wait)
    except Exception as problem:
        found = {"problem": f"{side}: {type(problem).__name__}: {problem}"[:600]}
    pipe.send(found)
    pipe.recv()  # the memory stays until it is looked at


class Watch:
    """The least memory that was free since it began."""

    def __init__(self, device):
        self.device, self.least, self.stopped = device, device.free_bytes(), False
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def look(self):
        self.device.call("cuCtxSetCurrent", self.device.context)
        while not self.stopped:
            self.least = min(self.least, self.device.free_bytes())
            time.sleep(0.001)

    def stop(self):
        self.stopped = True
        self.thread.join()
        return self.least


class Process:
    def __init__(self, context, side, case, options):
        self.side, self.case = side, case
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=run_side, args=(side, case, options, theirs))
        self.process.start()
        theirs.close()

    def heard(self):
        try:
            return self.pipe.recv()
        except EOFError:
            return {"problem": f"{self.side}: its process ended"}

    def measure(self, device):
        """What it says, and `device`."""
        said = self.heard()
        if said != "ready":
            self.end()
            return said
        before, watch = device.free_bytes(), Watch(device)
        self.pipe.send("go")
        found = self.heard()
        peak = (before - watch.stop()) / MIB
        at_end = (before - device.free_bytes()) / MIB
        self.end()
        for _ in range(200):  # until the driver has taken the context away
            if device.free_bytes() >= before:
                break
            time.sleep(0.02)
        if "reserved" in found:
            peak = max(peak, at_end - found["kept"] + found["reserved"])
        return {**found, "device": peak}

    def end(self):
        try:
            self.pipe.send("end")
        except OSError:
            pass
        self.process.join(30)
        if self.process.is_alive():
            self.process.kill()


def row_of(found, contexts):
    """`found`: by side, what its process said."""
    row = dict(contexts)
    for side, one in found.items():
        if "problem" in one:
            row.setdefault("problem", one["problem"])
            continue
        row[f"{side}_device"] = one["device"]
        row[f"{side}_own"] = one["device"] - contexts["torch_context" if side in ("eager", "compile") else "context"]
        if "allocated" in one:
            row[f"{side}_allocated"] = one["allocated"]
        elif side == "kpc":
            row.update({key: one[key] for key in ("counted", "weights", "workspace", "ports", "steps")})
    return row


def measure(cases, options):
    """(case's name, what its row gets), one after the other."""
    device, context = Device(), multiprocessing.get_context("spawn")
    wanted = [("context", None), ("torch_context", None)] + [(side, case) for case in cases for side in SIDES]
    processes, contexts, found = [], {}, {}
    for number, (side, case) in enumerate(wanted):
        while len(processes) < min(number + AHEAD, len(wanted)):
            processes.append(Process(context, *wanted[len(processes)], options))
        said = processes[number].measure(device)
        if case is None:
            contexts[side] = said.get("device", 0)
            continue
        found[side] = said
        if len(found) == len(SIDES):
            yield case["name"], row_of(found, contexts)
            found = {}


def ratios(row, faster):
    """kpc's over those of PyTorch's `faster` side, by three measures."""
    return {"device_ratio": row["kpc_device"] / row[f"{faster}_device"], "own_ratio": row["kpc_own"] / row[f"{faster}_own"],
            "own16_ratio": row["kpc16_own"] / row[f"{faster}_own"], "allocated_ratio": row["kpc_own"] / row[f"{faster}_allocated"]}


def describe(row):
    if "problem" in row:
        return row["problem"]
    return (f"device: kpc {row['kpc_device']:.0f} MiB, 16 bits in and out {row['kpc16_device']:.0f}, eager {row['eager_device']:.0f}, "
            f"compile {row['compile_device']:.0f}; without contexts {row['kpc_own']:.0f}, {row['kpc16_own']:.0f}, {row['eager_own']:.0f}, "
            f"{row['compile_own']:.0f}; allocated {row['eager_allocated']:.0f}, {row['compile_allocated']:.0f}; kpc counts {row['counted']:.1f}: "
            f"weights {row['weights']:.1f}, workspace {row['workspace']:.1f}, inputs and outputs {row['ports']:.1f}; "
            + ", ".join(f"{what} {size:.0f}" for what, size in row["steps"].items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--runtime", required=True)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose 'purpose name' matches")
    options = parser.parse_args()
    cases = [case for case in json.loads((options.folder / "cases.json").read_text())
             if case["timed"] and re.search(options.only, f"{case['purpose']} {case['name']}")]
    found = {}
    for name, row in measure(cases, options):
        found[name] = row
        print(f"{name:32} {describe(row)}", flush=True)
        if options.json:
            options.json.write_text(json.dumps(found, indent=1))
    return 0 if found and not any("problem" in row for row in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
