# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long the launches of an artifact take on a machine that is not here.

A kernel whose schedule was chosen by a cost model takes what that expects, and no less than its bytes take. Of any other one, some warps are followed through
its PTX (warp.py), and the kernel takes as long as its scarcest resource: instructions, the first cache, the second,
memory, or the chain of what one block waits for.
"""

import dataclasses
import hashlib
import math

import artifact as artifacts
import ptx_text
from warp import Counts, Unknown, Warp

LAUNCH = 1.6  # microseconds of a kernel in a graph that does next to nothing (tools/kpc/report/ReportTimes.cpp)
READBACK = 12.0  # a number that the host reads before it goes on
SECOND_CACHE_BYTES = 64  # a cycle and multiprocessor
SAMPLES = (0.0, 0.213, 0.571, 0.867)  # places in the grid of the blocks that are followed; no size of a tile divides them
WARPS_AT_MOST = 48  # of a multiprocessor, as registers of common kernels allow


@dataclasses.dataclass
class Time:
    title: str
    family: str
    times: int
    microseconds: float  # of one
    limit: str
    bytes: float = 0


def least_bytes(artifact, target, launch, machine):
    """Bytes of the buffers that a launch touches, each once; what a kernel before left in the second cache costs less."""
    touched = {}
    for parameter in launch["params"]:
        if parameter["kind"] != 1:
            # A buffer and the tensor map by which copies go through it are two parameters.
            part = parameter["buffer"], parameter.get("offset", artifacts.NONE), parameter["length"]
            touched[part] = touched.get(part, 0) | parameter["access"]
    total = 0
    for (number, _, length), access in touched.items():
        buffer = target["buffers"][number]
        size = artifact.size(length) if length != artifacts.NONE else artifact.size(buffer["size"])
        near = 0.4 if buffer["kind"] == 3 and size < machine.cache / 2 else 1
        total += size * near * ((access & 1) + (access >> 1 & 1))
    return total


class Estimator:
    def __init__(self):
        self.counted = {}
        self.parsed = {}

    def kernel(self, artifact, target, launch):
        kernel = target["kernels"][launch["kernel"]]
        text = artifact.ptx(target["modules"][kernel["module"]])
        # Targets differ in their first lines where the code is the same.
        digest = hashlib.sha256(text[text.find(".address_size"):].encode()).hexdigest()
        if digest not in self.parsed:
            self.parsed[digest] = ptx_text.kernels(text)
        return self.parsed[digest][kernel["symbol"]], digest

    def count(self, artifact, target, launch, is_near):
        """(counts of all warps together, cycles of the longest block, turns of its longest loop)"""
        kernel, digest = self.kernel(artifact, target, launch)
        grid = [artifact.size(part) for part in launch["grid"]]
        values = ["buffer" if p["kind"] == 0 else artifact.size(p["size"]) if p["kind"] == 1 else 0 for p in launch["params"]]
        key = (digest, kernel.name, tuple(grid), tuple(values), tuple(launch["block"]), is_near)
        if key in self.counted:
            return self.counted[key]
        threads = artifacts.product(launch["block"])
        kernel = dataclasses.replace(kernel, threads=tuple(launch["block"]))
        warps = math.ceil(threads / 32)
        total, samples, longest, turns = Counts(), 0, 0.0, 0
        for share in SAMPLES:
            place = int(share * artifacts.product(grid))
            block = (place % grid[0], place // grid[0] % grid[1], place // (grid[0] * grid[1]))
            for warp in sorted({0, warps - 1}):
                one = Warp(kernel, values, grid, block, 32 * warp, is_near).run()
                longest, turns = max(longest, one.cycles), max(turns, one.most_turns)
                total.add(one, 1)
                samples += 1
        whole = Counts()
        whole.add(total, warps * artifacts.product(grid) / samples)
        self.counted[key] = whole, longest, turns
        return self.counted[key]

    def launch(self, artifact, target, launch, machine, times):
        for other in launch["alternatives"]:
            if all(bound["min"] <= artifact.size(bound["size"]) <= bound["max"] for bound in other["bounds"]):
                launch = {**other["launch"], "title": launch["title"], "alternatives": []}
                break
        kernel = target["kernels"][launch["kernel"]]
        least = least_bytes(artifact, target, launch, machine)
        title = launch["title"] or kernel["display_name"]
        memory = least / machine.gbps / 1e3
        if kernel["expected"]:
            # Some of these models count no bytes: that of GEMMs with few columns on mma.sync had less than half of what A takes to read.
            expected = max(float(kernel["expected"].split()[0]), LAUNCH)
            return Time(title, kernel["family"], times, max(expected, LAUNCH + memory), "its cost model" if expected >= memory else "memory", least)
        blocks = artifacts.product(artifact.size(part) for part in launch["grid"])
        if blocks == 0:
            return Time(title, kernel["family"], times, 0.0, "nothing to do")
        try:
            counts, longest, turns = self.count(artifact, target, launch, least < machine.cache / 4)
        except Unknown as reason:
            return Time(title, kernel["family"], times, LAUNCH + memory, f"memory at best, not followed: {reason}", least)
        threads = artifacts.product(launch["block"])
        shared = artifact.size(launch["shared"], 0) + self.kernel(artifact, target, launch)[0].shared_bytes
        resident = max(1, min(machine.blocks, machine.threads // threads, WARPS_AT_MOST * 32 // threads or 1, machine.shared // (shared + 1024)))
        used = min(blocks, machine.multiprocessors)
        cycle = machine.gigahertz * 1e3  # in a microsecond
        moved = min(least, counts.sectors * 32)
        waves = max(1, blocks / (machine.multiprocessors * resident))
        parts = {"instructions": max(counts.issued * 32 / machine.lanes if machine.lanes < 128 else counts.issued / 4, counts.special * 2,
                                     counts.f64 * 32 / machine.f64_lanes) / used / cycle,
                 "lines of the first cache": counts.lines / used / cycle,
                 "shared memory": counts.shared / used / cycle,
                 "bytes of the second cache": counts.sectors * 32 / SECOND_CACHE_BYTES / machine.multiprocessors / cycle,
                 "memory": moved / machine.gbps / 1e3,
                 f"waiting, {blocks} blocks of {threads}" + (f", {turns} turns" if turns > 8 else ""): waves * longest / cycle}
        limit, most = max(parts.items(), key=lambda part: part[1])
        return Time(title, kernel["family"], times, LAUNCH + most, limit, least)

    def target(self, artifact, target, machine):
        """(names of the nodes, Time) of each step."""
        artifact.set_device(machine.multiprocessors)
        weights = [1] * len(target["steps"])
        for control in target["controls"]:
            times = artifact.size(control["count"], 1)
            if control["counter"] != artifacts.NONE:
                artifact.symbols[control["counter"]] = times // 2
            for step in range(control["first_step"], control["end_step"]):
                weights[step] *= times
        out, nodes = [], []
        for times, step in zip(weights, target["steps"]):
            kind, action = step["action"]
            if kind == "Launch":
                nodes = action["source_nodes"] or target["kernels"][action["kernel"]]["source_nodes"]
                out.append((nodes, self.launch(artifact, target, action, machine, times)))
            else:
                # A copy or fill has no nodes: its buffer has a name, or it belongs to what is in front of it.
                name = target["buffers"][action["destination"]]["name"]
                size = artifact.size(action["bytes"])
                moved = size * (2 if kind == "Copy" else 1)
                out.append(([name, *nodes], Time(kind.lower(), kind.lower(), times, LAUNCH + moved / machine.gbps / 1e3, "memory", moved)))
        for readback in target["readbacks"]:
            name = artifact.model["outputs"][readback["output"]]["name"]
            out.append(([name], Time("readback", "readback", 1, READBACK, "the host")))
        return out
