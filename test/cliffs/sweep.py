# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases compiled, and how long each takes beside the least that it could: of every target a Verdict."""

import dataclasses
import multiprocessing
import os
import pathlib
import re
import subprocess

from artifact import NONE, Artifact
from case import ELEMENT, model
from estimate import LAUNCH, READBACK, Estimator
from known import MOST, SLACK
from machines import MACHINES
from sweep_cases import all_cases, graph_of, kpc_command

ARCHS = "sm_80,sm_90a,sm_100a,sm_120a,portable"
# Copies the PTX: what an assembler finds would depend on its version.
ASSEMBLER = pathlib.Path(__file__).resolve().parents[1] / "cli/Inputs/toolkit/ptxas"
MINUTES = 10
CASES_AT_ONCE, WEIGHTS_AT_ONCE = 24, 128 << 20
OUTPUT = 1  # the kind of a buffer that is an output of the model
PREFIX, ANYWHERE = re.compile(r"c\d+_"), re.compile(r"\bc\d+_")
# A kernel that loops take although it was formed for another family is a figure here, and no error.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "KPC_STRICT_FAMILIES"}


@dataclasses.dataclass
class Verdict:
    case: str
    kind: str
    target: str
    microseconds: float = 0
    least: float = 0
    kernel: str = ""  # the one that takes most
    family: str = ""
    limit: str = ""
    launches: int = 0
    problem: str = ""  # it did not compile

    @property
    def factor(self):
        return self.microseconds / self.least if self.least else 0.0


@dataclasses.dataclass
class Part:
    """A case in a model of several: its names begin with `prefix`."""
    case: object
    kind: str
    prefix: str
    graph: object


def compile_parts(parts, options, path):
    """The errors that kpc prints, none where it compiles them."""
    path.with_suffix(".onnx").write_bytes(model([part.graph for part in parts]))
    dims = [part.prefix + dim for part in parts for dim in part.case.dims]
    words = kpc_command(parts[0].kind, path, options, dims, parts[0].case.options)
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=60 * MINUTES, env=ENVIRONMENT)
    except subprocess.TimeoutExpired:
        return [f"compiling takes more than {MINUTES} minutes"]
    if done.returncode == 0:
        return []
    said = [line for line in done.stderr.splitlines() if line.startswith(("error",
                                                                          "fatal"))] or [f"exit code {done.returncode}: {done.stderr[-200:]}"]
    return [line.replace(str(path.parent) + "/", "") for line in said]


def least_time(part, artifact, machine):
    """The roofline: every input, output and weight moved once, and the products at the chip's best rate."""
    case, kind = part.case, part.kind
    own = [port for port in artifact.model["inputs"] + artifact.model["outputs"] if port["name"].startswith(part.prefix)]
    total = sum(artifact.port_bytes(port) for port in own) + part.graph.weight_bytes
    moved = case.moved(ELEMENT.get(kind, 4), total) if case.moved else total
    rate = machine.rate(case.products or kind)
    waits = sum(READBACK for port in own if port.get("decides", NONE) != NONE)
    return LAUNCH + max(case.passes * moved / machine.gbps / 1e3, case.flops / rate / 1e6, case.serial) + waits


def owners(outputs, target, parts):
    """Of each step the prefixes of the cases that need what it writes: kernels that several have in common count to each."""
    steps = []
    for step in target["steps"]:
        kind, action = step["action"]
        if kind == "Launch":
            buffers = [(param["buffer"], param["access"]) for param in action["params"] if param["kind"] != 1]
            reads, writes = ({buffer for buffer, access in buffers if access & bit} for bit in (1, 2))
        else:
            reads, writes = {action["source"]} if kind == "Copy" else set(), {action["destination"]}
        steps.append((reads, writes))
    for control in target["controls"]:
        if control["condition"] != NONE:
            for reads, _ in steps[control["first_step"]:control["end_step"]]:
                reads.add(control["condition"])
    out = [set() for _ in steps]
    for part in parts:
        needed = {number for number, buffer in enumerate(target["buffers"])
                  if buffer["kind"] == OUTPUT and outputs[buffer["index"]]["name"].startswith(part.prefix)}
        grows = True
        while grows:  # once more for each value that a loop hands back
            grows = False
            for (reads, writes), prefixes in zip(reversed(steps), reversed(out)):
                if part.prefix not in prefixes and writes & needed:
                    prefixes.add(part.prefix)
                    needed |= reads
                    grows = True
    return out


