#!/usr/bin/env python3
# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Artifacts of two builds of kpc in turn on one GPU: whether a change made anything slower.

    python3 time_builds.py NOW BEFORE --runtime libkpc_runtime.so --runtime-before OTHER/libkpc_runtime.so [--json FILE]

NOW and BEFORE are folders that networks.py, products.py, convolutions.py, … wrote with either kpc, of the same cases.
Each side runs in its own runtime, since artifacts of another version do not load, on the same inputs, in turn with idle gaps.
`ratio` is the time before over the time now: more than 1 is faster now. `difference` is the RMS of the first output's
difference over its RMS. Cases whose sizes are not in cases.json are left out and named.
"""

import argparse
import json
import pathlib
import re
import sys

import torch

import side_by_side
from kpc_session import ELEMENT, Session

TYPES = {number: dtype for dtype, number in ELEMENT.items()}
IDS = 100  # integers are indices of tables with at least so many rows


def random_tensor(kind, shape):
    dtype = TYPES[kind]
    if dtype == torch.bool:
        return torch.rand(shape, device="cuda") < 0.8
    if dtype.is_floating_point:
        return (torch.randn(shape, device="cuda") * 0.5).to(dtype)
    return torch.randint(0, IDS, shape, device="cuda").to(dtype)


class Side:
    def __init__(self, runtime, artifact, sizes, inputs):
        self.session = Session(runtime, str(artifact))
        signature = self.session.inputs(sizes)
        self.inputs = inputs or {name: random_tensor(kind, shape) for name, kind, shape in signature}
        shapes = self.session.output_shapes(sizes)
        self.outputs = {name: torch.empty(shape, dtype=TYPES[kind], device="cuda")
                        for (name, kind), shape in zip(self.session.outputs(), shapes)}

    def __call__(self):
        self.session.run(self.inputs, self.outputs)

    def first(self):
        return next(iter(self.outputs.values())).double()


def compare(case, options):
    sizes = case["optimum"] if "optimum" in case else case["sizes"]
    artifact = case.get("artifact", f"{case['name']}.kpc")
    torch.manual_seed(5)
    now = Side(options.runtime, options.now / artifact, sizes, None)
    before = Side(options.runtime_before, options.before / artifact, sizes, now.inputs)
    now(), before()
    torch.cuda.synchronize()
    difference = side_by_side.error(now.first(), before.first())
    times = side_by_side.compare_bursts({"now": now, "before": before}, options.rounds)
    now.session.close(), before.session.close()
    return dict(name=case["name"], purpose=case["purpose"], difference=difference, ratio=times["before"] / times["now"], **times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("now", type=pathlib.Path)
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("--runtime", required=True)
    parser.add_argument("--runtime-before", required=True)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose 'purpose name' matches")
    options = parser.parse_args()
    rows = []
    for case in json.loads((options.now / "cases.json").read_text()):
        title = f"{case['purpose']} {case['name']}"
        if not re.search(options.only, title):
            continue
        try:
            row = compare(case, options)
        except (RuntimeError, ValueError, KeyError) as problem:
            print(f"{title:50} left out: {type(problem).__name__}: {str(problem).splitlines()[0][:200]}", flush=True)
            continue
        rows.append(row)
        print(f"{title:50} now {row['now']:9.1f} us, before {row['before']:9.1f}: {row['ratio']:.3f}  difference {row['difference']:.1e}", flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1))
    for purpose, count, mean, least in side_by_side.geometric_means(rows):
        print(f"{purpose}: geometric mean of {count}: {mean:.3f}, least {least:.3f}")
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