def charge(outputs, target, parts, times):
    """The times of each case. `times`: (names, Time) of all steps, then of the readbacks."""
    owned, last = {part.prefix: [] for part in parts}, parts[0].prefix
    prefixes = owners(outputs, target, parts)
    for number, (names, step) in enumerate(times):
        # What no output needs, and a readback, are told by their names.
        named = next((found[0] for found in map(PREFIX.match, names) if found), "")
        last = named if named in owned else last
        for prefix in prefixes[number] if number < len(prefixes) and prefixes[number] else {last}:
            owned[prefix].append(step)
    return owned


def sharing(outputs, target, parts):
    """The cases that have a kernel in common with others."""
    return {prefix for prefixes in owners(outputs, target, parts) if len(prefixes) > 1 for prefix in prefixes}


def judge(parts, options, estimator, path):
    """Verdicts of cases that are compiled together; of each that kpc refuses, why."""
    problems, left = {}, list(parts)
    while left:
        errors = compile_parts(left, options, path)
        if not errors:
            break
        refused = {prefix: text for text in reversed(errors) for prefix in ANYWHERE.findall(text)}
        refused = {part.prefix: refused[part.prefix].replace(part.prefix, "") for part in left if part.prefix in refused}
        if not refused:
            if len(left) > 1:
                return [verdict for part in parts for verdict in judge([part], options, estimator, path)]
            refused = {left[0].prefix: errors[0]}
        problems.update(refused)
        left = [part for part in left if part.prefix not in problems]
    out = [Verdict(part.case.name, part.kind, "all", problem=problems[part.prefix]) for part in parts if part.prefix in problems]
    artifact, again = Artifact(path) if left else None, set()
    for target in artifact.model["targets"] if left else ():
        machine = MACHINES[target["name"]]
        owned = charge(artifact.model["outputs"], target, left, estimator.target(artifact, target, machine))
        shared = sharing(artifact.model["outputs"], target, left)
        for part in left:
            times = owned[part.prefix]
            one = Verdict(part.case.name, part.kind, target["name"], sum(t.times * t.microseconds for t in times),
                          least_time(part, artifact, machine),
                          launches=sum(t.times for t in times))
            if times:
                worst = max(times, key=lambda t: t.times * t.microseconds)
                one.kernel, one.family, one.limit = worst.title, worst.family, worst.limit
            out.append(one)
            if part.prefix in shared and one.factor > MOST / SLACK:
                again.add(part.prefix)
    for file in (path, path.with_suffix(".onnx")):
        file.unlink(missing_ok=True)
    # Kernels that several cases have in common count to each, with all that they need: only alone is a case what a model of it is.
    for part in (part for part in left if part.prefix in again):
        out = [one for one in out if (one.case, one.kind) != (part.case.name, part.kind)] + judge([part], options, estimator, path)
    return out


def batches(wanted):
    """Models of several cases: starting kpc takes longer than most of them."""
    open_ones = {}
    for number, (case, kind) in enumerate(wanted):
        part = Part(case, kind, f"c{number}_", graph_of(case, kind, f"c{number}_"))
        if case.alone:
            yield [part]
            continue
        key = kind == "fp32", case.options
        batch = open_ones.setdefault(key, [])
        if batch and (len(batch) == CASES_AT_ONCE or sum(p.graph.weight_bytes for p in batch) + part.graph.weight_bytes > WEIGHTS_AT_ONCE):
            yield open_ones.pop(key)
            batch = open_ones.setdefault(key, [])
        batch.append(part)
    yield from open_ones.values()


work = []  # batches and options, for processes that are forked: cases hold functions, which do not pickle


def judge_batch(number):
    batch, options = work[number]
    return judge(batch, options, Estimator(), options.work_dir / f"case{number}.kpc")


def sweep(options, wanted, report):
    """Verdicts of all that is wanted: (case, type) pairs."""
    work[:] = [(batch, options) for batch in batches(wanted)]
    out = []
    with multiprocessing.get_context("fork").Pool(max(1, options.jobs)) as pool:
        for verdicts in pool.imap(judge_batch, range(len(work))):
            for verdict in verdicts:
                report(verdict)
                out.append(verdict)
    return out
